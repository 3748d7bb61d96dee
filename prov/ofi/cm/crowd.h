/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How much of this process peers may take up: those that have the key, channels in all and of one
 * address, and requests that wait for the consumer; others, sockets. Guarded by engine.lock.
 */
#ifndef DOFI_CROWD_H
#define DOFI_CROWD_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_chan;
struct dofi_ia;

/* Sets the limits from the parameters and from the files that the process may open. */
void dofi_crowd_init(struct dofi_ia *ia);

/*
 * Whether there is room for an accepted channel whose handshake is complete; then it counts. Closes
 * a channel that nobody has used for a while, if that makes room; else says why not.
 */
bool dofi_crowd_admits(struct dofi_chan *chan);

/* A channel that was admitted has closed. */
void dofi_crowd_leaves(struct dofi_chan *chan);

/* An accepted socket without a proof is about to be closed for another one; says so. */
void dofi_crowd_evicts(struct dofi_chan *chan);

/* Whether one more request of this peer may wait for the consumer; else says why not. */
bool dofi_crowd_takes_request(struct dofi_chan *chan);

#endif
