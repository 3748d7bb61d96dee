/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connection manager of an IA as a whole, and the invalidation of contexts at all peers. */
#ifndef DOFI_CM_H
#define DOFI_CM_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;

int dofi_cm_init(struct dofi_ia *ia); /* 0 or -errno; draws the uuid */
/*
 * Says GOODBYE on every channel and closes all; connections and listeners were ended before. Called
 * without locks.
 */
void dofi_cm_fini(struct dofi_ia *ia);

/*
 * Tells every peer to forget a context and waits, driving the engine, until all have answered, are
 * gone, or a second has passed. Called without locks.
 */
void dofi_chan_invalidate(struct dofi_ia *ia, uint32_t context);

/*
 * The same without waiting: asks every peer; dofi_conn_invalidated is called when an answer or the
 * loss of a peer may have completed an invalidation. engine.lock held. Returns the invalidation's
 * number for dofi_chan_invalidated.
 */
uint64_t dofi_chan_ask(struct dofi_ia *ia, uint32_t context);

bool dofi_chan_invalidated(const struct dofi_ia *ia, uint64_t number);
/* Closes the channels that have not answered it. */
void dofi_chan_give_up(struct dofi_ia *ia, uint64_t number);

/*
 * The process exits: peers take what is complete, then GOODBYE on every channel that takes it at
 * once, if engine.lock is to be had.
 */
void dofi_cm_exit(struct dofi_ia *ia);

/*
 * In a forked child: closes our sockets so that they don't keep dead peers alive.
 * Async-signal-safe.
 */
void dofi_cm_fork_child(struct dofi_ia *ia);

#endif
