/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Creation and destruction of an EP with its rings, EVDs and connection. */
#ifndef DOFI_EP_LIFE_H
#define DOFI_EP_LIFE_H

#include "object/ep.h"

/* Also makes EPs for provider PSPs (pz and EVDs NULL, attr NULL). 0 or a DAT error. */
DAT_RETURN dofi_ep_new(struct dofi_ia *ia, struct dofi_pz *pz, struct dofi_evd *recv,
		       struct dofi_evd *req, struct dofi_evd *conn, struct dofi_srq *srq,
		       const DAT_EP_ATTR *attr, DAT_EP_STATE state, struct dofi_ep **ep_p);

/*
 * Ends the connection without an event and frees everything. engine.lock held; the handle has been
 * retired.
 */
void dofi_ep_destroy(struct dofi_ep *ep);

/*
 * The IA closes: this EP of another IA raises no more connection events on an EVD of the IA.
 * engine.lock held, takes ep->lock.
 */
void dofi_ep_detach_evd_of(struct dofi_ep *ep, const struct dofi_ia *ia);

struct dofi_ep_rings {
	struct dofi_ring req, recv, parts;
};

/* Makes the rings for these attributes; 0 or -ENOMEM. */
int dofi_ep_rings_init(const struct dofi_ia *ia, const DAT_EP_ATTR *attr, bool has_srq,
		       struct dofi_ep_rings *rings);
/* Gives the EP these rings. Its EVDs are set already. */
void dofi_ep_rings_set(struct dofi_ep *ep, const struct dofi_ep_rings *rings);
/* ep->lock held, or no other thread knows the EP yet. */
void dofi_ep_attach_evds(struct dofi_ep *ep);
void dofi_ep_detach_evds(struct dofi_ep *ep);
/* The soft high watermark in the attributes. Only EPs of an SRQ have one, and 0 means none. */
uint32_t dofi_ep_asked_mark(const struct dofi_ep *ep);

#endif
