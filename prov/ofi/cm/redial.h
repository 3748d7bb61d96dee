/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Repeated dialling. Programs send their address to a peer and listen there a moment later. So
 * ports where nobody listens for the qualifier are tried again, for listen_grace_ms from the first
 * refusal and never beyond the time limit of the connect. Guarded by engine.lock.
 */
#ifndef DOFI_REDIAL_H
#define DOFI_REDIAL_H

#include "progress/engine.h"

struct dofi_conn;

struct dofi_redial {
	struct dofi_timer timer;
	uint32_t ports; /* bits: candidate ports where nobody listened at the last try */
	uint64_t until; /* 0: the first round */
	uint64_t pause; /* before the next round */
};

/* Nobody listens at the current candidate. */
void dofi_redial_refused(struct dofi_conn *conn);

/* The next port to try in this round, from the current candidate on; false when there is none. */
bool dofi_redial_next(struct dofi_conn *conn, uint16_t *port_p);

/*
 * The round has found no listener. True if another round will follow, which DOFI_ON_REDIAL begins.
 */
bool dofi_redial_later(struct dofi_conn *conn);

/* Ends the attempt: no listener was found in time. */
void dofi_redial_give_up(struct dofi_conn *conn);

#endif
