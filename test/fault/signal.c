/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A signal ends dat_evd_wait() and dat_cno_wait(), and has no other effect. */
#include <signal.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "fault.h"

static _Atomic int handled;
static struct t_ia ia;

static void handler(int number)
{
	(void)number;
	handled++;
}

/* _i 1: with SA_RESTART, which restarts system calls, but not calls of DAT. */
static void catch_signals(int restart)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = restart ? SA_RESTART : 0};

	handled = 0;
	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
}

/*
 * The thread may sleep for a lock before the wait begins; a signal has no effect then. So the
 * signal is sent until the call ends. The number of handled signals shows that the library sent
 * none.
 */
static DAT_RETURN interrupt(struct t_waiter *waiter)
{
	int before = handled, sent = 0;
	uint64_t limit = t_now_us() + T_LIMIT_US;
	bool done = false;

	do {
		ck_assert_int_eq(pthread_kill(waiter->thread, SIGUSR1), 0);
		sent++;
		/* A signal that comes before the last one was handled would be lost. */
		while (!done && handled < before + sent && t_now_us() < limit) {
			t_pause();
			done = t_waiter_done(waiter);
		}
		if (done || t_waiter_done(waiter)) {
			/* The thread may end without handling the last signal. */
			ck_assert_int_le(handled, before + sent);
			ck_assert_int_ge(handled, before + (sent > 1 ? sent - 1 : 1));
			return waiter->ret;
		}
	} while (t_now_us() < limit);
	ck_abort_msg("no signal ends the wait");
}

START_TEST(evd_wait_is_interrupted)
{
	DAT_EVD_HANDLE evd;
	struct t_waiter waiter;

	catch_signals(_i);
	t_ia_open(&ia);
	evd = t_evd(&ia, 4, DAT_EVD_SOFTWARE_FLAG);
	for (int round = 0; round < 20; round++) {
		t_evd_waiter_start(&waiter, evd, 1);
		t_error(interrupt(&waiter), DAT_INTERRUPTED_CALL);
	}
	t_ok(t_post_se(evd, NULL));
	t_wait_se(evd, NULL);
	t_ia_close(&ia);
}
END_TEST

START_TEST(cno_wait_is_interrupted)
{
	DAT_CNO_HANDLE cno;
	struct t_waiter waiter;

	catch_signals(_i);
	t_ia_open(&ia);
	cno = t_cno(&ia);
	for (int round = 0; round < 20; round++) {
		t_cno_waiter_start(&waiter, cno);
		t_error(interrupt(&waiter), DAT_INTERRUPTED_CALL);
	}
	t_ia_close(&ia);
}
END_TEST

START_TEST(one_of_several_waiters_is_interrupted)
{
	/* One of the threads is the driver. The signal may go to another one. */
	struct t_waiter waiters[3];
	DAT_EVD_HANDLE evds[3];

	catch_signals(_i);
	t_ia_open(&ia);
	for (int i = 0; i < 3; i++)
		evds[i] = t_evd(&ia, 4, DAT_EVD_SOFTWARE_FLAG);
	for (int target = 0; target < 3; target++) {
		for (int i = 0; i < 3; i++)
			t_evd_waiter_start(&waiters[i], evds[i], 1);
		t_error(interrupt(&waiters[target]), DAT_INTERRUPTED_CALL);
		for (int i = 0; i < 3; i++) {
			if (i == target)
				continue;
			ck_assert(!t_waiter_done(&waiters[i]));
			t_ok(t_post_se(evds[i], &waiters[i]));
			t_ok(t_waiter_join(&waiters[i]));
		}
	}
	t_ia_close(&ia);
}
END_TEST

#define STORM 2000

static void *storm(void *arg)
{
	const pthread_t *thread = arg;

	for (int i = 0; i < STORM; i++) {
		pthread_kill(*thread, SIGUSR1);
		sched_yield();
	}
	return NULL;
}

START_TEST(no_event_is_lost_in_a_storm_of_signals)
{
	pthread_t self = pthread_self(), thread;
	struct t_loop loop;
	DAT_COUNT nmore;
	DAT_EVENT event;

	catch_signals(0);
	t_ia_open(&ia);
	t_loop_open(&loop, &ia, NULL);
	ck_assert_int_eq(pthread_create(&thread, NULL, storm, &self), 0);
	for (uint64_t i = 0; i < 500; i++) {
		DAT_RETURN ret;

		t_ok(t_recv(&loop.end[1], 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(&loop.end[0], 0, 64, i, DAT_COMPLETION_SUPPRESS_FLAG));
		do
			ret = dat_evd_wait(loop.end[1].recv_evd, T_LIMIT_US, 1, &event, &nmore);
		while (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL);
		t_ok(ret);
		ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, i);
	}
	pthread_join(thread, NULL);
	ck_assert_int_gt(handled, 0);
	t_ia_close(&ia);
}
END_TEST

/* Our threads block all signals, so signals of the process go to the consumer's threads. */
START_TEST(our_threads_take_no_signals)
{
	sigset_t set;
	int taken;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	t_ia_open(&ia);
	ck_assert_int_eq(kill(getpid(), SIGUSR2), 0);
	ck_assert_int_eq(sigwait(&set, &taken), 0); /* its default action would have ended us */
	ck_assert_int_eq(taken, SIGUSR2);
	t_ia_close(&ia);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("signal");
	TCase *tcase = tcase_create("signal");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, evd_wait_is_interrupted, 0, 2);
	tcase_add_loop_test(tcase, cno_wait_is_interrupted, 0, 2);
	tcase_add_loop_test(tcase, one_of_several_waiters_is_interrupted, 0, 2);
	tcase_add_test(tcase, no_event_is_lost_in_a_storm_of_signals);
	tcase_add_test(tcase, our_threads_take_no_signals);
	return t_run(suite);
}
