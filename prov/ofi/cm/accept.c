/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/accept.h"

#include "auth/crypto.h"
#include "cm/conn.h"
#include "cm/crowd.h"
#include "cm/conn_end.h"
#include "cm/conn_event.h"
#include "cm/conn_message.h"
#include "cm/service_point.h"
#include "dto/ud.h"
#include "object/ia.h"
#include "object/transport.h"
#include "cm/channel.h"
#include "cm/channel_send.h"
#include "cm/conn_state.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "base/clock.h"
#include "progress/timer.h"
#include "cm/ud_ah.h"

#include <string.h>

/* --- the request --- */

static bool request_known(struct dofi_chan *chan, uint32_t peer_id)
{
	DOFI_LIST_FOR(node, &chan->conns)
	{
		const struct dofi_conn *conn = DOFI_CONTAINER(node, struct dofi_conn, link);

		if (!conn->active && conn->peer_id == peer_id)
			return true;
	}
	return false;
}

/* Only the connector knows the token, and the seal protects it. */
static struct dofi_conn *find_same(const struct dofi_cm *cm, const struct dofi_msg *request)
{
	for (uint32_t i = 0; i < cm->conns_size; i++) {
		struct dofi_conn *conn = cm->conns[i];

		if (conn && !conn->active && conn->peer_id == request->src &&
		    dofi_crypto_equal(conn->peer_token, request->token, sizeof(request->token)))
			return conn;
	}
	return NULL;
}

/*
 * The consumer has not answered yet: moves the connection to the channel on which the connector
 * repeated its request. It may have posted receives meanwhile, so the repetition tells of more
 * credits.
 */
static void move(struct dofi_conn *conn, struct dofi_chan *chan, const struct dofi_msg *request)
{
	if (conn->chan)
		conn->chan->noffered--;
	dofi_chan_detach(conn);
	conn->chan = chan;
	dofi_list_add_tail(&chan->conns, &conn->link);
	chan->noffered++;
	dofi_conn_parse_hello(conn, request);
	dofi_conn_handle(conn, DOFI_ON_REQUEST_AGAIN, NULL);
}

/*
 * Whether the same request has come by another channel: this one is the repetition, or it was sent
 * first and lay in the channel that was lost. The search is needed only if a connector has dialled
 * again.
 */
static bool came_before(struct dofi_chan *chan, const struct dofi_msg *request)
{
	bool again = request->flags & DOFI_MSG_F_AGAIN;
	struct dofi_conn *conn =
		again || chan->ia->cm.nrepeated ? find_same(&chan->ia->cm, request) : NULL;

	if (!conn)
		return false;
	if (!again)
		return conn->repeated;
	if (conn->state != DOFI_CONN_OFFERED && conn->state != DOFI_CONN_ABANDONED)
		return false;
	move(conn, chan, request);
	dofi_conn_repeated(conn);
	return true;
}

void dofi_conn_offer(struct dofi_chan *chan, const struct dofi_msg *request)
{
	struct dofi_conn *conn;
	enum dofi_reason reason;
	bool admitted;

	dofi_assert_held(&chan->ia->engine.lock);
	if (request_known(chan, request->src))
		return;
	admitted = dofi_crowd_takes_request(chan);
	if (admitted && came_before(chan, request))
		return;
	conn = admitted ? dofi_conn_new(chan->ia, DOFI_CONN_OFFERED) : NULL;
	if (!conn) {
		struct dofi_msg no = {.type = DOFI_MSG_REJECT,
				      .reason = DOFI_REASON_RESOURCES,
				      .dst = request->src};

		dofi_chan_send(chan, &no);
		return;
	}
	dofi_conn_parse_hello(conn, request);
	conn->conn_qual = conn->asked_qual = request->conn_qual;
	conn->port_qual = request->port_qual;
	dofi_conn_set_private(conn, request->private_data, request->private_size);
	conn->chan = chan;
	conn->remote = chan->source;
	dofi_list_add_tail(&chan->conns, &conn->link);
	chan->noffered++;
	conn->ud = request->flags & DOFI_MSG_F_UD;
	if (request->flags & DOFI_MSG_F_AGAIN)
		dofi_conn_repeated(conn);
	reason = dofi_sp_offer(conn, (const struct sockaddr *)&chan->remote);
	if (reason != DOFI_REASON_NONE)
		dofi_conn_reject(conn, reason, NULL, 0);
}

/* The CR stays until the consumer decides (CR-042). */
void dofi_act_lose_connector(struct dofi_conn *conn, const struct dofi_msg *bye)
{
	(void)bye;
	dofi_chan_detach(conn);
}

void dofi_conn_reject(struct dofi_conn *conn, enum dofi_reason reason, const void *private_data,
		      uint32_t private_size)
{
	const struct dofi_msg msg = {
		.type = DOFI_MSG_REJECT,
		.reason = (uint8_t)reason,
		.private_data = private_data,
		.private_size = private_size,
	};

	dofi_assert_held(&conn->ia->engine.lock);
	dofi_conn_handle(conn, DOFI_ON_CR_REJECT, &msg);
}

void dofi_act_reject(struct dofi_conn *conn, const struct dofi_msg *reject)
{
	struct dofi_msg msg = *reject;

	dofi_conn_send(conn, &msg);
	dofi_conn_free(conn);
}

/* --- how long the data path may take --- */

/*
 * Steps of one connection, at most: the request or the greeting comes, the fabric reports the path,
 * the peer's READY comes.
 */
#define STEPS_OF_ONE   3
#define MAX_QUESTIONS  4u  /* whether the peer still connects */
#define MOST_QUESTIONS 10u /* on an overloaded host */

static uint64_t handshake_ns(const struct dofi_ia *ia)
{
	return ia->params.handshake_ms * 1000000u;
}

void dofi_conn_proceeds(struct dofi_conn *conn)
{
	struct dofi_cm *cm = &conn->ia->cm;

	dofi_assert_held(&conn->ia->engine.lock);
	if (dofi_conn_stage(conn) != DOFI_STAGE_LINKING)
		return;
	cm->steps++;
	cm->last_step = dofi_now();
}

/*
 * The fabric makes one connection after the other, so in a burst this one may have to wait long.
 * Therefore the limit counts from the last step of any connection. But a connection that never
 * comes up must not wait for ever because of the steps of others. So when its time is over for the
 * first time, the extension is limited to the steps of the connections that wait at that time.
 */
static bool begins_anew(struct dofi_conn *conn)
{
	struct dofi_cm *cm = &conn->ia->cm;
	uint64_t limit = cm->last_step + handshake_ns(conn->ia);

	if (!conn->patient)
		conn->patience = cm->steps + STEPS_OF_ONE * cm->nlinking;
	conn->patient = true;
	if ((int32_t)(conn->patience - cm->steps) <= 0 || limit <= dofi_now())
		return false;
	dofi_timer_set(conn->ia, &conn->timer, limit);
	return true;
}

static bool may_ask(const struct dofi_conn *conn)
{
	if (conn->questions < MAX_QUESTIONS)
		return true;
	return conn->questions < MOST_QUESTIONS && dofi_run_delay_is_high(&conn->delay);
}

/*
 * On an overloaded host the peer may not have handled ACCEPT yet, or may still be making its
 * endpoint. A peer that has given up answers CANCEL. A peer that answers COUNTED has already asked
 * its fabric to connect, because it got ACCEPT before this question. If the fabric has lost that
 * request, the path never comes. So the number of questions is limited even if the peer answers.
 */
static bool peer_goes_on(struct dofi_conn *conn)
{
	struct dofi_msg ask = {.type = DOFI_MSG_COUNT, .number = conn->count_asked};

	if (!conn->chan || conn->chan->state != DOFI_CHAN_UP || !may_ask(conn))
		return false;
	conn->delay = dofi_run_delay_recent(&conn->ia->cm.delay);
	conn->questions++;
	dofi_conn_send(conn, &ask);
	dofi_timer_set(conn->ia, &conn->timer, dofi_now() + handshake_ns(conn->ia));
	return true;
}

void dofi_act_check_time(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	if (!begins_anew(conn) && !peer_goes_on(conn))
		dofi_conn_handle(conn, DOFI_ON_OVERDUE, NULL);
}

/* --- the answer --- */

static void set_accepted(struct dofi_ep *ep, struct dofi_conn *conn)
{
	dofi_lock(&ep->lock);
	conn->ep = ep;
	ep->conn = conn;
	ep->remote_qual = conn->port_qual;
	ep->local_qual = conn->conn_qual;
	ep->dialled = false;
	if (conn->chan)
		ep->remote_addr = conn->chan->remote;
	dofi_ep_enter_state(ep, DAT_EP_STATE_COMPLETION_PENDING);
	dofi_unlock(&ep->lock);
}

void dofi_conn_accept(struct dofi_conn *conn, struct dofi_ep *ep, const void *private_data,
		      uint32_t private_size)
{
	struct dofi_msg msg = {.type = DOFI_MSG_ACCEPT,
			       .private_data = private_data,
			       .private_size = private_size};

	dofi_assert_held(&conn->ia->engine.lock);
	conn->cr = NULL;
	if (conn->ud)
		dofi_ud_adopt(ep, conn);
	else
		set_accepted(ep, conn);
	dofi_conn_choose_trans(conn);
	dofi_conn_handle(conn, DOFI_ON_CR_ACCEPT, &msg);
}

static void send_accept(struct dofi_conn *conn, const void *private_data, uint32_t private_size)
{
	struct dofi_msg accept = {.type = DOFI_MSG_ACCEPT,
				  .conn_qual = conn->asked_qual,
				  .private_data = private_data,
				  .private_size = private_size};

	dofi_conn_fill_hello(conn, &accept);
	dofi_conn_send(conn, &accept);
}

void dofi_conn_expected(struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	dofi_timer_set(conn->ia, &conn->timer, dofi_now() + handshake_ns(conn->ia));
	send_accept(conn, conn->private_data, conn->private_size);
}

void dofi_act_expect(struct dofi_conn *conn, const struct dofi_msg *accept)
{
	int ret;

	if (!conn->chan) {
		/* The connector was lost while the consumer held the CR. */
		dofi_conn_handle(conn, DOFI_ON_CHAN_LOST, NULL);
		return;
	}
	dofi_timer_set(conn->ia, &conn->timer, dofi_now() + handshake_ns(conn->ia));
	ret = conn->trans->expect(conn);
	if (ret == DOFI_LATER)
		dofi_conn_set_private(conn, accept->private_data, accept->private_size);
	else if (ret)
		dofi_conn_end(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
			      DOFI_REASON_ERROR);
	else
		send_accept(conn, accept->private_data, accept->private_size);
}
