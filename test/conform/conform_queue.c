/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events of an EVD: wait, dequeue, software events, overflow. */
#include <signal.h>
#include <stdatomic.h>

#include "conform.h"

static void is_mark(const DAT_EVENT *event, int mark)
{
	ck_assert_int_eq(event->event_number, DAT_SOFTWARE_EVENT);
	ck_assert_ptr_eq(event->event_data.software_event_data.pointer, &marks[mark]);
}

static DAT_COUNT qlen_of(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	t_ok(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param));
	return param.evd_qlen;
}

static void still_waits(struct t_waiter *waiter)
{
	t_until(t_sleeps(waiter->tid));
	ck_assert(!t_waiter_done(waiter));
}

/* --- wait --- */

START_TEST(EVD_059_060_067_078_wait_takes_the_oldest)
{
	/* EVS-001 EVS-005 EVS-006 EVS-015 */
	DAT_EVD_HANDLE evd = soft_evd(8);
	DAT_COUNT nmore = -1;
	DAT_EVENT event;

	post_marks(evd, 0, 5);
	t_ok(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	is_mark(&event, 0);
	ck_assert_ptr_eq(event.evd_handle, evd);
	ck_assert_int_eq(nmore, 4);
	t_ok(dat_evd_wait(evd, 0, 4, &event, &nmore));
	is_mark(&event, 1);
	ck_assert_int_eq(nmore, 3);
	t_ok(dat_evd_wait(evd, 0, 2, &event, &nmore));
	is_mark(&event, 2);
	ck_assert_int_eq(nmore, 2);
}
END_TEST

START_TEST(EVD_061_079_wait_blocks_until_the_threshold)
{
	/* EVS-002 EVS-004 EVS-012 */
	DAT_EVD_HANDLE evd = soft_evd(8);
	struct t_waiter waiter;

	t_evd_waiter_start(&waiter, evd, 4);
	for (int i = 0; i < 3; i++) {
		t_ok(t_post_se(evd, &marks[i]));
		still_waits(&waiter);
	}
	t_ok(t_post_se(evd, &marks[3]));
	t_ok(t_waiter_join(&waiter));
	is_mark(&waiter.event, 0);
	ck_assert_int_ge(waiter.nmore, 3);
	ck_assert_int_eq(t_drain(evd), 3);
}
END_TEST

START_TEST(EVD_062_wait_refuses_bad_thresholds)
{
	/* EVS-009 */
	DAT_EVD_HANDLE evd = soft_evd(4);
	DAT_COUNT qlen = qlen_of(evd);
	DAT_COUNT nmore;
	DAT_EVENT event;

	t_bad_arg_of(dat_evd_wait(evd, 0, 0, &event, &nmore), 3);
	t_bad_arg_of(dat_evd_wait(evd, 0, -1, &event, &nmore), 3);
	t_bad_arg_of(dat_evd_wait(evd, 0, qlen + 1, &event, &nmore), 3);
	for (DAT_COUNT i = 0; i < qlen; i++)
		t_ok(t_post_se(evd, marks));
	t_ok(dat_evd_wait(evd, 0, qlen, &event, &nmore));
	ck_assert_int_eq(nmore, qlen - 1);
}
END_TEST

static DAT_EP_ATTR attr_with_recv_flags(DAT_COMPLETION_FLAGS flags)
{
	DAT_EP_ATTR attr = t_default_attr(&t_tia);

	attr.recv_completion_flags = flags;
	return attr;
}

START_TEST(EVD_063_threshold_is_refused_unless_all_completions_notify)
{
	/* EVS-010 */
	static const DAT_COMPLETION_FLAGS flags[] = {
		DAT_COMPLETION_UNSIGNALLED_FLAG,
		DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	};

	for (int i = 0; i < 2; i++) {
		DAT_EP_ATTR attr = attr_with_recv_flags(flags[i]);
		struct t_end end;
		DAT_COUNT nmore;
		DAT_EVENT event;

		t_end_new(&end, &t_tia, &attr);
		t_error2(dat_evd_wait(end.recv_evd, 0, 2, &event, &nmore), DAT_INVALID_STATE,
			 DAT_INVALID_PARAMETER);
		t_error(dat_evd_wait(end.recv_evd, 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
		t_end_free(&end);
	}
}
END_TEST

START_TEST(EVD_064_065_timeout_takes_nothing)
{
	/* EVS-007 EVS-016 */
	DAT_EVD_HANDLE evd = soft_evd(8);
	DAT_COUNT nmore = -1;
	DAT_EVENT event;

	t_error(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	ck_assert_int_eq(nmore, 0);
	post_marks(evd, 0, 2);
	t_error(dat_evd_wait(evd, 0, 3, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	ck_assert_int_eq(nmore, 2);
	t_error(dat_evd_wait(evd, 2000, 3, &event, &nmore), DAT_TIMEOUT_EXPIRED);
	ck_assert_int_eq(nmore, 2);
	t_wait_se(evd, &marks[0]);
	t_wait_se(evd, &marks[1]);
}
END_TEST

START_TEST(EVD_066_071_timeout_is_in_microseconds)
{
	static const DAT_TIMEOUT timeouts[] = {1, 999, 20000, 200000};
	DAT_EVD_HANDLE evd = soft_evd(1);
	struct t_waiter waiter;
	DAT_COUNT nmore;
	DAT_EVENT event;

	for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
		uint64_t start = t_now_us();

		t_error(dat_evd_wait(evd, timeouts[i], 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
		ck_assert_uint_ge(t_now_us() - start, timeouts[i]);
		ck_assert_uint_lt(t_now_us() - start, timeouts[i] + T_LIMIT_US);
	}
	t_evd_waiter_start(&waiter, evd, 1);
	t_ok(t_post_se(evd, marks));
	t_ok(t_waiter_join(&waiter));
	t_ok(t_post_se(evd, marks));
	t_ok(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE - 1, 1, &event, &nmore));
}
END_TEST

START_TEST(EVD_068_086_one_waiter_at_a_time)
{
	/* EVS-018 */
	DAT_EVD_HANDLE evd = soft_evd(8);
	struct t_waiter waiter;
	DAT_COUNT nmore;
	DAT_EVENT event;

	t_evd_waiter_start(&waiter, evd, 2);
	t_bad_state_of(dat_evd_wait(evd, 0, 1, &event, &nmore), EVD_WAITER);
	t_bad_state_of(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore), EVD_WAITER);
	t_ok(t_post_se(evd, &marks[0]));
	t_bad_state_of(dat_evd_wait(evd, 0, 1, &event, &nmore), EVD_WAITER);
	t_bad_state_of(dat_evd_dequeue(evd, &event), EVD_WAITER);
	still_waits(&waiter);
	t_ok(t_post_se(evd, &marks[1]));
	t_ok(t_waiter_join(&waiter));
	is_mark(&waiter.event, 0);
	t_ok(dat_evd_dequeue(evd, &event));
	is_mark(&event, 1);
}
END_TEST

START_TEST(EVD_070_wait_refuses_null_pointers)
{
	DAT_EVD_HANDLE evd = soft_evd(1);
	DAT_COUNT nmore;
	DAT_EVENT event;

	t_ok(t_post_se(evd, marks));
	t_bad_arg(dat_evd_wait(evd, 0, 1, NULL, &nmore));
	t_bad_arg(dat_evd_wait(evd, 0, 1, &event, NULL));
	t_wait_se(evd, marks);
}
END_TEST

static void on_signal(int number)
{
	(void)number;
}

START_TEST(EVD_074_075_signal_ends_the_wait)
{
	/* _i: whether system calls restart; the result must be the same */
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = _i ? SA_RESTART : 0};
	DAT_EVD_HANDLE evd = soft_evd(4);
	struct t_waiter waiter;

	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	t_evd_waiter_start(&waiter, evd, 2);
	t_ok(t_post_se(evd, marks));
	still_waits(&waiter);
	t_error(t_waiter_signal(&waiter, SIGUSR1), DAT_INTERRUPTED_CALL);
	ck_assert_int_eq(waiter.nmore, 1);
	t_wait_se(evd, marks);
}
END_TEST

START_TEST(EVD_077_event_for_a_waiter_does_not_trigger_the_cno)
{
	/* CNO-043 */
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG), hint;
	struct t_waiter waiter;

	t_evd_waiter_start(&waiter, evd, 2);
	t_ok(t_post_se(evd, &marks[0]));
	t_error(t_poll_cno(cno, &hint), DAT_QUEUE_EMPTY);
	t_ok(t_post_se(evd, &marks[1]));
	t_ok(t_waiter_join(&waiter));
	t_error(t_poll_cno(cno, &hint), DAT_QUEUE_EMPTY);
	t_ok(t_post_se(evd, &marks[2]));
	t_ok(t_poll_cno(cno, &hint));
	ck_assert_ptr_eq(hint, evd);
}
END_TEST

START_TEST(EVD_081_waits_on_several_evds_are_independent)
{
	/* HND-018 */
	enum { N = 4 };
	struct t_waiter waiter[N];
	DAT_EVD_HANDLE evd[N];

	for (int i = 0; i < N; i++) {
		evd[i] = soft_evd(2);
		t_evd_waiter_start(&waiter[i], evd[i], 1);
	}
	t_ok(dat_evd_free(soft_evd(1)));
	for (int i = N - 1; i >= 0; i--) {
		t_ok(t_post_se(evd[i], &marks[i]));
		t_ok(t_waiter_join(&waiter[i]));
		is_mark(&waiter[i].event, i);
		for (int j = 0; j < i; j++)
			still_waits(&waiter[j]);
	}
}
END_TEST

/* --- completions that do not notify --- */

static void open_quiet_pair(struct t_pair *pair, DAT_COMPLETION_FLAGS flags)
{
	DAT_EP_ATTR attr = attr_with_recv_flags(flags);

	t_pair_open(pair, &attr);
}

START_TEST(EVD_082_088_unsignalled_completions_wake_nobody_and_count)
{
	/* EVS-003 */
	struct t_pair pair;
	struct t_end *from = &pair.end[0], *to = &pair.end[1];
	struct t_waiter waiter;
	DAT_COUNT nmore;
	DAT_EVENT event;

	open_quiet_pair(&pair, DAT_COMPLETION_UNSIGNALLED_FLAG);
	t_ok(t_recv(to, 0, 64, 1, DAT_COMPLETION_UNSIGNALLED_FLAG));
	t_ok(t_recv(to, 64, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_recv(to, 128, 64, 3, DAT_COMPLETION_UNSIGNALLED_FLAG));
	t_ok(t_recv(to, 192, 64, 4, DAT_COMPLETION_UNSIGNALLED_FLAG));
	t_evd_waiter_start(&waiter, to->recv_evd, 1);
	t_ok(t_send(from, 0, 10, 11, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(from->request_evd, from->ep, 11, DAT_DTO_SUCCESS, 10);
	still_waits(&waiter);
	t_ok(t_send(from, 0, 20, 12, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(from->request_evd, from->ep, 12, DAT_DTO_SUCCESS, 20);
	t_ok(t_waiter_join(&waiter));
	ck_assert_uint_eq(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	ck_assert_int_eq(waiter.nmore, 1);
	t_wait_dto(to->recv_evd, to->ep, 2, DAT_DTO_SUCCESS, 20);

	/* A wait that finds them in the queue, and a dequeue, treat them as any other event. */
	t_ok(t_send(from, 0, 30, 13, DAT_COMPLETION_DEFAULT_FLAG));
	t_until(dat_evd_wait(to->recv_evd, 0, 1, &event, &nmore) == DAT_SUCCESS);
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 3);
	t_ok(t_send(from, 0, 40, 14, DAT_COMPLETION_DEFAULT_FLAG));
	t_until(dat_evd_dequeue(to->recv_evd, &event) == DAT_SUCCESS);
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 4);
	t_wait_dto(from->request_evd, from->ep, 13, DAT_DTO_SUCCESS, 30);
	t_wait_dto(from->request_evd, from->ep, 14, DAT_DTO_SUCCESS, 40);
	t_pair_close(&pair);
}
END_TEST

/* --- dequeue --- */

START_TEST(EVD_084_085_dequeue_takes_the_oldest_and_never_blocks)
{
	/* EVS-017 */
	DAT_EVD_HANDLE evd = soft_evd(4);
	DAT_EVENT event;

	t_error(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
	post_marks(evd, 0, 3);
	for (int i = 0; i < 3; i++) {
		t_ok(dat_evd_dequeue(evd, &event));
		is_mark(&event, i);
		ck_assert_ptr_eq(event.evd_handle, evd);
	}
	t_error(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
}
END_TEST

START_TEST(EVD_087_dequeue_works_in_every_state)
{
	for (int state = 0; state < 8; state++) {
		DAT_CNO_HANDLE cno = state & 1 ? t_cno(&t_tia) : DAT_HANDLE_NULL;
		DAT_EVD_HANDLE evd = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);
		DAT_EVENT event;

		if (state & 2)
			t_ok(dat_evd_disable(evd));
		if (state & 4)
			t_ok(dat_evd_set_unwaitable(evd));
		t_ok(t_post_se(evd, &marks[state]));
		t_ok(dat_evd_dequeue(evd, &event));
		is_mark(&event, state);
		t_error(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
	}
}
END_TEST

START_TEST(EVD_089_dequeue_refuses_a_null_pointer)
{
	DAT_EVD_HANDLE evd = soft_evd(1);

	t_ok(t_post_se(evd, marks));
	t_bad_arg_of(dat_evd_dequeue(evd, NULL), 2);
	t_wait_se(evd, marks);
}
END_TEST

enum { POSTERS = 3, TAKERS = 3, PER_POSTER = 4000, TOTAL = POSTERS * PER_POSTER };

/* Posting threads post token(i) for their own range of i. Taking threads count the events. */
struct crowd {
	DAT_EVD_HANDLE evd;
	atomic_int taken[TOTAL];
	atomic_int total;
	atomic_int failures;
	atomic_int disorder;
};

struct member {
	struct crowd *crowd;
	pthread_t thread;
	int index;
};

static void *token(int i)
{
	return (void *)((uintptr_t)i + 1);
}

static void *poster(void *arg)
{
	struct member *me = arg;

	for (int i = me->index * PER_POSTER; i < (me->index + 1) * PER_POSTER; i++) {
		DAT_RETURN ret;

		while (DAT_GET_TYPE(ret = t_post_se(me->crowd->evd, token(i))) == DAT_QUEUE_FULL)
			t_pause();
		me->crowd->failures += ret != DAT_SUCCESS;
	}
	return NULL;
}

static void *taker(void *arg)
{
	struct member *me = arg;
	struct crowd *crowd = me->crowd;
	int last[POSTERS] = {-1, -1, -1};

	while (crowd->total < TOTAL) {
		DAT_EVENT event;
		DAT_RETURN ret = dat_evd_dequeue(crowd->evd, &event);
		int i;

		if (ret != DAT_SUCCESS) {
			crowd->failures += DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY;
			t_pause();
			continue;
		}
		i = (int)((uintptr_t)event.event_data.software_event_data.pointer - 1);
		crowd->taken[i]++;
		crowd->total++;
		crowd->disorder += i <= last[i / PER_POSTER];
		last[i / PER_POSTER] = i;
	}
	return NULL;
}

START_TEST(EVD_091_092_104_106_many_threads_get_each_event_once_and_in_order)
{
	/* EVD-094 EVS-020 EVS-119 HND-019 */
	struct member members[POSTERS + TAKERS];
	static struct crowd crowd;

	crowd.evd = soft_evd(256);
	for (int i = 0; i < POSTERS + TAKERS; i++) {
		members[i].crowd = &crowd;
		members[i].index = i;
		ck_assert_int_eq(pthread_create(&members[i].thread, NULL,
						i < POSTERS ? poster : taker, &members[i]),
				 0);
	}
	for (int i = 0; i < POSTERS + TAKERS; i++)
		t_join(members[i].thread);
	ck_assert_int_eq(crowd.failures, 0);
	ck_assert_int_eq(crowd.disorder, 0);
	for (int i = 0; i < TOTAL; i++)
		ck_assert_int_eq(crowd.taken[i], 1);
	t_no_event(crowd.evd);
}
END_TEST

START_TEST(EVD_093_105_events_are_copies)
{
	DAT_EVD_HANDLE evd = soft_evd(2);
	DAT_EVENT event, copy, posted;

	memset(&posted, 0, sizeof(posted));
	posted.event_number = DAT_SOFTWARE_EVENT;
	posted.event_data.software_event_data.pointer = &marks[0];
	t_ok(dat_evd_post_se(evd, &posted));
	memset(&posted, 0xff, sizeof(posted));
	t_ok(dat_evd_dequeue(evd, &event));
	is_mark(&event, 0);
	copy = event;
	post_marks(evd, 1, 3);
	t_ok(dat_evd_resize(evd, 64));
	ck_assert_int_eq(t_drain(evd), 2);
	ck_assert_int_eq(memcmp(&copy, &event, sizeof(event)), 0);
}
END_TEST

static DAT_EVENT poll_for(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	t_until(dat_evd_dequeue(evd, &event) == DAT_SUCCESS);
	ck_assert_int_eq(event.event_number, number);
	return event;
}

START_TEST(EVD_095_polling_alone_makes_progress)
{
	/* EVS-132 */
	struct t_pair pair;
	struct t_end *from = &pair.end[0], *to = &pair.end[1];
	DAT_EVENT event;

	t_pair_prepare(&pair, NULL);
	t_ok(t_connect(from->ep, &pair.listener));
	event = poll_for(pair.listener.evd, DAT_CONNECTION_REQUEST_EVENT);
	t_ok(t_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, to->ep));
	poll_for(from->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	poll_for(to->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	t_ok(t_recv(to, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(from, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	poll_for(from->request_evd, DAT_DTO_COMPLETION_EVENT);
	poll_for(to->recv_evd, DAT_DTO_COMPLETION_EVENT);
	t_ok(dat_ep_disconnect(from->ep, DAT_CLOSE_GRACEFUL_FLAG));
	poll_for(from->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	poll_for(to->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	t_pair_close(&pair);
}
END_TEST

/* --- software events --- */

START_TEST(EVD_096_103_software_event_carries_its_pointer)
{
	DAT_EVD_HANDLE evd = soft_evd(2);
	DAT_EVENT event;

	memset(&event, 0xff, sizeof(event));
	event.event_number = DAT_SOFTWARE_EVENT;
	event.evd_handle = t_tia.pz;
	event.event_data.software_event_data.pointer = &marks[7];
	t_ok(dat_evd_post_se(evd, &event));
	memset(&event, 0, sizeof(event));
	t_ok(dat_evd_dequeue(evd, &event));
	is_mark(&event, 7);
	ck_assert_ptr_eq(event.evd_handle, evd);
}
END_TEST

START_TEST(EVD_097_098_099_post_se_refuses_bad_arguments)
{
	/* EVS-105 */
	static const DAT_EVENT_NUMBER others[] = {
		DAT_DTO_COMPLETION_EVENT,
		DAT_CONNECTION_EVENT_ESTABLISHED,
		DAT_ASYNC_ERROR_EVD_OVERFLOW,
		(DAT_EVENT_NUMBER)0,
	};
	DAT_EVD_HANDLE evd = soft_evd(2), other = t_evd(&t_tia, 2, DAT_EVD_DEFAULT_FLAG);
	DAT_EVENT event;

	memset(&event, 0, sizeof(event));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		event.event_number = others[i];
		t_bad_arg_of(dat_evd_post_se(evd, &event), 2);
	}
	t_bad_arg_of(dat_evd_post_se(evd, NULL), 2);
	t_bad_arg_of(t_post_se(other, marks), 1);
	t_no_event(evd);
	t_no_event(other);
}
END_TEST

START_TEST(EVD_100_full_queue_refuses_software_events)
{
	/* EVS-033 EVS-090 */
	DAT_EVD_HANDLE evd = soft_evd(1);
	DAT_COUNT qlen = qlen_of(evd);

	for (DAT_COUNT i = 0; i < qlen; i++)
		t_ok(t_post_se(evd, &marks[1]));
	t_error(t_post_se(evd, &marks[2]), DAT_QUEUE_FULL);
	t_wait_se(evd, &marks[1]);
	t_ok(t_post_se(evd, &marks[3]));
	t_error(t_post_se(evd, &marks[2]), DAT_QUEUE_FULL);
	for (DAT_COUNT i = 1; i < qlen; i++)
		t_wait_se(evd, &marks[1]);
	t_wait_se(evd, &marks[3]);
	t_stays_quiet(t_tia.async_evd);
}
END_TEST

START_TEST(EVD_102_software_event_wakes_and_notifies)
{
	/* EVS-014 EVS-032 */
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);
	struct t_waiter evd_waiter, cno_waiter;

	t_evd_waiter_start(&evd_waiter, evd, 1);
	t_ok(t_post_se(evd, &marks[0]));
	t_ok(t_waiter_join(&evd_waiter));
	is_mark(&evd_waiter.event, 0);
	t_cno_waiter_start(&cno_waiter, cno);
	t_ok(t_post_se(evd, &marks[1]));
	t_ok(t_waiter_join(&cno_waiter));
	ck_assert_ptr_eq(cno_waiter.evd, evd);
	t_wait_se(evd, &marks[1]);
}
END_TEST

/* --- overflow --- */

/* An EP connected to its own IA, with a request EVD that is too short. */
struct overflow {
	struct t_listener listener;
	struct t_end from, to;
	DAT_COUNT room;
};

static void overflow_requests(struct overflow *overflow, const struct t_ia *tia)
{
	struct t_end *from = &overflow->from, *to = &overflow->to;
	DAT_EP_PARAM param;

	t_listen(&overflow->listener, tia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(to, tia, NULL);
	t_end_new(from, tia, NULL);
	param.request_evd_handle = t_evd(tia, 1, DAT_EVD_DTO_FLAG);
	t_ok(dat_ep_modify(from->ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param));
	t_ok(dat_evd_free(from->request_evd));
	from->request_evd = param.request_evd_handle;
	overflow->room = qlen_of(from->request_evd);
	t_establish(&overflow->listener, from, to);
	for (DAT_COUNT i = 0; i <= overflow->room; i++)
		t_ok(t_write(from, 0, 8, (uint64_t)i, t_remote_seg(&to->buf, 0, 8),
			     DAT_COMPLETION_DEFAULT_FLAG));
}

/* An EVD that overflowed can only be queried and freed. */
static void overflow_free(struct overflow *overflow)
{
	ck_assert_int_eq(qlen_of(overflow->from.request_evd), overflow->room);
	t_end_free(&overflow->from);
	t_end_free(&overflow->to);
	t_listener_free(&overflow->listener);
}

START_TEST(EVD_117_118_121_overflow_breaks_the_endpoint)
{
	/* EVD-119 EVS-091 EVS-057 EVS-086 EVS-092 EVS-093 ERR-037 ERR-038 HND-015 */
	const DAT_ASYNCH_ERROR_EVENT_DATA *error;
	DAT_HANDLE_TYPE type;
	struct overflow overflow;
	DAT_EVENT event;

	overflow_requests(&overflow, &t_tia);
	event = t_wait_for(t_tia.async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	error = &event.event_data.asynch_error_event_data;
	ck_assert_ptr_eq(error->dat_handle, overflow.from.request_evd);
	ck_assert_int_eq(error->reason, DAT_EVD_OVERFLOW_ERROR);
	t_ok(dat_get_handle_type(error->dat_handle, &type));
	ck_assert_int_eq(type, DAT_HANDLE_TYPE_EVD);
	t_wait_conn(overflow.from.connect_evd, DAT_CONNECTION_EVENT_BROKEN, overflow.from.ep);
	for (DAT_COUNT i = 0; i < overflow.room; i++)
		t_wait_dto(overflow.from.request_evd, overflow.from.ep, (uint64_t)i,
			   DAT_DTO_SUCCESS, 8);
	t_no_event(t_tia.async_evd);
	overflow_free(&overflow);
}
END_TEST

START_TEST(EVD_120_full_async_evd_drops_errors)
{
	struct t_ia tia = {0};
	struct overflow overflow;
	DAT_COUNT room;

	t_ok(dat_ia_open(t_ia_name(), 1, &tia.async_evd, &tia.ia));
	t_ok(dat_ia_query(tia.ia, NULL, DAT_IA_FIELD_ALL, &tia.attr, 0, NULL));
	t_ok(dat_pz_create(tia.ia, &tia.pz));
	room = qlen_of(tia.async_evd);
	for (DAT_COUNT i = 0; i < room + 2; i++) {
		overflow_requests(&overflow, &tia);
		t_wait_conn(overflow.from.connect_evd, DAT_CONNECTION_EVENT_BROKEN,
			    overflow.from.ep);
		overflow_free(&overflow);
	}
	for (DAT_COUNT i = 0; i < room; i++)
		t_wait_for(tia.async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	t_no_event(tia.async_evd);
	t_ia_close_empty(&tia);
}
END_TEST

Suite *conform_queue(void)
{
	Suite *suite = suite_create("queue");
	TCase *tc = conform_case(suite, "evd_wait");

	tcase_add_test(tc, EVD_059_060_067_078_wait_takes_the_oldest);
	tcase_add_test(tc, EVD_061_079_wait_blocks_until_the_threshold);
	tcase_add_test(tc, EVD_062_wait_refuses_bad_thresholds);
	tcase_add_test(tc, EVD_063_threshold_is_refused_unless_all_completions_notify);
	tcase_add_test(tc, EVD_064_065_timeout_takes_nothing);
	tcase_add_test(tc, EVD_066_071_timeout_is_in_microseconds);
	tcase_add_test(tc, EVD_068_086_one_waiter_at_a_time);
	tcase_add_test(tc, EVD_070_wait_refuses_null_pointers);
	tcase_add_loop_test(tc, EVD_074_075_signal_ends_the_wait, 0, 2);
	tcase_add_test(tc, EVD_077_event_for_a_waiter_does_not_trigger_the_cno);
	tcase_add_test(tc, EVD_081_waits_on_several_evds_are_independent);
	tcase_add_test(tc, EVD_082_088_unsignalled_completions_wake_nobody_and_count);

	tc = conform_case(suite, "evd_dequeue");
	tcase_add_test(tc, EVD_084_085_dequeue_takes_the_oldest_and_never_blocks);
	tcase_add_test(tc, EVD_087_dequeue_works_in_every_state);
	tcase_add_test(tc, EVD_089_dequeue_refuses_a_null_pointer);
	tcase_add_test(tc, EVD_091_092_104_106_many_threads_get_each_event_once_and_in_order);
	tcase_add_test(tc, EVD_093_105_events_are_copies);
	tcase_add_test(tc, EVD_095_polling_alone_makes_progress);

	tc = conform_case(suite, "evd_post_se");
	tcase_add_test(tc, EVD_096_103_software_event_carries_its_pointer);
	tcase_add_test(tc, EVD_097_098_099_post_se_refuses_bad_arguments);
	tcase_add_test(tc, EVD_100_full_queue_refuses_software_events);
	tcase_add_test(tc, EVD_102_software_event_wakes_and_notifies);

	tc = conform_case(suite, "evd_overflow");
	tcase_add_test(tc, EVD_117_118_121_overflow_breaks_the_endpoint);
	tcase_add_test(tc, EVD_120_full_async_evd_drops_errors);
	return suite;
}
