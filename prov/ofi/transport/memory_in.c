/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/memory_in.h"

#include "base/last_word.h"
#include "cm/conn.h"
#include "dto/control.h"
#include "dto/control_message.h"
#include "dto/credit.h"
#include "dto/reap.h"
#include "dto/receive.h"
#include "dto/rmr.h"
#include "object/ctxtab.h"
#include "object/ia.h"
#include "progress/wait.h"
#include "transport/memory_fetch.h"
#include "transport/memory_path.h"
#include "transport/memory_pending.h"

#include <endian.h>
#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>

/* Cells of a path that one round handles. */
#define BATCH 16

/* --- segments --- */

/* Copies the bytes of the cell to the segments, behind their first `at` bytes. */
static void scatter(const struct dofi_memory_path *path, const struct dofi_cell *cell,
		    const struct iovec *iov, uint64_t at)
{
	for (size_t done = 0; done < cell->size; iov++) {
		size_t skip = at < iov->iov_len ? (size_t)at : iov->iov_len,
		       n = iov->iov_len - skip;

		if (n > cell->size - done)
			n = cell->size - done;
		if (n)
			dofi_ring_read(&path->in, cell, done, (char *)iov->iov_base + skip, n);
		at -= skip;
		done += n;
	}
}

/* --- answers --- */

bool dofi_memory_add_answer(struct dofi_memory_path *path, const struct dofi_memory_answer *answer)
{
	if (path->answers_tail - path->answers_head >= DOFI_MEMORY_ANSWERS)
		return false;
	path->answers[path->answers_tail++ % DOFI_MEMORY_ANSWERS] = *answer;
	return true;
}

/* --- messages --- */

int dofi_memory_begin_message(struct dofi_memory_path *path, const struct dofi_cell *cell)
{
	struct dofi_ep *ep = path->conn->ep;

	if (path->receiving)
		return -EPROTO;
	dofi_lock(&ep->lock);
	path->receiving = dofi_memory_receive(ep, path->messages);
	dofi_unlock(&ep->lock);
	if (!path->receiving)
		return DOFI_CELL_STAYS;
	path->messages++;
	path->received = 0;
	path->length = cell->words[0];
	return DOFI_CELL_TAKEN;
}

void dofi_memory_end_message(struct dofi_memory_path *path, uint32_t update)
{
	struct dofi_wr *wr = path->receiving;
	int err = path->length > dofi_wr_length(wr, wr->niov) ? FI_ETRUNC : 0;

	path->receiving = NULL;
	dofi_reap_done(wr, err, path->length, path->conn->id, update);
}

/* Takes a message that fits into its cell and into the receive. False: take_send handles it. */
static bool take_line(struct dofi_memory_path *path, const struct dofi_cell *cell)
{
	struct dofi_ep *ep = path->conn->ep;
	struct dofi_wr *wr;
	bool fits;

	if (cell->size > DOFI_CELL_INLINE || cell->words[0] != cell->size || path->receiving)
		return false;
	dofi_lock(&ep->lock);
	wr = dofi_memory_receive(ep, path->messages);
	fits = wr && wr->niov == 1 && cell->size <= wr->iov[0].iov_len;
	if (fits) {
		path->messages++;
		dofi_cell_copy(wr->iov[0].iov_base, dofi_ring_line(&path->in), cell->size);
		dofi_ring_take(&path->in, cell);
		dofi_receive_done_held(wr, cell->size, (uint32_t)cell->words[1]);
	}
	dofi_unlock(&ep->lock);
	return fits;
}

static int take_send(struct dofi_memory_path *path, const struct dofi_cell *cell)
{
	bool last = cell->flags & DOFI_CELL_LAST;
	const struct dofi_wr *wr;
	int ret = DOFI_CELL_TAKEN;

	if (path->fetching)
		return -EPROTO;
	if (cell->flags & DOFI_CELL_FIRST)
		ret = dofi_memory_begin_message(path, cell);
	if (ret != DOFI_CELL_TAKEN)
		return ret;
	wr = path->receiving;
	if (!wr || cell->size > path->length - path->received ||
	    last != (path->received + cell->size == path->length))
		return -EPROTO;
	if (path->length <= dofi_wr_length(wr, wr->niov))
		scatter(path, cell, wr->iov, path->received);
	path->received += cell->size;
	dofi_ring_take(&path->in, cell);
	if (last)
		dofi_memory_end_message(path, (uint32_t)cell->words[1]);
	return DOFI_CELL_TAKEN;
}

/* --- RDMA --- */

/* The same checks as the initiator's (issue.c). Memory that is being freed is not in the table. */
void *dofi_memory_find(const struct dofi_memory_path *path, uint64_t context, uint64_t address,
		       uint64_t length, unsigned int need)
{
	const struct dofi_ep *ep = path->conn->ep;
	struct dofi_ia *ia = path->conn->ia;
	struct dofi_ctx ctx;

	dofi_assert_held(&ia->engine.lock);
	if (!(uint32_t)context ||
	    !dofi_ctx_decode(&ia->ctxtab.wire[DOFI_CTX_INDEX(context)], (uint32_t)context, &ctx))
		return NULL;
	if (!(ctx.privileges & need) || (ctx.privileges & DOFI_CTX_CTRL_SLOTS) ||
	    ctx.pz != dofi_ctx_zone(&ctx, ep->pz->number, path->conn->id))
		return NULL;
	if (address < ctx.base || length > ctx.length || address - ctx.base > ctx.length - length)
		return NULL;
	return dofi_ctx_memory(ia, &ctx, address);
}

/* Stores the last word of a write by one instruction, after the rest, because programs poll it. */
static void store_word(void *to, const void *from, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, from, size);
	atomic_thread_fence(memory_order_release);
	if (size == 8)
		__atomic_store_n((uint64_t *)to, word, __ATOMIC_RELEASE);
	else if (size == 4)
		__atomic_store_n((uint32_t *)to, (uint32_t)word, __ATOMIC_RELEASE);
	else if (size == 2)
		__atomic_store_n((uint16_t *)to, (uint16_t)word, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint8_t *)to, (uint8_t)word, __ATOMIC_RELEASE);
}

void dofi_memory_store(uint8_t *to, const uint8_t *from, size_t size)
{
	size_t word = dofi_last_word((uintptr_t)to + size, size), before = size - word;

	if (before)
		memcpy(to, from, before);
	store_word(to + before, from + before, word);
}

static int take_write(struct dofi_memory_path *path, const struct dofi_cell *cell)
{
	uint8_t *to = dofi_memory_find(path, cell->words[1], cell->words[0], cell->size,
				       DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	uint8_t word[DOFI_LONGEST_WORD];
	size_t n;

	if (!to || !cell->size)
		return -EACCES;
	if (cell->flags & DOFI_CELL_LAST &&
	    !dofi_memory_add_answer(path, &(struct dofi_memory_answer){0}))
		return -EPROTO;
	n = dofi_last_word((uintptr_t)to + cell->size, cell->size);
	dofi_ring_read(&path->in, cell, 0, to, cell->size - n);
	dofi_ring_read(&path->in, cell, cell->size - n, word, n);
	store_word(to + cell->size - n, word, n);
	dofi_ring_take(&path->in, cell);
	return DOFI_CELL_TAKEN;
}

/*
 * An entry of the context table for the peer. It contains the virtual address in this process
 * instead of the fabric's address.
 */
static void *find_entry(struct dofi_memory_path *path, uint64_t address)
{
	struct dofi_ia *ia = path->conn->ia;
	struct dofi_ctx_wire *wire = &ia->ctxtab.wire[address / sizeof(*wire)];
	struct dofi_ctx ctx;

	if (address % sizeof(*wire) || !dofi_ctx_decode(wire, be32toh(wire->context), &ctx) ||
	    !ctx.context || (ctx.privileges & DOFI_CTX_CTRL_SLOTS))
		return (char *)ia->ctxtab.wire + address;
	ctx.address = (uintptr_t)dofi_ctx_memory(ia, &ctx, ctx.base);
	path->entry = ctx.address ? dofi_ctx_encode(&ctx) : (struct dofi_ctx_wire){0};
	return &path->entry;
}

void *dofi_memory_source(struct dofi_memory_path *path, const struct dofi_memory_answer *answer,
			 uint64_t at, size_t size)
{
	dofi_assert_held(&path->conn->ia->engine.lock);
	if (answer->is_entry)
		return find_entry(path, answer->address + at);
	return dofi_memory_find(path, answer->context, answer->address + at, size,
				DAT_MEM_PRIV_REMOTE_READ_FLAG);
}

static int take_read(struct dofi_memory_path *path, const struct dofi_cell *cell)
{
	uint64_t table = DOFI_CTXTAB_ENTRIES * sizeof(struct dofi_ctx_wire);
	struct dofi_memory_answer answer = {
		.is_entry = cell->kind == DOFI_CELL_ENTRY,
		.address = cell->words[0],
		.context = (uint32_t)cell->words[1],
	};

	if (cell->size != sizeof(answer.length))
		return -EPROTO;
	dofi_ring_read(&path->in, cell, 0, &answer.length, sizeof(answer.length));
	if (answer.is_entry && (answer.length > sizeof(struct dofi_ctx_wire) ||
				answer.address > table - answer.length))
		return -EACCES;
	if (!dofi_memory_add_answer(path, &answer))
		return -EPROTO;
	dofi_ring_take(&path->in, cell);
	return DOFI_CELL_TAKEN;
}

static int take_data(struct dofi_memory_path *path, const struct dofi_cell *cell)
{
	struct dofi_memory_pending *asked = dofi_memory_asked(path);

	if (!asked || cell->size > asked->length - asked->done || (asked->length && !cell->size))
		return -EPROTO;
	scatter(path, cell, asked->iov ? asked->iov : &asked->place, asked->done);
	dofi_ring_take(&path->in, cell);
	asked->done += cell->size;
	asked->answered = asked->done == asked->length;
	if (asked->answered)
		dofi_memory_answered(path);
	return DOFI_CELL_TAKEN;
}

/* --- what else there is --- */

/* Whether the completion data contain the number of this connection. */
static bool names_us(const struct dofi_memory_path *path, uint64_t data)
{
	return ((uint32_t)(data >> 32) & DOFI_CONN_ID_MASK) == path->conn->id;
}

static int take_ctrl(struct dofi_memory_path *path, const struct dofi_cell *cell)
{
	struct dofi_ep *ep = path->conn->ep;
	uint64_t at = cell->words[0] - dofi_ctrl_slots_address(ep), data = cell->words[1];

	if (!names_us(path, data))
		return -EPROTO;
	if (cell->size) {
		if (!path->conn->ia->ctrl_memory.slots ||
		    cell->size > sizeof(struct dofi_ctrl_slots) ||
		    at > sizeof(struct dofi_ctrl_slots) - cell->size)
			return -EACCES;
		dofi_ring_read(&path->in, cell, 0, (char *)dofi_ctrl_slots_of(ep) + at, cell->size);
	}
	dofi_ring_take(&path->in, cell);
	dofi_ctrl_arrived(path->conn->ia, data);
	return DOFI_CELL_TAKEN;
}

/* The ring belongs to one EP, so the connection number in the message is ignored. */
static int take_ctrl_msg(struct dofi_memory_path *path, const struct dofi_cell *cell)
{
	struct dofi_ctrl_msg ctrl_msg = {0};

	if (cell->size > DOFI_CTRL_MSG_MAX || !path->conn->ep->ctrl_msgs)
		return -EPROTO;
	dofi_ring_read(&path->in, cell, 0, &ctrl_msg, cell->size);
	ctrl_msg.number = path->conn->id;
	dofi_ring_take(&path->in, cell);
	dofi_ctrl_msg_arrived(path->conn->ia, &ctrl_msg, cell->size);
	return DOFI_CELL_TAKEN;
}

static int take_credit(struct dofi_memory_path *path, const struct dofi_cell *cell)
{
	dofi_ring_take(&path->in, cell);
	dofi_credit_arrived(path->conn->ia, path->conn->id, (uint32_t)cell->words[0]);
	return DOFI_CELL_TAKEN;
}

/* --- rounds --- */

static int take(struct dofi_memory_path *path, const struct dofi_cell *cell)
{
	const uint8_t whole = DOFI_CELL_FIRST | DOFI_CELL_LAST;

	if (DOFI_LIKELY(cell->kind == DOFI_CELL_SEND && cell->flags == whole) &&
	    take_line(path, cell))
		return DOFI_CELL_TAKEN;
	switch ((enum dofi_cell_kind)cell->kind) {
	case DOFI_CELL_SEND:
		return take_send(path, cell);
	case DOFI_CELL_PLACES:
		return dofi_memory_fetch(path, cell);
	case DOFI_CELL_WRITE:
		return take_write(path, cell);
	case DOFI_CELL_READ:
	case DOFI_CELL_ENTRY:
		return take_read(path, cell);
	case DOFI_CELL_DATA:
		return take_data(path, cell);
	case DOFI_CELL_CTRL:
		return take_ctrl(path, cell);
	case DOFI_CELL_CTRL_MSG:
		return take_ctrl_msg(path, cell);
	case DOFI_CELL_CREDIT:
		return take_credit(path, cell);
	}
	return -EPROTO;
}

/*
 * This round leaves cells in the ring. A driver that has looked at the ring and sleeps, or is about
 * to, would not look again: a cell that is there already wakes nobody.
 */
static void leave_cells(struct dofi_memory_path *path)
{
	struct dofi_cell cell;

	if (atomic_load(&path->ours->asleep) && dofi_ring_look(&path->in, &cell) &&
	    atomic_exchange(&path->ours->asleep, 0))
		dofi_wait_end_sleep(path->conn->ia);
}

/* A call that polls and has got its event does not wait for the cache line of the next cell. */
int dofi_memory_take_cells(struct dofi_memory_path *path)
{
	const struct dofi_taker *taker = &path->conn->ia->engine.taker;
	struct dofi_evd *polls = taker->evd;
	struct dofi_cell cell;
	int n = 0, ret;

	dofi_assert_held(&path->conn->ia->engine.lock);
	while (n < BATCH && taker->evd == polls && (ret = dofi_ring_look(&path->in, &cell))) {
		if (ret > 0)
			ret = take(path, &cell);
		if (ret == DOFI_CELL_STAYS)
			return n;
		if (ret < 0) {
			path->fault = ret;
			return n;
		}
		n++;
	}
	if (DOFI_UNLIKELY(n == BATCH) || taker->evd != polls)
		leave_cells(path);
	return n;
}
