/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/requirements.h"

#include "fabric/quirks.h"
#include "fabric/select.h"

#include <stdio.h>

#define MR_MODE     (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

/*
 * Mode bits that the rdm transport supports: contexts have memory (op_context.h), and the segments
 * of an operation stay unchanged in its work request until it completes.
 */
#define ASKED_MODES (DOFI_CONTEXT_MODES | FI_ASYNC_IOV)

/*
 * A provider offers a fence, and the order of writes, only if the hints ask for it, and nothing at
 * all if it does not have what they ask for. So the rows ask for less and less.
 */
const struct dofi_requirements dofi_requirements[DOFI_NREQUIREMENTS] = {
	{"msg", FI_EP_MSG, FI_MSG | FI_RMA, MR_MODE, FI_RX_CQ_DATA, 0, FI_RM_UNSPEC, 0},
	{"rdm", FI_EP_RDM, FI_TAGGED | FI_RMA | FI_FENCE, MR_MODE | FI_MR_ENDPOINT, ASKED_MODES, 4,
	 FI_RM_ENABLED, FI_ORDER_SAS | FI_ORDER_WAW},
	{"rdm", FI_EP_RDM, FI_TAGGED | FI_RMA, MR_MODE | FI_MR_ENDPOINT, ASKED_MODES, 4,
	 FI_RM_ENABLED, FI_ORDER_SAS},
	{"rdm", FI_EP_RDM, FI_TAGGED | FI_RMA, MR_MODE | FI_MR_ENDPOINT, ASKED_MODES, 4,
	 FI_RM_ENABLED, 0},
};

const struct dofi_requirements *dofi_requirements_of_type(enum fi_ep_type type)
{
	for (size_t i = DOFI_NREQUIREMENTS; i-- > 0;)
		if (dofi_requirements[i].ep_type == type)
			return &dofi_requirements[i];
	return NULL;
}

/* The mode bits of all levels. Each of them is a demand. */
static uint64_t modes_of(const struct fi_info *info)
{
	return info->mode | info->domain_attr->mode | (info->tx_attr ? info->tx_attr->mode : 0) |
	       (info->rx_attr ? info->rx_attr->mode : 0);
}

/*
 * Since libfabric 1.21 a program can promise to make control calls one at a time. This one does
 * not.
 */
static bool wants_control_in_turn(const struct fi_domain_attr *attr)
{
	return (int)attr->control_progress > FI_PROGRESS_MANUAL ||
	       (int)attr->data_progress > FI_PROGRESS_MANUAL;
}

static bool keeps_order(const struct fi_info *info)
{
	if (dofi_quirks_of(info) & DOFI_QUIRK_UNSTATED_ORDER)
		return true;
	return info->tx_attr && info->rx_attr &&
	       info->tx_attr->msg_order & info->rx_attr->msg_order & FI_ORDER_SAS;
}

/*
/*
 * The modes of registrations that the row has to allow. FI_MR_HMEM concerns memory of accelerators,
 * which is never registered here; opx that was built for them demands it of every application.
 */
static int mr_modes_of(const struct fi_info *info)
{
	return info->domain_attr->mr_mode & ~FI_MR_HMEM;
}

/*
 * Whether a capability is missing, or a mode is demanded that the row does not allow; text says
 * which.
 */
static bool lacks_bits(const struct dofi_requirements *row, const struct fi_info *info, char *text,
		       size_t size)
{
	uint64_t caps = row->caps & ~info->caps, mode = modes_of(info) & ~row->mode;
	int mr_mode = mr_modes_of(info) & ~row->mr_mode;
	char words[64];

	if (caps)
		snprintf(text, size, "it lacks %s",
			 fi_tostr_r(words, sizeof(words), &caps, FI_TYPE_CAPS));
	else if (mr_mode)
		snprintf(text, size, "it insists on %s",
			 fi_tostr_r(words, sizeof(words), &mr_mode, FI_TYPE_MR_MODE));
	else if (mode)
		snprintf(text, size, "it insists on %s",
			 fi_tostr_r(words, sizeof(words), &mode, FI_TYPE_MODE));
	return caps || mr_mode || mode;
}

static bool lacks_model(const struct dofi_requirements *row, const struct fi_info *info, char *text,
			size_t size)
{
	const struct fi_domain_attr *attr = info->domain_attr;
	char words[64];

	if (attr->cq_data_size < row->cq_data_size)
		snprintf(text, size, "it has %zu bytes of completion data, needed are %zu",
			 attr->cq_data_size, row->cq_data_size);
	else if (attr->threading != FI_THREAD_SAFE)
		snprintf(text, size, "it is not safe for threads (%s)",
			 fi_tostr_r(words, sizeof(words), &attr->threading, FI_TYPE_THREADING));
	else if (wants_control_in_turn(attr))
		snprintf(
			text, size,
			"its control calls are not safe for threads (FI_PROGRESS_CONTROL_UNIFIED)");
	else if (row->queues == FI_RM_ENABLED && attr->resource_mgmt == FI_RM_DISABLED)
		snprintf(text, size, "it lets its queues overflow (FI_RM_DISABLED)");
	else if (!keeps_order(info))
		snprintf(text, size, "its messages overtake each other (no FI_ORDER_SAS)");
	else
		return false;
	return true;
}

bool dofi_requirements_lack(const struct dofi_requirements *row, const struct fi_info *info,
			    char *text, size_t size)
{
	return lacks_bits(row, info, text, size) || lacks_model(row, info, text, size);
}
