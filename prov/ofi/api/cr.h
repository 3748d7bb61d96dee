/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of connection requests. */
#ifndef DOFI_API_CR_H
#define DOFI_API_CR_H

#include "base/dat_api.h"

DAT_RETURN dofi_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param);
DAT_RETURN dofi_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT private_size,
			  const DAT_PVOID private_data);
/* dat_cr_reject of 1.2 calls it without private data. */
DAT_RETURN dofi_cr_reject(DAT_CR_HANDLE cr, DAT_COUNT private_size, const DAT_PVOID private_data);

DAT_RETURN dofi_cr_handoff(DAT_CR_HANDLE cr, DAT_CONN_QUAL qual);

#endif
