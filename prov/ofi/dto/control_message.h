/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control messages: control records (control.h) where a write can't be one, because the fabric may
 * show it after the message that it is about. A control message is a small message of its own to
 * the receives that take credits, too. It names the message that it is about by its number in the
 * connection, and that message's completion data say that there is one: whichever the fabric
 * completes first waits for the other. Atomic operations go one at a time, when nothing is under
 * way that they or what follows could overtake.
 *
 * A sender has few control messages under way that the peer has not used; how many it has used the
 * peer tells by a control message as well. So the peer has room for all of them, and what a
 * stranger sends beyond is dropped.
 */
#ifndef DOFI_CONTROL_MESSAGE_H
#define DOFI_CONTROL_MESSAGE_H

#include "dto/control.h"

#include <stddef.h>

#define DOFI_CTRL_MSG_WINDOW 32u

/* On the wire, in host order. Of the union only the bytes that the operation needs. */
struct dofi_ctrl_msg {
	/* the receiver's of the connection, and 32 bits of its token; see cm/wire.h */
	uint32_t number, secret;
	uint32_t kind; /* enum dofi_ctrl_kind */
	/* immediate data; context; control slot; number of control messages used so far */
	uint32_t value;
	uint32_t message, length;
	union {
		struct dofi_atomic_request request; /* without the place of the answer */
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
	uint32_t sent, answered; /* control messages about messages; how many the peer has used */
	uint32_t used, told;     /* the peer's that we have used; the count that the peer knows */
	struct dofi_kept kept[DOFI_CTRL_MSG_WINDOW];
	struct dofi_ctrl_slots slots;
};

/* The fabric can carry control messages, and needs them. */
bool dofi_ctrl_msgs_possible(const struct dofi_ia *ia);
int dofi_ctrl_msgs_attach(struct dofi_ep *ep); /* 0 or -ENOMEM */
void dofi_ctrl_msgs_detach(struct dofi_ep *ep);
void dofi_ctrl_msgs_reset(struct dofi_ep *ep);

/*
 * As dofi_atomic_may_start, for an operation that begins with a control message. ep->lock held, as
 * for all that follows.
 */
bool dofi_ctrl_msg_may_start(struct dofi_ep *ep, const struct dofi_wr *wr);

/*
 * The control message about the message that comes next. 0; 1: the peer has to use some first; or a
 * post's error.
 */
ssize_t dofi_ctrl_msg_announce(struct dofi_ep *ep, enum dofi_ctrl_kind kind, uint32_t value,
			       uint32_t length);
ssize_t dofi_ctrl_msg_request(struct dofi_ep *ep, uint32_t slot,
			      const struct dofi_atomic_request *request);
ssize_t dofi_ctrl_msg_answer(struct dofi_ep *ep, uint32_t value,
			     const struct dofi_atomic_answer *answer);

/* Tells how many were used, when that is due. False when the fabric has no room. */
bool dofi_ctrl_msg_send_used(struct dofi_ep *ep);

/* The control message about this message has come. */
bool dofi_ctrl_msg_has_arrived(const struct dofi_ep *ep, uint32_t message);
/* Applies it to the EP's next message. False if it has not come yet. */
bool dofi_ctrl_msg_use(struct dofi_ep *ep, uint32_t message);

/*
 * A message for the receives of the library's own was no credit update. engine.lock held, not
 * ep->lock.
 */
void dofi_ctrl_msg_arrived(struct dofi_ia *ia, const struct dofi_ctrl_msg *ctrl_msg, size_t size);

#endif
