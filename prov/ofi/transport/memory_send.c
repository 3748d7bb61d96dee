/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/memory_send.h"

#include "dto/credit.h"
#include "object/ia.h"
#include "transport/memory_out.h"
#include "transport/memory_pending.h"

#include <rdma/fi_errno.h>

/* The length in the cell. The message of a write with immediate data has no bytes of its own. */
static uint64_t length_of(const struct dofi_wr *wr)
{
	return wr->op == DOFI_OP_WRITE_IMM ? 0 : wr->length;
}

/* Records that the update has reported all receives. */
static void announced(struct dofi_ep *ep, uint32_t total)
{
	if (ep->credit_mode)
		ep->announced = total;
}

/* Whether the message is complete as soon as one cell is in the ring. */
static bool is_one_cell(const struct dofi_wr *wr)
{
	return wr->length <= DOFI_CELL_MAX && wr->op == DOFI_OP_SEND && !wr->split;
}

DOFI_SLOW_PATH static ssize_t send_one_cell(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct dofi_cell cell = {
		.kind = DOFI_CELL_SEND,
		.flags = DOFI_CELL_FIRST | DOFI_CELL_LAST,
		.size = (uint16_t)wr->length,
		.words = {wr->length, dofi_message_update(ep, wr)},
	};
	struct dofi_memory_path *path = ep->memory;

	if (path->job.cell.kind || !dofi_memory_has_room(path, wr->length))
		return -FI_EAGAIN;
	dofi_ring_put(&path->out, &cell, wr->iov, 0);
	wr->state = DOFI_WR_DONE;
	dofi_memory_wake(path, ep->obj.ia);
	return 0;
}

static bool is_fetched(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return length_of(wr) >= DOFI_MEMORY_FETCHED && wr->niov <= DOFI_MEMORY_RANGES &&
	       atomic_load_explicit(&ep->memory->theirs->fetches, memory_order_acquire);
}

/*
 * Sends the addresses of the segments of a long message. The message is complete when the receiver
 * has copied it.
 */
static ssize_t send_ranges(struct dofi_ep *ep, struct dofi_wr *wr)
{
	struct dofi_cell cell = {.kind = DOFI_CELL_PLACES,
				 .words = {wr->length, dofi_message_update(ep, wr)}};
	struct dofi_memory_range ranges[DOFI_MEMORY_RANGES];
	struct dofi_memory_path *path = ep->memory;

	for (uint16_t i = 0; i < wr->niov; i++)
		ranges[i] = (struct dofi_memory_range){(uintptr_t)wr->iov[i].iov_base,
						       wr->iov[i].iov_len};
	if (!dofi_memory_can_wait(path) ||
	    dofi_memory_put_cell(ep, &cell, ranges, wr->niov * sizeof(ranges[0])))
		return -FI_EAGAIN;
	dofi_memory_add_waiting(path, wr);
	return 0;
}

static ssize_t send_cells(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct dofi_memory_job job = {
		.cell = {.kind = DOFI_CELL_SEND,
			 .words = {length_of(wr), dofi_message_update(ep, wr)}},
		.wr = wr,
		.iov = wr->iov,
		.length = length_of(wr),
	};

	return dofi_memory_begin_job(ep, &job);
}

/* A plain one whose bytes fit into a cell. */
DOFI_INLINE ssize_t send_line(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct dofi_cell cell = {
		.kind = DOFI_CELL_SEND,
		.flags = DOFI_CELL_FIRST | DOFI_CELL_LAST,
		.size = (uint16_t)wr->length,
		.words = {wr->length, dofi_credit_update(ep, false)},
	};
	struct dofi_memory_path *path = ep->memory;

	if (DOFI_UNLIKELY(path->job.cell.kind || !dofi_memory_has_room(path, 0)))
		return -FI_EAGAIN;
	dofi_ring_put_line(&path->out, cell, wr->iov[0].iov_base);
	wr->state = DOFI_WR_DONE;
	dofi_memory_wake(path, ep->obj.ia);
	return 0;
}

DOFI_SLOW_PATH static ssize_t send_other(struct dofi_ep *ep, struct dofi_wr *wr)
{
	if (is_one_cell(wr))
		return send_one_cell(ep, wr);
	return is_fetched(ep, wr) ? send_ranges(ep, wr) : send_cells(ep, wr);
}

ssize_t dofi_memory_send(struct dofi_ep *ep, struct dofi_wr *wr)
{
	uint32_t total = dofi_credit_total(ep);
	ssize_t ret;

	dofi_assert_held(&ep->lock);
	if (DOFI_LIKELY(wr->kind == dofi_wr_plain(DOFI_OP_SEND, DOFI_WR_ISSUED) &&
			wr->length <= DOFI_CELL_INLINE))
		ret = send_line(ep, wr);
	else
		ret = send_other(ep, wr);
	if (!ret)
		announced(ep, total);
	return ret;
}

ssize_t dofi_memory_send_empty(struct dofi_ep *ep, struct dofi_wr *wr)
{
	struct dofi_cell cell = {.kind = DOFI_CELL_SEND,
				 .flags = DOFI_CELL_FIRST | DOFI_CELL_LAST,
				 .words = {0, dofi_message_update(ep, wr)}};
	uint32_t total = dofi_credit_total(ep);
	ssize_t ret;

	dofi_assert_held(&ep->lock);
	ret = dofi_memory_put_cell(ep, &cell, NULL, 0);
	if (!ret)
		announced(ep, total);
	return ret;
}

/* Nothing to do: a message finds the receive in the EP's ring. */
ssize_t dofi_memory_recv(struct dofi_ep *ep, struct dofi_wr *wr)
{
	(void)wr;
	dofi_assert_held(&ep->lock);
	return 0;
}

ssize_t dofi_memory_ctrl(struct dofi_ep *ep, const void *record, size_t size, uint64_t raddr,
			 uint64_t rkey, uint64_t data)
{
	struct dofi_cell cell = {.kind = DOFI_CELL_CTRL, .words = {raddr, data}};

	(void)rkey;
	dofi_assert_held(&ep->lock);
	return dofi_memory_put_cell(ep, &cell, record, size);
}

ssize_t dofi_memory_ctrl_msg(struct dofi_ep *ep, const void *ctrl_msg, size_t size)
{
	struct dofi_cell cell = {.kind = DOFI_CELL_CTRL_MSG};

	dofi_assert_held(&ep->lock);
	return dofi_memory_put_cell(ep, &cell, ctrl_msg, size);
}

ssize_t dofi_memory_credit(struct dofi_ep *ep, uint32_t update)
{
	struct dofi_cell cell = {.kind = DOFI_CELL_CREDIT, .words = {update}};

	dofi_assert_held(&ep->lock);
	return dofi_memory_put_cell(ep, &cell, NULL, 0);
}
