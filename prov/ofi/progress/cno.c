/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/cno.h"

#include "base/clock.h"
#include "base/eventfd.h"
#include "base/log.h"
#include "progress/agent.h"
#include "progress/cq_watch.h"
#include "progress/engine.h"
#include "progress/evd.h"
#include "progress/wait.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static void make_readable(struct dofi_cno *cno)
{
	int ret = cno->fd < 0 ? 0 : dofi_eventfd_signal(cno->fd);

	if (ret)
		DOFI_LOG_E("%s: can't signal a CNO's descriptor, its reader may sleep on: %s",
			   cno->obj.ia->name, strerror(-ret));
}

static void make_unreadable(struct dofi_cno *cno)
{
	int ret = cno->fd < 0 ? 0 : dofi_eventfd_clear(cno->fd);

	if (ret)
		DOFI_LOG_E("%s: can't reset a CNO's descriptor, it stays readable: %s",
			   cno->obj.ia->name, strerror(-ret));
}

void dofi_cno_notify(struct dofi_cno *cno, struct dofi_evd *evd)
{
	dofi_lock(&cno->lock);
	if (dofi_list_empty(&evd->cno_link))
		dofi_list_add_tail(&cno->notified, &evd->cno_link);
	if (!cno->triggered) {
		cno->triggered = true;
		make_readable(cno);
		dofi_agent_make_due(cno, evd);
		dofi_wait_wake(cno->obj.ia, &cno->wakeup);
	}
	dofi_unlock(&cno->lock);
}

static void flush(struct dofi_cno *cno)
{
	dofi_assert_held(&cno->lock);
	cno->flushes++;
	dofi_agent_make_due(cno, NULL);
	dofi_wait_wake(cno->obj.ia, &cno->wakeup);
}

void dofi_cno_flush(struct dofi_cno *cno)
{
	dofi_lock(&cno->lock);
	flush(cno);
	dofi_unlock(&cno->lock);
}

void dofi_cno_mute(struct dofi_cno *cno)
{
	dofi_lock(&cno->lock);
	dofi_agent_set(cno, (DAT_OS_WAIT_PROXY_AGENT){0});
	dofi_unlock(&cno->lock);
}

void dofi_cno_detach(struct dofi_cno *cno, struct dofi_evd *evd, bool dies)
{
	struct dofi_ia *ia = cno->obj.ia;

	dofi_lock(&cno->lock);
	dofi_list_del(&evd->cno_link);
	dofi_lock(&ia->obj_lock);
	if (cno->due_evd == evd)
		cno->due_evd = NULL;
	dofi_unlock(&ia->obj_lock);
	/*
	 * Under the lock: after the last use was given back, another thread may free the CNO as
	 * soon as it gets the lock.
	 */
	if (atomic_fetch_sub(&cno->obj.users, 1) == 1 && dies && cno->waiters)
		flush(cno);
	dofi_unlock(&cno->lock);
}

/* --- waiting --- */

static bool has_events(const struct dofi_evd *evd)
{
	return atomic_load_explicit(&evd->count, memory_order_relaxed);
}

/*
 * Takes the first EVD that has notified and still has events from the list, and those before it. If
 * none has events, the last one that has notified; or NULL.
 */
static struct dofi_evd *next_notified(struct dofi_cno *cno)
{
	struct dofi_evd *evd = NULL;
	struct dofi_list *node;

	while ((!evd || !has_events(evd)) && (node = dofi_list_pop(&cno->notified)))
		evd = DOFI_CONTAINER(node, struct dofi_evd, cno_link);
	return evd;
}

/*
 * Ends the wait of a thread that began it at `flushes`, if it may end: by a trigger, which is
 * taken, or without an EVD. Also by an EVD that notified while another one had triggered the CNO,
 * if nobody has emptied it since: some programs look at no other EVD than the one that is returned.
 */
static bool consume(struct dofi_cno *cno, uint32_t flushes, struct dofi_evd **evd_p)
{
	bool taken = cno->triggered;

	dofi_assert_held(&cno->lock);
	*evd_p = NULL;
	if (cno->dying || cno->flushes != flushes)
		return true;
	if (!taken && dofi_list_empty(&cno->notified))
		return false;
	*evd_p = next_notified(cno);
	if (!taken && !has_events(*evd_p))
		*evd_p = NULL;
	cno->triggered = false;
	if (dofi_list_empty(&cno->notified))
		make_unreadable(cno);
	return taken || *evd_p;
}

static void stop_waiting(struct dofi_cno *cno)
{
	dofi_assert_held(&cno->lock);
	cno->waiters--;
	if (cno->dying)
		dofi_wait_wake(cno->obj.ia, &cno->wakeup);
}

static void cancelled(void *arg)
{
	struct dofi_cno *cno = arg;

	dofi_lock(&cno->lock);
	stop_waiting(cno);
	dofi_unlock(&cno->lock);
}

/* Releases cno->lock meanwhile. 0: look again. */
static int sleep_until_rung(struct dofi_cno *cno, uint64_t deadline, int cancel)
{
	uint32_t seen = atomic_load(&cno->wakeup);
	int ret;

	dofi_assert_held(&cno->lock);
	dofi_unlock(&cno->lock);
	pthread_cleanup_push(cancelled, cno);
	ret = dofi_wait_sleep_cancellable(cno->obj.ia, &cno->wakeup, seen, deadline, cancel);
	pthread_cleanup_pop(false);
	dofi_lock(&cno->lock);
	return ret;
}

/* Releases cno->lock meanwhile. The thread can be cancelled only while it sleeps. */
static DAT_RETURN wait_for_trigger(struct dofi_cno *cno, DAT_TIMEOUT timeout, int cancel,
				   struct dofi_evd **evd_p)
{
	uint64_t deadline = dofi_deadline(timeout);
	uint32_t flushes = cno->flushes;
	int ret = 0;

	dofi_assert_held(&cno->lock);
	if (consume(cno, flushes, evd_p))
		return DAT_SUCCESS;
	dofi_unlock(&cno->lock);
	dofi_engine_poll(cno->obj.ia);
	dofi_lock(&cno->lock);
	while (!consume(cno, flushes, evd_p)) {
		if (ret == -EINTR)
			return DOFI_ERR(DAT_INTERRUPTED_CALL, 0);
		if (ret || !timeout)
			return DOFI_QUEUE_EMPTY;
		ret = sleep_until_rung(cno, deadline, cancel);
	}
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cno_wait(DAT_CNO_HANDLE handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle)
{
	struct dofi_cno *cno = DOFI_OBJ(handle, CNO);
	struct dofi_evd *evd;
	DAT_RETURN ret;
	int cancel;

	if (!cno)
		return DOFI_BAD_HANDLE(CNO);
	if (!evd_handle)
		return DOFI_BAD_ARG(3);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	dofi_lock(&cno->lock);
	cno->waiters++;
	ret = wait_for_trigger(cno, timeout, cancel, &evd);
	stop_waiting(cno);
	dofi_unlock(&cno->lock);
	pthread_setcancelstate(cancel, NULL);
	*evd_handle = evd;
	return ret;
}

DAT_RETURN dofi_cno_trigger(DAT_CNO_HANDLE handle, DAT_EVD_HANDLE *evd_handle)
{
	struct dofi_cno *cno = DOFI_OBJ(handle, CNO);
	struct dofi_evd *evd;
	bool taken;

	if (!cno)
		return DOFI_BAD_HANDLE(CNO);
	if (!evd_handle)
		return DOFI_BAD_ARG(2);
	dofi_lock(&cno->lock);
	taken = consume(cno, cno->flushes, &evd);
	dofi_unlock(&cno->lock);
	*evd_handle = evd;
	return taken ? DAT_SUCCESS : DOFI_QUEUE_EMPTY;
}

/* --- life cycle --- */

void dofi_cno_destroy(struct dofi_cno *cno)
{
	uint32_t seen;

	dofi_assert_none_held();
	dofi_cno_run_agents(cno->obj.ia);
	dofi_lock(&cno->lock);
	cno->dying = true;
	cno->agent = (DAT_OS_WAIT_PROXY_AGENT){0};
	dofi_wait_wake(cno->obj.ia, &cno->wakeup);
	for (;;) {
		seen = atomic_load(&cno->wakeup);
		if (!cno->waiters && dofi_agent_has_left(cno))
			break;
		dofi_unlock(&cno->lock);
		dofi_wait_sleep(cno->obj.ia, &cno->wakeup, seen, DOFI_FOREVER);
		dofi_lock(&cno->lock);
	}
	dofi_unlock(&cno->lock);
	if (cno->watches)
		dofi_wait_unwatch(cno->obj.ia);
	if (cno->fd >= 0)
		close(cno->fd);
	dofi_lock_fini(&cno->lock);
	dofi_obj_free(&cno->obj, DAT_HANDLE_TYPE_CNO);
}
