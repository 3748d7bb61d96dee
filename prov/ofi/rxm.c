/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "rxm.h"

#include "ia.h"
#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Read for each endpoint that is made. What is less than an undivided message can have means that none is divided. */
#define VARIABLE "FI_OFI_RXM_SAR_LIMIT"
#define NO_PARTS "1"

static bool loses_its_way(const struct dofi_ia *ia)
{
	uint32_t version = fi_version();

	return ia->info->ep_attr->protocol == FI_PROTO_RXM &&
	       FI_VERSION_GE(version, FI_VERSION(2, 0)) && FI_VERSION_LT(version, FI_VERSION(2, 7));
}

/* No lock, for the reasons of dofi_mr_cache_choose. */
int dofi_rxm_choose(const struct dofi_ia *ia)
{
	if (!loses_its_way(ia) || getenv(VARIABLE))
		return 0;
	if (setenv(VARIABLE, NO_PARTS, 0)) {
		DOFI_LOG_E("IA %s: " VARIABLE "=" NO_PARTS " can't be set: %s", ia->name,
			   strerror(errno));
		return -errno;
	}
	DOFI_LOG_I("IA %s: " VARIABLE "=" NO_PARTS
		   " is set for this process, or a peer that dies could take it along",
		   ia->name);
	return 0;
}
