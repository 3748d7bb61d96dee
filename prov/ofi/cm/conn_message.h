/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The messages of connections, out and in. engine.lock held. */
#ifndef DOFI_CONN_MESSAGE_H
#define DOFI_CONN_MESSAGE_H

#include "cm/wire.h"

struct dofi_chan;
struct dofi_conn;

/* Fills in whom the message concerns, and sends it if the peer can be reached. */
void dofi_conn_send(struct dofi_conn *conn, struct dofi_msg *msg);
/* What the peer must know of our EP, and what it says of its own: REQUEST, ACCEPT. */
void dofi_conn_fill_hello(const struct dofi_conn *conn, struct dofi_msg *msg);
void dofi_conn_parse_hello(struct dofi_conn *conn, const struct dofi_msg *msg);

/* channel.c: a message for a connection, or a REQUEST. */
void dofi_conn_message(struct dofi_chan *chan, const struct dofi_msg *msg);

#endif
