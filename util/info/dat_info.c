/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "info/check.h"
#include "info/info.h"
#include "info/process.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static struct {
	bool json, check, fingerprint, variables, counters, help, version;
	const char *ia, *root;
	uint32_t process; /* 0: none; counters: whether there is one */
} options;

static const struct util_opt option_table[] = {
	UTIL_HEADING("Options:"),
	UTIL_STRING('a', "ia", &options.ia, "NAME", "this interface only, and all that it tells"),
	UTIL_FLAG('c', "check", &options.check, "look for what will be in the way of programs"),
	UTIL_STRING(0, "root", &options.root, "DIR",
		    "with --check and -f: the system's files below DIR"),
	UTIL_FLAG('e', "environment", &options.variables, "variables, and what they are now"),
	UTIL_FLAG('f', "fingerprint", &options.fingerprint, "one line, equal on equal nodes"),
	UTIL_FLAG('j', "json", &options.json, "JSON instead of text"),
	UTIL_NUMBER('p', "process", &options.process, "PID",
		    "counters of a running process, see DAT_OFI_STATS", 1, INT32_MAX),
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
	       "2 wrong command line; with --check: 0 all is well, 1 something fails,\n"
	       "3 there are warnings; with --fingerprint: 0 all interfaces opened, 1 not so.\n");
}

static int show_variables(void)
{
	info_env_show(options.json);
	return UTIL_EXIT_OK;
}

static int show_checks(void)
{
	static const int status[] = {
		[CHECK_OK] = UTIL_EXIT_OK,
		[CHECK_WARN] = UTIL_EXIT_WARNED,
		[CHECK_FAIL] = UTIL_EXIT_FAILED,
	};

	return status[check_run(options.root, options.json)];
}

static int show_interfaces(void)
{
	struct info_names names;
	int status = UTIL_EXIT_FAILED;

	if (!util_registry_is_ours())
		fprintf(stderr,
			"dat_info: %s is not that of dat-ofi: it opens only names that have a line "
			"in dat.conf\n",
			util_registry_path());
	if (info_names_list(&names, options.ia))
		fprintf(stderr, "dat_info: %s\n", util_error());
	else if (info_show(&names, options.ia, options.json))
		status = UTIL_EXIT_OK;
	info_names_free(&names);
	return status;
}

static int show_fingerprint(void)
{
	struct info_names names;
	int status = UTIL_EXIT_FAILED;

	if (options.ia ? info_names_list(&names, options.ia) : info_names_registered(&names))
		fprintf(stderr, "dat_info: %s\n", util_error());
	else if (info_fingerprint(&names, options.root))
		status = UTIL_EXIT_OK;
	info_names_free(&names);
	return status;
}

static int show_process(void)
{
	if (!util_process_report(options.process))
		return UTIL_EXIT_OK;
	fprintf(stderr, "dat_info: %s\n", util_error());
	return UTIL_EXIT_FAILED;
}

/* What the program does; the options of each that choose no other. */
static const struct mode {
	const bool *chosen; /* NULL: no option chooses it */
	const char *name, *options;
	int (*run)(void);
} modes[] = {
	{&options.variables, "--environment", "environment json", show_variables},
	{&options.check, "--check", "check json root", show_checks},
	{&options.fingerprint, "--fingerprint", "fingerprint ia root", show_fingerprint},
	{&options.counters, "--process", "process", show_process},
	{NULL, "the list of interfaces", "ia json", show_interfaces},
};

static int check_root(void)
{
	struct stat stat_;

	if (!options.root)
		return 0;
	if (stat(options.root, &stat_))
		return util_fail("--root %s: %s", options.root, strerror(errno));
	return S_ISDIR(stat_.st_mode) ? 0 : util_fail("--root %s: not a directory", options.root);
}

/* NULL with util_error() set if the options contradict each other. */
static const struct mode *find_mode(void)
{
	const struct mode *mode = NULL;

	options.counters = options.process;
	for (const struct mode *next = modes; next < modes + UTIL_ARRAY_LEN(modes); next++) {
		bool chosen = next->chosen ? *next->chosen : !mode;

		if (chosen && mode) {
			util_fail("%s and %s exclude each other", mode->name, next->name);
			return NULL;
		}
		mode = chosen ? next : mode;
	}
	return util_opt_check(option_table, UTIL_ARRAY_LEN(option_table), mode->options,
			      mode->name) ||
			       check_root()
		       ? NULL
		       : mode;
}

static int run_line(int argc, char **argv)
{
	const struct mode *mode = NULL;
	int first;
	bool wrong = util_opt_parse(argc, argv, option_table, UTIL_ARRAY_LEN(option_table), &first);

	if (!wrong && first < argc)
		wrong = util_fail("%s: what should that be?", argv[first]);
	if (!wrong && (options.help || options.version)) {
		options.help ? usage() : util_print_version("dat_info");
		return UTIL_EXIT_OK;
	}
	if (!wrong)
		mode = find_mode();
	if (!mode) {
		fprintf(stderr, "dat_info: %s; dat_info --help lists the options\n", util_error());
		return UTIL_EXIT_USAGE;
	}
	return mode->run();
}

int main(int argc, char **argv)
{
	util_keep_streams();
	return util_close_stdout("dat_info", run_line(argc, argv));
}
