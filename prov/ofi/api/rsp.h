/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of reserved service points. */
#ifndef DOFI_API_RSP_H
#define DOFI_API_RSP_H

#include "base/dat_api.h"

DAT_RETURN dofi_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep,
			   DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp);
DAT_RETURN dofi_rsp_query(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param);
DAT_RETURN dofi_rsp_free(DAT_RSP_HANDLE rsp);

#endif
