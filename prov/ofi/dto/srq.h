/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared receive queue: a pool of receives (srq_receive.h) that the EPs attached to it draw from.
 * The transport has one queue for it.
 */
#ifndef DOFI_SRQ_H
#define DOFI_SRQ_H

#include "object/ep.h"

/*
 * Attribute: which results dat_ep_recv_query gives. Bit 0: the number of buffers, bit 1: their
 * span.
 */
#define DOFI_EP_RECV_INFO 3

void dofi_srq_destroy(struct dofi_srq *srq);

DAT_RETURN dofi_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
			   DAT_SRQ_HANDLE *srq);
DAT_RETURN dofi_srq_free(DAT_SRQ_HANDLE srq);
DAT_RETURN dofi_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param);
DAT_RETURN dofi_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT max_dtos);
DAT_RETURN dofi_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low_watermark);

#endif
