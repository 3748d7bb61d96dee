/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sending and receiving the channel messages of connections. engine.lock held. */
#ifndef DOFI_CONN_MESSAGE_H
#define DOFI_CONN_MESSAGE_H

#include "cm/wire.h"

struct dofi_chan;
struct dofi_conn;

/* Fills in the two connection numbers, and sends the message if there is a channel. */
void dofi_conn_send(struct dofi_conn *conn, struct dofi_msg *msg);
/* Fill and parse the description of an EP in REQUEST and ACCEPT. */
void dofi_conn_fill_hello(const struct dofi_conn *conn, struct dofi_msg *msg);
void dofi_conn_parse_hello(struct dofi_conn *conn, const struct dofi_msg *msg);

/* Called by channel.c: handles a message for a connection, or a REQUEST. */
void dofi_conn_message(struct dofi_chan *chan, const struct dofi_msg *msg);

#endif
