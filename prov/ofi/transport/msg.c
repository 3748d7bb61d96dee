/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The transport on connected endpoints (FI_EP_MSG): posts and completions. msg_path.c makes the
 * endpoint of each connection.
 */
#include "dto/credit.h"
#include "fabric/error.h"
#include "object/ia.h"
#include "dto/control.h"
#include "dto/rma.h"
#include "object/transport.h"
#include "object/ep.h"
#include "object/srq_count.h"
#include "dto/reap.h"
#include "transport/msg_path.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

/* --- completions --- */

/*
 * Completion data names the connection at its receiver, for SRQs and for credits, and carries the
 * credit updates. Where the fabric has only 4 bytes of it they carry no credits, and one bit is
 * left for the flag of a solicited event.
 */
#define SHORT_DATA 4u

static uint64_t encode(const struct dofi_ep *ep, uint32_t update)
{
	if (ep->obj.ia->info->domain_attr->cq_data_size <= SHORT_DATA)
		return (uint64_t)ep->peer.number << 1 | (update & DOFI_UPDATE_SOLICITED);
	return (uint64_t)ep->peer.number << 32 | update;
}

static void decode(const struct dofi_ia *ia, uint64_t data, uint32_t *number_p, uint32_t *update_p)
{
	if (ia->info->domain_attr->cq_data_size <= SHORT_DATA) {
		*number_p = (uint32_t)data >> 1;
		*update_p = data & DOFI_UPDATE_SOLICITED;
	} else {
		*number_p = (uint32_t)(data >> 32);
		*update_p = (uint32_t)data;
	}
}

/*
 * A write of the peer took this receive: stores its immediate data as if a control record had come
 * before. They leave no room for the solicited flag, so each of them notifies.
 */
DOFI_SLOW_PATH static void immediate_arrived(const struct fi_cq_data_entry *entry)
{
	struct dofi_wr *wr = entry->op_context;

	dofi_lock(&wr->ep->lock);
	wr->ep->ctrl = (struct dofi_ctrl){DOFI_CTRL_IMMEDIATE, (uint32_t)entry->data,
					  (uint32_t)entry->len};
	dofi_unlock(&wr->ep->lock);
	dofi_reap_done(wr, 0, entry->len, 0, DOFI_UPDATE_SOLICITED);
}

DOFI_INLINE void complete(struct dofi_ia *ia, const struct fi_cq_data_entry *entry)
{
	const struct dofi_wr *wr = entry->op_context;
	uint32_t number = 0, update = 0;

	if ((entry->flags & FI_REMOTE_WRITE) && !wr) {
		dofi_ctrl_arrived(ia, entry->data);
		return;
	}
	if ((entry->flags & FI_REMOTE_WRITE) && wr->op == DOFI_OP_RECV) {
		immediate_arrived(entry);
		return;
	}
	if (entry->flags & FI_REMOTE_CQ_DATA)
		decode(ia, entry->data, &number, &update);
	if (entry->op_context)
		dofi_reap_done(entry->op_context, 0, entry->len, number, update);
}

static void msg_completed(struct dofi_ia *ia, const void *entries, ssize_t n)
{
	const struct fi_cq_data_entry *entry = entries;

	dofi_assert_held(&ia->engine.lock);
	do
		complete(ia, entry++);
	while (--n);
}

static void msg_failed(struct dofi_ia *ia, struct fi_cq_err_entry *err)
{
	const struct dofi_wr *wr = err->op_context;
	bool receive = wr && dofi_op_is_receive(wr->op);
	uint32_t number = 0, update = 0;

	dofi_assert_held(&ia->engine.lock);
	err->err = dofi_error_cause(ia->quirks, err, receive);
	if (err->flags & FI_REMOTE_CQ_DATA)
		decode(ia, err->data, &number, &update);
	if (err->op_context)
		dofi_reap_done(err->op_context, err->err, err->len, number, update);
}

/* --- posts --- */

/* A send that needs more than plain arguments. */
DOFI_SLOW_PATH static ssize_t send_message(struct dofi_ep *ep, struct dofi_wr *wr, bool with_data,
					   bool solicited)
{
	uint64_t flags = FI_COMPLETION | (with_data ? FI_REMOTE_CQ_DATA : 0) |
			 (dofi_fenced(ep, wr) ? FI_FENCE : 0);
	uint32_t total = dofi_credit_total(ep);
	struct fi_msg msg = {
		.msg_iov = wr->iov,
		.desc = dofi_wr_desc(&ep->req, wr),
		.iov_count = wr->niov,
		.context = wr,
		.data = encode(ep, dofi_credit_update(ep, solicited)),
	};
	ssize_t ret;

	/* verbs reads the first descriptor even if there is none. */
	if (wr->niov)
		ret = fi_sendmsg(ep->fep, &msg, flags);
	else
		ret = fi_senddata(ep->fep, NULL, 0, NULL, msg.data, FI_ADDR_UNSPEC, wr);
	if (!ret && with_data)
		ep->announced = total;
	return ret;
}

static bool is_solicited(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return ep->obj.ia->has_data && dofi_is_solicited(ep, wr);
}

static inline ssize_t inject(struct dofi_ep *ep, const void *buf, size_t size, bool with_data,
			     bool solicited)
{
	uint32_t total = dofi_credit_total(ep);
	ssize_t ret;

	if (!with_data)
		return fi_inject(ep->fep, buf, size, FI_ADDR_UNSPEC);
	ret = fi_injectdata(ep->fep, buf, size, encode(ep, dofi_credit_update(ep, solicited)),
			    FI_ADDR_UNSPEC);
	if (!ret)
		ep->announced = total;
	return ret;
}

/* Sends that are not plain, or carry a credit update. */
DOFI_SLOW_PATH static ssize_t send_special(struct dofi_ep *ep, struct dofi_wr *wr)
{
	bool solicited = is_solicited(ep, wr),
	     with_data = ep->peer.wants_data || solicited || dofi_credit_due(ep);

	if (dofi_may_inject(ep, wr))
		return dofi_injected(wr, inject(ep, wr->niov ? wr->iov[0].iov_base : NULL,
						wr->length, with_data, solicited));
	if (with_data || dofi_fenced(ep, wr))
		return send_message(ep, wr, with_data, solicited);
	if (wr->niov == 0)
		return fi_send(ep->fep, NULL, 0, NULL, FI_ADDR_UNSPEC, wr);
	return fi_sendv(ep->fep, wr->iov, dofi_wr_desc(&ep->req, wr), wr->niov, FI_ADDR_UNSPEC, wr);
}

static ssize_t msg_send(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct iovec *iov = wr->iov;

	dofi_assert_held(&ep->lock);
	if (DOFI_UNLIKELY(wr->kind != dofi_wr_plain(DOFI_OP_SEND, DOFI_WR_ISSUED) ||
			  ep->peer.wants_data || dofi_credit_due(ep)))
		return send_special(ep, wr);
	if (dofi_may_inject_plain(ep, wr))
		return dofi_injected(wr, fi_inject(ep->fep, iov->iov_base, iov->iov_len,
						   FI_ADDR_UNSPEC));
	return fi_send(ep->fep, iov->iov_base, iov->iov_len, *dofi_wr_desc(&ep->req, wr),
		       FI_ADDR_UNSPEC, wr);
}

static ssize_t msg_send_empty(struct dofi_ep *ep, struct dofi_wr *wr)
{
	bool solicited = is_solicited(ep, wr);

	dofi_assert_held(&ep->lock);
	return inject(ep, NULL, 0, ep->peer.wants_data || solicited, solicited);
}

/*
 * For an SRQ, the completion data have to identify the connection, so the value is lost, as in
 * OFED's DAT.
 */
static ssize_t msg_write_immediate(struct dofi_ep *ep, struct dofi_wr *wr, uint32_t value)
{
	uint32_t update = is_solicited(ep, wr) ? DOFI_UPDATE_SOLICITED : 0;

	dofi_assert_held(&ep->lock);
	return dofi_rma_write_data(ep, wr, ep->peer.wants_data ? encode(ep, update) : value);
}

DOFI_SLOW_PATH static ssize_t recv_segments(struct dofi_ep *ep, struct dofi_wr *wr)
{
	/*
	 * tcp of libfabric 2.x ends the connection if bytes come for a receive without room, so
	 * such a receive gets one byte of the library.
	 */
	if (wr->niov == 0 && !(ep->obj.ia->info->domain_attr->mr_mode & FI_MR_LOCAL))
		return fi_recv(ep->fep, &ep->obj.ia->nowhere, 1, NULL, FI_ADDR_UNSPEC, wr);
	if (wr->niov == 0)
		return fi_recv(ep->fep, NULL, 0, NULL, FI_ADDR_UNSPEC, wr);
	return fi_recvv(ep->fep, wr->iov, dofi_wr_desc(&ep->recv, wr), wr->niov, FI_ADDR_UNSPEC,
			wr);
}

static ssize_t msg_recv(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	if (DOFI_UNLIKELY(wr->niov != 1))
		return recv_segments(ep, wr);
	return fi_recv(ep->fep, wr->iov[0].iov_base, wr->iov[0].iov_len,
		       *dofi_wr_desc(&ep->recv, wr), FI_ADDR_UNSPEC, wr);
}

static ssize_t msg_credit(struct dofi_ep *ep, uint32_t update)
{
	dofi_assert_held(&ep->lock);
	if (dofi_credit_is_written(ep))
		return dofi_credit_write(ep);
	return dofi_rma_ctrl(ep, NULL, 0, ep->peer.sink_address, ep->peer.sink_key,
			     dofi_ctrl_data(ep, DOFI_CTRL_CREDIT, update));
}

/* --- shared receive queues --- */

static int msg_srq_open(struct dofi_srq *srq)
{
	struct dofi_ia *ia = srq->obj.ia;
	const struct fi_rx_attr *own = ia->info->rx_attr;
	struct fi_rx_attr attr = *own;
	int ret;

	/* Devices make the queue as long as requested; a post beyond that length fails. */
	if (attr.size < srq->max_dtos)
		attr.size = srq->max_dtos;
	ret = fi_srx_context(ia->domain, &attr, &srq->srx, srq);
	if (ret != -FI_EINVAL || attr.size == own->size)
		return ret;
	/* If the device has no queue of that length, further receives wait in the SRQ. */
	attr.size = own->size;
	return fi_srx_context(ia->domain, &attr, &srq->srx, srq);
}

static void msg_srq_close(struct dofi_srq *srq)
{
	fi_close(&srq->srx->fid);
	srq->srx = NULL;
}

static ssize_t msg_srq_recv(struct dofi_srq *srq, struct dofi_wr *wr)
{
	void **desc = dofi_wr_desc(&srq->shape, wr);

	dofi_assert_held(&srq->lock);
	if (wr->niov == 1)
		return fi_recv(srq->srx, wr->iov[0].iov_base, wr->iov[0].iov_len, desc[0],
			       FI_ADDR_UNSPEC, wr);
	return fi_recvv(srq->srx, wr->iov, desc, wr->niov, FI_ADDR_UNSPEC, wr);
}

const struct dofi_trans_ops dofi_trans_msg = {
	.name = "msg",
	.id = DOFI_TRANS_MSG,
	.cq_format = FI_CQ_FORMAT_DATA,
	.has_eq = true,
	.cq_has_list = true,
	.open = dofi_msg_open,
	.close = dofi_msg_close,
	.prepare = dofi_msg_prepare,
	.connect = dofi_msg_connect,
	.expect = dofi_msg_expect,
	.disconnect = dofi_msg_disconnect,
	.send = msg_send,
	.recv = msg_recv,
	.read = dofi_rma_read,
	.write = dofi_rma_write,
	.peek = dofi_rma_peek,
	.send_credit = msg_credit,
	.write_data = dofi_rma_write_data,
	.write_immediate = msg_write_immediate,
	.atomic = dofi_rma_atomic,
	.write_ctrl = dofi_rma_ctrl,
	.send_empty = msg_send_empty,
	.srq_open = msg_srq_open,
	.srq_close = msg_srq_close,
	.srq_recv = msg_srq_recv,
	.completed = msg_completed,
	.failed = msg_failed,
	.poll_events = dofi_msg_poll_events,
};
