/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which of many paths by shared memory a poll reads, which a thread that may sleep reads, and what
 * a read of a path does.
 */
#include "unit.h"

#include "../../../prov/ofi/transport/memory_poll.c"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MOST 24u

static struct dofi_ia ia;
static struct dofi_conn conn = {.ia = &ia};
static struct dofi_memory_path paths[MOST];
static struct dofi_memory_mark marks[MOST];
static struct dofi_memory_box boxes[MOST];
static unsigned int reads[MOST], fabric_reads;
static const struct dofi_memory_path *brings; /* each read of this path finds something */
static struct dofi_memory_path *lies;         /* the next read of this path finds a fault */
static int fabric_brings;                     /* events of each read of the fabric's queue */
static unsigned int went_on[MOST], served[MOST], downs;
static struct dofi_evd *polled;

int __wrap_dofi_memory_take_cells(struct dofi_memory_path *path);
int __wrap_dofi_memory_go_on(struct dofi_memory_path *path);
void __wrap_dofi_box_serve(struct dofi_memory_path *path);
void __wrap_dofi_conn_path_down(struct dofi_conn *of, int err);
int __wrap_dofi_reap(struct dofi_ia *of);

int __wrap_dofi_memory_take_cells(struct dofi_memory_path *path)
{
	reads[path - paths]++;
	if (path == lies)
		path->fault = -EPROTO;
	return path == brings;
}

int __wrap_dofi_memory_go_on(struct dofi_memory_path *path)
{
	went_on[path - paths]++;
	return 2;
}

void __wrap_dofi_box_serve(struct dofi_memory_path *path)
{
	served[path - paths]++;
	atomic_store(&path->their_box->state, DOFI_BOX_DONE);
}

void __wrap_dofi_conn_path_down(struct dofi_conn *of, int err)
{
	ck_assert_ptr_eq(of, &conn);
	ck_assert_int_eq(err, EPROTO);
	dofi_assert_held(&ia.engine.lock);
	downs++;
}

int __wrap_dofi_reap(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	fabric_reads++;
	return fabric_brings;
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

static int read_once(void)
{
	return ia.engine.reap(&ia);
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

/* The share is rounded up, so that each is read within as many polls. */
START_TEST(shares_of_quiet_paths)
{
	static const unsigned int numbers[][2] = {
		{FEW_PATHS + 1, 2}, {15, 2}, {16, 2}, {17, 3}, {MOST, 3}};
	unsigned int n = numbers[_i][0], sum = 0;

	begin(n);
	be_quiet();
	look(IDLE_SHARE);
	for (unsigned int i = 0; i < n; i++) {
		ck_assert_uint_ge(reads[i], 1);
		ck_assert_uint_le(reads[i], 2);
		sum += reads[i];
	}
	ck_assert_uint_eq(sum, numbers[_i][1] * IDLE_SHARE);
}
END_TEST

/* A path that brings something now and then stays active. */
START_TEST(the_quiet_begins_anew)
{
	begin(MOST);
	look(QUIET_READS - 1);
	ck_assert_uint_eq(ia.memory.nactive, MOST);
	brings = &paths[5];
	look(1);
	ck_assert_uint_eq(ia.memory.nactive, 1);
	ck_assert(paths[5].active);
	brings = NULL;
	look(QUIET_READS - 1);
	ck_assert(paths[5].active);
	look(1);
	ck_assert(!paths[5].active);
}
END_TEST

/* The peer decides by this count whether it is faster to hand a small transfer to the polls. */
START_TEST(a_peer_sees_each_poll_of_a_quiet_path)
{
	uint32_t before;

	begin(MOST);
	look(5);
	ck_assert_uint_eq(atomic_load(&marks[7].polls), 5); /* and of an active one */
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

/* Also when one becomes active or idle again and again: the active ones come first. */
START_TEST(each_path_stays_in_the_list_once)
{
	begin(MOST);
	be_quiet();
	for (unsigned int i = 0; i < MOST; i++) {
		brings = &paths[(7 * i) % MOST];
		read_once();
		ck_assert_ptr_eq(path_at(ia.memory.paths.next), brings);
		ck_assert_ptr_eq(brings->link.next->prev, &brings->link);
		ck_assert_uint_eq(ia.memory.nactive, i + 1);
	}
	brings = &paths[3];
	look(QUIET_READS);
	ck_assert_uint_eq(ia.memory.nactive, 1);
	ck_assert_ptr_eq(path_at(ia.memory.paths.next), brings);
	memset(reads, 0, sizeof(reads));
	read_once();
	expect_reads(0, MOST, 1);
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

/* Such a connection needs no polls of the fabric, so that its own events come sooner. */
START_TEST(the_fabric_is_not_read_when_a_path_brings_something)
{
	begin(1);
	brings = &paths[0];
	fabric_brings = 5;
	for (unsigned int i = 0; i < 2 * POLLS_PER_FABRIC; i++)
		ck_assert_int_eq(read_once(), 1);
	ck_assert_uint_eq(fabric_reads, 0);
	ia.cm.nconns++; /* one uses the fabric */
	ck_assert_int_eq(read_once(), 1 + 5);
}
END_TEST

/* --- a read of one path --- */

static void begin_one(void)
{
	begin(1);
	ia.cm.nconns++; /* and one that uses the fabric, which brings nothing */
}

/* A thread that may sleep is no poll: it does not come again soon. */
START_TEST(a_path_counts_the_polls_of_the_program)
{
	begin_one();
	read_once();
	ck_assert_uint_eq(atomic_load(&marks[0].polls), 0);
	look(3);
	ck_assert_uint_eq(atomic_load(&marks[0].polls), 3);
}
END_TEST

/* Found by this read, or by a post before it. */
START_TEST(a_peer_that_breaks_the_rules_is_told_once)
{
	int fd = t_capture(STDERR_FILENO);
	const char *text;

	strcpy(ia.name, "ofa0");
	begin_one();
	if (_i)
		paths[0].fault = -EPROTO;
	else
		lies = &paths[0];
	atomic_store(&boxes[0].state, _i ? DOFI_BOX_ASKED : DOFI_BOX_IDLE);
	paths[0].restless = _i;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(read_once(), 0);
	ck_assert_uint_eq(downs, 1);
	ck_assert_uint_eq(reads[0], _i ? 0 : 1); /* its ring is not read any more */
	ck_assert_uint_eq(went_on[0], 0);
	ck_assert_uint_eq(served[0], 0);
	text = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(text, "ofa0"));
	ck_assert_ptr_nonnull(strstr(text, strerror(EPROTO)));
	ck_assert_ptr_null(strstr(strstr(text, "ofa0") + 1, "ofa0"));
}
END_TEST

START_TEST(a_path_whose_connection_is_over_is_not_read)
{
	begin_one();
	paths[0].left = true;
	paths[0].restless = true;
	atomic_store(&boxes[0].state, DOFI_BOX_ASKED);
	ck_assert_int_eq(read_once(), 0);
	ck_assert_uint_eq(reads[0], 0);
	ck_assert_uint_eq(went_on[0], 0);
	ck_assert_uint_eq(served[0], 0);
	ck_assert_uint_eq(downs, 0);
}
END_TEST

START_TEST(a_request_in_the_box_is_served)
{
	begin_one();
	for (uint32_t state = DOFI_BOX_IDLE; state <= DOFI_BOX_DONE; state++) {
		served[0] = 0;
		atomic_store(&boxes[0].state, state);
		ck_assert_int_eq(read_once(), state == DOFI_BOX_ASKED);
		ck_assert_uint_eq(served[0], state == DOFI_BOX_ASKED);
	}
	ck_assert_uint_eq(reads[0], 4);
}
END_TEST

/* Requests that wait for room, and due answers. */
START_TEST(what_is_left_to_do_goes_on)
{
	begin_one();
	ck_assert_int_eq(read_once(), 0);
	paths[0].restless = true;
	ck_assert_int_eq(read_once(), 2);
	paths[0].restless = false;
	paths[0].answers_tail++;
	brings = &paths[0];
	ck_assert_int_eq(read_once(), 2 + 1);
	ck_assert_uint_eq(went_on[0], 2);
	paths[0].answers_head++;
	ck_assert_int_eq(read_once(), 1);
	ck_assert_uint_eq(went_on[0], 2);
}
END_TEST

START_TEST(the_peers_see_whether_this_side_sleeps)
{
	dofi_unlock(&ia.engine.lock);
	ck_assert(!dofi_memory_doze(&ia, true)); /* no peer can wake it */
	dofi_lock(&ia.engine.lock);
	begin(3);
	dofi_unlock(&ia.engine.lock);
	for (int asleep = 1; asleep >= 0; asleep--) {
		ck_assert(dofi_memory_doze(&ia, asleep));
		for (int i = 0; i < 3; i++)
			ck_assert_uint_eq(atomic_load(&marks[i].asleep), (uint32_t)asleep);
	}
	ck_assert(dofi_trylock(&ia.engine.lock));
}
END_TEST

/* A new path has no mark, so a driver that has set its marks looks again. */
START_TEST(a_new_path_wakes_a_driver_that_sleeps)
{
	eventfd_t count;

	ia.engine.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	atomic_store(&ia.wait.marked, _i);
	begin(1);
	ck_assert_int_eq(!eventfd_read(ia.engine.wake_fd, &count), _i);
	close(ia.engine.wake_fd);
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
	tcase_add_loop_test(tcase, shares_of_quiet_paths, 0, 5);
	tcase_add_test(tcase, the_quiet_begins_anew);
	tcase_add_test(tcase, a_peer_sees_each_poll_of_a_quiet_path);
	tcase_add_test(tcase, a_path_that_brings_something_is_read_each_time);
	tcase_add_test(tcase, each_path_stays_in_the_list_once);
	tcase_add_test(tcase, a_thread_that_may_sleep_reads_all);
	tcase_add_test(tcase, paths_end_in_any_order);
	tcase_add_test(tcase, the_fabric_is_read_now_and_then);
	tcase_add_test(tcase, the_fabric_is_not_read_when_a_path_brings_something);
	tcase_add_test(tcase, a_path_counts_the_polls_of_the_program);
	tcase_add_loop_test(tcase, a_peer_that_breaks_the_rules_is_told_once, 0, 2);
	tcase_add_test(tcase, a_path_whose_connection_is_over_is_not_read);
	tcase_add_test(tcase, a_request_in_the_box_is_served);
	tcase_add_test(tcase, what_is_left_to_do_goes_on);
	tcase_add_test(tcase, the_peers_see_whether_this_side_sleeps);
	tcase_add_loop_test(tcase, a_new_path_wakes_a_driver_that_sleeps, 0, 2);
	return t_run(suite);
}
