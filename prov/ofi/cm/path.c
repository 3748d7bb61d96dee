/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/path.h"

#include "base/log.h"
#include "cm/accept.h"
#include "cm/conn.h"
#include "cm/conn_end.h"
#include "cm/conn_event.h"
#include "cm/conn_message.h"
#include "dto/credit.h"
#include "dto/control.h"
#include "dto/ud.h"
#include "object/ia.h"
#include "fabric/quirks.h"
#include "object/transport.h"
#include "cm/channel.h"
#include "cm/conn_state.h"
#include "cm/wire.h"
#include "dto/remote_context.h"
#include "dto/watermark.h"
#include "object/ep.h"
#include "base/clock.h"
#include "progress/timer.h"
#include "progress/wait.h"
#include "cm/ud_ah.h"
#include "dto/issue.h"

#include <string.h>

/* --- the path comes up --- */

void dofi_conn_path_made(struct dofi_conn *conn)
{
	const struct dofi_details *hello = &conn->chan->peer;
	struct dofi_ep *ep = conn->ep;
	uint32_t ours = (uint32_t)ep->attr.max_rdma_read_out;

	dofi_assert_held(&conn->ia->engine.lock);
	dofi_lock(&ep->lock);
	ep->peer = (struct dofi_peer_ep){
		.ctxtab_key = hello->ctxtab_key,
		.ctxtab_address = hello->ctxtab_address,
		.ctxtab_entries = hello->ctxtab_entries,
		.pz = conn->peer_pz,
		.number = conn->peer_id,
		.secret = dofi_token_secret(conn->peer_token),
		.sink_key = hello->sink_key,
		.sink_address = hello->sink_address,
		.wants_data = conn->peer_flags & DOFI_MSG_F_DATA,
		.credits = conn->over_memory || (conn->peer_flags & DOFI_MSG_F_CREDITS),
		.wants_solicited = conn->peer_flags & DOFI_MSG_F_SOLICITED,
		.ctrl_context = conn->peer_slots,
		.ctrl_msgs = conn->peer_flags & DOFI_MSG_F_CTRL_MSGS,
		.atomics = conn->peer_flags & DOFI_MSG_F_ATOMICS,
	};
	ep->conn_id = conn->id;
	if (conn->ia->credits == DOFI_CREDITS_WRITTEN && !conn->over_memory &&
	    (conn->peer_flags & DOFI_MSG_F_CREDIT_WORD)) {
		ep->peer.credits = ep->peer.has_credit_word = true;
		ep->peer.sink_address += conn->peer_slots * sizeof(struct dofi_credit_words);
	}
	dofi_ctrl_reset(ep);
	ep->read_limit = ours < conn->peer_read_in ? ours : conn->peer_read_in;
	if (!ep->read_limit)
		ep->read_limit = 1; /* programs pass 0 and read all the same */
	dofi_remote_context_reset(ep);
	ep->reads = ep->writes = ep->nsent = 0;
	ep->credit_total = conn->peer_credit_total;
	ep->dirty = ep->peeking = ep->faulty = ep->refused = ep->ending_soon = ep->unfenced = false;
	ep->fep = conn->fep ? conn->fep : conn->ia->shared_ep;
	ep->dest = conn->dest;
	ep->trans = conn->over_memory ? conn->trans : conn->ia->trans;
	ep->streams = conn->over_memory;
	conn->path_made = true;
	ep->path_up = true;
	dofi_ep_issue(ep);
	dofi_unlock(&ep->lock);
	dofi_wait_kick(conn->ia); /* a sleeping driver does not watch the new endpoint yet */
	dofi_wait_stay_awake(conn->ia);
}

/*
 * Whether the fabric tells the accepting side when the connecting side is established. Otherwise
 * READY does.
 */
static bool fabric_says_ready(const struct dofi_conn *conn)
{
	return conn->ia->quirks & DOFI_QUIRK_SAYS_CONNECTED && !conn->over_memory;
}

bool dofi_conn_implies_ready(const struct dofi_conn *conn)
{
	bool ends = dofi_conn_is_ending(conn);

	dofi_assert_held(&conn->ia->engine.lock);
	return conn->active && !conn->ud && fabric_says_ready(conn) &&
	       dofi_conn_stage_of(ends ? conn->ended_in : conn->state) == DOFI_STAGE_UP;
}

void dofi_conn_path_up(struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	dofi_conn_proceeds(conn);
	dofi_wait_kick(conn->ia); /* as above: some fabrics add the descriptor only now */
	dofi_conn_handle(conn, conn->ud ? DOFI_ON_UD_PATH_UP : DOFI_ON_PATH_UP, NULL);
	if (conn->state == DOFI_CONN_READY_PENDING && fabric_says_ready(conn))
		dofi_conn_handle(conn, DOFI_ON_READY, NULL);
}

/* --- the connection is there --- */

/* Counts the last step of a connection; see dofi_conn_proceeds. */
static void count_step(struct dofi_ia *ia)
{
	ia->cm.steps++;
	ia->cm.last_step = dofi_now();
}

/* Called with engine.lock and ep->lock held. */
void dofi_conn_established(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	if (ep->conn)
		dofi_conn_handle(ep->conn, DOFI_ON_FIRST_MESSAGE, NULL);
}

void dofi_act_establish_locked(struct dofi_conn *conn, const struct dofi_msg *unused)
{
	struct dofi_msg ready = {.type = DOFI_MSG_READY};
	struct dofi_ep *ep = conn->ep;

	(void)unused;
	dofi_assert_held(&ep->lock);
	count_step(conn->ia);
	/*
	 * In GOODBYE_PENDING the path is lost already, and the timer limits the wait for the peer's
	 * BYE.
	 */
	if (conn->state == DOFI_CONN_ESTABLISHED)
		dofi_timer_cancel(conn->ia, &conn->timer);
	dofi_ep_enter_state(ep, DAT_EP_STATE_CONNECTED);
	dofi_credit_open(ep);
	if (conn->active) {
		if (conn->private_size)
			memcpy(ep->private_data, conn->private_data, conn->private_size);
		DOFI_COUNT_SHARED(conn->ia, IA_CM_ACTIVE_EST);
		if (!fabric_says_ready(conn))
			dofi_conn_send(conn, &ready);
		dofi_conn_raise(ep, DAT_CONNECTION_EVENT_ESTABLISHED, conn->private_size);
	} else {
		DOFI_COUNT_SHARED(conn->ia, IA_CM_PASSIVE_EST);
		dofi_conn_raise(ep, DAT_CONNECTION_EVENT_ESTABLISHED, 0);
	}
	dofi_ep_check_marks(ep, dofi_ring_count(&ep->recv));
}

/* READY implies that the path is up, even if the fabric's own event was not read yet. */
void dofi_act_establish(struct dofi_conn *conn, const struct dofi_msg *ready)
{
	struct dofi_ep *ep = conn->ep;

	dofi_lock(&ep->lock);
	dofi_act_establish_locked(conn, ready);
	dofi_unlock(&ep->lock);
}

void dofi_act_make_ah(struct dofi_conn *conn, const struct dofi_msg *ready)
{
	(void)ready;
	count_step(conn->ia);
	dofi_ud_established(conn);
}

/* --- the path goes down --- */

/* Whether the path has never been up. */
static bool waits_for_path(const struct dofi_conn *conn)
{
	return conn->state == DOFI_CONN_CONNECTING || conn->state == DOFI_CONN_ACCEPTED ||
	       conn->state == DOFI_CONN_PATH_PENDING;
}

void dofi_conn_path_down(struct dofi_conn *conn, int err)
{
	dofi_assert_held(&conn->ia->engine.lock);
	if (err && waits_for_path(conn))
		DOFI_LOG_I("%s: the peer or the fabric refused the data path: %s", conn->ia->name,
			   fi_strerror(err));
	dofi_conn_handle(conn, conn->ud ? DOFI_ON_UD_PATH_DOWN : DOFI_ON_PATH_DOWN, NULL);
}
