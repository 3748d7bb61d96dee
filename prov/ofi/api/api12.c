/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DAT 1.2: what differs from 2.0. */
#include "api/api.h"
#include "object/ia.h"
#include "progress/evd.h"
#include "api/cr.h"
#include "api/lmr.h"
#include "dto/post_special.h"

/* Every attribute of 1.2 is one of 2.0, too. */
void dofi_api_attrs(DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR *prov_attr)
{
	(void)ia_attr, (void)prov_attr;
}

static DAT_RETURN cr_reject(DAT_CR_HANDLE cr)
{
	return dofi_cr_reject(cr, 0, NULL);
}

const DAT_PROVIDER dofi_provider = {
	DOFI_COMMON_SLOTS,
	.cr_reject_func = cr_reject,
	.lmr_create_func = dofi_lmr_create,
	.rmr_bind_func = dofi_rmr_bind,
};
