/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/channel_read.h"

#include "base/log.h"
#include "cm/channel.h"
#include "cm/channel_send.h"
#include "cm/conn_message.h"
#include "cm/handshake.h"
#include "cm/invalidation.h"
#include "cm/wire.h"
#include "object/ctxtab.h"
#include "object/ia.h"
#include "object/transport.h"
#include "progress/stall.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define READS_PER_TURN 16
/* A peer that was silent too long this many times stays mute, even if it answers. */
#define MAX_SILENCES   8

static void on_done(struct dofi_chan *chan, uint64_t number)
{
	if (number <= chan->done || number > chan->asked)
		return;
	chan->done = number;
	if (number == chan->asked && chan->silences < MAX_SILENCES)
		chan->mute = false;
	dofi_chan_wake_askers(chan->ia);
}

static void on_garbage(struct dofi_chan *chan)
{
	char text[DOFI_ADDR_TEXT];

	DOFI_LOG_I("%s: closing the control channel with %s: what it sends is no message of ours",
		   chan->ia->name, dofi_chan_peer_text(chan, text));
	dofi_chan_close(chan, -EPROTO, false);
}

static void answer_invalidate(struct dofi_chan *chan)
{
	const struct dofi_msg done = {.type = DOFI_MSG_DONE, .number = chan->answer_number};

	if (dofi_conn_uses_forgotten(chan))
		dofi_stall(chan->ia, &chan->answer);
	else
		dofi_chan_send(chan, &done);
}

void dofi_chan_answer_again(struct dofi_stall *stall)
{
	stall->waits = false;
	answer_invalidate(DOFI_CONTAINER(stall, struct dofi_chan, answer));
}

static void confirm_subscription(struct dofi_chan *chan, uint32_t context)
{
	const struct dofi_msg msg = {.type = DOFI_MSG_SUBSCRIBED, .context = context};

	dofi_chan_send(chan, &msg);
}

static void on_message(struct dofi_chan *chan, const uint8_t *body, size_t size)
{
	struct dofi_msg msg;

	if (!dofi_wire_get_msg(body, size, &msg)) {
		on_garbage(chan);
		return;
	}
	switch (msg.type) {
	case DOFI_MSG_INVALIDATE:
		dofi_conn_forget_context(chan, msg.context);
		chan->answer_number = msg.number;
		if (!chan->answer.waits)
			answer_invalidate(chan);
		break;
	case DOFI_MSG_SUBSCRIBE:
		if (dofi_ctxtab_subscribe(&chan->ia->ctxtab, msg.context))
			confirm_subscription(chan, msg.context);
		break;
	case DOFI_MSG_SUBSCRIBED:
		dofi_conn_subscribed(chan, msg.context);
		break;
	case DOFI_MSG_DONE:
		on_done(chan, msg.number);
		break;
	case DOFI_MSG_GOODBYE:
		if (chan->ia->trans->peer_closed)
			chan->ia->trans->peer_closed(chan->ia, chan);
		dofi_chan_close(chan, -ECONNRESET, true);
		break;
	default:
		dofi_conn_message(chan, &msg);
	}
}

static void on_sealed(struct dofi_chan *chan, const uint8_t *frame, size_t size)
{
	size_t body;

	if (dofi_wire_open(frame, size, &chan->session, &body)) {
		on_message(chan, frame + DOFI_WIRE_LENGTH, body);
		return;
	}
	DOFI_COUNT_SHARED(chan->ia, IA_CM_BAD_SEAL);
	on_garbage(chan);
}

static void take_frames(struct dofi_chan *chan)
{
	uint32_t at = 0;
	size_t size;

	for (;;) {
		if (!dofi_wire_frame(chan->rx + at, chan->rx_fill - at, &size)) {
			on_garbage(chan);
			return;
		}
		if (!size)
			break;
		if (chan->state == DOFI_CHAN_HANDSHAKE)
			dofi_handshake_frame(chan, chan->rx + at, size);
		else
			on_sealed(chan, chan->rx + at, size);
		if (chan->state == DOFI_CHAN_DEAD)
			return;
		at += (uint32_t)size;
	}
	chan->rx_fill -= at;
	memmove(chan->rx, chan->rx + at, chan->rx_fill);
}

/*
 * False when the socket is empty, or the channel has changed. A read that did not fill the buffer
 * has emptied the socket; later data make the socket readable again.
 */
static bool read_some(struct dofi_chan *chan)
{
	size_t room = sizeof(chan->rx) - chan->rx_fill;
	ssize_t n = recv(chan->fd.fd, chan->rx + chan->rx_fill, room, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (n <= 0) {
		dofi_chan_hung_up(chan, n ? -errno : -ECONNRESET);
		return false;
	}
	chan->rx_fill += (uint32_t)n;
	take_frames(chan);
	return (size_t)n == room && chan->state != DOFI_CHAN_DEAD;
}

void dofi_chan_read_turn(struct dofi_chan *chan)
{
	dofi_assert_held(&chan->ia->engine.lock);
	for (int i = 0; i < READS_PER_TURN && read_some(chan); i++)
		;
}

void dofi_chan_read(struct dofi_chan *chan)
{
	dofi_assert_held(&chan->ia->engine.lock);
	if (chan->state == DOFI_CHAN_UP)
		dofi_chan_read_turn(chan);
}
