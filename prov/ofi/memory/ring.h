/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A ring in memory that two processes share: one writes cells, the other takes them, in order. A
 * cell is a cache line with a few words and up to DOFI_CELL_INLINE bytes. More bytes lie in an area
 * behind the cells.
 *
 * The writer stores the field `turn` of a cell last; bytes of messages never lie at its place. So a
 * reader needs one cache line of the writer for a small message. A word of the reader tells how
 * much was taken; the writer reads this word only when the ring seems to be full.
 *
 * Neither side trusts the memory. Each keeps its own indices. It copies the words of a cell before
 * it checks them, and uses the copy. What the other side stores there can make a ring fail, but no
 * access leaves the ring. A side that dies in the middle of a cell leaves the cells before it
 * readable.
 */
#ifndef DOFI_MEMORY_RING_H
#define DOFI_MEMORY_RING_H

#include "base/hint.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#define DOFI_CELLS       128u
#define DOFI_CELL_AREA   65536u /* bytes behind the cells */
#define DOFI_CELL_MAX    16384u /* most bytes with one cell */
#define DOFI_CELL_INLINE 40u

/* The words of a cell, in shared memory and as a copy. Kinds and flags are the user's. */
struct dofi_cell {
	uint32_t turn; /* set by the ring: number of the cell, from 1 on */
	uint8_t kind, flags;
	uint16_t size; /* bytes of the message in it */
	uint64_t words[2];
};

struct dofi_cell_line {
	_Alignas(64) struct dofi_cell cell;
	uint8_t bytes[DOFI_CELL_INLINE]; /* if there are no more */
};

/* In shared memory; all zero at first. */
struct dofi_memory_ring {
	/* stored by the reader: cells taken so far << 32 | bytes of the area; both counts wrap */
	_Alignas(64) _Atomic uint64_t taken;
	struct dofi_cell_line cells[DOFI_CELLS];
	_Alignas(64) uint8_t area[DOFI_CELL_AREA];
};

/* The writer's side. */
struct dofi_ring_writer {
	struct dofi_memory_ring *ring;
	uint32_t cells, bytes;             /* written so far */
	uint32_t cells_taken, bytes_taken; /* as last read from the ring */
};

/* The reader's side. */
struct dofi_ring_reader {
	struct dofi_memory_ring *ring;
	uint32_t cells, bytes;           /* taken so far */
	uint32_t cells_told, bytes_told; /* as last reported to the writer */
};

/* --- the writer --- */

/* Room for one more cell with so many bytes, at most DOFI_CELL_MAX: 1, 0, or -EPROTO. */
DOFI_SLOW_PATH int dofi_ring_find_room(struct dofi_ring_writer *w, size_t size);

/* The same; a cell whose bytes fit into it needs no look at the area. */
static inline int dofi_ring_has_room(struct dofi_ring_writer *w, size_t size)
{
	if (DOFI_LIKELY(size <= DOFI_CELL_INLINE && w->cells - w->cells_taken < DOFI_CELLS))
		return 1;
	return dofi_ring_find_room(w, size);
}

/*
 * Writes the cell with cell->size bytes of the segments, behind their first `skip` bytes. The
 * caller has made sure that there is room.
 */
DOFI_SLOW_PATH void dofi_ring_put(struct dofi_ring_writer *w, const struct dofi_cell *cell,
				  const struct iovec *iov, size_t skip);

/*
 * A few bytes, without a call for the length that most have. Words are read at once, because the
 * program may store them meanwhile; memcpy of aarch64 reads two bytes one after the other.
 */
static inline void dofi_cell_copy(void *to, const void *from, size_t n)
{
	if (DOFI_LIKELY(n == 8))
		memcpy(to, from, 8); /* of a constant size: one load and one store */
	else if (n == 4)
		memcpy(to, from, 4);
	else if (n == 2)
		memcpy(to, from, 2);
	else
		memcpy(to, from, n);
}

/* The same with bytes that fit into the cell, which lie in one place. */
static inline void dofi_ring_put_line(struct dofi_ring_writer *w, struct dofi_cell cell,
				      const void *bytes)
{
	struct dofi_cell_line *line = &w->ring->cells[w->cells % DOFI_CELLS];

	dofi_cell_copy(line->bytes, bytes, cell.size);
	line->cell.kind = cell.kind;
	line->cell.flags = cell.flags;
	line->cell.size = cell.size;
	line->cell.words[0] = cell.words[0];
	line->cell.words[1] = cell.words[1];
	__atomic_store_n(&line->cell.turn, ++w->cells, __ATOMIC_RELEASE);
}

/* --- the reader --- */

/* Copies the next cell and leaves it in the ring: 1; 0: there is none; -EPROTO: it is forged. */
static inline int dofi_ring_look(const struct dofi_ring_reader *r, struct dofi_cell *cell_p)
{
	const struct dofi_cell *shared = &r->ring->cells[r->cells % DOFI_CELLS].cell;

	if (__atomic_load_n(&shared->turn, __ATOMIC_ACQUIRE) != r->cells + 1)
		return 0;
	*cell_p = *shared;
	/* What is checked is what is used: the compiler must not read the cell again. */
	atomic_signal_fence(memory_order_seq_cst);
	return DOFI_LIKELY(cell_p->size <= DOFI_CELL_MAX) ? 1 : -EPROTO;
}

/* The bytes of the cell that was looked at, if they fit into it. */
static inline const void *dofi_ring_line(const struct dofi_ring_reader *r)
{
	return r->ring->cells[r->cells % DOFI_CELLS].bytes;
}

/*
 * Copies n bytes of the cell that dofi_ring_look has returned, from `at` on; at + n is at most the
 * size of the cell.
 */
void dofi_ring_read(const struct dofi_ring_reader *r, const struct dofi_cell *cell, size_t at,
		    void *to, size_t n);

/* Takes this cell out of the ring. */
void dofi_ring_take(struct dofi_ring_reader *r, const struct dofi_cell *cell);

#endif
