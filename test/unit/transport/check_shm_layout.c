/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A region with libfabric's layout, and the state that dead processes may leave in it. */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/transport/shm_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define SIZE       (1u << 20)
#define CMD_QUEUE  0x400u
#define RESP_RING  0x40000u
#define RET_QUEUE  0x50000u
#define INJECT     0x60000u
#define SAR        0x70000u
#define CMD_STACK  0x80000u
#define PEERS      0x90000u
#define ENTRIES    8u
#define TAKEN_AT   64u
#define SIZE_AT    128u
#define ENTRIES_AT 192u

static struct dofi_shm_map region;
static char name[64], path[96];

/* --- calls that fail when a test says so; the linker redirects them --- */

static enum { NONE, FSTAT, MMAP, STRDUP, MALLOC, CALLOC } fails;
static int names; /* copies of names that were not freed */
static char *copied;
static int open_flags;

T_STAND_IN int __wrap_fstat(int fd, struct stat *st);
int __real_fstat(int fd, struct stat *st);
T_STAND_IN void *__wrap_mmap(void *where, size_t size, int prot, int flags, int fd, off_t offset);
void *__real_mmap(void *where, size_t size, int prot, int flags, int fd, off_t offset);
T_STAND_IN char *__wrap_strdup(const char *text);
char *__real_strdup(const char *text);
T_STAND_IN void *__wrap_malloc(size_t size);
void *__real_malloc(size_t size);
T_STAND_IN void *__wrap_calloc(size_t n, size_t size);
void *__real_calloc(size_t n, size_t size);
T_STAND_IN void __wrap_free(void *block);
void __real_free(void *block);
T_STAND_IN int __wrap_open(const char *file, int flags, ...);
int __real_open(const char *file, int flags, ...);

int __wrap_fstat(int fd, struct stat *st)
{
	errno = EIO;
	return fails == FSTAT ? -1 : __real_fstat(fd, st);
}

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

/* Nothing is written behind the block of the number of bytes that a test watches. */
#define BEHIND 16u

static size_t watched_size;
static uint8_t *watched;
static void *zeroed; /* what calloc returned last, until it is freed */

void *__wrap_malloc(size_t size)
{
	if (fails == MALLOC)
		return NULL;
	if (!watched_size || size != watched_size)
		return __real_malloc(size);
	watched = __real_malloc(size + BEHIND);
	memset(watched + size, 0x77, BEHIND);
	return watched;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return zeroed = fails == CALLOC ? NULL : __real_calloc(n, size);
}

void __wrap_free(void *block)
{
	if (block && block == watched) {
		for (size_t i = 0; i < BEHIND; i++)
			if (watched[watched_size + i] != 0x77)
				abort();
		watched = NULL;
	}
	if (block == zeroed)
		zeroed = NULL;
	if (block && block == copied) {
		names--;
		copied = NULL;
	}
	__real_free(block);
}

int __wrap_open(const char *file, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	open_flags = flags;
	return __real_open(file, flags, mode);
}

static int mappings(void)
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

static int next_fd(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

/* Offsets of the fields in each layout. */
struct where {
	uint8_t number;
	unsigned int pid, lock, total, cmd, inject, sar, resp, base, stack, ret, peers, cmd_size;
};

static const struct where layouts[] = {
	{4, 4, 24, 40, 64, 80, 88, 72, 0, 0, 0, 0, 256},
	{8, 4, 56, 72, 80, 96, 104, 88, 0, 0, 0, 0, 576},
	{10, 40, 64, 56, 128, 136, 160, 0, 48, 144, 152, 168, 384},
};

static const struct where *at;

static void put(unsigned int offset, uint64_t value, size_t size)
{
	if (offset)
		memcpy(region.base + offset, &value, size);
}

static uint64_t get(unsigned int offset, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, region.base + offset, size);
	return value;
}

static void write_at(int fd, unsigned int offset, uint64_t value, size_t size)
{
	if (offset)
		ck_assert_int_eq(pwrite(fd, &value, size, offset), (ssize_t)size);
}

static int make_file(uint8_t number, size_t size)
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

static void write_head(int fd)
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
}

static void fill_pool(unsigned int pool)
{
	put(pool + 16, ENTRIES, 8);
	put(pool + 24, ENTRIES, 2);
	put(pool + 26, 0, 2);
	for (unsigned int i = 0; i < ENTRIES; i++)
		put(pool + 28 + 2 * i, i + 1 < ENTRIES ? i + 1 : 0xffff, 2);
}

static void fill_queue(unsigned int queue, unsigned int size)
{
	put(queue + SIZE_AT, ENTRIES, 4);
	put(queue + SIZE_AT + 4, ENTRIES - 1, 4);
	for (unsigned int i = 0; i < ENTRIES; i++)
		put(queue + ENTRIES_AT + i * size, i, 8);
}

static void make(int which)
{
	int fd;

	at = &layouts[which];
	fd = make_file(at->number, SIZE);
	write_head(fd);
	close(fd);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), 0);
	ck_assert_int_eq(region.pid, getpid());
	ck_assert_int_eq(pthread_spin_init((void *)(region.base + at->lock),
					   PTHREAD_PROCESS_SHARED),
			 0);
	fill_pool(INJECT);
	fill_pool(SAR);
	if (at->number == 4) {
		put(CMD_QUEUE, ENTRIES, 8);
		put(CMD_QUEUE + 8, ENTRIES - 1, 8);
		put(48, ENTRIES, 8);
	} else {
		fill_queue(CMD_QUEUE, at->cmd_size);
	}
	if (at->ret)
		fill_queue(RET_QUEUE, 64);
}

static void end(void)
{
	dofi_shm_map_close(&region);
	ck_assert_ptr_null(region.base);
	ck_assert_int_eq(names, 0);
	ck_assert_int_eq(mappings(), 0);
	ck_assert_int_eq(unlink(path), 0);
}

START_TEST(names_of_endpoints)
{
	char address[96];

	make(_i);
	dofi_shm_map_close(&region);
	snprintf(address, sizeof(address), "fi_shm://%s", name);
	ck_assert_int_eq(dofi_shm_map_open(&region, address), 0);
	dofi_shm_map_close(&region);
	snprintf(address, sizeof(address), "fi_shm:///%s", name);
	close(STDIN_FILENO); /* the first descriptor is one, too */
	ck_assert_int_eq(dofi_shm_map_open(&region, address), 0);
	ck_assert_int_eq(next_fd(), STDIN_FILENO);
	end();
	ck_assert_int_eq(dofi_shm_map_open(&region, address), -ENOENT);
	ck_assert_int_eq(dofi_shm_map_open(&region, "fi_shm://../etc/passwd"), -EINVAL);
}
END_TEST

/* A refused region has no parts. */
static void is_refused(const char *address, int err)
{
	int next = next_fd();

	region = (struct dofi_shm_map){.base = path, .size = 1, .name = path};
	ck_assert_int_eq(dofi_shm_map_open(&region, address), err);
	ck_assert_ptr_null(region.base);
	ck_assert_ptr_null(region.name);
	ck_assert_uint_eq(region.size, 0);
	ck_assert_int_eq(names, 0);
	ck_assert_int_eq(mappings(), 0);
	ck_assert_int_eq(next_fd(), next);
}

START_TEST(names_that_are_none)
{
	char address[300];

	snprintf(name, sizeof(name), "%d:%u:31415", (int)getpid(), (unsigned int)geteuid());
	memset(address, 'a', sizeof(address));
	address[255] = '\0';
	is_refused(address, -ENOENT); /* the longest one */
	address[255] = 'a';
	address[256] = '\0';
	is_refused(address, -EINVAL);
	snprintf(address, sizeof(address), "fi_shm:/x%s", name);
	is_refused(address, -EINVAL);
	is_refused("a/b", -EINVAL);
	snprintf(path, sizeof(path), "/dev/shm/%s", name);
	ck_assert_int_eq(symlink("/dev/zero", path), 0);
	is_refused(name, -ELOOP);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(calls_that_fail_leave_nothing)
{
	static const int errs[] = {[FSTAT] = -EIO, [MMAP] = -ENODEV, [STRDUP] = -ENOMEM};
	int next = next_fd(), err;

	make(0);
	ck_assert_str_eq(region.name, name);
	ck_assert_int_eq(mappings(), 1);
	ck_assert_int_eq(open_flags, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	dofi_shm_map_close(&region);
	fails = (unsigned int)_i;
	err = dofi_shm_map_open(&region, name);
	fails = NONE; /* Check calls these, too */
	ck_assert_int_eq(err, errs[_i]);
	ck_assert_ptr_null(region.base);
	ck_assert_int_eq(names, 0);
	ck_assert_int_eq(mappings(), 0);
	ck_assert_int_eq(next_fd(), next);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* The offsets of a region lead to what is behind its head, and end before its end. */
START_TEST(offsets_that_lead_elsewhere)
{
	static const struct {
		uint64_t offset;
		int ret;
	} cases[] = {{88, -EPROTO},         {96, 0},         {97, -EPROTO},
		     {100, -EPROTO},        {0x400, 0},      {SIZE - 200, 0},
		     {SIZE - 192, -EPROTO}, {SIZE, -EPROTO}, {UINT64_MAX - 7, -EPROTO},
		     {0, -EPROTO}};
	unsigned int fields[7];

	at = &layouts[_i];
	memcpy(fields,
	       (unsigned int[]){at->cmd, at->inject, at->sar, at->resp, at->stack, at->ret,
				at->peers},
	       sizeof(fields));
	for (size_t i = 0; i < 7; i++)
		for (size_t j = 0; fields[i] && j < sizeof(cases) / sizeof(cases[0]); j++) {
			int fd = make_file(at->number, SIZE), ret;

			write_head(fd);
			write_at(fd, fields[i], cases[j].offset, 8);
			ret = dofi_shm_map_open(&region, name);
			ck_assert_msg(ret == cases[j].ret, "field %zu, case %zu: %d", i, j, ret);
			dofi_shm_map_close(&region);
			close(fd);
		}
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* The least size, and a total that the file has, and a process. */
START_TEST(limits_of_a_region)
{
	int fd;

	at = &layouts[_i];
	fd = make_file(at->number, 768);
	write_head(fd);
	for (unsigned int i = 0; i < 7; i++)
		write_at(fd,
			 (unsigned int[]){at->cmd, at->inject, at->sar, at->resp, at->stack,
					  at->ret, at->peers}[i],
			 400, 8);
	write_at(fd, at->total, 769, 8);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
	write_at(fd, at->total, 768, 8);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), 0);
	ck_assert_uint_eq(region.size, 768);
	dofi_shm_map_close(&region);
	write_at(fd, at->pid, 1, 4);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), 0);
	ck_assert_int_eq(region.pid, 1);
	dofi_shm_map_close(&region);
	write_at(fd, at->pid, (uint64_t)-1, 4);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
	ck_assert_int_eq(ftruncate(fd, 767), 0);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPERM);
	close(fd);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(a_region_of_another_user)
{
	if (geteuid())
		t_skip("only root can give files away");
	make(0);
	dofi_shm_map_close(&region);
	ck_assert_int_eq(chown(path, 65534, (gid_t)-1), 0);
	is_refused(name, -EPERM);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(unknown_layouts_are_not_changed)
{
	static const uint8_t others[] = {0, 3, 5, 7, 9, 11, 255};

	at = &layouts[0];
	for (size_t i = 0; i < sizeof(others); i++) {
		int fd = make_file(others[i], SIZE);

		write_head(fd);
		close(fd);
		ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
		ck_assert_ptr_null(region.base);
	}
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(files_that_are_no_regions)
{
	int fd;

	at = &layouts[_i];
	fd = make_file(at->number, 16);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPERM);
	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
	write_head(fd);
	write_at(fd, at->cmd, SIZE, 8);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
	write_at(fd, at->cmd, CMD_QUEUE, 8);
	write_at(fd, at->total, 2 * SIZE, 8);
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
	write_at(fd, at->total, SIZE, 8);
	write_at(fd, at->pid, 0, 4); /* nobody has it any more */
	ck_assert_int_eq(dofi_shm_map_open(&region, name), -EPROTO);
	close(fd);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(lock_excludes_libfabric_and_is_released)
{
	make(_i);
	ck_assert(dofi_shm_trylock(&region));
	ck_assert(!dofi_shm_trylock(&region));
	dofi_shm_unlock(&region);
	ck_assert_int_eq(pthread_spin_trylock((void *)(region.base + at->lock)), 0);
	ck_assert(!dofi_shm_trylock(&region));
	dofi_shm_unlock(&region);
	end();
}
END_TEST

START_TEST(a_dead_region_accepts_no_command)
{
	make(_i);
	ck_assert(dofi_shm_trylock(&region));
	dofi_shm_fill_dead(&region);
	ck_assert(dofi_shm_trylock(&region));
	if (at->number == 4) {
		ck_assert_uint_eq(get(48, 8), 0);
	} else {
		ck_assert_uint_eq(get(INJECT + 26, 2), 0xffff);
		ck_assert_uint_eq(get(SAR + 26, 2), 0xffff);
	}
	end();
}
END_TEST

static void put_command(unsigned int i, uint32_t op)
{
	put(CMD_QUEUE + 32 + i * 256 + 16, op, 4);
}

/* A message and a read of 2 entries, whose second entry is missing or present. */
START_TEST(an_incomplete_command_is_removed)
{
	make(0);
	put_command(0, 1);
	put_command(1, 2);
	put(CMD_QUEUE + 24, 2, 8);
	put(48, ENTRIES - 1, 8);
	dofi_shm_repair_own(&region);
	ck_assert_uint_eq(get(CMD_QUEUE + 24, 8), 1);
	ck_assert_uint_eq(get(48, 8), ENTRIES - 1);
	ck_assert_uint_eq(get(28, 4), 1);
	put(CMD_QUEUE + 24, 3, 8);
	dofi_shm_repair_own(&region);
	ck_assert_uint_eq(get(CMD_QUEUE + 24, 8), 3);
	ck_assert_uint_eq(get(48, 8), ENTRIES - 3);
	end();
}
END_TEST

/* Operations of two entries, each at the end of the ring without its second one. */
START_TEST(operations_of_two_entries)
{
	static const struct {
		uint32_t op;
		bool two;
	} ops[] = {{1, false}, {2, true}, {3, false}, {4, true}, {5, false},
		   {6, true},  {7, true}, {8, true},  {9, false}};

	make(0);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		put_command(0, ops[i].op);
		put(CMD_QUEUE + 24, 1, 8);
		dofi_shm_repair_own(&region);
		ck_assert_uint_eq(get(CMD_QUEUE + 24, 8), ops[i].two ? 0 : 1);
	}
	end();
}
END_TEST

/* The position of readers and of writers tells whether somebody works in the region. */
START_TEST(progress_is_that_of_both_ends)
{
	unsigned int put_at, taken_at;
	uint64_t before;

	make(_i);
	put_at = at->number == 4 ? CMD_QUEUE + 24 : CMD_QUEUE;
	taken_at = at->number == 4 ? CMD_QUEUE + 16 : CMD_QUEUE + TAKEN_AT;
	before = dofi_shm_progress(&region);
	put(put_at, get(put_at, 8) + 1, 8);
	ck_assert_uint_eq(dofi_shm_progress(&region), before + 1);
	put(taken_at, get(taken_at, 8) + 1, 8);
	ck_assert_uint_eq(dofi_shm_progress(&region), before + 2);
	end();
}
END_TEST

/* Layout 4 has no entries that are claimed, layout 10 no answers that a dead process owes. */
START_TEST(what_a_layout_does_not_have)
{
	struct dofi_shm_claim claims[4];
	struct dofi_shm_command commands[4];

	make(0);
	put(CMD_QUEUE + SIZE_AT, ENTRIES, 4); /* as a command may have it there */
	ck_assert_uint_eq(dofi_shm_claims(&region, claims, 4), 0);
	ck_assert_uint_eq(dofi_shm_commands(&region, &region, commands, 4), 0);
	end();
	make(2);
	put(SAR + 24, 0, 2);
	ck_assert(dofi_shm_is_idle(&region));
	ck_assert(dofi_shm_refill(&region));
	ck_assert_uint_eq(get(SAR + 24, 2), 0);
	ck_assert(dofi_shm_settle(&region, &region));
	end();
}
END_TEST

/* What a dead process has overwritten is not used as a size, and a count that is right stays. */
START_TEST(a_refill_believes_no_impossible_size)
{
	make(0);
	put(SAR + 16, 40000, 8);
	put(SAR + 24, 0, 2);
	put(48, ENTRIES, 8);
	ck_assert(dofi_shm_refill(&region));
	ck_assert_uint_eq(get(SAR + 24, 2), 0);
	ck_assert_uint_eq(get(48, 8), ENTRIES);
	end();
}
END_TEST

/* No more commands than buffers. */
START_TEST(lost_buffers_are_not_counted_as_free)
{
	make(0);
	put(INJECT + 26, 3, 2);
	dofi_shm_repair_own(&region);
	ck_assert_uint_eq(get(48, 8), ENTRIES - 3);
	end();
}
END_TEST

/* The list of free buffers may be anything: it may have no end, or lead outside. */
START_TEST(what_is_left_of_the_free_buffers)
{
	static const struct {
		uint16_t top, first; /* the second is the next one of buffer 0 */
		unsigned int n;
	} lists[] = {{0, 1, ENTRIES}, {0, 0, ENTRIES},     {0, 0xffff, 1},  {0, ENTRIES, 1},
		     {0, 0x7fff, 1},  {0xffff, 1, 0},      {ENTRIES, 1, 0}, {0x7fff, 1, 0},
		     {3, 1, 5},       {ENTRIES - 1, 1, 1}, {0x8000, 1, 0}};

	make(0);
	put(CMD_QUEUE, 2 * ENTRIES, 8);
	put(CMD_QUEUE + 8, 2 * ENTRIES - 1, 8);
	put(INJECT + 26, lists[_i].top, 2);
	put(INJECT + 28, lists[_i].first, 2);
	put(48, 2 * ENTRIES, 8);
	dofi_shm_repair_own(&region);
	ck_assert_uint_eq(get(48, 8), lists[_i].n);
	end();
}
END_TEST

/* The room is what the entries leave that are not taken out yet. */
START_TEST(room_behind_entries_that_were_taken)
{
	make(0);
	put(CMD_QUEUE + 16, 3, 8);
	put(CMD_QUEUE + 24, 5, 8);
	put_command(3, 1);
	put_command(4, 1);
	put(48, ENTRIES, 8);
	dofi_shm_repair_own(&region);
	ck_assert_uint_eq(get(48, 8), ENTRIES - 2);
	put(48, 1, 8); /* a count that is lower remains: other processes have reserved the rest */
	dofi_shm_repair_own(&region);
	ck_assert_uint_eq(get(48, 8), 1);
	/* the ring has wrapped: a read whose second entry is the first of the ring */
	put(CMD_QUEUE + 16, ENTRIES - 1, 8);
	put(CMD_QUEUE + 24, ENTRIES + 1, 8);
	put_command(ENTRIES - 1, 2);
	dofi_shm_repair_own(&region);
	ck_assert_uint_eq(get(CMD_QUEUE + 24, 8), ENTRIES + 1);
	end();
}
END_TEST

/* Layouts 8 and 10 have no ring to repair. */
START_TEST(a_queue_needs_no_repair)
{
	static uint8_t before[SIZE];

	make(_i);
	memcpy(before, region.base, SIZE);
	dofi_shm_repair_own(&region);
	ck_assert_mem_eq(region.base, before, SIZE);
	end();
}
END_TEST

/* A pool of the largest size is filled, an empty one and what is behind a pool are left alone. */
START_TEST(sizes_of_pools)
{
	make(1);
	put(SAR + 28 + 2 * ENTRIES, 0x7777, 2);
	ck_assert(dofi_shm_refill(&region));
	ck_assert_uint_eq(get(SAR + 28 + 2 * ENTRIES, 2), 0x7777);
	put(SAR + 16, 0, 8);
	put(SAR + 24, 5, 2);
	put(SAR + 26, 0x7777, 2);
	ck_assert(dofi_shm_refill(&region));
	ck_assert_uint_eq(get(SAR + 24, 2), 5);
	ck_assert_uint_eq(get(SAR + 26, 2), 0x7777);
	put(SAR + 16, 1, 8);
	ck_assert(dofi_shm_refill(&region));
	ck_assert_uint_eq(get(SAR + 24, 2), 1);
	ck_assert_uint_eq(get(SAR + 28, 2), 0xffff);
	put(SAR + 16, INT16_MAX, 8);
	ck_assert(dofi_shm_refill(&region));
	ck_assert_uint_eq(get(SAR + 24, 2), INT16_MAX);
	ck_assert_uint_eq(get(SAR + 28 + 2 * (INT16_MAX - 1), 2), 0xffff);
	put(SAR + 16, INT16_MAX + 1, 8);
	put(SAR + 24, 5, 2);
	ck_assert(dofi_shm_refill(&region));
	ck_assert_uint_eq(get(SAR + 24, 2), 5);
	end();
}
END_TEST

START_TEST(lost_entries_are_recovered)
{
	make(_i);
	put(SAR + 26, 0xffff, 2);
	put(SAR + 24, 0, 2);
	for (unsigned int i = 0; i < ENTRIES;
	     i++) /* the dead process has taken them in any order */
		put(SAR + 28 + 2 * i, 1, 2);
	put(48, at->number == 4 ? 1 : get(48, 8), 8);
	ck_assert(dofi_shm_is_idle(&region));
	put(RESP_RING + 24, 1, 8);
	ck_assert(!dofi_shm_is_idle(&region));
	put(RESP_RING + 24, 0, 8);
	put(at->number == 4 ? CMD_QUEUE + 24 : CMD_QUEUE, 1, 8);
	ck_assert(!dofi_shm_refill(&region));
	ck_assert_uint_eq(get(SAR + 24, 2), 0);
	put(at->number == 4 ? CMD_QUEUE + 24 : CMD_QUEUE, 0, 8);
	ck_assert(dofi_shm_refill(&region));
	ck_assert_uint_eq(get(SAR + 24, 2), ENTRIES);
	ck_assert_uint_eq(get(SAR + 26, 2), 0);
	for (unsigned int i = 0; i < ENTRIES; i++)
		ck_assert_uint_eq(get(SAR + 28 + 2 * i, 2), i + 1 < ENTRIES ? i + 1 : 0xffff);
	if (at->number == 4) {
		ck_assert_uint_eq(get(48, 8), ENTRIES - ENTRIES / 8);
		ck_assert_uint_eq(get(56, 8), ENTRIES);
	}
	end();
}
END_TEST

/* The second of three entries is not committed. */
START_TEST(a_claimed_entry_is_released)
{
	struct dofi_shm_claim claims[4];
	unsigned int second;

	make(_i);
	second = CMD_QUEUE + ENTRIES_AT + at->cmd_size;
	put(CMD_QUEUE, 3, 8);
	put(CMD_QUEUE + ENTRIES_AT, 1, 8);
	put(CMD_QUEUE + ENTRIES_AT + 2 * at->cmd_size, 3, 8);
	ck_assert_uint_eq(dofi_shm_claims(&region, claims, 4), 1);
	ck_assert(dofi_shm_is_claimed(&claims[0]));
	ck_assert_ptr_eq(claims[0].entry, region.base + second);
	ck_assert_uint_eq(dofi_shm_claims(&region, claims, 0), 0);
	dofi_shm_discard(&claims[0]);
	ck_assert(!dofi_shm_is_claimed(&claims[0]));
	ck_assert_uint_eq(get(second, 8), 2);
	ck_assert_uint_eq(get(second + 8, 1), 1);
	ck_assert_uint_eq(dofi_shm_claims(&region, claims, 4), 0);
	if (at->ret) {
		put(RET_QUEUE, 1, 8);
		ck_assert_uint_eq(dofi_shm_claims(&region, claims, 4), 1);
		ck_assert_ptr_eq(claims[0].entry, region.base + RET_QUEUE + ENTRIES_AT);
	}
	end();
}
END_TEST

/* A queue that looks fuller than it can be has no claims that can be told. */
START_TEST(as_many_claims_as_a_queue_has)
{
	struct dofi_shm_claim claims[2 * ENTRIES + 1];

	make(_i);
	put(CMD_QUEUE, ENTRIES, 8);
	ck_assert_uint_eq(dofi_shm_claims(&region, claims, 2 * ENTRIES), ENTRIES);
	for (unsigned int i = 0; i < ENTRIES; i++) {
		ck_assert_int_eq(claims[i].position, i);
		ck_assert_ptr_eq(claims[i].entry,
				 region.base + CMD_QUEUE + ENTRIES_AT + i * at->cmd_size);
	}
	claims[3].entry = path;
	ck_assert_uint_eq(dofi_shm_claims(&region, claims, 3), 3);
	ck_assert_ptr_eq(claims[3].entry, path);
	put(CMD_QUEUE + TAKEN_AT, 2, 8);
	ck_assert_uint_eq(dofi_shm_claims(&region, claims, ENTRIES), ENTRIES - 2);
	ck_assert_int_eq(claims[0].position, 2);
	if (at->ret) {
		put(RET_QUEUE, 2, 8);
		claims[ENTRIES - 1].entry = path;
		ck_assert_uint_eq(dofi_shm_claims(&region, claims, ENTRIES - 1), ENTRIES - 1);
		ck_assert_ptr_eq(claims[ENTRIES - 2].entry, region.base + RET_QUEUE + ENTRIES_AT);
		ck_assert_uint_eq(dofi_shm_claims(&region, claims, 2 * ENTRIES), ENTRIES);
		ck_assert_int_eq(claims[ENTRIES - 1].position, 1);
	}
	put(CMD_QUEUE, 2 + ENTRIES + 1, 8);
	put(RET_QUEUE, 0, 8);
	ck_assert_uint_eq(dofi_shm_claims(&region, claims, ENTRIES), 0);
	end();
}
END_TEST

/* The table of peers, in which the second is mapped where this test has mapped its own region. */
static char *map_of_peers(unsigned int first, unsigned int size)
{
	static uint64_t map[10000];
	uintptr_t place = (uintptr_t)region.base;

	memset(map, 0, sizeof(map));
	memcpy((char *)map + first + size + 272, &place, sizeof(place));
	return (char *)map;
}

static void put_request(unsigned int i, uint64_t *request, int64_t peer, uint16_t source)
{
	unsigned int answer = RESP_RING + 32 + 16 * i;
	uint64_t length = 100, offset = answer;

	memset(request, 0, 45 * sizeof(*request));
	memcpy((char *)request + 20, &source, sizeof(source));
	memcpy((char *)request + 24, &length, sizeof(length));
	memcpy((char *)request + 32, &offset, sizeof(offset));
	memcpy((char *)request + 256, &peer, sizeof(peer));
	put(answer, (uintptr_t)request, 8);
	put(answer + 8, source == 4 ? 1026 : EBUSY, 8);
}

static uint64_t status_of(unsigned int i)
{
	return get(RESP_RING + 32 + 16 * i + 8, 8);
}

/* Two commands wait for the dead peer, one of them with buffers. A third waits for another peer. */
START_TEST(commands_for_a_dead_process_end)
{
	static uint64_t requests[3][45];

	make(_i);
	put(_i ? 64 : 32, (uintptr_t)map_of_peers(88, _i ? 288 : 280), 8);
	put(RESP_RING, ENTRIES, 8);
	put(RESP_RING + 8, ENTRIES - 1, 8);
	put(RESP_RING + 24, 3, 8);
	put_request(0, requests[0], 1, 2);
	put_request(1, requests[1], 0, 2);
	put_request(2, requests[2], 1, 4);
	ck_assert(!dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), _i ? EIO : (uint64_t)-EIO);
	ck_assert_uint_eq(status_of(1), EBUSY);
	ck_assert_uint_eq(status_of(2), 1025);
	ck_assert_uint_eq(requests[2][44], 100);
	put(RESP_RING + 16, 1, 8);
	put_request(2, requests[2], 0, 2);
	put_request(1, requests[1], 1, 2);
	put(RESP_RING + 32 + 16 + 8, 0, 8); /* answered already */
	dofi_shm_settle(&region, &region);
	ck_assert_uint_eq(status_of(1), 0);
	put_request(1, requests[1], 0, 2);
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(2), EBUSY);
	end();
}
END_TEST

/* One request for the peer of that number, at the position in the ring. */
static void put_one(uint64_t *request, size_t position, int64_t peer)
{
	put(RESP_RING, ENTRIES, 8);
	put(RESP_RING + 8, ENTRIES - 1, 8);
	put(RESP_RING + 16, position, 8);
	put(RESP_RING + 24, position + 1, 8);
	put_request(position % ENTRIES, request, peer, 2);
}

/* Makes this place the one of the peer with that number. */
static char *peer_of(char *map, unsigned int number, const void *place)
{
	uintptr_t address = (uintptr_t)place;

	memcpy(map + 88 + 272 + number * (at->number == 4 ? 280 : 288), &address, sizeof(address));
	return map;
}

/* Only those of the dead peer end, wherever they are in the ring. */
START_TEST(requests_for_others_go_on)
{
	static const struct {
		int64_t peer;
		bool ends;
	} peers[] = {{0, true},    {1, false},  {254, false},      {255, true},
		     {256, false}, {-1, false}, {INT64_MIN, false}};
	static uint64_t request[45];
	char *map;

	make(_i);
	map = map_of_peers(88, 0);
	memset(map, 0, 80000);
	peer_of(peer_of(map, 0, region.base), 255, region.base);
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		put(_i ? 64 : 32, (uintptr_t)map, 8);
		put(28, 0, 4);
		put_one(request, 3 * i, peers[i].peer);
		ck_assert_int_eq(dofi_shm_settle(&region, &region), !peers[i].ends);
		if (peers[i].ends)
			ck_assert_uint_eq(status_of(3 * i % ENTRIES), _i ? EIO : (uint64_t)-EIO);
		else
			ck_assert_uint_eq(status_of(3 * i % ENTRIES), EBUSY);
		ck_assert_uint_eq(get(28, 4), _i ? 0 : 1); /* layout 4 has a signal there */
		ck_assert_uint_eq(get(0, 1), at->number);
	}
	/* an answer that is free, and one of another request */
	put_one(request, 0, 0);
	put(RESP_RING + 32, 0, 8);
	ck_assert(dofi_shm_settle(&region, &region));
	put_one(request, 0, 0);
	request[4]++;
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), EBUSY);
	/* libfabric has no table yet */
	put_one(request, 0, 0);
	put(_i ? 64 : 32, 0, 8);
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), EBUSY);
	end();
}
END_TEST

/* The table ends with its last peer. Without the dead peer nothing changes. */
START_TEST(what_is_behind_the_table)
{
	static uint64_t request[45];
	char *map;

	make(0);
	map = map_of_peers(88, 0);
	memset(map, 0, 80000);
	put(32, (uintptr_t)peer_of(map, 256, region.base), 8);
	put_one(request, 0, 0);
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), EBUSY);
	ck_assert_uint_eq(get(28, 4), 0);
	peer_of(map, 255, region.base);
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), EBUSY);
	ck_assert_uint_eq(get(28, 4), 1);
	end();
}
END_TEST

/* A peer is known by the place of its region, among other files of the directory and memory. */
START_TEST(mappings_of_other_files)
{
	static uint64_t request[45];
	struct rlimit files, none;
	char other[120], *map;
	void *place;
	int fd, next, ret;

	make(0);
	snprintf(other, sizeof(other), "%s0", path);
	fd = open(other, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(place, MAP_FAILED);
	close(fd);
	ck_assert_int_eq(unlink(other), 0);
	next = next_fd();
	map = peer_of(map_of_peers(88, 0), 0, place);
	put(32, (uintptr_t)map, 8);
	put_one(request, 0, 0);
	ck_assert(dofi_shm_settle(&region, &region));
	peer_of(map, 0, request);
	ck_assert(dofi_shm_settle(&region, &region));
	ck_assert_uint_eq(status_of(0), EBUSY);
	peer_of(map, 0, region.base);
	/* without a descriptor the places are not known, so it is tried again */
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = files;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ret = dofi_shm_settle(&region, &region);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	ck_assert(ret);
	ck_assert_uint_eq(status_of(0), EBUSY);
	ck_assert(!dofi_shm_settle(&region, &region));
	ck_assert_int_eq(next_fd(), next);
	munmap(place, 4096);
	end();
}
END_TEST

/* One IA may have mapped the region of another one several times. */
START_TEST(many_mappings_of_a_region)
{
	enum { TIMES = 12 };
	static uint64_t request[45];
	void *places[TIMES];
	int fd, found = 0;
	char *map;

	make(0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	for (int i = 0; i < TIMES; i++) {
		places[i] = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ck_assert_ptr_ne(places[i], MAP_FAILED);
	}
	close(fd);
	map = map_of_peers(88, 0);
	put(32, (uintptr_t)map, 8);
	for (int i = 0; i < TIMES; i++) {
		peer_of(map, 0, places[i]);
		put_one(request, 0, 0);
		found += !dofi_shm_settle(&region, &region);
	}
	ck_assert_int_ge(found, 7); /* of the first eight one is the test's own */
	ck_assert_int_le(found, 8);
	for (int i = 0; i < TIMES; i++)
		munmap(places[i], SIZE);
	end();
}
END_TEST

static void put_stack_command(unsigned int i, int16_t peer, uint8_t flags)
{
	unsigned int command = CMD_STACK + 4096 + i * 368;

	put(command + 14, (uint64_t)(uint16_t)peer, 2);
	put(command + 10, flags, 1);
	put(command + 48, 1000 + i, 8);
}

/*
 * Commands 0 to 3 are under way. 0 and 1 belong to the dead peer, and 1 has already been returned.
 * 4 is free.
 */
START_TEST(commands_of_a_dead_process_are_freed)
{
	struct dofi_shm_command commands[ENTRIES];
	uint64_t base, place;

	make(2);
	base = get(48, 8);
	fill_pool(CMD_STACK);
	put(CMD_STACK, 4096, 8);
	put(CMD_STACK + 8, 368, 8);
	put(CMD_STACK + 26, 4, 2);
	place = (uintptr_t)region.base;
	memcpy(region.base + PEERS + 3 * 64 + 16, &place, sizeof(place));
	put_stack_command(0, 3, 8);
	put_stack_command(1, 3, 8);
	put_stack_command(2, 2, 8);
	put_stack_command(3, 3, 0);
	put_stack_command(4, 3, 8);
	put(RET_QUEUE, 1, 8);
	put(RET_QUEUE + ENTRIES_AT, 1, 8);
	put(RET_QUEUE + ENTRIES_AT + 16, base + CMD_STACK + 4096 + 368, 8);
	ck_assert_uint_eq(dofi_shm_commands(&region, &region, commands, ENTRIES), 1);
	ck_assert_ptr_eq(commands[0].command, region.base + CMD_STACK + 4096);
	ck_assert_uint_eq(commands[0].context, 1000);
	commands[0].context = 7; /* reused meanwhile */
	dofi_shm_give_back(&region, &region, commands, 1);
	ck_assert_uint_eq(get(RET_QUEUE, 8), 1);
	commands[0].context = 1000;
	dofi_shm_give_back(&region, &region, commands, 1);
	ck_assert_uint_eq(get(RET_QUEUE, 8), 2);
	ck_assert_uint_eq(get(RET_QUEUE + ENTRIES_AT + 64, 8), 2);
	ck_assert_uint_eq(get(RET_QUEUE + ENTRIES_AT + 64 + 16, 8), base + CMD_STACK + 4096);
	ck_assert_uint_eq(get(CMD_STACK + 4096 + 10, 1), 12);
	ck_assert_uint_eq(dofi_shm_commands(&region, &region, commands, ENTRIES), 0);
	end();
}
END_TEST

/* A stack of commands that are all under way at peer 3, whose region is this one. */
static void make_stack(void)
{
	uint64_t place;

	make(2);
	fill_pool(CMD_STACK);
	put(CMD_STACK, 4096, 8);
	put(CMD_STACK + 8, 368, 8);
	put(CMD_STACK + 26, 0xffff, 2);
	place = (uintptr_t)region.base;
	memcpy(region.base + PEERS + 3 * 64 + 16, &place, sizeof(place));
	for (unsigned int i = 0; i <= ENTRIES; i++) /* the last one is behind the stack */
		put_stack_command(i, 3, 8);
	watched_size = ENTRIES; /* bytes that tell which commands are under way */
}

/* The commands that are found, as bits. */
static unsigned int commands_found(void)
{
	struct dofi_shm_command commands[ENTRIES];
	size_t n = dofi_shm_commands(&region, &region, commands, ENTRIES);
	unsigned int bits = 0;

	ck_assert_ptr_null(watched);
	for (size_t i = 0; i < n; i++)
		bits |= 1u << (commands[i].context - 1000);
	ck_assert_int_eq(__builtin_popcount(bits), (int)n);
	return bits;
}

/* The list of free commands, whatever a dead process has written there. */
START_TEST(free_commands_are_not_under_way)
{
	static const struct {
		uint16_t top, next[3]; /* of commands 0 to 2 */
		unsigned int found;
	} lists[] = {{0xffff, {1, 2, 3}, 0xff},  {0, {0xffff, 2, 3}, 0xfe},
		     {0, {2, 2, 0xffff}, 0xfa},  {1, {1, 0, 3}, 0xfc},
		     {0, {0, 2, 3}, 0xfe},       {ENTRIES - 1, {1, 2, 3}, 0x7f},
		     {ENTRIES, {1, 2, 3}, 0xff}, {0x7fff, {1, 2, 3}, 0xff},
		     {0, {ENTRIES, 2, 3}, 0xfe}, {0, {1, 2, 3}, 0},
		     {0x8000, {1, 2, 3}, 0xff}};

	make_stack();
	put(CMD_STACK + 26, lists[_i].top, 2);
	for (unsigned int i = 0; i < 3; i++)
		put(CMD_STACK + 28 + 2 * i, lists[_i].next[i], 2);
	ck_assert_uint_eq(commands_found(), lists[_i].found);
	end();
}
END_TEST

static void put_return(unsigned int position, uint64_t command)
{
	put(RET_QUEUE + ENTRIES_AT + position % ENTRIES * 64, position + 1, 8);
	put(RET_QUEUE + ENTRIES_AT + position % ENTRIES * 64 + 16, command, 8);
}

/* Also if the queue has wrapped, and up to as many as it has entries. */
START_TEST(returned_commands_are_not_under_way)
{
	uint64_t first = 0x10000000 + CMD_STACK + 4096;

	make_stack();
	put(RET_QUEUE + TAKEN_AT, 5, 8);
	put(RET_QUEUE, 5, 8);
	ck_assert_uint_eq(commands_found(), 0xff);
	for (unsigned int i = 0; i < ENTRIES; i++) {
		put_return(5 + i, first + i * 368);
		put(RET_QUEUE, 5 + i + 1, 8);
		ck_assert_uint_eq(commands_found(), 0xff & ~((2u << i) - 1));
	}
	put(RET_QUEUE, 5 + ENTRIES + 1, 8); /* it has no such number of entries */
	ck_assert_uint_eq(commands_found(), 0xff);
	/* what is no command */
	put(RET_QUEUE, 7, 8);
	put_return(5, first - 1);
	put_return(6, first + ENTRIES * 368);
	ck_assert_uint_eq(commands_found(), 0xff);
	end();
}
END_TEST

START_TEST(commands_at_other_peers_are_left)
{
	static const int16_t peers[ENTRIES] = {3, -1, 0, 255, 256, 2, INT16_MAX, INT16_MIN};
	struct dofi_shm_command commands[ENTRIES] = {{0}};
	uint64_t place;

	make_stack();
	for (unsigned int i = 0; i < ENTRIES; i++)
		put_stack_command(i, peers[i], 8);
	ck_assert_uint_eq(commands_found(), 1);
	place = (uintptr_t)region.base;
	memcpy(region.base + PEERS + 255 * 64 + 16, &place, sizeof(place));
	memcpy(region.base + PEERS + 16, &place, sizeof(place));
	ck_assert_uint_eq(commands_found(), 0xd);
	put(CMD_STACK + 4096 + 10, 0xf7, 1); /* one that the peer does not give back */
	ck_assert_uint_eq(commands_found(), 0xc);
	put(CMD_STACK + 4096 + 10, 0xff, 1);
	ck_assert_uint_eq(dofi_shm_commands(&region, &region, commands, 2), 2);
	ck_assert_uint_eq(commands[1].context, 1002);
	ck_assert_ptr_null(commands[2].command);
	end();
}
END_TEST

/* Sizes that are possible, and those that are not; and no memory. */
START_TEST(stacks_of_commands)
{
	struct dofi_shm_command commands[ENTRIES];
	size_t n;

	make_stack();
	fails = MALLOC;
	n = dofi_shm_commands(&region, &region, commands, ENTRIES);
	fails = NONE;
	ck_assert_uint_eq(n, 0);
	put(CMD_STACK + 8, 0, 8); /* all in one place */
	put(CMD_STACK + 16, INT16_MAX, 8);
	ck_assert_uint_eq(dofi_shm_commands(&region, &region, commands, ENTRIES), ENTRIES);
	put(CMD_STACK + 16, INT16_MAX + 1, 8);
	ck_assert_uint_eq(dofi_shm_commands(&region, &region, commands, ENTRIES), 0);
	end();
}
END_TEST

/* Those that are still the same; without memory it is not known which. */
START_TEST(only_the_same_commands_are_given_back)
{
	struct dofi_shm_command commands[ENTRIES];

	make_stack();
	ck_assert_uint_eq(dofi_shm_commands(&region, &region, commands, ENTRIES), ENTRIES);
	fails = CALLOC;
	dofi_shm_give_back(&region, &region, commands, ENTRIES);
	fails = NONE;
	ck_assert_uint_eq(get(RET_QUEUE, 8), 0);
	commands[0].context++;
	commands[1].command = commands[2].command;
	put_stack_command(3, 2, 8);
	put_stack_command(5, 3, 0x48);
	zeroed = NULL;
	dofi_shm_give_back(&region, &region, commands, 6);
	ck_assert_ptr_null(zeroed);
	ck_assert_uint_eq(get(RET_QUEUE, 8), 3);
	for (unsigned int i = 0; i < 3; i++) {
		static const unsigned int back[] = {2, 4, 5};

		ck_assert_uint_eq(get(RET_QUEUE + ENTRIES_AT + i * 64, 8), i + 1);
		ck_assert_uint_eq(get(RET_QUEUE + ENTRIES_AT + i * 64 + 16, 8),
				  0x10000000 + CMD_STACK + 4096 + back[i] * 368);
	}
	ck_assert_uint_eq(get(CMD_STACK + 4096 + 5 * 368 + 10, 1), 0x4c);
	ck_assert_uint_eq(commands_found(), 0xff & ~0x3cu);
	end();
}
END_TEST

/* The queue of commands that come back is full, or has an entry that is no command. */
START_TEST(commands_that_can_not_be_given_back)
{
	struct dofi_shm_command commands[ENTRIES];
	uint64_t place;

	make(2);
	fill_pool(CMD_STACK);
	put(CMD_STACK, 4096, 8);
	put(CMD_STACK + 8, 368, 8);
	put(CMD_STACK + 26, 1, 2);
	place = (uintptr_t)region.base;
	memcpy(region.base + PEERS + 3 * 64 + 16, &place, sizeof(place));
	put_stack_command(0, 3, 8);
	put(RET_QUEUE, 2, 8);
	put(RET_QUEUE + ENTRIES_AT, 1, 8);
	put(RET_QUEUE + ENTRIES_AT + 16, 1, 8);
	put(RET_QUEUE + ENTRIES_AT + 64, 2, 8);
	put(RET_QUEUE + ENTRIES_AT + 64 + 16, UINT64_MAX, 8);
	ck_assert_uint_eq(dofi_shm_commands(&region, &region, commands, ENTRIES), 1);
	put(RET_QUEUE, ENTRIES, 8);
	for (unsigned int i = 0; i < ENTRIES; i++)
		put(RET_QUEUE + ENTRIES_AT + i * 64, i + 1, 8);
	put(RET_QUEUE + TAKEN_AT, ENTRIES - 1, 8);
	put(RET_QUEUE + ENTRIES_AT + (ENTRIES - 1) * 64 + 16, 1, 8);
	dofi_shm_give_back(&region, &region, commands, 1);
	ck_assert_uint_eq(get(RET_QUEUE, 8), ENTRIES);
	ck_assert_uint_eq(get(CMD_STACK + 4096 + 10, 1), 8);
	put(CMD_STACK + 16, 40000, 8);
	ck_assert_uint_eq(dofi_shm_commands(&region, &region, commands, ENTRIES), 0);
}
END_TEST

/* By libfabric's numbers, from a message to what follows the last atomic operation. */
START_TEST(an_operation_without_its_second_entry_is_removed)
{
	static const uint8_t entries[] = {1, 1, 2, 1, 2, 1, 2, 2, 2, 1};

	ck_assert_int_lt(_i, (int)sizeof(entries));
	make(0);
	put_command(0, (uint32_t)_i);
	put(CMD_QUEUE + 24, 1, 8);
	dofi_shm_repair_own(&region);
	ck_assert_uint_eq(get(CMD_QUEUE + 24, 8), entries[_i] == 1);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm_layout");
	TCase *tcase = tcase_create("shm_layout");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, names_of_endpoints, 0, 3);
	tcase_add_test(tcase, names_that_are_none);
	tcase_add_loop_test(tcase, calls_that_fail_leave_nothing, FSTAT, STRDUP + 1);
	tcase_add_loop_test(tcase, offsets_that_lead_elsewhere, 0, 3);
	tcase_add_loop_test(tcase, limits_of_a_region, 0, 3);
	tcase_add_test(tcase, a_region_of_another_user);
	tcase_add_loop_test(tcase, what_is_left_of_the_free_buffers, 0, 11);
	tcase_add_test(tcase, room_behind_entries_that_were_taken);
	tcase_add_loop_test(tcase, a_queue_needs_no_repair, 1, 3);
	tcase_add_test(tcase, sizes_of_pools);
	tcase_add_loop_test(tcase, as_many_claims_as_a_queue_has, 1, 3);
	tcase_add_loop_test(tcase, requests_for_others_go_on, 0, 2);
	tcase_add_test(tcase, what_is_behind_the_table);
	tcase_add_test(tcase, mappings_of_other_files);
	tcase_add_test(tcase, many_mappings_of_a_region);
	tcase_add_loop_test(tcase, free_commands_are_not_under_way, 0, 11);
	tcase_add_test(tcase, returned_commands_are_not_under_way);
	tcase_add_test(tcase, commands_at_other_peers_are_left);
	tcase_add_test(tcase, stacks_of_commands);
	tcase_add_test(tcase, only_the_same_commands_are_given_back);
	tcase_add_test(tcase, unknown_layouts_are_not_changed);
	tcase_add_loop_test(tcase, files_that_are_no_regions, 0, 3);
	tcase_add_loop_test(tcase, lock_excludes_libfabric_and_is_released, 0, 3);
	tcase_add_loop_test(tcase, a_dead_region_accepts_no_command, 0, 3);
	tcase_add_test(tcase, an_incomplete_command_is_removed);
	tcase_add_loop_test(tcase, an_operation_without_its_second_entry_is_removed, 0, 10);
	tcase_add_test(tcase, lost_buffers_are_not_counted_as_free);
	tcase_add_loop_test(tcase, lost_entries_are_recovered, 0, 2);
	tcase_add_loop_test(tcase, a_claimed_entry_is_released, 1, 3);
	tcase_add_loop_test(tcase, commands_for_a_dead_process_end, 0, 2);
	tcase_add_test(tcase, commands_of_a_dead_process_are_freed);
	tcase_add_test(tcase, commands_that_can_not_be_given_back);
	tcase_add_test(tcase, operations_of_two_entries);
	tcase_add_loop_test(tcase, progress_is_that_of_both_ends, 0, 3);
	tcase_add_test(tcase, what_a_layout_does_not_have);
	tcase_add_test(tcase, a_refill_believes_no_impossible_size);
	return t_run(suite);
}
