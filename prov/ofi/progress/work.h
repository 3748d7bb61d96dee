/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work that is deferred until the current batch of completions is done. */
#ifndef DOFI_WORK_H
#define DOFI_WORK_H

#include "object/ia_parts.h"

struct dofi_ia;

static inline void dofi_work_init(struct dofi_engine *e)
{
	dofi_list_init(&e->work);
	dofi_list_init(&e->last_work);
}

/* Queues work once, however often it is asked for before it runs. engine.lock held. */
void dofi_work_defer(struct dofi_ia *ia, struct dofi_work *work);
/* The same for work that runs when no other is left. It is no event. */
void dofi_work_defer_last(struct dofi_ia *ia, struct dofi_work *work);

/*
 * Runs what is deferred, and what that defers; returns the number, without that of the last work.
 * engine.lock held.
 */
int dofi_work_run(struct dofi_ia *ia);
/* Runs the last work alone. */
void dofi_work_run_last(struct dofi_ia *ia);

#endif
