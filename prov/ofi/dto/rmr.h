/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RMRs: binds in a request ring, their contexts, and the memory behind them. */
#ifndef DOFI_RMR_H
#define DOFI_RMR_H

#include "object/mem.h"

/* Checks the arguments of a bind and reserves its context. */
DAT_RETURN dofi_bind_prepare(struct dofi_rmr *rmr, struct dofi_pz *ep_pz,
			     const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS privileges,
			     struct dofi_bind *bind_p);

/*
 * Carries out a bind. Returns the context that the new one replaced (0: none), which the caller
 * invalidates at the peers.
 */
uint32_t dofi_bind_apply(struct dofi_bind *bind);

/* The bind was flushed: gives the reserved context and the use of the LMR back. */
void dofi_bind_cancel(struct dofi_bind *bind);

/*
 * A Send of a peer ends the context. True if it is the context of an RMR of that zone, bound over
 * that connection if its scope is an EP; then the caller tells the peers that know the context.
 */
bool dofi_rmr_invalidate(struct dofi_ia *ia, uint32_t context, const struct dofi_pz *pz,
			 uint32_t conn);

/*
 * The local segment behind the RMR triplet of dat_ep_post_rdma_read_to_rmr, which is to be written.
 * The context may also be that of an LMR. DAT_SUCCESS or the error of the post.
 */
DAT_RETURN dofi_rmr_sink(struct dofi_ia *ia, const struct dofi_pz *pz, uint32_t conn,
			 const DAT_RMR_TRIPLET *rmr, DAT_LMR_TRIPLET *segment_p);

/*
 * The memory behind an address of a context of our own, whose entry is *ctx. NULL if the context
 * has ended.
 */
void *dofi_ctx_memory(struct dofi_ia *ia, const struct dofi_ctx *ctx, uint64_t address);

void dofi_rmr_destroy(struct dofi_rmr *rmr);

/* Ends the latest bind and forbids later ones. Returns the context that ended, or 0. */
uint32_t dofi_rmr_unbind(struct dofi_rmr *rmr);

#endif
