/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The handshake of a control channel: HELLO, PROOF, DETAILS. Until the peer has proved that it has
 * the key, it learns only the contents of HELLO. Guarded by engine.lock.
 */
#ifndef DOFI_HANDSHAKE_H
#define DOFI_HANDSHAKE_H

#include <stddef.h>
#include <stdint.h>

struct dofi_chan;

/*
 * The dialled socket is connected: sends HELLO. Also after another dial of the same channel. An
 * accepted channel waits for HELLO from its beginning.
 */
void dofi_handshake_begin(struct dofi_chan *chan);

/*
 * Handles a frame of the peer in a channel that is not up. Calls dofi_chan_handshake_done when the
 * handshake is complete, and closes the channel when it fails.
 */
void dofi_handshake_frame(struct dofi_chan *chan, const uint8_t *frame, size_t size);

#endif
