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
 * Neither side trusts the memory. Each keeps its own indices. It copies a cell before it checks it,
 * and uses the copy. Whatever the other side stores there can make the ring fail, but never leads
 * to an access outside of the ring. If a side dies in the middle of a cell, the cells before it
 * stay readable.
 */
#ifndef DOFI_MEMORY_RING_H
#define DOFI_MEMORY_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define DOFI_CELLS       128u
#define DOFI_CELL_AREA   65536u /* bytes behind the cells */
#define DOFI_CELL_MAX    16384u /* most bytes with one cell */
#define DOFI_CELL_INLINE 40u

/* A cell, in shared memory and as a copy. Kinds and flags are the user's. */
struct dofi_cell {
	uint32_t turn; /* set by the ring: number of the cell, from 1 on */
	uint8_t kind, flags;
	uint16_t size; /* bytes of the message in it */
	uint64_t words[2];
	uint8_t bytes[DOFI_CELL_INLINE]; /* of messages that fit; read them by dofi_ring_read */
};

/* In shared memory; all zero at first. */
struct dofi_memory_ring {
	/* stored by the reader: cells taken so far << 32 | bytes of the area; both counts wrap */
	_Alignas(64) _Atomic uint64_t taken;
	_Alignas(64) struct dofi_cell cells[DOFI_CELLS];
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

/*
 * Whether the ring has room for one more cell with this many bytes (at most DOFI_CELL_MAX): 1, 0,
 * or -EPROTO if the reader's word is impossible.
 */
int dofi_ring_has_room(struct dofi_ring_writer *w, size_t size);

/*
 * Writes the cell with cell->size bytes of the segments, behind their first `skip` bytes. The
 * caller has made sure that there is room.
 */
void dofi_ring_put(struct dofi_ring_writer *w, const struct dofi_cell *cell,
		   const struct iovec *iov, size_t skip);

/*
 * Copies the next cell and leaves it in the ring. Returns 1, 0 if there is none, or -EPROTO if its
 * size is impossible.
 */
int dofi_ring_look(const struct dofi_ring_reader *r, struct dofi_cell *cell_p);

/*
 * Copies n bytes of the cell that dofi_ring_look has returned, from `at` on; at + n is at most the
 * size of the cell.
 */
void dofi_ring_read(const struct dofi_ring_reader *r, const struct dofi_cell *cell, size_t at,
		    void *to, size_t n);

/* Takes this cell out of the ring. */
void dofi_ring_take(struct dofi_ring_reader *r, const struct dofi_cell *cell);

#endif
