/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The event engine of an IA: drains the fabric's queues, the control channels and the timers, and
 * lets threads sleep.
 *
 * Three drive it: a DAT call that polls (dofi_engine_poll), a thread blocked in a DAT wait
 * (wait.c), and the progress thread, which steps in when nobody else does. At most one thread at a
 * time, the driver, sleeps on the descriptors.
 */
#ifndef DOFI_ENGINE_H
#define DOFI_ENGINE_H

#include "object/ia_parts.h"

#include "base/dat_api.h"
#include "base/list.h"
#include "base/lock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct dofi_ia;

int dofi_engine_init(struct dofi_ia *ia); /* 0 or -errno; descriptors only */
void dofi_engine_fini(struct dofi_ia *ia);

/*
 * For calls that change connections: lock; unlock after running deferred work, then CNO agents with
 * no lock held.
 */
void dofi_engine_begin(struct dofi_ia *ia);
void dofi_engine_end(struct dofi_ia *ia);

/* One non-blocking round, skipped when another thread is at it already. For consumers that poll. */
void dofi_engine_poll(struct dofi_ia *ia);
/* The same on behalf of the taker. True: its event is filled, and in no ring. */
bool dofi_engine_poll_for(struct dofi_ia *ia, struct dofi_taker taker);

/*
 * The same for a call that needs to know what is complete by now: waits for another thread's round.
 * Agents that are due then the caller has to run, last of all. Events handled.
 */
int dofi_engine_catch_up(struct dofi_ia *ia);

/*
 * One round with engine.lock held: CQ, deferred work, timers; with `all` also EQ, sockets. Events
 * handled.
 */
int dofi_engine_round(struct dofi_ia *ia, bool all);

/* Reads the CQ until it is empty; engine.lock held. */
int dofi_engine_drain_cq(struct dofi_ia *ia);
/* A connection is being made, and events of endpoints make no descriptor readable. */
bool dofi_engine_connects_unseen(struct dofi_ia *ia);

#endif
