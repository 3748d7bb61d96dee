/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The structures of libfabric in a region that more than one of the files shm_layout.c,
 * shm_queue.c, shm_peer_table.c, shm_requests.c and shm_commands.c need. No other file includes
 * this header.
 */
#ifndef DOFI_SHM_STRUCTURES_H
#define DOFI_SHM_STRUCTURES_H

#include "transport/shm_layout.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A layout: offsets of members in a region. */
struct dofi_shm_layout {
	uint8_t number;
	/*
	 * offsets of members of the region's head; those of queues and pools contain offsets in
	 * turn
	 */
	uint16_t pid, lock, total_size, cmd_queue, inject_pool, sar_pool;
	uint16_t resp_ring;                         /* layouts 4 and 8 */
	uint16_t base, cmd_stack, ret_queue, peers; /* layout 10 */
	uint16_t signal, cmd_count, sar_count;      /* layout 4 */
	uint16_t map;      /* address of the table of peers in the owner's memory */
	uint16_t cmd_size; /* size of an entry of the command queue */
};

#define DOFI_SHM_RET_SIZE 64u /* of an entry of the queue of commands that come back */

/* A ring: layouts 4 and 8. */
struct dofi_shm_ring {
	size_t size, mask, taken, put;
	char entries[];
};

/* A queue whose entries are claimed and committed: layouts 8 and 10. */
struct dofi_shm_queue {
	_Atomic int64_t put;
	uint8_t pad0[56];
	_Atomic int64_t taken;
	uint8_t pad1[56];
	int32_t size, mask;
	uint8_t pad2[56];
	char entries[];
};

struct dofi_shm_entry {
	_Atomic int64_t sequence; /* position of the entry: claimed; position + 1: committed */
	bool nothing;             /* the owner passes over it */
	uint8_t pad[7];
	uint64_t content[];
};

/* A pool of buffers, or of commands. */
struct dofi_shm_pool {
	uint64_t first, buffer_size, size;
	_Atomic int16_t nfree, top; /* -1: none */
	int16_t next[];
};

static inline void *dofi_shm_at(const struct dofi_shm_map *region, size_t offset)
{
	return region->base + offset;
}

static inline size_t dofi_shm_number_at(const struct dofi_shm_map *region, uint16_t offset)
{
	return *(const size_t *)dofi_shm_at(region, offset);
}

static inline void *dofi_shm_place(const struct dofi_shm_map *region, uint16_t offset)
{
	return dofi_shm_at(region, dofi_shm_number_at(region, offset));
}

/* Layout 4: the command queue is a ring. */
static inline bool dofi_shm_has_ring(const struct dofi_shm_map *region)
{
	return region->layout->signal;
}

static inline struct dofi_shm_entry *dofi_shm_entry_at(struct dofi_shm_queue *queue,
						       int64_t position, size_t size)
{
	return (void *)(queue->entries + (size_t)(position & queue->mask) * size);
}

#endif
