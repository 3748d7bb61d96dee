/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The end of a connection: nothing goes out any more, the peer is told, what the fabric still has
 * comes back or is left to it, the EP is free and the event raised. Begun by dofi_conn_end and
 * dofi_conn_end_now of conn.h; here is what it shares with conn.c.
 *
 * All with engine.lock held.
 */
#ifndef DOFI_CONN_END_H
#define DOFI_CONN_END_H

#include "cm/conn.h"

/* conn->work: carries out the end that was decided. */
void dofi_conn_run_end(struct dofi_work *work);

/*
 * Phase OVER: frees the connection, or sets its timer for the next look when the fabric still has
 * some of its operations.
 */
void dofi_conn_part(struct dofi_conn *conn);

/*
 * Whoever waits for the fabric before an EP goes, within a call, waits no longer than until then.
 */
uint64_t dofi_conn_linger_until(struct dofi_ia *ia);

/* conn.c: what the end needs of it. */
void dofi_conn_enter(struct dofi_conn *conn, enum dofi_conn_phase phase);
void dofi_conn_free(struct dofi_conn *conn);
void dofi_conn_event(struct dofi_ep *ep, uint32_t number, uint32_t private_size);

#endif
