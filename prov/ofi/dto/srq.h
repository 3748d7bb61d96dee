/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared receive queue: a pool of receives that the EPs attached to it draw from. The transport has
 * one queue for it; a message carries the number of the connection that it came by, since the
 * fabric does not tell.
 */
#ifndef DOFI_SRQ_H
#define DOFI_SRQ_H

#include "object/ep.h"
#include "object/srq_count.h"

struct fid;
struct fid_ep;

/* What dat_ep_recv_query tells: bit 0 the number of buffers, bit 1 their span. */
#define DOFI_EP_RECV_INFO 3

/* The fabric finished a receive of an SRQ; arguments as for dofi_reap_done. engine.lock held. */
void dofi_srq_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number, uint32_t update);

/*
 * A control message about a message has come: it, and what it kept waiting, may have its turn.
 * engine.lock held.
 */
void dofi_srq_ctrl_arrived(struct dofi_ep *ep);

/* The connection is over: messages that still wait for earlier ones are nobody's. ep->lock held. */
void dofi_srq_forget_held(struct dofi_ep *ep);

/*
 * What becomes of a truncated message: it is this EP's, and ends its connection; or nobody's, and
 * the buffer waits again. engine.lock held.
 */
void dofi_srq_blame(struct dofi_ep *ep, struct dofi_wr *wr);
void dofi_srq_take_back(struct dofi_srq *srq, struct dofi_wr *wr);

/*
 * Asks the endpoint for the receives back; they come by completions until `available` is 0. What
 * does not come is left behind by dofi_srq_abandon, which tells how many that are. engine.lock
 * held.
 */
void dofi_srq_cancel(struct dofi_srq *srq, struct fid *endpoint);
uint32_t dofi_srq_abandon(struct dofi_srq *srq);

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
