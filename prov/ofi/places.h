/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Places for receives in the queue of a shared endpoint. Those that grants come with (trans_rdm.c) are posted again and again, and
 * must find theirs: without them no peer sends, no receive ends, and no place gets free. But a fabric takes whatever is posted in
 * the meantime, and some take far more than they say. So receives of EPs and SRQs are counted. Up to what the fabric says there is
 * room for both. Beyond, spare receives that match nothing hold places. When the fabric is full for the first time these go, and
 * what it says is the limit from then on.
 */
#ifndef DOFI_PLACES_H
#define DOFI_PLACES_H

#include "ep.h"
#include "hint.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dofi_ia;

#define DOFI_SPARES 8

struct dofi_places {
	_Atomic uint32_t taken, most; /* by receives of EPs and SRQs */
	_Atomic bool asked;	      /* somebody was turned away, or the fabric is full: the driver has to look */
	uint32_t sure;		      /* as many as the fabric says, but for the others */
	bool tried;		      /* whether the fabric takes more than it says; guarded by engine.lock */
	uint32_t nspares;	      /* posted; guarded by engine.lock */
	struct dofi_wr spares[DOFI_SPARES];
};

/* `size` as the fabric says, `kept` of it for other receives. */
void dofi_places_init(struct dofi_places *places, size_t size, uint32_t kept);

DOFI_INLINE void dofi_places_give(struct dofi_places *places, uint32_t n)
{
	uint32_t had = atomic_fetch_sub_explicit(&places->taken, n, memory_order_relaxed);

	assert(had >= n);
	(void)had;
}

/* False when the receive has to wait. */
DOFI_INLINE bool dofi_places_take(struct dofi_places *places)
{
	if (DOFI_LIKELY(atomic_fetch_add_explicit(&places->taken, 1, memory_order_relaxed) <
			atomic_load_explicit(&places->most, memory_order_relaxed)))
		return true;
	dofi_places_give(places, 1);
	atomic_store(&places->asked, true);
	return false;
}

/* The fabric had no room for a receive. */
DOFI_COLD void dofi_places_none(struct dofi_places *places);

/* What the driver does when it was asked to; engine.lock held. */
DOFI_COLD void dofi_places_look(struct dofi_ia *ia, struct dofi_places *places);

static inline bool dofi_places_asked(const struct dofi_places *places)
{
	return atomic_load_explicit(&places->asked, memory_order_relaxed);
}

#endif
