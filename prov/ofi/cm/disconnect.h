/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What ends an established connection: a graceful disconnect of either side, the peer's BYE, the
 * loss of the data path. engine.lock held.
 */
#ifndef DOFI_DISCONNECT_H
#define DOFI_DISCONNECT_H

#include "base/hint.h"

#include <stdbool.h>
#include <stdint.h>

struct dofi_conn;
struct dofi_ep;
struct dofi_msg;

/* Graceful dat_ep_disconnect: the EP becomes DISCONNECT_PENDING. */
void dofi_conn_disconnect(struct dofi_conn *conn);

/*
 * Called by the room dto with ep->lock held: in DISCONNECT_PENDING a ring ran empty, or the final
 * sync ended.
 */
DOFI_COLD void dofi_conn_drained(struct dofi_ep *ep);

/*
 * Whether the peer's BYE, which counts `sent` messages, has overtaken some that can still come.
 * Then the connection waits for them; after the last one dofi_conn_last_message is called.
 */
bool dofi_conn_data_may_follow(struct dofi_conn *conn, uint32_t sent);

/* Called by issue.c: all messages that the peer's BYE counts have come. */
void dofi_conn_last_message(struct dofi_conn *conn);

/* The peer has answered a COUNT. In a wait that goes on for its BYE: it has sent none. */
void dofi_conn_counted(struct dofi_conn *conn);

/* Called by channel.c: the channel is lost. orderly: after GOODBYE. conn->chan is NULL. */
void dofi_conn_chan_lost(struct dofi_conn *conn, bool orderly);

/* Actions of the table; conn_state.h. */
void dofi_act_drain(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_peer_disconnects(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_await_goodbye(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_await_data(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_await_culprit(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_wait_longer(struct dofi_conn *conn, const struct dofi_msg *msg);

#endif
