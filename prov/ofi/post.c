/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The hot path out: a post fills the next slot of a ring and gives it to the fabric, or leaves it to the engine. */
#include "cno.h"
#include "ep.h"
#include "evd.h"
#include "ia.h"
#include "note.h"
#include "trans.h"

#include <rdma/fi_errno.h>

/* Completion flags that a call allows; UNSIGNALLED only where the EP's streams are configured so. */
static bool flags_ok(DAT_COMPLETION_FLAGS flags, unsigned int allowed, DAT_COMPLETION_FLAGS ep_flags)
{
	if (ep_flags == DAT_COMPLETION_UNSIGNALLED_FLAG)
		allowed |= DAT_COMPLETION_UNSIGNALLED_FLAG;
	return !((unsigned int)flags & ~allowed);
}

static bool segments_ok(DAT_COUNT n, const DAT_LMR_TRIPLET *iov, DAT_COUNT max)
{
	return n >= 0 && n <= max && (n == 0 || iov);
}

static inline uint64_t segments_length(DAT_COUNT n, const DAT_LMR_TRIPLET *iov)
{
	uint64_t total = 0;

	if (DOFI_LIKELY(n == 1))
		return iov->segment_length;
	for (DAT_COUNT i = 0; i < n; i++) {
		if (total + iov[i].segment_length < total)
			return UINT64_MAX;
		total += iov[i].segment_length;
	}
	return total;
}

/* One bounds check and one copy. */
static inline DAT_RETURN translate(const struct dofi_ia *ia, const struct dofi_pz *pz, const DAT_LMR_TRIPLET *segment,
				   unsigned int privilege, struct iovec *iov, void **desc)
{
	const struct dofi_lmr *lmr = dofi_ctxtab_lmr(&ia->ctxtab, segment->lmr_context);
	uint64_t offset;

	if (!lmr)
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0);
	if (lmr->pz != pz)
		return DOFI_ERR(DAT_PROTECTION_VIOLATION, 0);
	if (!((unsigned int)lmr->privileges & privilege))
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0);
	offset = segment->virtual_address - lmr->base;
	if (offset > lmr->length || segment->segment_length > lmr->length - offset)
		return DOFI_BAD_ARG(3);
	iov->iov_base = (void *)(uintptr_t)(lmr->start + offset);
	iov->iov_len = segment->segment_length;
	*desc = lmr->desc;
	return DAT_SUCCESS;
}

/* Empty segments are left out unseen (DTO-012, DTO-017). */
DAT_RETURN dofi_segments_translate(struct dofi_ia *ia, struct dofi_pz *pz, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
				   unsigned int privilege, struct dofi_wr *wr, void **desc)
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

/* The same for a work request of the EP; most have one segment. */
static inline DAT_RETURN take_segments(const struct dofi_ep *ep, const struct dofi_ring *ring, DAT_COUNT n,
				       const DAT_LMR_TRIPLET *iov, unsigned int privilege, struct dofi_wr *wr)
{
	void **desc = dofi_wr_desc(ring, wr);

	if (DOFI_UNLIKELY(n != 1 || !iov->segment_length))
		return dofi_segments_translate(ep->obj.ia, ep->pz, n, iov, privilege, wr, desc);
	wr->niov = 1;
	return translate(ep->obj.ia, ep->pz, iov, privilege, wr->iov, desc);
}

static void fill(struct dofi_wr *wr, struct dofi_ep *ep, enum dofi_op op, DAT_DTO_COOKIE cookie,
		 DAT_COMPLETION_FLAGS flags, uint64_t length)
{
	wr->ep = ep;
	wr->cookie = cookie.as_64;
	wr->op = (uint8_t)op;
	wr->state = DOFI_WR_QUEUED;
	wr->flags = (uint8_t)flags;
	wr->status = DAT_DTO_SUCCESS;
	wr->solicited = false;
	wr->split = 0;
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

/* Its turn comes with a completion: from now on they are watched. ep->lock held. */
DOFI_COLD static void hold(struct dofi_ep *ep)
{
	DOFI_COUNT(ep, EP_HELD, 1);
	if (!ep->holds)
		dofi_wait_watch(ep->obj.ia);
	ep->holds = true;
}

/* The slot at the tail is ready: it becomes the engine's and, mostly at once, the fabric's. Unlocks the EP. */
DOFI_INLINE DAT_RETURN commit(struct dofi_ep *ep, struct dofi_ring *ring, const struct dofi_wr *wr, uint8_t op,
				void (*issue)(struct dofi_ep *ep))
{
	struct dofi_ia *ia = ep->obj.ia;

	DOFI_PROBE4(post, ep, wr->op, wr->cookie, wr->length);
	count_post(ep, op, wr->length);
	ring->tail++;
	if (DOFI_UNLIKELY(ep->state == DAT_EP_STATE_DISCONNECTED))
		dofi_reap_flush(ep, DAT_DTO_ERR_FLUSHED);
	else if (DOFI_LIKELY(ring->issue + 1 == ring->tail))
		issue(ep);
	else if (!ep->stall.waits)
		dofi_ep_issue(ep);
	if (DOFI_UNLIKELY(ring->issue != ring->tail && ring == &ep->req))
		hold(ep);
	dofi_unlock(&ep->lock);
	dofi_cno_run_agents(ia);
	return DAT_SUCCESS;
}

static DAT_RETURN commit_request(struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return commit(ep, &ep->req, wr, wr->op, dofi_ep_issue_requests);
}

DOFI_COLD static DAT_RETURN refuse(struct dofi_ep *ep, DAT_RETURN why)
{
	dofi_unlock(&ep->lock);
	return why;
}

/* What all request posts ask of the EP, with its lock held and room in the ring. */
static DAT_RETURN request_ready(const struct dofi_ep *ep)
{
	if (ep->state != DAT_EP_STATE_CONNECTED && ep->state != DAT_EP_STATE_DISCONNECTED)
		return dofi_ep_bad_state(ep->state);
	return DAT_SUCCESS;
}

static inline bool is_full(const struct dofi_ring *ring)
{
	return DOFI_UNLIKELY(dofi_ring_count(ring) >= ring->limit);
}

/* Part of the ring may be complete, and nobody has looked. Lets the EP go; after DAT_SUCCESS the post begins anew. */
DOFI_COLD static DAT_RETURN make_room(struct dofi_ep *ep, const struct dofi_ring *ring)
{
	DAT_RETURN ret = DAT_SUCCESS;
	int n = 1;

	while (n && is_full(ring)) {
		dofi_unlock(&ep->lock);
		n = dofi_engine_catch_up(ep->obj.ia);
		dofi_lock(&ep->lock);
	}
	if (is_full(ring) && ring == &ep->req)
		ret = request_ready(ep);
	if (is_full(ring) && ret == DAT_SUCCESS)
		ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	return refuse(ep, ret);
}

/* As request_ready, for an operation that needs notes or their equal. */
static DAT_RETURN noted_ready(const struct dofi_ep *ep, uint8_t op)
{
	if (!ep->obj.ia->mail.boxes && !ep->letters && !dofi_op_is_native(ep->obj.ia, op))
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	return request_ready(ep);
}

#define RDMA_FLAGS    (DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define MESSAGE_FLAGS (RDMA_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG)

/* A request as its call gave it. What takes it is inline: the compiler leaves of it what the call needs. */
struct request {
	enum dofi_op op;
	DAT_COUNT n;
	const DAT_LMR_TRIPLET *iov;
	DAT_COUNT max_iov;
	DAT_DTO_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;
	unsigned int allowed; /* flags */
	DAT_RETURN bad_flags; /* the error names their place among the arguments */
	const DAT_RMR_TRIPLET *remote; /* or NULL */
};

/* Length of the transfer against the peer's segment (DTO-096, DTO-119) and the fabric's limit. */
static inline DAT_RETURN request_length(const struct dofi_ep *ep, const struct request *r, uint64_t *length_p)
{
	uint64_t length = segments_length(r->n, r->iov), limit = ep->obj.ia->limits.max_message;

	if (r->remote) {
		bool read = r->op == DOFI_OP_READ;

		if (read ? length < r->remote->segment_length : length > r->remote->segment_length)
			return DOFI_ERR(DAT_LENGTH_ERROR, 0);
		if (read)
			length = r->remote->segment_length;
		limit = ep->obj.ia->limits.max_rdma;
	}
	*length_p = length;
	return length > limit ? DOFI_BAD_ARG(3) : DAT_SUCCESS;
}

/* Checks the request and fills the slot at the tail of the ring; nothing is changed on failure. ep->lock held. */
DOFI_INLINE DAT_RETURN prepare(struct dofi_ep *ep, const struct request *r, struct dofi_wr **wr_p)
{
	bool inward = r->op == DOFI_OP_READ || dofi_op_is_atomic((uint8_t)r->op);
	struct dofi_wr *wr = dofi_ring_at(&ep->req, ep->req.tail);
	uint64_t length;
	DAT_RETURN ret;

	*wr_p = wr;
	if (!segments_ok(r->n, r->iov, r->max_iov))
		return DOFI_BAD_ARG(2);
	if (!flags_ok(r->flags, r->allowed, ep->attr.request_completion_flags))
		return r->bad_flags;
	ret = dofi_op_is_noted((uint8_t)r->op) ? noted_ready(ep, (uint8_t)r->op) : request_ready(ep);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = request_length(ep, r, &length);
	if (ret != DAT_SUCCESS)
		return ret;
	fill(wr, ep, r->op, r->cookie, r->flags, length);
	return take_segments(ep, &ep->req, r->n, r->iov,
			     inward ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG : DAT_MEM_PRIV_LOCAL_READ_FLAG, wr);
}

static inline void aim(struct dofi_wr *wr, const DAT_RMR_TRIPLET *remote)
{
	wr->raddr = DOFI_RMR_ADDR(remote);
	wr->rctx = remote->rmr_context;
	wr->resolved = wr->length == 0; /* nothing to reach then (DTO-100) */
}

/* The posts of most operations: in a function of its own, so that the post itself keeps nothing of its arguments for that. */
DOFI_COLD static DAT_RETURN recv_again(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				       DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN ret = make_room(ep, &((struct dofi_ep *)ep)->recv);

	return ret == DAT_SUCCESS ? dofi_ep_post_recv(ep, n, iov, cookie, flags) : ret;
}

DAT_RETURN dofi_ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	struct dofi_wr *wr;
	uint64_t length;
	DAT_RETURN ret;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	dofi_lock(&ep->lock);
	if (!segments_ok(n, iov, ep->attr.max_recv_iov))
		return refuse(ep, DOFI_BAD_ARG(2));
	if (!flags_ok(flags, 0, ep->attr.recv_completion_flags))
		return refuse(ep, DOFI_BAD_ARG(5));
	if (ep->srq)
		return refuse(ep, DOFI_BAD_STATE(SRQ_IN_USE));
	if (is_full(&ep->recv))
		return recv_again(handle, n, iov, cookie, flags);
	length = segments_length(n, iov);
	if (length > ep->obj.ia->limits.max_message)
		return refuse(ep, DOFI_BAD_ARG(3));
	wr = dofi_ring_at(&ep->recv, ep->recv.tail);
	fill(wr, ep, DOFI_OP_RECV, cookie, flags, length);
	ret = take_segments(ep, &ep->recv, n, iov, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, wr);
	if (ret != DAT_SUCCESS)
		return refuse(ep, ret);
	wr->raddr = (uintptr_t)ep->pz;
	if (ep->state != DAT_EP_STATE_DISCONNECTED)
		dofi_ep_check_marks(ep, dofi_ring_count(&ep->recv) + 1);
	return commit(ep, &ep->recv, wr, DOFI_OP_RECV, dofi_ep_issue_receives);
}

DOFI_COLD static DAT_RETURN send_again(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				       DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN ret = make_room(ep, &((struct dofi_ep *)ep)->req);

	return ret == DAT_SUCCESS ? dofi_ep_post_send(ep, n, iov, cookie, flags) : ret;
}

DAT_RETURN dofi_ep_post_send(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	struct dofi_wr *wr;
	DAT_RETURN ret;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	dofi_lock(&ep->lock);
	if (is_full(&ep->req))
		return send_again(handle, n, iov, cookie, flags);
	ret = prepare(ep,
		      &(struct request){DOFI_OP_SEND, n, iov, ep->attr.max_request_iov, cookie, flags, MESSAGE_FLAGS,
					DOFI_BAD_ARG(5), NULL},
		      &wr);
	return ret == DAT_SUCCESS ? commit(ep, &ep->req, wr, DOFI_OP_SEND, dofi_ep_issue_requests) : refuse(ep, ret);
}

static DAT_RETURN post_rdma(DAT_EP_HANDLE handle, enum dofi_op op, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags);

DOFI_COLD static DAT_RETURN rdma_again(DAT_EP_HANDLE ep, enum dofi_op op, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
				       DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN ret = make_room(ep, &((struct dofi_ep *)ep)->req);

	return ret == DAT_SUCCESS ? post_rdma(ep, op, n, iov, cookie, remote, flags) : ret;
}

static DAT_RETURN post_rdma(DAT_EP_HANDLE handle, enum dofi_op op, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	struct dofi_wr *wr;
	DAT_RETURN ret;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	if (!remote)
		return DOFI_BAD_ARG(5);
	dofi_lock(&ep->lock);
	if (is_full(&ep->req))
		return rdma_again(handle, op, n, iov, cookie, remote, flags);
	ret = prepare(ep,
		      &(struct request){op, n, iov,
					op == DOFI_OP_READ ? ep->attr.max_rdma_read_iov : ep->attr.max_rdma_write_iov,
					cookie, flags, RDMA_FLAGS, DOFI_BAD_ARG(6), remote},
		      &wr);
	if (ret != DAT_SUCCESS)
		return refuse(ep, ret);
	aim(wr, remote);
	if (op == DOFI_OP_READ)
		trim(wr);
	return commit_request(ep, wr);
}

DAT_RETURN dofi_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				  const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	return post_rdma(ep, DOFI_OP_READ, n, iov, cookie, remote, flags);
}

DAT_RETURN dofi_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				   const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	return post_rdma(ep, DOFI_OP_WRITE, n, iov, cookie, remote, flags);
}

DAT_RETURN dofi_rmr_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep,
			 DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	return dofi_rmr_bind_based(rmr, triplet, privileges, false, ep, cookie, flags, context);
}

DAT_RETURN dofi_rmr_bind_based(DAT_RMR_HANDLE rmr_handle, const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS privileges,
			       bool zero_based, DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			       DAT_RMR_CONTEXT *context)
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
	if (!flags_ok(flags, RDMA_FLAGS, ep->attr.request_completion_flags))
		return refuse(ep, DOFI_BAD_ARG(6));
	if (is_full(&ep->req)) {
		ret = make_room(ep, &ep->req);
		return ret == DAT_SUCCESS ? dofi_rmr_bind_based(rmr, triplet, privileges, zero_based, ep, cookie, flags, context) : ret;
	}
	ret = request_ready(ep);
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

/* --- operations with notes: DAT 2.0 alone has calls for them --- */

DAT_RETURN dofi_ep_post_send_invalidate(DAT_EP_HANDLE handle, DAT_COUNT n, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
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
	if (is_full(&ep->req)) {
		ret = make_room(ep, &ep->req);
		return ret == DAT_SUCCESS ? dofi_ep_post_send_invalidate(ep, n, iov, cookie, flags, context) : ret;
	}
	ret = prepare(ep,
		      &(struct request){DOFI_OP_SEND_INVALIDATE, n, iov, ep->attr.max_request_iov, cookie, flags,
					MESSAGE_FLAGS, DOFI_BAD_ARG(5), NULL},
		      &wr);
	if (ret != DAT_SUCCESS)
		return refuse(ep, ret);
	wr->rctx = context;
	return commit_request(ep, wr);
}

DAT_RETURN dofi_ep_post_write_immediate(DAT_EP_HANDLE handle, DAT_COUNT n, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					const DAT_RMR_TRIPLET *remote, uint32_t immediate, DAT_COMPLETION_FLAGS flags)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	struct dofi_wr *wr;
	DAT_RETURN ret;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	if (n && !remote)
		return DOFI_BAD_ARG(5);
	dofi_lock(&ep->lock);
	if (is_full(&ep->req)) {
		ret = make_room(ep, &ep->req);
		return ret == DAT_SUCCESS ? dofi_ep_post_write_immediate(ep, n, iov, cookie, remote, immediate, flags) : ret;
	}
	ret = prepare(ep,
		      &(struct request){DOFI_OP_WRITE_IMM, n, iov, ep->attr.max_rdma_write_iov, cookie, flags, MESSAGE_FLAGS,
					DOFI_BAD_ARG(7), n ? remote : NULL},
		      &wr);
	if (ret != DAT_SUCCESS)
		return refuse(ep, ret);
	*dofi_wr_immediate(&ep->req, wr) = immediate;
	wr->faddr = wr->rkey = 0;
	if (n)
		aim(wr, remote);
	return commit_request(ep, wr);
}

DAT_RETURN dofi_ep_post_atomic(DAT_EP_HANDLE handle, enum dofi_op op, uint64_t operand, uint64_t compare,
			       const DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
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
	if (is_full(&ep->req)) {
		ret = make_room(ep, &ep->req);
		return ret == DAT_SUCCESS ? dofi_ep_post_atomic(ep, op, operand, compare, local, cookie, remote, flags) : ret;
	}
	ret = prepare(ep,
		      &(struct request){op, 1, local, 1, cookie, flags, MESSAGE_FLAGS, DOFI_BAD_ARG(6), remote}, &wr);
	if (ret != DAT_SUCCESS)
		return refuse(ep, ret);
	aim(wr, remote);
	wr->resolved = true; /* the target looks it up */
	wr->faddr = operand;
	wr->rkey = compare;
	return commit_request(ep, wr);
}

DAT_RETURN dofi_ep_post_read_to_rmr(DAT_EP_HANDLE handle, const DAT_RMR_TRIPLET *local, DAT_DTO_COOKIE cookie,
				    const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
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
	ret = request_ready(ep);
	if (ret == DAT_SUCCESS)
		ret = dofi_rmr_sink(ep->obj.ia, ep->pz, ep->conn_id, local, &segment);
	dofi_unlock(&ep->lock);
	return ret == DAT_SUCCESS ? post_rdma(handle, DOFI_OP_READ, 1, &segment, cookie, remote, flags) : ret;
}
