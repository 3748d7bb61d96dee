/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/conn_message.h"

#include "base/log.h"
#include "cm/accept.h"
#include "cm/conn.h"
#include "cm/conn_event.h"
#include "cm/disconnect.h"
#include "cm/path.h"
#include "cm/truncated.h"
#include "dto/credit.h"
#include "dto/ud.h"
#include "object/ia.h"
#include "object/transport.h"
#include "cm/channel.h"
#include "cm/channel_send.h"
#include "cm/conn_state.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "object/srq_count.h"
#include "progress/engine.h"
#include "progress/wakeup.h"

#include <string.h>

/* --- out --- */

#define COUNTED(counter)                                     \
	do {                                                 \
		if (sent)                                    \
			DOFI_COUNT_SHARED(ia, counter##_TX); \
		else                                         \
			DOFI_COUNT_SHARED(ia, counter##_RX); \
	} while (0)

/* Counts a message as that of InfiniBand's connection manager with the same meaning. */
static void count_message(struct dofi_ia *ia, const struct dofi_msg *msg, bool sent)
{
	switch (msg->type) {
	case DOFI_MSG_REQUEST:
		COUNTED(IA_CM_REQ);
		break;
	case DOFI_MSG_ACCEPT:
		COUNTED(IA_CM_REP);
		break;
	case DOFI_MSG_READY:
		COUNTED(IA_CM_RTU);
		break;
	case DOFI_MSG_REJECT:
		if (msg->reason == DOFI_REASON_CONSUMER)
			COUNTED(IA_CM_USER_REJ);
		else
			COUNTED(IA_CM_ERR_REJ);
		break;
	case DOFI_MSG_BYE:
		COUNTED(IA_CM_DREQ);
		break;
	default:
		break;
	}
}

void dofi_conn_send(struct dofi_conn *conn, struct dofi_msg *msg)
{
	dofi_assert_held(&conn->ia->engine.lock);
	if (!conn->chan)
		return;
	msg->dst = conn->peer_id;
	msg->src = conn->id;
	if (dofi_conn_implies_ready(conn))
		msg->flags |= DOFI_MSG_F_UP;
	count_message(conn->ia, msg, true);
	dofi_chan_send(conn->chan, msg);
}

void dofi_conn_fill_hello(const struct dofi_conn *conn, struct dofi_msg *msg)
{
	struct dofi_ep *ep = conn->ep;

	dofi_assert_held(&conn->ia->engine.lock);
	memcpy(msg->token, conn->token, sizeof(msg->token));
	if (conn->ud) {
		msg->flags = DOFI_MSG_F_UD;
		msg->context = ep->ud->number;
		return;
	}
	msg->read_in = (uint32_t)ep->attr.max_rdma_read_in;
	msg->read_out = (uint32_t)ep->attr.max_rdma_read_out;
	msg->pz = ep->pz->number;
	msg->context = ep->ctrl_context;
	if (ep->attr.recv_completion_flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		msg->flags |= DOFI_MSG_F_SOLICITED;
	if (ep->srq) {
		msg->flags |= DOFI_MSG_F_DATA;
		msg->srq = ep->srq->number;
	}
	if (conn->ia->credits == DOFI_CREDITS_CARRIED)
		msg->flags |= DOFI_MSG_F_CREDITS;
	if (conn->ia->credits == DOFI_CREDITS_WRITTEN) {
		msg->flags |= DOFI_MSG_F_CREDIT_WORD;
		msg->context = ep->scratch;
	}
	if (ep->ctrl_msgs)
		msg->flags |= DOFI_MSG_F_CTRL_MSGS;
	if (conn->trans != conn->ia->trans)
		msg->flags |= DOFI_MSG_F_MEMORY;
	if (conn->ia->does_atomics)
		msg->flags |= DOFI_MSG_F_ATOMICS;
	dofi_lock(&ep->lock);
	msg->data = dofi_credit_start(ep);
	dofi_unlock(&ep->lock);
}

void dofi_conn_parse_hello(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	dofi_assert_held(&conn->ia->engine.lock);
	conn->peer_id = msg->src;
	memcpy(conn->peer_token, msg->token, sizeof(conn->peer_token));
	conn->peer_read_in = msg->read_in;
	conn->peer_pz = msg->pz;
	conn->peer_credit_total = msg->data;
	conn->peer_srq = msg->srq;
	conn->peer_slots = msg->context;
	conn->peer_ud = msg->context;
	conn->peer_flags = msg->flags;
}

/* --- in --- */

static struct dofi_conn *addressee(struct dofi_chan *chan, const struct dofi_msg *msg)
{
	struct dofi_conn *conn = dofi_conn_by_id(chan->ia, msg->dst);

	if (conn)
		return conn->chan == chan ? conn : NULL;
	/*
	 * The connector cancels a request before it got an answer, so it does not know our number
	 * yet.
	 */
	if (msg->type != DOFI_MSG_CANCEL || msg->dst)
		return NULL;
	DOFI_LIST_FOR(node, &chan->conns)
	{
		conn = DOFI_CONTAINER(node, struct dofi_conn, link);
		if (!conn->active && conn->peer_id == msg->src)
			return conn;
	}
	return NULL;
}

static void hear_ready(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	enum dofi_conn_event event = DOFI_ON_READY;

	if (conn->active)
		return;
	/* The peer joined the shared memory before it sent READY. JOIN came by the local socket. */
	if (!conn->path_made && conn->memory)
		dofi_wakeup_read(conn->ia);
	if (!conn->path_made)
		event = DOFI_ON_READY_EARLY;
	else if (conn->ud)
		event = DOFI_ON_UD_READY;
	dofi_conn_handle(conn, event, msg);
}

static void hear_reject(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	enum dofi_conn_event event = DOFI_ON_REJECT;

	if (!conn->active)
		return;
	if (msg->reason == DOFI_REASON_NOT_MINE)
		event = DOFI_ON_NOT_MINE;
	else if (msg->reason == DOFI_REASON_CONSUMER)
		event = DOFI_ON_CONSUMER_REJECT;
	dofi_conn_handle(conn, event, msg);
}

static void hear_bye(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	enum dofi_conn_event event = DOFI_ON_BYE_ERROR;

	if (dofi_conn_data_may_follow(conn, msg->data))
		event = DOFI_ON_BYE_EARLY;
	else if (msg->reason == DOFI_REASON_DISCONNECT)
		event = DOFI_ON_BYE;
	dofi_conn_handle(conn, event, msg);
}

/* COUNT changes no state. */
static void hear(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	switch (msg->type) {
	case DOFI_MSG_ACCEPT:
		if (conn->active)
			dofi_conn_handle(conn, DOFI_ON_ACCEPT, msg);
		break;
	case DOFI_MSG_REJECT:
		hear_reject(conn, msg);
		break;
	case DOFI_MSG_READY:
		hear_ready(conn, msg);
		break;
	case DOFI_MSG_CANCEL:
	case DOFI_MSG_BYE:
		hear_bye(conn, msg);
		break;
	case DOFI_MSG_DISCONNECT:
		dofi_conn_handle(conn, DOFI_ON_DISCONNECT, msg);
		break;
	case DOFI_MSG_COUNT:
		dofi_truncated_on_count_request(conn, msg);
		break;
	case DOFI_MSG_COUNTED:
		dofi_truncated_on_count(conn, msg);
		dofi_conn_counted(conn);
		break;
	default:
		DOFI_LOG_D("%s: a control message of type %u concerns no connection and is ignored",
			   conn->ia->name, msg->type);
	}
}

/* Messages about a connected EP, which mean nothing for datagrams. */
static bool concerns_ep(const struct dofi_msg *msg)
{
	return msg->type == DOFI_MSG_DISCONNECT;
}

/* Who cancels has sent none. */
static bool tells_count(const struct dofi_msg *msg)
{
	return msg->type == DOFI_MSG_BYE || msg->type == DOFI_MSG_CANCEL;
}

/* The peer's count of messages is needed even if the connection has ended on this side. */
static void note_count(struct dofi_conn *conn, const struct dofi_msg *bye)
{
	/*
	 * A message of the peer that is too long for a buffer of the SRQ, and so the reason of the
	 * BYE, may still be in the completion queue.
	 */
	if (conn->ep && conn->ep->srq && conn->ia->engine.has_fabric)
		dofi_engine_drain_cq(conn->ia);
	conn->peer_told = true;
	conn->peer_sent = bye->data;
	dofi_truncated_on_count(conn, bye);
}

/* Handles a message for a connection that has ended or never existed. */
static void hear_late(struct dofi_chan *chan, const struct dofi_msg *msg)
{
	/* CANCEL: the accepting side must not wait for a connector that has given up. */
	const struct dofi_msg cancel = {.type = DOFI_MSG_CANCEL, .dst = msg->src, .src = msg->dst};

	if (msg->type == DOFI_MSG_ACCEPT || msg->type == DOFI_MSG_COUNT)
		dofi_chan_send(chan, &cancel);
	if (tells_count(msg) && chan->ia->trans->settle)
		chan->ia->trans->settle(chan->ia, msg->dst, msg->src, msg->data);
}

void dofi_conn_message(struct dofi_chan *chan, const struct dofi_msg *msg)
{
	struct dofi_conn *conn;

	dofi_assert_held(&chan->ia->engine.lock);
	count_message(chan->ia, msg, false);
	chan->silent = chan->tardy = false;
	if (msg->type == DOFI_MSG_REQUEST) {
		dofi_conn_offer(chan, msg);
		return;
	}
	conn = addressee(chan, msg);
	if (!conn) {
		hear_late(chan, msg);
		return;
	}
	if (msg->flags & DOFI_MSG_F_UP && !dofi_conn_is_ending(conn))
		hear_ready(conn, msg);
	if (msg->type == DOFI_MSG_BYE)
		note_count(conn, msg);
	else if (tells_count(msg))
		conn->peer_told = true;
	if (!dofi_conn_is_ending(conn) && !(conn->ud && concerns_ep(msg)))
		hear(conn, msg);
}
