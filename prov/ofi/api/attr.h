/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits and attributes of an IA. */
#ifndef DOFI_API_ATTR_H
#define DOFI_API_ATTR_H

#include "base/dat_api.h"

struct dofi_ia;

DAT_RETURN dofi_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
			 DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK prov_mask,
			 DAT_PROVIDER_ATTR *prov_attr);
/* Limits from ia->info, and the named attributes. */
void dofi_attr_init(struct dofi_ia *ia);

#endif
