/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The hot path out: a post fills the next slot of a ring and gives it to the fabric, or leaves it
 * to the engine.
 */
#include "dto/post.h"

#include "dto/control.h"
#include "dto/credit.h"
#include "dto/issue.h"
#include "dto/receive.h"
#include "dto/release.h"
#include "dto/request.h"
#include "dto/translate.h"
#include "dto/watermark.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/transport.h"

/* Gives a receive to the fabric, or leaves it in the ring. Unlocks the EP. */
static DAT_RETURN commit_receive(struct dofi_ep *ep, const struct dofi_wr *wr)
{
	dofi_post_commit(ep, &ep->recv, wr, DOFI_OP_RECV, wr->length);
	if (ep->state == DAT_EP_STATE_DISCONNECTED)
		dofi_release_flushed(ep, DAT_DTO_ERR_FLUSHED);
	else if (ep->recv.issue + 1 == ep->recv.tail || !ep->stall.waits)
		dofi_ep_issue_receives(ep);
	return dofi_post_end(ep);
}

/*
 * A read fills its segments front to back and no more than the remote length (DTO-098), for which
 * they have room.
 */
static void trim(struct dofi_wr *wr)
{
	uint64_t left = wr->length;
	uint16_t i;

	for (i = 0; left; i++) {
		if (wr->iov[i].iov_len > left)
			wr->iov[i].iov_len = left;
		left -= wr->iov[i].iov_len;
	}
	wr->niov = i;
}

/* Any Send, write or read. Unlocks the EP. */
static DAT_RETURN post_request(struct dofi_ep *ep, const struct dofi_request *r)
{
	struct dofi_wr *wr;
	DAT_RETURN ret = dofi_request_prepare(ep, r, &wr);

	if (ret != DAT_SUCCESS)
		return dofi_post_refuse(ep, ret);
	if (r->remote)
		dofi_request_set_remote(wr, r->remote);
	if (r->op == DOFI_OP_READ)
		trim(wr);
	return dofi_request_commit(ep, wr);
}

/* Any receive. Unlocks the EP. */
DOFI_SLOW_PATH static DAT_RETURN post_receive(struct dofi_ep *ep, DAT_COUNT n,
					      const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					      DAT_COMPLETION_FLAGS flags)
{
	struct dofi_wr *wr;
	DAT_RETURN ret;

	dofi_post_seek_room(ep, &ep->recv);
	if (!dofi_segments_ok(n, iov, ep->attr.max_recv_iov))
		return dofi_post_refuse(ep, DOFI_BAD_ARG(2));
	if (!dofi_post_flags_ok(flags, 0, ep->attr.recv_completion_flags))
		return dofi_post_refuse(ep, DOFI_BAD_ARG(5));
	if (ep->srq)
		return dofi_post_refuse(ep, DOFI_BAD_STATE(SRQ_IN_USE));
	if (dofi_ring_count(&ep->recv) >= ep->recv.limit)
		return dofi_post_refuse(ep, DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	wr = dofi_ring_at(&ep->recv, ep->recv.tail);
	wr->ep = ep;
	wr->op = DOFI_OP_RECV;
	ret = dofi_receive_fill(ep->obj.ia, ep->pz, &ep->recv, wr, n, iov, cookie, flags);
	if (ret != DAT_SUCCESS)
		return dofi_post_refuse(ep, ret);
	wr->recv.pz = ep->pz;
	if (ep->state != DAT_EP_STATE_DISCONNECTED)
		dofi_ep_check_marks(ep, dofi_ring_count(&ep->recv) + 1);
	return commit_receive(ep, wr);
}

/*
 * The fast path, for most posts: one segment, no flags, and an EP that can start the request now.
 * In any other case, and on any error, these functions change nothing and return false; the caller
 * takes the slow path above.
 */
DOFI_INLINE bool is_plain(const struct dofi_ep *ep, const struct dofi_ring *ring, DAT_COUNT n,
			  DAT_COUNT max_iov, const DAT_LMR_TRIPLET *iov, DAT_COMPLETION_FLAGS flags,
			  uint64_t limit)
{
	return n == 1 && max_iov > 0 && iov && !flags && dofi_ep_is_free(ep) &&
	       ring->issue == ring->tail && dofi_ring_count(ring) < ring->limit &&
	       iov->segment_length - 1 < limit;
}

/* Fills the next slot; NULL if the segment may not be used so. */
DOFI_INLINE struct dofi_wr *take_plain(struct dofi_ep *ep, struct dofi_ring *ring, uint8_t op,
				       const DAT_LMR_TRIPLET *iov, unsigned int privilege,
				       DAT_DTO_COOKIE cookie)
{
	struct dofi_wr *wr = dofi_ring_at(ring, ring->tail);

	if (DOFI_UNLIKELY(dofi_segment_translate(ep->obj.ia, ep->pz, iov, privilege, wr->iov,
						 dofi_wr_desc(ring, wr)) != DAT_SUCCESS))
		return NULL;
	dofi_post_fill(wr, ep, op, cookie, DAT_COMPLETION_DEFAULT_FLAG, iov->segment_length);
	dofi_post_commit(ep, ring, wr, op, iov->segment_length);
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

	if (!is_plain(ep, &ep->req, n, dofi_most_segments(ep, op), iov, flags, limit) ||
	    (remote && remote->segment_length != iov->segment_length))
		return false;
	wr = take_plain(ep, &ep->req, op, iov, privilege, cookie);
	if (!wr)
		return false;
	if (remote)
		dofi_request_set_remote(wr, remote);
	if (DOFI_UNLIKELY(!dofi_issue_next(ep, wr, op, true)) && ep->req.issue != ep->req.tail)
		dofi_request_hold(ep);
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
	wr->recv.pz = ep->pz;
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
		       ? dofi_post_end(ep)
		       : post_receive(ep, n, iov, cookie, flags);
}

/* Functions of their own, so that the fast path needs no stack frame for their arguments. */
DOFI_SLOW_PATH static DAT_RETURN post_send(struct dofi_ep *ep, DAT_COUNT n,
					   const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					   DAT_COMPLETION_FLAGS flags)
{
	return post_request(ep, &(struct dofi_request){DOFI_OP_SEND, n, iov, cookie, flags,
						       DOFI_BAD_ARG(5), NULL});
}

DOFI_SLOW_PATH static DAT_RETURN post_write(struct dofi_ep *ep, DAT_COUNT n,
					    const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					    const DAT_RMR_TRIPLET *remote,
					    DAT_COMPLETION_FLAGS flags)
{
	return post_request(ep, &(struct dofi_request){DOFI_OP_WRITE, n, iov, cookie, flags,
						       DOFI_BAD_ARG(6), remote});
}

DOFI_SLOW_PATH static DAT_RETURN post_read(struct dofi_ep *ep, DAT_COUNT n,
					   const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					   const DAT_RMR_TRIPLET *remote,
					   DAT_COMPLETION_FLAGS flags)
{
	return post_request(ep, &(struct dofi_request){DOFI_OP_READ, n, iov, cookie, flags,
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
		return dofi_post_end(ep);
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
		return dofi_post_end(ep);
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
