/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/ud_ah.h"

#include "dto/ud.h"
#include "dto/ud_window.h"

#include "cm/conn.h"
#include "cm/conn_end.h"
#include "cm/conn_event.h"
#include "cm/conn_message.h"
#include "progress/evd.h"
#include "object/ia.h"
#include "object/transport.h"
#include "cm/channel.h"
#include "cm/conn.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "progress/timer.h"
#include "progress/engine.h"
#include "object/ud_ah.h"
#include "cm/conn_state.h"

#include <string.h>

/* --- events --- */

static bool raise_event(struct dofi_ep *ep, uint32_t number, uint16_t type, const void *data,
			uint32_t size)
{
	struct dofi_event event = {
		.number = number,
		.ext = type + 1,
		.handle = ep,
		.conn = {.private_data = data, .private_size = size},
	};

	return ep->conn_evd && !dofi_evd_push(ep->conn_evd, &event, true);
}

static void free_rejection(struct dofi_ud_ah *rejection)
{
	dofi_obj_retire(&rejection->obj, false);
	dofi_list_del(&rejection->link);
	dofi_obj_free(&rejection->obj, DOFI_HANDLE_TYPE_AH);
}

/*
 * The consumer may still read the private data of events that it has dequeued. Their memory is not
 * used again for long; see object.h.
 */
static void free_told_rejections(const struct dofi_ud *ud)
{
	DOFI_LIST_FOR_SAFE(node, &ud->rejections)
	{
		struct dofi_ud_ah *rejection = DOFI_CONTAINER(node, struct dofi_ud_ah, link);

		if (atomic_load(&rejection->told))
			free_rejection(rejection);
	}
}

/* Each rejection has private data of its own, because several may be queued. */
static struct dofi_ud_ah *new_rejection(const struct dofi_conn *conn, uint32_t private_size)
{
	struct dofi_ep *ep = conn->ep;
	struct dofi_ud_ah *rejection =
		dofi_obj_alloc(conn->ia, ep->obj.provider, DOFI_HANDLE_TYPE_AH, sizeof(*rejection));

	if (!rejection)
		return NULL;
	rejection->ep = ep;
	atomic_store(&rejection->gone, true);
	rejection->private_size = private_size;
	memcpy(rejection->private_data, conn->private_data, private_size);
	dofi_list_init(&rejection->answer);
	dofi_list_add_tail(&ep->ud->rejections, &rejection->link);
	dofi_obj_publish(&rejection->obj, DOFI_HANDLE_TYPE_AH);
	return rejection;
}

static void raise_rejected(const struct dofi_conn *conn, uint32_t private_size)
{
	struct dofi_ud_ah *rejection;

	free_told_rejections(conn->ep->ud);
	rejection = private_size ? new_rejection(conn, private_size) : NULL;
	if (!raise_event(conn->ep, DOFI_UD_EVENT_REJECTED, DOFI_UD_TYPE_REJECTED, rejection,
			 rejection ? private_size : 0) &&
	    rejection)
		free_rejection(rejection);
}

void dofi_ud_not_established(struct dofi_conn *conn, uint32_t event, uint32_t private_size)
{
	struct dofi_ep *ep = conn->ep;

	dofi_assert_held(&conn->ia->engine.lock);
	dofi_list_del(&conn->ud_link);
	switch (event) {
	case 0:
		break;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		raise_rejected(conn, private_size);
		break;
	default:
		raise_event(ep, DOFI_UD_EVENT_ERROR, DOFI_UD_TYPE_ERROR, ep->private_data, 0);
	}
}

/* --- address handles --- */

static struct dofi_ud_ah *new_ah(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;
	struct dofi_ud_ah *ah =
		dofi_obj_alloc(conn->ia, ep->obj.provider, DOFI_HANDLE_TYPE_AH, sizeof(*ah));

	if (!ah)
		return NULL;
	ah->ep = ep;
	ah->conn = conn;
	ah->dest = conn->dest;
	ah->number = conn->peer_ud;
	ah->wakeup = conn->ia->wakeup.mark ? conn->wakeup : NULL;
	ah->addr = conn->chan->remote;
	ah->peer_conn = conn->peer_id;
	ah->peer_secret = dofi_token_secret(conn->peer_token);
	dofi_list_init(&ah->answer);
	if (conn->active) {
		ah->private_size = conn->private_size;
		memcpy(ah->private_data, conn->private_data, conn->private_size);
	}
	conn->ud_ah = ah;
	if (conn->ud_mark)
		dofi_ud_answer(ah, conn->ud_mark);
	dofi_list_add_tail(&ep->ud->ahs, &ah->link);
	dofi_obj_publish(&ah->obj, DOFI_HANDLE_TYPE_AH);
	return ah;
}

/* Stops sending by the handle. */
static void silence(struct dofi_ud_ah *ah)
{
	atomic_store(&ah->gone, true);
	dofi_ud_forget(ah->obj.ia, ah);
}

/* Separates the handle from its connection, which is no longer needed or has lost its peer. */
static void detach(struct dofi_ud_ah *ah)
{
	ah->conn->ud_ah = NULL;
	ah->conn = NULL;
	dofi_ud_answer_drop(ah);
}

/*
 * When the consumer has freed both handle and context, the handle becomes invalid. The object stays
 * while there is a connection, to answer the peer's marks.
 */
static void settle(struct dofi_ud_ah *ah)
{
	if (!ah->ah_freed || !ah->cm_freed)
		return;
	dofi_obj_retire(&ah->obj, false);
	if (ah->conn)
		return;
	dofi_list_del(&ah->link);
	dofi_obj_free(&ah->obj, DOFI_HANDLE_TYPE_AH);
}

static void end_conn(struct dofi_conn *conn)
{
	dofi_list_del(&conn->ud_link);
	conn->ia->trans->disconnect(conn);
	dofi_conn_free(conn);
}

static void say_bye(struct dofi_conn *conn)
{
	struct dofi_msg bye = {.type = DOFI_MSG_BYE, .reason = DOFI_REASON_DISCONNECT};

	dofi_conn_send(conn, &bye);
}

struct dofi_conn *dofi_ud_conn_of(const struct dofi_wr *wr)
{
	return wr->send.ah ? wr->send.ah->conn : NULL;
}

/* --- connections --- */

void dofi_ud_adopt(struct dofi_ep *ep, struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	dofi_assert_held(&ep->obj.ia->engine.lock);
	conn->ep = ep;
	dofi_list_add_tail(&ep->ud->conns, &conn->ud_link);
}

void dofi_ud_established(struct dofi_conn *conn)
{
	struct dofi_msg ready = {.type = DOFI_MSG_READY};
	struct dofi_ud_ah *ah = new_ah(conn);

	dofi_assert_held(&conn->ia->engine.lock);
	if (!ah) {
		dofi_conn_end(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
			      DOFI_REASON_ERROR);
		return;
	}
	dofi_timer_cancel(conn->ia, &conn->timer);
	DOFI_COUNT_SHARED(conn->ia, IA_CM_AH_RESOLVED);
	if (conn->active) {
		DOFI_COUNT_SHARED(conn->ia, IA_CM_ACTIVE_EST);
		dofi_conn_send(conn, &ready);
	} else {
		DOFI_COUNT_SHARED(conn->ia, IA_CM_PASSIVE_EST);
	}
	raise_event(conn->ep, DOFI_UD_EVENT_ESTABLISHED,
		    conn->active ? DOFI_UD_TYPE_REMOTE_AH : DOFI_UD_TYPE_PASSIVE_AH, ah,
		    ah->private_size);
}

/* The peer may send by its own handle until its BYE comes. */
void dofi_act_stop_sending(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	say_bye(conn);
}

void dofi_act_stop_last(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)msg;
	say_bye(conn);
	detach(conn->ud_ah);
	end_conn(conn);
}

void dofi_act_lose_peer(struct dofi_conn *conn, const struct dofi_msg *bye)
{
	struct dofi_ud_ah *ah = conn->ud_ah;

	(void)bye;
	silence(ah);
	detach(ah);
	end_conn(conn);
	settle(ah);
}

/*
 * The peer's READY makes the handle that can answer. If the peer is in the same IA, dat_ep_free may
 * be waiting for the answer there and reads no control messages.
 */
static void keep_mark(struct dofi_conn *conn, uint32_t update)
{
	const struct dofi_conn *peer =
		dofi_conn_by_secret(conn->ia, conn->peer_id, dofi_token_secret(conn->peer_token));

	if (peer && peer->ud_ah)
		dofi_ud_mark_answered(peer->ud_ah, update);
	else
		conn->ud_mark = update;
}

bool dofi_ud_mark(struct dofi_ia *ia, uint32_t id, uint32_t secret, uint32_t update)
{
	struct dofi_conn *conn = dofi_conn_by_secret(ia, id, secret);

	dofi_assert_held(&ia->engine.lock);
	if (!conn || !conn->ud)
		return false;
	if (conn->ud_ah)
		dofi_ud_answer(conn->ud_ah, update);
	else
		keep_mark(conn, update);
	return true;
}

/* First no post takes the handle any more, also none of another EP. */
static void destroy_ah(struct dofi_ud_ah *ah)
{
	ah->ah_freed = ah->cm_freed = true;
	silence(ah);
	if (ah->conn)
		detach(ah);
	settle(ah);
}

/* The peers get BYE with an error, because the EP receives no more datagrams. */
void dofi_ud_drop_all(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->obj.ia->engine.lock);
	while (!dofi_list_empty(&ep->ud->rejections))
		free_rejection(DOFI_CONTAINER(ep->ud->rejections.next, struct dofi_ud_ah, link));
	while (!dofi_list_empty(&ep->ud->ahs))
		destroy_ah(DOFI_CONTAINER(ep->ud->ahs.next, struct dofi_ud_ah, link));
	while (!dofi_list_empty(&ep->ud->conns))
		dofi_conn_end_now(DOFI_CONTAINER(ep->ud->conns.next, struct dofi_conn, ud_link), 0,
				  DOFI_REASON_ERROR);
}

/* --- dat_ib_ud_ah_free, dat_ib_ud_cm_free --- */

/*
 * Enters the engine and returns the address handle; NULL, without entering, if the handle is not
 * one of this IA.
 */
static struct dofi_ud_ah *enter_with(struct dofi_ia *ia, const void *handle)
{
	struct dofi_ud_ah *ah;

	dofi_engine_begin(ia);
	ah = dofi_ud_ah(handle);
	if (ah && ah->obj.ia == ia)
		return ah;
	dofi_engine_end(ia);
	return NULL;
}

static DAT_RETURN leave_with(struct dofi_ia *ia, struct dofi_ud_ah *ah, bool was_free)
{
	settle(ah);
	dofi_engine_end(ia);
	return was_free ? DOFI_BAD_ARG(2) : DAT_SUCCESS;
}

DAT_RETURN dofi_ud_ah_free(DAT_EP_HANDLE handle, const void *ah_handle)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	struct dofi_ud_ah *ah;
	bool was_free;

	dofi_assert_none_held();
	if (!ep || !ep->ud)
		return DOFI_BAD_HANDLE(EP);
	ah = enter_with(ep->obj.ia, ah_handle);
	if (!ah)
		return DOFI_BAD_ARG(2);
	was_free = atomic_exchange(&ah->ah_freed, true);
	if (!was_free) {
		silence(ah);
		if (ah->conn)
			dofi_conn_handle(ah->conn, DOFI_ON_AH_FREED, NULL);
	}
	return leave_with(ep->obj.ia, ah, was_free);
}

DAT_RETURN dofi_ud_cm_free(DAT_EP_HANDLE handle, const void *cm)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	struct dofi_ud_ah *ah;
	bool was_free;

	if (!ep || !ep->ud)
		return DOFI_BAD_HANDLE(EP);
	ah = enter_with(ep->obj.ia, cm);
	if (!ah)
		return DOFI_BAD_ARG(2);
	was_free = ah->cm_freed;
	ah->cm_freed = true;
	return leave_with(ep->obj.ia, ah, was_free);
}
