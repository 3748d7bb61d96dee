/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A mutex that knows in debug builds which thread has it. */
#ifndef DATR_LOCK_H
#define DATR_LOCK_H

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct datr_lock {
	pthread_mutex_t mutex;
#ifndef NDEBUG
	/* Guarded by the mutex. */
	pthread_t holder;
	unsigned int depth; /* how often the holder has locked a recursive mutex */
#endif
};

/* The calling thread has the lock. */
#define datr_assert_locked(lock) \
	assert((lock)->depth &&pthread_equal((lock)->holder, pthread_self()))

static inline void datr_lock_own(struct datr_lock *lock)
{
#ifndef NDEBUG
	lock->holder = pthread_self();
	lock->depth++;
#else
	(void)lock;
#endif
}

static inline void datr_lock(struct datr_lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
	datr_lock_own(lock);
}

static inline void datr_unlock(struct datr_lock *lock)
{
	datr_assert_locked(lock);
#ifndef NDEBUG
	lock->depth--;
#endif
	pthread_mutex_unlock(&lock->mutex);
}

/* --- while the process forks --- */

static inline uint64_t datr_thread_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/*
 * Tries for that much processor time: a thread that loads a library holds the lock, and in the end
 * it may wait for the thread that forks.
 */
static inline bool datr_lock_for(struct datr_lock *lock, unsigned int ms)
{
	uint64_t used = datr_thread_ms() + ms;

	while (pthread_mutex_trylock(&lock->mutex)) {
		if (datr_thread_ms() > used)
			return false;
		sched_yield();
	}
	datr_lock_own(lock);
	return true;
}

/*
 * In the child: no thread holds the lock. Its thread has a new id, so it could not unlock a
 * recursive mutex.
 */
static inline void datr_lock_renew(struct datr_lock *lock, int type, bool held)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutex_init(&lock->mutex, &attr);
	pthread_mutexattr_destroy(&attr);
#ifndef NDEBUG
	if (held)
		lock->depth--;
	else if (!pthread_equal(lock->holder, pthread_self()))
		lock->depth = 0;
#else
	(void)held;
#endif
}

#endif
