/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each event that may come in each state of a connection: the actions of the connection, their
 * order, and the state of the EP afterwards.
 */
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/cm/cr.h"
#include "../../../prov/ofi/cm/ud_ah.h"
#include "../../../prov/ofi/dto/issue.h"
#include "../../../prov/ofi/dto/ud_window.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/srq_count.h"
#include "conn_world.h"

#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <sys/resource.h>

/* --- the test --- */

static bool is_gone(void)
{
	return dofi_conn_by_id(&ia, id) != conn;
}

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

/* --- failures --- */

static int released_status = -1; /* of the requests of a connection that has ended */

START_TEST(a_transport_that_cannot_connect_ends_the_attempt)
{
	reach(REQUESTED);
	connect_fails = -ENOMEM;
	atomic_store(&ia.wait.awake_until, 0);
	happens(MSG_ACCEPT);
	ck_assert_uint_gt(atomic_load(&ia.wait.awake_until), now); /* more follows soon */
	run_work();
	ck_assert_str_eq(trace, "connect BYE-error unlink non-peer-rejected");
	ck_assert_int_eq(ep.state, DAT_EP_STATE_DISCONNECTED);
	ck_assert_int_eq(released_status, DAT_DTO_ERR_FLUSHED);
}
END_TEST

START_TEST(a_transport_that_cannot_expect_ends_the_connection)
{
	reach(OFFERED);
	expect_fails = true;
	happens(CR_ACCEPT);
	run_work();
	ck_assert_str_eq(trace, "expect BYE-error unlink accept-completion-error");
	ck_assert_int_eq(ep.state, DAT_EP_STATE_DISCONNECTED);
	ck_assert_int_eq(released_status, DAT_DTO_ERR_FLUSHED);
}
END_TEST

START_TEST(accept_waits_until_the_transport_expects_the_peer)
{
	static struct dofi_cr cr;

	reach(OFFERED);
	expects_later = true;
	conn->cr = &cr;
	conn->asked_qual = 99;
	dofi_conn_accept(conn, &ep, "of the consumer", 16);
	ck_assert_str_eq(trace, "expect");
	ck_assert_ptr_null(conn->cr);
	ck_assert_uint_eq(conn->timer.deadline, now + 10000 * MS);
	now += 50 * MS;
	dofi_conn_expected(conn);
	ck_assert_str_eq(trace, "expect ACCEPT");
	ck_assert_str_eq(sent_private, "of the consumer");
	ck_assert_uint_eq(last_msg.conn_qual, 99);
	ck_assert_uint_eq(conn->timer.deadline, now + 10000 * MS);
}
END_TEST

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

/* The peer, mostly on the same host, has no processor either. */
START_TEST(a_last_word_has_more_time_on_an_overloaded_host)
{
	reach(_i ? DATA_PENDING : GOODBYE_PENDING);
	overloaded = true;
	for (uint32_t n = 1; n <= 4; n++) {
		happens(TIMER);
		ck_assert_uint_eq(conn->prolonged, n);
		ck_assert_uint_eq(conn->timer.deadline, now + 1000 * MS);
	}
	ck_assert_str_eq(trace, "");
	happens(TIMER);
	run_work();
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

/* Each wait for a last word begins anew, with the load of the host at that time. */
START_TEST(a_wait_for_the_last_word_begins_anew)
{
	reach(ESTABLISHED);
	conn->prolonged = 3;
	conn->delay = (struct dofi_run_delay){.at = 1, .waited = 1};
	ia.cm.delay = (struct dofi_run_delay){.at = now, .waited = 42};
	ep.path_up = conn->lingers = true;
	happens(_i ? PATH_DOWN : MSG_BYE_EARLY);
	ck_assert_int_eq(ep.path_up, !_i);
	ck_assert_int_eq(conn->lingers, !_i);
	ck_assert_uint_eq(conn->prolonged, 0);
	ck_assert_uint_eq(conn->delay.at, now);
	ck_assert_uint_eq(conn->delay.waited, 42);
	ck_assert_uint_eq(conn->timer.deadline, now + 1000 * MS);
}
END_TEST

/* The consumer would talk to somebody else than it asked for. */
START_TEST(an_accept_for_another_qualifier_is_refused)
{
	reach(REQUESTED);
	heard_qual = 5;
	happens(MSG_ACCEPT);
	run_work();
	ck_assert_str_eq(trace, "BYE-error unlink non-peer-rejected");
	ck_assert_int_eq(ep.state, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

/* The peer's last messages are waited for, whatever its BYE tells. */
START_TEST(the_end_is_what_the_bye_told)
{
	reach(ESTABLISHED);
	ep.path_up = true;
	hear_bye(_i ? DOFI_REASON_ERROR : DOFI_REASON_DISCONNECT, 1);
	ck_assert_int_eq(ep.state, DAT_EP_STATE_CONNECTED);
	happens(TIMER);
	run_work();
	ck_assert_ptr_nonnull(strstr(trace, _i ? "broken" : "disconnected"));
	ck_assert_int_eq(ep.state, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

START_TEST(an_ep_of_another_service_is_refused)
{
	reach(REQUESTED);
	ep.ud = &ud; /* the service of the EP changes after the connection has begun */
	happens(MSG_ACCEPT);
	ep.ud = NULL;
	run_work();
	ck_assert_str_eq(trace, "BYE-error unlink non-peer-rejected");
	ck_assert_int_eq(ep.state, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

/* dat_ep_query tells them, and dat_ep_dup_connect dials what was dialled before. */
START_TEST(the_ep_shows_both_ends)
{
	bool accepts = _i;

	ep.dialled = accepts;
	chan.remote.ss_family = AF_INET6;
	reach(accepts ? OFFERED : DIALLING);
	conn->port_qual = 7;
	if (accepts)
		happens(CR_ACCEPT);
	ck_assert_int_eq(ep.dialled, !accepts);
	ck_assert_uint_eq(ep.remote_qual, accepts ? 7 : 1u << 20);
	ck_assert_uint_eq(ep.local_qual, accepts ? 1u << 20 : conn->id);
	ck_assert_int_eq(ep.remote_addr.ss_family, accepts ? AF_INET6 : AF_INET);
	ck_assert_ptr_eq(ep.conn, conn);
	ck_assert_ptr_eq(conn->ep, &ep);
}
END_TEST

START_TEST(a_request_is_offered_once)
{
	struct dofi_conn *first;

	reach(OFFERED);
	first = conn;
	conn = NULL;
	hear(DOFI_MSG_REQUEST, 0, 0);
	ck_assert_ptr_null(conn);
	ck_assert_ptr_eq(dofi_conn_by_id(&ia, id), first);
	ck_assert_uint_eq(ia.cm.nconns, 1);
}
END_TEST

/* --- what a connection begins with --- */

START_TEST(an_attempt_knows_its_destination)
{
	static const char data[] = "of the consumer";
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr.s6_addr = {[15] = 1}};
	uint64_t deadline = _i ? DOFI_FOREVER : now + 5000 * MS;

	ck_assert_int_eq(dofi_conn_start(&ep, (const struct sockaddr *)&six, 1u << 20, deadline,
					 data, sizeof(data)),
			 0);
	conn = ep.conn;
	ck_assert_mem_eq(&conn->remote, &six, sizeof(six));
	ck_assert_uint_eq(conn->port_qual, conn->id);
	ck_assert_uint_eq(conn->private_size, sizeof(data));
	ck_assert_mem_eq(conn->private_data, data, sizeof(data));
	ck_assert_int_eq(is_armed(&conn->timer), !_i);
	ck_assert_uint_eq(ep.counters[DOFI_CNT_EP_CONNECT], 1);
}
END_TEST

/* That of the host, if both sides use it and the EP has no SRQ. The log tells why not. */
START_TEST(a_connection_within_the_host_may_have_its_own_transport)
{
	static const struct {
		bool accepts, there, ud, srq, asked, own;
		const char *why;
	} cases[] = {
		{.there = true, .own = true},
		{.there = true, .accepts = true, .asked = true, .own = true},
		{.there = true, .accepts = true, .why = "the peer does not ask for it"},
		{.there = true, .srq = true, .why = "it has an SRQ"},
		{.there = true,
		 .accepts = true,
		 .asked = true,
		 .srq = true,
		 .why = "it has an SRQ"},
		{.there = true, .ud = true},
		{.accepts = true, .asked = true},
	};
	static struct dofi_srq srq = {.obj.ia = &ia};
	const struct dofi_trans_ops own = trans;

	ep.ud = cases[_i].ud ? &ud : NULL;
	ep.srq = cases[_i].srq ? &srq : NULL;
	ia.local_trans = cases[_i].there ? &own : NULL;
	if (cases[_i].accepts) {
		reach(OFFERED);
		conn->peer_flags = cases[_i].asked ? DOFI_MSG_F_MEMORY : 0;
		happens(CR_ACCEPT);
	} else {
		start();
	}
	ck_assert_ptr_eq(conn->trans, cases[_i].own ? &own : &trans);
	if (cases[_i].why)
		ck_assert_str_eq(conn->why_fabric, cases[_i].why);
	else
		ck_assert_ptr_null(conn->why_fabric);
}
END_TEST

/* Whether the next port, another event or nothing is tried depends on the error. */
START_TEST(errors_of_a_dial_have_a_meaning)
{
	static const struct {
		int err;
		const char *trace;
	} cases[] = {
		{ECONNREFUSED, "dial"},
		{ECONNRESET, "dial"},
		{EPROTO, "dial"},
		{EHOSTUNREACH, "unlink unreachable"},
		{ENETUNREACH, "unlink unreachable"},
		{EHOSTDOWN, "unlink unreachable"},
		{ENETDOWN, "unlink unreachable"},
		{EADDRNOTAVAIL, "unlink unreachable"},
		{EACCES, "unlink unreachable"},
		{EINVAL, "unlink unreachable"},
		{ETIMEDOUT, "unlink unreachable"},
		{EMFILE, "unlink non-peer-rejected"},
		{ENOMEM, "unlink non-peer-rejected"},
	};
	int fd = t_capture(STDERR_FILENO), err = cases[_i].err;
	const char *text;

	reach(DIALLING);
	fail_dial(-err);
	run_work();
	ck_assert_str_eq(trace, cases[_i].trace);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_ERR_REFUSED]),
			  err == ECONNREFUSED);
	text = t_captured(fd);
	ck_assert_int_eq(strstr(text, "can't open a control channel") != NULL,
			 err == EMFILE || err == ENOMEM);
	ck_assert_int_eq(strstr(text, "ulimit -n") != NULL, err == EMFILE);
}
END_TEST

static uint16_t port_of(uint32_t candidate)
{
	uint16_t port = 0;

	ck_assert(dofi_port_candidate(1u << 20, candidate, &port));
	return port;
}

/* If no process was missing there, but only other services were found, it is not tried again. */
START_TEST(each_port_of_a_qualifier_is_dialled)
{
	uint32_t n = 0;
	uint16_t port;

	start();
	while (dofi_port_candidate(1u << 20, n, &port)) {
		ck_assert_uint_eq(conn->candidate, n++);
		ck_assert_uint_eq(dialled_port, port);
		conn->redialled = true; /* by another channel, at that port */
		fail_dial(-ECONNRESET);
		ck_assert(!conn->redialled);
	}
	ck_assert_uint_gt(n, 1);
	run_work();
	ck_assert_ptr_nonnull(strstr(trace, "dial unlink non-peer-rejected"));
	ck_assert(is_gone());
}
END_TEST

/* A listener may come to any of them. */
START_TEST(a_later_round_begins_with_the_first_port)
{
	reach(REDIALLING);
	ck_assert_uint_ne(dialled_port, port_of(0));
	conn->redialled = true;
	happens(REDIAL);
	ck_assert_str_eq(trace, "dial");
	ck_assert_uint_eq(conn->candidate, 0);
	ck_assert_uint_eq(dialled_port, port_of(0));
	ck_assert(!conn->redialled);
}
END_TEST

/* The peer finds the first one by it, if that has come. */
START_TEST(a_request_tells_that_it_comes_again)
{
	reach(REQUESTED);
	ck_assert(!(sent_flags & DOFI_MSG_F_AGAIN));
	ck_assert(conn->asked);
	dofi_conn_ask(conn);
	ck_assert(sent_flags & DOFI_MSG_F_AGAIN);
}
END_TEST

/* Also if the request left before the channel was known to be up. */
START_TEST(a_request_is_sent_once)
{
	static const char data[] = "of the consumer";

	reach(DIALLING);
	dofi_conn_set_private(conn, data, sizeof(data));
	dofi_conn_ask(conn);
	ck_assert_str_eq(trace, "REQUEST");
	ck_assert_uint_eq(last_msg.conn_qual, 1u << 20);
	ck_assert_uint_eq(last_msg.port_qual, conn->id);
	ck_assert_uint_eq(last_msg.src, conn->id);
	ck_assert_uint_eq(last_msg.dst, 0);
	ck_assert_uint_eq(last_msg.private_size, sizeof(data));
	ck_assert_mem_eq(sent_private, data, sizeof(data));
	ck_assert_mem_eq(last_msg.token, conn->token, sizeof(conn->token));
	happens(CHAN_UP);
	ck_assert_str_eq(trace, "REQUEST prepare");
}
END_TEST

/* Memory that may be locked is limited on many hosts, and RDMA devices need it. */
START_TEST(the_log_tells_why_a_path_cannot_be_made)
{
	struct rlimit limit = {.rlim_cur = 64 * 1024, .rlim_max = 64 * 1024};
	int fd = t_capture(STDERR_FILENO);
	const char *text;

	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	reach(REQUESTED);
	connect_fails = _i ? -FI_ENOMEM : -FI_ENODEV;
	happens(MSG_ACCEPT);
	text = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(text, fi_strerror(_i ? FI_ENOMEM : FI_ENODEV)));
	ck_assert_int_eq(strstr(text, "may lock 64 KiB") != NULL, _i);
}
END_TEST

START_TEST(a_request_has_what_its_message_told)
{
	static const char data[] = "of the connector";
	const struct dofi_msg request = {.type = DOFI_MSG_REQUEST,
					 .conn_qual = 1u << 20,
					 .port_qual = 99,
					 .src = 77,
					 .flags = _i ? DOFI_MSG_F_UD : 0,
					 .token = {5},
					 .private_data = data,
					 .private_size = sizeof(data)};

	dofi_conn_message(&chan, &request);
	ck_assert_ptr_nonnull(conn);
	ck_assert_int_eq(conn->state, DOFI_CONN_OFFERED);
	ck_assert(!conn->active);
	ck_assert_int_eq(conn->ud, _i);
	ck_assert_uint_eq(conn->conn_qual, 1u << 20);
	ck_assert_uint_eq(conn->asked_qual, 1u << 20);
	ck_assert_uint_eq(conn->port_qual, 99);
	ck_assert_uint_eq(conn->peer_id, 77);
	ck_assert_uint_eq(conn->peer_token[0], 5);
	ck_assert_uint_eq(conn->private_size, sizeof(data));
	ck_assert_mem_eq(conn->private_data, data, sizeof(data));
	ck_assert_ptr_eq(conn->chan, &chan);
	ck_assert_uint_eq(chan.noffered, 1);
}
END_TEST

/* The connector gets the private data of ACCEPT; the other side had that of the request. */
START_TEST(an_established_connection_brings_private_data)
{
	static const char data[] = "of the acceptor";
	struct dofi_msg accept = {.type = DOFI_MSG_ACCEPT,
				  .conn_qual = 1u << 20,
				  .src = 77,
				  .private_data = data,
				  .private_size = sizeof(data)};
	uint32_t steps;

	reach(_i ? REQUESTED : ACCEPTED);
	accept.dst = id;
	if (_i)
		dofi_conn_message(&chan, &accept);
	steps = ia.cm.steps;
	ia.cm.last_step = 0;
	happens(_i ? PATH_UP : MSG_READY);
	ck_assert_int_eq(ep.state, DAT_EP_STATE_CONNECTED);
	ck_assert_uint_gt(ia.cm.steps, steps);
	ck_assert_uint_eq(ia.cm.last_step, now);
	ck_assert_uint_eq(last_event.number, DAT_CONNECTION_EVENT_ESTABLISHED);
	ck_assert_ptr_eq(last_event.handle, &ep);
	ck_assert_ptr_eq(last_event.conn.private_data, ep.private_data);
	ck_assert_uint_eq(last_event.conn.private_size, _i ? sizeof(data) : 0);
	if (_i)
		ck_assert_mem_eq(ep.private_data, data, sizeof(data));
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_ACTIVE_EST]), _i);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_PASSIVE_EST]), !_i);
}
END_TEST

/* --- what an end leaves --- */

static int nsettled;

void __real_dofi_release_flushed(struct dofi_ep *of, uint8_t status);
void __wrap_dofi_release_flushed(struct dofi_ep *of, uint8_t status);
void __wrap_dofi_evd_async(struct dofi_ia *of, DAT_EVENT_NUMBER number, void *handle,
			   uint32_t reason);
void __wrap_dofi_truncated_settle(struct dofi_srq *srq);

/* No completion of before the end, and no operation, touches the EP any more. */
void __wrap_dofi_release_flushed(struct dofi_ep *of, uint8_t status)
{
	released_status = status;
	ck_assert_int_eq(of->state, DAT_EP_STATE_DISCONNECTED);
	ck_assert(!of->conn && !of->fep);
	ck_assert(!of->path_up && !of->binding && !of->peeking && !of->faulty && !of->refused);
	__real_dofi_release_flushed(of, status);
}

void __wrap_dofi_evd_async(struct dofi_ia *of, DAT_EVENT_NUMBER number, void *handle,
			   uint32_t reason)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_int_eq((int)number, DAT_ASYNC_ERROR_EP_BROKEN);
	ck_assert_ptr_eq(handle, &ep);
	ck_assert_uint_eq(reason, 0);
	note("async");
}

void __wrap_dofi_truncated_settle(struct dofi_srq *srq)
{
	ck_assert_ptr_eq(srq, ep.srq);
	nsettled++;
}

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
		{PATH_LOST, TIMER, false, DAT_DTO_ERR_FLUSHED},
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
	static const struct dofi_trans_ops bare = {.connect = transport_connect,
						   .expect = expect,
						   .disconnect = disconnect};

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
	chan.silent = _i;
	happens(FREE);
	ck_assert(is_gone());
	/* Each wait takes 100 ms here. */
	ck_assert_int_eq(nlinger_waits, _i ? 0 : 11);
	ck_assert(chan.silent);
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

/* Behind the loss of its channel, or before that is noticed. */
static void hear_again(uint16_t flags, uint8_t token)
{
	const struct dofi_msg msg = {.type = DOFI_MSG_REQUEST,
				     .conn_qual = 1u << 20,
				     .src = 77,
				     .token = {token},
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

/* --- a request that is refused --- */

START_TEST(a_peer_with_too_many_requests_is_refused)
{
	chan.noffered = (uint32_t)ia.params.max_peer_requests;
	hear(DOFI_MSG_REQUEST, 0, 0);
	ck_assert_str_eq(trace, "REJECT");
	ck_assert_int_eq(last_msg.reason, DOFI_REASON_RESOURCES);
	ck_assert_uint_eq(last_msg.dst, 77);
	ck_assert_uint_eq(ia.cm.nconns, 0);
}
END_TEST

START_TEST(a_request_that_cannot_be_offered_is_refused)
{
	static const enum dofi_reason reasons[] = {DOFI_REASON_NOT_MINE, DOFI_REASON_RESOURCES};

	offer_result = reasons[_i];
	hear(DOFI_MSG_REQUEST, 0, 0);
	ck_assert_str_eq(trace, "REJECT");
	ck_assert_int_eq(last_msg.reason, (int)reasons[_i]);
	ck_assert_uint_eq(last_msg.dst, 77);
	ck_assert_uint_eq(last_msg.private_size, 0);
	ck_assert_uint_eq(ia.cm.nconns, 0);
	ck_assert_uint_eq(chan.noffered, 0);
	ck_assert(dofi_list_empty(&chan.conns));
}
END_TEST

/* The channel may end before the consumer decides. */
START_TEST(a_request_without_a_connector_leaves_the_channel)
{
	reach(OFFERED);
	happens(MSG_CANCEL);
	ck_assert_int_eq(conn->state, DOFI_CONN_ABANDONED);
	ck_assert_ptr_null(conn->chan);
	ck_assert(dofi_list_empty(&chan.conns));
	ck_assert_uint_eq(chan.noffered, 0);
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

/* READY says that the path is up, but it was lost before it was made. */
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
	ck_assert_str_eq(trace, "unlink accept-completion-error");
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

/* A mark of the peer that comes meanwhile must not be answered by it. */
static void see_that_the_handle_is_gone(void)
{
	ck_assert_ptr_null(conn->ud_ah);
}

/* A UD EP is freed. Its connections end without an event, and the peers send nothing more. */
START_TEST(an_ep_of_datagrams_that_is_freed_ends_its_connections)
{
	static const enum situation states[] = {DATAGRAM, SENDING_ONLY, RECEIVING_ONLY};

	reach(states[_i]);
	while_unlinking = see_that_the_handle_is_gone;
	dofi_ud_drop_all(&ep);
	ck_assert(dofi_list_empty(&ud.conns));
	ck_assert_uint_eq(ia.counts[DOFI_HANDLE_TYPE_AH], 0);
	ck_assert_int_eq(nsilent, 1);
	ck_assert_str_eq(trace, "unlink BYE-error");
	ck_assert(is_gone());
	ck_assert(dofi_list_empty(&ud.ahs));
}
END_TEST

/* What the consumer has freed goes with the connection, and not before. */
START_TEST(a_freed_address_handle_stays_while_the_peer_sends)
{
	struct dofi_ud_ah *ah;

	reach(DATAGRAM);
	ah = conn->ud_ah;
	ah->ah_freed = ah->cm_freed = true;
	happens(AH_FREE);
	ck_assert_int_eq(conn->state, DOFI_CONN_RECEIVING_ONLY);
	ck_assert(!dofi_list_empty(&ud.ahs));
	happens(MSG_BYE);
	ck_assert(is_gone());
	ck_assert(dofi_list_empty(&ud.ahs));
}
END_TEST

/* --- address handles --- */

static struct dofi_wakeup_peer *wakeup_of(bool ours)
{
	static struct dofi_wakeup_peer *peer;
	static _Atomic uint32_t mark;

	peer = peer ? peer : calloc(1, sizeof(*peer));
	ia.wakeup.mark = ours ? &mark : NULL;
	return peer;
}

/* What a datagram to the peer needs, and for who has asked the peer's private data. */
START_TEST(an_address_handle_names_the_peer)
{
	bool active = _i % 2, wakes = _i / 2;
	struct dofi_wakeup_peer *wakeup = wakeup_of(wakes);
	static const char data[] = "of the peer";
	struct dofi_ud_ah *ah;

	chan.remote.ss_family = AF_INET6;
	reach(active ? UD_CONNECTING : UD_ACCEPTED);
	conn->dest = 0xd00d;
	conn->peer_ud = 9;
	conn->wakeup = wakeup;
	memset(conn->peer_token, 0x5a, sizeof(conn->peer_token));
	dofi_conn_set_private(conn, data, sizeof(data));
	happens(active ? PATH_UP : MSG_READY);
	ah = conn->ud_ah;
	ck_assert_ptr_eq(dofi_ud_ah(ah), ah);
	ck_assert_ptr_eq(ah->ep, &ep);
	ck_assert_uint_eq(ah->dest, 0xd00d);
	ck_assert_uint_eq(ah->number, 9);
	ck_assert_ptr_eq(ah->wakeup, wakes ? wakeup : NULL);
	ck_assert_int_eq(ah->addr.ss_family, AF_INET6);
	ck_assert_uint_eq(ah->peer_conn, 77);
	ck_assert_uint_eq(ah->peer_secret, dofi_token_secret(conn->peer_token));
	ck_assert_uint_eq(ah->private_size, active ? sizeof(data) : 0);
	if (active)
		ck_assert_mem_eq(ah->private_data, data, sizeof(data));
	ck_assert_ptr_eq(last_event.handle, &ep);
	ck_assert_ptr_eq(last_event.conn.private_data, ah);
	ck_assert_uint_eq(last_event.conn.private_size, ah->private_size);
	ck_assert_uint_eq(last_event.ext,
			  (active ? DOFI_UD_TYPE_REMOTE_AH : DOFI_UD_TYPE_PASSIVE_AH) + 1);
}
END_TEST

START_TEST(an_attempt_that_fails_has_an_event)
{
	static const struct {
		enum happening what;
		uint16_t type;
	} cases[] = {{MSG_BYE, DOFI_UD_TYPE_REJECTED}, {FAIL, DOFI_UD_TYPE_ERROR}};

	reach(UD_CONNECTING);
	happens(cases[_i].what);
	run_work();
	ck_assert_ptr_eq(last_event.handle, &ep);
	ck_assert_uint_eq(last_event.ext, cases[_i].type + 1);
	ck_assert_uint_eq(last_event.conn.private_size, 0);
	ck_assert(dofi_list_empty(&ud.conns));
}
END_TEST

/* The consumer's reasons come with the event. */
START_TEST(a_refused_attempt_brings_private_data)
{
	static const char data[] = "not today";
	struct dofi_msg reject = {.type = DOFI_MSG_REJECT,
				  .reason = DOFI_REASON_CONSUMER,
				  .private_data = data,
				  .private_size = sizeof(data)};

	ep.ud = &ud;
	start();
	happens(CHAN_UP);
	reject.dst = id;
	dofi_conn_message(&chan, &reject);
	run_work();
	ck_assert_uint_eq(last_event.number, DOFI_UD_EVENT_REJECTED);
	ck_assert_uint_eq(last_event.ext, DOFI_UD_TYPE_REJECTED + 1);
	ck_assert_ptr_eq(last_event.conn.private_data, ep.private_data);
	ck_assert_uint_eq(last_event.conn.private_size, sizeof(data));
	ck_assert_mem_eq(ep.private_data, data, sizeof(data));
	ck_assert(is_gone());
}
END_TEST

START_TEST(a_datagram_has_the_connection_of_its_address_handle)
{
	struct dofi_wr wr = {.op = DOFI_OP_SEND};

	reach(DATAGRAM);
	ck_assert_ptr_null(dofi_ud_conn_of(&wr));
	wr.send.ah = conn->ud_ah;
	ck_assert_ptr_eq(dofi_ud_conn_of(&wr), conn);
	happens(CHAN_LOST);
	ck_assert_ptr_null(dofi_ud_conn_of(&wr));
}
END_TEST

/* The consumer does not want to know. */
START_TEST(an_ep_without_connect_evd_has_no_event)
{
	ep.conn_evd = NULL;
	reach(UD_ACCEPTED);
	happens(_i ? MSG_READY : MSG_BYE);
	run_work();
	ck_assert_str_eq(trace, _i ? "" : "unlink");
}
END_TEST

static struct dofi_ud_ah *reach_handle(void)
{
	reach(DATAGRAM);
	atomic_store(&ep.obj.magic, DOFI_MAGIC | (uint32_t)DAT_HANDLE_TYPE_EP);
	return conn->ud_ah;
}

typedef DAT_RETURN release(DAT_EP_HANDLE of, const void *handle);

static DAT_RETURN let_go(release *call, void *of, const void *handle)
{
	DAT_RETURN ret;

	dofi_unlock(&ia.engine.lock);
	ret = call(of, handle);
	dofi_lock(&ia.engine.lock);
	return ret;
}

/* It has two owners, the consumer's address handle and its connection, in either order. */
START_TEST(an_address_handle_is_valid_until_both_parts_are_freed)
{
	struct dofi_ud_ah *ah = reach_handle();
	release *first = _i ? dofi_ud_cm_free : dofi_ud_ah_free,
		*other = _i ? dofi_ud_ah_free : dofi_ud_cm_free;

	ck_assert_uint_eq(let_go(first, &ep, ah), DAT_SUCCESS);
	ck_assert_int_eq(nsilent, !_i);
	ck_assert_uint_eq(let_go(first, &ep, ah), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(let_go(other, &ep, ah), DAT_SUCCESS);
	ck_assert_uint_eq(let_go(other, &ep, ah), DOFI_BAD_ARG(2));
	ck_assert_int_eq(nsilent, 1);
	ck_assert_str_eq(trace, "BYE-orderly");
	ck_assert_int_eq(conn->state, DOFI_CONN_RECEIVING_ONLY);
	ck_assert(!dofi_list_empty(&ud.ahs)); /* it answers the peer's marks */
	happens(MSG_BYE);
	ck_assert(is_gone());
	ck_assert(dofi_list_empty(&ud.ahs) && dofi_list_empty(&ud.conns));
	ck_assert_uint_eq(ia.counts[DOFI_HANDLE_TYPE_AH], 0);
}
END_TEST

/* The peer is gone first. */
START_TEST(a_lost_peer_gets_no_more_datagrams)
{
	struct dofi_ud_ah *ah = reach_handle();

	mark_finds_no_room = true;
	dofi_ud_answer(ah, 5);
	ck_assert(!dofi_list_empty(&ia.ud_answers));
	happens(CHAN_LOST);
	ck_assert(is_gone());
	ck_assert_int_eq(nsilent, 1);
	ck_assert(dofi_list_empty(&ia.ud_answers)); /* nobody waits for it any more */
	ck_assert_ptr_null(ah->conn);
	ck_assert_uint_eq(let_go(dofi_ud_cm_free, &ep, ah), DAT_SUCCESS);
	ck_assert(!dofi_list_empty(&ud.ahs));
	ck_assert_uint_eq(let_go(dofi_ud_ah_free, &ep, ah), DAT_SUCCESS);
	ck_assert(dofi_list_empty(&ud.ahs));
}
END_TEST

/* The peer sends nothing any more, so nothing is left for the connection to do. */
START_TEST(the_last_use_of_an_address_handle_ends_the_connection)
{
	struct dofi_ud_ah *ah;

	reach(SENDING_ONLY);
	atomic_store(&ep.obj.magic, DOFI_MAGIC | (uint32_t)DAT_HANDLE_TYPE_EP);
	ah = conn->ud_ah;
	mark_finds_no_room = true;
	dofi_ud_answer(ah, 5);
	ck_assert(!dofi_list_empty(&ia.ud_answers));
	ck_assert_uint_eq(let_go(dofi_ud_ah_free, &ep, ah), DAT_SUCCESS);
	ck_assert_str_eq(trace, "BYE-orderly unlink");
	ck_assert(is_gone());
	ck_assert(dofi_list_empty(&ud.conns));
	ck_assert(dofi_list_empty(&ia.ud_answers));
	ck_assert_ptr_null(ah->conn);
	ck_assert_uint_eq(let_go(dofi_ud_cm_free, &ep, ah), DAT_SUCCESS);
	ck_assert(dofi_list_empty(&ud.ahs));
	ck_assert_uint_eq(ia.counts[DOFI_HANDLE_TYPE_AH], 0);
}
END_TEST

/* The call returns without the engine's lock, as let_go sees. */
START_TEST(only_an_address_handle_of_the_ia_is_freed)
{
	release *call = _i ? dofi_ud_cm_free : dofi_ud_ah_free;
	struct dofi_ud_ah *ah = reach_handle();
	static struct dofi_ia other;

	ck_assert_uint_eq(let_go(call, &ep, NULL), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(let_go(call, &ep, &ep), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(let_go(call, NULL, ah), DOFI_BAD_HANDLE(EP));
	ah->obj.ia = &other;
	ck_assert_uint_eq(let_go(call, &ep, ah), DOFI_BAD_ARG(2));
	ah->obj.ia = &ia;
	ep.ud = NULL;
	ck_assert_uint_eq(let_go(call, &ep, ah), DOFI_BAD_HANDLE(EP));
	ep.ud = &ud;
	ck_assert_int_eq(nsilent, 0);
	ck_assert(!ah->ah_freed && !ah->cm_freed);
}
END_TEST

static bool no_objects;

void *__real_dofi_obj_alloc(struct dofi_ia *of, const DAT_PROVIDER *provider, DAT_HANDLE_TYPE type,
			    size_t size);
void *__wrap_dofi_obj_alloc(struct dofi_ia *of, const DAT_PROVIDER *provider, DAT_HANDLE_TYPE type,
			    size_t size);

void *__wrap_dofi_obj_alloc(struct dofi_ia *of, const DAT_PROVIDER *provider, DAT_HANDLE_TYPE type,
			    size_t size)
{
	return no_objects ? NULL : __real_dofi_obj_alloc(of, provider, type, size);
}

START_TEST(without_memory_for_the_handle_the_connection_ends)
{
	reach(UD_ACCEPTED);
	no_objects = true;
	happens(MSG_READY);
	run_work();
	ck_assert_str_eq(trace, "unlink BYE-error ud-error");
	ck_assert(is_gone());
}
END_TEST

/* Two sides establish a connection of datagrams. */
START_TEST(connections_of_datagrams_are_counted)
{
	reach(_i ? ACTIVE_DATAGRAM : DATAGRAM);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_AH_RESOLVED]), 1);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_ACTIVE_EST]), _i);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_PASSIVE_EST]), !_i);
	ck_assert(!is_armed(&conn->timer));
}
END_TEST

static bool mark_comes(uint32_t update)
{
	return dofi_ud_mark(&ia, id, dofi_token_secret(conn->token), update);
}

START_TEST(a_mark_is_answered)
{
	static const enum situation states[] = {DATAGRAM, ACTIVE_DATAGRAM, RECEIVING_ONLY};

	reach(states[_i]);
	ck_assert(mark_comes(42));
	ck_assert_str_eq(trace, "answer-42");
	ck_assert(!dofi_ud_mark(&ia, id, dofi_token_secret(conn->token) + 1, 43));
	ck_assert(!dofi_ud_mark(&ia, 0, dofi_token_secret(conn->token), 43));
	ck_assert_str_eq(trace, "answer-42");
}
END_TEST

/* The peer sends as soon as it has its address handle, and its READY takes another way. */
START_TEST(a_mark_that_comes_before_ready_is_answered_with_the_handle)
{
	reach(UD_ACCEPTED);
	ck_assert(mark_comes(42));
	ck_assert(mark_comes(43));
	ck_assert_str_eq(trace, "");
	happens(MSG_READY);
	ck_assert_str_eq(trace, "answer-43 ud-established");
}
END_TEST

static struct dofi_conn peer_here;
static uint32_t answered;

struct dofi_conn *__real_dofi_conn_by_secret(struct dofi_ia *of, uint32_t number, uint32_t secret);
struct dofi_conn *__wrap_dofi_conn_by_secret(struct dofi_ia *of, uint32_t number, uint32_t secret);
void __wrap_dofi_ud_mark_answered(struct dofi_ud_ah *ah, uint32_t update);

struct dofi_conn *__wrap_dofi_conn_by_secret(struct dofi_ia *of, uint32_t number, uint32_t secret)
{
	if (peer_here.ia && number == peer_here.id && secret == dofi_token_secret(peer_here.token))
		return &peer_here;
	return __real_dofi_conn_by_secret(of, number, secret);
}

void __wrap_dofi_ud_mark_answered(struct dofi_ud_ah *ah, uint32_t update)
{
	ck_assert_ptr_eq(ah, peer_here.ud_ah);
	answered = update;
}

/* An IA that is connected to itself does not wait for its own READY. */
START_TEST(a_mark_of_the_same_ia_is_answered_before_ready)
{
	struct dofi_ud_ah ah = {0};

	reach(UD_ACCEPTED);
	peer_here.ia = &ia;
	peer_here.id = conn->peer_id;
	memcpy(peer_here.token, conn->peer_token, DOFI_TOKEN_SIZE);
	ck_assert(mark_comes(42)); /* the peer has no handle yet */
	ck_assert_uint_eq(answered, 0);
	peer_here.ud_ah = &ah;
	ck_assert(mark_comes(43));
	ck_assert_uint_eq(answered, 43);
	happens(MSG_READY);
	ck_assert_str_eq(trace, "answer-42 ud-established");
}
END_TEST

START_TEST(connections_without_datagrams_take_no_marks)
{
	reach(ESTABLISHED);
	ck_assert(!mark_comes(42));
	ck_assert_str_eq(trace, "");
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

/* READY is read late: the connection is established when its path is already down. */
START_TEST(a_path_that_is_lost_before_ready_breaks_the_connection_in_time)
{
	reach(PATH_LOST);
	happens(_i ? MSG_READY : FIRST_MESSAGE);
	ck_assert_int_eq(ep.state, DAT_EP_STATE_CONNECTED);
	ck_assert(is_armed(&conn->timer));
	happens(TIMER);
	run_work();
	ck_assert_str_eq(trace, "established BYE-error unlink broken");
}
END_TEST

/* The request goes to the port of the shared channel directly, then to the next port. */
START_TEST(a_shared_channel_without_the_service_is_dialled_directly)
{
	reach(REQUESTED);
	for (uint32_t n = 0; n < 4; n++) {
		ck_assert_uint_eq(conn->candidate, n / 2);
		ck_assert_uint_eq(dialled_port, port_of(n / 2));
		happens(MSG_NOT_MINE);
		ck_assert(dofi_list_empty(&chan.conns));
		happens(CHAN_UP);
	}
	ck_assert_uint_eq(conn->candidate, 2);
}
END_TEST

/* The process of the port may listen in a moment. */
START_TEST(a_qualifier_that_nobody_serves_is_waited_for)
{
	uint32_t ports = 0, requests = 0;
	uint16_t port;

	while (dofi_port_candidate(1u << 20, ports, &port))
		ports++;
	reach(REQUESTED);
	for (;;) {
		requests++;
		trace[0] = '\0';
		happens(MSG_NOT_MINE);
		if (is_armed(&conn->redial.timer))
			break;
		happens(CHAN_UP);
	}
	ck_assert_uint_eq(requests, 2 * ports); /* by a shared channel, then directly */
	ck_assert_int_eq(conn->state, DOFI_CONN_DIALLING);
	happens(REDIAL);
	ck_assert_uint_eq(conn->candidate, 0);
	ck_assert_uint_eq(dialled_port, port_of(0));
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

START_TEST(no_peer_takes_back_what_it_was_asked_for)
{
	reach(REQUESTED);
	conn->peer_id = 77;
	hear_unanswered(DOFI_MSG_CANCEL, 77);
	ck_assert_int_eq(conn->state, DOFI_CONN_REQUESTED);
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

/* A thread that sleeps does not watch the descriptor of the path yet. */
START_TEST(a_path_that_comes_up_is_a_step)
{
	uint32_t steps;
	int kicks;

	reach(ACCEPTED);
	steps = ia.cm.steps;
	kicks = nkicks;
	ia.cm.last_step = 0;
	dofi_conn_path_up(conn);
	ck_assert_uint_eq(ia.cm.steps - steps, 1);
	ck_assert_uint_eq(ia.cm.last_step, now);
	ck_assert_int_ge(nkicks - kicks, 1);
}
END_TEST

/* The user wants to know why a connection did not come up, but not how each one ended. */
START_TEST(the_log_tells_why_a_path_did_not_come_up)
{
	static const struct {
		enum situation state;
		int err;
		bool told;
	} cases[] = {{CONNECTING, FI_ECONNREFUSED, true},   {ACCEPTED, FI_ECONNREFUSED, true},
		     {PATH_PENDING, FI_ECONNREFUSED, true}, {ACCEPTED, 0, false},
		     {READY_PENDING, FI_EIO, false},        {ESTABLISHED, FI_EIO, false}};
	int fd = t_capture(STDERR_FILENO);
	const char *text;

	reach(cases[_i].state);
	dofi_log_set_level("info");
	dofi_conn_path_down(conn, cases[_i].err);
	dofi_log_set_level("warn");
	text = strstr(t_captured(fd), "refused the data path: ");
	ck_assert_int_eq(text != NULL, cases[_i].told);
	if (text)
		ck_assert_ptr_nonnull(strstr(text, fi_strerror(cases[_i].err)));
}
END_TEST

START_TEST(only_paths_that_are_waited_for_count_as_steps)
{
	static const struct {
		enum situation state;
		uint32_t steps;
	} cases[] = {{OFFERED, 0}, {ACCEPTED, 1}, {READY_PENDING, 1}, {ESTABLISHED, 0}};
	uint32_t before;

	reach(cases[_i].state);
	before = ia.cm.steps;
	ia.cm.last_step = 5;
	dofi_conn_proceeds(conn);
	ck_assert_uint_eq(ia.cm.steps - before, cases[_i].steps);
	ck_assert_uint_eq(ia.cm.last_step, cases[_i].steps ? now : 5);
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
	dofi_conn_handle(conn, DOFI_ON_TIMER, NULL);
	ck_assert_int_eq(conn->state, DOFI_CONN_ESTABLISHED);
	ck_assert_str_eq(trace, "");
}
END_TEST

static void add_cells(Suite *suite)
{
	TCase *tc = tcase_create("cells");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, each_event_does_what_the_table_says, 0, NCELLS);
	suite_add_tcase(suite, tc);
}

static void add_failures(Suite *suite)
{
	TCase *tc = tcase_create("failures");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_transport_that_cannot_connect_ends_the_attempt);
	tcase_add_test(tc, a_transport_that_cannot_expect_ends_the_connection);
	tcase_add_test(tc, accept_waits_until_the_transport_expects_the_peer);
	tcase_add_loop_test(tc, disconnect_tells_whether_there_is_a_receive, 0, 3);
	tcase_add_loop_test(tc, an_idle_connection_ends_with_one_message, 0, 6);
	tcase_add_test(tc, an_ep_of_another_service_is_refused);
	tcase_add_test(tc, an_accept_for_another_qualifier_is_refused);
	tcase_add_loop_test(tc, the_end_is_what_the_bye_told, 0, 2);
	tcase_add_loop_test(tc, the_ep_shows_both_ends, 0, 2);
	tcase_add_test(tc, a_request_is_offered_once);
	tcase_add_test(tc, a_goodbye_in_the_socket_counts_before_the_time);
	tcase_add_test(tc, its_data_are_waited_for);
	tcase_add_loop_test(tc, a_request_that_comes_again_is_the_same, 0, 2);
	tcase_add_loop_test(tc, another_request_is_another_one, 0, 2);
	tcase_add_test(tc, a_request_that_comes_again_is_found_in_the_first_place);
	tcase_add_loop_test(tc, another_connection_is_not_taken_for_the_request, 0, 2);
	tcase_add_test(tc, a_peer_with_too_many_requests_is_refused);
	tcase_add_loop_test(tc, a_request_that_cannot_be_offered_is_refused, 0, 2);
	tcase_add_test(tc, a_request_without_a_connector_leaves_the_channel);
	tcase_add_test(tc, a_request_that_was_overtaken_is_ignored);
	tcase_add_test(tc, a_request_that_was_accepted_is_made_again);
	tcase_add_test(tc, a_shared_channel_without_the_service_is_dialled_directly);
	tcase_add_test(tc, a_qualifier_that_nobody_serves_is_waited_for);
	tcase_add_test(tc, a_refusal_does_not_end_the_next_connection);
	tcase_add_loop_test(tc, a_path_that_is_lost_before_ready_breaks_the_connection_in_time, 0,
			    2);
	tcase_add_test(tc, a_truncated_message_may_be_the_missing_one);
	tcase_add_test(tc, a_second_ready_finds_the_path_made);
	tcase_add_test(tc, a_ready_without_a_path_ends_the_connection);
	tcase_add_test(tc, completions_during_the_unlink_change_nothing);
	tcase_add_loop_test(tc, an_ep_of_datagrams_that_is_freed_ends_its_connections, 0, 3);
	tcase_add_test(tc, a_freed_address_handle_stays_while_the_peer_sends);
	tcase_add_loop_test(tc, a_mark_is_answered, 0, 3);
	tcase_add_test(tc, a_mark_that_comes_before_ready_is_answered_with_the_handle);
	tcase_add_test(tc, a_mark_of_the_same_ia_is_answered_before_ready);
	tcase_add_test(tc, connections_without_datagrams_take_no_marks);
	suite_add_tcase(suite, tc);
}

static void add_late_messages(Suite *suite)
{
	TCase *tc = tcase_create("late_messages");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, count_is_answered_until_the_end_is_decided, 0, 5);
	tcase_add_test(tc, an_accept_that_comes_too_late_is_answered_by_cancel);
	tcase_add_test(tc, a_request_is_taken_back_before_its_answer);
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
	tcase_add_loop_test(tc, an_accepted_connection_waits_for_the_peer, 0, 4);
	tcase_add_loop_test(tc, a_cancel_in_the_socket_counts, 0, 4);
	tcase_add_loop_test(tc, a_peer_that_does_not_connect_is_given_up, 0, 4);
	tcase_add_loop_test(tc, a_slow_peer_on_an_overloaded_host_has_more_time, 0, 4);
	tcase_add_loop_test(tc, a_peer_that_cannot_be_asked_is_given_up, 0, 4);
	tcase_add_test(tc, a_path_that_comes_up_is_a_step);
	tcase_add_loop_test(tc, the_log_tells_why_a_path_did_not_come_up, 0, 6);
	tcase_add_loop_test(tc, only_paths_that_are_waited_for_count_as_steps, 0, 4);
	tcase_add_test(tc, a_question_that_comes_too_late_is_answered_by_cancel);
	tcase_add_loop_test(tc, what_arrived_before_the_end_is_delivered_first, 0, 2);
	tcase_add_test(tc, without_a_path_nothing_can_have_arrived);
	tcase_add_test(tc, a_goodbye_does_not_wait_for_what_is_in_the_queue);
	suite_add_tcase(suite, tc);
}

static void add_handles(Suite *suite)
{
	TCase *tc = tcase_create("handles");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, an_address_handle_names_the_peer, 0, 4);
	tcase_add_loop_test(tc, an_attempt_that_fails_has_an_event, 0, 2);
	tcase_add_test(tc, a_refused_attempt_brings_private_data);
	tcase_add_test(tc, a_datagram_has_the_connection_of_its_address_handle);
	tcase_add_loop_test(tc, an_ep_without_connect_evd_has_no_event, 0, 2);
	tcase_add_loop_test(tc, an_address_handle_is_valid_until_both_parts_are_freed, 0, 2);
	tcase_add_test(tc, a_lost_peer_gets_no_more_datagrams);
	tcase_add_test(tc, the_last_use_of_an_address_handle_ends_the_connection);
	tcase_add_loop_test(tc, only_an_address_handle_of_the_ia_is_freed, 0, 2);
	tcase_add_test(tc, without_memory_for_the_handle_the_connection_ends);
	tcase_add_loop_test(tc, connections_of_datagrams_are_counted, 0, 2);
	suite_add_tcase(suite, tc);
}

static void add_beginnings(Suite *suite)
{
	TCase *tc = tcase_create("beginnings");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, an_attempt_knows_its_destination, 0, 2);
	tcase_add_loop_test(tc, a_connection_within_the_host_may_have_its_own_transport, 0, 7);
	tcase_add_loop_test(tc, errors_of_a_dial_have_a_meaning, 0, 13);
	tcase_add_test(tc, each_port_of_a_qualifier_is_dialled);
	tcase_add_test(tc, a_later_round_begins_with_the_first_port);
	tcase_add_test(tc, a_request_tells_that_it_comes_again);
	tcase_add_test(tc, a_request_is_sent_once);
	tcase_add_loop_test(tc, the_log_tells_why_a_path_cannot_be_made, 0, 2);
	tcase_add_loop_test(tc, a_request_has_what_its_message_told, 0, 2);
	tcase_add_loop_test(tc, an_established_connection_brings_private_data, 0, 2);
	suite_add_tcase(suite, tc);
}

static void add_ends(Suite *suite)
{
	TCase *tc = tcase_create("ends");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_peer_learns_when_the_last_receive_is_gone);
	tcase_add_loop_test(tc, a_peer_without_receives_takes_no_more_messages, 0, 5);
	tcase_add_loop_test(tc, a_graceful_end_waits_for_what_is_under_way, 0, 3);
	tcase_add_loop_test(tc, the_last_disconnect_of_the_peer_counts, 0, 2);
	tcase_add_loop_test(tc, data_may_follow_a_bye, 0, 11);
	tcase_add_loop_test(tc, a_last_word_has_more_time_on_an_overloaded_host, 0, 2);
	tcase_add_loop_test(tc, completions_are_watched_for_the_end, 0, 2);
	tcase_add_test(tc, the_final_read_is_tried_until_it_starts);
	tcase_add_loop_test(tc, the_ep_knows_the_last_message_of_the_peer, 0, 2);
	tcase_add_loop_test(tc, a_wait_for_the_last_word_begins_anew, 0, 2);
	tcase_add_loop_test(tc, the_requests_of_a_connection_that_ends, 0, 12);
	tcase_add_test(tc, a_bind_does_not_outlive_its_connection);
	tcase_add_loop_test(tc, a_rejection_brings_private_data, 0, 3);
	tcase_add_test(tc, attempts_without_an_answer_are_counted);
	tcase_add_test(tc, an_ep_without_connect_evd_breaks_asynchronously);
	tcase_add_loop_test(tc, the_last_receive_of_an_srq_may_be_told, 0, 6);
	tcase_add_test(tc, posts_stop_before_the_path_is_closed);
	tcase_add_test(tc, the_fabric_is_asked_again_for_what_it_has);
	tcase_add_loop_test(tc, a_transport_may_have_nothing_to_prepare_or_cancel, 0, 2);
	tcase_add_loop_test(tc, an_end_that_is_decided_does_not_linger, 0, 2);
	tcase_add_test(tc, a_freed_ep_without_a_channel_waits_for_nothing);
	tcase_add_test(tc, each_ep_has_its_time_to_linger);
	tcase_add_loop_test(tc, a_freed_ep_waits_once_for_a_silent_peer, 0, 2);
	suite_add_tcase(suite, tc);
}

static void add_table(Suite *suite)
{
	TCase *tc = tcase_create("table");

	/* With one case only (CK_RUN_CASE) coverage means nothing. */
	if (!getenv("CK_RUN_CASE"))
		tcase_add_test(tc, every_cell_has_a_test);
	suite_add_tcase(suite, tc);
	tc = tcase_create("impossible");
	tcase_add_checked_fixture(tc, setup, teardown);
#ifdef NDEBUG
	tcase_add_test(tc, an_event_that_cannot_happen_is_noticed);
#else
	tcase_add_test_raise_signal(tc, an_event_that_cannot_happen_is_noticed, SIGABRT);
#endif
	suite_add_tcase(suite, tc);
}

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

static void add_counters(Suite *suite)
{
	TCase *tc = tcase_create("counters");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, messages_are_counted_by_their_meaning, 0, 8);
	suite_add_tcase(suite, tc);
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
	add_handles(suite);
	add_beginnings(suite);
	add_ends(suite);
	add_counters(suite);
	add_table(suite);
	return t_run(suite);
}
