/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/msg_path.h"

#include "cm/accept.h"
#include "cm/conn.h"
#include "cm/conn_end.h"
#include "cm/path.h"
#include "dto/credit.h"
#include "dto/orphan.h"
#include "fabric/eqs.h"
#include "fabric/port_reservation.h"
#include "object/ia.h"
#include "object/mr.h"
#include "base/log.h"
#include "fabric/quirks.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "progress/cqs.h"
#include "progress/engine.h"
#include "progress/wait.h"
#include "object/srq_count.h"
#include "transport/memory.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <string.h>

/* --- passive endpoint: one per IA; DETAILS tell the peer its address --- */

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
 * iWARP shares the ports of TCP. librdmacm chooses one without a check, so a TCP connection may
 * have it.
 */
#define PORT_TRIES 32

int dofi_msg_open(struct dofi_ia *ia, void *name, size_t *size_p)
{
	int tries = PORT_TRIES, ret;

	do
		ret = listen_anywhere(ia, name, size_p);
	while (ret == -FI_EADDRINUSE && --tries);
	return ret;
}

void dofi_msg_close(struct dofi_ia *ia)
{
	if (ia->pep)
		fi_close(&ia->pep->fid);
	ia->pep = NULL;
}

/* --- connections --- */

/*
 * The context of the endpoint is the connection's number, not its address: an event may come for an
 * endpoint whose connection is freed.
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
 * Requests of the program, and of the library: a read of the peer's table, a credit update, parts.
 */
static size_t most_requests(const struct dofi_ep *ep)
{
	size_t credits = ep->obj.ia->credits == DOFI_CREDITS_WRITTEN;

	return ep->req.limit + 1 + credits + (ep->parts.base ? ep->parts.limit : 0);
}

/*
 * A device makes queues of the length that the endpoint asks for, and clears and maps them for each
 * connection. libfabric's default is hundreds of entries. The EP needs as many as it can have
 * operations under way.
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
 * Makes the endpoint of a connection. *fep_p is NULL only if fi_endpoint failed. After a later
 * failure it names the closed endpoint, which had taken over the connection request, so nothing is
 * left to reject.
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

/* The info of the IA with the peer's address. The fabric copies what it keeps. */
struct target {
	struct fi_info info;
	struct fi_ep_attr ep;
	struct fi_tx_attr tx;
	struct fi_rx_attr rx;
	struct sockaddr_storage src;
};

static void set_target(struct target *to, struct dofi_conn *conn)
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
 * libfabric 1.17 does not report that the port which librdmacm has chosen was taken, so the
 * kernel's TCP chooses one here. If another connection of librdmacm uses this port, librdmacm
 * reports it.
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

	set_target(&to, conn);
	if (conn->ia->quirks & DOFI_QUIRK_TCP_PORTS)
		choose_port(&to, conn);
	ret = make_endpoint(conn, &to.info, fep_p);
	if (ret)
		dofi_port_release(&conn->reserved_port);
	return ret;
}

/*
 * Makes the device's queues while the peer decides. A failure is not reported here: it occurs again
 * when the queues are needed.
 */
void dofi_msg_prepare(struct dofi_conn *conn)
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
		use_endpoint(conn, fep); /* no message is sent before events are read */
	return ret;
}

int dofi_msg_connect(struct dofi_conn *conn)
{
	int tries = conn->ia->quirks & DOFI_QUIRK_TCP_PORTS ? PORT_TRIES : 1, ret;

	dofi_assert_held(&conn->ia->engine.lock);
	do
		ret = connect_endpoint(conn);
	while ((ret == -FI_EADDRINUSE || ret == -FI_EADDRNOTAVAIL) && --tries);
	return ret;
}

int dofi_msg_expect(struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	/*
	 * The passive endpoint always listens, and the token identifies the connection. The driver
	 * may have to look at intervals from now on.
	 */
	if (dofi_eqs_fd(&conn->ia->eqs) < 0)
		dofi_wait_kick(conn->ia);
	return 0;
}

/*
 * Without an operation at the fabric, the completion queue has nothing of the EP, and need not be
 * read. Receives of an SRQ are none of the EP's operations, but may have its messages.
 */
static void take_back_operations(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;
	bool has;

	dofi_lock(&ep->lock);
	has = ep->srq || dofi_orphans_outstanding(ep);
	dofi_unlock(&ep->lock);
	if (has)
		dofi_engine_drain_cq(conn->ia);
}

void dofi_msg_disconnect(struct dofi_conn *conn)
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
	 * The fabric returns its operations when the connection is shut down, or at the latest when
	 * the endpoint is closed.
	 */
	if (!(conn->ia->quirks & DOFI_QUIRK_FOREIGN_FD))
		fi_shutdown(fep, 0);
	take_back_operations(conn);
	close_endpoint(conn, fep);
	take_back_operations(conn);
}

/* --- events --- */

static void on_connreq(struct dofi_ia *ia, const struct fi_eq_cm_entry *entry, size_t data_size)
{
	struct dofi_conn *conn = NULL;
	struct fid_ep *fep;
	int ret;

	if (data_size >= DOFI_TOKEN_SIZE)
		conn = dofi_conn_by_token(ia, entry->data);
	if (!conn || conn->fep || conn->over_memory) {
		DOFI_COUNT_SHARED(ia, IA_DATA_STRAY);
		DOFI_LOG_I("%s: a data connection was refused: its token is not one that was "
			   "given out, or too old",
			   ia->name);
		fi_reject(ia->pep, entry->info->handle, NULL, 0);
		fi_freeinfo(entry->info);
		return;
	}
	dofi_memory_withdraw(conn);
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
			      DOFI_REASON_ERROR);
	}
}

/*
 * READY, which comes over the control channel, tells that the peer's queue pair is connected. If
 * hosts are overloaded, librdmacm's own message with the same meaning may not come: librdmacm asks
 * for it for a minute and gives up then, but the queue pairs stay connected.
 */
static bool peer_is_connected(const struct dofi_conn *conn, const struct fi_eq_err_entry *err)
{
	return err->err == FI_ETIMEDOUT && conn->ia->quirks & DOFI_QUIRK_QUEUE_PAIRS &&
	       !conn->active && dofi_conn_stage(conn) == DOFI_STAGE_UP;
}

static void on_error(struct dofi_ia *ia, const struct fi_eq_err_entry *err)
{
	struct dofi_conn *conn = conn_of(ia, err->fid);

	if (conn && !peer_is_connected(conn, err))
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

int dofi_msg_poll_events(struct dofi_ia *ia)
{
	struct dofi_eq_event event;
	int n = 0;

	dofi_assert_held(&ia->engine.lock);
	for (; n < 64 && dofi_eqs_read(&ia->eqs, &event); n++)
		on_event(ia, &event);
	return n;
}
