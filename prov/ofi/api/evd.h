/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of EVDs, except those that take events (progress/evd_wait.h). */
#ifndef DOFI_API_EVD_H
#define DOFI_API_EVD_H

#include "base/dat_api.h"

DAT_RETURN dofi_evd_create(DAT_IA_HANDLE ia, DAT_COUNT min_qlen, DAT_CNO_HANDLE cno,
			   DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
DAT_RETURN dofi_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param);
DAT_RETURN dofi_evd_modify_cno(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno);
DAT_RETURN dofi_evd_enable(DAT_EVD_HANDLE evd);
DAT_RETURN dofi_evd_disable(DAT_EVD_HANDLE evd);
DAT_RETURN dofi_evd_set_unwaitable(DAT_EVD_HANDLE evd);
DAT_RETURN dofi_evd_clear_unwaitable(DAT_EVD_HANDLE evd);
DAT_RETURN dofi_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT min_qlen);
DAT_RETURN dofi_evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event);
DAT_RETURN dofi_evd_free(DAT_EVD_HANDLE evd);

#endif
