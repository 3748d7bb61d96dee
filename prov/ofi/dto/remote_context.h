/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an EP keeps of the entries that it has read from the peer's context table.
 *
 * An EP may keep an entry only if it will learn that the context has ended. The owner announces
 * that to all peers over shared memory, and for contexts marked DOFI_CTX_ANNOUNCED. For the others
 * the fabric itself refuses the key of the ended context. There the owner tells only subscribers:
 * an MPI library may register the memory of each message and free it afterwards, and to tell each
 * peer would take longer than the message.
 *
 * So the entry of an unannounced context serves the requests that wait for it, and is read again
 * for later ones. An EP that has read it several times subscribes.
 */
#ifndef DOFI_REMOTE_CONTEXT_H
#define DOFI_REMOTE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_ep;

/* --- all with ep->lock held --- */

/*
 * The peer's entry of ep->aux_ctx has been read: puts it into the cache. Returns whether it stays
 * there; if not, call dofi_remote_context_served when the requests that waited have been issued.
 */
bool dofi_remote_context_read(struct dofi_ep *ep);
void dofi_remote_context_served(struct dofi_ep *ep, uint32_t context);

/* The owner has confirmed the subscription: the next entry that is read stays. */
void dofi_remote_context_subscribed(struct dofi_ep *ep, uint32_t context);

/* The context has ended. Requests that are not issued have to look for it again. */
void dofi_remote_context_forget(struct dofi_ep *ep, uint32_t context);

/*
 * A Send of ours ends the context: requests behind the Send must not use it, although the peer's
 * table may still show it as valid. The entry stays without rights until the peer's INVALIDATE.
 */
void dofi_remote_context_revoke(struct dofi_ep *ep, uint32_t context);

/* A connection begins: its peer may be another one. */
void dofi_remote_context_reset(struct dofi_ep *ep);

#endif
