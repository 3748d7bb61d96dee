/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Prints one line about the node for "sort | uniq -c". The line contains everything that can make
 * programs behave differently, and nothing that differs between nodes of one kind: no addresses,
 * host names, or device names.
 */
#include "info/info.h"

#include "info/check.h"
#include "common/child.h"
#include "conf/conf.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ;

/* Access to the files of the system. */
static struct check node = {.root = ""};
static char host[HOST_NAME_MAX + 1];

/* ---- words of the line ---- */

static bool is_address(const char *text)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

/* Replaces each occurrence of the host's name, and a value that is an address, by a star. */
static void write_masked(FILE *out, const char *value)
{
	size_t len = strlen(host);

	if (is_address(value)) {
		putc('*', out);
		return;
	}
	while (*value) {
		bool named = len && !strncmp(value, host, len);

		putc(named ? '*' : *value == '"' || *value == '\n' ? '\'' : *value, out);
		value += named ? len : 1;
	}
}

static void write_credit_word(FILE *out, const char *name, const char *value)
{
	bool quoted = strpbrk(value, " \t\n\"");

	fprintf(out, " %s=%s", name, quoted ? "\"" : "");
	write_masked(out, *value ? value : "-");
	fprintf(out, "%s", quoted ? "\"" : "");
}

static void write_count(FILE *out, const char *name, unsigned long long value)
{
	fprintf(out, " %s=%llu", name, value);
}

/* ---- the node ---- */

static void write_limit(FILE *out, const char *name, __rlimit_resource_t resource,
			unsigned int unit)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		write_credit_word(out, name, "unlimited");
	else
		write_count(out, name, limit.rlim_cur / unit);
}

/* The rank differs between processes of a node. */
static void write_variable(void *arg, const char *name, const char *value)
{
	if (strcmp(name, "DAT_OFI_LOCAL_RANK"))
		write_credit_word(arg, name, value);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Whether this is a variable of the libraries below. Their defaults are not known, so all set ones
 * count.
 */
static bool is_foreign_setting(const char *text)
{
	static const char *const prefixes[] = {
		"FI_", "PSM3_", "RDMAV_", "IBV_", "I_MPI_DA", "I_MPI_FABRICS",
	};

	for (size_t i = 0; i < UTIL_ARRAY_LEN(prefixes); i++) {
		if (!strncmp(text, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

static void write_foreign_settings(FILE *out)
{
	const char *list[256];
	char name[128];
	size_t count = 0;

	for (char **at = environ; *at && count < UTIL_ARRAY_LEN(list); at++) {
		if (is_foreign_setting(*at))
			list[count++] = *at;
	}
	qsort(list, count, sizeof(*list), compare_texts);
	for (size_t i = 0; i < count; i++) {
		size_t len = strcspn(list[i], "=");

		snprintf(name, sizeof(name), "%.*s", (int)len, list[i]);
		write_credit_word(out, name, list[i] + len + (list[i][len] == '='));
	}
}

static void write_node(FILE *out)
{
	struct utsname kernel;
	char text[16];
	uint32_t version = util_fabric_version();

	fprintf(out, "dat-ofi=%s", PACKAGE_VERSION);
	snprintf(text, sizeof(text), "%u.%u", version >> 16, version & 0xffff);
	write_credit_word(out, "libfabric", text);
	if (!uname(&kernel)) {
		write_credit_word(out, "kernel", kernel.release);
		write_credit_word(out, "arch", kernel.machine);
	}
	write_limit(out, "memlock-kib", RLIMIT_MEMLOCK, 1024);
	write_limit(out, "nofile", RLIMIT_NOFILE, 1);
	info_env_changed(write_variable, out);
	write_foreign_settings(out);
}

/* ---- the device ---- */

/* Finds the device's folder in sysfs, "" if there is none. */
static void find_folder(const char *device, char *path, size_t size)
{
	static const char *const classes[] = {"infiniband", "cxi", "hfi1_user", "net"};

	for (size_t i = 0; i < UTIL_ARRAY_LEN(classes); i++) {
		snprintf(path, size, "/sys/class/%s/%s", classes[i], device);
		if (*device && !strchr(device, '/') && check_exists(&node, "%s", path))
			return;
	}
	*path = '\0';
}

static void read_file(const char *folder, const char *name, char *text, size_t size)
{
	char path[PATH_MAX];

	*text = '\0';
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path))
		check_read(&node, path, text, size);
}

/*
 * Writes "15b3:101b" for a card; "loopback", "ethernet" or "infiniband" for a netdev without one.
 */
static void write_class(FILE *out, const char *folder)
{
	static const struct {
		const char *type, *word;
	} types[] = {{"1", "ethernet"}, {"32", "infiniband"}, {"772", "loopback"}};
	char vendor[16], device[16], text[64], type[16];

	read_file(folder, "device/vendor", vendor, sizeof(vendor));
	read_file(folder, "device/device", device, sizeof(device));
	read_file(folder, "type", type, sizeof(type));
	snprintf(text, sizeof(text), "%s%s", *folder && *type ? "type " : "", type);
	for (size_t i = 0; i < UTIL_ARRAY_LEN(types); i++) {
		if (!strcmp(type, types[i].type))
			snprintf(text, sizeof(text), "%s", types[i].word);
	}
	if (!strncmp(vendor, "0x", 2) && !strncmp(device, "0x", 2))
		snprintf(text, sizeof(text), "%s:%s", vendor + 2, device + 2);
	write_credit_word(out, "device", text);
}

/* Drivers of the kernel have the version of the kernel, so only other ones get a version. */
static void write_driver(FILE *out, const char *folder)
{
	char path[PATH_MAX], driver[64], version[64], text[160];

	snprintf(path, sizeof(path), "%s/device/driver", folder);
	check_link(&node, path, driver, sizeof(driver));
	snprintf(path, sizeof(path), "/sys/module/%s", driver);
	read_file(path, "version", version, sizeof(version));
	snprintf(text, sizeof(text), "%s%s%s", driver, *version ? "/" : "", version);
	write_credit_word(out, "driver", text);
}

static void write_firmware(FILE *out, const char *folder, const DAT_IA_ATTR *attr)
{
	char text[64];

	read_file(folder, "fw_ver", text, sizeof(text));
	if (!*text && (attr->firmware_version_major || attr->firmware_version_minor))
		snprintf(text, sizeof(text), "%u.%u", attr->firmware_version_major,
			 attr->firmware_version_minor);
	write_credit_word(out, "firmware", text);
}

/* Writes the MTU of the netdev, also of one that belongs to a card; else that of InfiniBand. */
static void write_mtu(FILE *out, const char *folder, const struct info_ia *ia)
{
	struct check_list netdevs;
	char path[PATH_MAX], text[32];

	read_file(folder, "mtu", text, sizeof(text));
	snprintf(path, sizeof(path), "%s/device/net", folder);
	check_folder(&node, path, &netdevs);
	if (!*text && netdevs.count) {
		snprintf(path, sizeof(path), "%s/device/net/%s", folder, netdevs.names[0]);
		read_file(path, "mtu", text, sizeof(text));
	}
	check_list_free(&netdevs);
	write_credit_word(out, "mtu", *text ? text : info_named(ia, "DAT_IB_TRANSPORT_MTU"));
}

static void write_device(FILE *out, const struct info_ia *ia)
{
	const char *device = info_named(ia, DAT_OFI_ATTR_DEVICE);
	char folder[256]; /* of the kernel, below /sys/class */

	find_folder(*device ? device : info_named(ia, DAT_OFI_ATTR_DOMAIN), folder, sizeof(folder));
	write_class(out, folder);
	write_driver(out, folder);
	write_firmware(out, folder, &ia->attr);
	write_credit_word(out, "link", info_named(ia, DAT_OFI_ATTR_LINK));
	write_credit_word(out, "bit/s", info_named(ia, DAT_OFI_ATTR_SPEED));
	write_mtu(out, folder, ia);
}

/* ---- an interface ---- */

/* Writes the parameters of the line that registries use for the name, with addresses replaced. */
static void write_params(FILE *out, const struct info_name *name)
{
	struct conf_file file;
	char *save = NULL, *copy = NULL, label[64];

	if (conf_file_read(&file, NULL))
		return;
	for (size_t i = 0; i < file.count && !copy; i++) {
		const DAT_PROVIDER_INFO *info = &file.lines[i].entry.info;

		if (conf_is_active(&file.lines[i]) && !strcmp(info->ia_name, name->text) &&
		    info->dapl_version_major == name->major &&
		    info->dapl_version_minor == name->minor &&
		    info->is_thread_safe == name->thread_safe)
			copy = strdup(file.lines[i].entry.ia_params);
	}
	for (char *word = copy ? strtok_r(copy, " ", &save) : NULL; word;
	     word = strtok_r(NULL, " ", &save)) {
		size_t len = strcspn(word, "=");

		snprintf(label, sizeof(label), "set-%.*s", (int)len, word);
		write_credit_word(out, label, word + len + (word[len] == '='));
	}
	free(copy);
	conf_file_free(&file);
}

/* Names the entry; words that most entries do not need tell it from others of its name. */
static void write_name(FILE *out, const struct info_name *name)
{
	char version[32];

	write_credit_word(out, "ia", name->text);
	snprintf(version, sizeof(version), "%u.%u", name->major, name->minor);
	if (name->minor != DAT_VERSION_MINOR)
		write_credit_word(out, "dat", version);
	if (name->thread_safe)
		write_credit_word(out, "threads", "safe");
}

static void write_ia(FILE *out, const struct info_name *name, const struct info_ia *ia)
{
	const DAT_IA_ATTR *attr = &ia->attr;
	const char *provider = info_named(ia, DAT_OFI_ATTR_PROVIDER);

	write_name(out, name);
	write_credit_word(out, "provider", *provider ? provider : ia->provider.provider_name);
	write_credit_word(out, "transport", info_named(ia, DAT_OFI_ATTR_TRANSPORT));
	write_device(out, ia);
	write_count(out, "eps", (unsigned long long)attr->max_eps);
	write_count(out, "dtos", (unsigned long long)attr->max_dto_per_ep);
	write_count(out, "segments", (unsigned long long)attr->max_iov_segments_per_dto);
	write_count(out, "message", attr->max_message_size);
	write_count(out, "rdma", attr->max_rdma_size);
	write_credit_word(out, "srq", ia->provider.srq_supported ? "yes" : "no");
	write_credit_word(out, "order", info_named(ia, DAT_OFI_ATTR_ORDER));
	write_credit_word(out, "registration", info_named(ia, DAT_OFI_ATTR_MR_MODE));
	write_credit_word(out, "cache", info_named(ia, DAT_OFI_ATTR_MR_CACHE));
	write_params(out, name);
}

static bool open_and_write(FILE *out, const void *arg)
{
	return info_with_ia(out, arg, write_ia);
}

/* Writes the DAT error without its subtype and without process numbers. */
static void write_failure(const struct info_name *name, const struct util_answer *answer,
			  bool asked)
{
	const char *said = answer->text ? answer->text : "ended";
	const char *why = !asked ? "crashed" : answer->late ? "late" : said;
	char text[64];

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(why, " :,"), why);
	write_name(stdout, name);
	write_credit_word(stdout, "fails", text);
}

bool info_fingerprint(const struct info_names *names, const char *root)
{
	bool all = true;

	node.root = root ? root : "";
	if (gethostname(host, sizeof(host) - 1))
		*host = '\0';
	write_node(stdout);
	for (size_t i = 0; i < names->count; i++) {
		struct util_answer answer;
		bool asked = !util_ask_child(open_and_write, &names->list[i], &answer);

		if (asked && answer.ok && answer.text)
			fputs(answer.text, stdout);
		else
			write_failure(&names->list[i], &answer, asked);
		all &= asked && answer.ok;
		util_answer_free(&answer);
	}
	putchar('\n');
	return all;
}
