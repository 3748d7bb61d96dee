/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/control.h"

#include "dto/credit.h"
#include "progress/evd.h"
#include "object/ia.h"
#include "dto/control_message.h"
#include "base/log.h"
#include "object/mem.h"
#include "object/transport.h"
#include "dto/segments.h"
#include "fabric/select.h"
#include "object/ctxtab.h"
#include "object/ep.h"
#include "dto/rmr.h"
#include "fabric/traits.h"
#include "object/mr.h"
#include "dto/issue.h"
#include "dto/reap.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <string.h>

/* Completion data: kind, number of the receiver's connection, value. */
#define KIND_SHIFT 61
#define CONN_SHIFT 32

uint64_t dofi_ctrl_data(const struct dofi_ep *ep, enum dofi_ctrl_kind kind, uint32_t value)
{
	dofi_assert_held(&ep->lock);
	return (uint64_t)kind << KIND_SHIFT | (uint64_t)ep->peer.number << CONN_SHIFT | value;
}

bool dofi_op_is_native(const struct dofi_ia *ia, uint8_t op)
{
	return dofi_op_is_atomic(op) ? ia->has_atomics
				     : op == DOFI_OP_WRITE_IMM && ia->has_immediates;
}

/* --- control slots --- */

/*
 * Control records need the order of a stream, completion data of 8 bytes that take no receive, and
 * writes that are sent at once.
 */
bool dofi_ctrl_slots_possible(const struct dofi_ia *ia)
{
	const struct fi_info *info = ia->info;

	return ia->trans->write_ctrl && ia->order == DOFI_ORDERED &&
	       info->domain_attr->cq_data_size >= sizeof(uint64_t) &&
	       !(info->mode & FI_RX_CQ_DATA) && !(info->rx_attr->mode & FI_RX_CQ_DATA) &&
	       info->tx_attr->inject_size >= sizeof(struct dofi_atomic_request);
}

bool dofi_ctrl_possible(const struct dofi_ia *ia)
{
	return dofi_ctrl_slots_possible(ia) || dofi_ctrl_msgs_possible(ia);
}

int dofi_ctrl_slots_open(struct dofi_ia *ia)
{
	struct dofi_ctrl_memory *mail = &ia->mail;
	size_t size = ia->limits.max_eps * sizeof(*mail->boxes);
	void *mem;
	int ret;

	mail->boxes = NULL;
	ia->uses_ctrl_msgs = dofi_ctrl_msgs_possible(ia);
	if (!dofi_ctrl_slots_possible(ia))
		return 0;
	ret = dofi_mr_map(ia, size, 0,
			  DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &mem,
			  &mail->mr, &mail->key, &mail->address);
	if (!ret)
		mail->boxes = mem;
	return ret;
}

void dofi_ctrl_slots_close(struct dofi_ia *ia)
{
	struct dofi_ctrl_memory *mail = &ia->mail;

	if (!mail->boxes)
		return;
	dofi_mr_abandon(ia, mail->mr, mail->boxes, ia->limits.max_eps * sizeof(*mail->boxes));
	mail->boxes = NULL;
}

static struct dofi_ctrl_slots *box_of(const struct dofi_ep *ep)
{
	return ep->ctrl_msgs ? &ep->ctrl_msgs->box : &ep->obj.ia->mail.boxes[ep->scratch];
}

/* As the peer knows it. */
static uint64_t own_box(const struct dofi_ep *ep)
{
	return ep->obj.ia->mail.address + ep->scratch * sizeof(struct dofi_ctrl_slots);
}

int dofi_ctrl_slots_attach(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	struct dofi_ctx ctx = {
		.key = ia->mail.key,
		.length = sizeof(struct dofi_ctrl_slots),
		.privileges = DOFI_CTX_CTRL_SLOTS,
	};
	int ret = dofi_ctrl_msgs_attach(ep);

	ep->ctrl_context = 0;
	if (ret || !ia->mail.boxes)
		return ret;
	ret = dofi_ctxtab_reserve(&ia->ctxtab, NULL, &ep->ctrl_context);
	if (ret)
		return ret;
	ctx.address = own_box(ep);
	ctx.context = ep->ctrl_context;
	dofi_ctxtab_expose(&ia->ctxtab, &ctx);
	return 0;
}

void dofi_ctrl_slots_detach(struct dofi_ep *ep)
{
	if (ep->ctrl_context)
		dofi_ctxtab_release(&ep->obj.ia->ctxtab, ep->ctrl_context);
	ep->ctrl_context = 0;
	dofi_ctrl_msgs_detach(ep);
}

bool dofi_ctrl_set_peer_slots(struct dofi_ep *ep, const struct dofi_ctx *ctx)
{
	dofi_assert_held(&ep->lock);
	if (!(ctx->privileges & DOFI_CTX_CTRL_SLOTS) ||
	    ctx->length < sizeof(struct dofi_ctrl_slots))
		return false;
	ep->peer.ctrl_key = ctx->key;
	ep->peer.ctrl_address = ctx->address;
	ep->peer.ctrl_known = true;
	return true;
}

void dofi_ctrl_reset(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	ep->atomics_used = ep->answers_due = 0;
	ep->note = (struct dofi_ctrl){0};
	dofi_ctrl_msgs_reset(ep);
}

/* --- control records out --- */

static ssize_t put_ctrl(struct dofi_ep *ep, enum dofi_ctrl_kind kind, uint32_t value)
{
	return ep->obj.ia->trans->write_ctrl(ep, NULL, 0, ep->peer.ctrl_address, ep->peer.ctrl_key,
					     dofi_ctrl_data(ep, kind, value));
}

/*
 * Steps of a write with immediate data. The fabric tells of the write alone; with a control message
 * of the message as well.
 */
enum { STEP_DATA, STEP_CTRL, STEP_MESSAGE, STEP_END, STEP_SENT };

static ssize_t write_data(struct dofi_ep *ep, struct dofi_wr *wr)
{
	uint64_t word = dofi_ctrl_data(ep, DOFI_CTRL_LENGTH, (uint32_t)wr->length);

	if (dofi_parts_needed(ep, wr))
		return dofi_parts_start(ep, wr, word);
	return wr->length ? ep->obj.ia->trans->write_data(ep, wr, word) : 0;
}

/* The device writes the old value to the request's segment; it goes as a read goes. */
static ssize_t start_native_atomic(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct dofi_ctx *ctx = &ep->rcache[wr->rctx % DOFI_RCACHE_SIZE];
	ssize_t ret = ep->obj.ia->trans->atomic(ep, wr, dofi_ctx_target(ctx, wr->raddr), ctx->key);

	ep->reads += !ret;
	return ret;
}

static ssize_t start_native(struct dofi_ep *ep, struct dofi_wr *wr)
{
	uint32_t value = *dofi_wr_immediate(&ep->req, wr);
	ssize_t ret;

	if (dofi_op_is_atomic(wr->op))
		return start_native_atomic(ep, wr);
	if (dofi_parts_needed(ep, wr))
		ret = dofi_parts_start(ep, wr, value);
	else
		ret = ep->obj.ia->trans->write_immediate(ep, wr, value);
	if (ret)
		return ret;
	wr->step = STEP_END;
	ep->nsent++;
	return 0;
}

static ssize_t start_write_immediate(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct dofi_trans_ops *trans = ep->obj.ia->trans;
	ssize_t ret = 0;

	if (wr->step == STEP_DATA) {
		ret = write_data(ep, wr);
		wr->step = ret ? STEP_DATA : STEP_CTRL;
	}
	if (wr->step == STEP_CTRL) {
		ret = put_ctrl(ep, DOFI_CTRL_IMMEDIATE, *dofi_wr_immediate(&ep->req, wr));
		wr->step = ret ? STEP_CTRL : STEP_MESSAGE;
	}
	if (wr->step == STEP_MESSAGE) {
		ret = trans->send_empty(ep, wr);
		wr->step = ret ? STEP_MESSAGE : STEP_END;
	}
	if (ret)
		return ret;
	ep->nsent++;
	if (!wr->length || wr->written)
		wr->state = DOFI_WR_DONE;
	return 0;
}

static ssize_t write_bare(struct dofi_ep *ep, struct dofi_wr *wr)
{
	ssize_t ret;

	if (dofi_parts_needed(ep, wr))
		return dofi_parts_start(ep, wr, 0);
	if (!wr->length)
		return 0;
	ret = ep->obj.ia->trans->write(ep, wr);
	if (!ret)
		ep->unfenced = ep->obj.ia->order == DOFI_FENCE;
	return ret;
}

/*
 * The message goes when the write is complete: it needs the context, and on some fabrics that
 * order.
 */
static ssize_t start_write_with_ctrl_msg(struct dofi_ep *ep, struct dofi_wr *wr)
{
	ssize_t ret = 0;

	if (wr->step == STEP_DATA) {
		ret = write_bare(ep, wr);
		wr->step = ret ? STEP_DATA : STEP_CTRL;
	}
	if (!ret && wr->length && !wr->written)
		return 1;
	if (wr->step == STEP_CTRL) {
		ret = dofi_ctrl_msg_announce(ep, DOFI_CTRL_IMMEDIATE,
					     *dofi_wr_immediate(&ep->req, wr),
					     (uint32_t)wr->length);
		wr->step = ret ? STEP_CTRL : STEP_MESSAGE;
	}
	if (wr->step == STEP_MESSAGE) {
		ret = ep->obj.ia->trans->send(ep, wr);
		wr->step = ret ? STEP_MESSAGE : STEP_SENT;
	}
	ep->nsent += !ret;
	return ret;
}

bool dofi_ctrl_outstanding(const struct dofi_wr *wr)
{
	if (wr->op == DOFI_OP_WRITE_IMM && wr->step == STEP_SENT)
		return wr->state == DOFI_WR_ISSUED;
	if (dofi_op_is_rdma(wr->op) && wr->given)
		return false; /* its parts are */
	if (wr->op == DOFI_OP_WRITE_IMM)
		return wr->step > STEP_DATA && wr->length && !wr->written;
	if (dofi_op_is_atomic(wr->op) && !dofi_op_is_native(wr->ep->obj.ia, wr->op))
		return false;
	return wr->state == DOFI_WR_ISSUED && wr->op != DOFI_OP_BIND;
}

bool dofi_ctrl_completed(struct dofi_wr *wr)
{
	dofi_assert_held(&wr->ep->lock);
	if (wr->op != DOFI_OP_WRITE_IMM) {
		wr->ep->reads -= dofi_op_is_atomic(wr->op);
		return true;
	}
	wr->written = true;
	return wr->step >= STEP_END;
}

/*
 * The peer's context is dead from here on: whatever comes behind this Send must not use it any
 * more.
 */
static void bury(struct dofi_ep *ep, uint32_t context)
{
	for (uint32_t i = ep->req.issue + 1; i != ep->req.tail; i++) {
		struct dofi_wr *wr = dofi_ring_at(&ep->req, i);

		if (dofi_op_uses_context(wr, context))
			wr->resolved = false;
	}
	ep->rcache[context % DOFI_RCACHE_SIZE] = (struct dofi_ctx){.context = context};
	if (ep->peeking && ep->aux_ctx == context)
		ep->peek_outdated = true;
}

static ssize_t start_send_invalidate(struct dofi_ep *ep, struct dofi_wr *wr)
{
	ssize_t ret;

	if (wr->step == STEP_DATA) {
		ret = ep->ctrl_msgs ? dofi_ctrl_msg_announce(ep, DOFI_CTRL_INVALIDATE, wr->rctx, 0)
				    : put_ctrl(ep, DOFI_CTRL_INVALIDATE, wr->rctx);
		if (ret)
			return ret;
		wr->step = STEP_MESSAGE;
	}
	ret = ep->obj.ia->trans->send(ep, wr);
	if (ret)
		return ret;
	ep->nsent++;
	bury(ep, wr->rctx);
	return 0;
}

static int free_slot(const struct dofi_ep *ep)
{
	for (int i = 0; i < DOFI_CTRL_SLOTS; i++)
		if (!(ep->atomics_used & 1u << i))
			return i;
	return -1;
}

static ssize_t put_request(struct dofi_ep *ep, uint32_t slot,
			   const struct dofi_atomic_request *request)
{
	if (ep->ctrl_msgs)
		return dofi_ctrl_msg_request(ep, slot, request);
	return ep->obj.ia->trans->write_ctrl(
		ep, request, sizeof(*request),
		ep->peer.ctrl_address + offsetof(struct dofi_ctrl_slots, requests[slot]),
		ep->peer.ctrl_key, dofi_ctrl_data(ep, DOFI_CTRL_ATOMIC, slot));
}

static ssize_t put_answer(struct dofi_ep *ep, uint32_t slot,
			  const struct dofi_atomic_request *request)
{
	const struct dofi_atomic_answer *answer = &ep->answers[slot];
	uint32_t value = DOFI_CTRL_ANSWER | slot;

	if (ep->ctrl_msgs)
		return dofi_ctrl_msg_answer(ep, value, answer);
	return ep->obj.ia->trans->write_ctrl(ep, answer, sizeof(*answer), request->answer_address,
					     request->answer_key,
					     dofi_ctrl_data(ep, DOFI_CTRL_ATOMIC, value));
}

static ssize_t start_atomic(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct dofi_ia *ia = ep->obj.ia;
	int slot = free_slot(ep);
	const struct dofi_atomic_request request = {
		.op = wr->op,
		.context = wr->rctx,
		.address = wr->raddr,
		.operand = wr->faddr,
		.compare = wr->rkey,
		.answer_key = ia->mail.key,
		.answer_address = own_box(ep) + offsetof(struct dofi_ctrl_slots, answers[slot]),
	};
	ssize_t ret;

	ret = put_request(ep, (uint32_t)slot, &request);
	if (ret)
		return ret;
	ep->atomics_used |= (uint8_t)(1u << slot);
	ep->atomic_wr[slot] = ep->req.issue;
	ep->reads++;
	return 0;
}

bool dofi_ctrl_may_start(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	if (dofi_op_is_atomic(wr->op))
		return free_slot(ep) >= 0 && ep->reads < ep->read_limit;
	/* A control message does not even keep its place among messages. */
	return !ep->atomics_used || !(dofi_op_is_rdma(wr->op) || ep->ctrl_msgs);
}

ssize_t dofi_ctrl_start(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	if (dofi_op_is_native(ep->obj.ia, wr->op))
		return start_native(ep, wr);
	if (wr->op == DOFI_OP_WRITE_IMM)
		return ep->ctrl_msgs ? start_write_with_ctrl_msg(ep, wr)
				     : start_write_immediate(ep, wr);
	if (wr->op == DOFI_OP_SEND_INVALIDATE)
		return start_send_invalidate(ep, wr);
	return start_atomic(ep, wr);
}

/* --- atomic operations at their target --- */

/* The checks that an initiator makes for other RDMA are made here: a context may be gone by now. */
static uint64_t *target_of(const struct dofi_ep *ep, const struct dofi_atomic_request *request)
{
	struct dofi_ia *ia = ep->obj.ia;
	uint32_t index = DOFI_CTX_INDEX(request->context);
	struct dofi_ctx ctx;
	void *target;

	if (!request->context || !dofi_ctx_decode(&ia->ctxtab.wire[index], request->context, &ctx))
		return NULL;
	if (!(ctx.privileges & DOFI_MEM_PRIV_REMOTE_ATOMIC) ||
	    ctx.pz != dofi_ctx_zone(&ctx, ep->pz->number, ep->conn_id))
		return NULL;
	if (request->address < ctx.base || ctx.length < sizeof(uint64_t) ||
	    request->address - ctx.base > ctx.length - sizeof(uint64_t))
		return NULL;
	target = dofi_ctx_memory(ia, &ctx, request->address);
	return (uintptr_t)target % sizeof(uint64_t) ? NULL : target;
}

static struct dofi_atomic_answer carry_out(const struct dofi_ep *ep,
					   const struct dofi_atomic_request *request)
{
	uint64_t *target = target_of(ep, request), value = request->compare;

	if (!target)
		return (struct dofi_atomic_answer){.status = DAT_DTO_ERR_REMOTE_ACCESS};
	if (request->op == DOFI_OP_FETCH_ADD)
		value = __atomic_fetch_add(target, request->operand, __ATOMIC_SEQ_CST);
	else /* leaves in value what was there */
		__atomic_compare_exchange_n(target, &value, request->operand, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return (struct dofi_atomic_answer){.value = value, .status = DAT_DTO_SUCCESS};
}

void dofi_ctrl_send_answers(struct dofi_ep *ep)
{
	const struct dofi_ctrl_slots *box = box_of(ep);

	dofi_assert_held(&ep->lock);
	for (uint32_t slot = 0; slot < DOFI_CTRL_SLOTS; slot++) {
		if (!(ep->answers_due & 1u << slot))
			continue;
		if (put_answer(ep, slot, &box->requests[slot])) {
			dofi_ep_stall(ep);
			return;
		}
		ep->answers_due &= (uint8_t) ~(1u << slot);
		ep->dirty = true;
	}
	if (!(ep->answers_due & DOFI_CTRL_MSGS_DUE))
		return;
	if (dofi_ctrl_msg_send_used(ep))
		ep->answers_due &= (uint8_t)~DOFI_CTRL_MSGS_DUE;
	else
		dofi_ep_stall(ep);
}

static void on_request(struct dofi_ep *ep, uint32_t slot)
{
	ep->answers[slot] = carry_out(ep, &box_of(ep)->requests[slot]);
	ep->answers_due |= (uint8_t)(1u << slot);
	if (ep->path_up)
		dofi_ctrl_send_answers(ep);
}

static void on_answer(struct dofi_ep *ep, uint32_t slot)
{
	const struct dofi_atomic_answer *answer = &box_of(ep)->answers[slot];
	struct dofi_wr *wr = dofi_ring_at(&ep->req, ep->atomic_wr[slot]);

	if (!(ep->atomics_used & 1u << slot))
		return;
	ep->atomics_used &= (uint8_t) ~(1u << slot);
	ep->reads--;
	wr->status = (uint8_t)answer->status;
	wr->state = DOFI_WR_DONE;
	if (answer->status == DAT_DTO_SUCCESS) {
		memcpy(wr->iov[0].iov_base, &answer->value, sizeof(answer->value));
	} else {
		ep->faulty = true;
		dofi_ep_stall(ep);
	}
	dofi_reap_release(ep);
	dofi_ep_issue(ep);
	if (ep->state == DAT_EP_STATE_DISCONNECT_PENDING)
		ep->obj.ia->up->drained(ep);
}

/* --- control records in --- */

void dofi_ctrl_atomic_arrived(struct dofi_ep *ep, uint32_t value)
{
	uint32_t slot = value & ~DOFI_CTRL_ANSWER;

	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_assert_held(&ep->lock);
	if (slot >= DOFI_CTRL_SLOTS || !(ep->ctrl_msgs || ep->obj.ia->mail.boxes))
		return;
	if (value & DOFI_CTRL_ANSWER)
		on_answer(ep, slot);
	else
		on_request(ep, slot);
}

void dofi_ctrl_arrived(struct dofi_ia *ia, uint64_t data)
{
	struct dofi_ep *ep = ia->up->ep_of(ia, (uint32_t)(data >> CONN_SHIFT) & DOFI_CONN_ID_MASK);
	enum dofi_ctrl_kind kind = (enum dofi_ctrl_kind)(data >> KIND_SHIFT);
	uint32_t value = (uint32_t)data;

	dofi_assert_held(&ia->engine.lock);
	if (!ep)
		return;
	dofi_lock(&ep->lock);
	switch (kind) {
	case DOFI_CTRL_LENGTH:
		ep->note.length = value;
		break;
	case DOFI_CTRL_IMMEDIATE:
	case DOFI_CTRL_INVALIDATE:
		ep->note.kind = kind;
		ep->note.value = value;
		break;
	case DOFI_CTRL_ATOMIC:
		dofi_ctrl_atomic_arrived(ep, value);
		break;
	case DOFI_CTRL_CREDIT:
		dofi_credit_apply(ep, value);
		break;
	case DOFI_CTRL_USED: /* always a control message */
		break;
	}
	dofi_unlock(&ep->lock);
}

struct dofi_ctrl dofi_ctrl_take(struct dofi_ep *ep, uint8_t *status_p)
{
	struct dofi_ctrl note = ep->note;

	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_assert_held(&ep->lock);
	ep->note = (struct dofi_ctrl){0};
	if (note.kind != DOFI_CTRL_INVALIDATE)
		return note;
	if (dofi_rmr_invalidate(ep->obj.ia, note.value, ep->pz, ep->conn_id)) {
		/* The sender knows; others that used it are told. */
		ep->obj.ia->up->invalidate(ep->obj.ia, note.value);
	} else {
		*status_p = DAT_DTO_ERR_LOCAL_PROTECTION;
		ep->faulty = true;
		dofi_ep_stall(ep);
	}
	return note;
}

static void mark_extended(struct dofi_event *event, uint8_t op, uint16_t type)
{
	event->number = DOFI_EVENT_EXTENDED;
	event->op = op;
	event->ext = (uint16_t)(type + 1);
}

/*
 * The types are those of DAT 2.0's extension events. DAT 1.2 knows neither them nor invalidation:
 * plain completions there.
 */
void dofi_ctrl_mark(uint8_t op, struct dofi_ctrl note, struct dofi_event *event)
{
	if (DOFI_DAT_MAJOR == 1)
		return;
	switch (op) {
	case DOFI_OP_FETCH_ADD:
		mark_extended(event, op, 0);
		break;
	case DOFI_OP_CMP_SWAP:
		mark_extended(event, op, 1);
		break;
	case DOFI_OP_WRITE_IMM:
		mark_extended(event, op, 2);
		break;
	case DOFI_OP_SEND_INVALIDATE:
		event->op = DOFI_OP_SEND;
		break;
	default:
		event->dto.immediate = note.value;
		if (note.kind == DOFI_CTRL_IMMEDIATE)
			mark_extended(event, DOFI_OP_RECV_IMM, 3);
		else
			event->op = DOFI_OP_RECV_INVALIDATE;
	}
}
