/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receive-slot accounting of a shared endpoint. The receives for credit updates
 * (control_receives.c) are posted again after each update, and must always find a slot: without
 * updates no peer sends, no receive completes, and no slot becomes free. The fabric does not keep
 * slots for them. So this unit counts the receives of EPs and SRQs and leaves the rest of the size
 * that the fabric reports.
 *
 * Some fabrics take far more receives than they report. There the EPs may use more slots, and spare
 * receives that match no message hold slots for the updates. When the fabric is full for the first
 * time, the spares are cancelled, and the reported size is the limit from then on.
 */
#ifndef DOFI_RECEIVE_SLOTS_H
#define DOFI_RECEIVE_SLOTS_H

#include "object/ep.h"
#include "base/hint.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dofi_ia;

#define DOFI_SPARES 8

struct dofi_rx_slots {
	/*
	 * slots taken by receives of EPs and SRQs so far, and given back; both wrap; `given`
	 * changes with engine.lock held
	 */
	_Atomic uint32_t taken, given;
	_Atomic uint32_t most; /* may be between them */
	/*
	 * a receive found no slot, or the fabric is full: the driver has to call
	 * dofi_rx_slots_try_more
	 */
	_Atomic bool asked;
	uint32_t sure; /* the reported size without the slots of other receives */
	/* it is known whether the fabric takes more than it reports; guarded by engine.lock */
	bool tried;
	uint32_t nspares; /* posted; guarded by engine.lock */
	struct dofi_own_wr spares[DOFI_SPARES];
};

/*
 * size: as the fabric reports it; kept: slots for other receives; more_may_fit: posting more
 * receives than that is safe.
 */
void dofi_rx_slots_init(struct dofi_rx_slots *slots, size_t size, uint32_t kept, bool more_may_fit);

static inline uint32_t dofi_rx_slots_used(const struct dofi_rx_slots *slots)
{
	uint32_t given = atomic_load_explicit(&slots->given, memory_order_relaxed);

	return atomic_load_explicit(&slots->taken, memory_order_relaxed) - given;
}

/* Gives n slots back. Only threads with engine.lock do so, so `given` has one writer at a time. */
DOFI_INLINE void dofi_rx_slots_release(struct dofi_rx_slots *slots, uint32_t n)
{
	assert(dofi_rx_slots_used(slots) >= n);
	atomic_store_explicit(&slots->given,
			      atomic_load_explicit(&slots->given, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* Returns a slot that was just taken and is not needed. */
DOFI_INLINE void dofi_rx_slots_unacquire(struct dofi_rx_slots *slots)
{
	atomic_fetch_sub_explicit(&slots->taken, 1, memory_order_relaxed);
}

/* Takes a slot. False if the receive has to wait. */
DOFI_INLINE bool dofi_rx_slots_acquire(struct dofi_rx_slots *slots)
{
	uint32_t given = atomic_load_explicit(&slots->given, memory_order_relaxed);

	if (DOFI_LIKELY(atomic_fetch_add_explicit(&slots->taken, 1, memory_order_relaxed) - given <
			atomic_load_explicit(&slots->most, memory_order_relaxed)))
		return true;
	dofi_rx_slots_unacquire(slots);
	atomic_store(&slots->asked, true);
	return false;
}

/* The fabric had no room for a receive. */
DOFI_COLD void dofi_rx_slots_full(struct dofi_rx_slots *slots);

/* The driver calls it when `asked` is set; engine.lock held. */
DOFI_COLD void dofi_rx_slots_try_more(struct dofi_ia *ia, struct dofi_rx_slots *slots);

static inline bool dofi_rx_slots_asked(const struct dofi_rx_slots *slots)
{
	return atomic_load_explicit(&slots->asked, memory_order_relaxed);
}

#endif
