/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory of a ring of work requests. */
#ifndef DOFI_RING_H
#define DOFI_RING_H

#include "object/ep.h"

/*
 * Makes a ring for `limit` work requests of up to max_iov segments. 0, or -ENOMEM, and nothing is
 * changed.
 */
int dofi_ring_init(const struct dofi_ia *ia, struct dofi_ring *ring, uint32_t limit,
		   uint32_t max_iov);
void dofi_ring_fini(struct dofi_ring *ring);
/* Moves the work requests of `from` to the larger ring `to`. The fabric has none of them. */
void dofi_ring_move(struct dofi_ring *to, struct dofi_ring *from);

#endif
