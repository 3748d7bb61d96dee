/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The agent of a CNO closes its IA, or waits for a peer, on each thread that can call it. */
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process.h"

#define ROUNDS 20

/* The consumer makes no call on the IA that is closed, so another IA triggers the CNO. */
static struct t_ia ia, from;
static struct t_end ends[2]; /* of the other IA, of ours */
static struct t_listener listener;
static DAT_CNO_HANDLE cnos[2];
static DAT_RMR_HANDLE exposed; /* all peers have to hear of its end */
static uint64_t took_us;
static sem_t closed;
static DAT_RETURN answer;
static _Atomic pthread_t caller;
static _Atomic int others; /* calls of the other CNO's agent */

static void close_agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)evd;
	caller = pthread_self();
	answer = dat_ia_close(*(DAT_IA_HANDLE *)data, DAT_CLOSE_ABRUPT_FLAG);
	/* The fabric does not use the memory of the IA any more. */
	munmap(ends[1].buf.mem, ends[1].buf.size);
	sem_post(&closed);
}

/* The peer has to forget the context, and its answer comes to this IA. */
static void free_agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	uint64_t begun = t_now_us();

	(void)data;
	(void)evd;
	answer = dat_rmr_free(exposed);
	took_us = t_now_us() - begun;
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

/* Prepares a connection. A receive that completes at our end calls the agent. */
static void prepare_for(void (*run)(DAT_PVOID, DAT_EVD_HANDLE))
{
	others = 0;
	ck_assert_int_eq(sem_init(&closed, 0, 0), 0);
	t_ia_open(&from);
	t_ia_open(&ia);
	t_end_new(&ends[0], &from, NULL);
	t_end_new(&ends[1], &ia, NULL);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_establish(&listener, &ends[0], &ends[1]);
	cnos[0] = cno_with(run);
	cnos[1] = cno_with(other_agent);
	t_ok(dat_evd_modify_cno(ends[1].recv_evd, cnos[0]));
	t_ok(t_recv(&ends[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
}

static void prepare(void)
{
	prepare_for(close_agent);
}

static void trigger(void)
{
	t_ok(t_send(&ends[0], 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
}

static void expose(const struct t_end *of)
{
	DAT_RMR_CONTEXT context;

	t_ok(dat_rmr_create(ia.pz, &exposed));
	t_ok(t_rmr_bind(exposed, &of->buf, t_seg(&of->buf, 0, 64), DAT_MEM_PRIV_REMOTE_READ_FLAG,
			of->ep, 9, DAT_COMPLETION_DEFAULT_FLAG, &context));
	t_wait_bind(of->request_evd, exposed, 9, DAT_DTO_SUCCESS);
}

static bool has_closed(void)
{
	return sem_trywait(&closed) == 0;
}

/* The number of threads after the first IA: a sanitizer may have a thread of its own by then. */
static int usual_threads(void)
{
	int before = fault_threads(), after;

	t_ia_open(&ia);
	t_ia_close_empty(&ia);
	/* The kernel may still list a thread that was joined before. */
	t_until((after = fault_threads()) <= before + 1);
	return after;
}

/* The IA has left nothing, and another IA can be opened. */
static void expect_closed(int threads_before)
{
	DAT_EVENT event;

	t_ok(answer);
	t_bad_handle(dat_ia_close(ia.ia, DAT_CLOSE_ABRUPT_FLAG));
	t_bad_handle(dat_evd_dequeue(ends[1].recv_evd, &event));
	t_wait_conn(ends[0].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, ends[0].ep);
	t_ia_close(&from);
	munmap(ends[0].buf.mem, ends[0].buf.size);
	ck_assert_int_gt(others, 0); /* the close of the IA calls it */
	t_until(fault_threads() <= threads_before);
	sem_destroy(&closed);
}

/* The consumer makes no call, so the progress thread calls the agent. */
START_TEST(agent_on_the_progress_thread_closes_its_ia)
{
	int before = usual_threads();

	for (int round = 0; round < ROUNDS; round++) {
		prepare();
		trigger();
		t_until(has_closed());
		ck_assert(!pthread_equal(caller, pthread_self()));
		expect_closed(before);
	}
}
END_TEST

/* Threads wait on an EVD and on a CNO of the IA. One of them calls the agent. */
START_TEST(agent_on_a_waiting_thread_closes_its_ia)
{
	int before = usual_threads();
	struct t_waiter waiters[2];

	for (int round = 0; round < ROUNDS; round++) {
		prepare();
		t_evd_waiter_start(&waiters[0], ends[1].request_evd, 1);
		t_cno_waiter_start(&waiters[1], cnos[1]);
		trigger();
		t_until(has_closed());
		t_error(t_waiter_join(&waiters[0]), DAT_ABORT);
		t_ok(t_waiter_join(&waiters[1]));
		expect_closed(before);
	}
}
END_TEST

/* --- the agent's call waits for a peer --- */

#define SILENT_US 20000000u

/* On the progress thread, which drives meanwhile. */
START_TEST(agent_hears_the_peer_that_its_call_waits_for)
{
	setenv("DAT_OFI_SILENT_MS", "20000", 1);
	prepare_for(free_agent);
	expose(&ends[1]);
	trigger();
	while (sem_wait(&closed))
		;
	t_ok(answer);
	ck_assert_uint_lt(took_us, SILENT_US / 2);
	t_ia_close(&ia);
	t_ia_close(&from);
}
END_TEST

/* --- in the middle of a call that waits for a peer --- */

static void answer_no_more(struct t_peer *self)
{
	struct t_end end;

	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_ok(t_connect_data(end.ep, &ia, t_peer_hear(self), T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_peer_tell(self, 1);
	t_peer_hear(self); /* frozen meanwhile */
	t_ia_close(&ia);
}

static _Atomic pid_t freer;

/* dat_rmr_free() waits until all peers have forgotten the context. */
static void *free_rmr(void *arg)
{
	freer = gettid();
	t_ok(dat_rmr_free(exposed));
	return arg;
}

START_TEST(agent_inside_another_call_closes_its_ia)
{
	int err = t_capture(STDERR_FILENO);
	struct t_peer peer;
	struct t_end end;
	pthread_t thread;

	t_peer_start(&peer, answer_no_more);
	prepare();
	t_end_new(&end, &ia, NULL);
	t_peer_tell(&peer, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	ck_assert_uint_eq(t_peer_hear(&peer), 1);
	expose(&end);
	t_peer_freeze(&peer);
	ck_assert_int_eq(pthread_create(&thread, NULL, free_rmr, NULL), 0);
	t_until(freer && t_sleeps(freer));
	trigger();
	t_until(has_closed());
	t_join(thread);
	t_ok(answer);
	t_ia_close(&from);
	t_peer_thaw(&peer);
	t_peer_tell(&peer, 1);
	t_peer_join(&peer);
	ck_assert_ptr_null(strstr(t_captured(err), "leaks"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("agent");
	TCase *tcase = tcase_create("agent");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, agent_on_the_progress_thread_closes_its_ia);
	tcase_add_test(tcase, agent_on_a_waiting_thread_closes_its_ia);
	tcase_add_test(tcase, agent_hears_the_peer_that_its_call_waits_for);
	tcase_add_test(tcase, agent_inside_another_call_closes_its_ia);
	return t_run(suite);
}
