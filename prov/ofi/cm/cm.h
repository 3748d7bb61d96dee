/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connection manager of an IA as a whole, and the invalidation of contexts at all peers. */
#ifndef DOFI_CM_H
#define DOFI_CM_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;

int dofi_cm_init(struct dofi_ia *ia); /* 0 or -errno; draws the uuid */
/*
 * Sends GOODBYE on every channel and closes them all. Connections and listeners have ended before.
 * Called without locks.
 */
void dofi_cm_fini(struct dofi_ia *ia);

/*
 * Asks the peers that may have kept a context (dto/remote_context.h) to forget it, and drives the
 * engine until all have answered this and earlier questions or are gone, for a second at most.
 * `announced`: all peers may have kept it. Context 0: only waits. Called without locks.
 */
void dofi_chan_invalidate(struct dofi_ia *ia, uint32_t context, bool announced);

/*
 * The same without waiting. dofi_conn_invalidated is called when an answer or the loss of a peer
 * may have completed an invalidation. dofi_chan_invalidated tells whether all peers have answered
 * the invalidation of the returned number and all earlier ones. engine.lock held.
 */
uint64_t dofi_chan_ask(struct dofi_ia *ia, uint32_t context, bool announced);

bool dofi_chan_invalidated(const struct dofi_ia *ia, uint64_t number);
/* Closes the channels whose peers have not answered it. */
void dofi_chan_give_up(struct dofi_ia *ia, uint64_t number);

/*
 * The process exits: lingers, so that peers get the data of complete requests, and sends GOODBYE on
 * each channel whose socket has room. Does nothing if engine.lock stays held.
 */
void dofi_cm_exit(struct dofi_ia *ia);

/*
 * In a forked child: closes our sockets, which would otherwise hide the death of the parent from
 * its peers. Async-signal-safe.
 */
void dofi_cm_fork_child(struct dofi_ia *ia);

#endif
