/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An operation that fails breaks its connection: its event names the error, and whatever else the
 * rings hold is flushed, in the order of the posts.
 */
#include "unit.h"

#include "../../../prov/ofi/dto/failure.h"
#include "../../../prov/ofi/dto/release.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/object/upcalls.h"
#include "../../../prov/ofi/progress/evd.h"

#include <rdma/fi_errno.h>

#define REQUESTS 4u
#define EVENTS   8u

static bool over;

static bool is_over(const struct dofi_ep *of)
{
	(void)of;
	return over;
}

static struct dofi_ia ia = {.name = "test"};
static struct dofi_ep ep;
static struct dofi_evd evd;
static struct dofi_event events[EVENTS];
static struct dofi_wr requests[REQUESTS], receives[REQUESTS];
static struct dofi_trans_ops trans = {.has_eq = true};
static const struct dofi_upcalls upcalls = {.is_over = is_over};

void __wrap_dofi_wait_kick(struct dofi_ia *of);

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	(void)of;
}

static void fill(struct dofi_ring *ring, struct dofi_wr *wrs, enum dofi_op op, uint64_t cookie)
{
	*ring = (struct dofi_ring){.base = (char *)wrs,
				   .stride = sizeof(*wrs),
				   .mask = REQUESTS - 1};
	for (uint32_t i = 0; i < REQUESTS; i++)
		wrs[i] = (struct dofi_wr){.ep = &ep,
					  .op = (uint8_t)op,
					  .state = DOFI_WR_ISSUED,
					  .niov = 1,
					  .cookie = cookie + i};
	ring->issue = ring->tail = REQUESTS;
}

static void setup(void)
{
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_list_init(&ia.engine.stalled);
	dofi_lock_init(&ep.lock);
	dofi_lock_init(&evd.lock);
	ia.trans = ep.trans = &trans;
	ia.up = &upcalls;
	evd.obj.ia = ep.obj.ia = &ia;
	evd.ring = events;
	evd.qlen = EVENTS;
	ep.recv_evd = ep.req_evd = &evd;
	ep.state = DAT_EP_STATE_CONNECTED;
	ep.path_up = true;
	fill(&ep.req, requests, DOFI_OP_WRITE, 10);
	fill(&ep.recv, receives, DOFI_OP_RECV, 20);
	dofi_lock(&ep.lock);
}

static void teardown(void)
{
	dofi_unlock(&ep.lock);
}

static void expect(const struct dofi_event *event, uint64_t cookie, uint8_t status)
{
	ck_assert_uint_eq(event->dto.cookie, cookie);
	ck_assert_uint_eq(event->status, status);
}

static void done(uint32_t i)
{
	requests[i].state = DOFI_WR_DONE;
}

START_TEST(the_first_failure_names_its_error)
{
	ck_assert(dofi_fail(&ep, &requests[0], FI_EACCES));
	ck_assert(ep.faulty);
	ck_assert(ep.stall.waits); /* the engine ends the connection */
	dofi_release_flushed(&ep, DAT_DTO_ERR_FLUSHED);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 2 * REQUESTS);
	for (uint32_t i = 0; i < REQUESTS; i++)
		expect(dofi_evd_slot(&evd, i), 20 + i, DAT_DTO_ERR_FLUSHED);
	expect(dofi_evd_slot(&evd, REQUESTS), 10, DAT_DTO_ERR_REMOTE_ACCESS);
	for (uint32_t i = 1; i < REQUESTS; i++)
		expect(dofi_evd_slot(&evd, REQUESTS + i), 10 + i, DAT_DTO_ERR_FLUSHED);
}
END_TEST

/* A fabric may report an error of each. The consumer gets one, and flushes. */
START_TEST(a_second_failure_is_flushed)
{
	ck_assert(dofi_fail(&ep, &requests[0], FI_EACCES));
	ck_assert(!dofi_fail(&ep, &requests[1], FI_EACCES));
	ck_assert(!dofi_fail(&ep, &receives[0], FI_ETRUNC));
	ck_assert_uint_eq(requests[1].state, DOFI_WR_BACK);
	dofi_release_flushed(&ep, DAT_DTO_ERR_FLUSHED);
	expect(dofi_evd_slot(&evd, 0), 20, DAT_DTO_ERR_FLUSHED);
	expect(dofi_evd_slot(&evd, REQUESTS), 10, DAT_DTO_ERR_REMOTE_ACCESS);
	expect(dofi_evd_slot(&evd, REQUESTS + 1), 11, DAT_DTO_ERR_FLUSHED);
}
END_TEST

START_TEST(no_success_behind_a_failure)
{
	done(1);
	ck_assert(dofi_fail(&ep, &requests[2], FI_EACCES));
	done(3);
	dofi_release_flushed(&ep, DAT_DTO_ERR_TRANSPORT);
	expect(dofi_evd_slot(&evd, REQUESTS), 10, DAT_DTO_ERR_TRANSPORT);
	expect(dofi_evd_slot(&evd, REQUESTS + 1), 11, DAT_DTO_ERR_FLUSHED);
	expect(dofi_evd_slot(&evd, REQUESTS + 2), 12, DAT_DTO_ERR_REMOTE_ACCESS);
	expect(dofi_evd_slot(&evd, REQUESTS + 3), 13, DAT_DTO_ERR_FLUSHED);
}
END_TEST

/*
 * The fabric completes what is behind the failure before the connection ends. The events leave at
 * once, and those of suppressed requests, too.
 */
START_TEST(no_event_of_a_success_behind_a_failure)
{
	requests[2].flags = DAT_COMPLETION_SUPPRESS_FLAG;
	done(0);
	done(3);
	ck_assert(dofi_fail(&ep, &requests[1], FI_EACCES));
	done(2);
	dofi_release_rings(&ep);
	ck_assert_uint_eq(dofi_evd_queued(&evd), REQUESTS);
	expect(dofi_evd_slot(&evd, 0), 10, DAT_DTO_SUCCESS);
	expect(dofi_evd_slot(&evd, 1), 11, DAT_DTO_ERR_REMOTE_ACCESS);
	expect(dofi_evd_slot(&evd, 2), 12, DAT_DTO_ERR_FLUSHED);
	expect(dofi_evd_slot(&evd, 3), 13, DAT_DTO_ERR_FLUSHED);
	for (uint32_t i = 0; i < REQUESTS; i++) /* they may have got their messages */
		ck_assert_uint_eq(receives[i].status, DAT_DTO_SUCCESS);
}
END_TEST

/* The second receive gets its message, too. It is one failure. */
START_TEST(no_receive_succeeds_behind_one_that_failed)
{
	receives[1].status = DAT_DTO_ERR_LOCAL_PROTECTION;
	dofi_fail_receive(&ep, &receives[1]);
	ck_assert(ep.faulty && ep.stall.waits);
	ck_assert_uint_eq(receives[0].status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(receives[1].status, DAT_DTO_ERR_LOCAL_PROTECTION);
	ck_assert_uint_eq(receives[2].status, DAT_DTO_ERR_FLUSHED);
	ck_assert_uint_eq(receives[3].status, DAT_DTO_ERR_FLUSHED);
	ck_assert_uint_eq(requests[3].status, DAT_DTO_SUCCESS);
	ep.faulty = false;
	dofi_fail_receive(&ep, &receives[2]);
	ck_assert(!ep.faulty);
}
END_TEST

/* What was complete before counts. */
START_TEST(success_before_the_failure_stays)
{
	done(0);
	done(1);
	ck_assert(dofi_fail(&ep, &requests[2], FI_EACCES));
	dofi_release_flushed(&ep, DAT_DTO_ERR_FLUSHED);
	expect(dofi_evd_slot(&evd, REQUESTS), 10, DAT_DTO_SUCCESS);
	expect(dofi_evd_slot(&evd, REQUESTS + 1), 11, DAT_DTO_SUCCESS);
	expect(dofi_evd_slot(&evd, REQUESTS + 2), 12, DAT_DTO_ERR_REMOTE_ACCESS);
	expect(dofi_evd_slot(&evd, REQUESTS + 3), 13, DAT_DTO_ERR_FLUSHED);
}
END_TEST

/* It failed with the path, whose end says why. Where no event tells of that, this is the sign. */
START_TEST(an_operation_that_comes_back_is_no_failure)
{
	trans.has_eq = _i;
	ck_assert(!dofi_fail(&ep, &requests[0], FI_ENOTCONN));
	ck_assert_uint_eq(requests[0].state, DOFI_WR_BACK);
	ck_assert(!ep.faulty);
	ck_assert(!ep.path_up);
	ck_assert_int_eq(ep.refused, !_i);
}
END_TEST

/* The path is down already, and its end is known: nothing more is to be learnt. */
START_TEST(an_operation_that_comes_back_later_ends_nothing)
{
	trans.has_eq = false;
	ep.path_up = false;
	ck_assert(dofi_fail_is_back(&ep, FI_ECANCELED));
	ck_assert(!ep.refused && !ep.faulty && !ep.stall.waits);
}
END_TEST

START_TEST(another_error_does_not_mean_that_the_path_is_gone)
{
	trans.has_eq = false;
	ck_assert(!dofi_fail_is_back(&ep, FI_EACCES));
	ck_assert(ep.path_up && !ep.refused && !ep.stall.waits);
}
END_TEST

/* The library has found an error before the fabric did. */
START_TEST(a_failure_keeps_the_status_that_is_known)
{
	requests[0].status = DAT_DTO_ERR_LOCAL_PROTECTION;
	ck_assert(dofi_fail(&ep, &requests[0], FI_EACCES));
	ck_assert_uint_eq(requests[0].status, DAT_DTO_ERR_LOCAL_PROTECTION);
	ck_assert_uint_eq(requests[0].state, DOFI_WR_DONE);
}
END_TEST

/* How the rest of an ended connection fails is nobody's concern. */
START_TEST(what_fails_after_the_end_is_flushed)
{
	over = true;
	ck_assert(!dofi_fail(&ep, &requests[0], FI_EACCES));
	ck_assert_uint_eq(requests[0].state, DOFI_WR_BACK);
	ck_assert(!ep.faulty);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("failure");
	TCase *tc = tcase_create("failure");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_first_failure_names_its_error);
	tcase_add_test(tc, a_second_failure_is_flushed);
	tcase_add_test(tc, no_success_behind_a_failure);
	tcase_add_test(tc, no_event_of_a_success_behind_a_failure);
	tcase_add_test(tc, no_receive_succeeds_behind_one_that_failed);
	tcase_add_test(tc, success_before_the_failure_stays);
	tcase_add_loop_test(tc, an_operation_that_comes_back_is_no_failure, 0, 2);
	tcase_add_test(tc, an_operation_that_comes_back_later_ends_nothing);
	tcase_add_test(tc, another_error_does_not_mean_that_the_path_is_gone);
	tcase_add_test(tc, a_failure_keeps_the_status_that_is_known);
	tcase_add_test(tc, what_fails_after_the_end_is_flushed);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
