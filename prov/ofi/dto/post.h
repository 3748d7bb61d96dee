/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The posting calls. */
#ifndef DOFI_POST_H
#define DOFI_POST_H

#include "base/dat_api.h"
#include "object/ep.h"

#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;
struct dofi_pz;
struct dofi_wr;

DAT_RETURN dofi_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dofi_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dofi_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags);
DAT_RETURN dofi_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags);
DAT_RETURN dofi_rmr_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
			 DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
			 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context);
DAT_RETURN dofi_rmr_bind_based(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
			       DAT_MEM_PRIV_FLAGS privileges, bool zero_based, DAT_EP_HANDLE ep,
			       DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			       DAT_RMR_CONTEXT *context);
/* With control records (control.h): MODEL_NOT_SUPPORTED where the fabric can't carry them. */
DAT_RETURN dofi_ep_post_send_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
					DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
					DAT_RMR_CONTEXT context);

DAT_RETURN dofi_ep_post_write_immediate(DAT_EP_HANDLE ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
					DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
					uint32_t immediate, DAT_COMPLETION_FLAGS flags);
/* ah: of the peer; ud.h. */
DAT_RETURN dofi_ep_post_send_ud(DAT_EP_HANDLE ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
				const void *ah, DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);

/* FETCH_ADD: operand is what is added. CMP_SWAP: what replaces `compare`. */
DAT_RETURN dofi_ep_post_atomic(DAT_EP_HANDLE ep, enum dofi_op op, uint64_t operand,
			       uint64_t compare, const DAT_LMR_TRIPLET *local,
			       DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
			       DAT_COMPLETION_FLAGS flags);

DAT_RETURN dofi_ep_post_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
				    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				    DAT_COMPLETION_FLAGS flags);
/*
 * Translates segments into wr->iov and desc, with the checks of a post; empty ones are left out.
 * DAT_SUCCESS or the post's error.
 */
DAT_RETURN dofi_segments_translate(struct dofi_ia *ia, struct dofi_pz *pz, DAT_COUNT n,
				   const DAT_LMR_TRIPLET *iov, unsigned int privilege,
				   struct dofi_wr *wr, void **desc);

#endif
