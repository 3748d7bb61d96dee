/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control slots: a peer can write to them at any time, also between the check and the use. Sends
 * that end a context of the peer, by a control record or a control message. Which requests the
 * fabric still has.
 */
#include "unit.h"

#include "dto/atomic.h"
#include "dto/control.h"
#include "dto/control_message.h"
#include "object/ctxtab.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/transport.h"

#include <rdma/fi_errno.h>
#include <string.h>

#define REQUESTS 4u
#define CONTEXT  7u /* the one that a Send ends */
#define OTHER    8u

static struct dofi_ctrl_slots slots[1];
static struct dofi_ctx_wire wire[1];
static struct dofi_ep ep;
static struct dofi_ia ia;
static struct dofi_wr requests[REQUESTS];
static struct dofi_ctrl_msgs ctrl_msgs;
static struct dofi_ctx rcache[DOFI_RCACHE_SIZE];
static struct {
	int answers, records, sends;
	uint64_t address, key, record;
} seen;
static ssize_t record_answer, send_answer; /* of the fabric */

static ssize_t take_record(uint64_t data)
{
	if (record_answer)
		return record_answer;
	seen.records++;
	seen.record = data;
	return 0;
}

static ssize_t take_ctrl(struct dofi_ep *of, const void *record, size_t size, uint64_t raddr,
			 uint64_t rkey, uint64_t data)
{
	(void)record;
	ck_assert_ptr_eq(of, &ep);
	if (!size)
		return take_record(data);
	ck_assert_uint_eq(size, sizeof(struct dofi_atomic_answer));
	seen.answers++;
	seen.address = raddr;
	seen.key = rkey;
	return 0;
}

static ssize_t take_ctrl_msg(struct dofi_ep *of, const void *bytes, size_t size)
{
	const struct dofi_ctrl_msg *ctrl_msg = bytes;

	ck_assert_ptr_eq(of, &ep);
	ck_assert_uint_eq(size, offsetof(struct dofi_ctrl_msg, request));
	ck_assert_uint_eq(ctrl_msg->message, ep.nsent); /* the one that follows */
	return take_record(
		dofi_ctrl_data(of, (enum dofi_ctrl_kind)ctrl_msg->kind, ctrl_msg->value));
}

static ssize_t take_send(struct dofi_ep *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert_ptr_eq(wr, &requests[ep.req.issue]);
	ck_assert_int_eq(seen.records, 1); /* the peer has to know before the message comes */
	seen.sends += !send_answer;
	return send_answer;
}

static const struct dofi_trans_ops fabric = {.write_ctrl = take_ctrl,
					     .ctrl_msg = take_ctrl_msg,
					     .send = take_send};

static void setup(void)
{
	memset(&seen, 0, sizeof(seen));
	memset(&ep, 0, sizeof(ep));
	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ep.lock);
	ia.trans = ep.trans = &fabric;
	ia.ctrl_memory.slots = slots;
	ia.ctxtab.wire = wire;
	ep.obj.ia = &ia;
	ep.rcache = rcache;
	ep.req = (struct dofi_ring){.base = (char *)requests,
				    .stride = sizeof(requests[0]),
				    .mask = REQUESTS - 1};
	dofi_lock(&ia.engine.lock);
	dofi_lock(&ep.lock);
}

static void teardown(void)
{
	dofi_unlock(&ep.lock);
	dofi_unlock(&ia.engine.lock);
}

START_TEST(an_answer_goes_where_its_request_said)
{
	struct dofi_atomic_request *request = &slots[0].requests[2];

	*request = (struct dofi_atomic_request){.op = DOFI_OP_FETCH_ADD,
						.answer_key = 7,
						.answer_address = 0x1000};
	ep.path_up = false; /* the answer has to wait */
	dofi_atomic_arrived(&ep, 2);
	ck_assert_int_eq(seen.answers, 0);
	request->answer_key = 8;
	request->answer_address = 0x2000;
	ep.path_up = true;
	dofi_ctrl_send_answers(&ep);
	ck_assert_int_eq(seen.answers, 1);
	ck_assert_uint_eq(seen.key, 7);
	ck_assert_uint_eq(seen.address, 0x1000);
	dofi_ctrl_send_answers(&ep);
	ck_assert_int_eq(seen.answers, 1);
}
END_TEST

/* The count of control messages that were used goes behind the answers. */
START_TEST(a_count_of_used_control_messages_waits_for_the_fabric)
{
	ep.ctrl_msgs = &ctrl_msgs;
	ctrl_msgs.used = DOFI_CTRL_MSG_WINDOW;
	ep.answers_due = DOFI_CTRL_MSGS_DUE;
	record_answer = -FI_EAGAIN;
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_list_init(&ia.engine.stalled);
	dofi_ctrl_send_answers(&ep);
	ck_assert_uint_eq(ep.answers_due, DOFI_CTRL_MSGS_DUE);
	ck_assert(ep.stall.waits);
	record_answer = 0;
	dofi_ctrl_send_answers(&ep);
	ck_assert_uint_eq(ep.answers_due, 0);
	ck_assert_int_eq(seen.records, 1);
	ck_assert_uint_eq(seen.record, dofi_ctrl_data(&ep, DOFI_CTRL_USED, DOFI_CTRL_MSG_WINDOW));
	dofi_ctrl_send_answers(&ep);
	ck_assert_int_eq(seen.records, 1);
}
END_TEST

/* A Send that ends CONTEXT, and requests behind it. */
static struct dofi_wr *post_send_invalidate(void)
{
	const uint32_t contexts[] = {0, CONTEXT, OTHER, CONTEXT};

	for (uint32_t i = 0; i < REQUESTS; i++)
		requests[i] = (struct dofi_wr){.ep = &ep,
					       .op = i ? DOFI_OP_WRITE : DOFI_OP_SEND_INVALIDATE,
					       .length = 8};
	requests[0].send.context = CONTEXT;
	for (uint32_t i = 1; i < REQUESTS; i++) {
		requests[i].rdma.context = contexts[i];
		requests[i].rdma.resolved = true;
	}
	for (uint32_t i = CONTEXT; i <= OTHER; i++)
		rcache[i] = (struct dofi_ctx){.context = i, .length = 64, .privileges = 1};
	ep.req.tail = REQUESTS;
	return &requests[0];
}

START_TEST(requests_behind_a_send_do_not_use_the_context_that_it_ends)
{
	struct dofi_wr *wr = post_send_invalidate();

	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 0);
	ck_assert_int_eq(seen.sends, 1);
	ck_assert_uint_eq(seen.record, dofi_ctrl_data(&ep, DOFI_CTRL_INVALIDATE, CONTEXT));
	ck_assert_uint_eq(ep.nsent, 1);
	ck_assert(!requests[1].rdma.resolved);
	ck_assert(requests[2].rdma.resolved);
	ck_assert(!requests[3].rdma.resolved);
	ck_assert_uint_eq(rcache[CONTEXT].context, CONTEXT);
	ck_assert_uint_eq(rcache[CONTEXT].length, 0);
	ck_assert_uint_eq(rcache[CONTEXT].privileges, 0);
	ck_assert_uint_eq(rcache[OTHER].length, 64);
}
END_TEST

/* What is being read from the peer's table may be the entry as it was before. */
START_TEST(an_entry_that_is_being_read_is_outdated_by_a_send)
{
	static const struct {
		bool peeking;
		uint32_t context;
		bool outdated;
	} cases[] = {{true, CONTEXT, true}, {true, OTHER, false}, {false, CONTEXT, false}};

	ep.peeking = cases[_i].peeking;
	ep.aux_ctx = cases[_i].context;
	ck_assert_int_eq(dofi_ctrl_start(&ep, post_send_invalidate()), 0);
	ck_assert(ep.peek_outdated == cases[_i].outdated);
}
END_TEST

/* Some fabrics have control messages in place of records. */
START_TEST(a_send_that_is_tried_again_ends_the_context_once)
{
	struct dofi_wr *wr = post_send_invalidate();

	ep.ctrl_msgs = _i ? &ctrl_msgs : NULL;
	record_answer = -FI_EAGAIN;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), -FI_EAGAIN);
	ck_assert_int_eq(seen.sends, 0);
	record_answer = 0;
	send_answer = -FI_EAGAIN;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), -FI_EAGAIN);
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), -FI_EAGAIN);
	ck_assert_uint_eq(ep.nsent, 0);
	ck_assert(requests[1].rdma.resolved);
	send_answer = 0;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 0);
	ck_assert_int_eq(seen.records, 1);
	ck_assert_uint_eq(seen.record, dofi_ctrl_data(&ep, DOFI_CTRL_INVALIDATE, CONTEXT));
	ck_assert_int_eq(seen.sends, 1);
	ck_assert_uint_eq(ep.nsent, 1);
	ck_assert(!requests[1].rdma.resolved);
}
END_TEST

/*
 * A request waits in the ring, is issued, and completes. A bind is none of the fabric's, nor is an
 * atomic operation that the peer's library executes.
 */
START_TEST(the_fabric_has_what_was_issued_to_it)
{
	static const struct {
		enum dofi_op op;
		uint8_t state;
		bool has_atomics, outstanding;
	} cases[] = {{DOFI_OP_SEND, DOFI_WR_QUEUED, false, false},
		     {DOFI_OP_SEND, DOFI_WR_ISSUED, false, true},
		     {DOFI_OP_SEND, DOFI_WR_DONE, false, false},
		     {DOFI_OP_READ, DOFI_WR_QUEUED, false, false},
		     {DOFI_OP_READ, DOFI_WR_ISSUED, false, true},
		     {DOFI_OP_FETCH_ADD, DOFI_WR_ISSUED, false, false},
		     {DOFI_OP_FETCH_ADD, DOFI_WR_ISSUED, true, true},
		     {DOFI_OP_BIND, DOFI_WR_QUEUED, false, false},
		     {DOFI_OP_BIND, DOFI_WR_ISSUED, false, false}};
	struct dofi_wr wr = {.ep = &ep, .op = (uint8_t)cases[_i].op, .state = cases[_i].state};

	ia.has_atomics = cases[_i].has_atomics;
	ck_assert(dofi_ctrl_outstanding(&wr) == cases[_i].outstanding);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("control");
	TCase *tcase = tcase_create("control");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, an_answer_goes_where_its_request_said);
	tcase_add_test(tcase, a_count_of_used_control_messages_waits_for_the_fabric);
	tcase_add_test(tcase, requests_behind_a_send_do_not_use_the_context_that_it_ends);
	tcase_add_loop_test(tcase, an_entry_that_is_being_read_is_outdated_by_a_send, 0, 3);
	tcase_add_loop_test(tcase, a_send_that_is_tried_again_ends_the_context_once, 0, 2);
	tcase_add_loop_test(tcase, the_fabric_has_what_was_issued_to_it, 0, 9);
	return t_run(suite);
}
