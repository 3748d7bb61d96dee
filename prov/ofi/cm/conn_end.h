/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The end of a connection: nothing goes out any more, the peer is told, what the fabric still has
 * comes back or is left to it, the EP is free and the event raised. engine.lock held.
 */
#ifndef DOFI_CONN_END_H
#define DOFI_CONN_END_H

#include "cm/wire.h"
#include "progress/engine.h"

struct dofi_conn;
struct dofi_ep;

/*
 * Ends the connection of an EP once: path closed, rings flushed (first unfinished request with
 * `status`), event (0: none) on connect_evd, peer told. Runs when the current batch is through.
 * engine.lock held; a second call has no effect.
 */
void dofi_conn_end(struct dofi_conn *conn, uint32_t event, uint8_t status,
		   enum dofi_reason tell_peer);

/*
 * The same at once; for dat_ep_disconnect abrupt and dat_ep_free. Without an event on return; else,
 * should the fabric be in the middle of an operation, when that has ended.
 */
void dofi_conn_end_now(struct dofi_conn *conn, uint32_t event, enum dofi_reason tell_peer);

/*
 * Whoever waits for the fabric before an EP goes, within a call, waits no longer than until then.
 */
uint64_t dofi_conn_linger_until(struct dofi_ia *ia);

/* conn->work: carries out the end that was decided. */
void dofi_conn_run_end(struct dofi_work *work);

/* An event on the EP's connect EVD. */
void dofi_conn_raise(struct dofi_ep *ep, uint32_t number, uint32_t private_size);

/* Actions of the table; conn_state.h. */
void dofi_act_end(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_refused(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_rejected(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_unreachable(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_timed_out(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_unaccepted(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_overdue(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_drained(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_disconnected(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_broken(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_as_told(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_shut(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_stop_lingering(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_look(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_hang_up(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_part(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_attempt(struct dofi_conn *conn, const struct dofi_msg *msg);

#endif
