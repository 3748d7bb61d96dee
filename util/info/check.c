/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "info/check.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *const words[] = {"ok", "warn", "fail"};

static const struct {
	const char *topic;
	void (*run)(struct check *check);
} checks[] = {
	{"memory", check_memlock},
	{"shared memory", check_shared_memory},
	{"copies", check_remote_copies},
	{"fork", check_fork},
	{"devices", check_devices},
	{"Slingshot", check_slingshot},
	{"EFA", check_efa},
	{"addresses", check_addresses},
	{"host name", check_host_name},
	{"fabrics", check_fabrics},
	{"libraries", check_libraries},
	{"links", check_links},
	{"dat.conf", check_conf},
	{"names", check_names},
	{"variables", check_variables},
	{"Intel MPI", check_impi},
	{"key", check_key},
};

/* ---- answers ---- */

static void json_answer(struct util_json *json, const char *topic, enum check_verdict verdict,
			const char *text, const char *remedy)
{
	util_json_open(json, NULL, '{');
	util_json_string(json, "topic", topic);
	util_json_string(json, "verdict", words[verdict]);
	util_json_string(json, "text", text);
	if (remedy)
		util_json_string(json, "remedy", remedy);
	util_json_close(json, '}');
}

void check_say(struct check *check, enum check_verdict verdict, const char *remedy, const char *fmt,
	       ...)
{
	char text[2048];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (verdict > check->worst)
		check->worst = verdict;
	if (check->json) {
		json_answer(check->json, check->topic, verdict, text, remedy);
		return;
	}
	printf("%-4s  %-15s", words[verdict], check->topic);
	util_write_wrapped(stdout, 21, 21, text);
	if (!remedy)
		return;
	printf("%21sto do: ", "");
	util_write_wrapped(stdout, 28, 23, remedy);
}

enum check_verdict check_run(const char *root, bool as_json)
{
	struct util_json json = {.out = stdout};
	struct check check = {.root = root ? root : "", .json = as_json ? &json : NULL};

	if (as_json) {
		util_json_begin(&json, "dat_info");
		util_json_open(&json, "checks", '[');
	}
	for (size_t i = 0; i < UTIL_ARRAY_LEN(checks); i++) {
		check.topic = checks[i].topic;
		checks[i].run(&check);
	}
	if (as_json) {
		util_json_close(&json, ']');
		util_json_string(&json, "worst", words[check.worst]);
		util_json_close(&json, '}');
	}
	return check.worst;
}

/* ---- files ---- */

bool check_exists(const struct check *check, const char *fmt, ...)
{
	char path[PATH_MAX];
	size_t used = (size_t)snprintf(path, sizeof(path), "%s", check->root);
	va_list args;

	if (used >= sizeof(path))
		return false;
	va_start(args, fmt);
	vsnprintf(path + used, sizeof(path) - used, fmt, args);
	va_end(args);
	return !access(path, F_OK);
}

void check_read(const struct check *check, const char *path, char *text, size_t size)
{
	char full[PATH_MAX];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", check->root, path);
	file = fopen(full, "re");
	if (!file || !fgets(text, (int)size, file))
		*text = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (file)
		fclose(file);
}

void check_link(const struct check *check, const char *path, char *text, size_t size)
{
	char full[PATH_MAX], target[PATH_MAX], *slash;
	ssize_t len;

	snprintf(full, sizeof(full), "%s%s", check->root, path);
	len = readlink(full, target, sizeof(target) - 1);
	target[len < 0 ? 0 : len] = '\0';
	slash = strrchr(target, '/');
	snprintf(text, size, "%s", slash ? slash + 1 : target);
}

static int is_visible(const struct dirent *entry)
{
	return *entry->d_name != '.';
}

void check_folder(const struct check *check, const char *path, struct check_list *list)
{
	struct dirent **entries;
	char full[PATH_MAX];
	int count;

	memset(list, 0, sizeof(*list));
	snprintf(full, sizeof(full), "%s%s", check->root, path);
	count = scandir(full, &entries, is_visible, alphasort);
	if (count < 0)
		return;
	list->names = calloc((size_t)count + 1, sizeof(*list->names));
	for (int i = 0; i < count; i++) {
		char *name = list->names ? strdup(entries[i]->d_name) : NULL;

		if (name)
			list->names[list->count++] = name;
		free(entries[i]);
	}
	free(entries);
}

void check_list_free(struct check_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->names[i]);
	free(list->names);
}

bool check_env(const char *name)
{
	const char *value = getenv(name);

	return value && *value && strcmp(value, "0") && strcasecmp(value, "no");
}
