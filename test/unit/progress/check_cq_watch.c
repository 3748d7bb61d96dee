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

static void *drive_alone(void *arg)
{
	int *sleeps = arg;

	/* As the progress thread: round by round, until the queue is what ended a sleep. */
	do
		++*sleeps;
	while (dofi_wait_on_fds(&ia, &ia.engine.activity, 0, DOFI_FOREVER, NULL));
	return NULL;
}

START_TEST(called_back_when_a_reason_comes)
{
	pthread_t thread;
	int sleeps = 0;

	ck_assert_int_eq(pthread_create(&thread, NULL, drive_alone, &sleeps), 0);
	while (!atomic_load(&ia.wait.aloof))
		sched_yield();
	dofi_wait_watch(&ia);
	pthread_join(thread, NULL);
	ck_assert(armed);
	ck_assert_uint_gt(ia.wait.stay_until, 0);
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
	uint64_t before = dofi_now();

	for (uint64_t ns = FIRST_STAY_NS; ns <= LONGEST_STAY_NS; ns *= 4) {
		stay(&ia.wait);
		ck_assert_uint_ge(ia.wait.stay_until, before + ns);
		ck_assert_uint_le(ia.wait.stay_until, dofi_now() + ns);
	}
	ck_assert(!dofi_cq_watch_leave(&ia, &ia.engine.activity));
	stay(&ia.wait);
	ck_assert_uint_le(ia.wait.stay_until, dofi_now() + LONGEST_STAY_NS);
	ia.wait.stay_until = ia.wait.stay_ns = 0; /* long ago */
	ck_assert(dofi_cq_watch_leave(&ia, &ia.engine.activity));
	stay(&ia.wait);
	ck_assert_uint_le(ia.wait.stay_until, dofi_now() + FIRST_STAY_NS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cq_watch");
	TCase *tc = tcase_create("cq_watch");

	tcase_add_checked_fixture(tc, begin_device, end_device);
	tcase_add_test(tc, left_alone_by_the_progress_thread);
	tcase_add_loop_test(tc, watched_for_a_reason, 0, 4);
	tcase_add_test(tc, left_alone_again_without_the_reason);
	tcase_add_test(tc, called_back_when_a_reason_comes);
	tcase_add_loop_test(tc, nobody_is_called_who_watches, 0, 2);
	tcase_add_test(tc, who_is_called_often_stays_for_longer);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
