/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The data path of a connection comes, and with it the connection is established; or it goes.
 * engine.lock held.
 */
#ifndef DOFI_PATH_H
#define DOFI_PATH_H

#include "base/hint.h"

struct dofi_conn;
struct dofi_ep;
struct dofi_msg;

/* --- upcalls of the transports --- */

/* The endpoint takes receives: those posted so far are handed down. */
void dofi_conn_path_made(struct dofi_conn *conn);
void dofi_conn_path_up(struct dofi_conn *conn);
/* err: 0 at an orderly end of the data path */
void dofi_conn_path_down(struct dofi_conn *conn, int err);

/*
 * reap.c, ep->lock held: first message came, so the peer is up: raise ESTABLISHED before its
 * completion.
 */
DOFI_COLD void dofi_conn_established(struct dofi_ep *ep);

/* Actions of the table; conn_state.h. */
void dofi_act_establish(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_establish_locked(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_make_ah(struct dofi_conn *conn, const struct dofi_msg *msg);

#endif
