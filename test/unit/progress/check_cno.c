/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Consumer notification objects: trigger, waiters, agents, descriptors (CNO-*, EVS-094 to EVS-103).
 */
#include "../../lib/fake_ia.h"
#include "../../lib/unit.h"

#include "../../../prov/ofi/progress/agent.h"
#include "../../../prov/ofi/api/cno.h"
#include "../../../prov/ofi/progress/cno.h"
#include "../../../prov/ofi/progress/evd_wait.h"
#include "../../../prov/ofi/api/evd.h"
#include "../../../prov/ofi/progress/evd.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/progress/engine.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FOR_EVER DAT_TIMEOUT_INFINITE

static struct dofi_ia *ia;
static DAT_CNO_HANDLE cno;
static DAT_EVD_HANDLE evd;

static DAT_EVD_HANDLE new_evd(void)
{
	DAT_EVD_HANDLE handle;

	t_ok(dofi_evd_create(ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &handle));
	return handle;
}

static void setup(void)
{
	ia = t_ia_open();
	t_ok(dofi_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	evd = new_evd();
}

static void teardown(void)
{
	if (evd)
		t_ok(dofi_evd_free(evd));
	if (cno)
		t_ok(dofi_cno_free(cno));
	t_ia_close(ia);
}

static void post(DAT_EVD_HANDLE handle)
{
	DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

	t_ok(dofi_evd_post_se(handle, &event));
}

static void expect_triggered_by(DAT_EVD_HANDLE wanted)
{
	DAT_EVD_HANDLE hint = ia;

	t_ok(dofi_cno_wait(cno, 0, &hint));
	ck_assert_ptr_eq(hint, wanted);
}

static void expect_untriggered(void)
{
	DAT_EVD_HANDLE hint = ia;

	t_ret(dofi_cno_wait(cno, 0, &hint), DOFI_QUEUE_EMPTY);
	ck_assert_ptr_eq(hint, DAT_HANDLE_NULL);
}

/* --- an agent that counts --- */

static struct {
	_Atomic int calls;
	DAT_EVD_HANDLE evd;
} told;

static void count_call(DAT_PVOID data, DAT_EVD_HANDLE handle)
{
	ck_assert_ptr_eq(data, &told);
	told.evd = handle;
	told.calls++;
}

static const DAT_OS_WAIT_PROXY_AGENT counter = {&told, count_call};

/* --- threads in dat_cno_wait --- */

enum { WAITERS = 4 };
static struct waiter {
	struct t_thread thread;
	DAT_EVD_HANDLE hint;
} waiters[WAITERS];

static DAT_RETURN wait_main(void *arg)
{
	struct waiter *w = arg;

	return dofi_cno_wait(cno, FOR_EVER, &w->hint);
}

static void start_waiters(int n)
{
	for (int i = 0; i < n; i++) {
		waiters[i].hint = ia;
		t_start(&waiters[i].thread, wait_main, &waiters[i]);
	}
	t_until_asleep((uint32_t)n);
}

/* --- tests --- */

/* CNO-001 to CNO-006, CNO-011, CNO-012 */
START_TEST(test_create_arguments)
{
	const DAT_OS_WAIT_PROXY_AGENT bad = {&told, NULL};
	DAT_CNO_HANDLE out;

	t_ret(dofi_cno_create(ia, bad, &out), DOFI_BAD_ARG(2));
	t_ret(dofi_cno_create(evd, counter, &out), DOFI_BAD_HANDLE(IA));
	t_ret(dofi_cno_create(ia, counter, NULL), DOFI_BAD_ARG(3));
	t_ret(dofi_cno_modify_agent(cno, bad), DOFI_BAD_ARG(2));
	t_ret(dofi_cno_modify_agent(evd, counter), DOFI_BAD_HANDLE(CNO));
	t_ret(dofi_cno_wait(evd, 0, &out), DOFI_BAD_HANDLE(CNO));
	t_ret(dofi_cno_wait(cno, 0, NULL), DOFI_BAD_ARG(3));
	t_ret(dofi_cno_trigger(cno, NULL), DOFI_BAD_ARG(2));
#ifndef NDEBUG /* a lock without a level is not checked */
	ck_assert_int_eq(((struct dofi_cno *)cno)->lock.level, DOFI_LEVEL_CNO);
#endif
	expect_untriggered();
}
END_TEST

/* Objects come from larger pieces of memory, the first of which is there. */
START_TEST(test_without_memory)
{
	enum { MANY = 8192 };
	static DAT_CNO_HANDLE all[MANY];
	DAT_RETURN ret = DAT_SUCCESS;
	int n = 0;

	t_fake.fail_mmap = 1;
	while (n < MANY && (ret = dofi_cno_create(ia, counter, &all[n])) == DAT_SUCCESS)
		n++;
	t_ret(ret, DOFI_NO_MEMORY);
	ck_assert_ptr_null(all[n]);
	while (n-- > 0)
		t_ok(dofi_cno_free(all[n]));
}
END_TEST

/* CNO-017 to CNO-022 */
START_TEST(test_query)
{
	DAT_CNO_PARAM param;

	t_ok(dofi_cno_modify_agent(cno, counter));
	t_ok(dofi_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, ia);
#if T_DAT_MAJOR == 1
	ck_assert(param.agent.proxy_agent_func == count_call);
#else
	ck_assert_int_eq(param.proxy_type, DAT_PROXY_TYPE_AGENT);
	ck_assert(param.proxy.agent.proxy_agent_func == count_call);
#endif
	post(evd);
	t_ok(dofi_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
#if T_DAT_MAJOR == 1
	ck_assert(!param.agent.proxy_agent_func);
#else
	ck_assert_int_eq(param.proxy_type, DAT_PROXY_TYPE_NONE);
#endif
	/* The fields of DAT 2.0 are numbered 1 to 3, and its mask of all fields is 4. */
	for (unsigned int mask = 0; mask <= (DAT_CNO_FIELD_ALL | 3u); mask++)
		t_ok(dofi_cno_query(cno, (DAT_CNO_PARAM_MASK)mask, &param));
	t_ok(dofi_cno_query(cno, (DAT_CNO_PARAM_MASK)0, NULL));
	t_ok(dofi_cno_query(cno, (DAT_CNO_PARAM_MASK)8, &param));
	t_ret(dofi_cno_query(cno, DAT_CNO_FIELD_ALL, NULL), DOFI_BAD_ARG(3));
	t_ret(dofi_cno_query(evd, DAT_CNO_FIELD_ALL, &param), DOFI_BAD_HANDLE(CNO));
}
END_TEST

/* CNO-023 to CNO-026, EVD-007, EVD-022, EVD-031 to EVD-035 */
START_TEST(test_free_only_when_unused)
{
	DAT_CNO_HANDLE other, stale;

	t_ok(dofi_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &other));
	t_ret(dofi_cno_free(cno), DOFI_BAD_STATE(CNO_IN_USE));
	t_ret(dofi_evd_modify_cno(evd, ia), DOFI_BAD_HANDLE(CNO));
	t_ok(dofi_evd_modify_cno(evd, cno));
	t_ret(dofi_cno_free(cno), DOFI_BAD_STATE(CNO_IN_USE));
	t_ok(dofi_evd_modify_cno(evd, other));
	t_ret(dofi_cno_free(other), DOFI_BAD_STATE(CNO_IN_USE));
	t_ok(dofi_cno_free(cno));
	stale = cno;
	cno = other;
	t_ret(dofi_cno_free(stale), DOFI_BAD_HANDLE(CNO));
	t_ret(dofi_evd_modify_cno(evd, stale), DOFI_BAD_HANDLE(CNO));
	t_ok(dofi_evd_free(evd));
	evd = NULL;
	start_waiters(1);
	t_ret(dofi_cno_free(cno), DOFI_BAD_STATE(CNO_IN_USE));
	dofi_cno_flush((struct dofi_cno *)cno);
	t_ok(t_join(&waiters[0].thread));
	t_ok(dofi_cno_free(cno));
	cno = NULL;
}
END_TEST

/* CNO-028, CNO-031, CNO-032, EVS-095, EVS-101 */
START_TEST(test_trigger_is_a_state)
{
	int said = t_capture(STDERR_FILENO);

	post(evd);
	post(evd);
	expect_triggered_by(evd);
	expect_untriggered();
	post(evd);
	expect_triggered_by(evd);
	ck_assert_str_eq(t_captured(said), ""); /* there is no descriptor that can fail */
}
END_TEST

/* CNO-043, EVD-038 to EVD-048, EVS-025, EVS-026, EVS-102 */
START_TEST(test_events_that_do_not_trigger)
{
	struct dofi_event quiet = {.number = DAT_DTO_COMPLETION_EVENT};
	DAT_EVENT event;

	dofi_evd_push(evd, &quiet, false);
	expect_untriggered();
	t_ok(dofi_evd_disable(evd));
	t_ok(dofi_evd_disable(evd));
	post(evd);
	expect_untriggered();
	t_ok(dofi_evd_enable(evd));
	expect_untriggered();
	t_ok(dofi_evd_modify_cno(evd, DAT_HANDLE_NULL));
	post(evd);
	t_ok(dofi_evd_modify_cno(evd, cno));
	expect_untriggered();
	for (int i = 0; i < 3; i++)
		t_ok(dofi_evd_dequeue(evd, &event));
	post(evd);
	expect_triggered_by(evd);
}
END_TEST

static DAT_RETURN evd_wait_main(void *arg)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	return dofi_evd_wait(arg, FOR_EVER, 2, &event, &nmore);
}

/* EVD-077, CNO-043: also below the waiter's threshold */
START_TEST(test_event_for_a_waiter_does_not_trigger)
{
	struct t_thread thread;

	t_start(&thread, evd_wait_main, evd);
	t_until_asleep(1);
	post(evd);
	expect_untriggered();
	post(evd);
	t_ok(t_join(&thread));
	expect_untriggered();
	post(evd);
	expect_triggered_by(evd);
}
END_TEST

/* EVD-021, EVD-037, CNO-041 */
START_TEST(test_hint_is_alive_or_null)
{
	DAT_EVD_HANDLE other = new_evd();

	post(other);
	t_ok(dofi_evd_free(other));
	expect_triggered_by(DAT_HANDLE_NULL);
	post(evd);
	t_ok(dofi_evd_modify_cno(evd, DAT_HANDLE_NULL));
	expect_triggered_by(DAT_HANDLE_NULL);
	t_ok(dofi_evd_modify_cno(evd, cno));
	post(evd);
	t_ok(dofi_evd_modify_cno(evd, cno)); /* nothing changes */
	expect_triggered_by(evd);
	/* After the hint was freed, the next event sets a new one. */
	other = new_evd();
	post(other);
	t_ok(dofi_evd_free(other));
	post(evd);
	expect_triggered_by(evd);
}
END_TEST

/* CNO-032: some programs look at no other EVD than the one that is returned. */
START_TEST(each_evd_with_events_is_returned)
{
	DAT_EVD_HANDLE evds[5] = {evd};
	DAT_EVENT event;

	for (int i = 1; i < 5; i++)
		evds[i] = new_evd();
	for (int i = 0; i < 5; i++) {
		post(evds[i]);
		post(evds[0]);
	}
	expect_triggered_by(evds[0]);
	t_ok(dofi_evd_dequeue(evds[1], &event));
	t_ok(dofi_evd_modify_cno(evds[2], DAT_HANDLE_NULL));
	expect_triggered_by(evds[3]);
	post(evds[3]);
	expect_triggered_by(evds[4]);
	expect_triggered_by(evds[3]);
	expect_untriggered();
	/* A trigger counts, whether or not its EVD has events. */
	post(evds[1]);
	post(evds[4]);
	expect_triggered_by(evds[1]);
	while (dofi_evd_dequeue(evds[4], &event) == DAT_SUCCESS)
		;
	post(evds[2]);
	t_ok(dofi_evd_dequeue(evds[1], &event));
	post(evds[1]);
	t_ok(dofi_evd_dequeue(evds[1], &event));
	expect_triggered_by(evds[1]);
	expect_untriggered();
	for (int i = 1; i < 5; i++)
		t_ok(dofi_evd_free(evds[i]));
}
END_TEST

/* Such a program may also sleep on the descriptor. */
START_TEST(a_descriptor_is_readable_for_each_evd_with_events)
{
	DAT_CNO_HANDLE plain = cno;
	DAT_EVD_HANDLE other;
	struct pollfd fd = {.events = POLLIN};

	t_ok(dofi_cno_new(ia, NULL, &fd.fd, &cno));
	t_ok(dofi_evd_modify_cno(evd, cno));
	other = new_evd();
	for (int i = 0; i < 2; i++) {
		post(evd);
		post(other);
		expect_triggered_by(evd);
		ck_assert_int_eq(poll(&fd, 1, 0), 1);
		if (i)
			while (dofi_evd_dequeue(other, &(DAT_EVENT){0}) == DAT_SUCCESS)
				;
		else
			expect_triggered_by(other);
		expect_untriggered();
		ck_assert_int_eq(poll(&fd, 1, 0), 0);
	}
	t_ok(dofi_evd_free(other));
	t_ok(dofi_evd_modify_cno(evd, plain));
	t_ok(dofi_cno_free(cno));
	cno = plain;
}
END_TEST

static void post_from_engine(struct dofi_ia *fake)
{
	(void)fake;
	t_fake.on_poll = NULL;
	post(evd);
}

/* CNO-029, CNO-030, EVS-103 */
START_TEST(test_wait_polls_once_and_times_out)
{
	DAT_EVD_HANDLE hint;
	uint64_t begin;

	t_fake.on_poll = post_from_engine;
	expect_triggered_by(evd);
	begin = dofi_now();
	t_ret(dofi_cno_wait(cno, 30000, &hint), DOFI_QUEUE_EMPTY);
	ck_assert_uint_ge(dofi_now() - begin, 30000000);
}
END_TEST

/* CNO-036, EVS-100 */
START_TEST(test_one_trigger_wakes_one_waiter)
{
	int done;

	start_waiters(WAITERS);
	for (int n = 1; n <= WAITERS; n++) {
		uint64_t limit = dofi_now() + T_LIMIT_S * UINT64_C(1000000000);

		post(evd);
		do {
			done = 0;
			for (int i = 0; i < WAITERS; i++)
				done += waiters[i].thread.done;
			ck_assert_uint_lt(dofi_now(), limit);
		} while (done < n);
		ck_assert_int_eq(done, n);
		t_until_asleep((uint32_t)(WAITERS - n));
	}
	for (int i = 0; i < WAITERS; i++) {
		t_ok(t_join(&waiters[i].thread));
		ck_assert_ptr_eq(waiters[i].hint, evd);
	}
	expect_untriggered();
}
END_TEST

static void on_signal(int signal)
{
	(void)signal;
}

/* CNO-035 */
/* The EVD lives on and may come back. */
START_TEST(test_an_evd_that_leaves_wakes_nobody)
{
	const struct dofi_cno *object = cno;
	uint32_t flushes;

	start_waiters(1);
	flushes = object->flushes;
	t_ok(dofi_evd_modify_cno(evd, DAT_HANDLE_NULL));
	ck_assert_uint_eq(object->flushes, flushes);
	t_ok(dofi_evd_modify_cno(evd, cno));
	post(evd);
	t_ok(t_join(&waiters[0].thread));
	ck_assert_ptr_eq(waiters[0].hint, evd);
}
END_TEST

START_TEST(test_signal_ends_wait)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &action, NULL);
	start_waiters(1);
	while (!waiters[0].thread.done) {
		pthread_kill(waiters[0].thread.id, SIGUSR1);
		sched_yield();
	}
	t_ret(t_join(&waiters[0].thread), DOFI_ERR(DAT_INTERRUPTED_CALL, 0));
	post(evd);
	expect_triggered_by(evd);
}
END_TEST

/* CNO-033, EVD-020 */
START_TEST(test_last_evd_freed_wakes_all_waiters)
{
	DAT_EVD_HANDLE other = new_evd();

	t_ok(dofi_cno_modify_agent(cno, counter));
	start_waiters(WAITERS);
	t_ok(dofi_evd_free(other));
	ck_assert_int_eq(told.calls, 0);
	t_ok(dofi_evd_free(evd));
	evd = NULL;
	for (int i = 0; i < WAITERS; i++) {
		t_ok(t_join(&waiters[i].thread));
		ck_assert_ptr_eq(waiters[i].hint, DAT_HANDLE_NULL);
	}
	ck_assert_int_eq(told.calls, 1);
	ck_assert_ptr_eq(told.evd, DAT_HANDLE_NULL);
	expect_untriggered();
}
END_TEST

/* CNO-034, IA-029, IA-030: as in dat_ia_close */
START_TEST(test_destroy_wakes_all_waiters_and_calls_agent)
{
	t_ok(dofi_cno_modify_agent(cno, counter));
	t_ok(dofi_evd_modify_cno(evd, DAT_HANDLE_NULL));
	start_waiters(WAITERS);
	ck_assert(dofi_obj_retire(cno, true));
	dofi_cno_flush(cno);
	dofi_cno_destroy(cno);
	cno = NULL;
	for (int i = 0; i < WAITERS; i++) {
		t_ok(t_join(&waiters[i].thread));
		ck_assert_ptr_eq(waiters[i].hint, DAT_HANDLE_NULL);
	}
	ck_assert_int_eq(told.calls, 1);
	ck_assert_ptr_eq(told.evd, DAT_HANDLE_NULL);
}
END_TEST

/* CNO-002, CNO-015, CNO-016, CNO-044, CNO-045, CNO-047, EVS-097 */
START_TEST(test_agent_is_called_once_each_time_it_is_set)
{
	t_ok(dofi_cno_modify_agent(cno, counter));
	post(evd);
	ck_assert_int_eq(told.calls, 1);
	ck_assert_ptr_eq(told.evd, evd);
	t_ok(dofi_cno_modify_agent(cno, counter));
	post(evd); /* triggered already */
	ck_assert_int_eq(told.calls, 1);
	expect_triggered_by(evd);
	post(evd);
	ck_assert_int_eq(told.calls, 2);
	expect_triggered_by(evd);
	post(evd); /* the agent is not set */
	ck_assert_int_eq(told.calls, 2);
	t_ok(dofi_cno_modify_agent(cno, counter));
	t_ok(dofi_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	expect_triggered_by(evd);
	post(evd);
	ck_assert_int_eq(told.calls, 2);
}
END_TEST

/* CNO-027 */
START_TEST(test_free_does_not_call_an_armed_agent)
{
	t_ok(dofi_cno_modify_agent(cno, counter));
	t_ok(dofi_evd_free(evd));
	t_ok(dofi_cno_free(cno));
	evd = cno = NULL;
	ck_assert_int_eq(told.calls, 0);
}
END_TEST

/* Dequeues the event, resets the CNO, sets itself again, and triggers the CNO from inside. */
static void busy_agent(DAT_PVOID data, DAT_EVD_HANDLE handle)
{
	static bool inside;
	DAT_EVENT event;

	ck_assert(!inside);
	inside = true;
	t_ok(dofi_evd_dequeue(handle, &event));
	expect_triggered_by(handle);
	t_ok(dofi_cno_modify_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){data, busy_agent}));
	if (++told.calls < 5)
		post(handle);
	inside = false;
}

/* CNO-015, CNO-046 */
START_TEST(test_agent_may_call_dat)
{
	t_ok(dofi_cno_modify_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){&told, busy_agent}));
	post(evd);
	ck_assert_int_eq(told.calls, 5);
}
END_TEST

static void free_own_cno(DAT_PVOID data, DAT_EVD_HANDLE handle)
{
	(void)data;
	told.calls++;
	t_ok(dofi_evd_free(handle));
	t_ok(dofi_cno_free(cno));
	evd = cno = NULL;
}

START_TEST(test_agent_may_free_its_cno)
{
	struct dofi_event event = {.number = DAT_SOFTWARE_EVENT};

	t_ok(dofi_cno_modify_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){&told, free_own_cno}));
	dofi_evd_push(evd, &event, true);
	ck_assert_int_eq(told.calls, 0); /* never while the posting thread holds locks */
	dofi_cno_run_agents(ia);
	ck_assert_int_eq(told.calls, 1);
}
END_TEST

static _Atomic int stage;

static void slow_agent(DAT_PVOID data, DAT_EVD_HANDLE handle)
{
	(void)data, (void)handle;
	stage = 1;
	while (stage != 2)
		sched_yield();
	told.calls++;
}

static DAT_RETURN post_main(void *arg)
{
	post(arg);
	return DAT_SUCCESS;
}

static DAT_RETURN free_main(void *arg)
{
	DAT_RETURN ret = dofi_cno_free(arg);

	ck_assert_int_eq(told.calls, 1);
	return ret;
}

/* The consumer may free what the agent uses when dat_cno_free has returned. */
START_TEST(test_free_waits_for_a_running_agent)
{
	struct t_thread poster, freer;

	t_ok(dofi_cno_modify_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){&told, slow_agent}));
	t_start(&poster, post_main, evd);
	while (stage != 1)
		sched_yield();
	t_ok(dofi_evd_modify_cno(evd, DAT_HANDLE_NULL));
	t_start(&freer, free_main, cno);
	t_until_asleep(1);
	stage = 2;
	t_ok(t_join(&freer));
	t_ok(t_join(&poster));
	cno = NULL;
}
END_TEST

/* CNO-008, CNO-010 */
START_TEST(test_descriptor)
{
	struct pollfd pollfd = {.events = POLLIN};
	DAT_CNO_HANDLE plain = cno;
	DAT_CNO_PARAM param;

	t_ok(dofi_cno_new(ia, NULL, &pollfd.fd, &cno));
	t_ok(dofi_evd_modify_cno(evd, cno));
	ck_assert_int_eq(fcntl(pollfd.fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(pollfd.fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	ck_assert_int_eq(poll(&pollfd, 1, 0), 0);
	post(evd);
	post(evd);
	ck_assert_int_eq(poll(&pollfd, 1, 0), 1);
	expect_triggered_by(evd);
	ck_assert_int_eq(poll(&pollfd, 1, 0), 0);
	t_ok(dofi_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
#if T_DAT_MAJOR == 2
	ck_assert_int_eq(param.proxy_type, DAT_PROXY_TYPE_FD);
	ck_assert_int_eq(param.proxy.fd, pollfd.fd);
#endif
	t_ok(dofi_evd_modify_cno(evd, plain));
	t_ok(dofi_cno_free(cno));
	ck_assert_int_eq(poll(&pollfd, 1, 0), 1);
	ck_assert_int_eq(pollfd.revents, POLLNVAL);
	cno = plain;
}
END_TEST

/* A program that has closed its standard input gets descriptor 0. */
START_TEST(descriptor_0)
{
	DAT_CNO_HANDLE plain = cno;
	DAT_CNO_PARAM param;
	int fd, input = dup(0);

	ck_assert_int_ge(input, 0);
	ck_assert_int_eq(close(0), 0);
	t_ok(dofi_cno_new(ia, NULL, &fd, &cno));
	ck_assert_int_eq(fd, 0);
	t_ok(dofi_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
#if T_DAT_MAJOR == 2
	ck_assert_int_eq(param.proxy_type, DAT_PROXY_TYPE_FD);
	ck_assert_int_eq(param.proxy.fd, 0);
#endif
	t_ok(dofi_cno_free(cno));
	ck_assert_int_eq(fcntl(0, F_GETFD), -1);
	ck_assert_int_eq(dup2(input, 0), 0);
	close(input);
	cno = plain;
}
END_TEST

START_TEST(descriptor_0_shows_triggers)
{
	struct pollfd pollfd = {.fd = 0, .events = POLLIN};
	DAT_CNO_HANDLE plain = cno;
	int fd, input = dup(0);

	ck_assert_int_ge(input, 0);
	ck_assert_int_eq(close(0), 0);
	t_ok(dofi_cno_new(ia, NULL, &fd, &cno));
	ck_assert_int_eq(fd, 0);
	t_ok(dofi_evd_modify_cno(evd, cno));
	post(evd);
	ck_assert_int_eq(poll(&pollfd, 1, 0), 1);
	expect_triggered_by(evd);
	ck_assert_int_eq(poll(&pollfd, 1, 0), 0);
	t_ok(dofi_evd_modify_cno(evd, plain));
	t_ok(dofi_cno_free(cno));
	ck_assert_int_eq(dup2(input, 0), 0);
	close(input);
	cno = plain;
}
END_TEST

/* The program has closed our descriptor. */
START_TEST(a_descriptor_that_is_gone_is_reported)
{
	int said = t_capture(STDERR_FILENO), fd;
	DAT_CNO_HANDLE plain = cno;

	t_ok(dofi_cno_new(ia, NULL, &fd, &cno));
	t_ok(dofi_evd_modify_cno(evd, cno));
	post(evd);
	ck_assert_str_eq(t_captured(said), "");
	expect_triggered_by(evd);
	ck_assert_str_eq(t_captured(said), "");
	close(fd);
	post(evd);
	ck_assert_ptr_nonnull(strstr(t_captured(said), "can't signal a CNO's descriptor"));
	expect_triggered_by(evd);
	ck_assert_ptr_nonnull(strstr(t_captured(said), "can't reset a CNO's descriptor"));
	t_ok(dofi_evd_modify_cno(evd, plain));
	t_ok(dofi_cno_free(cno));
	cno = plain;
}
END_TEST

/* --- agents that are due --- */

/* The IA is closed: no agent is called any more, also none that is due. */
START_TEST(a_muted_cno_calls_no_agent)
{
	t_ok(dofi_cno_modify_agent(cno, counter));
	dofi_cno_mute(cno);
	post(evd);
	dofi_cno_run_agents(ia);
	ck_assert_int_eq(told.calls, 0);
	expect_triggered_by(evd);
	t_ok(dofi_cno_modify_agent(cno, counter));
	dofi_cno_notify(cno, evd);
	dofi_cno_mute(cno);
	dofi_cno_run_agents(ia);
	ck_assert_int_eq(told.calls, 0);
}
END_TEST

/* Its EVD is freed before the agent runs. */
START_TEST(a_due_agent_is_told_of_living_evds_only)
{
	DAT_EVD_HANDLE other = new_evd();

	t_ok(dofi_cno_modify_agent(cno, counter));
	dofi_cno_notify(cno, evd);
	t_ok(dofi_evd_free(other));
	ck_assert_int_eq(told.calls, 1);
	ck_assert_ptr_eq(told.evd, evd);
	expect_triggered_by(evd);
	t_ok(dofi_cno_modify_agent(cno, counter));
	dofi_cno_notify(cno, evd);
	t_ok(dofi_evd_free(evd));
	evd = NULL;
	dofi_cno_run_agents(ia);
	ck_assert_int_eq(told.calls, 2);
	ck_assert_ptr_eq(told.evd, DAT_HANDLE_NULL);
}
END_TEST

/* CNO-008 */
START_TEST(without_descriptors_there_is_no_cno_with_one)
{
	struct rlimit limit, none;
	DAT_CNO_HANDLE out = cno;
	int fd = -2;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	t_ret(dofi_cno_new(ia, NULL, &fd, &out),
	      DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE));
	ck_assert_int_eq(fd, -2);
	ck_assert_ptr_eq(out, cno);
	ck_assert_uint_eq(ia->counts[DAT_HANDLE_TYPE_CNO], 1);
	/* The memory of a failed call is used again, so a program may try for ever. */
	for (int i = 0; i < 2000; i++) {
		t_fake.fail_mmap = i < 1000 ? 0 : 1;
		t_ret(dofi_cno_new(ia, NULL, &fd, &out),
		      DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE));
	}
	t_fake.fail_mmap = 0;
	/* An agent needs none. */
	t_ok(dofi_cno_create(ia, counter, &out));
	t_ok(dofi_cno_free(out));
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
END_TEST

enum { EVDS = 3, PER_EVD = 20000 };

static DAT_RETURN post_many(void *arg)
{
	DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

	for (int i = 0; i < PER_EVD; i++)
		while (dofi_evd_post_se(arg, &event) != DAT_SUCCESS)
			sched_yield();
	return DAT_SUCCESS;
}

/* CNO-040, EVS-098, EVS-099: wait, empty all EVDs, wait again */
START_TEST(test_no_event_is_missed)
{
	struct t_thread posters[EVDS];
	DAT_EVD_HANDLE evds[EVDS], hint;
	DAT_EVENT event;
	int seen = 0;

	for (int i = 0; i < EVDS; i++) {
		evds[i] = new_evd();
		t_start(&posters[i], post_many, evds[i]);
	}
	while (seen < EVDS * PER_EVD) {
		t_ok(dofi_cno_wait(cno, T_LIMIT_S * 1000000u, &hint));
		for (int i = 0; i < EVDS; i++)
			while (dofi_evd_dequeue(evds[i], &event) == DAT_SUCCESS)
				seen++;
	}
	for (int i = 0; i < EVDS; i++) {
		t_ok(t_join(&posters[i]));
		t_ok(dofi_evd_free(evds[i]));
	}
	ck_assert_int_eq(seen, EVDS * PER_EVD);
}
END_TEST

/* --- watching completions for agents and descriptors --- */

START_TEST(test_completions_are_watched_for_an_agent)
{
	DAT_CNO_HANDLE other;

	ck_assert_int_eq(t_fake.watchers, 0); /* a consumer without an agent waits or polls */
	t_ok(dofi_cno_modify_agent(cno, counter));
	ck_assert_int_eq(t_fake.watchers, 1);
	t_ok(dofi_cno_modify_agent(cno, counter));
	ck_assert_int_eq(t_fake.watchers, 1);
	t_ok(dofi_cno_create(ia, counter, &other));
	ck_assert_int_eq(t_fake.watchers, 2);
	t_ok(dofi_cno_free(other));
	ck_assert_int_eq(t_fake.watchers, 1);
}
END_TEST

START_TEST(test_completions_are_watched_for_a_descriptor)
{
	DAT_CNO_HANDLE other;
	int fd;

	t_ok(dofi_cno_new(ia, NULL, &fd, &other));
	ck_assert_int_eq(t_fake.watchers, 1);
	t_ok(dofi_cno_free(other));
	ck_assert_int_eq(t_fake.watchers, 0);
}
END_TEST

/* --- an agent that frees objects that its caller uses --- */

static void free_all_objects(DAT_PVOID data, DAT_EVD_HANDLE handle)
{
	(void)data;
	(void)handle;
	t_ok(dofi_evd_free(evd));
	t_ok(dofi_cno_free(cno));
	evd = NULL;
	cno = NULL;
}

START_TEST(agent_frees_the_cno_that_is_modified)
{
	const DAT_OS_WAIT_PROXY_AGENT agent = {NULL, free_all_objects};

	t_ok(dofi_cno_modify_agent(cno, agent));
	dofi_cno_notify(cno, evd); /* as the engine does; the agent was not called yet */
	t_ret(dofi_cno_modify_agent(cno, counter), DOFI_BAD_HANDLE(CNO));
	ck_assert_ptr_null(cno);
}
END_TEST

/* Calls look at this number alone, and a driver that sleeps has to be told of it. */
START_TEST(due_agents_are_counted)
{
	t_ok(dofi_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	ck_assert_uint_eq(atomic_load(&ia->nagents), 0);
	for (int i = 0; i < 2; i++) {
		t_ok(dofi_cno_modify_agent(cno, counter));
		ck_assert_uint_eq(atomic_load(&ia->nagents), 0);
		t_fake.kicks = 0;
		dofi_cno_notify(cno, evd);
		ck_assert_uint_eq(atomic_load(&ia->nagents), 1);
		ck_assert_uint_eq(t_fake.kicks, 1);
		if (i)
			dofi_cno_mute(cno);
		else
			dofi_cno_run_agents(ia);
		ck_assert_uint_eq(atomic_load(&ia->nagents), 0);
		ck_assert_int_eq(told.calls, 1);
		expect_triggered_by(evd);
	}
}
END_TEST

static DAT_CNO_HANDLE second;
static char order[16];

static void first_agent(DAT_PVOID data, DAT_EVD_HANDLE handle)
{
	(void)handle;
	strcat(order, "<");
	if (strlen(order) == 1) {
		t_ok(dofi_cno_trigger(cno, &(DAT_EVD_HANDLE){NULL}));
		t_ok(dofi_cno_modify_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){data, first_agent}));
		dofi_cno_notify(cno, evd);
		dofi_cno_notify(second, evd);
		dofi_cno_run_agents(ia);
	}
	strcat(order, ">");
}

static void second_agent(DAT_PVOID data, DAT_EVD_HANDLE handle)
{
	ck_assert_ptr_eq(data, &second);
	ck_assert_ptr_eq(handle, evd);
	strcat(order, "2");
}

/* The agent of one CNO is not called from inside itself; that of another one does not wait. */
START_TEST(agents_of_two_cnos_are_called_one_inside_the_other)
{
	t_ok(dofi_cno_create(ia, (DAT_OS_WAIT_PROXY_AGENT){&second, second_agent}, &second));
	t_ok(dofi_cno_modify_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){&told, first_agent}));
	dofi_cno_notify(cno, evd);
	ck_assert_str_eq(order, "");
	dofi_cno_run_agents(ia);
	ck_assert_str_eq(order, "<2><>");
	ck_assert_uint_eq(atomic_load(&ia->nagents), 0);
	t_ok(dofi_cno_free(second));
}
END_TEST

/* CNO-014: a trigger comes while the agent is modified. */
START_TEST(a_due_call_goes_to_the_new_agent)
{
	struct dofi_cno *object = cno;

	second = cno;
	t_ok(dofi_cno_modify_agent(cno, counter));
	dofi_cno_notify(cno, evd);
	dofi_lock(&object->lock);
	dofi_agent_set(object, (DAT_OS_WAIT_PROXY_AGENT){&second, second_agent});
	dofi_unlock(&object->lock);
	dofi_cno_run_agents(ia);
	ck_assert_str_eq(order, "2");
	ck_assert_int_eq(told.calls, 0);
	/* That was its one call. */
	expect_triggered_by(evd);
	dofi_cno_notify(cno, evd);
	dofi_cno_run_agents(ia);
	ck_assert_str_eq(order, "2");
	ck_assert_int_eq(told.calls, 0);
}
END_TEST

/* A trigger comes while the CNO is freed. */
START_TEST(a_freed_cno_has_no_due_call)
{
	struct dofi_cno *object = cno;

	t_ok(dofi_cno_modify_agent(cno, counter));
	dofi_lock(&object->lock);
	dofi_agent_make_due(object, evd);
	dofi_agent_make_due(object, evd); /* an agent is called once */
	ck_assert_uint_eq(atomic_load(&ia->nagents), 1);
	ck_assert(dofi_agent_has_left(object));
	dofi_unlock(&object->lock);
	ck_assert_uint_eq(atomic_load(&ia->nagents), 0);
	ck_assert(dofi_list_empty(&ia->agents));
	dofi_cno_run_agents(ia);
	ck_assert_int_eq(told.calls, 0);
}
END_TEST

static bool in_agent, other_in_agent;

static DAT_RETURN ask_main(void *arg)
{
	other_in_agent = dofi_cno_in_agent(arg);
	return DAT_SUCCESS;
}

static void asking_agent(DAT_PVOID data, DAT_EVD_HANDLE handle)
{
	struct t_thread thread;

	(void)data, (void)handle;
	t_start(&thread, ask_main, ia);
	t_ok(t_join(&thread));
	in_agent = dofi_cno_in_agent(ia);
	told.calls++;
}

/* Only the thread that runs the agent is inside of it. */
START_TEST(a_thread_knows_that_it_runs_an_agent)
{
	t_ok(dofi_cno_modify_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){&told, asking_agent}));
	ck_assert(!dofi_cno_in_agent(ia));
	post(evd);
	ck_assert_int_eq(told.calls, 1);
	ck_assert(in_agent);
	ck_assert(!other_in_agent);
	ck_assert(!dofi_cno_in_agent(ia));
	ck_assert(dofi_trylock(&ia->obj_lock));
	dofi_unlock(&ia->obj_lock);
}
END_TEST

static DAT_RETURN await_main(void *arg)
{
	dofi_cno_await_agents(arg);
	return DAT_SUCCESS;
}

/* The thread that closes an IA waits for calls that run agents. */
START_TEST(close_waits_for_calls_that_run_agents)
{
	struct t_thread thread;

	dofi_cno_stay(ia);
	dofi_cno_stay(ia);
	t_start(&thread, await_main, ia);
	t_until_asleep(1);
	dofi_cno_go(ia);
	t_until_asleep(1);
	ck_assert(!thread.done);
	dofi_cno_go(ia);
	t_ok(t_join(&thread));
}
END_TEST

/* It may not use the IA any more when the IA is closed. */
START_TEST(close_waits_for_a_running_agent)
{
	struct t_thread poster, closer;

	t_ok(dofi_cno_modify_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){&told, slow_agent}));
	t_start(&poster, post_main, evd);
	while (stage != 1)
		sched_yield();
	t_start(&closer, await_main, ia);
	t_until_asleep(1);
	ck_assert(!closer.done);
	stage = 2;
	t_ok(t_join(&closer));
	ck_assert_int_eq(told.calls, 1);
	t_ok(t_join(&poster));
}
END_TEST

static bool dies;

static void may_die(void)
{
	struct dofi_cno *object = cno;

	object->dying = dies;
}

/* _i 1: another thread frees the CNO meanwhile, and sleeps until this one has left. */
START_TEST(test_cancelled_thread_does_not_wait_any_more)
{
	struct dofi_cno *object = cno;
	uint32_t before = atomic_load(&object->wakeup);

	t_fake.before_cancel = may_die;
	dies = _i;
	t_start(&waiters[0].thread, wait_main, &waiters[0]);
	ck_assert(t_is_cancelled(&waiters[0].thread));
	t_fake.before_cancel = NULL;
	object->dying = false;
	ck_assert_uint_eq(object->waiters, 0);
	ck_assert_uint_eq(atomic_load(&object->wakeup), before + (uint32_t)_i);
	post(evd);
	expect_triggered_by(evd);
}
END_TEST

/* libfabric may hold locks in the poll. Afterwards the state is what it was. */
START_TEST(test_polls_of_a_wait_are_not_cancelled)
{
	const int states[] = {PTHREAD_CANCEL_ENABLE, PTHREAD_CANCEL_DISABLE};

	t_fake.cancel_in_poll = PTHREAD_CANCEL_ENABLE;
	pthread_setcancelstate(states[_i], NULL);
	expect_untriggered();
	ck_assert_int_eq(t_cancel_state(), states[_i]);
	ck_assert_int_eq(t_fake.cancel_in_poll, PTHREAD_CANCEL_DISABLE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cno");
	TCase *tc = tcase_create("cno");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_create_arguments);
	tcase_add_test(tc, test_without_memory);
	tcase_add_test(tc, test_query);
	tcase_add_test(tc, test_free_only_when_unused);
	tcase_add_test(tc, test_trigger_is_a_state);
	tcase_add_test(tc, test_events_that_do_not_trigger);
	tcase_add_test(tc, test_event_for_a_waiter_does_not_trigger);
	tcase_add_test(tc, test_hint_is_alive_or_null);
	tcase_add_test(tc, each_evd_with_events_is_returned);
	tcase_add_test(tc, a_descriptor_is_readable_for_each_evd_with_events);
	tcase_add_test(tc, test_wait_polls_once_and_times_out);
	tcase_add_test(tc, test_one_trigger_wakes_one_waiter);
	tcase_add_test(tc, test_an_evd_that_leaves_wakes_nobody);
	tcase_add_loop_test(tc, test_cancelled_thread_does_not_wait_any_more, 0, 2);
	tcase_add_loop_test(tc, test_polls_of_a_wait_are_not_cancelled, 0, 2);
	tcase_add_test(tc, test_signal_ends_wait);
	tcase_add_test(tc, test_last_evd_freed_wakes_all_waiters);
	tcase_add_test(tc, test_destroy_wakes_all_waiters_and_calls_agent);
	tcase_add_test(tc, test_agent_is_called_once_each_time_it_is_set);
	tcase_add_test(tc, test_free_does_not_call_an_armed_agent);
	tcase_add_test(tc, test_agent_may_call_dat);
	tcase_add_test(tc, test_agent_may_free_its_cno);
	tcase_add_test(tc, test_free_waits_for_a_running_agent);
	tcase_add_test(tc, test_completions_are_watched_for_an_agent);
	tcase_add_test(tc, test_completions_are_watched_for_a_descriptor);
	tcase_add_test(tc, test_descriptor);
	tcase_add_test(tc, descriptor_0);
	tcase_add_test(tc, descriptor_0_shows_triggers);
	tcase_add_test(tc, a_descriptor_that_is_gone_is_reported);
	tcase_add_test(tc, a_muted_cno_calls_no_agent);
	tcase_add_test(tc, a_due_agent_is_told_of_living_evds_only);
	tcase_add_test(tc, without_descriptors_there_is_no_cno_with_one);
	tcase_add_test(tc, test_no_event_is_missed);
	tcase_add_test(tc, agent_frees_the_cno_that_is_modified);
	tcase_add_test(tc, due_agents_are_counted);
	tcase_add_test(tc, agents_of_two_cnos_are_called_one_inside_the_other);
	tcase_add_test(tc, a_due_call_goes_to_the_new_agent);
	tcase_add_test(tc, a_freed_cno_has_no_due_call);
	tcase_add_test(tc, a_thread_knows_that_it_runs_an_agent);
	tcase_add_test(tc, close_waits_for_calls_that_run_agents);
	tcase_add_test(tc, close_waits_for_a_running_agent);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
