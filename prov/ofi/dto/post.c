/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The hot path out: a post fills the next slot of a ring and gives it to the fabric, or leaves it
 * to the engine.
 */
#include "dto/post.h"

#include "progress/cno.h"
#include "object/ep.h"
#include "progress/evd.h"
#include "object/ia.h"
#include "dto/issue.h"
#include "dto/control.h"
#include "dto/ud.h"
#include "dto/credit.h"
#include "object/ctxtab.h"
#include "progress/engine.h"
#include "progress/wait.h"
#include "dto/rmr.h"
#include "dto/watermark.h"
#include "object/ud_ah.h"
#include "dto/reap.h"

#include <rdma/fi_errno.h>

/*
 * Completion flags that a call allows; UNSIGNALLED only where the EP's streams are configured so.
 */
static bool flags_ok(DAT_COMPLETION_FLAGS flags, unsigned int allowed,
		     DAT_COMPLETION_FLAGS ep_flags)
{
	if (ep_flags == DAT_COMPLETION_UNSIGNALLED_FLAG)
		allowed |= DAT_COMPLETION_UNSIGNALLED_FLAG;
	return !((unsigned int)flags & ~allowed);
}

static bool segments_ok(DAT_COUNT n, const DAT_LMR_TRIPLET *iov, DAT_COUNT max)
{
	return n >= 0 && n <= max && (n == 0 || iov);
}

static uint64_t segments_length(DAT_COUNT n, const DAT_LMR_TRIPLET *iov)
{
	uint64_t total = 0;

	for (DAT_COUNT i = 0; i < n; i++) {
		if (total + iov[i].segment_length < total)
			return UINT64_MAX;
		total += iov[i].segment_length;
	}
	return total;
}

/* One bounds check and one copy. */
static inline DAT_RETURN translate(const struct dofi_ia *ia, const struct dofi_pz *pz,
				   const DAT_LMR_TRIPLET *segment, unsigned int privilege,
				   struct iovec *iov, void **desc)
{
	const struct dofi_lmr *lmr = dofi_ctxtab_lmr(&ia->ctxtab, segment->lmr_context);
	uint64_t offset, left;

	if (!lmr)
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0);
	if (lmr->pz != pz)
		return DOFI_ERR(DAT_PROTECTION_VIOLATION, 0);
	if (!((unsigned int)lmr->privileges & privilege))
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0);
	offset = segment->virtual_address - lmr->base;
	if (__builtin_sub_overflow(lmr->length, offset, &left) || segment->segment_length > left)
		return DOFI_BAD_ARG(3);
	iov->iov_base = (void *)(uintptr_t)(lmr->start + offset);
	iov->iov_len = segment->segment_length;
	*desc = lmr->desc;
	return DAT_SUCCESS;
}

/* Empty segments are left out unseen (DTO-012, DTO-017). */
DAT_RETURN dofi_segments_translate(struct dofi_ia *ia, struct dofi_pz *pz, DAT_COUNT n,
				   const DAT_LMR_TRIPLET *iov, unsigned int privilege,
				   struct dofi_wr *wr, void **desc)
{
	uint16_t out = 0;

	for (DAT_COUNT i = 0; i < n; i++) {
		DAT_RETURN ret;

		if (!iov[i].segment_length)
			continue;
		ret = translate(ia, pz, &iov[i], privilege, &wr->iov[out], &desc[out]);
		if (ret != DAT_SUCCESS)
			return ret;
		out++;
	}
	wr->niov = out;
	return DAT_SUCCESS;
}

DOFI_INLINE void fill(struct dofi_wr *wr, struct dofi_ep *ep, enum dofi_op op,
		      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags, uint64_t length)
{
	wr->ep = ep;
	wr->cookie = cookie.as_64;
	wr->kind = ((struct dofi_wr){.op = (uint8_t)op,
				     .state = DOFI_WR_QUEUED,
				     .flags = (uint8_t)flags,
				     .niov = 1})
			   .kind;
	wr->length = length;
	wr->resolved = true;
	wr->step = wr->note = 0;
	wr->written = false;
}

/* The counter of bytes follows that of posts; 0: counted otherwise. */
static const uint8_t post_counters[] = {
	[DOFI_OP_SEND] = DOFI_CNT_EP_POST_SEND,
	[DOFI_OP_SEND_INVALIDATE] = DOFI_CNT_EP_POST_SEND,
	[DOFI_OP_RECV] = DOFI_CNT_EP_POST_RECV,
	[DOFI_OP_WRITE] = DOFI_CNT_EP_POST_WRITE,
	[DOFI_OP_WRITE_IMM] = DOFI_CNT_EP_POST_WRITE_IMM,
	[DOFI_OP_READ] = DOFI_CNT_EP_POST_READ,
	[DOFI_OP_SEND_UD] = DOFI_CNT_EP_POST_SEND_UD,
};

/* ep->lock held. */
DOFI_INLINE void count_post(struct dofi_ep *ep, uint8_t op, uint64_t length)
{
	uint8_t counter = post_counters[op];

	if (DOFI_LIKELY(counter)) {
		dofi_count(&ep->counters[counter], 1);
		dofi_count(&ep->counters[counter + 1], length);
	} else if (op == DOFI_OP_CMP_SWAP) {
		DOFI_COUNT(ep, EP_POST_CMP_SWAP, 1);
	} else if (op == DOFI_OP_FETCH_ADD) {
		DOFI_COUNT(ep, EP_POST_FETCH_ADD, 1);
	}
}

/* A read fills its segments front to back and no more than the remote length (DTO-098). */
static void trim(struct dofi_wr *wr)
{
	uint64_t left = wr->length;
	uint16_t i;

	for (i = 0; i < wr->niov && left; i++) {
		if (wr->iov[i].iov_len > left)
			wr->iov[i].iov_len = left;
		left -= wr->iov[i].iov_len;
	}
	wr->niov = i;
}

/* The slot at the tail of the ring is ready: it becomes the engine's. */
DOFI_INLINE void commit(struct dofi_ep *ep, struct dofi_ring *ring, const struct dofi_wr *wr,
			uint8_t op, uint64_t length)
{
	DOFI_PROBE4(post, ep, op, wr->cookie, length);
	count_post(ep, op, length);
	ring->tail++;
}

DOFI_INLINE DAT_RETURN leave(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;

	dofi_unlock(&ep->lock);
	dofi_cno_run_agents(ia);
	return DAT_SUCCESS;
}

/* Its turn comes with a completion: from now on they are watched. ep->lock held. */
DOFI_COLD static void hold(struct dofi_ep *ep)
{
	DOFI_COUNT(ep, EP_HELD, 1);
	if (!ep->holds)
		dofi_wait_watch(ep->obj.ia);
	ep->holds = true;
}

/* A request goes to the fabric, or waits. Unlocks the EP. */
static DAT_RETURN commit_request(struct dofi_ep *ep, const struct dofi_wr *wr)
{
	const struct dofi_ring *ring = &ep->req;

	commit(ep, &ep->req, wr, wr->op, wr->length);
	if (ep->state == DAT_EP_STATE_DISCONNECTED)
		dofi_reap_flush(ep, DAT_DTO_ERR_FLUSHED);
	else if (ring->issue + 1 == ring->tail)
		dofi_ep_issue_requests(ep);
	else if (!ep->stall.waits)
		dofi_ep_issue(ep);
	if (ring->issue != ring->tail)
		hold(ep);
	return leave(ep);
}

/* So does a receive. */
static DAT_RETURN commit_receive(struct dofi_ep *ep, const struct dofi_wr *wr)
{
	commit(ep, &ep->recv, wr, DOFI_OP_RECV, wr->length);
	if (ep->state == DAT_EP_STATE_DISCONNECTED)
		dofi_reap_flush(ep, DAT_DTO_ERR_FLUSHED);
	else if (ep->recv.issue + 1 == ep->recv.tail || !ep->stall.waits)
		dofi_ep_issue_receives(ep);
	return leave(ep);
}

DOFI_COLD static DAT_RETURN refuse(struct dofi_ep *ep, DAT_RETURN why)
{
	leave(ep);
	return why;
}

#define MOST_ROUNDS 4096

/*
 * Where the ring is full, part of it may be complete, and nobody has looked. ep->lock is released
 * for that; whether there is room now is for the post to say. What others have under way may never
 * end: not more than a full queue is read.
 */
static void seek_room(struct dofi_ep *ep, const struct dofi_ring *ring)
{
	int n = 1;

	for (int i = 0; n && i < MOST_ROUNDS && dofi_ring_count(ring) >= ring->limit; i++) {
		dofi_unlock(&ep->lock);
		n = dofi_engine_catch_up(ep->obj.ia);
		dofi_lock(&ep->lock);
	}
}

/* What all request posts ask of the EP, with its lock held. One of datagrams is never connected. */
static DAT_RETURN request_ready(const struct dofi_ep *ep, uint8_t op)
{
	if (ep->state != DAT_EP_STATE_CONNECTED && ep->state != DAT_EP_STATE_DISCONNECTED &&
	    op != DOFI_OP_SEND_UD)
		return dofi_ep_bad_state(ep->state);
	if (dofi_ring_count(&ep->req) >= ep->req.limit)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	return DAT_SUCCESS;
}

/* As request_ready, for an operation that needs control records or their equal. */
static DAT_RETURN ctrl_ready(const struct dofi_ep *ep, uint8_t op)
{
	if (!ep->obj.ia->mail.boxes && !ep->ctrl_msgs && !dofi_op_is_native(ep->obj.ia, op))
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	return request_ready(ep, op);
}

#define RDMA_FLAGS    (DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define MESSAGE_FLAGS (RDMA_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG)

/* Of a request; the EP's attributes limit them by its kind. */
DOFI_INLINE DAT_COUNT most_segments(const struct dofi_ep *ep, uint8_t op)
{
	if (op == DOFI_OP_SEND || op == DOFI_OP_SEND_INVALIDATE || op == DOFI_OP_SEND_UD)
		return ep->attr.max_request_iov;
	if (op == DOFI_OP_READ)
		return ep->attr.max_rdma_read_iov;
	return dofi_op_is_atomic(op) ? 1 : ep->attr.max_rdma_write_iov;
}

/* A request as its call gave it. */
struct request {
	enum dofi_op op;
	DAT_COUNT n;
	const DAT_LMR_TRIPLET *iov;
	DAT_DTO_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;
	DAT_RETURN bad_flags;          /* the error names their place among the arguments */
	const DAT_RMR_TRIPLET *remote; /* or NULL */
};

/* Length of the transfer against the peer's segment (DTO-096, DTO-119) and the fabric's limit. */
static DAT_RETURN request_length(const struct dofi_ep *ep, const struct request *r,
				 uint64_t *length_p)
{
	uint64_t length = segments_length(r->n, r->iov), limit = ep->obj.ia->limits.max_message;

	if (r->remote) {
		bool read = r->op == DOFI_OP_READ;

		if (read ? length < r->remote->segment_length : length > r->remote->segment_length)
			return DOFI_ERR(DAT_LENGTH_ERROR, 0);
		if (read)
			length = r->remote->segment_length;
		limit = ep->obj.ia->limits.max_rdma;
	} else if (r->op == DOFI_OP_SEND_UD) {
		limit = ep->obj.ia->limits.max_datagram;
	}
	*length_p = length;
	return length > limit ? DOFI_BAD_ARG(3) : DAT_SUCCESS;
}

/*
 * Checks the request and fills the slot at the tail of the ring; nothing is changed on failure.
 * ep->lock held.
 */
static DAT_RETURN prepare(struct dofi_ep *ep, const struct request *r, struct dofi_wr **wr_p)
{
	bool inward = r->op == DOFI_OP_READ || dofi_op_is_atomic((uint8_t)r->op);
	unsigned int allowed =
		r->op == DOFI_OP_WRITE || r->op == DOFI_OP_READ ? RDMA_FLAGS : MESSAGE_FLAGS;
	struct dofi_wr *wr;
	uint64_t length;
	DAT_RETURN ret;

	seek_room(ep, &ep->req);
	wr = *wr_p = dofi_ring_at(&ep->req, ep->req.tail);
	if (!segments_ok(r->n, r->iov, most_segments(ep, (uint8_t)r->op)))
		return DOFI_BAD_ARG(2);
	if (!flags_ok(r->flags, allowed, ep->attr.request_completion_flags))
		return r->bad_flags;
	ret = dofi_op_needs_ctrl((uint8_t)r->op) ? ctrl_ready(ep, (uint8_t)r->op)
						 : request_ready(ep, (uint8_t)r->op);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = request_length(ep, r, &length);
	if (ret != DAT_SUCCESS)
		return ret;
	fill(wr, ep, r->op, r->cookie, r->flags, length);
	return dofi_segments_translate(ep->obj.ia, ep->pz, r->n, r->iov,
				       inward ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG
					      : DAT_MEM_PRIV_LOCAL_READ_FLAG,
				       wr, dofi_wr_desc(&ep->req, wr));
}

static inline void set_remote(struct dofi_wr *wr, const DAT_RMR_TRIPLET *remote)
{
	wr->raddr = DOFI_RMR_ADDR(remote);
	wr->rctx = remote->rmr_context;
	wr->resolved = wr->length == 0; /* nothing to reach then (DTO-100) */
}

/* Any Send, write or read. ep->lock held, which is released. */
static DAT_RETURN post_request(struct dofi_ep *ep, const struct request *r)
{
	struct dofi_wr *wr;
	DAT_RETURN ret = prepare(ep, r, &wr);

	if (ret != DAT_SUCCESS)
		return refuse(ep, ret);
	if (r->remote)
		set_remote(wr, r->remote);
	if (r->op == DOFI_OP_READ)
		trim(wr);
	return commit_request(ep, wr);
}

/* Any receive. ep->lock held, which is released. */
DOFI_SLOW_PATH static DAT_RETURN post_receive(struct dofi_ep *ep, DAT_COUNT n,
					      const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					      DAT_COMPLETION_FLAGS flags)
{
	struct dofi_wr *wr;
	uint64_t length;
	DAT_RETURN ret;

	seek_room(ep, &ep->recv);
	if (!segments_ok(n, iov, ep->attr.max_recv_iov))
		return refuse(ep, DOFI_BAD_ARG(2));
	if (!flags_ok(flags, 0, ep->attr.recv_completion_flags))
		return refuse(ep, DOFI_BAD_ARG(5));
	if (ep->srq)
		return refuse(ep, DOFI_BAD_STATE(SRQ_IN_USE));
	if (dofi_ring_count(&ep->recv) >= ep->recv.limit)
		return refuse(ep, DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	length = segments_length(n, iov);
	if (length > ep->obj.ia->limits.max_message)
		return refuse(ep, DOFI_BAD_ARG(3));
	wr = dofi_ring_at(&ep->recv, ep->recv.tail);
	fill(wr, ep, DOFI_OP_RECV, cookie, flags, length);
	ret = dofi_segments_translate(ep->obj.ia, ep->pz, n, iov, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, wr,
				      dofi_wr_desc(&ep->recv, wr));
	if (ret != DAT_SUCCESS)
		return refuse(ep, ret);
	wr->raddr = (uintptr_t)ep->pz;
	if (ep->state != DAT_EP_STATE_DISCONNECTED)
		dofi_ep_check_marks(ep, dofi_ring_count(&ep->recv) + 1);
	return commit_receive(ep, wr);
}

/*
 * The lane of what most posts are: one segment, no flags, an EP that can do it now. Whatever else
 * is the case, or wrong, is for those above: then these return false, and have changed nothing.
 * ep->lock held.
 */
DOFI_INLINE bool is_plain(const struct dofi_ep *ep, const struct dofi_ring *ring, DAT_COUNT n,
			  DAT_COUNT max_iov, const DAT_LMR_TRIPLET *iov, DAT_COMPLETION_FLAGS flags,
			  uint64_t limit)
{
	return n == 1 && max_iov > 0 && iov && !flags && dofi_ep_is_free(ep) &&
	       ring->issue == ring->tail && dofi_ring_count(ring) < ring->limit &&
	       iov->segment_length - 1 < limit;
}

/* The next slot with it; NULL when the segment is not the EP's to use so. */
DOFI_INLINE struct dofi_wr *take_plain(struct dofi_ep *ep, struct dofi_ring *ring, uint8_t op,
				       const DAT_LMR_TRIPLET *iov, unsigned int privilege,
				       DAT_DTO_COOKIE cookie)
{
	struct dofi_wr *wr = dofi_ring_at(ring, ring->tail);

	if (DOFI_UNLIKELY(translate(ep->obj.ia, ep->pz, iov, privilege, wr->iov,
				    dofi_wr_desc(ring, wr)) != DAT_SUCCESS))
		return NULL;
	fill(wr, ep, op, cookie, DAT_COMPLETION_DEFAULT_FLAG, iov->segment_length);
	commit(ep, ring, wr, op, iov->segment_length);
	return wr;
}

/* remote: NULL for a Send. */
DOFI_INLINE bool post_plain_request(struct dofi_ep *ep, uint8_t op, DAT_COUNT n,
				    const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				    const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	unsigned int privilege =
		op == DOFI_OP_READ ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG : DAT_MEM_PRIV_LOCAL_READ_FLAG;
	const struct dofi_limits *limits = &ep->obj.ia->limits;
	uint64_t limit = op == DOFI_OP_WRITE ? limits->plain_write : limits->plain;
	struct dofi_wr *wr;

	if (!is_plain(ep, &ep->req, n, most_segments(ep, op), iov, flags, limit) ||
	    (remote && remote->segment_length != iov->segment_length))
		return false;
	wr = take_plain(ep, &ep->req, op, iov, privilege, cookie);
	if (!wr)
		return false;
	if (remote)
		set_remote(wr, remote);
	if (DOFI_UNLIKELY(!dofi_issue_next(ep, wr, op, true)) && ep->req.issue != ep->req.tail)
		hold(ep);
	return true;
}

DOFI_INLINE bool post_plain_receive(struct dofi_ep *ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dofi_wr *wr;

	if (!is_plain(ep, &ep->recv, n, ep->attr.max_recv_iov, iov, flags,
		      ep->obj.ia->limits.plain) ||
	    ep->srq)
		return false;
	wr = take_plain(ep, &ep->recv, DOFI_OP_RECV, iov, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, cookie);
	if (!wr)
		return false;
	wr->raddr = (uintptr_t)ep->pz;
	dofi_ep_check_marks(ep, dofi_ring_count(&ep->recv));
	if (DOFI_LIKELY(dofi_issue_receive(ep, wr, true)) && dofi_credit_urgent(ep))
		dofi_issue_credit_update(ep);
	return true;
}

DAT_RETURN dofi_ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	dofi_lock(&ep->lock);
	return DOFI_LIKELY(post_plain_receive(ep, n, iov, cookie, flags))
		       ? leave(ep)
		       : post_receive(ep, n, iov, cookie, flags);
}

/* These have frames and arguments of their own, which the lane then does without. */
DOFI_SLOW_PATH static DAT_RETURN post_send(struct dofi_ep *ep, DAT_COUNT n,
					   const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					   DAT_COMPLETION_FLAGS flags)
{
	return post_request(ep, &(struct request){DOFI_OP_SEND, n, iov, cookie, flags,
						  DOFI_BAD_ARG(5), NULL});
}

DOFI_SLOW_PATH static DAT_RETURN post_write(struct dofi_ep *ep, DAT_COUNT n,
					    const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					    const DAT_RMR_TRIPLET *remote,
					    DAT_COMPLETION_FLAGS flags)
{
	return post_request(ep, &(struct request){DOFI_OP_WRITE, n, iov, cookie, flags,
						  DOFI_BAD_ARG(6), remote});
}

DOFI_SLOW_PATH static DAT_RETURN post_read(struct dofi_ep *ep, DAT_COUNT n,
					   const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					   const DAT_RMR_TRIPLET *remote,
					   DAT_COMPLETION_FLAGS flags)
{
	return post_request(ep, &(struct request){DOFI_OP_READ, n, iov, cookie, flags,
						  DOFI_BAD_ARG(6), remote});
}

DAT_RETURN dofi_ep_post_send(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	dofi_lock(&ep->lock);
	if (DOFI_LIKELY(post_plain_request(ep, DOFI_OP_SEND, n, iov, cookie, NULL, flags)))
		return leave(ep);
	return post_send(ep, n, iov, cookie, flags);
}

DOFI_INLINE DAT_RETURN post_rdma(DAT_EP_HANDLE handle, uint8_t op, DAT_COUNT n,
				 const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				 const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	if (!remote)
		return DOFI_BAD_ARG(5);
	dofi_lock(&ep->lock);
	if (DOFI_LIKELY(post_plain_request(ep, op, n, iov, cookie, remote, flags)))
		return leave(ep);
	return op == DOFI_OP_READ ? post_read(ep, n, iov, cookie, remote, flags)
				  : post_write(ep, n, iov, cookie, remote, flags);
}

DAT_RETURN dofi_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags)
{
	return post_rdma(ep, DOFI_OP_READ, n, iov, cookie, remote, flags);
}

DAT_RETURN dofi_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags)
{
	return post_rdma(ep, DOFI_OP_WRITE, n, iov, cookie, remote, flags);
}

DAT_RETURN dofi_rmr_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
			 DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
			 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	return dofi_rmr_bind_based(rmr, triplet, privileges, false, ep, cookie, flags, context);
}

DAT_RETURN dofi_rmr_bind_based(DAT_RMR_HANDLE rmr_handle, const DAT_LMR_TRIPLET *triplet,
			       DAT_MEM_PRIV_FLAGS privileges, bool zero_based,
			       DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE cookie,
			       DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	struct dofi_rmr *rmr = DOFI_OBJ(rmr_handle, RMR);
	struct dofi_ep *ep = DOFI_OBJ(ep_handle, EP);
	struct dofi_wr *wr;
	DAT_RETURN ret;

	if (!rmr)
		return DOFI_BAD_HANDLE(RMR);
	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	if (!triplet)
		return DOFI_BAD_ARG(2);
	if (!context)
		return DOFI_BAD_ARG(7);
	dofi_lock(&ep->lock);
	seek_room(ep, &ep->req);
	if (!flags_ok(flags, RDMA_FLAGS, ep->attr.request_completion_flags))
		return refuse(ep, DOFI_BAD_ARG(6));
	ret = request_ready(ep, DOFI_OP_BIND);
	if (ret != DAT_SUCCESS)
		return refuse(ep, ret);
	wr = dofi_ring_at(&ep->req, ep->req.tail);
	fill(wr, ep, DOFI_OP_BIND, cookie, flags, 0);
	wr->niov = 0;
	ret = dofi_bind_prepare(rmr, ep->pz, triplet, privileges, dofi_wr_bind(wr));
	if (ret != DAT_SUCCESS)
		return refuse(ep, ret);
	dofi_wr_bind(wr)->conn = ep->conn_id;
	dofi_wr_bind(wr)->zero_based = zero_based;
	*context = dofi_wr_bind(wr)->context;
	return commit_request(ep, wr);
}

/* --- operations with control records: DAT 2.0 alone has calls for them --- */

DAT_RETURN dofi_ep_post_send_invalidate(DAT_EP_HANDLE handle, DAT_COUNT n,
					const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT context)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	struct dofi_wr *wr;
	DAT_RETURN ret;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	if (!context)
		return DOFI_BAD_ARG(7);
	dofi_lock(&ep->lock);
	ret = prepare(ep,
		      &(struct request){DOFI_OP_SEND_INVALIDATE, n, iov, cookie, flags,
					DOFI_BAD_ARG(5), NULL},
		      &wr);
	if (ret != DAT_SUCCESS)
		return refuse(ep, ret);
	wr->rctx = context;
	return commit_request(ep, wr);
}

DAT_RETURN dofi_ep_post_write_immediate(DAT_EP_HANDLE handle, DAT_COUNT n,
					const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					const DAT_RMR_TRIPLET *remote, uint32_t immediate,
					DAT_COMPLETION_FLAGS flags)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	struct dofi_wr *wr;
	DAT_RETURN ret;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	if (n && !remote)
		return DOFI_BAD_ARG(5);
	dofi_lock(&ep->lock);
	ret = prepare(ep,
		      &(struct request){DOFI_OP_WRITE_IMM, n, iov, cookie, flags, DOFI_BAD_ARG(7),
					n ? remote : NULL},
		      &wr);
	if (ret != DAT_SUCCESS)
		return refuse(ep, ret);
	*dofi_wr_immediate(&ep->req, wr) = immediate;
	wr->faddr = wr->rkey = 0;
	if (n)
		set_remote(wr, remote);
	return commit_request(ep, wr);
}

DAT_RETURN dofi_ep_post_send_ud(DAT_EP_HANDLE handle, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
				const void *ah_handle, DAT_DTO_COOKIE cookie,
				DAT_COMPLETION_FLAGS flags)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	struct dofi_ud_ah *ah = dofi_ud_ah(ah_handle);
	struct dofi_wr *wr;
	DAT_RETURN ret;

	if (!ep || !ep->ud)
		return DOFI_BAD_HANDLE(EP);
	dofi_lock(&ep->lock);
	/* Under the lock: whoever frees it comes for what was posted next. */
	if (!ah || ah->obj.ia != ep->obj.ia ||
	    atomic_load_explicit(&ah->ah_freed, memory_order_relaxed))
		return refuse(ep, DOFI_BAD_ARG(4));
	ret = prepare(ep,
		      &(struct request){DOFI_OP_SEND_UD, n, iov, cookie, flags, DOFI_BAD_ARG(6),
					NULL},
		      &wr);
	if (ret != DAT_SUCCESS)
		return refuse(ep, ret);
	wr->rkey = (uintptr_t)ah;
	return commit_request(ep, wr);
}

DAT_RETURN dofi_ep_post_atomic(DAT_EP_HANDLE handle, enum dofi_op op, uint64_t operand,
			       uint64_t compare, const DAT_LMR_TRIPLET *local,
			       DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
			       DAT_COMPLETION_FLAGS flags)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	struct dofi_wr *wr;
	DAT_RETURN ret;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	if (!local || local->segment_length != sizeof(uint64_t))
		return DOFI_BAD_ARG(3);
	if (!remote || remote->segment_length < sizeof(uint64_t))
		return DOFI_BAD_ARG(5);
	dofi_lock(&ep->lock);
	ret = prepare(ep, &(struct request){op, 1, local, cookie, flags, DOFI_BAD_ARG(6), remote},
		      &wr);
	if (ret != DAT_SUCCESS)
		return refuse(ep, ret);
	set_remote(wr, remote);
	wr->resolved = true; /* the target looks it up */
	wr->faddr = operand;
	wr->rkey = compare;
	return commit_request(ep, wr);
}

DAT_RETURN dofi_ep_post_read_to_rmr(DAT_EP_HANDLE handle, const DAT_RMR_TRIPLET *local,
				    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				    DAT_COMPLETION_FLAGS flags)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	DAT_LMR_TRIPLET segment;
	DAT_RETURN ret;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	if (!local)
		return DOFI_BAD_ARG(2);
	if (!remote)
		return DOFI_BAD_ARG(4);
	dofi_lock(&ep->lock);
	ret = request_ready(ep, DOFI_OP_READ);
	if (ret == DAT_SUCCESS)
		ret = dofi_rmr_sink(ep->obj.ia, ep->pz, ep->conn_id, local, &segment);
	dofi_unlock(&ep->lock);
	return ret == DAT_SUCCESS
		       ? dofi_ep_post_rdma_read(handle, 1, &segment, cookie, remote, flags)
		       : ret;
}
