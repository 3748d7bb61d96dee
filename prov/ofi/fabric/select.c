/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/select.h"

#include "base/addr.h"
#include "base/log.h"
#include "base/param.h"
#include "fabric/absent.h"
#include "fabric/device_atomics.h"
#include "fabric/info.h"
#include "fabric/netdev.h"
#include "fabric/nic.h"
#include "fabric/quirks.h"
#include "fabric/refusals.h"
#include "fabric/requirements.h"
#include "fabric/wish.h"

#include <errno.h>
#include <net/if.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The newest interface that this code is written to. */
#define NEWEST_API FI_VERSION(2, 6)

struct search {
	struct dofi_wish wish;
	struct fi_info *lists[DOFI_NREQUIREMENTS];
	const struct fi_info *best;
	const struct dofi_requirements *best_row;
	unsigned int best_rank;
	struct dofi_nic *nic;
	struct dofi_refusals refusals;
};

/* --- judging --- */

/* Records what the info lacks for the row. False if it lacks nothing. */
static bool refuse_lack(struct search *s, const struct dofi_requirements *row,
			const struct fi_info *info)
{
	char reason[160], lack[96];

	if (!dofi_requirements_lack(row, info, lack, sizeof(lack)))
		return false;
	snprintf(reason, sizeof(reason), "does not offer what the %s transport needs: %s",
		 row->transport, lack);
	dofi_refusals_add(&s->refusals, info, reason);
	return true;
}

/* Whether it joins only processes of this host: shm, and any fabric on the loopback interface. */
static bool is_host_only(const struct fi_info *info, const struct sockaddr_storage *addr)
{
	return (addr && dofi_addr_is_loopback(addr)) ||
	       (info->caps & FI_LOCAL_COMM && !(info->caps & FI_REMOTE_COMM));
}

/* Lower is better; libfabric's own order decides among equals. */
static unsigned int rank_of(const struct fi_info *info, const struct sockaddr_storage *addr)
{
	unsigned int rank = 0;

	if (is_host_only(info, addr))
		rank += 1000;
	if (!info->nic)
		rank += 100;
	if (dofi_netdev_is_virtual(dofi_info_domain(info)))
		rank += 200;
	if (!addr)
		rank += 20;
	else if (addr->ss_family == AF_INET6)
		rank += 10;
	return rank;
}

static void judge(struct search *s, const struct dofi_requirements *row, const struct fi_info *info)
{
	struct sockaddr_storage storage, *addr = dofi_info_addr(info, &storage) ? &storage : NULL;
	const char *reason = dofi_wish_objection(&s->wish, info, addr);
	unsigned int rank;

	if (reason) {
		dofi_refusals_add(&s->refusals, info, reason);
		return;
	}
	if (refuse_lack(s, row, info))
		return;
	rank = rank_of(info, addr);
	if (s->best && s->best_rank <= rank)
		return;
	s->best = info;
	s->best_row = row;
	s->best_rank = rank;
}

/* --- queries --- */

static struct fi_info *hints_for(const struct search *s, enum fi_ep_type type, uint64_t caps,
				 uint64_t mode, int mr_mode)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = caps;
	hints->mode = mode;
	hints->ep_attr->type = type;
	hints->domain_attr->mr_mode = mr_mode;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	if (*s->wish.params->provider) {
		hints->fabric_attr->prov_name = strdup(s->wish.params->provider);
		if (!hints->fabric_attr->prov_name) {
			fi_freeinfo(hints);
			return NULL;
		}
	}
	return hints;
}

/* The newest interface that libfabric, its headers at build time and this code know. */
uint32_t dofi_api_version(void)
{
	const uint32_t built = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
		       running = fi_version();
	uint32_t version = FI_VERSION_LT(running, built) ? running : built;

	return FI_VERSION_LT(version, NEWEST_API) ? version : NEWEST_API;
}

static int query(const struct fi_info *hints, const char *node, struct fi_info **list_p)
{
	int ret = dofi_getinfo(dofi_api_version(), node, node ? FI_SOURCE | FI_NUMERICHOST : 0,
			       hints, list_p);

	return ret == -FI_ENODATA ? 0 : ret;
}

static int query_row(struct search *s, const struct dofi_requirements *row)
{
	struct fi_info *hints, **list_p = &s->lists[row - dofi_requirements];
	struct sockaddr_storage addr;
	int ret = 0;

	hints = hints_for(s, row->ep_type, row->caps, row->mode, row->mr_mode);
	if (!hints)
		return -FI_ENOMEM;
	hints->domain_attr->cq_data_size = row->cq_data_size;
	hints->domain_attr->resource_mgmt = row->queues;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = row->order;
	/*
	 * libfabric finds an address that no netdev lists only if the query names it. Fabrics
	 * without IP refuse an address, or take it for something else.
	 */
	if (s->wish.has_addr)
		ret = query(hints, s->wish.params->addr, list_p);
	if (*list_p && !dofi_info_addr(*list_p, &addr)) {
		fi_freeinfo(*list_p);
		*list_p = NULL;
	}
	if (!*list_p)
		ret = query(hints, NULL, list_p);
	fi_freeinfo(hints);
	for (const struct fi_info *info = *list_p; info; info = info->next)
		judge(s, row, info);
	return ret;
}

static bool is_known(const struct search *s, const struct fi_info *info)
{
	for (size_t i = 0; i < DOFI_NREQUIREMENTS; i++)
		for (const struct fi_info *known = s->lists[i]; known; known = known->next)
			if (dofi_same_core(dofi_info_provider(known), dofi_info_provider(info)))
				return true;
	return false;
}

static void refuse_other(struct search *s, const struct fi_info *info)
{
	const struct dofi_requirements *row = dofi_requirements_of_type(info->ep_attr->type);
	char reason[160];

	if (info->ep_attr->type == FI_EP_DGRAM) {
		dofi_refusals_add(&s->refusals, info, "offers datagrams only");
		return;
	}
	if (!row) {
		dofi_refusals_add(&s->refusals, info,
				  "offers endpoints of a kind that no transport knows");
		return;
	}
	if (*s->wish.params->transport && strcmp(s->wish.params->transport, row->transport)) {
		snprintf(reason, sizeof(reason), "it takes transport=%s", row->transport);
		dofi_refusals_add(&s->refusals, info, reason);
		return;
	}
	if (refuse_lack(s, row, info))
		return;
	snprintf(reason, sizeof(reason),
		 "does not offer what the %s transport needs: it refuses them together, though "
		 "none alone",
		 row->transport);
	dofi_refusals_add(&s->refusals, info, reason);
}

/* Records refusals of the providers that gave no candidate at all. */
static void explain_others(struct search *s)
{
	const int any_mr_mode = FI_MR_LOCAL | FI_MR_RAW | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				FI_MR_PROV_KEY | FI_MR_MMU_NOTIFY | FI_MR_RMA_EVENT |
				FI_MR_ENDPOINT | FI_MR_HMEM;
	struct fi_info *hints = hints_for(s, FI_EP_UNSPEC, 0, ~(uint64_t)0, any_mr_mode), *list;

	if (!hints)
		return;
	query(hints, NULL, &list);
	fi_freeinfo(hints);
	for (const struct fi_info *info = list; info; info = info->next)
		if (!is_known(s, info))
			refuse_other(s, info);
	fi_freeinfo(list);
}

/* --- devices that are equal but for their place --- */

static bool listed(const struct fi_info *const *list, unsigned int n, const struct fi_info *info)
{
	while (n--)
		if (!strcmp(dofi_info_domain(list[n]), dofi_info_domain(info)))
			return true;
	return false;
}

static bool same_fabric(const struct fi_info *a, const struct fi_info *b)
{
	return a->fabric_attr->name && b->fabric_attr->name &&
	       !strcmp(a->fabric_attr->name, b->fabric_attr->name);
}

/*
 * Devices on one fabric are taken to reach the same peers; devices on different subnets may not.
 * Without IP all devices count as one network, even if each has a fabric name of its own (efa of
 * libfabric 1.17).
 */
static bool equals_best(const struct search *s, const struct fi_info *info)
{
	struct sockaddr_storage storage, *addr = dofi_info_addr(info, &storage) ? &storage : NULL;

	return info->nic && info->nic->bus_attr &&
	       !strcmp(dofi_info_provider(info), dofi_info_provider(s->best)) &&
	       (!addr || same_fabric(info, s->best)) &&
	       !dofi_wish_objection(&s->wish, info, addr) && rank_of(info, addr) == s->best_rank;
}

static void choose_device(struct search *s)
{
	const struct fi_info *equals[DOFI_MAX_EQUALS] = {s->best};
	unsigned int n = 1;

	for (const struct fi_info *info = s->best->next; info && n < DOFI_MAX_EQUALS;
	     info = info->next)
		if (!listed(equals, n, info) && equals_best(s, info))
			equals[n++] = info;
	s->best = equals[dofi_nic_choose(s->wish.params, equals, n, s->nic)];
}

/* --- atomic operations --- */

static bool same_address(const struct fi_info *a, const struct fi_info *b)
{
	return a->src_addrlen == b->src_addrlen &&
	       (!a->src_addrlen || !memcmp(a->src_addr, b->src_addr, a->src_addrlen));
}

static const struct fi_info *find_same(const struct fi_info *list, const struct fi_info *as)
{
	for (; list; list = list->next)
		if (!strcmp(dofi_info_domain(list), dofi_info_domain(as)) && same_address(list, as))
			return list;
	return NULL;
}

/* Replaces the chosen info by the same one with atomic operations, if the device may have them. */
static void add_atomics(struct search *s, struct fi_info **info_p)
{
	const struct dofi_requirements *row = s->best_row;
	struct fi_info *hints, *list = NULL, *with;

	if (!dofi_atomics_wanted(dofi_quirks_of(*info_p)))
		return;
	hints = hints_for(s, row->ep_type, row->caps | FI_ATOMIC, row->mode, row->mr_mode);
	if (!hints)
		return;
	query(hints, s->wish.has_addr ? s->wish.params->addr : NULL, &list);
	fi_freeinfo(hints);
	with = find_same(list, *info_p) ? fi_dupinfo(find_same(list, *info_p)) : NULL;
	fi_freeinfo(list);
	if (!with)
		return;
	fi_freeinfo(*info_p);
	*info_p = with;
}

/* --- report --- */

/* Lines of OFED may have the name of a host in the place of a domain. */
static void print_unknown_domain(const struct search *s, FILE *out)
{
	const char *domain = s->wish.params->domain;

	if (!*domain || !s->refusals.n || dofi_refusals_have(&s->refusals, domain) ||
	    if_nametoindex(domain))
		return;
	fprintf(out,
		"; neither a device nor a netdev of this host is called %s; in place of a host "
		"name write its address, such as addr=192.0.2.1",
		domain);
}

static void report_none(const struct search *s)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	dofi_wish_print(&s->wish, out);
	fputs(": ", out);
	dofi_refusals_print(&s->refusals, out);
	if (!s->refusals.n)
		dofi_absent_explain(s->wish.params->provider, out);
	print_unknown_domain(s, out);
	if (!fclose(out))
		DOFI_LOG_E("IA %s: no fabric can be used%s", s->wish.ia_name, text);
	free(text);
}

static void report_choice(const struct search *s)
{
	struct sockaddr_storage addr;
	char text[DOFI_ADDR_TEXT] = "no IP address";
	char *refused = NULL;
	size_t size;
	FILE *out;

	if (dofi_log_level < DOFI_LOG_INFO)
		return;
	if (dofi_info_addr(s->best, &addr))
		dofi_addr_text(&addr, text);
	DOFI_LOG_I("IA %s uses provider %s, domain %s, %s, transport %s", s->wish.ia_name,
		   dofi_info_provider(s->best), dofi_info_domain(s->best), text,
		   s->best_row->transport);
	DOFI_LOG_I("IA %s: %s%s%s is %s", s->wish.ia_name, dofi_info_domain(s->best),
		   *s->nic->pci_text ? " at PCI " : "", s->nic->pci_text, s->nic->why);
	out = s->refusals.n ? open_memstream(&refused, &size) : NULL;
	if (!out)
		return;
	dofi_refusals_print(&s->refusals, out);
	if (!fclose(out))
		DOFI_LOG_I("IA %s does not use %s", s->wish.ia_name, refused);
	free(refused);
}

/* --- entry points --- */

static int search_rows(struct search *s)
{
	bool any = false;

	for (size_t i = 0; i < DOFI_NREQUIREMENTS; i++) {
		int ret;

		if (*s->wish.params->transport &&
		    strcmp(s->wish.params->transport, dofi_requirements[i].transport))
			continue;
		any = true;
		ret = query_row(s, &dofi_requirements[i]);
		if (ret) {
			DOFI_LOG_E("IA %s: libfabric can't tell its fabrics: %s; fi_info and "
				   "FI_LOG_LEVEL=warn show more",
				   s->wish.ia_name, fi_strerror(-ret));
			return ret;
		}
	}
	if (!any) {
		DOFI_LOG_E("IA %s: transport=%s is not known; there are msg and rdm",
			   s->wish.ia_name, s->wish.params->transport);
		return -FI_EINVAL;
	}
	return 0;
}

static int search_best(struct search *s, struct fi_info **info_p)
{
	int ret = dofi_wish_parse(&s->wish);

	if (!ret)
		ret = search_rows(s);
	if (ret)
		return ret;
	if (!s->best || dofi_log_level >= DOFI_LOG_INFO)
		explain_others(s);
	if (!s->best) {
		report_none(s);
		return -FI_ENODATA;
	}
	choose_device(s);
	*info_p = fi_dupinfo(s->best);
	if (!*info_p)
		return -FI_ENOMEM;
	add_atomics(s, info_p);
	report_choice(s);
	return 0;
}

int dofi_select(const char *ia_name, const struct dofi_params *params, struct fi_info **info_p,
		struct dofi_nic *nic_p)
{
	struct search *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return -FI_ENOMEM;
	s->wish.ia_name = ia_name;
	s->wish.params = params;
	s->nic = nic_p;
	ret = search_best(s, info_p);
	for (size_t i = 0; i < DOFI_NREQUIREMENTS; i++)
		fi_freeinfo(s->lists[i]);
	free(s);
	return ret;
}

int dofi_select_addr(const char *ia_name, const struct dofi_params *params,
		     const struct fi_info *info, struct sockaddr_storage *addr_p)
{
	struct dofi_subnet subnet;

	if (*params->addr && dofi_addr_parse(params->addr, addr_p))
		return 0;
	if (dofi_info_addr(info, addr_p) && !dofi_addr_is_any(addr_p))
		return 0;
	if (dofi_netdev_host_addr(dofi_subnet_parse(&subnet, params->subnet) ? &subnet : NULL,
				  addr_p))
		return 0;
	DOFI_LOG_E("IA %s: this host has no IP address to listen at; give one to an interface (ip "
		   "address add), or name it by addr=",
		   ia_name);
	return -EADDRNOTAVAIL;
}
