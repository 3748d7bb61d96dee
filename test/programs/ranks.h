/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Starts processes of one program as a launcher does. They are ranks and share memory. */
#ifndef RANKS_H
#define RANKS_H

#include <stddef.h>

#define RANKS_MAX 256

typedef void (*rank_main)(unsigned int me, unsigned int count, void *shared);

/*
 * Forks the ranks, which share that much memory, and waits until all have returned. Prints PASS, or
 * FAIL with the reason of the first rank that failed, or what each rank was doing when the time was
 * over. Returns the exit status.
 */
int ranks_run(const char *title, unsigned int count, unsigned int seconds, size_t shared_size,
	      rank_main main_);

/* ---- for the ranks ---- */

/* Ends the rank. The other ranks end at the next barrier or rank_yield(). */
void rank_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Records what the rank does next, a constant text. */
void rank_does(const char *what);
void rank_barrier(void);
/* Yields the processor. Ends the rank if another one has failed. */
void rank_yield(void);

#endif
