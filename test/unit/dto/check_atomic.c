/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomic operations that the library carries out: which memory a peer may change, the slots of
 * requests and answers, and what waits for them.
 */
#include "unit.h"

#include "dto/atomic.h"
#include "dto/control.h"
#include "dto/control_message.h"
#include "dto/issue.h"
#include "dto/release.h"
#include "object/ctxtab.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/mem.h"
#include "object/transport.h"
#include "object/upcalls.h"

#include <rdma/fi_errno.h>
#include <string.h>

#define INDEX   1u
#define CONTEXT (5u << 16 | INDEX)
#define BASE    0x1000u /* address of the memory, as the peer knows it */
#define PZ      3u
#define CONN    4u
#define WORDS   4u
#define LIMIT   3 /* of reads */

static struct dofi_ctrl_slots slots[1];
static struct dofi_ctx_wire wire[INDEX + 1];
static struct dofi_ctx_local local[INDEX + 1];
static uint64_t memory[WORDS];
static struct dofi_lmr lmr;
static struct dofi_pz pz = {.number = PZ};
static struct dofi_ep ep;
static struct dofi_ia ia;
/* Requests with a segment behind each. */
static union {
	struct dofi_wr wr;
	char room[sizeof(struct dofi_wr) + sizeof(struct iovec)];
} requests[8];
static uint64_t result;

/* --- the fabric, and what follows an answer --- */

static struct {
	int records, ctrl_msgs, released, issued, stalls, drained;
	ssize_t answer; /* of the fabric */
	uint64_t data, address, key;
	struct dofi_atomic_request request;
	struct dofi_atomic_answer reply;
} seen;

static ssize_t take_record(struct dofi_ep *of, const void *record, size_t size, uint64_t raddr,
			   uint64_t rkey, uint64_t data)
{
	ck_assert_ptr_eq(of, &ep);
	if (seen.answer)
		return seen.answer;
	if (size == sizeof(seen.request))
		memcpy(&seen.request, record, size);
	else
		memcpy(&seen.reply, record, sizeof(seen.reply));
	seen.records++;
	seen.address = raddr;
	seen.key = rkey;
	seen.data = data;
	return 0;
}

/* Fabrics without control writes. */
static struct dofi_ctrl_msgs ctrl_msgs;

static ssize_t take_ctrl_msg(struct dofi_ep *of, const void *bytes, size_t size)
{
	const struct dofi_ctrl_msg *ctrl_msg = bytes;

	ck_assert_ptr_eq(of, &ep);
	ck_assert_uint_eq(ctrl_msg->kind, DOFI_CTRL_ATOMIC);
	if (ctrl_msg->value & DOFI_CTRL_ANSWER)
		seen.reply = ctrl_msg->answer;
	else
		seen.request.operand = ctrl_msg->request.operand;
	seen.ctrl_msgs += size > 0;
	seen.data = ctrl_msg->value;
	return seen.answer;
}

/* Devices that do the operation. */
static struct {
	const struct dofi_wr *wr;
	uint64_t address, key;
} native;

static ssize_t take_native(struct dofi_ep *of, struct dofi_wr *wr, uint64_t raddr, uint64_t rkey)
{
	ck_assert_ptr_eq(of, &ep);
	native.wr = wr;
	native.address = raddr;
	native.key = rkey;
	return seen.answer;
}

static const struct dofi_trans_ops fabric = {.write_ctrl = take_record,
					     .ctrl_msg = take_ctrl_msg,
					     .atomic = take_native};

void __wrap_dofi_release_rings(struct dofi_ep *of);
void __wrap_dofi_ep_issue(struct dofi_ep *of);
void __wrap_dofi_ep_stall(struct dofi_ep *of);

void __wrap_dofi_release_rings(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	seen.released++;
}

void __wrap_dofi_ep_issue(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	seen.issued++;
}

void __wrap_dofi_ep_stall(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	seen.stalls++;
}

static void drained(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	seen.drained++;
}

static const struct dofi_upcalls upcalls = {.drained = drained};

/* --- */

static void expose(struct dofi_ctx ctx)
{
	wire[INDEX] = dofi_ctx_encode(&ctx);
}

static const struct dofi_ctx good = {.context = CONTEXT,
				     .base = BASE,
				     .length = sizeof(memory),
				     .privileges = DOFI_MEM_PRIV_REMOTE_ATOMIC,
				     .pz = PZ};

static void setup(void)
{
	dofi_lock_init_level(&ia.engine.lock, DOFI_LEVEL_ENGINE);
	dofi_lock_init_level(&ia.ctxtab.lock, DOFI_LEVEL_LEAF);
	dofi_lock_init_level(&ep.lock, DOFI_LEVEL_EP);
	ia.trans = ep.trans = &fabric;
	ia.up = &upcalls;
	ia.ctrl_memory.slots = slots;
	ia.ctrl_memory.key = 77;
	ia.ctrl_memory.address = 0x5000;
	ia.ctxtab.wire = wire;
	ia.ctxtab.local = local;
	lmr.start = (uintptr_t)memory;
	lmr.base = BASE;
	local[INDEX] = (struct dofi_ctx_local){.lmr = &lmr, .context = CONTEXT};
	for (uint32_t i = 0; i < WORDS; i++)
		memory[i] = 10 * i;
	expose(good);
	ep.obj.ia = &ia;
	ep.pz = &pz;
	ep.conn_id = CONN;
	ep.path_up = true;
	ep.read_limit = LIMIT;
	ep.peer.ctrl_key = 88;
	ep.peer.ctrl_address = 0x8000;
	ep.req = (struct dofi_ring){.base = (char *)requests,
				    .stride = sizeof(requests[0]),
				    .mask = 7};
	dofi_lock(&ia.engine.lock);
	dofi_lock(&ep.lock);
}

static void teardown(void)
{
	ck_assert(dofi_trylock(&ia.ctxtab.lock)); /* no look at the table kept it */
	dofi_unlock(&ia.ctxtab.lock);
	dofi_unlock(&ep.lock);
	dofi_unlock(&ia.engine.lock);
}

/* --- at the target --- */

/* A request comes. Returns the answer, which the fabric takes at once. */
static struct dofi_atomic_answer ask(uint32_t op, uint32_t context, uint64_t address,
				     uint64_t operand, uint64_t compare)
{
	int before = seen.records;

	slots[0].requests[2] = (struct dofi_atomic_request){.op = op,
							    .context = context,
							    .address = address,
							    .operand = operand,
							    .compare = compare,
							    .answer_key = 6,
							    .answer_address = 0x6000};
	dofi_atomic_arrived(&ep, 2);
	ck_assert_int_eq(seen.records, before + 1);
	ck_assert_uint_eq(seen.key, 6);
	ck_assert_uint_eq(seen.address, 0x6000);
	ck_assert_uint_eq(seen.data, dofi_ctrl_data(&ep, DOFI_CTRL_ATOMIC, DOFI_CTRL_ANSWER | 2));
	return seen.reply;
}

START_TEST(operations_change_the_word_and_answer_its_old_value)
{
	struct dofi_atomic_answer answer;

	for (uint32_t i = 0; i < WORDS; i++) {
		uint64_t address = BASE + i * sizeof(uint64_t), old = 10 * i;

		answer = ask(DOFI_OP_FETCH_ADD, CONTEXT, address, 3, 0);
		ck_assert_uint_eq(answer.status, DAT_DTO_SUCCESS);
		ck_assert_uint_eq(answer.value, old);
		ck_assert_uint_eq(memory[i], old + 3);
		answer = ask(DOFI_OP_CMP_SWAP, CONTEXT, address, 1, old);
		ck_assert_uint_eq(answer.status, DAT_DTO_SUCCESS);
		ck_assert_uint_eq(answer.value, old + 3);
		ck_assert_uint_eq(memory[i], old + 3);
		answer = ask(DOFI_OP_CMP_SWAP, CONTEXT, address, 1, old + 3);
		ck_assert_uint_eq(answer.value, old + 3);
		ck_assert_uint_eq(memory[i], 1);
		memory[i] = old;
	}
	ck_assert(ep.dirty);
}
END_TEST

/* The initiator checks as well, but it may lie. */
START_TEST(a_peer_changes_no_other_memory)
{
	static const struct {
		uint32_t context;
		uint64_t address;
	} cases[] = {{0, BASE},
		     {CONTEXT ^ 1u << 16, BASE},
		     {CONTEXT - INDEX, BASE},
		     {CONTEXT, BASE - 8},
		     {CONTEXT, BASE + sizeof(memory)},
		     {CONTEXT, BASE + sizeof(memory) - 4},
		     {CONTEXT, BASE + 1},
		     {CONTEXT, BASE + 4},
		     {CONTEXT, 0},
		     {CONTEXT, UINT64_MAX - 7}};
	uint64_t before[WORDS];

	memcpy(before, memory, sizeof(before));
	ck_assert_uint_eq(ask(DOFI_OP_FETCH_ADD, cases[_i].context, cases[_i].address, 1, 0).status,
			  DAT_DTO_ERR_REMOTE_ACCESS);
	ck_assert_mem_eq(before, memory, sizeof(before));
}
END_TEST

START_TEST(the_entry_must_allow_it)
{
	struct dofi_ctx ctx = good;

	switch (_i) {
	case 0:
		ctx.privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
		break;
	case 1:
		ctx.pz = PZ + 1;
		break;
	case 2: /* for another connection */
		ctx.privileges |= DOFI_CTX_EP_SCOPE;
		ctx.pz = CONN + 1;
		break;
	case 3: /* shorter than a word */
		ctx.length = 7;
		break;
	case 4: /* the LMR has ended, and its entry is read late */
		local[INDEX].context = 0;
		break;
	}
	expose(ctx);
	ck_assert_uint_eq(ask(DOFI_OP_FETCH_ADD, CONTEXT, BASE, 1, 0).status,
			  DAT_DTO_ERR_REMOTE_ACCESS);
	ck_assert_uint_eq(memory[0], 0);
}
END_TEST

START_TEST(an_entry_for_one_connection_serves_that_one)
{
	struct dofi_ctx ctx = good;

	ctx.privileges |= DOFI_CTX_EP_SCOPE;
	ctx.pz = CONN;
	ctx.length = 8;
	expose(ctx);
	ck_assert_uint_eq(ask(DOFI_OP_FETCH_ADD, CONTEXT, BASE, 1, 0).status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(memory[0], 1);
}
END_TEST

START_TEST(records_without_a_slot_are_ignored)
{
	dofi_atomic_arrived(&ep, DOFI_CTRL_SLOTS);
	dofi_atomic_arrived(&ep, DOFI_CTRL_ANSWER | DOFI_CTRL_SLOTS);
	dofi_atomic_arrived(&ep, DOFI_CTRL_ANSWER | 1); /* no request of ours has the slot */
	ia.ctrl_memory.slots = NULL;
	dofi_atomic_arrived(&ep, 0);
	dofi_atomic_arrived(&ep, DOFI_CTRL_ANSWER);
	ck_assert_int_eq(seen.records, 0);
	ck_assert_int_eq(seen.released, 0);
	ck_assert_uint_eq(ep.answers_due, 0);
	ck_assert_uint_eq(ep.reads, 0);
}
END_TEST

/* Those of the other slots remain due, and the engine tries again. */
START_TEST(answers_wait_for_the_fabric)
{
	seen.answer = -FI_EAGAIN;
	for (uint32_t i = 0; i < DOFI_CTRL_SLOTS; i++) {
		slots[0].requests[i] = (struct dofi_atomic_request){.op = DOFI_OP_FETCH_ADD,
								    .context = CONTEXT,
								    .address = BASE,
								    .operand = 1,
								    .answer_key = i};
		dofi_atomic_arrived(&ep, i);
	}
	ck_assert_uint_eq(memory[0], DOFI_CTRL_SLOTS); /* done, and done once */
	ck_assert_int_eq(seen.stalls, DOFI_CTRL_SLOTS);
	ck_assert(!dofi_atomic_send_answers(&ep));
	ck_assert_int_eq(seen.stalls, DOFI_CTRL_SLOTS + 1);
	ck_assert_uint_eq(ep.answers_due, (1u << DOFI_CTRL_SLOTS) - 1);
	ck_assert(!ep.dirty);
	seen.answer = 0;
	ck_assert(dofi_atomic_send_answers(&ep));
	ck_assert_int_eq(seen.records, DOFI_CTRL_SLOTS);
	ck_assert_uint_eq(seen.key, DOFI_CTRL_SLOTS - 1);
	ck_assert_uint_eq(seen.reply.value, DOFI_CTRL_SLOTS - 1);
	ck_assert_uint_eq(ep.answers_due, 0);
	ck_assert_uint_eq(memory[0], DOFI_CTRL_SLOTS);
}
END_TEST

/* --- at the initiator --- */

static struct dofi_wr *prepare(uint32_t index, uint32_t op)
{
	struct dofi_wr *wr = &requests[index].wr;

	*wr = (struct dofi_wr){
		.ep = &ep, .op = (uint8_t)op, .state = DOFI_WR_ISSUED, .length = 8, .niov = 1};
	wr->iov[0] = (struct iovec){&result, sizeof(result)};
	wr->atomic.context = 55;
	wr->atomic.address = 66;
	wr->atomic.operand = index;
	wr->atomic.compare = 9;
	return wr;
}

static void start(uint32_t index)
{
	struct dofi_wr *wr = prepare(index, DOFI_OP_CMP_SWAP);

	ep.req.issue = index;
	ck_assert(dofi_atomic_may_start(&ep, wr));
	ck_assert_int_eq(dofi_atomic_start(&ep, wr), 0);
}

START_TEST(a_request_takes_a_slot_of_the_peer)
{
	const uint64_t answers = 0x5000 + offsetof(struct dofi_ctrl_slots, answers[0]);

	ep.read_limit = DOFI_CTRL_SLOTS + 1;
	for (uint32_t i = 0; i < DOFI_CTRL_SLOTS; i++) {
		start(i);
		ck_assert_uint_eq(seen.key, 88);
		ck_assert_uint_eq(seen.address, 0x8000 + i * sizeof(struct dofi_atomic_request));
		ck_assert_uint_eq(seen.data, dofi_ctrl_data(&ep, DOFI_CTRL_ATOMIC, i));
		ck_assert_uint_eq(seen.request.op, DOFI_OP_CMP_SWAP);
		ck_assert_uint_eq(seen.request.context, 55);
		ck_assert_uint_eq(seen.request.address, 66);
		ck_assert_uint_eq(seen.request.operand, i);
		ck_assert_uint_eq(seen.request.compare, 9);
		ck_assert_uint_eq(seen.request.answer_key, 77);
		ck_assert_uint_eq(seen.request.answer_address,
				  answers + i * sizeof(struct dofi_atomic_answer));
		ck_assert_uint_eq(ep.reads, i + 1);
	}
	ck_assert(!dofi_atomic_may_start(&ep, prepare(DOFI_CTRL_SLOTS, DOFI_OP_FETCH_ADD)));
}
END_TEST

START_TEST(control_messages_carry_requests_and_answers)
{
	ep.ctrl_msgs = &ctrl_msgs;
	ia.ctrl_memory.slots = NULL;
	start(3);
	ck_assert_int_eq(seen.ctrl_msgs, 1);
	ck_assert_uint_eq(seen.data, 0);
	ck_assert_uint_eq(seen.request.operand, 3);
	ck_assert_uint_eq(ep.reads, 1);
	ctrl_msgs.slots.requests[2] = (struct dofi_atomic_request){.op = DOFI_OP_FETCH_ADD,
								   .context = CONTEXT,
								   .address = BASE + 8,
								   .operand = 5};
	dofi_atomic_arrived(&ep, 2);
	ck_assert_uint_eq(memory[1], 15);
	ck_assert_int_eq(seen.ctrl_msgs, 2);
	ck_assert_uint_eq(seen.data, DOFI_CTRL_ANSWER | 2);
	ck_assert_uint_eq(seen.reply.value, 10);
	ck_assert_uint_eq(seen.reply.status, DAT_DTO_SUCCESS);
	ctrl_msgs.slots.answers[0].value = 321;
	dofi_atomic_arrived(&ep, DOFI_CTRL_ANSWER);
	ck_assert_uint_eq(result, 321);
	ck_assert_int_eq(seen.records, 0);
}
END_TEST

/* A control message has no order with other messages either. */
START_TEST(messages_wait_for_atomic_operations_by_control_messages)
{
	start(0);
	ck_assert(dofi_atomic_may_start(&ep, prepare(7, DOFI_OP_SEND)));
	ep.ctrl_msgs = &ctrl_msgs;
	ck_assert(!dofi_atomic_may_start(&ep, prepare(7, DOFI_OP_SEND)));
	ep.atomics_used = 0;
	ck_assert(dofi_atomic_may_start(&ep, prepare(7, DOFI_OP_SEND)));
}
END_TEST

START_TEST(a_refused_request_takes_nothing)
{
	seen.answer = -FI_EAGAIN;
	ck_assert_int_eq(dofi_atomic_start(&ep, prepare(0, DOFI_OP_FETCH_ADD)), -FI_EAGAIN);
	ck_assert_uint_eq(ep.reads, 0);
	ck_assert_uint_eq(ep.atomics_used, 0);
}
END_TEST

/* The device of the peer does it, at the address that the context names there. */
START_TEST(a_device_does_the_operation)
{
	static struct dofi_ctx rcache[DOFI_RCACHE_SIZE];
	struct dofi_wr *wr = prepare(5, DOFI_OP_FETCH_ADD);

	ia.has_atomics = ep.peer.atomics = true;
	ep.rcache = rcache;
	wr->atomic.context = 7u << 16 | (DOFI_RCACHE_SIZE + 3);
	rcache[3] = (struct dofi_ctx){.key = 9, .address = 0x900, .base = 60};
	seen.answer = -FI_EAGAIN;
	ck_assert_int_eq(dofi_atomic_start(&ep, wr), -FI_EAGAIN);
	ck_assert_uint_eq(ep.reads, 0);
	seen.answer = 0;
	ck_assert_int_eq(dofi_atomic_start(&ep, wr), 0);
	ck_assert_ptr_eq(native.wr, wr);
	ck_assert_uint_eq(native.address, 0x900 + 6);
	ck_assert_uint_eq(native.key, 9);
	ck_assert_uint_eq(ep.reads, 1);
	ck_assert_uint_eq(ep.atomics_used, 0); /* it needs no slot */
	ck_assert_int_eq(seen.records + seen.ctrl_msgs, 0);
}
END_TEST

/* An atomic operation counts as a read. RDMA behind it waits, because it would overtake. */
START_TEST(what_waits_for_atomic_operations)
{
	ck_assert(dofi_atomic_may_start(&ep, prepare(7, DOFI_OP_WRITE)));
	ep.reads = LIMIT - 1;
	ck_assert(dofi_atomic_may_start(&ep, prepare(7, DOFI_OP_FETCH_ADD)));
	ep.reads = LIMIT;
	ck_assert(!dofi_atomic_may_start(&ep, prepare(7, DOFI_OP_FETCH_ADD)));
	ep.reads = 0;
	start(0);
	ck_assert(dofi_atomic_may_start(&ep, prepare(7, DOFI_OP_FETCH_ADD)));
	ck_assert(dofi_atomic_may_start(&ep, prepare(7, DOFI_OP_SEND)));
	ck_assert(!dofi_atomic_may_start(&ep, prepare(7, DOFI_OP_WRITE)));
	ck_assert(!dofi_atomic_may_start(&ep, prepare(7, DOFI_OP_READ)));
}
END_TEST

START_TEST(an_answer_ends_its_request)
{
	start(4);
	start(5);
	slots[0].answers[1] = (struct dofi_atomic_answer){.value = 321, .status = DAT_DTO_SUCCESS};
	dofi_atomic_arrived(&ep, DOFI_CTRL_ANSWER | 1);
	ck_assert_uint_eq(requests[5].wr.state, DOFI_WR_DONE);
	ck_assert_uint_eq(requests[5].wr.status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(result, 321);
	ck_assert_uint_eq(requests[4].wr.state, DOFI_WR_ISSUED);
	ck_assert_uint_eq(ep.reads, 1);
	ck_assert_int_eq(seen.released, 1);
	ck_assert_int_eq(seen.issued, 1);
	ck_assert(!ep.faulty);
	slots[0].answers[1].value = 1;
	dofi_atomic_arrived(&ep, DOFI_CTRL_ANSWER | 1); /* once more */
	ck_assert_uint_eq(ep.reads, 1);
	ck_assert_uint_eq(result, 321);
	start(6); /* into the free slot */
	ck_assert_uint_eq(seen.data, dofi_ctrl_data(&ep, DOFI_CTRL_ATOMIC, 1));
}
END_TEST

/* It waits for the answers to its requests. */
START_TEST(an_answer_ends_a_disconnect)
{
	start(0);
	start(1);
	dofi_atomic_arrived(&ep, DOFI_CTRL_ANSWER);
	ck_assert_int_eq(seen.drained, 0);
	ep.state = DAT_EP_STATE_DISCONNECT_PENDING;
	dofi_atomic_arrived(&ep, DOFI_CTRL_ANSWER | 1);
	ck_assert_int_eq(seen.drained, 1);
}
END_TEST

START_TEST(a_refusal_breaks_the_connection)
{
	start(0);
	result = 5;
	slots[0].answers[0] =
		(struct dofi_atomic_answer){.value = 321, .status = DAT_DTO_ERR_REMOTE_ACCESS};
	dofi_atomic_arrived(&ep, DOFI_CTRL_ANSWER);
	ck_assert_uint_eq(requests[0].wr.state, DOFI_WR_DONE);
	ck_assert_uint_eq(requests[0].wr.status, DAT_DTO_ERR_REMOTE_ACCESS);
	ck_assert_uint_eq(result, 5);
	ck_assert(ep.faulty);
	ck_assert_int_eq(seen.stalls, 1); /* the engine ends the connection */
}
END_TEST

/* The answer to a later request may come before the connection ends. */
START_TEST(nothing_succeeds_behind_a_refusal)
{
	ep.read_limit = DOFI_CTRL_SLOTS;
	for (uint32_t i = 0; i < 3; i++)
		start(i);
	ep.req.issue = ep.req.tail = 3;
	slots[0].answers[1].status = DAT_DTO_ERR_REMOTE_ACCESS;
	slots[0].answers[2].status = DAT_DTO_SUCCESS;
	dofi_atomic_arrived(&ep, DOFI_CTRL_ANSWER | 1);
	dofi_atomic_arrived(&ep, DOFI_CTRL_ANSWER | 2);
	ck_assert_uint_eq(requests[0].wr.status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(requests[1].wr.status, DAT_DTO_ERR_REMOTE_ACCESS);
	ck_assert_uint_eq(requests[2].wr.status, DAT_DTO_ERR_FLUSHED);
	ck_assert_uint_eq(requests[2].wr.state, DOFI_WR_DONE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("atomic");
	TCase *tcase = tcase_create("atomic");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, operations_change_the_word_and_answer_its_old_value);
	tcase_add_loop_test(tcase, a_peer_changes_no_other_memory, 0, 10);
	tcase_add_loop_test(tcase, the_entry_must_allow_it, 0, 5);
	tcase_add_test(tcase, an_entry_for_one_connection_serves_that_one);
	tcase_add_test(tcase, records_without_a_slot_are_ignored);
	tcase_add_test(tcase, answers_wait_for_the_fabric);
	tcase_add_test(tcase, a_request_takes_a_slot_of_the_peer);
	tcase_add_test(tcase, control_messages_carry_requests_and_answers);
	tcase_add_test(tcase, messages_wait_for_atomic_operations_by_control_messages);
	tcase_add_test(tcase, a_refused_request_takes_nothing);
	tcase_add_test(tcase, a_device_does_the_operation);
	tcase_add_test(tcase, what_waits_for_atomic_operations);
	tcase_add_test(tcase, an_answer_ends_its_request);
	tcase_add_test(tcase, an_answer_ends_a_disconnect);
	tcase_add_test(tcase, a_refusal_breaks_the_connection);
	tcase_add_test(tcase, nothing_succeeds_behind_a_refusal);
	return t_run(suite);
}
