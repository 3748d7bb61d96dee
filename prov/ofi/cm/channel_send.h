/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sending on a control channel. engine.lock held. */
#ifndef DOFI_CHANNEL_SEND_H
#define DOFI_CHANNEL_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dofi_chan;
struct dofi_msg;

/* For handshake.c: queue a frame for the next flush, as it is or sealed. */
void dofi_chan_put(struct dofi_chan *chan, const uint8_t *frame, size_t size);
void dofi_chan_put_sealed(struct dofi_chan *chan, uint8_t *frame, size_t size);
/* Sends what is queued, as far as the socket takes it. */
void dofi_chan_flush(struct dofi_chan *chan);

/*
 * Queues a message. All messages of a round, or of a call, leave together at its end, which wakes
 * the peer once. A failure is reported later by dofi_conn_chan_lost.
 */
void dofi_chan_send(struct dofi_chan *chan, const struct dofi_msg *msg);

/* Called when the socket has room again: sends queued bytes. */
void dofi_chan_write(struct dofi_chan *chan);
/* Sets whether the engine also watches the socket for room. */
void dofi_chan_watch_room(struct dofi_chan *chan, bool writing);

#endif
