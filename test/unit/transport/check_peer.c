/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The peers of a shared endpoint: each has one address, which is kept for later connections; and a
 * stream that breaks below their connections.
 */
#include "t_blocks.h"

#include "../../../prov/ofi/base/addr.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/cm/drain.h"
#include "../../../prov/ofi/cm/path.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/transport/peer.h"
#include "../../../prov/ofi/transport/shm_repair.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/fabric/same_process.h"
#include "../../../prov/ofi/dto/ud.h"
#include "../../../prov/ofi/cm/channel.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/progress/wakeup.h"
#include "../../../prov/ofi/cm/conn_state.h"

#include <fcntl.h>
#include <rdma/fi_errno.h>
#include <string.h>

#define CONNS 6

static struct dofi_ia ia;
static struct fi_info info;
static struct fi_domain_attr domain_attr = {.av_type = FI_AV_TABLE};
static struct dofi_peers peers;
static struct dofi_chan chans[CONNS];
static struct dofi_conn conns[CONNS], *table[8];
static struct dofi_ep eps[CONNS];

/* --- the fabric --- */

static struct {
	int inserted, removed, closed;
	int most; /* entries; 0: any number */
	bool full;
	fi_addr_t last; /* the address that was removed */
	size_t name_length;
} fabric;

static int insert(struct fid_av *av, const void *addr, size_t count, fi_addr_t *fi_addr,
		  uint64_t flags, void *context)
{
	(void)av, (void)context;
	ck_assert_uint_eq(flags, 0);
	ck_assert_uint_eq(count, 1);
	if (fabric.full || (fabric.most && fabric.inserted - fabric.removed == fabric.most))
		return 0;
	*fi_addr = *(const uint8_t *)addr; /* as the name begins */
	fabric.name_length = strnlen(addr, 2 * DOFI_FABRIC_NAME_MAX);
	fabric.inserted++;
	return 1;
}

static int take_out(struct fid_av *av, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	(void)av;
	ck_assert_uint_eq(flags, 0);
	ck_assert_uint_eq(count, 1);
	fabric.last = *fi_addr;
	fabric.removed++;
	return 0;
}

static int close_av(struct fid *fid)
{
	(void)fid;
	fabric.closed++;
	return 0;
}

static struct fi_ops_av av_ops = {.size = sizeof(av_ops), .insert = insert, .remove = take_out};
static struct fi_ops fid_ops = {.size = sizeof(fid_ops), .close = close_av};
static struct fid_av av = {.fid.ops = &fid_ops, .ops = &av_ops};

static int open_av(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av_p,
		   void *context)
{
	(void)domain, (void)context;
	ck_assert_int_eq(attr->type, FI_AV_TABLE);
	*av_p = &av;
	return 0;
}

static struct fi_ops_domain domain_ops = {.size = sizeof(domain_ops), .av_open = open_av};
static struct fid_domain domain = {.ops = &domain_ops};

/* --- functions that peer.c calls --- */

static int wakeups, down[CONNS], again[CONNS];

void dofi_wakeup_add_peer(struct dofi_ia *of, struct dofi_wakeup_peer *wakeup, const uint8_t *uuid)
{
	ck_assert_ptr_eq(of, &ia);
	memcpy(wakeup->uuid, uuid, sizeof(wakeup->uuid));
	wakeups++;
}

void dofi_wakeup_remove_peer(struct dofi_ia *of, struct dofi_wakeup_peer *wakeup)
{
	(void)wakeup;
	ck_assert_ptr_eq(of, &ia);
	wakeups--;
}

/* Each watched process has its place, and what peer.c has said of it. */
static struct {
	char name[DOFI_FABRIC_NAME_MAX + 1];
	bool used, forgotten, closed;
} shm[CONNS];
static int watched;

static struct dofi_shm_peer *shm_peer(int i)
{
	return (struct dofi_shm_peer *)(void *)&shm[i];
}

/* Some peers cannot be watched. */
struct dofi_shm_peer *dofi_shm_repair_watch(struct dofi_ia *of, const uint8_t *name)
{
	ck_assert_ptr_eq(of, &ia);
	if (watched == CONNS)
		return NULL;
	snprintf(shm[watched].name, sizeof(shm[watched].name), "%s", (const char *)name);
	return shm_peer(watched++);
}

static int shm_number(struct dofi_shm_peer *peer)
{
	for (int i = 0; i < watched; i++)
		if (peer == shm_peer(i))
			return i;
	ck_abort_msg("it was never watched");
	return 0;
}

void dofi_shm_repair_use(struct dofi_ia *of, struct dofi_shm_peer *peer, bool used)
{
	ck_assert_ptr_eq(of, &ia);
	if (!peer)
		return;
	ck_assert(!shm[shm_number(peer)].forgotten);
	shm[shm_number(peer)].used = used;
}

void dofi_shm_repair_forget(struct dofi_ia *of, struct dofi_shm_peer *peer, bool closed)
{
	ck_assert_ptr_eq(of, &ia);
	if (!peer)
		return;
	ck_assert(!shm[shm_number(peer)].forgotten);
	shm[shm_number(peer)].forgotten = true;
	shm[shm_number(peer)].closed = closed;
}

void dofi_conn_path_down(struct dofi_conn *conn, int err)
{
	ck_assert_int_eq(err, 0);
	down[conn - conns]++;
}

static bool datagrams_under_way;

bool dofi_ud_is_sending(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	return datagrams_under_way;
}

static const struct dofi_peer *awaited;

bool dofi_drain_awaits(const struct dofi_ia *of, const struct dofi_peer *peer)
{
	ck_assert_ptr_eq(of, &ia);
	return peer == awaited;
}

static uint64_t now = 1000;

uint64_t __wrap_dofi_now(void);

uint64_t __wrap_dofi_now(void)
{
	return now;
}

static int queue_reads;
static void (*greeted)(void); /* a greeting is in the queue */

int dofi_engine_drain_cq(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	queue_reads++;
	if (greeted)
		greeted();
	return 0;
}

static void say_again(struct dofi_conn *conn)
{
	again[conn - conns]++;
}

/* --- */

/* The socket of the channel leads to this host. */
static void call_from(int i, const char *host)
{
	ck_assert(dofi_addr_parse(host, &chans[i].remote));
}

static void say_closed(int i)
{
	dofi_peer_closed(dofi_peer_of(&peers, &chans[i].peer), &chans[i].remote);
}

static unsigned int before; /* blocks that do not belong to peers */

static void setup(void)
{
	info.domain_attr = &domain_attr;
	ia.info = &info;
	ia.domain = &domain;
	dofi_list_init(&ia.orphans);
	ia.cm.conns = table;
	ia.cm.conns_size = sizeof(table) / sizeof(table[0]);
	for (int i = 0; i < CONNS; i++) {
		dofi_lock_init(&eps[i].lock);
		eps[i].path_up = true;
		call_from(i, "10.0.0.7");
		conns[i] = (struct dofi_conn){.ia = &ia,
					      .chan = &chans[i],
					      .ep = &eps[i],
					      .state = DOFI_CONN_ESTABLISHED};
		table[i + 1] = &conns[i];
	}
	dofi_lock(&ia.engine.lock);
	before = t_nblocks;
	ck_assert_int_eq(dofi_peers_open(&ia, &peers, say_again), 0);
}

static void teardown(void)
{
	dofi_peers_close(&peers);
	ck_assert_uint_eq(t_nblocks, before);
	ck_assert_int_eq(wakeups, 0);
	ck_assert_int_eq(fabric.closed, 1);
}

/* A connection with the peer of this name. */
static int meet(int i, uint8_t name)
{
	memset(chans[i].peer.uuid, name, sizeof(chans[i].peer.uuid));
	chans[i].peer.fabric_name_size = 4;
	memset(chans[i].peer.fabric_name, name, 4);
	return dofi_peer_take(&peers, &conns[i]);
}

START_TEST(one_address_for_all_connections)
{
	ck_assert_int_eq(meet(0, 7), 0);
	ck_assert_int_eq(meet(1, 8), 0);
	ck_assert_int_eq(meet(2, 7), 0);
	ck_assert_int_eq(fabric.inserted, 2);
	ck_assert_ptr_eq(conns[0].peer, conns[2].peer);
	ck_assert_ptr_ne(conns[0].peer, conns[1].peer);
	ck_assert_ptr_eq(conns[2].wakeup, &conns[0].peer->wakeup);
	ck_assert_uint_eq(conns[2].dest, 7);
	ck_assert_uint_eq(conns[1].dest, 8);
	ck_assert_ptr_eq(dofi_peer_find(&peers, chans[1].peer.uuid), conns[1].peer);
	ck_assert_int_eq(wakeups, 2);
}
END_TEST

START_TEST(a_peer_that_returns_has_its_old_address)
{
	ck_assert_int_eq(meet(0, 7), 0);
	dofi_peer_give(&conns[0]);
	ck_assert_ptr_null(conns[0].peer);
	ck_assert_int_eq(meet(1, 7), 0);
	ck_assert_int_eq(fabric.inserted, 1);
	ck_assert_int_eq(fabric.removed, 0);
}
END_TEST

START_TEST(all_addresses_are_withdrawn)
{
	ck_assert_int_eq(meet(0, 7), 0);
	ck_assert_int_eq(meet(1, 8), 0);
	dofi_peer_give(&conns[0]);
	dofi_peer_give(&conns[1]);
	dofi_peers_withdraw(&peers);
	ck_assert_int_eq(fabric.removed, 2);
	ck_assert_uint_eq(fabric.last, 8);
	ck_assert_int_eq(fabric.closed, 0);
}
END_TEST

START_TEST(an_unused_entry_is_replaced)
{
	ck_assert_int_eq(meet(0, 7), 0);
	ck_assert_int_eq(meet(1, 8), 0);
	dofi_peer_give(&conns[0]);
	ck_assert_int_eq(meet(2, 9), 0);
	ck_assert_int_eq(fabric.removed, 1);
	ck_assert_uint_eq(fabric.last, 7);
	ck_assert_ptr_null(dofi_peer_find(&peers, chans[0].peer.uuid));
	ck_assert_ptr_nonnull(dofi_peer_find(&peers, chans[1].peer.uuid));
	ck_assert_int_eq(wakeups, 2);
}
END_TEST

START_TEST(an_entry_whose_messages_are_awaited_remains)
{
	if (_i)
		ia.quirks = DOFI_QUIRK_GONE_SENDERS;
	ck_assert_int_eq(meet(0, 7), 0);
	awaited = conns[0].peer;
	say_closed(0);
	dofi_peer_give(&conns[0]);
	ck_assert_int_eq(meet(1, 8), 0);
	ck_assert_int_eq(fabric.removed, 0);
	awaited = NULL;
	ck_assert_int_eq(meet(2, 9), 0);
	ck_assert_int_eq(fabric.removed, 1);
	ck_assert_uint_eq(fabric.last, 7);
}
END_TEST

/* Its process may begin an operation before it learns of the end. */
START_TEST(the_entry_of_a_sender_remains_for_a_while)
{
	ia.quirks = DOFI_QUIRK_GONE_SENDERS;
	ck_assert_int_eq(meet(0, 7), 0);
	now += DOFI_PEER_STAYS_NS;
	dofi_peer_give(&conns[0]);
	now += DOFI_PEER_STAYS_NS - 1;
	ck_assert_int_eq(meet(1, 8), 0);
	ck_assert_int_eq(fabric.removed, 0);
	now++;
	ck_assert_int_eq(meet(2, 9), 0);
	ck_assert_int_eq(fabric.removed, 1);
	ck_assert_uint_eq(fabric.last, 7);
}
END_TEST

static void have_a_closed_sender(void)
{
	ia.quirks = DOFI_QUIRK_GONE_SENDERS;
	ck_assert_int_eq(meet(0, 7), 0);
	dofi_peer_give(&conns[0]);
	say_closed(0);
	queue_reads = 0;
}

/* What it has begun before is in the queue. */
START_TEST(the_entry_of_a_sender_that_has_closed_goes_after_a_look_at_the_queue)
{
	have_a_closed_sender();
	ck_assert_int_eq(meet(1, 8), 0);
	ck_assert_int_eq(queue_reads, 1);
	ck_assert_int_eq(fabric.removed, 1);
}
END_TEST

/* A read inside a read would handle later completions first. */
START_TEST(the_queue_is_not_read_for_a_completion)
{
	have_a_closed_sender();
	peers.in_completion = true;
	ck_assert_int_eq(meet(1, 8), 0);
	ck_assert_int_eq(queue_reads, 0);
	ck_assert_int_eq(fabric.removed, 0);
	peers.in_completion = false;
	ck_assert_int_eq(meet(2, 9), 0);
	ck_assert_int_eq(queue_reads, 1);
	ck_assert_int_eq(fabric.removed, 1);
}
END_TEST

static void greeting_of_the_second(void)
{
	greeted = NULL;
	peers.in_completion = true;
	ck_assert_int_eq(meet(2, 8), 0);
	peers.in_completion = false;
}

START_TEST(a_peer_that_the_queue_brings_has_one_entry)
{
	ia.quirks = DOFI_QUIRK_GONE_SENDERS;
	greeted = greeting_of_the_second;
	ck_assert_int_eq(meet(1, 8), 0);
	ck_assert_int_eq(fabric.inserted, 1);
	ck_assert_ptr_eq(conns[1].peer, conns[2].peer);
}
END_TEST

START_TEST(the_entry_of_a_sender_goes_if_there_is_no_room_without)
{
	ia.quirks = DOFI_QUIRK_GONE_SENDERS;
	ck_assert_int_eq(meet(0, 7), 0);
	ck_assert_int_eq(meet(1, 8), 0);
	fabric.most = 2;
	ck_assert_int_eq(meet(2, 9), -FI_ENOSPC);
	ck_assert_int_eq(fabric.removed, 0);
	dofi_peer_give(&conns[1]);
	ck_assert_int_eq(meet(2, 9), 0);
	ck_assert_int_eq(fabric.removed, 1);
	ck_assert_uint_eq(fabric.last, 8);
}
END_TEST

/* A new entry would restart the message numbers, and the peer would drop the messages. */
START_TEST(peers_with_message_numbers_remain)
{
	ia.quirks = DOFI_QUIRK_PEER_NUMBERS;
	ck_assert_int_eq(meet(0, 7), 0);
	dofi_peer_give(&conns[0]);
	ck_assert_int_eq(meet(1, 8), 0);
	ck_assert_int_eq(meet(0, 7), 0);
	ck_assert_int_eq(fabric.inserted, 2);
	ck_assert_int_eq(fabric.removed, 0);
}
END_TEST

START_TEST(peers_with_message_numbers_go_with_their_IA)
{
	ia.quirks = DOFI_QUIRK_PEER_NUMBERS;
	ck_assert_int_eq(meet(0, 7), 0);
	ck_assert_int_eq(meet(1, 8), 0);
	say_closed(1); /* while a connection has not ended yet */
	dofi_peer_give(&conns[0]);
	say_closed(0);
	say_closed(0);
	ck_assert_int_eq(meet(2, 9), 0);
	ck_assert_int_eq(fabric.removed, 1);
	ck_assert_uint_eq(fabric.last, 7);
	dofi_peer_give(&conns[1]);
	ck_assert_int_eq(meet(3, 10), 0);
	ck_assert_int_eq(fabric.removed, 2);
	ck_assert_uint_eq(fabric.last, 8);
	ck_assert_uint_eq(peers.nidle, 0);
}
END_TEST

/* It says that it is the IA that another one is. What it says then concerns itself alone. */
START_TEST(who_takes_the_uuid_of_another_is_not_that_one)
{
	ck_assert_int_eq(meet(0, 7), 0);
	ck_assert_int_eq(meet(1, 8), 0);
	memcpy(chans[2].peer.uuid, chans[0].peer.uuid, sizeof(chans[2].peer.uuid));
	chans[2].peer.fabric_name_size = 4;
	memset(chans[2].peer.fabric_name, 9, 4);
	ck_assert_ptr_null(dofi_peer_of(&peers, &chans[2].peer));
	ck_assert_int_eq(dofi_peer_take(&peers, &conns[2]), 0);
	ck_assert_ptr_ne(conns[2].peer, conns[0].peer);
	ck_assert_uint_eq(conns[2].dest, 9);
	say_closed(2);
	ck_assert(conns[2].peer->closed);
	ck_assert(!conns[0].peer->closed);
}
END_TEST

/* Another host claims uuid and endpoint, with a connection (_i) or without. */
START_TEST(another_host_cannot_say_that_a_peer_is_closed)
{
	ck_assert_int_eq(meet(0, 7), 0);
	call_from(1, "10.0.0.9");
	chans[1].peer = chans[0].peer;
	if (_i)
		ck_assert_int_eq(dofi_peer_take(&peers, &conns[1]), 0);
	say_closed(1);
	ck_assert(!conns[0].peer->closed);
	say_closed(0);
	ck_assert_int_eq(conns[0].peer->closed, !_i);
}
END_TEST

/* The other host came first, so nobody is believed. */
START_TEST(a_peer_of_two_hosts_is_never_closed)
{
	call_from(1, "10.0.0.9");
	ck_assert_int_eq(meet(1, 7), 0);
	ck_assert_int_eq(meet(0, 7), 0);
	ck_assert_ptr_eq(conns[0].peer, conns[1].peer);
	say_closed(1);
	say_closed(0);
	ck_assert(!conns[0].peer->closed);
}
END_TEST

static void name_peer(uint32_t number)
{
	memset(&chans[0].peer, 0, sizeof(chans[0].peer));
	memcpy(chans[0].peer.uuid, &number, sizeof(number));
	chans[0].peer.fabric_name_size = 4;
	memcpy(chans[0].peer.fabric_name, &number, sizeof(number));
}

/* Entries of peers that never report their close. The one idle for longest is removed first. */
START_TEST(entries_with_message_numbers_are_limited)
{
	ia.quirks = DOFI_QUIRK_PEER_NUMBERS;
	for (uint32_t i = 1; i <= DOFI_PEERS_KEPT + 10; i++) {
		name_peer(i);
		ck_assert_int_eq(dofi_peer_take(&peers, &conns[0]), 0);
		dofi_peer_give(&conns[0]);
		if (i == 100) { /* the first peer has connected again */
			name_peer(1);
			ck_assert_int_eq(dofi_peer_take(&peers, &conns[0]), 0);
			dofi_peer_give(&conns[0]);
		}
	}
	ck_assert_int_eq(fabric.inserted, DOFI_PEERS_KEPT + 10);
	ck_assert_int_eq(fabric.removed, 9);
	ck_assert_uint_eq(peers.nidle, DOFI_PEERS_KEPT + 1);
	name_peer(1);
	ck_assert_ptr_nonnull(dofi_peer_find(&peers, chans[0].peer.uuid));
	name_peer(2);
	ck_assert_ptr_null(dofi_peer_find(&peers, chans[0].peer.uuid));
}
END_TEST

START_TEST(entries_in_use_by_late_operations_remain)
{
	struct dofi_list orphan;

	ck_assert_int_eq(meet(0, 7), 0);
	dofi_peer_give(&conns[0]);
	dofi_list_add_tail(&ia.orphans, &orphan);
	ck_assert_int_eq(meet(1, 8), 0);
	ck_assert_int_eq(fabric.removed, 0);
	dofi_list_del(&orphan);
	ck_assert_int_eq(meet(2, 9), 0);
	ck_assert_int_eq(fabric.removed, 1);
}
END_TEST

START_TEST(entries_in_use_by_datagrams_remain)
{
	ck_assert_int_eq(meet(0, 7), 0);
	dofi_peer_give(&conns[0]);
	datagrams_under_way = true;
	ck_assert_int_eq(meet(1, 8), 0);
	ck_assert_int_eq(fabric.removed, 0);
	datagrams_under_way = false;
	ck_assert_int_eq(meet(2, 9), 0);
	ck_assert_int_eq(fabric.removed, 1);
}
END_TEST

START_TEST(the_address_vector_is_full)
{
	fabric.full = true;
	ck_assert_int_eq(meet(0, 7), -FI_ENOSPC);
	ck_assert_ptr_null(conns[0].peer);
	ck_assert_ptr_null(dofi_peer_find(&peers, chans[0].peer.uuid));
	fabric.full = false;
	ck_assert_int_eq(meet(0, 7), 0);
}
END_TEST

START_TEST(a_peer_without_memory)
{
	struct dofi_list orphan;
	int ret;

	dofi_list_add_tail(&ia.orphans, &orphan); /* so no idle peer is looked for */
	t_blocks_left = 0;
	ret = meet(0, 7);
	ck_assert_int_eq(ret, -FI_ENOMEM);
	dofi_list_del(&orphan);
	ck_assert_ptr_null(conns[0].peer);
	ck_assert_int_eq(fabric.inserted, 0);
	ck_assert_int_eq(wakeups, 0);
	ck_assert_int_eq(meet(0, 7), 0);
}
END_TEST

/* Those without connections whose IA may be open. */
START_TEST(idle_peers_are_counted)
{
	ia.quirks = DOFI_QUIRK_PEER_NUMBERS;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(meet(i, (uint8_t)(7 + i)), 0);
	ck_assert_int_eq(meet(3, 7), 0);
	ck_assert_uint_eq(peers.nidle, 0);
	dofi_peer_give(&conns[0]);
	ck_assert_uint_eq(peers.nidle, 0); /* it has another connection */
	dofi_peer_give(&conns[3]);
	ck_assert_uint_eq(peers.nidle, 1);
	dofi_peer_give(&conns[1]);
	ck_assert_uint_eq(peers.nidle, 2);
	ck_assert_int_eq(meet(0, 7), 0); /* it is back */
	ck_assert_uint_eq(peers.nidle, 1);
	say_closed(1);
	ck_assert_uint_eq(peers.nidle, 0);
	say_closed(2); /* its connection is not over yet */
	dofi_peer_give(&conns[2]);
	ck_assert_uint_eq(peers.nidle, 0);
	ck_assert_int_eq(meet(1, 8), 0); /* another IA at the same place */
	ck_assert(!conns[1].peer->closed);
	dofi_peer_give(&conns[1]);
	ck_assert_uint_eq(peers.nidle, 1);
}
END_TEST

/* The one that was idle for the longest time goes first. */
START_TEST(the_longest_idle_entry_is_removed)
{
	ia.quirks = DOFI_QUIRK_PEER_NUMBERS;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(meet(i, (uint8_t)(7 + i)), 0);
	dofi_peer_give(&conns[1]);
	dofi_peer_give(&conns[2]);
	dofi_peer_give(&conns[0]);
	peers.nidle = DOFI_PEERS_KEPT + 1;
	ck_assert_int_eq(meet(3, 10), 0);
	ck_assert_int_eq(fabric.removed, 1);
	ck_assert_uint_eq(fabric.last, 8);
	ck_assert_uint_eq(peers.nidle, DOFI_PEERS_KEPT);
}
END_TEST

/*
 * Connections of other peers continue. A connection that ends already keeps its reason. Datagrams
 * may be lost.
 */
START_TEST(a_broken_stream_breaks_the_connections_of_the_peer)
{
	for (int i = 0; i < CONNS; i++)
		ck_assert_int_eq(meet(i, i == 1 ? 8 : 7), 0);
	conns[2].state = DOFI_CONN_CONNECTING;
	conns[3].state = DOFI_CONN_ENDING;
	eps[4].faulty = true;
	conns[5].ud = true;
	conns[0].peer->severed.run(&conns[0].peer->severed);
	for (int i = 0; i < CONNS; i++) {
		ck_assert_int_eq(down[i], i == 0);
		ck_assert_int_eq(again[i], i == 2);
		ck_assert(dofi_trylock(&eps[i].lock)); /* nobody holds it */
		dofi_unlock(&eps[i].lock);
	}
	ia.cm.conns_size = 1; /* what lies behind the table is no connection */
	conns[0].peer->severed.run(&conns[0].peer->severed);
	ck_assert_int_eq(down[0], 1);
}
END_TEST

/* --- over shared memory --- */

/* Which of the peer's requests may still be under way: those of a peer with a connection. */
START_TEST(the_process_of_a_peer_is_watched)
{
	ck_assert_int_eq(meet(0, 'a'), 0);
	ck_assert_int_eq(meet(1, 'a'), 0);
	ck_assert_int_eq(meet(2, 'b'), 0);
	ck_assert_int_eq(watched, 2);
	ck_assert_str_eq(shm[0].name, "aaaa");
	ck_assert_str_eq(shm[1].name, "bbbb");
	ck_assert(shm[0].used && shm[1].used);
	dofi_peer_give(&conns[0]);
	ck_assert(shm[0].used);
	dofi_peer_give(&conns[1]);
	ck_assert(!shm[0].used && shm[1].used);
	ck_assert_int_eq(meet(0, 'a'), 0);
	ck_assert(shm[0].used);
	dofi_peer_give(&conns[0]);
	if (_i)
		say_closed(0);
	ck_assert_int_eq(meet(3, 'c'), 0);
	ck_assert(shm[0].forgotten && !shm[1].forgotten);
	ck_assert_int_eq(shm[0].closed, _i);
}
END_TEST

/* It is not terminated in the message of the peer. */
START_TEST(the_longest_name)
{
	struct dofi_details *details = &chans[0].peer;

	memset(details->uuid, 7, sizeof(details->uuid));
	details->fabric_name_size = DOFI_FABRIC_NAME_MAX;
	memset(details->fabric_name, 'x', DOFI_FABRIC_NAME_MAX);
	ck_assert_int_eq(dofi_peer_take(&peers, &conns[0]), 0);
	ck_assert_uint_eq(strlen(shm[0].name), DOFI_FABRIC_NAME_MAX);
	ck_assert_uint_eq(fabric.name_length, DOFI_FABRIC_NAME_MAX);
	ck_assert_uint_eq(conns[0].peer->name_size, DOFI_FABRIC_NAME_MAX);
	ck_assert_mem_eq(conns[0].peer->name, details->fabric_name, DOFI_FABRIC_NAME_MAX);
}
END_TEST

START_TEST(a_name_without_bytes)
{
	ck_assert_int_eq(dofi_peer_take(&peers, &conns[0]), 0);
	ck_assert_str_eq(shm[0].name, "");
	ck_assert_uint_eq(fabric.name_length, 0);
	ck_assert_uint_eq(conns[0].peer->name_size, 0);
}
END_TEST

#define REGION "1:2:3:5:dat-ofi-check-peer"

static bool layouts_differ;

bool __wrap_dofi_shm_may_meet(const char *own_address, const char *address);

bool __wrap_dofi_shm_may_meet(const char *own_address, const char *address)
{
	ck_assert_str_eq(own_address, DOFI_SHM_PREFIX "1:0:0");
	ck_assert_str_eq(address, DOFI_SHM_PREFIX REGION);
	return !layouts_differ;
}

static int meet_region(int i, const char *region)
{
	struct dofi_details *details = &chans[i].peer;

	memset(details->uuid, i + 1, sizeof(details->uuid));
	memset(details->fabric_name, 0, sizeof(details->fabric_name));
	snprintf((char *)details->fabric_name, sizeof(details->fabric_name), "%s%s",
		 DOFI_SHM_PREFIX, region);
	details->fabric_name_size = (uint32_t)strlen((char *)details->fabric_name);
	return dofi_peer_take(&peers, &conns[i]);
}

/* shm would map it. The user is told of the one that was refused, and of no other. */
START_TEST(the_region_of_a_peer_is_checked)
{
	static const char refused[] = "a peer was refused";
	int fd = shm_open("/" REGION, O_CREAT | O_EXCL | O_RDWR, 0600);
	int says = t_capture(STDERR_FILENO);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, sysconf(_SC_PAGESIZE)), 0);
	close(fd);
	/* other fabrics map nothing */
	ck_assert_int_eq(meet_region(0, "no such region"), 0);
	strcpy((char *)ia.fabric_name, DOFI_SHM_PREFIX "1:0:0");
	ck_assert_int_eq(meet_region(1, REGION), 0);
	ck_assert_ptr_null(strstr(t_captured(says), refused));
	ck_assert_int_eq(meet_region(2, "no such region"), -FI_EACCES);
	ck_assert_ptr_null(conns[2].peer);
	ck_assert_ptr_nonnull(strstr(t_captured(says), refused));
	ck_assert_ptr_nonnull(strstr(t_captured(says), "no such region"));
	ck_assert_ptr_null(strstr(t_captured(says), "another layout"));
	ck_assert_ptr_null(strstr(t_captured(says), "another PID namespace"));
	strcpy((char *)ia.fabric_name, DOFI_SHM_PREFIX "1:0:0:4:7");
	ck_assert_int_eq(meet_region(2, REGION), -FI_EACCES);
	ck_assert_ptr_null(conns[2].peer);
	ck_assert_ptr_nonnull(strstr(t_captured(says), "another PID namespace"));
	ck_assert_ptr_null(strstr(t_captured(says), "another layout"));
	strcpy((char *)ia.fabric_name, DOFI_SHM_PREFIX "1:0:0");
	layouts_differ = true;
	ck_assert_int_eq(meet_region(2, REGION), -FI_EACCES);
	ck_assert_ptr_null(conns[2].peer);
	ck_assert_ptr_nonnull(strstr(t_captured(says), "another layout"));
	ck_assert_int_eq(fabric.inserted, 2);
	shm_unlink("/" REGION);
}
END_TEST

/* Deferred work does not run any more. */
START_TEST(peer_is_closed_before_the_deferred_end)
{
	struct dofi_list work;

	dofi_list_init(&work);
	ck_assert_int_eq(meet(0, 7), 0);
	dofi_list_add_tail(&work, &conns[0].peer->severed.link);
	dofi_peer_give(&conns[0]);
	ck_assert_int_eq(meet(1, 8), 0);
	ck_assert(dofi_list_empty(&work));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("peer");
	TCase *tc = tcase_create("peer");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, one_address_for_all_connections);
	tcase_add_test(tc, a_peer_that_returns_has_its_old_address);
	tcase_add_test(tc, all_addresses_are_withdrawn);
	tcase_add_test(tc, an_unused_entry_is_replaced);
	tcase_add_loop_test(tc, an_entry_whose_messages_are_awaited_remains, 0, 2);
	tcase_add_test(tc, the_entry_of_a_sender_remains_for_a_while);
	tcase_add_test(tc, the_entry_of_a_sender_that_has_closed_goes_after_a_look_at_the_queue);
	tcase_add_test(tc, the_queue_is_not_read_for_a_completion);
	tcase_add_test(tc, a_peer_that_the_queue_brings_has_one_entry);
	tcase_add_test(tc, the_entry_of_a_sender_goes_if_there_is_no_room_without);
	tcase_add_test(tc, peers_with_message_numbers_remain);
	tcase_add_test(tc, peers_with_message_numbers_go_with_their_IA);
	tcase_add_test(tc, who_takes_the_uuid_of_another_is_not_that_one);
	tcase_add_loop_test(tc, another_host_cannot_say_that_a_peer_is_closed, 0, 2);
	tcase_add_test(tc, a_peer_of_two_hosts_is_never_closed);
	tcase_add_test(tc, entries_with_message_numbers_are_limited);
	tcase_add_test(tc, entries_in_use_by_late_operations_remain);
	tcase_add_test(tc, entries_in_use_by_datagrams_remain);
	tcase_add_test(tc, the_address_vector_is_full);
	tcase_add_test(tc, a_peer_without_memory);
	tcase_add_test(tc, idle_peers_are_counted);
	tcase_add_test(tc, the_longest_idle_entry_is_removed);
	tcase_add_test(tc, a_broken_stream_breaks_the_connections_of_the_peer);
	tcase_add_loop_test(tc, the_process_of_a_peer_is_watched, 0, 2);
	tcase_add_test(tc, the_longest_name);
	tcase_add_test(tc, a_name_without_bytes);
	tcase_add_test(tc, the_region_of_a_peer_is_checked);
	tcase_add_test(tc, peer_is_closed_before_the_deferred_end);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
