/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The data path of a connection comes up, which may establish the connection, or goes down.
 * engine.lock held.
 */
#ifndef DOFI_PATH_H
#define DOFI_PATH_H

#include "base/hint.h"

#include <stdbool.h>

struct dofi_conn;
struct dofi_ep;
struct dofi_msg;

/* --- upcalls of the transports --- */

/* The endpoint takes receives: gives it the receives posted so far. */
void dofi_conn_path_made(struct dofi_conn *conn);
void dofi_conn_path_up(struct dofi_conn *conn);
/* The data path ended. err: 0 if in an orderly way. */
void dofi_conn_path_down(struct dofi_conn *conn, int err);

/*
 * Called by receive.c with ep->lock held: the first message came, so the peer is connected. Raises
 * ESTABLISHED before the message's completion.
 */
DOFI_COLD void dofi_conn_established(struct dofi_ep *ep);

/*
 * Whether this side is established and has sent no READY, because the fabric tells the peer. A
 * message may overtake the fabric or take its place, so it says the same (DOFI_MSG_F_UP).
 */
bool dofi_conn_implies_ready(const struct dofi_conn *conn);

/* Actions of the table; conn_state.h. */
void dofi_act_establish(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_establish_locked(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_make_ah(struct dofi_conn *conn, const struct dofi_msg *msg);

#endif
