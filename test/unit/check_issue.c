/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fabric may copy within the call that posts: meanwhile the progress thread keeps away, for large transfers alone. Completions
 * are watched as long as requests wait in the ring, and looked for where it is full.
 */
#include "unit.h"

#include "../../prov/ofi/engine.c"
#include "../../prov/ofi/post.c"

#define LARGE	 65536u
#define REQUESTS 4u

static struct dofi_ia ia;
static _Alignas(16) struct dofi_ep ep;
static struct dofi_wr requests[REQUESTS];
static bool busy;
static ssize_t answer;

static ssize_t take(struct dofi_ep *from, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(from, &ep);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
	busy = is_busy(&ia.engine);
	return answer;
}

static const struct dofi_trans_ops fabric = {.send = take, .read = take, .write = take};

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_list_init(&ia.engine.stalled);
	dofi_lock_init(&ep.lock);
	ia.trans = &fabric;
	ep.obj.ia = &ia;
	ep.path_up = true;
	ep.read_limit = 1;
	ep.req = (struct dofi_ring){.base = (char *)requests, .stride = sizeof(requests[0]), .mask = REQUESTS - 1, .fabric_iov = 1};
}

static void post(enum dofi_op op, uint64_t length)
{
	requests[ep.req.tail] = (struct dofi_wr){.ep = &ep, .op = (uint8_t)op, .length = length, .niov = 1, .resolved = true};
	ep.req.tail++;
	dofi_lock(&ep.lock);
	dofi_ep_issue_requests(&ep);
	dofi_unlock(&ep.lock);
}

static const enum dofi_op ops[] = {DOFI_OP_SEND, DOFI_OP_WRITE, DOFI_OP_READ};

START_TEST(keeps_away_from_large_ones)
{
	post(ops[_i], LARGE);
	ck_assert_uint_eq(ep.req.issue, 1);
	ck_assert(busy);
	ck_assert(!is_busy(&ia.engine));
}
END_TEST

START_TEST(does_not_mind_small_ones)
{
	post(ops[_i], 8);
	ck_assert_uint_eq(ep.req.issue, 1);
	ck_assert(!busy);
}
END_TEST

START_TEST(comes_back_when_the_fabric_took_nothing)
{
	answer = -FI_EAGAIN;
	post(ops[_i], LARGE);
	ck_assert_uint_eq(ep.req.issue, 0);
	ck_assert(busy);
	ck_assert(!is_busy(&ia.engine));
}
END_TEST

/* --- requests that wait --- */

static void setup_held(void)
{
	setup();
	ep.obj.magic = DOFI_MAGIC | DAT_HANDLE_TYPE_EP;
	ep.state = DAT_EP_STATE_CONNECTED;
	ep.req.limit = REQUESTS;
	dofi_list_init(&ia.engine.work);
	ep.attr.max_request_iov = ep.attr.max_rdma_write_iov = 1;
}

/* A Send of no bytes. */
static DAT_RETURN send_nothing(void)
{
	return dofi_ep_post_send(&ep, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 0}, 0);
}

static uint32_t watchers(void)
{
	return atomic_load(&ia.wait.watchers);
}

/* The peer has one receive more. */
static void grant(void)
{
	dofi_lock(&ep.lock);
	ep.granted++;
	dofi_ep_issue(&ep);
	dofi_unlock(&ep.lock);
}

START_TEST(watched_while_one_waits)
{
	ep.peer.grants = true;
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_int_eq(send_nothing(), DAT_SUCCESS);
		ck_assert_uint_eq(watchers(), 1);
	}
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(watchers(), 1);
		grant();
		ck_assert_uint_eq(ep.req.issue, i + 1);
	}
	ck_assert_uint_eq(watchers(), 0);
}
END_TEST

START_TEST(watched_no_more_when_a_post_takes_it_along)
{
	ep.peer.grants = true;
	ck_assert_int_eq(send_nothing(), DAT_SUCCESS);
	ck_assert_uint_eq(watchers(), 1);
	ep.granted = 2;
	ck_assert_int_eq(send_nothing(), DAT_SUCCESS);
	ck_assert_uint_eq(ep.req.issue, 2);
	ck_assert_uint_eq(watchers(), 0);
}
END_TEST

START_TEST(watched_no_more_after_a_flush)
{
	ep.peer.grants = true;
	ck_assert_int_eq(send_nothing(), DAT_SUCCESS);
	ck_assert_uint_eq(watchers(), 1);
	dofi_lock(&ep.lock);
	for (uint32_t i = 0; i < ep.req.tail; i++)
		requests[i].flags = DAT_COMPLETION_SUPPRESS_FLAG;
	ep.req_evd = NULL;
	ep.req.head = ep.req.tail; /* nobody is told */
	dofi_reap_flush(&ep, DAT_DTO_ERR_FLUSHED);
	dofi_unlock(&ep.lock);
	ck_assert_uint_eq(watchers(), 0);
}
END_TEST

START_TEST(not_watched_for_what_goes)
{
	ck_assert_int_eq(send_nothing(), DAT_SUCCESS);
	ck_assert_uint_eq(ep.req.issue, 1);
	ck_assert_uint_eq(watchers(), 0);
}
END_TEST

/* Stands for what a round of the engine finds. */
static void complete_one(struct dofi_work *work)
{
	(void)work;
	dofi_lock(&ep.lock);
	ep.req.head++;
	dofi_unlock(&ep.lock);
}

START_TEST(full_but_for_what_is_complete)
{
	struct dofi_work completion = {.run = complete_one};

	for (uint32_t i = 0; i < REQUESTS; i++)
		ck_assert_int_eq(send_nothing(), DAT_SUCCESS);
	ck_assert_int_eq(DAT_GET_TYPE(send_nothing()), DAT_INSUFFICIENT_RESOURCES);
	dofi_lock(&ia.engine.lock);
	dofi_work_defer(&ia, &completion);
	dofi_unlock(&ia.engine.lock);
	ck_assert_int_eq(send_nothing(), DAT_SUCCESS);
	ck_assert_uint_eq(ep.req.tail, REQUESTS + 1);
	ck_assert_int_eq(DAT_GET_TYPE(send_nothing()), DAT_INSUFFICIENT_RESOURCES);
}
END_TEST

/* And when that was the end of the connection. */
static void break_off(struct dofi_work *work)
{
	complete_one(work);
	ep.state = DAT_EP_STATE_DISCONNECT_PENDING;
}

START_TEST(full_and_over)
{
	struct dofi_work end = {.run = break_off};

	for (uint32_t i = 0; i < REQUESTS; i++)
		ck_assert_int_eq(send_nothing(), DAT_SUCCESS);
	dofi_lock(&ia.engine.lock);
	dofi_work_defer(&ia, &end);
	dofi_unlock(&ia.engine.lock);
	ck_assert_int_eq(DAT_GET_TYPE(send_nothing()), DAT_INVALID_STATE);
	ck_assert_uint_eq(ep.req.tail, REQUESTS);
}
END_TEST

int main(void)
{
	const int n = sizeof(ops) / sizeof(ops[0]);
	Suite *suite = suite_create("issue");
	TCase *tc = tcase_create("copying");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, keeps_away_from_large_ones, 0, n);
	tcase_add_loop_test(tc, does_not_mind_small_ones, 0, n);
	tcase_add_loop_test(tc, comes_back_when_the_fabric_took_nothing, 0, n);
	suite_add_tcase(suite, tc);

	tc = tcase_create("held");
	tcase_add_checked_fixture(tc, setup_held, NULL);
	tcase_add_test(tc, watched_while_one_waits);
	tcase_add_test(tc, watched_no_more_when_a_post_takes_it_along);
	tcase_add_test(tc, watched_no_more_after_a_flush);
	tcase_add_test(tc, not_watched_for_what_goes);
	tcase_add_test(tc, full_but_for_what_is_complete);
	tcase_add_test(tc, full_and_over);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
