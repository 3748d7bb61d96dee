/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "rma.h"

#include "ia.h"

#include <rdma/fabric.h>
#include <rdma/fi_rma.h>

ssize_t dofi_rma_read(struct dofi_ep *ep, struct dofi_wr *wr)
{
	void **desc = dofi_wr_desc(&ep->req, wr);

	if (wr->niov == 1)
		return fi_read(ep->fep, wr->iov[0].iov_base, wr->iov[0].iov_len, desc[0], ep->dest, wr->faddr, wr->rkey,
			       wr);
	return fi_readv(ep->fep, wr->iov, desc, wr->niov, ep->dest, wr->faddr, wr->rkey, wr);
}

/* A later Send waits for this write's completion, so that has to mean: it is in the peer's memory. */
static ssize_t write_and_deliver(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct fi_rma_iov target = {.addr = wr->faddr, .len = wr->length, .key = wr->rkey};
	const struct fi_msg_rma msg = {
		.msg_iov = wr->iov,
		.desc = dofi_wr_desc(&ep->req, wr),
		.iov_count = wr->niov,
		.addr = ep->dest,
		.rma_iov = &target,
		.rma_iov_count = 1,
		.context = wr,
	};

	return fi_writemsg(ep->fep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

ssize_t dofi_rma_write(struct dofi_ep *ep, struct dofi_wr *wr)
{
	void **desc = dofi_wr_desc(&ep->req, wr);

	if (ep->obj.ia->order == DOFI_HOLD)
		return write_and_deliver(ep, wr);
	if (wr->niov == 1)
		return fi_write(ep->fep, wr->iov[0].iov_base, wr->iov[0].iov_len, desc[0], ep->dest, wr->faddr, wr->rkey,
				wr);
	return fi_writev(ep->fep, wr->iov, desc, wr->niov, ep->dest, wr->faddr, wr->rkey, wr);
}

ssize_t dofi_rma_peek(struct dofi_ep *ep, struct dofi_wr *wr, void *buf, size_t size, void *desc, uint64_t raddr,
		      uint64_t rkey)
{
	return fi_read(ep->fep, buf, size, desc, ep->dest, raddr, rkey, wr);
}
