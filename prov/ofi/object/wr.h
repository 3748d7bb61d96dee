/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work requests, and the rings that they live in. */
#ifndef DOFI_WR_H
#define DOFI_WR_H

#include "object/mem.h"
#include "object/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct bounce;
struct dofi_ep;
struct dofi_ia;
struct dofi_orphans;
struct dofi_pz;
struct dofi_srq;
struct dofi_ud_ah;

enum dofi_wr_state {
	DOFI_WR_QUEUED, /* in the ring, not given to the fabric */
	DOFI_WR_ISSUED, /* given to the fabric */
	/* a receive whose message came before the control message about it (control_message.h) */
	DOFI_WR_HELD,
	/* the fabric returned it because the path goes down; the flush sets its status */
	DOFI_WR_BACK,
	DOFI_WR_DONE, /* finished, waits for its predecessors */
};

/* Memory of the peer. */
struct dofi_remote {
	uint64_t address; /* as DAT knows it */
	/* as the fabric knows it, once its context is resolved */
	uint64_t target, key;
};

/*
 * A work request. It, or the memory in front of it, is the operation's context at the fabric
 * (op_context.h). The EP's iov limit decides the size of one.
 */
struct dofi_wr {
	union {
		struct dofi_ep *ep;           /* DOFI_TRAIT_EP */
		struct dofi_srq *srq;         /* DOFI_OP_SRQ_RECV */
		struct dofi_orphans *orphans; /* DOFI_OP_ORPHAN */
		struct dofi_ia *ia;           /* DOFI_OP_UD_RECV, DOFI_OP_DRAIN */
	};
	uint64_t cookie;
	union {
		struct {
			uint8_t op;    /* enum dofi_op */
			uint8_t state; /* enum dofi_wr_state */
			uint8_t flags; /* DAT_COMPLETION_FLAGS */
			/*
			 * DAT_DTO_COMPLETION_STATUS once done; of a receive that can only fail,
			 * before
			 */
			uint8_t status;
			uint16_t niov;
			/*
			 * RDMA in parts: segments of the last part, which goes behind the others
			 */
			uint8_t nlast;
			/*
			 * RDMA: parts that the fabric has (parts.h); message: it has a bounce
			 * buffer (bounce.h)
			 */
			uint8_t split;
		};
		/* all of these, which the hot path sets and compares at once */
		uint64_t kind;
	};
	uint64_t length; /* bytes to move; receive: capacity, then what came */
	/* by operation */
	union {
		struct {
			struct dofi_remote remote;
			uint32_t context; /* rmr_context */
			bool resolved;    /* the rest of remote is set, or nothing needs it */
			uint8_t step;     /* of an operation that the fabric takes in several */
			bool written;     /* one of them, the write, is complete */
			uint8_t given;    /* in parts: segments that were given to the fabric */
		} rdma;
		struct {
			struct dofi_remote remote;
			uint32_t request; /* index in the ring; each number is one */
			bool severed;     /* the request has failed and does not wait for it */
		} part;
		struct dofi_remote remote; /* of both */
		struct {
			uint64_t address;          /* at the peer, as DAT knows it */
			uint64_t operand, compare; /* what is added, or put in place of compare */
			uint32_t context;          /* rmr_context */
		} atomic;
		struct {
			struct bounce *bounce; /* where its segments are, when it is split */
			/* of a datagram; NULL when the address handle is gone */
			struct dofi_ud_ah *ah;
			uint32_t context; /* the one to invalidate */
			uint8_t step;
		} send;
		struct {
			struct bounce *bounce; /* as above */
			union {
				struct dofi_pz *pz;   /* of an EP: that of its segments */
				struct dofi_wr *next; /* of an SRQ: in the list that it is in */
			};
			uint32_t update; /* while it is held: what came with its message */
			union {
				uint32_t value; /* of its control record */
				int err;        /* of an SRQ, while it is held */
			};
			uint8_t ctrl;   /* enum dofi_ctrl_kind of that, or 0 */
			bool solicited; /* the message asked for a notification */
		} recv;
		struct bounce *bounce; /* of both, and of an orphan */
		struct {
			bool has_slot; /* receive_slots.h */
		} ud_recv;
	};
	struct iovec iov[]; /* [max_iov], then void *desc[max_iov] */
};

_Static_assert(offsetof(struct dofi_wr, iov) == 64, "the segments follow one cache line");

/*
 * The value of `kind` for a request with one segment and nothing special. With constant arguments
 * the compiler computes it.
 */
static inline uint64_t dofi_wr_plain(uint8_t op, uint8_t state)
{
	return ((struct dofi_wr){.op = op, .state = state, .niov = 1}).kind;
}

/* Whether a request is plain in this sense, whatever its operation. */
static inline bool dofi_wr_is_plain(const struct dofi_wr *wr, uint8_t state)
{
	return (wr->kind | (struct dofi_wr){.op = 0xff}.kind) == dofi_wr_plain(0xff, state);
}

#define DOFI_CACHE_LINE  64u

/* Room for a struct fi_context2, and a multiple of a cache line; see op_context.h. */
#define DOFI_CONTEXT_GAP DOFI_CACHE_LINE

/* A work request outside of rings. */
struct dofi_own_wr {
	char context[DOFI_CONTEXT_GAP];
	struct dofi_wr wr;
};

/*
 * Indices run freely; head <= issue <= tail. [head, issue) was given to the fabric, [issue, tail)
 * waits.
 */
struct dofi_ring {
	char *base; /* the first slot; the memory begins `gap` bytes before it */
	uint32_t stride;
	uint32_t mask;
	uint32_t limit; /* how many may be outstanding */
	uint16_t max_iov;
	uint16_t fabric_iov; /* what one operation of the fabric takes */
	uint16_t desc_at;    /* of a slot: bytes before its descriptors */
	/* bytes before a slot for the fabric's context: ia->context_gap */
	uint16_t gap;
	uint32_t head, issue, tail;
};

static inline struct dofi_wr *dofi_ring_at(const struct dofi_ring *r, uint32_t index)
{
	return (struct dofi_wr *)(void *)(r->base + (size_t)(index & r->mask) * r->stride);
}

static inline void **dofi_wr_desc(const struct dofi_ring *r, struct dofi_wr *wr)
{
	return (void **)(void *)((char *)wr + r->desc_at);
}

/* The immediate data of a write lie behind the descriptors. */
static inline uint32_t *dofi_wr_immediate(const struct dofi_ring *r, struct dofi_wr *wr)
{
	return (uint32_t *)(void *)(dofi_wr_desc(r, wr) + r->max_iov);
}

/*
 * Whether the request will still use the peer's context. Once the fabric has its data, it will not.
 */
static inline bool dofi_wr_uses_context(const struct dofi_wr *wr, uint32_t context)
{
	return dofi_op_is_rdma(wr->op) && wr->length && wr->rdma.context == context &&
	       !wr->rdma.step;
}

/* Whether the fabric has got parts of the request. From the first one on, a read is under way. */
static inline bool dofi_wr_is_begun(const struct dofi_wr *wr)
{
	return dofi_op_is_rdma(wr->op) && wr->rdma.given;
}

/* A bind has no segments: struct dofi_bind takes their place. */
static inline struct dofi_bind *dofi_wr_bind(struct dofi_wr *wr)
{
	return (struct dofi_bind *)(void *)wr->iov;
}

/* Bytes of the first n segments. */
static inline uint64_t dofi_wr_length(const struct dofi_wr *wr, uint16_t n)
{
	uint64_t length = 0;

	for (uint16_t i = 0; i < n; i++)
		length += wr->iov[i].iov_len;
	return length;
}

/* The beginning and the size of the memory of a ring. */
static inline char *dofi_ring_memory(const struct dofi_ring *r)
{
	return r->base - r->gap;
}

static inline size_t dofi_ring_size(const struct dofi_ring *r)
{
	return ((size_t)r->mask + 1) * r->stride;
}

static inline uint32_t dofi_ring_count(const struct dofi_ring *r)
{
	return r->tail - r->head;
}

#endif
