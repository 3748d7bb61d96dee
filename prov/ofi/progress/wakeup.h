/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Wakeups, for fabrics whose completion queue has no descriptor to sleep on. Two processes on one
 * host show each other a mark in shared memory that says "asleep"; whoever gives the fabric
 * something for a sleeper sends it a datagram. A datagram that is lost, or never comes (another
 * host, no shared memory), costs no more than a nap: see nap.c.
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

int dofi_wakeup_open(struct dofi_ia *ia); /* 0: going without is no failure */
void dofi_wakeup_close(struct dofi_ia *ia);

/* False when there is no wakeup. The caller looks at the queue once more before it sleeps. */
bool dofi_wakeup_mark(struct dofi_ia *ia, bool asleep);

/* engine.lock held; the second also when the IA closes, without. */
void dofi_wakeup_add_peer(struct dofi_ia *ia, struct dofi_wakeup_peer *peer, const uint8_t *uuid);
void dofi_wakeup_remove_peer(struct dofi_ia *ia, struct dofi_wakeup_peer *peer);

/* What the memory transport has to say to a process of this host. */
enum dofi_offer_kind {
	DOFI_OFFER_RINGS = 16, /* a segment comes along, for the connection of this number */
	DOFI_OFFER_JOIN,       /* the connection that this token is for uses it */
};

struct dofi_wakeup_offer {
	uint8_t kind;
	uint8_t uuid[DOFI_WAKEUP_UUID]; /* the sender's; filled in by dofi_wakeup_pass */
	uint8_t token[20];
	uint32_t number;
};

/* fd: goes along, or -1. 0 or a negative errno: -ECONNREFUSED if this host has no such IA. */
int dofi_wakeup_pass(struct dofi_ia *ia, const uint8_t *uuid, const struct dofi_wakeup_offer *text,
		     int fd);
/* Hears what has come so far. engine.lock held. */
void dofi_wakeup_hear(struct dofi_ia *ia);
/* Wakes the IA of that name, whose mark the caller has seen. Any lock may be held. */
void dofi_wakeup_call(struct dofi_ia *ia, const uint8_t *uuid);

void dofi_wakeup_send(struct dofi_ia *ia, const struct dofi_wakeup_peer *peer);

/* After something for the peer was given to the fabric. Any lock may be held. */
static inline void dofi_wakeup_send_if_asleep(struct dofi_ia *ia,
					      const struct dofi_wakeup_peer *peer)
{
	atomic_thread_fence(memory_order_seq_cst); /* it marks, then looks; we post, then look */
	if (DOFI_UNLIKELY(atomic_load_explicit(peer->mark, memory_order_relaxed)))
		dofi_wakeup_send(ia, peer);
}

#endif
