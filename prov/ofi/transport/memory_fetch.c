/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/memory_fetch.h"

#include "cm/conn.h"
#include "dto/reap.h"
#include "object/ia.h"
#include "transport/memory_in.h"
#include "transport/memory_path.h"

#include <errno.h>
#include <string.h>

/* Bytes of a message that one round copies from the sender. */
/* Messages that one call of the kernel copies, and their bytes: longer ones gain nothing. */
#define TOGETHER       4u
#define TOGETHER_BYTES (256u << 10)

/*
 * The place in the sender's memory of the byte behind the first `behind` of a message, and the
 * number of bytes from there on.
 */
static struct dofi_memory_range range_of(const struct dofi_memory_range *ranges, uint64_t behind)
{
	while (behind >= ranges->size)
		behind -= (ranges++)->size;
	return (struct dofi_memory_range){ranges->address + behind, ranges->size - behind};
}

/*
 * Copies a part of the message. If the peer has ended the connection or is dead, the cell stays in
 * the ring, and the connection learns of the end in another way. If the peer's memory can't be
 * found any more, the connection breaks: nobody else has the message.
 */
static int fetch(struct dofi_memory_path *path, const struct dofi_memory_range *ranges)
{
	struct dofi_memory_range from = range_of(ranges, path->received);
	int ret = -ESRCH;

	if (from.size > DOFI_REMOTE_PIECE)
		from.size = DOFI_REMOTE_PIECE;
	if (dofi_memory_copy_begin(path)) {
		ret = dofi_remote_read(&path->process, path->receiving->iov, path->received,
				       from.address, from.size);
		dofi_memory_copy_end(path);
	}
	if (!ret)
		path->received += from.size;
	if (ret == -ESRCH)
		return dofi_memory_peer_is_hidden(path) ? ret : DOFI_CELL_STAYS;
	return ret;
}

/* Whether the segments in the sender's memory are valid for a message of that length. */
static bool are_ranges(const struct dofi_memory_range *ranges, size_t n, uint64_t length)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (ranges[i].size > length - sum)
			return false;
		sum += ranges[i].size;
	}
	return length && sum == length;
}

/* Whole messages that one system call copies from the sender, which saves a fifth of the time. */
struct together {
	unsigned int n;
	size_t size;
	struct dofi_cell cells[TOGETHER];
	struct dofi_wr *receives[TOGETHER];
	struct iovec to[TOGETHER], from[TOGETHER];
};

/* Adds the next message if both sides have it in one segment. False: it does not fit. */
static bool add_message(const struct dofi_memory_path *path, struct together *all)
{
	struct dofi_ring_reader ahead = path->in;
	struct dofi_cell *cell = &all->cells[all->n];
	struct dofi_memory_range range;
	struct dofi_wr *wr;

	ahead.cells += all->n;
	if (dofi_ring_look(&ahead, cell) <= 0 || cell->kind != DOFI_CELL_PLACES ||
	    cell->size != sizeof(range))
		return false;
	memcpy(&range, dofi_ring_line(&ahead), sizeof(range));
	wr = dofi_memory_receive(path->conn->ep, path->messages + all->n);
	if (!wr || wr->niov != 1 || !range.size || range.size != cell->words[0] ||
	    range.size > wr->iov[0].iov_len || range.size > TOGETHER_BYTES - all->size)
		return false;
	all->receives[all->n] = wr;
	all->to[all->n] = (struct iovec){wr->iov[0].iov_base, range.size};
	all->from[all->n] = (struct iovec){(void *)(uintptr_t)range.address, range.size};
	all->size += range.size;
	all->n++;
	return true;
}

static void find_together(const struct dofi_memory_path *path, struct together *all)
{
	uint32_t room = DOFI_MEMORY_ANSWERS - (path->answers_tail - path->answers_head);
	struct dofi_ep *ep = path->conn->ep;

	all->n = 0;
	all->size = 0;
	dofi_lock(&ep->lock);
	while (all->n < TOGETHER && all->n < room && add_message(path, all))
		;
	dofi_unlock(&ep->lock);
}

/*
 * Copies all messages and takes their cells. False if that fails: the messages before the one whose
 * copy fails are not lost then, because take_part copies one after the other.
 */
static bool fetch_together(struct dofi_memory_path *path, const struct together *all)
{
	int ret = -ESRCH;

	if (dofi_memory_copy_begin(path)) {
		ret = dofi_remote_read_pieces(&path->process, all->to, all->from, all->n);
		dofi_memory_copy_end(path);
	}
	if (ret)
		return false;
	for (unsigned int i = 0; i < all->n; i++) {
		const struct dofi_cell *cell = &all->cells[i];

		dofi_memory_add_answer(path, &(struct dofi_memory_answer){0});
		dofi_ring_take(&path->in, cell);
		path->messages++;
		dofi_reap_done(all->receives[i], 0, cell->words[0], path->conn->id,
			       (uint32_t)cell->words[1]);
	}
	return true;
}

/* Each call copies a part of the message; the last one takes the cell. */
static int take_part(struct dofi_memory_path *path, const struct dofi_cell *cell)
{
	struct dofi_memory_range ranges[DOFI_MEMORY_RANGES];
	size_t n = cell->size / sizeof(ranges[0]);
	int ret = DOFI_CELL_TAKEN;

	if (cell->size % sizeof(ranges[0]) || n > DOFI_MEMORY_RANGES)
		return -EPROTO;
	dofi_ring_read(&path->in, cell, 0, ranges, cell->size);
	if (!are_ranges(ranges, n, cell->words[0]) ||
	    (path->fetching && cell->words[0] != path->length))
		return -EPROTO;
	if (!path->fetching)
		ret = dofi_memory_begin_message(path, cell);
	if (ret != DOFI_CELL_TAKEN)
		return ret;
	path->fetching = true;
	if (path->length <= dofi_wr_length(path->receiving, path->receiving->niov)) {
		ret = fetch(path, ranges);
		if (ret != DOFI_CELL_TAKEN || path->received < path->length)
			return ret;
	}
	if (!dofi_memory_add_answer(path, &(struct dofi_memory_answer){0}))
		return -EPROTO;
	dofi_ring_take(&path->in, cell);
	path->fetching = false;
	dofi_memory_end_message(path, (uint32_t)cell->words[1]);
	return DOFI_CELL_TAKEN;
}

int dofi_memory_fetch(struct dofi_memory_path *path, const struct dofi_cell *cell)
{
	struct together all;

	dofi_assert_held(&path->conn->ia->engine.lock);
	if (!path->process.pid)
		return -EPROTO;
	if (!path->fetching && !path->receiving) {
		find_together(path, &all);
		if (all.n && fetch_together(path, &all))
			return DOFI_CELL_TAKEN;
	}
	return take_part(path, cell);
}
