/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Common parts of the posting calls: they check the arguments, fill the slot at the tail of a ring,
 * and commit it. All with ep->lock held.
 */
#ifndef DOFI_REQUEST_H
#define DOFI_REQUEST_H

#include "dto/issue.h"
#include "object/ep.h"
#include "object/ia.h"
#include "progress/agent.h"
#include "progress/cno.h"

#include <stdbool.h>
#include <stdint.h>

/* --- both rings --- */

/*
 * Whether a call allows these completion flags. UNSIGNALLED needs an EP whose stream is configured
 * so.
 */
bool dofi_post_flags_ok(DAT_COMPLETION_FLAGS flags, unsigned int allowed,
			DAT_COMPLETION_FLAGS ep_flags);

/*
 * If the ring is full, reads completions, because some requests may be complete already. Releases
 * ep->lock meanwhile. The caller checks again whether there is room.
 */
void dofi_post_seek_room(struct dofi_ep *ep, const struct dofi_ring *ring);

/*
 * The counter of posts of an operation, which the counter of bytes follows; 0: it is counted in
 * another way.
 */
static inline uint8_t dofi_post_counter(uint8_t op)
{
	switch (op) {
	case DOFI_OP_SEND:
	case DOFI_OP_SEND_INVALIDATE:
		return DOFI_CNT_EP_POST_SEND;
	case DOFI_OP_RECV:
		return DOFI_CNT_EP_POST_RECV;
	case DOFI_OP_WRITE:
		return DOFI_CNT_EP_POST_WRITE;
	case DOFI_OP_WRITE_IMM:
		return DOFI_CNT_EP_POST_WRITE_IMM;
	case DOFI_OP_READ:
		return DOFI_CNT_EP_POST_READ;
	case DOFI_OP_SEND_UD:
		return DOFI_CNT_EP_POST_SEND_UD;
	default:
		return 0;
	}
}

DOFI_INLINE void dofi_post_fill(struct dofi_wr *wr, struct dofi_ep *ep, enum dofi_op op,
				DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags, uint64_t length)
{
	dofi_assert_held(&ep->lock);
	wr->ep = ep;
	wr->cookie = cookie.as_64;
	wr->kind = ((struct dofi_wr){.op = (uint8_t)op,
				     .state = DOFI_WR_QUEUED,
				     .flags = (uint8_t)flags,
				     .niov = 1})
			   .kind;
	wr->length = length;
	if (dofi_op_is_rdma((uint8_t)op)) {
		wr->rdma.resolved = true;
		wr->rdma.step = wr->rdma.given = 0;
		wr->rdma.written = false;
	} else if (op == DOFI_OP_RECV) {
		wr->recv.ctrl = 0;
	} else if (op == DOFI_OP_SEND_INVALIDATE) {
		wr->send.step = 0;
	}
}

DOFI_INLINE void dofi_post_count(struct dofi_ep *ep, uint8_t op, uint64_t length)
{
	uint8_t counter = dofi_post_counter(op);

	if (DOFI_LIKELY(counter)) {
		dofi_count(&ep->counters[counter], 1);
		dofi_count(&ep->counters[counter + 1], length);
	} else if (op == DOFI_OP_CMP_SWAP) {
		DOFI_COUNT(ep, EP_POST_CMP_SWAP, 1);
	} else if (op == DOFI_OP_FETCH_ADD) {
		DOFI_COUNT(ep, EP_POST_FETCH_ADD, 1);
	}
}

/* Adds the filled slot at the tail to the ring. */
DOFI_INLINE void dofi_post_commit(struct dofi_ep *ep, struct dofi_ring *ring,
				  const struct dofi_wr *wr, uint8_t op, uint64_t length)
{
	dofi_assert_held(&ep->lock);
	DOFI_PROBE4(post, ep, op, wr->cookie, length);
	dofi_post_count(ep, op, length);
	ring->tail++;
}

/* Ends a post: unlocks the EP and calls due agents. */
DOFI_INLINE DAT_RETURN dofi_post_end(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;

	dofi_assert_held(&ep->lock);
	dofi_unlock(&ep->lock);
	dofi_cno_run_agents(ia);
	return DAT_SUCCESS;
}

/* The same with an error. */
DOFI_COLD DAT_RETURN dofi_post_refuse(struct dofi_ep *ep, DAT_RETURN why);

/* --- requests --- */

#define RDMA_FLAGS    (DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG)
#define MESSAGE_FLAGS (RDMA_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG)

/* The number of segments that the EP's attributes allow for an operation. */
DOFI_INLINE DAT_COUNT dofi_most_segments(const struct dofi_ep *ep, uint8_t op)
{
	if (dofi_op_is_send(op))
		return ep->attr.max_request_iov;
	if (op == DOFI_OP_READ)
		return ep->attr.max_rdma_read_iov;
	return dofi_op_is_atomic(op) ? 1 : ep->attr.max_rdma_write_iov;
}

/* The arguments of a posting call. */
struct dofi_request {
	enum dofi_op op;
	DAT_COUNT n;
	const DAT_LMR_TRIPLET *iov;
	DAT_DTO_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;
	DAT_RETURN bad_flags;          /* the error for wrong flags, which names their argument */
	const DAT_RMR_TRIPLET *remote; /* or NULL */
};

/* Whether the EP takes requests. A UD EP does so without a connection. */
DAT_RETURN dofi_request_ready(const struct dofi_ep *ep, uint8_t op);

/* Checks the request and fills the slot at the tail of the ring. A failure changes nothing. */
DAT_RETURN dofi_request_prepare(struct dofi_ep *ep, const struct dofi_request *r,
				struct dofi_wr **wr_p);

static inline void dofi_request_set_remote(struct dofi_wr *wr, const DAT_RMR_TRIPLET *remote)
{
	wr->rdma.remote.address = DOFI_RMR_ADDR(remote);
	wr->rdma.context = remote->rmr_context;
	wr->rdma.resolved = wr->length == 0; /* then no memory is accessed (DTO-100) */
}

/* The request has to wait: watches completions from now on. */
DOFI_COLD void dofi_request_hold(struct dofi_ep *ep);

/* Gives the request to the fabric, or leaves it in the ring. Unlocks the EP. */
DAT_RETURN dofi_request_commit(struct dofi_ep *ep, const struct dofi_wr *wr);

#endif
