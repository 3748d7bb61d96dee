/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages that were longer than the buffer of their SRQ, on fabrics that do not identify the
 * sender. The sender's connection has to break (DTO-148). So the library asks the peers of all
 * connections of the SRQ how many messages they have sent. A missing message may still be on its
 * way. When no more messages are missing than were truncated, the missing ones are the truncated
 * ones, and the connections that miss them break.
 *
 * All with engine.lock held.
 */
#ifndef DOFI_TRUNCATED_H
#define DOFI_TRUNCATED_H

struct dofi_conn;
struct dofi_msg;
struct dofi_srq;
struct dofi_wr;

/*
 * A truncated message took this receive: keeps the receive until the connection is known, or over.
 */
void dofi_truncated_arrived(struct dofi_srq *srq, struct dofi_wr *wr);

/* A message came, or a connection is over: the senders may be known now. */
void dofi_truncated_settle(struct dofi_srq *srq);

/* The peer's COUNT, and its COUNTED or BYE, which both contain its count. */
void dofi_truncated_on_count_request(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_truncated_on_count(struct dofi_conn *conn, const struct dofi_msg *msg);

#endif
