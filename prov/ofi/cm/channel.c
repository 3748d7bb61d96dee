/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/channel.h"

#include "base/addr.h"
#include "cm/conn.h"
#include "cm/conn_message.h"
#include "cm/connect.h"
#include "cm/crowd.h"
#include "cm/disconnect.h"
#include "cm/handshake.h"
#include "cm/invalidation.h"
#include "fabric/netdev.h"
#include "object/ia.h"
#include "base/log.h"
#include "cm/service_point.h"
#include "object/transport.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "base/clock.h"
#include "progress/timer.h"
#include "progress/work.h"
#include "progress/stall.h"
#include "progress/engine_fds.h"
#include "progress/engine.h"
#include "progress/wait.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <rdma/fabric.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SECOND_NS        1000000000ull
/* The dialling side closes what it does not use; later the other one cuts it off. */
#define IDLE_NS          (5 * SECOND_NS)
#define ACCEPTED_IDLE_NS (60 * SECOND_NS)
#define MAX_TX           (1u << 20) /* a peer that lets so much pile up does not read */
#define READS_PER_TURN   16
#define MAX_DIALS        3u /* of one channel, when an overloaded peer hangs up before its HELLO */

_Static_assert(DOFI_MAX_PRIVATE <= DOFI_WIRE_MAX_PRIVATE, "private data fits a message");

static void chan_ready(struct dofi_fd *fd, uint32_t events);
static void chan_timer(struct dofi_timer *timer);
static void chan_work(struct dofi_work *work);
static void answer_again(struct dofi_stall *stall);

/* --- life --- */

static struct dofi_chan *chan_new(struct dofi_ia *ia, int fd, enum dofi_chan_state state)
{
	struct dofi_chan *chan = calloc(1, sizeof(*chan));

	if (!chan)
		return NULL;
	chan->ia = ia;
	chan->state = state;
	chan->fd = (struct dofi_fd){.fd = fd, .ready = chan_ready};
	chan->timer.fire = chan_timer;
	chan->work.run = chan_work;
	chan->answer.retry = answer_again;
	dofi_list_init(&chan->link);
	dofi_list_init(&chan->waiting);
	dofi_list_init(&chan->conns);
	return chan;
}

static bool chan_unused(const struct dofi_chan *chan)
{
	return dofi_list_empty(&chan->waiting) && dofi_list_empty(&chan->conns);
}

static void close_socket(struct dofi_chan *chan)
{
	if (chan->fd.fd < 0)
		return;
	dofi_engine_unwatch(chan->ia, &chan->fd);
	close(chan->fd.fd);
	chan->fd.fd = -1;
}

/* An invalidation may have got its last answer. */
static void send_wakeup(struct dofi_ia *ia)
{
	dofi_wait_wake(ia, &ia->cm.wakeup);
	if (!dofi_list_empty(&ia->cm.binds))
		dofi_work_defer(ia, &ia->cm.answered);
}

void dofi_chan_close(struct dofi_chan *chan, int err, bool orderly)
{
	struct dofi_cm *cm = &chan->ia->cm;

	dofi_assert_held(&chan->ia->engine.lock);
	if (chan->state == DOFI_CHAN_DEAD)
		return;
	if (chan->accepted && chan->state == DOFI_CHAN_GREETING)
		cm->nstrangers--;
	chan->was_up = chan->state == DOFI_CHAN_UP;
	if (chan->accepted && chan->was_up)
		dofi_crowd_leaves(chan);
	chan->state = DOFI_CHAN_DEAD;
	chan->err = err;
	chan->orderly = orderly;
	if (chan->was_up && !orderly && chan->ia->trans->peer_died)
		chan->ia->trans->peer_died(chan->ia);
	close_socket(chan);
	dofi_timer_cancel(chan->ia, &chan->timer);
	dofi_stall_end(chan->ia, &chan->answer);
	dofi_list_del(&chan->link);
	dofi_list_add_tail(&cm->dead, &chan->link);
	dofi_work_defer(chan->ia, &chan->work);
	if (chan->asked != chan->done)
		send_wakeup(chan->ia);
}

static struct dofi_conn *pop_conn(struct dofi_list *list)
{
	struct dofi_list *node = dofi_list_pop(list);

	return node ? DOFI_CONTAINER(node, struct dofi_conn, link) : NULL;
}

/* It had asked for nothing yet on a channel that was there when it came: a new one will do. */
static void dial_again(struct dofi_conn *conn)
{
	uint16_t port;
	int ret = -ECONNREFUSED;

	if (dofi_port_candidate(conn->conn_qual, conn->candidate, &port))
		ret = dofi_chan_dial(conn, (struct sockaddr *)&conn->remote, port);
	if (ret)
		dofi_conn_dial_failed(conn, ret);
}

static void bury(struct dofi_chan *chan)
{
	struct dofi_conn *conn;

	while ((conn = pop_conn(&chan->waiting))) {
		conn->chan = NULL;
		if (chan->was_up)
			dial_again(conn);
		else
			dofi_conn_dial_failed(conn, chan->err);
	}
	while ((conn = pop_conn(&chan->conns))) {
		conn->chan = NULL;
		dofi_conn_chan_lost(conn, chan->orderly);
	}
	dofi_list_del(&chan->link);
	free(chan->tx);
	free(chan);
}

static void wait_for_use(struct dofi_chan *chan)
{
	chan->idle_since = dofi_now();
	dofi_timer_set(chan->ia, &chan->timer,
		       dofi_now() + (chan->accepted ? ACCEPTED_IDLE_NS : IDLE_NS));
}

const char *dofi_chan_peer_text(const struct dofi_chan *chan, char text[DOFI_ADDR_TEXT])
{
	struct sockaddr_storage addr = chan->names[0];
	socklen_t size = sizeof(addr);

	if (chan->accepted && getpeername(chan->fd.fd, (struct sockaddr *)&addr, &size))
		addr.ss_family = AF_UNSPEC;
	return dofi_addr_text(&addr, text);
}

/* --- sending --- */

static void watch(struct dofi_chan *chan, bool writing)
{
	if (chan->writing == writing)
		return;
	chan->writing = writing;
	dofi_engine_rewatch(chan->ia, &chan->fd, writing ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void stop_sending(struct dofi_chan *chan, int err)
{
	chan->send_err = err == -EPIPE ? -ECONNRESET : err;
	chan->tx_fill = 0;
	dofi_work_defer(chan->ia, &chan->work);
}

static void flush(struct dofi_chan *chan)
{
	uint32_t sent = 0;
	ssize_t n;

	while (sent < chan->tx_fill) {
		n = send(chan->fd.fd, chan->tx + sent, chan->tx_fill - sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0) {
			sent += (uint32_t)n;
		} else if (errno == EAGAIN) {
			break;
		} else if (errno != EINTR) {
			stop_sending(chan, -errno);
			return;
		}
	}
	chan->tx_fill -= sent;
	if (chan->tx_fill)
		memmove(chan->tx, chan->tx + sent, chan->tx_fill);
	watch(chan, chan->tx_fill > 0);
}

static bool make_room(struct dofi_chan *chan, uint32_t size)
{
	uint32_t new_size = chan->tx_size ? 2 * chan->tx_size : DOFI_WIRE_MAX_FRAME;
	uint8_t *tx;

	if (chan->tx_fill + size <= chan->tx_size)
		return true;
	if (new_size > MAX_TX || !(tx = realloc(chan->tx, new_size)))
		return false;
	chan->tx = tx;
	chan->tx_size = new_size;
	return true;
}

void dofi_chan_put(struct dofi_chan *chan, const uint8_t *frame, size_t size)
{
	char text[DOFI_ADDR_TEXT];

	dofi_assert_held(&chan->ia->engine.lock);
	if (chan->state == DOFI_CHAN_DEAD || chan->send_err)
		return;
	if (!make_room(chan, (uint32_t)size)) {
		DOFI_LOG_W("%s: giving up the control channel to %s: it takes no messages and %u "
			   "bytes wait; look whether that process is stopped",
			   chan->ia->name, dofi_chan_peer_text(chan, text), chan->tx_fill);
		stop_sending(chan, -ENOBUFS);
		return;
	}
	memcpy(chan->tx + chan->tx_fill, frame, size);
	chan->tx_fill += (uint32_t)size;
}

void dofi_chan_put_sealed(struct dofi_chan *chan, uint8_t *frame, size_t size)
{
	dofi_assert_held(&chan->ia->engine.lock);
	if (chan->state == DOFI_CHAN_DEAD || chan->send_err)
		return;
	size = dofi_wire_seal(frame, size, &chan->session);
	if (size)
		dofi_chan_put(chan, frame, size);
	else
		stop_sending(chan, -EIO);
}

void dofi_chan_flush(struct dofi_chan *chan)
{
	dofi_assert_held(&chan->ia->engine.lock);
	if (chan->state != DOFI_CHAN_DEAD && !chan->writing && chan->tx_fill)
		flush(chan);
}

void dofi_chan_send(struct dofi_chan *chan, const struct dofi_msg *msg)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];

	dofi_assert_held(&chan->ia->engine.lock);
	if (chan->state != DOFI_CHAN_UP && !chan->asks)
		return;
	dofi_chan_put_sealed(chan, frame, dofi_wire_put_msg(frame, msg));
	dofi_chan_flush(chan);
}

/* --- dialling --- */

static void set_options(const struct dofi_chan *chan)
{
	int limit = (int)chan->ia->params.keepalive_s, probes = 3, on = 1;
	int idle = limit / 2 ? limit / 2 : 1,
	    interval = (limit - idle) / probes ? (limit - idle) / probes : 1;
	unsigned int limit_ms = (unsigned int)limit * 1000u;
	int fd = chan->fd.fd;

	/* Each only makes things faster or finds the dead sooner: without it we still work. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof(limit_ms));
}

/* The peer that received the requests has closed its socket. */
static void forget_requests(struct dofi_chan *chan)
{
	chan->asks = false;
	DOFI_LIST_FOR(node, &chan->waiting)
	{
		DOFI_CONTAINER(node, struct dofi_conn, link)->asked = false;
	}
}

static int start_dial(struct dofi_chan *chan)
{
	const struct sockaddr_storage *to = &chan->names[0];
	int ret, on = 1;

	chan->fd.fd = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (chan->fd.fd < 0)
		return -errno;
	/* Our port number must not keep anybody's listener from the same number. */
	setsockopt(chan->fd.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	chan->state = DOFI_CHAN_DIALING;
	forget_requests(chan);
	chan->rx_fill = chan->tx_fill = 0;
	chan->send_err = 0;
	chan->writing = true;
	chan->tries++;
	if (connect(chan->fd.fd, (const struct sockaddr *)to, dofi_addr_len(to)) &&
	    errno != EINPROGRESS)
		ret = -errno;
	else
		ret = dofi_engine_watch(chan->ia, &chan->fd, EPOLLIN | EPOLLOUT);
	if (ret) {
		close(chan->fd.fd);
		chan->fd.fd = -1;
	}
	return ret;
}

/* Where nobody listens at a port of the ephemeral range, TCP may connect a socket with itself. */
static bool talks_to_itself(int fd)
{
	struct sockaddr_storage here, there;
	socklen_t here_size = sizeof(here), there_size = sizeof(there);

	return !getsockname(fd, (struct sockaddr *)&here, &here_size) &&
	       !getpeername(fd, (struct sockaddr *)&there, &there_size) &&
	       here_size == there_size && !memcmp(&here, &there, here_size);
}

static void dial_done(struct dofi_chan *chan)
{
	socklen_t size = sizeof(int);
	int err = 0;

	if (getsockopt(chan->fd.fd, SOL_SOCKET, SO_ERROR, &err, &size))
		err = errno;
	if (!err && talks_to_itself(chan->fd.fd))
		err = ECONNREFUSED;
	if (err) {
		dofi_chan_close(chan, -err, false);
		return;
	}
	chan->state = DOFI_CHAN_GREETING;
	dofi_timer_set(chan->ia, &chan->timer,
		       dofi_now() + chan->ia->params.handshake_ms * 1000000u);
	set_options(chan);
	watch(chan, false);
	dofi_handshake_begin(chan);
	dofi_chan_flush(chan);
}

static bool has_name(const struct dofi_chan *chan, const struct sockaddr_storage *name)
{
	for (uint32_t i = 0; i < chan->nnames; i++)
		if (dofi_addr_equal(&chan->names[i], name))
			return true;
	return false;
}

/* The first name is the socket's own and stays; the others make room in turn. */
static void add_name(struct dofi_chan *chan, const struct sockaddr_storage *name)
{
	if (has_name(chan, name))
		return;
	if (chan->nnames < DOFI_CHAN_NAMES) {
		chan->names[chan->nnames++] = *name;
		return;
	}
	memmove(&chan->names[1], &chan->names[2], (DOFI_CHAN_NAMES - 2) * sizeof(*name));
	chan->names[DOFI_CHAN_NAMES - 1] = *name;
}

/* A channel that we dialled to that name; the newest, since a port may have got another owner. */
static struct dofi_chan *find_named(struct dofi_cm *cm, const struct sockaddr_storage *name,
				    bool afresh)
{
	for (struct dofi_list *node = cm->chans.prev; node != &cm->chans; node = node->prev) {
		struct dofi_chan *chan = DOFI_CONTAINER(node, struct dofi_chan, link);

		if (!chan->accepted && !chan->send_err &&
		    !(afresh && chan->state == DOFI_CHAN_UP) && has_name(chan, name))
			return chan;
	}
	return NULL;
}

static int dial_new(struct dofi_ia *ia, const struct sockaddr_storage *name,
		    struct dofi_chan **chan_p)
{
	struct dofi_chan *chan = chan_new(ia, -1, DOFI_CHAN_DIALING);
	int ret;

	if (!chan)
		return -ENOMEM;
	add_name(chan, name);
	ret = start_dial(chan);
	if (ret) {
		free(chan);
		return ret;
	}
	dofi_list_add_tail(&ia->cm.chans, &chan->link);
	*chan_p = chan;
	return 0;
}

int dofi_chan_dial(struct dofi_conn *conn, const struct sockaddr *remote, uint16_t port)
{
	struct dofi_ia *ia = conn->ia;
	struct sockaddr_storage name;
	struct dofi_chan *chan;
	int ret;

	dofi_assert_held(&conn->ia->engine.lock);
	dofi_assert_held(&ia->engine.lock);
	if (!dofi_addr_set(&name, remote, port))
		return -EAFNOSUPPORT;
	chan = find_named(&ia->cm, &name, conn->redialled);
	if (!chan) {
		ret = dial_new(ia, &name, &chan);
		if (ret)
			return ret;
	}
	conn->chan = chan;
	conn->asked = false;
	dofi_list_add_tail(&chan->waiting, &conn->link);
	if (chan->state == DOFI_CHAN_UP)
		dofi_work_defer(ia, &chan->work);
	return 0;
}

void dofi_chan_detach(struct dofi_conn *conn)
{
	struct dofi_chan *chan = conn->chan;

	dofi_assert_held(&conn->ia->engine.lock);
	if (!chan)
		return;
	dofi_list_del(&conn->link);
	conn->chan = NULL;
	if (!chan_unused(chan) || chan->state == DOFI_CHAN_DEAD)
		return;
	if (chan->state == DOFI_CHAN_UP)
		wait_for_use(chan);
	else
		dofi_chan_close(chan, 0, true);
}

static void announce(struct dofi_chan *chan)
{
	struct dofi_conn *conn;

	while (chan->state == DOFI_CHAN_UP && !chan->send_err &&
	       (conn = pop_conn(&chan->waiting))) {
		dofi_list_add_tail(&chan->conns, &conn->link);
		dofi_conn_chan_up(conn);
	}
}

/* --- greeting --- */

static struct dofi_chan *other_to_same_peer(const struct dofi_chan *chan)
{
	DOFI_LIST_FOR(node, &chan->ia->cm.chans)
	{
		struct dofi_chan *other = DOFI_CONTAINER(node, struct dofi_chan, link);

		if (other != chan && other->state == DOFI_CHAN_UP && !other->accepted &&
		    !other->send_err && dofi_details_are_of_one(&other->peer, &chan->peer))
			return other;
	}
	return NULL;
}

static bool host_is_known(const struct dofi_chan *chan)
{
	DOFI_LIST_FOR(node, &chan->ia->cm.chans)
	{
		const struct dofi_chan *other = DOFI_CONTAINER(node, struct dofi_chan, link);

		if (other != chan && other->state == DOFI_CHAN_UP && !other->accepted &&
		    dofi_addr_same_host(&other->names[0], &chan->names[0]))
			return true;
	}
	return false;
}

/*
 * The waiting connections send REQUEST without waiting for the DETAILS of the peer, which saves a
 * round trip. But if another channel leads to this host, both may lead to the same peer. Only its
 * DETAILS tell whether the channels are merged, so then the connections wait for them.
 */
void dofi_chan_proved(struct dofi_chan *chan)
{
	dofi_assert_held(&chan->ia->engine.lock);
	if (host_is_known(chan))
		return;
	chan->asks = true;
	DOFI_LIST_FOR(node, &chan->waiting)
	{
		struct dofi_conn *conn = DOFI_CONTAINER(node, struct dofi_conn, link);

		if (conn->state == DOFI_CONN_DIALLING)
			dofi_conn_ask(conn);
	}
}

/* We dialled another port of a peer that we have a channel to: that one serves. */
static void merge(struct dofi_chan *chan, struct dofi_chan *into)
{
	struct dofi_conn *conn;

	add_name(into, &chan->names[0]);
	while ((conn = pop_conn(&chan->waiting))) {
		conn->chan = into;
		dofi_list_add_tail(&into->waiting, &conn->link);
	}
	/* Newest: find_named looks from this end. */
	dofi_list_del(&into->link);
	dofi_list_add_tail(&into->ia->cm.chans, &into->link);
	dofi_work_defer(into->ia, &into->work);
	dofi_chan_close(chan, 0, true);
}

/*
 * The socket's word counts. A peer of this host may have come by another address of the host than
 * its IA's.
 */
static void set_remote(struct dofi_chan *chan)
{
	const struct sockaddr_storage *socket = chan->accepted ? &chan->source : &chan->names[0];
	const struct sockaddr_storage *said = &chan->peer.addr;
	bool trusted = dofi_addr_same_host(said, socket) ||
		       (dofi_netdev_is_ours(socket) && dofi_netdev_is_ours(said));

	if (!dofi_addr_set(&chan->remote, (const struct sockaddr *)(trusted ? said : socket), 0))
		chan->remote = *said;
}

void dofi_chan_greeted(struct dofi_chan *chan)
{
	struct dofi_cm *cm = &chan->ia->cm;
	struct dofi_chan *other;

	dofi_assert_held(&chan->ia->engine.lock);
	if (chan->accepted && !dofi_crowd_admits(chan)) {
		dofi_chan_close(chan, -EBUSY, false);
		return;
	}
	chan->state = DOFI_CHAN_UP;
	chan->asked = chan->done = cm->invalidations;
	set_remote(chan);
	dofi_timer_cancel(chan->ia, &chan->timer);
	if (chan->accepted) {
		cm->nstrangers--;
		dofi_list_del(&chan->link);
		dofi_list_add_tail(&cm->chans, &chan->link);
		wait_for_use(chan);
	} else if (!chan->asks && (other = other_to_same_peer(chan))) {
		merge(chan, other);
	} else {
		announce(chan);
	}
}

/* One that has said nothing yet rather than one in the middle of the handshake; then the oldest. */
static struct dofi_chan *least_welcome(struct dofi_cm *cm)
{
	DOFI_LIST_FOR(node, &cm->strangers)
	{
		struct dofi_chan *chan = DOFI_CONTAINER(node, struct dofi_chan, link);

		if (chan->step == DOFI_STEP_HELLO)
			return chan;
	}
	return DOFI_CONTAINER(cm->strangers.next, struct dofi_chan, link);
}

bool dofi_chan_evict(struct dofi_ia *ia)
{
	struct dofi_cm *cm = &ia->cm;

	dofi_assert_held(&ia->engine.lock);
	if (!cm->nstrangers)
		return false;
	dofi_chan_close(least_welcome(cm), 0, false);
	return true;
}

static void note_source(struct dofi_chan *chan)
{
	struct sockaddr_storage addr;
	socklen_t size = sizeof(addr);

	if (getpeername(chan->fd.fd, (struct sockaddr *)&addr, &size) ||
	    !dofi_addr_set(&chan->source, (const struct sockaddr *)&addr, 0))
		chan->source.ss_family = AF_UNSPEC;
}

bool dofi_chan_adopt(struct dofi_ia *ia, int fd)
{
	struct dofi_cm *cm = &ia->cm;
	struct dofi_chan *chan = chan_new(ia, fd, DOFI_CHAN_GREETING);

	dofi_assert_held(&ia->engine.lock);
	if (!chan || dofi_engine_watch(ia, &chan->fd, EPOLLIN)) {
		free(chan);
		return false;
	}
	if (cm->nstrangers >= cm->max_strangers)
		dofi_chan_evict(ia);
	chan->accepted = true;
	note_source(chan);
	dofi_handshake_begin(chan);
	cm->nstrangers++;
	dofi_list_add_tail(&cm->strangers, &chan->link);
	dofi_timer_set(ia, &chan->timer, dofi_now() + ia->params.handshake_ms * 1000000u);
	set_options(chan);
	/* A friend's HELLO is here already, mostly: then no crowd of strangers can push it out. */
	chan_ready(&chan->fd, EPOLLIN);
	return true;
}

/* --- receiving --- */

/* A peer that often was silent too long stays mute, although it has answered in the end. */
#define MAX_SILENCES 8

static void on_done(struct dofi_chan *chan, uint64_t number)
{
	if (number <= chan->done || number > chan->asked)
		return;
	chan->done = number;
	if (number == chan->asked && chan->silences < MAX_SILENCES)
		chan->mute = false;
	send_wakeup(chan->ia);
}

static void on_garbage(struct dofi_chan *chan)
{
	char text[DOFI_ADDR_TEXT];

	DOFI_LOG_I("%s: closing the control channel with %s: what it sends is no message of ours",
		   chan->ia->name, dofi_chan_peer_text(chan, text));
	dofi_chan_close(chan, -EPROTO, false);
}

static void answer_invalidate(struct dofi_chan *chan)
{
	const struct dofi_msg done = {.type = DOFI_MSG_DONE, .number = chan->answer_number};

	if (dofi_conn_uses_forgotten(chan))
		dofi_stall(chan->ia, &chan->answer);
	else
		dofi_chan_send(chan, &done);
}

static void answer_again(struct dofi_stall *stall)
{
	stall->waits = false;
	answer_invalidate(DOFI_CONTAINER(stall, struct dofi_chan, answer));
}

static void on_message(struct dofi_chan *chan, const uint8_t *body, size_t size)
{
	struct dofi_msg msg;

	if (!dofi_wire_get_msg(body, size, &msg)) {
		on_garbage(chan);
		return;
	}
	switch (msg.type) {
	case DOFI_MSG_INVALIDATE:
		dofi_conn_forget_context(chan, msg.context);
		chan->answer_number = msg.number;
		if (!chan->answer.waits)
			answer_invalidate(chan);
		break;
	case DOFI_MSG_DONE:
		on_done(chan, msg.number);
		break;
	case DOFI_MSG_GOODBYE:
		if (chan->ia->trans->peer_closed)
			chan->ia->trans->peer_closed(chan->ia, &chan->peer);
		dofi_chan_close(chan, -ECONNRESET, true);
		break;
	default:
		dofi_conn_message(chan, &msg);
	}
}

static void on_sealed(struct dofi_chan *chan, const uint8_t *frame, size_t size)
{
	size_t body;

	if (dofi_wire_open(frame, size, &chan->session, &body)) {
		on_message(chan, frame + DOFI_WIRE_LENGTH, body);
		return;
	}
	DOFI_COUNT_SHARED(chan->ia, IA_CM_BAD_SEAL);
	on_garbage(chan);
}

static void take_frames(struct dofi_chan *chan)
{
	uint32_t at = 0;
	size_t size;

	for (;;) {
		if (!dofi_wire_frame(chan->rx + at, chan->rx_fill - at, &size)) {
			on_garbage(chan);
			return;
		}
		if (!size)
			break;
		if (chan->state == DOFI_CHAN_GREETING)
			dofi_handshake_frame(chan, chan->rx + at, size);
		else
			on_sealed(chan, chan->rx + at, size);
		if (chan->state == DOFI_CHAN_DEAD)
			return;
		at += (uint32_t)size;
	}
	chan->rx_fill -= at;
	memmove(chan->rx, chan->rx + at, chan->rx_fill);
}

/* A peer that hangs up unheard was overloaded, or its listener went away under us: ask again. */
static void on_end(struct dofi_chan *chan, int err)
{
	char text[DOFI_ADDR_TEXT];
	int ret;

	if (chan->state != DOFI_CHAN_GREETING || chan->accepted || chan->tries >= MAX_DIALS) {
		if (chan->state == DOFI_CHAN_GREETING && !chan->accepted &&
		    chan->step != DOFI_STEP_HELLO)
			DOFI_LOG_W("%s: no control channel to %s: it hung up during the handshake; "
				   "its log may say why",
				   chan->ia->name, dofi_chan_peer_text(chan, text));
		dofi_chan_close(chan, err, false);
		return;
	}
	close_socket(chan);
	dofi_timer_cancel(chan->ia, &chan->timer);
	ret = start_dial(chan);
	if (ret)
		dofi_chan_close(chan, ret, false);
}

/* False when the socket is empty, or the channel is not what it was. */
static bool read_some(struct dofi_chan *chan)
{
	ssize_t n = recv(chan->fd.fd, chan->rx + chan->rx_fill, sizeof(chan->rx) - chan->rx_fill,
			 MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (n <= 0) {
		on_end(chan, n ? -errno : -ECONNRESET);
		return false;
	}
	chan->rx_fill += (uint32_t)n;
	take_frames(chan);
	return chan->state != DOFI_CHAN_DEAD;
}

static void read_turn(struct dofi_chan *chan)
{
	for (int i = 0; i < READS_PER_TURN && read_some(chan); i++)
		;
}

static void chan_ready(struct dofi_fd *fd, uint32_t events)
{
	struct dofi_chan *chan = DOFI_CONTAINER(fd, struct dofi_chan, fd);

	if (chan->state == DOFI_CHAN_DEAD)
		return;
	if (chan->state == DOFI_CHAN_DIALING) {
		dial_done(chan);
		return;
	}
	if (events & EPOLLOUT)
		flush(chan);
	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		read_turn(chan);
}

static void chan_timer(struct dofi_timer *timer)
{
	struct dofi_chan *chan = DOFI_CONTAINER(timer, struct dofi_chan, timer);
	char text[DOFI_ADDR_TEXT];

	if (chan->state == DOFI_CHAN_GREETING) {
		if (!chan->accepted)
			DOFI_LOG_W("%s: no control channel to %s: it took the connection but did "
				   "not complete the handshake within %u ms",
				   chan->ia->name, dofi_chan_peer_text(chan, text),
				   (unsigned int)chan->ia->params.handshake_ms);
		dofi_chan_close(chan, -EPROTO, false);
	} else if (chan->asked != chan->done) {
		wait_for_use(chan);
	} else if (chan_unused(chan)) {
		dofi_chan_close(chan, 0, true);
	}
}

static void chan_work(struct dofi_work *work)
{
	struct dofi_chan *chan = DOFI_CONTAINER(work, struct dofi_chan, work);

	if (chan->state == DOFI_CHAN_DEAD) {
		bury(chan);
		return;
	}
	if (chan->send_err) {
		/* The peer's last words may lie in the socket still. */
		read_turn(chan);
		if (chan->state != DOFI_CHAN_DEAD && chan->send_err)
			on_end(chan, chan->send_err);
		return;
	}
	announce(chan);
}
