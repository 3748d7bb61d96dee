/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* High watermarks of an EP (dat_ep_set_watermark). */
#ifndef DOFI_WATERMARK_H
#define DOFI_WATERMARK_H

#include "object/ep.h"

/* The EP holds so many receives: what its watermarks say to that; ep->lock held. */
void dofi_ep_apply_watermarks(struct dofi_ep *ep, uint32_t held);

/* engine.lock held, takes ep->lock */
static inline void dofi_ep_check_marks(struct dofi_ep *ep, uint32_t held)
{
	if (DOFI_UNLIKELY(held > ep->soft_mark || held > ep->hard_mark))
		dofi_ep_apply_watermarks(ep, held);
}

#endif
