/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A fabric may copy within the call that posts: meanwhile the progress thread keeps away, for large transfers alone. */
#include "unit.h"

#include "../../prov/ofi/engine.c"

#define LARGE	 65536u
#define REQUESTS 4u

static struct dofi_ia ia;
static struct dofi_ep ep;
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
	return t_run(suite);
}
