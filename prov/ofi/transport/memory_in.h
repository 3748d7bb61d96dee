/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading the ring of a path. The peer is not trusted: contexts, rights, bounds and control slots
 * are checked here, although the peer has checked them, too.
 */
#ifndef DOFI_MEMORY_IN_H
#define DOFI_MEMORY_IN_H

#include <stddef.h>
#include <stdint.h>

struct dofi_memory_answer;
struct dofi_memory_path;

/*
 * The memory of that context, if the peer may use it so; NULL if not. Valid while engine.lock is
 * held.
 */
void *dofi_memory_find(const struct dofi_memory_path *path, uint64_t context, uint64_t address,
		       uint64_t length, unsigned int need);
/* Stores the bytes of a write, or its last ones: the last word last, by one instruction. */
void dofi_memory_store(uint8_t *to, const uint8_t *from, size_t size);

/* Takes some cells of the ring; engine.lock held. Returns their number. */
int dofi_memory_take_cells(struct dofi_memory_path *path);

/*
 * The memory that the peer reads, from byte `at` on; NULL if the peer may not read it. Valid while
 * engine.lock is held.
 */
void *dofi_memory_source(struct dofi_memory_path *path, const struct dofi_memory_answer *answer,
			 uint64_t at, size_t size);

#endif
