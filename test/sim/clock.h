/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Simulated time: a queue of events. Time passes only from one event to the next. */
#ifndef T_SIM_CLOCK_H
#define T_SIM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_US     UINT64_C(1000)
#define CLOCK_MS     UINT64_C(1000000)
#define CLOCK_SECOND UINT64_C(1000000000)

void clock_begin(void);
/* Adds an event. Events of the same time run in the order in which they were added. */
void clock_at(uint64_t when, void (*run)(uint64_t a, uint64_t b), uint64_t a, uint64_t b);
/*
 * Runs the next event, at its time. False if there is none until the limit; then the time is the
 * limit.
 */
bool clock_step(uint64_t limit);
/* The number of events that have run. */
uint64_t clock_steps(void);

#endif
