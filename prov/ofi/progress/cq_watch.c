/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/cq_watch.h"

#include "object/ia.h"
#include "base/clock.h"
#include "progress/wait.h"

/* How long the progress thread watches the queue after a watcher has woken it. */
#define FIRST_STAY_NS   4000000u
#define LONGEST_STAY_NS 16384000000ull

/*
 * The protocol of Dekker: the watcher stores `watchers` and loads `unwatched`; the driver stores
 * `unwatched` and loads `watchers`. Both are sequentially consistent, so at least one of the two
 * sees the store of the other, and no watcher is left with a driver that leaves the queue alone.
 */
void dofi_wait_watch(struct dofi_ia *ia)
{
	atomic_fetch_add(&ia->wait.watchers, 1);
	if (atomic_exchange(&ia->wait.unwatched, false))
		dofi_wait_kick(ia);
}

void dofi_wait_unwatch(struct dofi_ia *ia)
{
	atomic_fetch_sub(&ia->wait.watchers, 1);
}

bool dofi_cq_watch_leave(struct dofi_ia *ia, const _Atomic uint32_t *wakeup)
{
	struct dofi_wait *w = &ia->wait;

	if (!ia->moves_alone || wakeup != &ia->engine.activity || dofi_now() < w->stay_until)
		return false;
	atomic_store(&w->unwatched, true);
	if (atomic_load(&w->watchers) || atomic_load(&ia->engine.nstalled))
		atomic_store(&w->unwatched, false);
	return atomic_load_explicit(&w->unwatched, memory_order_relaxed);
}

/*
 * Waking the driver cost a post a system call, so the driver stays at the queue; for longer each
 * time, unless the last time was long ago.
 */
static void stay(struct dofi_wait *w)
{
	uint64_t now = dofi_now();

	if (!w->stay_ns || now > w->stay_until + LONGEST_STAY_NS)
		w->stay_ns = FIRST_STAY_NS;
	else if (w->stay_ns < LONGEST_STAY_NS)
		w->stay_ns *= 4;
	w->stay_until = now + w->stay_ns;
}

void dofi_cq_watch_awake(struct dofi_wait *w)
{
	if (!atomic_exchange(&w->unwatched, false))
		stay(w);
}
