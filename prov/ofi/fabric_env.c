/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric_env.h"

#include "ia.h"
#include "log.h"
#include "select.h"

#include <errno.h>
#include <rdma/fabric.h>
#include <stdlib.h>
#include <string.h>

static bool shares_receives(const struct dofi_ia *ia);

/* Each is read for each endpoint that is made, the receives of rxm for each domain, too. */
static const struct variable {
	uint32_t protocol;
	uint32_t from, until; /* FI_VERSION: the first release with the fault, the first without; 0: open */
	const char *name, *value, *why;
	bool (*fits)(const struct dofi_ia *ia); /* NULL: whatever is below */
} variables[] = {
	/*
	 * rxm sends messages of 16 to 128 KiB in parts. When a connection below ends between two of them, because the peer died or
	 * an endpoint is closed, the receiver follows a pointer that is none (rxm_close_conn) and crashes. Sent as longer ones are,
	 * by a read of the receiver's, they do no harm. What is less than an undivided message can have means that none is divided.
	 * The sender decides, so both sides have to.
	 */
	{FI_PROTO_RXM, FI_VERSION(2, 0), FI_VERSION(2, 7), "FI_OFI_RXM_SAR_LIMIT", "1", "a peer that dies could take it along", NULL},
	/*
	 * A connection of rxm over verbs has receives of its own. When it is closed, the messages that came last are looked at after
	 * the endpoint below has been freed, and their receives are posted there again (rxm_close_conn), which crashes. Receives
	 * that all connections share, as over tcp, outlive each of them.
	 */
	{FI_PROTO_RXM, 0, 0, "FI_OFI_RXM_USE_SRX", "1", "a message that comes while a connection is closed could end it",
	 shares_receives},
	/*
	 * psm3 has a thread that receives for an endpoint. Whether there is one stands in a place that all endpoints of the process
	 * share: closing one clears it, and the thread of another that just starts ends the process (ips_ptl_pollintr). The
	 * progress thread of the IA does the same work.
	 */
	{FI_PROTO_PSMX3, 0, 0, "PSM3_RCVTHREAD", "0", "closing one of several IAs could end it", NULL},
};

/* As rxm will ask for them. */
static struct fi_info *shared_hints(const char *domain)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->mode = FI_CONTEXT | FI_RX_CQ_DATA;
	hints->ep_attr->type = FI_EP_MSG;
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	hints->rx_attr->size = 4096;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strdup("verbs");
	hints->domain_attr->name = strdup(domain);
	if (hints->fabric_attr->prov_name && hints->domain_attr->name)
		return hints;
	fi_freeinfo(hints);
	return NULL;
}

/* Without shared receive queues in the device, or with short ones, rxm would offer nothing. */
static bool shares_receives(const struct dofi_ia *ia)
{
	const char *domain = ia->info->domain_attr->name;
	struct fi_info *hints, *found = NULL;
	bool has;

	if (strncmp(ia->info->fabric_attr->prov_name, "verbs;", 6))
		return false;
	hints = shared_hints(domain);
	has = hints && !fi_getinfo(dofi_api_version(), NULL, NULL, 0, hints, &found) && found;
	fi_freeinfo(found);
	fi_freeinfo(hints);
	if (!has)
		DOFI_LOG_W("IA %s: %s has no shared receive queue of 4096 receives, and without one a message that comes while a "
			   "connection is closed can crash libfabric; provider=verbs has no such fault", ia->name, domain);
	return has;
}

static bool concerns(const struct variable *v, const struct dofi_ia *ia)
{
	uint32_t version = fi_version();

	return ia->info->ep_attr->protocol == v->protocol && FI_VERSION_GE(version, v->from) &&
	       (!v->until || FI_VERSION_LT(version, v->until));
}

/* No lock, for the reasons of dofi_mr_cache_choose. */
static int set(const struct variable *v, const struct dofi_ia *ia)
{
	if (getenv(v->name) || (v->fits && !v->fits(ia)))
		return 0;
	if (setenv(v->name, v->value, 0)) {
		DOFI_LOG_E("IA %s: %s=%s can't be set: %s", ia->name, v->name, v->value, strerror(errno));
		return -errno;
	}
	DOFI_LOG_I("IA %s: %s=%s is set for this process, or %s", ia->name, v->name, v->value, v->why);
	return 0;
}

int dofi_fabric_env_choose(struct dofi_ia *ia)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < sizeof(variables) / sizeof(variables[0]); i++)
		if (concerns(&variables[i], ia))
			ret = set(&variables[i], ia);
	return ret;
}
