/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the compiler can't know about the hot path. */
#ifndef DOFI_HINT_H
#define DOFI_HINT_H

#define DOFI_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define DOFI_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/*
 * The hot path should touch few lines of the caches: the fabric's system calls leave little of it
 * there. So what goes wrong is cold, and whatever leads to it moves away with it; what most
 * operations don't need is aside, in a function of its own.
 */
#define DOFI_COLD                __attribute__((cold, noinline))
#define DOFI_SLOW_PATH           __attribute__((noinline))

/* A step of the hot path, in a function of its own to be read alone. */
#define DOFI_INLINE              static inline __attribute__((always_inline))

#endif
