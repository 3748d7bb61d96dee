/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
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
		if (atomic_load_explicit(&l->word, memory_order_relaxed) == DOFI_LOCK_FREE && dofi_lock_take(l))
			return true;
		relax();
	}
	return false;
}

void dofi_lock_await(struct dofi_lock *l)
{
	int saved = errno;

	if (take_soon(l))
		return;
	/* Whoever waited takes it as awaited: others may sleep still. */
	while (atomic_exchange_explicit(&l->word, DOFI_LOCK_AWAITED, memory_order_acquire) != DOFI_LOCK_FREE)
		syscall(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, DOFI_LOCK_AWAITED, NULL, NULL, 0);
	errno = saved;
}

void dofi_lock_wake(struct dofi_lock *l)
{
	int saved = errno;

	/* The owner of the memory may have taken and freed it by now: then this wakes nobody, or somebody without need. */
	syscall(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = saved;
}
