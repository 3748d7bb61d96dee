/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/channel_send.h"

#include "base/addr.h"
#include "base/log.h"
#include "cm/channel.h"
#include "cm/wire.h"
#include "object/ia.h"
#include "progress/engine_fds.h"
#include "progress/wait.h"
#include "progress/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define MAX_TX (1u << 20) /* limit of unsent bytes: such a peer does not read */

void dofi_chan_watch_room(struct dofi_chan *chan, bool writing)
{
	dofi_assert_held(&chan->ia->engine.lock);
	if (chan->writing == writing)
		return;
	chan->writing = writing;
	dofi_engine_rewatch(chan->ia, &chan->fd, writing ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void stop_sending(struct dofi_chan *chan, int err)
{
	chan->send_err = err == -EPIPE ? -ECONNRESET : err;
	chan->tx_fill = 0;
	dofi_work_defer(chan->ia, &chan->work);
}

void dofi_chan_write(struct dofi_chan *chan)
{
	uint32_t sent = 0;
	ssize_t n;

	dofi_assert_held(&chan->ia->engine.lock);
	while (sent < chan->tx_fill) {
		n = send(chan->fd.fd, chan->tx + sent, chan->tx_fill - sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0) {
			sent += (uint32_t)n;
		} else if (errno == EAGAIN) {
			break;
		} else if (errno != EINTR) {
			stop_sending(chan, -errno);
			return;
		}
	}
	chan->tx_fill -= sent;
	if (chan->tx_fill)
		memmove(chan->tx, chan->tx + sent, chan->tx_fill);
	dofi_chan_watch_room(chan, chan->tx_fill > 0);
}

static int make_room(struct dofi_chan *chan, uint32_t size)
{
	uint32_t new_size = chan->tx_size ? 2 * chan->tx_size : DOFI_WIRE_MAX_FRAME;
	uint8_t *tx;

	if (chan->tx_fill + size <= chan->tx_size)
		return 0;
	if (new_size > MAX_TX)
		return -ENOBUFS;
	tx = realloc(chan->tx, new_size);
	if (!tx)
		return -ENOMEM;
	chan->tx = tx;
	chan->tx_size = new_size;
	return 0;
}

static void give_up(struct dofi_chan *chan, int err)
{
	char text[DOFI_ADDR_TEXT];

	dofi_chan_peer_text(chan, text);
	if (err == -ENOMEM)
		DOFI_LOG_W("%s: giving up the control channel to %s: no memory for a message",
			   chan->ia->name, text);
	else
		DOFI_LOG_W("%s: giving up the control channel to %s: it takes no messages and %u "
			   "bytes wait; look whether that process is stopped",
			   chan->ia->name, text, chan->tx_fill);
	stop_sending(chan, err);
}

void dofi_chan_put(struct dofi_chan *chan, const uint8_t *frame, size_t size)
{
	int ret;

	dofi_assert_held(&chan->ia->engine.lock);
	if (chan->state == DOFI_CHAN_DEAD || chan->send_err)
		return;
	ret = make_room(chan, (uint32_t)size);
	if (ret) {
		give_up(chan, ret);
		return;
	}
	memcpy(chan->tx + chan->tx_fill, frame, size);
	chan->tx_fill += (uint32_t)size;
	dofi_wait_stay_awake(chan->ia);
}

void dofi_chan_put_sealed(struct dofi_chan *chan, uint8_t *frame, size_t size)
{
	dofi_assert_held(&chan->ia->engine.lock);
	if (chan->state == DOFI_CHAN_DEAD || chan->send_err)
		return;
	size = dofi_wire_seal(frame, size, &chan->session);
	if (size)
		dofi_chan_put(chan, frame, size);
	else
		stop_sending(chan, -EIO);
}

void dofi_chan_flush(struct dofi_chan *chan)
{
	dofi_assert_held(&chan->ia->engine.lock);
	if (chan->state != DOFI_CHAN_DEAD && !chan->writing && chan->tx_fill)
		dofi_chan_write(chan);
}

void dofi_chan_send(struct dofi_chan *chan, const struct dofi_msg *msg)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];

	dofi_assert_held(&chan->ia->engine.lock);
	if (chan->state == DOFI_CHAN_DEAD || (chan->state != DOFI_CHAN_UP && !chan->asks))
		return;
	dofi_chan_put_sealed(chan, frame, dofi_wire_put_msg(frame, msg));
	dofi_work_defer_last(chan->ia, &chan->sending);
}
