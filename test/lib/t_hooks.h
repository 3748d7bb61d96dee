/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program that links t_hooks.c replaces the allocator and counts the calls of the libraries.
 * Sanitizers also replace the allocator, so there are no hooks with them.
 */
#ifndef T_HOOKS_H
#define T_HOOKS_H

#include <stdbool.h>
#include <stdlib.h> /* defines __GLIBC__ */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define T_HOOKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define T_HOOKS 0
#endif
#endif
#ifndef T_HOOKS
#define T_HOOKS 1
#endif

/* The symbol is visible, so that libraries call it instead of that of the C library. */
#define T_STAND_IN __attribute__((visibility("default")))

enum t_origin { T_OURS, T_FABRIC, T_ELSEWHERE, T_ORIGINS };

/* Call this first, after the libraries have been loaded. */
void t_hooks_find_libraries(void);
enum t_origin t_origin_of(const void *return_address);

/* While counting is on, calls of malloc, free, mmap, munmap and the like are counted. */
void t_alloc_count(bool on);
unsigned long t_alloc_counted(enum t_origin origin);

#endif
