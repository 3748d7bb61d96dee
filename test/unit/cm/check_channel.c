/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A control channel that is up: what it queues for the socket, its idleness and its end. */
#include "unit.h"

#include "../../../prov/ofi/auth/crypto.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/cm/channel.h"
#include "../../../prov/ofi/cm/channel_send.h"
#include "../../../prov/ofi/cm/cm.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/wire.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/progress/engine.h"
#include "../../../prov/ofi/progress/engine_fds.h"
#include "../../../prov/ofi/progress/timer.h"
#include "../../../prov/ofi/progress/work.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static struct dofi_ia ia = {.name = "test", .params = {.handshake_ms = 10000}};
static struct dofi_chan *chan;
static int peer; /* the other end of its socket */
static uint8_t frame[DOFI_WIRE_MAX_FRAME];

void __wrap_dofi_wait_kick(struct dofi_ia *of);

void __wrap_dofi_wait_kick(struct dofi_ia *of)
{
	(void)of;
}

/* --- the transport --- */

static int ndied, nclosed;

static void peer_died(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	ndied++;
}

static void peer_closed(struct dofi_ia *of, const struct dofi_chan *it)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(it, chan);
	nclosed++;
}

static const struct dofi_trans_ops curious = {.peer_died = peer_died, .peer_closed = peer_closed};
static const struct dofi_trans_ops plain;

static void setup(void)
{
	int fds[2];

	ia.trans = &plain;

	ck_assert_int_eq(dofi_crypto_start(), 0);
	dofi_lock_init(&ia.engine.lock);
	dofi_list_init(&ia.engine.work);
	dofi_list_init(&ia.drains);
	ia.engine.sock_epfd = epoll_create1(0);
	ck_assert_int_ge(ia.engine.sock_epfd, 0);
	ia.obj.ia = &ia;
	ck_assert_int_eq(dofi_cm_init(&ia), 0);
	dofi_lock(&ia.engine.lock);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	peer = fds[0];
	chan = dofi_chan_new(&ia, fds[1], DOFI_CHAN_UP);
	ck_assert_ptr_nonnull(chan);
	ck_assert_int_eq(dofi_engine_watch(&ia, &chan->fd, EPOLLIN), 0);
	dofi_list_add_tail(&ia.cm.chans, &chan->link);
	for (size_t i = 0; i < sizeof(frame); i++)
		frame[i] = (uint8_t)(i * 7);
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
}

/* --- sending --- */

/* Reads what has come and checks it. Returns the number of bytes so far. */
static size_t read_peer(size_t so_far)
{
	uint8_t bytes[4096];
	ssize_t n;

	while ((n = read(peer, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < n; i++, so_far++)
			ck_assert_uint_eq(bytes[i], frame[so_far % sizeof(frame)]);
	return so_far;
}

/* Queues frames until some bytes do not fit into the socket. Returns the number of bytes. */
static size_t fill_socket(void)
{
	size_t put = 0;

	while (!chan->writing) {
		dofi_chan_put(chan, frame, sizeof(frame));
		put += sizeof(frame);
		dofi_chan_flush(chan);
		ck_assert_int_eq(chan->send_err, 0);
	}
	ck_assert_uint_gt(chan->tx_fill, 0);
	return put;
}

START_TEST(bytes_beyond_the_room_wait_for_the_peer)
{
	size_t put = fill_socket(), got = 0;
	uint32_t left = chan->tx_fill;

	dofi_engine_hear(&ia);
	ck_assert_uint_eq(chan->tx_fill, left); /* there is no room yet */
	for (uint64_t limit = dofi_now() + 10000000000ull; got < put && dofi_now() < limit;) {
		got = read_peer(got);
		dofi_engine_hear(&ia);
	}
	ck_assert_uint_eq(got, put);
	ck_assert_uint_eq(chan->tx_fill, 0);
	ck_assert(!chan->writing);
	ck_assert_int_eq(chan->state, DOFI_CHAN_UP);
}
END_TEST

START_TEST(a_peer_that_reads_nothing_is_given_up)
{
	int fd = t_capture(STDERR_FILENO);

	fill_socket();
	while (!chan->send_err)
		dofi_chan_put(chan, frame, sizeof(frame));
	ck_assert_int_eq(chan->send_err, -ENOBUFS);
	ck_assert_uint_eq(chan->tx_fill, 0);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "look whether that process is stopped"));
	dofi_chan_put(chan, frame, sizeof(frame)); /* has no effect */
	dofi_chan_put_sealed(chan, frame, 16);
	ck_assert_uint_eq(chan->tx_fill, 0);
	dofi_work_run(&ia); /* frees the channel */
	ck_assert(dofi_list_empty(&ia.cm.chans));
}
END_TEST

START_TEST(a_peer_that_hangs_up_ends_the_channel)
{
	close(peer);
	dofi_chan_put(chan, frame, sizeof(frame));
	dofi_chan_flush(chan);
	ck_assert_int_eq(chan->send_err, -ECONNRESET);
	dofi_work_run(&ia);
	ck_assert(dofi_list_empty(&ia.cm.chans));
}
END_TEST

/* --- the end --- */

START_TEST(a_channel_ends_once)
{
	dofi_chan_close(chan, -ECONNRESET, false);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	dofi_chan_close(chan, 0, true);
	ck_assert_int_eq(chan->err, -ECONNRESET);
	ck_assert(!chan->orderly);
	/* The same turn of the engine may have an event of the socket. */
	chan->fd.ready(&chan->fd, EPOLLIN);
	dofi_chan_put(chan, frame, sizeof(frame));
	ck_assert_uint_eq(chan->tx_fill, 0);
	ck_assert_int_eq(dofi_work_run(&ia), 1);
}
END_TEST

START_TEST(the_transport_learns_that_a_peer_died)
{
	ia.trans = &curious;
	close(peer);
	dofi_engine_hear(&ia);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(ndied, 1);
	ck_assert_int_eq(nclosed, 0);
}
END_TEST

static void say_goodbye(void)
{
	const struct dofi_msg goodbye = {.type = DOFI_MSG_GOODBYE};
	size_t size = dofi_wire_put_msg(frame, &goodbye);

	ck_assert_int_eq(write(peer, frame, size), size);
	dofi_engine_hear(&ia);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert(chan->orderly);
}

/* Which says nothing of the peer's process. */
START_TEST(garbage_ends_the_channel)
{
	static const struct {
		size_t size;
		uint8_t bytes[8];
	} cases[] = {
		{4, {0xff, 0xff, 0xff, 0xff}},           /* no length of a frame */
		{8, {0, 0, 0, 4, DOFI_MSG_TYPES, 0, 0}}, /* no message */
	};

	ia.trans = &curious;
	ck_assert_int_eq(write(peer, cases[_i].bytes, cases[_i].size), cases[_i].size);
	dofi_engine_hear(&ia);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chan->err, -EPROTO);
	ck_assert(!chan->orderly);
	ck_assert_int_eq(ndied, 1);
}
END_TEST

/* One turn of the engine reads whole buffers until one is not full. */
START_TEST(what_lies_in_the_socket_is_read_in_one_turn)
{
	const struct dofi_msg done = {.type = DOFI_MSG_DONE, .number = 1};
	size_t size = dofi_wire_put_msg(frame, &done), room = sizeof(chan->rx), put = 0;

	ck_assert_int_eq(setsockopt(peer, SOL_SOCKET, SO_SNDBUF, &(int){1 << 20}, sizeof(int)), 0);
	chan->asked = 2;
	while (put < 3 * room) {
		ck_assert_int_eq(write(peer, frame, size), size);
		put += size;
	}
	chan->fd.ready(&chan->fd, EPOLLIN);
	ck_assert_int_eq(chan->state, DOFI_CHAN_UP);
	ck_assert_uint_eq(chan->done, 1);
	ck_assert_uint_eq(chan->rx_fill, 0);
	ck_assert_int_eq(recv(chan->fd.fd, frame, 1, MSG_PEEK | MSG_DONTWAIT), -1);
}
END_TEST

START_TEST(the_transport_learns_that_a_peer_closed)
{
	ia.trans = &curious;
	say_goodbye();
	ck_assert_int_eq(ndied, 0);
	ck_assert_int_eq(nclosed, 1);
}
END_TEST

START_TEST(a_transport_need_not_know_the_end_of_peers)
{
	if (_i)
		say_goodbye();
	else
		dofi_chan_close(chan, -ECONNRESET, false);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
}
END_TEST

/* A connection that had no time to send its request gets another channel. */
START_TEST(a_connection_that_waits_is_dialled_again)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct dofi_conn *conn = dofi_conn_new(&ia, DOFI_CONN_DIALLING);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(here);

	ck_assert_ptr_nonnull(conn);
	ck_assert_int_eq(listen(listener, 1), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&here, &size), 0);
	here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	memcpy(&conn->remote, &here, sizeof(here));
	conn->conn_qual = ntohs(here.sin_port);
	conn->chan = chan;
	dofi_list_add_tail(&chan->waiting, &conn->link);
	dofi_chan_close(chan, -ECONNRESET, false);
	dofi_work_run(&ia); /* frees the channel */
	ck_assert_ptr_nonnull(conn->chan);
	ck_assert_int_ne(conn->chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(conn->state, DOFI_CONN_DIALLING);
	close(listener);
}
END_TEST

/* --- connections --- */

START_TEST(no_connection_has_the_number_0)
{
	ck_assert_ptr_null(dofi_conn_ep(&ia, 0));
}
END_TEST

START_TEST(a_connection_that_repeats_its_request_counts_once)
{
	struct dofi_conn *conn = dofi_conn_new(&ia, DOFI_CONN_DIALLING);

	ck_assert_ptr_nonnull(conn);
	dofi_conn_repeated(conn);
	dofi_conn_repeated(conn);
	ck_assert_uint_eq(ia.cm.nrepeated, 1);
}
END_TEST

/* --- idleness --- */

static void expire(void)
{
	dofi_timer_cancel(&ia, &chan->timer);
	chan->timer.fire(&chan->timer);
}

START_TEST(a_channel_that_nobody_uses_is_closed)
{
	expire();
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert(chan->orderly);
}
END_TEST

START_TEST(a_channel_in_use_stays)
{
	struct dofi_conn *conn = dofi_conn_new(&ia, DOFI_CONN_DIALLING);

	ck_assert_ptr_nonnull(conn);
	dofi_list_add_tail(&chan->conns, &conn->link);
	expire();
	ck_assert_int_eq(chan->state, DOFI_CHAN_UP);
	ck_assert_ptr_null(ia.engine.timers);
	dofi_list_del(&conn->link);
}
END_TEST

/* The peer has to answer an invalidation. */
START_TEST(a_channel_that_waits_for_an_answer_stays)
{
	chan->asked = 2;
	chan->done = 1;
	expire();
	ck_assert_int_eq(chan->state, DOFI_CHAN_UP);
	ck_assert_ptr_nonnull(ia.engine.timers);
	chan->done = 2;
	expire();
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
}
END_TEST

/* --- the limits --- */

START_TEST(a_peer_beyond_the_limit_is_refused)
{
	int fd = t_capture(STDERR_FILENO);

	chan->state = DOFI_CHAN_HANDSHAKE;
	chan->accepted = true;
	dofi_list_del(&chan->link);
	dofi_list_add_tail(&ia.cm.strangers, &chan->link);
	ia.cm.nstrangers = 1;
	ia.cm.naccepted = ia.cm.max_chans = ia.cm.max_peer_chans = 4;
	dofi_chan_handshake_done(chan);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chan->err, -EBUSY);
	ck_assert_uint_eq(ia.cm.nstrangers, 0);
	ck_assert_uint_eq(ia.cm.naccepted, 4);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "max_channels allows more"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("channel");
	TCase *tc = tcase_create("channel");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, bytes_beyond_the_room_wait_for_the_peer);
	tcase_add_test(tc, a_peer_that_reads_nothing_is_given_up);
	tcase_add_test(tc, a_peer_that_hangs_up_ends_the_channel);
	tcase_add_test(tc, a_channel_ends_once);
	tcase_add_test(tc, the_transport_learns_that_a_peer_died);
	tcase_add_loop_test(tc, garbage_ends_the_channel, 0, 2);
	tcase_add_test(tc, what_lies_in_the_socket_is_read_in_one_turn);
	tcase_add_test(tc, the_transport_learns_that_a_peer_closed);
	tcase_add_loop_test(tc, a_transport_need_not_know_the_end_of_peers, 0, 2);
	tcase_add_test(tc, a_connection_that_waits_is_dialled_again);
	tcase_add_test(tc, no_connection_has_the_number_0);
	tcase_add_test(tc, a_connection_that_repeats_its_request_counts_once);
	tcase_add_test(tc, a_channel_that_nobody_uses_is_closed);
	tcase_add_test(tc, a_channel_in_use_stays);
	tcase_add_test(tc, a_channel_that_waits_for_an_answer_stays);
	tcase_add_test(tc, a_peer_beyond_the_limit_is_refused);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
