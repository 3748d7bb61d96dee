/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* When the progress thread leaves the queue of a device alone, which always has something. */
#include "unit.h"

#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/progress/cq_watch.c"
#include "../../../prov/ofi/progress/driver_sleep.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MS 1000000u

static struct dofi_ia ia;
static uint64_t stopped_at; /* the time of a stopped clock; 0: the clock runs */

uint64_t __real_dofi_now(void);
uint64_t __wrap_dofi_now(void);

uint64_t __wrap_dofi_now(void)
{
	return stopped_at ? stopped_at : __real_dofi_now();
}

static struct fid_cq queue;
static struct fid_fabric fabric;
static int queue_fd;
static bool armed; /* the completion queue, not only the event queues */

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

/* One sleep of the progress thread or of a consumer. 0: a completion ended it. */
static int sleep_once(const _Atomic uint32_t *wakeup)
{
	atomic_store(&ia.engine.next_timer, dofi_now() + 20 * MS);
	return dofi_wait_on_fds(&ia, wakeup, atomic_load(wakeup), DOFI_FOREVER, NULL);
}

START_TEST(progress_thread_does_not_watch_the_queue)
{
	ck_assert_int_eq(sleep_once(&ia.engine.activity), 1);
	ck_assert_uint_ge(dofi_now(), atomic_load(&ia.engine.next_timer));
	ck_assert(!armed);
	ck_assert(!atomic_load(&ia.wait.unwatched));
}
END_TEST

START_TEST(progress_thread_watches_the_queue_for_a_reason)
{
	_Atomic uint32_t wakeup = 0;

	switch (_i) {
	case 0: /* the fabric needs calls to move data */
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

START_TEST(progress_thread_stops_watching_without_the_reason)
{
	dofi_wait_watch(&ia);
	dofi_wait_watch(&ia);
	dofi_wait_unwatch(&ia);
	ck_assert_int_eq(sleep_once(&ia.engine.activity), 0);
	dofi_wait_unwatch(&ia);
	ck_assert_int_eq(sleep_once(&ia.engine.activity), 1);
}
END_TEST

static void *drive_alone(void *arg)
{
	int *sleeps = arg;

	/* Runs rounds as the progress thread does, until a completion ends a sleep. */
	do
		++*sleeps;
	while (dofi_wait_on_fds(&ia, &ia.engine.activity, 0, DOFI_FOREVER, NULL));
	return NULL;
}

/*
 * If the reason comes just before the thread sleeps, the thread sees it without being woken. Then
 * the test tries again.
 */
START_TEST(progress_thread_is_woken_for_a_reason)
{
	for (int round = 0; !ia.wait.stay_until; round++) {
		pthread_t thread;
		int sleeps = 0;

		ck_assert_int_lt(round, 1000);
		armed = false;
		ck_assert_int_eq(pthread_create(&thread, NULL, drive_alone, &sleeps), 0);
		while (!atomic_load(&ia.wait.unwatched))
			sched_yield();
		dofi_wait_watch(&ia);
		pthread_join(thread, NULL);
		ck_assert(armed);
		dofi_wait_unwatch(&ia);
	}
}
END_TEST

START_TEST(a_watching_thread_is_not_woken)
{
	uint64_t value;

	atomic_store(&ia.wait.asleep, true);
	atomic_store(&ia.wait.unwatched, _i);
	dofi_wait_watch(&ia);
	ck_assert_int_eq(read(ia.engine.wake_fd, &value, sizeof(value)) > 0, _i);
	/* Once is enough. */
	dofi_wait_watch(&ia);
	ck_assert_int_le(read(ia.engine.wake_fd, &value, sizeof(value)), 0);
}
END_TEST

START_TEST(a_thread_woken_often_watches_for_longer)
{
	stopped_at = dofi_now();
	for (uint64_t ns = FIRST_STAY_NS; ns <= LONGEST_STAY_NS; ns *= 4) {
		stay(&ia.wait);
		ck_assert_uint_eq(ia.wait.stay_until, stopped_at + ns);
	}
	stay(&ia.wait);
	ck_assert_uint_eq(ia.wait.stay_until, stopped_at + LONGEST_STAY_NS);
	ck_assert(!dofi_cq_watch_leave(&ia, &ia.engine.activity));
	stopped_at = ia.wait.stay_until;
	ck_assert(dofi_cq_watch_leave(&ia, &ia.engine.activity));
}
END_TEST

START_TEST(a_thread_woken_long_ago_watches_briefly)
{
	stopped_at = dofi_now();
	stay(&ia.wait);
	stopped_at = ia.wait.stay_until + LONGEST_STAY_NS;
	stay(&ia.wait);
	ck_assert_uint_eq(ia.wait.stay_until, stopped_at + 4 * FIRST_STAY_NS);
	stopped_at = ia.wait.stay_until + LONGEST_STAY_NS + 1;
	stay(&ia.wait);
	ck_assert_uint_eq(ia.wait.stay_until, stopped_at + FIRST_STAY_NS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cq_watch");
	TCase *tc = tcase_create("cq_watch");

	tcase_add_checked_fixture(tc, begin_device, end_device);
	tcase_add_test(tc, progress_thread_does_not_watch_the_queue);
	tcase_add_loop_test(tc, progress_thread_watches_the_queue_for_a_reason, 0, 4);
	tcase_add_test(tc, progress_thread_stops_watching_without_the_reason);
	tcase_add_test(tc, progress_thread_is_woken_for_a_reason);
	tcase_add_loop_test(tc, a_watching_thread_is_not_woken, 0, 2);
	tcase_add_test(tc, a_thread_woken_often_watches_for_longer);
	tcase_add_test(tc, a_thread_woken_long_ago_watches_briefly);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
