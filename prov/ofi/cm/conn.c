/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/conn.h"

#include "auth/crypto.h"
#include "cm/conn_end.h"
#include "cm/conn_event.h"
#include "object/ia.h"
#include "cm/channel.h"
#include "cm/channel_read.h"
#include "cm/conn_state.h"
#include "cm/disconnect.h"
#include "object/ep.h"
#include "progress/timer.h"
#include "progress/cq_watch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- ids --- */

struct dofi_conn *dofi_conn_by_id(struct dofi_ia *ia, uint32_t id)
{
	struct dofi_cm *cm = &ia->cm;
	struct dofi_conn *conn = cm->conns_size ? cm->conns[id & (cm->conns_size - 1)] : NULL;

	dofi_assert_held(&ia->engine.lock);
	return conn && conn->id == id ? conn : NULL;
}

static bool may_hear(const struct dofi_conn *conn)
{
	return dofi_conn_peer_can_send(conn) && !conn->ud && !dofi_conn_is_over(conn);
}

struct dofi_conn *dofi_conn_by_secret(struct dofi_ia *ia, uint32_t id, uint32_t secret)
{
	struct dofi_conn *conn = dofi_conn_by_id(ia, id);

	return conn && dofi_token_secret(conn->token) == secret ? conn : NULL;
}

struct dofi_ep *dofi_conn_ep(struct dofi_ia *ia, uint32_t id)
{
	struct dofi_conn *conn = dofi_conn_by_id(ia, id);

	dofi_assert_held(&ia->engine.lock);
	return conn && may_hear(conn) ? conn->ep : NULL;
}

struct dofi_conn *dofi_conn_by_token(struct dofi_ia *ia, const uint8_t token[DOFI_TOKEN_SIZE])
{
	struct dofi_conn *conn;
	uint32_t id;

	dofi_assert_held(&ia->engine.lock);
	memcpy(&id, token, sizeof(id));
	conn = dofi_conn_by_id(ia, ntohl(id));
	if (!conn || conn->active || dofi_conn_stage(conn) != DOFI_STAGE_LINKING ||
	    dofi_conn_is_ending(conn))
		return NULL;
	return dofi_crypto_equal(conn->token, token, sizeof(conn->token)) ? conn : NULL;
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

/*
 * Number and token are random: a peer cannot guess the number of another connection, and late
 * messages of an earlier connection do not match. The token is sent to the peer under the seal. At
 * least half of the numbers are free.
 */
static bool number_it(struct dofi_conn *conn)
{
	const struct dofi_cm *cm = &conn->ia->cm;
	uint32_t id;

	do {
		if (dofi_random(conn->token, sizeof(conn->token)))
			return false;
		memcpy(&id, conn->token, sizeof(id));
		conn->id = id & DOFI_CONN_ID_MASK;
	} while (!conn->id || cm->conns[conn->id & (cm->conns_size - 1)]);
	id = htonl(conn->id);
	memcpy(conn->token, &id, sizeof(id));
	return true;
}

/* --- life --- */

/* A GOODBYE may lie in the socket, not read yet because of many other messages. */
static bool reads_goodbye(struct dofi_conn *conn)
{
	struct dofi_ia *ia = conn->ia;
	uint32_t id = conn->id;

	dofi_chan_read(conn->chan);
	return dofi_conn_by_id(ia, id) != conn || conn->state != DOFI_CONN_GOODBYE_PENDING;
}

/* Whether the connection is accepted and the path or READY has not come. */
static bool awaits_path(const struct dofi_conn *conn)
{
	return conn->state == DOFI_CONN_ACCEPTED || conn->state == DOFI_CONN_READY_PENDING ||
	       conn->state == DOFI_CONN_PATH_PENDING;
}

/*
 * Reads messages that came in time while this process had no processor. True: one of them has ended
 * the wait for the path.
 */
static bool reads_outcome(struct dofi_conn *conn)
{
	struct dofi_ia *ia = conn->ia;
	uint32_t id = conn->id;

	dofi_chan_read(conn->chan);
	return dofi_conn_by_id(ia, id) != conn || !awaits_path(conn);
}

/* If nobody listened, this was known before the time was over, and is the reason to report. */
static void timer_fired(struct dofi_timer *timer)
{
	struct dofi_conn *conn = DOFI_CONTAINER(timer, struct dofi_conn, timer);
	bool refused = conn->state == DOFI_CONN_DIALLING && conn->redial.until;

	if (conn->state == DOFI_CONN_GOODBYE_PENDING && conn->chan && reads_goodbye(conn))
		return;
	if (awaits_path(conn) && conn->chan && reads_outcome(conn))
		return;
	if (refused)
		dofi_redial_give_up(conn);
	else
		dofi_conn_handle(conn, DOFI_ON_TIMER, NULL);
}

struct dofi_conn *dofi_conn_new(struct dofi_ia *ia, enum dofi_conn_state state)
{
	struct dofi_cm *cm = &ia->cm;
	struct dofi_conn *conn;

	if (grow_table(cm))
		return NULL;
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return NULL;
	conn->ia = ia;
	if (!number_it(conn)) {
		free(conn);
		return NULL;
	}
	cm->conns[conn->id & (cm->conns_size - 1)] = conn;
	cm->nconns++;
	conn->trans = ia->trans;
	conn->state = state;
	conn->active = state == DOFI_CONN_DIALLING;
	conn->reserved_port = -1;
	dofi_list_init(&conn->link);
	dofi_list_init(&conn->ud_link);
	conn->timer.fire = timer_fired;
	conn->work.run = dofi_conn_run_end;
	return conn;
}

void dofi_conn_free(struct dofi_conn *conn)
{
	struct dofi_cm *cm = &conn->ia->cm;

	dofi_assert_held(&conn->ia->engine.lock);
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
	cm->nrepeated -= conn->repeated;
	free(conn);
}

/*
 * Not with an SRQ, whose buffers the fabric has. The accepting side uses it only if the connecting
 * side has offered it.
 */
void dofi_conn_choose_trans(struct dofi_conn *conn)
{
	const struct dofi_ia *ia = conn->ia;
	bool offered = conn->active || (conn->peer_flags & DOFI_MSG_F_MEMORY);

	if (!ia->local_trans || conn->ud)
		return;
	if (conn->ep->srq)
		conn->why_fabric = "it has an SRQ";
	else if (!offered)
		conn->why_fabric = "the peer does not ask for it";
	else
		conn->trans = ia->local_trans;
}

void dofi_conn_enter(struct dofi_conn *conn, enum dofi_conn_state state)
{
	struct dofi_cm *cm = &conn->ia->cm;

	dofi_assert_held(&conn->ia->engine.lock);
	cm->nlinking -= dofi_conn_stage(conn) == DOFI_STAGE_LINKING;
	cm->nabandoned -= conn->state == DOFI_CONN_ABANDONED;
	if (conn->state == DOFI_CONN_OFFERED && conn->chan)
		conn->chan->noffered--;
	if (state == DOFI_CONN_ENDING)
		conn->ended_in = conn->state;
	conn->state = state;
	cm->nlinking += dofi_conn_stage(conn) == DOFI_STAGE_LINKING;
	cm->nabandoned += state == DOFI_CONN_ABANDONED;
}

/* --- facts --- */

/* Without a path, ep->nsent is still the count of the former connection. */
uint32_t dofi_conn_sent(const struct dofi_conn *conn)
{
	uint32_t sent;

	dofi_assert_held(&conn->ia->engine.lock);
	if (!conn->path_made)
		return 0;
	dofi_lock(&conn->ep->lock);
	sent = conn->ep->nsent;
	dofi_unlock(&conn->ep->lock);
	return sent;
}

void dofi_conn_repeated(struct dofi_conn *conn)
{
	if (!conn->repeated)
		conn->ia->cm.nrepeated++;
	conn->repeated = true;
}

void dofi_conn_watch(struct dofi_conn *conn)
{
	if (!conn->watched)
		dofi_wait_watch(conn->ia);
	conn->watched = true;
}

void dofi_conn_set_private(struct dofi_conn *conn, const void *data, uint32_t size)
{
	conn->private_size = size < DOFI_MAX_PRIVATE ? size : DOFI_MAX_PRIVATE;
	if (conn->private_size)
		memcpy(conn->private_data, data, conn->private_size);
}

const char *dofi_conn_port_text(const struct dofi_conn *conn, uint32_t n, char text[DOFI_ADDR_TEXT])
{
	struct sockaddr_storage name = conn->remote;
	uint16_t port = 0;

	dofi_port_candidate(conn->conn_qual, n, &port);
	dofi_addr_set(&name, (const struct sockaddr *)&conn->remote, port);
	return dofi_addr_text(&name, text);
}
