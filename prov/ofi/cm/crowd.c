/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/crowd.h"

#include "base/addr.h"
#include "base/log.h"
#include "cm/channel.h"
#include "cm/conn.h"
#include "object/ia.h"
#include "base/clock.h"

#include <stdio.h>
#include <sys/resource.h>

/*
 * The dialling side closes a channel that it has not used for five seconds. One that is idle for
 * twice as long was forgotten by the peer.
 */
#define FORGOTTEN_NS  UINT64_C(10000000000)
/*
 * The ranks of a large program that all dial this IA are strangers at first. Each one that is
 * pushed out dials again, but not for ever.
 */
#define MAX_STRANGERS 4096u

static uint32_t chosen_or(uint64_t chosen, uint64_t otherwise)
{
	uint64_t n = chosen ? chosen : otherwise;

	return n > UINT32_MAX ? UINT32_MAX : n < 4 ? 4 : (uint32_t)n;
}

void dofi_crowd_init(struct dofi_ia *ia)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur == RLIM_INFINITY)
		files.rlim_cur = 1u << 20;
	ia->cm.max_chans = chosen_or(ia->params.max_channels, files.rlim_cur - files.rlim_cur / 4);
	ia->cm.max_peer_chans = chosen_or(ia->params.max_peer_channels, files.rlim_cur / 2);
	ia->cm.max_strangers =
		chosen_or(ia->params.max_strangers,
			  files.rlim_cur / 4 < MAX_STRANGERS ? files.rlim_cur / 4 : MAX_STRANGERS);
}

static void say(struct dofi_chan *chan, const char *what, uint32_t limit, const char *param)
{
	struct dofi_ia *ia = chan->ia;
	char text[DOFI_ADDR_TEXT];

	DOFI_COUNT_SHARED(ia, IA_CM_REFUSED_LIMIT);
	DOFI_LOG_LIMITED(&ia->cm.crowd, DOFI_LOG_WARN, ia->name,
			 "%s: refusing %s of %s, there are %u; %s allows more", ia->name, what,
			 dofi_chan_peer_text(chan, text), limit, param);
}

static bool is_forgotten(const struct dofi_chan *chan)
{
	return dofi_list_empty(&chan->conns) && dofi_list_empty(&chan->waiting) &&
	       chan->asked == chan->done && dofi_now() - chan->idle_since > FORGOTTEN_NS;
}

/* The result of look_around. */
struct crowd {
	uint32_t of_peer;                      /* channels from the address of the new one */
	struct dofi_chan *idle_of_peer, *idle; /* unused ones, or NULL */
};

static struct crowd look_around(const struct dofi_chan *new)
{
	struct crowd crowd = {0};

	DOFI_LIST_FOR(node, &new->ia->cm.chans)
	{
		struct dofi_chan *chan = DOFI_CONTAINER(node, struct dofi_chan, link);
		bool same;

		if (!chan->accepted)
			continue;
		same = dofi_addr_same_host(&chan->source, &new->source);
		crowd.of_peer += same;
		if (!is_forgotten(chan))
			continue;
		if (!crowd.idle)
			crowd.idle = chan;
		if (!crowd.idle_of_peer && same)
			crowd.idle_of_peer = chan;
	}
	return crowd;
}

static bool make_room(struct dofi_chan *idle)
{
	if (idle)
		dofi_chan_close(idle, 0, true);
	return idle;
}

/* Searches the channels only if there are so many that a limit may be reached. */
bool dofi_crowd_admits(struct dofi_chan *chan)
{
	struct dofi_cm *cm = &chan->ia->cm;
	struct crowd crowd = {0};

	if (cm->naccepted >= cm->max_chans || cm->naccepted >= cm->max_peer_chans)
		crowd = look_around(chan);
	if (crowd.of_peer >= cm->max_peer_chans && !make_room(crowd.idle_of_peer)) {
		say(chan, "another control channel", cm->max_peer_chans, "max_peer_channels");
		return false;
	}
	if (cm->naccepted >= cm->max_chans && !make_room(crowd.idle)) {
		say(chan, "the control channel", cm->max_chans, "max_channels");
		return false;
	}
	cm->naccepted++;
	return true;
}

void dofi_crowd_leaves(struct dofi_chan *chan)
{
	chan->ia->cm.naccepted--;
}

void dofi_crowd_evicts(struct dofi_chan *chan)
{
	struct dofi_ia *ia = chan->ia;
	char text[DOFI_ADDR_TEXT], limit[64];

	DOFI_COUNT_SHARED(ia, IA_CM_STRANGERS);
	/* Below the limit of strangers, the process has no descriptor for the new socket. */
	if (ia->cm.nstrangers < ia->cm.max_strangers)
		snprintf(limit, sizeof(limit), "no more files can be open (ulimit -n)");
	else
		snprintf(limit, sizeof(limit), "max_strangers is %u", ia->cm.max_strangers);
	DOFI_LOG_LIMITED(&ia->cm.crowd, DOFI_LOG_WARN, ia->name,
			 "%s: closing a socket of %s, which has not proved that it has the key, to "
			 "make room for another one; %u such sockets were open, %s",
			 ia->name, dofi_chan_peer_text(chan, text), ia->cm.nstrangers, limit);
}

/* Requests from the address of the channel whose connectors have given up. */
static uint32_t abandoned_of(const struct dofi_chan *chan)
{
	const struct dofi_cm *cm = &chan->ia->cm;
	uint32_t n = 0;

	for (uint32_t i = 0; i < cm->conns_size; i++) {
		const struct dofi_conn *conn = cm->conns[i];

		n += conn && conn->state == DOFI_CONN_ABANDONED &&
		     dofi_addr_same_host(&conn->remote, &chan->source);
	}
	return n;
}

/*
 * A request that its peer has withdrawn waits for the consumer, too, and has lost its channel. So
 * it counts for all channels of its address; otherwise a peer could withdraw requests without end.
 */
bool dofi_crowd_takes_request(struct dofi_chan *chan)
{
	uint32_t limit = (uint32_t)chan->ia->params.max_peer_requests, n = chan->noffered;

	if (n < limit && n + chan->ia->cm.nabandoned >= limit)
		n += abandoned_of(chan);
	if (n < limit)
		return true;
	say(chan, "another connection request", limit, "max_peer_requests");
	return false;
}
