/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A control channel that is up: what it queues for the socket, its idleness and its end. */
#include "t_blocks.h"
#include "progress/work.h"
#include "unit.h"

#include "../../../prov/ofi/auth/crypto.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/cm/channel.h"
#include "../../../prov/ofi/cm/channel_read.h"
#include "../../../prov/ofi/cm/channel_send.h"
#include "../../../prov/ofi/cm/cm.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/wire.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/progress/engine.h"
#include "../../../prov/ofi/progress/engine_fds.h"
#include "../../../prov/ofi/progress/stall.h"
#include "../../../prov/ofi/progress/timer.h"
#include "../../../prov/ofi/progress/work.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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

/* --- reading --- */

static int nreads, interruptions, read_error;
static size_t endless; /* the peer sends messages of this size in `frame` without end; 0: not */

T_STAND_IN ssize_t __wrap_recv(int fd, void *buf, size_t size, int flags);
ssize_t __real_recv(int fd, void *buf, size_t size, int flags);

static ssize_t read_endless(uint8_t *buf, size_t size)
{
	static size_t at;

	for (size_t i = 0; i < size; i++)
		buf[i] = frame[at++ % endless];
	return (ssize_t)size;
}

ssize_t __wrap_recv(int fd, void *buf, size_t size, int flags)
{
	nreads++;
	if (endless)
		return read_endless(buf, size);
	if (!interruptions && !read_error)
		return __real_recv(fd, buf, size, flags);
	errno = interruptions ? EINTR : read_error;
	interruptions -= interruptions > 0;
	return -1;
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
	dofi_work_init(&ia.engine);
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

/* --- seals --- */

static bool seal_fails;
static const void *wiped;
static size_t wiped_size;

bool __wrap_dofi_session_seal(struct dofi_session *session, uint8_t *seal_p, const void *frame_p,
			      size_t size);
bool __real_dofi_session_seal(struct dofi_session *session, uint8_t *seal_p, const void *frame_p,
			      size_t size);
void __wrap_dofi_wipe(void *bytes, size_t size);

bool __wrap_dofi_session_seal(struct dofi_session *session, uint8_t *seal_p, const void *frame_p,
			      size_t size)
{
	return !seal_fails && __real_dofi_session_seal(session, seal_p, frame_p, size);
}

void __wrap_dofi_wipe(void *bytes, size_t size)
{
	memset(bytes, 0, size);
	wiped = bytes;
	wiped_size = size;
}

/* --- sending --- */

static int nrewatches;

void __wrap_dofi_engine_rewatch(struct dofi_ia *of, struct dofi_fd *fd, uint32_t epoll_events);
void __real_dofi_engine_rewatch(struct dofi_ia *of, struct dofi_fd *fd, uint32_t epoll_events);

void __wrap_dofi_engine_rewatch(struct dofi_ia *of, struct dofi_fd *fd, uint32_t epoll_events)
{
	ck_assert_ptr_eq(fd, &chan->fd);
	nrewatches++;
	__real_dofi_engine_rewatch(of, fd, epoll_events);
}

static int nsends, send_interruptions, send_error, sends_before_error;
static size_t send_at_most = SIZE_MAX; /* bytes that the socket takes at once */

T_STAND_IN ssize_t __wrap_send(int fd, const void *buf, size_t size, int flags);
ssize_t __real_send(int fd, const void *buf, size_t size, int flags);

ssize_t __wrap_send(int fd, const void *buf, size_t size, int flags)
{
	nsends++;
	ck_assert_int_eq(flags, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (!send_interruptions && (!send_error || sends_before_error-- > 0))
		return __real_send(fd, buf, size < send_at_most ? size : send_at_most, flags);
	errno = send_interruptions ? EINTR : send_error;
	send_interruptions -= send_interruptions > 0;
	return -1;
}

static bool no_room; /* for what is to be sent */

T_STAND_IN void *__wrap_realloc(void *block, size_t size);
void *__real_realloc(void *block, size_t size);

void *__wrap_realloc(void *block, size_t size)
{
	return no_room ? NULL : __real_realloc(block, size);
}

START_TEST(a_send_that_was_interrupted_is_repeated)
{
	send_interruptions = 1;
	dofi_chan_put(chan, frame, 100);
	dofi_chan_flush(chan);
	ck_assert_int_eq(nsends, 2);
	ck_assert_int_eq(recv(peer, frame, sizeof(frame), 0), 100);
	ck_assert_int_eq(chan->send_err, 0);
	dofi_chan_flush(chan); /* there is nothing any more */
	ck_assert_int_eq(nsends, 2);
	ck_assert_int_eq(nrewatches, 0); /* a message costs no other call of the kernel */
	ck_assert(!chan->writing);
}
END_TEST

/* The socket takes what it has room for; what is left goes in its order. */
START_TEST(a_send_that_takes_a_part_is_continued)
{
	uint8_t got[128];

	send_at_most = 30;
	dofi_chan_put(chan, frame, 100);
	dofi_chan_flush(chan);
	ck_assert_int_eq(nsends, 4);
	ck_assert_int_eq(recv(peer, got, sizeof(got), 0), 100);
	ck_assert_mem_eq(got, frame, 100);
	/* Behind a part the socket may be full. */
	dofi_chan_put(chan, frame, 100);
	send_error = EAGAIN;
	sends_before_error = 1;
	dofi_chan_flush(chan);
	ck_assert_int_eq(nsends, 6);
	ck_assert_int_eq(chan->send_err, 0);
	ck_assert_uint_eq(chan->tx_fill, 70);
	ck_assert(chan->writing);
	ck_assert_int_eq(nrewatches, 1);
	dofi_chan_put(chan, frame + 100, 20);
	dofi_chan_flush(chan); /* waits for the engine */
	ck_assert_int_eq(nsends, 6);
	send_at_most = SIZE_MAX;
	send_error = 0;
	dofi_chan_write(chan);
	ck_assert_int_eq(recv(peer, got, sizeof(got), 0), 120);
	ck_assert_mem_eq(got, frame, 120);
	ck_assert(!chan->writing);
	ck_assert_int_eq(nrewatches, 2);
}
END_TEST

/* The error of the socket; a peer that has closed its end is a peer that has reset it. */
START_TEST(a_send_that_fails_ends_the_channel)
{
	static const struct {
		int error, result;
	} cases[] = {{EPIPE, -ECONNRESET}, {ECONNRESET, -ECONNRESET}, {ETIMEDOUT, -ETIMEDOUT}};

	send_error = cases[_i].error;
	dofi_chan_put(chan, frame, 100);
	dofi_chan_flush(chan);
	ck_assert_int_eq(nsends, 1);
	ck_assert_int_eq(chan->send_err, cases[_i].result);
	ck_assert_uint_eq(chan->tx_fill, 0);
	ck_assert_int_eq(chan->state, DOFI_CHAN_UP); /* not within the call */
	send_error = 0;
	dofi_chan_put(chan, frame, 100);
	chan->session.sealed = seal_fails = true;
	dofi_chan_put_sealed(chan, frame, 100);
	ck_assert_int_eq(chan->send_err, cases[_i].result); /* the first one counts */
	ck_assert_uint_eq(chan->tx_fill, 0);
	chan->work.run(&chan->work);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chan->err, cases[_i].result);
}
END_TEST

/* Between the pieces of one message nothing else is sent, so a message without a seal ends all. */
START_TEST(a_message_that_can_not_be_sealed_ends_the_channel)
{
	const struct dofi_msg done = {.type = DOFI_MSG_DONE, .number = 1};
	size_t size = dofi_wire_put_msg(frame, &done);

	chan->session.sealed = true;
	seal_fails = true;
	dofi_chan_put_sealed(chan, frame, size);
	ck_assert_int_eq(chan->send_err, -EIO);
	ck_assert_uint_eq(chan->tx_fill, 0);
	ck_assert_int_eq(dofi_work_run(&ia), 2); /* the end, and what follows from it */
	ck_assert(dofi_list_empty(&ia.cm.chans));
}
END_TEST

START_TEST(a_sealed_message_is_longer_by_its_seal)
{
	const struct dofi_msg done = {.type = DOFI_MSG_DONE, .number = 1};
	size_t size = dofi_wire_put_msg(frame, &done);

	dofi_chan_send(chan, &done);
	dofi_work_run(&ia);
	ck_assert_int_eq(recv(peer, frame, sizeof(frame), 0), size);
	chan->session.sealed = true;
	dofi_chan_send(chan, &done);
	dofi_work_run(&ia);
	ck_assert_int_eq(recv(peer, frame, sizeof(frame), 0), size + DOFI_SEAL_SIZE);
}
END_TEST

/* The memory doubles up to a MiB. A frame that fills it to the last byte fits. */
START_TEST(the_room_for_messages_has_a_limit)
{
	int fd = t_capture(STDERR_FILENO);
	uint32_t size = DOFI_WIRE_MAX_FRAME, room;

	chan->writing = true;
	dofi_chan_put(chan, frame, sizeof(frame));
	ck_assert_uint_eq(chan->tx_size, size);
	for (room = size; 2 * room <= 1u << 20; room *= 2) {
		while (chan->tx_fill < room)
			dofi_chan_put(chan, frame, sizeof(frame));
		ck_assert_uint_eq(chan->tx_size, room);
		dofi_chan_put(chan, frame, 1);
		ck_assert_uint_eq(chan->tx_size, 2 * room);
		chan->tx_fill = room;
	}
	ck_assert_uint_ge(2 * chan->tx_size, 1u << 20);
	chan->tx_fill = chan->tx_size - 100;
	dofi_chan_put(chan, frame, 100);
	ck_assert_int_eq(chan->send_err, 0);
	ck_assert_uint_eq(chan->tx_fill, chan->tx_size);
	ck_assert_str_eq(t_captured(fd), "");
	dofi_chan_put(chan, frame, 1);
	ck_assert_int_eq(chan->send_err, -ENOBUFS);
}
END_TEST

/* What the socket shows decides. */
START_TEST(an_event_of_the_socket)
{
	static const struct {
		uint32_t events;
		int reads, sends;
	} cases[] = {{EPOLLIN, 1, 0},
		     {EPOLLERR, 1, 0},
		     {EPOLLHUP, 1, 0},
		     {EPOLLOUT, 0, 1},
		     {EPOLLIN | EPOLLOUT, 1, 1}};

	dofi_chan_put(chan, frame, 100);
	chan->writing = true;
	chan->fd.ready(&chan->fd, cases[_i].events);
	ck_assert_int_eq(nreads, cases[_i].reads);
	ck_assert_int_eq(nsends, cases[_i].sends);
}
END_TEST

/* The engine writes when there is room. */
START_TEST(a_full_socket_is_not_tried_for_each_message)
{
	dofi_chan_put(chan, frame, 100);
	dofi_chan_watch_room(chan, true);
	dofi_chan_flush(chan);
	ck_assert_int_eq(nsends, 0);
	dofi_engine_hear(&ia);
	ck_assert_int_eq(nsends, 1);
	ck_assert_uint_eq(chan->tx_fill, 0);
	ck_assert(!chan->writing);
}
END_TEST

/* Except the requests of connections that wait, if the channel asks early. */
START_TEST(nothing_is_sent_before_the_handshake_is_complete)
{
	const struct dofi_msg msg = {.type = DOFI_MSG_GOODBYE};

	chan->state = DOFI_CHAN_HANDSHAKE;
	chan->asks = _i;
	dofi_chan_send(chan, &msg);
	dofi_work_run(&ia);
	ck_assert_int_eq(nsends, _i);
}
END_TEST

/* Each system call would wake the peer. Work that was deferred later may send, too. */
START_TEST(messages_of_a_round_leave_together)
{
	const struct dofi_msg ready = {.type = DOFI_MSG_READY}, bye = {.type = DOFI_MSG_BYE};
	size_t size = dofi_wire_put_msg(frame, &ready);

	dofi_chan_send(chan, &ready);
	dofi_chan_send(chan, &bye);
	ck_assert_int_eq(nsends, 0);
	dofi_work_run(&ia);
	ck_assert_int_eq(nsends, 1);
	ck_assert_int_eq(recv(peer, frame, sizeof(frame), 0), 2 * size);
	dofi_work_run(&ia);
	ck_assert_int_eq(nsends, 1);
}
END_TEST

/* The peer learns from the last message why the channel ends. */
START_TEST(messages_leave_before_the_channel_ends)
{
	const struct dofi_msg msg = {.type = DOFI_MSG_GOODBYE};

	dofi_chan_send(chan, &msg);
	dofi_chan_close(chan, 0, true);
	ck_assert_int_gt(recv(peer, frame, sizeof(frame), 0), 0);
	ck_assert_int_eq(recv(peer, frame, sizeof(frame), 0), 0);
	ck_assert(dofi_list_empty(&ia.engine.last_work));
}
END_TEST

/* Its connections may still send before they learn of its end; then it is freed. */
START_TEST(a_closed_channel_sends_nothing)
{
	const struct dofi_msg msg = {.type = DOFI_MSG_BYE};

	chan->asks = true;
	dofi_chan_close(chan, 0, true);
	dofi_chan_send(chan, &msg);
	ck_assert(dofi_list_empty(&ia.engine.last_work));
}
END_TEST

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
	/* It ends, or else the time of the test does. */
	while (got < put) {
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

/* The peer is not to blame. */
START_TEST(a_message_without_memory_ends_the_channel)
{
	int fd = t_capture(STDERR_FILENO);
	const char *says;

	no_room = true;
	dofi_chan_put(chan, frame, sizeof(frame));
	no_room = false;
	ck_assert_int_eq(chan->send_err, -ENOMEM);
	ck_assert_uint_eq(chan->tx_fill, 0);
	says = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(says, "no memory for a message"));
	ck_assert_ptr_null(strstr(says, "look whether that process is stopped"));
	dofi_work_run(&ia);
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
	chan->session.sealed = seal_fails = true;
	dofi_chan_put_sealed(chan, frame, 100);
	ck_assert_uint_eq(chan->tx_fill, 0);
	ck_assert_int_eq(chan->send_err, 0);
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

/* Somebody between the two has changed it. */
START_TEST(a_wrong_seal_ends_the_channel)
{
	const struct dofi_msg done = {.type = DOFI_MSG_DONE, .number = 1};
	uint8_t forged[DOFI_WIRE_MAX_FRAME + DOFI_SEAL_SIZE];
	size_t size = dofi_wire_put_msg(forged, &done);
	struct dofi_session theirs = {.sealed = true};

	size = dofi_wire_seal(forged, size, &theirs);
	ck_assert_uint_gt(size, 0);
	forged[size - 1] ^= 1;
	chan->asked = 1;
	chan->session.sealed = true;
	ck_assert_int_eq(write(peer, forged, size), size);
	dofi_engine_hear(&ia);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chan->err, -EPROTO);
	ck_assert_uint_eq(chan->done, 0);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_BAD_SEAL]), 1);
}
END_TEST

static void send_done(uint64_t number, size_t from, size_t to)
{
	const struct dofi_msg done = {.type = DOFI_MSG_DONE, .number = number};
	size_t size = dofi_wire_put_msg(frame, &done);

	if (to > size)
		to = size;
	ck_assert_int_eq(write(peer, frame + from, to - from), to - from);
}

/* A peer, or the network, divides the stream anywhere. */
START_TEST(messages_come_in_pieces)
{
	const struct dofi_msg done = {.type = DOFI_MSG_DONE};
	size_t size = dofi_wire_put_msg(frame, &done), pieces[] = {1, 4, size / 2, size - 1};
	uint64_t number = UINT64_C(0x0203040506070809);

	chan->asked = UINT64_MAX;
	send_done(1, 0, SIZE_MAX);
	send_done(number, 0, pieces[_i]);
	dofi_engine_hear(&ia);
	ck_assert_uint_eq(chan->done, 1);
	ck_assert_uint_eq(chan->rx_fill, pieces[_i]);
	send_done(number, pieces[_i], SIZE_MAX);
	dofi_engine_hear(&ia);
	ck_assert_uint_eq(chan->done, number);
	send_done(number + 1, 0, 1);
	dofi_engine_hear(&ia);
	send_done(number + 1, 1, SIZE_MAX);
	dofi_engine_hear(&ia);
	ck_assert_uint_eq(chan->done, number + 1);
	ck_assert_uint_eq(chan->rx_fill, 0);
	ck_assert_int_eq(chan->state, DOFI_CHAN_UP);
}
END_TEST

START_TEST(what_follows_a_goodbye_is_ignored)
{
	const struct dofi_msg goodbye = {.type = DOFI_MSG_GOODBYE};
	size_t size = dofi_wire_put_msg(frame, &goodbye);

	chan->asked = 1;
	ck_assert_int_eq(write(peer, frame, size), size);
	send_done(1, 0, SIZE_MAX);
	dofi_engine_hear(&ia);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_uint_eq(chan->done, 0);
}
END_TEST

/* A read that does not fill the buffer has emptied the socket. */
START_TEST(one_read_takes_a_message)
{
	send_done(1, 0, SIZE_MAX);
	chan->fd.ready(&chan->fd, EPOLLIN);
	ck_assert_int_eq(nreads, 1);
	chan->fd.ready(&chan->fd, EPOLLIN); /* there is nothing */
	ck_assert_int_eq(nreads, 2);
	ck_assert_int_eq(chan->state, DOFI_CHAN_UP);
}
END_TEST

START_TEST(a_read_that_was_interrupted_is_repeated)
{
	chan->asked = 1;
	send_done(1, 0, SIZE_MAX);
	interruptions = 1;
	chan->fd.ready(&chan->fd, EPOLLIN);
	ck_assert_int_eq(nreads, 2);
	ck_assert_uint_eq(chan->done, 1);
}
END_TEST

START_TEST(a_read_that_fails_ends_the_channel)
{
	read_error = ETIMEDOUT;
	chan->fd.ready(&chan->fd, EPOLLIN);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chan->err, -ETIMEDOUT);
	ck_assert_int_eq(nreads, 1);
}
END_TEST

#define READS_PER_TURN 16

/* The engine has other work, too. */
START_TEST(a_peer_that_sends_without_end_is_read_in_turns)
{
	const struct dofi_msg done = {.type = DOFI_MSG_DONE, .number = 1};

	endless = dofi_wire_put_msg(frame, &done);
	chan->fd.ready(&chan->fd, EPOLLIN);
	ck_assert_int_eq(nreads, READS_PER_TURN);
	ck_assert_int_eq(chan->state, DOFI_CHAN_UP);
}
END_TEST

/* A call that looks for a goodbye does not disturb a handshake. */
START_TEST(only_a_channel_that_is_up_is_read_for_others)
{
	chan->asked = 1;
	send_done(1, 0, SIZE_MAX);
	chan->state = DOFI_CHAN_HANDSHAKE;
	dofi_chan_read(chan);
	ck_assert_int_eq(nreads, 0);
	chan->state = DOFI_CHAN_UP;
	dofi_chan_read(chan);
	ck_assert_uint_eq(chan->done, 1);
}
END_TEST

/* An answer follows soon. A stranger that sends bytes must not keep a thread awake. */
START_TEST(a_thread_that_waits_stays_awake_after_its_message)
{
	chan->asked = 1;
	send_done(1, 0, SIZE_MAX);
	dofi_chan_read(chan);
	ck_assert_uint_eq(atomic_load(&ia.wait.awake_until), 0);
	dofi_chan_put(chan, frame, 100);
	ck_assert_uint_gt(atomic_load(&ia.wait.awake_until), 0);
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

static struct dofi_conn *join(struct dofi_list *list)
{
	struct dofi_conn *conn = dofi_conn_new(&ia, DOFI_CONN_DIALLING);

	ck_assert_ptr_nonnull(conn);
	conn->chan = chan;
	dofi_list_add_tail(list, &conn->link);
	return conn;
}

#define SECOND UINT64_C(1000000000)

/* The side that dialled closes first. */
START_TEST(a_channel_waits_a_while_for_its_next_use)
{
	struct dofi_conn *first = join(&chan->conns), *second = join(&chan->waiting);
	uint64_t before = dofi_now(), pause = (_i ? 60 : 5) * SECOND;

	chan->accepted = _i;
	dofi_chan_detach(first);
	ck_assert_ptr_null(first->chan);
	ck_assert_ptr_null(ia.engine.timers); /* the second needs it */
	dofi_chan_detach(second);
	ck_assert_ptr_eq(ia.engine.timers, &chan->timer);
	ck_assert_uint_ge(chan->idle_since, before);
	ck_assert_uint_ge(chan->timer.deadline, before + pause);
	ck_assert_uint_le(chan->timer.deadline, dofi_now() + pause);
	ck_assert_int_eq(chan->state, DOFI_CHAN_UP);
	dofi_chan_detach(second); /* has no effect */
	dofi_conn_free(first);
	dofi_conn_free(second);
}
END_TEST

/* Nobody else waits for the end of the handshake. */
START_TEST(a_handshake_ends_with_its_last_connection)
{
	struct dofi_conn *conn = join(&chan->waiting);

	chan->state = DOFI_CHAN_HANDSHAKE;
	dofi_chan_detach(conn);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chan->err, 0);
	ck_assert(chan->orderly);
	dofi_conn_free(conn);
}
END_TEST

/* --- what a channel leaves --- */

START_TEST(a_closed_channel_is_not_counted)
{
	static const struct {
		bool accepted;
		enum dofi_chan_state state;
		uint32_t strangers, channels;
	} cases[] = {
		{true, DOFI_CHAN_UP, 3, 2},       {true, DOFI_CHAN_HANDSHAKE, 2, 3},
		{false, DOFI_CHAN_UP, 3, 3},      {false, DOFI_CHAN_HANDSHAKE, 3, 3},
		{false, DOFI_CHAN_DIALING, 3, 3},
	};
	int fd = chan->fd.fd;

	ia.trans = &curious;
	ia.cm.nstrangers = ia.cm.naccepted = 3;
	chan->accepted = cases[_i].accepted;
	chan->state = cases[_i].state;
	dofi_timer_set(&ia, &chan->timer, dofi_now() + 60 * SECOND);
	dofi_chan_close(chan, -ECONNRESET, false);
	ck_assert_uint_eq(ia.cm.nstrangers, cases[_i].strangers);
	ck_assert_uint_eq(ia.cm.naccepted, cases[_i].channels);
	ck_assert_int_eq(ndied, cases[_i].state == DOFI_CHAN_UP);
	ck_assert_ptr_null(ia.engine.timers);
	ck_assert_int_eq(chan->fd.fd, -1);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	ck_assert_ptr_eq(ia.cm.dead.next, &chan->link);
}
END_TEST

/* The program has closed its standard input. */
START_TEST(the_lowest_descriptor_is_closed)
{
	ck_assert_int_eq(dup2(chan->fd.fd, STDIN_FILENO), STDIN_FILENO);
	close(chan->fd.fd);
	chan->fd.fd = STDIN_FILENO;
	dofi_chan_close(chan, 0, true);
	ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
}
END_TEST

/* A forked child holds the socket open. */
START_TEST(a_closed_channel_hears_nothing)
{
	int copy = dup(chan->fd.fd);

	dofi_chan_close(chan, 0, true);
	ck_assert_int_eq(write(peer, frame, 1), 1);
	ck_assert_int_eq(dofi_engine_hear(&ia), 0);
	close(copy);
}
END_TEST

/* The answer to an INVALIDATE, when the operations are complete that used the context. */
START_TEST(an_answer_that_waited_is_sent)
{
	struct dofi_msg msg;

	dofi_list_init(&ia.engine.stalled);
	chan->answer_number = 5;
	dofi_stall(&ia, &chan->answer);
	dofi_stall_retry_all(&ia);
	dofi_work_run(&ia);
	ck_assert_int_gt(recv(peer, frame, sizeof(frame), 0), DOFI_WIRE_LENGTH);
	ck_assert(dofi_wire_get_msg(frame + DOFI_WIRE_LENGTH, frame[3] | (size_t)frame[2] << 8,
				    &msg));
	ck_assert_int_eq(msg.type, DOFI_MSG_DONE);
	ck_assert_uint_eq(msg.number, 5);
	ck_assert(!chan->answer.waits);
}
END_TEST

/* It would be sent by a channel whose memory is free. */
START_TEST(a_closed_channel_answers_nothing)
{
	dofi_list_init(&ia.engine.stalled);
	dofi_stall(&ia, &chan->answer);
	ck_assert_uint_eq(atomic_load(&ia.engine.nstalled), 1);
	dofi_chan_close(chan, -ECONNRESET, false);
	ck_assert_uint_eq(atomic_load(&ia.engine.nstalled), 0);
	ck_assert(dofi_list_empty(&ia.engine.stalled));
}
END_TEST

START_TEST(the_key_of_a_session_is_wiped)
{
	const void *session = &chan->session;

	dofi_chan_close(chan, 0, true);
	dofi_work_run(&ia);
	ck_assert_ptr_eq(wiped, session);
	ck_assert_uint_eq(wiped_size, sizeof(chan->session));
}
END_TEST

START_TEST(the_memory_of_a_channel_is_freed)
{
	unsigned int blocks;

	dofi_chan_put(chan, frame, 100);
	blocks = t_nblocks;
	dofi_chan_close(chan, 0, true);
	ck_assert_int_eq(dofi_work_run(&ia), 1);
	ck_assert_uint_eq(t_nblocks, blocks - 1);
	ck_assert(dofi_list_empty(&ia.cm.dead));
}
END_TEST

/* A peer that is gone needs not be waited for any more. */
START_TEST(calls_that_wait_for_an_answer_learn_of_the_end)
{
	struct dofi_list bind;

	ia.cm.answered.run = NULL;
	chan->asked = 2;
	chan->done = _i ? 2 : 1;
	dofi_list_add_tail(&ia.cm.binds, &bind);
	dofi_chan_close(chan, -ECONNRESET, false);
	ck_assert_uint_eq(atomic_load(&ia.cm.wakeup), !_i);
	ck_assert_int_eq(ia.cm.answered.link.next != NULL, !_i);
}
END_TEST

/* The peer has closed its end behind them. */
START_TEST(the_last_messages_are_read_when_no_more_can_be_sent)
{
	chan->asked = 1;
	send_done(1, 0, SIZE_MAX);
	chan->send_err = -ECONNRESET;
	chan->work.run(&chan->work);
	ck_assert_uint_eq(chan->done, 1);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chan->err, -ECONNRESET);
}
END_TEST

/* A peer that was overloaded. The end of the socket is found by a read and by a send. */
START_TEST(a_lost_dial_is_repeated_once)
{
	chan->state = DOFI_CHAN_HANDSHAKE;
	chan->tries = 1;
	chan->send_err = -ECONNRESET;
	if (_i)
		close(peer);
	chan->work.run(&chan->work);
	ck_assert_int_eq(chan->state, DOFI_CHAN_DIALING);
	ck_assert_int_eq(chan->send_err, 0);
	ck_assert_int_eq(chan->fd.fd, -1);
	ck_assert_ptr_eq(ia.engine.timers, &chan->timer);
}
END_TEST

/* Its time is over, too, but that is not the reason. */
START_TEST(a_stranger_that_has_hung_up_is_not_counted)
{
	chan->state = DOFI_CHAN_HANDSHAKE;
	chan->accepted = true;
	ia.cm.nstrangers = 1;
	close(peer);
	expire();
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chan->err, -ECONNRESET);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_STRANGERS]), 0);
	ck_assert_ptr_null(ia.engine.timers);
}
END_TEST

START_TEST(a_stranger_that_says_nothing_is_counted)
{
	int fd = t_capture(STDERR_FILENO);

	chan->state = DOFI_CHAN_HANDSHAKE;
	chan->accepted = true;
	ia.cm.nstrangers = 1;
	expire();
	ck_assert_int_eq(chan->state, DOFI_CHAN_DEAD);
	ck_assert_int_eq(chan->err, -EPROTO);
	ck_assert_uint_eq(atomic_load(&ia.counters[DOFI_CNT_IA_CM_STRANGERS]), 1);
	ck_assert_str_eq(t_captured(fd), ""); /* anybody may come */
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
	tcase_add_test(tc, a_message_without_memory_ends_the_channel);
	tcase_add_test(tc, a_peer_that_hangs_up_ends_the_channel);
	tcase_add_test(tc, a_channel_ends_once);
	tcase_add_test(tc, the_transport_learns_that_a_peer_died);
	tcase_add_loop_test(tc, garbage_ends_the_channel, 0, 2);
	tcase_add_test(tc, a_wrong_seal_ends_the_channel);
	tcase_add_loop_test(tc, messages_come_in_pieces, 0, 4);
	tcase_add_test(tc, what_follows_a_goodbye_is_ignored);
	tcase_add_test(tc, one_read_takes_a_message);
	tcase_add_test(tc, a_read_that_was_interrupted_is_repeated);
	tcase_add_test(tc, a_read_that_fails_ends_the_channel);
	tcase_add_test(tc, a_peer_that_sends_without_end_is_read_in_turns);
	tcase_add_test(tc, only_a_channel_that_is_up_is_read_for_others);
	tcase_add_test(tc, what_lies_in_the_socket_is_read_in_one_turn);
	tcase_add_test(tc, the_transport_learns_that_a_peer_closed);
	tcase_add_loop_test(tc, a_transport_need_not_know_the_end_of_peers, 0, 2);
	tcase_add_test(tc, a_connection_that_waits_is_dialled_again);
	tcase_add_test(tc, no_connection_has_the_number_0);
	tcase_add_test(tc, a_connection_that_repeats_its_request_counts_once);
	tcase_add_test(tc, a_channel_that_nobody_uses_is_closed);
	tcase_add_test(tc, a_channel_in_use_stays);
	tcase_add_test(tc, a_channel_that_waits_for_an_answer_stays);
	tcase_add_test(tc, a_send_that_was_interrupted_is_repeated);
	tcase_add_test(tc, a_send_that_takes_a_part_is_continued);
	tcase_add_loop_test(tc, a_send_that_fails_ends_the_channel, 0, 3);
	tcase_add_test(tc, a_message_that_can_not_be_sealed_ends_the_channel);
	tcase_add_test(tc, a_sealed_message_is_longer_by_its_seal);
	tcase_add_test(tc, the_room_for_messages_has_a_limit);
	tcase_add_test(tc, a_thread_that_waits_stays_awake_after_its_message);
	tcase_add_loop_test(tc, an_event_of_the_socket, 0, 5);
	tcase_add_test(tc, a_full_socket_is_not_tried_for_each_message);
	tcase_add_loop_test(tc, nothing_is_sent_before_the_handshake_is_complete, 0, 2);
	tcase_add_test(tc, messages_of_a_round_leave_together);
	tcase_add_test(tc, messages_leave_before_the_channel_ends);
	tcase_add_test(tc, a_closed_channel_sends_nothing);
	tcase_add_loop_test(tc, a_channel_waits_a_while_for_its_next_use, 0, 2);
	tcase_add_test(tc, a_handshake_ends_with_its_last_connection);
	tcase_add_loop_test(tc, a_closed_channel_is_not_counted, 0, 5);
	tcase_add_test(tc, the_lowest_descriptor_is_closed);
	tcase_add_test(tc, a_closed_channel_hears_nothing);
	tcase_add_test(tc, an_answer_that_waited_is_sent);
	tcase_add_test(tc, a_closed_channel_answers_nothing);
	tcase_add_test(tc, the_key_of_a_session_is_wiped);
	tcase_add_test(tc, the_memory_of_a_channel_is_freed);
	tcase_add_loop_test(tc, calls_that_wait_for_an_answer_learn_of_the_end, 0, 2);
	tcase_add_test(tc, the_last_messages_are_read_when_no_more_can_be_sent);
	tcase_add_loop_test(tc, a_lost_dial_is_repeated_once, 0, 2);
	tcase_add_test(tc, a_stranger_that_has_hung_up_is_not_counted);
	tcase_add_test(tc, a_stranger_that_says_nothing_is_counted);
	tcase_add_test(tc, a_peer_beyond_the_limit_is_refused);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
