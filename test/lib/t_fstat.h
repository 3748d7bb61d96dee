/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For a program that replaces fstat. The makefile links it with $(t_fstat_wraps), and the program
 * defines __wrap_fstat. A call of fstat becomes one of __fxstat with glibc before 2.33.
 */
#ifndef T_FSTAT_H
#define T_FSTAT_H

#include "t_hooks.h"

#include <sys/stat.h>

T_STAND_IN int __wrap_fstat(int fd, struct stat *st);
int __real_fstat(int fd, struct stat *st);

#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 33)
T_STAND_IN int __wrap___fxstat(int version, int fd, struct stat *st);
int __real___fxstat(int version, int fd, struct stat *st);

int __wrap___fxstat(int version, int fd, struct stat *st)
{
	(void)version;
	return __wrap_fstat(fd, st);
}

static int t_real_fstat(int fd, struct stat *st)
{
	return __real___fxstat(_STAT_VER, fd, st);
}
#else
static int t_real_fstat(int fd, struct stat *st)
{
	return __real_fstat(fd, st);
}
#endif

#endif
