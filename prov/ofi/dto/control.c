/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/control.h"

#include "dto/atomic.h"
#include "dto/control_message.h"
#include "dto/credit.h"
#include "dto/issue.h"
#include "dto/parts.h"
#include "dto/remote_context.h"
#include "dto/rmr.h"
#include "fabric/quirks.h"
#include "fabric/traits.h"
#include "object/ctxtab.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/mem.h"
#include "object/mr.h"
#include "object/transport.h"
#include "object/upcalls.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

/* Completion data: kind, number of the receiver's connection, value. */
#define KIND_SHIFT 61
#define CONN_SHIFT 32

uint64_t dofi_ctrl_data(const struct dofi_ep *ep, enum dofi_ctrl_kind kind, uint32_t value)
{
	dofi_assert_held(&ep->lock);
	return (uint64_t)kind << KIND_SHIFT | (uint64_t)ep->peer.number << CONN_SHIFT | value;
}

bool dofi_op_is_native_in_fabric(const struct dofi_ia *ia, uint8_t op)
{
	return dofi_op_is_atomic(op) ? ia->has_atomics
				     : op == DOFI_OP_WRITE_IMM && ia->has_immediates;
}

bool dofi_op_is_native(const struct dofi_ep *ep, uint8_t op)
{
	return !ep->streams && dofi_op_is_native_in_fabric(ep->obj.ia, op);
}

/* --- control slots --- */

/*
 * Control writes need the order of a stream, in which messages also complete, completion data of 8
 * bytes that take no receive, and writes that are sent at once.
 */
bool dofi_ctrl_slots_possible(const struct dofi_ia *ia)
{
	const struct fi_info *info = ia->info;

	return ia->trans->write_ctrl && ia->order == DOFI_ORDERED &&
	       !(ia->quirks & (DOFI_QUIRK_LATE_MESSAGES | DOFI_QUIRK_INJECTED_WRITES)) &&
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
	struct dofi_ctrl_memory *memory = &ia->ctrl_memory;
	size_t size = ia->limits.max_eps * sizeof(*memory->slots);
	void *mem;
	int ret;

	memory->slots = NULL;
	ia->uses_ctrl_msgs = dofi_ctrl_msgs_possible(ia);
	memory->local = !dofi_ctrl_slots_possible(ia);
	if (memory->local && (ia->uses_ctrl_msgs || !ia->local_trans))
		return 0;
	ret = dofi_mr_map(ia, size, 0,
			  DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &mem,
			  &memory->mr, &memory->key, &memory->address);
	if (!ret)
		memory->slots = mem;
	return ret;
}

void dofi_ctrl_slots_close(struct dofi_ia *ia)
{
	struct dofi_ctrl_memory *memory = &ia->ctrl_memory;

	if (!memory->slots)
		return;
	dofi_mr_abandon(ia, memory->mr, memory->slots, ia->limits.max_eps * sizeof(*memory->slots));
	memory->slots = NULL;
}

struct dofi_ctrl_slots *dofi_ctrl_slots_of(const struct dofi_ep *ep)
{
	return ep->ctrl_msgs ? &ep->ctrl_msgs->slots : &ep->obj.ia->ctrl_memory.slots[ep->scratch];
}

uint64_t dofi_ctrl_slots_address(const struct dofi_ep *ep)
{
	return ep->obj.ia->ctrl_memory.address + ep->scratch * sizeof(struct dofi_ctrl_slots);
}

int dofi_ctrl_slots_move(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	struct dofi_ctx ctx = {
		.key = ia->ctrl_memory.key,
		.address = dofi_ctrl_slots_address(ep),
		.length = sizeof(struct dofi_ctrl_slots),
		.privileges = DOFI_CTX_CTRL_SLOTS,
	};
	int ret;

	if (!ia->ctrl_memory.slots)
		return 0;
	ret = dofi_ctxtab_reserve(&ia->ctxtab, NULL, &ctx.context);
	if (ret)
		return ret;
	if (ep->ctrl_context)
		dofi_ctxtab_release(&ia->ctxtab, ep->ctrl_context);
	ep->ctrl_context = ctx.context;
	dofi_ctxtab_expose(&ia->ctxtab, &ctx);
	return 0;
}

int dofi_ctrl_slots_attach(struct dofi_ep *ep)
{
	int ret = dofi_ctrl_msgs_attach(ep);

	return ret ? ret : dofi_ctrl_slots_move(ep);
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
	ep->ctrl = (struct dofi_ctrl){0};
	dofi_ctrl_msgs_reset(ep);
}

/* --- control records out --- */

static ssize_t put_ctrl(struct dofi_ep *ep, enum dofi_ctrl_kind kind, uint32_t value)
{
	return ep->trans->write_ctrl(ep, NULL, 0, ep->peer.ctrl_address, ep->peer.ctrl_key,
				     dofi_ctrl_data(ep, kind, value));
}

/*
 * Steps of a write with immediate data. The fabric reports completion only of the write; if the
 * message waits for the write, also of the message. A device that does both at once reports the
 * message, which may have no bytes.
 */
enum { STEP_DATA, STEP_CTRL, STEP_MESSAGE, STEP_END, STEP_SENT };

static ssize_t write_bare(struct dofi_ep *ep, struct dofi_wr *wr)
{
	ssize_t ret;

	if (dofi_parts_needed(ep, wr))
		return dofi_parts_start(ep, wr, 0);
	if (!wr->length)
		return 0;
	ret = ep->trans->write(ep, wr);
	if (!ret)
		ep->unfenced = ep->obj.ia->order == DOFI_FENCE && !ep->streams;
	return ret;
}

/* With a control write, the write itself tells its length. */
static ssize_t write_data(struct dofi_ep *ep, struct dofi_wr *wr)
{
	uint64_t word = dofi_ctrl_data(ep, DOFI_CTRL_LENGTH, (uint32_t)wr->length);

	if (ep->ctrl_msgs)
		return write_bare(ep, wr);
	if (dofi_parts_needed(ep, wr))
		return dofi_parts_start(ep, wr, word);
	return wr->length ? ep->trans->write_data(ep, wr, word) : 0;
}

/* The record about the next message; as dofi_ctrl_msg_announce. */
static ssize_t announce(struct dofi_ep *ep, enum dofi_ctrl_kind kind, uint32_t value,
			uint64_t length)
{
	return ep->ctrl_msgs ? dofi_ctrl_msg_announce(ep, kind, value, (uint32_t)length)
			     : put_ctrl(ep, kind, value);
}

static ssize_t announce_immediate(struct dofi_ep *ep, struct dofi_wr *wr)
{
	return announce(ep, DOFI_CTRL_IMMEDIATE, *dofi_wr_immediate(&ep->req, wr), wr->length);
}

static ssize_t start_native(struct dofi_ep *ep, struct dofi_wr *wr)
{
	uint32_t value = *dofi_wr_immediate(&ep->req, wr);
	ssize_t ret;

	if (dofi_parts_needed(ep, wr))
		ret = dofi_parts_start(ep, wr, value);
	else
		ret = ep->trans->write_immediate(ep, wr, value);
	if (ret)
		return ret;
	wr->rdma.step = STEP_SENT;
	ep->nsent++;
	return 0;
}

static ssize_t start_write_immediate(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct dofi_trans_ops *trans = ep->trans;
	ssize_t ret = 0;

	if (wr->rdma.step == STEP_DATA) {
		ret = write_data(ep, wr);
		wr->rdma.step = ret ? STEP_DATA : STEP_CTRL;
	}
	if (wr->rdma.step == STEP_CTRL) {
		ret = announce_immediate(ep, wr);
		wr->rdma.step = ret ? STEP_CTRL : STEP_MESSAGE;
	}
	if (wr->rdma.step == STEP_MESSAGE) {
		ret = trans->send_empty(ep, wr);
		wr->rdma.step = ret ? STEP_MESSAGE : STEP_END;
	}
	if (ret)
		return ret;
	ep->nsent++;
	if (!wr->length || wr->rdma.written)
		wr->state = DOFI_WR_DONE;
	return 0;
}

/* On fabrics where a message may overtake a write: both use the same context. */
static ssize_t send_after_write(struct dofi_ep *ep, struct dofi_wr *wr)
{
	ssize_t ret = 0;

	if (wr->rdma.step == STEP_DATA) {
		ret = write_bare(ep, wr);
		wr->rdma.step = ret ? STEP_DATA : STEP_CTRL;
	}
	if (!ret && wr->length && !wr->rdma.written)
		return 1;
	if (wr->rdma.step == STEP_CTRL) {
		ret = announce_immediate(ep, wr);
		wr->rdma.step = ret ? STEP_CTRL : STEP_MESSAGE;
	}
	if (wr->rdma.step == STEP_MESSAGE) {
		ret = ep->trans->send(ep, wr);
		wr->rdma.step = ret ? STEP_MESSAGE : STEP_SENT;
	}
	ep->nsent += !ret;
	return ret;
}

bool dofi_ctrl_outstanding(const struct dofi_wr *wr)
{
	if (wr->op == DOFI_OP_WRITE_IMM && wr->rdma.step == STEP_SENT)
		return wr->state == DOFI_WR_ISSUED;
	if (dofi_op_is_rdma(wr->op) && wr->rdma.given)
		return false; /* but its parts are outstanding */
	if (wr->op == DOFI_OP_WRITE_IMM)
		return wr->rdma.step > STEP_DATA && wr->length && !wr->rdma.written;
	if (dofi_op_is_atomic(wr->op) && !dofi_op_is_native(wr->ep, wr->op))
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
	wr->rdma.written = true;
	return wr->rdma.step >= STEP_END;
}

static ssize_t start_send_invalidate(struct dofi_ep *ep, struct dofi_wr *wr)
{
	ssize_t ret;

	if (wr->send.step == STEP_DATA) {
		ret = announce(ep, DOFI_CTRL_INVALIDATE, wr->send.context, 0);
		if (ret)
			return ret;
		wr->send.step = STEP_MESSAGE;
	}
	ret = ep->trans->send(ep, wr);
	if (ret)
		return ret;
	ep->nsent++;
	dofi_remote_context_revoke(ep, wr->send.context);
	return 0;
}

ssize_t dofi_ctrl_start(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	if (dofi_op_is_atomic(wr->op))
		return dofi_atomic_start(ep, wr);
	if (dofi_op_is_native(ep, wr->op))
		return start_native(ep, wr);
	if (wr->op == DOFI_OP_WRITE_IMM)
		return ep->ctrl_msgs && ep->obj.ia->order != DOFI_ORDERED
			       ? send_after_write(ep, wr)
			       : start_write_immediate(ep, wr);
	return start_send_invalidate(ep, wr);
}

void dofi_ctrl_send_answers(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	if (!dofi_atomic_send_answers(ep) || !(ep->answers_due & DOFI_CTRL_MSGS_DUE))
		return;
	if (dofi_ctrl_msg_send_used(ep))
		ep->answers_due &= (uint8_t)~DOFI_CTRL_MSGS_DUE;
	else
		dofi_ep_stall(ep);
}

/* --- control records in --- */

void dofi_ctrl_arrived(struct dofi_ia *ia, uint64_t data)
{
	struct dofi_ep *ep = ia->up->ep_of(ia, (uint32_t)(data >> CONN_SHIFT) & DOFI_CONN_ID_MASK);
	enum dofi_ctrl_kind kind = (enum dofi_ctrl_kind)(data >> KIND_SHIFT);
	uint32_t value = (uint32_t)data;

	dofi_assert_held(&ia->engine.lock);
	if (!ep) {
		DOFI_COUNT_SHARED(ia, IA_DATA_STRAY);
		return;
	}
	dofi_lock(&ep->lock);
	switch (kind) {
	case DOFI_CTRL_LENGTH:
		ep->ctrl.length = value;
		break;
	case DOFI_CTRL_IMMEDIATE:
	case DOFI_CTRL_INVALIDATE:
		ep->ctrl.kind = kind;
		ep->ctrl.value = value;
		break;
	case DOFI_CTRL_ATOMIC:
		dofi_atomic_arrived(ep, value);
		break;
	case DOFI_CTRL_CREDIT:
		dofi_credit_apply(ep, value);
		break;
	case DOFI_CTRL_USED: /* never a control write */
		break;
	}
	dofi_unlock(&ep->lock);
}

struct dofi_ctrl dofi_ctrl_take(struct dofi_ep *ep, uint8_t *status_p)
{
	struct dofi_ctrl ctrl = ep->ctrl;

	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_assert_held(&ep->lock);
	ep->ctrl = (struct dofi_ctrl){0};
	if (ctrl.kind != DOFI_CTRL_INVALIDATE)
		return ctrl;
	if (dofi_rmr_invalidate(ep->obj.ia, ctrl.value, ep->pz, ep->conn_id)) {
		/* The sender knows that the context has ended; other peers do not. */
		ep->obj.ia->up->invalidate(ep->obj.ia, ctrl.value, true);
	} else {
		*status_p = DAT_DTO_ERR_LOCAL_PROTECTION;
		ep->faulty = true;
		dofi_ep_stall(ep);
	}
	return ctrl;
}
