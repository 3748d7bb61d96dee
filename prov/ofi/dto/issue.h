/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Gives one work request to the fabric: in its post, if it is plain and nothing waits before it, or
 * in the loops over waiting requests (issue.c). op is the operation of wr; in a post the compiler
 * knows it. For a plain request the special checks are left out. ep->lock held.
 */
#ifndef DOFI_ISSUE_H
#define DOFI_ISSUE_H

#include "dto/credit.h"
#include "dto/receive.h"
#include "dto/release.h"
#include "object/ia.h"
#include "dto/control.h"
#include "object/transport.h"
#include "object/upcalls.h"

enum dofi_verdict { DOFI_GO, DOFI_WAIT, DOFI_REFUSED };

/*
 * Whether a request may start that needs a control record, or waits for a fence, a bind or an
 * atomic operation.
 */
DOFI_SLOW_PATH enum dofi_verdict dofi_issue_special(struct dofi_ep *ep, struct dofi_wr *wr);
/* Resolves the peer's address and key from the request's context. */
DOFI_SLOW_PATH enum dofi_verdict dofi_issue_resolve(struct dofi_ep *ep, struct dofi_wr *wr);
/* As dofi_start, for requests that are not plain. */
DOFI_SLOW_PATH ssize_t dofi_start_slow(struct dofi_ep *ep, struct dofi_wr *wr);
/*
 * The next request may not start. A refused one fails here once it is the oldest; any other stays
 * in the ring.
 */
DOFI_SLOW_PATH void dofi_issue_denied(struct dofi_ep *ep, struct dofi_wr *wr,
				      enum dofi_verdict verdict);
/* The next request or receive stays in the ring: the fabric returned ret < 0. */
DOFI_COLD void dofi_issue_put_off(struct dofi_ep *ep, ssize_t ret);
/* The peer should soon get a credit update. */
DOFI_SLOW_PATH void dofi_issue_credit_update(struct dofi_ep *ep);

/*
 * Whether the operation could overtake an earlier write and therefore waits for it. Where a fence
 * prevents that, it does not wait.
 */
static inline bool dofi_overtakes(const struct dofi_ep *ep, uint8_t op)
{
	const struct dofi_ia *ia = ep->obj.ia;

	if (ep->streams)
		return false;
	if (op == DOFI_OP_READ)
		return ia->reads_overtake && ia->order != DOFI_FENCE;
	return ia->order == DOFI_HOLD && dofi_op_is_message(op);
}

static inline bool dofi_is_special(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return ep->binding || ep->atomics_used || (wr->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG) ||
	       dofi_op_needs_ctrl(wr->op);
}

DOFI_INLINE enum dofi_verdict dofi_may_start(struct dofi_ep *ep, struct dofi_wr *wr, uint8_t op,
					     bool plain)
{
	enum dofi_verdict verdict = DOFI_GO;

	dofi_assert_held(&ep->lock);
	if (op == DOFI_OP_READ && ep->reads >= ep->read_limit && !dofi_wr_is_begun(wr))
		return DOFI_WAIT;
	if (!plain && DOFI_UNLIKELY(dofi_is_special(ep, wr)))
		verdict = dofi_issue_special(ep, wr);
	if (verdict == DOFI_GO && dofi_op_is_rdma(op) && DOFI_UNLIKELY(!wr->rdma.resolved))
		verdict = dofi_issue_resolve(ep, wr);
	if (DOFI_UNLIKELY(verdict != DOFI_GO))
		return verdict;
	if (ep->writes && dofi_overtakes(ep, op))
		return DOFI_WAIT;
	return dofi_op_is_message(op) && dofi_credit_out(ep) && !dofi_credit_look(ep) ? DOFI_WAIT
										      : DOFI_GO;
}

/*
 * Gives the request to the fabric as one operation. 0, or a negative error, and nothing is changed.
 */
DOFI_INLINE ssize_t dofi_start(struct dofi_ep *ep, struct dofi_wr *wr, uint8_t op)
{
	const struct dofi_ia *ia = ep->obj.ia;
	ssize_t ret;

	dofi_assert_held(&ep->lock);
	wr->state = DOFI_WR_ISSUED;
	if (op == DOFI_OP_SEND) {
		ret = ep->trans->send(ep, wr);
		ep->nsent += !ret;
	} else if (op == DOFI_OP_WRITE) {
		ret = ep->trans->write(ep, wr);
		if (!ret && wr->state == DOFI_WR_ISSUED) {
			ep->writes++;
			ep->unfenced = ia->order == DOFI_FENCE && !ep->streams;
		}
	} else {
		ret = ep->trans->read(ep, wr);
		ep->reads += !ret && wr->state == DOFI_WR_ISSUED;
	}
	if (DOFI_UNLIKELY(ret))
		wr->state = DOFI_WR_QUEUED;
	else
		ep->dirty = true;
	DOFI_PROBE4(issue, ep, op, wr->cookie, ret);
	return ret;
}

/* Starts the first waiting request. False: it has to wait, or the requests behind it have to. */
DOFI_INLINE bool dofi_issue_next(struct dofi_ep *ep, struct dofi_wr *wr, uint8_t op, bool plain)
{
	enum dofi_verdict verdict = dofi_may_start(ep, wr, op, plain);
	ssize_t ret;

	if (DOFI_UNLIKELY(verdict != DOFI_GO)) {
		dofi_issue_denied(ep, wr, verdict);
		return false;
	}
	ret = plain ? dofi_start(ep, wr, op) : dofi_start_slow(ep, wr);
	if (DOFI_UNLIKELY(ret)) {
		if (ret < 0) /* 1: a completion continues it */
			dofi_issue_put_off(ep, ret);
		return false;
	}
	ep->req.issue++;
	if (wr->state == DOFI_WR_DONE)
		dofi_release_request(ep, wr);
	return true;
}

/* The same for a receive. */
DOFI_INLINE bool dofi_issue_receive(struct dofi_ep *ep, struct dofi_wr *wr, bool plain)
{
	ssize_t ret;

	dofi_assert_held(&ep->lock);
	wr->state = DOFI_WR_ISSUED;
	ret = plain ? ep->trans->recv(ep, wr) : dofi_receive_start(ep->obj.ia, &ep->recv, wr);
	DOFI_PROBE4(issue, ep, DOFI_OP_RECV, wr->cookie, ret);
	if (DOFI_UNLIKELY(ret)) {
		wr->state = DOFI_WR_QUEUED;
		dofi_issue_put_off(ep, ret);
		return false;
	}
	ep->recv.issue++;
	return true;
}

struct dofi_stall;

/*
 * Gives waiting work requests to the fabric as far as order, limits and the fabric allow: those of
 * one ring, or of both, with answers that are due. ep->lock held.
 */
void dofi_ep_issue_requests(struct dofi_ep *ep);

void dofi_ep_issue_receives(struct dofi_ep *ep);
void dofi_ep_issue(struct dofi_ep *ep);
/* After a completion: starts work that waited for it. engine.lock and ep->lock held. */
static inline void dofi_ep_go_on(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_assert_held(&ep->lock);
	if (ep->req.issue != ep->req.tail || ep->recv.issue != ep->recv.tail)
		dofi_ep_issue(ep);
	if (ep->state == DAT_EP_STATE_DISCONNECT_PENDING)
		ep->obj.ia->up->drained(ep);
}

/* Ends the watching of completions if no request waits in the ring any more. ep->lock held. */
void dofi_ep_let_go(struct dofi_ep *ep);

/*
 * Leaves work to the next round of the engine: requests that the fabric did not take, or the end
 * after a fault. ep->lock held.
 */
void dofi_ep_stall(struct dofi_ep *ep);

/*
 * The fabric refuses operations of the EP: the engine waits for the reason, mostly an event of the
 * path, and then ends the connection.
 */
DOFI_COLD void dofi_ep_refuse(struct dofi_ep *ep);

/* stall.retry of an EP: handles everything that the EP has left to the engine. engine.lock held. */
void dofi_ep_retry(struct dofi_stall *stall);

/* Whether the next request is a message for which the peer has no receive. ep->lock held. */
bool dofi_ep_starves(const struct dofi_ep *ep);

/*
 * Starts the final sync of a graceful disconnect: a read that completes when the peer has received
 * everything. False: it could not be posted. ep->lock held.
 */
bool dofi_ep_sync(struct dofi_ep *ep);

#endif
