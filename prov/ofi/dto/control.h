/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Control records: items that DAT sends beside data and that most fabrics cannot carry. This file
 * sends them as control writes: RDMA writes of a small record, or of nothing, into the control
 * slots of the peer's EP. The completion data of 64 bits tell the peer's engine the kind, the
 * receiver and a value. A control write keeps the order of the connection, takes no receive, and
 * needs no buffer here.
 *
 * A control record about a message is sent directly before the message, and the peer keeps it until
 * the message's receive completes. Such records are immediate data, with the length of their write,
 * and the context that a Send invalidates.
 *
 * InfiniBand has no control records: its own writes with immediate data take a receive of the peer,
 * as DAT wants.
 *
 * An emulated atomic operation is a control record, and so is its answer: see atomic.h.
 *
 * Where writes are not ordered, or messages complete in another order than they were sent, control
 * records travel as control messages: see control_message.h.
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
	uint64_t answer_key, answer_address; /* target of the answer */
};

/* Written by the peer; in host order, as the values of atomic operations are. */
struct dofi_ctrl_slots {
	struct dofi_atomic_request requests[DOFI_CTRL_SLOTS];
	struct dofi_atomic_answer answers[DOFI_CTRL_SLOTS];
};

/* in the value of an atomic record: an answer, else a request; the low bits are the slot */
#define DOFI_CTRL_ANSWER 0x100u

/*
 * Whether the fabric can carry control records, as writes or as control messages
 * (control_message.h).
 */
bool dofi_ctrl_possible(const struct dofi_ia *ia);
/* Whether it can carry them as writes. */
bool dofi_ctrl_slots_possible(const struct dofi_ia *ia);
/* Makes the control slots, if the fabric needs them. 0 or a negative libfabric error. */
int dofi_ctrl_slots_open(struct dofi_ia *ia);
void dofi_ctrl_slots_close(struct dofi_ia *ia);

/* Gives a new EP its control slots, which peers find by ep->ctrl_context; 0 or -ENOSPC. */
int dofi_ctrl_slots_attach(struct dofi_ep *ep);
void dofi_ctrl_slots_detach(struct dofi_ep *ep);
/*
 * The EP has another ep->scratch, the index of its control slots. Peers of later connections find
 * them by a new context. 0; or -ENOSPC, and nothing is changed.
 */
int dofi_ctrl_slots_move(struct dofi_ep *ep);

/* The control slots of the EP, and their address as peers know it. */
struct dofi_ctrl_slots *dofi_ctrl_slots_of(const struct dofi_ep *ep);
uint64_t dofi_ctrl_slots_address(const struct dofi_ep *ep);

/* The fabric, or the path of the EP, does by itself what takes control records elsewhere. */
bool dofi_op_is_native_in_fabric(const struct dofi_ia *ia, uint8_t op);
bool dofi_op_is_native(const struct dofi_ep *ep, uint8_t op);

/*
 * Takes the place of the peer's control slots from this entry of its table. False if the entry is
 * not one of control slots. ep->lock held.
 */
bool dofi_ctrl_set_peer_slots(struct dofi_ep *ep, const struct dofi_ctx *ctx);

/*
 * Starts the request at the issue index, or continues at the step for which the fabric had no room.
 * Returns as trans->send, or 1 if the request waits for a completion. ep->lock held.
 */
ssize_t dofi_ctrl_start(struct dofi_ep *ep, struct dofi_wr *wr);

/*
 * The fabric has completed such an operation, or the write of one with several steps. True if the
 * request is complete. ep->lock held.
 */
bool dofi_ctrl_completed(struct dofi_wr *wr);

/* Whether a completion of the fabric for this work request is still to come. */
bool dofi_ctrl_outstanding(const struct dofi_wr *wr);

/* Sends the answers that are due; ep->lock held. */
void dofi_ctrl_send_answers(struct dofi_ep *ep);

/* The completion data of a control record; ep->lock held. */
uint64_t dofi_ctrl_data(const struct dofi_ep *ep, enum dofi_ctrl_kind kind, uint32_t value);

/* Handles completion data of a control write of the peer. engine.lock held. */
void dofi_ctrl_arrived(struct dofi_ia *ia, uint64_t data);

/*
 * A message is complete: takes the control record about it, and carries out an invalidation.
 * *status_p changes if that is refused. engine.lock and ep->lock held.
 */
struct dofi_ctrl dofi_ctrl_take(struct dofi_ep *ep, uint8_t *status_p);

/* Clears the state of a former connection. ep->lock held. */
void dofi_ctrl_reset(struct dofi_ep *ep);

#endif
