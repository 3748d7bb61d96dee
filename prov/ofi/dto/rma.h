/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What both transports do alike: RDMA on ep->fep, to ep->dest. Contracts in transport.h. */
#ifndef DOFI_RMA_H
#define DOFI_RMA_H

#include "object/ep.h"
#include "object/ia.h"

#include <sys/types.h>

/* As dofi_may_inject, of a plain Send or write. */
static inline bool dofi_may_inject_plain(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return wr->length <= ep->obj.ia->inject_max && ep->req.head == ep->req.issue;
}

/*
 * The fabric completes it, as far as it ever would, by taking a copy. Not so behind something that
 * is under way, where the copy may stay in the fabric's own queue; nor parts, whose whole waits for
 * them, and what was bounced: their completions give something back.
 */
static inline bool dofi_may_inject(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return dofi_may_inject_plain(ep, wr) && wr->niov <= 1 && !wr->split &&
	       (wr->op == DOFI_OP_SEND || wr->op == DOFI_OP_WRITE);
}

/* What a call that injects has answered: 0 ends the operation. */
static inline ssize_t dofi_injected(struct dofi_wr *wr, ssize_t ret)
{
	if (!ret)
		wr->state = DOFI_WR_DONE;
	return ret;
}

/* Earlier reads have to be complete first. */
static inline bool dofi_fenced(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return DOFI_UNLIKELY((wr->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG) && ep->reads);
}

ssize_t dofi_rma_read(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_rma_write(struct dofi_ep *ep, struct dofi_wr *wr);
ssize_t dofi_rma_write_data(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data);
ssize_t dofi_rma_atomic(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t raddr, uint64_t rkey);
ssize_t dofi_rma_ctrl(struct dofi_ep *ep, const void *record, size_t size, uint64_t raddr,
		      uint64_t rkey, uint64_t data);
ssize_t dofi_rma_peek(struct dofi_ep *ep, struct dofi_wr *wr, void *buf, size_t size, void *desc,
		      uint64_t raddr, uint64_t rkey);

#endif
