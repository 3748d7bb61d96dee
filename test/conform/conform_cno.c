/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* CNOs: creation and free, agents, triggers, waiting. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>

#include "conform.h"

/* --- agents --- */

/* Agents are also called when the IA is closed, so tests keep them in static memory. */
struct agent {
	atomic_int calls;
	DAT_EVD_HANDLE evd; /* of the last call */
	DAT_CNO_HANDLE cno;
	int rearm; /* how many calls set the agent again */
	bool take; /* the agent dequeues an event and posts another one */
	atomic_int failures;
};

static void agent_main(DAT_PVOID data, DAT_EVD_HANDLE evd);

static DAT_OS_WAIT_PROXY_AGENT armed(struct agent *agent)
{
	return (DAT_OS_WAIT_PROXY_AGENT){.instance_data = agent, .proxy_agent_func = agent_main};
}

static void agent_main(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	struct agent *agent = data;
	DAT_EVENT event;

	agent->evd = evd;
	if (agent->take) {
		agent->failures += dat_evd_dequeue(evd, &event) != DAT_SUCCESS;
		agent->failures += t_post_se(evd, &marks[9]) != DAT_SUCCESS;
		agent->failures += DAT_GET_TYPE(dat_evd_free(evd)) != DAT_SUCCESS;
	}
	if (agent->rearm-- > 0)
		agent->failures += dat_cno_modify_agent(agent->cno, armed(agent)) != DAT_SUCCESS;
	agent->calls++;
}

static DAT_CNO_HANDLE cno_with(struct agent *agent)
{
	DAT_OS_WAIT_PROXY_AGENT proxy = armed(agent);

	memset(agent, 0, sizeof(*agent));
	agent->evd = t_tia.pz; /* neither null nor an EVD */
	t_ok(dat_cno_create(t_tia.ia, proxy, &agent->cno));
	return agent->cno;
}

static void expect_calls(struct agent *agent, int calls, DAT_EVD_HANDLE evd)
{
	t_until(agent->calls >= calls);
	ck_assert_int_eq(agent->calls, calls);
	ck_assert_ptr_eq(agent->evd, evd);
	ck_assert_int_eq(agent->failures, 0);
}

static DAT_EVD_HANDLE evd_of(DAT_CNO_HANDLE cno)
{
	return t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);
}

static void is_quiet(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = cno;

	t_error(t_poll_cno(cno, &evd), DAT_QUEUE_EMPTY);
	ck_assert_ptr_null(evd);
}

static void is_triggered(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE by)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	t_ok(t_poll_cno(cno, &evd));
	ck_assert_ptr_eq(evd, by);
}

/* --- create and free --- */

START_TEST(CNO_001_023_new_cno_is_not_triggered)
{
	DAT_CNO_HANDLE cno = t_cno(&t_tia);

	is_quiet(cno);
	t_ok(dat_cno_free(cno));
}
END_TEST

START_TEST(CNO_002_003_027_044_045_agent_is_called_with_its_data)
{
	/* EVS-097 */
	DAT_OS_WAIT_PROXY_AGENT proxy;
	static struct agent agent, other;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;

	proxy = armed(&agent);
	t_ok(dat_cno_create(t_tia.ia, proxy, &cno));
	memset(&proxy, 0xff, sizeof(proxy));
	evd = evd_of(cno);
	ck_assert_int_eq(agent.calls, 0);
	t_ok(t_post_se(evd, marks));
	expect_calls(&agent, 1, evd);
	is_triggered(cno, evd);
	t_ok(dat_cno_free(cno_with(&other)));
	ck_assert_int_eq(other.calls, 0);
}
END_TEST

START_TEST(CNO_004_006_create_refuses_bad_arguments)
{
	DAT_OS_WAIT_PROXY_AGENT bad = {.instance_data = marks};
	DAT_CNO_HANDLE cno;

	t_bad_arg_of(dat_cno_create(t_tia.ia, bad, &cno), 2);
	t_bad_arg_of(dat_cno_create(t_tia.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, NULL), 3);
}
END_TEST

START_TEST(CNO_024_025_free_refuses_a_cno_in_use)
{
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = evd_of(cno);
	struct t_waiter waiter;

	t_bad_state_of(dat_cno_free(cno), CNO_IN_USE);
	t_ok(t_post_se(evd, marks));
	is_triggered(cno, evd);
	t_ok(dat_evd_free(evd));
	t_cno_waiter_start(&waiter, cno);
	t_bad_state_of(dat_cno_free(cno), CNO_IN_USE);
	ck_assert(!t_waiter_done(&waiter));
	t_ok(t_post_se(evd_of(cno), marks));
	t_ok(t_waiter_join(&waiter));
}
END_TEST

/* --- descriptors --- */

#if T_DAT_MAJOR == 2
static bool readable(int fd)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};

	return poll(&pollfd, 1, 0) == 1;
}

START_TEST(CNO_008_010_048_descriptor_is_readable_while_triggered)
{
	/* CNO-018 */
	DAT_EVD_HANDLE evd, hint;
	DAT_CNO_PARAM param;
	DAT_CNO_HANDLE cno;
	DAT_RETURN ret;
	DAT_FD fd;

	ret = dat_cno_fd_create(t_tia.ia, &fd, &cno);
	if (ret != DAT_SUCCESS) {
		t_unsupported(ret);
		t_skip("a CNO has no descriptor");
	}
	evd = evd_of(cno);
	t_ok(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	ck_assert_int_eq(param.proxy_type, DAT_PROXY_TYPE_FD);
	ck_assert_int_eq(param.proxy.fd, fd);
	for (int i = 0; i < 2; i++) {
		ck_assert(!readable(fd));
		t_ok(t_post_se(evd, marks));
		t_until(readable(fd));
		is_triggered(cno, evd);
	}
	ck_assert(!readable(fd));
	t_ok(t_post_se(evd, marks));
	ret = dat_cno_trigger(cno, &hint);
	if (ret == DAT_SUCCESS)
		ck_assert(!readable(fd) && hint == evd);
	else
		t_unsupported(ret);
	t_ok(dat_evd_free(evd));
	t_ok(dat_cno_free(cno));
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
}
END_TEST

START_TEST(CNO_009_fd_create_refuses_bad_arguments)
{
	DAT_CNO_HANDLE cno;
	DAT_FD fd;

	t_bad_arg(dat_cno_fd_create(t_tia.ia, NULL, &cno));
	t_bad_arg(dat_cno_fd_create(t_tia.ia, &fd, NULL));
	t_bad_handle_of(dat_cno_fd_create(DAT_HANDLE_NULL, &fd, &cno), IA);
}
END_TEST
#endif

/* --- agents --- */

START_TEST(CNO_011_modify_agent_replaces_and_removes)
{
	static struct agent first, second;
	DAT_CNO_HANDLE cno = cno_with(&first);
	DAT_EVD_HANDLE evd = evd_of(cno);

	t_ok(dat_cno_modify_agent(cno, armed(&second)));
	t_ok(t_post_se(evd, marks));
	expect_calls(&second, 1, evd);
	ck_assert_int_eq(first.calls, 0);
	is_triggered(cno, evd);
	t_ok(dat_cno_modify_agent(cno, armed(&first)));
	t_ok(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	t_ok(t_post_se(evd, marks));
	is_triggered(cno, evd);
	ck_assert_int_eq(first.calls, 0);
	ck_assert_int_eq(second.calls, 1);
}
END_TEST

START_TEST(CNO_012_bad_agent_leaves_the_old_one)
{
	DAT_OS_WAIT_PROXY_AGENT bad = {.instance_data = marks};
	static struct agent agent;
	DAT_CNO_HANDLE cno = cno_with(&agent);
	DAT_EVD_HANDLE evd = evd_of(cno);

	t_bad_arg_of(dat_cno_modify_agent(cno, bad), 2);
	t_ok(t_post_se(evd, marks));
	expect_calls(&agent, 1, evd);
}
END_TEST

START_TEST(CNO_015_047_agent_is_called_once_until_it_is_set_again)
{
	static struct agent agent;
	DAT_CNO_HANDLE cno = cno_with(&agent);
	DAT_EVD_HANDLE evd = evd_of(cno);

	agent.rearm = 2;
	for (int i = 1; i <= 3; i++) {
		t_ok(t_post_se(evd, marks));
		expect_calls(&agent, i, evd);
		t_ok(t_post_se(evd, marks)); /* it is triggered already */
		is_triggered(cno, evd);
		ck_assert_int_eq(agent.calls, i);
	}
	t_ok(t_post_se(evd, marks));
	is_triggered(cno, evd);
	t_stays_quiet(t_tia.async_evd);
	ck_assert_int_eq(agent.calls, 3);
	t_ok(dat_cno_modify_agent(cno, armed(&agent)));
	t_ok(t_post_se(evd, marks));
	expect_calls(&agent, 4, evd);
}
END_TEST

START_TEST(CNO_016_agent_set_while_triggered_waits_for_the_next_time)
{
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = evd_of(cno);
	static struct agent agent;

	t_ok(t_post_se(evd, marks));
	t_ok(dat_cno_modify_agent(cno, armed(&agent)));
	t_ok(t_post_se(evd, marks));
	ck_assert_int_eq(agent.calls, 0);
	is_triggered(cno, evd);
	t_ok(t_post_se(evd, marks));
	expect_calls(&agent, 1, evd);
}
END_TEST

START_TEST(CNO_046_agent_may_call_dat)
{
	static struct agent agent;
	DAT_CNO_HANDLE cno = cno_with(&agent);
	DAT_EVD_HANDLE evd = evd_of(cno);
	DAT_EVENT event;

	agent.rearm = 1;
	t_ok(t_post_se(evd, &marks[0]));
	expect_calls(&agent, 1, evd);
	is_triggered(cno, evd);
	agent.rearm = 0;
	t_ok(dat_evd_dequeue(evd, &event));
	t_ok(t_post_se(evd, &marks[1]));
	expect_calls(&agent, 2, evd);
}
END_TEST

START_TEST(CNO_046_agent_may_dequeue_post_and_free)
{
	static struct agent agent;
	DAT_CNO_HANDLE cno = cno_with(&agent);
	DAT_EVD_HANDLE evd = evd_of(cno);

	agent.take = true;
	t_ok(t_post_se(evd, &marks[0]));
	expect_calls(&agent, 1, evd);
	t_bad_handle(dat_evd_free(evd));
	t_ok(dat_cno_free(cno));
}
END_TEST

/* --- query --- */

static DAT_CNO_PARAM query(DAT_CNO_HANDLE cno)
{
	DAT_CNO_PARAM param;

	memset(&param, 0xff, sizeof(param));
	t_ok(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, t_tia.ia);
	return param;
}

static void expect_agent(DAT_CNO_HANDLE cno, struct agent *agent)
{
	DAT_CNO_PARAM param = query(cno);

#if T_DAT_MAJOR == 1
	ck_assert_ptr_eq(param.agent.instance_data, agent);
	ck_assert(param.agent.proxy_agent_func == (agent ? agent_main : NULL));
#else
	ck_assert_int_eq(param.proxy_type, agent ? DAT_PROXY_TYPE_AGENT : DAT_PROXY_TYPE_NONE);
	if (agent) {
		ck_assert_ptr_eq(param.proxy.agent.instance_data, agent);
		ck_assert(param.proxy.agent.proxy_agent_func == agent_main);
	}
#endif
}

START_TEST(CNO_017_018_019_query_tells_the_agent)
{
	/* IA-021 */
	static struct agent agent;
	DAT_CNO_HANDLE cno = cno_with(&agent);
	DAT_EVD_HANDLE evd = evd_of(cno);

	expect_agent(t_cno(&t_tia), NULL);
	expect_agent(cno, &agent);
	t_ok(t_post_se(evd, marks));
	expect_calls(&agent, 1, evd);
	expect_agent(cno, NULL);
	t_ok(dat_cno_modify_agent(cno, armed(&agent)));
	expect_agent(cno, &agent);
}
END_TEST

START_TEST(CNO_020_021_query_refuses_bad_arguments)
{
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_CNO_PARAM param;

	t_ok(dat_cno_query(cno, (DAT_CNO_PARAM_MASK)0x80000000u, &param));
	ck_assert_ptr_eq(param.ia_handle, t_tia.ia);
	t_bad_arg_of(dat_cno_query(cno, DAT_CNO_FIELD_ALL, NULL), 3);
}
END_TEST

/* --- wait --- */

START_TEST(CNO_028_031_042_trigger_is_a_state)
{
	/* EVS-094 EVS-095 EVS-101 */
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = evd_of(cno);

	for (int i = 0; i < 3; i++)
		t_ok(t_post_se(evd, &marks[i]));
	is_triggered(cno, evd);
	is_quiet(cno);
	ck_assert_int_eq(t_drain(evd), 3);
	is_quiet(cno);
	t_ok(t_post_se(evd, marks));
	is_triggered(cno, evd);
}
END_TEST

START_TEST(CNO_029_wait_blocks_until_the_trigger)
{
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = evd_of(cno);
	struct t_waiter waiter;

	t_cno_waiter_start(&waiter, cno);
	ck_assert(!t_waiter_done(&waiter));
	t_ok(t_post_se(evd, marks));
	t_ok(t_waiter_join(&waiter));
	ck_assert_ptr_eq(waiter.evd, evd);
	is_quiet(cno);
}
END_TEST

START_TEST(CNO_030_038_timeout)
{
	/* EVS-103 */
	static const DAT_TIMEOUT timeouts[] = {0, 1, 20000, 150000};
	DAT_CNO_HANDLE cno = t_cno(&t_tia);

	for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
		DAT_EVD_HANDLE evd = cno;
		uint64_t start = t_now_us();

		t_error(dat_cno_wait(cno, timeouts[i], &evd), DAT_QUEUE_EMPTY);
		ck_assert_ptr_null(evd);
		ck_assert_uint_ge(t_now_us() - start, timeouts[i]);
		ck_assert_uint_lt(t_now_us() - start, timeouts[i] + T_LIMIT_US);
	}
	/* DAT_TIMEOUT is unsigned: the largest values are long times. */
	t_ok(t_post_se(evd_of(cno), marks));
	t_ok(dat_cno_wait(cno, DAT_TIMEOUT_INFINITE - 1, &(DAT_EVD_HANDLE){NULL}));
}
END_TEST

START_TEST(CNO_032_hint_is_one_of_those_that_triggered)
{
	/* EVS-096 EVS-098 */
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd[3], hint;

	for (int i = 0; i < 3; i++)
		evd[i] = evd_of(cno);
	t_ok(t_post_se(evd[2], marks));
	t_ok(t_post_se(evd[0], marks));
	t_ok(t_poll_cno(cno, &hint));
	ck_assert(hint == evd[2] || hint == evd[0]);
	ck_assert_int_eq(t_drain(evd[0]), 1);
	ck_assert_int_eq(t_drain(evd[1]), 0);
	ck_assert_int_eq(t_drain(evd[2]), 1);
	t_ok(t_post_se(evd[1], marks));
	is_triggered(cno, evd[1]);
}
END_TEST

/* Programs that look at no other EVD than the one that is returned lose no event. */
START_TEST(CNO_032_each_evd_with_events_is_returned)
{
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd[3];

	for (int i = 0; i < 3; i++) {
		evd[i] = evd_of(cno);
		t_ok(t_post_se(evd[i], marks));
	}
	for (int i = 0; i < 3; i++) {
		is_triggered(cno, evd[i]);
		ck_assert_int_eq(t_drain(evd[i]), 1);
	}
	is_quiet(cno);
	/* Who looks at all of them is not woken for nothing. */
	for (int i = 0; i < 3; i++)
		t_ok(t_post_se(evd[i], marks));
	is_triggered(cno, evd[0]);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(t_drain(evd[i]), 1);
	is_quiet(cno);
}
END_TEST

START_TEST(CNO_033_free_of_all_evds_wakes_all_waiters)
{
	static struct agent agent;
	DAT_CNO_HANDLE cno = cno_with(&agent);
	DAT_EVD_HANDLE evd = evd_of(cno);
	struct t_waiter waiter[3];

	for (int i = 0; i < 3; i++) {
		t_cno_waiter_start(&waiter[i], cno);
		waiter[i].evd = cno;
	}
	t_ok(dat_evd_free(evd));
	for (int i = 0; i < 3; i++) {
		t_ok(t_waiter_join(&waiter[i]));
		ck_assert_ptr_null(waiter[i].evd);
	}
	expect_calls(&agent, 1, DAT_HANDLE_NULL);
	t_ok(dat_cno_free(cno));
}
END_TEST

START_TEST(CNO_034_close_of_the_ia_wakes_all_waiters)
{
	/* IA-029 IA-030 */
	struct t_waiter waiter[2];
	static struct agent agent;
	struct t_ia tia;

	t_ia_open(&tia);
	memset(&agent, 0, sizeof(agent));
	agent.evd = t_tia.pz;
	t_ok(dat_cno_create(tia.ia, armed(&agent), &agent.cno));
	t_evd_of_cno(&tia, agent.cno, DAT_EVD_SOFTWARE_FLAG);
	for (int i = 0; i < 2; i++) {
		t_cno_waiter_start(&waiter[i], agent.cno);
		waiter[i].evd = agent.cno;
	}
	t_ia_close(&tia);
	for (int i = 0; i < 2; i++) {
		t_ok(t_waiter_join(&waiter[i]));
		ck_assert_ptr_null(waiter[i].evd);
	}
	expect_calls(&agent, 1, DAT_HANDLE_NULL);
}
END_TEST

static void on_signal(int number)
{
	(void)number;
}

START_TEST(CNO_035_signal_ends_the_wait)
{
	/* _i: whether system calls restart, and which thread gets the signal first */
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = _i & 1 ? SA_RESTART : 0};
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = evd_of(cno);
	struct t_waiter waiter[2];

	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	for (int i = 0; i < 2; i++)
		t_cno_waiter_start(&waiter[i], cno);
	for (int i = 0; i < 2; i++)
		t_error(t_waiter_signal(&waiter[_i & 2 ? 1 - i : i], SIGUSR1),
			DAT_INTERRUPTED_CALL);
	t_ok(t_post_se(evd, marks));
	is_triggered(cno, evd);
}
END_TEST

static int count_done(struct t_waiter *waiter, bool *done, int n)
{
	int count = 0;

	for (int i = 0; i < n; i++) {
		done[i] = done[i] || t_waiter_done(&waiter[i]);
		count += done[i];
	}
	return count;
}

START_TEST(CNO_036_one_trigger_wakes_one_waiter)
{
	/* EVS-100 */
	enum { N = 3 };
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = evd_of(cno);
	struct t_waiter waiter[N];
	bool done[N] = {false};

	for (int i = 0; i < N; i++)
		t_cno_waiter_start(&waiter[i], cno);
	for (int woken = 1; woken <= N; woken++) {
		t_ok(t_post_se(evd, marks));
		t_until(count_done(waiter, done, N) >= woken);
		t_stays_quiet(t_tia.async_evd);
		ck_assert_int_eq(count_done(waiter, done, N), woken);
	}
	for (int i = 0; i < N; i++) {
		t_ok(waiter[i].ret);
		ck_assert_ptr_eq(waiter[i].evd, evd);
	}
	is_quiet(cno);
}
END_TEST

START_TEST(CNO_037_wait_refuses_a_null_pointer)
{
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = evd_of(cno);

	t_ok(t_post_se(evd, marks));
	t_bad_arg(dat_cno_wait(cno, 0, NULL));
	is_triggered(cno, evd);
}
END_TEST

enum { PRODUCERS = 2, EVENTS_EACH = 5000 };

static void *producer(void *arg)
{
	for (int i = 0; i < EVENTS_EACH; i++) {
		while (t_post_se(arg, marks) != DAT_SUCCESS)
			t_pause();
	}
	return NULL;
}

START_TEST(CNO_040_no_event_is_lost_between_dequeue_and_wait)
{
	/* EVS-019 EVS-099 */
	DAT_EVD_HANDLE evd[PRODUCERS], hint;
	pthread_t threads[PRODUCERS];
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	int taken = 0;

	for (int i = 0; i < PRODUCERS; i++) {
		evd[i] = evd_of(cno);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, producer, evd[i]), 0);
	}
	while (taken < PRODUCERS * EVENTS_EACH) {
		t_ok(dat_cno_wait(cno, T_LIMIT_US, &hint));
		for (int i = 0; i < PRODUCERS; i++)
			taken += t_drain(evd[i]);
	}
	for (int i = 0; i < PRODUCERS; i++)
		t_join(threads[i]);
	ck_assert_int_eq(taken, PRODUCERS * EVENTS_EACH);
}
END_TEST

START_TEST(CNO_041_hint_is_alive_or_null)
{
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = evd_of(cno), other = evd_of(cno), hint;

	t_ok(t_post_se(evd, marks));
	t_ok(dat_evd_disable(evd));
	t_ok(t_poll_cno(cno, &hint));
	ck_assert(hint == evd || hint == DAT_HANDLE_NULL);
	t_ok(dat_evd_enable(evd));
	t_ok(t_post_se(evd, marks));
	t_ok(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	t_ok(t_poll_cno(cno, &hint));
	ck_assert(hint == evd || hint == DAT_HANDLE_NULL);
	t_ok(dat_evd_free(other));
}
END_TEST

START_TEST(CNO_042_043_all_streams_trigger_but_unsignalled_completions_do_not)
{
	/* EVS-102 */
	DAT_EP_ATTR attr = t_default_attr(&t_tia);
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	struct t_listener listener;
	struct t_end from, to;

	attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&from, &t_tia, NULL);
	t_end_new(&to, &t_tia, &attr);
	t_ok(dat_evd_modify_cno(listener.evd, cno));
	t_ok(dat_evd_modify_cno(to.connect_evd, cno));
	t_ok(dat_evd_modify_cno(to.recv_evd, cno));
	t_ok(t_connect(from.ep, &listener));
	t_ok(dat_cno_wait(cno, T_LIMIT_US, &(DAT_EVD_HANDLE){NULL}));
	t_ok(t_cr_accept(t_next_cr(&listener), to.ep));
	t_ok(dat_cno_wait(cno, T_LIMIT_US, &(DAT_EVD_HANDLE){NULL}));
	t_wait_conn(to.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, to.ep);
	t_wait_conn(from.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, from.ep);

	t_ok(t_recv(&to, 0, 8, 1, DAT_COMPLETION_UNSIGNALLED_FLAG));
	t_ok(t_recv(&to, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(&from, 0, 8, 3, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(from.request_evd, from.ep, 3, DAT_DTO_SUCCESS, 8);
	t_error(dat_cno_wait(cno, T_QUIET_US, &(DAT_EVD_HANDLE){NULL}), DAT_QUEUE_EMPTY);
	t_ok(t_send(&from, 0, 8, 4, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(from.request_evd, from.ep, 4, DAT_DTO_SUCCESS, 8);
	t_ok(dat_cno_wait(cno, T_LIMIT_US, &(DAT_EVD_HANDLE){NULL}));
	ck_assert_int_eq(t_drain(to.recv_evd), 2);
}
END_TEST

Suite *conform_cno(void)
{
	Suite *suite = suite_create("cno");
	TCase *tc = conform_case(suite, "cno_create");

	tcase_add_test(tc, CNO_001_023_new_cno_is_not_triggered);
	tcase_add_test(tc, CNO_002_003_027_044_045_agent_is_called_with_its_data);
	tcase_add_test(tc, CNO_004_006_create_refuses_bad_arguments);
	tcase_add_test(tc, CNO_024_025_free_refuses_a_cno_in_use);
#if T_DAT_MAJOR == 2
	tcase_add_test(tc, CNO_008_010_048_descriptor_is_readable_while_triggered);
	tcase_add_test(tc, CNO_009_fd_create_refuses_bad_arguments);
#endif

	tc = conform_case(suite, "cno_agent");
	tcase_add_test(tc, CNO_011_modify_agent_replaces_and_removes);
	tcase_add_test(tc, CNO_012_bad_agent_leaves_the_old_one);
	tcase_add_test(tc, CNO_015_047_agent_is_called_once_until_it_is_set_again);
	tcase_add_test(tc, CNO_016_agent_set_while_triggered_waits_for_the_next_time);
	tcase_add_test(tc, CNO_046_agent_may_call_dat);
	tcase_add_test(tc, CNO_046_agent_may_dequeue_post_and_free);

	tc = conform_case(suite, "cno_query");
	tcase_add_test(tc, CNO_017_018_019_query_tells_the_agent);
	tcase_add_test(tc, CNO_020_021_query_refuses_bad_arguments);

	tc = conform_case(suite, "cno_wait");
	tcase_add_test(tc, CNO_028_031_042_trigger_is_a_state);
	tcase_add_test(tc, CNO_029_wait_blocks_until_the_trigger);
	tcase_add_test(tc, CNO_030_038_timeout);
	tcase_add_test(tc, CNO_032_hint_is_one_of_those_that_triggered);
	tcase_add_test(tc, CNO_032_each_evd_with_events_is_returned);
	tcase_add_test(tc, CNO_033_free_of_all_evds_wakes_all_waiters);
	tcase_add_test(tc, CNO_034_close_of_the_ia_wakes_all_waiters);
	tcase_add_loop_test(tc, CNO_035_signal_ends_the_wait, 0, 4);
	tcase_add_test(tc, CNO_036_one_trigger_wakes_one_waiter);
	tcase_add_test(tc, CNO_037_wait_refuses_a_null_pointer);
	tcase_add_test(tc, CNO_040_no_event_is_lost_between_dequeue_and_wait);
	tcase_add_test(tc, CNO_041_hint_is_alive_or_null);
	tcase_add_test(tc, CNO_042_043_all_streams_trigger_but_unsignalled_completions_do_not);
	return suite;
}
