/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes with an IA each, all in one thread. The world decides which process runs and when it
 * looks at its descriptors, and applies the faults.
 */
#ifndef T_SIM_WORLD_H
#define T_SIM_WORLD_H

#include "kernel.h"
#include "plan.h"

#include "base/dat_api.h"

struct dofi_ia;

struct process {
	struct kernel_process kernel;
	struct kernel_faults faults;
	struct dofi_ia *ia;
	DAT_EVD_HANDLE conn_evd, cr_evd, dto_evd;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	bool open; /* `ia` is open */
	/*
	 * the process does not run any more; its IA is closed at the end of the run, without effect
	 */
	bool killed;
	int inside; /* number of waiting calls of the library */
	uint64_t stopped_until, wake_at;
	uint64_t established, requests; /* number of such events taken from its EVDs */
};

extern struct process world[PLAN_PROCESSES];

/* Runs the plan; aborts if a condition fails. *steps_p: number of events of the clock. */
void world_run(const struct plan *plan, bool shown, uint64_t *steps_p);

/* Enclose calls of the library on behalf of a process. */
struct process *world_enter(struct process *p);
void world_leave(struct process *before);
/*
 * Whether the process can make calls now. Otherwise run() is called later, or dropped if the
 * process is gone.
 */
bool world_is_free(struct process *p, void (*run)(uint64_t, uint64_t), uint64_t a, uint64_t b);
struct sockaddr_in world_address(int process);

#endif
