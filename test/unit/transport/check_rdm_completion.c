/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who gets what the shared endpoint completes: the EPs' requests, the library's own receives, and
 * errors, some of which end the stream to a peer. The linker redirects what is called to this file.
 */
#include "unit.h"

#include "../../../prov/ofi/transport/rdm_completion.c"
#include "progress/work.h"

#include <rdma/fi_tagged.h>
#include <string.h>

#define NUMBER 77u
#define SECRET 0xfeedu

static struct dofi_ia ia;
static struct dofi_rdm rdm;
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.domain_attr = &domain_attr};
static struct dofi_peer peer;
static struct dofi_conn conn = {.peer = &peer};
static struct dofi_ep ep = {.conn = &conn};
static struct dofi_ud_ah ud_ah;
static struct fid_ep endpoint;
static struct dofi_srq srq;

/* A request as the fabric knows it, by its context. */
static struct dofi_own_wr request = {.wr.ep = &ep}, own = {.wr.op = DOFI_OP_CTRL_RECV};

/* --- calls --- */

enum call { NOBODY, CTRL_MSG, MARK_ANSWERED, CREDIT, GREETING, CTRL, REAP, TAKEN, MISSING, AGAIN };

static enum call calls[16];
static unsigned int ncalls;
static uint64_t value; /* the argument of the last call */
static struct {
	struct dofi_wr *wr;
	int err;
	uint64_t length;
	uint32_t number, update;
} reaped;

static void note(enum call call, uint64_t argument)
{
	dofi_assert_held(&ia.engine.lock);
	ck_assert_uint_lt(ncalls, sizeof(calls) / sizeof(calls[0]));
	calls[ncalls++] = call;
	value = argument;
}

static void expect(enum call first, enum call second, enum call third)
{
	const enum call wanted[] = {first, second, third};

	for (unsigned int i = 0; i < 3; i++)
		ck_assert_int_eq(i < ncalls ? calls[i] : NOBODY, wanted[i]);
	ck_assert_uint_le(ncalls, 3);
	ncalls = 0;
}

struct dofi_conn *__wrap_dofi_conn_by_secret(struct dofi_ia *of, uint32_t id, uint32_t secret);
struct dofi_conn *__wrap_dofi_conn_by_id(struct dofi_ia *of, uint32_t id);
struct dofi_conn *__wrap_dofi_ud_conn_of(const struct dofi_wr *wr);
void __wrap_dofi_ctrl_msg_arrived(struct dofi_ia *of, const struct dofi_ctrl_msg *msg, size_t size);
void __wrap_dofi_ud_mark_answered(struct dofi_ud_ah *of, uint32_t update);
void __wrap_dofi_credit_arrived(struct dofi_ia *of, uint32_t number, uint32_t update);
void __wrap_dofi_greeting_arrived(struct dofi_ia *of, uint32_t number);
void __wrap_dofi_ctrl_arrived(struct dofi_ia *of, uint64_t data);
void __wrap_dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number,
			   uint32_t update);
void __wrap_dofi_ctrl_recv_taken(struct dofi_ia *of, struct dofi_wr *wr);
void __wrap_dofi_ctrl_recvs_post_missing(struct dofi_ia *of);
void __wrap_dofi_ctrl_recv_post_again(struct dofi_ia *of, struct dofi_wr *wr);

struct dofi_conn *__wrap_dofi_conn_by_secret(struct dofi_ia *of, uint32_t id, uint32_t secret)
{
	ck_assert_ptr_eq(of, &ia);
	return id == NUMBER && secret == SECRET ? &conn : NULL;
}

struct dofi_conn *__wrap_dofi_conn_by_id(struct dofi_ia *of, uint32_t id)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_uint_ne(id, 0);
	return id == NUMBER ? &conn : NULL;
}

struct dofi_conn *__wrap_dofi_ud_conn_of(const struct dofi_wr *wr)
{
	ck_assert_ptr_eq(wr, &request.wr);
	return &conn;
}

void __wrap_dofi_ctrl_msg_arrived(struct dofi_ia *of, const struct dofi_ctrl_msg *msg, size_t size)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_uint_eq(msg->number, NUMBER);
	note(CTRL_MSG, size);
}

void __wrap_dofi_ud_mark_answered(struct dofi_ud_ah *of, uint32_t update)
{
	ck_assert_ptr_eq(of, &ud_ah);
	note(MARK_ANSWERED, update);
}

void __wrap_dofi_credit_arrived(struct dofi_ia *of, uint32_t number, uint32_t update)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_uint_eq(number, NUMBER);
	note(CREDIT, update);
}

void __wrap_dofi_greeting_arrived(struct dofi_ia *of, uint32_t number)
{
	ck_assert_ptr_eq(of, &ia);
	note(GREETING, number);
}

void __wrap_dofi_ctrl_arrived(struct dofi_ia *of, uint64_t data)
{
	ck_assert_ptr_eq(of, &ia);
	note(CTRL, data);
}

void __wrap_dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number,
			   uint32_t update)
{
	note(REAP, 0);
	reaped.wr = wr;
	reaped.err = err;
	reaped.length = length;
	reaped.number = number;
	reaped.update = update;
}

/* The library posts the receive again, with its other buffer. */
void __wrap_dofi_ctrl_recv_taken(struct dofi_ia *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(wr, &rdm.credits[1].wr);
	rdm.second[1] = !rdm.second[1];
	note(TAKEN, 0);
}

void __wrap_dofi_ctrl_recvs_post_missing(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	note(MISSING, 0);
}

void __wrap_dofi_ctrl_recv_post_again(struct dofi_ia *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(wr, &own.wr);
	note(AGAIN, 0);
}

/* --- */

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_work_init(&ia.engine);
	ia.info = &info;
	ia.rdm = &rdm;
	ia.shared_ep = &endpoint;
	conn.state = DOFI_CONN_ESTABLISHED;
	atomic_store(&rdm.slots.most, 8);
	atomic_store(&rdm.slots.taken, 4);
	rdm.credits[1].wr.op = DOFI_OP_CTRL_RECV;
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
}

static void complete_one(struct fi_cq_tagged_entry entry)
{
	dofi_rdm_completed(&ia, &entry, 1);
}

/* --- the library's own receives --- */

static void have_post(struct dofi_ctrl_msg msg, size_t size)
{
	union dofi_ctrl_buffer *buffer = dofi_ctrl_recv_buffer(&rdm, &rdm.credits[1].wr, false);

	buffer->ctrl_msg = msg;
	complete_one((struct fi_cq_tagged_entry){.op_context = &rdm.credits[1].wr,
						 .flags = FI_RECV | FI_TAGGED,
						 .tag = DOFI_TAG_CTRL,
						 .len = size});
}

static void have_update(uint32_t number, uint32_t secret, uint32_t update, size_t size)
{
	union dofi_ctrl_buffer post = {.credit = {number, secret, update}};

	have_post(post.ctrl_msg, size);
}

START_TEST(posts_go_by_their_size_and_contents)
{
	const size_t size = sizeof(struct dofi_ctrl_credit);
	const uint32_t update = DOFI_UPDATE_CREDIT | 5u << DOFI_UPDATE_CREDIT_SHIFT;

	have_update(NUMBER, SECRET, update, size);
	expect(TAKEN, CREDIT, NOBODY);
	ck_assert_uint_eq(value, update);
	have_update(NUMBER, SECRET, 0, size);
	expect(TAKEN, GREETING, NOBODY);
	ck_assert_uint_eq(value, NUMBER);
	have_update(NUMBER, SECRET, update, size + 1);
	expect(TAKEN, CTRL_MSG, NOBODY);
	ck_assert_uint_eq(value, size + 1);
	conn.ud_ah = &ud_ah;
	have_update(NUMBER, SECRET, update, size);
	expect(TAKEN, MARK_ANSWERED, NOBODY);
	ck_assert_uint_eq(value, update);
	have_update(NUMBER, SECRET, 0, size);
	expect(TAKEN, GREETING, NOBODY);
	have_update(NUMBER, SECRET, update, sizeof(struct dofi_ctrl_msg));
	expect(TAKEN, CTRL_MSG, NOBODY);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_DATA_STRAY]), 0);
}
END_TEST

/* Any process that knows the address can send them. */
START_TEST(posts_of_strangers_are_counted_only)
{
	const size_t size = sizeof(struct dofi_ctrl_credit);
	const struct {
		uint32_t number, secret;
		size_t size;
	} cases[] = {{NUMBER + 1, SECRET, size},
		     {NUMBER, SECRET + 1, size},
		     {NUMBER, SECRET, size - 1},
		     {NUMBER, SECRET, 0},
		     {NUMBER + 1, SECRET, sizeof(struct dofi_ctrl_msg)}};

	have_update(cases[_i].number, cases[_i].secret, DOFI_UPDATE_CREDIT, cases[_i].size);
	expect(TAKEN, NOBODY, NOBODY);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_DATA_STRAY]), 1);
}
END_TEST

/* The message leads to room for receives of EPs, which must not come first. */
START_TEST(own_receives_are_posted_before_anything_else)
{
	const struct fi_cq_tagged_entry entries[] = {
		{.op_context = &request.wr, .flags = FI_RECV | FI_TAGGED},
		{.op_context = &rdm.credits[1].wr, .flags = FI_RECV | FI_TAGGED},
	};

	request.wr.op = DOFI_OP_RECV;
	dofi_rdm_completed(&ia, entries, 2);
	expect(TAKEN, REAP, NOBODY);
	rdm.unposted = 1;
	dofi_rdm_completed(&ia, entries, 1);
	expect(MISSING, REAP, NOBODY);
}
END_TEST

/* --- requests --- */

START_TEST(a_completion_reaches_its_request)
{
	static const struct {
		uint8_t op;
		bool takes_place;
	} cases[] = {{DOFI_OP_SEND, false},
		     {DOFI_OP_WRITE, false},
		     {DOFI_OP_READ, false},
		     {DOFI_OP_RECV, true},
		     {DOFI_OP_SRQ_RECV, true}};

	request.wr.op = cases[_i].op;
	complete_one((struct fi_cq_tagged_entry){.op_context = &request.wr,
						 .flags = FI_TAGGED,
						 .len = 123,
						 .tag = DOFI_TAG_EP | NUMBER,
						 .data = 0x1234567800000009});
	expect(REAP, NOBODY, NOBODY);
	ck_assert_ptr_eq(reaped.wr, &request.wr);
	ck_assert_int_eq(reaped.err, 0);
	ck_assert_uint_eq(reaped.length, 123);
	ck_assert_uint_eq(reaped.number, NUMBER);
	ck_assert_uint_eq(reaped.update, 0); /* there are no data */
	ck_assert_uint_eq(dofi_rx_slots_used(&rdm.slots), cases[_i].takes_place ? 3 : 4);
}
END_TEST

START_TEST(completion_data_hold_the_update)
{
	request.wr.op = DOFI_OP_RECV;
	complete_one((struct fi_cq_tagged_entry){.op_context = &request.wr,
						 .flags = FI_TAGGED | FI_REMOTE_CQ_DATA,
						 .tag = DOFI_TAG_EP | NUMBER,
						 .data = 0x1234567800000009});
	ck_assert_uint_eq(reaped.update, 9);
	ck_assert_uint_eq(reaped.number, NUMBER);
}
END_TEST

/* Where the tag of a message for an SRQ has to be known before, the data name the connection. */
START_TEST(the_connection_of_a_message_for_an_srq)
{
	static const struct {
		uint64_t quirks, flags;
		size_t data_size;
		uint32_t number;
	} cases[] = {{0, FI_REMOTE_CQ_DATA, 8, NUMBER},
		     {DOFI_QUIRK_TAG_MASK, FI_REMOTE_CQ_DATA, 8, 12},
		     {DOFI_QUIRK_TAG_MASK, FI_REMOTE_CQ_DATA, 4, NUMBER},
		     {DOFI_QUIRK_TAG_MASK, 0, 8, 0}};

	ia.quirks = cases[_i].quirks;
	domain_attr.cq_data_size = cases[_i].data_size;
	request.wr.op = DOFI_OP_SRQ_RECV;
	complete_one((struct fi_cq_tagged_entry){.op_context = &request.wr,
						 .flags = FI_TAGGED | cases[_i].flags,
						 .tag = DOFI_TAG_OF_SRQ(3) | NUMBER,
						 .data = 12ull << 32});
	ck_assert_uint_eq(reaped.number, cases[_i].number);
}
END_TEST

/* They have no request here. */
START_TEST(writes_of_peers_and_injected_messages)
{
	complete_one(
		(struct fi_cq_tagged_entry){.op_context = _i ? &rdm.credits[1].wr : NULL,
					    .flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
					    .data = 0x500000007});
	expect(CTRL, NOBODY, NOBODY);
	ck_assert_uint_eq(value, 0x500000007);
	complete_one((struct fi_cq_tagged_entry){.flags = FI_SEND | FI_TAGGED});
	expect(NOBODY, NOBODY, NOBODY);
	ck_assert_uint_eq(dofi_rx_slots_used(&rdm.slots), 4);
}
END_TEST

/* No peer sends records so, where they are messages. */
START_TEST(forged_records_are_counted)
{
	ia.uses_ctrl_msgs = true;
	complete_one(
		(struct fi_cq_tagged_entry){.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
					    .data = 0x500000007});
	expect(NOBODY, NOBODY, NOBODY);
	ck_assert_uint_eq(ia.counters[DOFI_CNT_IA_DATA_STRAY], 1);
}
END_TEST

START_TEST(each_entry_of_a_batch_is_handled)
{
	struct fi_cq_tagged_entry entries[3];

	request.wr.op = DOFI_OP_RECV;
	for (int i = 0; i < 3; i++)
		entries[i] = (struct fi_cq_tagged_entry){.op_context = &request.wr};
	dofi_rdm_completed(&ia, entries, 3);
	expect(REAP, REAP, REAP);
	ck_assert_uint_eq(dofi_rx_slots_used(&rdm.slots), 1);
}
END_TEST

/* --- errors --- */

static bool fail_one(struct dofi_wr *wr, int err, uint64_t tag)
{
	struct fi_cq_err_entry entry = {.op_context = wr, .err = err, .len = 11, .tag = tag};
	bool severed;

	dofi_rdm_failed(&ia, &entry);
	severed = !dofi_list_empty(&ia.engine.work);
	while (dofi_list_pop(&ia.engine.work))
		;
	return severed;
}

START_TEST(a_failed_request_has_its_error)
{
	request.wr.op = _i ? DOFI_OP_RECV : DOFI_OP_SEND;
	ck_assert(!fail_one(&request.wr, FI_EINVAL, DOFI_TAG_EP | NUMBER));
	expect(REAP, NOBODY, NOBODY);
	ck_assert_ptr_eq(reaped.wr, &request.wr);
	ck_assert_int_eq(reaped.err, FI_EINVAL);
	ck_assert_uint_eq(reaped.length, 11);
	ck_assert_uint_eq(reaped.number, NUMBER);
	ck_assert_uint_eq(reaped.update, 0);
	ck_assert_uint_eq(dofi_rx_slots_used(&rdm.slots), _i ? 3 : 4);
}
END_TEST

/*
 * By its number the library finds the turn of a truncated message. Not every provider sets the
 * flag.
 */
START_TEST(a_failed_receive_has_its_completion_data)
{
	struct fi_cq_err_entry entry = {.op_context = &request.wr,
					.err = FI_ETRUNC,
					.flags = _i ? FI_RECV | FI_REMOTE_CQ_DATA : FI_RECV,
					.tag = DOFI_TAG_SRQ | NUMBER,
					.data = 77};

	request.wr.op = DOFI_OP_SRQ_RECV;
	request.wr.srq = &srq;
	dofi_rdm_failed(&ia, &entry);
	ck_assert_int_eq(reaped.err, FI_ETRUNC);
	ck_assert_uint_eq(reaped.number, NUMBER);
	ck_assert_uint_eq(reaped.update, 77);
}
END_TEST

START_TEST(the_cause_of_an_error_counts)
{
	request.wr.op = DOFI_OP_SEND;
	ia.quirks = DOFI_QUIRK_RESET_IS_EIO;
	ck_assert(fail_one(&request.wr, FI_EIO, NUMBER));
	ck_assert_int_eq(reaped.err, FI_ECONNRESET);
}
END_TEST

/*
 * The layer above the device receives into buffers of its own, so a receive there is not too short
 * for its message. IBV_WC_LOC_QP_OP_ERR has other causes.
 */
START_TEST(a_status_of_the_device_tells_nothing_about_the_length)
{
	struct fi_cq_err_entry entry = {.op_context = &request.wr, .err = FI_EIO, .prov_errno = 2};

	request.wr.op = DOFI_OP_RECV;
	ia.quirks = DOFI_QUIRK_VERBS_STATUS;
	dofi_rdm_failed(&ia, &entry);
	expect(REAP, NOBODY, NOBODY);
	ck_assert_int_eq(reaped.err, FI_EIO);
}
END_TEST

/* Which errors end the stream to the peer, and which concern one operation. */
START_TEST(some_errors_end_the_stream)
{
	static const struct {
		int err;
		uint64_t quirks;
		bool ends;
	} cases[] = {{FI_EHOSTUNREACH, 0, true},
		     {FI_ECONNRESET, 0, true},
		     {FI_EACCES, 0, false},
		     {FI_ETRUNC, 0, false},
		     {FI_ETRUNC, DOFI_QUIRK_ENDS_STREAM, true},
		     {FI_EACCES, DOFI_QUIRK_ENDS_STREAM, false}};

	ia.quirks = cases[_i].quirks;
	request.wr.op = DOFI_OP_SEND;
	ck_assert(fail_one(&request.wr, cases[_i].err, NUMBER) == cases[_i].ends);
	conn.peer = NULL; /* it has not been found yet */
	ck_assert(!fail_one(&request.wr, cases[_i].err, NUMBER));
}
END_TEST

START_TEST(the_stream_is_that_of_the_connection)
{
	static const struct {
		uint8_t op;
		uint32_t number;
		enum dofi_conn_state state;
		bool found;
	} cases[] = {{DOFI_OP_SEND, 0, DOFI_CONN_ESTABLISHED, true},
		     {DOFI_OP_SEND, 0, DOFI_CONN_RELEASING, true},
		     {DOFI_OP_RECV, 0, DOFI_CONN_ESTABLISHED, true},
		     {DOFI_OP_RECV, 0, DOFI_CONN_LINGERING, false}, /* it was cancelled here */
		     {DOFI_OP_SEND_UD, 0, DOFI_CONN_ESTABLISHED, true},
		     {DOFI_OP_SRQ_RECV, NUMBER, DOFI_CONN_ESTABLISHED, true},
		     {DOFI_OP_SRQ_RECV, NUMBER + 1, DOFI_CONN_ESTABLISHED, false},
		     {DOFI_OP_SRQ_RECV, 0, DOFI_CONN_ESTABLISHED, false}};

	request.wr.op = cases[_i].op;
	if (cases[_i].op == DOFI_OP_SEND_UD || cases[_i].op == DOFI_OP_SRQ_RECV)
		ep.conn = NULL;
	if (cases[_i].op == DOFI_OP_SRQ_RECV)
		request.wr.srq = &srq;
	conn.state = cases[_i].state;
	ck_assert(fail_one(&request.wr, FI_EHOSTUNREACH, DOFI_TAG_SRQ | cases[_i].number) ==
		  cases[_i].found);
	expect(REAP, NOBODY, NOBODY);
}
END_TEST

/* Its tag may be that of an earlier message of a connection that lives. */
START_TEST(a_cancelled_receive_of_an_srq_has_no_message)
{
	srq.closing = true;
	request.wr.op = DOFI_OP_SRQ_RECV;
	request.wr.srq = &srq;
	ck_assert(!fail_one(&request.wr, FI_ECANCELED, DOFI_TAG_EP | NUMBER));
	expect(REAP, NOBODY, NOBODY);
	ck_assert_uint_eq(reaped.number, 0);
	ck_assert_uint_eq(dofi_rx_slots_used(&rdm.slots), 3);
}
END_TEST

START_TEST(a_request_of_an_ep_without_a_connection)
{
	ep.conn = NULL;
	request.wr.op = _i ? DOFI_OP_RECV : DOFI_OP_SEND;
	ck_assert(!fail_one(&request.wr, FI_EHOSTUNREACH, NUMBER));
	expect(REAP, NOBODY, NOBODY);
}
END_TEST

/* It has no EP. While the IA closes, it stays where it is. */
START_TEST(an_own_receive_that_failed_is_posted_again)
{
	ck_assert(!fail_one(&own.wr, FI_EHOSTUNREACH, DOFI_TAG_CTRL));
	expect(AGAIN, NOBODY, NOBODY);
	ck_assert_uint_eq(dofi_rx_slots_used(&rdm.slots), 4);
	ia.shared_ep = NULL;
	ck_assert(!fail_one(&own.wr, FI_ECANCELED, DOFI_TAG_CTRL));
	expect(REAP, NOBODY, NOBODY);
}
END_TEST

START_TEST(errors_of_no_request_of_this_side)
{
	struct fi_cq_err_entry errors[] = {
		{.err = FI_EHOSTUNREACH},
		{.err = FI_EIO, .flags = FI_REMOTE_WRITE, .op_context = &request.wr},
		{.err = FI_EIO, .flags = FI_REMOTE_READ, .op_context = &request.wr}};

	request.wr.op = DOFI_OP_RECV;
	dofi_rdm_failed(&ia, &errors[_i]);
	expect(NOBODY, NOBODY, NOBODY);
	ck_assert_uint_eq(dofi_rx_slots_used(&rdm.slots), 4);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rdm_completion");
	TCase *tc = tcase_create("rdm_completion");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, posts_go_by_their_size_and_contents);
	tcase_add_loop_test(tc, posts_of_strangers_are_counted_only, 0, 5);
	tcase_add_test(tc, own_receives_are_posted_before_anything_else);
	tcase_add_loop_test(tc, a_completion_reaches_its_request, 0, 5);
	tcase_add_test(tc, completion_data_hold_the_update);
	tcase_add_loop_test(tc, the_connection_of_a_message_for_an_srq, 0, 4);
	tcase_add_loop_test(tc, writes_of_peers_and_injected_messages, 0, 2);
	tcase_add_test(tc, forged_records_are_counted);
	tcase_add_test(tc, each_entry_of_a_batch_is_handled);
	tcase_add_loop_test(tc, a_failed_request_has_its_error, 0, 2);
	tcase_add_loop_test(tc, a_failed_receive_has_its_completion_data, 0, 2);
	tcase_add_test(tc, the_cause_of_an_error_counts);
	tcase_add_test(tc, a_status_of_the_device_tells_nothing_about_the_length);
	tcase_add_loop_test(tc, some_errors_end_the_stream, 0, 6);
	tcase_add_loop_test(tc, the_stream_is_that_of_the_connection, 0, 8);
	tcase_add_test(tc, a_cancelled_receive_of_an_srq_has_no_message);
	tcase_add_loop_test(tc, a_request_of_an_ep_without_a_connection, 0, 2);
	tcase_add_test(tc, an_own_receive_that_failed_is_posted_again);
	tcase_add_loop_test(tc, errors_of_no_request_of_this_side, 0, 3);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
