/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading a control channel: the bytes of its socket, frames, seals, and the messages in them.
 * engine.lock held.
 */
#ifndef DOFI_CHANNEL_READ_H
#define DOFI_CHANNEL_READ_H

struct dofi_chan;
struct dofi_stall;

/* Reads the socket of a channel that is UP. That may close the channel, and end its connections. */
void dofi_chan_read(struct dofi_chan *chan);
/* The same, in any state with a connected socket, and no more than a few KiB. */
void dofi_chan_read_turn(struct dofi_chan *chan);

/* The function of chan->answer: answers an INVALIDATE when no operation uses its context. */
void dofi_chan_answer_again(struct dofi_stall *stall);

#endif
