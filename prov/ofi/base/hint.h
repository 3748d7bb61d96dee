/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Hints about the hot path for the compiler. */
#ifndef DOFI_HINT_H
#define DOFI_HINT_H

#define DOFI_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define DOFI_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/*
 * The hot path should touch few cache lines, because the fabric's system calls evict most of them.
 * So error paths are cold: the compiler moves them and the code that leads to them away. Code that
 * most operations do not need is in a function of its own.
 */
#define DOFI_COLD                __attribute__((cold, noinline))
#define DOFI_SLOW_PATH           __attribute__((noinline))

/* A step of the hot path. It is a function of its own only for readability. */
#define DOFI_INLINE              static inline __attribute__((always_inline))

#endif
