/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/upcalls.h"

#include "cm/channel.h"
#include "cm/conn.h"
#include "cm/conn_end.h"
#include "cm/drain.h"
#include "cm/truncated.h"
#include "object/srq_count.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "object/upcalls.h"
#include "cm/disconnect.h"
#include "cm/invalidation.h"
#include "cm/path.h"
#include "cm/cm.h"
#include "cm/ud_ah.h"

/*
 * Any peer of the SRQ can send the connection number of another peer. So a message must not
 * establish a connection that cannot have received one.
 */
static struct dofi_ep *receiver(const struct dofi_srq *srq, uint32_t id)
{
	const struct dofi_conn *conn = dofi_conn_by_id(srq->obj.ia, id);

	if (!conn || !conn->ep || conn->ep->srq != srq || !dofi_conn_peer_can_send(conn))
		return NULL;
	return dofi_conn_is_over(conn) && !conn->end_event ? NULL : conn->ep;
}

static bool is_over(const struct dofi_ep *ep)
{
	return ep->conn && dofi_conn_is_over(ep->conn);
}

static void broken(struct dofi_conn *conn)
{
	dofi_conn_end(conn, DAT_CONNECTION_EVENT_BROKEN, DOFI_REASON_ERROR);
}

const struct dofi_upcalls dofi_cm_upcalls = {
	.ep_of = dofi_conn_ep,
	.ud_mark = dofi_ud_mark,
	.receiver = receiver,
	.last_message = dofi_conn_last_message,
	.path_down = dofi_conn_path_down,
	.broken = broken,
	.drain_done = dofi_drain_done,
	.truncated = dofi_truncated_arrived,
	.settle_truncated = dofi_truncated_settle,
	.invalidate = dofi_chan_ask,
	.linger_until = dofi_conn_linger_until,
	.drop_datagrams = dofi_ud_drop_all,
	.is_over = is_over,
	.established = dofi_conn_established,
	.drained = dofi_conn_drained,
	.apply_bind = dofi_conn_apply_bind,
	.ask_for_bind = dofi_conn_ask_for_bind,
	.subscribe = dofi_conn_subscribe,
};
