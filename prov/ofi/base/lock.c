/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
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

/* Most are held for less than a sleep takes. */
#define LOOKS 100

static bool take_soon(struct dofi_lock *l)
{
	for (int i = 0; i < LOOKS; i++) {
		if (atomic_load_explicit(&l->word, memory_order_relaxed) == DOFI_LOCK_FREE &&
		    dofi_lock_take(l))
			return true;
		relax();
	}
	return false;
}

/*
 * On return every thread of the process either sees what we stored before, or has made visible to
 * us what it stored before. False where the kernel does not offer that.
 */
static bool fence_all_threads(void)
{
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		return true;
	/*
	 * A process registers once; here, where it is needed, so that those who never wait have no
	 * part in it.
	 */
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) &&
	       !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

/*
 * Who lets go from the fence on sees that we wait, and who did before has freed the lock as we see
 * it: nobody is missed. Without the fence somebody may be, so the sleep is a short one. Whoever is
 * woken says again that somebody waits: others may sleep still.
 */
void dofi_lock_await(struct dofi_lock *l)
{
	static const struct timespec short_sleep = {.tv_nsec = 1000000};
	int saved = errno;

	if (take_soon(l))
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
 * Once for each sleep: who is woken may not run for long, and the lock is taken many times until
 * then.
 */
void dofi_lock_wake(struct dofi_lock *l)
{
	int saved = errno;

	atomic_store(&l->awaited, 0);
	syscall(SYS_futex, &l->awaited, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = saved;
}
