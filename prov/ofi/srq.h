/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive queue: a pool of receives that the EPs attached to it draw from. */
#ifndef DOFI_SRQ_H
#define DOFI_SRQ_H

#include "ep.h"

/* Whether SRQs exist: what dat_ia_query says of them. */
#define DOFI_SRQ_SUPPORTED 0

struct dofi_srq {
	struct dofi_obj obj; /* users: EPs attached */
	struct dofi_lock lock;
	struct dofi_pz *pz;
	uint32_t max_dtos;
	uint16_t max_iov;
	uint32_t low_watermark; /* 0: disarmed */
	uint32_t available;	/* on the queue, free for EPs */
	uint32_t outstanding;	/* available, taken, or completed and not dequeued */
};

/* A completion of this SRQ was dequeued: its place is free again. */
void dofi_srq_dequeued(struct dofi_srq *srq);

void dofi_srq_destroy(struct dofi_srq *srq);

DAT_RETURN dofi_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
			   DAT_SRQ_HANDLE *srq);
DAT_RETURN dofi_srq_free(DAT_SRQ_HANDLE srq);
DAT_RETURN dofi_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie);
DAT_RETURN dofi_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param);
DAT_RETURN dofi_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT max_dtos);
DAT_RETURN dofi_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low_watermark);

#endif
