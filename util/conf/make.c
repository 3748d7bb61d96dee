/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Makes lines from the fabrics of the machine, and from lines for other providers. */
#include "conf/conf.h"

#include "common/child.h"
#include "common/common.h"
#include "common/fabrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
	return util_fail("out of memory");
}

/* ---- generate ---- */

/*
 * A name of OFED's form: ofa-v2-eth0 for DAT 2.0, eth0 for 1.2. There is one line per domain: the
 * provider chooses the best fabric, and ofi-PROVIDER-DOMAIN needs no line.
 */
static const char *name_prefix(unsigned int major)
{
	return major == 1 ? "" : "ofa-v2-";
}

/* The line of a domain, which the caller frees. NULL: no memory. */
static char *domain_line(const char *domain, unsigned int major)
{
	char name[DAT_NAME_MAX_LENGTH], parameters[DAT_NAME_MAX_LENGTH + 16];
	const struct conf_fields fields = {
		.name = name,
		.parameters = parameters,
		.major = major,
		.minor = major == 1 ? 2 : 0,
	};

	snprintf(name, sizeof(name), "%s%s", name_prefix(major), domain);
	snprintf(parameters, sizeof(parameters), "domain=%s", domain);
	return conf_format(&fields);
}

/*
 * Lines between the marks may also be those of add and convert. Lines of generate are recognised by
 * their form, so those in the files of any release are.
 */
static bool is_generated(const struct conf_line *line, unsigned int major)
{
	const char *name = line->entry.info.ia_name, *prefix = name_prefix(major);
	char *text;
	bool same;

	if (!line->ours || !conf_is_active(line) || line->entry.info.dapl_version_major != major ||
	    strncmp(name, prefix, strlen(prefix)))
		return false;
	text = domain_line(name + strlen(prefix), major);
	same = text && !strcmp(line->text, text);
	free(text);
	return same;
}

/* Whether a line that stays has the name. */
static bool name_taken(const struct conf_file *file, const char *domain, unsigned int major)
{
	const char *prefix = name_prefix(major);

	for (size_t i = 0; i < file->count; i++) {
		const struct conf_line *line = &file->lines[i];
		const char *name = line->entry.info.ia_name;

		if (conf_is_active(line) && !line->stale &&
		    line->entry.info.dapl_version_major == major &&
		    !strncmp(name, prefix, strlen(prefix)) &&
		    !strcmp(name + strlen(prefix), domain))
			return true;
	}
	return false;
}

/* Adds the line unless an earlier call has made it. */
static int keep_or_add(struct conf_file *file, const char *text)
{
	for (size_t i = 0; i < file->count; i++) {
		if (file->lines[i].stale && !strcmp(file->lines[i].text, text)) {
			file->lines[i].stale = false;
			return 0;
		}
	}
	return conf_file_add(file, text);
}

/* Counts the domains for which the file has a line then. */
static int add_domain(struct conf_file *file, const char *domain, unsigned int major,
		      size_t *usable_p)
{
	struct util_answer answer;
	char *text;
	int ret = 0;

	if (name_taken(file, domain, major)) {
		++*usable_p;
		return 0;
	}
	text = domain_line(domain, major);
	if (!text)
		return no_memory();
	if (conf_try_text(text, &answer)) {
		++*usable_p;
		ret = keep_or_add(file, text);
	} else {
		fprintf(stderr, "dat_conf: %s%s is left out, it does not open: %s\n",
			name_prefix(major), domain, util_answer_failure(&answer));
		util_write_log(stderr, answer.log);
	}
	util_answer_free(&answer);
	free(text);
	return ret;
}

/* Several providers may offer the domain; its line is the same for all of them. */
static bool is_repeated(const struct util_fabrics *fabrics, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (!strcmp(fabrics->list[i].domain, fabrics->list[at].domain))
			return true;
	}
	return false;
}

static int add_domains(struct conf_file *file, const struct util_fabrics *fabrics,
		       unsigned int major)
{
	const char *filter = getenv("FI_PROVIDER");
	size_t usable = 0;
	int ret = 0;

	if (!fabrics->count)
		return util_fail("libfabric offers no fabric that can carry DAT%s%s; nothing was "
				 "changed; dat_info --check says more",
				 filter ? " with FI_PROVIDER=" : "", filter ? filter : "");
	for (size_t i = 0; i < fabrics->count && !ret; i++) {
		if (!is_repeated(fabrics, i))
			ret = add_domain(file, fabrics->list[i].domain, major, &usable);
	}
	if (!ret && !usable)
		return util_fail("no domain of libfabric opens; nothing was changed");
	return ret;
}

static void remove_stale(struct conf_file *file)
{
	for (size_t i = file->count; i-- > 0;) {
		/* Removing the last line removes the marks. */
		if (i >= file->count || !file->lines[i].stale)
			continue;
		fprintf(stderr, "dat_conf: without the line that generate made before: %s\n",
			file->lines[i].text);
		conf_file_remove(file, i);
	}
}

int conf_generate(struct conf_file *file, unsigned int major)
{
	struct util_fabrics fabrics;
	int ret = util_fabrics_list(&fabrics);

	for (size_t i = 0; i < file->count; i++)
		file->lines[i].stale = is_generated(&file->lines[i], major);
	if (!ret)
		ret = add_domains(file, &fabrics, major);
	else
		util_fail("%s; nothing was changed", util_error());
	util_fabrics_free(&fabrics);
	if (!ret)
		remove_stale(file);
	return ret;
}

/* ---- convert ---- */

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
