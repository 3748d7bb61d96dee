/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "common.h"
#include "process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fabric.h>

/* An interface that takes longer to open is as good as none. */
#define ANSWER_SECONDS	20
#define MAX_NAMES	256

struct name {
	char text[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 major, minor;
	DAT_BOOLEAN thread_safe;
};

struct names {
	struct name list[MAX_NAMES];
	size_t count;
	size_t other_api;	/* entries for DAT 1.2 */
};

/* What a child wrote: its answer, and what the libraries below it printed meanwhile. */
struct answer {
	char *text, *log;
	size_t text_len, log_len;
	bool ok;
	bool late;
};

struct interface {
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR provider;
};

static struct {
	bool json, help, version;
	const char *ia;
	uint32_t process;
} options;

static const struct util_opt option_table[] = {
	UTIL_HEADING("Options:"),
	UTIL_STRING('a', "ia", &options.ia, "NAME", "this interface only, and all that it tells"),
	UTIL_FLAG('j', "json", &options.json, "JSON instead of text"),
	UTIL_NUMBER('p', "process", &options.process, "PID", "counters of a running process, see DAT_OFI_STATS",
		    1, INT32_MAX),
	UTIL_FLAG('h', "help", &options.help, "this text"),
	UTIL_FLAG('V', "version", &options.version, "versions of the project and libfabric"),
};

static void usage(void)
{
	printf("Usage: dat_info [OPTION]...\n"
	       "Opens every DAT 2.0 interface that dat.conf or the fabrics of this host offer,\n"
	       "and tells what it runs on, or why it does not open.\n");
	util_opt_help(option_table, UTIL_ARRAY_LEN(option_table));
	printf("\nExit status: 0 an interface opened or the process answered, 1 not so,\n"
	       "2 wrong command line.\n");
}

/* ---- children: a provider that crashes, hangs or prints does it there ---- */

static int read_some(int fd, char **text, size_t *len)
{
	char part[4096];
	ssize_t got = read(fd, part, sizeof(part));
	char *longer;

	if (got < 0 && errno == EINTR)
		return 1;
	if (got <= 0)
		return 0;
	longer = realloc(*text, *len + (size_t)got + 1);
	if (!longer)
		return 0;
	memcpy(longer + *len, part, (size_t)got);
	*len += (size_t)got;
	longer[*len] = '\0';
	*text = longer;
	return 1;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Reads both pipes until the child has closed them; false when it takes too long. */
static bool collect(int out, int err, struct answer *answer)
{
	int64_t until = now_ms() + ANSWER_SECONDS * 1000, left;
	struct pollfd fds[] = { { .fd = out, .events = POLLIN }, { .fd = err, .events = POLLIN } };

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		left = until - now_ms();
		if (left <= 0)
			return false;
		if (poll(fds, 2, (int)left) < 0 && errno != EINTR)
			return false;
		if (fds[0].revents && !read_some(out, &answer->text, &answer->text_len))
			fds[0].fd = -1;
		if (fds[1].revents && !read_some(err, &answer->log, &answer->log_len))
			fds[1].fd = -1;
	}
	return true;
}

/* Libraries print to either stream; both are their log. */
static void run_child(bool (*work)(FILE *out, const void *arg), const void *arg, int out, int err)
{
	FILE *file = fdopen(out, "w");
	bool ok;

	dup2(err, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	ok = file && work(file, arg);
	if (file)
		fflush(file);
	fflush(stdout);
	_exit(ok ? 0 : 1);
}

static int ask_child(bool (*work)(FILE *out, const void *arg), const void *arg,
		     struct answer *answer)
{
	int out[2], err[2], status = 1;
	pid_t child;

	memset(answer, 0, sizeof(*answer));
	if (pipe(out))
		return util_fail("cannot make a pipe: %s", strerror(errno));
	if (pipe(err)) {
		close(out[0]);
		close(out[1]);
		return util_fail("cannot make a pipe: %s", strerror(errno));
	}
	fflush(stdout);
	child = fork();
	if (!child)
		run_child(work, arg, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	if (child > 0) {
		answer->late = !collect(out[0], err[0], answer);
		if (answer->late)
			kill(child, SIGKILL);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(out[0]);
	close(err[0]);
	if (child < 0)
		return util_fail("cannot fork: %s", strerror(errno));
	answer->ok = WIFEXITED(status) && !WEXITSTATUS(status);
	if (WIFSIGNALED(status) && !answer->late)
		return util_fail("opening it ended with signal %d, %s", WTERMSIG(status),
				 strsignal(WTERMSIG(status)));
	return 0;
}

static void free_answer(struct answer *answer)
{
	free(answer->text);
	free(answer->log);
}

/* ---- one interface, in the child ---- */

enum attr_kind {
	ATTR_COUNT,
	ATTR_UINT32,
	ATTR_UINT64,
	ATTR_BOOL,
	ATTR_CHOICE,
	ATTR_FLAGS,
};

struct attr {
	const char *name;	/* as the DAT structures call it */
	bool provider;
	enum attr_kind kind;
	size_t offset;
	const char *const *words;	/* of a choice or, bit by bit, of flags */
};

static const char *const ownerships[] = { "consumer", "provider, unmodified", "provider, modified",
					  NULL };
static const char *const creators[] = { "never", "if asked", "always", NULL };
static const char *const pz_kinds[] = { "unique", "shareable", NULL };
static const char *const scopes[] = { "endpoint", "protection zone", "any", NULL };
static const char *const extensions[] = { "none", "InfiniBand", "iWARP", NULL };
static const char *const completion_flags[] = {
	"suppress", "solicited wait", "unsignalled", "barrier fence",
	"threshold", "invalidate fence", NULL,
};

#define IA(kind_, name_)	{ #name_, false, ATTR_##kind_, offsetof(DAT_IA_ATTR, name_), NULL }
#define WORDS(kind_, name_, words_) \
	{ #name_, true, ATTR_##kind_, offsetof(DAT_PROVIDER_ATTR, name_), (words_) }
#define PROVIDER(kind_, name_)	WORDS(kind_, name_, NULL)

static const struct attr attrs[] = {
	PROVIDER(UINT32, provider_version_major),
	PROVIDER(UINT32, provider_version_minor),
	PROVIDER(UINT32, dapl_version_major),
	PROVIDER(UINT32, dapl_version_minor),
	PROVIDER(BOOL, is_thread_safe),
	PROVIDER(COUNT, max_private_data_size),
	IA(COUNT, max_eps),
	IA(COUNT, max_dto_per_ep),
	IA(COUNT, max_rdma_read_per_ep_in),
	IA(COUNT, max_rdma_read_per_ep_out),
	IA(COUNT, max_rdma_read_in),
	IA(COUNT, max_rdma_read_out),
	IA(BOOL, max_rdma_read_per_ep_in_guaranteed),
	IA(BOOL, max_rdma_read_per_ep_out_guaranteed),
	IA(COUNT, max_evds),
	IA(COUNT, max_evd_qlen),
	IA(COUNT, max_iov_segments_per_dto),
	IA(COUNT, max_iov_segments_per_rdma_read),
	IA(COUNT, max_iov_segments_per_rdma_write),
	IA(UINT32, max_message_size),
	IA(UINT32, max_rdma_size),
	IA(COUNT, max_lmrs),
	IA(UINT32, max_lmr_block_size),
	IA(UINT64, max_lmr_virtual_address),
	IA(COUNT, max_rmrs),
	IA(UINT64, max_rmr_target_address),
	IA(COUNT, max_pzs),
	IA(COUNT, max_srqs),
	IA(COUNT, max_ep_per_srq),
	IA(COUNT, max_recv_per_srq),
	IA(BOOL, zb_supported),
	{ "extension_supported", false, ATTR_CHOICE, offsetof(DAT_IA_ATTR, extension_supported),
	  extensions },
	IA(COUNT, extension_version),
	WORDS(CHOICE, iov_ownership_on_return, ownerships),
	WORDS(FLAGS, completion_flags_supported, completion_flags),
	WORDS(CHOICE, ep_creator, creators),
	WORDS(CHOICE, pz_support, pz_kinds),
	WORDS(CHOICE, rmr_scope_supported, scopes),
	PROVIDER(UINT32, optimal_buffer_alignment),
	PROVIDER(BOOL, srq_supported),
	PROVIDER(BOOL, srq_ep_pz_difference_supported),
	PROVIDER(BOOL, lmr_sync_req),
	PROVIDER(BOOL, dto_async_return_guaranteed),
	PROVIDER(BOOL, rdma_write_for_rdma_read_req),
	PROVIDER(BOOL, rdma_read_lmr_rmr_context_exposure),
	PROVIDER(BOOL, supports_multipath),
	PROVIDER(BOOL, is_signal_safe),
	PROVIDER(BOOL, ha_supported),
};

static const void *member(const struct interface *interface, const struct attr *attr)
{
	const void *base = attr->provider ? (const void *)&interface->provider
					  : (const void *)&interface->attr;

	return (const char *)base + attr->offset;
}

/* Every number as it is; words where DAT has names. */
static void write_words(const struct attr *attr, uint32_t value, char *text, size_t size)
{
	uint32_t count = 0;

	while (attr->words[count])
		count++;
	*text = '\0';
	if (attr->kind == ATTR_CHOICE)
		snprintf(text, size, "%s", value < count ? attr->words[value] : "unknown");
	for (uint32_t bit = 0; attr->kind == ATTR_FLAGS && bit < count; bit++) {
		if (value & 1u << bit)
			snprintf(text + strlen(text), size - strlen(text), "%s%s",
				 *text ? ", " : "", attr->words[bit]);
	}
}

static uint64_t integer(const struct interface *interface, const struct attr *attr)
{
	const void *at = member(interface, attr);

	if (attr->kind == ATTR_UINT64)
		return *(const DAT_UINT64 *)at;
	if (attr->kind == ATTR_COUNT)
		return (uint64_t)*(const DAT_COUNT *)at;
	return *(const DAT_UINT32 *)at;
}

static const char *provider_says(const struct interface *interface, const char *name)
{
	const DAT_PROVIDER_ATTR *provider = &interface->provider;
	const char *value = util_named_attr(provider->provider_specific_attr,
					    provider->num_provider_specific_attr, name);

	return value ? value : "";
}

/* "tcp over msg, domain lo", or the provider's own name where it does not run on libfabric. */
static void write_carrier(const struct interface *interface, char *text, size_t size)
{
	const char *provider = provider_says(interface, DAT_OFI_ATTR_PROVIDER);

	if (*provider)
		snprintf(text, size, "libfabric %s, %s endpoints, domain %s", provider,
			 provider_says(interface, DAT_OFI_ATTR_TRANSPORT),
			 provider_says(interface, DAT_OFI_ATTR_DOMAIN));
	else
		snprintf(text, size, "%.*s", DAT_NAME_MAX_LENGTH,
			 interface->provider.provider_name);
}

static void text_attr(FILE *out, const struct interface *interface, const struct attr *attr)
{
	char words[160];

	fprintf(out, "    %-36s", attr->name);
	if (attr->kind == ATTR_CHOICE || attr->kind == ATTR_FLAGS) {
		write_words(attr, (uint32_t)integer(interface, attr), words, sizeof(words));
		fprintf(out, "%s\n", words);
	} else if (attr->kind == ATTR_BOOL) {
		fprintf(out, "%s\n", integer(interface, attr) ? "yes" : "no");
	} else if (attr->kind == ATTR_COUNT) {
		fprintf(out, "%lld\n", (long long)integer(interface, attr));
	} else {
		fprintf(out, "%llu\n", (unsigned long long)integer(interface, attr));
	}
}

static void text_named(FILE *out, const char *title, const DAT_NAMED_ATTR *attr, DAT_COUNT count)
{
	if (count > 0)
		fprintf(out, "  %s attributes\n", title);
	for (DAT_COUNT i = 0; i < count; i++)
		fprintf(out, "    %-36s%s\n", attr[i].name, attr[i].value);
}

static void text_interface(FILE *out, const char *name, const struct interface *interface)
{
	const DAT_IA_ATTR *attr = &interface->attr;
	const DAT_PROVIDER_ATTR *provider = &interface->provider;
	char carrier[384], address[64];

	write_carrier(interface, carrier, sizeof(carrier));
	fprintf(out, "%s\n  %s\n  address %s\n", name, carrier,
		util_address_text(attr->ia_address_ptr, address, sizeof(address)));
	if (!options.ia) {
		fprintf(out, "  %d endpoints of %d DTOs; %d segments; messages %u, RDMA %u bytes\n",
			attr->max_eps, attr->max_dto_per_ep, attr->max_iov_segments_per_dto,
			attr->max_message_size, attr->max_rdma_size);
		fprintf(out, "  %d bytes of private data; SRQ: %s; thread safe: %s\n",
			provider->max_private_data_size, provider->srq_supported ? "yes" : "no",
			provider->is_thread_safe ? "yes" : "no");
		return;
	}
	fprintf(out, "  adapter %s, vendor %s\n  attributes\n", attr->adapter_name,
		attr->vendor_name);
	for (size_t i = 0; i < UTIL_ARRAY_LEN(attrs); i++)
		text_attr(out, interface, &attrs[i]);
	text_named(out, "provider", provider->provider_specific_attr,
		   provider->num_provider_specific_attr);
	text_named(out, "transport", attr->transport_attr, attr->num_transport_attr);
	text_named(out, "vendor", attr->vendor_attr, attr->num_vendor_attr);
}

static void json_named(struct util_json *json, const char *key, const DAT_NAMED_ATTR *attr,
		       DAT_COUNT count)
{
	util_json_open(json, key, '{');
	for (DAT_COUNT i = 0; i < count; i++)
		util_json_string(json, attr[i].name, attr[i].value ? attr[i].value : "");
	util_json_close(json, '}');
}

static void json_attr(struct util_json *json, const struct interface *interface,
		      const struct attr *attr)
{
	uint64_t value = integer(interface, attr);
	char words[160];

	if (attr->kind == ATTR_CHOICE || attr->kind == ATTR_FLAGS) {
		write_words(attr, (uint32_t)value, words, sizeof(words));
		util_json_string(json, attr->name, words);
	} else if (attr->kind == ATTR_BOOL) {
		util_json_bool(json, attr->name, value);
	} else if (attr->kind == ATTR_COUNT) {
		util_json_real(json, attr->name, (double)(int64_t)value);
	} else {
		util_json_integer(json, attr->name, value);
	}
}

static void json_interface(FILE *out, const char *name, const struct interface *interface)
{
	struct util_json json = { .out = out, .depth = 2 };
	const DAT_IA_ATTR *attr = &interface->attr;
	const DAT_PROVIDER_ATTR *provider = &interface->provider;
	char address[64];

	util_json_open(&json, NULL, '{');
	util_json_string(&json, "name", name);
	util_json_bool(&json, "opens", true);
	util_json_string(&json, "provider", provider_says(interface, DAT_OFI_ATTR_PROVIDER));
	util_json_string(&json, "transport", provider_says(interface, DAT_OFI_ATTR_TRANSPORT));
	util_json_string(&json, "domain", provider_says(interface, DAT_OFI_ATTR_DOMAIN));
	util_json_string(&json, "fabric", provider_says(interface, DAT_OFI_ATTR_FABRIC));
	util_json_string(&json, "address",
			 util_address_text(attr->ia_address_ptr, address, sizeof(address)));
	util_json_string(&json, "adapter_name", attr->adapter_name);
	util_json_string(&json, "vendor_name", attr->vendor_name);
	util_json_string(&json, "provider_name", provider->provider_name);
	for (size_t i = 0; i < UTIL_ARRAY_LEN(attrs); i++)
		json_attr(&json, interface, &attrs[i]);
	json_named(&json, "provider_specific_attr", provider->provider_specific_attr,
		   provider->num_provider_specific_attr);
	json_named(&json, "transport_attr", attr->transport_attr, attr->num_transport_attr);
	json_named(&json, "vendor_attr", attr->vendor_attr, attr->num_vendor_attr);
	util_json_close(&json, '}');
}

static bool open_and_tell(FILE *out, const void *arg)
{
	const struct name *name = arg;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	struct interface interface;
	DAT_RETURN ret;

	ret = dat_ia_openv((DAT_NAME_PTR)(uintptr_t)name->text, 8, &async, &interface.ia,
			   name->major, name->minor, name->thread_safe);
	if (ret != DAT_SUCCESS) {
		fprintf(out, "%s", util_dat_text(ret));
		return false;
	}
	ret = dat_ia_query(interface.ia, NULL, DAT_IA_FIELD_ALL, &interface.attr,
			   DAT_PROVIDER_FIELD_ALL, &interface.provider);
	if (ret != DAT_SUCCESS)
		fprintf(out, "it opens, but a query fails: %s", util_dat_text(ret));
	else if (options.json)
		json_interface(out, name->text, &interface);
	else
		text_interface(out, name->text, &interface);
	dat_ia_close(interface.ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret == DAT_SUCCESS;
}

/* ---- names ---- */

static void add_name(struct names *names, const char *text, DAT_UINT32 major, DAT_UINT32 minor,
		     DAT_BOOLEAN safe)
{
	struct name *name = &names->list[names->count];

	for (size_t i = 0; i < names->count; i++) {
		if (!strcmp(names->list[i].text, text))
			return;
	}
	if (names->count == MAX_NAMES)
		return;
	snprintf(name->text, sizeof(name->text), "%s", text);
	name->major = major;
	name->minor = minor;
	name->thread_safe = safe;
	names->count++;
}

static int list_registered(struct names *names)
{
	static DAT_PROVIDER_INFO infos[MAX_NAMES];
	DAT_PROVIDER_INFO *list[MAX_NAMES];
	DAT_COUNT count = 0;
	DAT_RETURN ret;

	for (size_t i = 0; i < MAX_NAMES; i++)
		list[i] = &infos[i];
	ret = dat_registry_list_providers(MAX_NAMES, &count, list);
	if (ret != DAT_SUCCESS)
		return util_fail("cannot list the registered interfaces: %s", util_dat_text(ret));
	for (DAT_COUNT i = 0; i < count; i++) {
		if (infos[i].dapl_version_major == DAT_VERSION_MAJOR)
			add_name(names, infos[i].ia_name, infos[i].dapl_version_major,
				 infos[i].dapl_version_minor, infos[i].is_thread_safe);
		else
			names->other_api++;
	}
	return 0;
}

/*
 * DAT needs connections or reliable datagrams, and RDMA. Providers layered on others come with
 * those.
 */
static bool carries_dat(const struct fi_info *info)
{
	return !strchr(info->fabric_attr->prov_name, ';') && info->caps & FI_RMA &&
	       (info->ep_attr->type == FI_EP_MSG || info->ep_attr->type == FI_EP_RDM);
}

static bool print_fabrics(FILE *out, const void *arg)
{
	struct fi_info *infos;

	(void)arg;
	if (fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &infos))
		return false;
	for (const struct fi_info *info = infos; info; info = info->next) {
		if (carries_dat(info))
			fprintf(out, "%s\n", info->fabric_attr->prov_name);
	}
	fi_freeinfo(infos);
	return true;
}

/* The names that need no dat.conf line. */
static int list_fabrics(struct names *names)
{
	char text[DAT_NAME_MAX_LENGTH];
	struct answer answer;
	char *save = NULL;
	int ret = ask_child(print_fabrics, NULL, &answer);

	for (char *word = answer.text ? strtok_r(answer.text, "\n", &save) : NULL; word;
	     word = strtok_r(NULL, "\n", &save)) {
		snprintf(text, sizeof(text), "ofi-%s", word);
		add_name(names, text, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
	}
	free_answer(&answer);
	return ret;
}

static int list_names(struct names *names)
{
	if (options.ia && strlen(options.ia) >= DAT_NAME_MAX_LENGTH)
		return util_fail("--ia: names have at most %d characters", DAT_NAME_MAX_LENGTH - 1);
	if (list_registered(names) && !options.ia)
		return -1;
	if (!options.ia)
		return list_fabrics(names);
	/*
	 * A registered one keeps its version and thread safety; an unknown one is tried as programs
	 * would.
	 */
	for (size_t i = 0; i < names->count; i++) {
		if (!strcmp(names->list[i].text, options.ia)) {
			names->list[0] = names->list[i];
			names->count = 1;
			return 0;
		}
	}
	names->count = 0;
	add_name(names, options.ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
	return 0;
}

/* ---- output, in the parent ---- */

static void write_log(FILE *out, const char *log)
{
	for (const char *line = log; line && *line;) {
		size_t len = strcspn(line, "\n");

		if (len)
			fprintf(out, "    %.*s\n", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

static void text_failure(const char *name, const char *why, const char *log)
{
	printf("%s\n  does not open: %s\n", name, why);
	write_log(stdout, log);
}

static void json_failure(struct util_json *json, const char *name, const char *why, char *log)
{
	char *save = NULL;

	util_json_open(json, NULL, '{');
	util_json_string(json, "name", name);
	util_json_bool(json, "opens", false);
	util_json_string(json, "reason", why);
	util_json_open(json, "log", '[');
	for (char *line = log ? strtok_r(log, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		util_json_string(json, NULL, line);
	util_json_close(json, ']');
	util_json_close(json, '}');
}

static const char *reason(const struct answer *answer)
{
	if (answer->late)
		util_fail("no answer within %d seconds", ANSWER_SECONDS);
	else if (answer->text)
		util_fail("%s", answer->text);
	else
		util_fail("opening it ended the process without a word");
	return util_error();
}

/* True when the interface opened. */
static bool show(const struct name *name, struct util_json *json)
{
	struct answer answer;
	bool asked = !ask_child(open_and_tell, name, &answer);
	bool opened = asked && answer.ok && answer.text;
	const char *why = asked ? reason(&answer) : util_error();

	if (opened && options.json) {
		util_json_element(json, answer.text);
	} else if (opened) {
		fputs(answer.text, stdout);
		if (options.ia)
			write_log(stdout, answer.log);
	} else if (options.json) {
		json_failure(json, name->text, why, answer.log);
	} else {
		text_failure(name->text, why, answer.log);
	}
	free_answer(&answer);
	return opened;
}

static void json_begin(struct util_json *json)
{
	uint32_t fabric = util_fabric_version();
	char version[32];

	snprintf(version, sizeof(version), "%u.%u", FI_MAJOR(fabric), FI_MINOR(fabric));
	util_json_open(json, NULL, '{');
	util_json_string(json, "program", "dat_info");
	util_json_string(json, "version", PACKAGE_VERSION);
	util_json_string(json, "libfabric", version);
	util_json_open(json, "interfaces", '[');
}

static bool show_all(const struct names *names)
{
	struct util_json json = { .out = stdout };
	bool any = false;

	if (options.json)
		json_begin(&json);
	for (size_t i = 0; i < names->count; i++)
		any |= show(&names->list[i], &json);
	if (options.json) {
		util_json_close(&json, ']');
		util_json_close(&json, '}');
	} else if (names->other_api && !options.ia) {
		printf("%zu entries of dat.conf are for another DAT version and were not tried\n",
		       names->other_api);
	}
	return any;
}

int main(int argc, char **argv)
{
	static struct names names;
	int first;

	if (util_opt_parse(argc, argv, option_table, UTIL_ARRAY_LEN(option_table), &first) ||
	    (first < argc && util_fail("%s: what should that be?", argv[first]))) {
		fprintf(stderr, "dat_info: %s; dat_info --help lists the options\n", util_error());
		return UTIL_EXIT_USAGE;
	}
	if (options.help || options.version) {
		options.help ? usage() : util_print_version("dat_info");
		return UTIL_EXIT_OK;
	}
	if (options.process ? util_process_report(options.process) : list_names(&names)) {
		fprintf(stderr, "dat_info: %s\n", util_error());
		return UTIL_EXIT_FAILED;
	}
	if (options.process)
		return UTIL_EXIT_OK;
	return show_all(&names) ? UTIL_EXIT_OK : UTIL_EXIT_FAILED;
}
