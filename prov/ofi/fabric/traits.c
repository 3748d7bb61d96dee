/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/traits.h"

#include "fabric/quirks.h"

#include <rdma/fabric.h>

enum dofi_order dofi_order_of(const struct fi_info *info)
{
	if (info->tx_attr->msg_order & info->rx_attr->msg_order & FI_ORDER_SAW)
		return DOFI_ORDERED;
	return info->caps & FI_FENCE ? DOFI_FENCE : DOFI_HOLD;
}

bool dofi_reads_overtake(const struct fi_info *info)
{
	return !(info->tx_attr->msg_order & info->rx_attr->msg_order & FI_ORDER_RAW) ||
	       info->ep_attr->max_order_raw_size < info->ep_attr->max_msg_size;
}

/* psm3 keeps the order of small writes only, which does not count as order. */
bool dofi_writes_overtake(const struct fi_info *info)
{
	return !(info->tx_attr->msg_order & info->rx_attr->msg_order & FI_ORDER_WAW) ||
	       info->ep_attr->max_order_waw_size < info->ep_attr->max_msg_size;
}

bool dofi_stores_in_order(uint64_t quirks, bool keeps_order)
{
	return quirks & DOFI_QUIRK_STORES_IN_ORDER &&
	       (keeps_order || quirks & DOFI_QUIRK_QUEUE_PAIRS);
}

bool dofi_stores_targets_in_order(const struct fi_info *info, uint64_t quirks)
{
	return quirks & DOFI_QUIRK_STREAM && info->tx_attr->rma_iov_limit >= 2;
}

bool dofi_has_data(const struct fi_info *info, uint64_t quirks)
{
	return info->domain_attr->cq_data_size && !(quirks & DOFI_QUIRK_NO_DATA);
}

bool dofi_has_immediates(const struct fi_info *info, uint64_t quirks)
{
	return dofi_has_data(info, quirks) &&
	       ((info->mode | info->rx_attr->mode) & FI_RX_CQ_DATA) &&
	       info->domain_attr->cq_data_size >= sizeof(uint32_t);
}

/*
 * So it is on InfiniBand. Elsewhere a write may be complete at its initiator before it has arrived:
 * over TCP, and also over iWARP. If the target frees the memory then, the late write must not find
 * an ended key, which would break the connection.
 */
bool dofi_ends_keys(uint64_t quirks)
{
	return (quirks & (DOFI_QUIRK_QUEUE_PAIRS | DOFI_QUIRK_TCP_PORTS)) == DOFI_QUIRK_QUEUE_PAIRS;
}

/*
 * On such fabrics a completion says only that the bytes were copied, so a completion can be saved.
 * On others it reports the result of the transfer.
 */
uint64_t dofi_inject_max(const struct fi_info *info, uint64_t quirks)
{
	return quirks & DOFI_QUIRK_COPIES ? info->tx_attr->inject_size : 0;
}
