/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many threads use one IA at once: some transfer, some wait, some poll, some create and free
 * objects. Run it under ThreadSanitizer, too. A thread that fails returns a message.
 */
#include <sched.h>
#include <stdatomic.h>

#include "fault.h"

#define ROUNDS 150

static struct t_ia ia;
static _Atomic bool over; /* threads that do not count rounds may stop */

#define must(call)                               \
	do {                                     \
		if ((call) != DAT_SUCCESS)       \
			return "failed: " #call; \
	} while (0)

/* --- transfers: each thread has both ends of a connection --- */

static const char *await(DAT_EVD_HANDLE evd, bool poll, uint64_t cookie)
{
	uint64_t limit = t_now_us() + 3 * T_LIMIT_US;
	DAT_RETURN ret;
	DAT_COUNT nmore;
	DAT_EVENT event;

	do {
		if (poll)
			ret = dat_evd_dequeue(evd, &event);
		else
			ret = dat_evd_wait(evd, 1000, 1, &event, &nmore);
		if (poll && ret != DAT_SUCCESS)
			sched_yield();
	} while (ret != DAT_SUCCESS && t_now_us() < limit);
	if (ret != DAT_SUCCESS)
		return "a completion never came";
	if (event.event_data.dto_completion_event_data.user_cookie.as_64 != cookie ||
	    event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		return "another completion came, or one without success";
	return NULL;
}

struct pinger {
	struct t_loop loop;
	bool poll;
};

static const char *ping(struct pinger *pinger, uint64_t i)
{
	const struct t_end *from = &pinger->loop.end[i & 1], *to = &pinger->loop.end[!(i & 1)];
	size_t length = 1 + (size_t)(i * 997) % 8000;
	const char *why;

	must(t_recv(to, 0, 8000, i, DAT_COMPLETION_DEFAULT_FLAG));
	t_fill(from->buf.mem + 8000, length, (unsigned int)i);
	must(t_write(from, 8000, length, i, t_remote_seg(&to->buf, 20000, length),
		     DAT_COMPLETION_SUPPRESS_FLAG));
	must(t_send(from, 8000, length, i, DAT_COMPLETION_DEFAULT_FLAG));
	why = await(to->recv_evd, pinger->poll, i);
	if (!why)
		why = await(from->request_evd, !pinger->poll, i);
	if (why)
		return why;
	if (!t_is_filled(to->buf.mem, length, (unsigned int)i) ||
	    !t_is_filled(to->buf.mem + 20000, length, (unsigned int)i))
		return "what arrived is not what was sent";
	return NULL;
}

static void *ping_thread(void *arg)
{
	const char *why = NULL;

	for (uint64_t i = 0; i < ROUNDS && !why; i++)
		why = ping(arg, i);
	return (void *)(uintptr_t)why;
}

/* --- objects are created and freed --- */

static const char *make_and_free(void)
{
	unsigned char mem[512];
	DAT_EVD_HANDLE evd, connect;
	DAT_CONN_QUAL qual;
	DAT_EP_STATE state;
	DAT_LMR_HANDLE lmr;
	DAT_PSP_HANDLE psp;
	DAT_RMR_HANDLE rmr;
	DAT_CNO_HANDLE cno;
	DAT_EP_HANDLE ep;
	DAT_PZ_HANDLE pz;

	must(dat_pz_create(ia.ia, &pz));
	must(dat_cno_create(ia.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	must(dat_evd_create(ia.ia, 32, cno, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, &evd));
	must(dat_evd_create(ia.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
			    &connect));
	must(t_lmr_of(ia.ia, mem, sizeof(mem), pz, DAT_MEM_PRIV_ALL_FLAG, &lmr));
	must(dat_rmr_create(pz, &rmr));
	must(dat_ep_create(ia.ia, pz, evd, evd, connect, NULL, &ep));
	must(dat_psp_create_any(ia.ia, &qual, connect, DAT_PSP_CONSUMER_FLAG, &psp));
	must(t_post_se(evd, mem));
	must(dat_evd_resize(evd, 64));
	must(dat_ep_get_status(ep, &state, NULL, NULL));
	must(dat_psp_free(psp));
	must(dat_ep_free(ep));
	must(dat_rmr_free(rmr));
	must(dat_lmr_free(lmr));
	must(dat_evd_free(connect));
	must(dat_evd_free(evd));
	must(dat_cno_free(cno));
	must(dat_pz_free(pz));
	return NULL;
}

static void *object_thread(void *arg)
{
	const char *why = NULL;

	(void)arg;
	while (!over && !why)
		why = make_and_free();
	return (void *)(uintptr_t)why;
}

/* --- connections begin and end --- */

static const char *await_connection(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event_p)
{
	DAT_COUNT nmore;

	must(dat_evd_wait(evd, 3 * T_LIMIT_US, 1, event_p, &nmore));
	return event_p->event_number == number ? NULL : "another connection event came";
}

#define chain(call)                         \
	do {                                \
		const char *t_why = (call); \
		if (t_why)                  \
			return t_why;       \
	} while (0)

struct caller {
	struct t_listener listener;
	struct t_end end[2];
};

static const char *call_and_hang_up(struct caller *caller)
{
	struct t_end *end = caller->end;
	DAT_EVENT event;

	must(t_connect(end[0].ep, &caller->listener));
	chain(await_connection(caller->listener.evd, DAT_CONNECTION_REQUEST_EVENT, &event));
	must(t_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, end[1].ep));
	for (int i = 0; i < 2; i++)
		chain(await_connection(end[i].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED,
				       &event));
	must(dat_ep_disconnect(end[0].ep, DAT_CLOSE_GRACEFUL_FLAG));
	for (int i = 0; i < 2; i++) {
		chain(await_connection(end[i].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED,
				       &event));
		must(dat_ep_reset(end[i].ep));
	}
	return NULL;
}

static void *call_thread(void *arg)
{
	const char *why = NULL;

	while (!over && !why)
		why = call_and_hang_up(arg);
	return (void *)(uintptr_t)why;
}

/* --- waiting for events that other threads post --- */

struct queue {
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	_Atomic long posted, taken;
};

static const char *take_events(struct queue *queue)
{
	DAT_EVD_HANDLE hint;
	DAT_EVENT event;
	DAT_RETURN ret = dat_cno_wait(queue->cno, 100000, &hint);

	if (ret != DAT_SUCCESS && DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY)
		return "waiting for the CNO failed";
	while ((ret = dat_evd_dequeue(queue->evd, &event)) == DAT_SUCCESS)
		queue->taken++;
	return DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY ? NULL : "taking from the EVD failed";
}

static void *event_taker(void *arg)
{
	struct queue *queue = arg;
	const char *why = NULL;

	while (!why && (!over || queue->taken < queue->posted))
		why = take_events(queue);
	return (void *)(uintptr_t)why;
}

static void *event_poster(void *arg)
{
	struct queue *queue = arg;

	while (!over) {
		DAT_RETURN ret;

		queue->posted++; /* before the event, or the taker might end without it */
		ret = t_post_se(queue->evd, queue);
		if (ret != DAT_SUCCESS)
			queue->posted--;
		if (ret != DAT_SUCCESS && DAT_GET_TYPE(ret) != DAT_QUEUE_FULL)
			return (void *)(uintptr_t) "posting a software event failed";
		sched_yield();
	}
	return NULL;
}

/* --- all together --- */

static void start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	ck_assert_int_eq(pthread_create(thread, NULL, run, arg), 0);
}

static void join(pthread_t thread)
{
	void *why;

	ck_assert_int_eq(pthread_join(thread, &why), 0);
	ck_assert_msg(!why, "%s", (const char *)why);
}

static void caller_new(struct caller *caller)
{
	t_listen(&caller->listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&caller->end[0], &ia, NULL);
	t_end_new(&caller->end[1], &ia, NULL);
}

static void caller_free(struct caller *caller)
{
	t_end_free(&caller->end[0]);
	t_end_free(&caller->end[1]);
	t_listener_free(&caller->listener);
}

START_TEST(threads_of_all_kinds_on_one_ia)
{
	static struct pinger pingers[2] = {{.poll = true}, {.poll = false}};
	static struct caller caller;
	struct queue queue = {0};
	pthread_t threads[7];

	t_ia_open(&ia);
	queue.cno = t_cno(&ia);
	queue.evd = t_evd_of_cno(&ia, queue.cno, DAT_EVD_SOFTWARE_FLAG);
	for (int i = 0; i < 2; i++)
		t_loop_open(&pingers[i].loop, &ia, NULL);
	caller_new(&caller);
	start(&threads[0], ping_thread, &pingers[0]);
	start(&threads[1], ping_thread, &pingers[1]);
	start(&threads[2], object_thread, NULL);
	start(&threads[3], object_thread, NULL);
	start(&threads[4], call_thread, &caller);
	start(&threads[5], event_taker, &queue);
	start(&threads[6], event_poster, &queue);
	join(threads[0]);
	join(threads[1]);
	over = true;
	for (int i = 2; i < 7; i++)
		join(threads[i]);
	ck_assert_int_eq(queue.taken, queue.posted);
	for (int i = 0; i < 2; i++)
		t_loop_close(&pingers[i].loop);
	caller_free(&caller);
	t_ok(dat_evd_free(queue.evd));
	t_ok(dat_cno_free(queue.cno));
	t_ia_close_empty(&ia);
}
END_TEST

/* --- each thread opens and closes its own IA --- */

static void *ia_thread(void *arg)
{
	for (int i = 0; i < 10; i++) {
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE own;
		DAT_PZ_HANDLE pz;

		if (dat_ia_open(t_ia_name(), 8, &async, &own) != DAT_SUCCESS ||
		    dat_pz_create(own, &pz) != DAT_SUCCESS ||
		    dat_ia_close(own, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS)
			return (void *)(uintptr_t) "opening, using or closing an IA failed";
	}
	return arg;
}

START_TEST(threads_open_and_close_ias)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		start(&threads[i], ia_thread, NULL);
	for (int i = 0; i < 4; i++)
		join(threads[i]);
}
END_TEST

/* --- the IA is closed while threads wait --- */

START_TEST(waiters_leave_when_the_ia_is_closed)
{
	struct t_waiter waiters[4];
	DAT_RETURN ret;

	t_ia_open(&ia);
	for (int i = 0; i < 4; i++) {
		if (i % 2)
			t_cno_waiter_start(&waiters[i], t_cno(&ia));
		else
			t_evd_waiter_start(&waiters[i], t_evd(&ia, 4, DAT_EVD_SOFTWARE_FLAG), 1);
	}
	t_ia_close(&ia);
	for (int i = 0; i < 4; i++) {
		ret = t_waiter_join(&waiters[i]);
		if (i % 2) {
			t_ok(ret);
			ck_assert_ptr_null(waiters[i].evd);
		} else {
			t_error(ret, DAT_ABORT);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("threads");
	TCase *tcase = tcase_create("threads");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, threads_of_all_kinds_on_one_ia);
	tcase_add_test(tcase, threads_open_and_close_ias);
	tcase_add_test(tcase, waiters_leave_when_the_ia_is_closed);
	return t_run(suite);
}
