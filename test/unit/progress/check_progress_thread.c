/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The progress thread wakes while consumers poll. It does nothing if the event has woken a driver,
 * too.
 */
#include "unit.h"

#include "../../../prov/ofi/progress/engine_fds.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/progress/progress_thread.c"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <sys/time.h>

static struct dofi_ia ia;
static struct dofi_fd fd;
static int handled;

static void ready(struct dofi_fd *of, uint32_t events)
{
	uint64_t value;

	ck_assert_ptr_eq(of, &fd);
	ck_assert_uint_eq(events, EPOLLIN);
	ck_assert_int_eq(read(of->fd, &value, sizeof(value)), sizeof(value));
	handled++;
}

static void setup(void)
{
	ck_assert_int_eq(dofi_engine_init(&ia), 0);
	ia.engine.has_fabric = false;
	fd = (struct dofi_fd){.fd = eventfd(1, 0), .ready = ready};
	ck_assert_int_ge(fd.fd, 0);
	ck_assert_int_eq(dofi_engine_watch(&ia, &fd, EPOLLIN), 0);
	handled = 0;
}

static void teardown(void)
{
	close(fd.fd);
	dofi_engine_fini(&ia);
}

static void expect_handled(int n)
{
	watch_quietly(&ia, 0, 1000u * NAP_NS);
	ck_assert_int_eq(handled, n);
}

START_TEST(progress_thread_handles_the_event_without_a_driver)
{
	expect_handled(1);
}
END_TEST

START_TEST(progress_thread_leaves_the_event_to_a_sleeping_driver)
{
	atomic_store(&ia.wait.driven, true);
	atomic_store(&ia.wait.asleep, true);
	expect_handled(0);
	expect_handled(0);
	atomic_store(&ia.wait.driven, false);
	atomic_store(&ia.wait.asleep, false);
	expect_handled(1);
}
END_TEST

/* The progress thread would wait for the lock until the driver has finished. */
START_TEST(progress_thread_leaves_the_event_to_a_working_driver)
{
	atomic_store(&ia.wait.driven, true);
	dofi_lock(&ia.engine.lock);
	expect_handled(0);
	dofi_unlock(&ia.engine.lock);
}
END_TEST

START_TEST(progress_thread_handles_the_event_while_the_driver_runs_an_agent)
{
	atomic_store(&ia.wait.driven, true);
	expect_handled(1);
}
END_TEST

#define QUIET_MS 300u

/* An event that wakes the thread while a consumer polls does not make it the driver early. */
START_TEST(progress_thread_takes_over_only_after_quiet_ms)
{
	uint64_t polled;

	ia.params.quiet_ms = QUIET_MS;
	atomic_store(&ia.wait.driven, true); /* by a consumer, until it polls */
	ck_assert_int_eq(dofi_progress_start(&ia), 0);
	while (!atomic_load(&ia.engine.parked))
		sched_yield();
	polled = dofi_now();
	atomic_fetch_add(&ia.engine.activity, 1);
	dofi_wait_drive_end(&ia);
	while (!atomic_load(&ia.wait.driven))
		sched_yield();
	ck_assert_int_eq(handled, 1);
	ck_assert_uint_ge(dofi_now() - polled, QUIET_MS * 1000000ull);
	dofi_progress_stop(&ia);
}
END_TEST

static _Atomic bool held;

static void *end_at_once(void *arg)
{
	return arg;
}

/*
 * The process exits. An agent that does not return holds the lock, so the fabric is not taken away
 * below it.
 */
START_TEST(exit_does_not_wait_for_ever_for_a_lock)
{
	ck_assert_int_eq(pthread_create(&ia.engine.thread, NULL, end_at_once, NULL), 0);
	dofi_lock(&ia.engine.lock);
	ia.engine.has_fabric = true;
	dofi_progress_exit(&ia);
	ck_assert(ia.engine.joined);
	ck_assert(atomic_load(&ia.engine.stop));
	ck_assert(ia.engine.has_fabric);
	ck_assert(!dofi_trylock(&ia.engine.lock));
	dofi_unlock(&ia.engine.lock);
	dofi_progress_stop(&ia);
	ck_assert(!ia.engine.has_fabric);
}
END_TEST

/* Another thread is in a call, which ends soon. */
static void *hold_for_a_while(void *arg)
{
	uint64_t until;

	(void)arg;
	dofi_lock(&ia.engine.lock);
	atomic_store(&held, true);
	while (!atomic_load(&ia.engine.stop))
		sched_yield();
	until = dofi_now() + 10000000;
	while (dofi_now() < until)
		sched_yield();
	dofi_unlock(&ia.engine.lock);
	return NULL;
}

START_TEST(exit_waits_for_a_call_of_another_thread)
{
	pthread_t other;

	ck_assert_int_eq(pthread_create(&ia.engine.thread, NULL, end_at_once, NULL), 0);
	ck_assert_int_eq(pthread_create(&other, NULL, hold_for_a_while, NULL), 0);
	while (!atomic_load(&held))
		sched_yield();
	ia.engine.has_fabric = true;
	dofi_progress_exit(&ia);
	ck_assert(!ia.engine.has_fabric);
	ck_assert_int_eq(pthread_join(other, NULL), 0);
}
END_TEST

START_TEST(exit_ends_the_thread_and_the_use_of_the_fabric)
{
	ck_assert_int_eq(pthread_create(&ia.engine.thread, NULL, end_at_once, NULL), 0);
	ia.engine.has_fabric = true;
	dofi_progress_exit(&ia);
	ck_assert(ia.engine.joined);
	ck_assert(!ia.engine.has_fabric);
}
END_TEST

static void stays_ready(struct dofi_fd *of, uint32_t events)
{
	(void)of;
	(void)events;
	handled++;
}

static void caught(int number)
{
	(void)number;
}

/*
 * A descriptor that is always ready keeps the driver from sleeping, and signals are unblocked only
 * during the sleep.
 */
START_TEST(signals_reach_a_driver_that_never_sleeps)
{
	/* Repeated, because the first may come before the call has blocked signals. */
	const struct itimerval soon = {.it_value.tv_usec = 1000, .it_interval.tv_usec = 1000},
			       never = {0};
	const struct sigaction action = {.sa_handler = caught};
	_Atomic uint32_t wakeup = 0;

	fd.ready = stays_ready;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	ck_assert_int_eq(dofi_wait_sleep(&ia, &wakeup, 0, DOFI_FOREVER), -EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	ck_assert_int_gt(handled, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("progress_thread");
	TCase *tc = tcase_create("progress_thread");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, progress_thread_handles_the_event_without_a_driver);
	tcase_add_test(tc, progress_thread_leaves_the_event_to_a_sleeping_driver);
	tcase_add_test(tc, progress_thread_leaves_the_event_to_a_working_driver);
	tcase_add_test(tc, progress_thread_handles_the_event_while_the_driver_runs_an_agent);
	tcase_add_test(tc, progress_thread_takes_over_only_after_quiet_ms);
	tcase_add_test(tc, exit_does_not_wait_for_ever_for_a_lock);
	tcase_add_test(tc, exit_waits_for_a_call_of_another_thread);
	tcase_add_test(tc, exit_ends_the_thread_and_the_use_of_the_fabric);
	tcase_add_test(tc, signals_reach_a_driver_that_never_sleeps);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
