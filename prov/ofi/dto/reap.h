/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions, from the fabric to the EVDs. */
#ifndef DOFI_REAP_H
#define DOFI_REAP_H

#include <stdint.h>

struct dofi_ep;
struct dofi_ia;
struct dofi_wr;

/*
 * An operation of the fabric has ended. err: 0 or a positive libfabric error. For a message: number
 * is the receiver's connection number if the fabric or the sender tells it, otherwise 0; update is
 * described in credit.h. The caller holds engine.lock, which the functions for each kind of
 * operation assert.
 */
void dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number, uint32_t update);

/*
 * Reads a batch of completions. engine.lock held. Returns the number of events handled; 0: the
 * queues are empty.
 */
int dofi_reap(struct dofi_ia *ia);

#endif
