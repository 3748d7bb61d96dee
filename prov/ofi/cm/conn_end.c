/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/conn_end.h"

#include "progress/evd.h"
#include "object/ia.h"
#include "cm/linger.h"
#include "cm/truncated.h"
#include "dto/srq.h"
#include "object/transport.h"
#include "dto/ud.h"
#include "cm/channel.h"
#include "cm/conn.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "progress/engine.h"

/*
 * What the fabric is in the middle of when a connection ends, it finishes: the event waits for it
 * (linger_ms), for then memory is the consumer's again. Mostly some cancelled receives are all
 * that is, and the first look finds nothing left.
 */
#define FIRST_LOOK_NS   50000u
#define LONGEST_LOOK_NS 100000000u

static uint64_t linger_ns(const struct dofi_ia *ia)
{
	return ia->params.linger_ms * 1000000u;
}

static void say(struct dofi_conn *conn, enum dofi_msg_type type, enum dofi_reason reason,
		uint32_t sent)
{
	struct dofi_msg msg = {.type = (uint8_t)type, .reason = (uint8_t)reason, .data = sent};

	dofi_conn_send(conn, &msg);
}

static void say_last_word(struct dofi_conn *conn, enum dofi_conn_phase phase,
			  enum dofi_reason reason)
{
	/*
	 * Where messages can outlive the connection, the peer wants to know how many there were in
	 * any case.
	 */
	if (reason == DOFI_REASON_NONE && conn->ia->trans->settle && phase == DOFI_CONN_UP)
		reason = DOFI_REASON_DISCONNECT;
	if (reason == DOFI_REASON_NONE)
		return;
	if (conn->active && phase == DOFI_CONN_REQUESTED)
		say(conn, DOFI_MSG_CANCEL, reason, 0);
	else if (phase == DOFI_CONN_LINKING || phase == DOFI_CONN_UP)
		say(conn, DOFI_MSG_BYE, reason, dofi_conn_sent(conn));
}

/* Nothing goes out any more. The consumer's own end lets the peer take what went before. */
static void shut(struct dofi_conn *conn, bool lingers)
{
	struct dofi_ep *ep = conn->ep;

	/*
	 * What arrived before the end is delivered first, while the EP still counts as connected.
	 */
	if (conn->phase == DOFI_CONN_UP)
		dofi_engine_drain_cq(conn->ia);
	if (lingers)
		dofi_linger_begin(conn);
	conn->ended_in = conn->phase;
	dofi_conn_enter(conn, DOFI_CONN_OVER);
	/* Whoever posts meanwhile must not reach an endpoint that is being closed. */
	dofi_lock(&ep->lock);
	ep->path_up = false;
	dofi_unlock(&ep->lock);
}

/* The peer is told. */
static void hang_up(struct dofi_conn *conn)
{
	if (conn->hung_up)
		return;
	conn->hung_up = true;
	if (!conn->ia->trans->leave)
		conn->ia->trans->disconnect(conn);
	say_last_word(conn, conn->ended_in, conn->end_reason);
}

/*
 * InfiniBand's devices tell when a queue pair of an SRQ has ended and taken its last buffer, and
 * OFED's DAT calls it so; an EP without connect EVD is told of its end by the same event already.
 */
static void tell_last_receive(const struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;

	if (ep->srq && ep->conn_evd && conn->established && conn->end_event &&
	    conn->ia->tells_last_receive)
		dofi_evd_async(conn->ia, DAT_ASYNC_ERROR_EP_BROKEN, ep, 0);
}

/* What is not back by now is left to the fabric. */
static void part(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;

	hang_up(conn);
	conn->ia->trans->disconnect(conn);
	dofi_conn_forget_bind(ep);
	dofi_lock(&ep->lock);
	ep->fep = NULL;
	ep->binding = false;
	ep->peeking = false;
	/* A request that failed has its event already, and is not blamed on the next one, too. */
	if (ep->faulty)
		conn->end_status = DAT_DTO_ERR_FLUSHED;
	ep->faulty = false;
	ep->conn = NULL;
	dofi_ep_enter_state(ep, DAT_EP_STATE_DISCONNECTED);
	dofi_reap_flush(ep, conn->end_status);
	dofi_unlock(&ep->lock);
	if (conn->end_event)
		dofi_conn_event(ep, conn->end_event, conn->end_private);
	if (ep->srq)
		dofi_truncated_settle(ep->srq);
	tell_last_receive(conn);
	dofi_conn_free(conn);
}

/* The peer has not taken everything, or the fabric is in the middle of something. */
static bool is_under_way(struct dofi_conn *conn)
{
	if (dofi_linger(conn))
		return true;
	hang_up(conn);
	return conn->ia->trans->leave && conn->ia->trans->leave(conn);
}

/* Looks after it less and less often. */
void dofi_conn_part(struct dofi_conn *conn)
{
	uint64_t now = dofi_now(), limit, next, pause;

	if (!conn->over_since)
		conn->over_since = now;
	limit = conn->over_since + linger_ns(conn->ia);
	if (now >= limit || !is_under_way(conn)) {
		part(conn);
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

	if (dofi_obj_is(ia, DAT_HANDLE_TYPE_IA))
		return limit;
	if (!ia->cm.close_limit)
		ia->cm.close_limit = limit;
	return ia->cm.close_limit;
}

/*
 * The same within a call. Where it was in vain once, as with a peer that is frozen, it is not tried
 * with the next EP.
 */
static void part_now(struct dofi_conn *conn)
{
	struct dofi_chan *chan = conn->chan;
	struct dofi_ia *ia = conn->ia;

	if (chan && !chan->silent) {
		uint64_t limit = dofi_conn_linger_until(ia);

		while (is_under_way(conn) && !(chan->silent = dofi_now() > limit))
			dofi_linger_wait(ia);
	}
	part(conn);
}

/* An attempt of an EP of datagrams, which itself is not concerned. */
static void finish_attempt(struct dofi_conn *conn)
{
	enum dofi_conn_phase phase = conn->phase;

	dofi_conn_enter(conn, DOFI_CONN_OVER);
	conn->ia->trans->disconnect(conn);
	say_last_word(conn, phase, conn->end_reason);
	dofi_ud_not_established(conn, conn->end_event, conn->end_private);
	dofi_conn_free(conn);
}

static void finish(struct dofi_conn *conn, bool lingers)
{
	if (conn->phase == DOFI_CONN_OVER)
		return; /* it is under way */
	if (conn->ud) {
		finish_attempt(conn);
		return;
	}
	shut(conn, lingers);
	dofi_conn_part(conn);
}

void dofi_conn_run_end(struct dofi_work *work)
{
	finish(DOFI_CONTAINER(work, struct dofi_conn, work), false);
}

void dofi_conn_end(struct dofi_conn *conn, uint32_t event, uint8_t status,
		   enum dofi_reason tell_peer)
{
	if (conn->ending)
		return;
	conn->ending = true;
	conn->end_event = event;
	conn->end_status = status;
	conn->end_reason = tell_peer;
	dofi_work_defer(conn->ia, &conn->work);
}

void dofi_conn_end_now(struct dofi_conn *conn, uint32_t event, enum dofi_reason tell_peer)
{
	bool lingers = !conn->ending; /* what has failed has nothing to wait for */

	/*
	 * An end that is decided but not carried out keeps its event, unless the EP is freed: then
	 * nobody wants one.
	 */
	dofi_conn_end(conn, event, DAT_DTO_ERR_FLUSHED, tell_peer);
	if (event) {
		finish(conn, lingers);
		return;
	}
	conn->end_event = 0;
	if (conn->ud) {
		finish_attempt(conn);
		return;
	}
	if (conn->phase != DOFI_CONN_OVER)
		shut(conn, lingers);
	part_now(conn);
}
