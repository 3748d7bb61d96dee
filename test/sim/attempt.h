/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the consumers of both sides have seen of one connect. */
#ifndef T_SIM_ATTEMPT_H
#define T_SIM_ATTEMPT_H

#include "plan.h"

#include "base/dat_api.h"

enum { ACTIVE, PASSIVE };
enum { SEND, RECV };

struct attempt_side {
	int process;
	DAT_EP_HANDLE ep;
	bool watched; /* the EP is this attempt's: its events count */
	bool left;    /* the consumer has ended it, or the EP, the IA or the process is gone */
	bool has_srq; /* its messages come by the pool of its process */
	int nevents;
	DAT_EVENT_NUMBER events[3];
	uint64_t first_at;
	uint32_t posted[2], done[2], failed[2];
	/* of datagrams: the handle, those that have come, and which */
	void *ah;
	uint32_t datagrams;
	bool has_come[PLAN_DATAGRAMS];
	uint32_t blamed; /* requests that did not just go with their connection */
};

struct attempt {
	const struct plan_step *step;
	bool called; /* dat_ep_connect has returned success */
	uint64_t called_at;
	uint32_t crs;
	DAT_CR_HANDLE cr;
	const struct process *asked; /* who has the CR */
	bool accepted, rejected;     /* the call has returned success */
	uint64_t answered_at;
	struct attempt_side side[2];
};

#endif
