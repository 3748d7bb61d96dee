/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Context invalidation: forgetting contexts of peers, and asking peers to forget ours. A bind that
 * replaced a context waits until all peers have forgotten it.
 */
#ifndef DOFI_INVALIDATION_H
#define DOFI_INVALIDATION_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_chan;
struct dofi_ep;
struct dofi_ia;
struct dofi_wr;

/* --- upcalls of channel.c and cm.c --- */

/* An invalidation may be complete: completes binds that waited. Called from deferred work. */
void dofi_conn_invalidated(struct dofi_ia *ia);
/* INVALIDATE came from the peer: no EP of this channel may use the context any more. */
void dofi_conn_forget_context(struct dofi_chan *chan, uint32_t context);
/* SUBSCRIBED came from the peer: it will send INVALIDATE when this context ends. */
void dofi_conn_subscribed(struct dofi_chan *chan, uint32_t context);
/*
 * Whether the answer has to wait for an operation with such a context: the fabric has it, and it
 * would harm the peer (DOFI_QUIRK_CLOSED_KEYS), or its last part is not posted yet.
 */
bool dofi_conn_uses_forgotten(const struct dofi_chan *chan);

/* Asks the peer to tell when the context ep->subscribe_to ends. engine.lock and ep->lock held. */
void dofi_conn_subscribe(struct dofi_ep *ep);

/* --- binds --- */

/* Called by issue.c with ep->lock held: carries out a bind. */
void dofi_conn_apply_bind(struct dofi_ep *ep, struct dofi_wr *wr);
/*
 * The connection ends: its bind does not wait any more. Asks the peers to forget the context that
 * the bind replaced, if nobody has asked them yet. engine.lock held, not ep->lock.
 */
void dofi_conn_forget_bind(struct dofi_ep *ep);
/* Asks the peers to forget the context that the bind replaced. engine.lock and ep->lock held. */
void dofi_conn_ask_for_bind(struct dofi_ep *ep);

#endif
