/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How an established connection comes to its end: a graceful disconnect of either side, the peer's
 * BYE, the loss of the data path. engine.lock held.
 */
#ifndef DOFI_DISCONNECT_H
#define DOFI_DISCONNECT_H

#include "base/hint.h"

#include <stdbool.h>
#include <stdint.h>

struct dofi_conn;
struct dofi_ep;
struct dofi_msg;

/* dat_ep_disconnect graceful: EP goes to DISCONNECT_PENDING. */
void dofi_conn_disconnect(struct dofi_conn *conn);

/*
 * reap.c, ep->lock held: the request ring ran empty in DISCONNECT_PENDING, or the final sync ended,
 * or the receive ring ran empty.
 */
DOFI_COLD void dofi_conn_drained(struct dofi_ep *ep);

/*
 * The peer's BYE, which names the messages that it has sent, may have overtaken some: these are let
 * in while there is room for them. After the last one the engine meets the EP again, which calls
 * dofi_conn_last_message.
 */
bool dofi_conn_data_may_follow(struct dofi_conn *conn, uint32_t sent);

/* issue.c: all that the peer sent before its goodbye has come. */
void dofi_conn_last_message(struct dofi_conn *conn);

/* channel.c: the channel died without GOODBYE (or with: orderly). conn->chan is NULL. */
void dofi_conn_chan_lost(struct dofi_conn *conn, bool orderly);

/* Actions of the table; conn_state.h. */
void dofi_act_leave(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_hear_disconnect(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_await_goodbye(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_await_data(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_await_blame(struct dofi_conn *conn, const struct dofi_msg *msg);

#endif
