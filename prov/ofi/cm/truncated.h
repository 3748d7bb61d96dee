/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages that were longer than the buffer of their SRQ, on fabrics that do not say whose they
 * were. The connection has to break (DTO-148), so the peers of the SRQ's connections are asked how
 * many messages they have sent. What is missing may still be on its way; as soon as no more is
 * missing than there are truncated messages, these are all that is, and the connections that miss
 * them are found.
 *
 * All with engine.lock held.
 */
#ifndef DOFI_TRUNCATED_H
#define DOFI_TRUNCATED_H

struct dofi_conn;
struct dofi_msg;
struct dofi_srq;
struct dofi_wr;

/* The receive that it met waits, as nobody's, until its connection is known, or over. */
void dofi_truncated_arrived(struct dofi_srq *srq, struct dofi_wr *wr);

/* Something may have changed: a message came, or a connection is over. */
void dofi_truncated_settle(struct dofi_srq *srq);

/* The peer asks, or tells: COUNT, COUNTED; or BYE, which tells as well. */
void dofi_truncated_on_count_request(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_truncated_on_count(struct dofi_conn *conn, const struct dofi_msg *msg);

#endif
