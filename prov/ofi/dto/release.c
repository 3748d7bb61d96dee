/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/release.h"

#include "dto/bounce.h"
#include "dto/issue.h"
#include "dto/rmr.h"
#include "dto/srq_receive.h"
#include "object/srq_count.h"

void dofi_release_lost(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	if (ep->ud) /* one datagram that got lost */
		return;
	if (ep->state == DAT_EP_STATE_DISCONNECTED) /* the fault would be that of the next one */
		return;
	ep->faulty = true;
	dofi_ep_stall(ep);
}

/* The operation in the event of a receive, which depends on the message. */
static uint8_t kind_of_receive(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	if (ep->ud)
		return DOFI_OP_RECV_UD;
	if (!wr->recv.ctrl)
		return DOFI_OP_RECV;
	return wr->recv.ctrl == DOFI_CTRL_IMMEDIATE ? DOFI_OP_RECV_IMM : DOFI_OP_RECV_INVALIDATE;
}

static void describe(struct dofi_ep *ep, struct dofi_wr *wr, struct dofi_event *event)
{
	bool is_receive = wr->op == DOFI_OP_RECV;
	struct dofi_op_event as = dofi_op_event(is_receive ? kind_of_receive(ep, wr) : wr->op);

	dofi_release_fill(ep, wr, as.dto, wr->status, event);
	event->dto.srq = is_receive ? ep->srq : NULL;
	event->dto.immediate = is_receive && wr->recv.ctrl ? wr->recv.value : 0;
	if (wr->op == DOFI_OP_BIND) {
		event->number = DAT_RMR_BIND_COMPLETION_EVENT;
		event->handle = dofi_wr_bind(wr)->rmr;
	} else if (as.ext) {
		event->number = DOFI_EVENT_EXTENDED;
		event->ext = as.ext;
	}
}

void dofi_release_one(struct dofi_ep *ep, struct dofi_evd *evd, struct dofi_wr *wr)
{
	struct dofi_event *event;

	dofi_assert_held(&ep->lock);
	dofi_ep_count_completed(ep, wr->status);
	if ((wr->flags & DAT_COMPLETION_SUPPRESS_FLAG) && wr->status == DAT_DTO_SUCCESS)
		return;
	/* an SRQ has buffers for an EP that was given no EVD for receives */
	event = evd ? dofi_evd_begin(evd, false) : NULL;
	if (!event) {
		dofi_release_lost(ep);
		if (wr->op == DOFI_OP_RECV && ep->srq)
			dofi_srq_dequeued(ep->srq);
		return;
	}
	describe(ep, wr, event);
	dofi_evd_count_event(evd, event->number, event->ext, event->handle);
	dofi_evd_end(evd, dofi_evd_is_watched(evd) && dofi_release_notifies(ep, wr));
}

void dofi_release(struct dofi_ep *ep, struct dofi_ring *ring, struct dofi_evd *evd)
{
	dofi_assert_held(&ep->lock);
	while (ring->head != ring->tail) {
		struct dofi_wr *wr = dofi_ring_at(ring, ring->head);

		if (wr->state != DOFI_WR_DONE)
			return;
		dofi_release_one(ep, evd, wr);
		ring->head++;
	}
}

/* Whether the request is plain and complete without error. */
static inline bool is_plain(const struct dofi_wr *wr)
{
	return dofi_op_may_be_plain(wr->op) && dofi_wr_is_plain(wr, DOFI_WR_DONE);
}

/* A request behind others is released together with them. */
void dofi_release_request(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	if (ep->req.head + 1 != ep->req.issue)
		return;
	if (DOFI_LIKELY(is_plain(wr)))
		dofi_release_plain(ep, ep->req_evd, wr, wr->op, false);
	else
		dofi_release_one(ep, ep->req_evd, wr);
	ep->req.head++;
	/* the end of the connection waits for the last request */
	if (DOFI_UNLIKELY(ep->state == DAT_EP_STATE_DISCONNECT_PENDING))
		dofi_ep_stall(ep);
}

void dofi_release_rings(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	dofi_release(ep, &ep->recv, ep->recv_evd);
	dofi_release(ep, &ep->req, ep->req_evd);
}

/* --- the flush --- */

/* The fabric does not have the work request any more. */
static void unsplit(struct dofi_wr *wr)
{
	if (wr->split && !dofi_op_is_rdma(wr->op))
		dofi_bounce_give(wr, 0);
	wr->split = 0;
}

static void flush_ring(struct dofi_ring *ring, uint8_t first_status)
{
	bool broken = false;

	for (uint32_t i = ring->head; i != ring->tail; i++) {
		struct dofi_wr *wr = dofi_ring_at(ring, i);

		/*
		 * A request that completed behind the first failure fails, too: there is no success
		 * after a flush (EPS-081).
		 */
		if (wr->state == DOFI_WR_DONE && (!broken || wr->status != DAT_DTO_SUCCESS)) {
			broken |= wr->status != DAT_DTO_SUCCESS;
			continue;
		}
		if (wr->op == DOFI_OP_BIND && wr->state == DOFI_WR_QUEUED)
			dofi_bind_cancel(dofi_wr_bind(wr));
		unsplit(wr);
		wr->state = DOFI_WR_DONE;
		wr->status = broken ? DAT_DTO_ERR_FLUSHED : first_status;
		broken = true;
	}
	ring->issue = ring->tail;
}

void dofi_release_flushed(struct dofi_ep *ep, uint8_t first_status)
{
	dofi_assert_held(&ep->lock);
	flush_ring(&ep->recv, DAT_DTO_ERR_FLUSHED);
	flush_ring(&ep->req, first_status);
	ep->reads = ep->writes = 0;
	ep->parts.head = ep->parts.tail;
	ep->owing = false;
	dofi_ep_let_go(ep);
	dofi_srq_forget_held(ep);
	dofi_release_rings(ep);
}
