/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The variables of provider and registry: meaning, default and present value. */
#include "info/info.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern char **environ;

struct variable {
	const char *name, *type, *value; /* value: the default */
	const char *help;
};

#define TEXT_OF(x) #x
#define PREFIX     "DAT_OFI_"

/* The provider's table has the names in lower case and without the prefix. */
static const struct variable provider_variables[] = {
#define DOFI_PARAM_STR(name_, def_, help_) {#name_, "text", def_, help_},
#define DOFI_PARAM_NUM(name_, def_, min_, max_, help_) \
	{#name_, "number from " TEXT_OF(min_) " to " TEXT_OF(max_), TEXT_OF(def_), help_},
#include "../../prov/ofi/base/param.def"
#undef DOFI_PARAM_STR
#undef DOFI_PARAM_NUM
};

static const struct variable registry_variables[] = {
#define DATR_VARIABLE(name_, type_, def_, help_) {#name_, type_, def_, help_},
#include "../../src/variables.def"
#undef DATR_VARIABLE
};

static void write_name(char *text, size_t size, const char *prefix, const char *name)
{
	size_t used = (size_t)snprintf(text, size, "%s", prefix);

	while (*name && used + 1 < size)
		text[used++] = (char)toupper((unsigned char)*name++);
	text[used] = '\0';
}

/* NULL if it is not set, or empty, which means the same. */
static const char *present_value(const char *name)
{
	const char *now = getenv(name);

	return now && *now ? now : NULL;
}

static void text_variable(const char *name, const struct variable *variable)
{
	const char *now = present_value(name);

	printf("%s=%s\n", name, now ? now : variable->value);
	if (!now)
		printf("    by default; %s\n", variable->type);
	else
		printf("    from the environment; %s; default \"%s\"\n", variable->type,
		       variable->value);
	printf("    ");
	util_write_wrapped(stdout, 4, 4, variable->help);
}

static void json_variable(struct util_json *json, const char *name, const struct variable *variable)
{
	const char *now = present_value(name);

	util_json_open(json, NULL, '{');
	util_json_string(json, "name", name);
	util_json_string(json, "type", variable->type);
	util_json_string(json, "default", variable->value);
	util_json_string(json, "value", now ? now : variable->value);
	util_json_string(json, "from", now ? "environment" : "default");
	util_json_string(json, "help", variable->help);
	util_json_close(json, '}');
}

static void show(struct util_json *json, const char *prefix, const struct variable *list,
		 size_t count)
{
	char name[64];

	for (size_t i = 0; i < count; i++) {
		write_name(name, sizeof(name), prefix, list[i].name);
		if (json)
			json_variable(json, name, &list[i]);
		else
			text_variable(name, &list[i]);
	}
}

static void show_both(struct util_json *json)
{
	show(json, PREFIX, provider_variables, UTIL_ARRAY_LEN(provider_variables));
	show(json, "", registry_variables, UTIL_ARRAY_LEN(registry_variables));
}

static void find_changed(const char *prefix, const struct variable *list, size_t count,
			 void (*found)(void *arg, const char *name, const char *value), void *arg)
{
	char name[64];

	for (size_t i = 0; i < count; i++) {
		const char *now;

		write_name(name, sizeof(name), prefix, list[i].name);
		now = present_value(name);
		if (now && strcmp(now, list[i].value))
			found(arg, name, now);
	}
}

void info_env_changed(void (*found)(void *arg, const char *name, const char *value), void *arg)
{
	find_changed(PREFIX, provider_variables, UTIL_ARRAY_LEN(provider_variables), found, arg);
	find_changed("", registry_variables, UTIL_ARRAY_LEN(registry_variables), found, arg);
}

bool info_env_is_param(const char *name, size_t len)
{
	for (size_t i = 0; i < UTIL_ARRAY_LEN(provider_variables); i++) {
		if (strlen(provider_variables[i].name) == len &&
		    !strncasecmp(provider_variables[i].name, name, len))
			return true;
	}
	return false;
}

static bool has_meaning(const char *name)
{
	char known[64];

	for (size_t i = 0; i < UTIL_ARRAY_LEN(provider_variables); i++) {
		write_name(known, sizeof(known), PREFIX, provider_variables[i].name);
		if (!strcmp(known, name))
			return true;
	}
	return false;
}

void info_env_unknown(void (*found)(void *arg, const char *name), void *arg)
{
	char name[128];

	for (char **at = environ; *at; at++) {
		if (strncmp(*at, PREFIX, strlen(PREFIX)))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*at, "="), *at);
		if (!has_meaning(name))
			found(arg, name);
	}
}

void info_env_show(bool as_json)
{
	struct util_json json = {.out = stdout};

	if (!as_json) {
		show_both(NULL);
		return;
	}
	util_json_begin(&json, "dat_info");
	util_json_open(&json, "variables", '[');
	show_both(&json);
	util_json_close(&json, ']');
	util_json_close(&json, '}');
}
