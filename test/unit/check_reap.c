/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which way a completion's event goes: to the call that polls for it, or to its place in the EVD's ring. */
#include "unit.h"

#include "../../prov/ofi/cno.h"
#include "../../prov/ofi/ep.h"
#include "../../prov/ofi/evd.h"
#include "../../prov/ofi/ia.h"
#include "../../prov/ofi/trans.h"

#include <string.h>

#define EVENTS 4u

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_evd evd, other;
static struct dofi_event ring[EVENTS];
static struct dofi_wr receives[EVENTS];
static DAT_EVENT event;

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ep.lock);
	dofi_lock_init(&evd.lock);
	evd.obj.ia = ep.obj.ia = &ia;
	evd.ring = ring;
	evd.qlen = EVENTS;
	ia.trans = &dofi_trans_rdm;
	ep.state = DAT_EP_STATE_CONNECTED;
	ep.recv_evd = ep.req_evd = &evd;
	ep.recv = (struct dofi_ring){.base = (char *)receives, .stride = sizeof(receives[0]), .mask = EVENTS - 1};
	for (uint32_t i = 0; i < EVENTS; i++)
		receives[i] = (struct dofi_wr){.ep = &ep, .op = DOFI_OP_RECV, .state = DOFI_WR_ISSUED, .niov = 1, .cookie = 100 + i};
	ep.recv.issue = ep.recv.tail = EVENTS;
	dofi_lock(&ia.engine.lock);
	ia.engine.taker = (struct dofi_taker){&evd, &event};
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
}

static void complete(uint32_t i)
{
	dofi_reap_done(&receives[i], 0, 10 + i, 0, 0);
}

static void expect_in_ring(uint32_t first, uint32_t n)
{
	ck_assert_uint_eq(dofi_evd_queued(&evd), n);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(dofi_evd_slot(&evd, evd.head + i)->dto.cookie, 100 + first + i);
}

START_TEST(first_to_the_taker_the_next_to_the_ring)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	complete(0);
	ck_assert_ptr_null(ia.engine.taker.evd);
	ck_assert_int_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
	ck_assert_ptr_eq(event.evd_handle, &evd);
	ck_assert_ptr_eq(dto->ep_handle, &ep);
	ck_assert_uint_eq(dto->user_cookie.as_64, 100);
	ck_assert_uint_eq(dto->transfered_length, 10);
	ck_assert_int_eq(dto->status, DAT_DTO_SUCCESS);
	expect_in_ring(0, 0);
	complete(1);
	complete(2);
	expect_in_ring(1, 2);
	ck_assert_uint_eq(atomic_load(&evd.counters[DOFI_CNT_EVD_DTO_CALLBACK]), 3);
}
END_TEST

START_TEST(in_order_of_the_posts)
{
	complete(1);
	ck_assert_ptr_eq(ia.engine.taker.evd, &evd);
	expect_in_ring(0, 0);
	complete(0);
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 100);
	expect_in_ring(1, 1);
}
END_TEST

START_TEST(behind_what_is_in_the_ring)
{
	ck_assert_int_eq(dofi_evd_push(&evd, &(struct dofi_event){.number = DAT_DTO_COMPLETION_EVENT, .dto.cookie = 100}, true), 0);
	complete(0);
	ck_assert_ptr_eq(ia.engine.taker.evd, &evd);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 2);
}
END_TEST

START_TEST(not_to_the_taker_of_another)
{
	ia.engine.taker.evd = &other;
	complete(0);
	ck_assert_ptr_eq(ia.engine.taker.evd, &other);
	expect_in_ring(0, 1);
}
END_TEST

/* Whoever watches is told of each event, so it has to be there. */
START_TEST(not_past_who_watches)
{
	evd.waiter = true;
	evd.threshold = EVENTS + 1;
	complete(0);
	expect_in_ring(0, 1);
	evd.waiter = false;
	evd.head = evd.tail;
	dofi_evd_publish_count(&evd);
	evd.cno = (struct dofi_cno *)&other; /* never looked at: */
	evd.disabled = true;
	complete(1);
	ck_assert_ptr_eq(ia.engine.taker.evd, &evd);
	expect_in_ring(1, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reap");
	TCase *tc = tcase_create("taker");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, first_to_the_taker_the_next_to_the_ring);
	tcase_add_test(tc, in_order_of_the_posts);
	tcase_add_test(tc, behind_what_is_in_the_ring);
	tcase_add_test(tc, not_to_the_taker_of_another);
	tcase_add_test(tc, not_past_who_watches);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
