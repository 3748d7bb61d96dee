/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/evd.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/power.h"
#include "object/ia.h"
#include "object/srq_count.h"
#include "object/ud_ah.h"
#include "progress/agent.h"
#include "progress/cno.h"
#include "progress/wait.h"

#include <errno.h>
#include <stdlib.h>

void dofi_evd_wake(struct dofi_evd *evd, enum dofi_wake why)
{
	dofi_assert_held(&evd->lock);
	if (!evd->waiter || evd->wake)
		return;
	evd->wake = why;
	dofi_wait_wake(evd->obj.ia, &evd->wakeup);
}

/* A waiter keeps the CNO quiet, even when its threshold isn't reached (EVD-077). */
void dofi_evd_notify(struct dofi_evd *evd)
{
	dofi_assert_held(&evd->lock);
	if (evd->waiter) {
		if (dofi_evd_queued(evd) >= evd->threshold)
			dofi_evd_wake(evd, DOFI_WAKE_EVENT);
	} else if (evd->cno && !evd->disabled) {
		dofi_cno_notify(evd->cno, evd);
	}
}

static void report_overflow(struct dofi_evd *evd)
{
	struct dofi_ia *ia = evd->obj.ia;

	if (evd == ia->async_evd)
		DOFI_LOG_E("%s: the asynchronous EVD is full (%u events), errors are lost: dequeue "
			   "them, or open the IA with a longer one",
			   ia->name, evd->qlen);
	else
		dofi_evd_async(ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, evd, DAT_EVD_OVERFLOW_ERROR);
}

/* Moves the events to *ring, which has qlen places, and returns the old ring in *ring. */
static void move_to(struct dofi_evd *evd, struct dofi_event **ring, uint32_t qlen)
{
	struct dofi_event *old = evd->ring;
	uint32_t n = dofi_evd_queued(evd);

	dofi_assert_held(&evd->lock);
	for (uint32_t i = 0; i < n; i++)
		(*ring)[i] = *dofi_evd_slot(evd, evd->head + i);
	evd->ring = *ring;
	evd->qlen = qlen;
	evd->head = 0;
	evd->tail = n;
	evd->overflown = false;
	*ring = old;
}

/* An EVD that is being destroyed has no ring any more, and does not grow. */
static bool grow(struct dofi_evd *evd)
{
	uint32_t qlen = 2 * evd->qlen;
	struct dofi_event *ring;

	dofi_assert_held(&evd->lock);
	if (!qlen || qlen > evd->obj.ia->limits.max_evd_qlen)
		return false;
	ring = malloc(qlen * sizeof(*ring));
	if (!ring)
		return false;
	move_to(evd, &ring, qlen);
	free(ring);
	return true;
}

static bool holds_requests(const struct dofi_evd *evd)
{
	dofi_assert_held(&evd->lock);
	for (uint32_t i = evd->head; i != evd->tail; i++) {
		uint32_t number = dofi_evd_slot(evd, i)->number;

		if (number == DAT_CONNECTION_REQUEST_EVENT || number == DOFI_UD_EVENT_REQUEST)
			return true;
	}
	return false;
}

struct dofi_event *dofi_evd_full(struct dofi_evd *evd, bool must_not_be_lost)
{
	bool report = !evd->overflown;

	if ((must_not_be_lost || (report && holds_requests(evd))) && grow(evd))
		return dofi_evd_slot(evd, evd->tail);
	evd->overflown = true;
	DOFI_COUNT(evd, EVD_OVERFLOW, 1);
	dofi_unlock(&evd->lock);
	if (report)
		report_overflow(evd);
	return NULL;
}

/* Without it a program would keep the EP, or wait for the connection, for ever. */
static bool tells_of_connection(const struct dofi_event *event)
{
	return (event->number >= DAT_CONNECTION_EVENT_ESTABLISHED &&
		event->number <= DAT_CONNECTION_EVENT_UNREACHABLE) ||
	       (event->number >= DOFI_UD_EVENT_ESTABLISHED && event->number <= DOFI_UD_EVENT_ERROR);
}

int dofi_evd_push(struct dofi_evd *evd, const struct dofi_event *event, bool notify)
{
	struct dofi_event *place = dofi_evd_begin(evd, tells_of_connection(event));

	if (!place)
		return -ENOSPC;
	*place = *event;
	dofi_evd_count_event(evd, event->number, event->number == DOFI_EVENT_EXTENDED,
			     event->handle);
	dofi_evd_end(evd, notify);
	return 0;
}

void dofi_evd_async(struct dofi_ia *ia, DAT_EVENT_NUMBER number, void *handle, uint32_t reason)
{
	struct dofi_event event = {.number = (uint32_t)number, .handle = handle, .reason = reason};
	struct dofi_evd *evd = atomic_load(&ia->async_evd);

	DOFI_COUNT_SHARED(ia, IA_ASYNC_ERROR);
	if (evd)
		dofi_evd_push(evd, &event, true);
}

/*
 * The completion queues of common InfiniBand adapters have at least one entry more, rounded up to a
 * power of two. So programs whose sum of completions is a few too low worked there. What a program
 * posts itself (DAT_EVD_SOFTWARE_FLAG) was counted exactly.
 */
static uint32_t places_for(DAT_EVD_FLAGS flags, uint32_t min_qlen)
{
	bool completions = flags & (DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG) &&
			   !(flags & DAT_EVD_SOFTWARE_FLAG);

	return dofi_power_of_two(min_qlen + completions);
}

int dofi_evd_new(struct dofi_ia *ia, uint32_t min_qlen, struct dofi_cno *cno, DAT_EVD_FLAGS flags,
		 struct dofi_evd **evd_p)
{
	struct dofi_evd *evd =
		dofi_obj_alloc(ia, ia->obj.provider, DAT_HANDLE_TYPE_EVD, sizeof(*evd));

	if (!evd)
		return -ENOMEM;
	evd->qlen = places_for(flags, min_qlen);
	evd->ring = malloc(evd->qlen * sizeof(*evd->ring));
	if (!evd->ring) {
		dofi_obj_free(&evd->obj, DAT_HANDLE_TYPE_EVD);
		return -ENOMEM;
	}
	dofi_lock_init_level(&evd->lock, DOFI_LEVEL_EVD);
	evd->flags = flags;
	evd->cno = cno;
	dofi_list_init(&evd->cno_link);
	dofi_obj_use(cno);
	dofi_obj_publish(&evd->obj, DAT_HANDLE_TYPE_EVD);
	*evd_p = evd;
	return 0;
}

/* Discards the events. evd->lock is released for the counts of their SRQs. */
static void discard(struct dofi_evd *evd)
{
	dofi_assert_held(&evd->lock);
	while (dofi_evd_queued(evd)) {
		struct dofi_srq *srq = dofi_event_srq(dofi_evd_slot(evd, evd->head++));

		if (!srq)
			continue;
		dofi_unlock(&evd->lock);
		dofi_srq_dequeued(srq);
		dofi_lock(&evd->lock);
	}
}

/*
 * Another thread may still be in a call that it began before the handle became invalid. Such a call
 * finds an EVD without room and without events, and a lock that works. The caller frees the
 * returned ring and detaches *cno_p afterwards.
 */
static struct dofi_event *empty(struct dofi_evd *evd, struct dofi_cno **cno_p)
{
	struct dofi_event *ring = evd->ring;

	dofi_assert_held(&evd->lock);
	*cno_p = evd->cno;
	evd->cno = NULL;
	evd->ring = NULL;
	evd->head = evd->tail = evd->qlen = 0;
	dofi_evd_publish_count(evd);
	return ring;
}

void dofi_evd_destroy(struct dofi_evd *evd)
{
	struct dofi_ia *ia = evd->obj.ia;
	struct dofi_event *ring;
	struct dofi_cno *cno;

	dofi_assert_none_held();
	dofi_lock(&evd->lock);
	evd->dying = true;
	dofi_evd_wake(evd, DOFI_WAKE_ABORT);
	while (evd->waiter) {
		uint32_t seen = atomic_load(&evd->wakeup);

		dofi_unlock(&evd->lock);
		dofi_wait_sleep(ia, &evd->wakeup, seen, DOFI_FOREVER);
		dofi_lock(&evd->lock);
	}
	discard(evd);
	ring = empty(evd, &cno);
	dofi_unlock(&evd->lock);
	if (cno)
		dofi_cno_detach(cno, evd, true);
	dofi_cno_run_agents(ia);
	free(ring);
	dofi_obj_free(&evd->obj, DAT_HANDLE_TYPE_EVD);
}

static DAT_RETURN may_resize(const struct dofi_evd *evd, uint32_t min_qlen)
{
	dofi_assert_held(&evd->lock);
	if (evd->waiter)
		return DOFI_BAD_STATE(EVD_WAITER);
	if (evd->dying)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (min_qlen < dofi_evd_queued(evd))
		return DOFI_ERR(DAT_INVALID_STATE, 0);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_evd_set_length(struct dofi_evd *evd, uint32_t min_qlen)
{
	uint32_t qlen = places_for(evd->flags, min_qlen);
	struct dofi_event *ring = malloc(qlen * sizeof(*ring));
	DAT_RETURN ret;

	if (!ring)
		return DOFI_NO_MEMORY;
	dofi_lock(&evd->lock);
	ret = may_resize(evd, min_qlen);
	if (ret == DAT_SUCCESS)
		move_to(evd, &ring, qlen);
	dofi_unlock(&evd->lock);
	free(ring); /* the one that isn't used */
	return ret;
}
