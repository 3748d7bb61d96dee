/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/greeting.h"

#include "base/clock.h"
#include "cm/accept.h"
#include "cm/conn.h"
#include "cm/path.h"
#include "object/ia.h"
#include "object/transport.h"
#include "progress/wait.h"
#include "transport/control_receives.h"
#include "transport/memory.h"
#include "transport/rdm.h"

#include <rdma/fi_errno.h>

/*
 * Some fabrics make a connection of their own on the first message, which needs both sides awake.
 * So both sides send a greeting before the connection is established, and sleep only for short
 * times meanwhile.
 */
void dofi_greeting_begin(struct dofi_conn *conn, bool now)
{
	dofi_assert_held(&conn->ia->engine.lock);
	conn->greets = now;
	dofi_list_add_tail(&conn->ia->rdm->greetings, &conn->greeting);
	atomic_fetch_add(&conn->ia->engine.restless, 1);
	dofi_wait_kick(conn->ia);
}

void dofi_greeting_end(struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	if (dofi_list_empty(&conn->greeting))
		return;
	dofi_list_del(&conn->greeting);
	atomic_fetch_sub(&conn->ia->engine.restless, 1);
}

/*
 * A stream that broke below takes a greeting with it without a report. So the connecting side
 * greets again, and the accepting side answers again.
 */
#define REPEAT_NS 1000000000u

/* Sends the greeting. For the passive side the greeting is complete then. */
static int greet(struct dofi_conn *conn)
{
	const struct dofi_ctrl_credit credit = {.number = conn->peer_id,
						.secret = dofi_token_secret(conn->peer_token)};
	ssize_t ret;

	if (!conn->greets)
		return 0;
	ret = dofi_rdm_send_credit(conn->ia, conn->dest, &credit);
	if (ret == -FI_EAGAIN)
		return 0;
	conn->greets = false;
	conn->greeted = dofi_now();
	dofi_rdm_wake_after(conn->ia, conn->ia->wakeup.mark ? &conn->peer->wakeup : NULL, ret);
	if (ret)
		dofi_conn_path_down(conn, (int)-ret);
	else if (!conn->active)
		dofi_greeting_end(conn);
	return 1;
}

/* The connecting side connects over the fabric although this side has offered shared memory. */
static bool expect_over_fabric(struct dofi_conn *conn)
{
	int ret;

	if (conn->active || conn->over_memory || dofi_conn_stage(conn) != DOFI_STAGE_LINKING ||
	    dofi_conn_is_ending(conn))
		return false;
	dofi_memory_withdraw(conn);
	conn->ia->rdm->peers.in_completion = true;
	ret = conn->trans->expect(conn);
	conn->ia->rdm->peers.in_completion = false;
	if (ret)
		dofi_conn_path_down(conn, -ret);
	return !ret;
}

/* The peer has greeted again, so our answer may be lost. */
static void answer_again(struct dofi_conn *conn)
{
	if (conn->active || dofi_conn_stage(conn) != DOFI_STAGE_LINKING ||
	    dofi_conn_is_ending(conn))
		return;
	dofi_greeting_begin(conn, true);
	greet(conn);
}

void dofi_greeting_arrived(struct dofi_ia *ia, uint32_t number)
{
	struct dofi_conn *conn = dofi_conn_by_id(ia, number);

	dofi_assert_held(&ia->engine.lock);
	if (!conn || (!conn->peer && !expect_over_fabric(conn)))
		return;
	if (dofi_list_empty(&conn->greeting)) {
		answer_again(conn);
	} else if (conn->active) {
		dofi_greeting_end(conn);
		dofi_conn_path_up(conn);
	} else {
		conn->greets = true;
		dofi_conn_proceeds(conn);
		greet(conn);
	}
}

/* The greeting may be lost, so it is sent again. The peer ignores a second one. */
void dofi_greeting_again(struct dofi_conn *conn)
{
	dofi_assert_held(&conn->ia->engine.lock);
	if (dofi_list_empty(&conn->greeting))
		dofi_greeting_begin(conn, true);
	else
		conn->greets |= conn->active;
}

int dofi_greetings_poll(struct dofi_ia *ia)
{
	int n = 0;

	dofi_assert_held(&ia->engine.lock);
	DOFI_LIST_FOR_SAFE(node, &ia->rdm->greetings)
	{
		struct dofi_conn *conn = DOFI_CONTAINER(node, struct dofi_conn, greeting);

		if (conn->active && !conn->greets && dofi_now() - conn->greeted >= REPEAT_NS)
			conn->greets = true;
		n += greet(conn);
	}
	return n;
}
