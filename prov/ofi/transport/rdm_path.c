/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/rdm_path.h"

#include "base/log.h"
#include "cm/conn.h"
#include "cm/drain.h"
#include "cm/path.h"
#include "dto/op_context.h"
#include "dto/orphan.h"
#include "object/ep.h"
#include "object/ia.h"
#include "progress/engine.h"
#include "transport/greeting.h"
#include "transport/rdm.h"
#include "transport/rdm_tag.h"

#include <rdma/fi_endpoint.h>
#include <sched.h>

static int make_path(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;
	int ret = dofi_peer_take(&conn->ia->rdm->peers, conn);

	if (ret)
		return ret;
	if (conn->ud) {
		conn->path_made = true;
		return 0;
	}
	ep->wakeup = conn->ia->wakeup.mark ? &conn->peer->wakeup : NULL;
	ep->recv_tag = dofi_tag_of_ep(conn->token, conn->id);
	if (!conn->peer_srq)
		ep->send_tag = dofi_tag_of_ep(conn->peer_token, conn->peer_id);
	else
		ep->send_tag = DOFI_TAG_OF_SRQ(conn->peer_srq & DOFI_SRQ_NUMBER) |
			       (dofi_rdm_data_has_number(conn->ia) ? 0 : conn->peer_id);
	dofi_conn_path_made(conn);
	return 0;
}

int dofi_rdm_connect(struct dofi_conn *conn)
{
	int ret = make_path(conn);

	dofi_assert_held(&conn->ia->engine.lock);
	if (!ret)
		dofi_greeting_begin(conn, true);
	return ret;
}

int dofi_rdm_expect(struct dofi_conn *conn)
{
	int ret = make_path(conn);

	dofi_assert_held(&conn->ia->engine.lock);
	if (!ret)
		dofi_greeting_begin(conn, false);
	return ret;
}

static bool cancel_receives(struct dofi_ep *ep)
{
	struct fid *fid = &ep->obj.ia->shared_ep->fid;
	bool any = false;

	dofi_lock(&ep->lock);
	for (uint32_t i = ep->recv.head; i != ep->recv.issue; i++) {
		struct dofi_wr *wr = dofi_ring_at(&ep->recv, i);

		if (wr->state == DOFI_WR_ISSUED) {
			fi_cancel(fid, dofi_context_of(ep->obj.ia, wr));
			any = true;
		}
	}
	dofi_unlock(&ep->lock);
	return any;
}

static int make_orphans(struct dofi_ep *ep)
{
	uint32_t nrecvs;
	int ret;

	dofi_lock(&ep->lock);
	nrecvs = dofi_orphans_count(&ep->recv);
	ret = dofi_orphans_adopt_ep(ep);
	dofi_unlock(&ep->lock);
	if (!ret)
		dofi_rx_slots_release(&ep->obj.ia->rdm->slots, nrecvs);
	return ret;
}

/* Assumed number of messages that a peer without credits may have sent. */
#define UNCOUNTED  65536u
/*
 * Room for a message that is longer than each receive of the EP, which is a mistake of the peer's
 * program: shm of 2.6 crashes when a short message that came before its receive does not fit.
 */
#define LEAST_ROOM 4096u

/*
 * Drains late messages for an EP, whose receives are gone. Late messages for an SRQ find receives.
 */
static void drain(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;
	uint64_t longest = LEAST_ROOM;
	uint32_t received, granted;

	if (ep->srq || !conn->chan)
		return;
	dofi_lock(&ep->lock);
	received = ep->nreceived;
	for (uint32_t i = ep->recv.head; i != ep->recv.tail; i++) {
		const struct dofi_wr *wr = dofi_ring_at(&ep->recv, i);

		if (wr->length > longest)
			longest = wr->length;
		received += wr->state == DOFI_WR_HELD;
	}
	granted = conn->ia->credits == DOFI_CREDITS_CARRIED ? dofi_credit_total(ep)
							    : received + UNCOUNTED;
	dofi_unlock(&ep->lock);
	dofi_drain_begin(conn, ep->recv_tag, received, granted, longest);
	if (conn->peer_told)
		dofi_drain_settle(conn->ia, conn->id, conn->peer_id, conn->peer_sent);
}

/*
 * Cancels receives. A message that has come in part, a Send, and RDMA cannot be cancelled; they end
 * by themselves.
 */
bool dofi_rdm_cancel(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;
	bool has;

	dofi_assert_held(&conn->ia->engine.lock);
	dofi_assert_not_held(&conn->ep->lock);
	if (!conn->peer)
		return false;
	if (!conn->cancelled && cancel_receives(ep))
		for (int i = 0; i < DOFI_CANCEL_ROUNDS; i++)
			dofi_engine_drain_cq(conn->ia);
	conn->cancelled = true;
	dofi_lock(&ep->lock);
	has = dofi_orphans_outstanding(ep);
	dofi_unlock(&ep->lock);
	return has;
}

void dofi_rdm_disconnect(struct dofi_conn *conn)
{
	struct dofi_ia *ia = conn->ia;

	dofi_assert_held(&conn->ia->engine.lock);
	if (!conn->peer)
		return;
	if (conn->ud) {
		dofi_greeting_end(conn);
		dofi_peer_give(conn);
		return;
	}
	if (dofi_rdm_cancel(conn))
		DOFI_LOG_I(
			"%s: a connection has ended, but the fabric has not completed all of its "
			"operations; the library keeps their memory until it does",
			ia->name);
	/* Without memory for a copy, waits until the fabric has completed the operations. */
	while (make_orphans(conn->ep)) {
		dofi_engine_drain_cq(ia);
		sched_yield();
	}
	drain(conn);
	dofi_greeting_end(conn);
	dofi_peer_give(conn);
}
