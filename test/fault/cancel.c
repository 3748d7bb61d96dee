/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * pthread_cancel ends a thread that waits in dat_evd_wait or dat_cno_wait. The objects, the other
 * threads and the events are as if the wait had ended by a signal.
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "fault.h"

#define ROUNDS 20

static struct t_ia ia;

/*
 * ThreadSanitizer's own ppoll, in which the thread is cancelled, is left without its end. From then
 * on it overlooks the atomic operations of that thread and reports races that do not exist.
 */
static void setup(void)
{
#ifdef __SANITIZE_THREAD__
	t_skip("ThreadSanitizer does not follow a thread that is cancelled in ppoll");
#endif
	t_ia_open(&ia);
}

/* With calls that need all locks, and a progress thread that works. */
static void teardown(void)
{
	struct t_loop loop;

	t_loop_open(&loop, &ia, NULL);
	t_loop_close(&loop);
	t_ia_close(&ia);
}

static void cancel(pthread_t thread)
{
	ck_assert_int_eq(pthread_cancel(thread), 0);
	ck_assert_ptr_eq(t_join(thread), PTHREAD_CANCELED);
}

START_TEST(evd_wait_is_cancelled)
{
	DAT_EVD_HANDLE evd = t_evd(&ia, 4, DAT_EVD_SOFTWARE_FLAG);
	struct t_waiter waiter;

	for (int round = 0; round < ROUNDS; round++) {
		t_evd_waiter_start(&waiter, evd, 1);
		cancel(waiter.thread);
		t_ok(t_post_se(evd, &waiter));
		t_wait_se(evd, &waiter);
	}
	t_ok(dat_evd_free(evd));
}
END_TEST

START_TEST(cno_wait_is_cancelled)
{
	DAT_CNO_HANDLE cno = t_cno(&ia);
	DAT_EVD_HANDLE evd = t_evd_of_cno(&ia, cno, DAT_EVD_SOFTWARE_FLAG), triggered;
	struct t_waiter waiter;

	for (int round = 0; round < ROUNDS; round++) {
		t_cno_waiter_start(&waiter, cno);
		cancel(waiter.thread);
		t_ok(t_post_se(evd, &waiter));
		t_ok(dat_cno_wait(cno, T_LIMIT_US, &triggered));
		ck_assert_ptr_eq(triggered, evd);
		t_wait_se(evd, &waiter);
	}
	t_ok(dat_evd_free(evd));
	t_ok(dat_cno_free(cno));
}
END_TEST

/* One of the threads is the driver, and another one has to follow it. */
START_TEST(one_of_several_waiters_is_cancelled)
{
	struct t_waiter waiters[3];
	DAT_EVD_HANDLE evds[3];

	for (int i = 0; i < 3; i++)
		evds[i] = t_evd(&ia, 4, DAT_EVD_SOFTWARE_FLAG);
	for (int target = 0; target < 3; target++) {
		for (int i = 0; i < 3; i++)
			t_evd_waiter_start(&waiters[i], evds[i], 1);
		cancel(waiters[target].thread);
		for (int i = 0; i < 3; i++) {
			if (i == target)
				continue;
			ck_assert(!t_waiter_done(&waiters[i]));
			t_ok(t_post_se(evds[i], &waiters[i]));
			t_ok(t_waiter_join(&waiters[i]));
		}
	}
	for (int i = 0; i < 3; i++)
		t_ok(dat_evd_free(evds[i]));
}
END_TEST

/* --- a cleanup handler of the program --- */

static bool blocks_signals;

static void look(void *arg)
{
	sigset_t now;

	(void)arg;
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	blocks_signals = sigismember(&now, SIGTERM);
}

static void *wait_and_clean_up(void *evd)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	pthread_cleanup_push(look, NULL);
	dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore);
	pthread_cleanup_pop(false);
	return NULL;
}

START_TEST(cleanup_handlers_run_with_the_signals_of_the_program)
{
	DAT_EVD_HANDLE evd = t_evd(&ia, 4, DAT_EVD_SOFTWARE_FLAG);
	pthread_t thread;

	blocks_signals = true;
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_and_clean_up, evd), 0);
	cancel(thread);
	ck_assert(!blocks_signals);
	t_ok(dat_evd_free(evd));
}
END_TEST

/* --- a thread that can be cancelled between any two instructions --- */

struct server {
	pthread_t thread;
	_Atomic pid_t tid;
	DAT_EVD_HANDLE evd;
};

static void *serve(void *arg)
{
	struct server *server = arg;
	DAT_COUNT nmore;
	DAT_EVENT event;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	server->tid = gettid();
	while (true)
		dat_evd_wait(server->evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore);
	return NULL;
}

/* MVAPICH2 does so when a program of more than 64 ranks ends. */
START_TEST(server_thread_is_cancelled_asynchronously)
{
	struct server server = {.evd = t_evd(&ia, 4, DAT_EVD_SOFTWARE_FLAG)};

	for (int round = 0; round < ROUNDS; round++) {
		server.tid = 0;
		ck_assert_int_eq(pthread_create(&server.thread, NULL, serve, &server), 0);
		t_until(server.tid && t_sleeps(server.tid));
		cancel(server.thread);
		t_ok(t_post_se(server.evd, &server));
		t_wait_se(server.evd, &server);
	}
	t_ok(dat_evd_free(server.evd));
}
END_TEST

/* --- a thread that receives messages --- */

#define MESSAGES 64

struct receiver {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	_Atomic uint64_t received;
};

static void *receive(void *arg)
{
	struct receiver *receiver = arg;
	DAT_COUNT nmore;
	DAT_EVENT event;

	while (dat_evd_wait(receiver->evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore) == DAT_SUCCESS)
		receiver->received++;
	return NULL;
}

/* The thread is anywhere in its call. It has taken all messages whose event it has got, or none. */
START_TEST(no_message_is_lost)
{
	struct receiver receiver = {.received = 0};
	struct t_loop loop;

	t_loop_open(&loop, &ia, NULL);
	receiver.evd = loop.end[1].recv_evd;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		receiver.received = 0;
		for (uint64_t i = 0; i < MESSAGES; i++)
			t_ok(t_recv(&loop.end[1], 0, 8, i, DAT_COMPLETION_DEFAULT_FLAG));
		ck_assert_int_eq(pthread_create(&receiver.thread, NULL, receive, &receiver), 0);
		for (uint64_t i = 0; i < MESSAGES; i++) {
			t_ok(t_send(&loop.end[0], 0, 8, i, DAT_COMPLETION_SUPPRESS_FLAG));
			if (i == round * MESSAGES / ROUNDS)
				ck_assert_int_eq(pthread_cancel(receiver.thread), 0);
		}
		ck_assert_ptr_eq(t_join(receiver.thread), PTHREAD_CANCELED);
		for (uint64_t i = receiver.received; i < MESSAGES; i++)
			t_wait_dto(receiver.evd, loop.end[1].ep, i, DAT_DTO_SUCCESS, 8);
		t_no_event(receiver.evd);
	}
	t_loop_close(&loop);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cancel");
	TCase *tcase = tcase_create("cancel");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, evd_wait_is_cancelled);
	tcase_add_test(tcase, cno_wait_is_cancelled);
	tcase_add_test(tcase, one_of_several_waiters_is_cancelled);
	tcase_add_test(tcase, cleanup_handlers_run_with_the_signals_of_the_program);
	tcase_add_test(tcase, server_thread_is_cancelled_asynchronously);
	tcase_add_test(tcase, no_message_is_lost);
	return t_run(suite);
}
