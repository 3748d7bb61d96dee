/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/rma.h"

#include "dto/op_context.h"
#include "dto/parts.h"
#include "object/ep.h"
#include "object/ia.h"
#include "fabric/traits.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

static inline void *context_of(const struct dofi_ep *ep, struct dofi_wr *wr)
{
	return dofi_context_of(ep->obj.ia, wr);
}

/* A read that does not overtake earlier writes or reads. */
static ssize_t read_fenced(struct dofi_ep *ep, const struct iovec *iov, void **desc, size_t niov,
			   uint64_t raddr, uint64_t rkey, void *context)
{
	struct fi_rma_iov source = {.addr = raddr, .key = rkey};
	const struct fi_msg_rma msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = niov,
		.addr = ep->dest,
		.rma_iov = &source,
		.rma_iov_count = 1,
		.context = context,
	};
	ssize_t ret;

	for (size_t i = 0; i < niov; i++)
		source.len += iov[i].iov_len;
	ret = fi_readmsg(ep->fep, &msg, FI_FENCE | FI_COMPLETION);
	if (!ret)
		ep->unfenced = false;
	return ret;
}

ssize_t dofi_rma_read(struct dofi_ep *ep, struct dofi_wr *wr)
{
	void **desc = dofi_wr_desc(&ep->req, wr);

	if (ep->unfenced || dofi_fenced(ep, wr))
		return read_fenced(ep, wr->iov, desc, wr->niov, wr->remote.target, wr->remote.key,
				   context_of(ep, wr));
	if (wr->niov == 1)
		return fi_read(ep->fep, wr->iov[0].iov_base, wr->iov[0].iov_len, desc[0], ep->dest,
			       wr->remote.target, wr->remote.key, context_of(ep, wr));
	return fi_readv(ep->fep, wr->iov, desc, wr->niov, ep->dest, wr->remote.target,
			wr->remote.key, context_of(ep, wr));
}

/* The size of the flag (parts.h) if it is a target of its own in this write, otherwise 0. */
static uint64_t flag_of(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	uint64_t size = ep->obj.ia->names_flags && wr->length ? dofi_write_flag_size(ep, wr) : 0;

	return size < wr->length ? size : 0;
}

DOFI_SLOW_PATH static ssize_t write_message(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t flags,
					    uint64_t data)
{
	uint64_t flag = flag_of(ep, wr), before = wr->length - flag;
	const struct fi_rma_iov targets[2] = {
		{.addr = wr->remote.target, .len = before, .key = wr->remote.key},
		{.addr = wr->remote.target + before, .len = flag, .key = wr->remote.key},
	};
	const struct fi_msg_rma msg = {
		.msg_iov = wr->iov,
		.desc = dofi_wr_desc(&ep->req, wr),
		.iov_count = wr->niov,
		.addr = ep->dest,
		.rma_iov = targets,
		.rma_iov_count = flag ? 2 : 1,
		.context = context_of(ep, wr),
		.data = data,
	};

	return fi_writemsg(ep->fep, &msg, flags | FI_COMPLETION);
}

static ssize_t inject_write(struct dofi_ep *ep, struct dofi_wr *wr)
{
	return dofi_injected(wr, fi_inject_write(ep->fep, wr->iov[0].iov_base, wr->length, ep->dest,
						 wr->remote.target, wr->remote.key));
}

/* Writes that are not plain, and all writes on fabrics that keep no order. */
DOFI_SLOW_PATH static ssize_t write_special(struct dofi_ep *ep, struct dofi_wr *wr)
{
	/*
	 * A later Send waits for the completion of this write, so the completion has to mean that
	 * the data are in the peer's memory.
	 */
	if (ep->obj.ia->order == DOFI_HOLD)
		return write_message(ep, wr, FI_DELIVERY_COMPLETE, 0);
	if (dofi_fenced(ep, wr))
		return write_message(ep, wr, FI_FENCE, 0);
	if (flag_of(ep, wr))
		return write_message(ep, wr, 0, 0);
	if (ep->obj.ia->order == DOFI_ORDERED && dofi_may_inject(ep, wr))
		return inject_write(ep, wr);
	return fi_writev(ep->fep, wr->iov, dofi_wr_desc(&ep->req, wr), wr->niov, ep->dest,
			 wr->remote.target, wr->remote.key, context_of(ep, wr));
}

ssize_t dofi_rma_write(struct dofi_ep *ep, struct dofi_wr *wr)
{
	if (DOFI_UNLIKELY(wr->kind != dofi_wr_plain(DOFI_OP_WRITE, DOFI_WR_ISSUED) ||
			  ep->obj.ia->order != DOFI_ORDERED))
		return write_special(ep, wr);
	if (flag_of(ep, wr))
		return write_message(ep, wr, 0, 0);
	if (dofi_may_inject_plain(ep, wr))
		return inject_write(ep, wr);
	return fi_write(ep->fep, wr->iov[0].iov_base, wr->iov[0].iov_len,
			*dofi_wr_desc(&ep->req, wr), ep->dest, wr->remote.target, wr->remote.key,
			context_of(ep, wr));
}

ssize_t dofi_rma_write_data(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data)
{
	if (!wr->niov) /* verbs reads the first descriptor even if there is none */
		return fi_writedata(ep->fep, NULL, 0, NULL, data, ep->dest, wr->remote.target,
				    wr->remote.key, context_of(ep, wr));
	return write_message(ep, wr, FI_REMOTE_CQ_DATA, data);
}

ssize_t dofi_rma_atomic(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t raddr, uint64_t rkey)
{
	const struct fi_ioc operand = {&wr->atomic.operand, 1}, compare = {&wr->atomic.compare, 1};
	const struct fi_rma_ioc target = {.addr = raddr, .count = 1, .key = rkey};
	struct fi_ioc result = {wr->iov[0].iov_base, 1};
	/* the operands are part of the request, so they need no descriptor */
	void **desc = dofi_wr_desc(&ep->req, wr), *none = NULL;
	const struct fi_msg_atomic msg = {
		.msg_iov = &operand,
		.desc = &none,
		.iov_count = 1,
		.addr = ep->dest,
		.rma_iov = &target,
		.rma_iov_count = 1,
		.datatype = FI_UINT64,
		.op = wr->op == DOFI_OP_FETCH_ADD ? FI_SUM : FI_CSWAP,
		.context = context_of(ep, wr),
	};

	if (wr->op == DOFI_OP_FETCH_ADD)
		return fi_fetch_atomicmsg(ep->fep, &msg, &result, desc, 1, FI_COMPLETION);
	return fi_compare_atomicmsg(ep->fep, &msg, &compare, &none, 1, &result, desc, 1,
				    FI_COMPLETION);
}

ssize_t dofi_rma_ctrl(struct dofi_ep *ep, const void *record, size_t size, uint64_t raddr,
		      uint64_t rkey, uint64_t data)
{
	return fi_inject_writedata(ep->fep, record, size, data, ep->dest, raddr, rkey);
}

ssize_t dofi_rma_peek(struct dofi_ep *ep, struct dofi_wr *wr, void *buf, size_t size, void *desc,
		      uint64_t raddr, uint64_t rkey)
{
	const struct iovec iov = {buf, size};

	if (ep->unfenced)
		return read_fenced(ep, &iov, &desc, 1, raddr, rkey, context_of(ep, wr));
	return fi_read(ep->fep, buf, size, desc, ep->dest, raddr, rkey, context_of(ep, wr));
}
