/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/emulated.h"

#include "cm/conn.h"
#include "dto/credit.h"
#include "object/evd.h"
#include "object/ia.h"
#include "dto/control_message.h"
#include "base/log.h"
#include "object/mem.h"
#include "transport/transport.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <string.h>

/* Completion data: kind, number of the receiver's connection, value. */
#define KIND_SHIFT 61
#define CONN_SHIFT 32

uint64_t dofi_note_word(const struct dofi_ep *ep, enum dofi_note_kind kind, uint32_t value)
{
	return (uint64_t)kind << KIND_SHIFT | (uint64_t)ep->peer.number << CONN_SHIFT | value;
}

bool dofi_op_is_native(const struct dofi_ia *ia, uint8_t op)
{
	return dofi_op_is_atomic(op) ? ia->has_atomics
				     : op == DOFI_OP_WRITE_IMM && ia->has_immediates;
}

/* --- mailboxes --- */

/*
 * Notes need the order of a stream, completion data of 8 bytes that take no receive, and writes
 * that are sent at once.
 */
bool dofi_mail_possible(const struct dofi_ia *ia)
{
	const struct fi_info *info = ia->info;

	return ia->trans->note && ia->order == DOFI_ORDERED &&
	       info->domain_attr->cq_data_size >= sizeof(uint64_t) &&
	       !(info->mode & FI_RX_CQ_DATA) && !(info->rx_attr->mode & FI_RX_CQ_DATA) &&
	       info->tx_attr->inject_size >= sizeof(struct dofi_mail_request);
}

bool dofi_notes_possible(const struct dofi_ia *ia)
{
	return dofi_mail_possible(ia) || dofi_letters_possible(ia);
}

int dofi_mail_open(struct dofi_ia *ia)
{
	struct dofi_mail *mail = &ia->mail;
	size_t size = ia->limits.max_eps * sizeof(*mail->boxes);
	void *mem;
	int ret;

	mail->boxes = NULL;
	ia->has_letters = dofi_letters_possible(ia);
	if (!dofi_mail_possible(ia))
		return 0;
	ret = dofi_mr_map(ia, size, 0,
			  DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &mem,
			  &mail->mr, &mail->key, &mail->address);
	if (!ret)
		mail->boxes = mem;
	return ret;
}

void dofi_mail_close(struct dofi_ia *ia)
{
	struct dofi_mail *mail = &ia->mail;

	if (!mail->boxes)
		return;
	dofi_mr_leave(ia, mail->mr, mail->boxes, ia->limits.max_eps * sizeof(*mail->boxes));
	mail->boxes = NULL;
}

static struct dofi_mailbox *box_of(const struct dofi_ep *ep)
{
	return ep->letters ? &ep->letters->box : &ep->obj.ia->mail.boxes[ep->scratch];
}

/* As the peer knows it. */
static uint64_t own_box(const struct dofi_ep *ep)
{
	return ep->obj.ia->mail.address + ep->scratch * sizeof(struct dofi_mailbox);
}

int dofi_mail_attach(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	struct dofi_ctx ctx = {
		.key = ia->mail.key,
		.length = sizeof(struct dofi_mailbox),
		.privileges = DOFI_CTX_MAILBOX,
	};
	int ret = dofi_letters_attach(ep);

	ep->mail_context = 0;
	if (ret || !ia->mail.boxes)
		return ret;
	ret = dofi_ctxtab_reserve(&ia->ctxtab, NULL, &ep->mail_context);
	if (ret)
		return ret;
	ctx.address = own_box(ep);
	ctx.context = ep->mail_context;
	dofi_ctxtab_expose(&ia->ctxtab, &ctx);
	return 0;
}

void dofi_mail_detach(struct dofi_ep *ep)
{
	if (ep->mail_context)
		dofi_ctxtab_release(&ep->obj.ia->ctxtab, ep->mail_context);
	ep->mail_context = 0;
	dofi_letters_detach(ep);
}

bool dofi_note_learn(struct dofi_ep *ep, const struct dofi_ctx *ctx)
{
	if (!(ctx->privileges & DOFI_CTX_MAILBOX) || ctx->length < sizeof(struct dofi_mailbox))
		return false;
	ep->peer.mail_key = ctx->key;
	ep->peer.mail_address = ctx->address;
	ep->peer.mail_known = true;
	return true;
}

void dofi_note_reset(struct dofi_ep *ep)
{
	ep->mail_used = ep->answers_due = 0;
	ep->note = (struct dofi_note){0};
	dofi_letters_reset(ep);
}

/* --- notes out --- */

static ssize_t put_note(struct dofi_ep *ep, enum dofi_note_kind kind, uint32_t value)
{
	return ep->obj.ia->trans->note(ep, NULL, 0, ep->peer.mail_address, ep->peer.mail_key,
				       dofi_note_word(ep, kind, value));
}

/*
 * Steps of a write with immediate data. The fabric tells of the write alone; with a letter of the
 * message as well.
 */
enum { STEP_DATA, STEP_NOTE, STEP_MESSAGE, STEP_END, STEP_SENT };

static ssize_t write_data(struct dofi_ep *ep, struct dofi_wr *wr)
{
	uint64_t word = dofi_note_word(ep, DOFI_NOTE_LENGTH, (uint32_t)wr->length);

	if (dofi_parts_needed(ep, wr))
		return dofi_parts_start(ep, wr, word);
	return wr->length ? ep->obj.ia->trans->write_noted(ep, wr, word) : 0;
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
		wr->step = ret ? STEP_DATA : STEP_NOTE;
	}
	if (wr->step == STEP_NOTE) {
		ret = put_note(ep, DOFI_NOTE_IMMEDIATE, *dofi_wr_immediate(&ep->req, wr));
		wr->step = ret ? STEP_NOTE : STEP_MESSAGE;
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
static ssize_t start_write_with_letter(struct dofi_ep *ep, struct dofi_wr *wr)
{
	ssize_t ret = 0;

	if (wr->step == STEP_DATA) {
		ret = write_bare(ep, wr);
		wr->step = ret ? STEP_DATA : STEP_NOTE;
	}
	if (!ret && wr->length && !wr->written)
		return 1;
	if (wr->step == STEP_NOTE) {
		ret = dofi_letter_announce(ep, DOFI_NOTE_IMMEDIATE,
					   *dofi_wr_immediate(&ep->req, wr), (uint32_t)wr->length);
		wr->step = ret ? STEP_NOTE : STEP_MESSAGE;
	}
	if (wr->step == STEP_MESSAGE) {
		ret = ep->obj.ia->trans->send(ep, wr);
		wr->step = ret ? STEP_MESSAGE : STEP_SENT;
	}
	ep->nsent += !ret;
	return ret;
}

bool dofi_note_outstanding(const struct dofi_wr *wr)
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

bool dofi_note_completed(struct dofi_wr *wr)
{
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
		ep->peek_stale = true;
}

static ssize_t start_send_invalidate(struct dofi_ep *ep, struct dofi_wr *wr)
{
	ssize_t ret;

	if (wr->step == STEP_DATA) {
		ret = ep->letters ? dofi_letter_announce(ep, DOFI_NOTE_INVALIDATE, wr->rctx, 0)
				  : put_note(ep, DOFI_NOTE_INVALIDATE, wr->rctx);
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
	for (int i = 0; i < DOFI_MAIL_SLOTS; i++)
		if (!(ep->mail_used & 1u << i))
			return i;
	return -1;
}

static ssize_t put_request(struct dofi_ep *ep, uint32_t slot,
			   const struct dofi_mail_request *request)
{
	if (ep->letters)
		return dofi_letter_request(ep, slot, request);
	return ep->obj.ia->trans->note(ep, request, sizeof(*request),
				       ep->peer.mail_address +
					       offsetof(struct dofi_mailbox, requests[slot]),
				       ep->peer.mail_key, dofi_note_word(ep, DOFI_NOTE_MAIL, slot));
}

static ssize_t put_answer(struct dofi_ep *ep, uint32_t slot,
			  const struct dofi_mail_request *request)
{
	const struct dofi_mail_answer *answer = &ep->answers[slot];
	uint32_t value = DOFI_MAIL_ANSWER | slot;

	if (ep->letters)
		return dofi_letter_answer(ep, value, answer);
	return ep->obj.ia->trans->note(ep, answer, sizeof(*answer), request->answer_address,
				       request->answer_key,
				       dofi_note_word(ep, DOFI_NOTE_MAIL, value));
}

static ssize_t start_atomic(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct dofi_ia *ia = ep->obj.ia;
	int slot = free_slot(ep);
	const struct dofi_mail_request request = {
		.op = wr->op,
		.context = wr->rctx,
		.address = wr->raddr,
		.operand = wr->faddr,
		.compare = wr->rkey,
		.answer_key = ia->mail.key,
		.answer_address = own_box(ep) + offsetof(struct dofi_mailbox, answers[slot]),
	};
	ssize_t ret;

	ret = put_request(ep, (uint32_t)slot, &request);
	if (ret)
		return ret;
	ep->mail_used |= (uint8_t)(1u << slot);
	ep->mail_wr[slot] = ep->req.issue;
	ep->reads++;
	return 0;
}

bool dofi_note_may_start(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	if (dofi_op_is_atomic(wr->op))
		return free_slot(ep) >= 0 && ep->reads < ep->read_limit;
	/* A letter does not even keep its place among messages. */
	return !ep->mail_used || !(dofi_op_is_rdma(wr->op) || ep->letters);
}

ssize_t dofi_note_start(struct dofi_ep *ep, struct dofi_wr *wr)
{
	if (dofi_op_is_native(ep->obj.ia, wr->op))
		return start_native(ep, wr);
	if (wr->op == DOFI_OP_WRITE_IMM)
		return ep->letters ? start_write_with_letter(ep, wr)
				   : start_write_immediate(ep, wr);
	if (wr->op == DOFI_OP_SEND_INVALIDATE)
		return start_send_invalidate(ep, wr);
	return start_atomic(ep, wr);
}

/* --- atomic operations at their target --- */

/* The checks that an initiator makes for other RDMA are made here: a context may be gone by now. */
static uint64_t *target_of(const struct dofi_ep *ep, const struct dofi_mail_request *request)
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

static struct dofi_mail_answer carry_out(const struct dofi_ep *ep,
					 const struct dofi_mail_request *request)
{
	uint64_t *target = target_of(ep, request), value = request->compare;

	if (!target)
		return (struct dofi_mail_answer){.status = DAT_DTO_ERR_REMOTE_ACCESS};
	if (request->op == DOFI_OP_FETCH_ADD)
		value = __atomic_fetch_add(target, request->operand, __ATOMIC_SEQ_CST);
	else /* leaves in value what was there */
		__atomic_compare_exchange_n(target, &value, request->operand, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return (struct dofi_mail_answer){.value = value, .status = DAT_DTO_SUCCESS};
}

void dofi_note_send_answers(struct dofi_ep *ep)
{
	const struct dofi_mailbox *box = box_of(ep);

	for (uint32_t slot = 0; slot < DOFI_MAIL_SLOTS; slot++) {
		if (!(ep->answers_due & 1u << slot))
			continue;
		if (put_answer(ep, slot, &box->requests[slot])) {
			dofi_ep_stall(ep);
			return;
		}
		ep->answers_due &= (uint8_t) ~(1u << slot);
		ep->dirty = true;
	}
	if (!(ep->answers_due & DOFI_LETTERS_DUE))
		return;
	if (dofi_letter_tell(ep))
		ep->answers_due &= (uint8_t)~DOFI_LETTERS_DUE;
	else
		dofi_ep_stall(ep);
}

static void on_request(struct dofi_ep *ep, uint32_t slot)
{
	ep->answers[slot] = carry_out(ep, &box_of(ep)->requests[slot]);
	ep->answers_due |= (uint8_t)(1u << slot);
	if (ep->path_up)
		dofi_note_send_answers(ep);
}

static void on_answer(struct dofi_ep *ep, uint32_t slot)
{
	const struct dofi_mail_answer *answer = &box_of(ep)->answers[slot];
	struct dofi_wr *wr = dofi_ring_at(&ep->req, ep->mail_wr[slot]);

	if (!(ep->mail_used & 1u << slot))
		return;
	ep->mail_used &= (uint8_t) ~(1u << slot);
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
		dofi_conn_drained(ep);
}

/* --- notes in --- */

void dofi_note_mail(struct dofi_ep *ep, uint32_t value)
{
	uint32_t slot = value & ~DOFI_MAIL_ANSWER;

	if (slot >= DOFI_MAIL_SLOTS || !(ep->letters || ep->obj.ia->mail.boxes))
		return;
	if (value & DOFI_MAIL_ANSWER)
		on_answer(ep, slot);
	else
		on_request(ep, slot);
}

void dofi_note_arrived(struct dofi_ia *ia, uint64_t data)
{
	struct dofi_ep *ep = dofi_conn_ep(ia, (uint32_t)(data >> CONN_SHIFT) & DOFI_CONN_ID_MASK);
	enum dofi_note_kind kind = (enum dofi_note_kind)(data >> KIND_SHIFT);
	uint32_t value = (uint32_t)data;

	if (!ep)
		return;
	dofi_lock(&ep->lock);
	switch (kind) {
	case DOFI_NOTE_LENGTH:
		ep->note.length = value;
		break;
	case DOFI_NOTE_IMMEDIATE:
	case DOFI_NOTE_INVALIDATE:
		ep->note.kind = kind;
		ep->note.value = value;
		break;
	case DOFI_NOTE_MAIL:
		dofi_note_mail(ep, value);
		break;
	case DOFI_NOTE_GRANT:
		dofi_credit_granted(ep, value);
		break;
	case DOFI_NOTE_USED: /* always a letter */
		break;
	}
	dofi_unlock(&ep->lock);
}

struct dofi_note dofi_note_take(struct dofi_ep *ep, uint8_t *status_p)
{
	struct dofi_note note = ep->note;

	ep->note = (struct dofi_note){0};
	if (note.kind != DOFI_NOTE_INVALIDATE)
		return note;
	if (dofi_rmr_invalidate(ep->obj.ia, note.value, ep->pz, ep->conn_id)) {
		/* The sender knows; others that used it are told. */
		dofi_chan_ask(ep->obj.ia, note.value);
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
void dofi_note_mark(uint8_t op, struct dofi_note note, struct dofi_event *event)
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
		if (note.kind == DOFI_NOTE_IMMEDIATE)
			mark_extended(event, DOFI_OP_RECV_IMM, 3);
		else
			event->op = DOFI_OP_RECV_INVALIDATE;
	}
}
