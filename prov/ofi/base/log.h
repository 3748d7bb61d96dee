/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DOFI_LOG_H
#define DOFI_LOG_H

#include "base/hint.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dofi_log_level { DOFI_LOG_OFF, DOFI_LOG_ERROR, DOFI_LOG_WARN, DOFI_LOG_INFO, DOFI_LOG_DEBUG };

extern _Atomic enum dofi_log_level dofi_log_level; /* of the whole process */

/*
 * Sets the level and the destination. An unknown word leaves the level and warns. An empty word
 * selects the level by OFED's DAPL_DBG_TYPE, or warnings. DAPL_DBG_DEST selects the destination,
 * standard error by default.
 */
void dofi_log_set_level(const char *word);

bool dofi_log_level_of(const char *word, enum dofi_log_level *level_p);

/*
 * Logs one line: "dat-ofi: <text>". The text says what failed, on which object, why, and what to
 * try.
 */
DOFI_COLD void dofi_log_line(enum dofi_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Logs text of several lines that the user asked for, whatever the level is. */
void dofi_log_text(const char *text, size_t size);

/* The arguments are not evaluated if the level is off. */
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

/*
 * Limits messages that other processes cause to a few within ten seconds. It is initialised with
 * zeros. The owner's lock guards it.
 */
struct dofi_log_limit {
	uint64_t since; /* seconds of CLOCK_MONOTONIC */
	uint32_t written, left_out;
};

/*
 * Returns whether to write a message of this level. The first one after others were left out is
 * preceded by a line with their number, which begins with the name.
 */
bool dofi_log_permit(struct dofi_log_limit *limit, enum dofi_log_level level, const char *name);

/* Logs within a limit. The arguments are not evaluated if the message is not written. */
#define DOFI_LOG_LIMITED(limit, level, name, ...)              \
	do {                                                   \
		if (dofi_log_permit((limit), (level), (name))) \
			dofi_log_line((level), __VA_ARGS__);   \
	} while (0)

#endif
