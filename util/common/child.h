/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work in a child process, so that a provider that crashes, hangs or prints does not harm the tool.
 */
#ifndef UTIL_CHILD_H
#define UTIL_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Limit for opening an interface. */
#define UTIL_ANSWER_SECONDS 20

/* The output of a child: its answer, and what libraries printed meanwhile. */
struct util_answer {
	char *text, *log;
	char *warnings; /* lines of the log that DAT's libraries wrote; NULL: there are none */
	size_t text_len, log_len;
	bool ok; /* the result of the work */
	bool late;
};

typedef bool (*util_child_work)(FILE *out, const void *arg);

/*
 * Does the work in a child. -1 with util_error() set if no child could be started or a signal has
 * ended it. The caller frees the answer by util_answer_free() in any case.
 */
int util_ask_child(util_child_work work, const void *arg, struct util_answer *answer);

/*
 * The same, with DAT_OFI_LOG=level in the child. At the level "warn" the provider's lines of the
 * log are warnings and errors.
 */
int util_ask_child_at(const char *level, util_child_work work, const void *arg,
		      struct util_answer *answer);
void util_answer_free(struct util_answer *answer);

/* Why there is no answer: the child's text, or that it took too long. */
const char *util_answer_failure(const struct util_answer *answer);

/* Writes the log line by line, indented. */
void util_write_log(FILE *out, const char *log);

#endif
