/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One work request to the fabric: by its post, when it is plain and nothing waits before it, or by
 * the loops over what waits (issue.c). op is that of wr, known to the compiler in a post; what is
 * plain needs no look at what it may need else. ep->lock held.
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

/* May one start that a control record, a fence or a bind has to do with? */
DOFI_SLOW_PATH enum dofi_verdict dofi_issue_special(struct dofi_ep *ep, struct dofi_wr *wr);
/* Where the peer's memory is, from its context. */
DOFI_SLOW_PATH enum dofi_verdict dofi_issue_resolve(struct dofi_ep *ep, struct dofi_wr *wr);
/* As dofi_start, for those that aren't plain. */
DOFI_SLOW_PATH ssize_t dofi_start_slow(struct dofi_ep *ep, struct dofi_wr *wr);
/* The next one stays in the ring: it may not start, or the fabric answered ret < 0. */
DOFI_SLOW_PATH void dofi_issue_denied(struct dofi_ep *ep, struct dofi_wr *wr,
				      enum dofi_verdict verdict);
DOFI_COLD void dofi_issue_put_off(struct dofi_ep *ep, ssize_t ret);
/* The peer should hear soon how many receives there are. */
DOFI_SLOW_PATH void dofi_issue_credit_update(struct dofi_ep *ep);

/*
 * Could be served before an earlier write: for the peer that gets this message, or for this read. A
 * fence is no wait.
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

	if (op == DOFI_OP_READ && ep->reads >= ep->read_limit)
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

/* To the fabric, as one operation of its own. 0, or a negative error and nothing changed. */
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

/* The first of those that wait. False: it still waits, or those behind it have to. */
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
		if (ret < 0) /* else what completes before goes on with it */
			dofi_issue_put_off(ep, ret);
		return false;
	}
	ep->req.issue++;
	if (wr->state == DOFI_WR_DONE)
		dofi_release_request(ep, wr);
	return true;
}

/* The same for receives. */
DOFI_INLINE bool dofi_issue_receive(struct dofi_ep *ep, struct dofi_wr *wr, bool plain)
{
	ssize_t ret;

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
 * Gives queued work to the fabric as far as order, limits and the fabric allow; of one ring, or
 * all. ep->lock held.
 */
void dofi_ep_issue_requests(struct dofi_ep *ep);

void dofi_ep_issue_receives(struct dofi_ep *ep);
void dofi_ep_issue(struct dofi_ep *ep);
/* A completion is dealt with: what waited for it? engine.lock and ep->lock held. */
static inline void dofi_ep_go_on(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_assert_held(&ep->lock);
	if (ep->req.issue != ep->req.tail || ep->recv.issue != ep->recv.tail)
		dofi_ep_issue(ep);
	if (ep->state == DAT_EP_STATE_DISCONNECT_PENDING)
		ep->obj.ia->up->drained(ep);
}

/* Completions need not be watched any more for requests that wait, if none does. ep->lock held. */
void dofi_ep_let_go(struct dofi_ep *ep);

/* Leaves something to the engine: work that the fabric did not take, or a fault; ep->lock held. */
void dofi_ep_stall(struct dofi_ep *ep);

/*
 * The fabric refuses what is the EP's: the engine waits for the reason, mostly an event of the
 * path, and then ends the connection.
 */
DOFI_COLD void dofi_ep_refuse(struct dofi_ep *ep);

/* What stall.retry does: looks after all that the EP has left. engine.lock held. */
void dofi_ep_retry(struct dofi_stall *stall);

/* The next request is a Send for which the peer has no receive; ep->lock held. */
bool dofi_ep_starves(const struct dofi_ep *ep);

/*
 * Final sync of a graceful disconnect: a read that returns when the peer has taken all we sent.
 * ep->lock held.
 */
bool dofi_ep_sync(struct dofi_ep *ep);

#endif
