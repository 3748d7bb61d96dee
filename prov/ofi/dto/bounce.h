/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bounce buffers, for messages with more segments than one operation of the fabric takes. From the
 * issue to the completion, the buffer replaces the segments in the work request. The buffers belong
 * to the IA and are kept for later messages.
 */
#ifndef DOFI_BOUNCE_H
#define DOFI_BOUNCE_H

#include "object/ep.h"
#include "object/ia_parts.h"

/* The segments that an EP can have on each fabric. InfiniBand adapters take about as many. */
#define DOFI_LEAST_IOV 32u

int dofi_bounces_init(struct dofi_ia *ia); /* 0 or a negative error */
/* closes the registrations; dofi_bounces_fini frees the memory after the endpoint is closed */
void dofi_bounces_abandon(struct dofi_ia *ia);
void dofi_bounces_fini(struct dofi_ia *ia);

/*
 * Gives the message a bounce buffer, and fills that of a Send. 0, or -FI_EAGAIN while there is no
 * memory. The lock of the ring is held.
 */
int dofi_bounce_take(struct dofi_ia *ia, const struct dofi_ring *ring, struct dofi_wr *wr);
/* Returns the buffer. For a receive, first copies `length` bytes to the segments. */
void dofi_bounce_give(struct dofi_wr *wr, uint64_t length);

#endif
