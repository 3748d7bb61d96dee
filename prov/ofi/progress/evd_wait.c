/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/evd_wait.h"

#include "base/clock.h"
#include "object/ia.h"
#include "object/srq_count.h"
#include "progress/engine.h"
#include "progress/event.h"
#include "progress/evd.h"
#include "progress/evd_streams.h"
#include "progress/wait.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

/*
 * Moves the oldest event to the consumer. Returns the SRQ whose count goes down, which the caller
 * does when it holds no lock; or NULL. The place in the ring is not used again before evd->lock is
 * released.
 */
static inline struct dofi_srq *take(struct dofi_evd *evd, DAT_EVENT *out)
{
	const struct dofi_event *event = dofi_evd_slot(evd, evd->head++);

	dofi_assert_held(&evd->lock);
	dofi_evd_publish_count(evd);
	if (!dofi_evd_queued(evd))
		evd->overflown = false;
	dofi_event_unfold(event, evd, out);
	return dofi_event_srq(event);
}

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
	config = dofi_evd_config(evd);
	if (config == DOFI_CONFIG_UNSIGNALLED)
		return DOFI_BAD_STATE(EVD_CONFIG_NOTIFY);
	if (config == DOFI_CONFIG_SOLICITED)
		return DOFI_BAD_STATE(EVD_CONFIG_SOLICITED);
	return DAT_SUCCESS;
}

/*
 * Events that one round of the engine finds were there before the call, so they count for its
 * threshold, whether they notify or not.
 */
static void look_once(struct dofi_evd *evd)
{
	dofi_engine_poll(evd->obj.ia);
	dofi_lock(&evd->lock);
	if (dofi_evd_queued(evd) >= evd->threshold)
		dofi_evd_wake(evd, DOFI_WAKE_EVENT);
	dofi_unlock(&evd->lock);
}

/* Whether spinning helps: events of other streams come by descriptors, which polls read rarely. */
static bool takes_completions(const struct dofi_evd *evd)
{
	unsigned int other = DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_SOFTWARE_FLAG |
			     DAT_EVD_ASYNC_FLAG;

	return (unsigned int)evd->flags & ~other;
}

static void stop_waiting(struct dofi_evd *evd)
{
	dofi_assert_held(&evd->lock);
	evd->waiter = false;
	if (evd->dying)
		dofi_wait_wake(evd->obj.ia, &evd->wakeup);
}

static void cancelled(void *arg)
{
	struct dofi_evd *evd = arg;

	dofi_lock(&evd->lock);
	stop_waiting(evd);
	dofi_unlock(&evd->lock);
}

static int sleep_until_woken(struct dofi_evd *evd, uint32_t seen, uint64_t deadline, int cancel)
{
	int ret;

	pthread_cleanup_push(cancelled, evd);
	ret = dofi_wait_sleep_cancellable(evd->obj.ia, &evd->wakeup, seen, deadline, cancel);
	pthread_cleanup_pop(false);
	return ret;
}

/*
 * Until the wakeup differs from seen: 0, -EINTR or -ETIMEDOUT. The clock is read only if there is
 * something to wait for.
 */
static int wait_for_events(struct dofi_evd *evd, uint32_t seen, DAT_TIMEOUT timeout, int cancel)
{
	struct dofi_ia *ia = evd->obj.ia;
	uint64_t deadline, spin_until;

	if (atomic_load(&evd->wakeup) != seen)
		return 0;
	deadline = dofi_deadline(timeout);
	spin_until = dofi_now() + (takes_completions(evd) ? ia->params.spin_us * 1000u : 0);
	while (atomic_load(&evd->wakeup) == seen) {
		uint64_t now = dofi_now();

		if (now >= deadline)
			return -ETIMEDOUT;
		if (now >= spin_until)
			return sleep_until_woken(evd, seen, deadline, cancel);
		dofi_engine_poll(ia);
		sched_yield();
	}
	return 0;
}

/* The return value of dat_evd_wait. */
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

/*
 * Waits for the threshold. Releases evd->lock meanwhile. The thread can be cancelled only while it
 * sleeps: at other points where it could be, this library or libfabric may hold locks. *cancel_p is
 * the state to which the caller sets it again.
 */
static DAT_RETURN wait_for_threshold(struct dofi_evd *evd, uint32_t threshold, DAT_TIMEOUT timeout,
				     int *cancel_p)
{
	DAT_RETURN ret;
	uint32_t seen;
	int slept;

	dofi_assert_held(&evd->lock);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel_p);
	DOFI_COUNT(evd, EVD_WAIT_BLOCKED, 1);
	evd->waiter = true;
	evd->wake = DOFI_WAKE_NONE;
	evd->threshold = threshold;
	seen = atomic_load(&evd->wakeup);
	dofi_unlock(&evd->lock);
	look_once(evd);
	slept = wait_for_events(evd, seen, timeout, *cancel_p);
	dofi_lock(&evd->lock);
	ret = outcome(evd, slept);
	if (ret == DAT_SUCCESS)
		DOFI_COUNT(evd, EVD_WAIT_NOTIFY, 1);
	stop_waiting(evd);
	return ret;
}

DAT_RETURN dofi_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			 DAT_EVENT *event, DAT_COUNT *nmore)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);
	int cancel = PTHREAD_CANCEL_DISABLE;
	struct dofi_srq *srq = NULL;
	DAT_RETURN ret;

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
	if (dofi_evd_queued(evd) < (uint32_t)threshold)
		ret = wait_for_threshold(evd, (uint32_t)threshold, timeout, &cancel);
	if (ret == DAT_SUCCESS)
		srq = take(evd, event);
	*nmore = (DAT_COUNT)dofi_evd_queued(evd);
	dofi_unlock(&evd->lock);
	if (srq)
		dofi_srq_dequeued(srq);
	if (cancel != PTHREAD_CANCEL_DISABLE)
		pthread_setcancelstate(cancel, NULL);
	return ret;
}
