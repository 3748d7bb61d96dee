/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each event that may come in each state of a connection: the actions of the connection, their
 * order, and the state of the EP afterwards. conn_cells.h has most of them. The rest need a
 * situation of their own: a request that comes again, a peer that is slow to connect, what comes
 * late.
 */
#include "../../../prov/ofi/object/srq_count.h"
#include "conn_cells.h"

#include <signal.h>

/* --- one event in each state --- */

/* A connection that has ended does its remaining work when its timer fires. */
static void check(const struct cell *cell)
{
	happens(cell->what);
	run_work();
	if (cell->before >= LINGERING && !is_gone()) {
		note("look");
		fire(&conn->timer);
	}
	if (is_gone())
		note("gone");
	else if (is_armed(&conn->timer))
		note("timer");
}

START_TEST(each_event_does_what_the_table_says)
{
	const struct cell *cell = &cells[_i];

	reach(cell->before);
	check(cell);
	ck_assert_msg(!strcmp(trace, cell->trace), "%s: did \"%s\" instead of \"%s\"", cell->name,
		      trace, cell->trace);
	ck_assert_msg(ep.state == cell->ep, "%s: EP in state %d instead of %d", cell->name,
		      (int)ep.state, (int)cell->ep);
}
END_TEST

/* --- a goodbye that is there and was not read --- */

static void say_goodbye(void)
{
	hear_bye(DOFI_REASON_DISCONNECT, 0);
}

static void say_goodbye_before_data(void)
{
	ep.path_up = true;
	hear_bye(DOFI_REASON_DISCONNECT, 1);
	ep.path_up = false;
}

START_TEST(a_goodbye_in_the_socket_counts_before_the_time)
{
	reach(GOODBYE_PENDING);
	while_hearing = say_goodbye;
	fire(&conn->timer);
	while_hearing = NULL;
	run_work();
	ck_assert_ptr_nonnull(strstr(trace, " disconnected"));
	ck_assert_int_eq(ep.state, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

START_TEST(its_data_are_waited_for)
{
	reach(GOODBYE_PENDING);
	while_hearing = say_goodbye_before_data;
	fire(&conn->timer);
	while_hearing = NULL;
	ck_assert_int_eq(conn->state, DOFI_CONN_DATA_PENDING);
	ck_assert(is_armed(&conn->timer));
}
END_TEST

/* --- a request that comes again --- */

static struct dofi_chan second = {.ia = &ia, .state = DOFI_CHAN_UP, .peer.addr.ss_family = AF_INET};

#define RECEIVES 5u /* of the connector, which had none when it sent the first request */

/* Behind the loss of its channel, or before that is noticed. */
static void hear_again(uint16_t flags, uint8_t token)
{
	const struct dofi_msg msg = {.type = DOFI_MSG_REQUEST,
				     .conn_qual = 1u << 20,
				     .src = 77,
				     .token = {token},
				     .data = RECEIVES,
				     .flags = flags};

	dofi_list_init(&second.conns);
	dofi_list_init(&second.waiting);
	dofi_conn_message(&second, &msg);
}

static void expect_resumed(struct dofi_conn *first)
{
	ck_assert_ptr_null(conn);
	ck_assert_uint_eq(ia.cm.nconns, 1);
	ck_assert_ptr_eq(second.conns.next, &first->link);
	ck_assert_uint_eq(first->peer_credit_total, RECEIVES);
	hear(DOFI_MSG_REQUEST, 0, 0); /* the first one, which was overtaken */
	ck_assert_ptr_null(conn);
	ck_assert_uint_eq(ia.cm.nconns, 1);
	ck_assert_int_eq(first->state, DOFI_CONN_OFFERED);
	ck_assert_ptr_eq(first->chan, &second);
	ck_assert_uint_eq(second.noffered, 1);
	ck_assert(dofi_list_empty(&chan.conns));
	conn = first;
	happens(CR_ACCEPT);
	ck_assert_str_eq(trace, "expect ACCEPT");
	ck_assert_uint_eq(second.noffered, 0);
}

START_TEST(a_request_that_comes_again_is_the_same)
{
	struct dofi_conn *first;

	reach(_i ? OFFERED : ABANDONED);
	first = conn;
	conn = NULL;
	hear_again(DOFI_MSG_F_AGAIN, 0);
	/* A channel that is lost counts nothing any more. */
	ck_assert_uint_eq(chan.noffered, _i ? 0 : 1);
	expect_resumed(first);
}
END_TEST

/* The numbers of connections are random, so its place in the table may be any. */
START_TEST(a_request_that_comes_again_is_found_in_the_first_place)
{
	struct dofi_conn *first;

	reach(OFFERED);
	first = conn;
	ia.cm.conns[id & (ia.cm.conns_size - 1)] = NULL;
	ia.cm.conns[0] = conn;
	conn->id = ia.cm.conns_size;
	conn = NULL;
	hear_again(DOFI_MSG_F_AGAIN, 0);
	expect_resumed(first);
}
END_TEST

/* Of this side, or of another peer. */
START_TEST(another_connection_is_not_taken_for_the_request)
{
	reach(OFFERED);
	if (_i)
		conn->active = true;
	else
		conn->peer_id = 78;
	conn = NULL;
	hear_again(DOFI_MSG_F_AGAIN, 0);
	ck_assert_ptr_nonnull(conn);
	ck_assert_uint_eq(ia.cm.nconns, 2);
}
END_TEST

/* The first one lay in the channel that was lost, and comes after the second one. */
START_TEST(a_request_that_was_overtaken_is_ignored)
{
	hear_again(DOFI_MSG_F_AGAIN, 0);
	ck_assert_ptr_nonnull(conn);
	id = conn->id;
	happens(CR_ACCEPT);
	conn = NULL;
	hear(DOFI_MSG_REQUEST, 0, 0);
	ck_assert_ptr_null(conn);
	ck_assert_uint_eq(ia.cm.nconns, 1);
	conn = dofi_conn_by_id(&ia, id);
	ck_assert_uint_eq(ia.cm.nrepeated, 1);
	dofi_conn_free(conn);
	ck_assert_uint_eq(ia.cm.nrepeated, 0);
}
END_TEST

START_TEST(another_request_is_another_one)
{
	static const struct {
		uint16_t flags;
		uint8_t token;
	} others[] = {{0, 0}, {DOFI_MSG_F_AGAIN, 1}};
	struct dofi_conn *first;

	reach(ABANDONED);
	first = conn;
	conn = NULL;
	hear_again(others[_i].flags, others[_i].token);
	ck_assert_ptr_nonnull(conn);
	ck_assert_ptr_ne(conn, first);
	ck_assert_int_eq(first->state, DOFI_CONN_ABANDONED);
	ck_assert_uint_eq(ia.cm.nconns, 2);
}
END_TEST

START_TEST(a_request_that_was_accepted_is_made_again)
{
	struct dofi_conn *first;

	reach(ACCEPTED);
	first = conn;
	conn = NULL;
	hear_again(DOFI_MSG_F_AGAIN, 0);
	ck_assert_ptr_nonnull(conn);
	ck_assert_ptr_ne(conn, first);
	ck_assert_int_eq(first->state, DOFI_CONN_ACCEPTED);
}
END_TEST

/* --- late completions and messages --- */

/* A truncated message may be the message that the peer's BYE counts and that never comes. */
START_TEST(a_truncated_message_may_be_the_missing_one)
{
	static struct dofi_wr truncated = {.niov = 1};
	static struct dofi_srq srq = {.obj.ia = &ia, .truncated = &truncated};

	reach(GOODBYE_PENDING);
	ep.srq = &srq;
	hear(DOFI_MSG_BYE, DOFI_REASON_DISCONNECT, ep.nreceived + 1);
	ck_assert_int_eq(conn->state, DOFI_CONN_DATA_PENDING);
	ep.path_up = conn->lingers = true;
	now += 500 * MS;
	happens(PATH_DOWN);
	ck_assert_uint_eq(conn->timer.deadline, now + 1000 * MS);
	ck_assert(!ep.path_up && !conn->lingers);
	ck_assert_int_eq(conn->state, DOFI_CONN_DATA_PENDING);
	ck_assert(is_armed(&conn->timer));
	srq.truncated = NULL;
	happens(PATH_DOWN);
	ck_assert_int_eq(conn->state, DOFI_CONN_ENDING);
	ck_assert_uint_eq(conn->end_event, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

START_TEST(a_second_ready_finds_the_path_made)
{
	reach(PATH_PENDING);
	dofi_conn_path_made(conn);
	happens(MSG_READY);
	ck_assert_str_eq(trace, "established");
	ck_assert_int_eq(ep.state, DAT_EP_STATE_CONNECTED);
}
END_TEST

/* READY says that the peer is established, so it is told that the path was lost here. */
START_TEST(a_ready_without_a_path_ends_the_connection)
{
	makes_path = false;
	be_asked();
	happens(CR_ACCEPT);
	happens(PATH_DOWN);
	ck_assert_int_eq(conn->state, DOFI_CONN_PATH_LOST);
	trace[0] = '\0';
	happens(MSG_READY);
	run_work();
	ck_assert_str_eq(trace, "BYE-error unlink accept-completion-error");
	ck_assert_int_eq(ep.state, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

static void all_of_the_fabric(void)
{
	static const enum happening late[] = {FIRST_MESSAGE, LAST_MESSAGE, DRAINED, PATH_UP,
					      PATH_DOWN};

	while_unlinking = NULL;
	for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++)
		happens(late[i]);
}

START_TEST(completions_during_the_unlink_change_nothing)
{
	reach(ENDING);
	while_unlinking = all_of_the_fabric;
	happens(WORK);
	run_work();
	ck_assert_str_eq(trace, "BYE-error unlink broken");
	ck_assert_int_eq(ep.state, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

/* --- a peer that is slow to connect --- */

static const enum situation waiting[] = {ACCEPTED, READY_PENDING, PATH_PENDING, UD_ACCEPTED};

START_TEST(an_accepted_connection_waits_for_the_peer)
{
	reach(waiting[_i]);
	for (int i = 0; i < 4; i++)
		happens(TIMER);
	ck_assert(is_armed(&conn->timer));
	happens(MSG_CANCEL);
	run_work();
	ck_assert(is_gone());
}
END_TEST

static void cancel_comes(void)
{
	hear(DOFI_MSG_CANCEL, 0, 0);
}

/* This process had no processor, too. */
START_TEST(a_cancel_in_the_socket_counts)
{
	reach(waiting[_i]);
	while_hearing = cancel_comes;
	happens(TIMER);
	while_hearing = NULL;
	run_work();
	ck_assert_ptr_null(strstr(trace, "COUNT"));
	ck_assert(is_gone());
}
END_TEST

/* It may answer: a fabric that has lost its request brings no path. */
START_TEST(a_peer_that_does_not_connect_is_given_up)
{
	reach(waiting[_i]);
	for (int i = 0; i < 4; i++) {
		happens(TIMER);
		hear(DOFI_MSG_COUNTED, 0, 0);
	}
	ck_assert_str_eq(trace, "COUNT COUNT COUNT COUNT");
	trace[0] = '\0';
	happens(TIMER);
	run_work();
	ck_assert_str_eq(trace, waiting[_i] == UD_ACCEPTED
					? "unlink BYE-error ud-error"
					: "BYE-error unlink accept-completion-error");
	ck_assert_int_eq(released_status, waiting[_i] == UD_ACCEPTED ? -1 : DAT_DTO_ERR_FLUSHED);
	ck_assert(is_gone());
}
END_TEST

/* On an overloaded host it is asked more often. */
START_TEST(a_slow_peer_on_an_overloaded_host_has_more_time)
{
	overloaded = true;
	reach(waiting[_i]);
	conn->count_asked = 42;
	for (uint32_t n = 1; n <= 10; n++) {
		ia.cm.delay = (struct dofi_run_delay){.at = now + 10000 * MS, .waited = n};
		happens(TIMER);
		ck_assert_str_eq(trace, "COUNT");
		ck_assert_uint_eq(last_msg.number, 42);
		ck_assert_uint_eq(conn->delay.waited, n);
		ck_assert_uint_eq(conn->timer.deadline, now + 10000 * MS);
		trace[0] = '\0';
	}
	happens(TIMER);
	run_work();
	ck_assert_ptr_null(strstr(trace, "COUNT"));
	ck_assert(is_gone());
}
END_TEST

/* Without a channel that works, no answer would come. */
START_TEST(a_peer_that_cannot_be_asked_is_given_up)
{
	reach(waiting[_i]);
	chan.state = DOFI_CHAN_DEAD;
	happens(TIMER);
	run_work();
	ck_assert_ptr_null(strstr(trace, "COUNT"));
	ck_assert(is_gone());
}
END_TEST

/* --- the table --- */

/* Runs last: tests have covered each cell that is no failure, and no other cell. */
START_TEST(every_cell_has_a_test)
{
	for (int state = 0; state < DOFI_CONN_STATES; state++)
		for (int event = 0; event < DOFI_CONN_EVENTS; event++) {
			bool can = __real_dofi_conn_step(state, event)->action != DOFI_DO_FAIL;

			ck_assert_msg(met[state][event] == can, "%s in %s was %s",
				      dofi_conn_event_name(event), dofi_conn_state_name(state),
				      can ? "not tested" : "met and cannot happen");
		}
}
END_TEST

/* Debug builds abort; other builds log the event. */
START_TEST(an_event_that_cannot_happen_is_noticed)
{
	signal(SIGABRT, SIG_DFL); /* some libraries install a handler */
	reach(ESTABLISHED);
	expects_impossible = true;
	dofi_conn_handle(conn, DOFI_ON_TIMER, NULL);
	ck_assert_int_eq(conn->state, DOFI_CONN_ESTABLISHED);
	ck_assert_str_eq(trace, "");
}
END_TEST

static void add_cells(Suite *suite)
{
	TCase *tc = add_case(suite, "cells");

	tcase_add_loop_test(tc, each_event_does_what_the_table_says, 0, NCELLS);
}

static void add_failures(Suite *suite)
{
	TCase *tc = add_case(suite, "failures");

	tcase_add_test(tc, a_goodbye_in_the_socket_counts_before_the_time);
	tcase_add_test(tc, its_data_are_waited_for);
	tcase_add_loop_test(tc, a_request_that_comes_again_is_the_same, 0, 2);
	tcase_add_loop_test(tc, another_request_is_another_one, 0, 2);
	tcase_add_test(tc, a_request_that_comes_again_is_found_in_the_first_place);
	tcase_add_loop_test(tc, another_connection_is_not_taken_for_the_request, 0, 2);
	tcase_add_test(tc, a_request_that_was_overtaken_is_ignored);
	tcase_add_test(tc, a_request_that_was_accepted_is_made_again);
	tcase_add_test(tc, a_truncated_message_may_be_the_missing_one);
	tcase_add_test(tc, a_second_ready_finds_the_path_made);
	tcase_add_test(tc, a_ready_without_a_path_ends_the_connection);
	tcase_add_test(tc, completions_during_the_unlink_change_nothing);
}

static void add_late_messages(Suite *suite)
{
	TCase *tc = add_case(suite, "late_messages");

	tcase_add_loop_test(tc, an_accepted_connection_waits_for_the_peer, 0, 4);
	tcase_add_loop_test(tc, a_cancel_in_the_socket_counts, 0, 4);
	tcase_add_loop_test(tc, a_peer_that_does_not_connect_is_given_up, 0, 4);
	tcase_add_loop_test(tc, a_slow_peer_on_an_overloaded_host_has_more_time, 0, 4);
	tcase_add_loop_test(tc, a_peer_that_cannot_be_asked_is_given_up, 0, 4);
}

static void add_table(Suite *suite)
{
	TCase *tc = tcase_create("table");

	/* With one case only (CK_RUN_CASE) coverage means nothing. */
	if (!getenv("CK_RUN_CASE"))
		tcase_add_test(tc, every_cell_has_a_test);
	suite_add_tcase(suite, tc);
	tc = add_case(suite, "impossible");
#ifdef NDEBUG
	tcase_add_test(tc, an_event_that_cannot_happen_is_noticed);
#else
	tcase_add_test_raise_signal(tc, an_event_that_cannot_happen_is_noticed, SIGABRT);
#endif
}

int main(void)
{
	Suite *suite = suite_create("conn_state");

	met = mmap(NULL, sizeof(*met) * DOFI_CONN_STATES, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (met == MAP_FAILED)
		return EXIT_FAILURE;
	add_cells(suite);
	add_failures(suite);
	add_late_messages(suite);
	add_table(suite);
	return t_run(suite);
}
