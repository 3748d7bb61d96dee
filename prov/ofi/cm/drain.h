/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages that are under way when a connection ends. On a shared endpoint nobody takes them any
 * more: they would stay in the fabric's memory, and on net stop everything behind them. Both ends
 * tell each other with their goodbye how much they have sent; what is missing is received into
 * memory that nobody reads.
 */
#ifndef DOFI_DRAIN_H
#define DOFI_DRAIN_H

#include <stdint.h>

struct dofi_conn;
struct dofi_ia;
struct dofi_wr;

/*
 * The connection has ended with so many messages received, of those that the peer was granted in
 * all; none that still comes is longer than `size`. Without memory they stay where they are.
 * engine.lock held, as for all but the last of these.
 */
void dofi_drain_begin(const struct dofi_conn *conn, uint64_t tag, uint32_t received,
		      uint32_t granted, uint64_t size);
/*
 * The peer, which knows both numbers of the connection, has sent so many in all. More than it was
 * granted is a lie, and what never comes is given up after a minute: a receive that waits holds a
 * place that others need.
 */
void dofi_drain_settle(struct dofi_ia *ia, uint32_t id, uint32_t peer_id, uint32_t sent);

void dofi_drain_done(struct dofi_wr *wr);
void dofi_drain_retry(struct dofi_ia *ia);
/* The endpoint is closed; engine.lock free. */
void dofi_drain_free_all(struct dofi_ia *ia);

#endif
