/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/cno.h"

#include "fabric/error.h"
#include "object/ia.h"
#include "base/log.h"
#include "progress/engine.h"
#include "progress/evd.h"
#include "progress/wait.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* --- agents --- */

/*
 * An agent is called once, then forgotten until the consumer arms one again. While a call is due
 * none is armed, so there is one due at most.
 */
static void make_due(struct dofi_cno *cno, struct dofi_evd *evd)
{
	struct dofi_ia *ia = cno->obj.ia;

	dofi_assert_held(&cno->lock);
	if (!cno->agent.proxy_agent_func)
		return;
	dofi_lock(&ia->obj_lock);
	cno->due = cno->agent;
	cno->due_evd = evd;
	dofi_list_add_tail(&ia->agents, &cno->agent_link);
	atomic_fetch_add(&ia->nagents, 1);
	dofi_unlock(&ia->obj_lock);
	cno->agent = (DAT_OS_WAIT_PROXY_AGENT){0};
	/* The event may have come from another IA, whose calls don't run our agents. */
	dofi_wait_kick(ia);
}

static void cancel_due(struct dofi_cno *cno)
{
	dofi_assert_held(&cno->obj.ia->obj_lock);
	if (dofi_list_empty(&cno->agent_link))
		return;
	dofi_list_del(&cno->agent_link);
	atomic_fetch_sub(&cno->obj.ia->nagents, 1);
}

/*
 * The agent of a CNO is never called by two threads at once, nor from inside itself.
 */
static struct dofi_cno *next_due(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->obj_lock);
	DOFI_LIST_FOR(node, &ia->agents)
	{
		struct dofi_cno *cno = DOFI_CONTAINER(node, struct dofi_cno, agent_link);

		if (!cno->call)
			return cno;
	}
	return NULL;
}

bool dofi_cno_in_agent(struct dofi_ia *ia)
{
	bool inside = false;

	dofi_lock(&ia->obj_lock);
	DOFI_LIST_FOR(node, &ia->agent_calls)
	inside |= pthread_equal(DOFI_CONTAINER(node, struct dofi_agent_call, link)->thread,
				pthread_self());
	dofi_unlock(&ia->obj_lock);
	return inside;
}

/* Releases ia->obj_lock while the agent runs, which may free the CNO or close the IA. */
static void call_agent(struct dofi_ia *ia, struct dofi_cno *cno)
{
	struct dofi_agent_call call = {.thread = pthread_self()};
	DAT_OS_WAIT_PROXY_AGENT agent = cno->due;
	struct dofi_evd *evd = cno->due_evd;

	dofi_assert_held(&ia->obj_lock);
	cancel_due(cno);
	cno->call = &call;
	dofi_list_add_tail(&ia->agent_calls, &call.link);
	dofi_unlock(&ia->obj_lock);
	agent.proxy_agent_func(agent.instance_data, evd);
	dofi_lock(&ia->obj_lock);
	if (!call.cno_gone) {
		cno->call = NULL;
		dofi_wait_ring(ia, &cno->wakeup);
	}
	dofi_list_del(&call.link);
	dofi_wait_ring(ia, &ia->agents_due);
}

void dofi_cno_run_due(struct dofi_ia *ia)
{
	struct dofi_cno *cno;

	dofi_assert_none_held();
	dofi_lock(&ia->obj_lock);
	while ((cno = next_due(ia)))
		call_agent(ia, cno);
	dofi_unlock(&ia->obj_lock);
}

void dofi_cno_stay(struct dofi_ia *ia)
{
	dofi_assert_none_held();
	dofi_lock(&ia->obj_lock);
	ia->nstaying++;
	dofi_unlock(&ia->obj_lock);
}

/* Under the lock: when it is free the IA may go. */
void dofi_cno_go(struct dofi_ia *ia)
{
	dofi_lock(&ia->obj_lock);
	ia->nstaying--;
	dofi_wait_ring(ia, &ia->agents_due);
	dofi_unlock(&ia->obj_lock);
}

void dofi_cno_await_agents(struct dofi_ia *ia)
{
	uint32_t seen;
	bool none;

	dofi_assert_none_held();
	for (;;) {
		seen = atomic_load(&ia->agents_due);
		dofi_lock(&ia->obj_lock);
		none = dofi_list_empty(&ia->agent_calls) && !ia->nstaying;
		dofi_unlock(&ia->obj_lock);
		if (none)
			return;
		dofi_wait_sleep(ia, &ia->agents_due, seen, DOFI_FOREVER);
	}
}

static bool agent_ok(const DAT_OS_WAIT_PROXY_AGENT *agent)
{
	return agent->proxy_agent_func || !agent->instance_data;
}

/* Whom an agent or a descriptor tells of an event need not poll for it. */
static void watch(struct dofi_cno *cno)
{
	if (!cno->watches)
		dofi_wait_watch(cno->obj.ia);
	cno->watches = true;
}

/*
 * A call that is due now, of a trigger during dat_cno_modify_agent, goes to the new
 * agent (CNO-014).
 */
static void set_agent(struct dofi_cno *cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct dofi_ia *ia = cno->obj.ia;

	dofi_assert_held(&cno->lock);
	dofi_lock(&ia->obj_lock);
	if (agent.proxy_agent_func)
		watch(cno);
	else
		cancel_due(cno);
	if (dofi_list_empty(&cno->agent_link))
		cno->agent = agent;
	else
		cno->due = agent;
	dofi_unlock(&ia->obj_lock);
}

DAT_RETURN dofi_cno_modify_agent(DAT_CNO_HANDLE handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct dofi_cno *cno = DOFI_OBJ(handle, CNO);

	if (!cno)
		return DOFI_BAD_HANDLE(CNO);
	if (!agent_ok(&agent))
		return DOFI_BAD_ARG(2);
	/* What was triggered before is still the former agent's, who may free the CNO. */
	dofi_cno_run_agents(cno->obj.ia);
	if (!dofi_obj_is(cno, DAT_HANDLE_TYPE_CNO))
		return DOFI_BAD_HANDLE(CNO);
	dofi_lock(&cno->lock);
	set_agent(cno, agent);
	dofi_unlock(&cno->lock);
	return DAT_SUCCESS;
}

/* --- trigger --- */

static void make_readable(struct dofi_cno *cno)
{
	uint64_t one = 1;

	if (cno->fd >= 0 && write(cno->fd, &one, sizeof(one)) < 0)
		DOFI_LOG_E("%s: can't signal a CNO's descriptor, its reader may sleep on: %s",
			   cno->obj.ia->name, strerror(errno));
}

static void make_unreadable(struct dofi_cno *cno)
{
	uint64_t value;

	if (cno->fd >= 0 && read(cno->fd, &value, sizeof(value)) < 0 && errno != EAGAIN)
		DOFI_LOG_E("%s: can't reset a CNO's descriptor, it stays readable: %s",
			   cno->obj.ia->name, strerror(errno));
}

void dofi_cno_notify(struct dofi_cno *cno, struct dofi_evd *evd)
{
	dofi_lock(&cno->lock);
	if (!cno->triggered) {
		cno->triggered = true;
		cno->hint = evd;
		make_readable(cno);
		make_due(cno, evd);
		dofi_wait_ring(cno->obj.ia, &cno->wakeup);
	} else if (!cno->hint) {
		cno->hint = evd;
	}
	dofi_unlock(&cno->lock);
}

static void flush(struct dofi_cno *cno)
{
	dofi_assert_held(&cno->lock);
	cno->flushes++;
	make_due(cno, NULL);
	dofi_wait_ring(cno->obj.ia, &cno->wakeup);
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
	set_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){0});
	dofi_unlock(&cno->lock);
}

void dofi_cno_detach(struct dofi_cno *cno, struct dofi_evd *evd, bool dies)
{
	struct dofi_ia *ia = cno->obj.ia;

	dofi_lock(&cno->lock);
	if (cno->hint == evd)
		cno->hint = NULL;
	dofi_lock(&ia->obj_lock);
	if (cno->due_evd == evd)
		cno->due_evd = NULL;
	dofi_unlock(&ia->obj_lock);
	/* Under the lock: from its last use on, the CNO can be freed as soon as we let go of it. */
	if (atomic_fetch_sub(&cno->obj.users, 1) == 1 && dies && cno->waiters)
		flush(cno);
	dofi_unlock(&cno->lock);
}

/* --- waiting --- */

/* True when the thread, which came at `flushes`, has what it waits for. */
static bool consume(struct dofi_cno *cno, uint32_t flushes, struct dofi_evd **evd_p)
{
	dofi_assert_held(&cno->lock);
	*evd_p = NULL;
	if (cno->dying || cno->flushes != flushes)
		return true;
	if (!cno->triggered)
		return false;
	cno->triggered = false;
	*evd_p = cno->hint;
	cno->hint = NULL;
	make_unreadable(cno);
	return true;
}

/* Releases cno->lock meanwhile. 0: look again. */
static int sleep_until_rung(struct dofi_cno *cno, uint32_t seen, uint64_t deadline)
{
	int ret;

	dofi_assert_held(&cno->lock);
	dofi_unlock(&cno->lock);
	ret = dofi_wait_sleep(cno->obj.ia, &cno->wakeup, seen, deadline);
	dofi_lock(&cno->lock);
	return ret;
}

/* Releases cno->lock meanwhile. */
static DAT_RETURN wait_for_trigger(struct dofi_cno *cno, DAT_TIMEOUT timeout,
				   struct dofi_evd **evd_p)
{
	uint64_t deadline = dofi_deadline(timeout);
	uint32_t flushes = cno->flushes, seen;
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
		seen = atomic_load(&cno->wakeup);
		ret = sleep_until_rung(cno, seen, deadline);
	}
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cno_wait(DAT_CNO_HANDLE handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle)
{
	struct dofi_cno *cno = DOFI_OBJ(handle, CNO);
	struct dofi_evd *evd;
	DAT_RETURN ret;

	if (!cno)
		return DOFI_BAD_HANDLE(CNO);
	if (!evd_handle)
		return DOFI_BAD_ARG(3);
	dofi_lock(&cno->lock);
	cno->waiters++;
	ret = wait_for_trigger(cno, timeout, &evd);
	cno->waiters--;
	if (cno->dying)
		dofi_wait_ring(cno->obj.ia, &cno->wakeup);
	dofi_unlock(&cno->lock);
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

DAT_RETURN dofi_cno_new(DAT_IA_HANDLE ia_handle, const DAT_OS_WAIT_PROXY_AGENT *agent, int *fd_p,
			DAT_CNO_HANDLE *cno_handle)
{
	struct dofi_ia *ia = DOFI_IA(ia_handle);
	struct dofi_cno *cno;

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (agent && !agent_ok(agent))
		return DOFI_BAD_ARG(2);
	if (!cno_handle)
		return DOFI_BAD_ARG(3);
	cno = dofi_obj_alloc(ia, ia->obj.provider, DAT_HANDLE_TYPE_CNO, sizeof(*cno));
	if (!cno)
		return DOFI_NO_MEMORY;
	cno->fd = fd_p ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
	if (fd_p && cno->fd < 0) {
		dofi_obj_free(&cno->obj, DAT_HANDLE_TYPE_CNO);
		return dofi_error(-errno, DAT_RESOURCE_DEVICE);
	}
	dofi_lock_init_level(&cno->lock, DOFI_LEVEL_CNO);
	dofi_list_init(&cno->agent_link);
	if (agent)
		cno->agent = *agent;
	if (fd_p || cno->agent.proxy_agent_func)
		watch(cno);
	dofi_obj_publish(&cno->obj, DAT_HANDLE_TYPE_CNO);
	if (fd_p)
		*fd_p = cno->fd;
	*cno_handle = cno;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno)
{
	return dofi_cno_new(ia, &agent, NULL, cno);
}

/* True when nobody calls the CNO's agent; one that frees its own CNO is told so. */
static bool agent_left(struct dofi_cno *cno)
{
	struct dofi_ia *ia = cno->obj.ia;
	bool left = true;

	dofi_lock(&ia->obj_lock);
	if (cno->call && pthread_equal(cno->call->thread, pthread_self()))
		cno->call->cno_gone = true;
	else
		left = !cno->call;
	if (left)
		cancel_due(cno);
	dofi_unlock(&ia->obj_lock);
	return left;
}

void dofi_cno_destroy(struct dofi_cno *cno)
{
	uint32_t seen;

	dofi_assert_none_held();
	dofi_cno_run_agents(cno->obj.ia);
	dofi_lock(&cno->lock);
	cno->dying = true;
	cno->agent = (DAT_OS_WAIT_PROXY_AGENT){0};
	dofi_wait_ring(cno->obj.ia, &cno->wakeup);
	for (;;) {
		seen = atomic_load(&cno->wakeup);
		if (!cno->waiters && agent_left(cno))
			break;
		sleep_until_rung(cno, seen, DOFI_FOREVER);
	}
	dofi_unlock(&cno->lock);
	if (cno->watches)
		dofi_wait_unwatch(cno->obj.ia);
	if (cno->fd >= 0)
		close(cno->fd);
	dofi_lock_fini(&cno->lock);
	dofi_obj_free(&cno->obj, DAT_HANDLE_TYPE_CNO);
}

DAT_RETURN dofi_cno_free(DAT_CNO_HANDLE handle)
{
	struct dofi_cno *cno = DOFI_OBJ(handle, CNO);
	struct dofi_ia *ia;
	bool waited;

	if (!cno)
		return DOFI_BAD_HANDLE(CNO);
	ia = cno->obj.ia;
	dofi_lock(&cno->lock);
	waited = cno->waiters > 0;
	dofi_unlock(&cno->lock);
	if (waited || !dofi_obj_retire(&cno->obj, true))
		return DOFI_BAD_STATE(CNO_IN_USE);
	dofi_cno_stay(ia);
	dofi_cno_destroy(cno);
	dofi_cno_go(ia);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
	/* In 2.0, where ALL is 4, the others are counted 1 to 3: no mask, but bits 0 and 1. */
	const unsigned int defined = DAT_CNO_FIELD_ALL | 3u;
	struct dofi_cno *cno = DOFI_OBJ(handle, CNO);
	DAT_RETURN ret;

	if (!cno)
		return DOFI_BAD_HANDLE(CNO);
	ret = dofi_query_check(mask, defined, param);
	if (ret != DAT_SUCCESS || !param)
		return ret;
	param->ia_handle = dofi_obj_ia_handle(&cno->obj);
	dofi_lock(&cno->lock);
	dofi_cno_param_set_proxy(param, &cno->agent, cno->fd);
	dofi_unlock(&cno->lock);
	return DAT_SUCCESS;
}
