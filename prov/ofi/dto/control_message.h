/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control messages: control records (control.h) on fabrics where a write may arrive after the
 * message that it is about, or where that message may complete after later writes. A control
 * message is a small message to the library's own receives, which also take credit updates. It
 * names the data message that it is about by its number in the connection, and the completion data
 * of that message say that a control message belongs to it. The one that the fabric completes first
 * waits for the other. Atomic operations are sent one at a time, when nothing is under way that
 * they could overtake or that could overtake them.
 *
 * A sender has at most DOFI_CTRL_MSG_WINDOW control messages under way that the peer has not used.
 * The peer reports how many it has used, by a control message as well. So the peer has room for all
 * of them, and drops what a forged sender sends beyond.
 */
#ifndef DOFI_CONTROL_MESSAGE_H
#define DOFI_CONTROL_MESSAGE_H

#include "dto/control.h"

#include <stddef.h>

#define DOFI_CTRL_MSG_WINDOW 32u

/* On the wire, in host order. Only the bytes of the union that the operation needs are sent. */
struct dofi_ctrl_msg {
	/* the receiver's connection number, and 32 bits of its token; see cm/wire.h */
	uint32_t number, secret;
	uint32_t kind; /* enum dofi_ctrl_kind */
	/* immediate data; context; control slot; number of control messages used so far */
	uint32_t value;
	uint32_t message, length;
	union {
		struct dofi_atomic_request request; /* without the target of the answer */
		struct dofi_atomic_answer answer;
	};
};

#define DOFI_CTRL_MSG_MAX \
	(offsetof(struct dofi_ctrl_msg, request) + offsetof(struct dofi_atomic_request, answer_key))

struct dofi_kept {
	struct dofi_ctrl ctrl; /* kind 0: a free entry */
	uint32_t message;
};

/* Of an EP; guarded by its lock. */
struct dofi_ctrl_msgs {
	uint32_t sent, answered; /* control messages sent; how many of them the peer has used */
	/* the peer's control messages that we have used; the count that the peer knows */
	uint32_t used, told;
	struct dofi_kept kept[DOFI_CTRL_MSG_WINDOW];
	struct dofi_ctrl_slots slots;
};

/* Whether the fabric needs control messages and can carry them. */
bool dofi_ctrl_msgs_possible(const struct dofi_ia *ia);
int dofi_ctrl_msgs_attach(struct dofi_ep *ep); /* 0 or -ENOMEM */
void dofi_ctrl_msgs_detach(struct dofi_ep *ep);
void dofi_ctrl_msgs_reset(struct dofi_ep *ep);

/*
 * Whether an operation that begins with a control message may start. ep->lock held, as for all that
 * follow.
 */
bool dofi_ctrl_msg_may_start(struct dofi_ep *ep, const struct dofi_wr *wr);

/*
 * Sends the control message about the next message. 0; 1: the window is full; or the error of the
 * post.
 */
ssize_t dofi_ctrl_msg_announce(struct dofi_ep *ep, enum dofi_ctrl_kind kind, uint32_t value,
			       uint32_t length);
ssize_t dofi_ctrl_msg_request(struct dofi_ep *ep, uint32_t slot,
			      const struct dofi_atomic_request *request);
ssize_t dofi_ctrl_msg_answer(struct dofi_ep *ep, uint32_t value,
			     const struct dofi_atomic_answer *answer);

/* Reports how many were used, if that is due. False when the fabric has no room. */
bool dofi_ctrl_msg_send_used(struct dofi_ep *ep);

/* Whether the control message about this message has come. */
bool dofi_ctrl_msg_has_arrived(const struct dofi_ep *ep, uint32_t message);
/*
 * Takes the control message about this message as the EP's control record. False if it has not come
 * yet.
 */
bool dofi_ctrl_msg_use(struct dofi_ep *ep, uint32_t message);

/* Handles a control message. engine.lock held, not ep->lock. */
void dofi_ctrl_msg_arrived(struct dofi_ia *ia, const struct dofi_ctrl_msg *ctrl_msg, size_t size);

#endif
