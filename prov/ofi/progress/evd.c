/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/evd.h"

#include "progress/cno.h"
#include "object/ia.h"
#include "base/log.h"
#include "base/probe.h"
#include "progress/engine.h"
#include "progress/wait.h"
#include "object/srq_count.h"
#include "progress/event.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

/* Extended completions come where plain ones do, so their flag says nothing new. */
#define ALL_FLAGS (DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG | DOFI_EVD_EXTENSION_FLAG)

/* --- the ring --- */

static void wake(struct dofi_evd *evd, enum dofi_wake why)
{
	dofi_assert_held(&evd->lock);
	if (!evd->waiter || evd->wake)
		return;
	evd->wake = why;
	dofi_wait_ring(evd->obj.ia, &evd->wakeup);
}

/* A waiter keeps the CNO quiet, even when its threshold isn't reached (EVD-077). */
void dofi_evd_notify(struct dofi_evd *evd)
{
	dofi_assert_held(&evd->lock);
	if (evd->waiter) {
		if (dofi_evd_queued(evd) >= evd->threshold)
			wake(evd, DOFI_WAKE_EVENT);
	} else if (evd->cno && !evd->disabled) {
		dofi_cno_notify(evd->cno, evd);
	}
}

/*
 * The oldest event leaves as the consumer's; whose count goes down by that, once no lock is held,
 * or NULL. The ring's place is not used again before evd->lock is released.
 */
static inline struct dofi_srq *take(struct dofi_evd *evd, DAT_EVENT *out)
{
	const struct dofi_event *event = dofi_evd_slot(evd, evd->head++);

	dofi_assert_held(&evd->lock);
	dofi_evd_publish_count(evd);
	if (!dofi_evd_queued(evd))
		evd->overflown = false;
	dofi_event_unfold(event, evd, out);
	return event->number == DAT_DTO_COMPLETION_EVENT || event->number == DOFI_EVENT_EXTENDED
		       ? event->dto.srq
		       : NULL;
}

/* --- producers --- */

static void report_overflow(struct dofi_evd *evd)
{
	struct dofi_ia *ia = evd->obj.ia;

	if (evd == ia->async_evd)
		DOFI_LOG_E("%s: the asynchronous EVD is full (%u events), errors are lost: dequeue "
			   "them, or open the IA with "
			   "a longer one",
			   ia->name, evd->qlen);
	else
		dofi_evd_async(ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, evd, DAT_EVD_OVERFLOW_ERROR);
}

struct dofi_event *dofi_evd_overflow(struct dofi_evd *evd)
{
	bool report = !evd->overflown;

	evd->overflown = true;
	DOFI_COUNT(evd, EVD_OVERFLOW, 1);
	dofi_unlock(&evd->lock);
	if (report)
		report_overflow(evd);
	return NULL;
}

int dofi_evd_push(struct dofi_evd *evd, const struct dofi_event *event, bool notify)
{
	struct dofi_event *place = dofi_evd_begin(evd);

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

DAT_RETURN dofi_evd_post_se(DAT_EVD_HANDLE handle, const DAT_EVENT *event)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);
	struct dofi_event ours, *place;
	bool ok;

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!(evd->flags & DAT_EVD_SOFTWARE_FLAG))
		return DOFI_BAD_ARG(1);
	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return DOFI_BAD_ARG(2);
	ours = (struct dofi_event){
		.number = DAT_SOFTWARE_EVENT,
		.software = event->event_data.software_event_data.pointer,
	};
	dofi_lock(&evd->lock);
	ok = dofi_evd_queued(evd) < evd->qlen;
	if (ok) {
		place = dofi_evd_slot(evd, evd->tail);
		*place = ours;
		dofi_evd_count_event(evd, ours.number, false, NULL);
		dofi_evd_append(evd, true);
	}
	dofi_unlock(&evd->lock);
	dofi_cno_run_agents(evd->obj.ia);
	return ok ? DAT_SUCCESS : DOFI_ERR(DAT_QUEUE_FULL, 0);
}

/* --- streams --- */

/*
 * One EVD may serve DTO streams that notify in different ways, each by the flags of its own posts.
 * Then it counts as one of thresholds.
 */
static enum dofi_dto_config config_of(const struct dofi_evd *evd)
{
	enum dofi_dto_config config = DOFI_CONFIG_NONE;

	for (unsigned int i = DOFI_CONFIG_THRESHOLD; i < DOFI_CONFIGS; i++) {
		if (!evd->dto_streams[i])
			continue;
		if (config != DOFI_CONFIG_NONE)
			return DOFI_CONFIG_THRESHOLD;
		config = (enum dofi_dto_config)i;
	}
	return config;
}

static uint32_t count_streams(const struct dofi_evd *evd)
{
	uint32_t n = evd->other_streams;

	for (unsigned int i = 0; i < DOFI_CONFIGS; i++)
		n += evd->dto_streams[i];
	return n;
}

void dofi_evd_attach_dto(struct dofi_evd *evd, enum dofi_dto_config config)
{
	if (!evd)
		return;
	dofi_lock(&evd->lock);
	evd->dto_streams[config]++;
	dofi_obj_use(evd);
	dofi_unlock(&evd->lock);
}

void dofi_evd_detach_dto(struct dofi_evd *evd, enum dofi_dto_config config)
{
	if (!evd)
		return;
	dofi_lock(&evd->lock);
	assert(evd->dto_streams[config]);
	evd->dto_streams[config]--;
	dofi_unlock(&evd->lock);
	dofi_obj_unuse(evd);
}

void dofi_evd_attach_other(struct dofi_evd *evd)
{
	if (!evd)
		return;
	dofi_lock(&evd->lock);
	evd->other_streams++;
	dofi_obj_use(evd);
	dofi_unlock(&evd->lock);
}

void dofi_evd_detach_other(struct dofi_evd *evd)
{
	if (!evd)
		return;
	dofi_lock(&evd->lock);
	assert(evd->other_streams);
	evd->other_streams--;
	dofi_unlock(&evd->lock);
	dofi_obj_unuse(evd);
}

uint32_t dofi_evd_room(struct dofi_evd *evd)
{
	uint32_t room, others;

	dofi_lock(&evd->lock);
	room = evd->qlen - dofi_evd_queued(evd);
	/* All but the service point's own; they may need every second place. */
	others = count_streams(evd);
	others = others ? others - 1 : 0;
	if (others > evd->qlen / 2)
		others = evd->qlen / 2;
	dofi_unlock(&evd->lock);
	return room > others ? room - others : 0;
}

/* --- consumers --- */

/*
 * An EVD with events is emptied without a look at the fabric. An empty one costs a look at two
 * words and one round of the engine.
 */
DAT_RETURN dofi_evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);
	struct dofi_srq *srq;

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!event)
		return DOFI_BAD_ARG(2);
	if (atomic_load_explicit(&evd->waiter, memory_order_relaxed))
		return DOFI_BAD_STATE(EVD_WAITER);
	DOFI_COUNT(evd, EVD_DEQUEUE, 1);
	if (!atomic_load_explicit(&evd->count, memory_order_relaxed)) {
		DOFI_COUNT(evd, EVD_DEQUEUE_POLL, 1);
		if (dofi_engine_poll_for(evd->obj.ia, (struct dofi_taker){evd, event})) {
			DOFI_COUNT(evd, EVD_DEQUEUE_POLL_FOUND, 1);
			DOFI_COUNT(evd, EVD_DEQUEUE_FOUND, 1);
			return DAT_SUCCESS;
		}
		if (!dofi_obj_is(evd, DAT_HANDLE_TYPE_EVD)) /* an agent freed it */
			return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
		if (!atomic_load_explicit(&evd->count, memory_order_relaxed)) {
			DOFI_COUNT(evd, EVD_DEQUEUE_NOT_FOUND, 1);
			return DOFI_QUEUE_EMPTY;
		}
		DOFI_COUNT(evd, EVD_DEQUEUE_POLL_FOUND, 1);
	}
	dofi_lock(&evd->lock);
	if (evd->waiter || !dofi_evd_queued(evd)) {
		bool waiter = evd->waiter;

		dofi_unlock(&evd->lock);
		return waiter ? DOFI_BAD_STATE(EVD_WAITER) : DOFI_QUEUE_EMPTY;
	}
	srq = take(evd, event);
	DOFI_COUNT(evd, EVD_DEQUEUE_FOUND, 1);
	dofi_unlock(&evd->lock);
	if (srq)
		dofi_srq_dequeued(srq);
	return DAT_SUCCESS;
}

static DAT_RETURN may_wait(const struct dofi_evd *evd, DAT_COUNT threshold)
{
	enum dofi_dto_config config;

	dofi_assert_held(&evd->lock);
	if (evd->dying)
		return DOFI_ERR(DAT_ABORT, 0);
	if (evd->unwaitable)
		return DOFI_BAD_STATE(EVD_UNWAITABLE);
	if (evd->waiter)
		return DOFI_BAD_STATE(EVD_WAITER);
	if (threshold < 1 || (uint32_t)threshold > evd->qlen)
		return DOFI_BAD_ARG(3);
	if (threshold == 1)
		return DAT_SUCCESS;
	config = config_of(evd);
	if (config == DOFI_CONFIG_UNSIGNALLED)
		return DOFI_BAD_STATE(EVD_CONFIG_NOTIFY);
	if (config == DOFI_CONFIG_SOLICITED)
		return DOFI_BAD_STATE(EVD_CONFIG_SOLICITED);
	return DAT_SUCCESS;
}

/* What one round of the engine finds was there before the call, notified or not. */
static void look_once(struct dofi_evd *evd)
{
	dofi_engine_poll(evd->obj.ia);
	dofi_lock(&evd->lock);
	if (dofi_evd_queued(evd) >= evd->threshold)
		wake(evd, DOFI_WAKE_EVENT);
	dofi_unlock(&evd->lock);
}

/*
 * Until the wakeup differs from seen: 0, -EINTR or -ETIMEDOUT. The clock is read only if there is
 * something to wait for.
 */
static int sleep_for_events(struct dofi_evd *evd, uint32_t seen, DAT_TIMEOUT timeout)
{
	struct dofi_ia *ia = evd->obj.ia;
	uint64_t deadline, spin_until;

	if (atomic_load(&evd->wakeup) != seen)
		return 0;
	deadline = dofi_deadline(timeout);
	spin_until = dofi_now() + ia->params.spin_us * 1000u;
	while (atomic_load(&evd->wakeup) == seen) {
		uint64_t now = dofi_now();

		if (now >= deadline)
			return -ETIMEDOUT;
		if (now >= spin_until)
			return dofi_wait_sleep(ia, &evd->wakeup, seen, deadline);
		dofi_engine_poll(ia);
		sched_yield();
	}
	return 0;
}

/* What dat_evd_wait returns. */
static DAT_RETURN outcome(const struct dofi_evd *evd, int slept)
{
	dofi_assert_held(&evd->lock);
	switch (evd->wake) {
	case DOFI_WAKE_EVENT:
		return DAT_SUCCESS;
	case DOFI_WAKE_UNWAITABLE:
		return DOFI_BAD_STATE(EVD_UNWAITABLE);
	case DOFI_WAKE_ABORT:
		return DOFI_ERR(DAT_ABORT, 0);
	case DOFI_WAKE_NONE:
		break;
	}
	return slept == -EINTR ? DOFI_ERR(DAT_INTERRUPTED_CALL, 0) : DOFI_TIMEOUT_EXPIRED;
}

static void leave(struct dofi_evd *evd)
{
	evd->waiter = false;
	if (evd->dying)
		dofi_wait_ring(evd->obj.ia, &evd->wakeup);
}

DAT_RETURN dofi_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			 DAT_EVENT *event, DAT_COUNT *nmore)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);
	struct dofi_srq *srq = NULL;
	DAT_RETURN ret;
	uint32_t seen;
	int slept;

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!event)
		return DOFI_BAD_ARG(4);
	if (!nmore)
		return DOFI_BAD_ARG(5);
	dofi_lock(&evd->lock);
	ret = may_wait(evd, threshold);
	if (ret != DAT_SUCCESS) {
		dofi_unlock(&evd->lock);
		return ret;
	}
	DOFI_COUNT(evd, EVD_WAIT, 1);
	if (dofi_evd_queued(evd) < (uint32_t)threshold) {
		DOFI_COUNT(evd, EVD_WAIT_BLOCKED, 1);
		evd->waiter = true;
		evd->wake = DOFI_WAKE_NONE;
		evd->threshold = (uint32_t)threshold;
		seen = atomic_load(&evd->wakeup);
		dofi_unlock(&evd->lock);
		look_once(evd);
		slept = sleep_for_events(evd, seen, timeout);
		dofi_lock(&evd->lock);
		ret = outcome(evd, slept);
		if (ret == DAT_SUCCESS)
			DOFI_COUNT(evd, EVD_WAIT_NOTIFY, 1);
		leave(evd);
	}
	if (ret == DAT_SUCCESS)
		srq = take(evd, event);
	*nmore = (DAT_COUNT)dofi_evd_queued(evd);
	dofi_unlock(&evd->lock);
	if (srq)
		dofi_srq_dequeued(srq);
	return ret;
}

/* --- life cycle --- */

/* A power of two, so that free-running indices need no division; asking for 1 gives 1. */
static uint32_t round_up(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size <<= 1;
	return size;
}

int dofi_evd_new(struct dofi_ia *ia, uint32_t min_qlen, struct dofi_cno *cno, DAT_EVD_FLAGS flags,
		 struct dofi_evd **evd_p)
{
	struct dofi_evd *evd =
		dofi_obj_alloc(ia, ia->obj.provider, DAT_HANDLE_TYPE_EVD, sizeof(*evd));

	if (!evd)
		return -ENOMEM;
	evd->qlen = round_up(min_qlen);
	evd->ring = malloc(evd->qlen * sizeof(*evd->ring));
	if (!evd->ring) {
		dofi_obj_free(&evd->obj, DAT_HANDLE_TYPE_EVD);
		return -ENOMEM;
	}
	dofi_lock_init_level(&evd->lock, DOFI_LEVEL_EVD);
	evd->flags = flags;
	evd->cno = cno;
	dofi_obj_use(cno);
	dofi_obj_publish(&evd->obj, DAT_HANDLE_TYPE_EVD);
	*evd_p = evd;
	return 0;
}

/*
 * A call that another thread made before the handle became invalid may come this late: it finds an
 * EVD without a place and without an event, and a lock that works. Returns the ring, and *cno_p,
 * which the caller releases afterwards.
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
	wake(evd, DOFI_WAKE_ABORT);
	while (evd->waiter) {
		uint32_t seen = atomic_load(&evd->wakeup);

		dofi_unlock(&evd->lock);
		dofi_wait_sleep(ia, &evd->wakeup, seen, DOFI_FOREVER);
		dofi_lock(&evd->lock);
	}
	ring = empty(evd, &cno);
	dofi_unlock(&evd->lock);
	if (cno)
		dofi_cno_detach(cno, evd, true);
	dofi_cno_run_agents(ia);
	free(ring);
	dofi_obj_free(&evd->obj, DAT_HANDLE_TYPE_EVD);
}

/* NULL is a good answer for no CNO; false when the handle isn't a CNO of this IA. */
static bool find_cno(const struct dofi_ia *ia, DAT_CNO_HANDLE handle, struct dofi_cno **cno_p)
{
	struct dofi_cno *cno = NULL;

	if (handle != DAT_HANDLE_NULL) {
		cno = DOFI_OBJ(handle, CNO);
		if (!cno || cno->obj.ia != ia)
			return false;
	}
	*cno_p = cno;
	return true;
}

DAT_RETURN dofi_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT min_qlen, DAT_CNO_HANDLE cno_handle,
			   DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd_handle)
{
	struct dofi_ia *ia = DOFI_IA(ia_handle);
	struct dofi_evd *evd;
	struct dofi_cno *cno;

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (min_qlen < 1)
		return DOFI_BAD_ARG(2);
	if (!find_cno(ia, cno_handle, &cno))
		return DOFI_BAD_HANDLE(CNO);
	if (!flags || ((unsigned int)flags & ~(unsigned int)ALL_FLAGS))
		return DOFI_BAD_ARG(4);
	if (!evd_handle)
		return DOFI_BAD_ARG(5);
	if ((uint32_t)min_qlen > ia->limits.max_evd_qlen)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	if (!dofi_obj_room(ia, DAT_HANDLE_TYPE_EVD, ia->limits.max_evds))
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	if (dofi_evd_new(ia, (uint32_t)min_qlen, cno, flags, &evd))
		return DOFI_NO_MEMORY;
	*evd_handle = evd;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_evd_free(DAT_EVD_HANDLE handle)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);
	struct dofi_ia *ia;

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	ia = evd->obj.ia;
	if (!dofi_obj_retire(&evd->obj, true))
		return DOFI_BAD_STATE(EVD_IN_USE);
	dofi_cno_stay(ia);
	dofi_evd_destroy(evd);
	dofi_cno_go(ia);
	return DAT_SUCCESS;
}

/* --- properties --- */

static DAT_EVD_STATE state_of(const struct dofi_evd *evd)
{
	static const unsigned int config_bits[] = {
		[DOFI_CONFIG_NONE] = 0,
		[DOFI_CONFIG_THRESHOLD] = DAT_EVD_STATE_CONFIG_THRESHOLD,
		[DOFI_CONFIG_UNSIGNALLED] = DAT_EVD_STATE_CONFIG_NOTIFY,
		[DOFI_CONFIG_SOLICITED] = DAT_EVD_STATE_CONFIG_SOLICITED,
	};
	unsigned int enabled = evd->disabled ? DAT_EVD_STATE_DISABLED : DAT_EVD_STATE_ENABLED;
	unsigned int waitable = evd->unwaitable ? DAT_EVD_STATE_UNWAITABLE : DAT_EVD_STATE_WAITABLE;

	dofi_assert_held(&evd->lock);
	return (DAT_EVD_STATE)(enabled | waitable | config_bits[config_of(evd)]);
}

DAT_RETURN dofi_evd_query(DAT_EVD_HANDLE handle, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);
	DAT_RETURN ret;

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	ret = dofi_query_check(mask, DAT_EVD_FIELD_ALL, param);
	if (ret != DAT_SUCCESS || !param)
		return ret;
	param->ia_handle = dofi_obj_ia_handle(&evd->obj);
	param->evd_flags = evd->flags;
	dofi_lock(&evd->lock);
	param->evd_qlen = (DAT_COUNT)evd->qlen;
	param->evd_state = state_of(evd);
	param->cno_handle = evd->cno;
	dofi_unlock(&evd->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_evd_modify_cno(DAT_EVD_HANDLE handle, DAT_CNO_HANDLE cno_handle)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);
	struct dofi_cno *cno, *before;

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!find_cno(evd->obj.ia, cno_handle, &cno))
		return DOFI_BAD_HANDLE(CNO);
	dofi_lock(&evd->lock);
	before = evd->cno;
	if (before != cno && !evd->dying) {
		dofi_obj_use(cno);
		evd->cno = cno;
		if (before)
			dofi_cno_detach(before, evd, false);
	}
	dofi_unlock(&evd->lock);
	return DAT_SUCCESS;
}

static DAT_RETURN set_disabled(DAT_EVD_HANDLE handle, bool disabled)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	dofi_lock(&evd->lock);
	evd->disabled = disabled;
	dofi_unlock(&evd->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_evd_enable(DAT_EVD_HANDLE evd)
{
	return set_disabled(evd, false);
}

DAT_RETURN dofi_evd_disable(DAT_EVD_HANDLE evd)
{
	return set_disabled(evd, true);
}

static DAT_RETURN set_unwaitable(DAT_EVD_HANDLE handle, bool unwaitable)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	dofi_lock(&evd->lock);
	evd->unwaitable = unwaitable;
	if (unwaitable)
		wake(evd, DOFI_WAKE_UNWAITABLE);
	dofi_unlock(&evd->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_evd_set_unwaitable(DAT_EVD_HANDLE evd)
{
	return set_unwaitable(evd, true);
}

DAT_RETURN dofi_evd_clear_unwaitable(DAT_EVD_HANDLE evd)
{
	return set_unwaitable(evd, false);
}

static DAT_RETURN move_to(struct dofi_evd *evd, struct dofi_event **ring, uint32_t min_qlen,
			  uint32_t qlen)
{
	struct dofi_event *old = evd->ring;
	uint32_t n = dofi_evd_queued(evd);

	dofi_assert_held(&evd->lock);
	if (evd->waiter)
		return DOFI_BAD_STATE(EVD_WAITER);
	if (evd->dying)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (min_qlen < n)
		return DOFI_ERR(DAT_INVALID_STATE, 0);
	for (uint32_t i = 0; i < n; i++)
		(*ring)[i] = *dofi_evd_slot(evd, evd->head + i);
	evd->ring = *ring;
	evd->qlen = qlen;
	evd->head = 0;
	evd->tail = n;
	evd->overflown = false;
	*ring = old;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_evd_resize(DAT_EVD_HANDLE handle, DAT_COUNT min_qlen)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);
	struct dofi_event *ring;
	DAT_RETURN ret;
	uint32_t qlen;

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (min_qlen < 1 || (uint32_t)min_qlen > evd->obj.ia->limits.max_evd_qlen)
		return DOFI_BAD_ARG(2);
	qlen = round_up((uint32_t)min_qlen);
	ring = malloc(qlen * sizeof(*ring));
	if (!ring)
		return DOFI_NO_MEMORY;
	dofi_lock(&evd->lock);
	ret = move_to(evd, &ring, (uint32_t)min_qlen, qlen);
	dofi_unlock(&evd->lock);
	free(ring); /* the one that isn't used */
	return ret;
}
