/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a connection begins: the attempt and the ports that it dials, the request, its answer, and
 * what the EP and the log tell of it.
 */
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/cm/cr.h"
#include "../../../prov/ofi/object/srq_count.h"
#include "conn_world.h"

#include <rdma/fi_errno.h>
#include <sys/resource.h>

/* --- the attempt --- */

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

static uint16_t port_of(uint32_t candidate)
{
	uint16_t port = 0;

	ck_assert(dofi_port_candidate(1u << 20, candidate, &port));
	return port;
}

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
	ck_assert_int_eq(strstr(text, "can't reach") != NULL,
			 !strcmp(cases[_i].trace, "unlink unreachable"));
}
END_TEST

/* A firewall causes some of the errors. */
START_TEST(the_log_tells_what_cannot_be_reached)
{
	static const struct {
		int err;
		bool by_firewall;
	} cases[] = {
		{ENETUNREACH, false},
		{EHOSTUNREACH, true},
		{ETIMEDOUT, true},
		{EACCES, true},
	};
	int fd = t_capture(STDERR_FILENO);
	const char *text;
	char line[128];

	reach(DIALLING);
	fail_dial(-cases[_i].err);
	snprintf(line, sizeof(line), "can't reach 0.0.0.0:%u: %s", port_of(0),
		 strerror(cases[_i].err));
	text = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(text, line));
	ck_assert_int_eq(strstr(text, "firewall") != NULL, cases[_i].by_firewall);
}
END_TEST

/* The time of the program may end before that of listen_grace_ms. */
START_TEST(the_log_tells_that_nobody_listens)
{
	int fd = t_capture(STDERR_FILENO);
	char line[128];

	dofi_log_set_level(_i & 2 ? "info" : "warn");
	reach(REDIALLING);
	if (_i & 1) {
		fire(&conn->timer);
	} else {
		now = conn->redial.until;
		happens(REDIAL);
		while (conn->state == DOFI_CONN_DIALLING)
			fail_dial(-ECONNREFUSED);
	}
	run_work();
	ck_assert_ptr_nonnull(strstr(trace, "non-peer-rejected"));
	snprintf(line, sizeof(line),
		 "no service point answers to connection qualifier 1048576 at 0.0.0.0:%u "
		 "and its other ports\n",
		 port_of(0));
	ck_assert_int_eq(strstr(t_captured(fd), line) != NULL, !!(_i & 2));
}
END_TEST

START_TEST(the_log_tells_what_took_too_long)
{
	static const struct {
		enum situation situation;
		const char *why;
	} cases[] = {
		{DIALLING, "does its firewall let this port through?"},
		{REQUESTED, "the peer has not answered the request"},
		{CONNECTING, "the peer has accepted, but the data path did not come up"},
	};
	int fd = t_capture(STDERR_FILENO);
	const char *text;
	char line[128];

	dofi_log_set_level("info");
	reach(cases[_i].situation);
	happens(TIMER);
	snprintf(line, sizeof(line), "the time to connect to 0.0.0.0:%u is over: ", port_of(0));
	text = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(text, line));
	ck_assert_ptr_nonnull(strstr(text, cases[_i].why));
}
END_TEST

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

/* --- the request --- */

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

/* --- the path, and what the EP and the log show --- */

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

/* A firewall that lets service points through may not know the port of the data path. */
START_TEST(the_log_tells_that_a_path_is_overdue)
{
	const struct sockaddr_in peer = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(0xc0000201)};
	int fd = t_capture(STDERR_FILENO);
	const char *text;

	reach(ACCEPTED);
	ck_assert(dofi_addr_set(&conn->remote, (const struct sockaddr *)&peer, 4243));
	dofi_conn_handle(conn, DOFI_ON_OVERDUE, NULL);
	text = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(text, "a connection from 192.0.2.1:4243"));
	ck_assert_ptr_nonnull(strstr(text, "firewall"));
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

static void add_failures(Suite *suite)
{
	TCase *tc = add_case(suite, "failures");

	tcase_add_test(tc, a_transport_that_cannot_connect_ends_the_attempt);
	tcase_add_test(tc, a_transport_that_cannot_expect_ends_the_connection);
	tcase_add_test(tc, accept_waits_until_the_transport_expects_the_peer);
	tcase_add_test(tc, an_ep_of_another_service_is_refused);
	tcase_add_test(tc, an_accept_for_another_qualifier_is_refused);
	tcase_add_loop_test(tc, the_ep_shows_both_ends, 0, 2);
	tcase_add_test(tc, a_request_is_offered_once);
	tcase_add_test(tc, a_peer_with_too_many_requests_is_refused);
	tcase_add_loop_test(tc, a_request_that_cannot_be_offered_is_refused, 0, 2);
	tcase_add_test(tc, a_request_without_a_connector_leaves_the_channel);
	tcase_add_test(tc, a_shared_channel_without_the_service_is_dialled_directly);
	tcase_add_test(tc, a_qualifier_that_nobody_serves_is_waited_for);
}

static void add_late_messages(Suite *suite)
{
	TCase *tc = add_case(suite, "late_messages");

	tcase_add_test(tc, a_path_that_comes_up_is_a_step);
	tcase_add_loop_test(tc, the_log_tells_why_a_path_did_not_come_up, 0, 6);
	tcase_add_test(tc, the_log_tells_that_a_path_is_overdue);
	tcase_add_loop_test(tc, only_paths_that_are_waited_for_count_as_steps, 0, 4);
}

static void add_beginnings(Suite *suite)
{
	TCase *tc = add_case(suite, "beginnings");

	tcase_add_loop_test(tc, an_attempt_knows_its_destination, 0, 2);
	tcase_add_loop_test(tc, a_connection_within_the_host_may_have_its_own_transport, 0, 7);
	tcase_add_loop_test(tc, errors_of_a_dial_have_a_meaning, 0, 13);
	tcase_add_loop_test(tc, the_log_tells_what_cannot_be_reached, 0, 4);
	tcase_add_loop_test(tc, the_log_tells_that_nobody_listens, 0, 4);
	tcase_add_loop_test(tc, the_log_tells_what_took_too_long, 0, 3);
	tcase_add_test(tc, each_port_of_a_qualifier_is_dialled);
	tcase_add_test(tc, a_later_round_begins_with_the_first_port);
	tcase_add_test(tc, a_request_tells_that_it_comes_again);
	tcase_add_test(tc, a_request_is_sent_once);
	tcase_add_loop_test(tc, the_log_tells_why_a_path_cannot_be_made, 0, 2);
	tcase_add_loop_test(tc, a_request_has_what_its_message_told, 0, 2);
	tcase_add_loop_test(tc, an_established_connection_brings_private_data, 0, 2);
}

int main(void)
{
	Suite *suite = suite_create("conn_begin");

	add_failures(suite);
	add_late_messages(suite);
	add_beginnings(suite);
	return t_run(suite);
}
