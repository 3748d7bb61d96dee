/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Gives work requests of the rings to the fabric, in posting order. A request that must wait (for a
 * remote context, a fence, the read limit, room in the fabric) stays in the ring, and so does
 * everything behind it.
 */
#include "dto/credit.h"
#include "object/ep.h"
#include "object/ia.h"
#include "dto/issue.h"
#include "dto/control_message.h"
#include "base/log.h"
#include "dto/atomic.h"
#include "dto/control.h"
#include "dto/rma.h"
#include "dto/ud.h"
#include "dto/bounce.h"
#include "dto/parts.h"
#include "object/ctxtab.h"
#include "object/transport.h"
#include "progress/stall.h"
#include "progress/cq_watch.h"
#include "dto/release.h"

#include <rdma/fi_errno.h>

void dofi_ep_stall(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	if (!ep->stall.waits)
		DOFI_PROBE3(stall, ep, ep->req.tail - ep->req.issue,
			    ep->recv.tail - ep->recv.issue);
	dofi_stall(ep->obj.ia, &ep->stall);
}

/* Ends a request with an error that the library has found; the engine breaks the connection. */
DOFI_COLD static void fail(struct dofi_ep *ep, struct dofi_wr *wr, DAT_DTO_COMPLETION_STATUS status)
{
	wr->status = (uint8_t)status;
	wr->state = DOFI_WR_DONE;
	ep->faulty = true;
	dofi_ep_stall(ep);
}

void dofi_ep_refuse(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	ep->refused = true;
	dofi_ep_stall(ep);
}

/*
 * Reads the peer's table entry of a context into the scratch. Context 0: reads entry 0, only for
 * the round trip.
 */
static bool peek(struct dofi_ep *ep, uint32_t context)
{
	struct dofi_scratch *scratch = &ep->obj.ia->scratch;
	uint64_t offset = (uint64_t)DOFI_CTX_INDEX(context) * sizeof(struct dofi_ctx_wire);
	struct dofi_wr *wr = &ep->aux->wr;
	ssize_t ret;

	if (ep->peeking)
		return false;
	wr->ep = ep;
	wr->op = DOFI_OP_PEEK;
	ep->aux_ctx = context;
	ep->peek_outdated = false;
	ret = ep->trans->peek(ep, wr, &scratch->slots[ep->scratch], sizeof(struct dofi_ctx_wire),
			      scratch->desc, ep->peer.ctxtab_address + offset, ep->peer.ctxtab_key);
	if (!ret) {
		ep->peeking = true;
		return true;
	}
	dofi_issue_put_off(ep, ret);
	return false;
}

bool dofi_ep_sync(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	return peek(ep, 0);
}

/* Rights, zone and bounds. Most fabrics check them late, wrongly or not at all. */
DOFI_INLINE bool allowed(const struct dofi_ep *ep, const struct dofi_wr *wr, uint64_t address,
			 const struct dofi_ctx *ctx)
{
	unsigned int need = wr->op == DOFI_OP_READ ? DAT_MEM_PRIV_REMOTE_READ_FLAG
						   : DAT_MEM_PRIV_REMOTE_WRITE_FLAG;

	if (dofi_op_is_atomic(wr->op))
		need = DOFI_MEM_PRIV_REMOTE_ATOMIC;
	return (ctx->privileges & need) &&
	       ctx->pz == dofi_ctx_zone(ctx, ep->peer.pz, ep->peer.number) &&
	       address >= ctx->base && wr->length <= ctx->length &&
	       address - ctx->base <= ctx->length - wr->length;
}

/*
 * An entry of the cache without rights. It stands for a context that the peer's table does not
 * have, or that a Send of ours has ended. In the second case the entry stays until the peer
 * confirms the end: until then the peer's table may still show the context as valid.
 */
static bool allows_nothing(const struct dofi_ctx *ctx)
{
	return ctx->context && !ctx->privileges;
}

/* DOFI_GO if the peer's entry of the context is in the cache and allows the access. */
DOFI_INLINE enum dofi_verdict look_up(struct dofi_ep *ep, const struct dofi_wr *wr,
				      uint32_t context, uint64_t address)
{
	const struct dofi_ctx *ctx = &ep->rcache[context % DOFI_RCACHE_SIZE];

	if (!context || DOFI_CTX_INDEX(context) >= ep->peer.ctxtab_entries)
		return DOFI_REFUSED;
	if (ctx->context != context) {
		if (!allows_nothing(ctx))
			peek(ep, context);
		return DOFI_WAIT;
	}
	if (!allowed(ep, wr, address, ctx))
		/* the request stays in the ring until it is the oldest, and fails then */
		return DOFI_REFUSED;
	return DOFI_GO;
}

enum dofi_verdict dofi_issue_resolve(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct dofi_ctx *ctx = &ep->rcache[wr->rdma.context % DOFI_RCACHE_SIZE];
	struct dofi_remote *remote = &wr->rdma.remote;
	enum dofi_verdict verdict;

	dofi_assert_held(&ep->lock);
	if (wr->rdma.step)
		return DOFI_GO; /* the fabric has the data, and what follows needs no context */
	verdict = look_up(ep, wr, wr->rdma.context, remote->address);
	if (verdict != DOFI_GO)
		return verdict;
	remote->target = dofi_ctx_target(ctx, remote->address);
	remote->key = ctx->key;
	wr->rdma.resolved = true;
	return DOFI_GO;
}

/* For devices that execute it. dofi_atomic_start looks the target up again. */
static enum dofi_verdict native_atomic_may_start(struct dofi_ep *ep, const struct dofi_wr *wr)
{
	const struct dofi_ctx *ctx = &ep->rcache[wr->atomic.context % DOFI_RCACHE_SIZE];
	enum dofi_verdict verdict;

	if (!ep->peer.atomics)
		return DOFI_REFUSED;
	verdict = look_up(ep, wr, wr->atomic.context, wr->atomic.address);
	if (verdict == DOFI_GO && dofi_ctx_target(ctx, wr->atomic.address) % sizeof(uint64_t))
		return DOFI_REFUSED;
	return verdict;
}

/* The place of the peer's control slots is an entry of its table, too. */
static enum dofi_verdict find_slots(struct dofi_ep *ep, const struct dofi_wr *wr)
{
	uint32_t context = ep->peer.ctrl_context;
	const struct dofi_ctx *ctx = &ep->rcache[context % DOFI_RCACHE_SIZE];

	if (ep->ctrl_msgs && !ep->peer.ctrl_msgs)
		return DOFI_REFUSED;
	if (ep->ctrl_msgs)
		return dofi_ctrl_msg_may_start(ep, wr) ? DOFI_GO : DOFI_WAIT;
	/* The target of a read looks its context up once more when it sends the data. */
	if (ep->streams && wr->op == DOFI_OP_SEND_INVALIDATE && ep->reads)
		return DOFI_WAIT;
	/* Cells carry the records, and only those of atomic operations have bytes. */
	if (ep->peer.ctrl_known || (ep->streams && !dofi_op_is_atomic(wr->op)))
		return DOFI_GO;
	if (!context || DOFI_CTX_INDEX(context) >= ep->peer.ctxtab_entries)
		return DOFI_REFUSED;
	if (ctx->context == context)
		return dofi_ctrl_set_peer_slots(ep, ctx) ? DOFI_GO : DOFI_REFUSED;
	peek(ep, context);
	return DOFI_WAIT;
}

/*
 * Whether the fabric executes the barrier flag: only for a request that is one operation of the
 * fabric and moves bytes.
 */
static bool fence_is_native(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	const struct dofi_ia *ia = ep->obj.ia;

	return ia->fences_reads && !ep->streams && dofi_op_may_be_plain(wr->op) && wr->niov &&
	       wr->niov <= ep->req.fabric_iov && !(ia->splits_writes && wr->op == DOFI_OP_WRITE);
}

enum dofi_verdict dofi_issue_special(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	if (ep->binding)
		return DOFI_WAIT;
	if (dofi_fenced(ep, wr) && !fence_is_native(ep, wr) && !dofi_wr_is_begun(wr))
		return DOFI_WAIT;
	if (ep->atomics_used || dofi_op_is_atomic(wr->op))
		if (!dofi_atomic_may_start(ep, wr))
			return DOFI_WAIT;
	if (dofi_op_needs_ctrl(wr->op) && !dofi_op_is_native(ep, wr->op)) {
		enum dofi_verdict verdict = find_slots(ep, wr);

		if (verdict != DOFI_GO)
			return verdict;
	} else if (dofi_op_is_atomic(wr->op)) {
		return native_atomic_may_start(ep, wr);
	}
	if (wr->op == DOFI_OP_SEND_INVALIDATE &&
	    allows_nothing(&ep->rcache[wr->send.context % DOFI_RCACHE_SIZE]))
		return DOFI_WAIT;
	return DOFI_GO;
}

/* A request with more segments than the fabric takes. A message has one segment afterwards. */
static ssize_t start_split(struct dofi_ep *ep, struct dofi_wr *wr)
{
	ssize_t ret;

	if (dofi_op_is_rdma(wr->op)) {
		wr->state = DOFI_WR_ISSUED;
		ret = wr->op == DOFI_OP_WRITE_IMM ? dofi_ctrl_start(ep, wr)
						  : dofi_parts_start(ep, wr, 0);
		if (ret)
			wr->state = DOFI_WR_QUEUED;
		return ret;
	}
	return dofi_bounce_take(ep->obj.ia, &ep->req, wr);
}

/* Requests that are no operation of the fabric, or several. */
static ssize_t start_other(struct dofi_ep *ep, struct dofi_wr *wr)
{
	ssize_t ret = 0;

	wr->state = DOFI_WR_ISSUED;
	if (wr->op == DOFI_OP_BIND)
		ep->obj.ia->up->apply_bind(ep, wr);
	else if (wr->op == DOFI_OP_WRITE || wr->op == DOFI_OP_READ)
		wr->state = DOFI_WR_DONE; /* it moves no bytes */
	else
		ret = dofi_ctrl_start(ep, wr);
	if (ret)
		wr->state = DOFI_WR_QUEUED;
	else
		ep->dirty = true;
	DOFI_PROBE4(issue, ep, wr->op, wr->cookie, ret);
	return ret;
}

static ssize_t start_any(struct dofi_ep *ep, struct dofi_wr *wr)
{
	if (DOFI_UNLIKELY(wr->niov > ep->req.fabric_iov || dofi_parts_needed(ep, wr))) {
		ssize_t ret = start_split(ep, wr);

		if (ret || dofi_op_is_rdma(wr->op))
			return ret;
	}
	if (wr->op == DOFI_OP_SEND ||
	    ((wr->op == DOFI_OP_WRITE || wr->op == DOFI_OP_READ) && wr->length))
		return dofi_start(ep, wr, wr->op);
	if (wr->op == DOFI_OP_SEND_UD)
		return dofi_ud_start(ep, wr);
	return start_other(ep, wr);
}

/* The progress thread does not run rounds meanwhile. */
static ssize_t start_large(struct dofi_ep *ep, struct dofi_wr *wr)
{
	struct dofi_engine *e = &ep->obj.ia->engine;
	ssize_t ret;

	atomic_fetch_add_explicit(&e->copying, 1, memory_order_relaxed);
	ret = start_any(ep, wr);
	atomic_fetch_sub_explicit(&e->copying, 1, memory_order_relaxed);
	return ret;
}

ssize_t dofi_start_slow(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	return wr->length < DOFI_LARGE ? start_any(ep, wr) : start_large(ep, wr);
}

/*
 * A refused request fails only when all requests before it are complete, so that they still
 * succeed, and when the fabric has none of its own parts any more: the answer to the peer that has
 * ended the context waits for these (cm/invalidation.c).
 */
void dofi_issue_denied(struct dofi_ep *ep, struct dofi_wr *wr, enum dofi_verdict verdict)
{
	dofi_assert_held(&ep->lock);
	if (verdict != DOFI_REFUSED || ep->req.head != ep->req.issue ||
	    (dofi_op_is_rdma(wr->op) && wr->split))
		return;
	ep->req.issue++;
	fail(ep, wr, DAT_DTO_ERR_REMOTE_ACCESS);
	dofi_release_rings(ep);
}

void dofi_issue_put_off(struct dofi_ep *ep, ssize_t ret)
{
	dofi_assert_held(&ep->lock);
	if (ret == -FI_EAGAIN) {
		DOFI_COUNT(ep, EP_AGAIN, 1);
		dofi_ep_stall(ep);
		return;
	}
	if (ep->path_up && !ep->refused) /* otherwise the connection ends already */
		DOFI_LOG_I("%s: the fabric refuses an operation, so its connection ends: %s",
			   ep->obj.ia->name, fi_strerror((int)-ret));
	dofi_ep_refuse(ep);
}

void dofi_ep_issue_requests(struct dofi_ep *ep)
{
	const struct dofi_ring *ring = &ep->req;

	dofi_assert_held(&ep->lock);
	while (ring->issue != ring->tail && ep->path_up && !ep->faulty) {
		struct dofi_wr *wr = dofi_ring_at(ring, ring->issue);

		if (!dofi_issue_next(ep, wr, wr->op, false))
			return;
	}
}

void dofi_issue_credit_update(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	/*
	 * A consumer that polls may send a message soon, which carries the update; the engine sends
	 * it otherwise. If the driver sleeps, the update is sent at once, because it does not wake
	 * the driver.
	 */
	if (dofi_credit_is_written(ep) ||
	    atomic_load_explicit(&ep->obj.ia->wait.asleep, memory_order_relaxed))
		dofi_credit_announce(ep);
	else
		dofi_ep_stall(ep);
}

void dofi_ep_issue_receives(struct dofi_ep *ep)
{
	const struct dofi_ring *ring = &ep->recv;

	dofi_assert_held(&ep->lock);
	if (!ep->path_up || ep->ud)
		return;
	while (ring->issue != ring->tail)
		if (!dofi_issue_receive(ep, dofi_ring_at(ring, ring->issue), false))
			return;
	if (dofi_credit_urgent(ep))
		dofi_issue_credit_update(ep);
}

bool dofi_ep_starves(const struct dofi_ep *ep)
{
	const struct dofi_ring *ring = &ep->req;

	dofi_assert_held(&ep->lock);
	return ring->issue != ring->tail &&
	       dofi_op_is_message(dofi_ring_at(ring, ring->issue)->op) && dofi_credit_out(ep);
}

void dofi_ep_issue(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	if (!ep->path_up)
		return;
	if (ep->owing)
		dofi_parts_pay(ep);
	if (ep->answers_due)
		dofi_ctrl_send_answers(ep);
	if (ep->recv.issue != ep->recv.tail)
		dofi_ep_issue_receives(ep);
	dofi_ep_issue_requests(ep);
	dofi_ep_let_go(ep);
}

void dofi_ep_let_go(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	if (!ep->holds || ep->req.issue != ep->req.tail)
		return;
	ep->holds = false;
	dofi_wait_unwatch(ep->obj.ia);
}

void dofi_ep_retry(struct dofi_stall *stall)
{
	struct dofi_ep *ep = DOFI_CONTAINER(stall, struct dofi_ep, stall);
	const struct dofi_ia *ia = ep->obj.ia;
	struct dofi_conn *broken = NULL, *refused = NULL, *complete = NULL;

	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_lock(&ep->lock);
	stall->waits = false;
	if (dofi_ep_last_message(ep))
		complete = ep->conn;
	if (ep->binding && ep->bind_replaced)
		ia->up->ask_for_bind(ep);
	if (ep->subscribe_to)
		ia->up->subscribe(ep);
	if (ep->faulty) {
		broken = ep->conn;
		dofi_release_rings(ep);
	} else if (ep->refused) {
		ep->refused = false;
		refused = ep->conn;
	} else {
		dofi_ep_issue(ep);
		dofi_credit_announce(ep);
		if (ep->state == DAT_EP_STATE_DISCONNECT_PENDING)
			ia->up->drained(ep);
	}
	dofi_unlock(&ep->lock);
	if (broken)
		ia->up->broken(broken);
	if (refused)
		ia->up->path_down(refused, 0);
	if (complete)
		ia->up->last_message(complete);
}
