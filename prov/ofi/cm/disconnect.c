/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/disconnect.h"

#include "cm/conn.h"
#include "cm/conn_event.h"
#include "cm/conn_message.h"
#include "object/ia.h"
#include "cm/conn_state.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "object/srq_count.h"
#include "base/clock.h"
#include "progress/timer.h"
#include "dto/issue.h"

/*
 * How long the end of the data path and the peer's BYE on the control channel wait for each other.
 * If the network loses packets, or the host is overloaded, the later one may take seconds. So the
 * wait goes on after LAST_WORD_NS. Then the peer is asked by COUNT: its answer comes behind its
 * BYE.
 */
#define LAST_WORD_NS 1000000000u
#define RESENT_NS    4000000000u

/* --- graceful disconnect --- */

static void send_disconnect(struct dofi_conn *conn, const struct dofi_ep *ep)
{
	struct dofi_msg msg = {.type = DOFI_MSG_DISCONNECT, .data = ep->nreceived};

	conn->said_no_recv = !ep->srq && dofi_ring_count(&ep->recv) == 0;
	if (conn->said_no_recv)
		msg.flags = DOFI_MSG_F_NO_RECV;
	dofi_conn_send(conn, &msg);
}

/*
 * Both ends disconnect, and the peer has no receive for a message of ours: waiting would not end
 * (EPS-085).
 */
static bool stuck(const struct dofi_conn *conn, const struct dofi_ep *ep)
{
	return conn->peer_no_recv && (ep->nsent != conn->peer_received || dofi_ep_starves(ep));
}

/* Whether the fabric or the peer still has something to do for requests of the EP. */
static bool is_busy(const struct dofi_ep *ep)
{
	return dofi_ring_count(&ep->req) || ep->peeking || ep->answers_due;
}

/* BYE follows at once then, and says all that DISCONNECT would say. */
static bool is_drained(const struct dofi_ep *ep)
{
	return !is_busy(ep) && !ep->dirty;
}

/* If a request has failed, the next round of the engine breaks the connection instead. */
void dofi_conn_drained(struct dofi_ep *ep)
{
	struct dofi_conn *conn = ep->conn;

	dofi_assert_held(&ep->lock);
	if (!conn || dofi_conn_is_ending(conn) || dofi_conn_stage(conn) != DOFI_STAGE_UP ||
	    ep->faulty)
		return;
	if (is_drained(ep)) {
		dofi_conn_handle(conn, DOFI_ON_DRAINED, NULL);
		return;
	}
	if (!conn->said_no_recv && !ep->srq && dofi_ring_count(&ep->recv) == 0)
		send_disconnect(conn, ep);
	if (stuck(conn, ep))
		dofi_conn_handle(conn, DOFI_ON_DRAINED, NULL);
	else if (!is_busy(ep) && dofi_ep_sync(ep))
		ep->dirty = false;
}

void dofi_conn_disconnect(struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	dofi_conn_handle(conn, DOFI_ON_DRAIN, NULL);
}

void dofi_act_drain(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	struct dofi_ep *ep = conn->ep;

	(void)msg;
	dofi_lock(&ep->lock);
	dofi_ep_enter_state(ep, DAT_EP_STATE_DISCONNECT_PENDING);
	dofi_conn_watch(conn);
	if (!is_drained(ep))
		send_disconnect(conn, ep);
	dofi_conn_drained(ep);
	dofi_unlock(&ep->lock);
}

void dofi_act_peer_disconnects(struct dofi_conn *conn, const struct dofi_msg *disconnect)
{
	struct dofi_ep *ep = conn->ep;

	conn->peer_no_recv = disconnect->flags & DOFI_MSG_F_NO_RECV;
	conn->peer_received = disconnect->data;
	dofi_lock(&ep->lock);
	if (ep->state == DAT_EP_STATE_DISCONNECT_PENDING)
		dofi_conn_drained(ep);
	dofi_unlock(&ep->lock);
}

/* --- the peer's BYE and the messages before it --- */

/*
 * Whether a missing message of this peer may be a truncated one: the answers of the other peers
 * will show it.
 */
static bool may_be_to_blame(const struct dofi_ep *ep, uint32_t sent)
{
	dofi_assert_held(&ep->lock);
	return ep->srq && ep->srq->truncated && ep->nreceived != sent;
}

bool dofi_conn_data_may_follow(struct dofi_conn *conn, uint32_t sent)
{
	struct dofi_ep *ep = conn->ep;
	bool yes;

	dofi_assert_held(&conn->ia->engine.lock);
	if (dofi_conn_stage(conn) != DOFI_STAGE_UP || conn->ud)
		return false;
	dofi_lock(&ep->lock);
	yes = (ep->path_up && ep->nreceived != sent && (ep->srq || dofi_ring_count(&ep->recv))) ||
	      may_be_to_blame(ep, sent);
	ep->ending_soon = yes;
	ep->last_message = sent;
	dofi_unlock(&ep->lock);
	return yes;
}

static void wait_a_while(struct dofi_conn *conn)
{
	conn->prolonged = false;
	dofi_timer_set(conn->ia, &conn->timer, dofi_now() + LAST_WORD_NS);
}

static bool awaits_bye(const struct dofi_conn *conn)
{
	return conn->state == DOFI_CONN_GOODBYE_PENDING || conn->state == DOFI_CONN_PATH_LOST;
}

/* Without a channel the peer is dead. */
void dofi_act_wait_longer(struct dofi_conn *conn, const struct dofi_msg *unused)
{
	struct dofi_msg ask = {.type = DOFI_MSG_COUNT, .number = conn->count_asked};

	(void)unused;
	if (!conn->chan || conn->prolonged) {
		dofi_conn_handle(conn, DOFI_ON_OVERDUE, NULL);
		return;
	}
	conn->prolonged = true;
	if (awaits_bye(conn))
		dofi_conn_send(conn, &ask);
	dofi_timer_set(conn->ia, &conn->timer, dofi_now() + RESENT_NS);
}

void dofi_conn_counted(struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	if (conn->prolonged && awaits_bye(conn))
		dofi_conn_handle(conn, DOFI_ON_OVERDUE, NULL);
}

void dofi_act_await_data(struct dofi_conn *conn, const struct dofi_msg *bye)
{
	conn->bye = bye->reason;
	dofi_conn_watch(conn);
	wait_a_while(conn);
}

void dofi_conn_last_message(struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	dofi_conn_handle(conn, DOFI_ON_LAST_MESSAGE, NULL);
}

static void close_path(struct dofi_conn *conn)
{
	dofi_lock(&conn->ep->lock);
	conn->ep->path_up = false;
	dofi_unlock(&conn->ep->lock);
	conn->lingers = false;
}

/* The peer's BYE will tell whether the connection was disconnected or broken. */
void dofi_act_await_goodbye(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	close_path(conn);
	wait_a_while(conn);
}

/*
 * The path has ended, too, so no message comes any more; but a truncated message may be the missing
 * one.
 */
void dofi_act_await_culprit(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	bool wait;

	(void)msg;
	close_path(conn);
	dofi_lock(&conn->ep->lock);
	wait = may_be_to_blame(conn->ep, conn->peer_sent);
	dofi_unlock(&conn->ep->lock);
	if (wait)
		wait_a_while(conn);
	else
		dofi_conn_handle(conn, DOFI_ON_LAST_MESSAGE, NULL);
}

/* --- the channel --- */

void dofi_conn_chan_lost(struct dofi_conn *conn, bool orderly)
{
	dofi_assert_held(&conn->ia->engine.lock);
	dofi_conn_handle(conn, orderly ? DOFI_ON_CHAN_CLOSED : DOFI_ON_CHAN_LOST, NULL);
}
