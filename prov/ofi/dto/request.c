/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/request.h"

#include "dto/control.h"
#include "dto/release.h"
#include "dto/translate.h"
#include "progress/cq_watch.h"
#include "progress/engine.h"

#include <rdma/fi_errno.h>

/* --- both rings --- */

bool dofi_post_flags_ok(DAT_COMPLETION_FLAGS flags, unsigned int allowed,
			DAT_COMPLETION_FLAGS ep_flags)
{
	if (ep_flags == DAT_COMPLETION_UNSIGNALLED_FLAG)
		allowed |= DAT_COMPLETION_UNSIGNALLED_FLAG;
	return !((unsigned int)flags & ~allowed);
}

DAT_RETURN dofi_post_refuse(struct dofi_ep *ep, DAT_RETURN why)
{
	dofi_assert_held(&ep->lock);
	dofi_post_end(ep);
	return why;
}

#define MOST_ROUNDS 4096

/* Other connections may keep the queue filled, so the number of rounds is limited. */
void dofi_post_seek_room(struct dofi_ep *ep, const struct dofi_ring *ring)
{
	int n = 1;

	dofi_assert_held(&ep->lock);
	for (int i = 0; n && i < MOST_ROUNDS && dofi_ring_count(ring) >= ring->limit; i++) {
		dofi_unlock(&ep->lock);
		n = dofi_engine_catch_up(ep->obj.ia);
		dofi_lock(&ep->lock);
	}
}

/* --- requests --- */

void dofi_request_hold(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	DOFI_COUNT(ep, EP_HELD, 1);
	if (!ep->holds)
		dofi_wait_watch(ep->obj.ia);
	ep->holds = true;
}

DAT_RETURN dofi_request_commit(struct dofi_ep *ep, const struct dofi_wr *wr)
{
	const struct dofi_ring *ring = &ep->req;

	dofi_assert_held(&ep->lock);
	dofi_post_commit(ep, &ep->req, wr, wr->op, wr->length);
	if (ep->state == DAT_EP_STATE_DISCONNECTED)
		dofi_release_flushed(ep, DAT_DTO_ERR_FLUSHED);
	else if (ring->issue + 1 == ring->tail)
		dofi_ep_issue_requests(ep);
	else if (!ep->stall.waits)
		dofi_ep_issue(ep);
	if (ring->issue != ring->tail)
		dofi_request_hold(ep);
	return dofi_post_end(ep);
}

DAT_RETURN dofi_request_ready(const struct dofi_ep *ep, uint8_t op)
{
	dofi_assert_held(&ep->lock);
	if (ep->state != DAT_EP_STATE_CONNECTED && ep->state != DAT_EP_STATE_DISCONNECTED &&
	    op != DOFI_OP_SEND_UD)
		return dofi_ep_bad_state(ep->state);
	if (dofi_ring_count(&ep->req) >= ep->req.limit)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	return DAT_SUCCESS;
}

/*
 * As dofi_request_ready, for an operation that needs control records unless the fabric executes it.
 * Local slots serve what the fabric offers as well: all EPs of an IA offer the same.
 */
static DAT_RETURN ctrl_ready(const struct dofi_ep *ep, uint8_t op)
{
	const struct dofi_ia *ia = ep->obj.ia;
	const struct dofi_ctrl_memory *memory = &ia->ctrl_memory;
	bool has_slots = memory->slots &&
			 (!memory->local || (ep->streams && dofi_op_is_native_in_fabric(ia, op)));

	if (!has_slots && !ep->ctrl_msgs && !dofi_op_is_native(ep, op))
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	return dofi_request_ready(ep, op);
}

/* Length of the transfer against the peer's segment (DTO-096, DTO-119) and the fabric's limit. */
static DAT_RETURN request_length(const struct dofi_ep *ep, const struct dofi_request *r,
				 uint64_t *length_p)
{
	uint64_t length = dofi_segments_length(r->n, r->iov),
		 limit = ep->obj.ia->limits.max_message;

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

DAT_RETURN dofi_request_prepare(struct dofi_ep *ep, const struct dofi_request *r,
				struct dofi_wr **wr_p)
{
	unsigned int allowed =
		r->op == DOFI_OP_WRITE || r->op == DOFI_OP_READ ? RDMA_FLAGS : MESSAGE_FLAGS;
	struct dofi_wr *wr;
	uint64_t length;
	DAT_RETURN ret;

	dofi_assert_held(&ep->lock);
	dofi_post_seek_room(ep, &ep->req);
	wr = *wr_p = dofi_ring_at(&ep->req, ep->req.tail);
	if (!dofi_segments_ok(r->n, r->iov, dofi_most_segments(ep, (uint8_t)r->op)))
		return DOFI_BAD_ARG(2);
	if (!dofi_post_flags_ok(r->flags, allowed, ep->attr.request_completion_flags))
		return r->bad_flags;
	ret = dofi_op_needs_ctrl((uint8_t)r->op) ? ctrl_ready(ep, (uint8_t)r->op)
						 : dofi_request_ready(ep, (uint8_t)r->op);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = request_length(ep, r, &length);
	if (ret != DAT_SUCCESS)
		return ret;
	dofi_post_fill(wr, ep, r->op, r->cookie, r->flags, length);
	return dofi_segments_translate(ep->obj.ia, ep->pz, r->n, r->iov,
				       dofi_op_is_inward((uint8_t)r->op)
					       ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG
					       : DAT_MEM_PRIV_LOCAL_READ_FLAG,
				       wr, dofi_wr_desc(&ep->req, wr));
}
