/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/nap.h"

#include "object/ia.h"
#include "base/clock.h"
#include "fabric/eqs.h"
#include "fabric/quirks.h"

#include <rdma/fi_eq.h>
#include <stdatomic.h>

/* A sleep that ends by the clock is short after an event, and then doubles. */
#define FIRST_NAP_NS         20000u
#define FIRST_LIST_NAP_NS    32000000u
#define LONGEST_LIST_NAP_NS  256000000u
#define BLIND_SLEEP_NS       1000000u
/*
 * If all peers send wakeups, a sleep takes 1/QUIET_PARTS of the time since the last event, and at
 * most this long.
 */
#define LONGEST_WOKEN_NAP_NS 32000000u
#define QUIET_PARTS          16
/* After an event or a wakeup, a write of many parts may be on its way for this long. */
#define PARTIAL_WRITE_NS     250000000u

uint64_t dofi_nap_blind_until(uint64_t deadline)
{
	uint64_t blind = dofi_now() + BLIND_SLEEP_NS;

	return blind < deadline ? blind : deadline;
}

/* Each sleep is longer than the last one, if nothing has happened since. */
static uint64_t longer_nap_until(struct dofi_ia *ia, uint64_t deadline, uint64_t first_ns,
				 uint64_t longest_ns)
{
	uint32_t handled = atomic_load_explicit(&ia->engine.handled, memory_order_relaxed);
	struct dofi_wait *w = &ia->wait;
	uint64_t now = dofi_now(), blind;

	if (handled != w->nap_rounds || !w->nap_ns || atomic_exchange(&w->posted, false)) {
		w->nap_ns = first_ns;
		w->quiet_since = now;
	} else {
		w->nap_ns = 2 * w->nap_ns < longest_ns ? 2 * w->nap_ns : longest_ns;
	}
	w->nap_rounds = handled;
	blind = now + w->nap_ns;
	return blind < deadline ? blind : deadline;
}

/*
 * How long sleeps stay short after an event. A provider whose queue lacks a descriptor by a fault
 * uses sockets: each read of the queue takes only a part of an RDMA write, and the write causes no
 * event until it is complete.
 */
static uint64_t short_naps_ns(const struct dofi_ia *ia)
{
	return ia->quirks & DOFI_QUIRK_MUTE_QUEUE ? PARTIAL_WRITE_NS
						  : QUIET_PARTS * (uint64_t)BLIND_SLEEP_NS;
}

/*
 * A peer sends no wakeup for answers that its fabric gives by itself. Such an answer is read late,
 * but only by a fraction of the time that the answer took.
 */
static uint64_t longest_nap(const struct dofi_ia *ia)
{
	const struct dofi_wait *w = &ia->wait;
	uint64_t quiet = dofi_now() - w->quiet_since;

	if (!w->marked || atomic_load_explicit(&ia->wakeup.deaf, memory_order_relaxed) ||
	    quiet < short_naps_ns(ia))
		return BLIND_SLEEP_NS;
	return quiet / QUIET_PARTS < LONGEST_WOKEN_NAP_NS ? quiet / QUIET_PARTS
							  : LONGEST_WOKEN_NAP_NS;
}

/*
 * A posting thread stores `posted` and loads `deep`; the driver stores `deep` and loads `posted`.
 * At least one of the two sees the other's store.
 */
static uint64_t doze_until(struct dofi_ia *ia, uint64_t deadline)
{
	uint64_t until = longer_nap_until(ia, deadline, FIRST_NAP_NS, longest_nap(ia));
	struct dofi_wait *w = &ia->wait;

	if (w->nap_ns <= BLIND_SLEEP_NS)
		return until;
	atomic_store(&w->deep, true);
	return atomic_load(&w->posted)
		       ? longer_nap_until(ia, deadline, FIRST_NAP_NS, BLIND_SLEEP_NS)
		       : until;
}

/* A peer may connect at any moment, and no descriptor shows it. */
static bool connects_by_clock(struct dofi_ia *ia)
{
	return ia->eqs.n && dofi_eqs_fd(&ia->eqs) < 0 &&
	       atomic_load_explicit(&ia->cm.nlinking, memory_order_relaxed);
}

uint64_t dofi_nap_until(struct dofi_ia *ia, uint64_t deadline, bool with_cq)
{
	uint64_t timer = atomic_load(&ia->engine.next_timer);

	if (timer < deadline)
		deadline = timer;
	/* Who sets a timer, or stalls, wakes a driver that is asleep (timer.c, stall.c). */
	if (atomic_load(&ia->engine.nstalled) || atomic_load(&ia->engine.restless) ||
	    connects_by_clock(ia))
		return longer_nap_until(ia, deadline, FIRST_NAP_NS, BLIND_SLEEP_NS);
	if (with_cq && ia->cq_wait == FI_WAIT_NONE)
		return doze_until(ia, deadline);
	/*
	 * A list of descriptors is a snapshot: it does not show that a post by another thread waits
	 * for room in its socket, or has left a message in tcp's own buffers. Some queues do not
	 * wake a sleeper after another thread has read them, and that read may have brought an
	 * event of an endpoint that no descriptor shows.
	 */
	if (!with_cq || ia->cq_wait == FI_WAIT_POLLFD || ia->cq_mutes || ia->eqs.silent)
		return longer_nap_until(ia, deadline, FIRST_LIST_NAP_NS, LONGEST_LIST_NAP_NS);
	return deadline;
}
