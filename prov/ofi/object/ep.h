/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoint. Work requests live in two rings, in posting order, from the post to the completion
 * event. A fabric completes in any order it likes: a completion marks its work request done, and
 * events leave from the head of the ring.
 */
#ifndef DOFI_EP_H
#define DOFI_EP_H

#include "object/ia_parts.h"
#include "object/mem.h"
#include "object/object.h"
#include "base/probe.h"

#include <sys/socket.h>
#include <sys/uio.h>

struct bounce;
struct dofi_wakeup_peer;
struct dofi_conn;
struct dofi_evd;
struct dofi_ctrl_msgs;
struct dofi_orphans;
struct dofi_srq;
struct dofi_ud;
struct fi_cq_err_entry;
struct fid_ep;

/* values of DAT 2.0's DAT_DTOS */
enum dofi_op {
	DOFI_OP_SEND = 0,
	DOFI_OP_WRITE = 1,
	DOFI_OP_READ = 2,
	DOFI_OP_RECV = 3,
	DOFI_OP_RECV_INVALIDATE = 4, /* in events alone, as RECV_IMM */
	DOFI_OP_BIND = 5,
	DOFI_OP_SEND_UD = 6, /* ours; 13 in events */
	/* From here on with control records (control.h). */
	DOFI_OP_WRITE_IMM = 8,
	DOFI_OP_RECV_IMM = 9,
	DOFI_OP_FETCH_ADD = 10,
	DOFI_OP_CMP_SWAP = 11,
	/* Ours; those from 0x40 on aren't in rings. */
	DOFI_OP_SEND_INVALIDATE = 0x20, /* a send in events */
	DOFI_OP_PEEK = 0x40,            /* reads the peer's context table; no event */
	DOFI_OP_PART = 0x41,            /* of a request; segments.h */
	/* From here on of no EP. */
	DOFI_OP_SRQ_RECV = 0x42,  /* a receive of an SRQ, not taken yet */
	DOFI_OP_CTRL_RECV = 0x43, /* a receive for credit updates that come by themselves */
	DOFI_OP_ORPHAN = 0x44,    /* its connection is over */
	DOFI_OP_DRAIN =
		0x45, /* a receive for what comes after the end of its connection; drain.h */
	DOFI_OP_SPARE = 0x46,   /* a receive that holds a place; receive_slots.h */
	DOFI_OP_UD_RECV = 0x47, /* a receive for datagrams of all EPs; ud.h */
};

enum dofi_wr_state {
	DOFI_WR_QUEUED, /* in the ring, not given to the fabric */
	DOFI_WR_ISSUED, /* the fabric's */
	/* a receive whose message came before the control message about it (control_message.h) */
	DOFI_WR_HELD,
	DOFI_WR_BACK, /* the fabric gave it up because the path goes down; the flush says how it
			 ended */
	DOFI_WR_DONE, /* finished, waits for its predecessors */
};

/*
 * A work request. It, or the memory in front of it, is the operation's context at the fabric
 * (op_context.h). The EP's iov limit decides the size of one.
 */
struct dofi_wr {
	union {
		struct dofi_ep *ep;
		struct dofi_srq *srq;         /* DOFI_OP_SRQ_RECV */
		struct dofi_orphans *orphans; /* DOFI_OP_ORPHAN */
		struct dofi_ia *ia;           /* DOFI_OP_UD_RECV */
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
			union {
				/* receive: the message asked for a notification */
				bool solicited;
				/*
				 * RDMA in parts: segments of the last part, which goes behind the
				 * others
				 */
				uint8_t nlast;
			};
			uint8_t split; /* segments.h */
		};
		/* all of these, which the hot path sets and compares at once */
		uint64_t kind;
	};
	uint64_t length; /* bytes to move; receive: capacity, then what came */
	/* RDMA: the peer's address as DAT knows it; receive: the PZ of its segments */
	uint64_t raddr;
	union {
		/* RDMA: as the fabric knows it; with rkey, once resolved; atomic: both operands */
		uint64_t faddr;
		/* message, receive: where its segments are, when it is split */
		struct bounce *bounce;
	};
	union {
		/* of a datagram: its struct dofi_ud_ah, or 0 when that is gone */
		uint64_t rkey;
		struct dofi_wr *next; /* of ep->held */
	};
	/* RDMA: rmr_context; Send: the one to invalidate; receive: the control record's value */
	uint32_t rctx;
	bool resolved; /* RDMA: faddr and rkey are set, or nothing needs them */
	uint8_t step;  /* of an operation that the fabric takes in several */
	bool written;  /* one of them, the write, is complete */
	union {
		uint8_t note;  /* receive: enum dofi_ctrl_kind, or 0 */
		uint8_t given; /* RDMA in parts: segments that were given to the fabric */
	};
	struct iovec iov[]; /* [max_iov], then void *desc[max_iov] */
};

/*
 * The kind of one that has one segment and nothing special about it. For the compiler: both are
 * constants.
 */
static inline uint64_t dofi_wr_plain(uint8_t op, uint8_t state)
{
	return ((struct dofi_wr){.op = op, .state = state, .niov = 1}).kind;
}

/* Such a one, whatever it does. */
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

/* Behind these: the immediate data of a write. */
static inline uint32_t *dofi_wr_immediate(const struct dofi_ring *r, struct dofi_wr *wr)
{
	return (uint32_t *)(void *)(dofi_wr_desc(r, wr) + r->max_iov);
}

static inline bool dofi_op_is_atomic(uint8_t op)
{
	return op == DOFI_OP_FETCH_ADD || op == DOFI_OP_CMP_SWAP;
}

/* Reads or writes by an rmr_context that is resolved here. */
static inline bool dofi_op_is_rdma(uint8_t op)
{
	return op == DOFI_OP_READ || op == DOFI_OP_WRITE || op == DOFI_OP_WRITE_IMM;
}

/* Will use the peer's context; not when the fabric has its data already. */
static inline bool dofi_op_uses_context(const struct dofi_wr *wr, uint32_t context)
{
	return dofi_op_is_rdma(wr->op) && wr->length && wr->rctx == context && !wr->step;
}

/* A bind has no segments: its particulars use their place. */
static inline struct dofi_bind *dofi_wr_bind(struct dofi_wr *wr)
{
	return (struct dofi_bind *)(void *)wr->iov;
}

/* All memory of the ring, which begins here and is so long. */
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

/*
 * Remote contexts that this EP has resolved: direct mapped by index, a flat array that a post can
 * look at for free.
 */
#define DOFI_RCACHE_SIZE 64u

#define DOFI_MAX_PRIVATE 256

/* What posts must know about the other end; set when the path comes up. */
struct dofi_peer_ep {
	uint32_t number; /* the connection's at the peer; in completion data */
	/* every message must name the connection: it goes to an SRQ */
	bool wants_data;
	bool credits;         /* tells how many receives it has; see credit.h... */
	bool has_credit_word; /* ...and wants to be told by writes into its word */
	bool wants_solicited; /* notifies by the Send's solicited flag */
	bool ctrl_msgs;       /* takes them */
	bool atomics;         /* its device does atomic operations */
	uint64_t ctxtab_key, ctxtab_address;
	uint32_t ctxtab_entries;
	uint32_t pz;
	/* where a credit update of its own is written: the word, if there is one */
	uint64_t sink_key, sink_address;
	uint32_t ctrl_context; /* of its control slots, or 0 */
	bool ctrl_known;       /* the next two are */
	uint64_t ctrl_key, ctrl_address;
};

/* control.h */
enum dofi_ctrl_kind {
	DOFI_CTRL_LENGTH,
	DOFI_CTRL_IMMEDIATE,
	DOFI_CTRL_INVALIDATE,
	DOFI_CTRL_ATOMIC,
	DOFI_CTRL_CREDIT, /* of credit.h */
	DOFI_CTRL_USED,   /* of control_message.h */
};

struct dofi_ctrl {
	uint8_t kind; /* 0: none */
	uint32_t value, length;
};

#define DOFI_CTRL_SLOTS    4 /* atomic operations under way */
#define DOFI_CTRL_MSGS_DUE 0x80u

struct dofi_atomic_answer {
	uint64_t value;  /* before the operation */
	uint64_t status; /* DAT_DTO_COMPLETION_STATUS */
};

/*
 * 31 bits are room beside the solicited bit in completion data of 4 bytes; a control record has
 * room for 29.
 */
#define DOFI_CONN_ID_MASK 0x1fffffffu

struct dofi_ep {
	struct dofi_obj obj;
	struct dofi_lock lock;

	/*
	 * Hot, and in few cache lines: what posts and completions look at each time. Guarded by
	 * lock, as what follows; the configuration changes with both locks held.
	 */
	/* while the connection lasts: its own, or the IA's shared one... */
	struct fid_ep *fep;
	uint64_t dest; /* ...which needs the peer's fi_addr_t */
	struct dofi_pz *pz;
	struct dofi_evd *recv_evd, *req_evd;
	struct dofi_srq *srq;
	struct dofi_ring req, recv;
	uint32_t reads, writes; /* given to the fabric and not complete */
	uint32_t read_limit;    /* min(our out, peer's in) of this connection */
	/* messages given to the fabric, received, in this connection */
	uint32_t nsent, nreceived;
	/* the peer is told how many receives are posted, counted from this index of the ring... */
	uint32_t recv_base;
	uint32_t announced; /* ...and knows of so many */
	/* messages that the peer can receive, in this connection */
	uint32_t credit_total;
	/* the peer said goodbye after so many messages; see ending_soon */
	uint32_t last_message;
	/* dat_ep_set_watermark: bounds of the receives that the EP holds, UINT32_MAX for none. */
	uint32_t soft_mark;
	/* The first asks for one event, then it is none again; the second breaks the connection */
	uint32_t hard_mark;
	union {
		struct {
			bool path_up; /* the fabric takes operations */
			/* an operation failed: the engine breaks the connection */
			bool faulty;
			/*
			 * a bind waits until the peers forgot the context that it replaced; see
			 * bind_replaced
			 */
			bool binding;
			uint8_t atomics_used; /* bits: slots */
			/* changed with engine.lock and lock held; read with either */
			DAT_EP_STATE state;
		};
		uint64_t way; /* all of these; see dofi_ep_is_free */
	};
	uint8_t credit_mode; /* enum dofi_credit_mode: the peer is told of receives */
	bool ending_soon;    /* last_message is set */
	/* the fabric takes no more: the engine waits for the reason, but not for ever */
	bool refused;
	bool dirty; /* sent something since the last sync with the peer */
	/* a write went since the last fence; only where the fabric has fences */
	bool unfenced;
	uint8_t answers_due;   /* bits: slots, and DOFI_CTRL_MSGS_DUE */
	struct dofi_ctrl note; /* of the message that comes next */
	struct dofi_stall stall;
	uint64_t send_tag, recv_tag; /* rdm transport */
	struct dofi_peer_ep peer;
	const struct dofi_wakeup_peer *wakeup; /* rdm transport: wakes the peer */
	struct dofi_ctx *rcache;               /* [DOFI_RCACHE_SIZE] */
	/* NULL: control records are written, or there are none */
	struct dofi_ctrl_msgs *ctrl_msgs;
	DAT_EP_ATTR attr; /* effective */
	DOFI_COUNTERS(EP)

	struct dofi_ring parts; /* of requests; no ring where each request is one operation */
	/* the last part of a request did not get to the fabric in its turn */
	bool owing;
	bool holds;           /* requests wait in the ring, so completions are watched... */
	bool marked;          /* ...and since a watermark was set */
	struct dofi_wr *held; /* from an SRQ: messages that overtook earlier ones */
	/* NULL unless it is one of datagrams; the same for all its life */
	struct dofi_ud *ud;
	bool peeking;               /* aux is the fabric's */
	bool peek_outdated;         /* the peer took back the context that is being read */
	uint32_t bind_replaced;     /* 0 once the peers were asked... */
	uint64_t bind_number;       /* ...by this invalidation */
	struct dofi_list bind_link; /* ia->cm.binds, guarded by engine.lock */
	/* the peers that have not answered by then are given up */
	struct dofi_timer bind_limit;
	uint32_t ctrl_context;               /* peers find our control slots by it */
	uint32_t conn_id;                    /* of the latest connection */
	uint32_t atomic_wr[DOFI_CTRL_SLOTS]; /* index of the request in the ring */
	struct dofi_atomic_answer answers[DOFI_CTRL_SLOTS];

	/* Connection: guarded by engine.lock. */
	struct dofi_evd *conn_evd; /* changes with both locks held */
	struct dofi_conn *conn;    /* current attempt or connection; kept until reset or free */
	struct dofi_work ending;   /* unused while conn is NULL */
	struct sockaddr_storage remote_addr;
	uint64_t remote_qual; /* conn_qual that was dialled, or the peer's port qualifier */
	uint64_t local_qual;
	bool dialled; /* active side: remote_qual can be dialled again by dup_connect */
	_Alignas(8) uint8_t private_data[DOFI_MAX_PRIVATE]; /* of the connection event */

	/*
	 * Scratch for context reads and for the final sync, registered once per IA (ia->scratch).
	 */
	uint32_t scratch;        /* index into the IA's scratch area */
	uint32_t aux_ctx;        /* context being resolved; 0: the final sync */
	struct dofi_own_wr *aux; /* the operation that fills the scratch */
};

/* Connected, and nothing about the EP holds its requests up. lock held. */
static inline bool dofi_ep_is_free(const struct dofi_ep *ep)
{
	static const struct dofi_ep is_free = {.path_up = true, .state = DAT_EP_STATE_CONNECTED};

	return ep->way == is_free.way;
}

/* engine.lock and lock held. */
static inline void dofi_ep_enter_state(struct dofi_ep *ep, DAT_EP_STATE state)
{
	DOFI_PROBE3(state, ep, ep->state, state);
	ep->state = state;
}

static inline bool dofi_ep_last_message(const struct dofi_ep *ep)
{
	return ep->ending_soon && ep->nreceived == ep->last_message;
}

/* --- ep.c: life cycle --- */
/* The EP goes: the IA keeps the sums of its counters. */
void dofi_ep_keep_counters(struct dofi_ep *ep);
/* INVALID_STATE with the subtype that names the state. */
DOFI_COLD DAT_RETURN dofi_ep_bad_state(DAT_EP_STATE state);
void dofi_ep_set_state(struct dofi_ep *ep, DAT_EP_STATE state);

/* --- post.c, issue.c: the hot path out --- */

/* --- reap.c: the hot path in --- */
/* A request or receive ended. ep->lock held. */
static inline void dofi_ep_count_completed(struct dofi_ep *ep, uint8_t status)
{
	DOFI_COUNT(ep, EP_COMPLETED, 1);
	if (DOFI_UNLIKELY(status != DAT_DTO_SUCCESS)) {
		if (status == DAT_DTO_ERR_FLUSHED)
			DOFI_COUNT(ep, EP_FLUSHED, 1);
		else
			DOFI_COUNT(ep, EP_ERRORS, 1);
	}
}

/* A message came: with which note, so long. ep->lock held. */
static inline void dofi_ep_count_received(struct dofi_ep *ep, uint8_t note, uint64_t length)
{
	if (note == DOFI_CTRL_IMMEDIATE) {
		DOFI_COUNT(ep, EP_RECV_RDMA_IMM, 1);
		DOFI_COUNT(ep, EP_RECV_RDMA_IMM_DATA, length);
	} else {
		DOFI_COUNT(ep, EP_RECV, 1);
		DOFI_COUNT(ep, EP_RECV_DATA, length);
	}
}

/* Completions that one read of a queue asks for, at most. */
#define DOFI_CQ_BATCH 16u

#endif
