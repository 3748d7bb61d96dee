/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests that are more than one operation of the fabric. RDMA with more segments than an
 * operation takes goes in parts, each an operation of its own that fills the fabric's limit; the
 * request is complete when all of them are. So does a write whose last bytes the fabric may store
 * before others: programs poll the last byte, so these bytes are a part of their own, which goes
 * last. Where writes overtake each other it waits until the others are delivered.
 */
#ifndef DOFI_PARTS_H
#define DOFI_PARTS_H

#include "object/ep.h"
#include "object/ia_parts.h"

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
