/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names that can be opened: registered ones, those of dat.conf, and those that need no line. */
#include "info/info.h"

#include "common/fabrics.h"

#include <string.h>

static void add_name(struct info_names *names, const char *text, DAT_UINT32 major, DAT_UINT32 minor,
		     DAT_BOOLEAN safe)
{
	struct info_name *name = &names->list[names->count];

	for (size_t i = 0; i < names->count; i++) {
		if (!strcmp(names->list[i].text, text))
			return;
	}
	if (names->count == INFO_MAX_NAMES)
		return;
	snprintf(name->text, sizeof(name->text), "%s", text);
	name->major = major;
	name->minor = minor;
	name->thread_safe = safe;
	names->count++;
}

int info_names_registered(struct info_names *names)
{
	static DAT_PROVIDER_INFO infos[INFO_MAX_NAMES];
	DAT_PROVIDER_INFO *list[INFO_MAX_NAMES];
	DAT_COUNT count = 0;
	DAT_RETURN ret;

	for (size_t i = 0; i < INFO_MAX_NAMES; i++)
		list[i] = &infos[i];
	ret = dat_registry_list_providers(INFO_MAX_NAMES, &count, list);
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

/* The names that need no dat.conf line. Without them the others are still worth showing. */
static void list_fabrics(struct info_names *names)
{
	struct util_fabrics fabrics;
	char text[DAT_NAME_MAX_LENGTH];

	if (util_fabrics_list(&fabrics))
		fprintf(stderr, "dat_info: names that need no line are left out: %s\n",
			util_error());
	for (size_t i = 0; i < fabrics.count; i++) {
		snprintf(text, sizeof(text), "ofi-%s", fabrics.list[i].provider);
		add_name(names, text, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
	}
	util_fabrics_free(&fabrics);
}

int info_names_list(struct info_names *names, const char *asked)
{
	if (asked && strlen(asked) >= DAT_NAME_MAX_LENGTH)
		return util_fail("--ia: names have at most %d characters", DAT_NAME_MAX_LENGTH - 1);
	if (info_names_registered(names) && !asked)
		return -1;
	if (!asked) {
		list_fabrics(names);
		return 0;
	}
	/*
	 * A registered name keeps its version and thread safety. An unknown name is opened as
	 * programs would open it.
	 */
	for (size_t i = 0; i < names->count; i++) {
		if (!strcmp(names->list[i].text, asked)) {
			names->list[0] = names->list[i];
			names->count = 1;
			return 0;
		}
	}
	names->count = 0;
	add_name(names, asked, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
	return 0;
}
