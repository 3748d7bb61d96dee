/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/channel_find.h"

#include "base/addr.h"
#include "cm/channel.h"
#include "object/ia.h"

#include <errno.h>
#include <stdlib.h>

/* An IA outlives its close for stale handles, so the tables are not a part of it. */
struct dofi_chan_tables {
	struct dofi_list names[DOFI_CHAN_BUCKETS], hosts[DOFI_CHAN_BUCKETS],
		peers[DOFI_CHAN_BUCKETS];
};

/* By the FNV-1a hash of the address. */
static struct dofi_list *bucket(struct dofi_list *table, const struct sockaddr_storage *addr,
				uint16_t port)
{
	struct in6_addr host;
	size_t size = dofi_addr_bytes(addr, &host);
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ host.s6_addr[i]) * 16777619u;
	hash = (hash ^ (port & 0xffu)) * 16777619u;
	hash = (hash ^ (uint32_t)(port >> 8)) * 16777619u;
	return &table[(hash ^ hash >> 16) % DOFI_CHAN_BUCKETS];
}

static struct dofi_list *bucket_of_name(struct dofi_cm *cm, const struct sockaddr_storage *name)
{
	return bucket(cm->tables->names, name, dofi_addr_port(name));
}

static struct dofi_list *bucket_of_host(struct dofi_cm *cm, const struct sockaddr_storage *host)
{
	return bucket(cm->tables->hosts, host, 0);
}

/* The uuid is random. */
static struct dofi_list *bucket_of_peer(struct dofi_cm *cm, const struct dofi_details *peer)
{
	return &cm->tables
			->peers[(peer->uuid[0] | (uint32_t)peer->uuid[1] << 8) % DOFI_CHAN_BUCKETS];
}

int dofi_chan_find_init(struct dofi_cm *cm)
{
	struct dofi_chan_tables *tables = malloc(sizeof(*tables));

	if (!tables)
		return -ENOMEM;
	for (size_t i = 0; i < DOFI_CHAN_BUCKETS; i++) {
		dofi_list_init(&tables->names[i]);
		dofi_list_init(&tables->hosts[i]);
		dofi_list_init(&tables->peers[i]);
	}
	cm->tables = tables;
	return 0;
}

void dofi_chan_find_fini(struct dofi_cm *cm)
{
	free(cm->tables);
	cm->tables = NULL;
}

/* --- entries --- */

static bool has_name(const struct dofi_chan *chan, const struct sockaddr_storage *name)
{
	for (uint32_t i = 0; i < chan->nnames; i++)
		if (dofi_addr_equal(&chan->names[i].addr, name))
			return true;
	return false;
}

static void store_name(struct dofi_chan *chan, const struct sockaddr_storage *name)
{
	struct dofi_chan_name *to;

	if (chan->nnames < DOFI_CHAN_NAMES) {
		to = &chan->names[chan->nnames++];
		dofi_list_init(&to->link);
	} else {
		to = &chan->names[1 + chan->nreplaced++ % (DOFI_CHAN_NAMES - 1)];
	}
	to->chan = chan;
	to->addr = *name;
}

void dofi_chan_add_name(struct dofi_chan *chan, const struct sockaddr_storage *name)
{
	dofi_assert_held(&chan->ia->engine.lock);
	if (!has_name(chan, name))
		store_name(chan, name);
	for (uint32_t i = 0; i < chan->nnames; i++) {
		dofi_list_del(&chan->names[i].link);
		dofi_list_add(bucket_of_name(&chan->ia->cm, &chan->names[i].addr),
			      &chan->names[i].link);
	}
}

void dofi_chan_make_known(struct dofi_chan *chan)
{
	struct dofi_cm *cm = &chan->ia->cm;

	dofi_assert_held(&chan->ia->engine.lock);
	dofi_list_add(bucket_of_host(cm, &chan->names[0].addr), &chan->host_link);
	dofi_list_add(bucket_of_peer(cm, &chan->peer), &chan->peer_link);
}

/* The first address stays for messages. */
void dofi_chan_forget_names(struct dofi_chan *chan)
{
	dofi_assert_held(&chan->ia->engine.lock);
	for (uint32_t i = 0; i < chan->nnames; i++)
		dofi_list_del(&chan->names[i].link);
	chan->nnames = 0;
	dofi_list_del(&chan->host_link);
	dofi_list_del(&chan->peer_link);
}

/* --- searches --- */

struct dofi_chan *dofi_chan_find_named(struct dofi_cm *cm, const struct sockaddr_storage *name,
				       bool afresh)
{
	DOFI_LIST_FOR(node, bucket_of_name(cm, name))
	{
		const struct dofi_chan_name *of = DOFI_CONTAINER(node, struct dofi_chan_name, link);
		struct dofi_chan *chan = of->chan;

		if (!chan->send_err && !(afresh && chan->state == DOFI_CHAN_UP) &&
		    dofi_addr_equal(&of->addr, name))
			return chan;
	}
	return NULL;
}

struct dofi_chan *dofi_chan_find_twin(const struct dofi_chan *chan)
{
	dofi_assert_held(&chan->ia->engine.lock);
	DOFI_LIST_FOR(node, bucket_of_peer(&chan->ia->cm, &chan->peer))
	{
		struct dofi_chan *other = DOFI_CONTAINER(node, struct dofi_chan, peer_link);

		if (other != chan && !other->send_err &&
		    dofi_details_are_of_one(&other->peer, &chan->peer))
			return other;
	}
	return NULL;
}

bool dofi_chan_host_is_known(const struct dofi_chan *chan)
{
	const struct sockaddr_storage *host = &chan->names[0].addr;

	dofi_assert_held(&chan->ia->engine.lock);
	DOFI_LIST_FOR(node, bucket_of_host(&chan->ia->cm, host))
	{
		const struct dofi_chan *other = DOFI_CONTAINER(node, struct dofi_chan, host_link);

		if (other != chan && dofi_addr_same_host(&other->names[0].addr, host))
			return true;
	}
	return false;
}
