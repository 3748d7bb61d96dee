/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/channel.h"

#include "auth/crypto.h"
#include "base/addr.h"
#include "base/clock.h"
#include "base/log.h"
#include "cm/channel_dial.h"
#include "cm/channel_find.h"
#include "cm/channel_read.h"
#include "cm/channel_send.h"
#include "cm/conn.h"
#include "cm/connect.h"
#include "cm/crowd.h"
#include "cm/disconnect.h"
#include "cm/drain.h"
#include "cm/service_point.h"
#include "fabric/netdev.h"
#include "object/ia.h"
#include "object/transport.h"
#include "progress/engine_fds.h"
#include "progress/stall.h"
#include "progress/timer.h"
#include "progress/wait.h"
#include "progress/work.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND_NS        1000000000ull
/* The dialling side closes an unused channel; the accepting side does so later. */
#define IDLE_NS          (5 * SECOND_NS)
#define ACCEPTED_IDLE_NS (60 * SECOND_NS)
#define MAX_OVERDUE      5u /* times that the handshake's limit is over */
#define MAX_DIALS        9u /* of one channel, when an overloaded peer hangs up */

_Static_assert(DOFI_MAX_PRIVATE <= DOFI_WIRE_MAX_PRIVATE, "private data fits a message");

static void chan_ready(struct dofi_fd *fd, uint32_t events);
static void chan_timer(struct dofi_timer *timer);
static void chan_work(struct dofi_work *work);
static void send_queued(struct dofi_work *work);

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
	chan->sending.run = send_queued;
	chan->answer.retry = dofi_chan_answer_again;
	dofi_list_init(&chan->link);
	dofi_list_init(&chan->sending.link);
	dofi_list_init(&chan->waiting);
	dofi_list_init(&chan->conns);
	dofi_list_init(&chan->host_link);
	dofi_list_init(&chan->peer_link);
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

void dofi_chan_wake_askers(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->engine.lock);
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
	dofi_chan_flush(chan);
	dofi_list_del(&chan->sending.link);
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
	dofi_chan_forget_names(chan);
	dofi_list_del(&chan->link);
	dofi_list_add_tail(&cm->dead, &chan->link);
	dofi_work_defer(chan->ia, &chan->work);
	if (chan->asked != chan->done)
		dofi_chan_wake_askers(chan->ia);
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
	struct sockaddr_storage addr = chan->names[0].addr;
	socklen_t size = sizeof(addr);

	/* An accepted channel has no name: without the other end its address stays unknown. */
	if (chan->accepted)
		getpeername(chan->fd.fd, (struct sockaddr *)&addr, &size);
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

/*
 * The address of the socket counts, not the one that the peer names. But a peer on this host may
 * have used another address of the host than that of its IA.
 */
static void set_remote(struct dofi_chan *chan)
{
	const struct sockaddr_storage *socket =
		chan->accepted ? &chan->source : &chan->names[0].addr;
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
		return;
	}
	dofi_chan_make_known(chan);
	if (chan->asks || !dofi_chan_merge(chan))
		announce(chan);
}

static bool may_dial_again(const struct dofi_chan *chan)
{
	return chan->state == DOFI_CHAN_HANDSHAKE && !chan->accepted && chan->tries < MAX_DIALS;
}

/*
 * If a peer hangs up during the handshake, it was overloaded, or its listener was closed meanwhile:
 * dials again after a pause.
 */
void dofi_chan_hung_up(struct dofi_chan *chan, int err)
{
	char text[DOFI_ADDR_TEXT];

	dofi_assert_held(&chan->ia->engine.lock);
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
		dofi_chan_read_turn(chan);
}

/*
 * Whether the handshake continues although its time is over. Data may lie in the socket if this
 * process had no processor meanwhile. If other dialled peers have answered recently, or this host
 * is overloaded, the peer may not have come to this dial yet.
 */
static bool goes_on(struct dofi_chan *chan)
{
	uint64_t limit = chan->ia->params.handshake_ms * 1000000u, until = dofi_now() + limit;
	enum dofi_handshake_step step = chan->step;

	dofi_chan_read_turn(chan);
	if (chan->state != DOFI_CHAN_HANDSHAKE)
		return true;
	if (chan->step == step) {
		if (chan->accepted || ++chan->overdue >= MAX_OVERDUE)
			return false;
		if (!dofi_run_delay_is_high(&chan->delay))
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
		dofi_chan_read_turn(chan);
		if (chan->state != DOFI_CHAN_DEAD && chan->send_err)
			dofi_chan_hung_up(chan, chan->send_err);
		return;
	}
	announce(chan);
}

static void send_queued(struct dofi_work *work)
{
	dofi_chan_flush(DOFI_CONTAINER(work, struct dofi_chan, sending));
}
