/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The order of locks, and a checker of it. lock.h calls the checker in debug builds: it keeps a
 * list of the locks that each thread holds, and aborts before a thread waits for a lock that has to
 * be taken earlier than one that it holds.
 */
#ifndef DOFI_LOCK_ORDER_H
#define DOFI_LOCK_ORDER_H

#include <stdbool.h>

/* Outermost first: a thread that holds a lock takes only locks of later levels. */
enum dofi_lock_level {
	DOFI_LEVEL_NONE, /* not checked */
	/* progress, connections, channels, listeners, timers, every change of an EP's state */
	DOFI_LEVEL_ENGINE,
	DOFI_LEVEL_EP,  /* ep->lock: rings of the EP, its state, its cache of remote contexts */
	DOFI_LEVEL_SRQ, /* srq->lock: pool of receives */
	DOFI_LEVEL_EVD, /* evd->lock: ring of events */
	DOFI_LEVEL_CNO, /* cno->lock: trigger */
	/* bounces.lock, lmr->lock: memory is registered under them, which takes mr_lock */
	DOFI_LEVEL_MEMORY,
	/*
	 * obj_lock, mr_lock, rmr->lock, ctxtab.lock, engine.stalled_lock, slabs, and the lock of
	 * shm_repair.c: one at a time
	 */
	DOFI_LEVEL_LEAF,
	DOFI_LEVEL_WAIT, /* wait.lock: list of sleeping threads */
	DOFI_NLEVELS
};

/* Aborts with a message if this thread must not wait for the lock now. */
void dofi_lock_order_check(const void *lock, enum dofi_lock_level level);

/* This thread has taken the lock; it releases it. */
void dofi_lock_order_taken(const void *lock, enum dofi_lock_level level);
void dofi_lock_order_released(const void *lock);

/* How many locks this thread holds. */
unsigned int dofi_lock_order_held(void);

#endif
