/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests that are more than one operation of the fabric. RDMA with more segments than an
 * operation takes goes in parts, each an operation of its own that fills the fabric's limit; the
 * request is complete when all of them are. So does a write whose last bytes the fabric may store
 * before others: programs poll the last byte, so these bytes are a part of their own, which goes
 * last. Where writes overtake each other it waits until the others are delivered.
 *
 * A message with more segments goes through a bounce buffer, which takes the place of its segments
 * in the request from the issue to the completion. The buffers are the IA's and are kept for the
 * next message.
 *
 * `split` of a request tells: of RDMA how many parts the fabric has, of a message whether it has a
 * bounce buffer.
 */
#ifndef DOFI_SEGMENTS_H
#define DOFI_SEGMENTS_H

#include "object/ia_parts.h"

#include "object/ep.h"

/* What programs expect of any adapter. */
#define DOFI_LEAST_IOV 4u

int dofi_bounces_init(struct dofi_ia *ia); /* 0 or a negative error */
/* closes what is registered; the memory goes after the endpoint */
void dofi_bounces_abandon(struct dofi_ia *ia);
void dofi_bounces_fini(struct dofi_ia *ia);

/*
 * The message at the issue index gets a bounce buffer; a Send's is filled. 0, or -FI_EAGAIN while
 * there is no memory. The lock of the ring held, as for the next.
 */
int dofi_bounce_take(struct dofi_ia *ia, const struct dofi_ring *ring, struct dofi_wr *wr);
/*
 * A receive as the fabric takes it: a bounce buffer, where it has too many segments, and the guard
 * (guard_byte.h). As above.
 */
int dofi_receive_prepare(struct dofi_ia *ia, const struct dofi_ring *ring, struct dofi_wr *wr);
/* It is not needed any more. Of a receive, `length` bytes of it go where they belong. */
void dofi_bounce_give(struct dofi_wr *wr, uint64_t length);

/* Room for the parts of an EP's requests, where there can be some; after ep->req. 0 or -ENOMEM. */
int dofi_parts_init(const struct dofi_ia *ia, struct dofi_ring *parts, const struct dofi_ring *req);

/*
 * Bytes of the word at the end of a write that is stored last. The target is resolved, and the
 * write not empty.
 */
uint64_t dofi_write_flag_size(const struct dofi_ep *ep, const struct dofi_wr *wr);

/*
 * The request, whose target is resolved, is more than one operation. ep->lock held, as for all that
 * follows.
 */
bool dofi_parts_needed(const struct dofi_ep *ep, const struct dofi_wr *wr);

/*
 * Gives the parts of the request at the issue index to the fabric, from where it stopped. `data`
 * goes with the last part of a write with immediate data. 0: the fabric has all, or the last part
 * follows when the others are complete; 1: the rest waits for parts to complete; or a post's error.
 */
ssize_t dofi_parts_start(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data);
/* One is complete. The request when that ends it, as its own completion would, or NULL. */
struct dofi_wr *dofi_parts_done(struct dofi_ep *ep, struct dofi_wr *part, int err);
/*
 * With ep->owing: last parts whose turn has come, of requests before the issue index, go to the
 * fabric.
 */
void dofi_parts_pay(struct dofi_ep *ep);
/* The request fails: those that the fabric still has are nobody's. */
void dofi_parts_sever(struct dofi_ep *ep, struct dofi_wr *wr);

#endif
