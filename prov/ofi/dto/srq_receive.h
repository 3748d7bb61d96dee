/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The receives of an SRQ: a pool of slots, and the messages that take them. A message carries the
 * receiver's connection number, because the fabric does not identify the connection. It also
 * carries its own number if the fabric completes messages of a connection in any order: a message
 * that has overtaken an earlier one is held. receive.h has what happens then, as for receives of an
 * EP.
 */
#ifndef DOFI_SRQ_RECEIVE_H
#define DOFI_SRQ_RECEIVE_H

#include "object/ep.h"

struct dofi_srq;
struct dofi_stall;
struct fid;

/* More slots for the pool. 0 or -ENOMEM. srq->lock held, or nobody knows the SRQ yet. */
int dofi_srq_add_slots(struct dofi_srq *srq, uint32_t n);
/* Frees the slots. The fabric has none of them any more. */
void dofi_srq_free_slots(struct dofi_srq *srq);
/* The SRQ closes: drops the receives that wait for room in the fabric, and offers none any more. */
void dofi_srq_drop_waiting(struct dofi_srq *srq);
/* stall.retry of an SRQ: offers the receives that the fabric had no room for. */
void dofi_srq_retry(struct dofi_stall *stall);

DAT_RETURN dofi_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie);

/* The fabric finished a receive of an SRQ; arguments as for dofi_reap_done. engine.lock held. */
void dofi_srq_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number, uint32_t update);

/*
 * Delivers held messages that have waited for an earlier one, or for a control message, and need
 * not wait any more.
 */
void dofi_srq_deliver_held(struct dofi_ep *ep);

/* The connection is over: drops messages that still wait for earlier ones. ep->lock held. */
void dofi_srq_forget_held(struct dofi_ep *ep);

/*
 * Ends the receive of a truncated message: its sender is the peer of this EP, and the connection
 * breaks; or no EP has this peer any more, and the buffer waits for another message (DTO-145).
 * engine.lock held; dofi_srq_break is called without ep->lock.
 */
void dofi_srq_break(struct dofi_ep *ep, struct dofi_wr *wr);
void dofi_srq_take_back(struct dofi_srq *srq, struct dofi_wr *wr);

/*
 * dofi_srq_cancel asks the endpoint to return the receives, which come back by completions until
 * `available` is 0. dofi_srq_abandon makes orphans of those that do not come back, and returns
 * their number. engine.lock held.
 */
void dofi_srq_cancel(struct dofi_srq *srq, struct fid *endpoint);
uint32_t dofi_srq_abandon(struct dofi_srq *srq);

#endif
