/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Notices the end of another process: by a descriptor that becomes readable, or, on a kernel that
 * has none (before Linux 5.3) or forbids it, by a look at /proc. A number that another process has
 * got meanwhile is not mistaken for the process.
 */
#ifndef DOFI_PROCESS_WATCH_H
#define DOFI_PROCESS_WATCH_H

#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* Headers before Linux 5.3 lack the number, which is the same on all processors of 64 bits. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

struct dofi_process_watch {
	int fd;          /* -1: no process */
	bool needs_look; /* the descriptor does not become readable */
};

#define DOFI_NO_PROCESS ((struct dofi_process_watch){.fd = -1})

/*
 * Begins to watch the process. On success the caller ends it by dofi_process_watch_close. Otherwise
 * the watch has no process, and a negative errno tells why, -ESRCH that there is no such process.
 */
int dofi_process_watch_open(struct dofi_process_watch *watch, pid_t pid);

/* Whether the process has ended, also while its parent does not know. False if that is unclear. */
bool dofi_process_watch_ended(const struct dofi_process_watch *watch);

/* May be called again, and for a watch without a process. */
void dofi_process_watch_close(struct dofi_process_watch *watch);

#endif
