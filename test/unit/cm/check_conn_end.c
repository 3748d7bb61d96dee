/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the end of a connection does and leaves, and what arrived before it. */
#include "../../../prov/ofi/cm/linger.h"
#include "../../../prov/ofi/dto/issue.h"
#include "../../../prov/ofi/object/srq_count.h"
#include "conn_world.h"

/* Requests are flushed. Only the first one of a connection that broke shows an error. */
START_TEST(the_requests_of_a_connection_that_ends)
{
	static const struct {
		enum situation before;
		enum happening what;
		bool faulty;
		int status;
	} cases[] = {
		{DIALLING, UNREACHABLE, false, DAT_DTO_ERR_FLUSHED},
		{REQUESTED, MSG_REJECT, false, DAT_DTO_ERR_FLUSHED},
		{REQUESTED, MSG_REJECT_CONSUMER, false, DAT_DTO_ERR_FLUSHED},
		{REQUESTED, TIMER, false, DAT_DTO_ERR_FLUSHED},
		{ACCEPTED, MSG_CANCEL, false, DAT_DTO_ERR_FLUSHED},
		{PATH_LOST, OVERDUE, false, DAT_DTO_ERR_FLUSHED},
		{ESTABLISHED, MSG_BYE, false, DAT_DTO_ERR_FLUSHED},
		{ESTABLISHED, ABRUPT, false, DAT_DTO_ERR_FLUSHED},
		{DRAINING, DRAINED, false, DAT_DTO_ERR_FLUSHED},
		{ESTABLISHED, MSG_BYE_ERROR, false, DAT_DTO_ERR_TRANSPORT},
		{ESTABLISHED, CHAN_LOST, false, DAT_DTO_ERR_TRANSPORT},
		{ESTABLISHED, CHAN_LOST, true, DAT_DTO_ERR_FLUSHED},
	};
	static struct fid_ep endpoint;

	reach(cases[_i].before);
	ep.fep = &endpoint;
	ep.faulty = cases[_i].faulty;
	ep.refused = ep.binding = ep.path_up = true;
	happens(cases[_i].what);
	run_work();
	ck_assert(is_gone());
	ck_assert_int_eq(released_status, cases[_i].status);
	ck_assert_int_eq(nsettled, 0);
}
END_TEST

START_TEST(a_bind_does_not_outlive_its_connection)
{
	reach(ESTABLISHED);
	dofi_list_init(&ia.cm.binds);
	dofi_list_add_tail(&ia.cm.binds, &ep.bind_link);
	happens(ABRUPT);
	run_work();
	ck_assert(dofi_list_empty(&ia.cm.binds));
}
END_TEST

/* The bind has ended a context, and no round of the engine has asked the peers yet. */
START_TEST(the_peers_are_asked_for_a_flushed_bind)
{
	reach(ESTABLISHED);
	dofi_list_init(&ia.cm.chans);
	ep.binding = true;
	ep.bind_replaced = 7;
	happens(ABRUPT);
	run_work();
	ck_assert_uint_eq(ia.cm.invalidations, 1);
	ck_assert_uint_eq(ep.bind_replaced, 0);
}
END_TEST

/* The consumer's reasons come with the event. */
START_TEST(a_rejection_brings_private_data)
{
	static const uint32_t sizes[] = {0, 1, DOFI_MAX_PRIVATE};
	uint8_t data[DOFI_MAX_PRIVATE];
	struct dofi_msg reject = {.type = DOFI_MSG_REJECT,
				  .reason = DOFI_REASON_CONSUMER,
				  .private_data = data,
				  .private_size = sizes[_i]};

	memset(data, 0x5a, sizeof(data));
	memset(ep.private_data, 1, sizeof(ep.private_data));
	reach(REQUESTED);
	reject.dst = id;
	dofi_conn_message(&chan, &reject);
	run_work();
	ck_assert_uint_eq(last_event.conn.private_size, sizes[_i]);
	ck_assert_ptr_eq(last_event.conn.private_data, ep.private_data);
	if (sizes[_i])
		ck_assert_mem_eq(ep.private_data, data, sizes[_i]);
	else
		ck_assert_uint_eq(*(const uint8_t *)ep.private_data, 1);
}
END_TEST

START_TEST(attempts_without_an_answer_are_counted)
{
	reach(REQUESTED);
	happens(TIMER);
	run_work();
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_ERR_TIMEOUT]), 1);
	ck_assert_uint_eq(sent_data, 0); /* CANCEL */
}
END_TEST

/* It has no other way to learn of it. */
START_TEST(an_ep_without_connect_evd_breaks_asynchronously)
{
	reach(ESTABLISHED);
	ep.conn_evd = NULL;
	happens(ABRUPT);
	run_work();
	ck_assert_str_eq(trace, "BYE-orderly unlink async");
}
END_TEST

/* Its connect EVD was that of another IA, which was closed while the EP connected. */
START_TEST(an_ep_that_is_connected_is_not_reported_as_broken)
{
	reach(READY_PENDING);
	ep.conn_evd = NULL;
	happens(MSG_READY);
	ck_assert_int_eq(ep.state, DAT_EP_STATE_CONNECTED);
	ck_assert_ptr_null(strstr(trace, "async"));
	happens(ABRUPT);
	run_work();
	ck_assert_ptr_nonnull(strstr(trace, "async"));
}
END_TEST

/* Some programs of OFED wait for it. */
START_TEST(the_last_receive_of_an_srq_may_be_told)
{
	static const struct {
		enum situation before;
		bool srq, evd, event, tells, told;
	} cases[] = {
		{ESTABLISHED, true, true, true, true, true},
		{ESTABLISHED, false, true, true, true, false},
		{ESTABLISHED, true, true, false, true, false},
		{ESTABLISHED, true, true, true, false, false},
		{ACCEPTED, true, true, true, true, false},
		{ESTABLISHED, true, false, true, true, true}, /* for another reason, once */
	};
	static struct dofi_srq srq = {.obj.ia = &ia};
	const char *told;

	reach(cases[_i].before);
	ia.tells_last_receive = cases[_i].tells;
	ep.srq = cases[_i].srq ? &srq : NULL;
	ep.conn_evd = cases[_i].evd ? &evd : NULL;
	happens(cases[_i].event ? ABRUPT : FREE);
	run_work();
	told = strstr(trace, "async");
	ck_assert_int_eq(told != NULL, cases[_i].told);
	ck_assert(!told || !strstr(told + 1, "async"));
	ck_assert_int_eq(nsettled, cases[_i].srq); /* its truncated message may be another's */
}
END_TEST

static void see_that_posts_are_stopped(void)
{
	ck_assert(!ep.path_up);
}

START_TEST(posts_stop_before_the_path_is_closed)
{
	reach(ESTABLISHED);
	ep.path_up = true;
	while_unlinking = see_that_posts_are_stopped;
	happens(ABRUPT);
	run_work();
	ck_assert(is_gone());
}
END_TEST

/* Soon at first, then at growing intervals, and not longer than linger_ms in all. */
START_TEST(the_fabric_is_asked_again_for_what_it_has)
{
	uint64_t began, pause;
	int looks = 0;

	reach(RELEASING);
	began = now;
	ck_assert_uint_eq(conn->over_since, began);
	while (!is_gone()) {
		pause = 50000 + (now - began);
		if (pause > 100 * MS)
			pause = 100 * MS;
		if (now + pause > began + 1000 * MS)
			pause = began + 1000 * MS - now;
		ck_assert_uint_eq(conn->timer.deadline, now + pause);
		fire(&conn->timer);
		looks++;
	}
	ck_assert_uint_eq(now, began + 1000 * MS);
	ck_assert_int_lt(looks, 30);
}
END_TEST

/* Some functions of a transport's table may be missing. */
START_TEST(a_transport_may_have_nothing_to_prepare_or_cancel)
{
	const struct dofi_trans_ops bare = {.connect = trans.connect,
					    .expect = trans.expect,
					    .disconnect = trans.disconnect};

	ia.trans = &bare;
	reach(_i ? ACTIVE_ESTABLISHED : ESTABLISHED);
	happens(ABRUPT);
	run_work();
	ck_assert_str_eq(trace, "BYE-orderly unlink disconnected");
	ck_assert(is_gone());
}
END_TEST

/* It is an abrupt one in any case. */
START_TEST(an_end_that_is_decided_does_not_linger)
{
	reach(ENDING);
	ep.dirty = ep.path_up = true;
	happens(_i ? ABRUPT : FREE);
	run_work();
	ck_assert_str_eq(trace, _i ? "BYE-error unlink broken" : "BYE-error unlink");
	ck_assert_int_eq(nlinger_waits, 0);
	ck_assert(is_gone());
}
END_TEST

/* An EP is freed in the same call, whatever its connection waits for. */
START_TEST(a_freed_ep_without_a_channel_waits_for_nothing)
{
	reach(RELEASING);
	happens(CHAN_LOST);
	nlinger_waits = 0;
	happens(FREE);
	ck_assert(is_gone());
	ck_assert_int_eq(nlinger_waits, 0);
}
END_TEST

/* But all EPs of an IA that closes share one limit. */
START_TEST(each_ep_has_its_time_to_linger)
{
	atomic_store(&ia.obj.magic, DOFI_MAGIC | (uint32_t)DAT_HANDLE_TYPE_IA);
	ck_assert_uint_eq(dofi_conn_linger_until(&ia), now + 1000 * MS);
	now += 10 * MS;
	ck_assert_uint_eq(dofi_conn_linger_until(&ia), now + 1000 * MS);
	atomic_store(&ia.obj.magic, 0);
	ck_assert_uint_eq(dofi_conn_linger_until(&ia), now + 1000 * MS);
	now += 10 * MS;
	ck_assert_uint_eq(dofi_conn_linger_until(&ia), now + 990 * MS);
}
END_TEST

/* A frozen peer delays one call. */
START_TEST(a_freed_ep_waits_once_for_a_silent_peer)
{
	reach(RELEASING);
	nlinger_waits = 0;
	chan.silent = _i;
	happens(FREE);
	ck_assert(is_gone());
	/* Each wait takes 100 ms here. */
	ck_assert_int_eq(nlinger_waits, _i ? 0 : 11);
	ck_assert(chan.silent);
}
END_TEST

/* An abrupt dat_ep_disconnect waits a short time in the call, and not again for a peer like that.
 */
START_TEST(an_abrupt_end_waits_once_for_a_tardy_peer)
{
	reach(ESTABLISHED);
	ep.dirty = ep.path_up = ep.peeking = true;
	chan.tardy = _i == 1;
	chan.silent = _i == 2;
	happens(ABRUPT);
	ck_assert_int_eq(nlinger_waits, _i ? 0 : 1);
	ck_assert(chan.tardy == (_i < 2));
	ck_assert(chan.silent == (_i == 2)); /* dat_ep_free waits longer for a tardy one */
	ck_assert_int_eq(conn->state, DOFI_CONN_LINGERING);
	ck_assert_str_eq(trace, "");
	/* The event comes, also if the EP is freed. */
	happens(FREE);
	ck_assert_str_eq(trace, "BYE-orderly unlink disconnected");
	ck_assert(is_gone());
}
END_TEST

static void take_data(void)
{
	ep.peeking = false;
}

START_TEST(an_abrupt_end_is_complete_when_the_peer_has_all_data)
{
	reach(ESTABLISHED);
	ep.path_up = ep.peeking = true;
	while_waiting = _i ? take_data : NULL;
	happens(ABRUPT);
	ck_assert_str_eq(trace, _i ? "BYE-orderly unlink disconnected" : "");
}
END_TEST

/* The engine handles the EP only after it has its next connection. */
START_TEST(a_refusal_does_not_end_the_next_connection)
{
	reach(ENDING);
	ep.refused = true;
	happens(WORK);
	run_work();
	start();
	dofi_ep_retry(&ep.stall);
	run_work();
	ck_assert_int_eq(conn->state, DOFI_CONN_DIALLING);
	ck_assert_int_eq(ep.state, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
}
END_TEST

/* --- what arrived before --- */

static int drained_queues;

static void see_that_nothing_has_ended(void)
{
	drained_queues++;
	ck_assert_str_eq(trace, "");
	ck_assert_int_eq(ep.state, DAT_EP_STATE_CONNECTED);
	ck_assert(ep.path_up);
}

/* Its completions are successes, though the connection is about to end. */
START_TEST(what_arrived_before_the_end_is_delivered_first)
{
	reach(ESTABLISHED);
	ep.path_up = true;
	while_draining = see_that_nothing_has_ended;
	happens(_i ? MSG_BYE : ABRUPT);
	run_work();
	ck_assert_int_ge(drained_queues, 1);
	ck_assert_int_eq(ep.state, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

static void count_drains(void)
{
	drained_queues++;
}

START_TEST(without_a_path_nothing_can_have_arrived)
{
	reach(REQUESTED);
	while_draining = count_drains;
	happens(ABRUPT);
	run_work();
	ck_assert_int_eq(drained_queues, 0);
	ck_assert_int_eq(ep.state, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

static void receive_one(void)
{
	ep.nreceived++;
}

/* The last message of the peer lies in the queue when its goodbye is read. */
START_TEST(a_goodbye_does_not_wait_for_what_is_in_the_queue)
{
	static struct dofi_srq srq = {.obj.ia = &ia};

	reach(ESTABLISHED);
	ep.srq = &srq;
	ia.engine.has_fabric = true;
	while_draining = receive_one;
	hear(DOFI_MSG_BYE, DOFI_REASON_DISCONNECT, ep.nreceived + 1);
	ck_assert_int_eq(conn->state, DOFI_CONN_ENDING);
	ck_assert_uint_eq(conn->end_event, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

static void add_failures(Suite *suite)
{
	TCase *tc = add_case(suite, "failures");

	tcase_add_test(tc, a_refusal_does_not_end_the_next_connection);
}

static void add_late_messages(Suite *suite)
{
	TCase *tc = add_case(suite, "late_messages");

	tcase_add_loop_test(tc, what_arrived_before_the_end_is_delivered_first, 0, 2);
	tcase_add_test(tc, without_a_path_nothing_can_have_arrived);
	tcase_add_test(tc, a_goodbye_does_not_wait_for_what_is_in_the_queue);
}

static void add_ends(Suite *suite)
{
	TCase *tc = add_case(suite, "ends");

	tcase_add_loop_test(tc, the_requests_of_a_connection_that_ends, 0, 12);
	tcase_add_test(tc, a_bind_does_not_outlive_its_connection);
	tcase_add_test(tc, the_peers_are_asked_for_a_flushed_bind);
	tcase_add_loop_test(tc, a_rejection_brings_private_data, 0, 3);
	tcase_add_test(tc, attempts_without_an_answer_are_counted);
	tcase_add_test(tc, an_ep_without_connect_evd_breaks_asynchronously);
	tcase_add_test(tc, an_ep_that_is_connected_is_not_reported_as_broken);
	tcase_add_loop_test(tc, the_last_receive_of_an_srq_may_be_told, 0, 6);
	tcase_add_test(tc, posts_stop_before_the_path_is_closed);
	tcase_add_test(tc, the_fabric_is_asked_again_for_what_it_has);
	tcase_add_loop_test(tc, a_transport_may_have_nothing_to_prepare_or_cancel, 0, 2);
	tcase_add_loop_test(tc, an_end_that_is_decided_does_not_linger, 0, 2);
	tcase_add_test(tc, a_freed_ep_without_a_channel_waits_for_nothing);
	tcase_add_test(tc, each_ep_has_its_time_to_linger);
	tcase_add_loop_test(tc, a_freed_ep_waits_once_for_a_silent_peer, 0, 2);
	tcase_add_loop_test(tc, an_abrupt_end_waits_once_for_a_tardy_peer, 0, 3);
	tcase_add_loop_test(tc, an_abrupt_end_is_complete_when_the_peer_has_all_data, 0, 2);
}

int main(void)
{
	Suite *suite = suite_create("conn_end");

	add_failures(suite);
	add_late_messages(suite);
	add_ends(suite);
	return t_run(suite);
}
