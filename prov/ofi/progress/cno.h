/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DOFI_CNO_H
#define DOFI_CNO_H

#include "object/ia.h"

#include <pthread.h>

/* An agent's call under way; lives on the calling thread's stack. */
struct dofi_agent_call {
	struct dofi_list link; /* ia->agent_calls */
	pthread_t thread;
	bool cno_gone; /* freed from inside the agent */
};

struct dofi_cno {
	struct dofi_obj obj; /* users: EVDs attached */
	struct dofi_lock lock;
	bool triggered;            /* a state, not a counter */
	bool watches;              /* it had an agent or a descriptor, so completions are watched */
	bool dying;                /* waiters return, and wake the thread that frees it */
	struct dofi_list notified; /* EVDs that have notified and were not returned by a wait */
	uint32_t waiters;
	uint32_t flushes; /* a waiter that sees it change returns with no EVD */
	_Atomic uint32_t wakeup;
	DAT_OS_WAIT_PROXY_AGENT agent; /* one shot */
	int fd;                        /* eventfd of a descriptor CNO, or -1 */

	/* An agent's call that is due, or under way; guarded by ia->obj_lock. */
	struct dofi_list agent_link; /* in ia->agents while a call is due */
	DAT_OS_WAIT_PROXY_AGENT due;
	struct dofi_evd *due_evd;
	struct dofi_agent_call *call;
};

/*
 * Triggers the CNO: wakes waiters, makes the descriptor readable and the agent's call due. A CNO
 * that is triggered only notes the EVD. The caller holds evd->lock.
 */
void dofi_cno_notify(struct dofi_cno *cno, struct dofi_evd *evd);

/*
 * The EVD is freed (dies) or moved to another CNO: the CNO forgets it and counts one user less.
 * When the last EVD dies, waiting threads return with no EVD (EVD-020). evd->lock may be held.
 */
void dofi_cno_detach(struct dofi_cno *cno, struct dofi_evd *evd, bool dies);

/* The IA closes: every waiter returns with no EVD, the agent is called with none. */
void dofi_cno_flush(struct dofi_cno *cno);

/* No agent is called any more. */
void dofi_cno_mute(struct dofi_cno *cno);

/*
 * Waits until waiters and a running agent have left, then frees the CNO. The handle has been
 * retired, and no EVD is attached. No lock may be held.
 */
void dofi_cno_destroy(struct dofi_cno *cno);

/* 2.0: takes the trigger without waiting; QUEUE_EMPTY when there is none. */
DAT_RETURN dofi_cno_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd);
DAT_RETURN dofi_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd);

#endif
