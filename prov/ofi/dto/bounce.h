/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bounce buffers: a message with more segments than one operation of the fabric takes goes through
 * one. It takes the place of the segments in the work request from the issue to the completion. The
 * buffers are the IA's and are kept for the next message.
 */
#ifndef DOFI_BOUNCE_H
#define DOFI_BOUNCE_H

#include "object/ep.h"
#include "object/ia_parts.h"

/* What programs expect of any adapter. */
#define DOFI_LEAST_IOV 4u

int dofi_bounces_init(struct dofi_ia *ia); /* 0 or a negative error */
/* closes what is registered; the memory goes after the endpoint */
void dofi_bounces_abandon(struct dofi_ia *ia);
void dofi_bounces_fini(struct dofi_ia *ia);

/*
 * The message gets a bounce buffer; a Send's is filled. 0, or -FI_EAGAIN while there is no memory.
 * The lock of the ring held.
 */
int dofi_bounce_take(struct dofi_ia *ia, const struct dofi_ring *ring, struct dofi_wr *wr);
/* It is not needed any more. Of a receive, `length` bytes of it go where they belong. */
void dofi_bounce_give(struct dofi_wr *wr, uint64_t length);

#endif
