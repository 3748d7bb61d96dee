/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/env.h"

#include "base/log.h"
#include "base/param.h"
#include "fabric/foresight.h"
#include "fabric/info.h"
#include "fabric/quirks.h"
#include "fabric/select.h"

#include <errno.h>
#include <rdma/fabric.h>
#include <stdlib.h>
#include <string.h>

/* The hints by which rxm will ask verbs for receives that its connections share. */
static struct fi_info *shared_hints(const char *domain)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->mode = FI_CONTEXT | FI_RX_CQ_DATA;
	hints->ep_attr->type = FI_EP_MSG;
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	hints->rx_attr->size = 4096;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strdup("verbs");
	hints->domain_attr->name = strdup(domain);
	if (hints->fabric_attr->prov_name && hints->domain_attr->name)
		return hints;
	fi_freeinfo(hints);
	return NULL;
}

/* Without shared receive queues in the device, or with short ones, rxm would offer nothing. */
static bool can_share_receives(const char *ia_name, const struct fi_info *info)
{
	const char *domain = info->domain_attr->name;
	struct fi_info *hints = shared_hints(domain), *found = NULL;
	bool can = hints && !dofi_getinfo(dofi_api_version(), NULL, 0, hints, &found) && found;

	fi_freeinfo(found);
	fi_freeinfo(hints);
	if (!can)
		DOFI_LOG_W("IA %s: %s has no shared receive queue of 4096 receives, and without "
			   "one a message that comes while a connection is closed can crash "
			   "libfabric; provider=verbs has no such fault",
			   ia_name, domain);
	return can;
}

struct variable {
	uint64_t quirk;
	const char *name, *value, *why;
	/* NULL: wherever the quirk is */
	bool (*fits)(const char *ia_name, const struct fi_info *info);
};

/*
 * Since 2.0 efa reads it when libfabric looks for fabrics for the first time. The body of a write
 * of 64 KiB lacks a word of up to 8 bytes.
 */
static const struct variable min_read_write = {
	DOFI_QUIRK_LONG_WRITES, "FI_EFA_INTER_MIN_READ_WRITE_SIZE", "65528",
	"a write of 64 KiB without its last word would take the way of short ones, which is slower",
	NULL};

/* libfabric reads these variables whenever it makes a domain or an endpoint. */
static const struct variable variables[] = {
	/*
	 * rxm sends messages of 16 to 128 KiB in parts. If the connection below ends between two
	 * parts, because the peer died or an endpoint is closed, the receiver loops for ever or
	 * follows an invalid pointer (rxm_close_conn). Longer messages are safe: the receiver reads
	 * them by RDMA. With a limit below the size of an undivided message, rxm divides none. The
	 * sender decides, so both sides need the variable.
	 */
	{DOFI_QUIRK_SPLIT_MESSAGES, "FI_OFI_RXM_SAR_LIMIT", "1",
	 "a peer that dies could take it along", NULL},
	/*
	 * A connection of rxm over verbs has receives of its own. When rxm closes it, rxm handles
	 * the last messages after it has freed the endpoint below, posts their receives to that
	 * endpoint again (rxm_close_conn), and crashes. Receives that all connections share, as
	 * over tcp, outlive each connection.
	 */
	{DOFI_QUIRK_OWN_RECEIVES, "FI_OFI_RXM_USE_SRX", "1",
	 "a message that comes while a connection is closed could end it", can_share_receives},
	/*
	 * psm3 has a thread that receives for an endpoint. All endpoints of the process share one
	 * flag that says whether the thread exists: closing an endpoint clears it, and the starting
	 * thread of another endpoint then ends the process (ips_ptl_pollintr). The progress thread
	 * of the IA does the same work.
	 */
	{DOFI_QUIRK_RECEIVE_THREAD, "PSM3_RCVTHREAD", "0",
	 "closing one of several IAs could end it", NULL},
};

/* Takes no lock, for the reasons given at dofi_mr_cache_choose. */
static int set(const struct variable *v, const char *ia_name, const struct fi_info *info)
{
	if (secure_getenv(v->name) || (v->fits && !v->fits(ia_name, info)))
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

int dofi_fabric_env_prepare(const char *ia_name, const struct dofi_params *params)
{
	if (!strcmp(params->last_byte, "fabric") ||
	    !dofi_quirk_may_come(params, min_read_write.quirk))
		return 0;
	return set(&min_read_write, ia_name, NULL);
}

int dofi_fabric_env_choose(const char *ia_name, const struct fi_info *info, uint64_t quirks)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < sizeof(variables) / sizeof(variables[0]); i++)
		if (quirks & variables[i].quirk)
			ret = set(&variables[i], ia_name, info);
	return ret;
}
