/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address handles for datagrams: made by attempts to connect, and freed. */
#ifndef DOFI_CM_UD_AH_H
#define DOFI_CM_UD_AH_H

#include "base/dat_api.h"

#include <stdint.h>

struct dofi_conn;
struct dofi_ep;
struct dofi_ia;
struct dofi_msg;
struct dofi_wr;

/* Adds the connection to the EP. */
void dofi_ud_adopt(struct dofi_ep *ep, struct dofi_conn *conn);

/* Both sides have greeted each other: makes the address handle and raises the event. */
void dofi_ud_established(struct dofi_conn *conn);

/*
 * The attempt has failed: raises the event for datagrams that corresponds to this connection event.
 * 0: none.
 */
void dofi_ud_not_established(struct dofi_conn *conn, uint32_t event, uint32_t private_size);

/*
 * Handles a mark of the peer (ud_window.h). If it comes before the peer's READY, the answer waits
 * for the address handle. False: there is no such connection. engine.lock held.
 */
bool dofi_ud_mark(struct dofi_ia *ia, uint32_t id, uint32_t secret, uint32_t update);

/* Frees the EP's attempts and address handles. */
void dofi_ud_drop_all(struct dofi_ep *ep);

/* The connection of a datagram under way, or NULL. */
struct dofi_conn *dofi_ud_conn_of(const struct dofi_wr *wr);

/* dat_ib_ud_ah_free and dat_ib_ud_cm_free; no lock held. */
DAT_RETURN dofi_ud_ah_free(DAT_EP_HANDLE ep, const void *ah);

DAT_RETURN dofi_ud_cm_free(DAT_EP_HANDLE ep, const void *cm);

/* --- actions; conn_event.c --- */

void dofi_act_stop_sending(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_stop_last(struct dofi_conn *conn, const struct dofi_msg *msg);
void dofi_act_lose_peer(struct dofi_conn *conn, const struct dofi_msg *bye);

#endif
