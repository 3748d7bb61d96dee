/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/env.h"

#include "base/log.h"
#include "fabric/quirks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Each is read for each endpoint that is made. */
static const struct variable {
	uint64_t quirk;
	const char *name, *value, *why;
} variables[] = {
	/*
	 * rxm sends messages of 16 to 128 KiB in parts. When a connection below ends between two of
	 * them, because the peer died or an endpoint is closed, the receiver follows a pointer that
	 * is none (rxm_close_conn) and crashes. Sent as longer ones are, by a read of the
	 * receiver's, they do no harm. What is less than an undivided message can have means that
	 * none is divided. The sender decides, so both sides have to.
	 */
	{DOFI_QUIRK_SPLIT_MESSAGES, "FI_OFI_RXM_SAR_LIMIT", "1",
	 "a peer that dies could take it along"},
	/*
	 * psm3 has a thread that receives for an endpoint. Whether there is one stands in a place
	 * that all endpoints of the process share: closing one clears it, and the thread of another
	 * that just starts ends the process (ips_ptl_pollintr). The progress thread of the IA does
	 * the same work.
	 */
	{DOFI_QUIRK_RECEIVE_THREAD, "PSM3_RCVTHREAD", "0",
	 "closing one of several IAs could end it"},
};

/* No lock, for the reasons of dofi_mr_cache_choose. */
static int set(const struct variable *v, const char *ia_name)
{
	if (getenv(v->name))
		return 0;
	if (setenv(v->name, v->value, 0)) {
		DOFI_LOG_E("IA %s: %s=%s can't be set: %s", ia_name, v->name, v->value,
			   strerror(errno));
		return -errno;
	}
	DOFI_LOG_I("IA %s: %s=%s is set for this process, or %s", ia_name, v->name, v->value,
		   v->why);
	return 0;
}

int dofi_fabric_env_choose(const char *ia_name, uint64_t quirks)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < sizeof(variables) / sizeof(variables[0]); i++)
		if (quirks & variables[i].quirk)
			ret = set(&variables[i], ia_name);
	return ret;
}
