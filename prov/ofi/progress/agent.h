/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Agents of CNOs: functions of the consumer, which the library calls once after a trigger.
 *
 * A trigger makes the call due. Threads make due calls when they hold no lock, as the last action
 * of a DAT call or of a round.
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

/*
 * The CNO has an agent or a descriptor, so the consumer need not poll: completions have to be
 * watched.
 */
void dofi_agent_watch(struct dofi_cno *cno);

/*
 * Whether no thread is inside the CNO's agent, apart from the caller. If the caller is inside (the
 * agent frees its own CNO), its call record learns that the CNO is gone.
 */
bool dofi_agent_has_left(struct dofi_cno *cno);

/* Calls the agents that are due; no lock held. Cheap when there are none. */
void dofi_cno_run_due(struct dofi_ia *ia);
static inline void dofi_cno_run_agents(struct dofi_ia *ia)
{
	dofi_assert_none_held();
	if (DOFI_UNLIKELY(atomic_load_explicit(&ia->nagents, memory_order_relaxed)))
		dofi_cno_run_due(ia);
}

/*
 * Whether a call is due that no other thread will make. A thread that is about to sleep as driver
 * asks, because posts make calls due and leave them to the driver.
 */
bool dofi_cno_is_due(struct dofi_ia *ia);

/* Whether the calling thread is inside an agent of the IA. */
bool dofi_cno_in_agent(struct dofi_ia *ia);

/*
 * An agent may close the IA. A call that runs agents and uses the IA afterwards is enclosed in
 * these two, so that the thread which closes the IA waits for the call. No lock held.
 */
void dofi_cno_stay(struct dofi_ia *ia);
void dofi_cno_go(struct dofi_ia *ia);

/*
 * Waits until no agent of the IA runs and every dofi_cno_stay was followed by dofi_cno_go. No lock
 * held; not called by an agent.
 */
void dofi_cno_await_agents(struct dofi_ia *ia);

#endif
