/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/control_message.h"

#include "object/ia.h"
#include "object/transport.h"
#include "dto/atomic.h"
#include "dto/control.h"
#include "object/ep.h"
#include "dto/issue.h"
#include "dto/receive.h"

#include <errno.h>
#include <rdma/fabric.h>
#include <stdlib.h>
#include <string.h>

#define BARE offsetof(struct dofi_ctrl_msg, request)

bool dofi_ctrl_msgs_possible(const struct dofi_ia *ia)
{
	return ia->trans->ctrl_msg && !dofi_ctrl_slots_possible(ia) && ia->has_data &&
	       ia->info->tx_attr->inject_size >= DOFI_CTRL_MSG_MAX;
}

int dofi_ctrl_msgs_attach(struct dofi_ep *ep)
{
	if (!ep->obj.ia->uses_ctrl_msgs)
		return 0;
	ep->ctrl_msgs = calloc(1, sizeof(*ep->ctrl_msgs));
	return ep->ctrl_msgs ? 0 : -ENOMEM;
}

void dofi_ctrl_msgs_detach(struct dofi_ep *ep)
{
	free(ep->ctrl_msgs);
	ep->ctrl_msgs = NULL;
}

void dofi_ctrl_msgs_reset(struct dofi_ep *ep)
{
	if (ep->ctrl_msgs)
		*ep->ctrl_msgs = (struct dofi_ctrl_msgs){0};
}

/* --- out --- */

bool dofi_ctrl_msg_may_start(struct dofi_ep *ep, const struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	/* Reads before the Send may need the context that the Send ends. */
	if (wr->op == DOFI_OP_SEND_INVALIDATE)
		return !ep->reads;
	if (!dofi_op_is_atomic(wr->op))
		return true;
	if (ep->reads || ep->writes || ep->peeking)
		return false;
	/* Writes that are complete here may not have arrived; a fenced read makes sure. */
	if (ep->unfenced)
		dofi_ep_sync(ep);
	return !ep->unfenced && !ep->peeking;
}

static ssize_t post(struct dofi_ep *ep, const struct dofi_ctrl_msg *ctrl_msg, size_t size)
{
	return ep->trans->ctrl_msg(ep, ctrl_msg, size);
}

ssize_t dofi_ctrl_msg_announce(struct dofi_ep *ep, enum dofi_ctrl_kind kind, uint32_t value,
			       uint32_t length)
{
	struct dofi_ctrl_msgs *ctrl_msgs = ep->ctrl_msgs;
	const struct dofi_ctrl_msg ctrl_msg = {
		.number = ep->peer.number,
		.secret = ep->peer.secret,
		.kind = (uint32_t)kind,
		.value = value,
		.message = ep->nsent,
		.length = length,
	};
	ssize_t ret;

	dofi_assert_held(&ep->lock);
	if (ctrl_msgs->sent - ctrl_msgs->answered >= DOFI_CTRL_MSG_WINDOW)
		return 1;
	ret = post(ep, &ctrl_msg, BARE);
	ctrl_msgs->sent += !ret;
	return ret;
}

static struct dofi_ctrl_msg about_slot(const struct dofi_ep *ep, uint32_t value)
{
	return (struct dofi_ctrl_msg){.number = ep->peer.number,
				      .secret = ep->peer.secret,
				      .kind = DOFI_CTRL_ATOMIC,
				      .value = value};
}

ssize_t dofi_ctrl_msg_request(struct dofi_ep *ep, uint32_t slot,
			      const struct dofi_atomic_request *request)
{
	struct dofi_ctrl_msg ctrl_msg = about_slot(ep, slot);

	dofi_assert_held(&ep->lock);
	ctrl_msg.request = *request;
	return post(ep, &ctrl_msg, DOFI_CTRL_MSG_MAX);
}

ssize_t dofi_ctrl_msg_answer(struct dofi_ep *ep, uint32_t value,
			     const struct dofi_atomic_answer *answer)
{
	struct dofi_ctrl_msg ctrl_msg = about_slot(ep, value);

	dofi_assert_held(&ep->lock);
	ctrl_msg.answer = *answer;
	return post(ep, &ctrl_msg, BARE + sizeof(*answer));
}

bool dofi_ctrl_msg_send_used(struct dofi_ep *ep)
{
	struct dofi_ctrl_msgs *ctrl_msgs = ep->ctrl_msgs;
	const struct dofi_ctrl_msg ctrl_msg = {.number = ep->peer.number,
					       .secret = ep->peer.secret,
					       .kind = DOFI_CTRL_USED,
					       .value = ctrl_msgs->used};

	dofi_assert_held(&ep->lock);
	if (ctrl_msgs->used - ctrl_msgs->told < DOFI_CTRL_MSG_WINDOW / 2)
		return true;
	if (post(ep, &ctrl_msg, BARE))
		return false;
	ctrl_msgs->told = ctrl_msgs->used;
	return true;
}

/* --- in --- */

static struct dofi_kept *find(struct dofi_ctrl_msgs *ctrl_msgs, uint32_t message)
{
	for (uint32_t i = 0; i < DOFI_CTRL_MSG_WINDOW; i++)
		if (ctrl_msgs->kept[i].ctrl.kind && ctrl_msgs->kept[i].message == message)
			return &ctrl_msgs->kept[i];
	return NULL;
}

static struct dofi_kept *find_room(struct dofi_ctrl_msgs *ctrl_msgs)
{
	for (uint32_t i = 0; i < DOFI_CTRL_MSG_WINDOW; i++)
		if (!ctrl_msgs->kept[i].ctrl.kind)
			return &ctrl_msgs->kept[i];
	return NULL;
}

bool dofi_ctrl_msg_has_arrived(const struct dofi_ep *ep, uint32_t message)
{
	dofi_assert_held(&ep->lock);
	return ep->ctrl_msgs && find(ep->ctrl_msgs, message);
}

bool dofi_ctrl_msg_use(struct dofi_ep *ep, uint32_t message)
{
	struct dofi_kept *kept = ep->ctrl_msgs ? find(ep->ctrl_msgs, message) : NULL;

	dofi_assert_held(&ep->lock);
	if (!kept)
		return false;
	ep->ctrl = kept->ctrl;
	*kept = (struct dofi_kept){0};
	ep->ctrl_msgs->used++;
	if (ep->ctrl_msgs->used - ep->ctrl_msgs->told >= DOFI_CTRL_MSG_WINDOW / 2) {
		ep->answers_due |= DOFI_CTRL_MSGS_DUE;
		dofi_ep_stall(ep);
	}
	return true;
}

static void keep(struct dofi_ep *ep, const struct dofi_ctrl_msg *ctrl_msg)
{
	struct dofi_kept *kept = find_room(ep->ctrl_msgs);

	if (!kept || find(ep->ctrl_msgs, ctrl_msg->message))
		return;
	kept->ctrl = (struct dofi_ctrl){(uint8_t)ctrl_msg->kind, ctrl_msg->value, ctrl_msg->length};
	kept->message = ctrl_msg->message;
	dofi_receive_ctrl_arrived(ep, ctrl_msg->message);
}

static void on_used(struct dofi_ep *ep, uint32_t used)
{
	struct dofi_ctrl_msgs *ctrl_msgs = ep->ctrl_msgs;

	/* Ignores counts above the number sent, and older counts that were overtaken. */
	if (used - ctrl_msgs->answered > ctrl_msgs->sent - ctrl_msgs->answered)
		return;
	ctrl_msgs->answered = used;
	dofi_ep_issue(ep);
}

static void on_atomic(struct dofi_ep *ep, const struct dofi_ctrl_msg *ctrl_msg, size_t size)
{
	bool is_answer = ctrl_msg->value & DOFI_CTRL_ANSWER;
	uint32_t slot = ctrl_msg->value & ~DOFI_CTRL_ANSWER;

	if (slot >= DOFI_CTRL_SLOTS ||
	    size < (is_answer ? BARE + sizeof(ctrl_msg->answer) : DOFI_CTRL_MSG_MAX))
		return;
	/* A request has no address for the answer: the answer is a control message, too. */
	if (is_answer)
		ep->ctrl_msgs->slots.answers[slot] = ctrl_msg->answer;
	else
		memcpy(&ep->ctrl_msgs->slots.requests[slot], &ctrl_msg->request,
		       DOFI_CTRL_MSG_MAX - BARE);
	dofi_atomic_arrived(ep, ctrl_msg->value);
}

void dofi_ctrl_msg_arrived(struct dofi_ia *ia, const struct dofi_ctrl_msg *ctrl_msg, size_t size)
{
	struct dofi_ep *ep = size >= BARE ? ia->up->ep_of(ia, ctrl_msg->number) : NULL;

	dofi_assert_held(&ia->engine.lock);
	if (!ep || !ep->ctrl_msgs)
		return;
	dofi_lock(&ep->lock);
	switch (ctrl_msg->kind) {
	case DOFI_CTRL_IMMEDIATE:
	case DOFI_CTRL_INVALIDATE:
		keep(ep, ctrl_msg);
		break;
	case DOFI_CTRL_ATOMIC:
		on_atomic(ep, ctrl_msg, size);
		break;
	case DOFI_CTRL_USED:
		on_used(ep, ctrl_msg->value);
		break;
	default: /* of a later version */
		break;
	}
	dofi_unlock(&ep->lock);
}
