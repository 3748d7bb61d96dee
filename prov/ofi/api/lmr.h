/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of local memory regions. */
#ifndef DOFI_API_LMR_H
#define DOFI_API_LMR_H

#include "base/dat_api.h"

#include <stdbool.h>

/* dat_lmr_create of DAT 1.2. */
DAT_RETURN dofi_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			   DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address);

/* The same, with addresses that begin at 0 or are virtual addresses. */
DAT_RETURN dofi_lmr_create_based(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
				 DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
				 bool zero_based, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
				 DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
				 DAT_VADDR *registered_address);

DAT_RETURN dofi_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param);
DAT_RETURN dofi_lmr_free(DAT_LMR_HANDLE lmr);
/* Both sync calls: memory is coherent, so only the arguments are checked. */
DAT_RETURN dofi_lmr_sync(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN num_segments);

#endif
