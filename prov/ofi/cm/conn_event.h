/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Applies an event to a connection: enters the next state of the table and carries out the action.
 */
#ifndef DOFI_CONN_EVENT_H
#define DOFI_CONN_EVENT_H

#include "cm/conn_state.h"

struct dofi_conn;
struct dofi_msg;

/*
 * msg: the peer's message behind the event, a message to be sent (CR_ACCEPT, CR_REJECT), or NULL.
 * The connection may be freed on return. engine.lock held; for FIRST_MESSAGE and DRAINED also
 * ep->lock.
 */
void dofi_conn_handle(struct dofi_conn *conn, enum dofi_conn_event event,
		      const struct dofi_msg *msg);

#endif
