/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opens interfaces, each in a child, and prints the results. */
#include "info/info.h"

#include "common/child.h"

#include <stdlib.h>
#include <string.h>

/* Beginning of the provider's message about refused candidates, with DAT_OFI_LOG=info. */
#define REFUSAL " does not use "

static struct {
	bool full, json;
} how;

static void json_name(struct util_json *json, const struct info_name *name)
{
	char version[32];

	snprintf(version, sizeof(version), "%u.%u", name->major, name->minor);
	util_json_string(json, "name", name->text);
	util_json_string(json, "dat", version);
	util_json_bool(json, "thread_safe", name->thread_safe);
}

/* Adds what tells the entry from others of its name. */
static void text_name(FILE *out, const struct info_name *name)
{
	fprintf(out, "%s", name->text);
	if (name->minor != DAT_VERSION_MINOR)
		fprintf(out, " u%u.%u", name->major, name->minor);
	fprintf(out, "%s\n", name->thread_safe ? " threadsafe" : "");
}

static void json_ia(FILE *out, const struct info_name *name, const struct info_ia *ia)
{
	struct util_json json = {.out = out, .depth = 2};

	util_json_open(&json, NULL, '{');
	json_name(&json, name);
	util_json_bool(&json, "opens", true);
	info_json_facts(&json, ia);
	info_json_attrs(&json, ia);
	/* The parent continues, because only it has the log. */
}

static void text_ia(FILE *out, const struct info_name *name, const struct info_ia *ia)
{
	text_name(out, name);
	info_text_facts(out, ia, how.full);
	if (how.full)
		info_text_attrs(out, ia);
}

bool info_with_ia(FILE *out, const struct info_name *name, info_teller tell)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	struct info_ia ia;
	DAT_RETURN ret;

	ret = dat_ia_openv((DAT_NAME_PTR)(uintptr_t)name->text, 8, &async, &ia.handle, name->major,
			   name->minor, name->thread_safe);
	if (ret != DAT_SUCCESS) {
		fprintf(out, "%s", util_dat_text(ret));
		return false;
	}
	ret = dat_ia_query(ia.handle, NULL, DAT_IA_FIELD_ALL, &ia.attr, DAT_PROVIDER_FIELD_ALL,
			   &ia.provider);
	if (ret != DAT_SUCCESS)
		fprintf(out, "it opens, but a query fails: %s", util_dat_text(ret));
	else
		tell(out, name, &ia);
	dat_ia_close(ia.handle, DAT_CLOSE_ABRUPT_FLAG);
	return ret == DAT_SUCCESS;
}

static bool open_and_tell(FILE *out, const void *arg)
{
	return info_with_ia(out, arg, how.json ? json_ia : text_ia);
}

/* Finds "tcp (eth0): reason; shm (shm): reason" in the log. NULL if nothing was refused. */
static char *find_refusals(const struct util_answer *answer)
{
	char *at = answer->log ? strstr(answer->log, REFUSAL) : NULL, *copy;

	if (!at)
		return NULL;
	at += strlen(REFUSAL);
	copy = strndup(at, strcspn(at, "\n"));
	return copy;
}

/*
 * The next part. Parts end with a semicolon and a blank; provider names contain semicolons without
 * a blank.
 */
static char *next_refusal(char **rest)
{
	char *part = *rest, *end = part ? strstr(part, "; ") : NULL;

	if (end)
		*end = '\0';
	*rest = end ? end + 2 : NULL;
	return part;
}

static void text_refusals(const struct util_answer *answer)
{
	char *copy = find_refusals(answer), *rest = copy;
	const char *title = "refused";

	for (char *part = next_refusal(&rest); part; part = next_refusal(&rest)) {
		util_write_row(stdout, 2, 16, title, part);
		title = "";
	}
	free(copy);
}

static void json_refusals(struct util_json *json, const struct util_answer *answer)
{
	char *copy = find_refusals(answer), *rest = copy;

	util_json_open(json, "refused", '[');
	for (char *part = next_refusal(&rest); part; part = next_refusal(&rest))
		util_json_string(json, NULL, part);
	util_json_close(json, ']');
	free(copy);
}

static void text_warnings(const char *warnings)
{
	char *copy = warnings ? strdup(warnings) : NULL, *save = NULL;

	for (char *line = copy ? strtok_r(copy, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		util_write_row(stdout, 2, 16, "warning", line);
	free(copy);
}

static void text_failure(const struct info_name *name, const char *why, const char *log)
{
	text_name(stdout, name);
	printf("  does not open: ");
	util_write_wrapped(stdout, 17, 4, why);
	util_write_log(stdout, log);
}

static void json_failure(struct util_json *json, const struct info_name *name, const char *why,
			 const char *log)
{
	util_json_open(json, NULL, '{');
	json_name(json, name);
	util_json_bool(json, "opens", false);
	util_json_string(json, "reason", why);
	util_json_lines(json, "log", log);
	util_json_close(json, '}');
}

/* more: the answer with the longer log, which names the refused candidates */
static void tell_opened(struct util_json *json, const struct util_answer *answer,
			const struct util_answer *more)
{
	if (!how.json) {
		fputs(answer->text, stdout);
		text_refusals(more);
		text_warnings(answer->warnings);
		return;
	}
	/* The child's text is an open object: continues two levels deep, behind its members. */
	util_json_element(json, answer->text);
	json->depth++;
	json_refusals(json, more);
	util_json_lines(json, "warnings", answer->warnings);
	util_json_close(json, '}');
}

/*
 * Asks for the warnings alone, and again for the reasons that the provider gives at a higher level
 * of its log, because its lines do not name their level. True when the interface opened.
 */
static bool show(const struct info_name *name, struct util_json *json)
{
	const char *level = getenv("DAT_OFI_LOG");
	struct util_answer answer, more = {.ok = false};
	bool asked = !util_ask_child_at("warn", open_and_tell, name, &answer);
	bool opened = asked && answer.ok && answer.text;
	char why[1024];

	snprintf(why, sizeof(why), "%s", asked ? util_answer_failure(&answer) : util_error());
	if (asked && !answer.late && (!opened || how.full || how.json))
		util_ask_child_at(level ? level : "info", open_and_tell, name, &more);
	if (opened)
		tell_opened(json, &answer, &more);
	else if (how.json)
		json_failure(json, name, why, more.log ? more.log : answer.log);
	else
		text_failure(name, why, more.log ? more.log : answer.log);
	util_answer_free(&answer);
	util_answer_free(&more);
	return opened;
}

bool info_show(const struct info_names *names, bool full, bool as_json)
{
	struct util_json json = {.out = stdout};
	bool any = false;

	how.full = full;
	how.json = as_json;
	if (as_json) {
		util_json_begin(&json, "dat_info");
		util_json_open(&json, "interfaces", '[');
	}
	for (size_t i = 0; i < names->count; i++)
		any |= show(&names->list[i], &json);
	if (as_json) {
		util_json_close(&json, ']');
		util_json_close(&json, '}');
	} else if (names->other_api && !full) {
		printf("%zu entries of dat.conf are for DAT 1.2; dat_conf check tries them, too\n",
		       names->other_api);
	}
	return any;
}
