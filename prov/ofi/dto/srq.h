/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared receive queue: a pool of receives that the EPs attached to it draw from. The transport has
 * one queue for it; a message carries the number of the connection that it came by, since the
 * fabric does not tell.
 */
#ifndef DOFI_SRQ_H
#define DOFI_SRQ_H

#include "object/ep.h"

struct fid;
struct fid_ep;

/* What dat_ep_recv_query tells: bit 0 the number of buffers, bit 1 their span. */
#define DOFI_EP_RECV_INFO 3

struct dofi_srq {
	struct dofi_obj obj; /* users: EPs attached */
	struct dofi_lock lock;
	struct fid_ep *srx; /* msg transport */
	uint32_t number;    /* among the SRQs of the IA, from 1; rdm transport: in tags */
	bool closing;
	struct dofi_pz *pz;
	uint32_t max_dtos;
	uint16_t max_iov;
	uint32_t low_watermark; /* 0: none */
	bool armed;             /* the next fall below the mark raises an event */
	uint32_t available;     /* on the queue, free for EPs */
	uint32_t outstanding;   /* available, or completed and not dequeued */

	/* Slots never move, as the fabric holds their addresses: growth adds a chunk. */
	struct dofi_srq_chunk *chunks;
	struct dofi_ring shape; /* stride and max_iov of a slot; no ring otherwise */
	struct dofi_wr **idle;  /* stack of slots that nobody holds */
	uint32_t nidle, slots;

	/* Receives that the fabric did not take yet, oldest first. */
	struct dofi_wr *waiting, *last_waiting;
	struct dofi_stall stall;

	/*
	 * Receives whose message was too long and is nobody's yet (misfit.h); guarded by
	 * engine.lock.
	 */
	struct dofi_wr *truncated;
	uint32_t ntruncated;
};

/* The fabric finished a receive of an SRQ; arguments as for dofi_reap_done. engine.lock held. */
void dofi_srq_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number, uint32_t update);

/*
 * A letter about a message has come: it, and what it kept waiting, may have its turn. engine.lock
 * held.
 */
void dofi_srq_ctrl_arrived(struct dofi_ep *ep);

/* The connection is over: messages that still wait for earlier ones are nobody's. ep->lock held. */
void dofi_srq_forget_held(struct dofi_ep *ep);

/*
 * What becomes of a misfit: it is this EP's, and ends its connection; or nobody's, and the buffer
 * waits again. engine.lock held.
 */
void dofi_srq_blame(struct dofi_ep *ep, struct dofi_wr *wr);
void dofi_srq_take_back(struct dofi_srq *srq, struct dofi_wr *wr);

/* A completion of this SRQ was dequeued: its place is free again. */
void dofi_srq_dequeued(struct dofi_srq *srq);

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
