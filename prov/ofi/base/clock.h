/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Time: the monotonic clock, in nanoseconds, and deadlines by it. */
#ifndef DOFI_CLOCK_H
#define DOFI_CLOCK_H

#include <poll.h>
#include <signal.h>
#include <stdint.h>

/* A deadline that never passes. */
#define DOFI_FOREVER UINT64_MAX

uint64_t dofi_now(void);

/* The processor time that this thread has used, and that of all threads of the process. */
uint64_t dofi_thread_time(void);
uint64_t dofi_process_time(void);

/* The deadline that a DAT_TIMEOUT, in microseconds from now, means. */
uint64_t dofi_deadline(uint32_t timeout_us);

/* What may interrupt a thread of the program while it sleeps, and does not at other times. */
struct dofi_interrupts {
	sigset_t blocked; /* signals that do not */
	int cancel;       /* state for pthread_setcancelstate */
};

/*
 * As ppoll, until the deadline. If the thread is cancelled, its cleanup handlers run. allowed NULL:
 * the thread's signals and cancellation stay as they are.
 */
int dofi_poll_until(struct pollfd *fds, nfds_t n, uint64_t deadline,
		    const struct dofi_interrupts *allowed);

#endif
