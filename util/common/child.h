/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work done in a child: a provider that crashes, hangs or prints does it there. */
#ifndef UTIL_CHILD_H
#define UTIL_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What takes longer to open is as good as nothing. */
#define UTIL_ANSWER_SECONDS 20

/* What a child wrote: its answer, and what the libraries below it printed meanwhile. */
struct util_answer {
	char *text, *log;
	size_t text_len, log_len;
	bool ok; /* what work returned */
	bool late;
};

typedef bool (*util_child_work)(FILE *out, const void *arg);

/*
 * Does the work in a child; -1 with util_error() set when there was none or a signal ended it. The
 * answer is freed by util_answer_free() in any case.
 */
int util_ask_child(util_child_work work, const void *arg, struct util_answer *answer);
void util_answer_free(struct util_answer *answer);

/* Why the answer is none: what the child wrote, or that it took too long. */
const char *util_answer_failure(const struct util_answer *answer);

/* Line by line, indented. */
void util_write_log(FILE *out, const char *log);

#endif
