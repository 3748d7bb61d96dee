/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of public service points. */
#ifndef DOFI_API_PSP_H
#define DOFI_API_PSP_H

#include "base/dat_api.h"

DAT_RETURN dofi_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			   DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
DAT_RETURN dofi_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
			       DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
DAT_RETURN dofi_psp_query(DAT_PSP_HANDLE psp, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param);
DAT_RETURN dofi_psp_free(DAT_PSP_HANDLE psp);

#endif
