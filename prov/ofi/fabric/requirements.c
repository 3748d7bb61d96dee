/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/requirements.h"

#include "fabric/quirks.h"
#include "fabric/select.h"

#include <stdio.h>

#define MR_MODE     (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

/*
 * Mode bits that the rdm transport lives with. Contexts have memory (op_context.h), and the
 * segments of an operation stay as they are in its work request until it completes.
 */
#define ASKED_MODES (DOFI_CONTEXT_MODES | FI_ASYNC_IOV)

/*
 * A fence must be asked for, as the order of writes beside it, and where there is none nothing is
 * offered to those who ask.
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

/* The row that asks least of this kind. */
const struct dofi_requirements *dofi_requirements_of_type(enum fi_ep_type type)
{
	for (size_t i = DOFI_NREQUIREMENTS; i-- > 0;)
		if (dofi_requirements[i].ep_type == type)
			return &dofi_requirements[i];
	return NULL;
}

/* The modes of all levels: each has to be satisfied, wherever it stands. */
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
 * What has to be done for registrations. FI_MR_HMEM is about memory of accelerators, which nobody
 * registers here; opx built for them states it to all.
 */
static int mr_modes_of(const struct fi_info *info)
{
	return info->domain_attr->mr_mode & ~FI_MR_HMEM;
}

/* Rights and duties that are numbers: what is missing, or demanded beyond the row, in words. */
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

/* Which attribute of this info the row can't live with. */
bool dofi_requirements_lack(const struct dofi_requirements *row, const struct fi_info *info,
			    char *text, size_t size)
{
	return lacks_bits(row, info, text, size) || lacks_model(row, info, text, size);
}
