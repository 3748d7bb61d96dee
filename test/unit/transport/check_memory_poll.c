/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which of many paths by shared memory a poll reads, and which a thread that may sleep reads. */
#include "unit.h"

#include "../../../prov/ofi/transport/memory_poll.c"

#define MOST 24u

static struct dofi_ia ia;
static struct dofi_conn conn = {.ia = &ia};
static struct dofi_memory_path paths[MOST];
static struct dofi_memory_mark marks[MOST];
static struct dofi_memory_box boxes[MOST];
static unsigned int reads[MOST], fabric_reads;
static const struct dofi_memory_path *brings; /* each read of this path finds something */
static struct dofi_evd *polled;

int __wrap_dofi_memory_take_cells(struct dofi_memory_path *path);
int __wrap_dofi_reap(struct dofi_ia *of);

int __wrap_dofi_memory_take_cells(struct dofi_memory_path *path)
{
	reads[path - paths]++;
	return path == brings;
}

int __wrap_dofi_reap(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	fabric_reads++;
	return 0;
}

static void begin(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		paths[i].conn = &conn;
		paths[i].ours = &marks[i];
		paths[i].their_box = &boxes[i];
		dofi_memory_poll_begin(&paths[i]);
	}
	ia.cm.nconns = n;
	ck_assert_uint_eq(ia.memory.npaths, n);
	ck_assert_uint_eq(ia.memory.nactive, n);
}

static void setup(void)
{
	static int any;

	dofi_lock_init(&ia.engine.lock);
	dofi_list_init(&ia.memory.paths);
	polled = (struct dofi_evd *)(void *)&any;
	brings = NULL;
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
}

static void look(unsigned int times)
{
	while (times--) {
		ia.engine.taker.evd = polled;
		ia.engine.reap(&ia);
		ia.engine.taker.evd = NULL;
	}
}

static void be_quiet(void)
{
	look(QUIET_READS);
	ck_assert_uint_eq(ia.memory.nactive, 0);
	memset(reads, 0, sizeof(reads));
}

static void expect_reads(unsigned int first, unsigned int n, unsigned int each)
{
	for (unsigned int i = first; i < first + n; i++)
		ck_assert_msg(reads[i] == each, "path %u: %u reads, not %u", i, reads[i], each);
}

START_TEST(few_paths_are_always_read)
{
	begin(FEW_PATHS);
	look(QUIET_READS + 8);
	expect_reads(0, FEW_PATHS, QUIET_READS + 8);
}
END_TEST

START_TEST(quiet_paths_are_read_in_turn)
{
	begin(MOST);
	be_quiet();
	for (unsigned int i = 1; i <= 3; i++) {
		look(IDLE_SHARE);
		expect_reads(0, MOST, i);
	}
}
END_TEST

/* The peer decides by this count whether it is faster to hand a small transfer to the polls. */
START_TEST(a_peer_sees_each_poll_of_a_quiet_path)
{
	uint32_t before;

	begin(MOST);
	be_quiet();
	before = atomic_load(&marks[7].polls);
	look(IDLE_SHARE);
	ck_assert_uint_eq(atomic_load(&marks[7].polls) - before, IDLE_SHARE);
}
END_TEST

START_TEST(a_path_that_brings_something_is_read_each_time)
{
	begin(MOST);
	be_quiet();
	brings = &paths[5];
	look(IDLE_SHARE);
	ck_assert(paths[5].active);
	ck_assert_uint_eq(ia.memory.nactive, 1);
	brings = NULL;
	memset(reads, 0, sizeof(reads));
	look(IDLE_SHARE);
	expect_reads(5, 1, IDLE_SHARE);
	for (unsigned int i = 0; i < MOST; i++)
		ck_assert_uint_ge(reads[i], 1);
	look(QUIET_READS);
	ck_assert_uint_eq(ia.memory.nactive, 0);
}
END_TEST

START_TEST(a_thread_that_may_sleep_reads_all)
{
	begin(MOST);
	be_quiet();
	ck_assert_int_eq(ia.engine.reap(&ia), 0);
	expect_reads(0, MOST, 1);
	brings = &paths[9];
	ck_assert_int_eq(ia.engine.reap(&ia), 1);
	expect_reads(0, MOST, 2);
	ck_assert(paths[9].active);
}
END_TEST

START_TEST(paths_end_in_any_order)
{
	begin(MOST);
	brings = &paths[3];
	look(QUIET_READS + IDLE_SHARE);
	ck_assert_uint_eq(ia.memory.nactive, 1);
	dofi_memory_poll_end(&paths[3]);
	ck_assert_uint_eq(ia.memory.nactive, 0);
	brings = NULL;
	for (unsigned int i = 0; i < MOST; i++) {
		if (i == 3)
			continue;
		memset(reads, 0, sizeof(reads));
		ia.engine.reap(&ia);
		ck_assert_uint_eq(reads[i], 1);
		ck_assert_uint_eq(reads[3], 0);
		dofi_memory_poll_end(&paths[i]);
	}
	ck_assert_uint_eq(ia.memory.npaths, 0);
	ck_assert_ptr_eq(ia.engine.reap, dofi_reap);
}
END_TEST

START_TEST(the_fabric_is_read_now_and_then)
{
	begin(MOST);
	fabric_reads = 0;
	look(10 * POLLS_PER_FABRIC);
	ck_assert_uint_eq(fabric_reads, 10);
	ia.cm.nconns++; /* one uses the fabric */
	look(10);
	ck_assert_uint_eq(fabric_reads, 20);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory_poll");
	TCase *tcase = tcase_create("memory_poll");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, few_paths_are_always_read);
	tcase_add_test(tcase, quiet_paths_are_read_in_turn);
	tcase_add_test(tcase, a_peer_sees_each_poll_of_a_quiet_path);
	tcase_add_test(tcase, a_path_that_brings_something_is_read_each_time);
	tcase_add_test(tcase, a_thread_that_may_sleep_reads_all);
	tcase_add_test(tcase, paths_end_in_any_order);
	tcase_add_test(tcase, the_fabric_is_read_now_and_then);
	return t_run(suite);
}
