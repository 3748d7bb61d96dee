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

#define DIR_PATH  DOFI_SHM_DIR "/"
#define HEAD_SIZE 192u

/* --- the layouts --- */

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
	return !offset || (dofi_shm_number_at(region, offset) >= HEAD_SIZE / 2 &&
			   dofi_shm_number_at(region, offset) < region->size - HEAD_SIZE &&
			   !(dofi_shm_number_at(region, offset) % sizeof(uint64_t)));
}

static bool is_sound(const struct dofi_shm_map *region)
{
	const struct dofi_shm_layout *l = region->layout;

	return dofi_shm_number_at(region, l->total_size) <= region->size &&
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

/* --- the lock --- */

static pthread_spinlock_t *lock_of(const struct dofi_shm_map *region)
{
	return dofi_shm_at(region, region->layout->lock);
}

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
