/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RDMA on ep->fep to ep->dest, which both transports do alike. transport.h has the contracts. */
#ifndef DOFI_RMA_H
#define DOFI_RMA_H

#include "object/ep.h"
#include "object/ia.h"

#include <sys/types.h>

/* As dofi_may_inject, for a plain Send or write. */
static inline bool dofi_may_inject_plain(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return wr->length <= ep->obj.ia->inject_max && ep->req.head == ep->req.issue;
}

/*
 * Whether the request may be injected: the fabric would complete it as soon as it has copied it.
 * Not if other requests are under way, because the copy may stay in a queue of the fabric; and not
 * for parts and messages with a bounce buffer, whose completions are needed.
 */
static inline bool dofi_may_inject(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return dofi_may_inject_plain(ep, wr) && wr->niov <= 1 && !wr->split &&
	       (wr->op == DOFI_OP_SEND || wr->op == DOFI_OP_WRITE);
}

/* Takes the result of a call that injects: 0 completes the operation. */
static inline ssize_t dofi_injected(struct dofi_wr *wr, ssize_t ret)
{
	if (!ret)
		wr->state = DOFI_WR_DONE;
	return ret;
}

/* Whether the request has the barrier flag and has to wait for earlier reads. */
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
