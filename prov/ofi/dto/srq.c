/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/srq.h"

#include "progress/cno.h"
#include "dto/op_context.h"
#include "dto/credit.h"
#include "progress/evd.h"
#include "object/ia.h"
#include "dto/control_message.h"
#include "base/log.h"
#include "dto/control.h"
#include "dto/orphan.h"
#include "object/transport.h"
#include "dto/guard_byte.h"
#include "dto/segments.h"
#include "object/ep.h"
#include "progress/engine.h"
#include "progress/wait.h"
#include "dto/ring.h"
#include "dto/watermark.h"
#include "object/srq_count.h"
#include "object/upcalls.h"
#include "dto/issue.h"
#include "dto/post.h"

#include <errno.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

struct dofi_srq_chunk {
	struct dofi_srq_chunk *next;
	struct dofi_ring slots; /* all of them issued, as far as the ring is concerned */
};

/* --- slots --- */

/* srq->lock held, or nobody knows the SRQ yet. */
static int add_slots(struct dofi_srq *srq, uint32_t n)
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

static void free_slots(struct dofi_srq *srq)
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

/* --- life --- */

static DAT_RETURN attr_ok(const struct dofi_ia *ia, const DAT_SRQ_ATTR *attr)
{
	if (attr->max_recv_dtos <= 0 || attr->max_recv_iov <= 0 || attr->low_watermark < 0 ||
	    attr->low_watermark > attr->max_recv_dtos)
		return DOFI_BAD_ARG(3);
	if ((uint32_t)attr->max_recv_dtos > ia->limits.max_dtos ||
	    (uint32_t)attr->max_recv_iov > ia->limits.max_iov)
		return DOFI_BAD_ARG(3);
	return DAT_SUCCESS;
}

static void check_watermark(struct dofi_srq *srq, bool *raise)
{
	*raise = srq->armed && srq->available < srq->low_watermark;
	if (*raise)
		srq->armed = false;
}

/* No event of its own in the headers: handle and reason tell (SRQ-055). No lock of the SRQ held. */
static void raise_watermark(struct dofi_srq *srq)
{
	dofi_evd_async(srq->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, srq,
		       DAT_SRQ_LOW_WATERMARK_EVENT);
}

/* 15 bits of a tag; not one that was used lately. There are fewer SRQs than numbers. */
static bool number_taken(struct dofi_ia *ia, uint32_t number)
{
	DOFI_LIST_FOR(node, &ia->objects[DAT_HANDLE_TYPE_SRQ])
	if (DOFI_CONTAINER(node, struct dofi_srq, obj.siblings)->number == number)
		return true;
	return false;
}

static void take_number(struct dofi_srq *srq)
{
	struct dofi_ia *ia = srq->obj.ia;

	dofi_lock(&ia->obj_lock);
	do
		ia->next_srq = (ia->next_srq + 1) & 0x7fff;
	while (!ia->next_srq || number_taken(ia, ia->next_srq));
	srq->number = ia->next_srq;
	dofi_unlock(&ia->obj_lock);
}

static void retry(struct dofi_stall *stall);

DAT_RETURN dofi_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *attr,
			   DAT_SRQ_HANDLE *handle_p)
{
	struct dofi_ia *ia = DOFI_IA(ia_handle);
	struct dofi_pz *pz = DOFI_OBJ(pz_handle, PZ);
	struct dofi_srq *srq;
	DAT_RETURN ret;

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (!pz || pz->obj.ia != ia)
		return DOFI_BAD_HANDLE(PZ);
	if (!attr)
		return DOFI_BAD_ARG(3);
	if (!handle_p)
		return DOFI_BAD_ARG(4);
	if (!ia->limits.max_srqs)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	ret = attr_ok(ia, attr);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!dofi_obj_room(ia, DAT_HANDLE_TYPE_SRQ, ia->limits.max_srqs))
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	srq = dofi_obj_alloc(ia, ia->obj.provider, DAT_HANDLE_TYPE_SRQ, sizeof(*srq));
	if (!srq)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	dofi_lock_init(&srq->lock);
	srq->stall.retry = retry;
	srq->pz = pz;
	srq->max_dtos = (uint32_t)attr->max_recv_dtos;
	srq->max_iov = (uint16_t)attr->max_recv_iov;
	srq->low_watermark = (uint32_t)attr->low_watermark;
	srq->armed = srq->low_watermark > 0;
	take_number(srq);
	if (add_slots(srq, srq->max_dtos) || ia->trans->srq_open(srq)) {
		free_slots(srq);
		dofi_lock_fini(&srq->lock);
		dofi_obj_free(&srq->obj, DAT_HANDLE_TYPE_SRQ);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	}
	dofi_obj_use(pz);
	/* more messages may come for its buffers than the completion queue has room for */
	dofi_wait_watch(ia);
	dofi_obj_publish(&srq->obj, DAT_HANDLE_TYPE_SRQ);
	*handle_p = (DAT_SRQ_HANDLE)srq;
	if (srq->armed) {
		srq->armed = false;
		raise_watermark(srq); /* empty, so below the mark (SRQ-005) */
		dofi_cno_run_agents(ia);
	}
	return DAT_SUCCESS;
}

static void empty_slot(struct dofi_wr *wr, uint64_t length)
{
	if (wr->split)
		dofi_bounce_give(wr, length);
}

/* srq->lock held. */
static void give_up(struct dofi_srq *srq, struct dofi_wr *wr)
{
	empty_slot(wr, 0);
	wr->state = DOFI_WR_QUEUED;
	srq->idle[srq->nidle++] = wr;
	srq->available--;
	srq->outstanding--;
}

static void drop_waiting(struct dofi_srq *srq)
{
	dofi_lock(&srq->lock);
	srq->closing = true;
	dofi_stall_end(srq->obj.ia, &srq->stall);
	while (srq->waiting) {
		struct dofi_wr *wr = srq->waiting;

		srq->waiting = wr->next;
		give_up(srq, wr);
	}
	dofi_unlock(&srq->lock);
}

void dofi_srq_destroy(struct dofi_srq *srq)
{
	dofi_assert_held(&srq->obj.ia->engine.lock);
	drop_waiting(srq);
	srq->obj.ia->trans->srq_close(srq);
	dofi_wait_unwatch(srq->obj.ia);
	dofi_obj_unuse(srq->pz);
	free_slots(srq);
	dofi_lock_fini(&srq->lock);
	dofi_obj_free(&srq->obj, DAT_HANDLE_TYPE_SRQ);
}

DAT_RETURN dofi_srq_free(DAT_SRQ_HANDLE handle)
{
	struct dofi_srq *srq = DOFI_OBJ(handle, SRQ);
	DAT_RETURN ret = DAT_SUCCESS;
	struct dofi_ia *ia;

	if (!srq)
		return DOFI_BAD_HANDLE(SRQ);
	ia = srq->obj.ia;
	dofi_engine_begin(ia);
	if (dofi_obj_retire(&srq->obj, true))
		dofi_srq_destroy(srq);
	else
		ret = dofi_obj_is(srq, DAT_HANDLE_TYPE_SRQ) ? DOFI_BAD_STATE(SRQ_IN_USE)
							    : DOFI_BAD_HANDLE(SRQ);
	dofi_engine_end(ia);
	return ret;
}

DAT_RETURN dofi_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	struct dofi_srq *srq = DOFI_OBJ(handle, SRQ);

	if (!srq)
		return DOFI_BAD_HANDLE(SRQ);
	if ((unsigned int)mask & ~(unsigned int)DAT_SRQ_FIELD_ALL)
		return DOFI_BAD_ARG(2);
	if (!param)
		return mask ? DOFI_BAD_ARG(3) : DAT_SUCCESS;
	param->ia_handle = dofi_obj_ia_handle(&srq->obj);
	param->srq_state = DAT_SRQ_STATE_OPERATIONAL;
	param->pz_handle = (DAT_PZ_HANDLE)srq->pz;
	dofi_lock(&srq->lock);
	param->max_recv_dtos = (DAT_COUNT)srq->max_dtos;
	param->max_recv_iov = srq->max_iov;
	param->low_watermark = (DAT_COUNT)srq->low_watermark;
	param->available_dto_count = (DAT_COUNT)srq->available;
	param->outstanding_dto_count = (DAT_COUNT)srq->outstanding;
	dofi_unlock(&srq->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT max_dtos)
{
	struct dofi_srq *srq = DOFI_OBJ(handle, SRQ);
	DAT_RETURN ret = DAT_SUCCESS;

	if (!srq)
		return DOFI_BAD_HANDLE(SRQ);
	if (max_dtos <= 0 || (uint32_t)max_dtos > srq->obj.ia->limits.max_dtos)
		return DOFI_BAD_ARG(2);
	dofi_lock(&srq->lock);
	if ((uint32_t)max_dtos < srq->outstanding || (uint32_t)max_dtos < srq->low_watermark)
		ret = DOFI_BAD_STATE(SRQ_IN_USE);
	else if ((uint32_t)max_dtos > srq->slots && add_slots(srq, (uint32_t)max_dtos - srq->slots))
		ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	else
		srq->max_dtos = (uint32_t)max_dtos;
	dofi_unlock(&srq->lock);
	return ret;
}

DAT_RETURN dofi_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low_watermark)
{
	struct dofi_srq *srq = DOFI_OBJ(handle, SRQ);
	bool raise;

	if (!srq)
		return DOFI_BAD_HANDLE(SRQ);
	dofi_lock(&srq->lock);
	if (low_watermark < 0 || (uint32_t)low_watermark > srq->max_dtos) {
		dofi_unlock(&srq->lock);
		return DOFI_BAD_ARG(2);
	}
	srq->low_watermark = (uint32_t)low_watermark;
	srq->armed = low_watermark > 0;
	check_watermark(srq, &raise);
	dofi_unlock(&srq->lock);
	if (raise) {
		raise_watermark(srq);
		dofi_cno_run_agents(srq->obj.ia);
	}
	return DAT_SUCCESS;
}

/* --- receives --- */

static ssize_t post_slot(struct dofi_srq *srq, struct dofi_wr *wr)
{
	struct dofi_ia *ia = srq->obj.ia;
	ssize_t ret = dofi_receive_prepare(ia, &srq->shape, wr);

	if (ret)
		return ret;
	wr->state = DOFI_WR_ISSUED;
	ret = ia->trans->srq_recv(srq, wr);
	if (ret)
		wr->state = DOFI_WR_QUEUED;
	return ret;
}

static void wait_for_room(struct dofi_srq *srq, struct dofi_wr *wr)
{
	wr->next = NULL;
	if (srq->waiting)
		srq->last_waiting->next = wr;
	else
		srq->waiting = wr;
	srq->last_waiting = wr;
	dofi_stall(srq->obj.ia, &srq->stall);
}

/*
 * The buffer is on the queue, or will be as soon as the fabric has room. False when it never will;
 * srq->lock held.
 */
static bool offer(struct dofi_srq *srq, struct dofi_wr *wr)
{
	ssize_t ret = srq->waiting ? -FI_EAGAIN : post_slot(srq, wr);

	if (ret == -FI_EAGAIN)
		wait_for_room(srq, wr);
	else if (ret)
		empty_slot(wr, 0);
	return !ret || ret == -FI_EAGAIN;
}

/* False when the fabric has no room. */
static bool offer_again(struct dofi_srq *srq, struct dofi_wr *wr)
{
	ssize_t ret = post_slot(srq, wr);

	if (ret == -FI_EAGAIN)
		return false;
	srq->waiting = wr->next;
	if (!ret)
		return true;
	DOFI_LOG_E("%s: the fabric refused a receive that it had no room for before, and the SRQ "
		   "lacks it from now on: %s",
		   srq->obj.ia->name, fi_strerror((int)-ret));
	give_up(srq, wr);
	return true;
}

static void retry(struct dofi_stall *stall)
{
	struct dofi_srq *srq = DOFI_CONTAINER(stall, struct dofi_srq, stall);
	bool raise;

	dofi_lock(&srq->lock);
	stall->waits = false;
	while (srq->waiting && offer_again(srq, srq->waiting))
		;
	if (srq->waiting)
		dofi_stall(srq->obj.ia, stall);
	check_watermark(srq, &raise);
	dofi_unlock(&srq->lock);
	if (raise)
		raise_watermark(srq);
}

DAT_RETURN dofi_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie)
{
	struct dofi_srq *srq = DOFI_OBJ(handle, SRQ);
	struct dofi_wr *wr;
	DAT_RETURN ret;

	if (!srq)
		return DOFI_BAD_HANDLE(SRQ);
	if (n < 0 || n > srq->max_iov || (n && !iov))
		return DOFI_BAD_ARG(2);
	dofi_lock(&srq->lock);
	if (srq->outstanding >= srq->max_dtos || !srq->nidle) {
		dofi_unlock(&srq->lock);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	}
	wr = srq->idle[srq->nidle - 1];
	wr->srq = srq;
	wr->op = DOFI_OP_SRQ_RECV;
	wr->cookie = cookie.as_64;
	wr->split = 0;
	ret = dofi_segments_translate(srq->obj.ia, srq->pz, n, iov, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
				      wr, dofi_wr_desc(&srq->shape, wr));
	if (ret == DAT_SUCCESS && !offer(srq, wr))
		ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	if (ret == DAT_SUCCESS) {
		srq->nidle--;
		srq->available++;
		srq->outstanding++;
	}
	dofi_unlock(&srq->lock);
	return ret;
}

/* Nobody is to have this message: its buffer waits for the next one (DTO-145). */
void dofi_srq_take_back(struct dofi_srq *srq, struct dofi_wr *wr)
{
	bool raise = false;

	dofi_assert_held(&srq->obj.ia->engine.lock);
	dofi_lock(&srq->lock);
	if (srq->closing || !offer(srq, wr)) {
		give_up(srq, wr);
		check_watermark(srq, &raise);
	}
	dofi_unlock(&srq->lock);
	if (raise)
		raise_watermark(srq);
}

static bool notifies(const struct dofi_ep *ep, uint8_t status, uint32_t update)
{
	return ep->attr.recv_completion_flags != DAT_COMPLETION_SOLICITED_WAIT_FLAG ||
	       (update & DOFI_UPDATE_SOLICITED) || status != DAT_DTO_SUCCESS;
}

static void apply_ctrl(struct dofi_ep *ep, struct dofi_event *event)
{
	struct dofi_ctrl note = dofi_ctrl_take(ep, &event->status);

	if (note.kind == DOFI_CTRL_IMMEDIATE)
		event->dto.length = note.length;
	dofi_ctrl_mark(event->op, note, event);
}

static void deliver(struct dofi_ep *ep, struct dofi_event *event, uint32_t update)
{
	dofi_lock(&ep->lock);
	if ((update & DOFI_UPDATE_CTRL_MSG) && event->status == DAT_DTO_SUCCESS)
		dofi_ctrl_msg_use(ep, ep->nreceived);
	if (ep->note.kind && event->status == DAT_DTO_SUCCESS)
		apply_ctrl(ep, event);
	if (ep->state != DAT_EP_STATE_CONNECTED)
		ep->obj.ia->up->established(ep);
	if (event->status == DAT_DTO_SUCCESS)
		dofi_ep_count_received(ep, event->op == DOFI_OP_RECV_IMM ? DOFI_CTRL_IMMEDIATE : 0,
				       event->dto.length);
	dofi_ep_count_completed(ep, event->status);
	/* the fabric lets us know when it is complete: so many it has at once */
	dofi_ep_check_marks(ep, 1);
	ep->nreceived++;
	dofi_credit_take(ep, update);
	if (dofi_credit_urgent(ep) || dofi_ep_last_message(ep))
		dofi_ep_stall(ep);
	if (dofi_evd_push(ep->recv_evd, event, notifies(ep, event->status, update)) ||
	    event->status == DAT_DTO_ERR_LOCAL_LENGTH) {
		ep->faulty = true;
		dofi_ep_stall(ep);
	}
	dofi_unlock(&ep->lock);
}

/*
 * A message that did not fit is its EP's fault; anything else is what the end of a connection
 * leaves.
 */
static uint8_t status_of(int err)
{
	if (!err)
		return DAT_DTO_SUCCESS;
	return err == FI_ETRUNC ? DAT_DTO_ERR_LOCAL_LENGTH : DAT_DTO_ERR_FLUSHED;
}

/* --- the order of a connection's messages --- */

static bool has_turn(const struct dofi_ep *ep, uint32_t update)
{
	uint32_t number = update >> DOFI_UPDATE_NUMBER_SHIFT & DOFI_UPDATE_NUMBER;

	if (ep->obj.ia->trans->numbers && number != (ep->nreceived & DOFI_UPDATE_NUMBER))
		return false;
	return !(update & DOFI_UPDATE_CTRL_MSG) || dofi_ctrl_msg_has_arrived(ep, ep->nreceived);
}

static bool hold(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t length, uint32_t update)
{
	bool early;

	dofi_lock(&ep->lock);
	early = !has_turn(ep, update);
	if (early) {
		wr->length = length;
		wr->rctx = update;
		wr->next = ep->held;
		ep->held = wr;
	}
	dofi_unlock(&ep->lock);
	return early;
}

static struct dofi_wr *next_held(struct dofi_ep *ep)
{
	struct dofi_wr **at, *wr;

	dofi_lock(&ep->lock);
	for (at = &ep->held; *at && !has_turn(ep, (*at)->rctx); at = &(*at)->next)
		;
	wr = *at;
	if (wr)
		*at = wr->next;
	dofi_unlock(&ep->lock);
	return wr;
}

void dofi_srq_forget_held(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	while (ep->held) {
		struct dofi_wr *wr = ep->held;

		ep->held = wr->next;
		dofi_srq_take_back(wr->srq, wr);
	}
}

/* The buffer leaves the SRQ, and its message is the EP's. */
static void assign(struct dofi_srq *srq, struct dofi_ep *ep, struct dofi_wr *wr, int err,
		   uint64_t length, uint32_t update)
{
	struct dofi_event event = {
		.number = DAT_DTO_COMPLETION_EVENT,
		.op = DOFI_OP_RECV,
		.status = status_of(err),
		.handle = ep,
		.dto = {.cookie = wr->cookie, .length = length, .srq = srq},
	};
	bool raise;

	dofi_lock(&srq->lock);
	empty_slot(wr, err ? 0 : length);
	wr->state = DOFI_WR_QUEUED;
	srq->idle[srq->nidle++] = wr;
	srq->available--;
	check_watermark(srq, &raise);
	dofi_unlock(&srq->lock);
	deliver(ep, &event, update);
	if (raise)
		raise_watermark(srq);
}

/* It, and what waited for it. */
static void deliver_in_turn(struct dofi_srq *srq, struct dofi_ep *ep, struct dofi_wr *wr, int err,
			    uint64_t length, uint32_t update)
{
	assign(srq, ep, wr, err, length, update);
	dofi_srq_ctrl_arrived(ep);
}

void dofi_srq_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number, uint32_t update)
{
	struct dofi_srq *srq = wr->srq;
	const struct dofi_upcalls *up = srq->obj.ia->up;
	struct dofi_ep *ep = up->receiver(srq, number);

	dofi_assert_held(&srq->obj.ia->engine.lock);
	if (!ep && !number && status_of(err) == DAT_DTO_ERR_LOCAL_LENGTH)
		up->truncated(srq, wr);
	else if (!ep)
		dofi_srq_take_back(srq, wr);
	else if (err || !hold(ep, wr, length, update))
		deliver_in_turn(srq, ep, wr, err, length, update);
	if (DOFI_UNLIKELY(srq->truncated))
		up->settle_truncated(srq);
}

void dofi_srq_blame(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->obj.ia->engine.lock);
	assign(ep->srq, ep, wr, FI_ETRUNC, 0, 0);
}

void dofi_srq_ctrl_arrived(struct dofi_ep *ep)
{
	struct dofi_wr *wr;

	dofi_assert_held(&ep->obj.ia->engine.lock);
	while ((wr = next_held(ep)))
		assign(ep->srq, ep, wr, 0, wr->length, wr->rctx);
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
