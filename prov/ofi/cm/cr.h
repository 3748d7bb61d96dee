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
	bool ep_ours;       /* the library made it for a provider PSP: a reject frees it */
	struct sockaddr_storage remote;
	uint64_t remote_qual;
	uint32_t private_size;
	_Alignas(8) uint8_t private_data[DOFI_MAX_PRIVATE]; /* writable by the consumer (PRG-09) */
};

/*
 * Makes a CR and raises its event on the service point's EVD; -errno when there is no room for
 * either.
 */
int dofi_cr_new(struct dofi_sp *sp, struct dofi_conn *conn, const struct sockaddr *remote);

/*
 * Frees a CR; its handle has been retired. If reject is true, refuses the connector with
 * DOFI_REASON_DISCONNECT and returns the CR's EP.
 */
void dofi_cr_destroy(struct dofi_cr *cr, bool reject);

/*
 * Returns the EP to its RSP or the consumer, or frees one that the library made. While the IA
 * closes, the EP may be freed already.
 */
void dofi_cr_return_ep(struct dofi_cr *cr, DAT_EP_STATE state);
/* The same, and tells the connector the reason. */
void dofi_cr_refuse(struct dofi_cr *cr, enum dofi_reason reason, const void *private_data,
		    uint32_t private_size);

#endif
