/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/watermark.h"

#include "object/ia.h"
#include "progress/evd.h"
#include "object/ep.h"
#include "object/srq_count.h"
#include "dto/issue.h"

/*
 * As for the watermark of an SRQ, DAT has no event number for it: handle and reason identify it
 * (EP-189).
 */
void dofi_ep_apply_watermarks(struct dofi_ep *ep, uint32_t held)
{
	dofi_assert_held(&ep->lock);
	if (held > ep->soft_mark) {
		ep->soft_mark = UINT32_MAX;
		dofi_evd_async(ep->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, ep,
			       DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	}
	if (held > ep->hard_mark && ep->state == DAT_EP_STATE_CONNECTED) {
		ep->faulty = true;
		dofi_ep_stall(ep);
	}
}

/* An SRQ that is being freed gives up its receives, and its handle is not valid any more. */
bool dofi_srq_below_mark(struct dofi_srq *srq)
{
	bool raise = srq->armed && !srq->closing && srq->available < srq->low_watermark;

	dofi_assert_held(&srq->lock);
	if (raise)
		srq->armed = false;
	return raise;
}

/* The headers have no event number for it: handle and reason identify it (SRQ-055). */
void dofi_srq_raise_watermark(struct dofi_srq *srq)
{
	dofi_evd_async(srq->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, srq,
		       DAT_SRQ_LOW_WATERMARK_EVENT);
}
