/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DOFI_LOG_H
#define DOFI_LOG_H

#include "base/hint.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum dofi_log_level { DOFI_LOG_OFF, DOFI_LOG_ERROR, DOFI_LOG_WARN, DOFI_LOG_INFO, DOFI_LOG_DEBUG };

extern _Atomic enum dofi_log_level dofi_log_level; /* of the whole process */

/*
 * An unknown word leaves the level and warns; an empty one takes what OFED's DAPL_DBG_TYPE asks
 * for, else warnings. Where to log is decided here, too: DAPL_DBG_DEST, else standard error.
 */
void dofi_log_set_level(const char *word);

bool dofi_log_level_of(const char *word, enum dofi_log_level *level_p);

/*
 * One line: "dat-ofi: <text>". Says what failed, on what, why, and what to try.
 */
DOFI_COLD void dofi_log_line(enum dofi_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Text of several lines that was asked for, whatever the level is. */
void dofi_log_text(const char *text, size_t size);

/* The arguments are not evaluated when the level is off. */
#define DOFI_LOG(level, ...)                                                                     \
	do {                                                                                     \
		if (DOFI_UNLIKELY(atomic_load_explicit(&dofi_log_level, memory_order_relaxed) >= \
				  (level)))                                                      \
			dofi_log_line((level), __VA_ARGS__);                                     \
	} while (0)
#define DOFI_LOG_E(...) DOFI_LOG(DOFI_LOG_ERROR, __VA_ARGS__)
#define DOFI_LOG_W(...) DOFI_LOG(DOFI_LOG_WARN, __VA_ARGS__)
#define DOFI_LOG_I(...) DOFI_LOG(DOFI_LOG_INFO, __VA_ARGS__)
#define DOFI_LOG_D(...) DOFI_LOG(DOFI_LOG_DEBUG, __VA_ARGS__)

#endif
