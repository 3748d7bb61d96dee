/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/lock.h"

#include "base/clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/*
 * The number of polls before a thread sleeps: most locks are held for a shorter time than a sleep
 * takes.
 */
#define POLLS 100

static bool take_by_polling(struct dofi_lock *l)
{
	for (int i = 0; i < POLLS; i++) {
		if (atomic_load_explicit(&l->word, memory_order_relaxed) == DOFI_LOCK_FREE &&
		    dofi_lock_take(l))
			return true;
		relax();
	}
	return false;
}

/*
 * On return, every other thread of the process either sees our earlier stores, or has made its own
 * earlier stores visible to us. False if the kernel does not offer this.
 */
static bool fence_all_threads(void)
{
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		return true;
	/*
	 * A process registers once. It does so here, so that threads that never wait do not pay for
	 * it.
	 */
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) &&
	       !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/*
 * A thread that unlocks after the fence sees `awaited`. A thread that unlocked before the fence has
 * freed the lock, and dofi_lock_take sees this. So no wakeup is lost. Without the fence a wakeup
 * can be lost, so the sleep is short. A thread that wakes sets `awaited` again, because others may
 * still sleep.
 */
void dofi_lock_await(struct dofi_lock *l)
{
	static const struct timespec short_sleep = {.tv_nsec = 1000000};
	int saved = errno;

	if (take_by_polling(l))
		return;
	for (;;) {
		bool fenced;

		atomic_store(&l->awaited, 1);
		fenced = fence_all_threads();
		if (dofi_lock_take(l))
			break;
		syscall(SYS_futex, &l->awaited, FUTEX_WAIT_PRIVATE, 1, fenced ? NULL : &short_sleep,
			NULL, 0);
	}
	errno = saved;
}

/*
 * Clears `awaited`: the woken thread may not run for long, and until then many unlocks would wake
 * again.
 */
void dofi_lock_wake(struct dofi_lock *l)
{
	int saved = errno;

	atomic_store(&l->awaited, 0);
	syscall(SYS_futex, &l->awaited, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = saved;
}

#define LONGEST_TRY_NS 2000000000u

/*
 * On an overloaded host the thread that holds the lock gets as little of the processors as this
 * one, so a limit by the clock would be too short.
 */
bool dofi_trylock_for(struct dofi_lock *l, uint64_t ns)
{
	uint64_t used = dofi_thread_time() + ns, deadline = dofi_now() + LONGEST_TRY_NS;

	while (!dofi_trylock(l)) {
		if (dofi_thread_time() > used || dofi_now() > deadline)
			return false;
		sched_yield();
	}
	return true;
}
