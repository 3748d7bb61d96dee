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
	DAT_SRQ_HANDLE srq; /* rdm */
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
	uint64_t nap; /* until the next look at what waits for the fabric; longer and longer */
	uint64_t established, requests; /* events of these kinds that its EVDs have given */
};

extern struct process *world;

/* Whoever uses the IAs. */
struct world_consumer {
	/* The IA is open; NULL: nothing to do. */
	void (*opened)(struct process *p);
	/* Takes and answers the events that have come. quietly: nobody looks at them. */
	void (*take_events)(struct process *p, bool quietly);
	/* The IA closes, or the process is dead: no further events come of it. */
	void (*gone)(struct process *p);
};

/* Runs the plan; aborts if a condition fails. *steps_p: number of events of the clock. */
void world_run(const struct plan *plan, bool shown, uint64_t *steps_p);

/* The parts of that: a world in which nothing is open; IAs; and what happens until a time. */
#define WORLD_ENGINE_FDS 4 /* two sets and two events */
void world_begin(const struct plan *plan, const struct world_consumer *consumer, bool shown);
void world_open(int number);
/* In the order of dat_ia_close; put off while the process is in a call. */
void world_close(uint64_t number, uint64_t engine_fds);
void world_run_until(uint64_t limit);

/* Calls of the library on behalf of a process stand between these. */
struct process *world_enter(struct process *p);
void world_leave(struct process *before);
/*
 * Whether the process can make calls now. Otherwise run() is called later, or dropped if the
 * process is gone.
 */
bool world_is_free(struct process *p, void (*run)(uint64_t, uint64_t), uint64_t a, uint64_t b);
struct sockaddr_in world_address(int process);

#endif
