/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control records: what DAT sends beside data and most fabrics don't carry. A control record is an
 * RDMA write of a small record, or of nothing, into the control slots of the peer's EP. Its
 * completion data of 64 bits tells the peer's engine what it is, whom it is for, and a value. It
 * travels in order with everything else of the connection, takes no receive, and needs no buffer
 * here.
 *
 * A control record about a message goes right before it, and is kept until the message's receive
 * completes: immediate data, with the length of the write that they belong to, and the context that
 * a Send invalidates.
 *
 * InfiniBand has writes with immediate data of its own, which take the peer's receive: no control
 * records there.
 *
 * An emulated atomic operation is a control record, and so is its answer: see atomic.h.
 *
 * Where writes are not ordered, control records are control messages: see control_message.h.
 */
#ifndef DOFI_CONTROL_H
#define DOFI_CONTROL_H

#include "object/ep.h"
#include "object/ia_parts.h"

struct fid_mr;

struct dofi_atomic_request {
	uint32_t op; /* enum dofi_op */
	uint32_t context;
	uint64_t address;
	uint64_t operand, compare;
	uint64_t answer_key, answer_address; /* where the answer goes */
};

/* Written by the peer; in host order, as the values of atomic operations are. */
struct dofi_ctrl_slots {
	struct dofi_atomic_request requests[DOFI_CTRL_SLOTS];
	struct dofi_atomic_answer answers[DOFI_CTRL_SLOTS];
};

/* in the value of an atomic record: an answer, else a request; the low bits are the slot */
#define DOFI_CTRL_ANSWER 0x100u

/* The fabric can carry control records, as writes or as control messages (control_message.h). */
bool dofi_ctrl_possible(const struct dofi_ia *ia);
/* As writes. */
bool dofi_ctrl_slots_possible(const struct dofi_ia *ia);
int dofi_ctrl_slots_open(struct dofi_ia *ia); /* 0 or a negative libfabric error; also where there
						 are no control records */
void dofi_ctrl_slots_close(struct dofi_ia *ia);

/* Gives an EP its control slots, which peers find by ep->ctrl_context; 0 or -ENOSPC. */
int dofi_ctrl_slots_attach(struct dofi_ep *ep);
void dofi_ctrl_slots_detach(struct dofi_ep *ep);

/* Those of the EP: what its peer has written there, and where the peer writes to. */
struct dofi_ctrl_slots *dofi_ctrl_slots_of(const struct dofi_ep *ep);
uint64_t dofi_ctrl_slots_address(const struct dofi_ep *ep);

/* The path of the EP does by itself what takes control records elsewhere. */
bool dofi_op_is_native(const struct dofi_ep *ep, uint8_t op);

/*
 * The peer's control slots is known from this entry of its table: false when it is none. ep->lock
 * held.
 */
bool dofi_ctrl_set_peer_slots(struct dofi_ep *ep, const struct dofi_ctx *ctx);

/*
 * Starts the request at the issue index, from the step where the fabric had no room; as
 * trans->send. ep->lock held.
 */
ssize_t dofi_ctrl_start(struct dofi_ep *ep, struct dofi_wr *wr);

/*
 * The fabric has completed such an operation, or its write of several steps: true when nothing
 * else is to come. ep->lock held.
 */
bool dofi_ctrl_completed(struct dofi_wr *wr);

/* The fabric has a part of this work request whose completion is to come. */
bool dofi_ctrl_outstanding(const struct dofi_wr *wr);

/* Answers that the fabric had no room for; ep->lock held. */
void dofi_ctrl_send_answers(struct dofi_ep *ep);

/* The completion data of a control record; ep->lock held. */
uint64_t dofi_ctrl_data(const struct dofi_ep *ep, enum dofi_ctrl_kind kind, uint32_t value);

/* Completion data without an operation of ours came in; engine.lock held. */
void dofi_ctrl_arrived(struct dofi_ia *ia, uint64_t data);

/*
 * A message is complete: what was noted about it is in the event from now on. engine.lock and
 * ep->lock held.
 */
struct dofi_ctrl dofi_ctrl_take(struct dofi_ep *ep, uint8_t *status_p);

/* Nothing of a former connection is left. ep->lock held. */
void dofi_ctrl_reset(struct dofi_ep *ep);

#endif
