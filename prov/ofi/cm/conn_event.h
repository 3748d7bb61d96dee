/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A connection meets an event: it enters the next state of the table and carries the action out. */
#ifndef DOFI_CONN_EVENT_H
#define DOFI_CONN_EVENT_H

#include "cm/conn_state.h"

struct dofi_conn;
struct dofi_msg;

/*
 * msg: the peer's message that is the event, or one to be sent (CR_ACCEPT, CR_REJECT), or NULL. The
 * connection may be gone on return. engine.lock held; also ep->lock for FIRST_MESSAGE and DRAINED.
 */
void dofi_conn_handle(struct dofi_conn *conn, enum dofi_conn_event event,
		      const struct dofi_msg *msg);

#endif
