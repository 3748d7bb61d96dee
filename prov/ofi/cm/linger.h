/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A request that is complete may still lie in this process or in its kernel, where InfiniBand's
 * peer has it: tcp and shared memory complete what they have copied. So an end that the consumer
 * brings about lingers until the peer has taken all that went before, for linger_ms at most: a
 * read of one entry of its table comes back behind it. Only then the peer hears of the end, and the
 * data path is closed. engine.lock held throughout.
 */
#ifndef DOFI_LINGER_H
#define DOFI_LINGER_H

#include <stdbool.h>

struct dofi_conn;
struct dofi_ia;

/*
 * The connection is about to end. The request for the answer goes out, if there is something to
 * wait for.
 */
void dofi_linger_begin(struct dofi_conn *conn);

/* Whether the peer may not have everything yet. */
bool dofi_linger(struct dofi_conn *conn);

/* Within a call: what may end the waiting is looked at; the peer may leave meanwhile. */
void dofi_linger_wait(struct dofi_ia *ia);

/* The IA closes: all its connections begin together. */
void dofi_linger_begin_all(struct dofi_ia *ia);

/* The process exits: the same, and waits for all of them. */
void dofi_linger_all(struct dofi_ia *ia);

#endif
