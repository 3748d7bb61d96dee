/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Locks. base/lock_order.h has the order in which a thread takes them; debug builds check it.
 *
 * A post takes ep->lock only, unless it finds its ring full (post.c). Consumer code (CNO agents)
 * runs with no lock held.
 *
 * A lock is a word that the hot path changes in place: with the locks of libpthread, half of the
 * instructions between a post and its completion were their bookkeeping. A thread that finds the
 * lock taken sleeps in the kernel.
 *
 * Unlocking is a plain store: an atomic exchange would cost as much as taking the lock. So the
 * processor may look for a waiter, which comes next, before other processors see the store. A
 * waiter makes all threads' stores visible before it sleeps (lock.c).
 */
#ifndef DOFI_LOCK_H
#define DOFI_LOCK_H

#include "base/hint.h"
#include "base/lock_order.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Tells ThreadSanitizer about the locks, so that it also checks their order. */
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
 * All zero: free. The memory must outlive the lock: a thread that unlocks looks for a waiter after
 * another thread may already have taken the lock and ended its use.
 */
struct dofi_lock {
	_Atomic uint32_t word;
	_Atomic uint32_t awaited; /* 1: a thread sleeps or is about to */
#ifndef NDEBUG
	_Atomic(pthread_t) owner;
	enum dofi_lock_level level;
#endif
};

/* For static locks. */
#ifndef NDEBUG
#define DOFI_LOCK_INITIALIZER(of_level) \
	{                               \
		.level = (of_level)     \
	}
#else
#define DOFI_LOCK_INITIALIZER(of_level) \
	{                               \
		.word = DOFI_LOCK_FREE  \
	}
#endif

/* lock.c: the slow paths, which call the kernel. */
DOFI_COLD void dofi_lock_await(struct dofi_lock *l);
DOFI_COLD void dofi_lock_wake(struct dofi_lock *l);

static inline void dofi_lock_init_level(struct dofi_lock *l, enum dofi_lock_level level)
{
	atomic_init(&l->word, DOFI_LOCK_FREE);
	atomic_init(&l->awaited, 0);
#ifndef NDEBUG
	atomic_init(&l->owner, (pthread_t)0);
	l->level = level;
#else
	(void)level;
#endif
	DOFI_TSAN_LOCK(create, l, 0);
}

/* A lock whose order is not checked. */
static inline void dofi_lock_init(struct dofi_lock *l)
{
	dofi_lock_init_level(l, DOFI_LEVEL_NONE);
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
	dofi_lock_order_taken(l, l->level);
#else
	(void)l;
#endif
}

static inline void dofi_lock(struct dofi_lock *l)
{
#ifndef NDEBUG
	dofi_lock_order_check(l, l->level);
#endif
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

/*
 * As dofi_trylock, but tries for that much processor time of this thread, and for two seconds at
 * most. For callers that may hold the lock themselves, because a signal handler called them.
 */
bool dofi_trylock_for(struct dofi_lock *l, uint64_t ns);

static inline void dofi_unlock(struct dofi_lock *l)
{
#ifndef NDEBUG
	dofi_lock_order_released(l);
	atomic_store_explicit(&l->owner, (pthread_t)0, memory_order_relaxed);
#endif
	DOFI_TSAN_LOCK(pre_unlock, l, 0);
	atomic_store_explicit(&l->word, DOFI_LOCK_FREE, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst); /* the compiler keeps this order */
	if (DOFI_UNLIKELY(atomic_load_explicit(&l->awaited, memory_order_relaxed)))
		dofi_lock_wake(l);
	DOFI_TSAN_LOCK(post_unlock, l, 0);
}

#ifndef NDEBUG
static inline bool dofi_lock_is_own(const struct dofi_lock *l)
{
	return atomic_load_explicit(&l->owner, memory_order_relaxed) == pthread_self();
}

#define dofi_assert_held(l)     assert(dofi_lock_is_own(l))
#define dofi_assert_not_held(l) assert(!dofi_lock_is_own(l))
/* This thread holds no lock. */
#define dofi_assert_none_held() assert(!dofi_lock_order_held())
#else
#define dofi_assert_held(l)     ((void)(l))
#define dofi_assert_not_held(l) ((void)(l))
#define dofi_assert_none_held() ((void)0)
#endif

#endif
