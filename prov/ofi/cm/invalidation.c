/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/invalidation.h"

#include "cm/conn.h"
#include "cm/disconnect.h"
#include "object/ia.h"
#include "fabric/quirks.h"
#include "cm/channel.h"
#include "object/ctxtab.h"
#include "object/ep.h"
#include "base/clock.h"
#include "progress/timer.h"
#include "progress/work.h"
#include "dto/rmr.h"
#include "cm/conn_state.h"
#include "cm/cm.h"
#include "dto/issue.h"
#include "dto/release.h"
#include "dto/remote_context.h"
#include "cm/channel_send.h"

/* --- contexts of peers --- */

static bool is_given(const struct dofi_ring *ring, const struct dofi_wr *wr, uint32_t i)
{
	return i - ring->head < ring->issue - ring->head ? wr->state == DOFI_WR_ISSUED
							 : wr->rdma.step || wr->rdma.given;
}

/* Whether the answer to an invalidation may have to wait for a request. */
static bool answers_wait(const struct dofi_ia *ia)
{
	return ia->quirks & DOFI_QUIRK_CLOSED_KEYS || ia->order == DOFI_HOLD;
}

/*
 * Whether the answer waits for this request, which was given to the fabric wholly or in part. The
 * last part of a write may still be due (parts.h): it must not go out after the answer.
 */
static bool delays_answer(const struct dofi_ia *ia, const struct dofi_wr *wr)
{
	return ia->quirks & DOFI_QUIRK_CLOSED_KEYS || (wr->rdma.given && wr->rdma.given < wr->niov);
}

/*
 * Marks requests that use the context and that the answer waits for by `resolved` false. They
 * continue.
 */
static void mark_given(struct dofi_ep *ep, uint32_t context)
{
	dofi_lock(&ep->lock);
	for (uint32_t i = ep->req.head; i != ep->req.tail; i++) {
		struct dofi_wr *wr = dofi_ring_at(&ep->req, i);

		if (dofi_op_is_rdma(wr->op) && wr->length && wr->rdma.context == context &&
		    is_given(&ep->req, wr, i) && delays_answer(ep->obj.ia, wr))
			wr->rdma.resolved = false;
	}
	dofi_unlock(&ep->lock);
}

static bool has_marked(struct dofi_ep *ep)
{
	bool has = false;

	dofi_lock(&ep->lock);
	for (uint32_t i = ep->req.head; i != ep->req.tail && !has; i++) {
		const struct dofi_wr *wr = dofi_ring_at(&ep->req, i);

		has = dofi_op_is_rdma(wr->op) && wr->length && !wr->rdma.resolved &&
		      is_given(&ep->req, wr, i);
	}
	dofi_unlock(&ep->lock);
	return has;
}

static void forget(struct dofi_ep *ep, uint32_t context)
{
	dofi_lock(&ep->lock);
	dofi_remote_context_forget(ep, context);
	dofi_ep_issue(ep); /* a request may have waited for the place in the cache */
	dofi_unlock(&ep->lock);
}

void dofi_conn_forget_context(struct dofi_chan *chan, uint32_t context)
{
	dofi_assert_held(&chan->ia->engine.lock);
	DOFI_LIST_FOR(node, &chan->conns)
	{
		struct dofi_conn *conn = DOFI_CONTAINER(node, struct dofi_conn, link);

		if (conn->ep && answers_wait(chan->ia))
			mark_given(conn->ep, context);
		if (conn->ep && dofi_conn_stage(conn) == DOFI_STAGE_UP)
			forget(conn->ep, context);
	}
}

void dofi_conn_subscribed(struct dofi_chan *chan, uint32_t context)
{
	dofi_assert_held(&chan->ia->engine.lock);
	DOFI_LIST_FOR(node, &chan->conns)
	{
		struct dofi_conn *conn = DOFI_CONTAINER(node, struct dofi_conn, link);

		if (!conn->ep || dofi_conn_stage(conn) != DOFI_STAGE_UP)
			continue;
		dofi_lock(&conn->ep->lock);
		dofi_remote_context_subscribed(conn->ep, context);
		dofi_unlock(&conn->ep->lock);
	}
}

void dofi_conn_subscribe(struct dofi_ep *ep)
{
	const struct dofi_msg msg = {.type = DOFI_MSG_SUBSCRIBE, .context = ep->subscribe_to};

	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_assert_held(&ep->lock);
	ep->subscribe_to = 0;
	if (ep->conn && ep->conn->chan && ep->conn->chan->state == DOFI_CHAN_UP)
		dofi_chan_send(ep->conn->chan, &msg);
}

bool dofi_conn_uses_forgotten(const struct dofi_chan *chan)
{
	dofi_assert_held(&chan->ia->engine.lock);
	if (!answers_wait(chan->ia))
		return false; /* no request is marked */
	DOFI_LIST_FOR(node, &chan->conns)
	{
		const struct dofi_conn *conn = DOFI_CONTAINER(node, struct dofi_conn, link);

		if (conn->ep && has_marked(conn->ep))
			return true;
	}
	return false;
}

/* --- our own contexts --- */

void dofi_conn_apply_bind(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	ep->bind_replaced = dofi_bind_apply(dofi_wr_bind(wr));
	if (!ep->bind_replaced) {
		wr->state = DOFI_WR_DONE;
		return;
	}
	/*
	 * All peers have to forget the former context before the bind completes (DTO-166): the
	 * engine asks them.
	 */
	ep->binding = true;
	dofi_ep_stall(ep);
}

/* A peer that has not answered could still use the former context, so its connections break. */
static void bind_overdue(struct dofi_timer *timer)
{
	struct dofi_ep *ep = DOFI_CONTAINER(timer, struct dofi_ep, bind_limit);

	dofi_chan_give_up(ep->obj.ia, ep->bind_number);
}

void dofi_conn_forget_bind(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	uint32_t replaced;

	dofi_assert_held(&ia->engine.lock);
	dofi_list_del(&ep->bind_link);
	dofi_timer_cancel(ia, &ep->bind_limit);
	dofi_lock(&ep->lock);
	replaced = ep->bind_replaced;
	ep->bind_replaced = 0;
	dofi_unlock(&ep->lock);
	/* The bind is flushed, but it has ended the former context. */
	if (replaced)
		dofi_chan_ask(ia, replaced, true);
}

void dofi_conn_ask_for_bind(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;

	dofi_assert_held(&ia->engine.lock);
	dofi_assert_held(&ep->lock);
	ep->bind_number = dofi_chan_ask(ia, ep->bind_replaced, true);
	ep->bind_replaced = 0;
	dofi_list_add_tail(&ia->cm.binds, &ep->bind_link);
	ep->bind_limit.fire = bind_overdue;
	dofi_timer_set(ia, &ep->bind_limit, dofi_now() + ia->params.handshake_ms * 1000000u);
	dofi_work_defer(ia, &ia->cm.answered);
}

static void bind_done(struct dofi_ep *ep)
{
	dofi_conn_forget_bind(ep);
	dofi_lock(&ep->lock);
	ep->binding = false;
	for (uint32_t i = ep->req.head; i != ep->req.issue; i++) {
		struct dofi_wr *wr = dofi_ring_at(&ep->req, i);

		if (wr->op == DOFI_OP_BIND && wr->state == DOFI_WR_ISSUED)
			wr->state = DOFI_WR_DONE;
	}
	dofi_release_rings(ep);
	dofi_ep_issue(ep);
	if (ep->state == DAT_EP_STATE_DISCONNECT_PENDING)
		dofi_conn_drained(ep);
	dofi_unlock(&ep->lock);
}

void dofi_conn_invalidated(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->engine.lock);
	DOFI_LIST_FOR_SAFE(node, &ia->cm.binds)
	{
		struct dofi_ep *ep = DOFI_CONTAINER(node, struct dofi_ep, bind_link);

		if (dofi_chan_invalidated(ia, ep->bind_number))
			bind_done(ep);
	}
}
