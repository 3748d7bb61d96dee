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
	bool watched; /* the EP belongs to this attempt: its events count */
	/* the consumer has ended the connection, or the EP, the IA or the process is gone */
	bool left;
	bool abrupt; /* not by a graceful disconnect */
	int nevents;
	DAT_EVENT_NUMBER events[3];
	uint64_t first_at;
	uint32_t posted[2], done[2], failed[2];
	uint32_t blamed; /* requests with an error of their own, not only flushed */
};

struct attempt {
	const struct plan_step *step;
	bool called; /* dat_ep_connect has returned success */
	uint64_t called_at;
	uint32_t crs;
	DAT_CR_HANDLE cr;
	bool accepted, rejected; /* the call has returned success */
	uint64_t answered_at;
	struct attempt_side side[2];
};

#endif
