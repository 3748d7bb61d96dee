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

#endif
