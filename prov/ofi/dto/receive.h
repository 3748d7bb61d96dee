/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receives. Those of an EP live in its ring, those of an SRQ in its pool (srq_receive.h). This file
 * has what both have in common: filling a receive from the arguments of a post, giving it to the
 * fabric, and applying its message. A message for an SRQ takes a receive out of the pool; from then
 * on the receive belongs to the EP that the message is for.
 */
#ifndef DOFI_RECEIVE_H
#define DOFI_RECEIVE_H

#include "object/ep.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dofi_ia;
struct dofi_pz;

/*
 * Fills a receive, whose op and owner the caller has set, from the arguments of its post. The
 * segments have to be in this PZ. DAT_SUCCESS or the error of the post. The lock of the ring is
 * held, also for the next function.
 */
DAT_RETURN dofi_receive_fill(struct dofi_ia *ia, struct dofi_pz *pz, const struct dofi_ring *ring,
			     struct dofi_wr *wr, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);

/*
 * Gives a receive to the fabric, with a bounce buffer where it has too many segments, and with the
 * guard byte where the fabric needs one. 0; or a negative error, and the receive is QUEUED.
 */
DOFI_SLOW_PATH ssize_t dofi_receive_start(struct dofi_ia *ia, const struct dofi_ring *ring,
					  struct dofi_wr *wr);

/*
 * The error with which a receive ended, if the fabric reports success for a message that did not
 * fit.
 */
int dofi_receive_error(const struct dofi_wr *wr, int err, uint64_t length);

/*
 * The fabric has completed a receive of the EP, or one that the EP took from its SRQ, and all
 * earlier messages are handled. Applies the message's control record and credits, or its failure.
 * The caller raises the event. engine.lock and ep->lock held.
 */
void dofi_receive_end(struct dofi_ep *ep, struct dofi_wr *wr, int err, uint64_t length,
		      uint32_t update);

/* Handles a completion without error of a receive of an EP. engine.lock held. */
DOFI_SLOW_PATH void dofi_receive_done(struct dofi_wr *wr, uint64_t length, uint32_t update);

/* The same with ep->lock held. */
void dofi_receive_done_held(struct dofi_wr *wr, uint64_t length, uint32_t update);

/* Of one that is not plain, or with an error. engine.lock and ep->lock held. */
void dofi_receive_done_slow(struct dofi_ep *ep, struct dofi_wr *wr, int err, uint64_t length,
			    uint32_t update);

/*
 * The control message about this message has come: handles the message if it waited for it, and the
 * messages that waited behind it. engine.lock and ep->lock held.
 */
void dofi_receive_ctrl_arrived(struct dofi_ep *ep, uint32_t message);

#endif
