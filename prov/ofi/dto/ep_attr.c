/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/ep_attr.h"

#include "object/ia.h"
#include "object/ep.h"
#include "progress/evd.h"

#include <string.h>

#define DEFAULT_DTOS  128
#define DEFAULT_READS 16
#define DEFAULT_IOV   4 /* as in OFED; each makes the work requests of the EP longer */

enum dofi_dto_config dofi_ep_config(DAT_COMPLETION_FLAGS flags)
{
	if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG)
		return DOFI_CONFIG_UNSIGNALLED;
	if (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		return DOFI_CONFIG_SOLICITED;
	return DOFI_CONFIG_THRESHOLD;
}

static void defaults(const struct dofi_ia *ia, bool has_recv_evd, bool has_req_evd,
		     DAT_EP_ATTR *attr)
{
	const struct dofi_limits *limits = &ia->limits;

	memset(attr, 0, sizeof(*attr));
	attr->service_type = DAT_SERVICE_TYPE_RC;
	attr->max_message_size = limits->max_message;
	attr->max_rdma_size = limits->max_rdma;
	attr->qos = DAT_QOS_BEST_EFFORT;
	attr->recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr->request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	attr->max_recv_dtos = has_recv_evd ? DEFAULT_DTOS : 0;
	attr->max_request_dtos = has_req_evd ? DEFAULT_DTOS : 0;
	attr->max_recv_iov = attr->max_request_iov = DEFAULT_IOV;
	attr->max_rdma_read_iov = attr->max_rdma_write_iov = DEFAULT_IOV;
	attr->max_rdma_read_in = attr->max_rdma_read_out = DEFAULT_READS;
	attr->srq_soft_hw = DAT_HW_DEFAULT;
}

static bool within(DAT_COUNT value, uint64_t limit)
{
	return value >= 0 && (uint64_t)value <= limit;
}

static DAT_COUNT at_most(DAT_COUNT value, uint32_t limit)
{
	return within(value, limit) ? value : (DAT_COUNT)limit;
}

static bool recv_flags_ok(DAT_COMPLETION_FLAGS flags)
{
	return flags == DAT_COMPLETION_DEFAULT_FLAG || flags == DAT_COMPLETION_UNSIGNALLED_FLAG ||
	       flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG ||
	       flags == DAT_COMPLETION_EVD_THRESHOLD_FLAG;
}

/* SUPPRESS allows posts to suppress events, which is always allowed; programs set it (PRG-06). */
static bool request_flags_ok(DAT_COMPLETION_FLAGS flags)
{
	unsigned int rest = (unsigned int)flags & ~(unsigned int)DAT_COMPLETION_SUPPRESS_FLAG;

	return rest == DAT_COMPLETION_DEFAULT_FLAG || rest == DAT_COMPLETION_UNSIGNALLED_FLAG ||
	       rest == DAT_COMPLETION_EVD_THRESHOLD_FLAG;
}

/* RC, and in generations with extensions UD. */
static bool service_known(const DAT_EP_ATTR *asked)
{
	return asked->service_type == DAT_SERVICE_TYPE_RC ||
	       (DOFI_EXTENSIONS && (int)asked->service_type == DOFI_SERVICE_TYPE_UD);
}

static uint64_t longest_message(const struct dofi_limits *limits, const DAT_EP_ATTR *asked)
{
	return dofi_is_datagram(asked) ? limits->max_datagram : limits->max_message;
}

/* MVAPICH2 asks for as much without a query, because ports of InfiniBand report it. */
#define IB_LONGEST (UINT64_C(1) << 31)

static bool size_ok(uint64_t size, uint64_t limit, bool datagrams)
{
	return size <= limit || (size <= IB_LONGEST && !datagrams);
}

/* dat_ia_query also reports the sum of all EPs. Who asks for it gets what one EP can have. */
static bool reads_ok(const struct dofi_limits *limits, DAT_COUNT reads)
{
	return within(reads, limits->max_reads) || reads == dofi_limits_all_reads(limits);
}

static bool within_limits(const struct dofi_limits *limits, const DAT_EP_ATTR *asked)
{
	bool datagrams = dofi_is_datagram(asked);

	return size_ok(asked->max_message_size, longest_message(limits, asked), datagrams) &&
	       size_ok(asked->max_rdma_size, limits->max_rdma, datagrams) &&
	       recv_flags_ok(asked->recv_completion_flags) &&
	       request_flags_ok(asked->request_completion_flags) &&
	       within(asked->max_recv_dtos, limits->max_dtos) &&
	       within(asked->max_request_dtos, limits->max_dtos) &&
	       within(asked->max_recv_iov, limits->max_iov) &&
	       within(asked->max_request_iov, limits->max_iov) &&
	       reads_ok(limits, asked->max_rdma_read_in) &&
	       reads_ok(limits, asked->max_rdma_read_out) &&
	       within(asked->max_rdma_read_iov, limits->max_iov) &&
	       within(asked->max_rdma_write_iov, limits->max_iov) &&
	       asked->ep_transport_specific_count >= 0 && asked->ep_provider_specific_count >= 0;
}

/* 0 leaves the choice to the provider, which has a default. Any other value is taken. */
#define TAKE(field)                                   \
	do {                                          \
		if (asked->field)                     \
			attr_p->field = asked->field; \
	} while (0)

/* The default is the limit. */
#define TAKE_UP_TO_THE_LIMIT(field)               \
	do {                                      \
		if (asked->field < attr_p->field) \
			TAKE(field);              \
	} while (0)

DAT_RETURN dofi_ep_attr_resolve(const struct dofi_ia *ia, const DAT_EP_ATTR *asked,
				bool has_recv_evd, bool has_req_evd, bool has_srq,
				DAT_EP_ATTR *attr_p)
{
	defaults(ia, has_recv_evd, has_req_evd, attr_p);
	if (has_srq)
		attr_p->recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	if (!asked)
		return DAT_SUCCESS;
	if (!service_known(asked))
		return DOFI_ERR(DAT_INVALID_PARAMETER, 0);
	if (dofi_is_datagram(asked) && (has_srq || !ia->limits.max_datagram))
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	if (!within_limits(&ia->limits, asked))
		return DOFI_ERR(DAT_INVALID_PARAMETER, 0);
	if (asked->qos != DAT_QOS_BEST_EFFORT)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	if ((!has_recv_evd && !has_srq && asked->max_recv_dtos) ||
	    (!has_req_evd && asked->max_request_dtos))
		return DOFI_ERR(DAT_INVALID_PARAMETER, 0);
	attr_p->service_type = asked->service_type;
	attr_p->max_message_size = longest_message(&ia->limits, asked);
	TAKE_UP_TO_THE_LIMIT(max_message_size);
	TAKE_UP_TO_THE_LIMIT(max_rdma_size);
	TAKE(max_recv_dtos);
	TAKE(max_request_dtos);
	TAKE(max_recv_iov);
	TAKE(max_request_iov);
	TAKE(max_rdma_read_iov);
	TAKE(max_rdma_write_iov);
	attr_p->recv_completion_flags = asked->recv_completion_flags;
	attr_p->request_completion_flags = asked->request_completion_flags;
	attr_p->max_rdma_read_in = at_most(asked->max_rdma_read_in, ia->limits.max_reads);
	attr_p->max_rdma_read_out = at_most(asked->max_rdma_read_out, ia->limits.max_reads);
	attr_p->srq_soft_hw = asked->srq_soft_hw;
	return DAT_SUCCESS;
}
