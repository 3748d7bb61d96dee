/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Posts other than Sends, receives and RDMA: binds, datagrams, and the operations of DAT 2.0 with
 * control records (control.h), which return MODEL_NOT_SUPPORTED if the fabric can't carry them.
 */
#ifndef DOFI_POST_SPECIAL_H
#define DOFI_POST_SPECIAL_H

#include "base/dat_api.h"
#include "object/ep.h"

#include <stdbool.h>
#include <stdint.h>

DAT_RETURN dofi_rmr_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
			 DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
			 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context);
DAT_RETURN dofi_rmr_bind_based(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
			       DAT_MEM_PRIV_FLAGS privileges, bool zero_based, DAT_EP_HANDLE ep,
			       DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			       DAT_RMR_CONTEXT *context);
DAT_RETURN dofi_ep_post_send_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
					DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
					DAT_RMR_CONTEXT context);

DAT_RETURN dofi_ep_post_write_immediate(DAT_EP_HANDLE ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
					DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
					uint32_t immediate, DAT_COMPLETION_FLAGS flags);
/* ah: the peer's address handle; ud.h. */
DAT_RETURN dofi_ep_post_send_ud(DAT_EP_HANDLE ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
				const void *ah, DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);

/* FETCH_ADD adds the operand. CMP_SWAP stores the operand if the old value is `compare`. */
DAT_RETURN dofi_ep_post_atomic(DAT_EP_HANDLE ep, enum dofi_op op, uint64_t operand,
			       uint64_t compare, const DAT_LMR_TRIPLET *local,
			       DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
			       DAT_COMPLETION_FLAGS flags);

DAT_RETURN dofi_ep_post_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
				    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				    DAT_COMPLETION_FLAGS flags);

#endif
