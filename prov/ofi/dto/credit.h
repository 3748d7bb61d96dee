/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Credits: a Send stays in its ring until the peer has a receive for it. On a fabric that lets an
 * unexpected message block the byte stream, or buffers it, RDMA behind it would wait for ever, or
 * memory would grow.
 *
 * Both counts are totals of one connection and run freely: the receiver tells how many receives it
 * has posted so far, the sender never has more messages under way. The count travels with the
 * completion data of messages when there are new credits, and else, before the peer runs dry, by
 * itself.
 *
 * iWARP has no completion data, and ends the connection of a message that finds no receive. There
 * each EP has a word in memory that its peer may write to: a credit update is a small write of the
 * count, and a sender looks into its word when it has used up what it knew, again and again until
 * there are new credits.
 */
#ifndef DOFI_CREDIT_H
#define DOFI_CREDIT_H

#include "object/ia_parts.h"

#include "object/ep.h"

struct fid_mr;

/*
 * A credit update for the peer, 32 bits: in the completion data of a message, or by itself. The
 * total of receives has 18 of them, twice what can be under way, so the difference to the former
 * total says which is newer. The number of the message among those of its connection has 11, far
 * more than an SRQ lets be under way.
 */
#define DOFI_UPDATE_SOLICITED    1u
#define DOFI_UPDATE_CREDIT       2u
#define DOFI_UPDATE_CTRL_MSG     4u /* a control message is about this message; control_message.h */
#define DOFI_UPDATE_NUMBER_SHIFT 3
#define DOFI_UPDATE_NUMBER       0x7ffu
#define DOFI_UPDATE_CREDIT_SHIFT 14

/*
 * A credit update that goes by itself, a greeting, which has no update, or a mark or its answer
 * (ud_window.h).
 */
struct dofi_ctrl_credit {
	uint32_t number, secret; /* as those of a control message */
	uint32_t update;
};

/*
 * Whether messages without a receive do harm on this fabric, and what can be done then; info and
 * trans are chosen.
 */
enum dofi_credit_mode dofi_credit_choose(const struct dofi_ia *ia);

int dofi_credit_init(struct dofi_ia *ia); /* 0 or a negative error */
void dofi_credit_fini(struct dofi_ia *ia);

/* A handshake begins: counts from here on. Returns what goes into it; ep->lock held. */
uint32_t dofi_credit_start(struct dofi_ep *ep);

/* The connection is established: from here on the peer is told what is posted. ep->lock held. */
void dofi_credit_open(struct dofi_ep *ep);

/*
 * A credit update came with a message: credits may overtake each other, and the newest counts.
 * ep->lock held.
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
/* A credit update that came by itself. ep->lock held. */
void dofi_credit_apply(struct dofi_ep *ep, uint32_t update);
/* The same for the connection of this number. engine.lock held. */
void dofi_credit_arrived(struct dofi_ia *ia, uint32_t number, uint32_t update);

/* Credits by itself what is urgent. ep->lock held. */
void dofi_credit_announce(struct dofi_ep *ep);

/* There are no messages to come that could take the credit update along. ep->lock held. */
static inline bool dofi_credit_is_written(const struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	return ep->credit_mode == DOFI_CREDITS_WRITTEN;
}

/*
 * The credit update as a write, which nobody waits for and few fabrics inject (Soft-iWARP 2 bytes).
 * ep->lock held; 0 or a negative error.
 */
ssize_t dofi_credit_write(struct dofi_ep *ep);

/*
 * The sender knows of no receive any more: does its word? If not, it will be looked at again.
 * ep->lock held.
 */
DOFI_COLD bool dofi_credit_look(struct dofi_ep *ep);

/* An SRQ's buffers belong to everybody: each connection gets this many beyond what it has taken. */
#define DOFI_CREDIT_SHARE 64u

/*
 * Receives of this connection so far that the fabric has, and those of the handshake, which were
 * posted before there was a path. Not those that wait for room in the fabric: a message for them
 * could stand in the way of what makes the room.
 */
static inline uint32_t dofi_credit_total(const struct dofi_ep *ep)
{
	uint32_t issued = ep->recv.issue - ep->recv_base;

	if (ep->srq)
		return ep->nreceived + DOFI_CREDIT_SHARE;
	return (int32_t)(issued - ep->announced) > 0 ? issued : ep->announced;
}

/* The peer knows of no more than half of what it could send. */
static inline bool dofi_credit_due(const struct dofi_ep *ep)
{
	uint32_t update;

	if (ep->credit_mode != DOFI_CREDITS_CARRIED)
		return false;
	update = dofi_credit_total(ep) - ep->announced;
	return update && ep->announced - ep->nreceived <= update;
}

/* Of no more than a third: no message took the credit update along, so it goes by itself. */
static inline bool dofi_credit_urgent(const struct dofi_ep *ep)
{
	uint32_t update;

	if (!ep->credit_mode)
		return false;
	update = dofi_credit_total(ep) - ep->announced;
	return update && 2 * (ep->announced - ep->nreceived) <= update;
}

/* The next Send must wait for the peer to post a receive. */
static inline bool dofi_credit_out(const struct dofi_ep *ep)
{
	return ep->peer.credits && ep->nsent == ep->credit_total;
}

static inline uint32_t dofi_credit_update(const struct dofi_ep *ep, bool solicited)
{
	uint32_t update = solicited ? DOFI_UPDATE_SOLICITED : 0;

	return ep->credit_mode ? update | DOFI_UPDATE_CREDIT |
					 dofi_credit_total(ep) << DOFI_UPDATE_CREDIT_SHIFT
			       : update;
}

#endif
