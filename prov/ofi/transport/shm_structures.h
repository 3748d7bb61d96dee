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

/* A layout: offsets of members in a region. 0: the layout has no such member. */
struct dofi_shm_layout {
	uint8_t number;
	/*
	 * offsets of members of the region's head; those of queues and pools contain offsets in
	 * turn
	 */
	uint16_t pid, total_size, cmd_queue, sar_pool;
	uint16_t lock, inject_pool; /* not in 2.5: peers take no buffers there */
	uint16_t resp_ring, map;    /* before 2.5; map: address of the table of peers */
	uint16_t base, cmd_stack, ret_queue, peers; /* since 2.5; peers: the table */
	uint16_t signal;               /* 1.17 and 1.18: 1 makes the owner look at its queues */
	uint16_t cmd_count, sar_count; /* 1.17, where the command queue is a ring */
	uint16_t cmd_size;             /* of an entry of the command queue */
	uint16_t peer_size;            /* of an entry of the table of peers */
	struct {
		uint8_t size, put, taken, entries; /* the mask is behind the size */
	} queue;
	struct {
		uint16_t size;
		uint8_t to, context;
		uint8_t flags;  /* tell whether the command comes back; 0: each one does */
		uint8_t status; /* of a command without flags */
	} command;              /* in the stack */
	int failure;            /* a status: of an answer, or of a command that comes back */
};

/* A ring. */
struct dofi_shm_ring {
	size_t size, mask, taken, put;
	char entries[];
};

/* A queue whose entries are claimed and committed. */
struct dofi_shm_queue {
	_Atomic int64_t *put, *taken;
	int32_t size, mask;
	char *entries;
	size_t entry_size;
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

/* Whether the command queue is a ring. */
static inline bool dofi_shm_has_ring(const struct dofi_shm_map *region)
{
	return region->layout->cmd_count;
}

static inline struct dofi_shm_queue dofi_shm_queue_at(const struct dofi_shm_map *region,
						      uint16_t offset, size_t entry_size)
{
	const struct dofi_shm_layout *l = region->layout;
	char *at = dofi_shm_place(region, offset);
	const int32_t *size = (const void *)(at + l->queue.size);

	return (struct dofi_shm_queue){.put = (void *)(at + l->queue.put),
				       .taken = (void *)(at + l->queue.taken),
				       .size = size[0],
				       .mask = size[1],
				       .entries = at + l->queue.entries,
				       .entry_size = entry_size};
}

/* The queue of commands, if it is no ring. */
static inline struct dofi_shm_queue dofi_shm_cmd_queue(const struct dofi_shm_map *region)
{
	return dofi_shm_queue_at(region, region->layout->cmd_queue, region->layout->cmd_size);
}

/* The queue of commands that come back, if the layout has one. */
static inline struct dofi_shm_queue dofi_shm_ret_queue(const struct dofi_shm_map *region)
{
	enum { RET_SIZE = 64 };

	return dofi_shm_queue_at(region, region->layout->ret_queue, RET_SIZE);
}

static inline struct dofi_shm_entry *dofi_shm_entry_at(const struct dofi_shm_queue *queue,
						       int64_t position)
{
	return (void *)(queue->entries + (size_t)(position & queue->mask) * queue->entry_size);
}

/* Makes the owner look at its queues. */
static inline void dofi_shm_signal(const struct dofi_shm_map *region)
{
	if (region->layout->signal)
		atomic_store((_Atomic int32_t *)dofi_shm_at(region, region->layout->signal), 1);
}

#endif
