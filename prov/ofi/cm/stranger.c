/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/stranger.h"

#include "base/addr.h"
#include "base/clock.h"
#include "cm/channel.h"
#include "cm/channel_dial.h"
#include "cm/channel_read.h"
#include "cm/crowd.h"
#include "object/ia.h"
#include "progress/engine_fds.h"
#include "progress/timer.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static struct dofi_chan *stranger_at(struct dofi_list *node)
{
	return DOFI_CONTAINER(node, struct dofi_chan, link);
}

/*
 * The oldest stranger that has sent nothing, else the oldest of all. If this process had no
 * processor for a while, the HELLO of a friend may lie in the socket, so that is read first. What
 * it finds there may close the channel, too.
 */
static struct dofi_chan *least_welcome(struct dofi_cm *cm)
{
	struct dofi_list *node, *next;

	for (node = cm->strangers.next; node != &cm->strangers; node = next) {
		struct dofi_chan *chan = stranger_at(node);

		next = node->next;
		if (chan->step != DOFI_STEP_HELLO)
			continue;
		dofi_chan_read_turn(chan);
		if (chan->state == DOFI_CHAN_DEAD || chan->step == DOFI_STEP_HELLO)
			return chan;
	}
	return dofi_list_empty(&cm->strangers) ? NULL : stranger_at(cm->strangers.next);
}

bool dofi_stranger_evict(struct dofi_ia *ia)
{
	struct dofi_chan *chan;

	dofi_assert_held(&ia->engine.lock);
	chan = least_welcome(&ia->cm);
	if (!chan)
		return false;
	if (chan->state != DOFI_CHAN_DEAD) {
		dofi_crowd_evicts(chan);
		dofi_chan_close(chan, 0, false);
	}
	return true;
}

/* A peer that has hung up already, and has no address any more, leaves AF_UNSPEC. */
static void note_source(struct dofi_chan *chan)
{
	struct sockaddr_storage addr;
	socklen_t size = sizeof(addr);

	if (!getpeername(chan->fd.fd, (struct sockaddr *)&addr, &size))
		dofi_addr_set(&chan->source, (const struct sockaddr *)&addr, 0);
}

bool dofi_stranger_adopt(struct dofi_ia *ia, int fd)
{
	struct dofi_cm *cm = &ia->cm;
	struct dofi_chan *chan = dofi_chan_new(ia, fd, DOFI_CHAN_HANDSHAKE);

	dofi_assert_held(&ia->engine.lock);
	if (!chan || dofi_engine_watch(ia, &chan->fd, EPOLLIN)) {
		free(chan);
		return false;
	}
	if (cm->nstrangers >= cm->max_strangers)
		dofi_stranger_evict(ia);
	chan->accepted = true;
	note_source(chan);
	cm->nstrangers++;
	dofi_list_add_tail(&cm->strangers, &chan->link);
	dofi_timer_set(ia, &chan->timer, dofi_now() + ia->params.handshake_ms * 1000000u);
	dofi_chan_set_options(chan);
	/*
	 * Mostly the HELLO is here already. Reading it now keeps later strangers from evicting this
	 * channel.
	 */
	dofi_chan_read_turn(chan);
	return true;
}
