/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Makes lines from the fabrics of the machine, and from lines for other providers. */
#include "conf/conf.h"

#include "common/child.h"
#include "common/common.h"
#include "common/fabrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FABRICS 64

static int no_memory(void)
{
	return util_fail("out of memory");
}

static bool name_taken(const struct conf_file *file, const char *name, unsigned int major)
{
	for (size_t i = 0; i < file->count; i++) {
		const struct conf_line *line = &file->lines[i];

		if (conf_is_active(line) && line->entry.info.dapl_version_major == major &&
		    !strcmp(line->entry.info.ia_name, name))
			return true;
	}
	return false;
}

static int add_if_opens(struct conf_file *file, const char *text)
{
	struct util_answer answer;
	bool opens = conf_try_text(text, &answer);

	util_answer_free(&answer);
	return opens ? conf_file_add(file, text) : 0;
}

/*
 * Adds a line with a name of OFED's form: ofa-v2-eth0 for DAT 2.0, eth0 for 1.2. There is one line
 * per domain: the provider chooses the best fabric, and ofi-PROVIDER-DOMAIN needs no line.
 */
static int add_domain(struct conf_file *file, const char *domain, unsigned int major)
{
	char name[DAT_NAME_MAX_LENGTH], parameters[160], *text;
	const struct conf_fields fields = {
		.name = name,
		.parameters = parameters,
		.major = major,
		.minor = major == 1 ? 2 : 0,
	};
	int ret;

	snprintf(name, sizeof(name), "%s%s", major == 1 ? "" : "ofa-v2-", domain);
	if (name_taken(file, name, major))
		return 0;
	snprintf(parameters, sizeof(parameters), "domain=%s", domain);
	text = conf_format(&fields);
	ret = text ? add_if_opens(file, text) : no_memory();
	free(text);
	return ret;
}

static void remove_ours(struct conf_file *file, unsigned int major)
{
	for (size_t i = file->count; i-- > 0;) {
		/* Removing the last line removes the marks. */
		if (i < file->count && file->lines[i].ours && file->lines[i].kind == CONF_ENTRY &&
		    file->lines[i].entry.info.dapl_version_major == major)
			conf_file_remove(file, i);
	}
}

int conf_generate(struct conf_file *file, unsigned int major)
{
	struct util_fabric fabrics[MAX_FABRICS];
	size_t count;
	int ret = util_fabrics_list(fabrics, MAX_FABRICS, &count);

	if (ret)
		return ret;
	remove_ours(file, major);
	for (size_t i = 0; i < count && !ret; i++)
		ret = add_domain(file, fabrics[i].domain, major);
	return ret;
}

static bool is_ofed(const struct conf_line *line)
{
	return conf_is_active(line) && conf_for_ofed(line);
}

static char *convert(const struct conf_line *line)
{
	const DAT_PROVIDER_INFO *info = &line->entry.info;
	const struct conf_fields fields = {
		.name = info->ia_name,
		.parameters = line->entry.ia_params,
		.major = info->dapl_version_major,
		.minor = info->dapl_version_minor,
		.thread_safe = info->is_thread_safe,
	};

	return conf_format(&fields);
}

/* Whether the same line is there already. */
static bool is_there(const struct conf_file *file, const char *text)
{
	for (size_t i = 0; i < file->count; i++) {
		if (!strcmp(file->lines[i].text, text))
			return true;
	}
	return false;
}

int conf_convert(struct conf_file *file, bool in_place)
{
	/* Added lines are behind these or are not for OFED, so the loop ends. */
	for (size_t i = 0; i < file->count; i++) {
		char *text = is_ofed(&file->lines[i]) ? convert(&file->lines[i]) : NULL;
		int ret = 0;

		if (!text && is_ofed(&file->lines[i]))
			return no_memory();
		if (text && in_place)
			ret = conf_file_replace(file, i, text);
		else if (text && !is_there(file, text))
			ret = conf_file_add(file, text);
		free(text);
		if (ret)
			return ret;
	}
	return 0;
}
