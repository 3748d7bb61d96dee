/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/receive.h"

#include "dto/bounce.h"
#include "dto/control.h"
#include "dto/control_message.h"
#include "dto/credit.h"
#include "dto/failure.h"
#include "dto/guard_byte.h"
#include "dto/issue.h"
#include "dto/release.h"
#include "dto/srq_receive.h"
#include "dto/translate.h"
#include "fabric/error.h"
#include "object/ia.h"
#include "object/srq_count.h"
#include "object/transport.h"
#include "object/upcalls.h"

#include <rdma/fi_errno.h>

/* --- to the fabric --- */

/* The lock of the ring, or of the pool. */
static void assert_held(const struct dofi_wr *wr)
{
	(void)wr; /* without assertions */
	dofi_assert_held(wr->op == DOFI_OP_SRQ_RECV ? &wr->srq->lock : &wr->ep->lock);
}

DAT_RETURN dofi_receive_fill(struct dofi_ia *ia, struct dofi_pz *pz, const struct dofi_ring *ring,
			     struct dofi_wr *wr, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	uint64_t length = dofi_segments_length(n, iov);

	assert_held(wr);
	if (length > ia->limits.max_message)
		return DOFI_BAD_ARG(3);
	wr->kind =
		((struct dofi_wr){.op = wr->op, .state = DOFI_WR_QUEUED, .flags = (uint8_t)flags})
			.kind;
	wr->cookie = cookie.as_64;
	wr->length = length;
	wr->recv.ctrl = 0;
	return dofi_segments_translate(ia, pz, n, iov, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, wr,
				       dofi_wr_desc(ring, wr));
}

/* The guard comes last, so a receive that has it is ready. */
static int prepare(struct dofi_ia *ia, const struct dofi_ring *ring, struct dofi_wr *wr)
{
	int ret = 0;

	if (dofi_guard_is_set(ia, wr))
		return 0;
	if (wr->niov > ring->fabric_iov)
		ret = dofi_bounce_take(ia, ring, wr);
	if (!ret)
		dofi_guard_set(ia, ring, wr);
	return ret;
}

ssize_t dofi_receive_start(struct dofi_ia *ia, const struct dofi_ring *ring, struct dofi_wr *wr)
{
	ssize_t ret;

	assert_held(wr);
	if (wr->status != DAT_DTO_SUCCESS)
		wr->niov = 0; /* the receive can only fail, so no message may reach its memory */
	ret = prepare(ia, ring, wr);
	if (ret)
		return ret;
	wr->state = DOFI_WR_ISSUED;
	ret = wr->op == DOFI_OP_SRQ_RECV ? ia->trans->srq_recv(wr->srq, wr)
					 : wr->ep->trans->recv(wr->ep, wr);
	if (ret)
		wr->state = DOFI_WR_QUEUED;
	return ret;
}

/* --- from the fabric --- */

static const struct dofi_ia *ia_of(const struct dofi_wr *wr)
{
	return wr->op == DOFI_OP_SRQ_RECV ? wr->srq->obj.ia : wr->ep->obj.ia;
}

/*
 * Whether the message is longer than the receive although the fabric reports success. A receive
 * without segments has one byte of the library at the fabric (see the transports). With immediate
 * data of the hardware, the length is that of the write.
 */
static bool is_too_long(const struct dofi_wr *wr, uint64_t length)
{
	const struct dofi_ia *ia = ia_of(wr);

	return wr->niov ? dofi_guard_is_hit(ia, wr, length) : length && !ia->has_immediates;
}

int dofi_receive_error(const struct dofi_wr *wr, int err, uint64_t length)
{
	return !err && is_too_long(wr, length) ? FI_ETRUNC : err;
}

/* Applies the latest control record to its message. Returns the kind of the record. */
DOFI_SLOW_PATH static uint8_t apply_ctrl(struct dofi_ep *ep, struct dofi_wr *wr)
{
	struct dofi_ctrl ctrl = dofi_ctrl_take(ep, &wr->status);

	wr->recv.ctrl = ctrl.kind;
	wr->recv.value = ctrl.value;
	if (ctrl.kind == DOFI_CTRL_IMMEDIATE)
		wr->length = ctrl.length;
	return ctrl.kind;
}

/*
 * Applies what a message brings: a control record, credits, the proof that the peer is connected.
 */
DOFI_INLINE void received(struct dofi_ep *ep, struct dofi_wr *wr, uint32_t update)
{
	uint8_t kind = 0;

	if (DOFI_UNLIKELY(ep->ctrl.kind))
		kind = apply_ctrl(ep, wr);
	dofi_ep_count_received(ep, kind, wr->length);
	ep->nreceived++;
	wr->recv.solicited = update & DOFI_UPDATE_SOLICITED;
	dofi_credit_take(ep, update);
	if (dofi_credit_urgent(ep) || dofi_ep_last_message(ep))
		dofi_ep_stall(ep);
	if (ep->state != DAT_EP_STATE_CONNECTED)
		ep->obj.ia->up->established(ep);
	if (wr->status != DAT_DTO_SUCCESS)
		dofi_fail_receive(ep, wr);
}

/* A truncated message is a message, too: its event follows ESTABLISHED (EVS-125). */
DOFI_COLD static void failed(struct dofi_ep *ep, struct dofi_wr *wr, int err)
{
	/* the count of messages is compared after the end; see drain.h */
	ep->nreceived += !dofi_error_gives_back(err);
	if (dofi_fail(ep, wr, err) && err == FI_ETRUNC && ep->state != DAT_EP_STATE_CONNECTED)
		ep->obj.ia->up->established(ep);
}

void dofi_receive_end(struct dofi_ep *ep, struct dofi_wr *wr, int err, uint64_t length,
		      uint32_t update)
{
	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_assert_held(&ep->lock);
	if (DOFI_UNLIKELY(err)) {
		failed(ep, wr, err);
		return;
	}
	wr->state = DOFI_WR_DONE;
	wr->length = length;
	received(ep, wr, update);
}

/* --- in the ring of an EP --- */

/* The place of a receive in the ring tells the number of its message. */
static uint32_t message_of(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	const struct dofi_ring *ring = &ep->recv;
	uint32_t slot = (uint32_t)((size_t)((const char *)wr - ring->base) / ring->stride);

	return ring->head + ((slot - ring->head) & ring->mask) - ep->recv_base;
}

/* Holds the receive if the control message about its message has not come yet. */
DOFI_SLOW_PATH static bool hold(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t length,
				uint32_t update)
{
	if (dofi_ctrl_msg_use(ep, message_of(ep, wr)))
		return false;
	wr->state = DOFI_WR_HELD;
	wr->length = length;
	wr->recv.update = update;
	return true;
}

void dofi_receive_done_slow(struct dofi_ep *ep, struct dofi_wr *wr, int err, uint64_t length,
			    uint32_t update)
{
	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_assert_held(&ep->lock);
	err = dofi_receive_error(wr, err, length);
	if (wr->split)
		dofi_bounce_give(wr, err ? 0 : length);
	if (err || !(update & DOFI_UPDATE_CTRL_MSG) || !hold(ep, wr, length, update))
		dofi_receive_end(ep, wr, err, length, update);
	dofi_release(ep, &ep->recv, ep->recv_evd);
}

DOFI_INLINE void done(struct dofi_wr *wr, uint64_t length, uint32_t update)
{
	struct dofi_ep *ep = wr->ep;

	DOFI_PROBE4(completion, ep, wr->op, 0, length);
	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_assert_held(&ep->lock);
	if (DOFI_LIKELY(dofi_wr_is_plain(wr, DOFI_WR_ISSUED) && !(update & DOFI_UPDATE_CTRL_MSG))) {
		wr->state = DOFI_WR_DONE;
		wr->length = length;
		received(ep, wr, update);
		dofi_release_polled(ep, &ep->recv, ep->recv_evd, wr, DOFI_OP_RECV);
	} else {
		dofi_receive_done_slow(ep, wr, 0, length, update);
	}
	dofi_ep_go_on(ep);
}

void dofi_receive_done(struct dofi_wr *wr, uint64_t length, uint32_t update)
{
	struct dofi_ep *ep = wr->ep;

	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_lock(&ep->lock);
	done(wr, length, update);
	dofi_unlock(&ep->lock);
}

void dofi_receive_done_held(struct dofi_wr *wr, uint64_t length, uint32_t update)
{
	dofi_assert_held(&wr->ep->obj.ia->engine.lock);
	dofi_assert_held(&wr->ep->lock);
	done(wr, length, update);
}

static void end_held(struct dofi_ep *ep, uint32_t message)
{
	uint32_t index = ep->recv_base + message;
	struct dofi_wr *wr = dofi_ring_at(&ep->recv, index);

	if (index - ep->recv.head >= dofi_ring_count(&ep->recv) || wr->state != DOFI_WR_HELD ||
	    !dofi_ctrl_msg_use(ep, message))
		return;
	dofi_receive_end(ep, wr, 0, wr->length, wr->recv.update);
	dofi_release(ep, &ep->recv, ep->recv_evd);
}

void dofi_receive_ctrl_arrived(struct dofi_ep *ep, uint32_t message)
{
	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_assert_held(&ep->lock);
	if (ep->srq)
		dofi_srq_deliver_held(ep);
	else
		end_held(ep, message);
	dofi_ep_go_on(ep);
}
