/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/atomic.h"

#include "dto/control.h"
#include "dto/control_message.h"
#include "dto/failure.h"
#include "dto/issue.h"
#include "dto/release.h"
#include "dto/rmr.h"
#include "object/ctxtab.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/mem.h"
#include "object/transport.h"
#include "object/upcalls.h"

#include <stdatomic.h>
#include <string.h>

/* --- at the initiator --- */

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
	return ep->trans->write_ctrl(ep, request, sizeof(*request),
				     ep->peer.ctrl_address +
					     offsetof(struct dofi_ctrl_slots, requests[slot]),
				     ep->peer.ctrl_key, dofi_ctrl_data(ep, DOFI_CTRL_ATOMIC, slot));
}

/* The device stores the old value in the request's segment, so the operation counts as a read. */
static ssize_t start_native(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct dofi_ctx *ctx = &ep->rcache[wr->atomic.context % DOFI_RCACHE_SIZE];
	ssize_t ret = ep->trans->atomic(ep, wr, dofi_ctx_target(ctx, wr->atomic.address), ctx->key);

	ep->reads += !ret;
	return ret;
}

static ssize_t start_emulated(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct dofi_ia *ia = ep->obj.ia;
	int slot = free_slot(ep);
	const struct dofi_atomic_request request = {
		.op = wr->op,
		.context = wr->atomic.context,
		.address = wr->atomic.address,
		.operand = wr->atomic.operand,
		.compare = wr->atomic.compare,
		.answer_key = ia->ctrl_memory.key,
		.answer_address = dofi_ctrl_slots_address(ep) +
				  offsetof(struct dofi_ctrl_slots, answers[slot]),
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

ssize_t dofi_atomic_start(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	return dofi_op_is_native(ep, wr->op) ? start_native(ep, wr) : start_emulated(ep, wr);
}

bool dofi_atomic_may_start(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	if (dofi_op_is_atomic(wr->op))
		return free_slot(ep) >= 0 && ep->reads < ep->read_limit;
	/* A control message is not ordered with other messages either. */
	return !ep->atomics_used || !(dofi_op_is_rdma(wr->op) || ep->ctrl_msgs);
}

/* --- at the target --- */

/*
 * For other RDMA the initiator checks. Here the target does, because the context may have ended
 * meanwhile.
 */
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
	else /* stores the old value in `value` */
		__atomic_compare_exchange_n(target, &value, request->operand, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return (struct dofi_atomic_answer){.value = value, .status = DAT_DTO_SUCCESS};
}

static ssize_t put_answer(struct dofi_ep *ep, uint32_t slot)
{
	const struct dofi_atomic_answer *answer = &ep->answers[slot];
	const struct dofi_atomic_reply *to = &ep->replies[slot];
	uint32_t value = DOFI_CTRL_ANSWER | slot;

	if (ep->ctrl_msgs)
		return dofi_ctrl_msg_answer(ep, value, answer);
	return ep->trans->write_ctrl(ep, answer, sizeof(*answer), to->address, to->key,
				     dofi_ctrl_data(ep, DOFI_CTRL_ATOMIC, value));
}

bool dofi_atomic_send_answers(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	for (uint32_t slot = 0; slot < DOFI_CTRL_SLOTS; slot++) {
		if (!(ep->answers_due & 1u << slot))
			continue;
		if (put_answer(ep, slot)) {
			dofi_ep_stall(ep);
			return false;
		}
		ep->answers_due &= (uint8_t) ~(1u << slot);
		ep->dirty = true;
	}
	return true;
}

/* --- receiving --- */

/*
 * The peer can write to the slot at any time. So the slot is read once, and the copy is checked and
 * used. The compiler must not read the slot again.
 */
#define READ_SLOT(copy, slot)                              \
	do {                                               \
		memcpy(&(copy), &(slot), sizeof(copy));    \
		atomic_signal_fence(memory_order_seq_cst); \
	} while (0)

static void on_request(struct dofi_ep *ep, uint32_t slot)
{
	struct dofi_atomic_request request;

	READ_SLOT(request, dofi_ctrl_slots_of(ep)->requests[slot]);
	ep->answers[slot] = carry_out(ep, &request);
	ep->replies[slot] = (struct dofi_atomic_reply){
		.key = request.answer_key,
		.address = request.answer_address,
	};
	ep->answers_due |= (uint8_t)(1u << slot);
	if (ep->path_up)
		dofi_atomic_send_answers(ep);
}

static void on_answer(struct dofi_ep *ep, uint32_t slot)
{
	struct dofi_wr *wr = dofi_ring_at(&ep->req, ep->atomic_wr[slot]);
	struct dofi_atomic_answer answer;

	if (!(ep->atomics_used & 1u << slot))
		return;
	READ_SLOT(answer, dofi_ctrl_slots_of(ep)->answers[slot]);
	ep->atomics_used &= (uint8_t) ~(1u << slot);
	ep->reads--;
	if (wr->status == DAT_DTO_SUCCESS)
		wr->status = (uint8_t)answer.status;
	wr->state = DOFI_WR_DONE;
	if (answer.status == DAT_DTO_SUCCESS) {
		memcpy(wr->iov[0].iov_base, &answer.value, sizeof(answer.value));
	} else {
		dofi_fail_behind(ep, wr);
		ep->faulty = true;
		dofi_ep_stall(ep);
	}
	dofi_release_rings(ep);
	dofi_ep_issue(ep);
	if (ep->state == DAT_EP_STATE_DISCONNECT_PENDING)
		ep->obj.ia->up->drained(ep);
}

void dofi_atomic_arrived(struct dofi_ep *ep, uint32_t value)
{
	uint32_t slot = value & ~DOFI_CTRL_ANSWER;

	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_assert_held(&ep->lock);
	if (slot >= DOFI_CTRL_SLOTS || !(ep->ctrl_msgs || ep->obj.ia->ctrl_memory.slots))
		return;
	if (value & DOFI_CTRL_ANSWER)
		on_answer(ep, slot);
	else
		on_request(ep, slot);
}
