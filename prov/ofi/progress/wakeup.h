/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Wakeups, for fabrics whose completion queue has no descriptor to sleep on. Two processes on one
 * host show each other a mark in shared memory that says "asleep". A process that gives the fabric
 * an operation for a sleeping peer sends the peer a datagram. If a datagram is lost, or none is
 * sent (another host, no shared memory), the peer notices the operation at the end of its short
 * sleep (nap.c).
 *
 * The mark is a segment (memory/segment.h) that travels over a local socket
 * (memory/local_socket.h), so nothing is left behind by the dead. Wakeups of other users, except
 * root, are dropped.
 */
#ifndef DOFI_WAKEUP_H
#define DOFI_WAKEUP_H

#include "object/ia_parts.h"

#include "progress/engine.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

int dofi_wakeup_open(struct dofi_ia *ia); /* always 0: the IA also works without */
void dofi_wakeup_close(struct dofi_ia *ia);

/* Sets our mark. False if there is none. The caller reads the queue once more before it sleeps. */
bool dofi_wakeup_mark(struct dofi_ia *ia, bool asleep);

/* Called with engine.lock held; dofi_wakeup_remove_peer also without it, while the IA closes. */
void dofi_wakeup_add_peer(struct dofi_ia *ia, struct dofi_wakeup_peer *peer, const uint8_t *uuid);
void dofi_wakeup_remove_peer(struct dofi_ia *ia, struct dofi_wakeup_peer *peer);

/* Messages of the memory transport to a process of this host. */
enum dofi_offer_kind {
	DOFI_OFFER_RINGS = 16, /* passes a segment for the connection of this number */
	DOFI_OFFER_JOIN,       /* the connection with this token uses the segment */
};

struct dofi_wakeup_offer {
	uint8_t kind;
	uint8_t uuid[DOFI_WAKEUP_UUID]; /* the sender's; filled in by dofi_wakeup_pass */
	uint8_t token[20];
	uint32_t number;
};

/*
 * Sends an offer. fd: a descriptor to send along, or -1. 0 or a negative errno: -ECONNREFUSED if
 * this host has no such IA.
 */
int dofi_wakeup_pass(struct dofi_ia *ia, const uint8_t *uuid, const struct dofi_wakeup_offer *text,
		     int fd);
/* Handles the datagrams that have come so far. engine.lock held. */
void dofi_wakeup_read(struct dofi_ia *ia);
/*
 * Wake a peer whose mark says "asleep": to read its rings, and to read the fabric's queue. Any lock
 * may be held.
 */
void dofi_wakeup_call(struct dofi_ia *ia, const uint8_t *uuid);

void dofi_wakeup_send(struct dofi_ia *ia, const struct dofi_wakeup_peer *peer);

/* Called after the fabric was given an operation for the peer. Any lock may be held. */
static inline void dofi_wakeup_send_if_asleep(struct dofi_ia *ia,
					      const struct dofi_wakeup_peer *peer)
{
	/* the peer sets its mark, then reads the queue; we post, then read the mark */
	atomic_thread_fence(memory_order_seq_cst);
	if (DOFI_UNLIKELY(atomic_load_explicit(peer->mark, memory_order_relaxed)))
		dofi_wakeup_send(ia, peer);
}

#endif
