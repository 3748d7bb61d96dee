/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/conn_event.h"

#include "base/log.h"
#include "cm/accept.h"
#include "cm/conn.h"
#include "cm/conn_end.h"
#include "cm/connect.h"
#include "cm/disconnect.h"
#include "cm/path.h"
#include "object/ia.h"
#include "cm/conn_state.h"
#include "progress/wait.h"
#include "cm/ud_ah.h"
#include "cm/wire.h"

#include <assert.h>

static void dofi_act_nothing(struct dofi_conn *conn, const struct dofi_msg *msg)
{
	(void)conn;
	(void)msg;
}

#define DO(action, function) [DOFI_DO_##action] = dofi_act_##function

static void (*const act[DOFI_CONN_ACTIONS])(struct dofi_conn *conn, const struct dofi_msg *msg) = {
	DO(NOTHING, nothing),
	DO(REQUEST, request),
	DO(DIAL, dial),
	DO(DIAL_NEXT, dial_next),
	DO(ASK_ELSEWHERE, ask_elsewhere),
	DO(CONNECT, connect),
	DO(LOSE_CONNECTOR, lose_connector),
	DO(EXPECT, expect),
	DO(REJECT, reject),
	DO(CHECK_TIME, check_time),
	DO(ESTABLISH, establish),
	DO(ESTABLISH_LOCKED, establish_locked),
	DO(MAKE_AH, make_ah),
	DO(DRAIN, drain),
	DO(PEER_DISCONNECTS, peer_disconnects),
	DO(AWAIT_GOODBYE, await_goodbye),
	DO(AWAIT_DATA, await_data),
	DO(AWAIT_CULPRIT, await_culprit),
	DO(WAIT_LONGER, wait_longer),
	DO(STOP_SENDING, stop_sending),
	DO(STOP_LAST, stop_last),
	DO(LOSE_PEER, lose_peer),
	DO(END, end),
	DO(END_REFUSED, end_refused),
	DO(END_REJECTED, end_rejected),
	DO(END_UNREACHABLE, end_unreachable),
	DO(END_TIMED_OUT, end_timed_out),
	DO(END_UNACCEPTED, end_unaccepted),
	DO(END_OVERDUE, end_overdue),
	DO(END_LOST, end_lost),
	DO(END_DRAINED, end_drained),
	DO(END_DISCONNECTED, end_disconnected),
	DO(END_BROKEN, end_broken),
	DO(END_BY_BYE, end_by_bye),
	DO(SHUT, shut),
	DO(STOP_LINGERING, stop_lingering),
	DO(CHECK_END, check_end),
	DO(SEND_BYE, send_bye),
	DO(RELEASE, release),
	DO(END_ATTEMPT, end_attempt),
};

void dofi_conn_handle(struct dofi_conn *conn, enum dofi_conn_event event,
		      const struct dofi_msg *msg)
{
	const struct dofi_conn_step *step = dofi_conn_step(conn->state, event);

	dofi_assert_held(&conn->ia->engine.lock);
	if (step->action == DOFI_DO_FAIL) {
		DOFI_LOG_W("%s: a connection met %s in state %s; please report this",
			   conn->ia->name, dofi_conn_event_name(event),
			   dofi_conn_state_name(conn->state));
		assert(!"an event that cannot happen");
		return;
	}
	if (step->next != conn->state) {
		DOFI_LOG_D("%s: connection %u: %s, %s -> %s", conn->ia->name, conn->id,
			   dofi_conn_state_name(conn->state), dofi_conn_event_name(event),
			   dofi_conn_state_name(step->next));
		dofi_conn_enter(conn, step->next);
	}
	dofi_wait_stay_awake(conn->ia);
	act[step->action](conn, msg);
}
