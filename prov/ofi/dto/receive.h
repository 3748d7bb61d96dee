/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receives. Those of an EP live in its ring, those of an SRQ in its pool (srq_receive.h). Here is
 * what both have in common: how one is made of a post's arguments and given to the fabric, and what
 * its message brings. A message takes a receive of an SRQ out of the pool; from then on it is one
 * of the EP that the message is for.
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
 * Fills a receive, whose op and owner the caller sets, with what its post said. The segments are of
 * this PZ. DAT_SUCCESS or the post's error. The ring's lock held, as for the next.
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

/* The error with which a receive ended: a message that did not fit may be called a success. */
int dofi_receive_error(const struct dofi_wr *wr, int err, uint64_t length);

/*
 * The fabric is done with a receive of the EP, or with one that the EP took from its SRQ, and its
 * message has its turn: what it brings besides bytes, or how it failed. Its event is for the caller
 * to raise. engine.lock and ep->lock held.
 */
void dofi_receive_end(struct dofi_ep *ep, struct dofi_wr *wr, int err, uint64_t length,
		      uint32_t update);

/* A completion without an error, of a receive of an EP. engine.lock held. */
DOFI_SLOW_PATH void dofi_receive_done(struct dofi_wr *wr, uint64_t length, uint32_t update);

/* The same with ep->lock held. */
void dofi_receive_done_held(struct dofi_wr *wr, uint64_t length, uint32_t update);

/* Of one that is not plain, or with an error. engine.lock and ep->lock held. */
void dofi_receive_done_slow(struct dofi_ep *ep, struct dofi_wr *wr, int err, uint64_t length,
			    uint32_t update);

/*
 * The control message about this message is here. A message that waited for it, and what that kept
 * waiting, has its turn. engine.lock and ep->lock held.
 */
void dofi_receive_ctrl_arrived(struct dofi_ep *ep, uint32_t message);

#endif
