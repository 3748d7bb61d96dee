/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Check, with assertions that are cheap in loops. Check writes the place of each assertion that
 * holds to a file, so that it can tell after which one a process crashed. Here only the first time
 * that an assertion holds is written: a crash in a loop is told after the last new one.
 */
#ifndef T_CHECK_H
#define T_CHECK_H

#include <check.h>
#include <stdatomic.h>
#include <stdbool.h>

#define T_LINES 4096 /* of a file; two lines with the same remainder count as one */

static inline void t_mark_point(const char *file, int line)
{
	static atomic_bool marked[T_LINES];
	atomic_bool *mark = &marked[line % T_LINES];

	if (atomic_load_explicit(mark, memory_order_relaxed))
		return;
	atomic_store_explicit(mark, true, memory_order_relaxed);
	_mark_point(file, line);
}

/* The macros of check.h call it by this name. */
#define _mark_point t_mark_point

#endif
