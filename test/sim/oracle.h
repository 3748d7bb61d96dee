/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Conditions for every connect, at each event and at rest. */
#ifndef T_SIM_ORACLE_H
#define T_SIM_ORACLE_H

#include "attempt.h"
#include "world.h"

void oracle_fail(int attempt, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* Fills private data that are unique to the attempt and the side. */
void oracle_fill_private(uint8_t *data, uint32_t size, int attempt, int side);
void oracle_check_private(const void *data, uint32_t size, int attempt, int side,
			  const struct attempt *a);
/* A Connection Request has come, perhaps a repeated one. */
void oracle_request(int attempt, const struct attempt *a);
/* An event has come, the last of side->events. */
void oracle_event(const struct plan *plan, int attempt, const struct attempt *a, int side);
/* The call that ends the connection has taken this long. */
void oracle_waited(const struct plan *plan, int attempt, uint64_t ns);
/* All limits of time are over; IAs that were not closed are open. */
void oracle_rest(const struct plan *plan, int attempt, const struct attempt *a);
/* The same of an IA of the rdm transport, in a plan in which nothing goes wrong. */
void oracle_leftovers(const struct process *p);
/* An IA is about to be closed, or has been: counters. */
void oracle_counters(const struct process *p);

#endif
