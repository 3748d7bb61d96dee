/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A recursive mutex that can be held over a fork. A recursive one of the C library can't be
 * unlocked in the child, because the thread has another id there.
 */
#ifndef DATR_LOCK_H
#define DATR_LOCK_H

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct datr_lock {
	pthread_mutex_t mutex;
	_Atomic(pthread_t) holder; /* 0: none */
	unsigned int depth;        /* how often the holder has locked it; guarded by the mutex */
	_Atomic(pthread_t) forker; /* the holder, while it forks */
};

#define DATR_LOCK_INIT                             \
	{                                          \
		.mutex = PTHREAD_MUTEX_INITIALIZER \
	}

/* Only the calling thread itself can make this true or false. */
static inline bool datr_lock_is_mine(struct datr_lock *lock)
{
	return pthread_equal(atomic_load_explicit(&lock->holder, memory_order_relaxed),
			     pthread_self());
}

/* The calling thread has the lock. */
#define datr_assert_locked(lock) assert(datr_lock_is_mine(lock))

static inline void datr_lock_count(struct datr_lock *lock)
{
	atomic_store_explicit(&lock->holder, pthread_self(), memory_order_relaxed);
	lock->depth++;
}

static inline void datr_lock(struct datr_lock *lock)
{
	if (!datr_lock_is_mine(lock))
		pthread_mutex_lock(&lock->mutex);
	datr_lock_count(lock);
}

static inline void datr_unlock(struct datr_lock *lock)
{
	datr_assert_locked(lock);
	if (--lock->depth)
		return;
	atomic_store_explicit(&lock->holder, (pthread_t)0, memory_order_relaxed);
	pthread_mutex_unlock(&lock->mutex);
}

/* --- while the process forks --- */

static inline uint64_t datr_thread_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* The fork that has the lock is that of the calling thread. */
static inline bool datr_lock_is_forkers(struct datr_lock *lock)
{
	return pthread_equal(atomic_load(&lock->forker), pthread_self());
}

/*
 * Takes the lock for a fork. Tries for that much processor time: a thread that loads a library has
 * the lock, and in the end it may wait for the thread that forks.
 */
static inline void datr_lock_fork_begin(struct datr_lock *lock, unsigned int ms)
{
	uint64_t used = datr_thread_ms() + ms;

	while (!datr_lock_is_mine(lock) && pthread_mutex_trylock(&lock->mutex)) {
		if (datr_thread_ms() > used)
			return;
		sched_yield();
	}
	datr_lock_count(lock);
	atomic_store(&lock->forker, pthread_self());
}

/* In parent and child: if the fork has the lock, gives it back. */
static inline void datr_lock_fork_end(struct datr_lock *lock)
{
	if (!datr_lock_is_forkers(lock))
		return;
	atomic_store(&lock->forker, (pthread_t)0);
	datr_unlock(lock);
}

/* In the child, if the fork has not the lock: its holder is not here. */
static inline void datr_lock_renew(struct datr_lock *lock)
{
	pthread_mutex_init(&lock->mutex, NULL);
	atomic_store(&lock->holder, (pthread_t)0);
	atomic_store(&lock->forker, (pthread_t)0);
	lock->depth = 0;
}

#endif
