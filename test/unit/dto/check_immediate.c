/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes with immediate data on fabrics that have none: their steps, which are not repeated when
 * the fabric has no room, and the control records that the peer gets.
 */
#include "unit.h"

#include "dto/control.h"
#include "dto/control_message.h"
#include "dto/credit.h"
#include "dto/rmr.h"
#include "object/ctxtab.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/transport.h"
#include "object/upcalls.h"

#include <rdma/fi_errno.h>
#include <string.h>

#define OURS   5u /* numbers of the connection */
#define THEIRS 9u
#define VALUE  0xabcdu
#define LENGTH 24u

/* What the fabric is asked for, in the order of the enum. */
enum step { DATA, RECORD, MESSAGE, STEPS };

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_ctrl_msgs ctrl_msgs;
static struct dofi_pz pz;
static union {
	struct dofi_wr wr;
	char room[256];
} slot;
static struct {
	int calls[STEPS], immediates, stalls;
	int refuses; /* the step that finds no room; STEPS: none */
	uint64_t data, record;
	uint32_t immediate, invalidated;
	bool knows_nobody, is_not_ours;
} seen;

/* --- the fabric --- */

static ssize_t step(enum step which)
{
	if (seen.refuses == (int)which)
		return -FI_EAGAIN;
	for (int before = 0; before < (int)which; before++)
		ck_assert_int_eq(seen.calls[before], slot.wr.length || before != DATA);
	seen.calls[which]++;
	return 0;
}

static ssize_t write_data(struct dofi_ep *of, struct dofi_wr *wr, uint64_t data)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert_ptr_eq(wr, &slot.wr);
	seen.data = data;
	return step(DATA);
}

static ssize_t write_bare(struct dofi_ep *of, struct dofi_wr *wr)
{
	return write_data(of, wr, 0);
}

static ssize_t write_ctrl(struct dofi_ep *of, const void *record, size_t size, uint64_t raddr,
			  uint64_t rkey, uint64_t data)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert_ptr_null(record);
	ck_assert_uint_eq(size, 0);
	ck_assert_uint_eq(raddr, 0x8000);
	ck_assert_uint_eq(rkey, 88);
	seen.record = data;
	return step(RECORD);
}

static ssize_t send_message(struct dofi_ep *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert_ptr_eq(wr, &slot.wr);
	return step(MESSAGE);
}

static ssize_t write_immediate(struct dofi_ep *of, struct dofi_wr *wr, uint32_t value)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert_ptr_eq(wr, &slot.wr);
	if (seen.refuses == DATA)
		return -FI_EAGAIN;
	seen.immediates++;
	seen.immediate = value;
	return 0;
}

static const struct dofi_trans_ops fabric = {.write_data = write_data,
					     .write = write_bare,
					     .write_ctrl = write_ctrl,
					     .send_empty = send_message,
					     .send = send_message,
					     .write_immediate = write_immediate};

ssize_t __wrap_dofi_ctrl_msg_announce(struct dofi_ep *of, enum dofi_ctrl_kind kind, uint32_t value,
				      uint32_t length);
bool __wrap_dofi_rmr_invalidate(struct dofi_ia *of, uint32_t context, const struct dofi_pz *zone,
				uint32_t conn);
void __wrap_dofi_ep_stall(struct dofi_ep *of);

ssize_t __wrap_dofi_ctrl_msg_announce(struct dofi_ep *of, enum dofi_ctrl_kind kind, uint32_t value,
				      uint32_t length)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert_int_eq(kind, DOFI_CTRL_IMMEDIATE);
	ck_assert_uint_eq(value, VALUE);
	ck_assert_uint_eq(length, slot.wr.length);
	return step(RECORD);
}

bool __wrap_dofi_rmr_invalidate(struct dofi_ia *of, uint32_t context, const struct dofi_pz *zone,
				uint32_t conn)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_uint_eq(context, VALUE);
	ck_assert_ptr_eq(zone, &pz);
	ck_assert_uint_eq(conn, OURS);
	return !seen.is_not_ours;
}

void __wrap_dofi_ep_stall(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	seen.stalls++;
}

/* --- the connection manager --- */

static struct dofi_ep *ep_of(struct dofi_ia *of, uint32_t id)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_uint_eq(id, OURS);
	return seen.knows_nobody ? NULL : &ep;
}

static uint64_t invalidate(struct dofi_ia *of, uint32_t context, bool announced)
{
	ck_assert(announced); /* the sender waits for it */
	ck_assert_ptr_eq(of, &ia);
	seen.invalidated = context;
	return 0;
}

static const struct dofi_upcalls upcalls = {.ep_of = ep_of, .invalidate = invalidate};

/* --- */

static void setup(void)
{
	dofi_lock_init_level(&ia.engine.lock, DOFI_LEVEL_ENGINE);
	dofi_lock_init_level(&ep.lock, DOFI_LEVEL_EP);
	ia.trans = ep.trans = &fabric;
	ia.up = &upcalls;
	ep.obj.ia = &ia;
	ep.pz = &pz;
	ep.conn_id = OURS;
	ep.peer.number = THEIRS;
	ep.peer.ctrl_key = 88;
	ep.peer.ctrl_address = 0x8000;
	ep.req = (struct dofi_ring){.base = (char *)&slot,
				    .stride = sizeof(slot),
				    .max_iov = 2,
				    .fabric_iov = 2,
				    .desc_at = offsetof(struct dofi_wr, iov[2])};
	seen.refuses = STEPS;
	dofi_lock(&ia.engine.lock);
	dofi_lock(&ep.lock);
}

static void teardown(void)
{
	dofi_unlock(&ep.lock);
	dofi_unlock(&ia.engine.lock);
}

static struct dofi_wr *post(uint64_t length)
{
	slot.wr = (struct dofi_wr){.ep = &ep,
				   .op = DOFI_OP_WRITE_IMM,
				   .state = DOFI_WR_ISSUED,
				   .length = length,
				   .niov = 1};
	*dofi_wr_immediate(&ep.req, &slot.wr) = VALUE;
	return &slot.wr;
}

/* Data, control record, message; the event comes when the write is complete. */
START_TEST(a_write_is_followed_by_a_record_and_a_message)
{
	struct dofi_wr *wr = post(LENGTH);

	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 0);
	for (int i = 0; i < STEPS; i++)
		ck_assert_int_eq(seen.calls[i], 1);
	ck_assert_uint_eq(seen.data, dofi_ctrl_data(&ep, DOFI_CTRL_LENGTH, LENGTH));
	ck_assert_uint_eq(seen.record, dofi_ctrl_data(&ep, DOFI_CTRL_IMMEDIATE, VALUE));
	ck_assert_uint_eq(ep.nsent, 1);
	ck_assert_uint_eq(wr->state, DOFI_WR_ISSUED);
	ck_assert(dofi_ctrl_outstanding(wr));
	ck_assert(dofi_ctrl_completed(wr));
	ck_assert(!dofi_ctrl_outstanding(wr));
}
END_TEST

/* The fabric has no operation that completes. */
START_TEST(a_write_of_nothing_is_complete_at_once)
{
	struct dofi_wr *wr = post(0);

	seen.refuses = MESSAGE;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), -FI_EAGAIN);
	ck_assert(!dofi_ctrl_outstanding(wr));
	seen.refuses = STEPS;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 0);
	ck_assert_int_eq(seen.calls[DATA], 0);
	ck_assert_int_eq(seen.calls[RECORD], 1);
	ck_assert_int_eq(seen.calls[MESSAGE], 1);
	ck_assert_uint_eq(wr->state, DOFI_WR_DONE);
	ck_assert(!dofi_ctrl_outstanding(wr));
}
END_TEST

START_TEST(a_refused_step_is_tried_again_alone)
{
	struct dofi_wr *wr = post(LENGTH);

	seen.refuses = _i;
	for (int tries = 0; tries < 3; tries++) {
		ck_assert_int_eq(dofi_ctrl_start(&ep, wr), -FI_EAGAIN);
		for (int i = 0; i < STEPS; i++)
			ck_assert_int_eq(seen.calls[i], i < _i);
		ck_assert_uint_eq(ep.nsent, 0);
		ck_assert(dofi_ctrl_outstanding(wr) == (_i > DATA));
	}
	seen.refuses = STEPS;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 0);
	for (int i = 0; i < STEPS; i++)
		ck_assert_int_eq(seen.calls[i], 1);
	ck_assert_uint_eq(ep.nsent, 1);
}
END_TEST

/* The write is complete before the message is sent: then nothing completes any more. */
START_TEST(a_write_that_completes_between_the_steps)
{
	struct dofi_wr *wr = post(LENGTH);

	seen.refuses = _i;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), -FI_EAGAIN);
	ck_assert(!dofi_ctrl_completed(wr));
	ck_assert(!dofi_ctrl_outstanding(wr));
	ck_assert_uint_eq(wr->state, DOFI_WR_ISSUED);
	seen.refuses = STEPS;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 0);
	ck_assert_uint_eq(wr->state, DOFI_WR_DONE);
	ck_assert_int_eq(seen.calls[DATA], 1);
}
END_TEST

/* Its completion is still to come, also if it has no bytes. */
START_TEST(a_device_takes_it_as_one_operation)
{
	struct dofi_wr *wr = post(_i ? LENGTH : 0);

	ia.has_immediates = true;
	seen.refuses = DATA;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), -FI_EAGAIN);
	ck_assert_uint_eq(ep.nsent, 0);
	seen.refuses = STEPS;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 0);
	ck_assert_int_eq(seen.immediates, 1);
	ck_assert_uint_eq(seen.immediate, VALUE);
	ck_assert_uint_eq(ep.nsent, 1);
	ck_assert_int_eq(seen.calls[DATA] + seen.calls[RECORD] + seen.calls[MESSAGE], 0);
	ck_assert(dofi_ctrl_outstanding(wr));
	ck_assert(dofi_ctrl_completed(wr));
	wr->state = DOFI_WR_DONE;
	ck_assert(!dofi_ctrl_outstanding(wr));
}
END_TEST

START_TEST(what_the_path_does_by_itself)
{
	ck_assert(!dofi_op_is_native(&ep, DOFI_OP_WRITE_IMM));
	ck_assert(!dofi_op_is_native(&ep, DOFI_OP_FETCH_ADD));
	ia.has_immediates = true;
	ck_assert(dofi_op_is_native(&ep, DOFI_OP_WRITE_IMM));
	ck_assert(!dofi_op_is_native(&ep, DOFI_OP_SEND_INVALIDATE));
	ck_assert(!dofi_op_is_native(&ep, DOFI_OP_FETCH_ADD));
	ia.has_atomics = true;
	ck_assert(dofi_op_is_native(&ep, DOFI_OP_FETCH_ADD));
	ck_assert(dofi_op_is_native(&ep, DOFI_OP_CMP_SWAP));
	ep.streams = true; /* shared memory */
	ck_assert(!dofi_op_is_native(&ep, DOFI_OP_WRITE_IMM));
	ck_assert(!dofi_op_is_native(&ep, DOFI_OP_FETCH_ADD));
}
END_TEST

/* The library's answer ends an emulated one, and the device's completion a native one. */
START_TEST(an_atomic_operation_of_the_device_is_a_read)
{
	struct dofi_wr *wr = post(8);

	wr->op = DOFI_OP_FETCH_ADD;
	ck_assert(!dofi_ctrl_outstanding(wr));
	ia.has_atomics = true;
	ck_assert(dofi_ctrl_outstanding(wr));
	ep.reads = 2;
	ck_assert(dofi_ctrl_completed(wr));
	ck_assert_uint_eq(ep.reads, 1);
	wr->op = DOFI_OP_SEND_INVALIDATE;
	ck_assert(dofi_ctrl_outstanding(wr));
	ck_assert(dofi_ctrl_completed(wr));
	ck_assert_uint_eq(ep.reads, 1);
}
END_TEST

/* The fabric has its parts, each of which completes. */
START_TEST(a_request_in_parts_is_not_outstanding_itself)
{
	struct dofi_wr *wr = post(LENGTH);

	for (int i = 0; i < 2; i++) {
		wr->op = i ? DOFI_OP_WRITE : DOFI_OP_WRITE_IMM;
		wr->rdma.step = 1;
		wr->rdma.given = 0;
		ck_assert(dofi_ctrl_outstanding(wr));
		wr->rdma.given = 1;
		ck_assert(!dofi_ctrl_outstanding(wr));
	}
}
END_TEST

/* --- with control messages --- */

/* The fabric does not keep the order of a write and a message, so the message waits. */
START_TEST(the_message_waits_for_the_write)
{
	struct dofi_wr *wr = post(LENGTH);

	ep.ctrl_msgs = &ctrl_msgs;
	ia.order = DOFI_HOLD;
	seen.refuses = DATA;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), -FI_EAGAIN);
	ck_assert(!dofi_ctrl_outstanding(wr));
	seen.refuses = STEPS;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 1);
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 1);
	ck_assert_int_eq(seen.calls[DATA], 1);
	ck_assert_int_eq(seen.calls[RECORD], 0);
	ck_assert(dofi_ctrl_outstanding(wr));
	ck_assert(!dofi_ctrl_completed(wr));
	ck_assert_uint_eq(ep.nsent, 0);
	for (int i = RECORD; i < STEPS; i++) {
		seen.refuses = i;
		ck_assert_int_eq(dofi_ctrl_start(&ep, wr), -FI_EAGAIN);
		ck_assert_int_eq(seen.calls[i], 0);
		ck_assert(!dofi_ctrl_outstanding(wr));
		ck_assert_uint_eq(ep.nsent, 0);
	}
	seen.refuses = STEPS;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 0);
	for (int i = 0; i < STEPS; i++)
		ck_assert_int_eq(seen.calls[i], 1);
	ck_assert_uint_eq(ep.nsent, 1);
	ck_assert(dofi_ctrl_outstanding(wr)); /* the message */
	ck_assert(dofi_ctrl_completed(wr));
	wr->state = DOFI_WR_DONE;
	ck_assert(!dofi_ctrl_outstanding(wr));
}
END_TEST

/* The fabric keeps their order, so nothing waits; the write does not tell its length. */
START_TEST(the_message_follows_the_write_at_once)
{
	struct dofi_wr *wr = post(LENGTH);

	ep.ctrl_msgs = &ctrl_msgs;
	seen.data = 1;
	seen.refuses = _i;
	for (int tries = 0; _i != STEPS && tries < 2; tries++)
		ck_assert_int_eq(dofi_ctrl_start(&ep, wr), -FI_EAGAIN);
	seen.refuses = STEPS;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 0);
	for (int i = 0; i < STEPS; i++)
		ck_assert_int_eq(seen.calls[i], 1);
	ck_assert_uint_eq(seen.data, 0);
	ck_assert_uint_eq(seen.record, 0); /* it was announced */
	ck_assert_uint_eq(ep.nsent, 1);
	ck_assert_uint_eq(wr->state, DOFI_WR_ISSUED);
	ck_assert(dofi_ctrl_outstanding(wr));
	ck_assert(dofi_ctrl_completed(wr));
	ck_assert(!ep.unfenced);
}
END_TEST

START_TEST(only_a_write_of_bytes_needs_a_fence)
{
	ep.ctrl_msgs = &ctrl_msgs;
	ia.order = _i ? DOFI_FENCE : DOFI_HOLD;
	ep.streams = _i == 2; /* which keep the order */
	ck_assert_int_eq(dofi_ctrl_start(&ep, post(0)), 0);
	ck_assert(!ep.unfenced);
	ck_assert_int_eq(seen.calls[DATA], 0);
	memset(seen.calls, 0, sizeof(seen.calls));
	ck_assert_int_eq(dofi_ctrl_start(&ep, post(LENGTH)), 1);
	ck_assert(ep.unfenced == (_i == 1));
}
END_TEST

/* --- at the peer --- */

static void arrive(enum dofi_ctrl_kind kind, uint32_t value)
{
	uint64_t data;

	ep.peer.number = OURS; /* the sender's view */
	data = dofi_ctrl_data(&ep, kind, value);
	dofi_unlock(&ep.lock);
	dofi_ctrl_arrived(&ia, data);
	dofi_lock(&ep.lock);
}

START_TEST(a_record_is_taken_with_its_message)
{
	uint8_t status = DAT_DTO_SUCCESS;
	struct dofi_ctrl ctrl;

	arrive(DOFI_CTRL_LENGTH, LENGTH);
	arrive(DOFI_CTRL_IMMEDIATE, VALUE);
	ctrl = dofi_ctrl_take(&ep, &status);
	ck_assert_uint_eq(ctrl.kind, DOFI_CTRL_IMMEDIATE);
	ck_assert_uint_eq(ctrl.value, VALUE);
	ck_assert_uint_eq(ctrl.length, LENGTH);
	ck_assert_uint_eq(status, DAT_DTO_SUCCESS);
	ctrl = dofi_ctrl_take(&ep, &status); /* the next message has none */
	ck_assert_uint_eq(ctrl.kind, 0);
	ck_assert_uint_eq(ctrl.length, 0);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 0);
}
END_TEST

/* A credit update is applied at once, and a count of control messages is never a control write. */
START_TEST(other_records_are_about_no_message)
{
	uint8_t status = DAT_DTO_SUCCESS;

	arrive(DOFI_CTRL_CREDIT, DOFI_UPDATE_CREDIT | 6u << DOFI_UPDATE_CREDIT_SHIFT);
	ck_assert_uint_eq(ep.credit_total, 6);
	arrive(DOFI_CTRL_USED, VALUE);
	ck_assert_uint_eq(dofi_ctrl_take(&ep, &status).kind, 0);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 0);
}
END_TEST

/* Nothing of a former connection is left. */
START_TEST(a_new_connection_has_no_records)
{
	uint8_t status = DAT_DTO_SUCCESS;

	arrive(DOFI_CTRL_LENGTH, LENGTH);
	arrive(DOFI_CTRL_IMMEDIATE, VALUE);
	ep.atomics_used = 3;
	ep.answers_due = 5;
	ep.ctrl_msgs = &ctrl_msgs;
	ctrl_msgs.sent = ctrl_msgs.used = 7;
	dofi_ctrl_reset(&ep);
	ck_assert_uint_eq(ep.atomics_used, 0);
	ck_assert_uint_eq(ep.answers_due, 0);
	ck_assert_uint_eq(ctrl_msgs.sent, 0);
	ck_assert_uint_eq(ctrl_msgs.used, 0);
	ck_assert_uint_eq(dofi_ctrl_take(&ep, &status).kind, 0);
}
END_TEST

START_TEST(a_record_for_nobody_is_counted)
{
	seen.knows_nobody = true;
	arrive(DOFI_CTRL_IMMEDIATE, VALUE);
	ck_assert_uint_eq(ep.ctrl.kind, 0);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 1);
}
END_TEST

/* The sender knows that the context has ended; the other peers have to be told. */
START_TEST(an_invalidation_ends_the_context_for_all_peers)
{
	uint8_t status = DAT_DTO_SUCCESS;

	arrive(DOFI_CTRL_INVALIDATE, VALUE);
	ck_assert_uint_eq(dofi_ctrl_take(&ep, &status).kind, DOFI_CTRL_INVALIDATE);
	ck_assert_uint_eq(status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(seen.invalidated, VALUE);
	ck_assert(!ep.faulty);
}
END_TEST

START_TEST(a_context_of_others_is_not_ended)
{
	uint8_t status = DAT_DTO_SUCCESS;

	seen.is_not_ours = true;
	arrive(DOFI_CTRL_INVALIDATE, VALUE);
	dofi_ctrl_take(&ep, &status);
	ck_assert_uint_eq(status, DAT_DTO_ERR_LOCAL_PROTECTION);
	ck_assert_uint_eq(seen.invalidated, 0);
	ck_assert(ep.faulty);
	ck_assert_int_eq(seen.stalls, 1);
}
END_TEST

/* The peer's table names its control slots; memory of the program is not taken for them. */
START_TEST(only_control_slots_are_taken_for_them)
{
	struct dofi_ctx ctx = {.key = 3,
			       .address = 4,
			       .length = sizeof(struct dofi_ctrl_slots),
			       .privileges = DOFI_CTX_CTRL_SLOTS};

	ctx.length--;
	ck_assert(!dofi_ctrl_set_peer_slots(&ep, &ctx));
	ctx.length++;
	ctx.privileges = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	ck_assert(!dofi_ctrl_set_peer_slots(&ep, &ctx));
	ck_assert(!ep.peer.ctrl_known);
	ck_assert_uint_eq(ep.peer.ctrl_key, 88);
	ctx.privileges = DOFI_CTX_CTRL_SLOTS;
	ck_assert(dofi_ctrl_set_peer_slots(&ep, &ctx));
	ck_assert(ep.peer.ctrl_known);
	ck_assert_uint_eq(ep.peer.ctrl_key, 3);
	ck_assert_uint_eq(ep.peer.ctrl_address, 4);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("immediate");
	TCase *tcase = tcase_create("immediate");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_write_is_followed_by_a_record_and_a_message);
	tcase_add_test(tcase, a_write_of_nothing_is_complete_at_once);
	tcase_add_loop_test(tcase, a_refused_step_is_tried_again_alone, DATA, STEPS);
	tcase_add_loop_test(tcase, a_write_that_completes_between_the_steps, RECORD, STEPS);
	tcase_add_test(tcase, a_device_takes_it_as_one_operation);
	tcase_add_test(tcase, what_the_path_does_by_itself);
	tcase_add_test(tcase, an_atomic_operation_of_the_device_is_a_read);
	tcase_add_test(tcase, a_request_in_parts_is_not_outstanding_itself);
	tcase_add_test(tcase, the_message_waits_for_the_write);
	tcase_add_loop_test(tcase, the_message_follows_the_write_at_once, DATA, STEPS + 1);
	tcase_add_loop_test(tcase, only_a_write_of_bytes_needs_a_fence, 0, 3);
	tcase_add_test(tcase, a_record_is_taken_with_its_message);
	tcase_add_test(tcase, other_records_are_about_no_message);
	tcase_add_test(tcase, a_new_connection_has_no_records);
	tcase_add_test(tcase, a_record_for_nobody_is_counted);
	tcase_add_test(tcase, an_invalidation_ends_the_context_for_all_peers);
	tcase_add_test(tcase, a_context_of_others_is_not_ended);
	tcase_add_test(tcase, only_control_slots_are_taken_for_them);
	return t_run(suite);
}
