/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat.conf as a file to look at and change; the registry's parser tells what lines mean. */
#ifndef UTIL_CONF_H
#define UTIL_CONF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "../../src/conf.h"

enum conf_kind {
	CONF_OTHER, /* empty, or a comment */
	CONF_WRONG,
	CONF_ENTRY,
};

struct conf_line {
	char *text;   /* as it stands in the file, without the newline */
	char *fields; /* a copy, cut by the parser; entry points into it */
	enum conf_kind kind;
	struct datr_line entry;
	char *wrong; /* what the parser said */
	bool ours;   /* between our marks */
};

struct conf_file {
	char path[PATH_MAX];
	struct conf_line *lines;
	size_t count;
	bool exists;
	struct stat stat; /* when it was read */
};

/* ---- file.c ---- */

/*
 * Path NULL: the file that the registries read, or the one that they would read if it were there. A
 * file that is not there is an empty one. 0, or -1 with util_error() set.
 */
int conf_file_read(struct conf_file *file, const char *path);
void conf_file_free(struct conf_file *file);

/* Whole or not at all; mode and owner stay. */
int conf_file_write(struct conf_file *file);
void conf_file_print(const struct conf_file *file, FILE *out);

/* Adds lines to those of ours, making the marks when there are none. */
int conf_file_add(struct conf_file *file, const char *text);
void conf_file_remove(struct conf_file *file, size_t at);
int conf_file_replace(struct conf_file *file, size_t at, const char *text);

/* Whether registries look at the line at all, for whatever version of DAT. */
bool conf_is_active(const struct conf_line *line);

/* The earlier line that registries try first, NULL without one. */
const struct conf_line *conf_shadow(const struct conf_file *file, size_t at);

/* A line from its fields; the caller frees it. NULL without memory. */
struct conf_fields {
	const char *name, *library, *parameters; /* library NULL: ours */
	unsigned int major, minor;
	bool thread_safe;
};

char *conf_format(const struct conf_fields *fields);

/* ---- try.c ---- */

struct util_answer;

/* Opens what the line names, in a child, as if it were alone in the file. True when it opens. */
bool conf_try(const struct conf_line *line, struct util_answer *answer);

/* The same for text that is not in a file yet. */
bool conf_try_text(const char *text, struct util_answer *answer);

/* Whether the library is one of OFED's. */
bool conf_for_ofed(const struct conf_line *line);

/* What to do about a line that does not open. */
const char *conf_remedy(const struct conf_line *line, const char *log);

/* ---- make.c ---- */

/* Adds a line for each fabric of this machine and version of DAT that opens; our other lines go. */
int conf_generate(struct conf_file *file, unsigned int major);

/* Makes lines of ours from those for OFED's libraries; in_place: instead of them. */
int conf_convert(struct conf_file *file, bool in_place);

#endif
