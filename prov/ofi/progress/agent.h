/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Agents of CNOs: functions of the consumer, which the library calls once after a trigger.
 *
 * A trigger makes the call due. A thread that holds no lock makes the calls that are due, at the
 * end of what it does for the consumer.
 */
#ifndef DOFI_AGENT_H
#define DOFI_AGENT_H

#include "base/hint.h"
#include "object/ia.h"

struct dofi_cno;
struct dofi_evd;

/* A trigger by this EVD, or by none, makes the agent's call due. cno->lock held. */
void dofi_agent_make_due(struct dofi_cno *cno, struct dofi_evd *evd);

/* Arms the agent. cno->lock held. */
void dofi_agent_set(struct dofi_cno *cno, DAT_OS_WAIT_PROXY_AGENT agent);

/* An agent or a descriptor tells somebody of events, who need not poll for them. */
void dofi_agent_watch(struct dofi_cno *cno);

/* True when nobody calls the CNO's agent; one that frees its own CNO is told so. */
bool dofi_agent_has_left(struct dofi_cno *cno);

/* Calls the agents that are due; no lock held. Cheap when there are none. */
void dofi_cno_run_due(struct dofi_ia *ia);
static inline void dofi_cno_run_agents(struct dofi_ia *ia)
{
	dofi_assert_none_held();
	if (DOFI_UNLIKELY(atomic_load_explicit(&ia->nagents, memory_order_relaxed)))
		dofi_cno_run_due(ia);
}

/* Is the calling thread inside an agent of the IA? */
bool dofi_cno_in_agent(struct dofi_ia *ia);

/*
 * A call that runs agents and uses the IA afterwards says so, and says when it has done: an agent
 * may close the IA. No lock held.
 */
void dofi_cno_stay(struct dofi_ia *ia);
void dofi_cno_go(struct dofi_ia *ia);

/*
 * Returns when no agent of the IA is running and no call stays; no lock held, and not from inside
 * one.
 */
void dofi_cno_await_agents(struct dofi_ia *ia);

#endif
