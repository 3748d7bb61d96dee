/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service points (PSP, RSP) and connection requests. Guarded by engine.lock. */
#ifndef DOFI_SP_H
#define DOFI_SP_H

#include "cm/channel.h"
#include "object/ep.h"
#include "object/object.h"

/* A PSP or an RSP: a listener that makes CRs, any number or one. */
struct dofi_sp {
	struct dofi_obj obj;
	struct dofi_list link;   /* ia->cm.listeners while it listens */
	struct dofi_fd fd;       /* listening socket; fd -1 when closed */
	struct dofi_timer pause; /* out of descriptors: accepts again when it fires */
	bool checks_source;      /* other hosts reach the socket and must be turned away */
	int claim_fd;            /* holds a long conn_qual on the whole host; or -1 */
	uint64_t conn_qual;
	struct dofi_evd *evd;
	DAT_PSP_FLAGS psp_flags; /* PSP */
	struct dofi_ep *ep;      /* RSP: the EP reserved; NULL once its request came */
	DAT_EP_HANDLE ep_handle; /* RSP: for dat_rsp_query, also afterwards */
	bool rsp;
};

/*
 * The EVD behind the handle when it belongs to ia and takes connection requests; else NULL. Needs
 * no lock.
 */
struct dofi_evd *dofi_sp_evd(struct dofi_ia *ia, DAT_EVD_HANDLE evd);

/*
 * Behind dat_psp_free and dat_rsp_free, which hold no lock. False if another thread was faster.
 */
bool dofi_sp_free(struct dofi_sp *sp);

/* --- common to PSPs and RSPs; engine.lock held --- */

/*
 * Makes a listening service point; conn_qual 0: any free one. The caller completes and publishes
 * it.
 */
DAT_RETURN dofi_sp_new(struct dofi_ia *ia, struct dofi_evd *evd, uint64_t conn_qual, bool rsp,
		       struct dofi_sp **sp_p);

/*
 * Stops listening and frees the service point; the EP of an RSP is UNCONNECTED again. The handle
 * has been retired, or was never published.
 */
void dofi_sp_destroy(struct dofi_sp *sp);

/* The service point of this IA that serves conn_qual, or NULL. */
struct dofi_sp *dofi_sp_find(struct dofi_ia *ia, uint64_t conn_qual);

/*
 * Finds the service point of a REQUEST's conn->conn_qual and makes the CR. DOFI_REASON_NONE if the
 * consumer has the request; otherwise the reason of a refusal (the caller rejects and frees conn).
 */
enum dofi_reason dofi_sp_offer(struct dofi_conn *conn, const struct sockaddr *remote);

#endif
