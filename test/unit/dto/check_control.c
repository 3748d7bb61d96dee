/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control slots: a peer can write to them at any time, also between the check and the use. And the
 * steps of requests with a control record, each of which the fabric may refuse for now.
 */
#include "unit.h"

#include "dto/atomic.h"
#include "dto/control.h"
#include "dto/control_message.h"
#include "dto/parts.h"
#include "dto/ring.h"
#include "object/ctxtab.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/transport.h"
#include "object/upcalls.h"
#include "progress/evd.h"
#include "progress/stall.h"

#include <rdma/fi_errno.h>
#include <string.h>

static struct dofi_ctrl_slots slots[1];
static struct dofi_ctx_wire wire[1];
static struct dofi_ep ep;
static struct dofi_ia ia;
static struct {
	int answers;
	uint64_t address, key;
} seen;

static ssize_t take_answer(struct dofi_ep *of, const void *record, size_t size, uint64_t raddr,
			   uint64_t rkey, uint64_t data)
{
	(void)record;
	(void)data;
	ck_assert_ptr_eq(of, &ep);
	ck_assert_uint_eq(size, sizeof(struct dofi_atomic_answer));
	seen.answers++;
	seen.address = raddr;
	seen.key = rkey;
	return 0;
}

static const struct dofi_trans_ops fabric = {.write_ctrl = take_answer};

/* --- a fabric that notes each step --- */

static char steps[16]; /* a letter each that was taken */
static char refused;   /* the step that is refused */
static uint64_t last_data;

static ssize_t step(char letter)
{
	const char text[2] = {letter, '\0'};

	if (letter == refused)
		return -FI_EAGAIN;
	ck_assert_uint_lt(strlen(steps), sizeof(steps) - 1);
	strcat(steps, text);
	return 0;
}

static ssize_t step_write_data(struct dofi_ep *of, struct dofi_wr *wr, uint64_t data)
{
	(void)of, (void)wr;
	last_data = data;
	return step('d');
}

static ssize_t step_write(struct dofi_ep *of, struct dofi_wr *wr)
{
	(void)of, (void)wr;
	return step('w');
}

static ssize_t step_write_immediate(struct dofi_ep *of, struct dofi_wr *wr, uint32_t value)
{
	(void)of, (void)wr;
	last_data = value;
	return step('i');
}

static ssize_t step_ctrl(struct dofi_ep *of, const void *record, size_t size, uint64_t raddr,
			 uint64_t rkey, uint64_t data)
{
	(void)of, (void)record, (void)size, (void)raddr, (void)rkey;
	last_data = data;
	return step('c');
}

static ssize_t step_ctrl_msg(struct dofi_ep *of, const void *ctrl_msg, size_t size)
{
	(void)of, (void)ctrl_msg, (void)size;
	return step('c');
}

static ssize_t step_empty(struct dofi_ep *of, struct dofi_wr *wr)
{
	(void)of, (void)wr;
	return step('m');
}

static ssize_t step_send(struct dofi_ep *of, struct dofi_wr *wr)
{
	(void)of, (void)wr;
	return step('s');
}

static const struct dofi_trans_ops stepwise = {.write = step_write,
					       .write_data = step_write_data,
					       .write_immediate = step_write_immediate,
					       .write_ctrl = step_ctrl,
					       .ctrl_msg = step_ctrl_msg,
					       .send_empty = step_empty,
					       .send = step_send};

static struct dofi_ctx cache[DOFI_RCACHE_SIZE];
static int ndrained;
static struct dofi_evd evd;
static struct dofi_event events[4];

static void drained(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	ndrained++;
}

static const struct dofi_upcalls upcalls = {.drained = drained};

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

/* --- steps --- */

#define IMMEDIATE 0x1234u
#define CONTEXT   0x10005u

static void begin_steps(bool with_ctrl_msgs)
{
	memset(steps, 0, sizeof(steps));
	refused = 0;
	ndrained = 0;
	memset(cache, 0, sizeof(cache));
	memset(slots, 0, sizeof(slots));
	ia.trans = ep.trans = &stepwise;
	ia.up = &upcalls;
	ia.limits.fabric_iov = 4;
	ia.has_immediates = false;
	ia.uses_ctrl_msgs = with_ctrl_msgs;
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_list_init(&ia.engine.stalled);
	ep.rcache = cache;
	dofi_lock_init(&evd.lock);
	evd.obj.ia = &ia;
	evd.ring = events;
	evd.qlen = 4;
	ep.req_evd = ep.recv_evd = &evd;
	ck_assert_int_eq(dofi_ring_init(&ia, &ep.req, 4, 4), 0);
	ck_assert_int_eq(dofi_ctrl_msgs_attach(&ep), 0);
}

static void end_steps(void)
{
	dofi_ctrl_msgs_detach(&ep);
	dofi_ring_fini(&ep.req);
}

static struct dofi_wr *request(uint8_t op, uint64_t length)
{
	struct dofi_wr *wr = dofi_ring_at(&ep.req, 0);

	ep.req.tail = 1;
	memset(wr, 0, sizeof(*wr));
	wr->ep = &ep;
	wr->op = op;
	wr->state = DOFI_WR_ISSUED;
	wr->length = length;
	if (op == DOFI_OP_WRITE_IMM)
		*dofi_wr_immediate(&ep.req, wr) = IMMEDIATE;
	else
		wr->send.context = CONTEXT;
	return wr;
}

/* Starts it while the fabric refuses one step, and again. */
static void start_twice(struct dofi_wr *wr, char step_refused, const char *before,
			const char *after)
{
	refused = step_refused;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), -FI_EAGAIN);
	ck_assert_str_eq(steps, before);
	ck_assert_uint_eq(ep.nsent, 0);
	refused = 0;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 0);
	ck_assert_str_eq(steps, after);
	ck_assert_uint_eq(ep.nsent, 1);
}

static const struct {
	char refused;
	const char *before;
} immediate_steps[] = {{'d', ""}, {'c', "d"}, {'m', "dc"}};

START_TEST(immediate_data_go_on_where_they_were_refused)
{
	struct dofi_wr *wr;

	begin_steps(false);
	wr = request(DOFI_OP_WRITE_IMM, 8);
	start_twice(wr, immediate_steps[_i].refused, immediate_steps[_i].before, "dcm");
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED); /* until the write is complete */
	ck_assert(dofi_ctrl_outstanding(wr));
	ck_assert(dofi_ctrl_completed(wr));
	ck_assert(!dofi_ctrl_outstanding(wr));
	end_steps();
}
END_TEST

START_TEST(immediate_data_without_bytes)
{
	struct dofi_wr *wr;

	begin_steps(false);
	wr = request(DOFI_OP_WRITE_IMM, 0);
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 0);
	ck_assert_str_eq(steps, "cm");
	ck_assert_int_eq(wr->state, DOFI_WR_DONE);
	end_steps();
}
END_TEST

/* The completion of the write comes while the message waits for room. */
START_TEST(immediate_data_whose_write_is_complete_first)
{
	struct dofi_wr *wr;

	begin_steps(false);
	wr = request(DOFI_OP_WRITE_IMM, 8);
	refused = 'm';
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), -FI_EAGAIN);
	ck_assert(!dofi_ctrl_completed(wr));
	refused = 0;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 0);
	ck_assert_int_eq(wr->state, DOFI_WR_DONE);
	end_steps();
}
END_TEST

START_TEST(immediate_data_of_the_fabric)
{
	struct dofi_wr *wr;

	begin_steps(false);
	ia.has_immediates = true;
	wr = request(DOFI_OP_WRITE_IMM, 8);
	start_twice(wr, 'i', "", "i");
	ck_assert_uint_eq(last_data, IMMEDIATE);
	ck_assert(dofi_ctrl_completed(wr));
	end_steps();
}
END_TEST

static const struct {
	char refused;
	const char *before;
} message_steps[] = {{'c', "w"}, {'s', "wc"}};

/* The control message may not overtake the write, so the write has to be complete. */
START_TEST(immediate_data_by_a_control_message)
{
	struct dofi_wr *wr;

	begin_steps(true);
	wr = request(DOFI_OP_WRITE_IMM, 8);
	refused = 'w';
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), -FI_EAGAIN);
	refused = 0;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 1);
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 1);
	ck_assert_str_eq(steps, "w");
	ck_assert(!dofi_ctrl_completed(wr));
	start_twice(wr, message_steps[_i].refused, message_steps[_i].before, "wcs");
	ck_assert(dofi_ctrl_outstanding(wr)); /* the message */
	ck_assert(dofi_ctrl_completed(wr));
	wr->state = DOFI_WR_DONE;
	ck_assert(!dofi_ctrl_outstanding(wr));
	end_steps();
}
END_TEST

static const struct {
	bool with_ctrl_msgs;
	char refused;
	const char *before;
} invalidating_steps[] = {{false, 'c', ""}, {false, 's', "c"}, {true, 'c', ""}, {true, 's', "c"}};

START_TEST(an_invalidation_goes_on_where_it_was_refused)
{
	struct dofi_wr *wr;

	begin_steps(invalidating_steps[_i].with_ctrl_msgs);
	wr = request(DOFI_OP_SEND_INVALIDATE, 8);
	start_twice(wr, invalidating_steps[_i].refused, invalidating_steps[_i].before, "cs");
	end_steps();
}
END_TEST

/* Requests behind the Send have to look the context up again, and find that it has ended. */
START_TEST(the_context_of_an_invalidation_is_forgotten)
{
	struct dofi_ctx *entry = &cache[CONTEXT % DOFI_RCACHE_SIZE];
	struct dofi_wr *wr, *behind;

	begin_steps(false);
	wr = request(DOFI_OP_SEND_INVALIDATE, 8);
	behind = dofi_ring_at(&ep.req, 1);
	*behind = (struct dofi_wr){.ep = &ep, .op = DOFI_OP_WRITE, .length = 8};
	behind->rdma.context = CONTEXT;
	behind->rdma.resolved = true;
	ep.req.tail = 2;
	*entry = (struct dofi_ctx){.context = CONTEXT, .length = 64};
	ep.peeking = true;
	ep.aux_ctx = _i ? CONTEXT : CONTEXT + 1;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 0);
	ck_assert(!behind->rdma.resolved);
	ck_assert_uint_eq(entry->length, 0);
	ck_assert_int_eq(ep.peek_outdated, _i); /* the answer under way is older */
	end_steps();
}
END_TEST

/* --- several parts --- */

static struct dofi_wr *request_of_parts(void)
{
	static uint8_t memory[16];
	struct dofi_wr *wr;

	ep.req.fabric_iov = ia.limits.fabric_iov = 1;
	ck_assert_int_eq(dofi_parts_init(&ia, &ep.parts, &ep.req), 0);
	wr = request(DOFI_OP_WRITE_IMM, 16);
	wr->niov = 2;
	wr->iov[0] = (struct iovec){memory, 8};
	wr->iov[1] = (struct iovec){memory + 8, 8};
	return wr;
}

/* The last part carries the length, or the immediate data itself. */
static const struct {
	bool with_ctrl_msgs, native;
	int ret;
	const char *steps;
} parted[] = {{false, false, 0, "wdcm"}, {false, true, 0, "wi"}, {true, false, 1, "ww"}};

START_TEST(immediate_data_of_a_write_in_parts)
{
	struct dofi_wr *wr;

	begin_steps(parted[_i].with_ctrl_msgs);
	ia.has_immediates = parted[_i].native;
	wr = request_of_parts();
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), parted[_i].ret);
	ck_assert_str_eq(steps, parted[_i].steps);
	ck_assert(!dofi_ctrl_outstanding(wr)); /* but its parts are */
	ck_assert_uint_eq(wr->split, 2);
	dofi_ring_fini(&ep.parts);
	end_steps();
}
END_TEST

/* --- atomic operations by control records --- */

START_TEST(an_atomic_request_without_room)
{
	struct dofi_wr *wr;

	begin_steps(_i);
	wr = request(DOFI_OP_FETCH_ADD, 8);
	refused = 'c';
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), -FI_EAGAIN);
	ck_assert_uint_eq(ep.atomics_used, 0);
	ck_assert_uint_eq(ep.reads, 0);
	refused = 0;
	ck_assert_int_eq(dofi_ctrl_start(&ep, wr), 0);
	ck_assert_uint_eq(ep.atomics_used, 1);
	ck_assert_uint_eq(ep.reads, 1);
	end_steps();
}
END_TEST

/* What must not overtake an atomic operation that has no answer yet. */
START_TEST(requests_behind_an_atomic_one)
{
	const struct dofi_wr write = {.op = DOFI_OP_WRITE},
			     invalidation = {.op = DOFI_OP_SEND_INVALIDATE};

	begin_steps(_i);
	ck_assert(dofi_atomic_may_start(&ep, &write));
	ep.atomics_used = 1;
	ck_assert(!dofi_atomic_may_start(&ep, &write));
	ck_assert_int_eq(dofi_atomic_may_start(&ep, &invalidation), !_i);
	end_steps();
}
END_TEST

START_TEST(a_report_of_used_control_messages_without_room)
{
	begin_steps(true);
	ep.ctrl_msgs->used = DOFI_CTRL_MSG_WINDOW;
	ep.answers_due = DOFI_CTRL_MSGS_DUE;
	refused = 'c';
	dofi_ctrl_send_answers(&ep);
	ck_assert(ep.answers_due & DOFI_CTRL_MSGS_DUE);
	ck_assert(ep.stall.waits);
	refused = 0;
	dofi_ctrl_send_answers(&ep);
	ck_assert_uint_eq(ep.answers_due, 0);
	dofi_stall_end(&ia, &ep.stall);
	end_steps();
}
END_TEST

/* --- what a peer says --- */

START_TEST(slots_of_a_peer_have_a_kind_and_a_size)
{
	struct dofi_ctx ctx = {.privileges = DOFI_CTX_CTRL_SLOTS,
			       .length = sizeof(struct dofi_ctrl_slots),
			       .key = 5,
			       .address = 0x1000};

	ctx.length--;
	ck_assert(!dofi_ctrl_set_peer_slots(&ep, &ctx));
	ctx.length++;
	ctx.privileges = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	ck_assert(!dofi_ctrl_set_peer_slots(&ep, &ctx));
	ck_assert(!ep.peer.ctrl_known);
	ctx.privileges = DOFI_CTX_CTRL_SLOTS;
	ck_assert(dofi_ctrl_set_peer_slots(&ep, &ctx));
	ck_assert(ep.peer.ctrl_known);
	ck_assert_uint_eq(ep.peer.ctrl_key, 5);
}
END_TEST

START_TEST(an_answer_without_room_is_sent_later)
{
	begin_steps(false);
	slots[0].requests[1] = (struct dofi_atomic_request){.op = DOFI_OP_FETCH_ADD};
	ep.path_up = true;
	refused = 'c';
	dofi_atomic_arrived(&ep, 1);
	ck_assert_uint_eq(ep.answers_due, 1u << 1);
	ck_assert(ep.stall.waits);
	refused = 0;
	dofi_ctrl_send_answers(&ep);
	ck_assert_uint_eq(ep.answers_due, 0);
	ck_assert_str_eq(steps, "c");
	dofi_stall_end(&ia, &ep.stall);
	end_steps();
}
END_TEST

/* An answer to slot 2, where a request waits. */
static void answer_arrives(DAT_DTO_COMPLETION_STATUS status, uint64_t *result)
{
	struct dofi_wr *wr = request(DOFI_OP_FETCH_ADD, 8);

	wr->niov = 1;
	wr->iov[0] = (struct iovec){result, sizeof(*result)};
	ep.req.issue = 1;
	ep.atomics_used = 1u << 2;
	ep.reads = 1;
	slots[0].answers[2] = (struct dofi_atomic_answer){.value = 99, .status = status};
	dofi_atomic_arrived(&ep, DOFI_CTRL_ANSWER | 2);
	ck_assert_uint_eq(ep.atomics_used, 0);
	ck_assert_uint_eq(ep.reads, 0);
}

START_TEST(an_answer_completes_its_request)
{
	uint64_t result = 0;

	begin_steps(false);
	ep.state = _i ? DAT_EP_STATE_DISCONNECT_PENDING : DAT_EP_STATE_CONNECTED;
	answer_arrives(DAT_DTO_SUCCESS, &result);
	ck_assert_uint_eq(result, 99);
	ck_assert(!ep.faulty);
	ck_assert_int_eq(ndrained, _i);
	end_steps();
}
END_TEST

START_TEST(a_refusal_of_the_peer_breaks_the_connection)
{
	uint64_t result = 0;

	begin_steps(false);
	answer_arrives(DAT_DTO_ERR_REMOTE_ACCESS, &result);
	ck_assert_uint_eq(result, 0);
	ck_assert(ep.faulty && ep.stall.waits);
	dofi_stall_end(&ia, &ep.stall);
	end_steps();
}
END_TEST

START_TEST(lies_about_slots_are_ignored)
{
	begin_steps(false);
	ep.path_up = true;
	ep.reads = 1;
	dofi_atomic_arrived(&ep, DOFI_CTRL_SLOTS);
	dofi_atomic_arrived(&ep, DOFI_CTRL_ANSWER | DOFI_CTRL_SLOTS);
	dofi_atomic_arrived(&ep, DOFI_CTRL_ANSWER | 1); /* nobody has asked */
	ia.ctrl_memory.slots = NULL;
	dofi_atomic_arrived(&ep, 1);
	ck_assert_uint_eq(ep.answers_due, 0);
	ck_assert_uint_eq(ep.reads, 1);
	ck_assert_str_eq(steps, "");
	end_steps();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("control");
	TCase *tcase = tcase_create("control");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, an_answer_goes_where_its_request_said);
	tcase_add_loop_test(tcase, immediate_data_go_on_where_they_were_refused, 0, 3);
	tcase_add_test(tcase, immediate_data_without_bytes);
	tcase_add_test(tcase, immediate_data_whose_write_is_complete_first);
	tcase_add_test(tcase, immediate_data_of_the_fabric);
	tcase_add_loop_test(tcase, immediate_data_by_a_control_message, 0, 2);
	tcase_add_loop_test(tcase, an_invalidation_goes_on_where_it_was_refused, 0, 4);
	tcase_add_loop_test(tcase, the_context_of_an_invalidation_is_forgotten, 0, 2);
	tcase_add_loop_test(tcase, immediate_data_of_a_write_in_parts, 0, 3);
	tcase_add_loop_test(tcase, an_atomic_request_without_room, 0, 2);
	tcase_add_loop_test(tcase, requests_behind_an_atomic_one, 0, 2);
	tcase_add_test(tcase, a_report_of_used_control_messages_without_room);
	tcase_add_test(tcase, slots_of_a_peer_have_a_kind_and_a_size);
	tcase_add_test(tcase, an_answer_without_room_is_sent_later);
	tcase_add_loop_test(tcase, an_answer_completes_its_request, 0, 2);
	tcase_add_test(tcase, a_refusal_of_the_peer_breaks_the_connection);
	tcase_add_test(tcase, lies_about_slots_are_ignored);
	return t_run(suite);
}
