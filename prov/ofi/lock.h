/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Locks, in the one order in which they may be taken (outermost first):
 *
 *   engine.lock   progress, connections, channels, listeners, timers, every change of an EP's state
 *   ep->lock      rings of the EP, its state, its cache of remote contexts
 *   srq->lock     receive pool
 *   evd->lock     event ring
 *   cno->lock     trigger
 *   leaves        ia->obj_lock, rmr->lock, ctxtab.lock, slab locks
 *   wait.lock     the bells, which may be rung under any other
 *
 * A post takes ep->lock only. Consumer code (CNO agents) runs with none held.
 */
#ifndef DOFI_LOCK_H
#define DOFI_LOCK_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct dofi_lock {
	pthread_mutex_t mutex;
#ifndef NDEBUG
	_Atomic(pthread_t) owner;
#endif
};

static inline void dofi_lock_init(struct dofi_lock *l)
{
	pthread_mutex_init(&l->mutex, NULL);
}

static inline void dofi_lock_fini(struct dofi_lock *l)
{
	pthread_mutex_destroy(&l->mutex);
}

static inline void dofi_lock(struct dofi_lock *l)
{
	pthread_mutex_lock(&l->mutex);
#ifndef NDEBUG
	atomic_store_explicit(&l->owner, pthread_self(), memory_order_relaxed);
#endif
}

static inline bool dofi_trylock(struct dofi_lock *l)
{
	if (pthread_mutex_trylock(&l->mutex))
		return false;
#ifndef NDEBUG
	atomic_store_explicit(&l->owner, pthread_self(), memory_order_relaxed);
#endif
	return true;
}

static inline void dofi_unlock(struct dofi_lock *l)
{
#ifndef NDEBUG
	atomic_store_explicit(&l->owner, (pthread_t)0, memory_order_relaxed);
#endif
	pthread_mutex_unlock(&l->mutex);
}

#ifndef NDEBUG
#define dofi_assert_held(l) assert(atomic_load_explicit(&(l)->owner, memory_order_relaxed) == pthread_self())
#else
#define dofi_assert_held(l) ((void)(l))
#endif

#endif
