/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receives messages that are under way when a connection ends. On a shared endpoint they would stay
 * in the fabric's memory, and on net block all messages behind them. BYE tells each side how many
 * messages the other has sent; the library receives the missing ones into memory that nobody reads.
 */
#ifndef DOFI_DRAIN_H
#define DOFI_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_chan;
struct dofi_conn;
struct dofi_ia;
struct dofi_peer;
struct dofi_wr;

/*
 * The connection has ended, with this many messages received and credits for `granted` in all; no
 * message is longer than `size`. Without memory the messages stay in the fabric. engine.lock held,
 * as for all these functions except the last.
 */
void dofi_drain_begin(const struct dofi_conn *conn, uint64_t tag, uint32_t received,
		      uint32_t granted, uint64_t size);
/*
 * The peer, which knows both connection numbers, has sent this many messages in all. A count above
 * its credits is ignored. A message that has not come after a minute is given up, because its
 * receive takes a slot that others need.
 */
void dofi_drain_settle(struct dofi_ia *ia, uint32_t id, uint32_t peer_id, uint32_t sent);
/*
 * The channel ends. Drains that wait for a count by it end, too. Its peer may have given up before
 * it heard that this side accepts, and so has no count to send.
 */
void dofi_drain_chan_lost(struct dofi_ia *ia, const struct dofi_chan *chan);

/* Whether a message of this peer may still be received. */
bool dofi_drain_awaits(const struct dofi_ia *ia, const struct dofi_peer *peer);

void dofi_drain_done(struct dofi_wr *wr);
void dofi_drain_retry(struct dofi_ia *ia);
/* The endpoint is closed; engine.lock free. */
void dofi_drain_free_all(struct dofi_ia *ia);

#endif
