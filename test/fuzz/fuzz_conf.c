/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The registry's dat.conf. The input is the file. Each parsed entry, written as a line with quotes,
 * is parsed to the same entry again.
 */
#include "fuzz.h"

#include "../../src/conf.h"

#include <stdlib.h>
#include <string.h>

#define PATH      "fuzz/dat.conf"
#define LINE_SIZE 32768

static const uint8_t *file_data;
static size_t file_size;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (strcmp(path, PATH))
		return __real_fopen(path, mode);
	return fmemopen((void *)(uintptr_t)file_data, file_size, "r");
}

/* All messages are formatted, but not printed. */
static void set_up(void)
{
	setenv("DAT_OVERRIDE", PATH, 1);
	setenv("DAT_DBG_TYPE", "0xff", 1);
	setenv("DAT_DBG_DEST", "8", 1);
}

static char *put_quoted(char *to, const char *text)
{
	*to++ = '"';
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			*to++ = '\\';
		*to++ = *text;
	}
	*to++ = '"';
	*to++ = ' ';
	return to;
}

static void check_again(const struct datr_entry *entry)
{
	static char text[LINE_SIZE];
	struct datr_line line = {.path = "again", .number = 1};
	char *at = put_quoted(text, entry->info.ia_name);

	at += sprintf(at, "u%u.%u %s default ", entry->info.dapl_version_major,
		      entry->info.dapl_version_minor,
		      entry->info.is_thread_safe ? "threadsafe" : "nonthreadsafe");
	at = put_quoted(at, entry->library);
	at += sprintf(at, "dat.1.0 ");
	at = put_quoted(at, entry->ia_params);
	strcpy(at, "\"\" # the end");
	FUZZ_CHECK(datr_line_parse(text, &line));
	FUZZ_CHECK(!strcmp(line.info.ia_name, entry->info.ia_name));
	FUZZ_CHECK(line.info.dapl_version_major == entry->info.dapl_version_major);
	FUZZ_CHECK(line.info.dapl_version_minor == entry->info.dapl_version_minor);
	FUZZ_CHECK(line.info.is_thread_safe == entry->info.is_thread_safe);
	FUZZ_CHECK(!strcmp(line.library, entry->library));
	FUZZ_CHECK(!strcmp(line.ia_params, entry->ia_params));
	FUZZ_CHECK(line.is_user && line.is_default);
}

static void check(const struct datr_entry *entry, unsigned int *line_p)
{
	size_t length = strnlen(entry->info.ia_name, DAT_NAME_MAX_LENGTH);

	FUZZ_CHECK(length && length < DAT_NAME_MAX_LENGTH);
	FUZZ_CHECK(*entry->library);
	FUZZ_CHECK(entry->line > *line_p);
	*line_p = entry->line;
	check_again(entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct datr_conf conf;
	unsigned int line = 0;
	struct datr_entry *entry;

	set_up();
	file_data = data;
	file_size = size;
	conf.entries = NULL;
	datr_conf_load(&conf);
	while ((entry = conf.entries)) {
		check(entry, &line);
		conf.entries = entry->next;
		free(entry);
	}
	return 0;
}
