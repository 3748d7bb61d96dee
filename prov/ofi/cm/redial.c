/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/redial.h"

#include "cm/conn.h"
#include "cm/conn_event.h"
#include "object/ia.h"
#include "cm/wire.h"
#include "base/addr.h"
#include "base/clock.h"
#include "base/log.h"
#include "progress/timer.h"
#include "cm/conn_state.h"

#include <inttypes.h>

/*
 * The pauses between rounds grow, so that many connects to a port without a listener do not load
 * the host.
 */
#define FIRST_PAUSE_NS   2000000u
#define LONGEST_PAUSE_NS 32000000u

_Static_assert(DOFI_PORT_TRIES <= 32, "candidates fit struct dofi_redial");

static void fired(struct dofi_timer *timer)
{
	struct dofi_conn *conn = DOFI_CONTAINER(timer, struct dofi_conn, redial.timer);

	dofi_conn_handle(conn, DOFI_ON_REDIAL, NULL);
}

void dofi_redial_refused(struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	conn->redial.ports |= 1u << conn->candidate;
}

bool dofi_redial_next(struct dofi_conn *conn, uint16_t *port_p)
{
	const struct dofi_redial *redial = &conn->redial;

	dofi_assert_held(&conn->ia->engine.lock);
	/*
	 * Later rounds skip the ports where another program answered. Those where nobody listened,
	 * or whose process did not serve the qualifier, are tried again.
	 */
	for (; dofi_port_candidate(conn->conn_qual, conn->candidate, port_p); conn->candidate++)
		if (!redial->until || redial->ports & 1u << conn->candidate)
			return true;
	return false;
}

bool dofi_redial_later(struct dofi_conn *conn)
{
	struct dofi_redial *redial = &conn->redial;
	uint64_t now = dofi_now(), next;

	dofi_assert_held(&conn->ia->engine.lock);
	if (!redial->ports)
		return false;
	if (!redial->until) {
		redial->until = now + conn->ia->params.listen_grace_ms * 1000000u;
		if (redial->until > conn->deadline)
			redial->until = conn->deadline;
		redial->pause = FIRST_PAUSE_NS;
		redial->timer.fire = fired;
	}
	if (now >= redial->until)
		return false;
	next = now + redial->pause;
	dofi_timer_set(conn->ia, &redial->timer, next < redial->until ? next : redial->until);
	if (redial->pause < LONGEST_PAUSE_NS)
		redial->pause *= 2;
	return true;
}

void dofi_redial_give_up(struct dofi_conn *conn)
{
	bool several = conn->conn_qual > UINT16_MAX;
	struct dofi_ia *ia = conn->ia;
	char text[DOFI_ADDR_TEXT];

	dofi_assert_held(&ia->engine.lock);
	DOFI_LOG_LIMITED(&ia->cm.refusals, DOFI_LOG_INFO, ia->name,
			 "%s: no service point answers to connection qualifier %" PRIu64 " at %s%s",
			 ia->name, conn->conn_qual, dofi_conn_port_text(conn, 0, text),
			 several ? " and its other ports" : "");
	dofi_conn_handle(conn, DOFI_ON_DIAL_FAILED, NULL);
}
