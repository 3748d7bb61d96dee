/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/channel_dial.h"

#include "base/addr.h"
#include "base/clock.h"
#include "cm/channel.h"
#include "cm/channel_find.h"
#include "cm/channel_send.h"
#include "cm/conn.h"
#include "cm/connect.h"
#include "cm/handshake.h"
#include "cm/wire.h"
#include "object/ia.h"
#include "progress/engine_fds.h"
#include "progress/timer.h"
#include "progress/work.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

void dofi_chan_set_options(const struct dofi_chan *chan)
{
	int limit = (int)chan->ia->params.keepalive_s, probes = 3, on = 1;
	int idle = limit / 2 ? limit / 2 : 1,
	    interval = (limit - idle) / probes ? (limit - idle) / probes : 1;
	unsigned int limit_ms = (unsigned int)limit * 1000u;
	int fd = chan->fd.fd;

	dofi_assert_held(&chan->ia->engine.lock);
	/*
	 * These options only make the channel faster or detect a dead peer sooner, so failures are
	 * ignored.
	 */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof(limit_ms));
}

/* The socket on which the requests were sent is closed, so they have to be sent again. */
static void forget_requests(struct dofi_chan *chan)
{
	chan->asks = false;
	DOFI_LIST_FOR(node, &chan->waiting)
	{
		DOFI_CONTAINER(node, struct dofi_conn, link)->asked = false;
	}
}

static void begin_anew(struct dofi_chan *chan)
{
	chan->state = DOFI_CHAN_DIALING;
	forget_requests(chan);
	chan->rx_fill = chan->tx_fill = 0;
	chan->send_err = 0;
	chan->writing = true;
}

void dofi_chan_dial_later(struct dofi_chan *chan)
{
	dofi_assert_held(&chan->ia->engine.lock);
	begin_anew(chan);
	dofi_timer_set(chan->ia, &chan->timer, dofi_now() + (1000000ull << chan->tries));
}

int dofi_chan_start_dial(struct dofi_chan *chan)
{
	const struct sockaddr_storage *to = &chan->names[0].addr;
	int ret, on = 1;

	dofi_assert_held(&chan->ia->engine.lock);
	chan->fd.fd = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (chan->fd.fd < 0)
		return -errno;
	/* Our local port must not keep a listener from using the same number. */
	setsockopt(chan->fd.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	begin_anew(chan);
	chan->tries++;
	chan->delay = dofi_run_delay_recent(&chan->ia->cm.delay);
	if (connect(chan->fd.fd, (const struct sockaddr *)to, dofi_addr_len(to)) &&
	    errno != EINPROGRESS)
		ret = -errno;
	else
		ret = dofi_engine_watch(chan->ia, &chan->fd, EPOLLIN | EPOLLOUT);
	if (ret) {
		close(chan->fd.fd);
		chan->fd.fd = -1;
	}
	return ret;
}

/* If nobody listens at a port of the ephemeral range, TCP may connect the socket to itself. */
static bool talks_to_itself(int fd)
{
	struct sockaddr_storage here, there;
	socklen_t here_size = sizeof(here), there_size = sizeof(there);

	return !getsockname(fd, (struct sockaddr *)&here, &here_size) &&
	       !getpeername(fd, (struct sockaddr *)&there, &there_size) &&
	       here_size == there_size && !memcmp(&here, &there, here_size);
}

void dofi_chan_dial_done(struct dofi_chan *chan)
{
	socklen_t size = sizeof(int);
	int err = 0;

	dofi_assert_held(&chan->ia->engine.lock);
	if (getsockopt(chan->fd.fd, SOL_SOCKET, SO_ERROR, &err, &size))
		err = errno;
	if (!err && talks_to_itself(chan->fd.fd))
		err = ECONNREFUSED;
	if (err) {
		dofi_chan_close(chan, -err, false);
		return;
	}
	chan->state = DOFI_CHAN_HANDSHAKE;
	chan->overdue = 0;
	dofi_timer_set(chan->ia, &chan->timer,
		       dofi_now() + chan->ia->params.handshake_ms * 1000000u);
	dofi_chan_set_options(chan);
	dofi_chan_watch_room(chan, false);
	dofi_handshake_begin(chan);
	dofi_chan_flush(chan);
}

static int dial_new(struct dofi_ia *ia, const struct sockaddr_storage *name,
		    struct dofi_chan **chan_p)
{
	struct dofi_chan *chan = dofi_chan_new(ia, -1, DOFI_CHAN_DIALING);
	int ret;

	if (!chan)
		return -ENOMEM;
	dofi_chan_add_name(chan, name);
	ret = dofi_chan_start_dial(chan);
	if (ret) {
		dofi_chan_forget_names(chan);
		free(chan);
		return ret;
	}
	dofi_list_add_tail(&ia->cm.chans, &chan->link);
	*chan_p = chan;
	return 0;
}

int dofi_chan_dial(struct dofi_conn *conn, const struct sockaddr *remote, uint16_t port)
{
	struct dofi_ia *ia = conn->ia;
	struct sockaddr_storage name;
	struct dofi_chan *chan;
	int ret;

	dofi_assert_held(&ia->engine.lock);
	if (!dofi_addr_set(&name, remote, port))
		return -EAFNOSUPPORT;
	chan = dofi_chan_find_named(&ia->cm, &name, conn->redialled);
	if (!chan) {
		ret = dial_new(ia, &name, &chan);
		if (ret)
			return ret;
	}
	conn->chan = chan;
	conn->asked = false;
	dofi_list_add_tail(&chan->waiting, &conn->link);
	if (chan->state == DOFI_CHAN_UP)
		dofi_work_defer(ia, &chan->work);
	return 0;
}

/*
 * The waiting connections send REQUEST without waiting for the DETAILS of the peer, which saves a
 * round trip. But if another channel leads to this host, both may lead to the same peer. Only its
 * DETAILS tell whether the channels are merged, so then the connections wait for them.
 */
void dofi_chan_proved(struct dofi_chan *chan)
{
	dofi_assert_held(&chan->ia->engine.lock);
	if (dofi_chan_host_is_known(chan))
		return;
	chan->asks = true;
	DOFI_LIST_FOR(node, &chan->waiting)
	{
		struct dofi_conn *conn = DOFI_CONTAINER(node, struct dofi_conn, link);

		if (conn->state == DOFI_CONN_DIALLING)
			dofi_conn_ask(conn);
	}
}

bool dofi_chan_merge(struct dofi_chan *chan)
{
	struct dofi_chan *into = dofi_chan_find_twin(chan);
	struct dofi_conn *conn;

	dofi_assert_held(&chan->ia->engine.lock);
	if (!into)
		return false;
	dofi_chan_add_name(into, &chan->names[0].addr);
	while ((conn = dofi_chan_pop(&chan->waiting))) {
		conn->chan = into;
		dofi_list_add_tail(&into->waiting, &conn->link);
	}
	dofi_work_defer(into->ia, &into->work);
	dofi_chan_close(chan, 0, true);
	return true;
}
