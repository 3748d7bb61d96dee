/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The system's log for tests: keeps the lines. The makefile links with $(t_syslog_wraps). With
 * _FORTIFY_SOURCE a call of syslog becomes one of __syslog_chk, or of __vsyslog_chk by clang 21.
 */
#ifndef T_SYSLOG_H
#define T_SYSLOG_H

#include "t_check.h"
#include "t_hooks.h"

#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

static struct {
	int priority;
	char text[128];
} t_syslogged[4];
static unsigned int t_nsyslogged;

T_STAND_IN void __wrap_syslog(int priority, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
T_STAND_IN void __wrap___syslog_chk(int priority, int flag, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
T_STAND_IN void __wrap___vsyslog_chk(int priority, int flag, const char *fmt, va_list args)
	__attribute__((format(printf, 3, 0)));

__attribute__((format(printf, 2, 0))) static void t_syslog_take(int priority, const char *fmt,
								va_list args)
{
	ck_assert_uint_lt(t_nsyslogged, 4);
	t_syslogged[t_nsyslogged].priority = priority;
	vsnprintf(t_syslogged[t_nsyslogged].text, sizeof(t_syslogged[0].text), fmt, args);
	t_nsyslogged++;
}

void __wrap_syslog(int priority, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	t_syslog_take(priority, fmt, args);
	va_end(args);
}

void __wrap___syslog_chk(int priority, int flag, const char *fmt, ...)
{
	va_list args;

	(void)flag;
	va_start(args, fmt);
	t_syslog_take(priority, fmt, args);
	va_end(args);
}

void __wrap___vsyslog_chk(int priority, int flag, const char *fmt, va_list args)
{
	(void)flag;
	t_syslog_take(priority, fmt, args);
}

#endif
