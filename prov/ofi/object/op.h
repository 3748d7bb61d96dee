/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations of work requests, and their traits. Code asks for a trait; the order of the numbers
 * means nothing.
 *
 * The hot path knows most operations at compile time, so a trait costs nothing there. Elsewhere it
 * is a test of one bit.
 */
#ifndef DOFI_OP_H
#define DOFI_OP_H

#include <stdbool.h>
#include <stdint.h>

enum dofi_op_trait {
	DOFI_TRAIT_EP = 1u << 0,      /* wr->ep names the EP that it is of */
	DOFI_TRAIT_RECEIVE = 1u << 1, /* the program posted it for a message */
	DOFI_TRAIT_PLAIN = 1u << 2,   /* the fast path knows it */
	DOFI_TRAIT_MESSAGE = 1u << 3, /* takes a receive of the peer's EP */
	DOFI_TRAIT_SEND = 1u << 4,    /* sends its segments as a message */
	DOFI_TRAIT_RDMA = 1u << 5,    /* by an rmr_context that is resolved here; wr->rdma */
	DOFI_TRAIT_WRITE = 1u << 6,   /* RDMA that stores at the peer */
	DOFI_TRAIT_ATOMIC = 1u << 7,  /* wr->atomic */
	DOFI_TRAIT_CTRL = 1u << 8,    /* begins with a control record, or is one (control.h) */
	DOFI_TRAIT_INWARD = 1u << 9,  /* stores into its segments */
};

/*
 * A row: name, number, traits. The numbers up to CMP_SWAP are those of DAT 2.0, where DAT has one:
 * events of plain requests bear them as they are, and an emulated atomic operation has its number
 * on the wire. All are less than 32.
 */
/* clang-format off */
#define DOFI_OP_TABLE(ROW, arg) \
	ROW(arg, SEND, 0, \
	    DOFI_TRAIT_EP | DOFI_TRAIT_PLAIN | DOFI_TRAIT_MESSAGE | DOFI_TRAIT_SEND) \
	ROW(arg, WRITE, 1, \
	    DOFI_TRAIT_EP | DOFI_TRAIT_PLAIN | DOFI_TRAIT_RDMA | DOFI_TRAIT_WRITE) \
	ROW(arg, READ, 2, \
	    DOFI_TRAIT_EP | DOFI_TRAIT_PLAIN | DOFI_TRAIT_RDMA | DOFI_TRAIT_INWARD) \
	ROW(arg, RECV, 3, \
	    DOFI_TRAIT_EP | DOFI_TRAIT_PLAIN | DOFI_TRAIT_RECEIVE | DOFI_TRAIT_INWARD) \
	ROW(arg, BIND, 5, DOFI_TRAIT_EP) \
	ROW(arg, SEND_UD, 13, DOFI_TRAIT_EP | DOFI_TRAIT_SEND) \
	ROW(arg, WRITE_IMM, 8, \
	    DOFI_TRAIT_EP | DOFI_TRAIT_MESSAGE | DOFI_TRAIT_RDMA | DOFI_TRAIT_WRITE | \
	    DOFI_TRAIT_CTRL) \
	ROW(arg, FETCH_ADD, 10, \
	    DOFI_TRAIT_EP | DOFI_TRAIT_ATOMIC | DOFI_TRAIT_CTRL | DOFI_TRAIT_INWARD) \
	ROW(arg, CMP_SWAP, 11, \
	    DOFI_TRAIT_EP | DOFI_TRAIT_ATOMIC | DOFI_TRAIT_CTRL | DOFI_TRAIT_INWARD) \
	ROW(arg, SEND_INVALIDATE, 15, \
	    DOFI_TRAIT_EP | DOFI_TRAIT_MESSAGE | DOFI_TRAIT_SEND | DOFI_TRAIT_CTRL) \
	/* How a receive ended, in events alone. */ \
	ROW(arg, RECV_INVALIDATE, 4, 0) \
	ROW(arg, RECV_IMM, 9, 0) \
	ROW(arg, RECV_UD, 14, 0) \
	/* The library's own, without events. */ \
	ROW(arg, PEEK, 16, DOFI_TRAIT_EP)   /* reads the peer's context table */ \
	ROW(arg, PART, 17, DOFI_TRAIT_EP)   /* of a request (parts.h) */ \
	ROW(arg, SRQ_RECV, 18, \
	    DOFI_TRAIT_RECEIVE | DOFI_TRAIT_INWARD) /* of an SRQ, until a message takes it */ \
	ROW(arg, CTRL_RECV, 19, 0) /* for credit updates and control messages (rdm.h) */ \
	ROW(arg, ORPHAN, 20, 0)    /* its connection is over (orphan.h) */ \
	ROW(arg, DRAIN, 21, 0)     /* for what comes after the end of its connection (drain.h) */ \
	ROW(arg, SPARE, 22, 0)     /* a receive that holds a slot (receive_slots.h) */ \
	ROW(arg, UD_RECV, 23, 0)   /* for the datagrams of all EPs (ud_pool.h) */
/* clang-format on */

#define DOFI_OP_NUMBER(unused, name, number, traits) DOFI_OP_##name = (number),
#define DOFI_OP_BIT(trait, name, number, traits)     | ((traits) & (trait) ? 1u << (number) : 0u)
#define DOFI_OPS_WITH(trait)                         (0u DOFI_OP_TABLE(DOFI_OP_BIT, trait))

enum dofi_op { DOFI_OP_TABLE(DOFI_OP_NUMBER, ) DOFI_OPS = 32 };

/* Bits: the operations with a trait. */
enum {
	DOFI_OPS_EP = DOFI_OPS_WITH(DOFI_TRAIT_EP),
	DOFI_OPS_RECEIVE = DOFI_OPS_WITH(DOFI_TRAIT_RECEIVE),
	DOFI_OPS_PLAIN = DOFI_OPS_WITH(DOFI_TRAIT_PLAIN),
	DOFI_OPS_MESSAGE = DOFI_OPS_WITH(DOFI_TRAIT_MESSAGE),
	DOFI_OPS_SEND = DOFI_OPS_WITH(DOFI_TRAIT_SEND),
	DOFI_OPS_RDMA = DOFI_OPS_WITH(DOFI_TRAIT_RDMA),
	DOFI_OPS_WRITE = DOFI_OPS_WITH(DOFI_TRAIT_WRITE),
	DOFI_OPS_ATOMIC = DOFI_OPS_WITH(DOFI_TRAIT_ATOMIC),
	DOFI_OPS_CTRL = DOFI_OPS_WITH(DOFI_TRAIT_CTRL),
	DOFI_OPS_INWARD = DOFI_OPS_WITH(DOFI_TRAIT_INWARD),
};

static inline bool dofi_op_is_of_ep(uint8_t op)
{
	return 1u << op & DOFI_OPS_EP;
}

static inline bool dofi_op_is_receive(uint8_t op)
{
	return 1u << op & DOFI_OPS_RECEIVE;
}

static inline bool dofi_op_may_be_plain(uint8_t op)
{
	return 1u << op & DOFI_OPS_PLAIN;
}

static inline bool dofi_op_is_message(uint8_t op)
{
	return 1u << op & DOFI_OPS_MESSAGE;
}

static inline bool dofi_op_is_send(uint8_t op)
{
	return 1u << op & DOFI_OPS_SEND;
}

static inline bool dofi_op_is_rdma(uint8_t op)
{
	return 1u << op & DOFI_OPS_RDMA;
}

static inline bool dofi_op_is_write(uint8_t op)
{
	return 1u << op & DOFI_OPS_WRITE;
}

static inline bool dofi_op_is_atomic(uint8_t op)
{
	return 1u << op & DOFI_OPS_ATOMIC;
}

static inline bool dofi_op_needs_ctrl(uint8_t op)
{
	return 1u << op & DOFI_OPS_CTRL;
}

static inline bool dofi_op_is_inward(uint8_t op)
{
	return 1u << op & DOFI_OPS_INWARD;
}

/* How an event reports an operation. */
struct dofi_op_event {
	uint8_t dto; /* DAT_DTOS of DAT 2.0; DAT 1.2 has no place for it */
	/* as in struct dofi_event; DAT 1.2 has plain completions alone */
	uint16_t ext;
};

/* For operations that have events. */
struct dofi_op_event dofi_op_event(uint8_t op);

#endif
