/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Timers of the engine. */
#ifndef DOFI_TIMER_H
#define DOFI_TIMER_H

#include "object/ia_parts.h"
#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;

/*
 * Sets the timer to a deadline of dofi_now(); a running timer is moved. Both are called with
 * engine.lock held.
 */
void dofi_timer_set(struct dofi_ia *ia, struct dofi_timer *timer, uint64_t deadline);
void dofi_timer_cancel(struct dofi_ia *ia, struct dofi_timer *timer);

/* Fires the timers that are due; returns their number. engine.lock held. */
int dofi_timer_run_due(struct dofi_ia *ia);

/* Whether one is due: however busy the queue is, timers fire in time. Any lock may be held. */
bool dofi_timer_is_due(const struct dofi_ia *ia);

#endif
