/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DOFI_LOG_H
#define DOFI_LOG_H

#include <stdatomic.h>
#include <stddef.h>

enum dofi_log_level { DOFI_LOG_OFF, DOFI_LOG_ERROR, DOFI_LOG_WARN, DOFI_LOG_INFO, DOFI_LOG_DEBUG };

extern _Atomic enum dofi_log_level dofi_log_level; /* of the whole process */

void dofi_log_set_level(const char *word); /* an unknown word leaves the level and warns */

/*
 * One line on standard error: "dat-ofi: <text>". Says what failed, on what, why, and what to try.
 */
void dofi_log_line(enum dofi_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Text of several lines that was asked for, whatever the level is. */
void dofi_log_text(const char *text, size_t size);

/* The arguments are not evaluated when the level is off. */
#define DOFI_LOG(level, ...)                                                                \
	do {                                                                                \
		if (__builtin_expect(atomic_load_explicit(&dofi_log_level,                  \
							  memory_order_relaxed) >= (level), \
				     0))                                                    \
			dofi_log_line((level), __VA_ARGS__);                                \
	} while (0)
#define DOFI_LOG_E(...) DOFI_LOG(DOFI_LOG_ERROR, __VA_ARGS__)
#define DOFI_LOG_W(...) DOFI_LOG(DOFI_LOG_WARN, __VA_ARGS__)
#define DOFI_LOG_I(...) DOFI_LOG(DOFI_LOG_INFO, __VA_ARGS__)
#define DOFI_LOG_D(...) DOFI_LOG(DOFI_LOG_DEBUG, __VA_ARGS__)

#endif
