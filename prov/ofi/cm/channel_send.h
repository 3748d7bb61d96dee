/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What goes out on a control channel. engine.lock held. */
#ifndef DOFI_CHANNEL_SEND_H
#define DOFI_CHANNEL_SEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dofi_chan;
struct dofi_msg;

/* handshake.c makes these: a frame that is sent with the next flush, and one that is sealed. */
void dofi_chan_put(struct dofi_chan *chan, const uint8_t *frame, size_t size);
void dofi_chan_put_sealed(struct dofi_chan *chan, uint8_t *frame, size_t size);
void dofi_chan_flush(struct dofi_chan *chan);

/* Queues a message, sends what the socket takes. A failure shows later as dofi_conn_chan_lost. */
void dofi_chan_send(struct dofi_chan *chan, const struct dofi_msg *msg);

/* The socket has room again. */
void dofi_chan_write(struct dofi_chan *chan);
/* Whether the engine watches the socket for room, besides what comes in. */
void dofi_chan_watch_room(struct dofi_chan *chan, bool writing);

#endif
