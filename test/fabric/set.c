/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sets of integers, by the trees of the C library. The key of a node is the integer itself. */
#include "sham.h"

#include <search.h>

static void *key_of(uint64_t word)
{
	return (void *)(uintptr_t)word;
}

static int compare(const void *a, const void *b)
{
	return (uintptr_t)a < (uintptr_t)b ? -1 : (uintptr_t)a > (uintptr_t)b;
}

bool sham_set_has(const struct sham_set *set, uint64_t word)
{
	return tfind(key_of(word), &set->root, compare);
}

bool sham_set_add(struct sham_set *set, uint64_t word)
{
	return !sham_set_has(set, word) && tsearch(key_of(word), &set->root, compare);
}

bool sham_set_del(struct sham_set *set, uint64_t word)
{
	return tdelete(key_of(word), &set->root, compare);
}

static void leave_alone(void *node)
{
	(void)node;
}

void sham_set_clear(struct sham_set *set)
{
	tdestroy(set->root, leave_alone);
	set->root = NULL;
}
