/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The receives of an SRQ: a pool of slots, and the messages that take them. A message carries the
 * number of the connection that it came by, since the fabric does not tell, and its own number,
 * where the fabric completes messages of a connection in any order: one that overtook an earlier
 * one is held. What its completion means for its EP is common with the EP's own receives
 * (receive.h).
 */
#ifndef DOFI_SRQ_RECEIVE_H
#define DOFI_SRQ_RECEIVE_H

#include "object/ep.h"

struct dofi_srq;
struct dofi_stall;
struct fid;

/* More slots for the pool. 0 or -ENOMEM. srq->lock held, or nobody knows the SRQ yet. */
int dofi_srq_add_slots(struct dofi_srq *srq, uint32_t n);
/* The fabric has none of them any more. */
void dofi_srq_free_slots(struct dofi_srq *srq);
/* What the fabric had no room for goes, and nothing is offered any more. */
void dofi_srq_drop_waiting(struct dofi_srq *srq);
/* What stall.retry does: offers what the fabric had no room for. */
void dofi_srq_retry(struct dofi_stall *stall);

DAT_RETURN dofi_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie);

/* The fabric finished a receive of an SRQ; arguments as for dofi_reap_done. engine.lock held. */
void dofi_srq_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number, uint32_t update);

/* Messages that waited for an earlier one, or for a control message, and have their turn now. */
void dofi_srq_deliver_held(struct dofi_ep *ep);

/* The connection is over: messages that still wait for earlier ones are nobody's. ep->lock held. */
void dofi_srq_forget_held(struct dofi_ep *ep);

/*
 * What becomes of a truncated message: it is this EP's, and ends its connection; or nobody's, and
 * the buffer waits again (DTO-145). engine.lock held, and no ep->lock for the first.
 */
void dofi_srq_blame(struct dofi_ep *ep, struct dofi_wr *wr);
void dofi_srq_take_back(struct dofi_srq *srq, struct dofi_wr *wr);

/*
 * Asks the endpoint for the receives back; they come by completions until `available` is 0. What
 * does not come is left behind by dofi_srq_abandon, which tells how many that are. engine.lock
 * held.
 */
void dofi_srq_cancel(struct dofi_srq *srq, struct fid *endpoint);
uint32_t dofi_srq_abandon(struct dofi_srq *srq);

#endif
