/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How the two ends of a control channel get to know each other: HELLO, PROOF, DETAILS. Until the
 * peer has proved that it has the key, it learns nothing but a random number and the key's name.
 * Guarded by engine.lock.
 */
#ifndef DOFI_HANDSHAKE_H
#define DOFI_HANDSHAKE_H

#include <stddef.h>
#include <stdint.h>

struct dofi_chan;

/* The socket is connected. The side that dialled says HELLO; the other one waits for it. */
void dofi_handshake_begin(struct dofi_chan *chan);

/*
 * A frame of the peer, in a channel that is not up. Calls dofi_chan_greeted when the handshake is
 * complete, and closes the channel when it fails.
 */
void dofi_handshake_frame(struct dofi_chan *chan, const uint8_t *frame, size_t size);

#endif
