/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "memory/ring.h"

#define LINE       64u

/*
 * The reader reports what it has taken when it has taken this much. What it has not reported yet
 * leaves room for a cell of any size, so a writer that waits for room always gets a report.
 */
#define TELL_CELLS (DOFI_CELLS / 4)
#define TELL_BYTES (DOFI_CELL_AREA / 4)

_Static_assert(sizeof(struct dofi_cell_line) == LINE, "a cell is a cache line");
_Static_assert(DOFI_CELL_AREA - TELL_BYTES >= DOFI_CELL_MAX + LINE, "a writer gets room");

/* The part of the area that a cell with this many bytes occupies. */
static uint32_t area_of(size_t size)
{
	return size <= DOFI_CELL_INLINE ? 0 : (uint32_t)((size + LINE - 1) & ~(size_t)(LINE - 1));
}

/* --- the writer --- */

static bool fits(const struct dofi_ring_writer *w, size_t size)
{
	return w->cells - w->cells_taken < DOFI_CELLS &&
	       w->bytes - w->bytes_taken + area_of(size) <= DOFI_CELL_AREA;
}

int dofi_ring_find_room(struct dofi_ring_writer *w, size_t size)
{
	uint64_t taken;

	if (fits(w, size))
		return 1;
	taken = atomic_load_explicit(&w->ring->taken, memory_order_acquire);
	w->cells_taken = (uint32_t)(taken >> 32);
	w->bytes_taken = (uint32_t)taken;
	if (w->cells - w->cells_taken > DOFI_CELLS || w->bytes - w->bytes_taken > DOFI_CELL_AREA)
		return -EPROTO;
	return fits(w, size);
}

static void store(struct dofi_memory_ring *ring, uint32_t at, const void *from, size_t n)
{
	size_t begin = at % DOFI_CELL_AREA, first = DOFI_CELL_AREA - begin;

	if (first > n)
		first = n;
	memcpy(ring->area + begin, from, first);
	memcpy(ring->area, (const uint8_t *)from + first, n - first);
}

/* Copies from the segments to `to`, or to the area if that is NULL. */
static void gather(struct dofi_ring_writer *w, uint8_t *to, size_t size, const struct iovec *iov,
		   size_t skip)
{
	for (size_t done = 0; done < size; iov++) {
		size_t n = iov->iov_len - (skip < iov->iov_len ? skip : iov->iov_len);

		if (n > size - done)
			n = size - done;
		if (n && to)
			memcpy(to + done, (const uint8_t *)iov->iov_base + skip, n);
		else if (n)
			store(w->ring, w->bytes + (uint32_t)done, (uint8_t *)iov->iov_base + skip,
			      n);
		skip -= skip < iov->iov_len ? skip : iov->iov_len;
		done += n;
	}
}

void dofi_ring_put(struct dofi_ring_writer *w, const struct dofi_cell *cell,
		   const struct iovec *iov, size_t skip)
{
	struct dofi_cell_line *line = &w->ring->cells[w->cells % DOFI_CELLS];

	gather(w, cell->size <= DOFI_CELL_INLINE ? line->bytes : NULL, cell->size, iov, skip);
	line->cell.kind = cell->kind;
	line->cell.flags = cell->flags;
	line->cell.size = cell->size;
	line->cell.words[0] = cell->words[0];
	line->cell.words[1] = cell->words[1];
	w->bytes += area_of(cell->size);
	__atomic_store_n(&line->cell.turn, ++w->cells, __ATOMIC_RELEASE);
}

/* --- the reader --- */

void dofi_ring_read(const struct dofi_ring_reader *r, const struct dofi_cell *cell, size_t at,
		    void *to, size_t n)
{
	size_t begin = (r->bytes + at) % DOFI_CELL_AREA, first = DOFI_CELL_AREA - begin;

	if (cell->size <= DOFI_CELL_INLINE) {
		memcpy(to, (const uint8_t *)dofi_ring_line(r) + at, n);
		return;
	}
	if (first > n)
		first = n;
	memcpy(to, r->ring->area + begin, first);
	memcpy((uint8_t *)to + first, r->ring->area, n - first);
}

void dofi_ring_take(struct dofi_ring_reader *r, const struct dofi_cell *cell)
{
	r->cells++;
	r->bytes += area_of(cell->size);
	if (r->cells - r->cells_told < TELL_CELLS && r->bytes - r->bytes_told < TELL_BYTES)
		return;
	r->cells_told = r->cells;
	r->bytes_told = r->bytes;
	atomic_store_explicit(&r->ring->taken, (uint64_t)r->cells << 32 | r->bytes,
			      memory_order_release);
}
