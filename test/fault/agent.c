/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A CNO's agent closes its IA, on whatever thread it happens to be called. */
#include <dirent.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "fault.h"

#define ROUNDS 20

static struct t_ia ia;
static struct t_loop loop;
static DAT_CNO_HANDLE cnos[2];
static sem_t closed;
static DAT_RETURN answer;
static _Atomic pthread_t caller;
static _Atomic int others; /* calls of the other CNO's agent */

static void close_agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)evd;
	caller = pthread_self();
	answer = dat_ia_close(*(DAT_IA_HANDLE *)data, DAT_CLOSE_ABRUPT_FLAG);
	/* The fabric has done with the memory of the IA. */
	for (int i = 0; i < 2; i++)
		munmap(loop.end[i].buf.mem, loop.end[i].buf.size);
	sem_post(&closed);
}

static void other_agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
	others++;
}

static DAT_CNO_HANDLE cno_with(void (*run)(DAT_PVOID, DAT_EVD_HANDLE))
{
	DAT_OS_WAIT_PROXY_AGENT agent = {.instance_data = &ia.ia, .proxy_agent_func = run};
	DAT_CNO_HANDLE cno;

	t_ok(dat_cno_create(ia.ia, agent, &cno));
	return cno;
}

/* A connection, on which a receive at its second end calls the agent. */
static void prepare(void)
{
	others = 0;
	ck_assert_int_eq(sem_init(&closed, 0, 0), 0);
	t_ia_open(&ia);
	t_loop_open(&loop, &ia, NULL);
	cnos[0] = cno_with(close_agent);
	cnos[1] = cno_with(other_agent);
	t_ok(dat_evd_modify_cno(loop.end[1].recv_evd, cnos[0]));
	t_ok(dat_evd_modify_cno(loop.end[0].recv_evd, cnos[1]));
	for (uint64_t i = 0; i < 5; i++)
		t_ok(t_recv(&loop.end[0], 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_recv(&loop.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
}

static DAT_RETURN trigger(void)
{
	return t_send(&loop.end[0], 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG);
}

static bool has_closed(void)
{
	return sem_trywait(&closed) == 0;
}

static int threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Nothing is left, and another IA can be had. */
static void expect_closed(int threads_before)
{
	DAT_EVENT event;

	t_ok(answer);
	t_bad_handle(dat_ia_close(ia.ia, DAT_CLOSE_ABRUPT_FLAG));
	t_bad_handle(dat_evd_dequeue(loop.end[1].recv_evd, &event));
	t_bad_handle(trigger());
	ck_assert_int_gt(others, 0); /* told that the IA closes */
	t_until(threads() == threads_before);
	sem_destroy(&closed);
}

/* The consumer makes no call: the progress thread does all. */
START_TEST(on_the_progress_thread)
{
	int before = threads();

	for (int round = 0; round < ROUNDS; round++) {
		prepare();
		t_ok(trigger());
		t_until(has_closed());
		ck_assert(!pthread_equal(caller, pthread_self()));
		expect_closed(before);
	}
}
END_TEST

/* On one that waits, on an EVD of the same IA. */
START_TEST(on_a_waiting_thread)
{
	int before = threads();

	for (int round = 0; round < ROUNDS; round++) {
		DAT_RETURN ret;
		DAT_COUNT nmore;
		DAT_EVENT event;

		prepare();
		t_ok(trigger());
		/* The send's completion, or the end. */
		do
			ret = dat_evd_wait(loop.end[0].request_evd, T_LIMIT_US, 1, &event, &nmore);
		while (ret == DAT_SUCCESS);
		t_error2(ret, DAT_ABORT, DAT_INVALID_HANDLE);
		t_until(has_closed());
		expect_closed(before);
	}
}
END_TEST

/* In a call that polls. */
START_TEST(on_a_polling_thread)
{
	int before = threads();

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t limit = t_now_us() + T_LIMIT_US;
		DAT_RETURN ret;
		DAT_EVENT event;

		prepare();
		t_ok(trigger());
		do
			ret = dat_evd_dequeue(loop.end[0].connect_evd, &event);
		while (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY && t_now_us() < limit);
		t_bad_handle(ret);
		t_until(has_closed());
		expect_closed(before);
	}
}
END_TEST

/* In the call that makes the event, with waiters on other threads. */
START_TEST(on_a_posting_thread)
{
	int before = threads();
	struct t_waiter waiters[2];
	DAT_EVD_HANDLE evd;

	for (int round = 0; round < ROUNDS; round++) {
		prepare();
		evd = t_evd_of_cno(&ia, cnos[0], DAT_EVD_SOFTWARE_FLAG);
		t_evd_waiter_start(&waiters[0], loop.end[1].request_evd, 1);
		t_cno_waiter_start(&waiters[1], cnos[1]);
		t_ok(t_post_se(evd, NULL));
		t_until(has_closed());
		t_error(t_waiter_join(&waiters[0]), DAT_ABORT);
		t_ok(t_waiter_join(&waiters[1]));
		expect_closed(before);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("agent");
	TCase *tcase = tcase_create("agent");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, on_the_progress_thread);
	tcase_add_test(tcase, on_a_waiting_thread);
	tcase_add_test(tcase, on_a_polling_thread);
	tcase_add_test(tcase, on_a_posting_thread);
	return fault_run(suite);
}
