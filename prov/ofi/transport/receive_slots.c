/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/receive_slots.h"

#include "dto/op_context.h"
#include "object/ia.h"
#include "object/ep.h"

#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>

#define NO_LIMIT  UINT32_MAX
#define TAG_SPARE UINT64_C(0) /* no message has this tag */

void dofi_rx_slots_init(struct dofi_rx_slots *slots, size_t size, uint32_t kept, bool more_may_fit)
{
	/* A queue that has room for hardly more than the updates gets no limit. */
	bool tiny = size <= 2 * (size_t)kept;

	slots->tried = tiny || !more_may_fit;
	slots->sure = tiny || size - kept >= NO_LIMIT ? NO_LIMIT - 1 : (uint32_t)size - kept;
	atomic_init(&slots->most, slots->sure);
	for (int i = 0; i < DOFI_SPARES; i++)
		slots->spares[i].wr.op = DOFI_OP_SPARE;
}

void dofi_rx_slots_full(struct dofi_rx_slots *slots)
{
	uint32_t no_limit = NO_LIMIT;

	/*
	 * With far fewer receives than it reports, the fabric is only busy. The count is short by
	 * up to the spares, which were posted while other receives had just completed.
	 */
	if (dofi_rx_slots_used(slots) + 2 * DOFI_SPARES >= slots->sure &&
	    atomic_compare_exchange_strong(&slots->most, &no_limit, slots->sure))
		atomic_store(&slots->asked, true);
}

static bool post_spares(struct dofi_ia *ia, struct dofi_rx_slots *slots)
{
	while (slots->nspares < DOFI_SPARES) {
		void *context = dofi_context_of(ia, &slots->spares[slots->nspares].wr);

		if (fi_trecv(ia->shared_ep, NULL, 0, NULL, FI_ADDR_UNSPEC, TAG_SPARE, 0, context))
			return false;
		slots->nspares++;
	}
	return true;
}

static void cancel_spares(struct dofi_ia *ia, struct dofi_rx_slots *slots)
{
	while (slots->nspares)
		fi_cancel(&ia->shared_ep->fid,
			  dofi_context_of(ia, &slots->spares[--slots->nspares].wr));
}

void dofi_rx_slots_try_more(struct dofi_ia *ia, struct dofi_rx_slots *slots)
{
	dofi_assert_held(&ia->engine.lock);
	atomic_store(&slots->asked, false);
	if (!slots->tried) {
		slots->tried = true;
		if (post_spares(ia, slots))
			atomic_store(&slots->most, NO_LIMIT);
	}
	/* A limit keeps the slots, so the spares are not needed. */
	if (atomic_load(&slots->most) != NO_LIMIT)
		cancel_spares(ia, slots);
}
