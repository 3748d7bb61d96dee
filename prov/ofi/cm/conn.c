/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/conn.h"

#include "cm/conn_end.h"
#include "dto/credit.h"
#include "fabric/error.h"
#include "progress/evd.h"
#include "object/ia.h"
#include "object/mr.h"
#include "base/log.h"
#include "cm/truncated.h"
#include "dto/emulated.h"
#include "cm/service_point.h"
#include "dto/srq.h"
#include "object/transport.h"
#include "dto/ud.h"
#include "cm/channel.h"
#include "cm/redial.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "progress/engine.h"
#include "progress/wait.h"
#include "dto/watermark.h"
#include "object/srq_count.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/*
 * After the data path ended the peer's word on the control channel says why, and after that word
 * the data path ends: this long the one waits for the other.
 */
#define LAST_WORD_NS 1000000000u

/* --- ids --- */

struct dofi_conn *dofi_conn_by_id(struct dofi_ia *ia, uint32_t id)
{
	struct dofi_cm *cm = &ia->cm;
	struct dofi_conn *conn = cm->conns_size ? cm->conns[id & (cm->conns_size - 1)] : NULL;

	return conn && conn->id == id ? conn : NULL;
}

struct dofi_ep *dofi_conn_ep(struct dofi_ia *ia, uint32_t id)
{
	struct dofi_conn *conn = id ? dofi_conn_by_id(ia, id) : NULL;

	return conn && !conn->ud && conn->phase != DOFI_CONN_OVER ? conn->ep : NULL;
}

struct dofi_conn *dofi_conn_by_token(struct dofi_ia *ia, uint64_t token)
{
	struct dofi_conn *conn = dofi_conn_by_id(ia, (uint32_t)token);

	return conn && !conn->active && conn->phase == DOFI_CONN_LINKING && conn->token == token
		       ? conn
		       : NULL;
}

/*
 * Keeps the table at most half full. Ids that differed modulo the old size differ modulo the new
 * one.
 */
static int grow_table(struct dofi_cm *cm)
{
	uint32_t size = cm->conns_size ? 2 * cm->conns_size : 64;
	struct dofi_conn **table;

	if (2 * cm->nconns < cm->conns_size)
		return 0;
	table = calloc(size, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (uint32_t i = 0; i < cm->conns_size; i++)
		if (cm->conns[i])
			table[cm->conns[i]->id & (size - 1)] = cm->conns[i];
	free(cm->conns);
	cm->conns = table;
	cm->conns_size = size;
	return 0;
}

static void conn_timeout(struct dofi_timer *timer);

static struct dofi_conn *conn_new(struct dofi_ia *ia, bool active)
{
	struct dofi_cm *cm = &ia->cm;
	struct dofi_conn *conn;

	if (grow_table(cm))
		return NULL;
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return NULL;
	do
		conn->id = ++cm->conns_next & DOFI_CONN_ID_MASK;
	while (!conn->id || cm->conns[conn->id & (cm->conns_size - 1)]);
	cm->conns[conn->id & (cm->conns_size - 1)] = conn;
	cm->nconns++;
	conn->ia = ia;
	conn->active = active;
	conn->reserved_port = -1;
	dofi_list_init(&conn->link);
	dofi_list_init(&conn->ud_link);
	conn->timer.fire = conn_timeout;
	conn->work.run = dofi_conn_run_end;
	return conn;
}

void dofi_conn_free(struct dofi_conn *conn)
{
	struct dofi_cm *cm = &conn->ia->cm;

	dofi_timer_cancel(conn->ia, &conn->timer);
	dofi_timer_cancel(conn->ia, &conn->redial.timer);
	if (conn->chan)
		dofi_chan_detach(conn);
	if (conn->work.link.next)
		dofi_list_del(&conn->work.link);
	if (conn->watched)
		dofi_wait_unwatch(conn->ia);
	cm->conns[conn->id & (cm->conns_size - 1)] = NULL;
	cm->nconns--;
	free(conn);
}

/* --- messages out --- */

#define COUNTED(counter)                                     \
	do {                                                 \
		if (sent)                                    \
			DOFI_COUNT_SHARED(ia, counter##_TX); \
		else                                         \
			DOFI_COUNT_SHARED(ia, counter##_RX); \
	} while (0)

/* As the messages of InfiniBand's connection manager that mean the same. */
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
	if (!conn->chan)
		return;
	msg->dst = conn->peer_id;
	msg->src = conn->id;
	count_message(conn->ia, msg, true);
	dofi_chan_send(conn->chan, msg);
}

static void tell_simple(struct dofi_conn *conn, enum dofi_msg_type type, enum dofi_reason reason)
{
	struct dofi_msg msg = {.type = (uint8_t)type, .reason = (uint8_t)reason};

	dofi_conn_send(conn, &msg);
}

/* What the peer must know of our EP. */
static void describe(const struct dofi_conn *conn, struct dofi_msg *msg)
{
	struct dofi_ep *ep = conn->ep;

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
	if (conn->ia->does_atomics)
		msg->flags |= DOFI_MSG_F_ATOMICS;
	dofi_lock(&ep->lock);
	msg->data = dofi_credit_start(ep);
	dofi_unlock(&ep->lock);
}

static void learn(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	conn->peer_id = msg->src;
	conn->peer_read_in = msg->read_in;
	conn->peer_pz = msg->pz;
	conn->peer_credit_total = msg->data;
	conn->peer_srq = msg->srq;
	conn->peer_slots = msg->context;
	conn->peer_ud = msg->context;
	conn->peer_flags = msg->flags;
}

static void set_private(struct dofi_conn *conn, const void *data, uint32_t size)
{
	conn->private_size = size < DOFI_MAX_PRIVATE ? size : DOFI_MAX_PRIVATE;
	if (conn->private_size)
		memcpy(conn->private_data, data, conn->private_size);
}

/* --- events --- */

void dofi_conn_event(struct dofi_ep *ep, uint32_t number, uint32_t private_size)
{
	struct dofi_event event = {
		.number = number,
		.handle = ep,
		.conn = {.private_data = ep->private_data, .private_size = private_size},
	};

	if (ep->conn_evd)
		dofi_evd_push(ep->conn_evd, &event, true);
	else
		dofi_evd_async(ep->obj.ia, DAT_ASYNC_ERROR_EP_BROKEN, ep, 0);
}

/* Before there is a path the EP still has the count of its former connection. */
uint32_t dofi_conn_sent(const struct dofi_conn *conn)
{
	uint32_t sent;

	if (!conn->path_made)
		return 0;
	dofi_lock(&conn->ep->lock);
	sent = conn->ep->nsent;
	dofi_unlock(&conn->ep->lock);
	return sent;
}

/* --- the end --- */

/*
 * The attempt or connection ends for a cause beyond us; what that means depends on how far it got.
 */
static void lost(struct dofi_conn *conn, bool orderly, uint32_t while_connecting)
{
	switch (conn->phase) {
	case DOFI_CONN_DIALING:
	case DOFI_CONN_REQUESTED:
		dofi_conn_end(conn, while_connecting, DAT_DTO_ERR_FLUSHED, DOFI_REASON_NONE);
		break;
	case DOFI_CONN_OFFERED:
		/* The CR stays until the consumer decides (CR-042). */
		if (conn->chan)
			dofi_chan_detach(conn);
		break;
	case DOFI_CONN_LINKING:
		dofi_conn_end(conn,
			      conn->active ? while_connecting
					   : DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
			      DAT_DTO_ERR_FLUSHED, DOFI_REASON_NONE);
		break;
	case DOFI_CONN_UP:
		if (conn->ud)
			dofi_ud_peer_gone(conn);
		else if (orderly)
			dofi_conn_end(conn, DAT_CONNECTION_EVENT_DISCONNECTED, DAT_DTO_ERR_FLUSHED,
				      DOFI_REASON_NONE);
		else
			dofi_conn_end(conn, DAT_CONNECTION_EVENT_BROKEN, DAT_DTO_ERR_TRANSPORT,
				      DOFI_REASON_ERROR);
		break;
	case DOFI_CONN_OVER:
		break;
	}
}

/*
 * A message that its peer sent is missing, and may be one that did not fit: the other peers'
 * answers will tell. ep->lock held.
 */
static bool may_be_to_blame(const struct dofi_ep *ep, uint32_t sent)
{
	return ep->srq && ep->srq->truncated && ep->nreceived != sent;
}

/* Nothing more will come on the data path: how the connection ended. */
static void last_word(struct dofi_conn *conn)
{
	lost(conn, conn->bye == DOFI_REASON_DISCONNECT, 0);
}

/* --- how long the accepting side waits for the data path --- */

/* At most: the request or the greeting comes, the fabric's word, the peer's. */
#define STEPS_OF_ONE 3

static uint64_t handshake_ns(const struct dofi_ia *ia)
{
	return ia->params.handshake_ms * 1000000u;
}

void dofi_conn_enter(struct dofi_conn *conn, enum dofi_conn_phase phase)
{
	struct dofi_cm *cm = &conn->ia->cm;

	cm->nlinking -= conn->phase == DOFI_CONN_LINKING;
	cm->nlinking += phase == DOFI_CONN_LINKING;
	conn->phase = phase;
}

void dofi_conn_proceeds(struct dofi_conn *conn)
{
	struct dofi_cm *cm = &conn->ia->cm;

	if (conn->phase != DOFI_CONN_LINKING)
		return;
	cm->steps++;
	cm->last_step = dofi_now();
}

/*
 * The fabric makes one connection after the other, and in a burst it may be long before it comes to
 * this one: so the limit counts from the last step that it made with any. But what never comes is
 * not kept for ever by the others' steps: when its time is over for the first time, those that wait
 * with it may all be made before it, and no more.
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

static void handshake_timeout(struct dofi_conn *conn)
{
	if (begins_anew(conn))
		return;
	DOFI_LOG_I("%s: giving up a connection that was accepted, its data path did not come up in "
		   "time",
		   conn->ia->name);
	/* Not every fabric tells the peer. */
	dofi_conn_end(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, DAT_DTO_ERR_FLUSHED,
		      DOFI_REASON_ERROR);
}

static void conn_timeout(struct dofi_timer *timer)
{
	struct dofi_conn *conn = DOFI_CONTAINER(timer, struct dofi_conn, timer);

	if (conn->phase == DOFI_CONN_OVER) {
		dofi_conn_part(conn);
	} else if (conn->phase == DOFI_CONN_DIALING && conn->redial.until) {
		/* that nobody listens was known before */
		lost(conn, true, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	} else if (conn->active && conn->phase != DOFI_CONN_UP) {
		DOFI_COUNT_SHARED(conn->ia, IA_CM_ERR_TIMEOUT);
		dofi_conn_end(conn, DAT_CONNECTION_EVENT_TIMED_OUT, DAT_DTO_ERR_FLUSHED,
			      DOFI_REASON_DISCONNECT);
	} else if (conn->phase == DOFI_CONN_LINKING && !conn->path_lost) {
		handshake_timeout(conn);
	} else {
		last_word(conn);
	}
}

/* --- active side --- */

static void dial(struct dofi_conn *conn)
{
	uint16_t port;
	int ret;

	conn->phase = DOFI_CONN_DIALING;
	if (!dofi_redial_next(conn, &port)) {
		if (!dofi_redial_later(conn))
			lost(conn, true, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		return;
	}
	ret = dofi_chan_dial(conn, (struct sockaddr *)&conn->remote, port);
	if (ret)
		dofi_conn_dial_failed(conn, ret);
}

void dofi_conn_dial_again(struct dofi_conn *conn)
{
	dial(conn);
}

/* What the EP tells of the connection that it dials. */
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
	struct dofi_conn *conn = conn_new(ep->obj.ia, true);

	if (!conn)
		return -ENOMEM;
	memcpy(&conn->remote, remote, size);
	conn->conn_qual = conn_qual;
	conn->port_qual = conn->id;
	conn->ud = ep->ud;
	set_private(conn, private_data, private_size);
	conn->deadline = deadline;
	if (deadline != DOFI_FOREVER)
		dofi_timer_set(conn->ia, &conn->timer, deadline);

	DOFI_COUNT(ep, EP_CONNECT, 1);
	if (conn->ud)
		dofi_ud_adopt(ep, conn);
	else
		set_dialling(ep, conn);
	dial(conn);
	return 0;
}

void dofi_conn_dial_failed(struct dofi_conn *conn, int err)
{
	if (conn->ending)
		return;
	switch (-err) {
	case ECONNREFUSED:
		DOFI_COUNT_SHARED(conn->ia, IA_CM_ERR_REFUSED);
		dofi_redial_refused(conn);
		/* fall through */
	case ECONNRESET:
	case EPROTO: /* somebody else's service sits on that port */
		conn->candidate++;
		conn->redialled = false;
		dial(conn);
		break;
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
	case ENETDOWN:
	case EADDRNOTAVAIL:
	case EACCES:
	case EINVAL:
	case ETIMEDOUT:
		lost(conn, true, DAT_CONNECTION_EVENT_UNREACHABLE);
		break;
	default:
		DOFI_LOG_W("%s: can't open a control channel for a connection: %s%s",
			   conn->ia->name, strerror(-err),
			   err == -EMFILE ? "; allow the process more files (ulimit -n)" : "");
		lost(conn, true, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	}
}

void dofi_conn_chan_up(struct dofi_conn *conn)
{
	struct dofi_msg msg = {
		.type = DOFI_MSG_REQUEST,
		.conn_qual = conn->conn_qual,
		.port_qual = conn->port_qual,
		.private_data = conn->private_data,
		.private_size = conn->private_size,
	};

	if (conn->ending)
		return;
	conn->phase = DOFI_CONN_REQUESTED;
	describe(conn, &msg);
	dofi_conn_send(conn, &msg);
	if (conn->ia->trans->prepare)
		conn->ia->trans->prepare(conn);
}

static void on_accept(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	int ret;

	if (!conn->active || conn->phase != DOFI_CONN_REQUESTED)
		return;
	learn(conn, msg);
	conn->token = msg->token;
	set_private(conn, msg->private_data, msg->private_size);
	dofi_conn_enter(conn, DOFI_CONN_LINKING);
	/* A peer of an earlier version has connected an EP of its own. */
	if (conn->ud != !!(msg->flags & DOFI_MSG_F_UD)) {
		dofi_conn_end(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, DAT_DTO_ERR_FLUSHED,
			      DOFI_REASON_ERROR);
		return;
	}
	ret = conn->ia->trans->connect(conn);
	if (ret) {
		char limit[DOFI_MR_LIMIT_SIZE];

		DOFI_LOG_W("%s: can't connect the data path: %s%s", conn->ia->name,
			   fi_strerror(-ret), ret == -FI_ENOMEM ? dofi_mr_limit(limit) : "");
		dofi_conn_end(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, DAT_DTO_ERR_FLUSHED,
			      DOFI_REASON_ERROR);
	}
}

static void on_reject(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	if (!conn->active || conn->phase != DOFI_CONN_REQUESTED || conn->ending)
		return;
	if (msg->reason == DOFI_REASON_NOT_MINE) {
		/*
		 * A shared channel may lead to a process that has given this conn_qual up: ask the
		 * port itself once.
		 */
		conn->ia->trans->disconnect(conn);
		dofi_chan_detach(conn);
		dofi_redial_refused(conn);
		if (conn->redialled)
			conn->candidate++;
		conn->redialled = !conn->redialled;
		dial(conn);
		return;
	}
	if (msg->reason == DOFI_REASON_CONSUMER) {
		conn->end_private =
			msg->private_size < DOFI_MAX_PRIVATE ? msg->private_size : DOFI_MAX_PRIVATE;
		if (conn->end_private)
			memcpy(conn->ep->private_data, msg->private_data, conn->end_private);
		lost(conn, true, DAT_CONNECTION_EVENT_PEER_REJECTED);
		return;
	}
	lost(conn, true, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* --- passive side --- */

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

static void on_request(struct dofi_chan *chan, const struct dofi_msg *msg)
{
	struct dofi_conn *conn;
	enum dofi_reason reason;

	if (request_known(chan, msg->src))
		return;
	conn = conn_new(chan->ia, false);
	if (!conn) {
		struct dofi_msg no = {.type = DOFI_MSG_REJECT,
				      .reason = DOFI_REASON_RESOURCES,
				      .dst = msg->src};

		dofi_chan_send(chan, &no);
		return;
	}
	learn(conn, msg);
	conn->conn_qual = msg->conn_qual;
	conn->port_qual = msg->port_qual;
	set_private(conn, msg->private_data, msg->private_size);
	conn->chan = chan;
	dofi_list_add_tail(&chan->conns, &conn->link);
	conn->phase = DOFI_CONN_OFFERED;
	conn->ud = msg->flags & DOFI_MSG_F_UD;
	reason = dofi_sp_offer(conn, (struct sockaddr *)&chan->peer.addr);
	if (reason != DOFI_REASON_NONE)
		dofi_conn_reject(conn, reason, NULL, 0);
}

void dofi_conn_reject(struct dofi_conn *conn, enum dofi_reason reason, const void *private_data,
		      uint32_t private_size)
{
	struct dofi_msg msg = {
		.type = DOFI_MSG_REJECT,
		.reason = (uint8_t)reason,
		.private_data = private_data,
		.private_size = private_size,
	};

	dofi_conn_send(conn, &msg);
	dofi_conn_free(conn);
}

static void set_accepted(struct dofi_ep *ep, struct dofi_conn *conn)
{
	dofi_lock(&ep->lock);
	conn->ep = ep;
	ep->conn = conn;
	ep->remote_qual = conn->port_qual;
	ep->local_qual = conn->conn_qual;
	ep->dialled = false;
	if (conn->chan)
		ep->remote_addr = conn->chan->peer.addr;
	dofi_ep_enter_state(ep, DAT_EP_STATE_COMPLETION_PENDING);
	dofi_unlock(&ep->lock);
}

int dofi_conn_accept(struct dofi_conn *conn, struct dofi_ep *ep, const void *private_data,
		     uint32_t private_size)
{
	struct dofi_msg msg = {.type = DOFI_MSG_ACCEPT,
			       .private_data = private_data,
			       .private_size = private_size};
	uint32_t nonce;
	int ret;

	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		return -errno;
	conn->token = (uint64_t)nonce << 32 | conn->id;
	conn->cr = NULL;
	if (conn->ud)
		dofi_ud_adopt(ep, conn);
	else
		set_accepted(ep, conn);
	dofi_conn_enter(conn, DOFI_CONN_LINKING);
	if (!conn->chan) {
		lost(conn, true, 0); /* the connector left while the CR was undecided */
		return 0;
	}
	dofi_timer_set(conn->ia, &conn->timer, dofi_now() + handshake_ns(conn->ia));
	ret = conn->ia->trans->expect(conn);
	if (ret) {
		dofi_conn_end(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
			      DAT_DTO_ERR_FLUSHED, DOFI_REASON_ERROR);
		return 0;
	}
	describe(conn, &msg);
	msg.token = conn->token;
	dofi_conn_send(conn, &msg);
	return 0;
}

/* --- the data path --- */

void dofi_conn_path_made(struct dofi_conn *conn)
{
	const struct dofi_hello *hello = &conn->chan->peer;
	struct dofi_ep *ep = conn->ep;
	uint32_t ours = (uint32_t)ep->attr.max_rdma_read_out;

	dofi_lock(&ep->lock);
	ep->peer = (struct dofi_peer_ep){
		.ctxtab_key = hello->ctxtab_key,
		.ctxtab_address = hello->ctxtab_address,
		.ctxtab_entries = hello->ctxtab_entries,
		.pz = conn->peer_pz,
		.number = conn->peer_id,
		.sink_key = hello->sink_key,
		.sink_address = hello->sink_address,
		.wants_data = conn->peer_flags & DOFI_MSG_F_DATA,
		.credits = conn->peer_flags & DOFI_MSG_F_CREDITS,
		.wants_solicited = conn->peer_flags & DOFI_MSG_F_SOLICITED,
		.ctrl_context = conn->peer_slots,
		.ctrl_msgs = conn->peer_flags & DOFI_MSG_F_CTRL_MSGS,
		.atomics = conn->peer_flags & DOFI_MSG_F_ATOMICS,
	};
	ep->conn_id = conn->id;
	if (conn->ia->credits == DOFI_CREDITS_WRITTEN &&
	    (conn->peer_flags & DOFI_MSG_F_CREDIT_WORD)) {
		ep->peer.credits = ep->peer.has_credit_word = true;
		ep->peer.sink_address += conn->peer_slots * sizeof(struct dofi_credit_words);
	}
	dofi_ctrl_reset(ep);
	ep->read_limit = ours < conn->peer_read_in ? ours : conn->peer_read_in;
	if (!ep->read_limit)
		ep->read_limit =
			1; /* a program that said 0 and reads all the same is served, slowly */
	memset(ep->rcache, 0, DOFI_RCACHE_SIZE * sizeof(*ep->rcache));
	ep->reads = ep->writes = ep->nsent = 0;
	ep->credit_total = conn->peer_credit_total;
	ep->dirty = ep->peeking = ep->faulty = ep->refused = ep->ending_soon = ep->unfenced = false;
	ep->fep = conn->fep ? conn->fep : conn->ia->shared_ep;
	ep->dest = conn->dest;
	conn->path_made = true;
	ep->path_up = true;
	dofi_ep_issue(ep);
	dofi_unlock(&ep->lock);
	dofi_wait_kick(conn->ia); /* a sleeping driver doesn't watch the new endpoint yet */
}

/* Both lock orders are right here: engine.lock and ep->lock are held. */
void dofi_conn_established(struct dofi_ep *ep)
{
	struct dofi_conn *conn = ep->conn;

	dofi_assert_held(&ep->lock);
	if (!conn || conn->phase != DOFI_CONN_LINKING || conn->ending)
		return;
	dofi_conn_proceeds(conn);
	dofi_conn_enter(conn, DOFI_CONN_UP);
	conn->established = true;
	dofi_timer_cancel(conn->ia, &conn->timer);
	dofi_ep_enter_state(ep, DAT_EP_STATE_CONNECTED);
	dofi_credit_open(ep);
	if (conn->active) {
		if (conn->private_size)
			memcpy(ep->private_data, conn->private_data, conn->private_size);
		DOFI_COUNT_SHARED(conn->ia, IA_CM_ACTIVE_EST);
		tell_simple(conn, DOFI_MSG_READY, DOFI_REASON_NONE);
		dofi_conn_event(ep, DAT_CONNECTION_EVENT_ESTABLISHED, conn->private_size);
	} else {
		DOFI_COUNT_SHARED(conn->ia, IA_CM_PASSIVE_EST);
		dofi_conn_event(ep, DAT_CONNECTION_EVENT_ESTABLISHED, 0);
	}
	dofi_ep_check_marks(ep, dofi_ring_count(&ep->recv));
}

static void establish_when_complete(struct dofi_conn *conn)
{
	/*
	 * The peer's READY says that the path is up, even where the fabric's own event was not read
	 * yet.
	 */
	if (conn->ending || (conn->active ? !conn->path_up : !conn->ready || !conn->path_made))
		return;
	if (conn->ud) {
		if (conn->phase == DOFI_CONN_LINKING)
			dofi_ud_established(conn);
		return;
	}
	dofi_lock(&conn->ep->lock);
	dofi_conn_established(conn->ep);
	dofi_unlock(&conn->ep->lock);
}

void dofi_conn_path_up(struct dofi_conn *conn)
{
	conn->path_up = true;
	dofi_conn_proceeds(conn);
	dofi_wait_kick(conn->ia); /* as above: some fabrics add the descriptor only now */
	establish_when_complete(conn);
}

void dofi_conn_path_down(struct dofi_conn *conn, int err)
{
	bool wait;

	conn->path_lost |= conn->phase == DOFI_CONN_OVER;
	if (conn->ending || conn->phase == DOFI_CONN_OVER)
		return;
	/*
	 * A passive end whose READY lies unread in the control channel waits for the last word,
	 * too.
	 */
	if (conn->phase != DOFI_CONN_UP && (conn->active || !conn->path_up)) {
		if (err)
			DOFI_LOG_I("%s: the peer or the fabric refused the data path: %s",
				   conn->ia->name, fi_strerror(err));
		lost(conn, true, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		return;
	}
	/* Disconnected or broken? The control channel knows. */
	conn->path_lost = true;
	dofi_lock(&conn->ep->lock);
	conn->ep->path_up = false;
	wait = !conn->bye || may_be_to_blame(conn->ep, conn->peer_sent);
	dofi_unlock(&conn->ep->lock);
	if (!wait)
		last_word(conn);
	else
		dofi_timer_set(conn->ia, &conn->timer, dofi_now() + LAST_WORD_NS);
}

/* --- disconnecting --- */

/* What is under way at the end has to be known of as it completes. */
static void watch(struct dofi_conn *conn)
{
	if (!conn->watched)
		dofi_wait_watch(conn->ia);
	conn->watched = true;
}

static void send_disconnect(struct dofi_conn *conn, const struct dofi_ep *ep)
{
	struct dofi_msg msg = {.type = DOFI_MSG_DISCONNECT, .data = ep->nreceived};

	conn->said_no_recv = !ep->srq && dofi_ring_count(&ep->recv) == 0;
	if (conn->said_no_recv)
		msg.flags = DOFI_MSG_F_NO_RECV;
	dofi_conn_send(conn, &msg);
}

/* Both ends leave, and the peer will never take what we sent: nothing to wait for (EPS-085). */
static bool stuck(const struct dofi_conn *conn, const struct dofi_ep *ep)
{
	return conn->peer_no_recv && (ep->nsent != conn->peer_received || dofi_ep_starves(ep));
}

void dofi_conn_drained(struct dofi_ep *ep)
{
	struct dofi_conn *conn = ep->conn;

	dofi_assert_held(&ep->lock);
	if (!conn || conn->ending || conn->phase != DOFI_CONN_UP || ep->faulty)
		return; /* what has failed breaks the connection when the engine meets the EP */
	if (!conn->said_no_recv && !ep->srq && dofi_ring_count(&ep->recv) == 0)
		send_disconnect(conn, ep);
	if (stuck(conn, ep)) {
		dofi_conn_end(conn, DAT_CONNECTION_EVENT_DISCONNECTED, DAT_DTO_ERR_FLUSHED,
			      DOFI_REASON_DISCONNECT);
		return;
	}
	if (dofi_ring_count(&ep->req) || ep->peeking || ep->answers_due)
		return;
	if (!ep->dirty)
		dofi_conn_end(conn, DAT_CONNECTION_EVENT_DISCONNECTED, DAT_DTO_ERR_FLUSHED,
			      DOFI_REASON_DISCONNECT);
	else if (dofi_ep_sync(ep))
		ep->dirty = false;
}

void dofi_conn_disconnect(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;

	dofi_lock(&ep->lock);
	dofi_ep_enter_state(ep, DAT_EP_STATE_DISCONNECT_PENDING);
	conn->leaving = true;
	watch(conn);
	send_disconnect(conn, ep);
	dofi_conn_drained(ep);
	dofi_unlock(&ep->lock);
}

static void on_disconnect(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	if (conn->phase != DOFI_CONN_UP)
		return;
	conn->peer_no_recv = msg->flags & DOFI_MSG_F_NO_RECV;
	conn->peer_received = msg->data;
	if (!conn->leaving)
		return;
	dofi_lock(&conn->ep->lock);
	dofi_conn_drained(conn->ep);
	dofi_unlock(&conn->ep->lock);
}

/*
 * The goodbye may overtake data that the peer's completions called sent: these are let in while
 * there is room for them. After the last message the engine meets the EP again.
 */
static bool data_may_follow(struct dofi_conn *conn, uint32_t sent)
{
	struct dofi_ep *ep = conn->ep;
	bool yes;

	if (conn->phase != DOFI_CONN_UP || conn->ud)
		return false;
	dofi_lock(&ep->lock);
	yes = (ep->path_up && ep->nreceived != sent && (ep->srq || dofi_ring_count(&ep->recv))) ||
	      may_be_to_blame(ep, sent);
	ep->ending_soon = yes;
	ep->last_message = sent;
	dofi_unlock(&ep->lock);
	return yes;
}

void dofi_conn_last_message(struct dofi_conn *conn)
{
	if (conn->bye && !conn->ending)
		last_word(conn);
}

static void on_bye(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	/*
	 * The peer sends no datagrams by it any more, and may close the channel. What is sent to it
	 * is another matter.
	 */
	if (conn->ud && conn->phase == DOFI_CONN_UP) {
		dofi_chan_detach(conn);
		return;
	}
	if (data_may_follow(conn, msg->data)) {
		conn->bye = msg->reason;
		watch(conn);
		dofi_timer_set(conn->ia, &conn->timer, dofi_now() + LAST_WORD_NS);
		return;
	}
	lost(conn, msg->reason == DOFI_REASON_DISCONNECT, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* --- messages in --- */

static struct dofi_conn *addressee(struct dofi_chan *chan, const struct dofi_msg *msg)
{
	struct dofi_conn *conn = dofi_conn_by_id(chan->ia, msg->dst);

	if (conn)
		return conn->chan == chan ? conn : NULL;
	/*
	 * A request that is cancelled before it was answered: the connector does not know our id
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

/* Too late: the accepting side must not wait for a connector that has given up. */
static void decline(struct dofi_chan *chan, const struct dofi_msg *accept)
{
	const struct dofi_msg msg = {.type = DOFI_MSG_CANCEL,
				     .dst = accept->src,
				     .src = accept->dst};

	dofi_chan_send(chan, &msg);
}

/* The others are about an EP that is connected. */
static bool concerns_datagrams(const struct dofi_msg *msg)
{
	return msg->type == DOFI_MSG_ACCEPT || msg->type == DOFI_MSG_REJECT ||
	       msg->type == DOFI_MSG_READY || msg->type == DOFI_MSG_CANCEL ||
	       msg->type == DOFI_MSG_BYE;
}

void dofi_conn_message(struct dofi_chan *chan, const struct dofi_msg *msg)
{
	struct dofi_conn *conn;

	count_message(chan->ia, msg, false);
	chan->silent = false;
	if (msg->type == DOFI_MSG_REQUEST) {
		on_request(chan, msg);
		return;
	}
	conn = addressee(chan, msg);
	if (!conn && msg->type == DOFI_MSG_ACCEPT)
		decline(chan, msg);
	if (!conn && msg->type == DOFI_MSG_BYE && chan->ia->trans->settle)
		chan->ia->trans->settle(chan->ia, msg->dst, msg->data);
	if (conn && msg->type == DOFI_MSG_BYE) {
		/*
		 * What made the peer say so may have come since the queue was read: a message that
		 * is too long for its SRQ's buffer.
		 */
		if (conn->ep && conn->ep->srq && chan->ia->engine.has_fabric)
			dofi_engine_drain_cq(chan->ia);
		conn->peer_told = true;
		conn->peer_sent = msg->data;
		dofi_truncated_on_count(conn, msg);
	}
	if (!conn || conn->ending)
		return; /* late, for a connection that is over */
	if (conn->ud && !concerns_datagrams(msg))
		return;
	switch (msg->type) {
	case DOFI_MSG_ACCEPT:
		on_accept(conn, msg);
		break;
	case DOFI_MSG_REJECT:
		on_reject(conn, msg);
		break;
	case DOFI_MSG_READY:
		if (conn->phase == DOFI_CONN_LINKING && !conn->active) {
			conn->ready = true;
			establish_when_complete(conn);
		}
		break;
	case DOFI_MSG_DISCONNECT:
		on_disconnect(conn, msg);
		break;
	case DOFI_MSG_COUNT:
		dofi_truncated_on_count_request(conn, msg);
		break;
	case DOFI_MSG_COUNTED:
		dofi_truncated_on_count(conn, msg);
		break;
	case DOFI_MSG_CANCEL:
	case DOFI_MSG_BYE:
		on_bye(conn, msg);
		break;
	default:
		DOFI_LOG_D("%s: a control message of type %u concerns no connection and is ignored",
			   chan->ia->name, msg->type);
	}
}

void dofi_conn_chan_lost(struct dofi_conn *conn, bool orderly)
{
	lost(conn, orderly, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}
