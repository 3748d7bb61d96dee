/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/srq_receive.h"

#include "base/log.h"
#include "dto/bounce.h"
#include "dto/control_message.h"
#include "dto/credit.h"
#include "dto/guard_byte.h"
#include "dto/issue.h"
#include "dto/op_context.h"
#include "dto/orphan.h"
#include "dto/receive.h"
#include "dto/release.h"
#include "dto/ring.h"
#include "dto/watermark.h"
#include "fabric/quirks.h"
#include "object/ia.h"
#include "object/srq_count.h"
#include "object/transport.h"
#include "object/upcalls.h"
#include "progress/stall.h"

#include <errno.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

struct dofi_srq_chunk {
	struct dofi_srq_chunk *next;
	struct dofi_ring slots; /* the ring counts all of them as issued */
};

int dofi_srq_add_slots(struct dofi_srq *srq, uint32_t n)
{
	struct dofi_srq_chunk *chunk = malloc(sizeof(*chunk));
	struct dofi_wr **idle = realloc(srq->idle, (srq->slots + n) * sizeof(struct dofi_wr *));
	struct dofi_ring ring;

	if (idle)
		srq->idle = idle;
	if (!chunk || !idle ||
	    dofi_ring_init(srq->obj.ia, &ring, n,
			   srq->max_iov + dofi_guard_segments(srq->obj.ia))) {
		free(chunk);
		return -ENOMEM;
	}
	chunk->slots = ring;
	chunk->slots.issue = chunk->slots.tail = ring.mask + 1;
	chunk->next = srq->chunks;
	srq->chunks = chunk;
	srq->shape = ring;
	srq->slots += n;
	for (uint32_t i = 0; i < n; i++)
		srq->idle[srq->nidle++] = dofi_ring_at(&ring, i);
	return 0;
}

void dofi_srq_free_slots(struct dofi_srq *srq)
{
	while (srq->chunks) {
		struct dofi_srq_chunk *next = srq->chunks->next;

		dofi_ring_fini(&srq->chunks->slots);
		free(srq->chunks);
		srq->chunks = next;
	}
	free(srq->idle);
	srq->idle = NULL;
}

/* --- the pool --- */

static void empty_slot(struct dofi_wr *wr, uint64_t length)
{
	if (wr->split)
		dofi_bounce_give(wr, length);
}

/* Removes the receive from the SRQ without an event. */
static void give_up(struct dofi_srq *srq, struct dofi_wr *wr)
{
	dofi_assert_held(&srq->lock);
	empty_slot(wr, 0);
	wr->state = DOFI_WR_QUEUED;
	srq->idle[srq->nidle++] = wr;
	srq->available--;
	srq->outstanding--;
}

void dofi_srq_drop_waiting(struct dofi_srq *srq)
{
	dofi_lock(&srq->lock);
	srq->closing = true;
	dofi_stall_end(srq->obj.ia, &srq->stall);
	while (srq->waiting) {
		struct dofi_wr *wr = srq->waiting;

		srq->waiting = wr->recv.next;
		give_up(srq, wr);
	}
	dofi_unlock(&srq->lock);
}

static void wait_for_room(struct dofi_srq *srq, struct dofi_wr *wr)
{
	wr->recv.next = NULL;
	if (srq->waiting)
		srq->last_waiting->recv.next = wr;
	else
		srq->waiting = wr;
	srq->last_waiting = wr;
	dofi_stall(srq->obj.ia, &srq->stall);
}

static ssize_t start(struct dofi_srq *srq, struct dofi_wr *wr)
{
	return dofi_receive_start(srq->obj.ia, &srq->shape, wr);
}

/*
 * Gives the receive to the fabric, or keeps it until the fabric has room. False: the fabric refuses
 * it.
 */
static bool offer(struct dofi_srq *srq, struct dofi_wr *wr)
{
	ssize_t ret = srq->waiting ? -FI_EAGAIN : start(srq, wr);

	dofi_assert_held(&srq->lock);
	if (ret == -FI_EAGAIN)
		wait_for_room(srq, wr);
	else if (ret)
		empty_slot(wr, 0);
	return !ret || ret == -FI_EAGAIN;
}

/* Offers a waiting receive again. False when the fabric has no room. */
static bool offer_again(struct dofi_srq *srq, struct dofi_wr *wr)
{
	ssize_t ret = start(srq, wr);

	if (ret == -FI_EAGAIN)
		return false;
	srq->waiting = wr->recv.next;
	if (!ret)
		return true;
	DOFI_LOG_E("%s: the fabric refused a receive that it had no room for before, and the SRQ "
		   "lacks it from now on: %s",
		   srq->obj.ia->name, fi_strerror((int)-ret));
	give_up(srq, wr);
	return true;
}

void dofi_srq_retry(struct dofi_stall *stall)
{
	struct dofi_srq *srq = DOFI_CONTAINER(stall, struct dofi_srq, stall);
	bool raise;

	dofi_lock(&srq->lock);
	stall->waits = false;
	while (srq->waiting && offer_again(srq, srq->waiting))
		;
	if (srq->waiting)
		dofi_stall(srq->obj.ia, stall);
	raise = dofi_srq_below_mark(srq);
	dofi_unlock(&srq->lock);
	if (raise)
		dofi_srq_raise_watermark(srq);
}

static DAT_RETURN post(struct dofi_srq *srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
		       DAT_DTO_COOKIE cookie)
{
	struct dofi_wr *wr;
	DAT_RETURN ret;

	dofi_assert_held(&srq->lock);
	if (srq->outstanding >= srq->max_dtos || !srq->nidle)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	wr = srq->idle[srq->nidle - 1];
	wr->srq = srq;
	wr->op = DOFI_OP_SRQ_RECV;
	ret = dofi_receive_fill(srq->obj.ia, srq->pz, &srq->shape, wr, n, iov, cookie,
				DAT_COMPLETION_DEFAULT_FLAG);
	if (ret == DAT_SUCCESS && !offer(srq, wr))
		ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	if (ret == DAT_SUCCESS) {
		srq->nidle--;
		srq->available++;
		srq->outstanding++;
	}
	return ret;
}

DAT_RETURN dofi_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie)
{
	struct dofi_srq *srq = DOFI_OBJ(handle, SRQ);
	struct dofi_engine *e;
	bool alone;
	DAT_RETURN ret;

	if (!srq)
		return DOFI_BAD_HANDLE(SRQ);
	if (n < 0 || n > srq->max_iov || (n && !iov))
		return DOFI_BAD_ARG(2);
	e = &srq->obj.ia->engine;
	alone = srq->obj.ia->quirks & DOFI_QUIRK_MISSED_RECEIVES;
	if (DOFI_UNLIKELY(alone))
		dofi_lock(&e->lock); /* nobody reads the completion queue */
	dofi_lock(&srq->lock);
	ret = post(srq, n, iov, cookie);
	dofi_unlock(&srq->lock);
	if (DOFI_UNLIKELY(alone))
		dofi_unlock(&e->lock);
	return ret;
}

/* The message is for no EP: its buffer waits for the next message (DTO-145). */
void dofi_srq_take_back(struct dofi_srq *srq, struct dofi_wr *wr)
{
	bool raise = false;

	dofi_assert_held(&srq->obj.ia->engine.lock);
	dofi_lock(&srq->lock);
	if (srq->closing || !offer(srq, wr)) {
		give_up(srq, wr);
		raise = dofi_srq_below_mark(srq);
	}
	dofi_unlock(&srq->lock);
	if (raise)
		dofi_srq_raise_watermark(srq);
}

/* --- the order of a connection's messages --- */

/* When the connection breaks, no receive may succeed any more. */
static bool has_turn(const struct dofi_ep *ep, uint32_t update)
{
	uint32_t number = update >> DOFI_UPDATE_NUMBER_SHIFT & DOFI_UPDATE_NUMBER;

	if (ep->faulty)
		return false;
	if (ep->obj.ia->trans->numbers && number != (ep->nreceived & DOFI_UPDATE_NUMBER))
		return false;
	return !(update & DOFI_UPDATE_CTRL_MSG) || dofi_ctrl_msg_has_arrived(ep, ep->nreceived);
}

/*
 * Whether the message waits for earlier ones. A truncated one does if they can still come and the
 * fabric reports its completion data; with their credits they are never 0.
 */
static bool is_ordered(const struct dofi_ep *ep, int err, uint32_t update)
{
	return !err ||
	       (err == FI_ETRUNC && update && !(ep->obj.ia->quirks & DOFI_QUIRK_ENDS_STREAM));
}

static void hold(struct dofi_ep *ep, struct dofi_wr *wr, int err, uint64_t length, uint32_t update)
{
	wr->length = length;
	wr->recv.err = err;
	wr->recv.update = update;
	wr->recv.next = ep->held;
	ep->held = wr;
}

static struct dofi_wr *next_held(struct dofi_ep *ep)
{
	struct dofi_wr **at, *wr;

	for (at = &ep->held; *at && !has_turn(ep, (*at)->recv.update); at = &(*at)->recv.next)
		;
	wr = *at;
	if (wr)
		*at = wr->recv.next;
	return wr;
}

void dofi_srq_forget_held(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	while (ep->held) {
		struct dofi_wr *wr = ep->held;

		ep->held = wr->recv.next;
		dofi_srq_take_back(wr->srq, wr);
	}
}

/* --- the messages --- */

/*
 * Makes the slot idle, before the event of the message is raised. True: the SRQ has fallen below
 * its low watermark.
 */
static bool empty(struct dofi_srq *srq, struct dofi_wr *slot, uint64_t length)
{
	bool raise;

	dofi_lock(&srq->lock);
	empty_slot(slot, length);
	slot->state = DOFI_WR_QUEUED;
	srq->idle[srq->nidle++] = slot;
	srq->available--;
	raise = dofi_srq_below_mark(srq);
	dofi_unlock(&srq->lock);
	return raise;
}

/*
 * Takes the receive out of the SRQ. A copy of it, without segments, continues as a receive of the
 * EP.
 */
static void take(struct dofi_ep *ep, struct dofi_wr *slot, int err, uint64_t length,
		 uint32_t update)
{
	struct dofi_srq *srq = slot->srq;
	struct dofi_wr wr = *slot;
	bool raise = empty(srq, slot, err ? 0 : length);

	dofi_assert_held(&ep->lock);
	wr.ep = ep;
	wr.op = DOFI_OP_RECV;
	if (!err && (update & DOFI_UPDATE_CTRL_MSG))
		dofi_ctrl_msg_use(ep, ep->nreceived);
	dofi_receive_end(ep, &wr, err, length, update);
	/* it is not in the EP's ring, so the flush does not end it (DTO-144) */
	if (wr.state == DOFI_WR_BACK)
		wr.status = DAT_DTO_ERR_FLUSHED;
	/* an EP of an SRQ holds a receive only when its message is complete: one at a time */
	dofi_ep_check_marks(ep, 1);
	dofi_release_one(ep, ep->recv_evd, &wr);
	if (raise)
		dofi_srq_raise_watermark(srq);
}

void dofi_srq_deliver_held(struct dofi_ep *ep)
{
	struct dofi_wr *wr;

	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_assert_held(&ep->lock);
	while ((wr = next_held(ep)))
		take(ep, wr, wr->recv.err, wr->length, wr->recv.update);
}

/*
 * Delivers a message to the EP, and the messages that waited for it; or holds it until earlier ones
 * have come.
 */
static void deliver(struct dofi_ep *ep, struct dofi_wr *wr, int err, uint64_t length,
		    uint32_t update)
{
	DOFI_PROBE4(completion, ep, wr->op, err, length);
	dofi_lock(&ep->lock);
	if (has_turn(ep, update) || !is_ordered(ep, err, update)) {
		take(ep, wr, err, length, update);
		dofi_srq_deliver_held(ep);
		dofi_ep_go_on(ep);
	} else {
		hold(ep, wr, err, length, update);
	}
	dofi_unlock(&ep->lock);
}

/* A receive that the fabric returns without a message has number 0. */
static void drop(struct dofi_srq *srq, struct dofi_wr *wr, uint32_t number)
{
	if (number)
		DOFI_COUNT_SHARED(srq->obj.ia, IA_DATA_STRAY);
	dofi_srq_take_back(srq, wr);
}

void dofi_srq_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number, uint32_t update)
{
	struct dofi_srq *srq = wr->srq;
	const struct dofi_upcalls *up = srq->obj.ia->up;
	struct dofi_ep *ep = up->receiver(srq, number);

	dofi_assert_held(&srq->obj.ia->engine.lock);
	err = dofi_receive_error(wr, err, length);
	if (ep)
		deliver(ep, wr, err, length, update);
	else if (!number && err == FI_ETRUNC)
		up->truncated(srq, wr);
	else
		drop(srq, wr, number);
	if (DOFI_UNLIKELY(srq->truncated))
		up->settle_truncated(srq);
}

void dofi_srq_break(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_lock(&ep->lock);
	take(ep, wr, FI_ETRUNC, 0, 0);
	dofi_unlock(&ep->lock);
}

static void cancel_slot(const struct dofi_srq *srq, struct fid *endpoint, struct dofi_wr *wr)
{
	if (wr->state == DOFI_WR_ISSUED)
		fi_cancel(endpoint, dofi_context_of(srq->obj.ia, wr));
}

void dofi_srq_cancel(struct dofi_srq *srq, struct fid *endpoint)
{
	dofi_assert_held(&srq->obj.ia->engine.lock);
	dofi_lock(&srq->lock);
	srq->closing = true;
	for (struct dofi_srq_chunk *chunk = srq->chunks; chunk; chunk = chunk->next)
		for (uint32_t i = chunk->slots.head; i != chunk->slots.issue; i++)
			cancel_slot(srq, endpoint, dofi_ring_at(&chunk->slots, i));
	dofi_unlock(&srq->lock);
}

uint32_t dofi_srq_abandon(struct dofi_srq *srq)
{
	uint32_t n = 0;

	dofi_assert_held(&srq->obj.ia->engine.lock);
	for (struct dofi_srq_chunk *chunk = srq->chunks; chunk; chunk = chunk->next) {
		n += dofi_orphans_count(&chunk->slots);
		if (dofi_orphans_adopt(srq->obj.ia, &chunk->slots))
			DOFI_LOG_E("%s: no memory to note the receives of an SRQ that the fabric "
				   "keeps; they leak",
				   srq->obj.ia->name);
		chunk->slots.base = NULL;
	}
	return n;
}
