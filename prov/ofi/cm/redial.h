/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs tell their peers an address and listen there a moment later. So ports where nobody
 * listens for the qualifier are asked again, for listen_grace_ms from the first such answer and
 * never beyond the time of the connect. Guarded by engine.lock.
 */
#ifndef DOFI_REDIAL_H
#define DOFI_REDIAL_H

#include "progress/engine.h"

struct dofi_conn;

struct dofi_redial {
	struct dofi_timer timer;
	uint32_t ports; /* bits: candidates where nobody listened when they were asked last */
	uint64_t until; /* 0: the first round */
	uint64_t pause; /* before the next round */
};

/* Of the current candidate: nobody listens. */
void dofi_redial_refused(struct dofi_conn *conn);

/*
 * From the current candidate on, the next port that is to be asked in this round; false when there
 * is none.
 */
bool dofi_redial_next(struct dofi_conn *conn, uint16_t *port_p);

/* The round has found nobody. True when another one will come; DOFI_ON_REDIAL begins it. */
bool dofi_redial_later(struct dofi_conn *conn);

#endif
