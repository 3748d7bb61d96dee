/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How long the driver naps where no descriptor tells it of the fabric: what makes a nap long, and
 * what ends that. And when the progress thread leaves the fabric's queue alone.
 */
#include "unit.h"

#include "../../../prov/ofi/progress/wait.c"

#define MS 1000000u

static struct dofi_ia ia;
static uint64_t stopped_at; /* the clock stands still there; 0: it goes on */

uint64_t __real_dofi_now(void);
uint64_t __wrap_dofi_now(void);

uint64_t __wrap_dofi_now(void)
{
	return stopped_at ? stopped_at : __real_dofi_now();
}

/* Quiet for long, with a mark that all peers see, and naps as long as they get without that. */
static void setup(void)
{
	atomic_store(&ia.engine.next_timer, UINT64_MAX);
	ia.cq_wait = FI_WAIT_NONE;
	ia.wait.marked = true;
	ia.wait.nap_ns = BLIND_SLEEP_NS;
	ia.wait.quiet_since = dofi_now() - 60000ull * MS;
}

/* The longest that a sleep begun now may take. */
static void expect_at_most(uint64_t ns)
{
	uint64_t until = earliest(&ia, DOFI_FOREVER, true);

	ck_assert_uint_le(until, dofi_now() + ns);
}

static void fall_asleep(void)
{
	for (int i = 0; i < 10; i++)
		earliest(&ia, DOFI_FOREVER, true);
	ck_assert_uint_eq(ia.wait.nap_ns, LONGEST_RUNG_NAP_NS);
	ck_assert(atomic_load(&ia.wait.deep));
}

START_TEST(long_where_all_ring)
{
	uint64_t before = dofi_now();

	fall_asleep();
	ck_assert_uint_ge(earliest(&ia, DOFI_FOREVER, true), before + LONGEST_RUNG_NAP_NS);
	ck_assert_uint_eq(earliest(&ia, before + 1, true), before + 1);
}
END_TEST

START_TEST(short_without_a_mark)
{
	ia.wait.marked = false;
	for (int i = 0; i < 10; i++)
		expect_at_most(BLIND_SLEEP_NS);
	ck_assert(!atomic_load(&ia.wait.deep));
}
END_TEST

START_TEST(short_while_little_time_has_passed)
{
	ia.wait.quiet_since = dofi_now();
	expect_at_most(BLIND_SLEEP_NS);
	ck_assert(!atomic_load(&ia.wait.deep));
}
END_TEST

START_TEST(short_again_with_a_deaf_peer)
{
	fall_asleep();
	atomic_store(&ia.wakeup.deaf, 1);
	expect_at_most(BLIND_SLEEP_NS);
}
END_TEST

/* Parts of a write may come for a while, though nothing is complete. */
START_TEST(short_for_longer_over_sockets_without_a_descriptor)
{
	ia.wait.quiet_since = dofi_now() - 100ull * MS;
	earliest(&ia, DOFI_FOREVER, true);
	ck_assert_uint_gt(ia.wait.nap_ns, BLIND_SLEEP_NS);
	ia.quirks = DOFI_QUIRK_MUTE_QUEUE;
	ia.wait.nap_ns = BLIND_SLEEP_NS;
	ia.wait.quiet_since = dofi_now() - 100ull * MS;
	expect_at_most(BLIND_SLEEP_NS);
	ia.wait.quiet_since = dofi_now() - 60000ull * MS;
	fall_asleep();
	ia.quirks = 0;
}
END_TEST

START_TEST(short_again_when_something_waits)
{
	fall_asleep();
	if (_i)
		atomic_store(&ia.engine.nstalled, 1);
	else
		atomic_store(&ia.engine.restless, 1);
	expect_at_most(BLIND_SLEEP_NS);
}
END_TEST

START_TEST(short_again_after_a_post)
{
	fall_asleep();
	atomic_store(&ia.wait.posted, true);
	expect_at_most(FIRST_NAP_NS);
	ck_assert(!atomic_load(&ia.wait.posted));
	expect_at_most(2 * FIRST_NAP_NS);
}
END_TEST

START_TEST(short_again_after_an_event)
{
	fall_asleep();
	atomic_store(&ia.engine.handled, 1);
	expect_at_most(FIRST_NAP_NS);
}
END_TEST

/* --- the queue of a device, which has something all the time --- */

static struct fid_cq queue;
static struct fid_fabric fabric;
static int queue_fd;
static bool armed; /* the queue, and not the fabric's events alone */

static int trywait(struct fid_fabric *of, struct fid **fids, int n)
{
	ck_assert_ptr_eq(of, &fabric);
	for (int i = 0; i < n; i++)
		armed |= fids[i] == &queue.fid;
	return 0;
}

static int control(struct fid *fid, int command, void *arg)
{
	struct fi_wait_pollfd *list = arg;

	ck_assert_ptr_eq(fid, &queue.fid);
	ck_assert_int_eq(command, FI_GETWAIT);
	list->nfds = 1;
	list->fd[0] = (struct pollfd){.fd = queue_fd, .events = POLLIN};
	return 0;
}

static struct fi_ops queue_ops = {.size = sizeof(queue_ops), .control = control};
static struct fi_ops_fabric fabric_ops = {.size = sizeof(fabric_ops), .trywait = trywait};

static void begin_device(void)
{
	queue.fid.ops = &queue_ops;
	fabric.ops = &fabric_ops;
	queue_fd = eventfd(1, 0);
	ia.engine.wake_fd = eventfd(0, EFD_NONBLOCK);
	ia.engine.quiet_epfd = eventfd(0, 0);
	atomic_store(&ia.engine.next_timer, UINT64_MAX);
	dofi_wait_init(&ia);
	ia.fabric = &fabric;
	ia.cq = &queue;
	atomic_store(&ia.cqs.n, 1);
	ia.cq_wait = FI_WAIT_POLLFD;
	ia.moves_alone = true;
	armed = false;
}

static void end_device(void)
{
	close(queue_fd);
	close(ia.engine.wake_fd);
	close(ia.engine.quiet_epfd);
	dofi_wait_fini(&ia);
}

/* One sleep of the progress thread's, or of a consumer's. 0: the queue ended it. */
static int sleep_once(const _Atomic uint32_t *wakeup)
{
	atomic_store(&ia.engine.next_timer, dofi_now() + 20 * MS);
	return dofi_wait_on_fds(&ia, wakeup, atomic_load(wakeup), DOFI_FOREVER, NULL);
}

START_TEST(left_alone_by_the_progress_thread)
{
	ck_assert_int_eq(sleep_once(&ia.engine.activity), 1);
	ck_assert_uint_ge(dofi_now(), atomic_load(&ia.engine.next_timer));
	ck_assert(!armed);
	ck_assert(!atomic_load(&ia.wait.aloof));
}
END_TEST

START_TEST(watched_for_a_reason)
{
	_Atomic uint32_t wakeup = 0;

	switch (_i) {
	case 0: /* the fabric's data do not move by themselves */
		ia.moves_alone = false;
		break;
	case 1:
		dofi_wait_watch(&ia);
		break;
	case 2: /* something waits for the fabric */
		atomic_store(&ia.engine.nstalled, 1);
		break;
	}
	ck_assert_int_eq(sleep_once(_i < 3 ? &ia.engine.activity : &wakeup), 0);
	ck_assert(armed);
}
END_TEST

START_TEST(left_alone_again_without_the_reason)
{
	dofi_wait_watch(&ia);
	dofi_wait_watch(&ia);
	dofi_wait_unwatch(&ia);
	ck_assert_int_eq(sleep_once(&ia.engine.activity), 0);
	dofi_wait_unwatch(&ia);
	ck_assert_int_eq(sleep_once(&ia.engine.activity), 1);
}
END_TEST

START_TEST(looked_at_by_the_clock)
{
	uint64_t before = dofi_now();

	ia.wait.nap_ns = 0;
	ia.cq_wait = _i ? FI_WAIT_FD : FI_WAIT_POLLFD;
	ck_assert_uint_le(earliest(&ia, DOFI_FOREVER, false), dofi_now() + FIRST_LIST_NAP_NS);
	for (int i = 0; i < 10; i++)
		earliest(&ia, DOFI_FOREVER, false);
	ck_assert_uint_ge(earliest(&ia, DOFI_FOREVER, false), before + LONGEST_LIST_NAP_NS);
	ck_assert_uint_le(earliest(&ia, DOFI_FOREVER, false), dofi_now() + LONGEST_LIST_NAP_NS);
	atomic_fetch_add(&ia.engine.handled, 1);
	ck_assert_uint_le(earliest(&ia, DOFI_FOREVER, false), dofi_now() + FIRST_LIST_NAP_NS);
}
END_TEST

/*
 * A descriptor that tells of all is slept on until it does; one that readers mute, or that misses
 * events, not for long.
 */
START_TEST(looked_at_where_it_is_not_told)
{
	ia.moves_alone = false;
	ia.cq_wait = FI_WAIT_FD;
	ck_assert_uint_eq(earliest(&ia, DOFI_FOREVER, true), DOFI_FOREVER);
	ia.cq_mutes = _i == 0;
	ia.eqs.silent = _i == 1;
	for (int i = 0; i < 10; i++)
		ck_assert_uint_le(earliest(&ia, DOFI_FOREVER, true),
				  dofi_now() + LONGEST_LIST_NAP_NS);
}
END_TEST

static void *drive_alone(void *arg)
{
	int *sleeps = arg;

	/* As the progress thread: round by round, until the queue is what ended a sleep. */
	do
		++*sleeps;
	while (dofi_wait_on_fds(&ia, &ia.engine.activity, 0, DOFI_FOREVER, NULL));
	return NULL;
}

/*
 * The reason may come just before the thread sleeps. Then the thread sees it by itself, and nobody
 * is called: once more.
 */
START_TEST(called_back_when_a_reason_comes)
{
	for (int round = 0; !ia.wait.stay_until; round++) {
		pthread_t thread;
		int sleeps = 0;

		ck_assert_int_lt(round, 1000);
		armed = false;
		ck_assert_int_eq(pthread_create(&thread, NULL, drive_alone, &sleeps), 0);
		while (!atomic_load(&ia.wait.aloof))
			sched_yield();
		dofi_wait_watch(&ia);
		pthread_join(thread, NULL);
		ck_assert(armed);
		dofi_wait_unwatch(&ia);
	}
}
END_TEST

START_TEST(nobody_is_called_who_watches)
{
	uint64_t value;

	atomic_store(&ia.wait.asleep, true);
	atomic_store(&ia.wait.aloof, _i);
	dofi_wait_watch(&ia);
	ck_assert_int_eq(read(ia.engine.wake_fd, &value, sizeof(value)) > 0, _i);
	/* Once is enough. */
	dofi_wait_watch(&ia);
	ck_assert_int_le(read(ia.engine.wake_fd, &value, sizeof(value)), 0);
}
END_TEST

START_TEST(who_is_called_often_stays_for_longer)
{
	stopped_at = dofi_now();
	for (uint64_t ns = FIRST_STAY_NS; ns <= LONGEST_STAY_NS; ns *= 4) {
		stay(&ia.wait);
		ck_assert_uint_eq(ia.wait.stay_until, stopped_at + ns);
	}
	stay(&ia.wait);
	ck_assert_uint_eq(ia.wait.stay_until, stopped_at + LONGEST_STAY_NS);
	ck_assert(!leaves_cq_alone(&ia, &ia.engine.activity));
	stopped_at = ia.wait.stay_until;
	ck_assert(leaves_cq_alone(&ia, &ia.engine.activity));
}
END_TEST

START_TEST(who_was_called_long_ago_stays_briefly)
{
	uint64_t until;

	stopped_at = dofi_now();
	stay(&ia.wait);
	until = ia.wait.stay_until;
	stopped_at = until + LONGEST_STAY_NS;
	stay(&ia.wait);
	ck_assert_uint_eq(ia.wait.stay_until, stopped_at + 4 * FIRST_STAY_NS);
	stopped_at = ia.wait.stay_until + LONGEST_STAY_NS + 1;
	stay(&ia.wait);
	ck_assert_uint_eq(ia.wait.stay_until, stopped_at + FIRST_STAY_NS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wait");
	TCase *tc = tcase_create("naps");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, long_where_all_ring);
	tcase_add_test(tc, short_without_a_mark);
	tcase_add_test(tc, short_for_longer_over_sockets_without_a_descriptor);
	tcase_add_test(tc, short_while_little_time_has_passed);
	tcase_add_test(tc, short_again_with_a_deaf_peer);
	tcase_add_loop_test(tc, short_again_when_something_waits, 0, 2);
	tcase_add_test(tc, short_again_after_a_post);
	tcase_add_test(tc, short_again_after_an_event);
	suite_add_tcase(suite, tc);

	tc = tcase_create("queue");
	tcase_add_checked_fixture(tc, begin_device, end_device);
	tcase_add_test(tc, left_alone_by_the_progress_thread);
	tcase_add_loop_test(tc, watched_for_a_reason, 0, 4);
	tcase_add_test(tc, left_alone_again_without_the_reason);
	tcase_add_loop_test(tc, looked_at_by_the_clock, 0, 2);
	tcase_add_loop_test(tc, looked_at_where_it_is_not_told, 0, 2);
	tcase_add_test(tc, called_back_when_a_reason_comes);
	tcase_add_loop_test(tc, nobody_is_called_who_watches, 0, 2);
	tcase_add_test(tc, who_is_called_often_stays_for_longer);
	tcase_add_test(tc, who_was_called_long_ago_stays_briefly);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
