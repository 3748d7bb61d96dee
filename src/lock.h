/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A mutex that knows in debug builds which thread has it. */
#ifndef DATR_LOCK_H
#define DATR_LOCK_H

#include <assert.h>
#include <pthread.h>

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

static inline void datr_lock(struct datr_lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
#ifndef NDEBUG
	lock->holder = pthread_self();
	lock->depth++;
#endif
}

static inline void datr_unlock(struct datr_lock *lock)
{
	datr_assert_locked(lock);
#ifndef NDEBUG
	lock->depth--;
#endif
	pthread_mutex_unlock(&lock->mutex);
}

#endif
