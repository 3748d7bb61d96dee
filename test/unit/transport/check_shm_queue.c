/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The queue of commands and the pools of buffers, as dead processes may leave them: what is
 * repaired, recovered and released.
 */
#include "made_region.h"

#include "transport/shm_queue.h"

#include <string.h>

/* --- the queue --- */

/* 1.18.0 takes buffers of an empty pool, so that is left as it is. 2.5 has pools of its own. */
static bool is_emptied(int layout)
{
	return layout != V1_18 && layout != V2_5_0 && layout != V2_5_1;
}

START_TEST(a_dead_region_accepts_no_command)
{
	make(_i);
	ck_assert(dofi_shm_trylock(&region));
	dofi_shm_fill_dead(&region);
	ck_assert(dofi_shm_trylock(&region));
	if (_i == V1_17) {
		ck_assert_uint_eq(get(48, 8), 0);
	} else {
		uint16_t top = is_emptied(_i) ? 0xffff : 0;

		ck_assert_uint_eq(get(INJECT + 26, 2), top);
		ck_assert_uint_eq(get(SAR + 26, 2), top);
	}
	finish();
}
END_TEST

/* The position of readers and of writers tells whether somebody works in the region. */
START_TEST(progress_is_that_of_both_ends)
{
	unsigned int put_at, taken_at;
	uint64_t before;

	make(_i);
	put_at = CMD_QUEUE + (_i == V1_17 ? 24 : PUT_AT);
	taken_at = CMD_QUEUE + (_i == V1_17 ? 16 : TAKEN_AT);
	before = dofi_shm_progress(&region);
	put(put_at, get(put_at, 8) + 1, 8);
	ck_assert_uint_eq(dofi_shm_progress(&region), before + 1);
	put(taken_at, get(taken_at, 8) + 1, 8);
	ck_assert_uint_eq(dofi_shm_progress(&region), before + 2);
	finish();
}
END_TEST

static void put_command(unsigned int i, uint32_t op)
{
	put(CMD_QUEUE + 32 + i * 256 + 16, op, 4);
}

/* A message and a read of 2 entries, whose second entry is missing or present. */
START_TEST(an_incomplete_command_is_removed)
{
	make(V1_17);
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
	finish();
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

	make(V1_17);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		put_command(0, ops[i].op);
		put(CMD_QUEUE + 24, 1, 8);
		dofi_shm_repair_own(&region);
		ck_assert_uint_eq(get(CMD_QUEUE + 24, 8), ops[i].two ? 0 : 1);
	}
	finish();
}
END_TEST

/* By libfabric's numbers, from a message to what follows the last atomic operation. */
START_TEST(an_operation_without_its_second_entry_is_removed)
{
	static const uint8_t entries[] = {1, 1, 2, 1, 2, 1, 2, 2, 2, 1};

	ck_assert_int_lt(_i, (int)sizeof(entries));
	make(V1_17);
	put_command(0, (uint32_t)_i);
	put(CMD_QUEUE + 24, 1, 8);
	dofi_shm_repair_own(&region);
	ck_assert_uint_eq(get(CMD_QUEUE + 24, 8), entries[_i] == 1);
	finish();
}
END_TEST

/* No more commands than buffers. */
START_TEST(lost_buffers_are_not_counted_as_free)
{
	make(V1_17);
	put(INJECT + 26, 3, 2);
	dofi_shm_repair_own(&region);
	ck_assert_uint_eq(get(48, 8), ENTRIES - 3);
	finish();
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

	make(V1_17);
	put(CMD_QUEUE, 2 * ENTRIES, 8);
	put(CMD_QUEUE + 8, 2 * ENTRIES - 1, 8);
	put(INJECT + 26, lists[_i].top, 2);
	put(INJECT + 28, lists[_i].first, 2);
	put(48, 2 * ENTRIES, 8);
	dofi_shm_repair_own(&region);
	ck_assert_uint_eq(get(48, 8), lists[_i].n);
	finish();
}
END_TEST

/* The room is what the entries leave that are not taken out yet. */
START_TEST(room_behind_entries_that_were_taken)
{
	make(V1_17);
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
	finish();
}
END_TEST

/* Layouts with a queue have no ring to repair. */
START_TEST(a_queue_needs_no_repair)
{
	static uint8_t before[SIZE];

	make(_i);
	memcpy(before, region.base, SIZE);
	dofi_shm_repair_own(&region);
	ck_assert_mem_eq(region.base, before, SIZE);
	finish();
}
END_TEST

/* --- pools --- */

/* What a dead process has overwritten is not used as a size, and a count that is right stays. */
START_TEST(a_refill_believes_no_impossible_size)
{
	make(V1_17);
	put(SAR + 16, 40000, 8);
	put(SAR + 24, 0, 2);
	put(48, ENTRIES, 8);
	ck_assert(dofi_shm_refill(&region));
	ck_assert_uint_eq(get(SAR + 24, 2), 0);
	ck_assert_uint_eq(get(48, 8), ENTRIES);
	finish();
}
END_TEST

/* A pool of the largest size is filled, an empty one and what is behind a pool are left alone. */
START_TEST(sizes_of_pools)
{
	make(V2_0);
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
	finish();
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
	put(48, _i == V1_17 ? 1 : get(48, 8), 8);
	ck_assert(dofi_shm_is_idle(&region));
	put(RESP_RING + 24, 1, 8);
	ck_assert(!dofi_shm_is_idle(&region));
	put(RESP_RING + 24, 0, 8);
	put(CMD_QUEUE + (_i == V1_17 ? 24 : PUT_AT), 1, 8);
	ck_assert(!dofi_shm_refill(&region));
	ck_assert_uint_eq(get(SAR + 24, 2), 0);
	put(CMD_QUEUE + (_i == V1_17 ? 24 : PUT_AT), 0, 8);
	ck_assert(dofi_shm_refill(&region));
	ck_assert_uint_eq(get(SAR + 24, 2), ENTRIES);
	ck_assert_uint_eq(get(SAR + 26, 2), 0);
	for (unsigned int i = 0; i < ENTRIES; i++)
		ck_assert_uint_eq(get(SAR + 28 + 2 * i, 2), i + 1 < ENTRIES ? i + 1 : 0xffff);
	if (_i == V1_17) {
		ck_assert_uint_eq(get(48, 8), ENTRIES - ENTRIES / 8);
		ck_assert_uint_eq(get(56, 8), ENTRIES);
	}
	finish();
}
END_TEST

/* Peers of these layouts use buffers of their own. */
START_TEST(layouts_with_nothing_to_refill)
{
	make(_i);
	put(SAR + 24, 0, 2);
	ck_assert(dofi_shm_is_idle(&region));
	ck_assert(dofi_shm_refill(&region));
	ck_assert_uint_eq(get(SAR + 24, 2), 0);
	finish();
}
END_TEST

/* --- entries that a process has claimed --- */

START_TEST(a_ring_has_no_claims)
{
	struct dofi_shm_claim claims[4];

	make(V1_17);
	put(CMD_QUEUE + 128, ENTRIES, 4); /* as a command may have it there */
	ck_assert_uint_eq(dofi_shm_claims(&region, claims, 4), 0);
	finish();
}
END_TEST

/* The second of three entries is not committed. */
START_TEST(a_claimed_entry_is_released)
{
	struct dofi_shm_claim claims[4];
	unsigned int second;

	make(_i);
	second = CMD_QUEUE + ENTRIES_AT + at->cmd_size;
	put(CMD_QUEUE + PUT_AT, 3, 8);
	put(CMD_QUEUE + ENTRIES_AT, 1, 8);
	put(CMD_QUEUE + ENTRIES_AT + 2 * at->cmd_size, 3, 8);
	ck_assert_uint_eq(dofi_shm_claims(&region, claims, 4), 1);
	ck_assert(dofi_shm_is_claimed(&claims[0]));
	ck_assert_ptr_eq(claims[0].entry, region.base + second);
	ck_assert_uint_eq(dofi_shm_claims(&region, claims, 0), 0);
	put(at->signal, 0, 4);
	dofi_shm_discard(&region, &claims[0]);
	ck_assert(!dofi_shm_is_claimed(&claims[0]));
	if (at->signal)
		ck_assert_uint_eq(get(at->signal, 4), 1);
	ck_assert_uint_eq(get(second, 8), 2);
	ck_assert_uint_eq(get(second + 8, 1), 1);
	ck_assert_uint_eq(dofi_shm_claims(&region, claims, 4), 0);
	if (at->ret) {
		put(RET_QUEUE + PUT_AT, 1, 8);
		ck_assert_uint_eq(dofi_shm_claims(&region, claims, 4), 1);
		ck_assert_ptr_eq(claims[0].entry, region.base + RET_QUEUE + ENTRIES_AT);
	}
	finish();
}
END_TEST

/* A queue that looks fuller than it can be has no claims that can be told. */
START_TEST(as_many_claims_as_a_queue_has)
{
	struct dofi_shm_claim claims[2 * ENTRIES + 1];

	make(_i);
	put(CMD_QUEUE + PUT_AT, ENTRIES, 8);
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
		put(RET_QUEUE + PUT_AT, 2, 8);
		claims[ENTRIES - 1].entry = path;
		ck_assert_uint_eq(dofi_shm_claims(&region, claims, ENTRIES - 1), ENTRIES - 1);
		ck_assert_ptr_eq(claims[ENTRIES - 2].entry, region.base + RET_QUEUE + ENTRIES_AT);
		ck_assert_uint_eq(dofi_shm_claims(&region, claims, 2 * ENTRIES), ENTRIES);
		ck_assert_int_eq(claims[ENTRIES - 1].position, 1);
	}
	put(CMD_QUEUE + PUT_AT, 2 + ENTRIES + 1, 8);
	put(RET_QUEUE + PUT_AT, 0, 8);
	ck_assert_uint_eq(dofi_shm_claims(&region, claims, ENTRIES), 0);
	finish();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm_queue");
	TCase *tcase = tcase_create("shm_queue");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, a_dead_region_accepts_no_command, 0, LAYOUTS);
	tcase_add_loop_test(tcase, progress_is_that_of_both_ends, 0, LAYOUTS);
	tcase_add_loop_test(tcase, layouts_with_nothing_to_refill, V2_5_0, LAYOUTS);
	tcase_add_test(tcase, a_ring_has_no_claims);
	tcase_add_loop_test(tcase, what_is_left_of_the_free_buffers, 0, 11);
	tcase_add_test(tcase, room_behind_entries_that_were_taken);
	tcase_add_loop_test(tcase, a_queue_needs_no_repair, V1_18, LAYOUTS);
	tcase_add_test(tcase, sizes_of_pools);
	tcase_add_loop_test(tcase, as_many_claims_as_a_queue_has, V1_18, LAYOUTS);
	tcase_add_test(tcase, an_incomplete_command_is_removed);
	tcase_add_loop_test(tcase, an_operation_without_its_second_entry_is_removed, 0, 10);
	tcase_add_test(tcase, lost_buffers_are_not_counted_as_free);
	tcase_add_loop_test(tcase, lost_entries_are_recovered, 0, V2_5_0);
	tcase_add_loop_test(tcase, a_claimed_entry_is_released, V1_18, LAYOUTS);
	tcase_add_test(tcase, operations_of_two_entries);
	tcase_add_test(tcase, a_refill_believes_no_impossible_size);
	return t_run(suite);
}
