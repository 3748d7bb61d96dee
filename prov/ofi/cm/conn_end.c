/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/conn_end.h"

#include "base/addr.h"
#include "base/log.h"
#include "cm/conn.h"
#include "cm/conn_event.h"
#include "cm/conn_message.h"
#include "cm/invalidation.h"
#include "cm/linger.h"
#include "cm/truncated.h"
#include "dto/ud.h"
#include "progress/evd.h"
#include "object/ia.h"
#include "object/transport.h"
#include "cm/channel.h"
#include "cm/channel_send.h"
#include "cm/conn_state.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "base/clock.h"
#include "progress/timer.h"
#include "progress/work.h"
#include "progress/engine.h"
#include "cm/ud_ah.h"
#include "dto/release.h"

#include <string.h>

/*
 * When a connection ends, the fabric finishes the operations that it is in the middle of. The event
 * waits for them (linger_ms at most), because from then on the memory belongs to the consumer.
 * Mostly there are only some cancelled receives, and the first look finds nothing left.
 */
#define FIRST_LOOK_NS   50000u
#define LONGEST_LOOK_NS 100000000u
#define ABRUPT_WAIT_NS  50000000u

static uint64_t linger_ns(const struct dofi_ia *ia)
{
	return ia->params.linger_ms * 1000000u;
}

/* --- the end is decided --- */

static void set_outcome(struct dofi_conn *conn, uint32_t event, enum dofi_reason tell_peer)
{
	conn->end_event = event;
	conn->end_status = DAT_DTO_ERR_FLUSHED;
	conn->end_reason = tell_peer;
}

void dofi_act_end(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	dofi_work_defer(conn->ia, &conn->work);
}

void dofi_conn_end(struct dofi_conn *conn, uint32_t event, enum dofi_reason tell_peer)
{
	dofi_assert_held(&conn->ia->engine.lock);
	if (dofi_conn_is_ending(conn))
		return;
	set_outcome(conn, event, tell_peer);
	dofi_conn_handle(conn, DOFI_ON_END, NULL);
}

/* The same for ends by the table, which has entered the state already. */
static void decide(struct dofi_conn *conn, uint32_t event, enum dofi_reason tell_peer)
{
	set_outcome(conn, event, tell_peer);
	dofi_act_end(conn, NULL);
}

void dofi_act_end_refused(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	decide(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, DOFI_REASON_NONE);
}

void dofi_act_end_rejected(struct dofi_conn *conn, const struct dofi_msg *reject)
{
	dofi_conn_set_private(conn, reject->private_data, reject->private_size);
	conn->end_private = conn->private_size;
	/* A UD EP may have several rejections queued. */
	if (conn->end_private && !conn->ud)
		memcpy(conn->ep->private_data, conn->private_data, conn->end_private);
	decide(conn, DAT_CONNECTION_EVENT_PEER_REJECTED, DOFI_REASON_NONE);
}

void dofi_act_end_unreachable(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	decide(conn, DAT_CONNECTION_EVENT_UNREACHABLE, DOFI_REASON_NONE);
}

/* What did not happen in the time that the program gave to dat_ep_connect. */
static const char *missing(const struct dofi_conn *conn)
{
	if (conn->ended_in == DOFI_CONN_CONNECTING)
		return "the peer has accepted, but the data path did not come up";
	return conn->asked_once ? "the peer has not answered the request"
				: "no answer; is the host up, and does its firewall let this port "
				  "through?";
}

void dofi_act_end_timed_out(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	struct dofi_ia *ia = conn->ia;
	char text[DOFI_ADDR_TEXT];

	(void)msg;
	DOFI_LOG_LIMITED(&ia->cm.refusals, DOFI_LOG_INFO, ia->name,
			 "%s: the time to connect to %s is over: %s", ia->name,
			 dofi_conn_port_text(conn, conn->candidate, text), missing(conn));
	DOFI_COUNT_SHARED(conn->ia, IA_CM_ERR_TIMEOUT);
	decide(conn, DAT_CONNECTION_EVENT_TIMED_OUT, DOFI_REASON_DISCONNECT);
}

void dofi_act_end_unaccepted(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	decide(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, DOFI_REASON_NONE);
}

/* BYE tells the peer, which may be established; not every fabric tells it that the path is lost. */
void dofi_act_end_lost(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	decide(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, DOFI_REASON_ERROR);
}

void dofi_act_end_overdue(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	struct dofi_ia *ia = conn->ia;
	char text[DOFI_ADDR_TEXT];

	DOFI_LOG_LIMITED(&ia->cm.refusals, DOFI_LOG_WARN, ia->name,
			 "%s: giving up a connection from %s that was accepted: its data path did "
			 "not come up in time; the peer's log may say why, a firewall may drop "
			 "what goes to libfabric's own port, and a slow peer needs a greater "
			 "handshake_ms",
			 ia->name, dofi_addr_text(&conn->remote, text));
	dofi_act_end_lost(conn, msg);
}

void dofi_act_end_drained(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	decide(conn, DAT_CONNECTION_EVENT_DISCONNECTED, DOFI_REASON_DISCONNECT);
}

void dofi_act_end_disconnected(struct dofi_conn *conn, const struct dofi_msg *bye)
{
	(void)bye;
	decide(conn, DAT_CONNECTION_EVENT_DISCONNECTED, DOFI_REASON_NONE);
}

void dofi_act_end_broken(struct dofi_conn *conn, const struct dofi_msg *bye)
{
	(void)bye;
	decide(conn, DAT_CONNECTION_EVENT_BROKEN, DOFI_REASON_ERROR);
	conn->end_status = DAT_DTO_ERR_TRANSPORT;
}

/* Ends as the peer's BYE said, after the wait for its messages. */
void dofi_act_end_by_bye(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	if (conn->bye == DOFI_REASON_DISCONNECT)
		dofi_act_end_disconnected(conn, msg);
	else
		dofi_act_end_broken(conn, msg);
}

/* --- informing the peer --- */

static void say(struct dofi_conn *conn, enum dofi_msg_type type, enum dofi_reason reason,
		uint32_t sent)
{
	struct dofi_msg msg = {.type = (uint8_t)type, .reason = (uint8_t)reason, .data = sent};

	dofi_conn_send(conn, &msg);
}

static void send_last_message(struct dofi_conn *conn)
{
	enum dofi_conn_stage stage = dofi_conn_stage_of(conn->ended_in);
	enum dofi_reason reason = conn->end_reason;

	/*
	 * Where messages can outlive the connection, the peer wants to know how many there were in
	 * any case, also if it has ended the connection while it was made.
	 */
	if (reason == DOFI_REASON_NONE && conn->ia->trans->settle && stage == DOFI_STAGE_UP)
		reason = DOFI_REASON_DISCONNECT;
	else if (reason == DOFI_REASON_NONE && conn->ia->trans->settle &&
		 stage == DOFI_STAGE_LINKING)
		reason = DOFI_REASON_ERROR;
	if (reason == DOFI_REASON_NONE)
		return;
	if (stage == DOFI_STAGE_ASKING && conn->asked)
		say(conn, DOFI_MSG_CANCEL, reason, 0);
	else if (stage == DOFI_STAGE_LINKING || stage == DOFI_STAGE_UP)
		say(conn, DOFI_MSG_BYE, reason, dofi_conn_sent(conn));
}

/*
 * Sends BYE before the path closes. On a busy host this process may run again much later, and a
 * peer that has lost the path waits only a second for the reason.
 */
void dofi_act_send_bye(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	send_last_message(conn);
}

void dofi_act_stop_lingering(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	conn->lingers = false;
}

/* --- informing the consumer --- */

/*
 * The IA of the connect EVD may have been closed since the EP began to connect. Then the consumer
 * still learns of the end.
 */
void dofi_conn_raise(struct dofi_ep *ep, uint32_t number, uint32_t private_size)
{
	struct dofi_event event = {
		.number = number,
		.handle = ep,
		.conn = {.private_data = ep->private_data, .private_size = private_size},
	};

	dofi_assert_held(&ep->obj.ia->engine.lock);
	if (ep->conn_evd)
		dofi_evd_push(ep->conn_evd, &event, true);
	else if (number != DAT_CONNECTION_EVENT_ESTABLISHED)
		dofi_evd_async(ep->obj.ia, DAT_ASYNC_ERROR_EP_BROKEN, ep, 0);
}

/*
 * InfiniBand devices report when a queue pair of an SRQ has ended and taken its last buffer, and
 * OFED's DAT raises this event then. An EP without connect EVD gets the same event for its end
 * already.
 */
static void raise_last_receive(const struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;

	if (ep->srq && ep->conn_evd && dofi_conn_stage_of(conn->ended_in) == DOFI_STAGE_UP &&
	    conn->end_event && conn->ia->tells_last_receive)
		dofi_evd_async(conn->ia, DAT_ASYNC_ERROR_EP_BROKEN, ep, 0);
}

/*
 * Closes the data path, frees the EP and raises the event. Operations that the fabric still has
 * become orphans.
 */
void dofi_act_release(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	struct dofi_ep *ep = conn->ep;

	(void)msg;
	/* The peer hears the reason before the path closes. */
	if (conn->chan)
		dofi_chan_flush(conn->chan);
	conn->trans->disconnect(conn);
	dofi_conn_forget_bind(ep);
	dofi_lock(&ep->lock);
	ep->fep = NULL;
	ep->binding = false;
	ep->peeking = false;
	/*
	 * The failed request has its event with the error already, so the next one is only flushed.
	 */
	if (ep->faulty)
		conn->end_status = DAT_DTO_ERR_FLUSHED;
	ep->faulty = ep->refused = false;
	ep->conn = NULL;
	dofi_ep_enter_state(ep, DAT_EP_STATE_DISCONNECTED);
	dofi_release_flushed(ep, conn->end_status);
	dofi_unlock(&ep->lock);
	if (conn->end_event)
		dofi_conn_raise(ep, conn->end_event, conn->end_private);
	if (ep->srq)
		dofi_truncated_settle(ep->srq);
	raise_last_receive(conn);
	dofi_conn_free(conn);
}

/* Ends an attempt of a UD EP. The EP itself does not change. */
void dofi_act_end_attempt(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	conn->ia->trans->disconnect(conn);
	send_last_message(conn);
	dofi_ud_not_established(conn, conn->end_event, conn->end_private);
	dofi_conn_free(conn);
}

/* --- carrying out the end --- */

/* Posts must not reach an endpoint that is being closed. */
void dofi_act_shut(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	struct dofi_ep *ep = conn->ep;

	(void)msg;
	dofi_lock(&ep->lock);
	ep->path_up = false;
	dofi_unlock(&ep->lock);
}

/*
 * Stops posts to the fabric. If the consumer ends the connection, lingers until the peer has all
 * earlier data.
 */
static void shut(struct dofi_conn *conn, bool lingers)
{
	/* First delivers what arrived before the end, while the EP still counts as connected. */
	if (dofi_conn_stage(conn) == DOFI_STAGE_UP)
		dofi_engine_drain_cq(conn->ia);
	if (lingers)
		dofi_linger_begin(conn);
	dofi_conn_handle(conn, DOFI_ON_CLOSE, NULL);
}

/* Whether the peer may not have received everything, or the fabric still has operations. */
static bool is_under_way(struct dofi_conn *conn)
{
	if (conn->state == DOFI_CONN_LINGERING) {
		if (dofi_linger(conn))
			return true;
		dofi_conn_handle(conn, DOFI_ON_TAKEN, NULL);
	}
	return conn->trans->cancel && conn->trans->cancel(conn);
}

static void complete_end(struct dofi_conn *conn)
{
	if (conn->state == DOFI_CONN_LINGERING)
		dofi_conn_handle(conn, DOFI_ON_TAKEN, NULL);
	dofi_conn_handle(conn, DOFI_ON_RELEASED, NULL);
}

/* Completes the end, or sets the timer to look again, at growing intervals. */
void dofi_act_check_end(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	uint64_t now = dofi_now(), limit, next, pause;

	(void)msg;
	if (!conn->over_since)
		conn->over_since = now;
	limit = conn->over_since + linger_ns(conn->ia);
	if (now >= limit || !is_under_way(conn)) {
		complete_end(conn);
		return;
	}
	pause = FIRST_LOOK_NS + (now - conn->over_since);
	next = now + (pause < LONGEST_LOOK_NS ? pause : LONGEST_LOOK_NS);
	dofi_timer_set(conn->ia, &conn->timer, next < limit ? next : limit);
}

/* All EPs of an IA that closes share one limit. */
uint64_t dofi_conn_linger_until(struct dofi_ia *ia)
{
	uint64_t limit = dofi_now() + linger_ns(ia);

	dofi_assert_held(&ia->engine.lock);
	if (dofi_obj_is(ia, DAT_HANDLE_TYPE_IA))
		return limit;
	if (!ia->cm.close_limit)
		ia->cm.close_limit = limit;
	return ia->cm.close_limit;
}

/* Waits within a call. If a wait for this peer was in vain once, the next EP does not wait. */
static bool is_taken_until(struct dofi_conn *conn, uint64_t limit, bool *in_vain_p)
{
	while (!*in_vain_p && is_under_way(conn)) {
		*in_vain_p = dofi_now() > limit;
		if (!*in_vain_p)
			dofi_linger_wait(conn->ia);
	}
	return !*in_vain_p;
}

static void complete_end_now(struct dofi_conn *conn)
{
	struct dofi_chan *chan = conn->chan;

	if (chan)
		is_taken_until(conn, dofi_conn_linger_until(conn->ia), &chan->silent);
	complete_end(conn);
}

/*
 * For an abrupt dat_ep_disconnect: waits only a short time. OFED's library waits in the call, too,
 * so programs reset the EP and read its events at once.
 */
static void complete_end_soon(struct dofi_conn *conn)
{
	struct dofi_chan *chan = conn->chan;

	if (chan && !chan->silent &&
	    is_taken_until(conn, dofi_now() + ABRUPT_WAIT_NS, &chan->tardy))
		complete_end(conn);
	else
		dofi_act_check_end(conn, NULL);
}

/* Begins to carry out the end, unless that was done. False: it is complete, as for datagrams. */
static bool begin_end(struct dofi_conn *conn, bool lingers)
{
	if (conn->ud) {
		dofi_conn_handle(conn, DOFI_ON_UD_CLOSE, NULL);
		return false; /* the connection may have been freed */
	}
	if (!dofi_conn_is_over(conn))
		shut(conn, lingers);
	return true;
}

void dofi_conn_run_end(struct dofi_work *work)
{
	struct dofi_conn *conn = DOFI_CONTAINER(work, struct dofi_conn, work);

	dofi_assert_held(&conn->ia->engine.lock);
	if (!dofi_conn_is_over(conn) && begin_end(conn, false))
		dofi_act_check_end(conn, NULL);
}

void dofi_conn_end_now(struct dofi_conn *conn, uint32_t event, enum dofi_reason tell_peer)
{
	/* a connection that is ending already need not linger */
	bool lingers = !dofi_conn_is_ending(conn);

	dofi_assert_held(&conn->ia->engine.lock);
	dofi_conn_end(conn, event, tell_peer);
	if (event && dofi_conn_is_over(conn))
		return;
	/* The EP is freed. Only an end by dat_ep_disconnect keeps its event, which was promised. */
	if (!event && conn->end_reason != DOFI_REASON_DISCONNECT)
		conn->end_event = 0;
	if (!begin_end(conn, lingers))
		return;
	if (event)
		complete_end_soon(conn);
	else
		complete_end_now(conn);
}
