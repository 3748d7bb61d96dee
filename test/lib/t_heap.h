/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef T_HEAP_H
#define T_HEAP_H

#include <malloc.h>
#include <stddef.h>

#if __GLIBC_PREREQ(2, 33)
#define T_MALLINFO(member) ((size_t)mallinfo2().member)
#else
#define T_MALLINFO(member) ((size_t)(unsigned int)mallinfo().member)
#endif

/* Returns how many bytes malloc has given out, without large blocks, which it maps. */
static inline size_t t_heap(void)
{
	return T_MALLINFO(uordblks);
}

/* Returns how many bytes malloc has given out. */
static inline size_t t_heap_and_maps(void)
{
	return T_MALLINFO(uordblks) + T_MALLINFO(hblkhd);
}

#endif
