/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions, from the fabric to the EVDs. */
#ifndef DOFI_REAP_H
#define DOFI_REAP_H

#include <stdint.h>

struct dofi_ep;
struct dofi_ia;
struct dofi_wr;

/*
 * A fabric operation ended. err: 0 or a positive libfabric error. A message brings the number of
 * the connection that it came by, where the fabric or the sender tells it (else 0), and credit
 * updates (credit.h). engine.lock held.
 */
void dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number, uint32_t update);

/* Takes a batch off the CQ; engine.lock held. Events handled: 0 when it is empty. */
int dofi_reap(struct dofi_ia *ia);

/*
 * The control message about this message is here; should it have come before, it is complete.
 * engine.lock and ep->lock held.
 */
void dofi_reap_ctrl_arrived(struct dofi_ep *ep, uint32_t message);

/* Events for what is done at the heads of both rings; ep->lock held. */
void dofi_reap_release(struct dofi_ep *ep);

/*
 * The request that was given to the fabric last was over at once: no completion will come for it.
 * ep->lock held.
 */
void dofi_reap_request_ended(struct dofi_ep *ep, struct dofi_wr *wr);

/*
 * Everything still in the rings ends FLUSHED; the first request gets first_status. ep->lock held,
 * path closed.
 */
void dofi_reap_flush(struct dofi_ep *ep, uint8_t first_status);

#endif
