/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests that are more than one operation of the fabric. RDMA with more segments than an
 * operation takes is divided into parts, each an operation with as many segments as the fabric
 * takes. The request is complete when all parts are. A write whose last bytes the fabric may store
 * before others is divided, too: programs poll the last byte, so the last bytes, the flag, are a
 * part of their own, which is sent last. If writes may overtake each other, this part waits until
 * the others are complete.
 */
#ifndef DOFI_PARTS_H
#define DOFI_PARTS_H

#include "object/ep.h"
#include "object/ia_parts.h"

/*
 * Makes the ring for the parts of an EP's requests, if there can be any. Called after ep->req is
 * made. 0 or -ENOMEM.
 */
int dofi_parts_init(const struct dofi_ia *ia, struct dofi_ring *parts, const struct dofi_ring *req);

/*
 * The size of the flag at the end of a write. The target is resolved, and the write is not empty.
 */
uint64_t dofi_write_flag_size(const struct dofi_ep *ep, const struct dofi_wr *wr);

/*
 * Whether the request, whose target is resolved, needs parts. ep->lock held, as for all that
 * follow.
 */
bool dofi_parts_needed(const struct dofi_ep *ep, const struct dofi_wr *wr);

/*
 * Gives the remaining parts of the request at the issue index to the fabric. The last part of a
 * write with immediate data carries `data`. 0: the fabric has all parts, or the last one follows
 * when the others are complete; 1: the rest waits until parts complete; or the error of the post.
 */
ssize_t dofi_parts_start(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data);
/* A part is complete. Returns the request if that completes it, otherwise NULL. */
struct dofi_wr *dofi_parts_done(struct dofi_ep *ep, struct dofi_wr *part, int err);
/* With ep->owing: starts due last parts of requests before the issue index. */
void dofi_parts_pay(struct dofi_ep *ep);

#endif
