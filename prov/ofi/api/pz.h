/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of protection zones. */
#ifndef DOFI_API_PZ_H
#define DOFI_API_PZ_H

#include "base/dat_api.h"

struct dofi_pz;

/* No lock may be held. Peers are not asked to forget anything. */
void dofi_pz_destroy(struct dofi_pz *pz);

DAT_RETURN dofi_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz);
DAT_RETURN dofi_pz_query(DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param);
DAT_RETURN dofi_pz_free(DAT_PZ_HANDLE pz);

#endif
