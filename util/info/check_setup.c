/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks of the installation: fabrics, libraries, dat.conf. */
#include "info/check.h"

#include "common/child.h"
#include "conf/conf.h"
#include "common/fabrics.h"
#include "info/info.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <rdma/fabric.h>

/* ---- fabrics ---- */

/* Returns how many there are; -1 with util_error() set. */
static int list_fabrics(char *text, size_t size)
{
	struct util_fabrics fabrics;
	size_t used = 0;
	int ret = util_fabrics_list(&fabrics);

	*text = '\0';
	for (size_t i = 0; !ret && i < fabrics.count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s %s", i ? ", " : "",
					 fabrics.list[i].provider, fabrics.list[i].domain);
	ret = ret ? ret : (int)fabrics.count;
	util_fabrics_free(&fabrics);
	return ret;
}

/* Tells whether FI_PROVIDER=wish is the reason why there is no fabric. */
static void say_none(struct check *check, const char *wish)
{
	char text[1024];

	/* Children query libfabric later, so they see the changed environment. */
	unsetenv("FI_PROVIDER");
	if (wish && list_fabrics(text, sizeof(text)) > 0)
		check_say(check, CHECK_FAIL, "unset it, or choose from what there is",
			  "FI_PROVIDER=%s excludes all that could carry DAT: %s", wish, text);
	else
		check_say(
			check, CHECK_FAIL,
			"fi_info -l lists its providers; the distribution may pack tcp, verbs and "
			"others apart, and FI_PROVIDER_PATH names the folder of loadable ones",
			"libfabric has no fabric that can carry DAT");
	if (wish)
		setenv("FI_PROVIDER", wish, 1);
}

void check_fabrics(struct check *check)
{
	const char *filter = getenv("FI_PROVIDER");
	char *wish = filter && *filter ? strdup(filter) : NULL, text[1024];
	int count = list_fabrics(text, sizeof(text));

	if (count > 0)
		check_say(check, CHECK_OK, NULL, "%s%s: %s", wish ? "with FI_PROVIDER=" : "",
			  wish ? wish : "libfabric has", text);
	else if (count < 0)
		check_say(check, CHECK_FAIL,
			  "leave the provider out that crashes or hangs: FI_PROVIDER=^NAME", "%s",
			  util_error());
	else
		say_none(check, wish);
	free(wish);
}

/* ---- libraries ---- */

#define MAX_COPIES 16

struct copies {
	char paths[MAX_COPIES][PATH_MAX];
	struct stat stats[MAX_COPIES];
	size_t count;
};

static void add_copy(struct copies *copies, const char *path)
{
	struct stat now;

	if (copies->count == MAX_COPIES || stat(path, &now))
		return;
	for (size_t i = 0; i < copies->count; i++) {
		if (copies->stats[i].st_ino == now.st_ino && copies->stats[i].st_dev == now.st_dev)
			return;
	}
	copies->stats[copies->count] = now;
	snprintf(copies->paths[copies->count++], PATH_MAX, "%s", path);
}

static void add_matches(struct copies *copies, const char *pattern)
{
	glob_t found;

	if (!glob(pattern, 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			add_copy(copies, found.gl_pathv[i]);
	}
	globfree(&found);
}

/* Finds copies of the library in the folders of the loader and of vendors. */
static void find_copies(const struct check *check, const char *library, struct copies *copies)
{
	static const char *const folders[] = {
		"/usr/local/lib",
		"/usr/local/lib64",
		"/lib/*-linux-gnu",
		"/usr/lib/*-linux-gnu",
		"/lib64",
		"/usr/lib64",
		"/usr/lib",
		"/opt/amazon/efa/lib",
		"/opt/amazon/efa/lib64",
		"/opt/cray/libfabric/*/lib64",
		"/opt/mellanox/*/lib",
	};
	const char *path = getenv("LD_LIBRARY_PATH");
	char *list = path ? strdup(path) : NULL, *save = NULL;
	char pattern[PATH_MAX];

	for (char *folder = list ? strtok_r(list, ":", &save) : NULL; folder;
	     folder = strtok_r(NULL, ":", &save)) {
		snprintf(pattern, sizeof(pattern), "%s/%s", folder, library);
		add_copy(copies, pattern);
	}
	free(list);
	for (size_t i = 0; i < UTIL_ARRAY_LEN(folders); i++) {
		snprintf(pattern, sizeof(pattern), "%s%s/%s", check->root, folders[i], library);
		add_matches(copies, pattern);
	}
}

static void check_copies(struct check *check, const char *library, uintptr_t inside)
{
	struct copies *copies = calloc(1, sizeof(*copies));
	char text[1024] = "";
	size_t end = 0;
	Dl_info used;

	if (!copies || !dladdr((void *)inside, &used)) {
		free(copies);
		return;
	}
	add_copy(copies, used.dli_fname);
	find_copies(check, library, copies);
	for (size_t i = 1; i < copies->count && end < sizeof(text); i++)
		end += (size_t)snprintf(text + end, sizeof(text) - end, "%s%s", i > 1 ? ", " : "",
					copies->paths[i]);
	if (copies->count > 1)
		check_say(check, CHECK_WARN,
			  "remove those that are not meant, or see to it that LD_LIBRARY_PATH and "
			  "ldconfig lead all programs to the same",
			  "%s is used from %s, and there is another one: %s", library,
			  used.dli_fname, text);
	else
		check_say(check, CHECK_OK, NULL, "%s is %s, and no other one is about", library,
			  used.dli_fname);
	free(copies);
}

static void check_version(struct check *check)
{
	uint32_t running = fi_version();

	if (FI_VERSION_LT(running, FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)))
		check_say(check, CHECK_WARN, "install the newer one, or compile with the older one",
			  "libfabric %u.%u is running, older than the %d.%d of the compiler",
			  FI_MAJOR(running), FI_MINOR(running), FI_MAJOR_VERSION, FI_MINOR_VERSION);
}

static void check_registry(struct check *check)
{
	if (!util_registry_is_ours())
		check_say(
			check, CHECK_WARN,
			"let LD_LIBRARY_PATH or ldconfig lead to that of dat-ofi, or write lines: "
			"dat_conf generate",
			"%s is not that of dat-ofi: it opens only names that have a line in "
			"dat.conf",
			util_registry_path());
}

void check_libraries(struct check *check)
{
	check_version(check);
	check_registry(check);
	check_copies(check, "libfabric.so.1", (uintptr_t)fi_version);
	check_copies(check, "libdat2.so.2", (uintptr_t)dat_strerror);
}

/* ---- dat.conf ---- */

static bool load_library(FILE *out, const void *arg)
{
	if (dlopen(arg, RTLD_LAZY))
		return true;
	fprintf(out, "%s", dlerror());
	return false;
}

/*
 * Lists the lines with this library, from the given line on. False if an earlier line has the
 * library.
 */
static bool lines_with(const struct conf_file *file, size_t first, char *text, size_t size)
{
	const char *library = file->lines[first].entry.library;
	size_t count = 0, last = first;

	for (size_t i = 0; i < file->count; i++) {
		if (!conf_is_active(&file->lines[i]) ||
		    strcmp(file->lines[i].entry.library, library))
			continue;
		if (i < first)
			return false;
		last = i;
		count++;
	}
	if (count == 1)
		snprintf(text, size, "line %zu", first + 1);
	else
		snprintf(text, size, "%zu lines from %zu to %zu", count, first + 1, last + 1);
	return true;
}

/* Checks each library once, however many lines name it. */
static bool check_library(struct check *check, const struct conf_file *file, size_t at)
{
	const char *library = file->lines[at].entry.library;
	struct util_answer answer;
	bool ok = true;
	char where[64];

	if (!lines_with(file, at, where, sizeof(where)))
		return true;
	if (util_ask_child(load_library, library, &answer) || !answer.ok) {
		ok = false;
		check_say(check, CHECK_WARN,
			  conf_remedy(&file->lines[at], "cannot load its provider library"),
			  "%s: %s: %s cannot be loaded: %s", file->path, where, library,
			  answer.text ? answer.text : util_error());
	}
	util_answer_free(&answer);
	return ok;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Words of the parameters that the provider ignores with a warning. */
static bool check_parameters(struct check *check, const struct conf_file *file, size_t at)
{
	const struct datr_line *entry = &file->lines[at].entry;
	bool good = true;

	if (strncmp(file_name(entry->library), "libdatofi.", strlen("libdatofi.")))
		return true;
	for (const char *word = entry->ia_params; *word; word += strspn(word, " \t\r")) {
		size_t len = strcspn(word, " \t\r"), key = strcspn(word, "=");

		if (key < len && !info_env_is_param(word, key)) {
			good = false;
			check_say(check, CHECK_WARN,
				  "correct the name, or remove the word; dat_info -e lists all, "
				  "with DAT_OFI_ before the name",
				  "%s:%zu: %s: %.*s is ignored, no such parameter", file->path,
				  at + 1, entry->info.ia_name, (int)len, word);
		}
		word += len;
	}
	return good;
}

/* Our libraries serve one version of DAT each. */
static bool is_wrong_generation(const struct datr_line *entry)
{
	char ours[32];

	snprintf(ours, sizeof(ours), "libdatofi.so.%u",
		 entry->info.dapl_version_major == 1 ? 2 : 1);
	return !strcmp(file_name(entry->library), ours);
}

static bool check_conf_line(struct check *check, const struct conf_file *file, size_t at)
{
	const struct conf_line *line = &file->lines[at];
	const struct conf_line *first = conf_is_active(line) ? conf_shadow(file, at) : NULL;
	bool good;

	if (line->kind == CONF_WRONG) {
		check_say(check, CHECK_FAIL, conf_remedy(line, NULL), "%s:%zu: %s", file->path,
			  at + 1, line->wrong);
		return false;
	}
	if (!conf_is_active(line))
		return true;
	if (is_wrong_generation(&line->entry)) {
		check_say(check, CHECK_FAIL, "correct the version or the library",
			  "%s:%zu: %s is a line for DAT %u and names the library of the other one",
			  file->path, at + 1, line->entry.info.ia_name,
			  line->entry.info.dapl_version_major);
		return false;
	}
	if (first)
		check_say(check, CHECK_WARN, "remove one of them",
			  "%s:%zu: %s is tried only when line %zu, of the same name, does not open",
			  file->path, at + 1, line->entry.info.ia_name,
			  (size_t)(first - file->lines) + 1);
	good = check_parameters(check, file, at);
	return check_library(check, file, at) && good && !first;
}

static const char *const default_files[] = {DATR_CONF_DEFAULTS};

/* The default file that the registry reads. */
static const char *default_file(const struct check *check)
{
	for (size_t i = 0; i < UTIL_ARRAY_LEN(default_files); i++) {
		if (check_exists(check, "%s", default_files[i]))
			return default_files[i];
	}
	return default_files[0];
}

/* Warns of further default files: they are not read if an earlier one exists. */
static bool check_others(struct check *check)
{
	const char *override = getenv("DAT_OVERRIDE");
	bool is_override = override && *override, good = true;
	const char *first = is_override ? override : default_file(check);

	for (size_t i = 1; i < UTIL_ARRAY_LEN(default_files); i++) {
		const char *other = default_files[i];

		if (!strcmp(other, first) || !strcmp(other, default_files[0]) ||
		    !check_exists(check, "%s", other))
			continue;
		check_say(check, CHECK_WARN, "move the lines that are needed into one file",
			  "%s is there but not read, because %s%s is", other,
			  is_override ? "DAT_OVERRIDE=" : "", first);
		good = false;
	}
	return good;
}

int check_conf_read(const struct check *check, struct conf_file *file)
{
	const char *override = getenv("DAT_OVERRIDE");
	char path[PATH_MAX];

	if (!*check->root || (override && *override))
		return conf_file_read(file, NULL);
	snprintf(path, sizeof(path), "%s%s", check->root, default_file(check));
	return conf_file_read(file, path);
}

void check_conf(struct check *check)
{
	const char *override = getenv("DAT_OVERRIDE");
	bool good = check_others(check);
	struct conf_file file;

	if (check_conf_read(check, &file)) {
		check_say(check, CHECK_FAIL,
			  "let its users read it: chmod a+r, and a+x its folders", "%s",
			  util_error());
		return;
	}
	if (!file.exists && override && *override) {
		check_say(
			check, CHECK_FAIL, "correct DAT_OVERRIDE, or unset it",
			"DAT_OVERRIDE names %s, which is not there; registries go on with the next "
			"default",
			file.path);
		return;
	}
	for (size_t i = 0; i < file.count; i++)
		good &= check_conf_line(check, &file, i);
	if (good)
		check_say(check, CHECK_OK, NULL, "%s %s", file.path,
			  file.exists ? "has nothing wrong in it; dat_conf check opens its lines"
				      : "is not there, and needn't be");
	conf_file_free(&file);
}

/* ---- variables ---- */

static void say_unknown(void *arg, const char *name)
{
	struct check *check = arg;

	check_say(check, CHECK_WARN, "correct the name, or unset it; dat_info -e lists all",
		  "%s is set and has no meaning", name);
}

static void count_unknown(void *arg, const char *name)
{
	(void)name;
	++*(size_t *)arg;
}

void check_variables(struct check *check)
{
	size_t count = 0;

	info_env_unknown(count_unknown, &count);
	info_env_unknown(say_unknown, check);
	if (!count)
		check_say(check, CHECK_OK, NULL, "no variable DAT_OFI_* is unknown");
}
