/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The accepting side, up to the data path, and its limit of time for that. engine.lock held. */
#ifndef DOFI_ACCEPT_H
#define DOFI_ACCEPT_H

#include "cm/wire.h"

struct dofi_chan;
struct dofi_conn;
struct dofi_ep;

/* Handles a REQUEST: the service point offers it to the consumer, or it is rejected. */
void dofi_conn_offer(struct dofi_chan *chan, const struct dofi_msg *request);

/*
 * dat_cr_accept: continues the connection with ep. The caller frees the CR. Failures are events.
 */
void dofi_conn_accept(struct dofi_conn *conn, struct dofi_ep *ep, const void *private_data,
		      uint32_t private_size);

/* dat_cr_reject, dat_cr_handoff to nobody, refusal by the library. Frees conn. */
void dofi_conn_reject(struct dofi_conn *conn, enum dofi_reason reason, const void *private_data,
		      uint32_t private_size);

/*
 * Called by the transports: an accepted connection has made a step on the fabric, and its path is
 * not up yet. The peer's request has come, or its greeting.
 */
void dofi_conn_proceeds(struct dofi_conn *conn);

/* The transport, which has answered DOFI_LATER, expects the peer now: sends ACCEPT. */
void dofi_conn_expected(struct dofi_conn *conn);

/* Actions of the table; conn_state.h. */
void dofi_act_lose_connector(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_expect(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_reject(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_check_time(struct dofi_conn *conn, const struct dofi_msg *msg);

#endif
