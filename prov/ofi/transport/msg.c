/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connected endpoints of the fabric (FI_EP_MSG): one fid_ep per connection, made anew for each. */
#include "base/addr.h"
#include "cm/accept.h"
#include "cm/conn.h"
#include "cm/conn_end.h"
#include "cm/path.h"
#include "dto/credit.h"
#include "fabric/eqs.h"
#include "fabric/error.h"
#include "fabric/port_reservation.h"
#include "object/ia.h"
#include "object/mr.h"
#include "base/log.h"
#include "dto/control.h"
#include "fabric/quirks.h"
#include "dto/rma.h"
#include "fabric/select.h"
#include "object/transport.h"
#include "cm/channel.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "progress/cqs.h"
#include "progress/engine.h"
#include "progress/wait.h"
#include "object/srq_count.h"
#include "dto/reap.h"

#include <endian.h>
#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <string.h>

/* --- passive endpoint: one per IA, on a port that the HELLO tells --- */

static int listen_anywhere(struct dofi_ia *ia, void *name, size_t *size_p)
{
	int ret = fi_passive_ep(ia->fabric, ia->info, &ia->pep, ia);

	if (ret)
		return ret;
	ret = fi_pep_bind(ia->pep, &dofi_eqs_of_listener(&ia->eqs)->fid, 0);
	if (!ret)
		ret = fi_listen(ia->pep);
	if (!ret)
		ret = fi_getname(&ia->pep->fid, name, size_p);
	if (ret) {
		fi_close(&ia->pep->fid);
		ia->pep = NULL;
	}
	return ret;
}

/*
 * Ports of iWARP are those of TCP, and librdmacm chooses one without looking who has it there: by
 * chance it is that of somebody's connection.
 */
#define PORT_TRIES 32

static int msg_open(struct dofi_ia *ia, void *name, size_t *size_p)
{
	int tries = PORT_TRIES, ret;

	do
		ret = listen_anywhere(ia, name, size_p);
	while (ret == -FI_EADDRINUSE && --tries);
	return ret;
}

static void msg_close(struct dofi_ia *ia)
{
	if (ia->pep)
		fi_close(&ia->pep->fid);
	ia->pep = NULL;
}

/* --- connections --- */

/*
 * The endpoint's context is the connection's id and not its address: an event may still come for an
 * endpoint whose connection is gone.
 */
static void *id_context(const struct dofi_conn *conn)
{
	return (void *)(uintptr_t)conn->id;
}

static struct dofi_conn *conn_of(struct dofi_ia *ia, struct fid *fid)
{
	struct dofi_conn *conn =
		fid ? dofi_conn_by_id(ia, (uint32_t)(uintptr_t)fid->context) : NULL;

	return conn && conn->fep && &conn->fep->fid == fid ? conn : NULL;
}

/*
 * Besides what the program posts: a read of the peer's table, a credit update, the parts of
 * requests.
 */
static size_t most_requests(const struct dofi_ep *ep)
{
	size_t credits = ep->obj.ia->credits == DOFI_CREDITS_WRITTEN;

	return ep->req.limit + 1 + credits + (ep->parts.base ? ep->parts.limit : 0);
}

/*
 * A device makes queues as long as is asked for, clears and maps them with each connection;
 * libfabric's own wish is hundreds. What the EP can have under way is enough.
 */
static void shorten_queues(const struct dofi_ep *ep, struct fi_info *info)
{
	size_t receives = ep->recv.limit ? ep->recv.limit : 1;

	if (info->tx_attr->size > most_requests(ep))
		info->tx_attr->size = most_requests(ep);
	if (info->rx_attr->size > receives)
		info->rx_attr->size = receives;
}

static void close_endpoint(struct dofi_conn *conn, struct fid_ep *fep)
{
	dofi_port_release(&conn->reserved_port);
	fi_close(&fep->fid);
	dofi_cqs_give(conn->ia, conn->cq, conn->cq_entries);
}

static int bind_endpoint(struct dofi_conn *conn, struct fid_ep *fep)
{
	struct dofi_srq *srq = conn->ep->srq;
	struct dofi_ia *ia = conn->ia;
	int ret = fi_ep_bind(fep, &dofi_eqs_of_endpoints(&ia->eqs)->fid, 0);

	if (!ret && srq)
		ret = fi_ep_bind(fep, &srq->srx->fid, 0);
	if (!ret)
		ret = fi_ep_bind(fep, &ia->cqs.list[conn->cq].fid->fid, FI_TRANSMIT | FI_RECV);
	return ret ? ret : fi_enable(fep);
}

/*
 * On failure it is closed; *fep_p is NULL when there was none. The passive side's request is the
 * endpoint's from fi_endpoint on.
 */
static int make_endpoint(struct dofi_conn *conn, struct fi_info *info, struct fid_ep **fep_p)
{
	bool queues = conn->ia->quirks & DOFI_QUIRK_QUEUE_PAIRS;
	int ret;

	if (queues)
		shorten_queues(conn->ep, info);
	if (conn->ep->srq)
		info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	conn->cq_entries = queues ? info->tx_attr->size + info->rx_attr->size : 0;
	ret = fi_endpoint(conn->ia->domain, info, fep_p, id_context(conn));
	if (ret) {
		*fep_p = NULL;
		return ret;
	}
	conn->cq = dofi_cqs_take(conn->ia, conn->cq_entries);
	ret = bind_endpoint(conn, *fep_p);
	if (ret)
		close_endpoint(conn, *fep_p);
	return ret;
}

/* From here on the endpoint is the connection's. */
static void use_endpoint(struct dofi_conn *conn, struct fid_ep *fep)
{
	conn->fep = fep;
	dofi_conn_path_made(conn);
}

/* The IA's description with the peer's address; the fabric copies what it keeps. */
struct target {
	struct fi_info info;
	struct fi_ep_attr ep;
	struct fi_tx_attr tx;
	struct fi_rx_attr rx;
	struct sockaddr_storage src;
};

static void aim_at_peer(struct target *to, struct dofi_conn *conn)
{
	struct dofi_details *peer = &conn->chan->peer;
	const struct fi_info *info = conn->ia->info;

	*to = (struct target){.info = *info,
			      .ep = *info->ep_attr,
			      .tx = *info->tx_attr,
			      .rx = *info->rx_attr};
	to->info.next = NULL;
	to->info.ep_attr = &to->ep;
	to->info.tx_attr = &to->tx;
	to->info.rx_attr = &to->rx;
	to->info.dest_addr = peer->fabric_name;
	to->info.dest_addrlen = peer->fabric_name_size;
}

/*
 * Libfabric 1.17 tells nobody that the port which librdmacm has chosen for a connection was taken,
 * so TCP chooses it here. It may be that of another connection of librdmacm's, which says so.
 */
static void choose_port(struct target *to, struct dofi_conn *conn)
{
	size_t size = to->info.src_addrlen;

	if (!to->info.src_addr || size > sizeof(to->src))
		return;
	memcpy(&to->src, to->info.src_addr, size);
	to->info.src_addr = &to->src;
	conn->reserved_port = dofi_port_hold((struct sockaddr *)&to->src, size);
}

static int make_active_endpoint(struct dofi_conn *conn, struct fid_ep **fep_p)
{
	struct target to;
	int ret;

	aim_at_peer(&to, conn);
	if (conn->ia->quirks & DOFI_QUIRK_TCP_PORTS)
		choose_port(&to, conn);
	ret = make_endpoint(conn, &to.info, fep_p);
	if (ret)
		dofi_port_release(&conn->reserved_port);
	return ret;
}

/*
 * The device is asked for its queues while the peer decides. What fails here fails again when it is
 * needed, and is reported then.
 */
static void msg_prepare(struct dofi_conn *conn)
{
	uint64_t quirks = conn->ia->quirks;
	struct fid_ep *fep;

	dofi_assert_held(&conn->ia->engine.lock);
	if (quirks & DOFI_QUIRK_QUEUE_PAIRS && !(quirks & DOFI_QUIRK_TCP_PORTS) &&
	    !make_active_endpoint(conn, &fep))
		conn->spare = fep;
}

static int connect_endpoint(struct dofi_conn *conn)
{
	struct fid_ep *fep = conn->spare;
	int ret = fep ? 0 : make_active_endpoint(conn, &fep);

	conn->spare = NULL;
	if (ret)
		return ret;
	ret = fi_connect(fep, conn->chan->peer.fabric_name, conn->peer_token,
			 sizeof(conn->peer_token));
	if (ret)
		close_endpoint(conn, fep);
	else
		use_endpoint(conn, fep); /* nothing goes out before we read events */
	return ret;
}

static int msg_connect(struct dofi_conn *conn)
{
	int tries = conn->ia->quirks & DOFI_QUIRK_TCP_PORTS ? PORT_TRIES : 1, ret;

	dofi_assert_held(&conn->ia->engine.lock);
	do
		ret = connect_endpoint(conn);
	while ((ret == -FI_EADDRINUSE || ret == -FI_EADDRNOTAVAIL) && --tries);
	return ret;
}

static int msg_expect(struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	/*
	 * The passive endpoint listens all the time; the token finds the connection. A driver may
	 * have to look by the clock.
	 */
	if (dofi_eqs_fd(&conn->ia->eqs) < 0)
		dofi_wait_kick(conn->ia);
	return 0;
}

static void msg_disconnect(struct dofi_conn *conn)
{
	struct fid_ep *fep = conn->fep;

	dofi_assert_held(&conn->ia->engine.lock);
	if (conn->spare)
		close_endpoint(conn, conn->spare);
	conn->spare = NULL;
	if (!fep)
		return;
	conn->fep = NULL;
	/*
	 * The fabric gives back what it holds when the connection is shut down, at the latest when
	 * the endpoint is closed.
	 */
	if (!(conn->ia->quirks & DOFI_QUIRK_FOREIGN_FD))
		fi_shutdown(fep, 0);
	dofi_engine_drain_cq(conn->ia);
	close_endpoint(conn, fep);
	dofi_engine_drain_cq(conn->ia);
}

/* --- events --- */

static void on_connreq(struct dofi_ia *ia, const struct fi_eq_cm_entry *entry, size_t data_size)
{
	struct dofi_conn *conn = NULL;
	struct fid_ep *fep;
	int ret;

	if (data_size >= DOFI_TOKEN_SIZE)
		conn = dofi_conn_by_token(ia, entry->data);
	if (!conn || conn->fep) {
		DOFI_COUNT_SHARED(ia, IA_DATA_STRAY);
		DOFI_LOG_I("%s: a data connection was refused: its token is not one that was "
			   "given out, or too old",
			   ia->name);
		fi_reject(ia->pep, entry->info->handle, NULL, 0);
		fi_freeinfo(entry->info);
		return;
	}
	ret = make_endpoint(conn, entry->info, &fep);
	if (!fep)
		fi_reject(ia->pep, entry->info->handle, NULL, 0);
	if (!ret) {
		use_endpoint(conn, fep);
		ret = fi_accept(fep, NULL, 0);
	}
	if (!ret)
		dofi_conn_proceeds(conn);
	fi_freeinfo(entry->info);
	if (ret) {
		char limit[DOFI_MR_LIMIT_SIZE];

		DOFI_LOG_W("%s: can't accept the data connection: %s%s", ia->name,
			   fi_strerror(-ret), ret == -FI_ENOMEM ? dofi_mr_limit(limit) : "");
		/* The fabric need not tell the peer that its request is gone. */
		dofi_conn_end(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
			      DAT_DTO_ERR_FLUSHED, DOFI_REASON_ERROR);
	}
}

static void on_error(struct dofi_ia *ia, const struct fi_eq_err_entry *err)
{
	struct dofi_conn *conn = conn_of(ia, err->fid);

	if (conn)
		dofi_conn_path_down(conn, err->err ? err->err : FI_EOTHER);
}

static void on_event(struct dofi_ia *ia, const struct dofi_eq_event *event)
{
	struct dofi_conn *conn;

	if (event->is_error) {
		on_error(ia, &event->error);
		return;
	}
	if (event->number == FI_CONNREQ) {
		on_connreq(ia, &event->entry, event->data_size);
		return;
	}
	conn = conn_of(ia, event->entry.fid);
	if (!conn)
		return;
	if (event->number == FI_CONNECTED) {
		dofi_port_release(&conn->reserved_port);
		dofi_conn_path_up(conn);
	} else if (event->number == FI_SHUTDOWN) {
		dofi_conn_path_down(conn, 0);
	}
}

static int msg_poll_events(struct dofi_ia *ia)
{
	struct dofi_eq_event event;
	int n = 0;

	dofi_assert_held(&ia->engine.lock);
	for (; n < 64 && dofi_eqs_read(&ia->eqs, &event); n++)
		on_event(ia, &event);
	return n;
}

/* --- completions --- */

/*
 * Completion data names the connection at its receiver, for SRQs and for credits, and carries the
 * credit updates. Where the fabric has but 4 bytes of it they carry no credits, and one bit is left
 * for the credit updates.
 */
#define SHORT_DATA 4u

static uint64_t encode(const struct dofi_ep *ep, uint32_t update)
{
	if (ep->obj.ia->info->domain_attr->cq_data_size <= SHORT_DATA)
		return (uint64_t)ep->peer.number << 1 | (update & DOFI_UPDATE_SOLICITED);
	return (uint64_t)ep->peer.number << 32 | update;
}

static void decode(const struct dofi_ia *ia, uint64_t data, uint32_t *number_p, uint32_t *update_p)
{
	if (ia->info->domain_attr->cq_data_size <= SHORT_DATA) {
		*number_p = (uint32_t)data >> 1;
		*update_p = data & DOFI_UPDATE_SOLICITED;
	} else {
		*number_p = (uint32_t)(data >> 32);
		*update_p = (uint32_t)data;
	}
}

/*
 * A peer's write took this receive: its immediate data are noted about it, as if a control record
 * had gone before.
 */
DOFI_SLOW_PATH static void immediate_arrived(const struct fi_cq_data_entry *entry)
{
	struct dofi_wr *wr = entry->op_context;

	dofi_lock(&wr->ep->lock);
	wr->ep->ctrl = (struct dofi_ctrl){DOFI_CTRL_IMMEDIATE, (uint32_t)entry->data,
					  (uint32_t)entry->len};
	dofi_unlock(&wr->ep->lock);
	dofi_reap_done(wr, 0, entry->len, 0, 0);
}

DOFI_INLINE void complete(struct dofi_ia *ia, const struct fi_cq_data_entry *entry)
{
	const struct dofi_wr *wr = entry->op_context;
	uint32_t number = 0, update = 0;

	if ((entry->flags & FI_REMOTE_WRITE) && !wr) {
		dofi_ctrl_arrived(ia, entry->data);
		return;
	}
	if ((entry->flags & FI_REMOTE_WRITE) && wr->op == DOFI_OP_RECV) {
		immediate_arrived(entry);
		return;
	}
	if (entry->flags & FI_REMOTE_CQ_DATA)
		decode(ia, entry->data, &number, &update);
	if (entry->op_context)
		dofi_reap_done(entry->op_context, 0, entry->len, number, update);
}

static void msg_completed(struct dofi_ia *ia, const void *entries, ssize_t n)
{
	const struct fi_cq_data_entry *entry = entries;

	dofi_assert_held(&ia->engine.lock);
	do
		complete(ia, entry++);
	while (--n);
}

static void msg_failed(struct dofi_ia *ia, struct fi_cq_err_entry *err)
{
	const struct dofi_wr *wr = err->op_context;
	bool receive = wr && dofi_op_is_receive(wr->op);
	uint32_t number = 0, update = 0;

	dofi_assert_held(&ia->engine.lock);
	err->err = dofi_error_cause(ia->quirks, err, receive);
	if (err->flags & FI_REMOTE_CQ_DATA)
		decode(ia, err->data, &number, &update);
	if (err->op_context)
		dofi_reap_done(err->op_context, err->err, err->len, number, update);
}

/* --- posts --- */

/* A send that needs more than plain arguments. */
DOFI_SLOW_PATH static ssize_t send_message(struct dofi_ep *ep, struct dofi_wr *wr, bool with_data,
					   bool solicited)
{
	uint64_t flags = FI_COMPLETION | (with_data ? FI_REMOTE_CQ_DATA : 0) |
			 (dofi_fenced(ep, wr) ? FI_FENCE : 0);
	uint32_t total = dofi_credit_total(ep);
	struct fi_msg msg = {
		.msg_iov = wr->iov,
		.desc = dofi_wr_desc(&ep->req, wr),
		.iov_count = wr->niov,
		.context = wr,
		.data = encode(ep, dofi_credit_update(ep, solicited)),
	};
	ssize_t ret;

	/* verbs looks at the first descriptor also where there is none. */
	if (wr->niov)
		ret = fi_sendmsg(ep->fep, &msg, flags);
	else
		ret = fi_senddata(ep->fep, NULL, 0, NULL, msg.data, FI_ADDR_UNSPEC, wr);
	if (!ret && with_data)
		ep->announced = total;
	return ret;
}

static bool is_solicited(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return (wr->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG) && ep->peer.wants_solicited &&
	       ep->obj.ia->has_data;
}

static inline ssize_t inject(struct dofi_ep *ep, const void *buf, size_t size, bool with_data,
			     bool solicited)
{
	uint32_t total = dofi_credit_total(ep);
	ssize_t ret;

	if (!with_data)
		return fi_inject(ep->fep, buf, size, FI_ADDR_UNSPEC);
	ret = fi_injectdata(ep->fep, buf, size, encode(ep, dofi_credit_update(ep, solicited)),
			    FI_ADDR_UNSPEC);
	if (!ret)
		ep->announced = total;
	return ret;
}

/* Not plain, or with credit updates for the peer. */
DOFI_SLOW_PATH static ssize_t send_special(struct dofi_ep *ep, struct dofi_wr *wr)
{
	bool solicited = is_solicited(ep, wr),
	     with_data = ep->peer.wants_data || solicited || dofi_credit_due(ep);

	if (dofi_may_inject(ep, wr))
		return dofi_injected(wr, inject(ep, wr->niov ? wr->iov[0].iov_base : NULL,
						wr->length, with_data, solicited));
	if (with_data || dofi_fenced(ep, wr))
		return send_message(ep, wr, with_data, solicited);
	if (wr->niov == 0)
		return fi_send(ep->fep, NULL, 0, NULL, FI_ADDR_UNSPEC, wr);
	return fi_sendv(ep->fep, wr->iov, dofi_wr_desc(&ep->req, wr), wr->niov, FI_ADDR_UNSPEC, wr);
}

static ssize_t msg_send(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct iovec *iov = wr->iov;

	dofi_assert_held(&ep->lock);
	if (DOFI_UNLIKELY(wr->kind != dofi_wr_plain(DOFI_OP_SEND, DOFI_WR_ISSUED) ||
			  ep->peer.wants_data || dofi_credit_due(ep)))
		return send_special(ep, wr);
	if (dofi_may_inject_plain(ep, wr))
		return dofi_injected(wr, fi_inject(ep->fep, iov->iov_base, iov->iov_len,
						   FI_ADDR_UNSPEC));
	return fi_send(ep->fep, iov->iov_base, iov->iov_len, *dofi_wr_desc(&ep->req, wr),
		       FI_ADDR_UNSPEC, wr);
}

static ssize_t msg_send_empty(struct dofi_ep *ep, struct dofi_wr *wr)
{
	bool solicited = is_solicited(ep, wr);

	dofi_assert_held(&ep->lock);
	return inject(ep, NULL, 0, ep->peer.wants_data || solicited, solicited);
}

/*
 * A receive of an SRQ has to learn whose it is; the value is lost then, as it is with InfiniBand's
 * own DAT.
 */
static ssize_t msg_write_immediate(struct dofi_ep *ep, struct dofi_wr *wr, uint32_t value)
{
	dofi_assert_held(&ep->lock);
	return dofi_rma_write_data(ep, wr, ep->peer.wants_data ? encode(ep, 0) : value);
}

DOFI_SLOW_PATH static ssize_t recv_segments(struct dofi_ep *ep, struct dofi_wr *wr)
{
	/*
	 * tcp of libfabric 2.x takes bytes that come for a receive that has room for none as the
	 * end of the connection.
	 */
	if (wr->niov == 0 && !(ep->obj.ia->info->domain_attr->mr_mode & FI_MR_LOCAL))
		return fi_recv(ep->fep, &ep->obj.ia->nowhere, 1, NULL, FI_ADDR_UNSPEC, wr);
	if (wr->niov == 0)
		return fi_recv(ep->fep, NULL, 0, NULL, FI_ADDR_UNSPEC, wr);
	return fi_recvv(ep->fep, wr->iov, dofi_wr_desc(&ep->recv, wr), wr->niov, FI_ADDR_UNSPEC,
			wr);
}

static ssize_t msg_recv(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	if (DOFI_UNLIKELY(wr->niov != 1))
		return recv_segments(ep, wr);
	return fi_recv(ep->fep, wr->iov[0].iov_base, wr->iov[0].iov_len,
		       *dofi_wr_desc(&ep->recv, wr), FI_ADDR_UNSPEC, wr);
}

static ssize_t msg_credit(struct dofi_ep *ep, uint32_t update)
{
	dofi_assert_held(&ep->lock);
	if (dofi_credit_is_written(ep))
		return dofi_credit_write(ep);
	return dofi_rma_ctrl(ep, NULL, 0, ep->peer.sink_address, ep->peer.sink_key,
			     dofi_ctrl_data(ep, DOFI_CTRL_CREDIT, update));
}

/* --- shared receive queues --- */

static int msg_srq_open(struct dofi_srq *srq)
{
	struct dofi_ia *ia = srq->obj.ia;
	const struct fi_rx_attr *own = ia->info->rx_attr;
	struct fi_rx_attr attr = *own;
	int ret;

	/* Devices make the queue as long as is asked for; a post beyond that finds no room. */
	if (attr.size < srq->max_dtos)
		attr.size = srq->max_dtos;
	ret = fi_srx_context(ia->domain, &attr, &srq->srx, srq);
	if (ret != -FI_EINVAL || attr.size == own->size)
		return ret;
	/* Where it can't be that long, what finds no room waits in the SRQ. */
	attr.size = own->size;
	return fi_srx_context(ia->domain, &attr, &srq->srx, srq);
}

static void msg_srq_close(struct dofi_srq *srq)
{
	fi_close(&srq->srx->fid);
	srq->srx = NULL;
}

static ssize_t msg_srq_recv(struct dofi_srq *srq, struct dofi_wr *wr)
{
	void **desc = dofi_wr_desc(&srq->shape, wr);

	dofi_assert_held(&srq->lock);
	if (wr->niov == 1)
		return fi_recv(srq->srx, wr->iov[0].iov_base, wr->iov[0].iov_len, desc[0],
			       FI_ADDR_UNSPEC, wr);
	return fi_recvv(srq->srx, wr->iov, desc, wr->niov, FI_ADDR_UNSPEC, wr);
}

const struct dofi_trans_ops dofi_trans_msg = {
	.name = "msg",
	.id = DOFI_TRANS_MSG,
	.cq_format = FI_CQ_FORMAT_DATA,
	.has_eq = true,
	.cq_has_list = true,
	.open = msg_open,
	.close = msg_close,
	.prepare = msg_prepare,
	.connect = msg_connect,
	.expect = msg_expect,
	.disconnect = msg_disconnect,
	.send = msg_send,
	.recv = msg_recv,
	.read = dofi_rma_read,
	.write = dofi_rma_write,
	.peek = dofi_rma_peek,
	.send_credit = msg_credit,
	.write_data = dofi_rma_write_data,
	.write_immediate = msg_write_immediate,
	.atomic = dofi_rma_atomic,
	.write_ctrl = dofi_rma_ctrl,
	.send_empty = msg_send_empty,
	.srq_open = msg_srq_open,
	.srq_close = msg_srq_close,
	.srq_recv = msg_srq_recv,
	.completed = msg_completed,
	.failed = msg_failed,
	.poll_events = msg_poll_events,
};
