/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "made_region.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct dofi_shm_map region;
char name[64], path[96];

enum failure fails;
int names;
void (*while_freeing)(const void *block);
static char *copied;

T_STAND_IN void *__wrap_mmap(void *where, size_t size, int prot, int flags, int fd, off_t offset);
void *__real_mmap(void *where, size_t size, int prot, int flags, int fd, off_t offset);
T_STAND_IN char *__wrap_strdup(const char *text);
char *__real_strdup(const char *text);
T_STAND_IN void __wrap_free(void *block);
void __real_free(void *block);

void *__wrap_mmap(void *where, size_t size, int prot, int flags, int fd, off_t offset)
{
	errno = ENODEV;
	if (fails == MMAP)
		return MAP_FAILED;
	if (fd >= 0 && prot != (PROT_READ | PROT_WRITE))
		abort();
	return __real_mmap(where, size, prot, flags, fd, offset);
}

char *__wrap_strdup(const char *text)
{
	char *copy = fails == STRDUP ? NULL : __real_strdup(text);

	if (copy && !strcmp(text, name)) { /* Check copies others */
		names++;
		copied = copy;
	}
	return copy;
}

void __wrap_free(void *block)
{
	if (while_freeing)
		while_freeing(block);
	if (block && block == copied) {
		names--;
		copied = NULL;
	}
	__real_free(block);
}

int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, name) != NULL;
	fclose(maps);
	return n;
}

int next_fd(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

#define NO_QUEUE           \
	{                  \
		0, 0, 0, 0 \
	}
#define OLD_QUEUE             \
	{                     \
		8, 80, 0, 160 \
	}
#define NEW_QUEUE               \
	{                       \
		0, 64, 128, 192 \
	}
#define NO_STACK              \
	{                     \
		0, 0, 0, 0, 0 \
	}

const struct where layouts[LAYOUTS] = {
	{4, 4, 24, 40, 64, 80, 88, 72, 0, 0, 0, 0, 32, 28, 256, 280, -EIO, NO_QUEUE, NO_STACK},
	{4, 4, 24, 40, 48, 64, 72, 56, 0, 0, 0, 0, 32, 28, 528, 280, -EIO, OLD_QUEUE, NO_STACK},
	{5, 4, 24, 40, 48, 64, 72, 56, 0, 0, 0, 0, 32, 0, 528, 280, -EIO, OLD_QUEUE, NO_STACK},
	{6, 4, 64, 80, 88, 104, 112, 96, 0, 0, 0, 0, 72, 0, 576, 280, -EIO, NEW_QUEUE, NO_STACK},
	{7, 4, 56, 72, 80, 96, 104, 88, 0, 0, 0, 0, 64, 0, 576, 280, EIO, NEW_QUEUE, NO_STACK},
	{8, 4, 56, 72, 80, 96, 104, 88, 0, 0, 0, 0, 64, 0, 576, 288, EIO, NEW_QUEUE, NO_STACK},
	{9,
	 40,
	 0,
	 56,
	 64,
	 0,
	 96,
	 0,
	 48,
	 72,
	 88,
	 104,
	 0,
	 0,
	 512,
	 64,
	 -EIO,
	 NEW_QUEUE,
	 {488, 58, 0, 32, 8}},
	{10,
	 40,
	 0,
	 56,
	 128,
	 0,
	 160,
	 0,
	 48,
	 136,
	 152,
	 168,
	 0,
	 0,
	 384,
	 64,
	 -EIO,
	 NEW_QUEUE,
	 {360, 58, 0, 32, 8}},
	{10,
	 40,
	 64,
	 56,
	 128,
	 136,
	 160,
	 0,
	 48,
	 144,
	 152,
	 168,
	 0,
	 0,
	 384,
	 64,
	 0,
	 NEW_QUEUE,
	 {368, 14, 10, 0, 48}},
};

const struct where *at;

static uint64_t table[10000]; /* of peers, where the layout has it outside of the region */

void put(unsigned int offset, uint64_t value, size_t size)
{
	if (offset)
		memcpy(region.base + offset, &value, size);
}

uint64_t get(unsigned int offset, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, region.base + offset, size);
	return value;
}

void write_at(int fd, unsigned int offset, uint64_t value, size_t size)
{
	if (offset)
		ck_assert_int_eq(pwrite(fd, &value, size, offset), (ssize_t)size);
}

int make_file(uint8_t number, size_t size)
{
	uint8_t first = number;
	int fd;

	snprintf(name, sizeof(name), "%d:%u:31415", (int)getpid(), (unsigned int)geteuid());
	snprintf(path, sizeof(path), "/dev/shm/%s", name);
	fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	ck_assert_int_eq(pwrite(fd, &first, 1, 0), 1);
	return fd;
}

void write_head(int fd)
{
	write_at(fd, at->pid, (uint64_t)getpid(), 4);
	write_at(fd, at->total, SIZE, 8);
	write_at(fd, at->cmd, CMD_QUEUE, 8);
	write_at(fd, at->inject, INJECT, 8);
	write_at(fd, at->sar, SAR, 8);
	write_at(fd, at->resp, RESP_RING, 8);
	write_at(fd, at->base, 0x10000000, 8);
	write_at(fd, at->stack, CMD_STACK, 8);
	write_at(fd, at->ret, RET_QUEUE, 8);
	write_at(fd, at->peers, PEERS, 8);
	if (at->inject)
		write_at(fd, INJECT + 8, 4096, 8);
	write_at(fd, SAR + 8, 32768, 8);
	if (at->stack)
		write_at(fd, CMD_STACK + 8, at->command.size, 8);
}

void fill_pool(unsigned int pool)
{
	put(pool + 16, ENTRIES, 8);
	put(pool + 24, ENTRIES, 2);
	put(pool + 26, 0, 2);
	for (unsigned int i = 0; i < ENTRIES; i++)
		put(pool + 28 + 2 * i, i + 1 < ENTRIES ? i + 1 : 0xffff, 2);
}

void put_peer(unsigned int number, const void *place)
{
	uintptr_t address = (uintptr_t)place;

	if (at->peers)
		put(PEERS + 16 + number * at->peer_size, address, sizeof(address));
	else
		memcpy((char *)table + 88 + 272 + number * at->peer_size, &address,
		       sizeof(address));
}

static void fill_queue(unsigned int queue, unsigned int size)
{
	put(queue + SIZE_AT, ENTRIES, 4);
	put(queue + SIZE_AT + 4, ENTRIES - 1, 4);
	for (unsigned int i = 0; i < ENTRIES; i++)
		put(queue + ENTRIES_AT + i * size, i, 8);
}

void make(int which)
{
	int fd;

	at = &layouts[which];
	fd = make_file(at->number, SIZE);
	write_head(fd);
	close(fd);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), 0);
	ck_assert_int_eq(region.pid, getpid());
	if (at->lock)
		ck_assert_int_eq(pthread_spin_init((void *)(region.base + at->lock),
						   PTHREAD_PROCESS_SHARED),
				 0);
	memset(table, 0, sizeof(table));
	put(at->map, (uintptr_t)table, 8);
	if (at->inject)
		fill_pool(INJECT);
	fill_pool(SAR);
	if (at == &layouts[V1_17]) {
		put(CMD_QUEUE, ENTRIES, 8);
		put(CMD_QUEUE + 8, ENTRIES - 1, 8);
		put(48, ENTRIES, 8);
	} else {
		fill_queue(CMD_QUEUE, at->cmd_size);
	}
	if (at->ret)
		fill_queue(RET_QUEUE, 64);
}

void finish(void)
{
	dofi_shm_map_close(&region);
	ck_assert_ptr_null(region.base);
	ck_assert_int_eq(names, 0);
	ck_assert_int_eq(mappings(), 0);
	ck_assert_int_eq(unlink(path), 0);
}
