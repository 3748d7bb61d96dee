/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tells whether a thread of a living process may still be in a short critical section where it was
 * some time ago. Such a section has few instructions and never sleeps; it may call the kernel for
 * any time. A thread has left it if it sleeps, has ended, or has since spent more time outside of
 * the kernel than any such section takes. A thread that is stopped or waits for a processor may
 * still be inside.
 */
#ifndef DOFI_LIVE_THREADS_H
#define DOFI_LIVE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dofi_live_thread {
	pid_t pid, tid;
	uint64_t user_ticks, sleeps; /* sleeps: UINT64_MAX if not known */
};

struct dofi_live_threads {
	struct dofi_live_thread *list;
	size_t n, room;
};

/* Records the processor time of the threads. False if there is no memory or no right to read it. */
bool dofi_live_threads_note(struct dofi_live_threads *threads, const pid_t *pids, size_t n);

/* True if all threads except the caller have left the section where they were at that time. */
bool dofi_live_threads_are_out(const struct dofi_live_threads *threads);

void dofi_live_threads_free(struct dofi_live_threads *threads);

#endif
