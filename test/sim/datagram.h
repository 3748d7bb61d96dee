/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Consumers of datagrams: what they do with an address handle, and what must hold of it. */
#ifndef T_SIM_DATAGRAM_H
#define T_SIM_DATAGRAM_H

#include "attempt.h"
#include "world.h"

#include <stdbool.h>
#include <stdint.h>

/* Receives, before the connection. */
void datagram_post_receives(struct process *p, int n, struct attempt *a, int which);
/* The only event of a connection: both sides send then. */
void datagram_event(const struct plan *plan, struct process *p, int n, struct attempt *a, int which,
		    const DAT_EVENT *event);
/* A send or a receive is over. */
void datagram_done(struct process *p, int n, struct attempt *a, int which, const DAT_EVENT *event);
/* The consumer does not need the handle any more. */
void datagram_free_handle(struct attempt_side *side);
/* Time enough has passed. */
void datagram_check_rest(const struct plan *plan, int n, const struct attempt *a);

#endif
