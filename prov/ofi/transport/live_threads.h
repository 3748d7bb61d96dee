/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether a thread of a living process may still be in a short critical section that it was in some
 * time ago: one that has few instructions, never sleeps, and may call the kernel, for however long.
 * A thread is out of it when it sleeps, when it has ended, or when it has spent more time outside
 * of the kernel since than any such section takes. One that is stopped, or waits for a processor,
 * tells nothing.
 */
#ifndef DOFI_LIVE_THREADS_H
#define DOFI_LIVE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dofi_live_thread {
	pid_t pid, tid;
	uint64_t user_ticks, sleeps;
};

struct dofi_live_threads {
	struct dofi_live_thread *list;
	size_t n, room;
};

/* Notes what the threads have done so far. False: no memory, or no right to look. */
bool dofi_live_threads_note(struct dofi_live_threads *threads, const pid_t *pids, size_t n);

/* All of them, but for the caller, are out of what they were in at that time. */
bool dofi_live_threads_are_out(const struct dofi_live_threads *threads);

void dofi_live_threads_free(struct dofi_live_threads *threads);

#endif
