/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Actions on all control channels of an IA. */
#include "cm/cm.h"

#include "auth/crypto.h"
#include "cm/channel.h"
#include "cm/channel_find.h"
#include "cm/channel_send.h"

#include "cm/conn.h"
#include "cm/crowd.h"
#include "cm/invalidation.h"
#include "object/ia.h"
#include "cm/linger.h"
#include "base/log.h"
#include "fabric/quirks.h"
#include "cm/service_point.h"
#include "cm/wire.h"
#include "base/clock.h"
#include "progress/engine.h"
#include "progress/stall.h"
#include "progress/wait.h"
#include "dto/reap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* --- invalidations --- */

static bool owes_answer(const struct dofi_chan *chan, uint64_t number)
{
	return chan->state == DOFI_CHAN_UP && chan->asked >= number && chan->done < number;
}

bool dofi_chan_invalidated(const struct dofi_ia *ia, uint64_t number)
{
	dofi_assert_held(&ia->engine.lock);
	DOFI_LIST_FOR(node, &ia->cm.chans)
	{
		if (owes_answer(DOFI_CONTAINER(node, struct dofi_chan, link), number))
			return false;
	}
	return true;
}

/* Waiting for a mute peer would delay each such call of the program by silent_ms. */
static bool is_waited_for(const struct dofi_chan *chan, uint64_t number)
{
	return !chan->mute && owes_answer(chan, number);
}

static bool has_answers(const struct dofi_ia *ia, uint64_t number)
{
	DOFI_LIST_FOR(node, &ia->cm.chans)
	{
		if (is_waited_for(DOFI_CONTAINER(node, struct dofi_chan, link), number))
			return false;
	}
	return true;
}

static void say_silent(const struct dofi_chan *chan)
{
	struct dofi_ia *ia = chan->ia;
	char text[DOFI_ADDR_TEXT];

	DOFI_LOG_LIMITED(&ia->cm.silences, DOFI_LOG_WARN, ia->name,
			 "%s: the peer %s has not answered within %u ms (silent_ms) that an LMR or "
			 "RMR is gone, and may still write to its memory; calls do not wait for it "
			 "until it answers",
			 ia->name, dofi_chan_peer_text(chan, text),
			 (unsigned int)ia->params.silent_ms);
}

static void note_silence(struct dofi_ia *ia, uint64_t number)
{
	DOFI_LIST_FOR(node, &ia->cm.chans)
	{
		struct dofi_chan *chan = DOFI_CONTAINER(node, struct dofi_chan, link);

		if (!is_waited_for(chan, number))
			continue;
		chan->mute = true;
		chan->silences++;
		DOFI_COUNT_SHARED(ia, IA_CM_MUTE);
		say_silent(chan);
	}
}

void dofi_chan_give_up(struct dofi_ia *ia, uint64_t number)
{
	char text[DOFI_ADDR_TEXT];

	dofi_assert_held(&ia->engine.lock);
	DOFI_LIST_FOR_SAFE(node, &ia->cm.chans)
	{
		struct dofi_chan *chan = DOFI_CONTAINER(node, struct dofi_chan, link);

		if (!owes_answer(chan, number))
			continue;
		DOFI_LOG_W(
			"%s: breaking the connections with %s, which has not given up a replaced "
			"rmr_context within %u ms; a slow peer needs a greater handshake_ms",
			ia->name, dofi_chan_peer_text(chan, text),
			(unsigned int)ia->params.handshake_ms);
		dofi_chan_close(chan, -ETIMEDOUT, false);
	}
}

/*
 * Only a peer that has had a data path to us, other than for datagrams, can have resolved a
 * context. It keeps one that is not announced only over shared memory. It can use the context until
 * it has handled BYE. So a connection counts while it lingers, because BYE was not sent, and after
 * that, because a copy of the peer may still be under way.
 */
static bool may_know_context(const struct dofi_chan *chan, bool announced)
{
	DOFI_LIST_FOR(node, &chan->conns)
	{
		const struct dofi_conn *conn = DOFI_CONTAINER(node, struct dofi_conn, link);

		if (conn->path_made && !conn->ud && (announced || conn->over_memory))
			return true;
	}
	return false;
}

uint64_t dofi_chan_ask(struct dofi_ia *ia, uint32_t context, bool announced)
{
	struct dofi_msg msg = {
		.type = DOFI_MSG_INVALIDATE,
		.context = context,
		.number = ++ia->cm.invalidations,
	};

	dofi_assert_held(&ia->engine.lock);
	/* Does not look through all connections for some over shared memory if there are none. */
	if (!announced && !ia->local_trans)
		return msg.number;
	DOFI_LIST_FOR(node, &ia->cm.chans)
	{
		struct dofi_chan *chan = DOFI_CONTAINER(node, struct dofi_chan, link);

		if (chan->state != DOFI_CHAN_UP || !may_know_context(chan, announced))
			continue;
		chan->asked = msg.number;
		dofi_chan_send(chan, &msg);
	}
	return msg.number;
}

/* More rounds than it takes to read a fabric's queue of packets. */
#define READ_ROUNDS 64

/*
 * Operations of peers that are gone may lie in the fabric's queue, and are handled when it is read.
 */
static void take_what_came(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->engine.lock);
	for (int i = 0; i < READ_ROUNDS; i++)
		dofi_reap(ia);
}

void dofi_chan_invalidate(struct dofi_ia *ia, uint32_t context, bool announced)
{
	uint64_t number, deadline = dofi_now() + ia->params.silent_ms * 1000000u;
	struct dofi_cm *cm = &ia->cm;
	uint32_t seen;
	bool done;

	dofi_engine_begin(ia);
	/* An EP may not have asked yet for the context that its bind replaced. */
	dofi_stall_retry_all(ia);
	number = context ? dofi_chan_ask(ia, context, announced) : cm->invalidations;
	for (;;) {
		seen = atomic_load(&cm->wakeup);
		done = has_answers(ia, number);
		if (done && ia->quirks & DOFI_QUIRK_CLOSED_KEYS)
			take_what_came(ia);
		dofi_engine_end(ia);
		if (done)
			return;
		if (dofi_wait_sleep(ia, &cm->wakeup, seen, deadline) == -ETIMEDOUT)
			break;
		dofi_engine_begin(ia);
	}
	dofi_engine_begin(ia);
	note_silence(ia, number);
	dofi_engine_end(ia);
}

/* --- the whole IA --- */

static void answered(struct dofi_work *work)
{
	dofi_conn_invalidated(DOFI_CONTAINER(work, struct dofi_ia, cm.answered));
}

int dofi_cm_init(struct dofi_ia *ia)
{
	struct dofi_cm *cm = &ia->cm;
	int ret;

	dofi_list_init(&cm->chans);
	dofi_list_init(&cm->strangers);
	dofi_list_init(&cm->dead);
	dofi_list_init(&cm->listeners);
	dofi_list_init(&cm->binds);
	cm->answered.run = answered;
	dofi_crowd_init(ia);
	ret = dofi_random(cm->uuid, sizeof(cm->uuid));
	if (!ret)
		ret = dofi_chan_find_init(cm);
	if (ret)
		return ret;
	cm->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (cm->spare_fd >= 0)
		return 0;
	ret = -errno;
	dofi_chan_find_fini(cm);
	return ret;
}

static void say_goodbye(struct dofi_cm *cm)
{
	const struct dofi_msg goodbye = {.type = DOFI_MSG_GOODBYE};

	DOFI_LIST_FOR(node, &cm->chans)
	{
		struct dofi_chan *chan = DOFI_CONTAINER(node, struct dofi_chan, link);

		dofi_chan_send(chan, &goodbye);
		dofi_chan_flush(chan);
	}
}

static void close_all(struct dofi_list *chans)
{
	while (!dofi_list_empty(chans))
		dofi_chan_close(DOFI_CONTAINER(chans->next, struct dofi_chan, link), 0, true);
}

void dofi_cm_fini(struct dofi_ia *ia)
{
	struct dofi_cm *cm = &ia->cm;

	dofi_engine_begin(ia);
	say_goodbye(cm);
	close_all(&cm->chans);
	close_all(&cm->strangers);
	dofi_engine_end(ia); /* its deferred work frees them */
	dofi_chan_find_fini(cm);
	if (cm->spare_fd >= 0)
		close(cm->spare_fd);
	cm->spare_fd = -1;
	/* Freed last: a connect request of the fabric may still be read until here. */
	free(cm->conns);
	cm->conns = NULL;
	cm->conns_size = 0;
}

void dofi_cm_exit(struct dofi_ia *ia)
{
	if (!dofi_trylock_for(&ia->engine.lock, DOFI_EXIT_LOCK_NS))
		return;
	dofi_linger_all(ia);
	say_goodbye(&ia->cm);
	dofi_unlock(&ia->engine.lock);
}

static void close_fds(struct dofi_list *chans)
{
	DOFI_LIST_FOR(node, chans)
	{
		const struct dofi_chan *chan = DOFI_CONTAINER(node, struct dofi_chan, link);

		if (chan->fd.fd >= 0)
			close(chan->fd.fd);
	}
}

/* Makes no epoll calls: the child shares the parent's epoll sets. */
void dofi_cm_fork_child(struct dofi_ia *ia)
{
	struct dofi_cm *cm = &ia->cm;

	close_fds(&cm->chans);
	close_fds(&cm->strangers);
	DOFI_LIST_FOR(node, &cm->listeners)
	{
		const struct dofi_sp *sp = DOFI_CONTAINER(node, struct dofi_sp, link);

		close(sp->fd.fd);
		if (sp->claim_fd >= 0)
			close(sp->claim_fd);
	}
	if (cm->spare_fd >= 0)
		close(cm->spare_fd);
}
