/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes with an IA each, in one thread: who runs, when it looks at its descriptors, and what
 * goes wrong with it.
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
	bool open;   /* the IA is */
	bool killed; /* nobody runs any more; the IA is closed at the end, for nobody to see */
	int inside;  /* calls of the library under way, which wait */
	uint64_t stopped_until, wake_at;
	uint64_t established, requests; /* events of these kinds that its EVDs have given */
};

extern struct process world[PLAN_PROCESSES];

/* Runs the plan; aborts when something is not as it must be. steps_p: events of the clock. */
void world_run(const struct plan *plan, bool shown, uint64_t *steps_p);

/* Calls of the library on behalf of a process stand between these. */
struct process *world_enter(struct process *p);
void world_leave(struct process *before);
/* The process can make calls now; else what is to run is put off, or dropped with the process. */
bool world_is_free(struct process *p, void (*run)(uint64_t, uint64_t), uint64_t a, uint64_t b);
struct sockaddr_in world_address(int process);

#endif
