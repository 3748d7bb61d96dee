/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/peer.h"

#include "base/addr.h"
#include "base/clock.h"
#include "cm/conn.h"
#include "cm/drain.h"
#include "cm/path.h"
#include "object/ia.h"
#include "base/log.h"
#include "fabric/quirks.h"
#include "fabric/same_process.h"
#include "dto/ud.h"
#include "cm/channel.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "progress/wakeup.h"
#include "transport/shm_layout.h"
#include "transport/shm_name.h"
#include "transport/shm_region.h"
#include "cm/conn_state.h"
#include "transport/shm_repair.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_usable(const struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;
	bool yes;

	dofi_lock(&ep->lock);
	yes = ep->path_up && !ep->faulty;
	dofi_unlock(&ep->lock);
	return yes;
}

static void sever(struct dofi_work *work)
{
	struct dofi_peer *peer = DOFI_CONTAINER(work, struct dofi_peer, severed);
	const struct dofi_cm *cm = &peer->ia->cm;

	for (uint32_t i = 0; i < cm->conns_size; i++) {
		struct dofi_conn *conn = cm->conns[i];

		if (!conn || conn->peer != peer || dofi_conn_is_ending(conn))
			continue;
		if (dofi_conn_stage(conn) == DOFI_STAGE_LINKING)
			peer->peers->again(conn);
		else if (!conn->ud && is_usable(conn))
			dofi_conn_path_down(conn, 0);
	}
}

static void free_peer(struct dofi_peer *peer)
{
	if (peer->severed.link.next)
		dofi_list_del(&peer->severed.link);
	dofi_wakeup_remove_peer(peer->ia, &peer->wakeup);
	free(peer);
}

int dofi_peers_open(struct dofi_ia *ia, struct dofi_peers *peers,
		    void (*again)(struct dofi_conn *conn))
{
	struct fi_av_attr attr = {.type = ia->info->domain_attr->av_type};

	dofi_list_init(&peers->list);
	peers->again = again;
	return fi_av_open(ia->domain, &attr, &peers->av, NULL);
}

void dofi_peers_withdraw(struct dofi_peers *peers)
{
	DOFI_LIST_FOR(node, &peers->list)
	fi_av_remove(peers->av, &DOFI_CONTAINER(node, struct dofi_peer, link)->addr, 1, 0);
}

void dofi_peers_close(struct dofi_peers *peers)
{
	DOFI_LIST_FOR_SAFE(node, &peers->list)
	free_peer(DOFI_CONTAINER(node, struct dofi_peer, link));
	fi_close(&peers->av->fid);
}

struct dofi_peer *dofi_peer_find(struct dofi_peers *peers, const uint8_t *uuid)
{
	DOFI_LIST_FOR(node, &peers->list)
	{
		struct dofi_peer *peer = DOFI_CONTAINER(node, struct dofi_peer, link);

		if (!memcmp(peer->uuid, uuid, sizeof(peer->uuid)))
			return peer;
	}
	return NULL;
}

struct dofi_peer *dofi_peer_of(struct dofi_peers *peers, const struct dofi_details *details)
{
	DOFI_LIST_FOR(node, &peers->list)
	{
		struct dofi_peer *peer = DOFI_CONTAINER(node, struct dofi_peer, link);

		if (!memcmp(peer->uuid, details->uuid, sizeof(peer->uuid)) &&
		    peer->name_size == details->fabric_name_size &&
		    !memcmp(peer->name, details->fabric_name, peer->name_size))
			return peer;
	}
	return NULL;
}

static void forget(struct dofi_peers *peers, struct dofi_peer *peer)
{
	if (!peer->closed)
		peers->nidle--;
	fi_av_remove(peers->av, &peer->addr, 1, 0);
	dofi_list_del(&peer->link);
	dofi_shm_repair_forget(peer->ia, peer->shm, peer->closed);
	free_peer(peer);
}

/* full: there is no room for another peer. */
static bool may_forget(const struct dofi_peers *peers, const struct dofi_peer *peer, bool full)
{
	const struct dofi_ia *ia = peer->ia;

	if (peer->conns)
		return false;
	if (!peer->closed && ia->quirks & DOFI_QUIRK_PEER_NUMBERS &&
	    peers->nidle <= DOFI_PEERS_KEPT)
		return false;
	if (!peer->closed && ia->quirks & DOFI_QUIRK_GONE_SENDERS && !full &&
	    dofi_now() - peer->idle_since < DOFI_PEER_STAYS_NS)
		return false;
	return !dofi_drain_awaits(ia, peer);
}

/* Removes idle peers, except those that operations under way refer to. False: none. */
static bool forget_idle(struct dofi_ia *ia, struct dofi_peers *peers, bool full)
{
	bool any = false;

	if (!dofi_list_empty(&ia->orphans) || dofi_ud_is_sending(ia))
		return false;
	if (ia->quirks & DOFI_QUIRK_GONE_SENDERS && peers->in_completion)
		return false; /* the queue was not read, see dofi_peer_take */
	DOFI_LIST_FOR_SAFE(node, &peers->list)
	{
		struct dofi_peer *peer = DOFI_CONTAINER(node, struct dofi_peer, link);

		if (!may_forget(peers, peer, full))
			continue;
		forget(peers, peer);
		any = true;
	}
	return any;
}

/*
 * shm maps the file that the peer names and trusts its contents: also if the peer has another
 * release of libfabric with another layout. The file cannot be replaced between this check and the
 * mapping, because only its owner may remove it.
 */
static bool may_map(const struct dofi_ia *ia, const uint8_t *name)
{
	int ret;

	if (!dofi_shm_region_is_of(ia->fabric_name))
		return true;
	ret = dofi_shm_region_check(name);
	if (ret) {
		DOFI_LOG_W("%s: a peer was refused, because the shared memory that it names is "
			   "missing or can be changed by other users: %s: %s",
			   ia->name, (const char *)name, strerror(-ret));
		return false;
	}
	if (!dofi_shm_name_is_near((const char *)ia->fabric_name, (const char *)name)) {
		DOFI_LOG_W("%s: a peer was refused, because its process is in another PID "
			   "namespace, and libfabric's shared memory needs the same one: %s. Start "
			   "the containers with one PID namespace, or use another fabric, such as "
			   "tcp",
			   ia->name, (const char *)name);
		return false;
	}
	if (dofi_shm_may_meet((const char *)ia->fabric_name, (const char *)name))
		return true;
	DOFI_LOG_W("%s: a peer was refused, because its release of libfabric has another layout of "
		   "shared memory than the one here: %s",
		   ia->name, (const char *)name);
	return false;
}

static int insert(struct dofi_ia *ia, struct dofi_peers *peers, const struct dofi_details *hello,
		  fi_addr_t *addr_p)
{
	uint8_t name[DOFI_FABRIC_NAME_MAX + 2] = {0}; /* terminated, whatever the peer sends */
	size_t size = hello->fabric_name_size;

	memcpy(name, hello->fabric_name, size);
	if (!may_map(ia, name))
		return -FI_EACCES;
	if (!dofi_same_process_avoid(ia->quirks, name, &size, sizeof(name) - 1, ia->fabric_name) &&
	    (fi_av_insert(peers->av, name, 1, addr_p, 0, NULL) == 1 ||
	     (forget_idle(ia, peers, true) &&
	      fi_av_insert(peers->av, name, 1, addr_p, 0, NULL) == 1)))
		return 0;
	DOFI_LOG_W("%s: refusing a connection: the fabric's address vector does not take the "
		   "peer's address",
		   ia->name);
	return -FI_ENOSPC;
}

static struct dofi_shm_peer *watch(struct dofi_ia *ia, const struct dofi_details *details)
{
	uint8_t name[DOFI_FABRIC_NAME_MAX + 1] = {0};

	memcpy(name, details->fabric_name, details->fabric_name_size);
	return dofi_shm_repair_watch(ia, name);
}

static int make_peer(struct dofi_ia *ia, struct dofi_peers *peers, const struct dofi_chan *chan,
		     struct dofi_peer **peer_p)
{
	const struct dofi_details *details = &chan->peer;
	struct dofi_peer *peer = calloc(1, sizeof(*peer) + details->fabric_name_size);
	int ret;

	if (!peer)
		return -FI_ENOMEM;
	peer->ia = ia;
	peer->peers = peers;
	peer->severed.run = sever;
	peer->host = chan->remote;
	memcpy(peer->uuid, details->uuid, sizeof(peer->uuid));
	peer->name_size = details->fabric_name_size;
	memcpy(peer->name, details->fabric_name, peer->name_size);
	ret = insert(ia, peers, details, &peer->addr);
	if (ret) {
		free(peer);
		return ret;
	}
	dofi_list_add_tail(&peers->list, &peer->link);
	dofi_wakeup_add_peer(ia, &peer->wakeup, details->uuid);
	peer->shm = watch(ia, details);
	*peer_p = peer;
	return 0;
}

int dofi_peer_take(struct dofi_peers *peers, struct dofi_conn *conn)
{
	struct dofi_peer *peer = dofi_peer_of(peers, &conn->chan->peer);
	struct dofi_ia *ia = conn->ia;
	int ret;

	dofi_assert_held(&conn->ia->engine.lock);
	/*
	 * Operations of peers that have closed since may lie in the queue, and their entries are
	 * about to go. A greeting that lies there, too, may add this peer.
	 */
	if (!peer && ia->quirks & DOFI_QUIRK_GONE_SENDERS && !peers->in_completion) {
		dofi_engine_drain_cq(ia);
		peer = dofi_peer_of(peers, &conn->chan->peer);
	}
	if (!peer) {
		forget_idle(ia, peers, false);
		ret = make_peer(ia, peers, conn->chan, &peer);
		if (ret)
			return ret;
	} else if (!peer->conns && !peer->closed) {
		peers->nidle--;
	}
	if (!dofi_addr_same_host(&peer->host, &conn->chan->remote))
		peer->is_anywhere = true;
	if (!peer->conns)
		dofi_shm_repair_use(ia, peer->shm, true);
	peer->closed = false;
	peer->conns++;
	conn->peer = peer;
	conn->wakeup = &peer->wakeup;
	conn->dest = peer->addr;
	return 0;
}

/* Moves the peer to the end of the list, because the longest idle ones are removed first. */
void dofi_peer_give(struct dofi_conn *conn)
{
	struct dofi_peer *peer = conn->peer;

	dofi_assert_held(&conn->ia->engine.lock);
	conn->peer = NULL;
	if (--peer->conns)
		return;
	peer->idle_since = dofi_now();
	dofi_shm_repair_use(peer->ia, peer->shm, false);
	if (!peer->closed)
		peer->peers->nidle++;
	dofi_list_del(&peer->link);
	dofi_list_add_tail(&peer->peers->list, &peer->link);
}

void dofi_peer_closed(struct dofi_peer *peer, const struct sockaddr_storage *from)
{
	dofi_assert_held(&peer->ia->engine.lock);
	if (peer->closed || peer->is_anywhere || !dofi_addr_same_host(&peer->host, from))
		return;
	if (!peer->conns)
		peer->peers->nidle--;
	peer->closed = true;
}
