/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory of a ring of work requests. */
#ifndef DOFI_RING_H
#define DOFI_RING_H

#include "object/ep.h"

/*
 * Rings for these attributes; an old ring's posted receives move along. 0 or -ENOMEM, nothing
 * changed then.
 */
int dofi_ring_init(const struct dofi_ia *ia, struct dofi_ring *ring, uint32_t limit,
		   uint32_t max_iov);
void dofi_ring_fini(struct dofi_ring *ring);
/* Moves the work requests of `from`, none of which is the fabric's, to the larger `to`. */
void dofi_ring_move(struct dofi_ring *to, struct dofi_ring *from);

#endif
