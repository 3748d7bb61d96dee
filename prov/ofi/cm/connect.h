/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connecting side, up to the data path. engine.lock held. */
#ifndef DOFI_CONNECT_H
#define DOFI_CONNECT_H

#include <stdint.h>

struct dofi_conn;
struct dofi_ep;
struct dofi_msg;
struct sockaddr;

/*
 * dat_ep_connect and dup_connect, arguments checked, EP UNCONNECTED. 0 or -ENOMEM.
 */
int dofi_conn_start(struct dofi_ep *ep, const struct sockaddr *remote, uint64_t conn_qual,
		    uint64_t deadline, const void *private_data, uint32_t private_size);

/* Called by channel_dial.c: sends REQUEST. The channel may still wait for the peer's DETAILS. */
void dofi_conn_ask(struct dofi_conn *conn);

/* Called by channel.c: the result of dofi_chan_dial (channel_dial.h). */
void dofi_conn_chan_up(struct dofi_conn *conn);
/*
 * err: negative errno of the dial (-ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT ...); -EPROTO: the peer
 * uses another protocol or did not answer. conn->chan is NULL.
 */
void dofi_conn_dial_failed(struct dofi_conn *conn, int err);

/* Actions of the table; conn_state.h. */
void dofi_act_request(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_dial(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_dial_next(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_ask_elsewhere(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_connect(struct dofi_conn *conn, const struct dofi_msg *msg);

#endif
