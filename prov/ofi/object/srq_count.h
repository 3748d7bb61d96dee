/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The structure of an SRQ, and the counts that EVDs change. */
#ifndef DOFI_SRQ_COUNT_H
#define DOFI_SRQ_COUNT_H

#include "object/ep.h"

struct fid_ep;
struct dofi_srq_chunk;

/* Bits of an SRQ's number. */
#define DOFI_SRQ_NUMBER 0x1ffffu

struct dofi_srq {
	struct dofi_obj obj; /* users: EPs of the SRQ */
	struct dofi_lock lock;
	struct fid_ep *srx; /* msg transport */
	/* random number among the SRQs of the IA, not 0; rdm transport: part of tags */
	uint32_t number;
	bool closing;
	struct dofi_pz *pz;
	uint32_t max_dtos;
	uint16_t max_iov;
	uint32_t low_watermark; /* 0: none */
	/* the next time that the number falls below the mark raises an event */
	bool armed;
	uint32_t available;   /* on the queue, free for EPs */
	uint32_t outstanding; /* available, taken, or completed and not dequeued */

	/*
	 * Slots never move, because the fabric holds their addresses: an SRQ grows by another
	 * chunk.
	 */
	struct dofi_srq_chunk *chunks;
	struct dofi_ring shape; /* gives stride and max_iov of a slot; not used as a ring */
	struct dofi_wr **idle;  /* stack of free slots */
	uint32_t nidle, slots;

	/* Receives that the fabric has not taken yet, oldest first. */
	struct dofi_wr *waiting, *last_waiting;
	struct dofi_stall stall;

	/*
	 * Receives of truncated messages whose connection is not known yet (truncated.h); guarded
	 * by engine.lock.
	 */
	struct dofi_wr *truncated;
	uint32_t ntruncated;
};

/*
 * A completion of this SRQ was dequeued, or will never be, because its event is lost or its EVD is
 * freed: counts its place as free.
 */
void dofi_srq_dequeued(struct dofi_srq *srq);

#endif
