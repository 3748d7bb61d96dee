/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Limits what peers may take up in this process. Peers with the key: channels in all and from one
 * address, and requests that wait for the consumer, also after their peer has withdrawn them.
 * Others: sockets. Guarded by engine.lock.
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
 * Counts an accepted channel whose handshake is complete, if there is room for it. To make room,
 * closes a channel that was not used for a while. Otherwise logs the reason and returns false.
 */
bool dofi_crowd_admits(struct dofi_chan *chan);

/* An admitted channel has closed. */
void dofi_crowd_leaves(struct dofi_chan *chan);

/* An accepted socket without a proof will be closed for another one: counts and logs it. */
void dofi_crowd_evicts(struct dofi_chan *chan);

/* Whether one more request of this peer may wait for the consumer. Otherwise logs the reason. */
bool dofi_crowd_takes_request(struct dofi_chan *chan);

#endif
