/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/post_special.h"

#include "dto/request.h"
#include "dto/rmr.h"
#include "dto/post.h"
#include "object/ia.h"
#include "object/ud_ah.h"

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
	dofi_post_seek_room(ep, &ep->req);
	if (!dofi_post_flags_ok(flags, RDMA_FLAGS, ep->attr.request_completion_flags))
		return dofi_post_refuse(ep, DOFI_BAD_ARG(6));
	ret = dofi_request_ready(ep, DOFI_OP_BIND);
	if (ret != DAT_SUCCESS)
		return dofi_post_refuse(ep, ret);
	wr = dofi_ring_at(&ep->req, ep->req.tail);
	dofi_post_fill(wr, ep, DOFI_OP_BIND, cookie, flags, 0);
	wr->niov = 0;
	ret = dofi_bind_prepare(rmr, ep->pz, triplet, privileges, dofi_wr_bind(wr));
	if (ret != DAT_SUCCESS)
		return dofi_post_refuse(ep, ret);
	dofi_wr_bind(wr)->conn = ep->conn_id;
	dofi_wr_bind(wr)->zero_based = zero_based;
	*context = dofi_wr_bind(wr)->context;
	return dofi_request_commit(ep, wr);
}

/* --- operations with control records: only DAT 2.0 has calls for them --- */

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
	ret = dofi_request_prepare(ep,
				   &(struct dofi_request){DOFI_OP_SEND_INVALIDATE, n, iov, cookie,
							  flags, DOFI_BAD_ARG(5), NULL},
				   &wr);
	if (ret != DAT_SUCCESS)
		return dofi_post_refuse(ep, ret);
	wr->send.context = context;
	return dofi_request_commit(ep, wr);
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
	ret = dofi_request_prepare(ep,
				   &(struct dofi_request){DOFI_OP_WRITE_IMM, n, iov, cookie, flags,
							  DOFI_BAD_ARG(7), n ? remote : NULL},
				   &wr);
	if (ret != DAT_SUCCESS)
		return dofi_post_refuse(ep, ret);
	*dofi_wr_immediate(&ep->req, wr) = immediate;
	wr->rdma.remote = (struct dofi_remote){0};
	if (n)
		dofi_request_set_remote(wr, remote);
	return dofi_request_commit(ep, wr);
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
	/* Under the lock: a thread that frees the handle later detaches this request from it. */
	if (!ah || ah->obj.ia != ep->obj.ia ||
	    atomic_load_explicit(&ah->ah_freed, memory_order_relaxed))
		return dofi_post_refuse(ep, DOFI_BAD_ARG(4));
	ret = dofi_request_prepare(ep,
				   &(struct dofi_request){DOFI_OP_SEND_UD, n, iov, cookie, flags,
							  DOFI_BAD_ARG(6), NULL},
				   &wr);
	if (ret != DAT_SUCCESS)
		return dofi_post_refuse(ep, ret);
	wr->send.ah = ah;
	return dofi_request_commit(ep, wr);
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
	ret = dofi_request_prepare(ep,
				   &(struct dofi_request){op, 1, local, cookie, flags,
							  DOFI_BAD_ARG(6), remote},
				   &wr);
	if (ret != DAT_SUCCESS)
		return dofi_post_refuse(ep, ret);
	wr->atomic.address = DOFI_RMR_ADDR(remote);
	wr->atomic.context = remote->rmr_context;
	wr->atomic.operand = operand;
	wr->atomic.compare = compare;
	return dofi_request_commit(ep, wr);
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
	ret = dofi_request_ready(ep, DOFI_OP_READ);
	if (ret == DAT_SUCCESS)
		ret = dofi_rmr_sink(ep->obj.ia, ep->pz, ep->conn_id, local, &segment);
	dofi_unlock(&ep->lock);
	return ret == DAT_SUCCESS
		       ? dofi_ep_post_rdma_read(handle, 1, &segment, cookie, remote, flags)
		       : ret;
}
