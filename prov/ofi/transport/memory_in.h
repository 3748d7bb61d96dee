/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading the ring of a path. The peer is not trusted: contexts, rights, bounds and control slots
 * are checked here, although the peer has checked them, too.
 */
#ifndef DOFI_MEMORY_IN_H
#define DOFI_MEMORY_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dofi_cell;
struct dofi_memory_answer;
struct dofi_memory_path;

/* What became of a cell, beside a negative errno: it was handled, or it stays in the ring. */
enum dofi_cell_result { DOFI_CELL_TAKEN, DOFI_CELL_STAYS };

/* Begins the message of that cell: sets path->receiving. Returns as a handler of cells. */
int dofi_memory_begin_message(struct dofi_memory_path *path, const struct dofi_cell *cell);
/* Ends a message. One that was longer than its receive breaks the connection. */
void dofi_memory_end_message(struct dofi_memory_path *path, uint32_t update);

/*
 * Queues an answer, which a round sends when there is room. False: the peer has too many requests
 * under way.
 */
bool dofi_memory_add_answer(struct dofi_memory_path *path, const struct dofi_memory_answer *answer);

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
