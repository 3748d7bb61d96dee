/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the program and the parts of the provider that are linked into it allocate and free. The
 * program is linked with --wrap=malloc, --wrap=calloc and --wrap=free.
 */
#ifndef T_BLOCKS_H
#define T_BLOCKS_H

#include "t_hooks.h"
#include "unit.h"

#include <stdlib.h>

static void *t_blocks[4096];
static unsigned int t_nblocks;
static int t_blocks_left = -1; /* before an allocation fails; -1: none does */

T_STAND_IN void *__wrap_malloc(size_t size);
void *__real_malloc(size_t size);
T_STAND_IN void *__wrap_calloc(size_t n, size_t size);
void *__real_calloc(size_t n, size_t size);
T_STAND_IN void __wrap_free(void *block);
void __real_free(void *block);

static bool t_block_fails(void)
{
	return t_blocks_left >= 0 && !t_blocks_left--;
}

static void *t_block_keep(void *block)
{
	if (!block)
		return NULL;
	if (t_nblocks == sizeof(t_blocks) / sizeof(t_blocks[0]))
		abort();
	return t_blocks[t_nblocks++] = block;
}

void *__wrap_malloc(size_t size)
{
	return t_block_fails() ? NULL : t_block_keep(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return t_block_fails() ? NULL : t_block_keep(__real_calloc(n, size));
}

void __wrap_free(void *block)
{
	for (unsigned int i = t_nblocks; block && i-- > 0;)
		if (t_blocks[i] == block) {
			t_blocks[i] = t_blocks[--t_nblocks];
			break;
		}
	__real_free(block);
}

#endif
