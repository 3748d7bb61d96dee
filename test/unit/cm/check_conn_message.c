/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages of the peer: those that come late, those that count what was sent, those for which a
 * word of the fabric stands, those that overtake what came by the local socket. Each is counted.
 */
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/srq_count.h"
#include "conn_world.h"

#include <stddef.h>

/* --- who has given up --- */

/* The accepting side must not wait for it. */
START_TEST(an_accept_that_comes_too_late_is_answered_by_cancel)
{
	static const enum dofi_msg_type others[] = {DOFI_MSG_REJECT, DOFI_MSG_READY,
						    DOFI_MSG_CANCEL, DOFI_MSG_BYE,
						    DOFI_MSG_DISCONNECT};

	reach(REQUESTED);
	happens(TIMER);
	run_work();
	ck_assert(is_gone());
	ck_assert_str_eq(trace, "CANCEL-orderly unlink timed-out");
	trace[0] = '\0';
	hear(DOFI_MSG_ACCEPT, 0, 0);
	ck_assert_str_eq(trace, "CANCEL");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		hear(others[i], DOFI_REASON_DISCONNECT, 0);
	ck_assert_str_eq(trace, "CANCEL");
}
END_TEST

static void hear_unanswered(enum dofi_msg_type type, uint32_t src)
{
	const struct dofi_msg msg = {.type = (uint8_t)type,
				     .reason = DOFI_REASON_DISCONNECT,
				     .src = src};

	dofi_conn_message(&chan, &msg);
}

/* It does not know the number of the connection here; its own tells which one it is. */
START_TEST(a_request_is_taken_back_before_its_answer)
{
	reach(OFFERED);
	hear_unanswered(DOFI_MSG_CANCEL, 78);
	hear_unanswered(DOFI_MSG_BYE, 77);
	ck_assert_int_eq(conn->state, DOFI_CONN_OFFERED);
	hear_unanswered(DOFI_MSG_CANCEL, 77);
	ck_assert_int_eq(conn->state, DOFI_CONN_ABANDONED);
}
END_TEST

/* The CR of each stays until the consumer decides. */
START_TEST(a_peer_does_not_ask_and_cancel_without_end)
{
	ia.params.max_peer_requests = 3;
	for (uint32_t src = 100; src < 103; src++) {
		hear_unanswered(DOFI_MSG_REQUEST, src);
		hear_unanswered(DOFI_MSG_CANCEL, src);
		ck_assert_int_eq(conn->state, DOFI_CONN_ABANDONED);
	}
	ck_assert_str_eq(trace, "");
	hear_unanswered(DOFI_MSG_REQUEST, 103);
	ck_assert_str_eq(trace, "REJECT");
	trace[0] = '\0';
	happens(CR_REJECT); /* the consumer rejects one of them */
	hear_unanswered(DOFI_MSG_REQUEST, 104);
	ck_assert_str_eq(trace, "");
}
END_TEST

START_TEST(no_peer_takes_back_what_it_was_asked_for)
{
	reach(REQUESTED);
	conn->peer_id = 77;
	hear_unanswered(DOFI_MSG_CANCEL, 77);
	ck_assert_int_eq(conn->state, DOFI_CONN_REQUESTED);
}
END_TEST

START_TEST(a_question_that_comes_too_late_is_answered_by_cancel)
{
	reach(REQUESTED);
	happens(TIMER);
	run_work();
	trace[0] = '\0';
	hear(DOFI_MSG_COUNT, 0, 0);
	ck_assert_str_eq(trace, "CANCEL");
}
END_TEST

/* READY is read late: the connection is established when its path is already down. */
START_TEST(a_path_that_is_lost_before_ready_breaks_the_connection_in_time)
{
	reach(PATH_LOST);
	happens(_i ? MSG_READY : FIRST_MESSAGE);
	ck_assert_int_eq(ep.state, DAT_EP_STATE_CONNECTED);
	happens(TIMER);
	happens(TIMER);
	run_work();
	ck_assert_str_eq(trace, "established COUNT BYE-error unlink broken");
}
END_TEST

/* COUNT is answered until the end of the connection is decided. */
START_TEST(count_is_answered_until_the_end_is_decided)
{
	static const enum situation silent[] = {DIAL_ENDING, ENDING, LINGERING, RELEASING};

	reach(_i ? silent[_i - 1] : ESTABLISHED);
	hear(DOFI_MSG_COUNT, 0, 0);
	ck_assert_str_eq(trace, _i ? "" : "COUNTED");
}
END_TEST

/* --- what the other side has sent --- */

static struct {
	uint32_t number, peer, sent;
	int calls;
} settlement;

static void settled(struct dofi_ia *of, uint32_t number, uint32_t peer, uint32_t sent)
{
	ck_assert_ptr_eq(of, &ia);
	settlement.number = number;
	settlement.peer = peer;
	settlement.sent = sent;
	settlement.calls++;
}

/* It may come after the end on this side, which waits for the peer's last messages then. */
START_TEST(a_late_count_settles_the_connection)
{
	static const struct {
		enum dofi_msg_type type;
		bool counts;
	} cases[] = {{DOFI_MSG_BYE, true},     {DOFI_MSG_CANCEL, true},
		     {DOFI_MSG_ACCEPT, false}, {DOFI_MSG_REJECT, false},
		     {DOFI_MSG_COUNT, false},  {DOFI_MSG_COUNTED, false},
		     {DOFI_MSG_READY, false},  {DOFI_MSG_DISCONNECT, false}};
	struct dofi_trans_ops counts = trans;

	counts.settle = settled;
	ia.trans = &counts;
	reach(REQUESTED);
	happens(TIMER);
	run_work();
	hear(cases[_i].type, DOFI_REASON_DISCONNECT, 42);
	ck_assert_int_eq(settlement.calls, cases[_i].counts);
	ck_assert_uint_eq(settlement.number, cases[_i].counts ? id : 0);
	ck_assert_uint_eq(settlement.peer, cases[_i].counts ? 77 : 0);
	ck_assert_uint_eq(settlement.sent, cases[_i].counts ? 42 : 0);
}
END_TEST

/* Also if the end is decided here, but not carried out. */
START_TEST(a_count_is_noted_until_the_end_is_carried_out)
{
	reach(_i ? ENDING : ESTABLISHED);
	chan.silent = true;
	hear(DOFI_MSG_BYE, DOFI_REASON_DISCONNECT, 42);
	ck_assert(conn->peer_told);
	ck_assert_uint_eq(conn->peer_sent, 42);
	ck_assert(!chan.silent);
}
END_TEST

/* It shows whose message was the truncated one, also when the end is decided. */
START_TEST(a_count_of_the_peer_reaches_the_srq)
{
	static const struct {
		enum situation state;
		enum dofi_msg_type type;
		uint32_t told;
	} cases[] = {{ESTABLISHED, DOFI_MSG_COUNTED, 0},
		     {ESTABLISHED, DOFI_MSG_BYE, 5},
		     {ENDING, DOFI_MSG_BYE, 5}};
	static struct dofi_srq srq = {.obj.ia = &ia};

	reach(cases[_i].state);
	conn->count_asked = 5;
	conn->count_told = 4;
	ep.srq = &srq;
	hear(cases[_i].type, DOFI_REASON_DISCONNECT, 42);
	ck_assert_uint_eq(conn->peer_count, 42);
	ck_assert_uint_eq(conn->count_told, cases[_i].told);
	ep.srq = NULL;
}
END_TEST

START_TEST(a_question_for_the_count_tells_none)
{
	static struct dofi_srq srq = {.obj.ia = &ia};

	reach(ESTABLISHED);
	conn->peer_count = 7;
	conn->count_told = 4;
	ep.srq = &srq;
	hear(DOFI_MSG_COUNT, 0, 42);
	ck_assert_uint_eq(conn->peer_count, 7);
	ck_assert_uint_eq(conn->count_told, 4);
	ck_assert_str_eq(trace, "COUNTED");
	ep.srq = NULL;
}
END_TEST

START_TEST(only_its_own_messages_change_a_connection)
{
	static const struct {
		enum situation state;
		enum dofi_msg_type type;
	} cases[] = {{ACCEPTED, DOFI_MSG_ACCEPT},
		     {ACCEPTED, DOFI_MSG_REJECT},
		     {REQUESTED, DOFI_MSG_READY},
		     {DATAGRAM, DOFI_MSG_DISCONNECT},
		     {ESTABLISHED, DOFI_MSG_DONE}};
	enum dofi_conn_state state;

	reach(cases[_i].state);
	state = conn->state;
	hear(cases[_i].type, 0, 0);
	run_work();
	ck_assert_int_eq(conn->state, (int)state);
	ck_assert_str_eq(trace, "");
}
END_TEST

/* Where messages outlive their connection it waits for that, also if it has ended at once. */
START_TEST(an_end_is_answered_with_a_count)
{
	static const enum situation states[] = {CONNECTING, ACCEPTED, ESTABLISHED};
	struct dofi_trans_ops counts = trans;

	counts.settle = settled;
	reach(states[_i]);
	ep.nsent = 42;
	ia.trans = &counts;
	happens(MSG_BYE);
	run_work();
	ck_assert_ptr_nonnull(strstr(trace, _i < 2 ? "BYE-error" : "BYE-orderly"));
	ck_assert_uint_eq(sent_data, 42);
}
END_TEST

START_TEST(who_cancels_has_sent_nothing)
{
	reach(ACCEPTED);
	ck_assert(!conn->peer_told);
	hear(DOFI_MSG_CANCEL, DOFI_REASON_DISCONNECT, 0);
	ck_assert(conn->peer_told);
	ck_assert_uint_eq(conn->peer_sent, 0);
}
END_TEST

/* --- a fabric that tells when both sides are connected --- */

static const struct {
	uint64_t quirks;
	bool over_memory, says_ready;
} fabrics[] = {{0, false, false},
	       {DOFI_QUIRK_SAYS_CONNECTED, false, true},
	       {DOFI_QUIRK_SAYS_CONNECTED, true, false}};

static void reach_over(int fabric, enum situation which)
{
	ia.quirks = fabrics[fabric].quirks;
	reach(which);
	conn->over_memory = fabrics[fabric].over_memory;
}

START_TEST(the_word_of_the_fabric_stands_for_ready)
{
	reach_over(_i, ACCEPTED);
	happens(PATH_UP);
	ck_assert_str_eq(trace, fabrics[_i].says_ready ? "established" : "");
	happens(MSG_READY);
	ck_assert_str_eq(trace, "established");
	ck_assert_int_eq(conn->state, DOFI_CONN_ESTABLISHED);
}
END_TEST

START_TEST(nobody_repeats_the_word_of_the_fabric)
{
	reach_over(_i, CONNECTING);
	happens(PATH_UP);
	ck_assert_str_eq(trace, fabrics[_i].says_ready ? "established" : "READY established");
}
END_TEST

/* The word of the fabric may be lost or late. */
START_TEST(later_messages_say_that_this_side_is_connected)
{
	uint16_t up = fabrics[_i].says_ready ? DOFI_MSG_F_UP : 0;

	reach_over(_i, ACTIVE_ESTABLISHED);
	hear(DOFI_MSG_COUNT, 0, 0);
	ck_assert_uint_eq(sent_flags & DOFI_MSG_F_UP, up);
	ep.dirty = false;
	dofi_conn_disconnect(conn);
	run_work();
	ck_assert_str_eq(trace, "COUNTED BYE-orderly unlink disconnected");
	ck_assert_uint_eq(sent_flags & DOFI_MSG_F_UP, up);
}
END_TEST

START_TEST(only_the_connecting_side_says_that_it_is_connected)
{
	static const enum situation others[] = {CONNECTING, ESTABLISHED, ACTIVE_DATAGRAM};

	ia.quirks = DOFI_QUIRK_SAYS_CONNECTED;
	reach(others[_i]);
	hear(DOFI_MSG_COUNT, 0, 0);
	ck_assert_str_eq(trace, "COUNTED");
	ck_assert_uint_eq(sent_flags & DOFI_MSG_F_UP, 0);
}
END_TEST

static void hear_of_connected(enum dofi_msg_type type)
{
	const struct dofi_msg msg = {.type = (uint8_t)type,
				     .reason = DOFI_REASON_DISCONNECT,
				     .dst = id,
				     .flags = DOFI_MSG_F_UP,
				     .data = ep.nreceived};

	dofi_conn_message(&chan, &msg);
	run_work();
}

START_TEST(a_message_may_overtake_the_word_of_the_fabric)
{
	static const struct {
		enum situation state;
		enum dofi_msg_type type;
		const char *trace;
	} cases[] = {
		{ACCEPTED, DOFI_MSG_COUNTED, "established"},
		{ACCEPTED, DOFI_MSG_BYE, "established unlink disconnected"},
		{READY_PENDING, DOFI_MSG_DISCONNECT, "established"},
		{PATH_PENDING, DOFI_MSG_BYE, "unlink accept-completion-error"},
		{ESTABLISHED, DOFI_MSG_BYE, "unlink disconnected"},
		{ENDING, DOFI_MSG_COUNTED, "BYE-error unlink broken"},
	};

	reach(cases[_i].state);
	hear_of_connected(cases[_i].type);
	ck_assert_str_eq(trace, cases[_i].trace);
}
END_TEST

/* --- shared memory --- */

static int nreads; /* of the local socket */

static void find_nothing(void)
{
	nreads++;
}

static void find_join(void)
{
	nreads++;
	happens(PATH_UP);
}

static void accept_without_path(bool offers)
{
	static max_align_t rings; /* the connection manager does not look into them */

	reach(OFFERED);
	makes_path = false;
	happens(CR_ACCEPT);
	conn->memory = offers ? (struct dofi_memory_path *)(void *)&rings : NULL;
	trace[0] = '\0';
}

/* The peer says by the local socket that it has joined, then READY, and may end at once. */
START_TEST(the_join_is_read_before_ready_counts)
{
	accept_without_path(true);
	while_reading = find_join;
	happens(MSG_READY);
	happens(MSG_BYE);
	run_work();
	ck_assert_str_eq(trace, "established unlink disconnected");
	ck_assert_int_eq(nreads, 1);
}
END_TEST

START_TEST(ready_before_the_path_waits_for_it)
{
	accept_without_path(_i);
	while_reading = find_nothing;
	happens(MSG_READY);
	ck_assert_int_eq(conn->state, DOFI_CONN_PATH_PENDING);
	ck_assert_int_eq(nreads, _i); /* only if memory was offered */
	happens(PATH_UP);
	happens(MSG_READY);
	ck_assert_str_eq(trace, "established");
	ck_assert_int_eq(nreads, _i);
}
END_TEST

/* --- counters --- */

enum { REQ, REP, RTU, USER_REJ, ERR_REJ, DREQ, COUNTERS };

static const int sent_counters[COUNTERS] = {
	[REQ] = DOFI_CNT_IA_CM_REQ_TX,         [REP] = DOFI_CNT_IA_CM_REP_TX,
	[RTU] = DOFI_CNT_IA_CM_RTU_TX,         [USER_REJ] = DOFI_CNT_IA_CM_USER_REJ_TX,
	[ERR_REJ] = DOFI_CNT_IA_CM_ERR_REJ_TX, [DREQ] = DOFI_CNT_IA_CM_DREQ_TX,
};
static const int heard_counters[COUNTERS] = {
	[REQ] = DOFI_CNT_IA_CM_REQ_RX,         [REP] = DOFI_CNT_IA_CM_REP_RX,
	[RTU] = DOFI_CNT_IA_CM_RTU_RX,         [USER_REJ] = DOFI_CNT_IA_CM_USER_REJ_RX,
	[ERR_REJ] = DOFI_CNT_IA_CM_ERR_REJ_RX, [DREQ] = DOFI_CNT_IA_CM_DREQ_RX,
};

/* Each message is counted once, on each side as what InfiniBand calls it. */
START_TEST(messages_are_counted_by_their_meaning)
{
	static const struct {
		enum situation before;
		enum happening what;
		uint8_t sent[COUNTERS], heard[COUNTERS];
	} cases[] = {
		{REQUESTED, MSG_REJECT_CONSUMER, {[REQ] = 1}, {[USER_REJ] = 1}},
		{REQUESTED, MSG_REJECT, {[REQ] = 1}, {[ERR_REJ] = 1}},
		{OFFERED, CR_REJECT, {[USER_REJ] = 1}, {[REQ] = 1}},
		{CONNECTING, PATH_UP, {[REQ] = 1, [RTU] = 1}, {[REP] = 1}},
		{ACCEPTED, MSG_READY, {[REP] = 1}, {[REQ] = 1, [RTU] = 1}},
		{ESTABLISHED, MSG_DISCONNECT, {[REP] = 1}, {[REQ] = 1, [RTU] = 1}},
		{CONNECTING, FAIL, {[REQ] = 1, [DREQ] = 1}, {[REP] = 1}},
		{ACCEPTED, MSG_BYE, {[REP] = 1}, {[REQ] = 1, [DREQ] = 1}},
	};

	reach(cases[_i].before);
	happens(cases[_i].what);
	run_work();
	for (int i = 0; i < COUNTERS; i++) {
		ck_assert_uint_eq(atomic_load(&ia.counters[sent_counters[i]]), cases[_i].sent[i]);
		ck_assert_uint_eq(atomic_load(&ia.counters[heard_counters[i]]), cases[_i].heard[i]);
	}
}
END_TEST

static void add_failures(Suite *suite)
{
	TCase *tc = add_case(suite, "failures");

	tcase_add_loop_test(tc, a_path_that_is_lost_before_ready_breaks_the_connection_in_time, 0,
			    2);
}

static void add_late_messages(Suite *suite)
{
	TCase *tc = add_case(suite, "late_messages");

	tcase_add_loop_test(tc, count_is_answered_until_the_end_is_decided, 0, 5);
	tcase_add_test(tc, an_accept_that_comes_too_late_is_answered_by_cancel);
	tcase_add_test(tc, a_request_is_taken_back_before_its_answer);
	tcase_add_test(tc, a_peer_does_not_ask_and_cancel_without_end);
	tcase_add_loop_test(tc, an_end_is_answered_with_a_count, 0, 3);
	tcase_add_test(tc, who_cancels_has_sent_nothing);
	tcase_add_loop_test(tc, a_late_count_settles_the_connection, 0, 8);
	tcase_add_loop_test(tc, a_count_is_noted_until_the_end_is_carried_out, 0, 2);
	tcase_add_loop_test(tc, a_count_of_the_peer_reaches_the_srq, 0, 3);
	tcase_add_test(tc, a_question_for_the_count_tells_none);
	tcase_add_loop_test(tc, only_its_own_messages_change_a_connection, 0, 5);
	tcase_add_test(tc, no_peer_takes_back_what_it_was_asked_for);
	tcase_add_loop_test(tc, the_word_of_the_fabric_stands_for_ready, 0, 3);
	tcase_add_loop_test(tc, nobody_repeats_the_word_of_the_fabric, 0, 3);
	tcase_add_loop_test(tc, later_messages_say_that_this_side_is_connected, 0, 3);
	tcase_add_loop_test(tc, only_the_connecting_side_says_that_it_is_connected, 0, 3);
	tcase_add_loop_test(tc, a_message_may_overtake_the_word_of_the_fabric, 0, 6);
	tcase_add_test(tc, a_question_that_comes_too_late_is_answered_by_cancel);
}

static void add_shared_memory(Suite *suite)
{
	TCase *tc = add_case(suite, "shared_memory");

	tcase_add_test(tc, the_join_is_read_before_ready_counts);
	tcase_add_loop_test(tc, ready_before_the_path_waits_for_it, 0, 2);
}

static void add_counters(Suite *suite)
{
	TCase *tc = add_case(suite, "counters");

	tcase_add_loop_test(tc, messages_are_counted_by_their_meaning, 0, 8);
}

int main(void)
{
	Suite *suite = suite_create("conn_message");

	add_failures(suite);
	add_late_messages(suite);
	add_shared_memory(suite);
	add_counters(suite);
	return t_run(suite);
}
