/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of CNOs, except those that take a trigger (progress/cno.h). */
#ifndef DOFI_API_CNO_H
#define DOFI_API_CNO_H

#include "base/dat_api.h"

/* fd_p NULL: a CNO with that agent; otherwise one with a descriptor. */
DAT_RETURN dofi_cno_new(DAT_IA_HANDLE ia, const DAT_OS_WAIT_PROXY_AGENT *agent, int *fd_p,
			DAT_CNO_HANDLE *cno);
DAT_RETURN dofi_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno);
DAT_RETURN dofi_cno_modify_agent(DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent);
DAT_RETURN dofi_cno_query(DAT_CNO_HANDLE cno, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param);
DAT_RETURN dofi_cno_free(DAT_CNO_HANDLE cno);

#endif
