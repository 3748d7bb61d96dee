/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "progress/agent.h"

#include "base/clock.h"
#include "progress/cno.h"
#include "progress/cq_watch.h"
#include "progress/wait.h"

#include <pthread.h>

/*
 * An agent is called once per arming. While a call is due, no agent is armed, so at most one call
 * is due.
 */
void dofi_agent_make_due(struct dofi_cno *cno, struct dofi_evd *evd)
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
	/*
	 * Posts do not run agents, nor do the calls of another IA, from which the event may have
	 * come. A driver that is not asleep yet looks once more (dofi_cno_is_due).
	 */
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

/* The thread that is inside the agent of a CNO makes the CNO's next call, too. */
bool dofi_cno_is_due(struct dofi_ia *ia)
{
	bool due;

	dofi_assert_none_held();
	if (!atomic_load(&ia->nagents))
		return false;
	dofi_lock(&ia->obj_lock);
	due = next_due(ia);
	dofi_unlock(&ia->obj_lock);
	return due;
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
		dofi_wait_wake(ia, &cno->wakeup);
	}
	dofi_list_del(&call.link);
	dofi_wait_wake(ia, &ia->agents_due);
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

/* Wakes under the lock: once the lock is free, another thread may close the IA. */
void dofi_cno_go(struct dofi_ia *ia)
{
	dofi_assert_none_held();
	dofi_lock(&ia->obj_lock);
	ia->nstaying--;
	dofi_wait_wake(ia, &ia->agents_due);
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

void dofi_agent_watch(struct dofi_cno *cno)
{
	if (!cno->watches)
		dofi_wait_watch(cno->obj.ia);
	cno->watches = true;
}

/*
 * If a trigger during dat_cno_modify_agent has made a call due, the call goes to the new agent
 * (CNO-014).
 */
void dofi_agent_set(struct dofi_cno *cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct dofi_ia *ia = cno->obj.ia;

	dofi_assert_held(&cno->lock);
	dofi_lock(&ia->obj_lock);
	if (agent.proxy_agent_func)
		dofi_agent_watch(cno);
	else
		cancel_due(cno);
	if (dofi_list_empty(&cno->agent_link))
		cno->agent = agent;
	else
		cno->due = agent;
	dofi_unlock(&ia->obj_lock);
}

bool dofi_agent_has_left(struct dofi_cno *cno)
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
