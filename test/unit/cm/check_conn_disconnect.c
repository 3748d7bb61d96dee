/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How a connection ends in good order: what is waited for, and what the peer is told. */
#include "../../../prov/ofi/object/srq_count.h"
#include "conn_world.h"

/* The peer does not wait until its messages have found a receive, if there is none. */
START_TEST(disconnect_tells_whether_there_is_a_receive)
{
	static const struct {
		uint32_t receives;
		bool shared;
		uint16_t flags;
	} eps[] = {{0, false, DOFI_MSG_F_NO_RECV}, {1, false, 0}, {0, true, 0}};
	static struct dofi_srq srq;

	reach(ESTABLISHED);
	ep.recv.tail = ep.recv.head + eps[_i].receives;
	ep.srq = eps[_i].shared ? &srq : NULL;
	happens(DISCONNECT);
	ck_assert_uint_eq(disconnect_flags, eps[_i].flags);
	ck_assert_int_eq(conn->said_no_recv, eps[_i].flags != 0);
	ep.recv.tail = ep.recv.head;
	ep.srq = NULL;
}
END_TEST

/* BYE says all that DISCONNECT would, and follows at once if nothing is under way. */
START_TEST(an_idle_connection_ends_with_one_message)
{
	static const char *const said[] = {"BYE-orderly unlink disconnected",
					   "DISCONNECT sync",
					   "DISCONNECT",
					   "DISCONNECT",
					   "DISCONNECT",
					   "" /* the next round breaks it */};
	struct dofi_wr wr = {.op = DOFI_OP_WRITE};

	reach(ESTABLISHED);
	ep.dirty = _i == 1;
	ep.peeking = _i == 2;
	ep.answers_due = _i == 3;
	ep.faulty = _i == 5;
	if (_i == 4)
		ep.req = (struct dofi_ring){.base = (char *)&wr, .stride = sizeof(wr), .tail = 1};
	dofi_conn_disconnect(conn);
	run_work();
	ck_assert_str_eq(trace, said[_i]);
	ep.req = (struct dofi_ring){0};
}
END_TEST

static void drain_further(void)
{
	dofi_lock(&ep.lock);
	dofi_conn_drained(&ep);
	dofi_unlock(&ep.lock);
}

/* It did not know that the last receive would be taken. */
START_TEST(the_peer_learns_when_the_last_receive_is_gone)
{
	static struct dofi_srq srq;

	reach(ESTABLISHED);
	ep.recv.tail = ep.recv.head + 1;
	happens(DISCONNECT);
	ck_assert_str_eq(trace, "DISCONNECT sync");
	ck_assert_uint_eq(disconnect_flags, 0);
	drain_further();
	ck_assert_str_eq(trace, "DISCONNECT sync");
	ep.recv.tail = ep.recv.head;
	ep.srq = &srq; /* then there are others */
	drain_further();
	ck_assert_str_eq(trace, "DISCONNECT sync");
	ep.srq = NULL;
	drain_further();
	ck_assert_str_eq(trace, "DISCONNECT sync DISCONNECT");
	ck_assert_uint_eq(disconnect_flags, DOFI_MSG_F_NO_RECV);
	drain_further();
	ck_assert_str_eq(trace, "DISCONNECT sync DISCONNECT");
}
END_TEST

/* Both sides disconnect. A message that finds no receive is not waited for (EPS-085). */
START_TEST(a_peer_without_receives_takes_no_more_messages)
{
	static const struct {
		uint16_t flags;
		uint32_t received;
		bool starves, ends;
	} cases[] = {
		{0, 3, false, false},
		{0, 5, true, false},
		{DOFI_MSG_F_NO_RECV, 5, false, false}, /* an RDMA operation may be under way */
		{DOFI_MSG_F_NO_RECV, 3, false, true},
		{DOFI_MSG_F_NO_RECV, 5, true, true},
	};
	struct dofi_wr wr = {.op = cases[_i].starves ? DOFI_OP_SEND : DOFI_OP_WRITE};
	struct dofi_msg disconnect = {.type = DOFI_MSG_DISCONNECT,
				      .flags = cases[_i].flags,
				      .data = cases[_i].received};

	reach(ESTABLISHED);
	disconnect.dst = id;
	ep.peer.credits = true;
	ep.nsent = ep.credit_total = 5;
	ep.req = (struct dofi_ring){.base = (char *)&wr, .stride = sizeof(wr)};
	ep.req.tail = 1;
	happens(DISCONNECT);
	dofi_conn_message(&chan, &disconnect);
	ck_assert_int_eq(conn->state, cases[_i].ends ? DOFI_CONN_ENDING : DOFI_CONN_DRAINING);
	ep.req = (struct dofi_ring){0};
}
END_TEST

/* Until all requests and answers are complete and the final read has come back. */
START_TEST(a_graceful_end_waits_for_what_is_under_way)
{
	struct dofi_wr wr = {.op = DOFI_OP_WRITE};

	reach(DRAINING);
	ep.dirty = false;
	ep.peeking = _i == 1;
	ep.answers_due = _i == 2;
	if (_i == 0)
		ep.req = (struct dofi_ring){.base = (char *)&wr, .stride = sizeof(wr), .tail = 1};
	drain_further();
	ck_assert_int_eq(conn->state, DOFI_CONN_DRAINING);
	ck_assert_str_eq(trace, "");
	ep.peeking = false;
	ep.answers_due = 0;
	ep.req = (struct dofi_ring){0};
	drain_further();
	ck_assert_int_eq(conn->state, DOFI_CONN_ENDING);
	ck_assert_uint_eq(conn->end_event, DAT_CONNECTION_EVENT_DISCONNECTED);
	drain_further(); /* a completion of the round in which the end was decided */
	ck_assert_int_eq(conn->state, DOFI_CONN_ENDING);
}
END_TEST

/* Its DISCONNECT tells what a graceful end of ours may go on with. */
START_TEST(the_last_disconnect_of_the_peer_counts)
{
	struct dofi_msg disconnect = {.type = DOFI_MSG_DISCONNECT,
				      .flags = DOFI_MSG_F_NO_RECV,
				      .data = 3};

	reach(_i ? DRAINING : ESTABLISHED);
	disconnect.dst = id;
	ep.nsent = 3;
	ep.peeking = true;
	dofi_conn_message(&chan, &disconnect);
	ck_assert(conn->peer_no_recv);
	ck_assert_uint_eq(conn->peer_received, 3);
	ep.dirty = ep.peeking = false;
	disconnect.flags = 0;
	disconnect.data = 4;
	dofi_conn_message(&chan, &disconnect);
	ck_assert(!conn->peer_no_recv);
	ck_assert_uint_eq(conn->peer_received, 4);
	ck_assert_int_eq(conn->state, _i ? DOFI_CONN_ENDING : DOFI_CONN_ESTABLISHED);
}
END_TEST

/* Whether messages that the peer's BYE counts may still come, and find a receive. */
START_TEST(data_may_follow_a_bye)
{
	static const struct {
		enum situation state;
		bool path, srq, truncated, follow;
		uint32_t missing, receives;
	} cases[] = {
		{.path = true, .missing = 1, .receives = 1, .follow = true},
		{.path = true, .missing = UINT32_MAX, .receives = 1, .follow = true},
		{.path = false, .missing = 1, .receives = 1},
		{.path = true, .missing = 0, .receives = 1},
		{.path = true, .missing = 1, .receives = 0},
		{.path = true, .missing = 1, .srq = true, .follow = true},
		{.path = false, .missing = 1, .srq = true},
		{.path = false, .missing = 1, .srq = true, .truncated = true, .follow = true},
		{.path = false, .missing = 0, .srq = true, .truncated = true},
		{.state = ACCEPTED, .path = true, .missing = 1, .receives = 1},
		{.state = DATAGRAM, .path = true, .missing = 1, .receives = 1},
	};
	static struct dofi_wr truncated;
	static struct dofi_srq srq = {.obj.ia = &ia};
	bool connected = !cases[_i].state;

	reach(connected ? ESTABLISHED : cases[_i].state);
	ep.path_up = cases[_i].path;
	ep.nreceived = 7;
	ep.recv.tail = ep.recv.head + cases[_i].receives;
	ep.srq = cases[_i].srq ? &srq : NULL;
	srq.truncated = cases[_i].truncated ? &truncated : NULL;
	ck_assert_int_eq(dofi_conn_data_may_follow(conn, 7 + cases[_i].missing), cases[_i].follow);
	ck_assert_int_eq(ep.ending_soon, cases[_i].follow);
	ck_assert_uint_eq(ep.last_message, connected ? 7 + cases[_i].missing : 0);
	ep.recv.tail = ep.recv.head;
	ep.srq = NULL;
}
END_TEST

static const enum situation lacking[] = {DATA_PENDING, GOODBYE_PENDING, PATH_LOST};

/* The network may have lost it, and the peer's kernel sends it again. */
START_TEST(a_last_word_may_be_late)
{
	reach(lacking[_i]);
	happens(TIMER);
	ck_assert_str_eq(trace, _i ? "COUNT" : "");
	ck_assert_uint_eq(conn->timer.deadline, now + 4000 * MS);
	happens(TIMER);
	run_work();
	ck_assert(is_gone());
}
END_TEST

static const char *broken(enum situation before)
{
	return before == PATH_LOST ? "COUNT BYE-error unlink accept-completion-error"
				   : "COUNT BYE-error unlink broken";
}

/* The answer to COUNT would come behind it. */
START_TEST(a_peer_that_answers_has_sent_no_bye)
{
	reach(lacking[_i]);
	hear(DOFI_MSG_COUNTED, 0, 0); /* the answer to an earlier question */
	ck_assert_str_eq(trace, "");
	happens(TIMER);
	hear(DOFI_MSG_COUNTED, 0, 0);
	run_work();
	if (_i)
		ck_assert_str_eq(trace, broken(lacking[_i]));
	else
		ck_assert_int_eq(conn->state, DOFI_CONN_DATA_PENDING);
}
END_TEST

/* Its process has died. */
START_TEST(a_peer_without_a_channel_has_no_last_word)
{
	reach(lacking[_i]);
	dofi_list_del(&conn->link);
	conn->chan = NULL;
	happens(TIMER);
	run_work();
	ck_assert_ptr_null(strstr(trace, "COUNT"));
	ck_assert(is_gone());
}
END_TEST

/* Its completion is what the end waits for, so the engine reads the queue although nobody asks. */
START_TEST(completions_are_watched_for_the_end)
{
	reach(ESTABLISHED);
	happens(_i ? MSG_BYE_EARLY : DISCONNECT);
	ck_assert(conn->watched);
	ck_assert_uint_eq(ia.wait.watchers, 1);
}
END_TEST

/* The fabric had no room: the next completion makes it possible. */
START_TEST(the_final_read_is_tried_until_it_starts)
{
	reach(ESTABLISHED);
	sync_fails = true;
	happens(DISCONNECT);
	ck_assert_str_eq(trace, "DISCONNECT");
	ck_assert(ep.dirty);
	sync_fails = false;
	drain_further();
	ck_assert_str_eq(trace, "DISCONNECT sync");
	ck_assert(!ep.dirty);
}
END_TEST

/* The completion of that message has to end the wait. */
START_TEST(the_ep_knows_the_last_message_of_the_peer)
{
	reach(ESTABLISHED);
	ep.nreceived = 7;
	happens(_i ? MSG_BYE_EARLY : MSG_BYE);
	ck_assert_int_eq(ep.ending_soon, _i);
	ck_assert_uint_eq(ep.last_message, 7 + (uint32_t)_i);
}
END_TEST

/* Each wait for a last word begins anew. */
START_TEST(a_wait_for_the_last_word_begins_anew)
{
	reach(ESTABLISHED);
	conn->prolonged = true;
	ep.path_up = conn->lingers = true;
	happens(_i ? PATH_DOWN : MSG_BYE_EARLY);
	ck_assert_int_eq(ep.path_up, !_i);
	ck_assert_int_eq(conn->lingers, !_i);
	ck_assert(!conn->prolonged);
	ck_assert_uint_eq(conn->timer.deadline, now + 1000 * MS);
}
END_TEST

/*
 * The peer's last messages are waited for, whatever its BYE tells. It may close the channel
 * meanwhile, because it does not use it any more.
 */
START_TEST(the_end_is_what_the_bye_told)
{
	static const enum happening over[] = {OVERDUE, CHAN_LOST, CHAN_CLOSED};
	bool failed = _i & 1;

	reach(ESTABLISHED);
	ep.path_up = true;
	hear_bye(failed ? DOFI_REASON_ERROR : DOFI_REASON_DISCONNECT, 1);
	ck_assert_int_eq(ep.state, DAT_EP_STATE_CONNECTED);
	happens(over[_i / 2]);
	run_work();
	ck_assert_ptr_nonnull(strstr(trace, failed ? "broken" : "disconnected"));
	ck_assert_int_eq(ep.state, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

static void add_failures(Suite *suite)
{
	TCase *tc = add_case(suite, "failures");

	tcase_add_loop_test(tc, disconnect_tells_whether_there_is_a_receive, 0, 3);
	tcase_add_loop_test(tc, an_idle_connection_ends_with_one_message, 0, 6);
	tcase_add_loop_test(tc, the_end_is_what_the_bye_told, 0, 6);
}

static void add_ends(Suite *suite)
{
	TCase *tc = add_case(suite, "ends");

	tcase_add_test(tc, the_peer_learns_when_the_last_receive_is_gone);
	tcase_add_loop_test(tc, a_peer_without_receives_takes_no_more_messages, 0, 5);
	tcase_add_loop_test(tc, a_graceful_end_waits_for_what_is_under_way, 0, 3);
	tcase_add_loop_test(tc, the_last_disconnect_of_the_peer_counts, 0, 2);
	tcase_add_loop_test(tc, data_may_follow_a_bye, 0, 11);
	tcase_add_loop_test(tc, a_last_word_may_be_late, 0, 3);
	tcase_add_loop_test(tc, a_peer_that_answers_has_sent_no_bye, 0, 3);
	tcase_add_loop_test(tc, a_peer_without_a_channel_has_no_last_word, 0, 3);
	tcase_add_loop_test(tc, completions_are_watched_for_the_end, 0, 2);
	tcase_add_test(tc, the_final_read_is_tried_until_it_starts);
	tcase_add_loop_test(tc, the_ep_knows_the_last_message_of_the_peer, 0, 2);
	tcase_add_loop_test(tc, a_wait_for_the_last_word_begins_anew, 0, 2);
}

int main(void)
{
	Suite *suite = suite_create("conn_disconnect");

	add_failures(suite);
	add_ends(suite);
	return t_run(suite);
}
