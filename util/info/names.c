/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names that can be opened: registered ones, those of dat.conf, and those that need no line. */
#include "info/info.h"

#include "common/fabrics.h"

#include <stdlib.h>
#include <string.h>

/* The registry returns as many entries as there is room for, and not how many there are. */
#define FIRST_ROOM 256

static bool is_named(const struct info_names *names, const char *text)
{
	for (size_t i = 0; i < names->count; i++) {
		if (!strcmp(names->list[i].text, text))
			return true;
	}
	return false;
}

static bool is_listed(const struct info_names *names, const struct info_name *name)
{
	for (size_t i = 0; i < names->count; i++) {
		const struct info_name *other = &names->list[i];

		if (!strcmp(other->text, name->text) && other->major == name->major &&
		    other->minor == name->minor && other->thread_safe == name->thread_safe)
			return true;
	}
	return false;
}

static int add_name(struct info_names *names, const char *text, DAT_UINT32 major, DAT_UINT32 minor,
		    DAT_BOOLEAN safe)
{
	struct info_name name = {.major = major, .minor = minor, .thread_safe = safe}, *longer;

	snprintf(name.text, sizeof(name.text), "%s", text);
	if (is_listed(names, &name))
		return 0;
	longer = realloc(names->list, (names->count + 1) * sizeof(name));
	if (!longer)
		return util_fail("out of memory");
	names->list = longer;
	longer[names->count++] = name;
	return 0;
}

/* Lists up to `room` entries, which the caller frees. NULL with util_error() set. */
static DAT_PROVIDER_INFO *list_entries(DAT_COUNT room, DAT_COUNT *count_p)
{
	DAT_PROVIDER_INFO *infos = calloc((size_t)room, sizeof(*infos));
	DAT_PROVIDER_INFO **list = calloc((size_t)room, sizeof(*list));
	DAT_RETURN ret = DAT_SUCCESS;

	if (infos && list) {
		for (DAT_COUNT i = 0; i < room; i++)
			list[i] = &infos[i];
		ret = dat_registry_list_providers(room, count_p, list);
	}
	if (!infos || !list)
		util_fail("out of memory");
	else if (ret != DAT_SUCCESS)
		util_fail("cannot list the registered interfaces: %s", util_dat_text(ret));
	if (!infos || !list || ret != DAT_SUCCESS) {
		free(infos);
		infos = NULL;
	}
	free(list);
	return infos;
}

int info_names_registered(struct info_names *names)
{
	DAT_COUNT room = FIRST_ROOM, count = 0;
	DAT_PROVIDER_INFO *infos = list_entries(room, &count);
	int ret = 0;

	memset(names, 0, sizeof(*names));
	while (infos && count >= room && room < INT32_MAX / 2) {
		free(infos);
		room *= 2;
		infos = list_entries(room, &count);
	}
	if (!infos)
		return -1;
	for (DAT_COUNT i = 0; i < count && !ret; i++) {
		if (infos[i].dapl_version_major == DAT_VERSION_MAJOR)
			ret = add_name(names, infos[i].ia_name, infos[i].dapl_version_major,
				       infos[i].dapl_version_minor, infos[i].is_thread_safe);
		else
			names->other_api++;
	}
	free(infos);
	return ret;
}

/* The names that need no dat.conf line. Without them the others are still worth showing. */
static int list_fabrics(struct info_names *names)
{
	struct util_fabrics fabrics;
	char text[DAT_NAME_MAX_LENGTH];
	int ret = 0;

	if (util_fabrics_list(&fabrics))
		fprintf(stderr, "dat_info: names that need no line are left out: %s\n",
			util_error());
	for (size_t i = 0; i < fabrics.count && !ret; i++) {
		snprintf(text, sizeof(text), "ofi-%s", fabrics.list[i].provider);
		if (!is_named(names, text))
			ret = add_name(names, text, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
				       DAT_FALSE);
	}
	util_fabrics_free(&fabrics);
	return ret;
}

/* Keeps the entries of one name, in their order. */
static void keep_only(struct info_names *names, const char *text)
{
	size_t count = 0;

	for (size_t i = 0; i < names->count; i++) {
		if (!strcmp(names->list[i].text, text))
			names->list[count++] = names->list[i];
	}
	names->count = count;
}

int info_names_list(struct info_names *names, const char *asked)
{
	int ret;

	memset(names, 0, sizeof(*names));
	if (asked && strlen(asked) >= DAT_NAME_MAX_LENGTH)
		return util_fail("--ia: names have at most %d characters", DAT_NAME_MAX_LENGTH - 1);
	ret = info_names_registered(names);
	if (!asked)
		return ret ? ret : list_fabrics(names);
	/* An unknown name is opened as programs would open it. */
	keep_only(names, asked);
	return names->count
		       ? 0
		       : add_name(names, asked, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
}

void info_names_free(struct info_names *names)
{
	free(names->list);
	names->list = NULL;
	names->count = 0;
}
