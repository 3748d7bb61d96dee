/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Contexts that ended: what the peers' are to us, and ours to the peers. A bind that replaced one
 * waits until all forgot it.
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

/* Some invalidation may be through; called from deferred work. */
void dofi_conn_invalidated(struct dofi_ia *ia);
/* DOFI_MSG_INVALIDATE from the peer: no EP on this channel may use the context any more. */
void dofi_conn_forget_context(struct dofi_chan *chan, uint32_t context);
/*
 * Where a late operation would harm the peer (DOFI_QUIRK_CLOSED_KEYS): the fabric still has one
 * with such a context.
 */
bool dofi_conn_uses_forgotten(const struct dofi_chan *chan);

/* --- binds --- */

/* issue.c, ep->lock held: a bind's turn has come. */
void dofi_conn_apply_bind(struct dofi_ep *ep, struct dofi_wr *wr);
/* The connection ends: no bind of it waits any more. engine.lock held. */
void dofi_conn_forget_bind(struct dofi_ep *ep);
/*
 * The engine's part of it: asks the peers to forget what the bind replaced. engine.lock and
 * ep->lock held.
 */
void dofi_conn_ask_for_bind(struct dofi_ep *ep);

#endif
