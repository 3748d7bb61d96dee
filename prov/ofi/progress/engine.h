/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The event engine of an IA: drains the fabric's queues, the control channels and the timers, and
 * lets threads sleep.
 *
 * Three kinds of threads run rounds: a thread in a DAT call that polls (dofi_engine_poll), a thread
 * blocked in a DAT wait (wait.c), and the progress thread, when no other thread does. At most one
 * thread at a time, the driver, sleeps on the descriptors.
 */
#ifndef DOFI_ENGINE_H
#define DOFI_ENGINE_H

#include "object/ia_parts.h"

#include "base/dat_api.h"

struct dofi_ia;

int dofi_engine_init(struct dofi_ia *ia); /* 0 or -errno; descriptors only */
void dofi_engine_fini(struct dofi_ia *ia);

/* The longest wait of an exit for engine.lock, in processor time. */
#define DOFI_EXIT_LOCK_NS 100000000u

/*
 * Enclose calls that change connections. begin takes engine.lock; end runs deferred work, unlocks,
 * and calls due agents of CNOs with no lock held.
 */
void dofi_engine_begin(struct dofi_ia *ia);
void dofi_engine_end(struct dofi_ia *ia);

/* One round that does not block; skipped if another thread runs one. For consumers that poll. */
void dofi_engine_poll(struct dofi_ia *ia);
/* The same on behalf of the taker. True: the taker's event is filled, and not in a ring. */
bool dofi_engine_poll_for(struct dofi_ia *ia, struct dofi_taker taker);

/*
 * The same for a call that needs all completions up to now: waits for the round of another thread.
 * The caller has to call due agents as its last action. Returns the number of events handled.
 */
int dofi_engine_catch_up(struct dofi_ia *ia);

/*
 * One round, with engine.lock held: reads the CQ, retries stalled work and runs deferred work; with
 * `all` also the EQ, sockets and timers. Returns the number of events handled.
 */
int dofi_engine_round(struct dofi_ia *ia, bool all);

/* Reads the CQ until it is empty; engine.lock held. */
int dofi_engine_drain_cq(struct dofi_ia *ia);
/*
 * Whether a connection is being made on a fabric where events of endpoints make no descriptor
 * readable.
 */
bool dofi_engine_connects_unseen(struct dofi_ia *ia);

#endif
