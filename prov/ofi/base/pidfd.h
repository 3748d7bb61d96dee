/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DOFI_PIDFD_H
#define DOFI_PIDFD_H

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Headers before Linux 5.3 lack the number, which is the same on all processors of 64 bits. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* Returns a descriptor, which is readable when the process has ended; or -1 and errno. The caller
 * closes it. glibc before 2.36 has no function for this call. */
static inline int dofi_pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

#endif
