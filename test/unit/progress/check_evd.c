/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event dispatchers: queue, thresholds, waiting, streams, overflow (EVD-*, EVS-*). */
#include "../../lib/fake_ia.h"
#include "../../lib/t_hooks.h"
#include "../../lib/unit.h"

#include "../../../prov/ofi/api/cno.h"
#include "../../../prov/ofi/progress/cno.h"
#include "../../../prov/ofi/progress/evd_streams.h"
#include "../../../prov/ofi/progress/evd_wait.h"
#include "../../../prov/ofi/api/evd.h"
#include "../../../prov/ofi/progress/evd.h"
#include "../../../prov/ofi/progress/wait.h"
#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/srq_count.h"
#include "../../../prov/ofi/object/ud_ah.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/progress/engine.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

#define INVALID  DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)
#define FOR_EVER DAT_TIMEOUT_INFINITE

static void *watched; /* a block */
static _Atomic int times_freed;

T_STAND_IN void __wrap_free(void *block);
void __real_free(void *block);

void __wrap_free(void *block)
{
	if (block && block == watched)
		times_freed++;
	__real_free(block);
}

static struct dofi_ia *ia;
static DAT_EVD_HANDLE evd; /* length 8, all streams */

static DAT_EVD_HANDLE new_evd(DAT_COUNT qlen, DAT_CNO_HANDLE cno, unsigned int flags)
{
	DAT_EVD_HANDLE handle;

	t_ok(dofi_evd_create(ia, qlen, cno, (DAT_EVD_FLAGS)flags, &handle));
	return handle;
}

static void setup(void)
{
	ia = t_ia_open();
	evd = new_evd(8, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG);
}

static void teardown(void)
{
	if (evd)
		t_ok(dofi_evd_free(evd));
	t_ia_close(ia);
}

static int push(uint64_t cookie, bool notify)
{
	struct dofi_event event = {.number = DAT_DTO_COMPLETION_EVENT, .dto.cookie = cookie};

	return dofi_evd_push(evd, &event, notify);
}

static DAT_RETURN post_se(uintptr_t value)
{
	DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

	event.event_data.software_event_data.pointer = (void *)value;
	return dofi_evd_post_se(evd, &event);
}

static uint64_t cookie_of(const DAT_EVENT *event)
{
	return event->event_data.dto_completion_event_data.user_cookie.as_64;
}

static void expect_dequeue(uint64_t cookie)
{
	DAT_EVENT event;

	t_ok(dofi_evd_dequeue(evd, &event));
	ck_assert_uint_eq(cookie_of(&event), cookie);
	ck_assert_ptr_eq(event.evd_handle, evd);
}

static void expect_empty(void)
{
	DAT_EVENT event;

	t_ret(dofi_evd_dequeue(evd, &event), DOFI_QUEUE_EMPTY);
}

/* A thread in dat_evd_wait. */
static struct waiter {
	struct t_thread thread;
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold, nmore;
	DAT_EVENT event;
} waiter;

static DAT_RETURN wait_main(void *arg)
{
	struct waiter *w = arg;

	return dofi_evd_wait(evd, w->timeout, w->threshold, &w->event, &w->nmore);
}

static void start_waiter(DAT_COUNT threshold)
{
	waiter = (struct waiter){.timeout = FOR_EVER, .threshold = threshold};
	t_start(&waiter.thread, wait_main, &waiter);
	t_until_asleep(1);
}

static void expect_woken(uint64_t cookie, DAT_COUNT nmore)
{
	t_ret(t_join(&waiter.thread), DAT_SUCCESS);
	ck_assert_uint_eq(cookie_of(&waiter.event), cookie);
	ck_assert_int_eq(waiter.nmore, nmore);
}

/* --- create, query, free --- */

/* EVD-001 to EVD-014 */
START_TEST(test_create_arguments)
{
	DAT_EVD_HANDLE out;
	DAT_CNO_HANDLE cno;

	t_ok(dofi_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	t_ret(dofi_evd_create(evd, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &out),
	      DOFI_BAD_HANDLE(IA));
	t_ret(dofi_evd_create(ia, 0, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &out), DOFI_BAD_ARG(2));
	t_ret(dofi_evd_create(ia, -1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &out), DOFI_BAD_ARG(2));
	t_ret(dofi_evd_create(ia, 8, evd, DAT_EVD_DTO_FLAG, &out), DOFI_BAD_HANDLE(CNO));
	t_ret(dofi_evd_create(ia, 8, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)0, &out), DOFI_BAD_ARG(4));
	t_ret(dofi_evd_create(ia, 8, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)0x400, &out), DOFI_BAD_ARG(4));
	t_ret(dofi_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, NULL), DOFI_BAD_ARG(5));
	t_ret(dofi_evd_create(ia, 1025, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &out),
	      DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD));
	t_fake.fail_malloc = 1;
	t_ret(dofi_evd_create(ia, 8, cno, DAT_EVD_DTO_FLAG, &out), DOFI_NO_MEMORY);
	t_ok(dofi_cno_free(cno)); /* the failed calls do not use it */
}
END_TEST

START_TEST(the_shortest_and_the_longest_evd)
{
	static const DAT_COUNT lengths[] = {1, 1024};
	DAT_EVD_HANDLE out = new_evd(lengths[_i], DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	DAT_EVD_PARAM param;

	t_ok(dofi_evd_query(out, DAT_EVD_FIELD_ALL, &param));
	ck_assert_int_ge(param.evd_qlen, lengths[_i]);
	t_ok(dofi_evd_resize(out, lengths[_i]));
	t_ok(dofi_evd_resize(out, lengths[!_i]));
	t_ok(dofi_evd_free(out));
}
END_TEST

/*
 * The length is the next power of two, for completions the one above. Debug builds check the order
 * of locks.
 */
START_TEST(test_a_new_evd)
{
	static const struct {
		DAT_COUNT asked;
		unsigned int flags;
		uint32_t length;
	} cases[] = {{1, DAT_EVD_CR_FLAG, 1},
		     {2, DAT_EVD_CONNECTION_FLAG, 2},
		     {3, DAT_EVD_SOFTWARE_FLAG, 4},
		     {4, DAT_EVD_SOFTWARE_FLAG, 4},
		     {4, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG, 4},
		     {1023, DAT_EVD_CONNECTION_FLAG, 1024},
		     {1024, DAT_EVD_CR_FLAG, 1024},
		     {1, DAT_EVD_DTO_FLAG, 2},
		     {3, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, 4},
		     {4, DAT_EVD_DTO_FLAG, 8},
		     {8, DAT_EVD_RMR_BIND_FLAG, 16},
		     {1024, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, 2048}};
	struct dofi_event event = {.number = DAT_SOFTWARE_EVENT};
	DAT_EVD_HANDLE handle =
		new_evd(cases[_i].asked, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)cases[_i].flags);
	const struct dofi_evd *object = handle;

	ck_assert_uint_eq(object->qlen, cases[_i].length);
	t_ok(dofi_evd_resize(handle, cases[_i].asked / 2 + 1));
	t_ok(dofi_evd_resize(handle, cases[_i].asked));
	ck_assert_uint_eq(object->qlen, cases[_i].length);
#ifndef NDEBUG
	ck_assert_int_eq(object->lock.level, DOFI_LEVEL_EVD);
#endif
	for (uint32_t i = 0; i < cases[_i].length; i++)
		ck_assert_int_eq(dofi_evd_push(handle, &event, true), 0);
	ck_assert_int_eq(dofi_evd_push(handle, &event, true), -ENOSPC);
	t_ok(dofi_evd_free(handle));
}
END_TEST

/* Objects come in chunks, so some can be made before one fails. */
START_TEST(test_without_memory_there_is_no_evd)
{
	DAT_EVD_HANDLE handles[4096];
	DAT_RETURN ret = DAT_SUCCESS;
	int n = 0;

	t_fake.fail_mmap = 1;
	while (ret == DAT_SUCCESS) {
		ck_assert_int_lt(n, 4096);
		ret = dofi_evd_create(ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &handles[n]);
		n += ret == DAT_SUCCESS;
	}
	t_ret(ret, DOFI_NO_MEMORY);
	ck_assert_int_eq(t_fake.fail_mmap, 0);
	t_ok(dofi_evd_create(ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &handles[n++]));
	while (n--)
		t_ok(dofi_evd_free(handles[n]));
}
END_TEST

START_TEST(test_no_more_than_the_attribute_says)
{
	DAT_EVD_HANDLE more[2], out;

	/* That of the IA, ours, and two. */
	ia->limits.max_evds = 4;
	more[0] = new_evd(8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	more[1] = new_evd(8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	t_ret(dofi_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &out),
	      DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD));
	t_ok(dofi_evd_free(more[0]));
	more[0] = new_evd(8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	t_ok(dofi_evd_free(more[0]));
	t_ok(dofi_evd_free(more[1]));
}
END_TEST

/* EVD-024 to EVD-030 */
START_TEST(test_query)
{
	DAT_EVD_PARAM param;
	DAT_CNO_HANDLE cno;

	memset(&param, 0, sizeof(param));
	t_ok(dofi_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, ia);
	ck_assert_int_ge(param.evd_qlen, 8);
	ck_assert_int_eq(param.evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
	ck_assert_ptr_eq(param.cno_handle, DAT_HANDLE_NULL);
	ck_assert_int_eq(param.evd_flags, DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG);

	t_ok(dofi_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	t_ok(dofi_evd_disable(evd));
	t_ok(dofi_evd_set_unwaitable(evd));
	t_ok(dofi_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	ck_assert_int_eq(param.evd_state, DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_UNWAITABLE);
	t_ok(dofi_evd_modify_cno(evd, cno));
	dofi_evd_attach_dto(evd, DOFI_CONFIG_THRESHOLD);
	t_ok(dofi_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	ck_assert_int_eq(param.evd_state, DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_UNWAITABLE |
						  DAT_EVD_STATE_CONFIG_THRESHOLD);
	ck_assert_ptr_eq(param.cno_handle, cno);
	dofi_evd_detach_dto(evd, DOFI_CONFIG_THRESHOLD);

	t_ok(dofi_evd_query(evd, (DAT_EVD_PARAM_MASK)0x20, &param));
	t_ret(dofi_evd_query(evd, DAT_EVD_FIELD_ALL, NULL), DOFI_BAD_ARG(3));
	t_ret(dofi_evd_query(cno, DAT_EVD_FIELD_ALL, &param), INVALID);
	t_ok(dofi_evd_modify_cno(evd, DAT_HANDLE_NULL));
	t_ok(dofi_cno_free(cno));
}
END_TEST

/* Another thread frees the EVD, and has given its CNO back already. */
START_TEST(an_evd_that_ends_takes_no_cno)
{
	struct dofi_evd *object = evd;
	DAT_CNO_HANDLE cno;

	t_ok(dofi_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	object->dying = true;
	t_ok(dofi_evd_modify_cno(evd, cno));
	ck_assert_ptr_null(object->cno);
	t_ok(dofi_cno_free(cno));
	object->dying = false;
}
END_TEST

/* EVD-015 to EVD-018 */
START_TEST(test_free_only_without_streams)
{
	DAT_EVD_HANDLE stale = evd;

	push(1, true);
	dofi_evd_attach_dto(evd, DOFI_CONFIG_THRESHOLD);
	dofi_evd_attach_other(evd);
	t_ret(dofi_evd_free(evd), DOFI_BAD_STATE(EVD_IN_USE));
	dofi_evd_detach_dto(evd, DOFI_CONFIG_THRESHOLD);
	t_ret(dofi_evd_free(evd), DOFI_BAD_STATE(EVD_IN_USE));
	dofi_evd_detach_other(evd);
	t_ok(dofi_evd_free(evd));
	evd = NULL;
	t_ret(dofi_evd_free(stale), INVALID);
	t_ret(dofi_evd_enable(stale), INVALID);
	t_ret(dofi_evd_clear_unwaitable(stale), INVALID);
	t_ret(dofi_evd_modify_cno(stale, DAT_HANDLE_NULL), INVALID);
	t_ret(dofi_evd_resize(stale, 4), INVALID);
}
END_TEST

/* A call that found the handle before it became invalid finds neither events nor room. */
START_TEST(test_free_leaves_nothing)
{
	struct dofi_evd *object = evd;
	DAT_CNO_HANDLE cno;

	t_ok(dofi_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	t_ok(dofi_evd_modify_cno(evd, cno));
	push(1, false);
	watched = object->ring;
	t_ok(dofi_evd_free(evd));
	evd = NULL;
	ck_assert_int_eq(times_freed, 1);
	ck_assert_ptr_null(object->ring);
	ck_assert_uint_eq(object->qlen, 0);
	ck_assert_uint_eq(object->head, object->tail);
	ck_assert_uint_eq(atomic_load(&object->count), 0);
	ck_assert_ptr_null(atomic_load(&object->cno));
	ck_assert(object->dying);
	ck_assert(dofi_trylock(&object->lock));
	dofi_unlock(&object->lock);
	t_ok(dofi_cno_free(cno)); /* it is not used any more */
}
END_TEST

/* A waiter learns of the first reason. */
START_TEST(test_a_waiter_is_woken_once)
{
	struct dofi_evd *object = evd;
	uint32_t before = atomic_load(&object->wakeup);

	dofi_lock(&object->lock);
	dofi_evd_wake(object, DOFI_WAKE_EVENT); /* there is none */
	ck_assert_uint_eq(atomic_load(&object->wakeup), before);
	ck_assert_int_eq(object->wake, DOFI_WAKE_NONE);
	object->waiter = true;
	dofi_evd_wake(object, DOFI_WAKE_UNWAITABLE);
	dofi_evd_wake(object, DOFI_WAKE_EVENT);
	ck_assert_uint_eq(atomic_load(&object->wakeup), before + 1);
	ck_assert_int_eq(object->wake, DOFI_WAKE_UNWAITABLE);
	object->waiter = false;
	dofi_unlock(&object->lock);
}
END_TEST

/* Transfers and connections have counters of their own. */
START_TEST(test_events_are_counted_by_kind)
{
	static const struct {
		uint32_t number;
		uint64_t transfers, connections;
	} kinds[] = {{DAT_DTO_COMPLETION_EVENT, 1, 0},
		     {DOFI_EVENT_EXTENDED, 1, 0},
		     {DAT_CONNECTION_EVENT_ESTABLISHED - 1, 0, 0},
		     {DAT_CONNECTION_EVENT_ESTABLISHED, 0, 1},
		     {DAT_CONNECTION_EVENT_BROKEN, 0, 1},
		     {DAT_CONNECTION_EVENT_UNREACHABLE, 0, 1},
		     {DAT_CONNECTION_EVENT_UNREACHABLE + 1, 0, 0},
		     {DAT_SOFTWARE_EVENT, 0, 0}};
	struct dofi_event event = {.number = kinds[_i].number};
	const struct dofi_evd *object = evd;

	ck_assert_int_eq(dofi_evd_push(evd, &event, true), 0);
	ck_assert_uint_eq(atomic_load(&object->counters[DOFI_CNT_EVD_DTO_CALLBACK]),
			  kinds[_i].transfers);
	ck_assert_uint_eq(atomic_load(&object->counters[DOFI_CNT_EVD_CONN_CALLBACK]),
			  kinds[_i].connections);
	ck_assert_uint_eq(atomic_load(&object->count), 1);
}
END_TEST

/* --- dequeue --- */

/* EVD-084 to EVD-093, EVS-017 */
START_TEST(test_dequeue_in_order)
{
	DAT_EVENT event;

	expect_empty();
	for (uint64_t i = 0; i < 8; i++)
		ck_assert_int_eq(push(i, i & 1), 0);
	for (uint64_t i = 0; i < 8; i++)
		expect_dequeue(i);
	expect_empty();
	t_ret(dofi_evd_dequeue(evd, NULL), DOFI_BAD_ARG(2));
	t_ret(dofi_evd_dequeue(ia, &event), INVALID);
}
END_TEST

static void push_one(struct dofi_ia *fake)
{
	(void)fake;
	t_fake.on_poll = NULL;
	push(42, false);
}

/*
 * EVD-095: the call also returns events that the engine finds; with queued events it does not poll.
 */
START_TEST(test_dequeue_polls_when_empty_only)
{
	t_fake.on_poll = push_one;
	expect_dequeue(42);
	ck_assert_uint_eq(t_fake.polls, 1);
	push(1, true);
	expect_dequeue(1);
	ck_assert_uint_eq(t_fake.polls, 1);
}
END_TEST

static void hand_one_over(struct dofi_ia *polled)
{
	struct dofi_taker *taker = &polled->engine.taker;

	t_fake.on_poll = NULL;
	ck_assert_ptr_eq(taker->evd, evd);
	*taker->event = (DAT_EVENT){.event_number = DAT_DTO_COMPLETION_EVENT, .evd_handle = evd};
	taker->event->event_data.dto_completion_event_data.user_cookie.as_64 = 7;
	taker->evd = NULL;
	push(8, true); /* the polling call takes only one event */
}

START_TEST(test_dequeue_takes_what_its_poll_hands_over)
{
	const struct dofi_evd *object = evd;

	t_fake.on_poll = hand_one_over;
	expect_dequeue(7);
	expect_dequeue(8);
	expect_empty();
	ck_assert_uint_eq(t_fake.polls, 2);
	ck_assert_uint_eq(atomic_load(&object->counters[DOFI_CNT_EVD_DEQUEUE_POLL_FOUND]), 1);
	ck_assert_uint_eq(atomic_load(&object->counters[DOFI_CNT_EVD_DEQUEUE_FOUND]), 2);
}
END_TEST

static void expect_counts(const struct dofi_evd *of, uint64_t calls, uint64_t found, uint64_t polls,
			  uint64_t found_by_poll)
{
	ck_assert_uint_eq(atomic_load(&of->counters[DOFI_CNT_EVD_DEQUEUE]), calls);
	ck_assert_uint_eq(atomic_load(&of->counters[DOFI_CNT_EVD_DEQUEUE_FOUND]), found);
	ck_assert_uint_eq(atomic_load(&of->counters[DOFI_CNT_EVD_DEQUEUE_NOT_FOUND]),
			  calls - found);
	ck_assert_uint_eq(atomic_load(&of->counters[DOFI_CNT_EVD_DEQUEUE_POLL]), polls);
	ck_assert_uint_eq(atomic_load(&of->counters[DOFI_CNT_EVD_DEQUEUE_POLL_FOUND]),
			  found_by_poll);
}

START_TEST(test_dequeue_counts_calls_and_what_they_find)
{
	const struct dofi_evd *object = evd;

	expect_empty();
	expect_counts(object, 1, 0, 1, 0);
	push(1, true);
	expect_dequeue(1);
	expect_counts(object, 2, 1, 1, 0);
	t_fake.on_poll = push_one;
	expect_dequeue(42);
	expect_counts(object, 3, 2, 2, 1);
	t_fake.on_poll = hand_one_over;
	expect_dequeue(7);
	expect_counts(object, 4, 3, 3, 2);
	expect_dequeue(8);
	expect_counts(object, 5, 4, 3, 2);
}
END_TEST

/* By dequeue and wait. Other events than those of transfers hold something else in this place. */
START_TEST(test_dequeue_gives_srq_its_place_back)
{
	static const struct {
		uint32_t number, places;
	} kinds[] = {{DAT_DTO_COMPLETION_EVENT, 1},
		     {DOFI_EVENT_EXTENDED, 1},
		     {DAT_CONNECTION_REQUEST_EVENT, 0},
		     {DAT_SOFTWARE_EVENT, 0}};
	int srq;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct dofi_event event = {.number = kinds[i].number};
		DAT_COUNT nmore;
		DAT_EVENT out;

		t_fake.srq_dequeued = 0;
		event.dto.srq = (struct dofi_srq *)(void *)&srq;
		dofi_evd_push(evd, &event, true);
		dofi_evd_push(evd, &event, true);
		ck_assert_uint_eq(t_fake.srq_dequeued, 0);
		t_ok(dofi_evd_dequeue(evd, &out));
		ck_assert_uint_eq(t_fake.srq_dequeued, kinds[i].places);
		t_ok(dofi_evd_wait(evd, 0, 1, &out, &nmore));
		ck_assert_uint_eq(t_fake.srq_dequeued, 2 * kinds[i].places);
	}
}
END_TEST

START_TEST(test_a_freed_evd_gives_places_back)
{
	struct dofi_event event = {.number = DAT_DTO_COMPLETION_EVENT};
	int srq;

	dofi_evd_push(evd, &event, true); /* of a receive of an EP */
	event.dto.srq = (struct dofi_srq *)(void *)&srq;
	dofi_evd_push(evd, &event, true);
	dofi_evd_push(evd, &event, true);
	event.number = DAT_SOFTWARE_EVENT;
	dofi_evd_push(evd, &event, true);
	event.number = DOFI_EVENT_EXTENDED;
	dofi_evd_push(evd, &event, true);
	t_ok(dofi_evd_free(evd));
	ck_assert_uint_eq(t_fake.srq_dequeued, 3);
	evd = DAT_HANDLE_NULL;
}
END_TEST

static void free_it(struct dofi_ia *fake)
{
	(void)fake;
	t_fake.on_poll = NULL;
	t_ok(dofi_evd_free(evd));
}

/* An agent that runs in the poll may free the EVD. */
START_TEST(test_dequeue_from_an_evd_that_its_poll_frees)
{
	DAT_EVENT event;

	t_fake.on_poll = free_it;
	t_ret(dofi_evd_dequeue(evd, &event), INVALID);
	evd = NULL;
}
END_TEST

static void begin_to_wait(struct dofi_ia *fake)
{
	struct dofi_evd *object = evd;

	(void)fake;
	t_fake.on_poll = NULL;
	push(1, true);
	atomic_store(&object->waiter, true);
}

/* Another thread takes the event, or begins to wait for it, after this one has seen the count. */
START_TEST(test_dequeue_of_an_event_that_another_thread_takes)
{
	struct dofi_evd *object = evd;
	DAT_EVENT event;

	atomic_store(&object->count, 1);
	expect_empty();
	atomic_store(&object->count, 0);
	t_fake.on_poll = begin_to_wait;
	t_ret(dofi_evd_dequeue(evd, &event), DOFI_BAD_STATE(EVD_WAITER));
	atomic_store(&object->waiter, false);
	expect_dequeue(1);
}
END_TEST

/* --- software events --- */

/* EVD-096 to EVD-105 */
START_TEST(test_post_se)
{
	DAT_EVENT event = {.event_number = DAT_DTO_COMPLETION_EVENT};
	DAT_EVD_HANDLE plain = new_evd(4, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG);

	t_ok(post_se(0x1234));
	ck_assert_uint_eq(((struct dofi_evd *)evd)->counters[DOFI_CNT_EVD_DTO_CALLBACK], 0);
	ck_assert_uint_eq(((struct dofi_evd *)evd)->counters[DOFI_CNT_EVD_CONN_CALLBACK], 0);
	t_ok(dofi_evd_dequeue(evd, &event));
	ck_assert_int_eq(event.event_number, DAT_SOFTWARE_EVENT);
	ck_assert_uint_eq((uintptr_t)event.event_data.software_event_data.pointer, 0x1234);

	t_ret(dofi_evd_post_se(plain, &event), DOFI_BAD_ARG(1));
	t_ret(dofi_evd_post_se(evd, NULL), DOFI_BAD_ARG(2));
	event.event_number = DAT_DTO_COMPLETION_EVENT;
	t_ret(dofi_evd_post_se(evd, &event), DOFI_BAD_ARG(2));
	t_ret(dofi_evd_post_se(ia, &event), INVALID);
	t_ok(dofi_evd_free(plain));
}
END_TEST

/* EVD-100, EVS-033: no overflow event */
START_TEST(test_post_se_on_full_evd)
{
	DAT_EVENT event;

	for (uintptr_t i = 0; i < 8; i++)
		t_ok(post_se(i));
	t_ret(post_se(8), DOFI_ERR(DAT_QUEUE_FULL, 0));
	t_ret(dofi_evd_dequeue(ia->async_evd, &event), DOFI_QUEUE_EMPTY);
	t_ok(dofi_evd_dequeue(evd, &event));
	t_ok(post_se(8));
}
END_TEST

enum { POSTERS = 4, PER_POSTER = 5000 };

static DAT_RETURN post_many(void *arg)
{
	for (uintptr_t i = 0; i < PER_POSTER; i++)
		while (post_se((uintptr_t)arg * PER_POSTER + i) != DAT_SUCCESS)
			sched_yield();
	return DAT_SUCCESS;
}

/* EVD-091, EVD-104, EVD-106: none lost, none twice, each poster's in order, by dequeue and wait */
START_TEST(test_many_posters_one_reader)
{
	struct t_thread posters[POSTERS];
	uintptr_t next[POSTERS] = {0};
	DAT_EVENT event;
	DAT_COUNT nmore;

	for (uintptr_t i = 0; i < POSTERS; i++)
		t_start(&posters[i], post_many, (void *)i);
	for (unsigned int n = 0; n < POSTERS * PER_POSTER; n++) {
		uintptr_t value, poster;

		if (dofi_evd_dequeue(evd, &event) != DAT_SUCCESS)
			t_ok(dofi_evd_wait(evd, T_LIMIT_S * 1000000u, 1, &event, &nmore));
		value = (uintptr_t)event.event_data.software_event_data.pointer;
		poster = value / PER_POSTER;
		ck_assert_uint_lt(poster, POSTERS);
		ck_assert_uint_eq(value % PER_POSTER, next[poster]++);
	}
	for (int i = 0; i < POSTERS; i++)
		t_ok(t_join(&posters[i]));
	expect_empty();
}
END_TEST

/* --- wait --- */

/* EVD-062, EVD-069 to EVD-073, EVS-009, EVS-023 */
START_TEST(test_wait_arguments)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	push(1, true);
	t_ret(dofi_evd_wait(evd, 0, 0, &event, &nmore), DOFI_BAD_ARG(3));
	t_ret(dofi_evd_wait(evd, 0, -1, &event, &nmore), DOFI_BAD_ARG(3));
	t_ret(dofi_evd_wait(evd, 0, 9, &event, &nmore), DOFI_BAD_ARG(3));
	t_ret(dofi_evd_wait(evd, 0, 8, &event, &nmore), DOFI_TIMEOUT_EXPIRED);
	t_ret(dofi_evd_wait(evd, 0, 1, NULL, &nmore), DOFI_BAD_ARG(4));
	t_ret(dofi_evd_wait(evd, 0, 1, &event, NULL), DOFI_BAD_ARG(5));
	t_ret(dofi_evd_wait(ia, 0, 1, &event, &nmore), INVALID);
	t_ok(dofi_evd_set_unwaitable(evd));
	t_ret(dofi_evd_wait(evd, 0, 1, &event, &nmore), DOFI_BAD_STATE(EVD_UNWAITABLE));
	t_ok(dofi_evd_clear_unwaitable(evd));
	t_ok(dofi_evd_wait(evd, 0, 1, &event, &nmore));
	ck_assert_int_eq(nmore, 0);
}
END_TEST

/* EVD-059, EVD-060, EVD-067, EVS-001, EVS-005, EVS-015 */
START_TEST(test_wait_finds_events)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	for (uint64_t i = 0; i < 3; i++)
		push(i, false);
	for (DAT_COUNT i = 0; i < 3; i++) {
		t_ok(dofi_evd_wait(evd, 0, 3 - i, &event, &nmore));
		ck_assert_uint_eq(cookie_of(&event), (uint64_t)i);
		ck_assert_int_eq(nmore, 2 - i);
	}
}
END_TEST

/* EVD-064 to EVD-066, EVS-007, EVS-016 */
START_TEST(test_wait_times_out)
{
	uint64_t begin = dofi_now();
	DAT_COUNT nmore = -1;
	DAT_EVENT event;

	push(1, true);
	t_ret(dofi_evd_wait(evd, 30000, 2, &event, &nmore), DOFI_TIMEOUT_EXPIRED);
	ck_assert_uint_ge(dofi_now() - begin, 30000000);
	ck_assert_int_eq(nmore, 1);
	expect_dequeue(1);
	t_fake.on_poll = push_one;
	t_ok(dofi_evd_wait(evd, 0, 1, &event, &nmore));
	ck_assert_uint_eq(cookie_of(&event), 42);
}
END_TEST

static void push_with_the_fifth(struct dofi_ia *polled)
{
	(void)polled;
	if (t_fake.polls == 5)
		push(42, true);
}

/* Completions come by the queue, which a thread that spins reads. */
START_TEST(test_wait_spins_for_completions)
{
	static const DAT_EVD_FLAGS flags[] = {DAT_EVD_DTO_FLAG, DAT_EVD_RMR_BIND_FLAG,
					      DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG};
	struct dofi_evd *object = evd;
	DAT_EVENT event;
	DAT_COUNT nmore;

	object->flags = flags[_i];
	ia->params.spin_us = 60000000;
	t_fake.on_poll = push_with_the_fifth;
	t_ok(dofi_evd_wait(evd, FOR_EVER, 1, &event, &nmore));
	ck_assert_uint_eq(cookie_of(&event), 42);
	ck_assert_uint_eq(t_fake.polls, 5);
	ck_assert_uint_eq(t_fake.sleeps, 0);
	/* It does not spin beyond the time of the call. */
	t_ret(dofi_evd_wait(evd, 2000, 1, &event, &nmore), DOFI_TIMEOUT_EXPIRED);
	ck_assert_uint_eq(t_fake.sleeps, 0);
}
END_TEST

/* Other events come by descriptors, and a program may not want to spin. */
START_TEST(test_wait_sleeps_for_other_events)
{
	static const DAT_EVD_FLAGS flags[] = {DAT_EVD_DTO_FLAG, DAT_EVD_CR_FLAG,
					      DAT_EVD_CONNECTION_FLAG, DAT_EVD_SOFTWARE_FLAG,
					      DAT_EVD_ASYNC_FLAG};
	struct dofi_evd *object = evd;
	DAT_EVENT event;
	DAT_COUNT nmore;

	object->flags = flags[_i];
	ia->params.spin_us = flags[_i] == DAT_EVD_DTO_FLAG ? 0 : 60000000;
	t_ret(dofi_evd_wait(evd, 60000, 1, &event, &nmore), DOFI_TIMEOUT_EXPIRED);
	ck_assert_uint_eq(t_fake.polls, 1);
	ck_assert_uint_le(t_fake.sleeps, 1);
	/* After the spin it sleeps, too. */
	object->flags = DAT_EVD_DTO_FLAG;
	ia->params.spin_us = 1;
	start_waiter(1);
	push(7, true);
	expect_woken(7, 0);
}
END_TEST

static void expect_waits(uint64_t calls, uint64_t blocked, uint64_t notified)
{
	const struct dofi_evd *object = evd;

	ck_assert_uint_eq(atomic_load(&object->counters[DOFI_CNT_EVD_WAIT]), calls);
	ck_assert_uint_eq(atomic_load(&object->counters[DOFI_CNT_EVD_WAIT_BLOCKED]), blocked);
	ck_assert_uint_eq(atomic_load(&object->counters[DOFI_CNT_EVD_WAIT_NOTIFY]), notified);
}

START_TEST(test_wait_counts_calls_and_how_they_end)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	t_ret(dofi_evd_wait(evd, 0, 9, &event, &nmore), DOFI_BAD_ARG(3));
	expect_waits(0, 0, 0);
	push(1, true);
	t_ok(dofi_evd_wait(evd, 0, 1, &event, &nmore));
	expect_waits(1, 0, 0);
	t_ret(dofi_evd_wait(evd, 0, 1, &event, &nmore), DOFI_TIMEOUT_EXPIRED);
	expect_waits(2, 1, 0);
	t_fake.on_poll = push_one;
	t_ok(dofi_evd_wait(evd, 0, 1, &event, &nmore));
	expect_waits(3, 2, 1);
}
END_TEST

/* EVS-002 to EVS-006, EVD-082 */
START_TEST(test_wait_wakes_at_threshold_by_notification)
{
	start_waiter(3);
	push(0, true);
	push(1, true);
	push(2, false); /* reaches the threshold, but does not notify */
	ck_assert(!waiter.thread.done);
	push(3, true);
	expect_woken(0, 3);
}
END_TEST

START_TEST(test_wait_ignores_quiet_events)
{
	start_waiter(1);
	push(7, false);
	t_ok(dofi_evd_set_unwaitable(evd)); /* too late if the event had woken the thread */
	t_ret(t_join(&waiter.thread), DOFI_BAD_STATE(EVD_UNWAITABLE));
	ck_assert_int_eq(waiter.nmore, 1);
	expect_dequeue(7);
}
END_TEST

/* EVD-068, EVD-086, EVD-112, EVS-018 */
START_TEST(test_waiter_keeps_others_out)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	start_waiter(2);
	t_ret(dofi_evd_dequeue(evd, &event), DOFI_BAD_STATE(EVD_WAITER));
	push(1, true);
	t_ret(dofi_evd_wait(evd, 0, 1, &event, &nmore), DOFI_BAD_STATE(EVD_WAITER));
	t_ret(dofi_evd_dequeue(evd, &event), DOFI_BAD_STATE(EVD_WAITER));
	t_ret(dofi_evd_resize(evd, 16), DOFI_BAD_STATE(EVD_WAITER));
	push(2, true);
	expect_woken(1, 1);
	expect_dequeue(2);
}
END_TEST

/* EVD-051, EVS-022; also when it is waitable again before the waiter has run */
START_TEST(test_set_unwaitable_wakes_waiter)
{
	start_waiter(2);
	push(1, true);
	t_ok(dofi_evd_set_unwaitable(evd));
	t_ok(dofi_evd_clear_unwaitable(evd));
	t_ret(t_join(&waiter.thread), DOFI_BAD_STATE(EVD_UNWAITABLE));
	expect_dequeue(1);
}
END_TEST

/* EVD-019, EVD-076 */
START_TEST(test_free_aborts_waiter)
{
	start_waiter(1);
	t_ok(dofi_evd_free(evd));
	t_ret(t_join(&waiter.thread), DOFI_ERR(DAT_ABORT, 0));
	evd = NULL;
}
END_TEST

/* Its handle was found before it became invalid. */
START_TEST(test_wait_on_an_evd_that_is_being_freed)
{
	struct dofi_evd *object = evd;
	DAT_EVENT event;
	DAT_COUNT nmore;

	push(1, true);
	object->dying = true;
	t_ret(dofi_evd_wait(evd, FOR_EVER, 1, &event, &nmore), DOFI_ERR(DAT_ABORT, 0));
	object->dying = false;
}
END_TEST

static DAT_RETURN free_main(void *arg)
{
	return dofi_evd_free(arg);
}

/* The waiter may be kept from a processor for long. */
START_TEST(test_free_sleeps_until_the_waiter_has_left)
{
	struct dofi_evd *object = evd;
	struct t_thread freeing;

	atomic_store(&object->waiter, true);
	t_start(&freeing, free_main, evd);
	t_until_asleep(1);
	ck_assert(!freeing.done);
	dofi_lock(&object->lock);
	atomic_store(&object->waiter, false);
	dofi_wait_wake(ia, &object->wakeup);
	dofi_unlock(&object->lock);
	t_ok(t_join(&freeing));
	evd = NULL;
}
END_TEST

static bool dies;

static void may_die(void)
{
	struct dofi_evd *object = evd;

	object->dying = dies;
}

/* _i 1: another thread frees the EVD meanwhile, and sleeps until this one has left. */
START_TEST(test_cancelled_thread_does_not_wait_any_more)
{
	struct dofi_evd *object = evd;
	uint32_t before = atomic_load(&object->wakeup);

	waiter = (struct waiter){.timeout = FOR_EVER, .threshold = 1};
	t_fake.before_cancel = may_die;
	dies = _i;
	t_start(&waiter.thread, wait_main, &waiter);
	ck_assert(t_is_cancelled(&waiter.thread));
	t_fake.before_cancel = NULL;
	object->dying = false;
	ck_assert_uint_eq(atomic_load(&object->wakeup), before + (uint32_t)_i);
	push(1, true);
	expect_dequeue(1);
}
END_TEST

/* libfabric may hold locks in the poll. Afterwards the state is what it was. */
START_TEST(test_polls_of_a_wait_are_not_cancelled)
{
	const int states[] = {PTHREAD_CANCEL_ENABLE, PTHREAD_CANCEL_DISABLE};
	DAT_EVENT event;
	DAT_COUNT nmore;

	t_fake.cancel_in_poll = PTHREAD_CANCEL_ENABLE;
	pthread_setcancelstate(states[_i], NULL);
	t_ret(dofi_evd_wait(evd, 0, 1, &event, &nmore), DOFI_TIMEOUT_EXPIRED);
	ck_assert_int_eq(t_cancel_state(), states[_i]);
	ck_assert_int_eq(t_fake.cancel_in_poll, PTHREAD_CANCEL_DISABLE);
}
END_TEST

static void on_signal(int signal)
{
	(void)signal;
}

/* EVD-074 */
START_TEST(test_signal_ends_wait)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGUSR1, &action, NULL);
	start_waiter(2);
	push(1, true);
	/* The thread may not sleep yet. */
	while (!waiter.thread.done) {
		pthread_kill(waiter.thread.id, SIGUSR1);
		sched_yield();
	}
	t_ret(t_join(&waiter.thread), DOFI_ERR(DAT_INTERRUPTED_CALL, 0));
	ck_assert_int_eq(waiter.nmore, 1);
	expect_dequeue(1);
}
END_TEST

/* --- streams --- */

/* EVS-111 to EVS-118; EVD-063, EVS-010 */
START_TEST(test_streams_that_go_together)
{
	static const struct {
		enum dofi_dto_config config;
		DAT_RETURN_SUBTYPE why;
		unsigned int bits;
	} quiet[] = {
		{DOFI_CONFIG_UNSIGNALLED, DAT_INVALID_STATE_EVD_CONFIG_NOTIFY,
		 DAT_EVD_STATE_CONFIG_NOTIFY},
		{DOFI_CONFIG_SOLICITED, DAT_INVALID_STATE_EVD_CONFIG_SOLICITED,
		 DAT_EVD_STATE_CONFIG_SOLICITED},
	};
	DAT_EVD_HANDLE hard = new_evd(4, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG);
	DAT_EVD_PARAM param;
	DAT_EVENT event;
	DAT_COUNT nmore;

	for (int i = 0; i < 2; i++) {
		dofi_evd_attach_other(hard);
		dofi_evd_attach_dto(hard, quiet[i].config);
		t_ok(dofi_evd_query(hard, DAT_EVD_FIELD_ALL, &param));
		ck_assert_uint_eq(param.evd_state & DAT_EVD_STATE_CONFIG_THRESHOLD, quiet[i].bits);
		t_ret(dofi_evd_wait(hard, 0, 2, &event, &nmore),
		      DOFI_ERR(DAT_INVALID_STATE, quiet[i].why));
		t_ret(dofi_evd_wait(hard, 0, 1, &event, &nmore), DOFI_TIMEOUT_EXPIRED);
		/* With streams of another kind thresholds are allowed again. */
		dofi_evd_attach_dto(hard, i ? DOFI_CONFIG_THRESHOLD : quiet[!i].config);
		t_ok(dofi_evd_query(hard, DAT_EVD_FIELD_ALL, &param));
		ck_assert_uint_eq(param.evd_state & DAT_EVD_STATE_CONFIG_THRESHOLD,
				  DAT_EVD_STATE_CONFIG_THRESHOLD);
		t_ret(dofi_evd_wait(hard, 0, 2, &event, &nmore), DOFI_TIMEOUT_EXPIRED);
		dofi_evd_detach_dto(hard, i ? DOFI_CONFIG_THRESHOLD : quiet[!i].config);
		t_ret(dofi_evd_wait(hard, 0, 2, &event, &nmore),
		      DOFI_ERR(DAT_INVALID_STATE, quiet[i].why));
		dofi_evd_detach_dto(hard, quiet[i].config);
		dofi_evd_detach_other(hard);
	}
	dofi_evd_attach_dto(NULL, DOFI_CONFIG_SOLICITED);
	dofi_evd_attach_other(NULL);
	dofi_evd_detach_dto(NULL, DOFI_CONFIG_SOLICITED);
	dofi_evd_detach_other(NULL);
	t_ok(dofi_evd_free(hard));
}
END_TEST

/* The first stream is the service point, which asks. Each other one may need a place, up to half.
 */
START_TEST(test_room_for_requests)
{
	static const struct {
		int transfers, others, queued;
		uint32_t room;
	} cases[] = {{0, 0, 0, 8}, {0, 1, 0, 8}, {0, 2, 0, 7}, {1, 1, 0, 7}, {2, 3, 0, 4},
		     {2, 4, 0, 4}, {9, 9, 0, 4}, {0, 2, 6, 1}, {0, 2, 7, 0}, {0, 2, 8, 0},
		     {0, 9, 3, 1}, {0, 9, 5, 0}, {0, 1, 7, 1}};

	for (int i = 0; i < cases[_i].transfers; i++)
		dofi_evd_attach_dto(evd, i % 2 ? DOFI_CONFIG_SOLICITED : DOFI_CONFIG_THRESHOLD);
	for (int i = 0; i < cases[_i].others; i++)
		dofi_evd_attach_other(evd);
	for (int i = 0; i < cases[_i].queued; i++)
		push((uint64_t)i, false);
	ck_assert_uint_eq(dofi_evd_room(evd), cases[_i].room);
	for (int i = 0; i < cases[_i].transfers; i++)
		dofi_evd_detach_dto(evd, i % 2 ? DOFI_CONFIG_SOLICITED : DOFI_CONFIG_THRESHOLD);
	for (int i = 0; i < cases[_i].others; i++)
		dofi_evd_detach_other(evd);
}
END_TEST

/* --- overflow, resize --- */

/* EVD-117, EVD-121, EVS-093 */
START_TEST(test_overflow_is_reported_once)
{
	const struct dofi_evd *object = evd;
	DAT_EVENT event;

	ck_assert_uint_eq(dofi_evd_room(evd), 8);
	for (uint64_t i = 0; i < 8; i++)
		ck_assert_int_eq(push(i, true), 0);
	ck_assert_uint_eq(dofi_evd_room(evd), 0);
	ck_assert_int_eq(push(8, true), -ENOSPC);
	ck_assert_int_eq(push(9, true), -ENOSPC);
	t_ok(dofi_evd_dequeue(ia->async_evd, &event));
	ck_assert_int_eq(event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, evd);
	ck_assert_uint_eq(event.event_data.asynch_error_event_data.reason, 0);
	t_ret(dofi_evd_dequeue(ia->async_evd, &event), DOFI_QUEUE_EMPTY);
	/* It is the same overflow until the EVD has been empty. */
	expect_dequeue(0);
	ck_assert_int_eq(push(0, true), 0);
	ck_assert_int_eq(push(0, true), -ENOSPC);
	t_ret(dofi_evd_dequeue(ia->async_evd, &event), DOFI_QUEUE_EMPTY);
	for (uint64_t i = 1; i <= 8; i++)
		expect_dequeue(i % 8);
	for (uint64_t i = 0; i < 9; i++)
		push(i, true);
	t_ok(dofi_evd_dequeue(ia->async_evd, &event));
	ck_assert_uint_eq(atomic_load(&object->counters[DOFI_CNT_EVD_OVERFLOW]), 4);
}
END_TEST

/* A longer EVD that overflows as well is another matter. */
START_TEST(test_overflow_after_resize_is_reported)
{
	DAT_EVENT event;

	for (uint64_t i = 0; i < 9; i++)
		push(i, true);
	t_ok(dofi_evd_dequeue(ia->async_evd, &event));
	t_ok(dofi_evd_resize(evd, 16));
	for (uint64_t i = 8; i < 16; i++)
		ck_assert_int_eq(push(i, true), 0);
	ck_assert_int_eq(push(16, true), -ENOSPC);
	t_ok(dofi_evd_dequeue(ia->async_evd, &event));
	ck_assert_int_eq(event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
}
END_TEST

static int push_number(uint32_t number)
{
	const struct dofi_event event = {.number = number};

	return dofi_evd_push(evd, &event, true);
}

static void expect_number(DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;

	t_ok(dofi_evd_dequeue(evd, &event));
	ck_assert_int_eq(event.event_number, number);
}

/* The ring has wrapped around, and is full. */
static void fill_to_the_end(void)
{
	for (uint64_t i = 0; i < 3; i++)
		push(i, true);
	for (uint64_t i = 0; i < 3; i++)
		expect_dequeue(i);
	for (uint64_t i = 0; i < 8; i++)
		ck_assert_int_eq(push(i, true), 0);
}

/* By it a program learns that an EP is free, or that it may send. */
START_TEST(test_event_of_a_connection_is_not_lost)
{
	static const uint32_t numbers[] = {DAT_CONNECTION_EVENT_ESTABLISHED,
					   DAT_CONNECTION_EVENT_UNREACHABLE,
					   DOFI_UD_EVENT_ESTABLISHED, DOFI_UD_EVENT_ERROR};
	const struct dofi_evd *object = evd;
	DAT_EVENT event;

	fill_to_the_end();
	ck_assert_int_eq(push_number(numbers[_i]), 0);
	ck_assert_uint_eq(object->qlen, 16);
	t_ret(dofi_evd_dequeue(ia->async_evd, &event), DOFI_QUEUE_EMPTY);
	for (uint64_t i = 0; i < 8; i++)
		expect_dequeue(i);
	ck_assert_uint_eq(dofi_evd_queued(object), 1);
	ck_assert_uint_eq(dofi_evd_slot(object, object->head)->number, numbers[_i]);
	ck_assert_uint_eq(atomic_load(&object->counters[DOFI_CNT_EVD_OVERFLOW]), 0);
}
END_TEST

/* Events beside those of connections. */
START_TEST(test_other_events_are_lost)
{
	static const uint32_t numbers[] = {DAT_CONNECTION_REQUEST_EVENT,
					   DAT_CONNECTION_EVENT_ESTABLISHED - 1,
					   DAT_CONNECTION_EVENT_UNREACHABLE + 1,
					   DOFI_UD_EVENT_REQUEST, DOFI_UD_EVENT_ERROR + 1};

	fill_to_the_end();
	ck_assert_int_eq(push_number(numbers[_i]), -ENOSPC);
	ck_assert_uint_eq(((struct dofi_evd *)evd)->qlen, 8);
}
END_TEST

/* A waiter sees the events in the longer ring. */
START_TEST(test_ring_grows_while_a_thread_waits)
{
	DAT_EVENT event;

	start_waiter(8);
	for (uint64_t i = 0; i < 8; i++)
		push(i, false);
	ck_assert_int_eq(push_number(DAT_CONNECTION_EVENT_BROKEN), 0);
	expect_woken(0, 8);
	for (uint64_t i = 1; i < 8; i++)
		expect_dequeue(i);
	expect_number(DAT_CONNECTION_EVENT_BROKEN);
	t_ret(dofi_evd_dequeue(ia->async_evd, &event), DOFI_QUEUE_EMPTY);
}
END_TEST

/* A peer that sends many requests takes no place of a completion, wherever its requests are. */
START_TEST(test_requests_take_no_place_of_completions)
{
	static const uint32_t numbers[] = {DAT_CONNECTION_REQUEST_EVENT, DOFI_UD_EVENT_REQUEST};
	struct dofi_evd *object = evd;
	DAT_EVENT event;

	fill_to_the_end();
	dofi_evd_slot(object, object->head + (uint32_t)_i / 2 * 7)->number = numbers[_i % 2];
	ck_assert_int_eq(push(8, true), 0);
	ck_assert_uint_eq(object->qlen, 16);
	ck_assert_uint_eq(dofi_evd_queued(object), 9);
	t_ret(dofi_evd_dequeue(ia->async_evd, &event), DOFI_QUEUE_EMPTY);
}
END_TEST

/* The longest ring, no memory, and an EVD that another thread has freed. */
START_TEST(test_ring_that_cannot_grow_loses_the_event)
{
	struct dofi_evd *object = evd;
	struct dofi_event *ring = object->ring;
	DAT_EVENT event;

	fill_to_the_end();
	if (_i == 0)
		ia->limits.max_evd_qlen = 15;
	else if (_i == 1)
		t_fake.fail_malloc = 1;
	else
		object->qlen = 0, object->head = object->tail;
	ck_assert_int_eq(push_number(DAT_CONNECTION_EVENT_BROKEN), -ENOSPC);
	ck_assert_int_eq(t_fake.fail_malloc, 0);
	ck_assert_ptr_eq(object->ring, ring);
	t_ok(dofi_evd_dequeue(ia->async_evd, &event));
	ck_assert_int_eq(event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	object->qlen = 8;
	ia->limits.max_evd_qlen = 16;
	ck_assert_int_eq(push_number(DAT_CONNECTION_EVENT_BROKEN), 0);
}
END_TEST

/* EVD-120, ERR-041 */
START_TEST(test_full_or_absent_async_evd_loses_events)
{
	struct dofi_evd *async = ia->async_evd;
	DAT_EVENT event;
	int n;

	dofi_log_set_level("off");
	for (int i = 0; i < 10; i++)
		dofi_evd_async(ia, DAT_ASYNC_ERROR_EP_BROKEN, evd, 0);
	for (n = 0; dofi_evd_dequeue(async, &event) == DAT_SUCCESS; n++)
		ck_assert_int_eq(event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
	ck_assert_int_eq(n, 4);
	ia->async_evd = NULL;
	for (uint64_t i = 0; i < 9; i++)
		push(i, true);
	t_ret(dofi_evd_dequeue(async, &event), DOFI_QUEUE_EMPTY);
	ia->async_evd = async;
}
END_TEST

/* The consumer cannot be told of it by an event, and the errors it loses count, too. */
START_TEST(test_full_async_evd_is_logged_once)
{
	int fd = t_capture(STDERR_FILENO);
	const char *said;
	char begin[sizeof(ia->name) + 64];

	for (int i = 0; i < 4; i++)
		dofi_evd_async(ia, DAT_ASYNC_ERROR_EP_BROKEN, evd, 0);
	ck_assert_str_eq(t_captured(fd), "");
	for (int i = 0; i < 3; i++)
		dofi_evd_async(ia, DAT_ASYNC_ERROR_EP_BROKEN, evd, 0);
	said = t_captured(fd);
	snprintf(begin, sizeof(begin), "%s: the asynchronous EVD is full (4 events)", ia->name);
	ck_assert_ptr_nonnull(strstr(said, begin));
	ck_assert_ptr_null(strchr(strchr(said, '\n') + 1, '\n'));
	ck_assert_uint_eq(atomic_load(&ia->counters[DOFI_CNT_IA_ASYNC_ERROR]), 7);
}
END_TEST

/* One ring is freed: the old one, or the new one if it is not used. */
START_TEST(test_resize_frees_a_ring)
{
	struct dofi_evd *object = evd;
	struct dofi_event *ring = object->ring;

	watched = ring;
	push(1, true);
	push(2, true);
	t_ret(dofi_evd_resize(evd, 1), DOFI_ERR(DAT_INVALID_STATE, 0));
	ck_assert_int_eq(times_freed, 0);
	ck_assert_ptr_eq(object->ring, ring);
	object->dying = true; /* another thread frees it */
	t_ret(dofi_evd_set_length(object, 16), INVALID);
	object->dying = false;
	ck_assert_int_eq(times_freed, 0);
	ck_assert_ptr_eq(object->ring, ring);
	ck_assert_uint_eq(object->qlen, 8);
	t_ok(dofi_evd_resize(evd, 2)); /* the two that it holds */
	ck_assert_int_eq(times_freed, 1);
	ck_assert_ptr_ne(object->ring, ring);
	ck_assert_uint_eq(object->qlen, 2);
	expect_dequeue(1);
	expect_dequeue(2);
}
END_TEST

/* EVD-107 to EVD-116, EVS-030, EVS-031 */
START_TEST(test_resize)
{
	DAT_EVD_PARAM before, after;

	t_ok(dofi_evd_query(evd, DAT_EVD_FIELD_ALL, &before));
	for (uint64_t i = 0; i < 3; i++) /* so that the queue wraps */
		push(i, true);
	for (uint64_t i = 0; i < 3; i++)
		expect_dequeue(i);
	for (uint64_t i = 0; i < 8; i++)
		push(i, true);
	t_ret(dofi_evd_resize(evd, 7), DOFI_ERR(DAT_INVALID_STATE, 0));
	t_ret(dofi_evd_resize(evd, 0), DOFI_BAD_ARG(2));
	t_ret(dofi_evd_resize(evd, 1025), DOFI_BAD_ARG(2));
	t_fake.fail_malloc = 1;
	t_ret(dofi_evd_resize(evd, 100), DOFI_NO_MEMORY);
	t_ok(dofi_evd_resize(evd, 8));
	t_ok(dofi_evd_resize(evd, 100));
	t_ok(dofi_evd_query(evd, DAT_EVD_FIELD_ALL, &after));
	ck_assert_int_ge(after.evd_qlen, 100);
	ck_assert_int_eq(after.evd_state, before.evd_state);
	ck_assert_int_eq(after.evd_flags, before.evd_flags);
	for (uint64_t i = 8; i < 100; i++)
		ck_assert_int_eq(push(i, true), 0);
	for (uint64_t i = 0; i < 100; i++)
		expect_dequeue(i);
	t_ok(dofi_evd_resize(evd, 1));
	push(5, true);
	expect_dequeue(5);
}
END_TEST

static DAT_RETURN resize_often(void *arg)
{
	_Atomic bool *stop = arg;

	for (DAT_COUNT qlen = 64; !*stop; qlen = qlen == 64 ? 1024 : 64)
		dofi_evd_resize(evd, qlen);
	return DAT_SUCCESS;
}

/* EVD-111 */
START_TEST(test_events_that_arrive_during_resize_are_kept)
{
	static _Atomic bool stop;
	struct t_thread thread;
	uint64_t in = 0, out = 0;

	t_ok(dofi_evd_resize(evd, 64));
	t_start(&thread, resize_often, &stop);
	while (out < 200000) {
		while (in - out < 32)
			ck_assert_int_eq(push(in++, true), 0);
		while (out < in)
			expect_dequeue(out++);
	}
	stop = true;
	t_ok(t_join(&thread));
}
END_TEST

static void add_waits(TCase *tc)
{
	tcase_add_test(tc, test_wait_arguments);
	tcase_add_test(tc, test_wait_finds_events);
	tcase_add_test(tc, test_wait_times_out);
	tcase_add_loop_test(tc, test_wait_spins_for_completions, 0, 3);
	tcase_add_loop_test(tc, test_wait_sleeps_for_other_events, 0, 5);
	tcase_add_test(tc, test_wait_counts_calls_and_how_they_end);
	tcase_add_test(tc, test_wait_wakes_at_threshold_by_notification);
	tcase_add_test(tc, test_wait_ignores_quiet_events);
	tcase_add_test(tc, test_waiter_keeps_others_out);
	tcase_add_test(tc, test_set_unwaitable_wakes_waiter);
	tcase_add_test(tc, test_free_aborts_waiter);
	tcase_add_test(tc, test_wait_on_an_evd_that_is_being_freed);
	tcase_add_test(tc, test_free_sleeps_until_the_waiter_has_left);
	tcase_add_loop_test(tc, test_cancelled_thread_does_not_wait_any_more, 0, 2);
	tcase_add_loop_test(tc, test_polls_of_a_wait_are_not_cancelled, 0, 2);
	tcase_add_test(tc, test_signal_ends_wait);
}

int main(void)
{
	Suite *suite = suite_create("evd");
	TCase *tc = tcase_create("evd");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_create_arguments);
	tcase_add_loop_test(tc, the_shortest_and_the_longest_evd, 0, 2);
	tcase_add_loop_test(tc, test_a_new_evd, 0, 12);
	tcase_add_test(tc, test_without_memory_there_is_no_evd);
	tcase_add_test(tc, test_no_more_than_the_attribute_says);
	tcase_add_test(tc, test_query);
	tcase_add_test(tc, an_evd_that_ends_takes_no_cno);
	tcase_add_test(tc, test_free_only_without_streams);
	tcase_add_loop_test(tc, test_events_are_counted_by_kind, 0, 8);
	tcase_add_test(tc, test_free_leaves_nothing);
	tcase_add_test(tc, test_a_waiter_is_woken_once);
	tcase_add_test(tc, test_dequeue_in_order);
	tcase_add_test(tc, test_dequeue_polls_when_empty_only);
	tcase_add_test(tc, test_dequeue_takes_what_its_poll_hands_over);
	tcase_add_test(tc, test_dequeue_counts_calls_and_what_they_find);
	tcase_add_test(tc, test_dequeue_gives_srq_its_place_back);
	tcase_add_test(tc, test_a_freed_evd_gives_places_back);
	tcase_add_test(tc, test_dequeue_from_an_evd_that_its_poll_frees);
	tcase_add_test(tc, test_dequeue_of_an_event_that_another_thread_takes);
	tcase_add_test(tc, test_post_se);
	tcase_add_test(tc, test_post_se_on_full_evd);
	tcase_add_test(tc, test_many_posters_one_reader);
	add_waits(tc);
	tcase_add_test(tc, test_streams_that_go_together);
	tcase_add_loop_test(tc, test_room_for_requests, 0, 13);
	tcase_add_test(tc, test_overflow_is_reported_once);
	tcase_add_test(tc, test_overflow_after_resize_is_reported);
	tcase_add_loop_test(tc, test_event_of_a_connection_is_not_lost, 0, 4);
	tcase_add_loop_test(tc, test_other_events_are_lost, 0, 5);
	tcase_add_test(tc, test_ring_grows_while_a_thread_waits);
	tcase_add_loop_test(tc, test_requests_take_no_place_of_completions, 0, 4);
	tcase_add_loop_test(tc, test_ring_that_cannot_grow_loses_the_event, 0, 3);
	tcase_add_test(tc, test_full_or_absent_async_evd_loses_events);
	tcase_add_test(tc, test_full_async_evd_is_logged_once);
	tcase_add_test(tc, test_resize_frees_a_ring);
	tcase_add_test(tc, test_resize);
	tcase_add_test(tc, test_events_that_arrive_during_resize_are_kept);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
