/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Credits: a Send stays in its ring until the peer has a receive for it. On a fabric that lets an
 * unexpected message block the byte stream, or buffers it, RDMA behind it would wait for ever, or
 * memory would grow.
 *
 * Both counts are totals of one connection and wrap: the receiver reports how many receives it has
 * posted so far, and the sender has never sent more messages. The completion data of messages carry
 * the count when there are new credits. If no message does so, a separate credit update is sent
 * before the peer runs out of credits.
 *
 * iWARP has no completion data, and ends the connection when a message finds no receive. There each
 * EP has a credit word, which its peer writes: a credit update is a small write of the count. A
 * sender that has used up its credits polls its word until there are new ones.
 */
#ifndef DOFI_CREDIT_H
#define DOFI_CREDIT_H

#include "object/ia_parts.h"

#include "object/ep.h"

struct fid_mr;

/*
 * Layout of an update of 32 bits, in the completion data of a message or in a separate credit
 * update. The total of receives has 18 bits, twice the number that can be under way, so the
 * difference of two totals shows which one is newer. The number of the message in its connection
 * has 11 bits, far more than can be under way for an SRQ.
 */
#define DOFI_UPDATE_SOLICITED    1u
#define DOFI_UPDATE_CREDIT       2u
#define DOFI_UPDATE_CTRL_MSG     4u /* a control message is about this message; control_message.h */
#define DOFI_UPDATE_NUMBER_SHIFT 3
#define DOFI_UPDATE_NUMBER       0x7ffu
#define DOFI_UPDATE_CREDIT_SHIFT 14

/*
 * A separate credit update; a greeting, without an update; or a mark or its answer (ud_window.h).
 */
struct dofi_ctrl_credit {
	uint32_t number, secret; /* as in a control message */
	uint32_t update;
};

/*
 * How peers get credits on this fabric, if messages without a receive do harm there. Called when
 * info and trans are chosen.
 */
enum dofi_credit_mode dofi_credit_choose(const struct dofi_ia *ia);

int dofi_credit_init(struct dofi_ia *ia); /* 0 or a negative error */
void dofi_credit_fini(struct dofi_ia *ia);

/* A handshake begins: starts the counts. Returns the total for the handshake. ep->lock held. */
uint32_t dofi_credit_start(struct dofi_ep *ep);

/* The connection is established: from now on the peer gets credit updates. ep->lock held. */
void dofi_credit_open(struct dofi_ep *ep);

/*
 * Takes the credits of an update that came with a message. Updates may overtake each other: the
 * newest counts. ep->lock held.
 */
static inline void dofi_credit_take(struct dofi_ep *ep, uint32_t update)
{
	dofi_assert_held(&ep->lock);
	if (update & DOFI_UPDATE_CREDIT) {
		int32_t more =
			(int32_t)((update >> DOFI_UPDATE_CREDIT_SHIFT << DOFI_UPDATE_CREDIT_SHIFT) -
				  (ep->credit_total << DOFI_UPDATE_CREDIT_SHIFT));

		if (more > 0)
			ep->credit_total += (uint32_t)more >> DOFI_UPDATE_CREDIT_SHIFT;
	}
}
/* Takes a separate credit update, and issues requests that waited for it. ep->lock held. */
void dofi_credit_apply(struct dofi_ep *ep, uint32_t update);
/* The same for the connection of this number. engine.lock held. */
void dofi_credit_arrived(struct dofi_ia *ia, uint32_t number, uint32_t update);

/* Sends a separate credit update if one is urgent. ep->lock held. */
void dofi_credit_announce(struct dofi_ep *ep);

/* Whether credit updates are writes, which messages cannot carry. ep->lock held. */
static inline bool dofi_credit_is_written(const struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	return ep->credit_mode == DOFI_CREDITS_WRITTEN;
}

/*
 * Writes a credit update to the peer's credit word, without a work request. It is not injected: few
 * fabrics can (Soft-iWARP injects 2 bytes). ep->lock held; 0 or a negative error.
 */
ssize_t dofi_credit_write(struct dofi_ep *ep);

/*
 * The sender has used up its credits: reads its credit word. Without new credits, false, and the
 * engine reads the word again later. ep->lock held.
 */
DOFI_COLD bool dofi_credit_look(struct dofi_ep *ep);

/*
 * The buffers of an SRQ are shared: each connection gets this many credits beyond the messages that
 * it has received.
 */
#define DOFI_CREDIT_SHARE 64u

/*
 * The larger of two totals: the receives that the fabric has, and what the peer was told last (the
 * handshake counts receives that the fabric does not have yet). Receives that wait for room in the
 * fabric do not count: a message for them could block the completions that make this room.
 */
static inline uint32_t dofi_credit_total(const struct dofi_ep *ep)
{
	uint32_t issued = ep->recv.issue - ep->recv_base;

	if (ep->srq)
		return ep->nreceived + DOFI_CREDIT_SHARE;
	return (int32_t)(issued - ep->announced) > 0 ? issued : ep->announced;
}

/*
 * Whether the next message should carry an update: the peer has no more credits than the update
 * would add.
 */
static inline bool dofi_credit_due(const struct dofi_ep *ep)
{
	uint32_t update;

	if (ep->credit_mode != DOFI_CREDITS_CARRIED)
		return false;
	update = dofi_credit_total(ep) - ep->announced;
	return update && ep->announced - ep->nreceived <= update;
}

/*
 * Whether a separate update is due: the peer has no more than half of the credits that the update
 * would add.
 */
static inline bool dofi_credit_urgent(const struct dofi_ep *ep)
{
	uint32_t update;

	if (!ep->credit_mode)
		return false;
	update = dofi_credit_total(ep) - ep->announced;
	return update && 2 * (ep->announced - ep->nreceived) <= update;
}

/* Whether the next Send has to wait until the peer posts a receive. */
static inline bool dofi_credit_out(const struct dofi_ep *ep)
{
	/* In this order: `peer` is in a cache line that most messages do not need. */
	return ep->nsent == ep->credit_total && ep->peer.credits;
}

static inline uint32_t dofi_credit_update(const struct dofi_ep *ep, bool solicited)
{
	uint32_t update = solicited ? DOFI_UPDATE_SOLICITED : 0;

	return ep->credit_mode ? update | DOFI_UPDATE_CREDIT |
					 dofi_credit_total(ep) << DOFI_UPDATE_CREDIT_SHIFT
			       : update;
}

/* Whether the peer notifies only for messages that ask for it, and this one does. */
static inline bool dofi_is_solicited(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return (wr->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG) && ep->peer.wants_solicited;
}

/* All that goes with a message: credits, and what the receiver has to know about it. */
static inline uint32_t dofi_message_update(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	bool noted = ep->ctrl_msgs && dofi_op_needs_ctrl(wr->op);

	return dofi_credit_update(ep, dofi_is_solicited(ep, wr)) |
	       (noted ? DOFI_UPDATE_CTRL_MSG : 0);
}

#endif
