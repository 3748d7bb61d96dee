/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The consumers: they carry out the steps of a plan, and answer events as the plan says. */
#ifndef T_SIM_CONSUMER_H
#define T_SIM_CONSUMER_H

#include "world.h"

#include <stdbool.h>
#include <stdint.h>

/* Memory for messages, which each process has registered. */
#define CONSUMER_WORDS (4u * PLAN_SENDS)
extern uint64_t consumer_memory[PLAN_STEPS][CONSUMER_WORDS];

void consumer_begin(const struct plan *plan);
/* PLAN_LISTEN, PLAN_LISTEN_ONCE, PLAN_CONNECT. */
void consumer_step(struct process *p, int step);
/* Takes and answers the events that have come. quietly: only takes them. */
void consumer_take_events(struct process *p, bool quietly);
/* The IA of the process closes, or the process is dead: no further events come. */
void consumer_gone(struct process *p);
/* Checks all connects. */
void consumer_check_rest(void);

#endif
