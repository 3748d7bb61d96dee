/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* High watermarks of an EP (dat_ep_set_watermark), and the low one of an SRQ. */
#ifndef DOFI_WATERMARK_H
#define DOFI_WATERMARK_H

#include "object/ep.h"

void dofi_ep_apply_watermarks(struct dofi_ep *ep, uint32_t held);

/* Compares the number of receives that the EP holds with its watermarks. ep->lock held. */
static inline void dofi_ep_check_marks(struct dofi_ep *ep, uint32_t held)
{
	dofi_assert_held(&ep->lock);
	if (DOFI_UNLIKELY(held > ep->soft_mark || held > ep->hard_mark))
		dofi_ep_apply_watermarks(ep, held);
}

struct dofi_srq;

/*
 * Whether the SRQ has fallen below its mark: then the caller raises the event, without srq->lock.
 */
bool dofi_srq_below_mark(struct dofi_srq *srq);
void dofi_srq_raise_watermark(struct dofi_srq *srq);

#endif
