/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of remote memory regions. */
#ifndef DOFI_API_RMR_H
#define DOFI_API_RMR_H

#include "base/dat_api.h"

DAT_RETURN dofi_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN dofi_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN dofi_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param);
DAT_RETURN dofi_rmr_free(DAT_RMR_HANDLE rmr);

#endif
