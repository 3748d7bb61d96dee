/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shared receive queue of a process: its receives belong to no connection until a message takes
 * one, and are posted again then.
 */
#ifndef T_SIM_POOL_H
#define T_SIM_POOL_H

#include "world.h"

#include <stdbool.h>
#include <stdint.h>

#define POOL_SIZE 16u

void pool_begin(void);
/* The IA is open: the queue is made, and its receives posted. */
void pool_open(struct process *p);
/* The completion is that of a receive of a queue. */
bool pool_has(uint64_t cookie);
/* It is over: what has come; the receive is posted again. */
uint64_t pool_take(struct process *p, uint64_t cookie);

#endif
