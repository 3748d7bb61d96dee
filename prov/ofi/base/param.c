/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/param.h"

#include "base/addr.h"
#include "base/ascii.h"
#include "base/log.h"
#include "base/log_fabric.h"

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENV_PREFIX "DAT_OFI_"
#define BLANKS     " \t\r\n"

struct param {
	const char *name;
	size_t offset;
	bool is_number;
	const char *text;          /* default of a string */
	uint64_t number, min, max; /* default and range of a number */
	const char *help;
};

static const struct param table[] = {
#define DOFI_PARAM_STR(name, def, help) \
	{#name, offsetof(struct dofi_params, name), false, def, 0, 0, 0, help},
#define DOFI_PARAM_NUM(name, def, min, max, help) \
	{#name, offsetof(struct dofi_params, name), true, NULL, def, min, max, help},
#include "base/param.def"
#undef DOFI_PARAM_STR
#undef DOFI_PARAM_NUM
};

#define NPARAMS (sizeof(table) / sizeof(table[0]))

static const struct param *find_param(const char *name)
{
	for (size_t i = 0; i < NPARAMS; i++)
		if (dofi_ascii_same(name, table[i].name, SIZE_MAX))
			return &table[i];
	return NULL;
}

static size_t min3(size_t a, size_t b, size_t c)
{
	if (b < a)
		a = b;
	return c < a ? c : a;
}

/*
 * Levenshtein distance without regard to case. The row of the matrix is as long as our longest
 * name.
 */
static size_t edit_distance(const char *word, const char *name)
{
	size_t n = strlen(name), row[32];

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; word[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 1; j <= n; j++) {
			bool same = dofi_ascii_lower(word[i]) == dofi_ascii_lower(name[j - 1]);
			size_t above = row[j];

			row[j] = min3(row[j] + 1, row[j - 1] + 1, diagonal + !same);
			diagonal = above;
		}
	}
	return row[n];
}

/* The known name that is most similar. */
static const char *nearest_name(const char *word)
{
	const char *best = table[0].name;
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < NPARAMS; i++) {
		size_t distance = edit_distance(word, table[i].name);

		if (distance < least) {
			least = distance;
			best = table[i].name;
		}
	}
	return best;
}

static void name_variable(char *out, size_t size, const char *name)
{
	size_t used = (size_t)snprintf(out, size, ENV_PREFIX);

	while (*name && used + 1 < size)
		out[used++] = dofi_ascii_upper(*name++);
	out[used] = '\0';
}

static bool set_number(uint64_t *number_p, const struct param *param, const char *value,
		       const char *where)
{
	unsigned long long number = 0;
	char *end = NULL;

	errno = 0;
	if (isdigit((unsigned char)*value))
		number = strtoull(value, &end, 10);
	if (!end || *end || errno || number < param->min || number > param->max) {
		DOFI_LOG_E("%s: %s=%s is not a number from %llu to %llu (%s)", where, param->name,
			   value, (unsigned long long)param->min, (unsigned long long)param->max,
			   param->help);
		return false;
	}
	*number_p = number;
	return true;
}

static bool set_text(char *text, const struct param *param, const char *value, const char *where)
{
	const size_t room = sizeof(((struct dofi_params *)NULL)->provider);

	if (strlen(value) >= room) {
		DOFI_LOG_E("%s: the value of %s is longer than %zu characters", where, param->name,
			   room - 1);
		return false;
	}
	strcpy(text, value);
	return true;
}

static bool set_param(struct dofi_params *p, const struct param *param, const char *value,
		      const char *where)
{
	void *member = (char *)p + param->offset;

	return param->is_number ? set_number(member, param, value, where)
				: set_text(member, param, value, where);
}

static void load_defaults(struct dofi_params *p)
{
	for (size_t i = 0; i < NPARAMS; i++) {
		void *member = (char *)p + table[i].offset;

		if (table[i].is_number)
			*(uint64_t *)member = table[i].number;
		else
			strcpy(member, table[i].text);
	}
}

/* Once per process: otherwise each open would report a variable with a wrong name. */
static void warn_unknown_variables(void)
{
	static atomic_flag warned = ATOMIC_FLAG_INIT;
	extern char **environ;

	if (!environ || atomic_flag_test_and_set(&warned))
		return;
	for (char **var = environ; *var; var++) {
		char word[64], nearest[64];
		size_t size;

		if (strncmp(*var, ENV_PREFIX, strlen(ENV_PREFIX)))
			continue;
		size = strcspn(*var, "=");
		snprintf(word, sizeof(word), "%.*s", (int)size, *var);
		name_variable(nearest, sizeof(nearest), nearest_name(word + strlen(ENV_PREFIX)));
		if (strcmp(word, nearest))
			DOFI_LOG_W("the variable %s has no meaning; is %s meant?", word, nearest);
	}
}

/* A variable that is empty counts as one that is not set, as with the registries. */
static bool load_environment(struct dofi_params *p)
{
	for (size_t i = 0; i < NPARAMS; i++) {
		char variable[64];
		const char *value;

		name_variable(variable, sizeof(variable), table[i].name);
		value = secure_getenv(variable);
		if (value && *value && !set_param(p, &table[i], value, variable))
			return false;
	}
	return true;
}

/* Parses "ofi-PROVIDER[-DOMAIN]"; the domain may contain dashes. Any other name sets nothing. */
static bool load_name(struct dofi_params *p, const char *name)
{
	const char *provider = name + strlen("ofi-"), *dash;

	if (strncmp(name, "ofi-", strlen("ofi-")) || !*provider)
		return true;
	dash = strchr(provider, '-');
	if (dash && !set_text(p->domain, find_param("domain"), dash + 1, name))
		return false;
	if (strlen(provider) >= sizeof(p->provider)) {
		DOFI_LOG_E("the IA name %s is too long: its provider has more than %zu characters",
			   name, sizeof(p->provider) - 1);
		return false;
	}
	snprintf(p->provider, sizeof(p->provider), "%.*s",
		 dash ? (int)(dash - provider) : (int)strlen(provider), provider);
	return true;
}

/*
 * The first word of an old line. A host name is taken for a domain, too: only the choice of the
 * fabric finds out that there is no such domain, and says so.
 */
static bool load_old_device(struct dofi_params *p, const char *word, const char *where)
{
	struct sockaddr_storage addr;

	if (!dofi_addr_parse(word, &addr))
		return set_text(p->domain, find_param("domain"), word, where);
	p->domain[0] = '\0';
	return set_text(p->addr, find_param("addr"), word, where);
}

/*
 * A word without '=' is one of OFED's old forms, "ib0 0", "192.0.2.1 0" or "mlx5_0 1": a netdev,
 * its address or a device, then a port number.
 */
static bool load_old_word(struct dofi_params *p, const char *word, unsigned int nth,
			  const char *where)
{
	if (nth == 0)
		return load_old_device(p, word, where);
	if (nth == 1 && strspn(word, "0123456789") == strlen(word)) {
		DOFI_LOG_I("%s: the port number %s is not used: libfabric chooses the port of a "
			   "device",
			   where, word);
		return true;
	}
	DOFI_LOG_E("%s: can't understand the word \"%s\"; key=value words are wanted, such as "
		   "provider=tcp domain=lo",
		   where, word);
	return false;
}

static bool load_key_value(struct dofi_params *p, char *word, const char *where)
{
	char *equals = strchr(word, '=');
	const struct param *param;

	*equals = '\0';
	param = find_param(word);
	if (param)
		return set_param(p, param, equals + 1, where);
	if (!*word)
		DOFI_LOG_W("%s: =%s is ignored: no blanks may stand around the equals sign of "
			   "key=value",
			   where, equals + 1);
	else
		DOFI_LOG_W("%s: %s=%s is ignored, no such parameter; is %s meant?", where, word,
			   equals + 1, nearest_name(word));
	return true;
}

/* Such a line usually has its old IA name, too, which names no provider of libfabric. */
static bool has_old_word(const char *words)
{
	for (size_t size; *(words += strspn(words, BLANKS)); words += size) {
		size = strcspn(words, BLANKS);
		if (!memchr(words, '=', size))
			return true;
	}
	return false;
}

static bool load_words(struct dofi_params *p, char *words, const char *where)
{
	unsigned int old_words = 0;
	char *rest = NULL;

	for (char *word = strtok_r(words, BLANKS, &rest); word;
	     word = strtok_r(NULL, BLANKS, &rest)) {
		bool good = strchr(word, '=') ? load_key_value(p, word, where)
					      : load_old_word(p, word, old_words++, where);

		if (!good)
			return false;
	}
	return true;
}

int dofi_params_load(struct dofi_params *p, const char *name, const char *ia_params)
{
	char where[320], *words;
	bool good;

	load_defaults(p);
	snprintf(where, sizeof(where), "parameters of IA %s", name);
	words = strdup(ia_params ? ia_params : "");
	if (!words) {
		DOFI_LOG_E("%s can't be read: out of memory", where);
		return -ENOMEM;
	}
	good = load_environment(p) && (has_old_word(words) || load_name(p, name)) &&
	       load_words(p, words, where);
	free(words);
	if (!good)
		return -EINVAL;
	dofi_log_set_level(p->log);
	dofi_log_fabric(p->fabric_log);
	warn_unknown_variables();
	return 0;
}
