/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat.conf as a file to read and change. The registry's parser interprets the lines. */
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
	char *text;   /* as in the file, without the newline */
	char *fields; /* a copy, cut by the parser; entry points into it */
	enum conf_kind kind;
	struct datr_line entry;
	char *wrong; /* the parser's message */
	bool ours;   /* between the marks of dat_conf */
	bool stale;  /* generate made it once, and has not made it again yet */
};

struct conf_file {
	char path[PATH_MAX];
	struct conf_line *lines;
	size_t count;
	bool exists;
	struct stat stat; /* at the time of reading */
};

/* ---- file.c ---- */

/*
 * Path NULL: the file that the registries read, or would read if it existed. A missing file counts
 * as empty. 0, or -1 with util_error() set.
 */
int conf_file_read(struct conf_file *file, const char *path);
void conf_file_free(struct conf_file *file);

/* Writes the whole file or nothing. Mode and owner stay. */
int conf_file_write(struct conf_file *file);
void conf_file_print(const struct conf_file *file, FILE *out);

/* Fails, with the parser's reason, if registries would ignore the line. */
int conf_check_text(const char *text);

/*
 * Adds a line between the marks, which are made if there are none. Fails as conf_check_text()
 * does.
 */
int conf_file_add(struct conf_file *file, const char *text);
void conf_file_remove(struct conf_file *file, size_t at);
int conf_file_replace(struct conf_file *file, size_t at, const char *text);

/* Whether a registry, of any version of DAT, uses the line. */
bool conf_is_active(const struct conf_line *line);

/* The earlier line that registries try before this one, or NULL. */
const struct conf_line *conf_shadow(const struct conf_file *file, size_t at);

/* Makes a line from its fields; the caller frees it. NULL: no memory. */
struct conf_fields {
	const char *name, *library, *parameters; /* library NULL: this project's */
	unsigned int major, minor;
	bool thread_safe;
};

char *conf_format(const struct conf_fields *fields);

/* ---- try.c ---- */

struct util_answer;

/*
 * Opens the interface of the line, in a child, as if the line were alone in the file. If it opens,
 * the answer has the warnings.
 */
bool conf_try(const struct conf_line *line, struct util_answer *answer);

/* The same for a text that is not in a file yet. */
bool conf_try_text(const char *text, struct util_answer *answer);

/* Whether the line is for a library of OFED. */
bool conf_for_ofed(const struct conf_line *line);

/* Advice for a line that does not open. */
const char *conf_remedy(const struct conf_line *line, const char *log);

/* ---- make.c ---- */

/*
 * Adds a line for each domain of this machine that opens with this version of DAT, and removes the
 * lines that an earlier call made for other domains. Reports both on standard error. -1 if no
 * domain is there or opens, because a fault that passes must not empty the file.
 */
int conf_generate(struct conf_file *file, unsigned int major);

/* Makes lines for this project from those for OFED's libraries; in_place: replaces them. */
int conf_convert(struct conf_file *file, bool in_place);

#endif
