/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Issue of requests. A fabric may copy data within the post; during a large copy the progress
 * thread does not use the fabric. Completions are watched as long as requests wait in the ring, and
 * read if the ring is full. Atomic operations of a device.
 */
#include "unit.h"

#include "../../../prov/ofi/progress/progress_thread.c"
#include "../../../prov/ofi/dto/post.c"
#include "../../../prov/ofi/object/ctxtab.h"
#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/progress/work.h"
#include "../../../prov/ofi/dto/control.h"
#include "../../../prov/ofi/dto/post.h"
#include "progress/work.h"

#include <string.h>
#include <unistd.h>

#define LARGE    65536u
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

/* The operation that the device got. */
static struct {
	int calls;
	uint64_t raddr, rkey, operand, compare;
} atomic;
static int peeks;
static ssize_t peek_answer;

static ssize_t take_atomic(struct dofi_ep *from, struct dofi_wr *wr, uint64_t raddr, uint64_t rkey)
{
	ck_assert_ptr_eq(from, &ep);
	atomic.calls++;
	atomic.raddr = raddr;
	atomic.rkey = rkey;
	atomic.operand = wr->atomic.operand;
	atomic.compare = wr->atomic.compare;
	return answer;
}

static ssize_t take_peek(struct dofi_ep *from, struct dofi_wr *wr, void *buf, size_t size,
			 void *desc, uint64_t raddr, uint64_t rkey)
{
	(void)from, (void)wr, (void)buf, (void)size, (void)desc, (void)raddr, (void)rkey;
	peeks++;
	return peek_answer;
}

static const struct dofi_trans_ops fabric = {
	.send = take, .read = take, .write = take, .atomic = take_atomic, .peek = take_peek};

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_list_init(&ia.engine.stalled);
	dofi_lock_init(&ep.lock);
	ia.trans = ep.trans = &fabric;
	ep.obj.ia = &ia;
	ep.path_up = true;
	ep.read_limit = 1;
	ep.req = (struct dofi_ring){.base = (char *)requests,
				    .stride = sizeof(requests[0]),
				    .mask = REQUESTS - 1,
				    .fabric_iov = 1};
}

static void post(enum dofi_op op, uint64_t length)
{
	requests[ep.req.tail] = (struct dofi_wr){
		.ep = &ep, .op = (uint8_t)op, .length = length, .niov = 1, .rdma.resolved = true};
	ep.req.tail++;
	dofi_lock(&ep.lock);
	dofi_ep_issue_requests(&ep);
	dofi_unlock(&ep.lock);
}

static const enum dofi_op ops[] = {DOFI_OP_SEND, DOFI_OP_WRITE, DOFI_OP_READ};

START_TEST(progress_thread_avoids_a_post_that_copies)
{
	post(ops[_i], LARGE);
	ck_assert_uint_eq(ep.req.issue, 1);
	ck_assert(busy);
	ck_assert(!is_busy(&ia.engine));
}
END_TEST

START_TEST(small_posts_do_not_stop_the_progress_thread)
{
	post(ops[_i], 8);
	ck_assert_uint_eq(ep.req.issue, 1);
	ck_assert(!busy);
}
END_TEST

START_TEST(progress_thread_returns_after_a_refused_post)
{
	answer = -FI_EAGAIN;
	post(ops[_i], LARGE);
	ck_assert_uint_eq(ep.req.issue, 0);
	ck_assert(busy);
	ck_assert(!is_busy(&ia.engine));
}
END_TEST

/*
 * What tells the end of a connection whether the peer may not have everything yet. A bind and a
 * request of no bytes are no operations of the fabric's.
 */
START_TEST(each_request_that_starts_makes_the_connection_dirty)
{
	ck_assert(!ep.dirty);
	answer = -FI_EAGAIN;
	post(ops[_i], 8);
	ck_assert(!ep.dirty);
	answer = 0;
	dofi_lock(&ep.lock);
	dofi_ep_issue_requests(&ep);
	dofi_unlock(&ep.lock);
	ck_assert(ep.dirty);
}
END_TEST

static void apply_bind(struct dofi_ep *of, struct dofi_wr *wr)
{
	(void)of;
	ck_assert_uint_eq(wr->state, DOFI_WR_ISSUED);
}

START_TEST(a_bind_makes_the_connection_dirty)
{
	static const struct dofi_upcalls binds = {.apply_bind = apply_bind};

	ia.up = &binds;
	post(DOFI_OP_BIND, 0);
	ck_assert_uint_eq(ep.req.issue, 1);
	ck_assert(ep.dirty);
}
END_TEST

/* --- fences --- */

static void post_fenced(enum dofi_op op, uint8_t niov)
{
	requests[ep.req.tail] = (struct dofi_wr){.ep = &ep,
						 .op = (uint8_t)op,
						 .length = 8,
						 .niov = niov,
						 .rdma.resolved = true,
						 .flags = DAT_COMPLETION_BARRIER_FENCE_FLAG};
	ep.req.tail++;
	dofi_lock(&ep.lock);
	dofi_ep_issue_requests(&ep);
	dofi_unlock(&ep.lock);
}

static void reads_are_over(void)
{
	dofi_lock(&ep.lock);
	ep.reads = 0;
	dofi_ep_issue_requests(&ep);
	dofi_unlock(&ep.lock);
}

/* DTO-050: on every fabric */
START_TEST(a_fence_waits_for_earlier_reads)
{
	ep.read_limit = 2;
	post(DOFI_OP_READ, 8);
	ck_assert_uint_eq(ep.reads, 1);
	post(DOFI_OP_WRITE, 8);
	ck_assert_uint_eq(ep.req.issue, 2); /* without a fence the request starts */
	post_fenced(ops[_i], 1);
	ck_assert_uint_eq(ep.req.issue, 2);
	reads_are_over();
	ck_assert_uint_eq(ep.req.issue, 3);
	post_fenced(DOFI_OP_WRITE, 1); /* a fence does not wait for writes */
	ck_assert_uint_eq(ep.req.issue, ops[_i] == DOFI_OP_READ ? 3 : 4);
}
END_TEST

/* The device waits for earlier reads if the request is one operation with data. */
START_TEST(a_device_with_fences_gets_the_request_at_once)
{
	ia.fences_reads = true;
	ep.read_limit = 2;
	post(DOFI_OP_READ, 8);
	post_fenced(ops[_i], 1);
	ck_assert_uint_eq(ep.req.issue, 2);
	ep.reads = 1;
	post_fenced(ops[_i], _i ? 2 : 0);
	ck_assert_uint_eq(ep.req.issue, 2);
}
END_TEST

/* Shared memory, and a write in parts, are not one operation of the device's. */
START_TEST(a_fence_that_the_device_does_not_know_is_waited_for)
{
	ia.fences_reads = true;
	ep.read_limit = 3;
	ep.streams = _i == 0;
	ia.splits_writes = _i > 0;
	post(DOFI_OP_READ, 8);
	ck_assert_uint_eq(ep.reads, 1);
	post_fenced(_i == 2 ? DOFI_OP_READ : DOFI_OP_WRITE, 1);
	ck_assert_uint_eq(ep.req.issue, _i == 2 ? 2 : 1);
}
END_TEST

/* Nor is what needs control records, or an atomic operation. */
START_TEST(a_fence_of_an_operation_in_steps_is_waited_for)
{
	static const enum dofi_op kinds[] = {DOFI_OP_SEND_INVALIDATE, DOFI_OP_WRITE_IMM};
	static struct dofi_ctx entries[DOFI_RCACHE_SIZE];
	struct dofi_wr wr = {.ep = &ep,
			     .op = (uint8_t)kinds[_i],
			     .length = 8,
			     .niov = 1,
			     .flags = DAT_COMPLETION_BARRIER_FENCE_FLAG};

	ia.fences_reads = true;
	ep.rcache = entries;
	ep.peer.ctrl_known = true;
	ep.reads = 1;
	dofi_lock(&ep.lock);
	ck_assert_int_eq(dofi_issue_special(&ep, &wr), DOFI_WAIT);
	ep.reads = 0;
	ck_assert_int_eq(dofi_issue_special(&ep, &wr), DOFI_GO);
	dofi_unlock(&ep.lock);
}
END_TEST

/* --- writes under way --- */

static const struct {
	enum dofi_op op;
	enum dofi_order order;
	bool reads_overtake, streams, waits;
} behind_writes[] = {
	{DOFI_OP_SEND, DOFI_ORDERED, true, false, false},
	{DOFI_OP_SEND, DOFI_FENCE, true, false, false},
	{DOFI_OP_SEND, DOFI_HOLD, false, false, true},
	{DOFI_OP_SEND, DOFI_HOLD, false, true, false},
	{DOFI_OP_READ, DOFI_ORDERED, true, false, true},
	{DOFI_OP_READ, DOFI_ORDERED, false, false, false},
	{DOFI_OP_READ, DOFI_ORDERED, true, true, false},
	{DOFI_OP_READ, DOFI_FENCE, true, false, false}, /* the read is fenced */
	{DOFI_OP_READ, DOFI_HOLD, true, false, true},
	{DOFI_OP_READ, DOFI_HOLD, false, false, false},
	{DOFI_OP_WRITE, DOFI_HOLD, true, false, false},
};

START_TEST(what_could_overtake_a_write_waits_for_it)
{
	ia.order = behind_writes[_i].order;
	ia.reads_overtake = behind_writes[_i].reads_overtake;
	ep.streams = behind_writes[_i].streams;
	ep.writes = 1;
	post(behind_writes[_i].op, 8);
	ck_assert_uint_eq(ep.req.issue, !behind_writes[_i].waits);
	ep.writes = 0;
	dofi_lock(&ep.lock);
	dofi_ep_issue_requests(&ep);
	dofi_unlock(&ep.lock);
	ck_assert_uint_eq(ep.req.issue, 1);
}
END_TEST

/* A fence for later reads is due if the fabric has fences. */
START_TEST(a_write_is_unfenced_where_there_are_fences)
{
	ia.order = _i == 1 ? DOFI_ORDERED : DOFI_FENCE;
	ep.streams = _i == 2;
	post(DOFI_OP_WRITE, 8);
	ck_assert(ep.unfenced == (_i == 0));
	ck_assert_uint_eq(ep.writes, 1);
}
END_TEST

/* --- waiting requests --- */

static void setup_held(void)
{
	setup();
	ep.obj.magic = DOFI_MAGIC | DAT_HANDLE_TYPE_EP;
	ep.state = DAT_EP_STATE_CONNECTED;
	ep.req.limit = REQUESTS;
	dofi_work_init(&ia.engine);
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

/* The peer has posted one more receive. */
static void grant(void)
{
	dofi_lock(&ep.lock);
	ep.credit_total++;
	dofi_ep_issue(&ep);
	dofi_unlock(&ep.lock);
}

START_TEST(completions_are_watched_while_a_request_waits)
{
	ep.peer.credits = true;
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
	grant(); /* the EP counts once */
	ck_assert_uint_eq(watchers(), 0);
}
END_TEST

START_TEST(watching_ends_when_a_post_starts_the_request)
{
	ep.peer.credits = true;
	ck_assert_int_eq(send_nothing(), DAT_SUCCESS);
	ck_assert_uint_eq(watchers(), 1);
	ep.credit_total = 2;
	ck_assert_int_eq(send_nothing(), DAT_SUCCESS);
	ck_assert_uint_eq(ep.req.issue, 2);
	ck_assert_uint_eq(watchers(), 0);
}
END_TEST

START_TEST(watching_ends_after_a_flush)
{
	ep.peer.credits = true;
	ck_assert_int_eq(send_nothing(), DAT_SUCCESS);
	ck_assert_uint_eq(watchers(), 1);
	dofi_lock(&ep.lock);
	for (uint32_t i = 0; i < ep.req.tail; i++)
		requests[i].flags = DAT_COMPLETION_SUPPRESS_FLAG;
	ep.req_evd = NULL;
	ep.req.head = ep.req.tail; /* without an event */
	dofi_release_flushed(&ep, DAT_DTO_ERR_FLUSHED);
	dofi_unlock(&ep.lock);
	ck_assert_uint_eq(watchers(), 0);
}
END_TEST

START_TEST(requests_that_start_at_once_are_not_watched_for)
{
	ck_assert_int_eq(send_nothing(), DAT_SUCCESS);
	ck_assert_uint_eq(ep.req.issue, 1);
	ck_assert_uint_eq(watchers(), 0);
}
END_TEST

/* Replaces a round of the engine: one request completes. */
static void complete_one(struct dofi_work *work)
{
	(void)work;
	dofi_lock(&ep.lock);
	ep.req.head++;
	dofi_unlock(&ep.lock);
}

START_TEST(a_full_ring_reads_completions)
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

/* The same, and the connection breaks. */
static void break_off(struct dofi_work *work)
{
	complete_one(work);
	ep.state = DAT_EP_STATE_DISCONNECT_PENDING;
}

START_TEST(a_full_ring_finds_the_connection_broken)
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

/* --- atomic operations of the device --- */

#define CONTEXT 0x10005u
#define ZONE    3u
#define OPERAND 1000u
#define COMPARE 7u

static struct dofi_ctx cache[DOFI_RCACHE_SIZE];
static struct dofi_ctx_wire scratch;
static struct dofi_own_wr aux;

static void setup_atomics(void)
{
	setup();
	ia.has_atomics = true;
	ia.scratch.slots = &scratch;
	ep.rcache = cache;
	ep.aux = &aux;
	ep.read_limit = 4;
	ep.peer = (struct dofi_peer_ep){.ctxtab_entries = 0x10000, .pz = ZONE, .atomics = true};
	cache[CONTEXT % DOFI_RCACHE_SIZE] =
		(struct dofi_ctx){.context = CONTEXT,
				  .key = 77,
				  .address = 0x1000,
				  .base = 0x100,
				  .length = 64,
				  .privileges = DOFI_MEM_PRIV_REMOTE_ATOMIC,
				  .pz = ZONE};
}

static struct dofi_ctx *entry(void)
{
	return &cache[CONTEXT % DOFI_RCACHE_SIZE];
}

static uint32_t asked_context = CONTEXT;

static void post_atomic(enum dofi_op op, uint64_t raddr)
{
	requests[ep.req.tail] = (struct dofi_wr){.ep = &ep,
						 .op = (uint8_t)op,
						 .length = 8,
						 .niov = 1,
						 .atomic = {.address = raddr,
							    .context = asked_context,
							    .operand = OPERAND,
							    .compare = COMPARE}};
	ep.req.tail++;
	dofi_lock(&ep.lock);
	dofi_ep_issue_requests(&ep);
	dofi_unlock(&ep.lock);
}

START_TEST(the_device_gets_operands_and_address)
{
	post_atomic(_i ? DOFI_OP_CMP_SWAP : DOFI_OP_FETCH_ADD, 0x108);
	ck_assert_int_eq(atomic.calls, 1);
	ck_assert_uint_eq(atomic.raddr, 0x1008);
	ck_assert_uint_eq(atomic.rkey, 77);
	ck_assert_uint_eq(atomic.operand, OPERAND);
	ck_assert_uint_eq(atomic.compare, COMPARE);
	ck_assert_int_eq(requests[0].state, DOFI_WR_ISSUED);
	ck_assert_uint_eq(ep.reads, 1); /* it counts as a read for fences and the limit */
	ck_assert_ptr_null(ep.ctrl_msgs);
	dofi_lock(&ep.lock);
	ck_assert(dofi_ctrl_completed(&requests[0]));
	dofi_unlock(&ep.lock);
	ck_assert_uint_eq(ep.reads, 0);
}
END_TEST

/* There is no such entry in the peer's table. */
START_TEST(a_context_that_cannot_be_is_not_looked_up)
{
	static const uint32_t contexts[] = {0, CONTEXT};

	post(DOFI_OP_READ, 8);
	ep.peer.ctxtab_entries = _i ? CONTEXT & 0xffff : 0x10000;
	asked_context = contexts[_i];
	post_atomic(DOFI_OP_FETCH_ADD, 0x108);
	ck_assert_int_eq(atomic.calls, 0);
	ck_assert_int_eq(peeks, 0);
	ck_assert_uint_eq(ep.req.issue, 1);
}
END_TEST

START_TEST(operands_are_kept_after_eagain)
{
	answer = -FI_EAGAIN;
	post_atomic(DOFI_OP_FETCH_ADD, 0x108);
	ck_assert_uint_eq(ep.req.issue, 0);
	ck_assert_uint_eq(ep.reads, 0);
	ck_assert_int_eq(requests[0].state, DOFI_WR_QUEUED); /* the fabric does not have it */
	answer = 0;
	dofi_lock(&ep.lock);
	dofi_ep_issue_requests(&ep);
	dofi_unlock(&ep.lock);
	ck_assert_int_eq(atomic.calls, 2);
	ck_assert_uint_eq(atomic.operand, OPERAND);
	ck_assert_uint_eq(atomic.raddr, 0x1008);
	ck_assert_uint_eq(ep.reads, 1);
}
END_TEST

START_TEST(atomic_operations_count_as_reads)
{
	ep.read_limit = 1;
	post_atomic(DOFI_OP_FETCH_ADD, 0x108);
	post_atomic(DOFI_OP_FETCH_ADD, 0x108);
	ck_assert_int_eq(atomic.calls, 1);
	ck_assert_uint_eq(ep.req.issue, 1);
}
END_TEST

/* Another request is under way, so the refusal must wait for its completion. */
START_TEST(a_forbidden_atomic_operation_is_never_issued)
{
	post(DOFI_OP_READ, 8);
	switch (_i) {
	case 0:
		entry()->privileges =
			DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
		break;
	case 1:
		entry()->pz = ZONE + 1;
		break;
	case 2:
		entry()->length = 15;
		break;
	case 3:
		entry()->address++;
		break;
	case 4:
		ep.peer.atomics = false; /* an older peer, or another device */
		break;
	}
	post_atomic(DOFI_OP_FETCH_ADD, 0x108);
	ck_assert_int_eq(atomic.calls, 0);
	ck_assert_int_eq(peeks, 0);
	ck_assert_uint_eq(ep.req.issue, 1);
}
END_TEST

/*
 * An earlier Send has invalidated the context, and may not have arrived yet. A second Send that
 * invalidates it would still find it valid at the peer.
 */
START_TEST(second_invalidation_of_a_context_waits_for_the_first)
{
	struct dofi_wr wr = {.ep = &ep, .op = DOFI_OP_SEND_INVALIDATE, .send.context = CONTEXT};

	ep.peer.ctrl_known = true;
	dofi_lock(&ep.lock);
	ck_assert_int_eq(dofi_issue_special(&ep, &wr), DOFI_GO);
	*entry() = (struct dofi_ctx){.context = CONTEXT};
	ck_assert_int_eq(dofi_issue_special(&ep, &wr), DOFI_WAIT);
	*entry() = (struct dofi_ctx){.context = 0};
	ck_assert_int_eq(dofi_issue_special(&ep, &wr), DOFI_GO);
	dofi_unlock(&ep.lock);
}
END_TEST

START_TEST(a_missing_context_is_read_first)
{
	entry()->context = 0;
	post_atomic(DOFI_OP_CMP_SWAP, 0x108);
	ck_assert_int_eq(peeks, 1);
	ck_assert_int_eq(atomic.calls, 0);
	ck_assert_uint_eq(ep.req.issue, 0);
}
END_TEST

/* The other side has disconnected, too, and its end of the path is gone before its word is read. */
START_TEST(a_sync_that_is_refused_waits_for_the_reason)
{
	peek_answer = -FI_ENOTCONN;
	dofi_lock(&ep.lock);
	ck_assert(!dofi_ep_sync(&ep));
	dofi_unlock(&ep.lock);
	ck_assert(ep.refused);
	ck_assert(!ep.faulty);
	ck_assert(ep.stall.waits);
}
END_TEST

static const struct {
	ssize_t answer;
	bool path_up, reported;
} failed_peeks[] = {
	{-FI_EAGAIN, true, false},    /* it is tried again */
	{-FI_ENOTCONN, false, false}, /* the connection ends already */
	{-FI_EINVAL, true, true},
};

/* The reason is reported, once for a connection. */
START_TEST(an_operation_that_is_refused_is_reported)
{
	static const char words[] = "refuses an operation, so its connection ends: ";
	int fd = t_capture(STDERR_FILENO);
	const char *found;

	dofi_log_set_level("info");
	peek_answer = failed_peeks[_i].answer;
	ep.path_up = failed_peeks[_i].path_up;
	dofi_lock(&ep.lock);
	ck_assert(!dofi_ep_sync(&ep));
	ck_assert(!dofi_ep_sync(&ep));
	dofi_unlock(&ep.lock);
	ck_assert(!ep.peeking);
	ck_assert(ep.refused == (peek_answer != -FI_EAGAIN));
	found = strstr(t_captured(fd), words);
	ck_assert(!!found == failed_peeks[_i].reported);
	if (!found)
		return;
	found += sizeof(words) - 1;
	ck_assert(!strncmp(found, "Invalid argument", 16));
	ck_assert_ptr_null(strstr(found, words));
}
END_TEST

int main(void)
{
	const int n = sizeof(ops) / sizeof(ops[0]);
	Suite *suite = suite_create("issue");
	TCase *tc = tcase_create("copying");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, progress_thread_avoids_a_post_that_copies, 0, n);
	tcase_add_loop_test(tc, small_posts_do_not_stop_the_progress_thread, 0, n);
	tcase_add_loop_test(tc, progress_thread_returns_after_a_refused_post, 0, n);
	tcase_add_loop_test(tc, each_request_that_starts_makes_the_connection_dirty, 0, n);
	tcase_add_test(tc, a_bind_makes_the_connection_dirty);
	suite_add_tcase(suite, tc);

	tc = tcase_create("fences");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, a_fence_waits_for_earlier_reads, 0, n);
	tcase_add_loop_test(tc, a_device_with_fences_gets_the_request_at_once, 0, n);
	tcase_add_loop_test(tc, a_fence_that_the_device_does_not_know_is_waited_for, 0, 3);
	tcase_add_loop_test(tc, a_fence_of_an_operation_in_steps_is_waited_for, 0, 2);
	tcase_add_loop_test(tc, what_could_overtake_a_write_waits_for_it, 0,
			    sizeof(behind_writes) / sizeof(behind_writes[0]));
	tcase_add_loop_test(tc, a_write_is_unfenced_where_there_are_fences, 0, 3);
	suite_add_tcase(suite, tc);

	tc = tcase_create("held");
	tcase_add_checked_fixture(tc, setup_held, NULL);
	tcase_add_test(tc, completions_are_watched_while_a_request_waits);
	tcase_add_test(tc, watching_ends_when_a_post_starts_the_request);
	tcase_add_test(tc, watching_ends_after_a_flush);
	tcase_add_test(tc, requests_that_start_at_once_are_not_watched_for);
	tcase_add_test(tc, a_full_ring_reads_completions);
	tcase_add_test(tc, a_full_ring_finds_the_connection_broken);
	suite_add_tcase(suite, tc);

	tc = tcase_create("atomics");
	tcase_add_checked_fixture(tc, setup_atomics, NULL);
	tcase_add_loop_test(tc, the_device_gets_operands_and_address, 0, 2);
	tcase_add_test(tc, operands_are_kept_after_eagain);
	tcase_add_loop_test(tc, a_context_that_cannot_be_is_not_looked_up, 0, 2);
	tcase_add_test(tc, atomic_operations_count_as_reads);
	tcase_add_loop_test(tc, a_forbidden_atomic_operation_is_never_issued, 0, 5);
	tcase_add_test(tc, a_missing_context_is_read_first);
	tcase_add_test(tc, a_sync_that_is_refused_waits_for_the_reason);
	tcase_add_loop_test(tc, an_operation_that_is_refused_is_reported, 0,
			    sizeof(failed_peeks) / sizeof(failed_peeks[0]));
	tcase_add_test(tc, second_invalidation_of_a_context_waits_for_the_first);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
