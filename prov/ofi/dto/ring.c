/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/ring.h"

#include "base/power.h"
#include "object/ia.h"
#include "object/ep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int dofi_ring_init(const struct dofi_ia *ia, struct dofi_ring *ring, uint32_t limit,
		   uint32_t max_iov)
{
	size_t stride =
		offsetof(struct dofi_wr, iov) + max_iov * (sizeof(struct iovec) + sizeof(void *));
	uint32_t size = dofi_power_of_two(limit);
	char *memory;

	stride += sizeof(uint32_t); /* dofi_wr_immediate */
	if (stride < sizeof(struct dofi_wr) + sizeof(struct dofi_bind))
		stride = sizeof(struct dofi_wr) + sizeof(struct dofi_bind);
	stride = (stride + DOFI_CACHE_LINE - 1) & ~(size_t)(DOFI_CACHE_LINE - 1);
	stride += ia->context_gap;
	memory = aligned_alloc(DOFI_CACHE_LINE, size * stride);
	if (!memory)
		return -ENOMEM;
	memset(memory, 0, size * stride);
	ring->base = memory + ia->context_gap;
	ring->gap = (uint16_t)ia->context_gap;
	ring->stride = (uint32_t)stride;
	ring->mask = size - 1;
	ring->limit = limit;
	ring->max_iov = (uint16_t)max_iov;
	ring->fabric_iov = (uint16_t)ia->limits.fabric_iov;
	ring->desc_at = (uint16_t)(offsetof(struct dofi_wr, iov) + max_iov * sizeof(struct iovec));
	ring->head = ring->issue = ring->tail = 0;
	return 0;
}

void dofi_ring_fini(struct dofi_ring *ring)
{
	if (ring->base)
		free(dofi_ring_memory(ring));
	ring->base = NULL;
}

void dofi_ring_move(struct dofi_ring *to, struct dofi_ring *from)
{
	for (; from->head != from->tail; from->head++, to->tail++) {
		struct dofi_wr *old = dofi_ring_at(from, from->head),
			       *new = dofi_ring_at(to, to->tail);

		memcpy(new, old, sizeof(*old) + old->niov * sizeof(struct iovec));
		memcpy(dofi_wr_desc(to, new), dofi_wr_desc(from, old), old->niov * sizeof(void *));
	}
	dofi_ring_fini(from);
}
