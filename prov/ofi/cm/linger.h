/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Linger. tcp and shared memory complete a request when they have copied it, so its data may still
 * be in this process or in its kernel. InfiniBand would have delivered them. So when the consumer
 * ends a connection, the library waits until the peer has received all earlier data, for linger_ms
 * at most: it reads one entry of the peer's table, and the answer travels behind the data. Only
 * then it sends BYE and closes the data path. engine.lock held throughout.
 */
#ifndef DOFI_LINGER_H
#define DOFI_LINGER_H

#include <stdbool.h>

struct dofi_conn;
struct dofi_ia;

/* The connection is about to end: starts the read, if there is something to wait for. */
void dofi_linger_begin(struct dofi_conn *conn);

/* Whether the peer may not have received everything yet. */
bool dofi_linger(struct dofi_conn *conn);

/*
 * One step of a wait within a call: reads completions and channels. The peer may disconnect
 * meanwhile.
 */
void dofi_linger_wait(struct dofi_ia *ia);

/* The IA closes: begins to linger on all its connections. */
void dofi_linger_begin_all(struct dofi_ia *ia);

/* The process exits: lingers on all connections at the same time. */
void dofi_linger_all(struct dofi_ia *ia);

#endif
