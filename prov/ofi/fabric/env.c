/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/env.h"

#include "object/ia.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Each is read for each endpoint that is made. */
static const struct variable {
	uint32_t protocol;
	/* FI_VERSION: the first release with the fault, the first without; 0: open */
	uint32_t from, until;
	const char *name, *value, *why;
} variables[] = {
	/*
	 * rxm sends messages of 16 to 128 KiB in parts. When a connection below ends between two of
	 * them, because the peer died or an endpoint is closed, the receiver follows a pointer that
	 * is none (rxm_close_conn) and crashes. Sent as longer ones are, by a read of the
	 * receiver's, they do no harm. What is less than an undivided message can have means that
	 * none is divided. The sender decides, so both sides have to.
	 */
	{FI_PROTO_RXM, FI_VERSION(2, 0), FI_VERSION(2, 7), "FI_OFI_RXM_SAR_LIMIT", "1",
	 "a peer that dies could take it along"},
	/*
	 * psm3 has a thread that receives for an endpoint. Whether there is one stands in a place
	 * that all endpoints of the process share: closing one clears it, and the thread of another
	 * that just starts ends the process (ips_ptl_pollintr). The progress thread of the IA does
	 * the same work.
	 */
	{FI_PROTO_PSMX3, 0, 0, "PSM3_RCVTHREAD", "0", "closing one of several IAs could end it"},
};

static bool concerns(const struct variable *v, const struct dofi_ia *ia)
{
	uint32_t version = fi_version();

	return ia->info->ep_attr->protocol == v->protocol && FI_VERSION_GE(version, v->from) &&
	       (!v->until || FI_VERSION_LT(version, v->until));
}

/* No lock, for the reasons of dofi_mr_cache_choose. */
static int set(const struct variable *v, const struct dofi_ia *ia)
{
	if (getenv(v->name))
		return 0;
	if (setenv(v->name, v->value, 0)) {
		DOFI_LOG_E("IA %s: %s=%s can't be set: %s", ia->name, v->name, v->value,
			   strerror(errno));
		return -errno;
	}
	DOFI_LOG_I("IA %s: %s=%s is set for this process, or %s", ia->name, v->name, v->value,
		   v->why);
	return 0;
}

int dofi_fabric_env_choose(const struct dofi_ia *ia)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < sizeof(variables) / sizeof(variables[0]); i++)
		if (concerns(&variables[i], ia))
			ret = set(&variables[i], ia);
	return ret;
}
