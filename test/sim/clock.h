/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Simulated time: what happens when. Time passes only from one event to the next. */
#ifndef T_SIM_CLOCK_H
#define T_SIM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_US     UINT64_C(1000)
#define CLOCK_MS     UINT64_C(1000000)
#define CLOCK_SECOND UINT64_C(1000000000)

void clock_begin(void);
/* Those of the same time run in the order in which they were put. */
void clock_at(uint64_t when, void (*run)(uint64_t a, uint64_t b), uint64_t a, uint64_t b);
/* The next event, at its time; false when there is none until the limit, which is reached then. */
bool clock_step(uint64_t limit);
/* Events that have run. */
uint64_t clock_steps(void);

#endif
