/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an EP leaves to the engine, and what the next round does with it: credit updates, answers,
 * waiting requests and receives, the end of the connection.
 */
#include "unit.h"

#include "../../../prov/ofi/dto/control.h"
#include "../../../prov/ofi/dto/credit.h"
#include "../../../prov/ofi/dto/issue.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/object/upcalls.h"
#include "../../../prov/ofi/progress/evd.h"
#include "../../../prov/ofi/progress/stall.h"

#include <rdma/fi_errno.h>
#include <string.h>

#define SLOTS 4u
#define OURS  5u

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_evd evd;
static struct dofi_event events[SLOTS];
static struct dofi_wr slots[2][SLOTS];
static char connection;
static struct dofi_conn *const conn = (struct dofi_conn *)&connection;

static struct {
	char order[16]; /* what the fabric got: a letter for each */
	unsigned int n;
	ssize_t answer;
	uint32_t update;
	unsigned int broken, path_down, last_message, drained, asked_for_bind;
} seen;

/* --- the fabric --- */

static ssize_t take(char letter)
{
	if (seen.answer)
		return seen.answer;
	ck_assert_uint_lt(seen.n + 1, sizeof(seen.order));
	seen.order[seen.n++] = letter;
	return 0;
}

static ssize_t take_send(struct dofi_ep *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert_int_eq(wr->op, DOFI_OP_SEND);
	return take('S');
}

static ssize_t take_recv(struct dofi_ep *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert_int_eq(wr->op, DOFI_OP_RECV);
	return take('R');
}

static ssize_t take_credit(struct dofi_ep *of, uint32_t update)
{
	ck_assert_ptr_eq(of, &ep);
	seen.update = update;
	return take('C');
}

static ssize_t take_record(struct dofi_ep *of, const void *record, size_t size, uint64_t raddr,
			   uint64_t rkey, uint64_t data)
{
	(void)record, (void)raddr, (void)rkey, (void)data;
	ck_assert_ptr_eq(of, &ep);
	ck_assert_uint_eq(size, sizeof(struct dofi_atomic_answer));
	return take('A');
}

static const struct dofi_trans_ops trans = {.send = take_send,
					    .recv = take_recv,
					    .send_credit = take_credit,
					    .write_ctrl = take_record,
					    .has_eq = true};

/* --- the connection manager --- */

static void expect_call(const struct dofi_conn *of)
{
	ck_assert_ptr_eq(of, conn);
	/* It takes the lock of the EP. */
	dofi_lock(&ep.lock);
	dofi_unlock(&ep.lock);
}

static void broken(struct dofi_conn *of)
{
	expect_call(of);
	seen.broken++;
}

static void path_down(struct dofi_conn *of, int err)
{
	expect_call(of);
	ck_assert_int_eq(err, 0);
	seen.path_down++;
}

static void last_message(struct dofi_conn *of)
{
	expect_call(of);
	seen.last_message++;
}

static void drained(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	seen.drained++;
}

static void ask_for_bind(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	seen.asked_for_bind++;
}

static struct dofi_ep *ep_of(struct dofi_ia *of, uint32_t id)
{
	ck_assert_ptr_eq(of, &ia);
	return id == OURS ? &ep : NULL;
}

static const struct dofi_upcalls upcalls = {.broken = broken,
					    .path_down = path_down,
					    .last_message = last_message,
					    .drained = drained,
					    .ask_for_bind = ask_for_bind,
					    .ep_of = ep_of};

/* --- */

static struct dofi_ring ring_of(int i)
{
	return (struct dofi_ring){.base = (char *)slots[i],
				  .stride = sizeof(slots[i][0]),
				  .mask = SLOTS - 1,
				  .limit = SLOTS,
				  .fabric_iov = 1};
}

static void setup(void)
{
	struct dofi_lock *locks[] = {&ia.engine.lock, &ia.engine.stalled_lock, &ep.lock, &evd.lock};

	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
		dofi_lock_init(locks[i]);
	dofi_list_init(&ia.engine.stalled);
	ia.trans = ep.trans = &trans;
	ia.up = &upcalls;
	evd.obj.ia = ep.obj.ia = &ia;
	evd.ring = events;
	evd.qlen = SLOTS;
	ep.req = ring_of(0);
	ep.recv = ring_of(1);
	ep.req_evd = ep.recv_evd = &evd;
	ep.stall.retry = dofi_ep_retry;
	ep.state = DAT_EP_STATE_CONNECTED;
	ep.path_up = true;
	ep.conn = conn;
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
}

/* In the ring, without a try. */
static struct dofi_wr *add(struct dofi_ring *ring, enum dofi_op op)
{
	struct dofi_wr *wr = dofi_ring_at(ring, ring->tail++);

	*wr = (struct dofi_wr){.ep = &ep, .op = (uint8_t)op};
	return wr;
}

static void leave_to_the_engine(void)
{
	dofi_lock(&ep.lock);
	dofi_ep_stall(&ep);
	dofi_unlock(&ep.lock);
	ck_assert(ep.stall.waits);
}

static void round_of_the_engine(void)
{
	dofi_stall_retry_all(&ia);
}

static void issue(void)
{
	dofi_lock(&ep.lock);
	dofi_ep_issue(&ep);
	dofi_unlock(&ep.lock);
}

/* --- the connection goes on --- */

START_TEST(a_round_starts_what_waits)
{
	add(&ep.req, DOFI_OP_SEND);
	add(&ep.recv, DOFI_OP_RECV);
	ep.answers_due = 1;
	leave_to_the_engine();
	round_of_the_engine();
	/* Answers first, because requests follow without end; receives because Sends need some. */
	ck_assert_str_eq(seen.order, "ARS");
	ck_assert(!ep.stall.waits);
	ck_assert_uint_eq(ep.answers_due, 0);
	round_of_the_engine();
	ck_assert_uint_eq(seen.n, 3);
	ck_assert_uint_eq(seen.broken + seen.path_down + seen.last_message + seen.drained +
				  seen.asked_for_bind,
			  0);
}
END_TEST

START_TEST(a_full_fabric_is_asked_in_each_round)
{
	add(&ep.req, DOFI_OP_SEND);
	leave_to_the_engine();
	seen.answer = -FI_EAGAIN;
	for (int i = 0; i < 3; i++) {
		round_of_the_engine();
		ck_assert(ep.stall.waits);
	}
	ck_assert_uint_eq(ep.counters[DOFI_CNT_EP_AGAIN], 3);
	seen.answer = 0;
	round_of_the_engine();
	ck_assert_str_eq(seen.order, "S");
	ck_assert(!ep.stall.waits);
}
END_TEST

START_TEST(nothing_starts_without_a_path)
{
	add(&ep.req, DOFI_OP_SEND);
	add(&ep.recv, DOFI_OP_RECV);
	ep.answers_due = 1;
	ep.path_up = false;
	issue();
	dofi_lock(&ep.lock);
	dofi_ep_issue_receives(&ep);
	dofi_ep_issue_requests(&ep);
	dofi_unlock(&ep.lock);
	ck_assert_str_eq(seen.order, "");
	ck_assert_uint_eq(ep.answers_due, 1);
}
END_TEST

START_TEST(no_request_starts_after_a_failure)
{
	add(&ep.req, DOFI_OP_SEND);
	add(&ep.recv, DOFI_OP_RECV);
	ep.faulty = true;
	issue();
	ck_assert_str_eq(seen.order, "R");
}
END_TEST

/* The library has the receives of datagrams, and the EP copies out of them. */
START_TEST(receives_of_datagrams_stay_in_the_ring)
{
	add(&ep.recv, DOFI_OP_RECV);
	ep.ud = (struct dofi_ud *)&connection; /* never dereferenced */
	issue();
	ck_assert_str_eq(seen.order, "");
	ck_assert_uint_eq(ep.recv.issue, 0);
}
END_TEST

START_TEST(a_refused_receive_waits_for_the_reason)
{
	struct dofi_wr *wr = add(&ep.recv, DOFI_OP_RECV);

	add(&ep.recv, DOFI_OP_RECV);
	seen.answer = -FI_ENOTCONN;
	issue();
	ck_assert_uint_eq(ep.recv.issue, 0);
	ck_assert_int_eq(wr->state, DOFI_WR_QUEUED);
	ck_assert(ep.refused && ep.stall.waits);
}
END_TEST

/* Two operations change the same context in the order of their posts. */
START_TEST(a_bind_asks_the_peers_before_others_go_on)
{
	ep.binding = true;
	leave_to_the_engine();
	round_of_the_engine();
	ck_assert_uint_eq(seen.asked_for_bind, 0); /* it replaced no context */
	ep.bind_replaced = 7;
	leave_to_the_engine();
	round_of_the_engine();
	ck_assert_uint_eq(seen.asked_for_bind, 1);
	ep.binding = false;
	leave_to_the_engine();
	round_of_the_engine();
	ck_assert_uint_eq(seen.asked_for_bind, 1);
}
END_TEST

/* --- credits --- */

/* The peer has used what it knew of, and the program has posted one receive since. */
static void owe_credit(void)
{
	ep.credit_mode = DOFI_CREDITS_CARRIED;
	ep.recv.issue = ep.recv.tail = ep.recv.head = 1;
}

START_TEST(a_round_sends_a_credit_update)
{
	owe_credit();
	leave_to_the_engine();
	round_of_the_engine();
	ck_assert_str_eq(seen.order, "C");
	ck_assert_uint_eq(seen.update, DOFI_UPDATE_CREDIT | 1u << DOFI_UPDATE_CREDIT_SHIFT);
	ck_assert_uint_eq(ep.announced, 1);
	leave_to_the_engine();
	round_of_the_engine();
	ck_assert_str_eq(seen.order, "C");
}
END_TEST

START_TEST(a_credit_update_waits_for_the_fabric)
{
	owe_credit();
	leave_to_the_engine();
	seen.answer = -FI_EAGAIN;
	round_of_the_engine();
	ck_assert_uint_eq(ep.announced, 0);
	ck_assert(ep.stall.waits);
	seen.answer = 0;
	round_of_the_engine();
	ck_assert_str_eq(seen.order, "C");
	ck_assert(!ep.stall.waits);
}
END_TEST

START_TEST(no_credit_update_without_a_path)
{
	owe_credit();
	ep.path_up = false;
	dofi_lock(&ep.lock);
	dofi_credit_announce(&ep);
	dofi_unlock(&ep.lock);
	ck_assert_str_eq(seen.order, "");
	ck_assert(!ep.stall.waits);
}
END_TEST

/*
 * The next message carries it if the consumer sends one soon; the engine sends it otherwise. A
 * driver that sleeps would not wake for that, and messages do not carry what is written.
 */
START_TEST(who_sends_a_credit_update_after_a_receive)
{
	static const struct {
		enum dofi_credit_mode mode;
		uint32_t asleep;
		bool at_once;
	} cases[] = {{DOFI_CREDITS_CARRIED, 0, false},
		     {DOFI_CREDITS_CARRIED, 1, true},
		     {DOFI_CREDITS_WRITTEN, 0, true},
		     {DOFI_CREDITS_NONE, 1, false}};

	ep.credit_mode = cases[_i].mode;
	atomic_store(&ia.wait.asleep, cases[_i].asleep);
	add(&ep.recv, DOFI_OP_RECV);
	dofi_lock(&ep.lock);
	dofi_ep_issue_receives(&ep);
	dofi_unlock(&ep.lock);
	ck_assert_str_eq(seen.order, cases[_i].at_once ? "RC" : "R");
	ck_assert(ep.stall.waits == (!cases[_i].at_once && cases[_i].mode != DOFI_CREDITS_NONE));
}
END_TEST

/* By a separate update, for the connection of its number. */
START_TEST(credits_that_arrive_start_what_waits)
{
	const uint32_t update = DOFI_UPDATE_CREDIT | 1u << DOFI_UPDATE_CREDIT_SHIFT;

	ep.peer.credits = true;
	add(&ep.req, DOFI_OP_SEND);
	issue();
	ck_assert_str_eq(seen.order, "");
	dofi_credit_arrived(&ia, OURS + 1, update);
	ck_assert_str_eq(seen.order, "");
	dofi_credit_arrived(&ia, OURS, update);
	ck_assert_str_eq(seen.order, "S");
	ck_assert_uint_eq(ep.credit_total, 1);
	ck_assert(dofi_trylock(&ep.lock));
	dofi_unlock(&ep.lock);
}
END_TEST

static bool starves(void)
{
	bool yes;

	dofi_lock(&ep.lock);
	yes = dofi_ep_starves(&ep);
	dofi_unlock(&ep.lock);
	return yes;
}

/* Only the peer can end that wait, so a disconnect does not wait for it. */
START_TEST(an_EP_starves_if_a_message_has_no_credit)
{
	ep.peer.credits = true;
	ck_assert(!starves());
	add(&ep.req, DOFI_OP_SEND);
	ck_assert(starves());
	ep.credit_total = 1;
	ck_assert(!starves());
	ep.credit_total = 0;
	ep.peer.credits = false;
	ck_assert(!starves());
	ep.peer.credits = true;
	slots[0][0].op = DOFI_OP_WRITE;
	ck_assert(!starves());
}
END_TEST

/* The context has ended here. */
START_TEST(a_bind_asks_the_peers_before_its_connection_ends)
{
	ep.binding = true;
	ep.bind_replaced = 7;
	ep.faulty = !_i;
	ep.refused = _i;
	leave_to_the_engine();
	round_of_the_engine();
	ck_assert_uint_eq(seen.asked_for_bind, 1);
	ck_assert_uint_eq(seen.broken + seen.path_down, 1);
}
END_TEST

/* --- the connection ends --- */

START_TEST(a_failure_breaks_the_connection)
{
	struct dofi_wr *wr = add(&ep.req, DOFI_OP_SEND);

	wr->state = DOFI_WR_DONE;
	wr->status = DAT_DTO_ERR_TRANSPORT;
	add(&ep.req, DOFI_OP_SEND);
	ep.req.issue = 1;
	ep.faulty = ep.refused = true;
	leave_to_the_engine();
	round_of_the_engine();
	ck_assert_uint_eq(seen.broken, 1);
	ck_assert_uint_eq(seen.path_down, 0);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 1); /* before that of the end */
	ck_assert_uint_eq(events[0].status, DAT_DTO_ERR_TRANSPORT);
	ck_assert_str_eq(seen.order, "");
}
END_TEST

START_TEST(a_refusal_means_that_the_path_is_down)
{
	add(&ep.req, DOFI_OP_SEND);
	ep.refused = true;
	leave_to_the_engine();
	round_of_the_engine();
	ck_assert_uint_eq(seen.path_down, 1);
	ck_assert_uint_eq(seen.broken, 0);
	ck_assert(!ep.refused);
	ck_assert_str_eq(seen.order, "");
	leave_to_the_engine();
	round_of_the_engine();
	ck_assert_uint_eq(seen.path_down, 1);
}
END_TEST

/* The peer has disconnected, and its BYE counts so many messages. */
START_TEST(the_last_message_ends_the_connection)
{
	ep.ending_soon = true;
	ep.last_message = 2;
	ep.nreceived = 1;
	leave_to_the_engine();
	round_of_the_engine();
	ck_assert_uint_eq(seen.last_message, 0);
	ep.nreceived = 2;
	leave_to_the_engine();
	round_of_the_engine();
	ck_assert_uint_eq(seen.last_message, 1);
	ep.ending_soon = false;
	leave_to_the_engine();
	round_of_the_engine();
	ck_assert_uint_eq(seen.last_message, 1);
}
END_TEST

START_TEST(a_disconnect_looks_whether_all_is_sent)
{
	add(&ep.req, DOFI_OP_SEND);
	leave_to_the_engine();
	round_of_the_engine();
	ck_assert_uint_eq(seen.drained, 0);
	ep.state = DAT_EP_STATE_DISCONNECT_PENDING;
	add(&ep.req, DOFI_OP_SEND);
	leave_to_the_engine();
	round_of_the_engine();
	ck_assert_str_eq(seen.order, "SS");
	ck_assert_uint_eq(seen.drained, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("retry");
	TCase *tc = tcase_create("retry");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_round_starts_what_waits);
	tcase_add_test(tc, a_full_fabric_is_asked_in_each_round);
	tcase_add_test(tc, nothing_starts_without_a_path);
	tcase_add_test(tc, no_request_starts_after_a_failure);
	tcase_add_test(tc, receives_of_datagrams_stay_in_the_ring);
	tcase_add_test(tc, a_refused_receive_waits_for_the_reason);
	tcase_add_test(tc, a_bind_asks_the_peers_before_others_go_on);
	tcase_add_loop_test(tc, a_bind_asks_the_peers_before_its_connection_ends, 0, 2);
	tcase_add_test(tc, a_round_sends_a_credit_update);
	tcase_add_test(tc, a_credit_update_waits_for_the_fabric);
	tcase_add_test(tc, no_credit_update_without_a_path);
	tcase_add_loop_test(tc, who_sends_a_credit_update_after_a_receive, 0, 4);
	tcase_add_test(tc, credits_that_arrive_start_what_waits);
	tcase_add_test(tc, an_EP_starves_if_a_message_has_no_credit);
	tcase_add_test(tc, a_failure_breaks_the_connection);
	tcase_add_test(tc, a_refusal_means_that_the_path_is_down);
	tcase_add_test(tc, the_last_message_ends_the_connection);
	tcase_add_test(tc, a_disconnect_looks_whether_all_is_sent);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
