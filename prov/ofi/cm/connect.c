/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/connect.h"

#include "base/addr.h"
#include "base/log.h"
#include "cm/conn.h"
#include "cm/conn_end.h"
#include "cm/conn_event.h"
#include "cm/conn_message.h"
#include "object/ia.h"
#include "object/transport.h"
#include "cm/channel.h"
#include "cm/channel_dial.h"
#include "cm/conn_state.h"
#include "cm/redial.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "object/mr.h"
#include "base/clock.h"
#include "progress/timer.h"
#include "cm/ud_ah.h"

#include <errno.h>
#include <string.h>

/* --- dialling --- */

static void dial(struct dofi_conn *conn)
{
	uint16_t port;
	int ret;

	if (!dofi_redial_next(conn, &port)) {
		if (!dofi_redial_later(conn))
			dofi_redial_give_up(conn);
		return;
	}
	ret = dofi_chan_dial(conn, (struct sockaddr *)&conn->remote, port);
	if (ret)
		dofi_conn_dial_failed(conn, ret);
}

void dofi_act_dial(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	conn->candidate = 0;
	conn->redialled = false;
	dial(conn);
}

void dofi_act_dial_next(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	conn->candidate++;
	conn->redialled = false;
	dial(conn);
}

/* Ties the EP to the connection that it dials. */
static void set_dialling(struct dofi_ep *ep, struct dofi_conn *conn)
{
	dofi_lock(&ep->lock);
	conn->ep = ep;
	ep->conn = conn;
	ep->remote_addr = conn->remote;
	ep->remote_qual = conn->conn_qual;
	ep->local_qual = conn->port_qual;
	ep->dialled = true;
	dofi_ep_enter_state(ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	dofi_unlock(&ep->lock);
}

int dofi_conn_start(struct dofi_ep *ep, const struct sockaddr *remote, uint64_t conn_qual,
		    uint64_t deadline, const void *private_data, uint32_t private_size)
{
	size_t size = remote->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						    : sizeof(struct sockaddr_in);
	struct dofi_conn *conn = dofi_conn_new(ep->obj.ia, DOFI_CONN_DIALLING);

	dofi_assert_held(&ep->obj.ia->engine.lock);
	if (!conn)
		return -ENOMEM;
	memcpy(&conn->remote, remote, size);
	conn->conn_qual = conn_qual;
	conn->port_qual = conn->id;
	conn->ud = ep->ud;
	dofi_conn_set_private(conn, private_data, private_size);
	conn->deadline = deadline;
	if (deadline != DOFI_FOREVER)
		dofi_timer_set(conn->ia, &conn->timer, deadline);

	DOFI_COUNT(ep, EP_CONNECT, 1);
	if (conn->ud)
		dofi_ud_adopt(ep, conn);
	else
		set_dialling(ep, conn);
	dofi_conn_choose_trans(conn);
	dial(conn);
	return 0;
}

static void log_unreachable(const struct dofi_conn *conn, int err)
{
	bool dropped = err == ETIMEDOUT || err == EHOSTUNREACH || err == EACCES;
	struct dofi_ia *ia = conn->ia;
	char text[DOFI_ADDR_TEXT];

	DOFI_LOG_LIMITED(&ia->cm.refusals, DOFI_LOG_WARN, ia->name, "%s: can't reach %s: %s%s",
			 ia->name, dofi_conn_port_text(conn, conn->candidate, text), strerror(err),
			 dropped ? "; is the host up, and does its firewall let this port through?"
				 : "");
}

static enum dofi_conn_event meaning_of(const struct dofi_conn *conn, int err)
{
	switch (-err) {
	case ECONNREFUSED:
	case ECONNRESET:
	case EPROTO: /* another service listens at that port */
		return DOFI_ON_PORT_REFUSED;
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
	case ENETDOWN:
	case EADDRNOTAVAIL:
	case EACCES:
	case EINVAL:
	case ETIMEDOUT:
		log_unreachable(conn, -err);
		return DOFI_ON_UNREACHABLE;
	default:
		DOFI_LOG_W("%s: can't open a control channel for a connection: %s%s",
			   conn->ia->name, strerror(-err),
			   err == -EMFILE ? "; allow the process more files (ulimit -n)" : "");
		return DOFI_ON_DIAL_FAILED;
	}
}

void dofi_conn_dial_failed(struct dofi_conn *conn, int err)
{
	dofi_assert_held(&conn->ia->engine.lock);
	if (dofi_conn_is_ending(conn))
		return;
	if (err == -ECONNREFUSED) {
		DOFI_COUNT_SHARED(conn->ia, IA_CM_ERR_REFUSED);
		dofi_redial_refused(conn);
	}
	dofi_conn_handle(conn, meaning_of(conn, err), NULL);
}

/* --- requesting --- */

void dofi_conn_chan_up(struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	dofi_conn_handle(conn, DOFI_ON_CHAN_UP, NULL);
}

void dofi_conn_ask(struct dofi_conn *conn)
{
	struct dofi_msg msg = {
		.type = DOFI_MSG_REQUEST,
		.conn_qual = conn->conn_qual,
		.port_qual = conn->port_qual,
		.private_data = conn->private_data,
		.private_size = conn->private_size,
	};

	dofi_assert_held(&conn->ia->engine.lock);
	dofi_conn_fill_hello(conn, &msg);
	if (conn->asked_once)
		msg.flags |= DOFI_MSG_F_AGAIN;
	dofi_conn_send(conn, &msg);
	conn->asked = conn->asked_once = true;
}

void dofi_act_request(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	if (!conn->asked)
		dofi_conn_ask(conn);
	if (conn->trans->prepare)
		conn->trans->prepare(conn);
}

/*
 * A shared channel may lead to a process that does not serve this conn_qual any more: dials the
 * port itself once.
 */
void dofi_act_ask_elsewhere(struct dofi_conn *conn, const struct dofi_msg *reject)
{
	(void)reject;
	conn->trans->disconnect(conn);
	dofi_chan_detach(conn);
	dofi_redial_refused(conn);
	if (conn->redialled)
		conn->candidate++;
	conn->redialled = !conn->redialled;
	dial(conn);
}

static void refuse(struct dofi_conn *conn)
{
	dofi_conn_end(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, DOFI_REASON_ERROR);
}

void dofi_act_connect(struct dofi_conn *conn, const struct dofi_msg *accept)
{
	int ret;

	if (accept->conn_qual != conn->conn_qual) {
		DOFI_LOG_W("%s: refusing a connection: the peer has accepted it for another "
			   "connection qualifier than the one that was asked for",
			   conn->ia->name);
		refuse(conn);
		return;
	}
	dofi_conn_parse_hello(conn, accept);
	dofi_conn_set_private(conn, accept->private_data, accept->private_size);
	/* A peer without datagrams has connected a connected EP. */
	if (conn->ud != !!(accept->flags & DOFI_MSG_F_UD)) {
		refuse(conn);
		return;
	}
	ret = conn->trans->connect(conn);
	if (ret) {
		char limit[DOFI_MR_LIMIT_SIZE];

		DOFI_LOG_W("%s: can't connect the data path: %s%s", conn->ia->name,
			   fi_strerror(-ret), ret == -FI_ENOMEM ? dofi_mr_limit(limit) : "");
		refuse(conn);
	}
}
