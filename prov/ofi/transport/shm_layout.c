/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/shm_layout.h"

#include "base/lock.h"
#include "fabric/same_process.h"
#include "transport/shm_region.h"
#include "transport/shm_structures.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_PATH    DOFI_SHM_DIR "/"
#define HEAD_SIZE   192u

/* Sizes of buffers, with all releases. */
#define INJECT_SIZE 4096u
#define SAR_SIZE    32768u

/* --- the layouts --- */

/* Queues of 1.18 and 1.19, and those of later releases. */
#define OLD_QUEUE                                                \
	{                                                        \
		.size = 0, .put = 8, .taken = 80, .entries = 160 \
	}
#define NEW_QUEUE                                                  \
	{                                                          \
		.size = 128, .put = 0, .taken = 64, .entries = 192 \
	}

static const struct dofi_shm_layout layouts[] = {
	/* 1.17 */
	{.number = 4,
	 .pid = 4,
	 .lock = 24,
	 .signal = 28,
	 .map = 32,
	 .total_size = 40,
	 .cmd_count = 48,
	 .sar_count = 56,
	 .cmd_queue = 64,
	 .resp_ring = 72,
	 .inject_pool = 80,
	 .sar_pool = 88,
	 .cmd_size = 256,
	 .peer_size = 280,
	 .failure = -EIO},
	/* 1.18 */
	{.number = 4,
	 .pid = 4,
	 .lock = 24,
	 .signal = 28,
	 .map = 32,
	 .total_size = 40,
	 .cmd_queue = 48,
	 .resp_ring = 56,
	 .inject_pool = 64,
	 .sar_pool = 72,
	 .queue = OLD_QUEUE,
	 .cmd_size = 528,
	 .peer_size = 280,
	 .failure = -EIO},
	/* 1.19 */
	{.number = 5,
	 .pid = 4,
	 .lock = 24,
	 .map = 32,
	 .total_size = 40,
	 .cmd_queue = 48,
	 .resp_ring = 56,
	 .inject_pool = 64,
	 .sar_pool = 72,
	 .queue = OLD_QUEUE,
	 .cmd_size = 528,
	 .peer_size = 280,
	 .failure = -EIO},
	/* 1.20 */
	{.number = 6,
	 .pid = 4,
	 .lock = 64,
	 .map = 72,
	 .total_size = 80,
	 .cmd_queue = 88,
	 .resp_ring = 96,
	 .inject_pool = 104,
	 .sar_pool = 112,
	 .queue = NEW_QUEUE,
	 .cmd_size = 576,
	 .peer_size = 280,
	 .failure = -EIO},
	/* 1.21 and 1.22. 1.21.0 has negative statuses, the library takes both. */
	{.number = 7,
	 .pid = 4,
	 .lock = 56,
	 .map = 64,
	 .total_size = 72,
	 .cmd_queue = 80,
	 .resp_ring = 88,
	 .inject_pool = 96,
	 .sar_pool = 104,
	 .queue = NEW_QUEUE,
	 .cmd_size = 576,
	 .peer_size = 280,
	 .failure = EIO},
	/* 2.0 to 2.4 */
	{.number = 8,
	 .pid = 4,
	 .lock = 56,
	 .map = 64,
	 .total_size = 72,
	 .cmd_queue = 80,
	 .resp_ring = 88,
	 .inject_pool = 96,
	 .sar_pool = 104,
	 .queue = NEW_QUEUE,
	 .cmd_size = 576,
	 .peer_size = 288,
	 .failure = EIO},
	/* 2.5.0. Datagrams come back, too: a lost one has not failed. */
	{.number = 9,
	 .pid = 40,
	 .base = 48,
	 .total_size = 56,
	 .cmd_queue = 64,
	 .cmd_stack = 72,
	 .ret_queue = 88,
	 .sar_pool = 96,
	 .peers = 104,
	 .queue = NEW_QUEUE,
	 .cmd_size = 512,
	 .command = {.size = 488, .context = 8, .status = 32, .to = 58},
	 .peer_size = 64,
	 .failure = -ECONNRESET},
	/* 2.5.1 */
	{.number = 10,
	 .pid = 40,
	 .base = 48,
	 .total_size = 56,
	 .cmd_queue = 128,
	 .cmd_stack = 136,
	 .ret_queue = 152,
	 .sar_pool = 160,
	 .peers = 168,
	 .queue = NEW_QUEUE,
	 .cmd_size = 384,
	 .command = {.size = 360, .context = 8, .status = 32, .to = 58},
	 .peer_size = 64,
	 .failure = -ECONNRESET},
	/* 2.6 */
	{.number = 10,
	 .pid = 40,
	 .base = 48,
	 .total_size = 56,
	 .lock = 64,
	 .cmd_queue = 128,
	 .inject_pool = 136,
	 .cmd_stack = 144,
	 .ret_queue = 152,
	 .sar_pool = 160,
	 .peers = 168,
	 .queue = NEW_QUEUE,
	 .cmd_size = 384,
	 .command = {.size = 368, .flags = 10, .to = 14, .context = 48},
	 .peer_size = 64},
};

/* --- mapping --- */

static bool leads_inside(const struct dofi_shm_map *region, uint16_t offset)
{
	return !offset || (dofi_shm_number_at(region, offset) >= HEAD_SIZE / 2 &&
			   dofi_shm_number_at(region, offset) < region->size - HEAD_SIZE &&
			   !(dofi_shm_number_at(region, offset) % sizeof(uint64_t)));
}

static bool is_pool(const struct dofi_shm_map *region, uint16_t offset, size_t buffer_size)
{
	return !offset || (leads_inside(region, offset) &&
			   ((struct dofi_shm_pool *)dofi_shm_place(region, offset))->buffer_size ==
				   buffer_size);
}

/*
 * Builds of libfabric with --enable-debug have counters with a mark behind them, and entries of
 * another size.
 */
static bool has_marks(const struct dofi_shm_map *region)
{
	const struct dofi_shm_layout *l = region->layout;
	const char *put = (const char *)dofi_shm_place(region, l->cmd_queue) + l->queue.put;

	return !l->cmd_count && ((const int32_t *)(const void *)put)[2];
}

/*
 * Two layouts with the same number have their pools at different places, or buffers of another
 * size.
 */
static bool is_sound(const struct dofi_shm_map *region)
{
	const struct dofi_shm_layout *l = region->layout;

	return dofi_shm_number_at(region, l->total_size) <= region->size &&
	       leads_inside(region, l->cmd_queue) && leads_inside(region, l->resp_ring) &&
	       leads_inside(region, l->ret_queue) && leads_inside(region, l->peers) &&
	       is_pool(region, l->inject_pool, INJECT_SIZE) &&
	       is_pool(region, l->sar_pool, SAR_SIZE) &&
	       is_pool(region, l->cmd_stack, l->command.size) && !has_marks(region);
}

/* Finds the layout of a region. */
static bool has_layout(struct dofi_shm_map *region)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		region->layout = &layouts[i];
		if (layouts[i].number == (uint8_t)region->base[0] && is_sound(region))
			return true;
	}
	return false;
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
	if (!has_layout(region))
		return -EPROTO;
	region->pid = *(const int *)dofi_shm_at(region, region->layout->pid);
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

/* --- two layouts --- */

static bool is_of_1_21_to_2_4(const struct dofi_shm_layout *l)
{
	return l->number == 7 || l->number == 8;
}

bool dofi_shm_agree(const struct dofi_shm_map *a, const struct dofi_shm_map *b)
{
	/* these two differ in the owner's memory alone */
	return a->layout == b->layout ||
	       (is_of_1_21_to_2_4(a->layout) && is_of_1_21_to_2_4(b->layout));
}

bool dofi_shm_may_meet(const char *own_address, const char *address)
{
	struct dofi_shm_map own, other;
	bool may;
	int ret;

	if (dofi_shm_map_open(&own, own_address))
		return true;
	ret = dofi_shm_map_open(&other, address);
	may = ret ? ret != -EPROTO : dofi_shm_agree(&own, &other);
	dofi_shm_map_close(&other);
	dofi_shm_map_close(&own);
	return may;
}

/* --- the lock --- */

static pthread_spinlock_t *lock_of(const struct dofi_shm_map *region)
{
	return dofi_shm_at(region, region->layout->lock);
}

bool dofi_shm_trylock(const struct dofi_shm_map *region)
{
	return !region->layout->lock || !pthread_spin_trylock(lock_of(region));
}

void dofi_shm_take_over(const struct dofi_shm_map *region)
{
	DOFI_TSAN_LOCK(pre_lock, (void *)lock_of(region), 0);
	DOFI_TSAN_LOCK(post_lock, (void *)lock_of(region), 0, 0);
}

void dofi_shm_unlock(const struct dofi_shm_map *region)
{
	if (region->layout->lock)
		pthread_spin_unlock(lock_of(region));
}
