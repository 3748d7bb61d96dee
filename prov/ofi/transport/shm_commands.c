/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/shm_commands.h"

#include "transport/shm_layout.h"
#include "transport/shm_peer_table.h"
#include "transport/shm_structures.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_FAILED = 1 << 2, COMMAND_COMES_BACK = 1 << 3 };

/* The number of the peer that has the command. */
static int16_t peer_of(const struct dofi_shm_layout *l, const char *command)
{
	int16_t peer;

	memcpy(&peer, command + l->command.to, sizeof(peer));
	return peer;
}

static uint64_t context_of(const struct dofi_shm_layout *l, const char *command)
{
	uint64_t context;

	memcpy(&context, command + l->command.context, sizeof(context));
	return context;
}

static bool comes_back(const struct dofi_shm_layout *l, const char *command)
{
	return !l->command.flags || command[l->command.flags] & COMMAND_COMES_BACK;
}

static void mark_failed(const struct dofi_shm_layout *l, char *command)
{
	int64_t status = l->failure;

	if (l->command.flags)
		command[l->command.flags] |= COMMAND_FAILED;
	else
		memcpy(command + l->command.status, &status, sizeof(status));
}

/* Commands that are free in the pool are not under way. */
static void strike_free(const struct dofi_shm_pool *pool, bool *under_way)
{
	int16_t i = atomic_load(&pool->top);

	for (size_t n = 0; i >= 0 && (size_t)i < pool->size && n < pool->size; n++) {
		under_way[i] = false;
		i = pool->next[i];
	}
}

/* Commands that have come back are not under way either. */
static void strike_returned(const struct dofi_shm_map *own, const struct dofi_shm_pool *pool,
			    bool *under_way)
{
	struct dofi_shm_queue queue = dofi_shm_ret_queue(own);
	int64_t put = atomic_load(queue.put);
	uint64_t first = dofi_shm_number_at(own, own->layout->base) +
			 (uint64_t)((const char *)pool - own->base) + pool->first;

	for (int64_t i = atomic_load(queue.taken); i < put && put - i <= queue.size; i++) {
		const struct dofi_shm_entry *entry = dofi_shm_entry_at(&queue, i);
		uint64_t index = (entry->content[0] - first) / pool->buffer_size;

		if (index < pool->size)
			under_way[index] = false;
	}
}

ssize_t dofi_shm_commands(const struct dofi_shm_map *own, const struct dofi_shm_map *dead,
			  struct dofi_shm_command *commands, size_t max)
{
	bool is_it[DOFI_SHM_MAX_PEERS], *under_way;
	struct dofi_shm_pool *pool;
	size_t n = 0;
	int found;

	if (!own->layout->cmd_stack)
		return 0;
	found = dofi_shm_find_peer(own, dead, is_it);
	if (found <= 0)
		return found;
	pool = dofi_shm_place(own, own->layout->cmd_stack);
	if (pool->size > INT16_MAX)
		return 0;
	under_way = malloc(pool->size);
	if (!under_way)
		return -ENOMEM;
	memset(under_way, true, pool->size);
	strike_free(pool, under_way);
	strike_returned(own, pool, under_way);
	for (size_t i = 0; i < pool->size && n < max; i++) {
		char *command = (char *)pool + pool->first + i * pool->buffer_size;
		int16_t peer = peer_of(own->layout, command);

		if (under_way[i] && peer >= 0 && (size_t)peer < DOFI_SHM_MAX_PEERS && is_it[peer] &&
		    comes_back(own->layout, command))
			commands[n++] = (struct dofi_shm_command){command,
								  context_of(own->layout, command)};
	}
	free(under_way);
	return (ssize_t)n;
}

/* Claims an entry of the queue, as a peer does; NULL: the queue is full. */
static struct dofi_shm_entry *claim(struct dofi_shm_queue queue, int64_t *position_p)
{
	int64_t position = atomic_load(queue.put);

	for (;;) {
		struct dofi_shm_entry *entry = dofi_shm_entry_at(&queue, position);

		if (atomic_load(&entry->sequence) < position)
			return NULL;
		/* If a peer was faster, this stores where the queue is by now. */
		if (atomic_compare_exchange_weak(queue.put, &position, position + 1)) {
			*position_p = position;
			return entry;
		}
	}
}

static void give_back(const struct dofi_shm_map *own, char *command)
{
	struct dofi_shm_entry *entry;
	int64_t position;

	entry = claim(dofi_shm_ret_queue(own), &position);
	if (!entry)
		return;
	mark_failed(own->layout, command);
	entry->content[0] =
		dofi_shm_number_at(own, own->layout->base) + (uint64_t)(command - own->base);
	atomic_store(&entry->sequence, position + 1);
}

bool dofi_shm_give_back(const struct dofi_shm_map *own, const struct dofi_shm_map *dead,
			const struct dofi_shm_command *commands, size_t n)
{
	struct dofi_shm_command *now = calloc(n, sizeof(*now));
	ssize_t nnow = now ? dofi_shm_commands(own, dead, now, n) : -ENOMEM;

	for (ssize_t i = 0; i < nnow; i++)
		for (size_t j = 0; j < n; j++)
			if (now[i].command == commands[j].command &&
			    now[i].context == commands[j].context)
				give_back(own, now[i].command);
	free(now);
	return nnow >= 0;
}
