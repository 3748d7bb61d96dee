/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the compiler can't know about the hot path. */
#ifndef DOFI_HINT_H
#define DOFI_HINT_H

#define DOFI_LIKELY(condition)	 __builtin_expect(!!(condition), 1)
#define DOFI_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* A step of the hot path, in a function of its own to be read alone. */
#define DOFI_INLINE static inline __attribute__((always_inline))

#endif
