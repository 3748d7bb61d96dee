/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/lock_order.h"

/* Release builds check nothing, and have no thread-local data. */
#if !defined(NDEBUG) || defined(DOFI_LOCK_ORDER_TEST)

#include <stdio.h>
#include <stdlib.h>

/* Locks beyond this number are counted, not listed. */
#define MOST_HELD 16

static const char *const names[DOFI_NLEVELS] = {
	[DOFI_LEVEL_NONE] = "a lock without a level",
	[DOFI_LEVEL_ENGINE] = "engine.lock",
	[DOFI_LEVEL_EP] = "ep->lock",
	[DOFI_LEVEL_SRQ] = "srq->lock",
	[DOFI_LEVEL_EVD] = "evd->lock",
	[DOFI_LEVEL_CNO] = "cno->lock",
	[DOFI_LEVEL_MEMORY] = "bounces.lock or lmr->lock",
	[DOFI_LEVEL_LEAF] = "a leaf",
	[DOFI_LEVEL_WAIT] = "wait.lock",
};

/*
 * In the static part of a thread's data: glibc allocates the rest when a thread uses it first, and
 * ends the process when there is no memory. The static part has little room for libraries that are
 * loaded later.
 */
#define THREAD_DATA static _Thread_local __attribute__((tls_model("initial-exec")))

THREAD_DATA struct {
	const void *lock;
	enum dofi_lock_level level;
} held[MOST_HELD];

THREAD_DATA unsigned int nheld, nbeyond;

static _Noreturn void report_and_abort(const char *what, enum dofi_lock_level taken,
				       enum dofi_lock_level holding)
{
	fprintf(stderr, "dat-ofi: order of locks: a thread takes %s while it holds %s: %s\n",
		names[taken], names[holding], what);
	abort();
}

void dofi_lock_order_check(const void *lock, enum dofi_lock_level level)
{
	for (unsigned int i = 0; i < nheld; i++) {
		if (held[i].lock == lock)
			report_and_abort("it would wait for itself", level, held[i].level);
		if (level != DOFI_LEVEL_NONE && held[i].level >= level)
			report_and_abort("base/lock_order.h has the order", level, held[i].level);
	}
}

void dofi_lock_order_taken(const void *lock, enum dofi_lock_level level)
{
	if (nheld == MOST_HELD) {
		nbeyond++;
		return;
	}
	held[nheld].lock = lock;
	held[nheld++].level = level;
}

void dofi_lock_order_released(const void *lock)
{
	for (unsigned int i = nheld; i-- > 0;) {
		if (held[i].lock != lock)
			continue;
		for (nheld--; i < nheld; i++)
			held[i] = held[i + 1];
		return;
	}
	if (nbeyond) {
		nbeyond--;
		return;
	}
	fprintf(stderr, "dat-ofi: a thread releases a lock that it does not hold\n");
	abort();
}

unsigned int dofi_lock_order_held(void)
{
	return nheld + nbeyond;
}

#endif
