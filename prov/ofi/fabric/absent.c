/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/absent.h"

#include "base/ascii.h"
#include "fabric/info.h"

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

/* What each provider needs on the machine before it offers a fabric. */
static const struct {
	const char *provider, *needs;
} needs[] = {
	{"cxi", "a Cassini device (ls /sys/class/cxi) and a service that this job may use: "
		"SLINGSHOT_VNIS, SLINGSHOT_DEVICES and SLINGSHOT_SVC_IDS come from the launcher"},
	{"efa", "an adapter (ls /sys/class/infiniband), access to /dev/infiniband/uverbs* and "
		"memory that may be locked"},
	{"verbs", "a device (ls /sys/class/infiniband), access to /dev/infiniband/uverbs* and, for "
		  "connected endpoints, an IP address on its interface"},
	{"psm3", "a device that it knows, or a network interface in PSM3_NIC"},
	{"opx", "an Omni-Path device (ls /dev/hfi1*)"},
	{"tcp", "a network interface that is up and has an address"},
	{"shm", "room in /dev/shm (see dat_info --check)"},
	{"lnx", "FI_LNX_PROV_LINKS to name what it links; it has messages but no RDMA (FI_RMA), so "
		"it can't carry DAT"},
	{"sm2", "/dev/shm; it has messages but no RDMA (FI_RMA), so it can't carry DAT"},
	{"usnic", "a Cisco VIC; its RDMA (FI_RMA) was never made, so it can't carry DAT"},
	{"mlx", "UCX; it has tagged messages alone and no RDMA (FI_RMA), so it can't carry DAT: "
		"verbs drives these devices"},
	{"lpp", "a FabreX network and its kernel module; DAT was never tried on it"},
	{"efa-direct", "an adapter; it has no tagged messages (FI_TAGGED), so it can't carry DAT: "
		       "efa drives the same adapters"},
};

static size_t core_size(const char *provider)
{
	return strcspn(provider, ";");
}

bool dofi_same_core(const char *a, const char *b)
{
	return core_size(a) == core_size(b) && !strncmp(a, b, core_size(a));
}

bool dofi_is_left_out(const char *list, const char *provider)
{
	bool wanted = *list != '^', named = false;
	size_t size = core_size(provider);

	for (const char *at = wanted ? list : list + 1; *at; at += *at == ',') {
		size_t length = strcspn(at, ",;");

		named |= length == size && dofi_ascii_same(at, provider, size);
		at += strcspn(at, ",");
	}
	return named != wanted;
}

/* Leaves utility providers such as ofi_rxm out: the list also contains the provider below. */
static void put_providers(const struct fi_info *list, FILE *out)
{
	const char *between = "";

	for (const struct fi_info *info = list; info; info = info->next) {
		const char *name = info->fabric_attr->prov_name;

		if (!name || !strncmp(name, "ofi_", 4))
			continue;
		fprintf(out, "%s%s", between, name);
		between = ", ";
	}
}

static bool is_there(const struct fi_info *list, const char *provider)
{
	for (; list; list = list->next)
		if (list->fabric_attr->prov_name &&
		    dofi_same_core(list->fabric_attr->prov_name, provider))
			return true;
	return false;
}

static void put_needs(const char *provider, FILE *out)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (dofi_same_core(provider, needs[i].provider))
			fprintf(out, "; it needs %s", needs[i].needs);
}

/*
 * Some providers are not listed if they found no device when they were loaded, as if they were not
 * built.
 */
static void put_unlisted(const char *provider, const struct fi_info *list, FILE *out)
{
	uint32_t version = fi_version();

	fprintf(out, "libfabric %u.%u ", FI_MAJOR(version), FI_MINOR(version));
	if (*provider)
		fprintf(out, "does not list %s: built without it, or no device was found",
			provider);
	else
		fputs("finds nothing to work on", out);
	put_needs(provider, out);
	fputs(list ? "; it lists " : "; it lists none at all", out);
	put_providers(list, out);
}

void dofi_absent_explain(const char *provider, FILE *out)
{
	const char *filter = secure_getenv("FI_PROVIDER");
	struct fi_info *list = NULL;

	if (*provider && filter && *filter && dofi_is_left_out(filter, provider)) {
		fprintf(out, "FI_PROVIDER=%s leaves %s out; unset it or %s the name", filter,
			provider, *filter == '^' ? "remove" : "add");
		return;
	}
	dofi_getinfo(FI_VERSION(1, 17), NULL, FI_PROV_ATTR_ONLY, NULL, &list);
	if (*provider && is_there(list, provider)) {
		fprintf(out, "libfabric has %s, which finds nothing to work on", provider);
		put_needs(provider, out);
		fputs("; FI_LOG_LEVEL=info lets it say more", out);
	} else {
		put_unlisted(provider, list, out);
		if (!*provider && filter && *filter)
			fputs("; unset FI_PROVIDER or let it name one of them", out);
	}
	fi_freeinfo(list);
}
