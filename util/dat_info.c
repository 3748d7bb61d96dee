/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "info.h"

static struct {
	bool json, variables, help, version;
	const char *ia;
} options;

static const struct util_opt option_table[] = {
	UTIL_HEADING("Options:"),
	UTIL_STRING('a', "ia", &options.ia, "NAME", "this interface only, and all that it tells"),
	UTIL_FLAG('e', "environment", &options.variables, "variables, and what they are now"),
	UTIL_FLAG('j', "json", &options.json, "JSON instead of text"),
	UTIL_FLAG('h', "help", &options.help, "this text"),
	UTIL_FLAG('V', "version", &options.version, "versions of the project and libfabric"),
};

static void usage(void)
{
	printf("Usage: dat_info [OPTION]...\n"
	       "Opens every DAT 2.0 interface that dat.conf or the fabrics of this host offer,\n"
	       "and tells what it runs on, or why it does not open.\n");
	util_opt_help(option_table, UTIL_ARRAY_LEN(option_table));
	printf("\nExit status: 0 an interface opened, 1 none did, 2 wrong command line.\n");
}

static int show_interfaces(void)
{
	static struct info_names names;

	if (info_names_list(&names, options.ia)) {
		fprintf(stderr, "dat_info: %s\n", util_error());
		return UTIL_EXIT_FAILED;
	}
	return info_show(&names, options.ia, options.json) ? UTIL_EXIT_OK : UTIL_EXIT_FAILED;
}

int main(int argc, char **argv)
{
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
	if (options.variables) {
		info_env_show(options.json);
		return UTIL_EXIT_OK;
	}
	return show_interfaces();
}
