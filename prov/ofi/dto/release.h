/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of requests and receives. A completion marks its work request done; events leave from the
 * heads of the rings, in the order of the posts.
 */
#ifndef DOFI_RELEASE_H
#define DOFI_RELEASE_H

#include "object/ep.h"
#include "object/ia.h"
#include "progress/event.h"
#include "progress/evd.h"

/* All of these: ep->lock held. */

/* Raises the events of complete work requests at the heads of both rings. */
void dofi_release_rings(struct dofi_ep *ep);

/* The same for one ring. */
DOFI_SLOW_PATH void dofi_release(struct dofi_ep *ep, struct dofi_ring *ring, struct dofi_evd *evd);

/* Raises the event of one complete work request: the next one of a ring, or a receive of an SRQ. */
DOFI_SLOW_PATH void dofi_release_one(struct dofi_ep *ep, struct dofi_evd *evd, struct dofi_wr *wr);

/* The request that was issued last is complete already: no completion comes for it. */
void dofi_release_request(struct dofi_ep *ep, struct dofi_wr *wr);

/*
 * Ends all work requests in the rings as FLUSHED; the first request gets first_status. The path is
 * closed.
 */
void dofi_release_flushed(struct dofi_ep *ep, uint8_t first_status);

/* The EVD had no room for a completion. */
DOFI_COLD void dofi_release_lost(struct dofi_ep *ep);

/* --- plain work requests: inline for the fast path --- */

/* Whether the event notifies: wakes a waiting thread or triggers a CNO. */
static inline bool dofi_release_notifies(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	bool recv = wr->op == DOFI_OP_RECV;

	/* Without completion data the solicited flag is not known, so each message notifies. */
	if (recv && ep->attr.recv_completion_flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG &&
	    ep->obj.ia->has_data)
		return wr->recv.solicited || wr->status != DAT_DTO_SUCCESS;
	return !(wr->flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
}

DOFI_INLINE void dofi_release_fill(struct dofi_ep *ep, const struct dofi_wr *wr, uint8_t op,
				   uint8_t status, struct dofi_event *event)
{
	dofi_assert_held(&ep->lock);
	event->number = DAT_DTO_COMPLETION_EVENT;
	event->op = op;
	event->status = status;
	event->ext = 0;
	event->handle = ep;
	event->dto.cookie = wr->cookie;
	event->dto.length = wr->length;
	event->dto.srq = NULL;
}

/* Stores the event in the memory of the call that polls for it, if the EVD's ring is empty. */
DOFI_INLINE bool dofi_release_to_taker(struct dofi_ep *ep, struct dofi_evd *evd,
				       const struct dofi_wr *wr, uint8_t op)
{
	struct dofi_taker *taker = &ep->obj.ia->engine.taker;

	dofi_assert_held(&ep->obj.ia->engine.lock);
	if (taker->evd != evd || atomic_load_explicit(&evd->count, memory_order_relaxed) ||
	    dofi_evd_is_watched(evd))
		return false;
	taker->event->event_number = DAT_DTO_COMPLETION_EVENT;
	taker->event->evd_handle = evd;
	dofi_event_fill_dto(&(struct dofi_dto){ep, wr->cookie, wr->length, op, DAT_DTO_SUCCESS},
			    taker->event);
	dofi_evd_count_event(evd, DAT_DTO_COMPLETION_EVENT, false, ep);
	taker->evd = NULL;
	return true;
}

/*
 * As dofi_release_one, for a plain work request. polled: its completion was just read, with
 * engine.lock held.
 */
DOFI_INLINE void dofi_release_plain(struct dofi_ep *ep, struct dofi_evd *evd, struct dofi_wr *wr,
				    uint8_t op, bool polled)
{
	struct dofi_event *event;

	dofi_assert_held(&ep->lock);
	dofi_ep_count_completed(ep, DAT_DTO_SUCCESS);
	if (polled && dofi_release_to_taker(ep, evd, wr, op))
		return;
	event = dofi_evd_begin(evd, false);
	if (DOFI_UNLIKELY(!event)) {
		dofi_release_lost(ep);
		return;
	}
	dofi_release_fill(ep, wr, op, DAT_DTO_SUCCESS, event);
	dofi_evd_count_event(evd, DAT_DTO_COMPLETION_EVENT, false, ep);
	dofi_evd_end(evd, dofi_evd_is_watched(evd) && dofi_release_notifies(ep, wr));
}

/*
 * As dofi_release, after a plain work request was completed: mostly it is the only one at the head.
 */
DOFI_INLINE void dofi_release_polled(struct dofi_ep *ep, struct dofi_ring *ring,
				     struct dofi_evd *evd, struct dofi_wr *wr, uint8_t op)
{
	dofi_assert_held(&ep->lock);
	if (DOFI_LIKELY(wr == dofi_ring_at(ring, ring->head) && wr->state == DOFI_WR_DONE &&
			(op != DOFI_OP_RECV || !wr->recv.ctrl))) {
		dofi_release_plain(ep, evd, wr, op, true);
		ring->head++;
		if (ring->head == ring->tail ||
		    dofi_ring_at(ring, ring->head)->state != DOFI_WR_DONE)
			return;
	}
	dofi_release(ep, ring, evd);
}

#endif
