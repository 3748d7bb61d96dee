/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits and attributes of an IA, and dat_ia_query. */
#include "api/attr.h"

#include "progress/evd.h"
#include "object/ia.h"
#include "fabric/quirks.h"
#include "dto/srq.h"
#include "object/transport.h"
#include "dto/ud.h"
#include "dto/control.h"
#include "dto/guard_byte.h"
#include "dto/bounce.h"
#include "fabric/facts.h"
#include "object/ctxtab.h"
#include "object/ep.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <stdio.h>
#include <string.h>

/* Limits if libfabric sets none, and limits of our own structures. */
#define MAX_EPS       16384u
#define MAX_DTOS      65536u
#define MAX_EVDS      65536u
#define MAX_EVD_QLEN  1048576u
#define MAX_READS     128u
#define MAX_PZS       65535u
#define MAX_TRANSFER  0x7fffffffu /* programs put it into an int */
#define CTX_RESERVE   64u /* freed entries of the context table that are not used again at once */
#define BUF_ALIGNMENT 64

#define MEM_TYPES     (DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL)
#define COMPLETION_FLAGS                                                     \
	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG | \
	 DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG)

/* --- limits --- */

/* 0 means that the provider does not report a limit. */
static uint32_t at_most(uint32_t ours, size_t theirs)
{
	return theirs && theirs < ours ? (uint32_t)theirs : ours;
}

/* The largest MTU of InfiniBand that the link carries. */
static unsigned int ib_mtu(const struct fi_info *info)
{
	size_t link = info->nic && info->nic->link_attr ? info->nic->link_attr->mtu : 0;
	unsigned int mtu = DOFI_UD_LONGEST;

	while (link && mtu > link && mtu > 256)
		mtu /= 2;
	return mtu;
}

static void init_limits(struct dofi_ia *ia)
{
	uint32_t most_iov =
		ia->params.max_segments ? (uint32_t)ia->params.max_segments : UINT16_MAX;
	bool shared_ep = ia->trans->id == DOFI_TRANS_RDM;
	struct dofi_limits *limits = &ia->limits;
	const struct fi_info *info = ia->info;
	const struct fi_domain_attr *domain = info->domain_attr;
	uint64_t max_msg = info->ep_attr->max_msg_size;
	uint32_t max_regions = at_most(DOFI_CTXTAB_ENTRIES - CTX_RESERVE, domain->mr_cnt);

	/* Devices count endpoints. Over sockets ep_cnt is a proposal: tcp says 8192, makes more. */
	limits->max_eps =
		ia->quirks & DOFI_QUIRK_QUEUE_PAIRS ? at_most(MAX_EPS, domain->ep_cnt) : MAX_EPS;
	limits->max_dtos = MAX_DTOS;
	limits->max_evds = MAX_EVDS;
	limits->max_evd_qlen = MAX_EVD_QLEN;
	/*
	 * An iWARP read has one local segment, which libfabric does not report.
	 * Soft-iWARP fills the first of several segments and reports success.
	 */
	if (ia->quirks & DOFI_QUIRK_READ_SEGMENTS)
		most_iov = 1;
	limits->fabric_iov =
		at_most(at_most(UINT16_MAX, info->tx_attr->iov_limit), info->rx_attr->iov_limit);
	limits->fabric_iov = at_most(most_iov, limits->fabric_iov - dofi_guard_segments(ia));
	limits->max_iov = limits->fabric_iov > DOFI_LEAST_IOV ? limits->fabric_iov : DOFI_LEAST_IOV;
	limits->max_lmrs = max_regions;
	limits->max_rmrs = max_regions;
	limits->max_pzs = MAX_PZS;
	/* Over connected endpoints, messages of an SRQ must name their connection. */
	limits->max_srqs = shared_ep || ia->has_data ? MAX_EPS : 0;
	limits->max_reads = MAX_READS;
	limits->max_message = at_most(MAX_TRANSFER, max_msg);
	limits->max_rdma = limits->max_message;
	limits->max_datagram = dofi_ud_possible(ia) ? ib_mtu(info) : 0;
	limits->plain = at_most(DOFI_LARGE - 1, limits->max_message);
	if (dofi_guard_segments(ia))
		limits->plain = 0; /* no receive is plain */
	limits->plain_write = ia->splits_writes ? 1 : limits->plain;
	limits->max_lmr = INT64_MAX;
}

/* --- named attributes --- */

static void name_attr(struct dofi_named *named, const char *name, const char *value)
{
	if (!value || named->count == sizeof(named->list) / sizeof(named->list[0]))
		return;
	named->list[named->count++] = (DAT_NAMED_ATTR){.name = name, .value = value};
}

static void init_named(struct dofi_ia *ia)
{
	const char *extensions = DOFI_EXTENSIONS ? "TRUE" : "FALSE";
	const char *ctrl = DOFI_EXTENSIONS && dofi_ctrl_possible(ia) ? "TRUE" : "FALSE";
	struct dofi_named *named = &ia->named;
	const struct fi_info *info = ia->info;

	snprintf(named->mtu, sizeof(named->mtu), "%u", ib_mtu(info));
	strcpy(named->mr_cached, "FALSE"); /* until we know better */
	strcpy(named->atomics, ctrl);      /* as well */
	named->count = 0;
	name_attr(named, DAT_OFI_ATTR_PROVIDER, info->fabric_attr->prov_name);
	name_attr(named, DAT_OFI_ATTR_TRANSPORT, ia->trans->name);
	name_attr(named, DAT_OFI_ATTR_DOMAIN, info->domain_attr->name);
	name_attr(named, DAT_OFI_ATTR_FABRIC, info->fabric_attr->name);
	name_attr(named, DAT_OFI_ATTR_VERSION, PACKAGE_VERSION);
	name_attr(named, DAT_OFI_ATTR_KEY, named->key);
	name_attr(named, DAT_OFI_ATTR_PCI, ia->nic.pci_text);
	name_attr(named, DAT_OFI_ATTR_NUMA_NODE, ia->nic.node_text);
	name_attr(named, DAT_OFI_ATTR_CHOICE, ia->nic.why);
	name_attr(named, DAT_OFI_ATTR_MR_CACHE, named->mr_cached);
	/* Names that programs written for InfiniBand ask for. */
	name_attr(named, "DAT_IB_PROVIDER_NAME", "OFI");
	name_attr(named, "DAT_IB_DEVICE_NAME", ia->name);
	name_attr(named, "DAT_IB_CONNECTIVITY_MODE", "DIRECT");
	name_attr(named, "DAT_IB_RDMA_READ", "TRUE");
	name_attr(named, "DAT_IB_TRANSPORT_MTU", named->mtu);
	name_attr(named, "DAT_IB_PORT_STATUS", "ACTIVE"); /* a link that is down is not selected */
	name_attr(named, "DAT_IB_PORT_NUMBER", "UNKNOWN");
	name_attr(named, "DAT_EXTENSION_INTERFACE", extensions);
	name_attr(named, "DAT_IB_FETCH_AND_ADD", named->atomics);
	name_attr(named, "DAT_IB_CMP_AND_SWAP", named->atomics);
	name_attr(named, "DAT_IB_IMMED_DATA",
		  DOFI_EXTENSIONS && ia->has_immediates ? "TRUE" : ctrl);
	name_attr(named, "DAT_IB_UD", ia->limits.max_datagram ? "TRUE" : "FALSE");
	name_attr(named, "DAT_COUNTERS", extensions);
	dofi_facts_find(&named->facts, info, ia->order, ia->quirks);
	for (unsigned int i = 0; i < named->facts.count; i++)
		name_attr(named, named->facts.list[i].name, named->facts.list[i].value);
}

void dofi_attr_init(struct dofi_ia *ia)
{
	init_limits(ia);
	init_named(ia);
}

/* --- dat_ia_query --- */

static const struct fi_device_attr *device_of(const struct dofi_ia *ia)
{
	return ia->info->nic ? ia->info->nic->device_attr : NULL;
}

/* Parses "2.35" as 2 and 35. A missing number is 0. */
static void parse_version(const char *text, DAT_UINT32 *major_p, DAT_UINT32 *minor_p)
{
	unsigned int major = 0, minor = 0;

	if (text)
		sscanf(text, "%u.%u", &major, &minor);
	*major_p = major;
	*minor_p = minor;
}

static void put_identity(const struct dofi_ia *ia, DAT_IA_ATTR *attr)
{
	const struct fi_device_attr *device = device_of(ia);

	snprintf(attr->adapter_name, sizeof(attr->adapter_name), "%s", ia->name);
	snprintf(attr->vendor_name, sizeof(attr->vendor_name), "%s",
		 device && device->vendor_id ? device->vendor_id : "");
	parse_version(device ? device->device_version : NULL, &attr->hardware_version_major,
		      &attr->hardware_version_minor);
	parse_version(device ? device->firmware : NULL, &attr->firmware_version_major,
		      &attr->firmware_version_minor);
	attr->ia_address_ptr = (DAT_IA_ADDRESS_PTR)(uintptr_t)&ia->addr;
}

static void put_ia_attr(const struct dofi_ia *ia, DAT_IA_ATTR *attr)
{
	/* DAT 2.0 has 32 bits for it. Longer regions are accepted all the same. */
	const uint64_t longest = (__typeof__(attr->max_lmr_block_size))-1;
	const struct dofi_limits *limits = &ia->limits;

	put_identity(ia, attr);
	attr->max_eps = (DAT_COUNT)limits->max_eps;
	attr->max_dto_per_ep = (DAT_COUNT)limits->max_dtos;
	attr->max_rdma_read_per_ep_in = (DAT_COUNT)limits->max_reads;
	attr->max_rdma_read_per_ep_out = (DAT_COUNT)limits->max_reads;
	attr->max_evds = (DAT_COUNT)limits->max_evds;
	attr->max_evd_qlen = (DAT_COUNT)limits->max_evd_qlen;
	attr->max_iov_segments_per_dto = (DAT_COUNT)limits->max_iov;
	attr->max_lmrs = (DAT_COUNT)limits->max_lmrs;
	attr->max_lmr_block_size =
		(__typeof__(attr->max_lmr_block_size))(limits->max_lmr < longest ? limits->max_lmr
										 : longest);
	attr->max_lmr_virtual_address = UINTPTR_MAX;
	attr->max_pzs = (DAT_COUNT)limits->max_pzs;
	attr->max_message_size = (__typeof__(attr->max_message_size))limits->max_message;
	attr->max_rdma_size = (__typeof__(attr->max_rdma_size))limits->max_rdma;
	attr->max_rmrs = (DAT_COUNT)limits->max_rmrs;
	attr->max_rmr_target_address = UINTPTR_MAX;
	attr->max_srqs = (DAT_COUNT)limits->max_srqs;
	attr->max_ep_per_srq = limits->max_srqs ? (DAT_COUNT)limits->max_eps : 0;
	attr->max_recv_per_srq = limits->max_srqs ? (DAT_COUNT)limits->max_dtos : 0;
	attr->max_iov_segments_per_rdma_read = (DAT_COUNT)limits->max_iov;
	attr->max_iov_segments_per_rdma_write = (DAT_COUNT)limits->max_iov;
	attr->max_rdma_read_in = dofi_limits_all_reads(limits);
	attr->max_rdma_read_out = dofi_limits_all_reads(limits);
	attr->max_rdma_read_per_ep_in_guaranteed = DAT_TRUE;
	attr->max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
	attr->num_transport_attr = 0;
	attr->transport_attr = NULL;
	attr->num_vendor_attr = 0;
	attr->vendor_attr = NULL;
	dofi_api_attrs(attr, NULL);
}

/* All streams can share an EVD. The member is declared const for consumers. */
static void put_merging(DAT_PROVIDER_ATTR *attr)
{
	DAT_BOOLEAN all[6][6];

	_Static_assert(sizeof(all) == sizeof(attr->evd_stream_merging_supported), "streams");
	for (size_t i = 0; i < 36; i++)
		all[i / 6][i % 6] = DAT_TRUE;
	memcpy((char *)attr + offsetof(DAT_PROVIDER_ATTR, evd_stream_merging_supported), all,
	       sizeof(all));
}

static void put_srq_attrs(const struct dofi_ia *ia, DAT_PROVIDER_ATTR *attr)
{
	bool supported = ia->limits.max_srqs;

	attr->srq_supported = supported;
	attr->srq_watermarks_supported = supported;
	attr->srq_ep_pz_difference_supported = supported;
	attr->srq_info_supported = supported;
	attr->ep_recv_info_supported = DOFI_EP_RECV_INFO;
}

static void put_provider_attr(struct dofi_ia *ia, DAT_PROVIDER_ATTR *attr)
{
	snprintf(attr->provider_name, sizeof(attr->provider_name), "dat-ofi");
	parse_version(PACKAGE_VERSION, &attr->provider_version_major,
		      &attr->provider_version_minor);
	attr->dapl_version_major = DAT_VERSION_MAJOR;
	attr->dapl_version_minor = DAT_VERSION_MINOR;
	attr->lmr_mem_types_supported = (DAT_MEM_TYPE)MEM_TYPES;
	attr->iov_ownership_on_return = DAT_IOV_CONSUMER;
	attr->dat_qos_supported = DAT_QOS_BEST_EFFORT;
	attr->completion_flags_supported = (DAT_COMPLETION_FLAGS)COMPLETION_FLAGS;
	attr->is_thread_safe = ia->thread_safe_asked;
	attr->max_private_data_size = DOFI_MAX_PRIVATE;
	attr->supports_multipath = DAT_FALSE;
	attr->ep_creator = DAT_PSP_CREATES_EP_IFASKED;
	attr->pz_support = DAT_PZ_UNIQUE;
	attr->optimal_buffer_alignment = BUF_ALIGNMENT;
	put_merging(attr);
	put_srq_attrs(ia, attr);
	attr->lmr_sync_req = DAT_FALSE;
	attr->dto_async_return_guaranteed = DAT_TRUE;
	attr->rdma_write_for_rdma_read_req = DAT_FALSE;
	attr->num_provider_specific_attr = (DAT_COUNT)ia->named.count;
	attr->provider_specific_attr = ia->named.list;
	dofi_api_attrs(NULL, attr);
}

static DAT_EVD_HANDLE async_evd_of(struct dofi_ia *ia)
{
	struct dofi_evd *evd = atomic_load(&ia->async_evd);

	return evd ? (DAT_EVD_HANDLE)evd : DAT_EVD_OUT_OF_SCOPE;
}

DAT_RETURN dofi_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
			 DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK prov_mask,
			 DAT_PROVIDER_ATTR *prov_attr)
{
	struct dofi_ia *ia = DOFI_IA(handle);

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (ia_mask & ~(DAT_IA_ATTR_MASK)DAT_IA_FIELD_ALL)
		return DOFI_BAD_ARG(3);
	if (ia_mask && !ia_attr)
		return DOFI_BAD_ARG(4);
	if (prov_mask && !prov_attr)
		return DOFI_BAD_ARG(6);
	if (async_evd)
		*async_evd = async_evd_of(ia);
	if (ia_mask)
		put_ia_attr(ia, ia_attr);
	if (prov_mask)
		put_provider_attr(ia, prov_attr);
	return DAT_SUCCESS;
}
