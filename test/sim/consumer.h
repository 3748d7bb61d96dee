/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The consumers: they carry out the steps of a plan, and answer events as the plan says. */
#ifndef T_SIM_CONSUMER_H
#define T_SIM_CONSUMER_H

#include "world.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What the consumers send and receive: each process has registered it. A row for each step, with
 * messages and then datagrams, and one for the pool of each process.
 */
#define CONSUMER_MESSAGES (4u * PLAN_SENDS)
#define CONSUMER_WORDS    (CONSUMER_MESSAGES + 2u * PLAN_SENDS * 6u)
extern uint64_t consumer_memory[PLAN_STEPS + PLAN_PROCESSES][CONSUMER_WORDS];

/* A cookie tells whose request it is. */
uint64_t consumer_cookie(int n, int side, int kind, uint32_t i);
int consumer_kind(uint64_t cookie);
uint32_t consumer_index(uint64_t cookie);

void consumer_begin(const struct plan *plan);
void consumer_opened(struct process *p);
/* PLAN_LISTEN, PLAN_LISTEN_ONCE, PLAN_CONNECT. */
void consumer_step(struct process *p, int step);
/* Takes and answers the events that have come. quietly: only takes them. */
void consumer_take_events(struct process *p, bool quietly);
/* The IA of the process closes, or the process is dead: no further events come. */
void consumer_gone(struct process *p);
/* Checks all connects. */
void consumer_check_rest(void);

#endif
