/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A kernel without descriptors of processes, for a program that the makefile links with
 * --wrap=syscall.
 */
#ifndef T_PIDFD_H
#define T_PIDFD_H

#include "t_hooks.h"

#include "../../prov/ofi/base/process_watch.h"

#include <errno.h>
#include <stdarg.h>

static int t_no_pidfd; /* the error of the call that makes one; 0: the kernel answers */

long __real_syscall(long number, ...);
T_STAND_IN long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
	va_list args;
	long a[6];

	if (t_no_pidfd && number == SYS_pidfd_open) {
		errno = t_no_pidfd;
		return -1;
	}
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#endif
