/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/shm_layout.h"

#include "base/lock.h"
#include "fabric/same_process.h"
#include "transport/shm_region.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_PATH DOFI_SHM_DIR "/"

/* --- the layouts: offsets of members in a region and in the structures that it refers to --- */

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

static const struct dofi_shm_layout layouts[] = {
	{.number = 4,
	 .pid = 4,
	 .lock = 24,
	 .total_size = 40,
	 .cmd_queue = 64,
	 .inject_pool = 80,
	 .sar_pool = 88,
	 .resp_ring = 72,
	 .signal = 28,
	 .cmd_count = 48,
	 .sar_count = 56,
	 .map = 32,
	 .cmd_size = 256},
	{.number = 8,
	 .pid = 4,
	 .lock = 56,
	 .total_size = 72,
	 .cmd_queue = 80,
	 .inject_pool = 96,
	 .sar_pool = 104,
	 .resp_ring = 88,
	 .map = 64,
	 .cmd_size = 576},
	{.number = 10,
	 .pid = 40,
	 .lock = 64,
	 .total_size = 56,
	 .cmd_queue = 128,
	 .inject_pool = 136,
	 .sar_pool = 160,
	 .base = 48,
	 .cmd_stack = 144,
	 .ret_queue = 152,
	 .peers = 168,
	 .cmd_size = 384},
};

#define HEAD_SIZE    192u
#define MAX_PEERS    256u
#define RET_SIZE     64u /* of an entry of the queue of commands that come back */

/* The table of peers: in layouts 4 and 8 in the owner's memory, in layout 10 in the region. */
#define MAP_FIRST    88u
#define MAP_REGION   272u
#define PEER_SIZE_4  280u
#define PEER_SIZE_8  288u
#define PEER_SIZE_10 64u
#define PEER_REGION  16u

/* A ring: layouts 4 and 8. */
struct ring {
	size_t size, mask, taken, put;
	char entries[];
};

struct answer {
	uint64_t request; /* address of a struct request */
	_Atomic uint64_t status;
};

/* A request that waits for an answer, in the initiator's memory. */
struct request {
	uint8_t head[20];
	uint16_t source;
	uint16_t flags;
	uint64_t size, answer;
	uint8_t command[216];
	int64_t peer;
	uint8_t more[88];
	uint64_t done;
};
_Static_assert(offsetof(struct request, peer) == 256 && offsetof(struct request, done) == 352,
	       "as libfabric has it");

enum { SOURCE_SAR = 4 };
enum { STATUS_BUSY = 16, STATUS_SAR_FREE = 1025 };

/* A queue whose entries are claimed and committed: layouts 8 and 10. */
struct queue {
	_Atomic int64_t put;
	uint8_t pad0[56];
	_Atomic int64_t taken;
	uint8_t pad1[56];
	int32_t size, mask;
	uint8_t pad2[56];
	char entries[];
};

struct entry {
	_Atomic int64_t sequence; /* position of the entry: claimed; position + 1: committed */
	bool nothing;             /* the owner passes over it */
	uint8_t pad[7];
	uint64_t content[];
};

/* A pool of buffers, or of commands. */
struct pool {
	uint64_t first, buffer_size, size;
	_Atomic int16_t nfree, top; /* -1: none */
	int16_t next[];
};

/* A command, layout 10. */
struct command {
	uint8_t head[9];
	uint8_t protocol, flags, pad;
	int16_t from, to; /* numbers of the peers */
	uint8_t more[32];
	uint64_t context;
};
_Static_assert(offsetof(struct command, context) == 48, "as libfabric has it");

enum { COMMAND_FAILED = 1 << 2, COMMAND_COMES_BACK = 1 << 3 };

static void *at(const struct dofi_shm_map *region, size_t offset)
{
	return region->base + offset;
}

static size_t number_at(const struct dofi_shm_map *region, uint16_t offset)
{
	return *(const size_t *)at(region, offset);
}

static void *place(const struct dofi_shm_map *region, uint16_t offset)
{
	return at(region, number_at(region, offset));
}

static pthread_spinlock_t *lock_of(const struct dofi_shm_map *region)
{
	return at(region, region->layout->lock);
}

/* --- mapping --- */

static const struct dofi_shm_layout *layout_of(const char *base)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].number == (uint8_t)base[0])
			return &layouts[i];
	return NULL;
}

static bool leads_inside(const struct dofi_shm_map *region, uint16_t offset)
{
	return !offset || (number_at(region, offset) >= HEAD_SIZE / 2 &&
			   number_at(region, offset) < region->size - HEAD_SIZE &&
			   !(number_at(region, offset) % sizeof(uint64_t)));
}

static bool is_sound(const struct dofi_shm_map *region)
{
	const struct dofi_shm_layout *l = region->layout;

	return number_at(region, l->total_size) <= region->size &&
	       leads_inside(region, l->cmd_queue) && leads_inside(region, l->inject_pool) &&
	       leads_inside(region, l->sar_pool) && leads_inside(region, l->resp_ring) &&
	       leads_inside(region, l->cmd_stack) && leads_inside(region, l->ret_queue) &&
	       leads_inside(region, l->peers);
}

static const char *file_name(const char *address)
{
	if (!strncmp(address, DOFI_SHM_PREFIX, sizeof(DOFI_SHM_PREFIX) - 1))
		address += sizeof(DOFI_SHM_PREFIX) - 1;
	return address + strspn(address, "/");
}

static int map_file(struct dofi_shm_map *region, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (size_t)st.st_size < (size_t)4 * HEAD_SIZE)
		return -EPERM;
	region->size = (size_t)st.st_size;
	region->inode = st.st_ino;
	region->base = mmap(NULL, region->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (region->base == MAP_FAILED) {
		region->base = NULL;
		return -errno;
	}
	region->layout = layout_of(region->base);
	if (!region->layout || !is_sound(region))
		return -EPROTO;
	region->pid = *(const int *)at(region, region->layout->pid);
	return region->pid > 0 ? 0 : -EPROTO;
}

int dofi_shm_map_open(struct dofi_shm_map *region, const char *address)
{
	const char *name = file_name(address);
	char path[sizeof(DIR_PATH) + 256];
	int fd, ret;

	*region = (struct dofi_shm_map){0};
	if (strchr(name, '/') || strlen(name) >= 256)
		return -EINVAL;
	snprintf(path, sizeof(path), DIR_PATH "%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	ret = map_file(region, fd);
	close(fd);
	region->name = strdup(name);
	if (!ret && !region->name)
		ret = -ENOMEM;
	if (ret)
		dofi_shm_map_close(region);
	return ret;
}

void dofi_shm_map_close(struct dofi_shm_map *region)
{
	if (region->base)
		munmap(region->base, region->size);
	free(region->name);
	*region = (struct dofi_shm_map){0};
}

/* --- the lock and what it guards --- */

bool dofi_shm_trylock(const struct dofi_shm_map *region)
{
	return !pthread_spin_trylock(lock_of(region));
}

void dofi_shm_take_over(const struct dofi_shm_map *region)
{
	DOFI_TSAN_LOCK(pre_lock, (void *)lock_of(region), 0);
	DOFI_TSAN_LOCK(post_lock, (void *)lock_of(region), 0, 0);
}

void dofi_shm_unlock(const struct dofi_shm_map *region)
{
	pthread_spin_unlock(lock_of(region));
}

static bool has_ring(const struct dofi_shm_map *region)
{
	return region->layout->signal;
}

uint64_t dofi_shm_progress(const struct dofi_shm_map *region)
{
	if (has_ring(region)) {
		const volatile struct ring *ring = place(region, region->layout->cmd_queue);

		return ring->taken + ring->put;
	} else {
		struct queue *queue = place(region, region->layout->cmd_queue);

		return (uint64_t)atomic_load(&queue->put) + (uint64_t)atomic_load(&queue->taken);
	}
}

static void empty(struct pool *pool)
{
	atomic_store(&pool->top, -1);
}

void dofi_shm_fill_dead(const struct dofi_shm_map *region)
{
	const struct dofi_shm_layout *l = region->layout;

	if (has_ring(region)) {
		*(volatile size_t *)at(region, l->cmd_count) = 0;
	} else {
		empty(place(region, l->inject_pool));
		empty(place(region, l->sar_pool));
	}
	dofi_shm_take_over(region);
	dofi_shm_unlock(region);
}

/* The number of buffers that a sender can still take: those that the free list reaches. */
static size_t buffers_of(const struct pool *pool)
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
static void drop_half(const struct dofi_shm_map *region, struct ring *ring)
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
	struct ring *ring;

	if (!has_ring(region))
		return;
	ring = place(region, l->cmd_queue);
	drop_half(region, ring);
	count = at(region, l->cmd_count);
	room = ring->size - (ring->put - ring->taken);
	buffers = buffers_of(place(region, l->inject_pool));
	if (buffers < room)
		room = buffers;
	if (*count > room)
		*count = room;
	atomic_store((_Atomic int32_t *)at(region, l->signal), 1);
}

bool dofi_shm_is_idle(const struct dofi_shm_map *region)
{
	const volatile struct ring *ring;

	if (!region->layout->resp_ring)
		return true;
	ring = place(region, region->layout->resp_ring);
	return ring->taken == ring->put;
}

static void fill(struct pool *pool)
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
	const struct ring *ring = place(own, l->cmd_queue);
	size_t *count = at(own, l->cmd_count);
	size_t expected = ring->size - NOT_TAKEN(ring->size);

	if (ring->put != ring->taken)
		return false;
	if (*count < expected)
		*count = expected;
	*(size_t *)at(own, l->sar_count) = (size_t)((struct pool *)place(own, l->sar_pool))->size;
	return true;
}

bool dofi_shm_refill(const struct dofi_shm_map *own)
{
	const struct dofi_shm_layout *l = own->layout;
	struct pool *pool = place(own, l->sar_pool);

	if (!l->resp_ring)
		return true;
	if (!has_ring(own)) {
		struct queue *queue = place(own, l->cmd_queue);

		if (atomic_load(&queue->put) != atomic_load(&queue->taken))
			return false;
	} else if (!refill_ring(own)) {
		return false;
	}
	if (pool->size && pool->size <= INT16_MAX)
		fill(pool);
	return true;
}

/* --- claimed entries --- */

static struct entry *entry_at(struct queue *queue, int64_t position, size_t size)
{
	return (void *)(queue->entries + (size_t)(position & queue->mask) * size);
}

static size_t claims_in(struct queue *queue, size_t size, struct dofi_shm_claim *claims, size_t max)
{
	int64_t put = atomic_load(&queue->put);
	size_t n = 0;

	for (int64_t i = atomic_load(&queue->taken); i < put && put - i <= queue->size; i++) {
		struct entry *entry = entry_at(queue, i, size);

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
	const struct dofi_shm_layout *l = region->layout;
	size_t n;

	if (has_ring(region))
		return 0;
	n = claims_in(place(region, l->cmd_queue), l->cmd_size, claims, max);
	if (l->ret_queue)
		n += claims_in(place(region, l->ret_queue), RET_SIZE, claims + n, max - n);
	return n;
}

bool dofi_shm_is_claimed(const struct dofi_shm_claim *claim)
{
	struct entry *entry = claim->entry;

	return atomic_load(&entry->sequence) == claim->position;
}

void dofi_shm_discard(const struct dofi_shm_claim *claim)
{
	struct entry *entry = claim->entry;

	entry->nothing = true;
	atomic_store(&entry->sequence, claim->position + 1);
}

/* --- what waits for a dead process --- */

#define MAX_PLACES 8

/* Finds the addresses at which this process has mapped the file of a region. */
static size_t places_of(const struct dofi_shm_map *region, uintptr_t *places)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	size_t n = 0;

	while (maps && n < MAX_PLACES && fgets(line, sizeof(line), maps)) {
		unsigned long start, inode;

		if (sscanf(line, "%lx-%*x %*s %*x %*x:%*x %lu", &start, &inode) == 2 &&
		    inode == region->inode && strstr(line, DIR_PATH) && strstr(line, region->name))
			places[n++] = start;
	}
	if (maps)
		fclose(maps);
	return n;
}

/* The first entry of the table of peers; NULL: there is no table yet. */
static const char *first_peer(const struct dofi_shm_map *own, size_t *size_p)
{
	const struct dofi_shm_layout *l = own->layout;
	const char *map;

	if (l->peers) {
		*size_p = PEER_SIZE_10;
		return (const char *)place(own, l->peers) + PEER_REGION;
	}
	*size_p = has_ring(own) ? PEER_SIZE_4 : PEER_SIZE_8;
	memcpy(&map, at(own, l->map), sizeof(map));
	return map ? map + MAP_FIRST + MAP_REGION : NULL;
}

/* Finds the numbers that the dead peer has in the endpoint of region `own`. */
static bool find_peer(const struct dofi_shm_map *own, const struct dofi_shm_map *dead, bool *is_it)
{
	uintptr_t places[MAX_PLACES];
	size_t n = places_of(dead, places), size;
	const char *peer = first_peer(own, &size);
	bool any = false;

	for (size_t i = 0; peer && i < MAX_PEERS; i++, peer += size) {
		uintptr_t place;

		memcpy(&place, peer, sizeof(place));
		is_it[i] = false;
		for (size_t j = 0; j < n; j++)
			is_it[i] |= place == places[j];
		any |= is_it[i];
	}
	return any;
}

/* Ends the request with an error. True: it did not wait for the dead process. */
static bool end_request(const struct dofi_shm_map *own, struct answer *answer, const bool *is_it)
{
	struct request *request = (void *)(uintptr_t)answer->request;
	uint64_t status = atomic_load(&answer->status);

	if (!request || request->answer != (size_t)((char *)answer - own->base) ||
	    request->peer < 0 || request->peer >= (int64_t)MAX_PEERS || !is_it[request->peer])
		return true;
	if (request->source == SOURCE_SAR) {
		request->done = request->size;
		atomic_store(&answer->status, STATUS_SAR_FREE);
	} else if (status == STATUS_BUSY) {
		/* In layout 4 the status is negative. */
		atomic_store(&answer->status, has_ring(own) ? (uint64_t)-EIO : EIO);
	}
	return false;
}

bool dofi_shm_settle(const struct dofi_shm_map *own, const struct dofi_shm_map *dead)
{
	bool is_it[MAX_PEERS], all = true;
	struct ring *ring;

	if (!own->layout->resp_ring || !find_peer(own, dead, is_it))
		return true;
	ring = place(own, own->layout->resp_ring);
	for (size_t i = ((volatile struct ring *)ring)->taken;
	     i != ((volatile struct ring *)ring)->put; i++) {
		struct answer *answers = (void *)ring->entries;

		all &= end_request(own, &answers[i & ring->mask], is_it);
	}
	if (has_ring(own))
		atomic_store((_Atomic int32_t *)at(own, own->layout->signal), 1);
	return all;
}

/* Commands that are free in the pool are not under way. */
static void strike_free(const struct pool *pool, bool *under_way)
{
	int16_t i = atomic_load(&pool->top);

	for (size_t n = 0; i >= 0 && (size_t)i < pool->size && n < pool->size; n++) {
		under_way[i] = false;
		i = pool->next[i];
	}
}

/* Commands that have come back are not under way either. */
static void strike_returned(const struct dofi_shm_map *own, const struct pool *pool,
			    bool *under_way)
{
	struct queue *queue = place(own, own->layout->ret_queue);
	int64_t put = atomic_load(&queue->put);
	uint64_t first = number_at(own, own->layout->base) +
			 (uint64_t)((const char *)pool - own->base) + pool->first;

	for (int64_t i = atomic_load(&queue->taken); i < put && put - i <= queue->size; i++) {
		const struct entry *entry = entry_at(queue, i, RET_SIZE);
		uint64_t index = (entry->content[0] - first) / pool->buffer_size;

		if (index < pool->size)
			under_way[index] = false;
	}
}

size_t dofi_shm_commands(const struct dofi_shm_map *own, const struct dofi_shm_map *dead,
			 struct dofi_shm_command *commands, size_t max)
{
	bool is_it[MAX_PEERS], *under_way;
	struct pool *pool;
	size_t n = 0;

	if (!own->layout->cmd_stack || !find_peer(own, dead, is_it))
		return 0;
	pool = place(own, own->layout->cmd_stack);
	if (pool->size > INT16_MAX || !(under_way = malloc(pool->size)))
		return 0;
	memset(under_way, true, pool->size);
	strike_free(pool, under_way);
	strike_returned(own, pool, under_way);
	for (size_t i = 0; i < pool->size && n < max; i++) {
		struct command *command =
			(void *)((char *)pool + pool->first + i * pool->buffer_size);

		if (under_way[i] && command->to >= 0 && (size_t)command->to < MAX_PEERS &&
		    is_it[command->to] && command->flags & COMMAND_COMES_BACK)
			commands[n++] = (struct dofi_shm_command){command, command->context};
	}
	free(under_way);
	return n;
}

/* Claims an entry of the queue, as a peer does; NULL: the queue is full. */
static struct entry *claim(struct queue *queue, size_t size, int64_t *position_p)
{
	int64_t position = atomic_load(&queue->put);

	for (;;) {
		struct entry *entry = entry_at(queue, position, size);

		if (atomic_load(&entry->sequence) < position)
			return NULL;
		/* If a peer was faster, this stores where the queue is by now. */
		if (atomic_compare_exchange_weak(&queue->put, &position, position + 1)) {
			*position_p = position;
			return entry;
		}
	}
}

static void give_back(const struct dofi_shm_map *own, struct command *command)
{
	struct entry *entry;
	int64_t position;

	entry = claim(place(own, own->layout->ret_queue), RET_SIZE, &position);
	if (!entry)
		return;
	command->flags |= COMMAND_FAILED;
	entry->content[0] =
		number_at(own, own->layout->base) + (uint64_t)((char *)command - own->base);
	atomic_store(&entry->sequence, position + 1);
}

void dofi_shm_give_back(const struct dofi_shm_map *own, const struct dofi_shm_map *dead,
			const struct dofi_shm_command *commands, size_t n)
{
	struct dofi_shm_command *now = calloc(n, sizeof(*now));
	size_t nnow = now ? dofi_shm_commands(own, dead, now, n) : 0;

	for (size_t i = 0; i < nnow; i++)
		for (size_t j = 0; j < n; j++)
			if (now[i].command == commands[j].command &&
			    now[i].context == commands[j].context)
				give_back(own, now[i].command);
	free(now);
}
