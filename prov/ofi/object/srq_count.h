/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The structure of an SRQ, and what the EVDs count of it. */
#ifndef DOFI_SRQ_COUNT_H
#define DOFI_SRQ_COUNT_H

#include "object/ep.h"

struct fid_ep;
struct dofi_srq_chunk;

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
	 * Receives whose message was too long and is nobody's yet (truncated.h); guarded by
	 * engine.lock.
	 */
	struct dofi_wr *truncated;
	uint32_t ntruncated;
};

/* A completion of this SRQ was dequeued: its place is free again. */
void dofi_srq_dequeued(struct dofi_srq *srq);

#endif
