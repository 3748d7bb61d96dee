/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program that links t_hooks.c stands between the libraries and the allocator and counts their
 * calls. Sanitizers have the same idea, so with them there are no hooks.
 */
#ifndef T_HOOKS_H
#define T_HOOKS_H

#include <stdbool.h>

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

/* The libraries have to find what the program defines in place of the C library's. */
#define T_STAND_IN __attribute__((visibility("default")))

enum t_origin { T_OURS, T_FABRIC, T_ELSEWHERE, T_ORIGINS };

/* To be called when the libraries have been loaded, before any of the others. */
void t_hooks_find_libraries(void);
enum t_origin t_origin_of(const void *return_address);

/* Calls of all threads while counting is on: malloc, free, mmap, munmap and the like. */
void t_alloc_count(bool on);
unsigned long t_alloc_counted(enum t_origin origin);

#endif
