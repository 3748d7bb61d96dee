/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/linger.h"

#include "cm/conn.h"
#include "object/ia.h"
#include "cm/channel.h"
#include "object/ep.h"
#include "base/clock.h"
#include "progress/engine_fds.h"
#include "progress/engine.h"
#include "cm/conn_state.h"
#include "dto/issue.h"

#include <sched.h>

/* Whether the peer can still receive data: it has neither sent BYE nor gone. */
static bool has_peer(const struct dofi_conn *conn)
{
	return conn->chan && conn->chan->state == DOFI_CHAN_UP && !conn->peer_told;
}

/*
 * Whether lingering makes sense. A device completes a request when the peer's device has the data.
 * Datagrams are not reliable.
 */
static bool may_have_to(const struct dofi_conn *conn)
{
	const struct dofi_ep *ep = conn->ep;

	return (!conn->ia->moves_alone || conn->over_memory) && !conn->ud &&
	       dofi_conn_stage(conn) == DOFI_STAGE_UP && ep->path_up && !ep->faulty;
}

void dofi_linger_begin(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;

	dofi_assert_held(&conn->ia->engine.lock);
	dofi_lock(&ep->lock);
	conn->lingers = may_have_to(conn) && (ep->dirty || ep->peeking);
	dofi_unlock(&ep->lock);
	dofi_linger(conn);
}

static bool waits(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	if (ep->peeking)
		return true;
	if (ep->faulty || !ep->dirty)
		return false;
	if (dofi_ep_sync(ep))
		ep->dirty = false;
	return !ep->faulty && !ep->refused;
}

bool dofi_linger(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;

	dofi_assert_held(&conn->ia->engine.lock);
	if (!conn->lingers)
		return false;
	dofi_lock(&ep->lock);
	conn->lingers = has_peer(conn) && waits(ep);
	dofi_unlock(&ep->lock);
	return conn->lingers;
}

/* The next connection from index *i on, or NULL. */
static struct dofi_conn *next_conn(const struct dofi_cm *cm, uint32_t *i)
{
	while (*i < cm->conns_size) {
		struct dofi_conn *conn = cm->conns[(*i)++];

		if (conn)
			return conn;
	}
	return NULL;
}

void dofi_linger_begin_all(struct dofi_ia *ia)
{
	struct dofi_conn *conn;
	uint32_t i = 0;

	dofi_assert_held(&ia->engine.lock);
	while ((conn = next_conn(&ia->cm, &i)))
		if (dofi_conn_stage(conn) == DOFI_STAGE_UP)
			dofi_linger_begin(conn);
}

static bool any_lingers(struct dofi_ia *ia)
{
	struct dofi_conn *conn;
	bool any = false;
	uint32_t i = 0;

	while ((conn = next_conn(&ia->cm, &i)))
		any |= dofi_linger(conn);
	return any;
}

void dofi_linger_wait(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->engine.lock);
	dofi_engine_drain_cq(ia);
	dofi_engine_hear(ia);
	sched_yield();
}

void dofi_linger_all(struct dofi_ia *ia)
{
	uint64_t limit = dofi_now() + ia->params.linger_ms * 1000000u;

	dofi_assert_held(&ia->engine.lock);
	if (!ia->engine.has_fabric)
		return;
	dofi_engine_hear(ia);
	dofi_linger_begin_all(ia);
	while (any_lingers(ia) && dofi_now() < limit)
		dofi_linger_wait(ia);
}
