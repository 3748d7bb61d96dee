/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connection requests that wait for the consumer's decision. engine.lock held. */
#ifndef DOFI_CR_H
#define DOFI_CR_H

#include "cm/wire.h"
#include "object/ep.h"
#include "object/object.h"

struct dofi_conn;
struct dofi_sp;
struct sockaddr;

struct dofi_cr {
	struct dofi_obj obj;
	struct dofi_conn *conn;
	struct dofi_ep *ep; /* provider EP or RSP's EP, else NULL */
	bool ep_ours;       /* made by us for a provider PSP: goes with a reject */
	struct sockaddr_storage remote;
	uint64_t remote_qual;
	uint32_t private_size;
	_Alignas(8) uint8_t private_data[DOFI_MAX_PRIVATE]; /* writable by the consumer (PRG-09) */
};

/* A CR with its event on the service point's EVD; -errno when there is no room for either. */
int dofi_cr_new(struct dofi_sp *sp, struct dofi_conn *conn, const struct sockaddr *remote);

/*
 * Frees a CR; its handle has been retired. When reject is true, the connector is refused with
 * DOFI_REASON_DISCONNECT and the CR's EP goes back to where it came from.
 */
void dofi_cr_destroy(struct dofi_cr *cr, bool reject);

/* The EP goes back to where it came from. While the IA closes it may be gone already. */
void dofi_cr_return_ep(struct dofi_cr *cr, DAT_EP_STATE state);
/* That, and the connector hears why. */
void dofi_cr_refuse(struct dofi_cr *cr, enum dofi_reason reason, const void *private_data,
		    uint32_t private_size);

#endif
