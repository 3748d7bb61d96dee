/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Locks, in the one order in which they may be taken (outermost first):
 *
 *   engine.lock   progress, connections, channels, listeners, timers, every change of an EP's state
 *   ep->lock      rings of the EP, its state, its cache of remote contexts
 *   srq->lock     receive pool
 *   evd->lock     event ring
 *   cno->lock     trigger
 *   leaves        ia->obj_lock, ia->mr_lock, rmr->lock, ctxtab.lock, slab locks
 *   wait.lock     the bells, which may be rung under any other
 *
 * A post takes ep->lock only, unless it finds its ring full (post.c). Consumer code (CNO agents)
 * runs with none held.
 *
 * The locks are words that the hot path takes in place: with those of libpthread, half of what is
 * executed between a post and its completion was their bookkeeping. Who finds one taken sleeps in
 * the kernel.
 *
 * To let go takes a plain store: an atomic exchange would cost as much as to take the lock. So the
 * look for a waiter, which comes next, may be done before others see the store, and it is for the
 * waiter to make all threads' stores visible before it sleeps (lock.c).
 */
#ifndef DOFI_LOCK_H
#define DOFI_LOCK_H

#include "base/hint.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* ThreadSanitizer is told of them: it looks after the order, too. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define DOFI_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(DOFI_TSAN)
#include <sanitizer/tsan_interface.h>
#define DOFI_TSAN_LOCK(when, l, ...) __tsan_mutex_##when(l, __VA_ARGS__)
#else
#define DOFI_TSAN_LOCK(when, l, ...) ((void)(l))
#endif

enum { DOFI_LOCK_FREE, DOFI_LOCK_TAKEN };

/*
 * All zero: free. Lies in memory that outlives it: who let go looks for a waiter after another may
 * have taken and ended it.
 */
struct dofi_lock {
	_Atomic uint32_t word;
	_Atomic uint32_t awaited; /* 1: somebody sleeps, or is about to */
#ifndef NDEBUG
	_Atomic(pthread_t) owner;
#endif
};

/* lock.c: the ways through the kernel. */
DOFI_COLD void dofi_lock_await(struct dofi_lock *l);
DOFI_COLD void dofi_lock_wake(struct dofi_lock *l);

static inline void dofi_lock_init(struct dofi_lock *l)
{
	atomic_init(&l->word, DOFI_LOCK_FREE);
	atomic_init(&l->awaited, 0);
#ifndef NDEBUG
	atomic_init(&l->owner, (pthread_t)0);
#endif
	DOFI_TSAN_LOCK(create, l, 0);
}

static inline void dofi_lock_fini(struct dofi_lock *l)
{
	DOFI_TSAN_LOCK(destroy, l, 0);
}

static inline bool dofi_lock_take(struct dofi_lock *l)
{
	uint32_t is_free = DOFI_LOCK_FREE;

	return atomic_compare_exchange_strong_explicit(&l->word, &is_free, DOFI_LOCK_TAKEN,
						       memory_order_acquire, memory_order_relaxed);
}

static inline void dofi_lock_own(struct dofi_lock *l)
{
#ifndef NDEBUG
	atomic_store_explicit(&l->owner, pthread_self(), memory_order_relaxed);
#else
	(void)l;
#endif
}

static inline void dofi_lock(struct dofi_lock *l)
{
	DOFI_TSAN_LOCK(pre_lock, l, 0);
	if (DOFI_UNLIKELY(!dofi_lock_take(l)))
		dofi_lock_await(l);
	DOFI_TSAN_LOCK(post_lock, l, 0, 0);
	dofi_lock_own(l);
}

static inline bool dofi_trylock(struct dofi_lock *l)
{
	bool taken;

	DOFI_TSAN_LOCK(pre_lock, l, __tsan_mutex_try_lock);
	taken = dofi_lock_take(l);
	DOFI_TSAN_LOCK(post_lock, l,
		       __tsan_mutex_try_lock | (taken ? 0 : __tsan_mutex_try_lock_failed), 0);
	if (taken)
		dofi_lock_own(l);
	return taken;
}

static inline void dofi_unlock(struct dofi_lock *l)
{
#ifndef NDEBUG
	atomic_store_explicit(&l->owner, (pthread_t)0, memory_order_relaxed);
#endif
	DOFI_TSAN_LOCK(pre_unlock, l, 0);
	atomic_store_explicit(&l->word, DOFI_LOCK_FREE, memory_order_release);
	if (DOFI_UNLIKELY(atomic_load_explicit(&l->awaited, memory_order_relaxed)))
		dofi_lock_wake(l);
	DOFI_TSAN_LOCK(post_unlock, l, 0);
}

#ifndef NDEBUG
#define dofi_assert_held(l) \
	assert(atomic_load_explicit(&(l)->owner, memory_order_relaxed) == pthread_self())
#else
#define dofi_assert_held(l) ((void)(l))
#endif

#endif
