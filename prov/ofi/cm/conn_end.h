/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The end of a connection, in this order: posts stop, the peer is informed, operations come back
 * from the fabric or become orphans, the EP is free and the event is raised. engine.lock held.
 */
#ifndef DOFI_CONN_END_H
#define DOFI_CONN_END_H

#include "cm/wire.h"
#include "progress/engine.h"

struct dofi_conn;
struct dofi_ep;

/*
 * Ends the connection of an EP once: path closed, rings flushed, event (0: none) on connect_evd,
 * peer told. Carried out after the current batch of completions. engine.lock held; a second call
 * has no effect.
 */
void dofi_conn_end(struct dofi_conn *conn, uint32_t event, enum dofi_reason tell_peer);

/*
 * The same at once, for an abrupt dat_ep_disconnect and dat_ep_free. Without an event, the end is
 * complete on return; with one, it may follow when the fabric has completed its operations. The
 * event of an earlier dat_ep_disconnect comes in any case.
 */
void dofi_conn_end_now(struct dofi_conn *conn, uint32_t event, enum dofi_reason tell_peer);

/* The time until which a call may wait for the fabric before an EP is freed. */
uint64_t dofi_conn_linger_until(struct dofi_ia *ia);

/* The function of conn->work: carries out the end that was decided. */
void dofi_conn_run_end(struct dofi_work *work);

/* Raises an event on the EP's connect EVD. */
void dofi_conn_raise(struct dofi_ep *ep, uint32_t number, uint32_t private_size);

/* Actions of the table; conn_state.h. */
void dofi_act_end(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_refused(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_rejected(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_unreachable(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_timed_out(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_unaccepted(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_overdue(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_lost(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_drained(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_disconnected(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_broken(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_by_bye(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_shut(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_stop_lingering(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_check_end(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_send_bye(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_release(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_end_attempt(struct dofi_conn *conn, const struct dofi_msg *msg);

#endif
