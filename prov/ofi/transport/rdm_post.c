/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/rdm_post.h"

#include "dto/control.h"
#include "dto/credit.h"
#include "dto/op_context.h"
#include "dto/rma.h"
#include "dto/ud.h"
#include "fabric/error.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/srq_count.h"
#include "object/ud_ah.h"
#include "transport/control_receives.h"
#include "transport/rdm.h"
#include "transport/rdm_tag.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

static ssize_t posted(const struct dofi_ep *ep, ssize_t ret)
{
	return dofi_rdm_wake_after(ep->obj.ia, ep->wakeup, ret);
}

/*
 * A send that needs more than plain arguments: credit updates for the peer, or a fence behind
 * writes.
 */
DOFI_SLOW_PATH static ssize_t send_message(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t flags,
					   uint64_t data)
{
	struct fi_msg_tagged msg = {
		.msg_iov = wr->iov,
		.desc = dofi_wr_desc(&ep->req, wr),
		.iov_count = wr->op == DOFI_OP_WRITE_IMM ? 0 : wr->niov,
		.addr = ep->dest,
		.tag = ep->send_tag,
		.context = dofi_context_of(ep->obj.ia, wr),
		.data = data,
	};
	ssize_t ret = fi_tsendmsg(ep->fep, &msg, flags | FI_COMPLETION);

	if (!ret) /* with a fence, if one was due */
		ep->unfenced = false;
	return ret;
}

DOFI_SLOW_PATH static ssize_t send_update(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t fence)
{
	uint32_t total = dofi_credit_total(ep);
	ssize_t ret = send_message(ep, wr, fence | FI_REMOTE_CQ_DATA,
				   dofi_rdm_encode(ep, dofi_message_update(ep, wr)));

	if (!ret)
		ep->announced = total;
	return ret;
}

DOFI_SLOW_PATH static ssize_t send_segments(struct dofi_ep *ep, struct dofi_wr *wr)
{
	void *context = dofi_context_of(ep->obj.ia, wr);

	if (wr->niov == 0)
		return fi_tsend(ep->fep, NULL, 0, NULL, ep->dest, ep->send_tag, context);
	return fi_tsendv(ep->fep, wr->iov, dofi_wr_desc(&ep->req, wr), wr->niov, ep->dest,
			 ep->send_tag, context);
}

/* Sends that are not plain, or carry an update or a fence. */
DOFI_SLOW_PATH static ssize_t send_special(struct dofi_ep *ep, struct dofi_wr *wr)
{
	uint64_t fence = ep->unfenced ? FI_FENCE : 0;

	if (ep->peer.wants_data || dofi_is_solicited(ep, wr) || dofi_op_needs_ctrl(wr->op) ||
	    dofi_credit_due(ep))
		return send_update(ep, wr, fence);
	if (fence)
		return send_message(ep, wr, fence, 0);
	if (dofi_may_inject(ep, wr))
		return dofi_injected(wr, fi_tinject(ep->fep, wr->niov ? wr->iov->iov_base : NULL,
						    wr->length, ep->dest, ep->send_tag));
	return send_segments(ep, wr);
}

DOFI_INLINE ssize_t send_now(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct iovec *iov = wr->iov;

	if (DOFI_UNLIKELY(wr->kind != dofi_wr_plain(DOFI_OP_SEND, DOFI_WR_ISSUED) ||
			  ep->peer.wants_data || ep->unfenced || dofi_credit_due(ep)))
		return send_special(ep, wr);
	if (dofi_may_inject_plain(ep, wr))
		return dofi_injected(wr, fi_tinject(ep->fep, iov->iov_base, iov->iov_len, ep->dest,
						    ep->send_tag));
	return fi_tsend(ep->fep, iov->iov_base, iov->iov_len, *dofi_wr_desc(&ep->req, wr), ep->dest,
			ep->send_tag, dofi_context_of(ep->obj.ia, wr));
}

ssize_t dofi_rdm_send_empty(struct dofi_ep *ep, struct dofi_wr *wr)
{
	uint32_t update = dofi_message_update(ep, wr);

	dofi_assert_held(&ep->lock);
	if (ep->peer.wants_data || update & (DOFI_UPDATE_SOLICITED | DOFI_UPDATE_CTRL_MSG))
		return posted(ep, fi_tinjectdata(ep->fep, NULL, 0, dofi_rdm_encode(ep, update),
						 ep->dest, ep->send_tag));
	return posted(ep, fi_tinject(ep->fep, NULL, 0, ep->dest, ep->send_tag));
}

ssize_t dofi_rdm_send(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	return posted(ep, send_now(ep, wr));
}

ssize_t dofi_rdm_read(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	return posted(ep, dofi_rma_read(ep, wr));
}

ssize_t dofi_rdm_write(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	return posted(ep, dofi_rma_write(ep, wr));
}

ssize_t dofi_rdm_write_data(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data)
{
	dofi_assert_held(&ep->lock);
	return posted(ep, dofi_rma_write_data(ep, wr, data));
}

ssize_t dofi_rdm_ctrl(struct dofi_ep *ep, const void *record, size_t size, uint64_t raddr,
		      uint64_t rkey, uint64_t data)
{
	dofi_assert_held(&ep->lock);
	return posted(ep, dofi_rma_ctrl(ep, record, size, raddr, rkey, data));
}

ssize_t dofi_rdm_ctrl_msg(struct dofi_ep *ep, const void *ctrl_msg, size_t size)
{
	dofi_assert_held(&ep->lock);
	return posted(ep, fi_tinject(ep->fep, ctrl_msg, size, ep->dest, DOFI_TAG_CTRL));
}

ssize_t dofi_rdm_peek(struct dofi_ep *ep, struct dofi_wr *wr, void *buf, size_t size, void *desc,
		      uint64_t raddr, uint64_t rkey)
{
	dofi_assert_held(&ep->lock);
	return posted(ep, dofi_rma_peek(ep, wr, buf, size, desc, raddr, rkey));
}

static ssize_t post_receive(struct dofi_ia *ia, struct dofi_wr *wr, void **desc, uint64_t tag,
			    uint64_t ignore)
{
	struct dofi_rdm *rdm = ia->rdm;
	void *context = dofi_context_of(ia, wr);
	struct fid_ep *fep = ia->shared_ep;

	if (wr->niov == 1)
		return fi_trecv(fep, wr->iov[0].iov_base, wr->iov[0].iov_len, desc[0],
				FI_ADDR_UNSPEC, tag, ignore, context);
	/*
	 * tcp of libfabric 2.x ends the connection below if bytes come for a receive without room,
	 * so such a receive gets a buffer of the library.
	 */
	if (wr->niov == 0)
		return fi_trecv(fep, &rdm->ctrl_buffers[DOFI_CTRL_BUFFERS], 1,
				rdm->ctrl_mr ? fi_mr_desc(rdm->ctrl_mr) : NULL, FI_ADDR_UNSPEC, tag,
				ignore, context);
	return fi_trecvv(fep, wr->iov, desc, wr->niov, FI_ADDR_UNSPEC, tag, ignore, context);
}

static ssize_t receive(struct dofi_ia *ia, struct dofi_wr *wr, void **desc, uint64_t tag,
		       uint64_t ignore)
{
	struct dofi_rx_slots *slots = &ia->rdm->slots;
	ssize_t ret;

	if (DOFI_UNLIKELY(!dofi_rx_slots_acquire(slots)))
		return -FI_EAGAIN;
	ret = dofi_error_no_room(post_receive(ia, wr, desc, tag, ignore));
	if (DOFI_UNLIKELY(ret)) {
		dofi_rx_slots_unacquire(slots);
		if (ret == -FI_EAGAIN)
			dofi_rx_slots_full(slots);
	}
	return ret;
}

ssize_t dofi_rdm_recv(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	return receive(ep->obj.ia, wr, dofi_wr_desc(&ep->recv, wr), ep->recv_tag, 0);
}

ssize_t dofi_rdm_credit(struct dofi_ep *ep, uint32_t update)
{
	const struct dofi_ctrl_credit credit = {ep->peer.number, ep->peer.secret, update};

	dofi_assert_held(&ep->lock);
	return posted(ep, dofi_rdm_send_credit(ep->obj.ia, ep->dest, &credit));
}

/*
 * An injected datagram is complete when the fabric has a copy of it. shm of libfabric 2.5 completes
 * others only when the peer has read them, which a peer that closes its IA never does. Requests
 * under way do not matter, because datagrams may be lost.
 */
static bool may_inject_datagram(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return wr->length <= ep->obj.ia->inject_max && wr->niov == 1 && !wr->split;
}

ssize_t dofi_rdm_ud_send(struct dofi_ep *ep, struct dofi_wr *wr, struct dofi_ud_ah *ah)
{
	bool solicited = wr->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	struct fi_msg_tagged msg = {
		.msg_iov = wr->iov,
		.desc = dofi_wr_desc(&ep->req, wr),
		.iov_count = wr->niov,
		.addr = ah->dest,
		.tag = DOFI_TAG_UD,
		.context = dofi_context_of(ep->obj.ia, wr),
		.data = ah->number | (solicited ? DOFI_UD_SOLICITED : 0),
	};
	ssize_t ret;

	dofi_assert_held(&ep->lock);
	if (may_inject_datagram(ep, wr))
		ret = dofi_injected(wr, fi_tinjectdata(ep->fep, wr->iov->iov_base, wr->length,
						       msg.data, ah->dest, DOFI_TAG_UD));
	else
		ret = fi_tsendmsg(ep->fep, &msg, FI_COMPLETION | FI_REMOTE_CQ_DATA);
	return dofi_rdm_wake_after(ep->obj.ia, ah->wakeup, ret);
}

/*
 * A mark has the tag of datagrams, so it cannot overtake those before it. Its completion data are
 * 0, which names no EP (data_flag.h).
 */
ssize_t dofi_rdm_ud_mark(struct dofi_ud_ah *ah, uint32_t update, bool answer)
{
	const struct dofi_ctrl_credit credit = {ah->peer_conn, ah->peer_secret, update};
	struct dofi_ia *ia = ah->obj.ia;
	ssize_t ret;

	if (answer)
		ret = fi_tinject(ia->shared_ep, &credit, sizeof(credit), ah->dest, DOFI_TAG_CTRL);
	else
		ret = fi_tinjectdata(ia->shared_ep, &credit, sizeof(credit), 0, ah->dest,
				     DOFI_TAG_UD);
	return dofi_rdm_wake_after(ia, ah->wakeup, ret);
}

/* Such a receive keeps its slot for ever, like those for credit updates. */
ssize_t dofi_rdm_ud_recv(struct dofi_ia *ia, struct dofi_wr *wr, void *buffer, size_t size,
			 void *desc)
{
	struct dofi_rx_slots *slots = &ia->rdm->slots;
	ssize_t ret;

	dofi_assert_held(&ia->engine.lock);
	if (!wr->ud_recv.has_slot && !dofi_rx_slots_acquire(slots))
		return -FI_EAGAIN;
	wr->ud_recv.has_slot = true;
	ret = dofi_error_no_room(fi_trecv(ia->shared_ep, buffer, size, desc, FI_ADDR_UNSPEC,
					  DOFI_TAG_UD, 0, dofi_context_of(ia, wr)));
	if (ret == -FI_EAGAIN)
		dofi_rx_slots_full(slots);
	return ret;
}

ssize_t dofi_rdm_srq_recv(struct dofi_srq *srq, struct dofi_wr *wr)
{
	dofi_assert_held(&srq->lock);
	return receive(srq->obj.ia, wr, dofi_wr_desc(&srq->shape, wr), DOFI_TAG_OF_SRQ(srq->number),
		       dofi_rdm_data_has_number(srq->obj.ia) ? 0 : DOFI_TAG_NUMBER);
}
