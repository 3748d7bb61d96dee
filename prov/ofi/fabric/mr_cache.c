/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/mr_cache.h"

#include "base/log.h"
#include "base/param.h"
#include "fabric/foresight.h"
#include "fabric/quirks.h"

#include <errno.h>
#include <rdma/fi_domain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "FI_MR_CACHE_MONITOR"
#define OFF      "disabled"

/* --- before libfabric is asked --- */

static bool is_wanted(const struct dofi_params *params)
{
	return !strcmp(params->mr_cache, "yes");
}

/*
 * Takes no lock: setenv has one, and does not overwrite here. Values that other threads read
 * meanwhile stay where they are, unless the program has added to its environment before: then a
 * getenv in another thread may see the old array move (before glibc 2.41).
 */
int dofi_mr_cache_choose(const char *ia_name, const struct dofi_params *params)
{
	if (!is_wanted(params) && strcmp(params->mr_cache, "no")) {
		DOFI_LOG_E("IA %s: mr_cache=%s is not known; there are yes and no", ia_name,
			   params->mr_cache);
		return -EINVAL;
	}
	if (is_wanted(params) || secure_getenv(VARIABLE) ||
	    !dofi_quirk_may_come(params, DOFI_QUIRK_CACHED_KEYS))
		return 0;
	if (setenv(VARIABLE, OFF, 0)) {
		DOFI_LOG_E("IA %s: " VARIABLE "=" OFF " can't be set: %s", ia_name,
			   strerror(errno));
		return -errno;
	}
	DOFI_LOG_I("IA %s: " VARIABLE "=" OFF
		   " is set for this process, or keys would outlive dat_lmr_free; mr_cache=yes "
		   "leaves it alone",
		   ia_name);
	return 0;
}

/* --- afterwards --- */

/*
 * FI_OPT_CXI_SET_PROV_KEY_CACHE of libfabric's header for cxi, which is installed only with that
 * provider.
 */
#define CXI_SET_PROV_KEY_CACHE (-(0xccc << 16) + 7)

void dofi_mr_cache_disable(const struct dofi_params *params, const struct fi_info *info,
			   uint64_t quirks, struct fid_domain *domain)
{
	bool cache = false;

	if (quirks & DOFI_QUIRK_DOMAIN_KEYS && info->domain_attr->mr_mode & FI_MR_PROV_KEY &&
	    !is_wanted(params))
		fi_control(&domain->fid, CXI_SET_PROV_KEY_CACHE, &cache);
}

const char *dofi_mr_cache_remedy(const struct dofi_params *params, uint64_t quirks)
{
	const char *value = secure_getenv(VARIABLE);

	if (is_wanted(params))
		return NULL;
	if (quirks & DOFI_QUIRK_DOMAIN_KEYS)
		return "FI_CXI_PROV_KEY_CACHE=0";
	return !value || !strcmp(value, OFF) ? VARIABLE "=" OFF : NULL;
}
