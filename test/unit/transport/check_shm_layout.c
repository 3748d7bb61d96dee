/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A region with libfabric's layout, and the state that dead processes may leave in it. */
#include "unit.h"

#include "../../../prov/ofi/transport/shm_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
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
	ck_assert_int_eq(dofi_shm_map_open(&region, address), 0);
	end();
	ck_assert_int_eq(dofi_shm_map_open(&region, address), -ENOENT);
	ck_assert_int_eq(dofi_shm_map_open(&region, "fi_shm://../etc/passwd"), -EINVAL);
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
