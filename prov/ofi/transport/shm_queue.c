/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/shm_queue.h"

#include "transport/shm_layout.h"
#include "transport/shm_structures.h"

#include <stdatomic.h>
#include <string.h>

/* --- what the lock guards --- */

uint64_t dofi_shm_progress(const struct dofi_shm_map *region)
{
	if (dofi_shm_has_ring(region)) {
		const volatile struct dofi_shm_ring *ring =
			dofi_shm_place(region, region->layout->cmd_queue);

		return ring->taken + ring->put;
	} else {
		struct dofi_shm_queue queue = dofi_shm_cmd_queue(region);

		return (uint64_t)atomic_load(queue.put) + (uint64_t)atomic_load(queue.taken);
	}
}

static void empty(struct dofi_shm_pool *pool)
{
	atomic_store(&pool->top, -1);
}

void dofi_shm_fill_dead(const struct dofi_shm_map *region)
{
	const struct dofi_shm_layout *l = region->layout;

	if (dofi_shm_has_ring(region)) {
		*(volatile size_t *)dofi_shm_at(region, l->cmd_count) = 0;
	} else if (l->inject_pool && !l->signal) { /* 1.18.0 takes a buffer of an empty pool */
		empty(dofi_shm_place(region, l->inject_pool));
		empty(dofi_shm_place(region, l->sar_pool));
	}
	if (l->lock) {
		dofi_shm_take_over(region);
		dofi_shm_unlock(region);
	}
}

/* The number of buffers that a sender can still take: those that the free list reaches. */
static size_t buffers_of(const struct dofi_shm_pool *pool)
{
	int16_t i = atomic_load(&pool->top);
	size_t n = 0;

	for (; i >= 0 && (size_t)i < pool->size && n < pool->size; i = pool->next[i])
		n++;
	return n;
}

/*
 * Whether an operation has two entries in the ring: a read, a write, atomic operations. By
 * libfabric's numbers.
 */
static bool is_double(uint32_t op)
{
	enum { READ_REQUEST = 2, WRITE = 4, ATOMIC = 6, ATOMIC_COMPARE = 8 };

	return op == READ_REQUEST || op == WRITE || (op >= ATOMIC && op <= ATOMIC_COMPARE);
}

/* Removes a command of which the dead process has put only the first entry into the ring. */
static void drop_half(const struct dofi_shm_map *region, struct dofi_shm_ring *ring)
{
	size_t size = region->layout->cmd_size, i = ring->taken;

	while (i < ring->put) {
		const char *entry = ring->entries + (i & ring->mask) * size;
		uint32_t op;

		memcpy(&op, entry + 16, sizeof(op));
		i += is_double(op) ? 2 : 1;
	}
	if (i != ring->put)
		ring->put--;
}

void dofi_shm_repair_own(const struct dofi_shm_map *region)
{
	const struct dofi_shm_layout *l = region->layout;
	size_t *count, room, buffers;
	struct dofi_shm_ring *ring;

	if (!dofi_shm_has_ring(region))
		return;
	ring = dofi_shm_place(region, l->cmd_queue);
	drop_half(region, ring);
	count = dofi_shm_at(region, l->cmd_count);
	room = ring->size - (ring->put - ring->taken);
	buffers = buffers_of(dofi_shm_place(region, l->inject_pool));
	if (buffers < room)
		room = buffers;
	if (*count > room)
		*count = room;
	dofi_shm_signal(region);
}

bool dofi_shm_is_idle(const struct dofi_shm_map *region)
{
	const volatile struct dofi_shm_ring *ring;

	if (!region->layout->resp_ring)
		return true;
	ring = dofi_shm_place(region, region->layout->resp_ring);
	return ring->taken == ring->put;
}

static void fill(struct dofi_shm_pool *pool)
{
	int16_t size = (int16_t)pool->size;

	for (int16_t i = 0; i < size; i++)
		pool->next[i] = (int16_t)(i + 1 < size ? i + 1 : -1);
	atomic_store(&pool->nfree, size);
	atomic_store(&pool->top, 0);
}

/*
 * Messages without a receive count as commands, and only libfabric knows their number. At most this
 * many are assumed.
 */
#define NOT_TAKEN(size) ((size) / 8)

static bool refill_ring(const struct dofi_shm_map *own)
{
	const struct dofi_shm_layout *l = own->layout;
	const struct dofi_shm_ring *ring = dofi_shm_place(own, l->cmd_queue);
	size_t *count = dofi_shm_at(own, l->cmd_count);
	size_t expected = ring->size - NOT_TAKEN(ring->size);

	if (ring->put != ring->taken)
		return false;
	if (*count < expected)
		*count = expected;
	*(size_t *)dofi_shm_at(own, l->sar_count) =
		(size_t)((struct dofi_shm_pool *)dofi_shm_place(own, l->sar_pool))->size;
	return true;
}

bool dofi_shm_refill(const struct dofi_shm_map *own)
{
	const struct dofi_shm_layout *l = own->layout;
	struct dofi_shm_pool *pool = dofi_shm_place(own, l->sar_pool);

	if (!l->resp_ring)
		return true;
	if (!dofi_shm_has_ring(own)) {
		struct dofi_shm_queue queue = dofi_shm_cmd_queue(own);

		if (atomic_load(queue.put) != atomic_load(queue.taken))
			return false;
	} else if (!refill_ring(own)) {
		return false;
	}
	if (pool->size && pool->size <= INT16_MAX)
		fill(pool);
	return true;
}

/* --- claimed entries --- */

static size_t claims_in(struct dofi_shm_queue queue, struct dofi_shm_claim *claims, size_t max)
{
	int64_t put = atomic_load(queue.put);
	size_t n = 0;

	for (int64_t i = atomic_load(queue.taken); i < put && put - i <= queue.size; i++) {
		struct dofi_shm_entry *entry = dofi_shm_entry_at(&queue, i);

		if (atomic_load(&entry->sequence) != i)
			continue;
		if (n < max)
			claims[n] = (struct dofi_shm_claim){entry, i};
		n++;
	}
	return n < max ? n : max;
}

size_t dofi_shm_claims(const struct dofi_shm_map *region, struct dofi_shm_claim *claims, size_t max)
{
	size_t n;

	if (dofi_shm_has_ring(region))
		return 0;
	n = claims_in(dofi_shm_cmd_queue(region), claims, max);
	if (region->layout->ret_queue)
		n += claims_in(dofi_shm_ret_queue(region), claims + n, max - n);
	return n;
}

bool dofi_shm_is_claimed(const struct dofi_shm_claim *claim)
{
	struct dofi_shm_entry *entry = claim->entry;

	return atomic_load(&entry->sequence) == claim->position;
}

void dofi_shm_discard(const struct dofi_shm_map *region, const struct dofi_shm_claim *claim)
{
	struct dofi_shm_entry *entry = claim->entry;

	entry->nothing = true;
	atomic_store(&entry->sequence, claim->position + 1);
	dofi_shm_signal(region);
}
