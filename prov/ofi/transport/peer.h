/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The peer IAs of a shared endpoint: one entry of the fabric's address vector each, however many
 * connections there are with it. Some fabrics have one stream to a peer for all that goes there,
 * and tell of its end only those operations that are under way. What it had taken from other
 * connections is lost without a word, so all of them break; a stream that is opened anew is for new
 * ones.
 *
 * An entry whose last connection is over goes when another peer comes. Where the fabric numbers
 * messages per entry (DOFI_QUIRK_PEER_NUMBERS) it stays until the peer's IA is closed: the peer
 * would drop what a new entry numbers anew. Of peers that never say that they close, so many stay
 * as DOFI_PEERS_KEPT.
 *
 * Calls hold engine.lock, except those that open and close the IA, which has no other user then.
 */
#ifndef DOFI_PEER_H
#define DOFI_PEER_H

#include "progress/wakeup.h"
#include "progress/engine.h"
#include "base/list.h"

#include <rdma/fi_domain.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct dofi_conn;
struct dofi_details;
struct dofi_ia;
struct dofi_shm_peer;

#define DOFI_PEERS_KEPT 1024u

struct dofi_peers {
	struct fid_av *av;
	struct dofi_list list; /* those without connections in the order in which they lost them */
	uint32_t nidle;        /* of them: without connections, and their IAs may be open */
	/*
	 * The stream broke below a connection that is not established yet: what was said may be
	 * lost.
	 */
	void (*again)(struct dofi_conn *conn);
};

struct dofi_peer {
	struct dofi_list link; /* peers->list */
	struct dofi_peers *peers;
	struct dofi_ia *ia;
	struct dofi_work severed; /* deferred when what was under way to it may be lost */
	uint8_t uuid[DOFI_WAKEUP_UUID];
	fi_addr_t addr;
	uint32_t conns;
	bool closed; /* its IA says so */
	/* where its channels lead to, of which the sockets are the witnesses... */
	struct sockaddr_storage host;
	bool is_anywhere; /* ...or to several hosts, so one of them may lie */
	struct dofi_wakeup_peer wakeup;
	struct dofi_shm_peer *shm; /* NULL: its death is not watched */
	uint32_t name_size;
	uint8_t name[]; /* of its endpoint, as its details say */
};

/* Opens the address vector. 0 or a negative error. */
int dofi_peers_open(struct dofi_ia *ia, struct dofi_peers *peers,
		    void (*again)(struct dofi_conn *conn));
/* After the endpoint is closed. */
void dofi_peers_close(struct dofi_peers *peers);

/*
 * The peer at the other end of the connection's channel becomes conn->peer, its address conn->dest.
 * 0 or a negative error.
 */
int dofi_peer_take(struct dofi_peers *peers, struct dofi_conn *conn);
/* The connection is over. The entry stays until room is wanted: most peers come back. */
void dofi_peer_give(struct dofi_conn *conn);

/*
 * The peer closes its IA: it will not come back. Who says so names an IA, which is not proved. So
 * it is believed only from the host where all of the peer's channels lead to.
 */
void dofi_peer_closed(struct dofi_peer *peer, const struct sockaddr_storage *from);

/* NULL: not known. An IA that takes the uuid of another is not that one: its endpoint tells. */
struct dofi_peer *dofi_peer_of(struct dofi_peers *peers, const struct dofi_details *details);
/* By the uuid alone, which is good enough for what does no harm. */
struct dofi_peer *dofi_peer_find(struct dofi_peers *peers, const uint8_t *uuid);

#endif
