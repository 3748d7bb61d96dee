/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control messages: their contents, the order of control message and message, their number, and
 * invalid ones.
 */
#include "t_heap.h"
#include "unit.h"

#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/dto/control_message.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/dto/atomic.h"
#include "../../../prov/ofi/dto/control.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/upcalls.h"
#include "../../../prov/ofi/cm/conn_state.h"
#include "../../../prov/ofi/dto/issue.h"
#include "../../../prov/ofi/dto/receive.h"

#include <rdma/fi_errno.h>
#include <string.h>

#define OURS   5u /* our number of the connection */
#define THEIRS 9u /* the peer's number of it */
#define SECRET 0x5ec2e7u
#define BARE   offsetof(struct dofi_ctrl_msg, request)

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_conn conn;
static struct fi_info info;
static struct fi_tx_attr tx_attr;

/* --- functions that control_message.c calls --- */

static struct {
	struct dofi_ctrl_msg ctrl_msg; /* the latest one sent */
	size_t size;
	int sent, issued, stalled, synced, noted, slots;
	uint32_t message, value;
	ssize_t answer; /* of the fabric */
	bool slots_possible;
} seen;

static ssize_t take_ctrl_msg(struct dofi_ep *from, const void *ctrl_msg, size_t size)
{
	ck_assert_ptr_eq(from, &ep);
	if (seen.answer)
		return seen.answer;
	memset(&seen.ctrl_msg, 0, sizeof(seen.ctrl_msg));
	memcpy(&seen.ctrl_msg, ctrl_msg, size);
	ck_assert_uint_eq(seen.ctrl_msg.number, THEIRS);
	ck_assert_uint_eq(seen.ctrl_msg.secret, SECRET);
	seen.size = size;
	seen.sent++;
	return 0;
}

static const struct dofi_trans_ops with_ctrl_msgs = {.ctrl_msg = take_ctrl_msg}, without;

static struct dofi_ep *ep_of(struct dofi_ia *of, uint32_t id)
{
	ck_assert_ptr_eq(of, &ia);
	return id == OURS && !dofi_conn_is_over(&conn) ? conn.ep : NULL;
}

static const struct dofi_upcalls upcalls = {.ep_of = ep_of};

void dofi_ep_issue(struct dofi_ep *of)
{
	(void)of;
	seen.issued++;
}

void dofi_ep_stall(struct dofi_ep *of)
{
	(void)of;
	seen.stalled++;
}

bool dofi_ep_sync(struct dofi_ep *of)
{
	seen.synced++;
	of->unfenced = false; /* as a fenced read does */
	of->peeking = true;
	return true;
}

void dofi_receive_ctrl_arrived(struct dofi_ep *of, uint32_t message)
{
	(void)of;
	seen.noted++;
	seen.message = message;
}

void dofi_atomic_arrived(struct dofi_ep *of, uint32_t value)
{
	(void)of;
	seen.slots++;
	seen.value = value;
}

bool dofi_ctrl_slots_possible(const struct dofi_ia *of)
{
	(void)of;
	return seen.slots_possible;
}

/* --- */

static void setup(void)
{
	ia.trans = ep.trans = &with_ctrl_msgs;
	ia.up = &upcalls;
	ia.info = &info;
	ia.has_data = ia.uses_ctrl_msgs = true;
	info.tx_attr = &tx_attr;
	tx_attr.inject_size = DOFI_CTRL_MSG_MAX;
	ep.obj.ia = &ia;
	ep.peer.number = THEIRS;
	ep.peer.secret = SECRET;
	conn.ep = &ep;
	conn.state = DOFI_CONN_ESTABLISHED;
	dofi_lock_init(&ep.lock);
	ck_assert_int_eq(dofi_ctrl_msgs_attach(&ep), 0);
	dofi_lock(&ep.lock);
}

static void teardown(void)
{
	dofi_unlock(&ep.lock);
	dofi_ctrl_msgs_detach(&ep);
}

static void arrive(const struct dofi_ctrl_msg *ctrl_msg, size_t size)
{
	dofi_unlock(&ep.lock);
	dofi_lock(&ia.engine.lock);
	dofi_ctrl_msg_arrived(&ia, ctrl_msg, size);
	dofi_unlock(&ia.engine.lock);
	dofi_lock(&ep.lock);
}

static void arrive_about(uint32_t message, uint32_t value)
{
	const struct dofi_ctrl_msg ctrl_msg = {.number = OURS,
					       .kind = DOFI_CTRL_IMMEDIATE,
					       .value = value,
					       .message = message,
					       .length = 2 * value};

	arrive(&ctrl_msg, BARE);
}

static uint32_t kept(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < DOFI_CTRL_MSG_WINDOW; i++)
		n += ep.ctrl_msgs->kept[i].ctrl.kind != 0;
	return n;
}

START_TEST(an_EP_gives_the_memory_of_its_control_messages_back)
{
	size_t before = 0;

	for (int i = 0; i < 1000; i++) {
		dofi_ctrl_msgs_detach(&ep);
		ck_assert_ptr_null(ep.ctrl_msgs);
		ck_assert_int_eq(dofi_ctrl_msgs_attach(&ep), 0);
		before = i ? before : t_heap();
	}
	ck_assert_uint_lt(t_heap(), before + 100 * sizeof(*ep.ctrl_msgs));
}
END_TEST

START_TEST(when_control_messages_are_possible)
{
	ck_assert(dofi_ctrl_msgs_possible(&ia));
	seen.slots_possible = true; /* control writes are cheaper */
	ck_assert(!dofi_ctrl_msgs_possible(&ia));
	seen.slots_possible = false;
	tx_attr.inject_size--;
	ck_assert(!dofi_ctrl_msgs_possible(&ia));
	tx_attr.inject_size++;
	ia.has_data = false; /* a message could not announce its control message */
	ck_assert(!dofi_ctrl_msgs_possible(&ia));
	ia.has_data = true;
	ia.trans = ep.trans = &without;
	ck_assert(!dofi_ctrl_msgs_possible(&ia));
}
END_TEST

START_TEST(names_its_data_message)
{
	ep.nsent = 77;
	ck_assert_int_eq(dofi_ctrl_msg_announce(&ep, DOFI_CTRL_IMMEDIATE, 0xdeadbeef, 100), 0);
	ck_assert_uint_eq(seen.size, BARE);
	ck_assert_uint_eq(seen.ctrl_msg.kind, DOFI_CTRL_IMMEDIATE);
	ck_assert_uint_eq(seen.ctrl_msg.value, 0xdeadbeef);
	ck_assert_uint_eq(seen.ctrl_msg.message, 77);
	ck_assert_uint_eq(seen.ctrl_msg.length, 100);
}
END_TEST

START_TEST(sender_waits_if_the_window_is_full)
{
	struct dofi_ctrl_msg used = {.number = OURS, .kind = DOFI_CTRL_USED};

	seen.answer = -FI_EAGAIN; /* a refused one does not count */
	ck_assert_int_eq(dofi_ctrl_msg_announce(&ep, DOFI_CTRL_INVALIDATE, 1, 0), -FI_EAGAIN);
	seen.answer = 0;
	for (uint32_t i = 0; i < DOFI_CTRL_MSG_WINDOW; i++)
		ck_assert_int_eq(dofi_ctrl_msg_announce(&ep, DOFI_CTRL_INVALIDATE, 1, 0), 0);
	ck_assert_int_eq(dofi_ctrl_msg_announce(&ep, DOFI_CTRL_INVALIDATE, 1, 0), 1);
	ck_assert_int_eq(seen.sent, (int)DOFI_CTRL_MSG_WINDOW);

	used.value = DOFI_CTRL_MSG_WINDOW + 1; /* more than were sent: invalid */
	arrive(&used, BARE);
	ck_assert_int_eq(dofi_ctrl_msg_announce(&ep, DOFI_CTRL_INVALIDATE, 1, 0), 1);
	used.value = 2;
	arrive(&used, BARE);
	ck_assert_int_eq(seen.issued, 1);
	used.value = 1; /* an older count */
	arrive(&used, BARE);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(dofi_ctrl_msg_announce(&ep, DOFI_CTRL_INVALIDATE, 1, 0), 0);
	ck_assert_int_eq(dofi_ctrl_msg_announce(&ep, DOFI_CTRL_INVALIDATE, 1, 0), 1);
}
END_TEST

START_TEST(control_message_comes_before_its_message)
{
	arrive_about(3, 30);
	arrive_about(2, 20);
	ck_assert_int_eq(seen.noted, 2);
	ck_assert_uint_eq(seen.message, 2);
	ck_assert(!dofi_ctrl_msg_has_arrived(&ep, 1));
	ck_assert(!dofi_ctrl_msg_use(&ep, 1));
	ck_assert(dofi_ctrl_msg_has_arrived(&ep, 3));
	ck_assert(dofi_ctrl_msg_use(&ep, 2));
	ck_assert_uint_eq(ep.ctrl.kind, DOFI_CTRL_IMMEDIATE);
	ck_assert_uint_eq(ep.ctrl.value, 20);
	ck_assert_uint_eq(ep.ctrl.length, 40);
	ck_assert(!dofi_ctrl_msg_use(&ep, 2));
	ck_assert(dofi_ctrl_msg_use(&ep, 3));
	ck_assert_uint_eq(ep.ctrl.value, 30);
	ck_assert_uint_eq(kept(), 0);
}
END_TEST

START_TEST(message_comes_before_its_control_message)
{
	ck_assert(!dofi_ctrl_msg_use(&ep, 0));
	arrive_about(0, 7);
	ck_assert_int_eq(seen.noted, 1);
	ck_assert(dofi_ctrl_msg_use(&ep, 0));
}
END_TEST

START_TEST(reader_announces_used_control_messages)
{
	for (uint32_t i = 0; i < DOFI_CTRL_MSG_WINDOW / 2; i++) {
		ck_assert_uint_eq(ep.answers_due, 0);
		ck_assert(dofi_ctrl_msg_send_used(&ep));
		arrive_about(i, i);
		ck_assert(dofi_ctrl_msg_use(&ep, i));
	}
	ck_assert_int_eq(seen.sent, 0); /* it is not due before */
	ck_assert_uint_eq(ep.answers_due, DOFI_CTRL_MSGS_DUE);
	ck_assert_int_eq(seen.stalled, 1);
	seen.answer = -FI_EAGAIN;
	ck_assert(!dofi_ctrl_msg_send_used(&ep));
	seen.answer = 0;
	ck_assert(dofi_ctrl_msg_send_used(&ep));
	ck_assert_uint_eq(seen.ctrl_msg.kind, DOFI_CTRL_USED);
	ck_assert_uint_eq(seen.ctrl_msg.value, DOFI_CTRL_MSG_WINDOW / 2);
	ck_assert(dofi_ctrl_msg_send_used(&ep)); /* the count has not changed */
	ck_assert_int_eq(seen.sent, 1);
}
END_TEST

static void use_half_a_window(uint32_t first)
{
	for (uint32_t i = first; i < first + DOFI_CTRL_MSG_WINDOW / 2; i++) {
		arrive_about(i, i);
		ck_assert(dofi_ctrl_msg_use(&ep, i));
	}
}

/* Each half of a window is announced once. */
START_TEST(the_count_of_used_control_messages_goes_on)
{
	for (uint32_t n = 0; n < 3; n++) {
		use_half_a_window(n * DOFI_CTRL_MSG_WINDOW / 2);
		ck_assert_uint_eq(ep.answers_due, DOFI_CTRL_MSGS_DUE);
		ck_assert_int_eq(seen.stalled, (int)n + 1);
		ep.answers_due = 0;
		ck_assert(dofi_ctrl_msg_send_used(&ep));
		ck_assert_int_eq(seen.sent, (int)n + 1);
		ck_assert_uint_eq(seen.ctrl_msg.value, (n + 1) * DOFI_CTRL_MSG_WINDOW / 2);
		ck_assert_uint_eq(seen.size, BARE);
	}
}
END_TEST

static void fill_the_window(void)
{
	for (uint32_t i = 0; i < DOFI_CTRL_MSG_WINDOW; i++)
		ck_assert_int_eq(dofi_ctrl_msg_announce(&ep, DOFI_CTRL_INVALIDATE, 1, 0), 0);
	ck_assert_int_eq(dofi_ctrl_msg_announce(&ep, DOFI_CTRL_INVALIDATE, 1, 0), 1);
}

START_TEST(a_peer_that_has_used_all_opens_the_window)
{
	const struct dofi_ctrl_msg used = {.number = OURS,
					   .kind = DOFI_CTRL_USED,
					   .value = DOFI_CTRL_MSG_WINDOW};

	fill_the_window();
	arrive(&used, BARE);
	ck_assert_int_eq(seen.issued, 1);
	fill_the_window();
}
END_TEST

/* Other members of the record do not matter for it. */
START_TEST(an_invalidation_is_kept_for_its_message)
{
	const struct dofi_ctrl_msg ctrl_msg = {.number = OURS,
					       .kind = DOFI_CTRL_INVALIDATE,
					       .value = 77,
					       .message = 6};

	arrive(&ctrl_msg, BARE);
	ck_assert_int_eq(seen.noted, 1);
	ck_assert_uint_eq(seen.message, 6);
	ck_assert(dofi_ctrl_msg_use(&ep, 6));
	ck_assert_uint_eq(ep.ctrl.kind, DOFI_CTRL_INVALIDATE);
	ck_assert_uint_eq(ep.ctrl.value, 77);
	ck_assert_uint_eq(ep.ctrl.length, 0);
}
END_TEST

/* The last slot, and the first number that is none. */
START_TEST(slots_of_operations_have_a_limit)
{
	struct dofi_ctrl_msg ctrl_msg = {.number = OURS, .kind = DOFI_CTRL_ATOMIC};
	uint32_t flag = _i ? DOFI_CTRL_ANSWER : 0;

	ctrl_msg.value = flag | (DOFI_CTRL_SLOTS - 1);
	arrive(&ctrl_msg, DOFI_CTRL_MSG_MAX);
	ck_assert_int_eq(seen.slots, 1);
	ck_assert_uint_eq(seen.value, ctrl_msg.value);
	ctrl_msg.value = flag | DOFI_CTRL_SLOTS;
	arrive(&ctrl_msg, DOFI_CTRL_MSG_MAX);
	ck_assert_int_eq(seen.slots, 1);
}
END_TEST

START_TEST(more_than_the_window_are_dropped)
{
	for (uint32_t i = 0; i < 2 * DOFI_CTRL_MSG_WINDOW; i++)
		arrive_about(i, i);
	ck_assert_uint_eq(kept(), DOFI_CTRL_MSG_WINDOW);
	ck_assert_int_eq(seen.noted, (int)DOFI_CTRL_MSG_WINDOW);
	ck_assert(dofi_ctrl_msg_has_arrived(&ep, DOFI_CTRL_MSG_WINDOW - 1));
	ck_assert(!dofi_ctrl_msg_has_arrived(&ep, DOFI_CTRL_MSG_WINDOW));
	dofi_ctrl_msgs_reset(&ep);
	arrive_about(4, 1);
	arrive_about(4, 2); /* a message has at most one */
	ck_assert_uint_eq(kept(), 1);
	ck_assert(dofi_ctrl_msg_use(&ep, 4));
	ck_assert_uint_eq(ep.ctrl.value, 1);
}
END_TEST

START_TEST(operations_in_control_slots)
{
	struct dofi_atomic_request request = {
		.op = DOFI_OP_FETCH_ADD, .context = 4, .address = 16, .operand = 1, .compare = 2};
	const struct dofi_atomic_answer answer = {.value = 8, .status = 9};
	struct dofi_ctrl_msg ctrl_msg;

	ck_assert_int_eq(dofi_ctrl_msg_request(&ep, 2, &request), 0);
	ck_assert_uint_eq(seen.size, DOFI_CTRL_MSG_MAX);
	ctrl_msg = seen.ctrl_msg;
	ctrl_msg.number = OURS;
	arrive(&ctrl_msg, seen.size);
	ck_assert_int_eq(seen.slots, 1);
	ck_assert_uint_eq(seen.value, 2);
	ck_assert_mem_eq(&ep.ctrl_msgs->slots.requests[2], &request,
			 offsetof(struct dofi_atomic_request, answer_key));
	ck_assert_uint_eq(ep.ctrl_msgs->slots.requests[2].answer_key, 0);
	ck_assert_uint_eq(ep.ctrl_msgs->slots.requests[2].answer_address, 0);
	ck_assert_uint_eq(ep.ctrl_msgs->slots.requests[3].op, 0);

	ck_assert_int_eq(dofi_ctrl_msg_answer(&ep, DOFI_CTRL_ANSWER | 3, &answer), 0);
	ctrl_msg = seen.ctrl_msg;
	ctrl_msg.number = OURS;
	arrive(&ctrl_msg, seen.size);
	ck_assert_int_eq(seen.slots, 2);
	ck_assert_mem_eq(&ep.ctrl_msgs->slots.answers[3], &answer, sizeof(answer));
	arrive(&ctrl_msg, seen.size - 1);
	ctrl_msg.value = DOFI_CTRL_ANSWER | DOFI_CTRL_SLOTS;
	arrive(&ctrl_msg, seen.size);
	ctrl_msg.value = 0;
	arrive(&ctrl_msg, DOFI_CTRL_MSG_MAX - 1);
	ctrl_msg.value = UINT32_MAX & ~DOFI_CTRL_ANSWER;
	arrive(&ctrl_msg, DOFI_CTRL_MSG_MAX);
	ck_assert_int_eq(seen.slots, 2);
}
END_TEST

/* Whatever the peer has written to the slots, which lie behind. */
START_TEST(no_message_is_found_in_the_slots)
{
	memset(&ep.ctrl_msgs->slots, 5, sizeof(ep.ctrl_msgs->slots));
	ck_assert(!dofi_ctrl_msg_has_arrived(&ep, 0x05050505));
	ck_assert(!dofi_ctrl_msg_has_arrived(&ep, 0));
}
END_TEST

/* A longer message than its kind needs, as for another kind. */
START_TEST(a_control_message_has_the_effect_of_its_kind)
{
	static const struct {
		enum dofi_ctrl_kind kind;
		int noted, slots, issued;
	} cases[] = {{DOFI_CTRL_IMMEDIATE, 1, 0, 0},
		     {DOFI_CTRL_INVALIDATE, 1, 0, 0},
		     {DOFI_CTRL_ATOMIC, 0, 1, 0},
		     {DOFI_CTRL_USED, 0, 0, 1},
		     {DOFI_CTRL_CREDIT, 0, 0, 0}};
	const struct dofi_ctrl_msg ctrl_msg = {.number = OURS, .kind = cases[_i].kind};

	arrive(&ctrl_msg, DOFI_CTRL_MSG_MAX);
	ck_assert_int_eq(seen.noted, cases[_i].noted);
	ck_assert_int_eq(seen.slots, cases[_i].slots);
	ck_assert_int_eq(seen.issued, cases[_i].issued);
}
END_TEST

START_TEST(invalid_control_messages_are_ignored)
{
	struct dofi_ctrl_msg ctrl_msg = {.number = OURS + 1, .kind = DOFI_CTRL_IMMEDIATE};

	arrive(&ctrl_msg, BARE);
	ctrl_msg.number = 0;
	arrive(&ctrl_msg, BARE);
	ctrl_msg.number = OURS;
	arrive(&ctrl_msg, BARE - 1);
	ctrl_msg.kind = 99;
	arrive(&ctrl_msg, BARE);
	ctrl_msg.kind = DOFI_CTRL_IMMEDIATE;
	conn.state = DOFI_CONN_RELEASING;
	arrive(&ctrl_msg, BARE);
	conn.state = DOFI_CONN_ESTABLISHED;
	conn.ep = NULL;
	arrive(&ctrl_msg, BARE);
	ck_assert_uint_eq(kept(), 0);
	ck_assert_int_eq(seen.noted, 0);
}
END_TEST

START_TEST(an_EP_without_control_messages)
{
	dofi_ctrl_msgs_detach(&ep);
	arrive_about(0, 1);
	ck_assert(!dofi_ctrl_msg_has_arrived(&ep, 0));
	ck_assert(!dofi_ctrl_msg_use(&ep, 0));
	dofi_ctrl_msgs_reset(&ep);
	ia.uses_ctrl_msgs = false;
	ck_assert_int_eq(dofi_ctrl_msgs_attach(&ep), 0);
	ck_assert_ptr_null(ep.ctrl_msgs);
}
END_TEST

START_TEST(control_messages_wait_for_unfenced_writes)
{
	struct dofi_wr write = {.op = DOFI_OP_WRITE_IMM},
		       invalidate = {.op = DOFI_OP_SEND_INVALIDATE},
		       add = {.op = DOFI_OP_FETCH_ADD};

	ep.reads = 1;
	ep.unfenced = true;
	ck_assert(dofi_ctrl_msg_may_start(&ep, &write));
	ck_assert(!dofi_ctrl_msg_may_start(&ep, &invalidate));
	ck_assert(!dofi_ctrl_msg_may_start(&ep, &add));
	ep.reads = 0;
	ep.writes = 1;
	ck_assert(dofi_ctrl_msg_may_start(&ep, &invalidate));
	ck_assert(!dofi_ctrl_msg_may_start(&ep, &add));
	ep.writes = 0;
	ck_assert_int_eq(seen.synced, 0); /* first they have to complete */
	ep.unfenced = false;
	ck_assert(dofi_ctrl_msg_may_start(&ep, &add));
	ep.unfenced = true; /* completed, but perhaps not arrived yet */
	ck_assert(!dofi_ctrl_msg_may_start(&ep, &add));
	ck_assert_int_eq(seen.synced, 1);
	ck_assert(!dofi_ctrl_msg_may_start(&ep, &add));
	ck_assert_int_eq(seen.synced, 1);
	ep.peeking = false;
	ck_assert(dofi_ctrl_msg_may_start(&ep, &add));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("control_message");
	TCase *tc = tcase_create("control_message");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, an_EP_gives_the_memory_of_its_control_messages_back);
	tcase_add_test(tc, when_control_messages_are_possible);
	tcase_add_test(tc, names_its_data_message);
	tcase_add_test(tc, sender_waits_if_the_window_is_full);
	tcase_add_test(tc, control_message_comes_before_its_message);
	tcase_add_test(tc, message_comes_before_its_control_message);
	tcase_add_test(tc, reader_announces_used_control_messages);
	tcase_add_test(tc, the_count_of_used_control_messages_goes_on);
	tcase_add_test(tc, a_peer_that_has_used_all_opens_the_window);
	tcase_add_test(tc, an_invalidation_is_kept_for_its_message);
	tcase_add_loop_test(tc, slots_of_operations_have_a_limit, 0, 2);
	tcase_add_test(tc, more_than_the_window_are_dropped);
	tcase_add_test(tc, operations_in_control_slots);
	tcase_add_test(tc, no_message_is_found_in_the_slots);
	tcase_add_loop_test(tc, a_control_message_has_the_effect_of_its_kind, 0, 5);
	tcase_add_test(tc, invalid_control_messages_are_ignored);
	tcase_add_test(tc, an_EP_without_control_messages);
	tcase_add_test(tc, control_messages_wait_for_unfenced_writes);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
