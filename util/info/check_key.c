/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Check of the key that peers must have. */
#include "info/check.h"

#include "common/child.h"
#include "info/info.h"

#include <string.h>

#include <dat2/dat_vendor_specific.h>

static void tell_key(FILE *out, const struct info_name *name, const struct info_ia *ia)
{
	(void)name;
	fprintf(out, "%s", info_named(ia, DAT_OFI_ATTR_KEY));
}

static bool ask(FILE *out, const void *arg)
{
	static const struct info_name any = {.text = "ofi", .major = 2, .thread_safe = DAT_TRUE};

	(void)arg;
	return info_with_ia(out, &any, tell_key);
}

static void judge(struct check *check, const char *key)
{
	if (!*key)
		check_say(check, CHECK_WARN, "let LD_LIBRARY_PATH name the newer provider first",
			  "the provider does not authenticate its peers");
	else if (!strcmp(key, "no key"))
		check_say(check, CHECK_WARN, "unset DAT_OFI_AUTH, and remove auth=none",
			  "auth=none: every process that reaches a program may connect to it, and "
			  "on many fabrics read and write its memory");
	else if (!strncmp(key, "host's key", 10))
		check_say(check, CHECK_WARN,
			  "let the user have a home directory, or name a file that all hosts have "
			  "by DAT_OFI_KEY_FILE",
			  "peers need the %s; those on other hosts are refused", key);
	else if (!strncmp(key, "process's own key", 17))
		check_say(check, CHECK_WARN,
			  "let the user have a home directory, or name a file by DAT_OFI_KEY_FILE",
			  "each process has a key of its own, so no two can connect");
	else
		check_say(check, CHECK_OK, NULL,
			  "peers need the %s: the same user with the same home directory, or a "
			  "copy of the file",
			  key);
}

/* auth=none is reported, whatever else fails. */
static bool is_about_key(const char *line)
{
	return (strstr(line, " key") || strstr(line, "auth=")) && !strstr(line, "auth=none:");
}

/*
 * Finds the first line about the key in the log, without the library's name; or NULL. Changes the
 * log.
 */
static const char *find_reason(char *log)
{
	static const char prefix[] = "dat-ofi: ";

	for (char *line = log ? strtok(log, "\n") : NULL; line; line = strtok(NULL, "\n"))
		if (!strncmp(line, prefix, strlen(prefix)) && is_about_key(line))
			return line + strlen(prefix);
	return NULL;
}

static void tell_why(struct check *check, struct util_answer *answer)
{
	const char *reason = find_reason(answer->log);

	if (reason)
		check_say(check, CHECK_FAIL, "see AUTHENTICATION in dat-ofi-provider(7)",
			  "no interface opens: %s", reason);
	else
		check_say(check, CHECK_WARN, "see the other checks", "no interface opens: %s",
			  util_answer_failure(answer));
}

void check_key(struct check *check)
{
	struct util_answer answer;

	if (util_ask_child(ask, NULL, &answer)) {
		check_say(check, CHECK_WARN, "see the other checks", "no interface opens: %s",
			  util_error());
	} else if (answer.ok) {
		judge(check, answer.text ? answer.text : "");
	} else {
		tell_why(check, &answer);
	}
	util_answer_free(&answer);
}
