/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The peer IAs of a shared endpoint. Each has one entry in the fabric's address vector, however
 * many connections it has. Some fabrics have one stream to a peer for all connections, and report
 * its end only to the operations under way. Data that the stream had accepted from other
 * connections are lost without a report. So all connections with that peer break; only new
 * connections use a new stream.
 *
 * An entry whose last connection is over, and whose messages have all come, is removed when another
 * peer is added. There are two exceptions until the peer's IA closes:
 *
 * - The fabric numbers messages per entry (DOFI_QUIRK_PEER_NUMBERS), and the peer would drop
 *   messages that a new entry numbers from the beginning. The last DOFI_PEERS_KEPT entries of idle
 *   peers stay.
 * - The fabric needs the entry for each operation that comes (DOFI_QUIRK_GONE_SENDERS), and the
 *   peer may begin operations until it learns of the end. An entry stays for DOFI_PEER_STAYS_NS,
 *   unless there is no room for another peer.
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

#define DOFI_PEERS_KEPT    1024u
/* As long as messages are awaited that a peer has announced. */
#define DOFI_PEER_STAYS_NS UINT64_C(60000000000)

struct dofi_peers {
	struct fid_av *av;
	/* peers without connections in the order in which their last one ended */
	struct dofi_list list;
	uint32_t nidle;     /* peers without connections whose IA may be open */
	bool in_completion; /* one is being handled, so the queue can't be read now */
	/*
	 * Called for a connection that is not established when the stream below broke: its greeting
	 * may be lost.
	 */
	void (*again)(struct dofi_conn *conn);
};

struct dofi_peer {
	struct dofi_list link; /* peers->list */
	struct dofi_peers *peers;
	struct dofi_ia *ia;
	struct dofi_work severed; /* deferred when data under way to the peer may be lost */
	uint8_t uuid[DOFI_WAKEUP_UUID];
	fi_addr_t addr;
	uint32_t conns;
	uint64_t idle_since; /* without connections */
	bool closed;         /* its IA has closed */
	/* the host that its channels lead to, as their sockets tell */
	struct sockaddr_storage host;
	bool is_anywhere; /* they lead to several hosts, so one of them may lie */
	struct dofi_wakeup_peer wakeup;
	struct dofi_shm_peer *shm; /* NULL: its death is not watched */
	uint32_t name_size;
	uint8_t name[]; /* address of its endpoint, from its DETAILS */
};

/* Opens the address vector. 0 or a negative error. */
int dofi_peers_open(struct dofi_ia *ia, struct dofi_peers *peers,
		    void (*again)(struct dofi_conn *conn));
/*
 * Removes the addresses of all peers, before the endpoint is closed. The fabric frees what it keeps
 * of their messages.
 */
void dofi_peers_withdraw(struct dofi_peers *peers);
/* Called after the endpoint is closed. */
void dofi_peers_close(struct dofi_peers *peers);

/*
 * Sets conn->peer to the peer at the other end of the connection's channel, and conn->dest to its
 * address. 0 or a negative error.
 */
int dofi_peer_take(struct dofi_peers *peers, struct dofi_conn *conn);
/*
 * The connection is over. The entry stays until room is needed, because most peers connect again.
 */
void dofi_peer_give(struct dofi_conn *conn);

/*
 * The peer closes its IA, so it will not connect again. The message names an IA, which is not
 * proved. So it is believed only from the host that all channels of the peer lead to.
 */
void dofi_peer_closed(struct dofi_peer *peer, const struct sockaddr_storage *from);

/*
 * Finds a peer by uuid and endpoint, because another IA could use the same uuid. NULL: not known.
 */
struct dofi_peer *dofi_peer_of(struct dofi_peers *peers, const struct dofi_details *details);
/* Finds a peer by the uuid alone, for uses that a false uuid cannot harm. */
struct dofi_peer *dofi_peer_find(struct dofi_peers *peers, const uint8_t *uuid);

#endif
