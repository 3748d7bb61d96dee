/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Processes of one program, as a launcher starts them: ranks that meet and share memory. */
#ifndef RANKS_H
#define RANKS_H

#include <stddef.h>

#define RANKS_MAX 256

typedef void (*rank_main)(unsigned int me, unsigned int count, void *shared);

/*
 * Forks the ranks, which share that much memory, and waits until all have returned. Prints a line
 * PASS or FAIL with the reason of the first that failed, or what each was doing when the time was
 * over. The exit status.
 */
int ranks_run(const char *title, unsigned int count, unsigned int seconds, size_t shared_size,
	      rank_main main_);

/* ---- for the ranks ---- */

/* The rank ends here, and so do the others at the next barrier or rank_yield(). */
void rank_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* What it is about to do, a constant text. */
void rank_does(const char *what);
void rank_barrier(void);
/* The processor to others; the end when one of them has failed. */
void rank_yield(void);

#endif
