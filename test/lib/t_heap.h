/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef T_HEAP_H
#define T_HEAP_H

#include <malloc.h>
#include <stddef.h>

/* Returns how many bytes malloc has given out. */
static inline size_t t_heap(void)
{
#if __GLIBC_PREREQ(2, 33)
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#else
	const struct mallinfo info = mallinfo();

	return (size_t)(unsigned int)info.uordblks + (unsigned int)info.hblkhd;
#endif
}

#endif
