/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/channel.h"

#include "auth/crypto.h"
#include "base/addr.h"
#include "cm/channel_dial.h"
#include "cm/channel_send.h"
#include "cm/conn.h"
#include "cm/conn_message.h"
#include "cm/connect.h"
#include "cm/crowd.h"
#include "cm/disconnect.h"
#include "cm/drain.h"
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
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND_NS        1000000000ull
/* The dialling side closes an unused channel; the accepting side does so later. */
#define IDLE_NS          (5 * SECOND_NS)
#define ACCEPTED_IDLE_NS (60 * SECOND_NS)
#define READS_PER_TURN   16
#define MAX_OVERDUE      5u /* times that the handshake's limit is over */
#define MAX_DIALS        9u /* of one channel, when an overloaded peer hangs up */

_Static_assert(DOFI_MAX_PRIVATE <= DOFI_WIRE_MAX_PRIVATE, "private data fits a message");

static void chan_ready(struct dofi_fd *fd, uint32_t events);
static void chan_timer(struct dofi_timer *timer);
static void chan_work(struct dofi_work *work);
static void answer_again(struct dofi_stall *stall);
static void read_turn(struct dofi_chan *chan);

/* --- life --- */

struct dofi_chan *dofi_chan_new(struct dofi_ia *ia, int fd, enum dofi_chan_state state)
{
	struct dofi_chan *chan = calloc(1, sizeof(*chan));

	dofi_assert_held(&ia->engine.lock);
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
	if (chan->accepted && chan->state == DOFI_CHAN_HANDSHAKE)
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

struct dofi_conn *dofi_chan_pop(struct dofi_list *list)
{
	struct dofi_list *node = dofi_list_pop(list);

	return node ? DOFI_CONTAINER(node, struct dofi_conn, link) : NULL;
}

/*
 * The channel was up when the connection joined it, and was lost before the request was sent: dials
 * a new one.
 */
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

	while ((conn = dofi_chan_pop(&chan->waiting))) {
		conn->chan = NULL;
		if (chan->was_up)
			dial_again(conn);
		else
			dofi_conn_dial_failed(conn, chan->err);
	}
	while ((conn = dofi_chan_pop(&chan->conns))) {
		conn->chan = NULL;
		dofi_conn_chan_lost(conn, chan->orderly);
	}
	dofi_drain_chan_lost(chan->ia, chan);
	dofi_list_del(&chan->link);
	free(chan->tx);
	dofi_wipe(&chan->session, sizeof(chan->session));
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
	       (conn = dofi_chan_pop(&chan->waiting))) {
		dofi_list_add_tail(&chan->conns, &conn->link);
		dofi_conn_chan_up(conn);
	}
}

/* --- greeting --- */

/*
 * The address of the socket counts, not the one that the peer names. But a peer on this host may
 * have used another address of the host than that of its IA.
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

void dofi_chan_handshake_done(struct dofi_chan *chan)
{
	struct dofi_cm *cm = &chan->ia->cm;

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
	} else if (chan->asks || !dofi_chan_merge(chan)) {
		announce(chan);
	}
}

static struct dofi_chan *stranger_at(struct dofi_list *node)
{
	return DOFI_CONTAINER(node, struct dofi_chan, link);
}

/*
 * The oldest stranger that has sent nothing, else the oldest of all. If this process had no
 * processor for a while, the HELLO of a friend may lie in the socket, so that is read first. What
 * it finds there may close the channel, too.
 */
static struct dofi_chan *least_welcome(struct dofi_cm *cm)
{
	struct dofi_list *node, *next;

	for (node = cm->strangers.next; node != &cm->strangers; node = next) {
		struct dofi_chan *chan = stranger_at(node);

		next = node->next;
		if (chan->step != DOFI_STEP_HELLO)
			continue;
		read_turn(chan);
		if (chan->state == DOFI_CHAN_DEAD || chan->step == DOFI_STEP_HELLO)
			return chan;
	}
	return dofi_list_empty(&cm->strangers) ? NULL : stranger_at(cm->strangers.next);
}

bool dofi_chan_evict(struct dofi_ia *ia)
{
	struct dofi_chan *chan;

	dofi_assert_held(&ia->engine.lock);
	chan = least_welcome(&ia->cm);
	if (!chan)
		return false;
	if (chan->state != DOFI_CHAN_DEAD) {
		dofi_crowd_evicts(chan);
		dofi_chan_close(chan, 0, false);
	}
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
	struct dofi_chan *chan = dofi_chan_new(ia, fd, DOFI_CHAN_HANDSHAKE);

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
	dofi_chan_set_options(chan);
	/*
	 * Mostly the HELLO is here already. Reading it now keeps later strangers from evicting this
	 * channel.
	 */
	chan_ready(&chan->fd, EPOLLIN);
	return true;
}

/* --- receiving --- */

/* A peer that was silent too long this many times stays mute, even if it answers. */
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
			chan->ia->trans->peer_closed(chan->ia, chan);
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
		if (chan->state == DOFI_CHAN_HANDSHAKE)
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

static bool may_dial_again(const struct dofi_chan *chan)
{
	return chan->state == DOFI_CHAN_HANDSHAKE && !chan->accepted && chan->tries < MAX_DIALS;
}

/*
 * If a peer hangs up during the handshake, it was overloaded, or its listener was closed meanwhile:
 * dials again after a pause.
 */
static void on_end(struct dofi_chan *chan, int err)
{
	char text[DOFI_ADDR_TEXT];

	if (may_dial_again(chan)) {
		close_socket(chan);
		dofi_chan_dial_later(chan);
		return;
	}
	if (chan->state == DOFI_CHAN_HANDSHAKE && !chan->accepted && chan->step != DOFI_STEP_HELLO)
		DOFI_LOG_W("%s: no control channel to %s: it hung up during the handshake; "
			   "its log may say why",
			   chan->ia->name, dofi_chan_peer_text(chan, text));
	dofi_chan_close(chan, err, false);
}

static void dial_after_pause(struct dofi_chan *chan)
{
	int ret = dofi_chan_start_dial(chan);

	if (ret)
		dofi_chan_close(chan, ret, false);
}

/*
 * False when the socket is empty, or the channel has changed. A read that did not fill the buffer
 * has emptied the socket; later data make the socket readable again.
 */
static bool read_some(struct dofi_chan *chan)
{
	size_t room = sizeof(chan->rx) - chan->rx_fill;
	ssize_t n = recv(chan->fd.fd, chan->rx + chan->rx_fill, room, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (n <= 0) {
		on_end(chan, n ? -errno : -ECONNRESET);
		return false;
	}
	chan->rx_fill += (uint32_t)n;
	take_frames(chan);
	return (size_t)n == room && chan->state != DOFI_CHAN_DEAD;
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
		dofi_chan_dial_done(chan);
		return;
	}
	if (events & EPOLLOUT)
		dofi_chan_write(chan);
	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		read_turn(chan);
}

void dofi_chan_read(struct dofi_chan *chan)
{
	dofi_assert_held(&chan->ia->engine.lock);
	if (chan->state == DOFI_CHAN_UP)
		read_turn(chan);
}

/*
 * Whether the handshake continues although its time is over. Data may lie in the socket if this
 * process had no processor meanwhile. If other dialled peers have answered recently, an overloaded
 * host may not have come to this one yet.
 */
static bool goes_on(struct dofi_chan *chan)
{
	uint64_t limit = chan->ia->params.handshake_ms * 1000000u, until = dofi_now() + limit;
	enum dofi_handshake_step step = chan->step;

	read_turn(chan);
	if (chan->state != DOFI_CHAN_HANDSHAKE)
		return true;
	if (chan->step == step) {
		if (chan->accepted || ++chan->overdue >= MAX_OVERDUE)
			return false;
		until = chan->ia->cm.last_answer + limit;
	}
	if (until <= dofi_now())
		return false;
	dofi_timer_set(chan->ia, &chan->timer, until);
	return true;
}

static void give_up(struct dofi_chan *chan)
{
	char text[DOFI_ADDR_TEXT];

	if (!chan->accepted)
		DOFI_LOG_W("%s: no control channel to %s: it took the connection but did not "
			   "complete the handshake within %u ms",
			   chan->ia->name, dofi_chan_peer_text(chan, text),
			   (unsigned int)chan->ia->params.handshake_ms);
	else
		DOFI_COUNT_SHARED(chan->ia, IA_CM_STRANGERS);
	dofi_chan_close(chan, -EPROTO, false);
}

static void chan_timer(struct dofi_timer *timer)
{
	struct dofi_chan *chan = DOFI_CONTAINER(timer, struct dofi_chan, timer);

	if (chan->state == DOFI_CHAN_HANDSHAKE) {
		if (!goes_on(chan))
			give_up(chan);
	} else if (chan->state == DOFI_CHAN_DIALING) {
		dial_after_pause(chan);
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
		/* The last messages of the peer may still lie in the socket. */
		read_turn(chan);
		if (chan->state != DOFI_CHAN_DEAD && chan->send_err)
			on_end(chan, chan->send_err);
		return;
	}
	announce(chan);
}
