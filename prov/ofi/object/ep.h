/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoint. Work requests live in two rings, in posting order, from the post to the completion
 * event. A fabric may complete in any order: a completion only marks its work request as done, and
 * events leave from the head of the ring.
 */
#ifndef DOFI_EP_H
#define DOFI_EP_H

#include "object/ia_parts.h"
#include "object/mem.h"
#include "object/object.h"
#include "object/wr.h"
#include "base/probe.h"

#include <sys/socket.h>

struct dofi_wakeup_peer;
struct dofi_conn;
struct dofi_evd;
struct dofi_ctrl_msgs;
struct dofi_memory_path;
struct dofi_srq;
struct dofi_trans_ops;
struct dofi_ud;
struct fi_cq_err_entry;
struct fid_ep;

/*
 * Remote contexts that this EP has resolved: direct mapped by index, a flat array that a post can
 * look at for free.
 */
#define DOFI_RCACHE_SIZE 64u

/* How often this EP has read a context, in the same place of an array; remote_context.h */
struct dofi_ctx_use {
	uint32_t context;
	uint8_t reads;
	bool subscribed; /* the owner tells us when the context ends */
};

#define DOFI_MAX_PRIVATE 256

/* What posts need to know about the peer's EP. Set when the path comes up. */
struct dofi_peer_ep {
	uint32_t number; /* number of the connection at the peer, for completion data */
	uint32_t secret; /* that goes with it in control messages */
	/* every message must carry the connection number, because it goes to an SRQ */
	bool wants_data;
	bool credits;         /* the peer sends credit updates; see credit.h */
	bool has_credit_word; /* the peer takes credit updates as writes to its credit word */
	bool wants_solicited; /* the peer notifies by the solicited flag of a Send */
	bool ctrl_msgs;       /* the peer takes control messages */
	bool atomics;         /* the peer's device does atomic operations */
	uint64_t ctxtab_key, ctxtab_address;
	uint32_t ctxtab_entries;
	uint32_t pz;
	/* target of separate credit updates: the credit word, if there is one */
	uint64_t sink_key, sink_address;
	uint32_t ctrl_context; /* context of its control slots, or 0 */
	bool ctrl_known;       /* the next two are valid */
	uint64_t ctrl_key, ctrl_address;
};

/* Kinds of control records; control.h */
enum dofi_ctrl_kind {
	DOFI_CTRL_LENGTH,
	DOFI_CTRL_IMMEDIATE,
	DOFI_CTRL_INVALIDATE,
	DOFI_CTRL_ATOMIC,
	DOFI_CTRL_CREDIT, /* credit.h */
	DOFI_CTRL_USED,   /* control_message.h */
};

struct dofi_ctrl {
	uint8_t kind; /* 0: none */
	uint32_t value, length;
};

#define DOFI_CTRL_SLOTS    4 /* atomic operations under way */
#define DOFI_CTRL_MSGS_DUE 0x80u

struct dofi_atomic_answer {
	uint64_t value;  /* the value before the operation */
	uint64_t status; /* DAT_DTO_COMPLETION_STATUS */
};

/* Where the peer wants the answer of an atomic operation, from its request. */
struct dofi_atomic_reply {
	uint64_t key, address;
};

/*
 * Completion data of 4 bytes have room for 31 bits beside the solicited bit; a control record has
 * room for 29.
 */
#define DOFI_CONN_ID_MASK 0x1fffffffu

struct dofi_ep {
	struct dofi_obj obj;
	struct dofi_lock lock;

	/*
	 * Hot: fields that each post and completion reads, in few cache lines. Guarded by lock,
	 * like the fields below. The configuration changes only with engine.lock and lock held.
	 */
	/* while the connection lasts: its own endpoint, or the shared one of the IA */
	struct fid_ep *fep;
	const struct dofi_trans_ops *trans; /* of the connection, or of the IA */
	uint64_t dest;                      /* for the shared endpoint: the peer's fi_addr_t */
	struct dofi_pz *pz;
	struct dofi_evd *recv_evd, *req_evd;
	struct dofi_srq *srq;
	struct dofi_ring req, recv;
	uint32_t reads, writes; /* under way in the fabric */
	uint32_t read_limit;    /* min(our max_rdma_read_out, the peer's max_rdma_read_in) */
	/* messages of this connection given to the fabric, and received */
	uint32_t nsent, nreceived;
	/* index in the ring from which posted receives are counted for the peer */
	uint32_t recv_base;
	uint32_t announced; /* the total in the last credit update to the peer */
	/* total of messages that the peer can receive in this connection */
	uint32_t credit_total;
	/* the peer's BYE counts so many messages; see ending_soon */
	uint32_t last_message;
	/*
	 * dat_ep_set_watermark: limits of the receives that the EP holds; UINT32_MAX: none.
	 * Exceeding soft_mark raises one event and resets the mark.
	 */
	uint32_t soft_mark;
	/* exceeding it breaks the connection */
	uint32_t hard_mark;
	union {
		struct {
			bool path_up; /* the fabric accepts operations */
			/* an operation failed: the engine will break the connection */
			bool faulty;
			/*
			 * a bind waits until the peers have forgotten the context that it replaced;
			 * see bind_replaced
			 */
			bool binding;
			uint8_t atomics_used; /* bits: control slots */
			/* changed with engine.lock and lock held; read with either */
			DAT_EP_STATE state;
		};
		uint64_t way; /* all fields above at once; see dofi_ep_is_free */
	};
	uint8_t credit_mode; /* enum dofi_credit_mode: how the peer gets credit updates */
	bool ending_soon;    /* last_message is valid */
	/* the fabric accepts no more posts: the engine waits for the reason, with a limit */
	bool refused;
	bool dirty; /* data were sent since the last read that confirmed delivery */
	/* a write was sent since the last fence; only if the fabric has fences */
	bool unfenced;
	/*
	 * the path keeps the order of a stream, and needs credits, whatever the fabric does; what
	 * the fabric does by itself it does not
	 */
	bool streams;
	uint8_t answers_due;   /* bits: control slots, and DOFI_CTRL_MSGS_DUE */
	struct dofi_ctrl ctrl; /* control record of the next message */
	struct dofi_stall stall;
	uint64_t send_tag, recv_tag; /* rdm transport */
	struct dofi_peer_ep peer;
	const struct dofi_wakeup_peer *wakeup; /* rdm transport: how to wake the peer */
	struct dofi_memory_path *memory;       /* memory transport: the rings */
	struct dofi_ctx *rcache;               /* [DOFI_RCACHE_SIZE] */
	/* NULL: control records are written, or there are none */
	struct dofi_ctrl_msgs *ctrl_msgs;
	DAT_EP_ATTR attr; /* effective values */
	DOFI_COUNTERS(EP)

	struct dofi_ring parts; /* parts of requests; no ring if each request is one operation */
	/* the last part of a request was due, but the fabric did not take it */
	bool owing;
	/* this EP counts as a watcher of completions because requests wait in the ring */
	bool holds;
	/* this EP counts as a watcher of completions because a watermark was set */
	bool marked;
	struct dofi_wr *held; /* from an SRQ: messages that overtook earlier ones */
	/* of a UD EP, for its whole life; otherwise NULL */
	struct dofi_ud *ud;
	bool peeking;       /* aux is in use by the fabric */
	bool peek_outdated; /* the context that is being read was invalidated meanwhile */
	/* former context of the bind; 0 once its invalidation was sent */
	uint32_t bind_replaced;
	uint64_t bind_number;       /* number of that invalidation */
	struct dofi_list bind_link; /* ia->cm.binds, guarded by engine.lock */
	/* deadline: peers that have not answered by then lose their connections */
	struct dofi_timer bind_limit;
	uint32_t ctrl_context;               /* context of our control slots, for the peer */
	uint32_t conn_id;                    /* of the latest connection */
	uint32_t atomic_wr[DOFI_CTRL_SLOTS]; /* index of the request in the ring */
	struct dofi_atomic_answer answers[DOFI_CTRL_SLOTS];
	struct dofi_atomic_reply replies[DOFI_CTRL_SLOTS];

	/* Connection state. Guarded by engine.lock. */
	struct dofi_evd *conn_evd; /* changes with both locks held */
	struct dofi_conn *conn;    /* current attempt or connection; kept until reset or free */
	struct sockaddr_storage remote_addr;
	uint64_t remote_qual; /* conn_qual of dat_ep_connect, or the peer's port qualifier */
	uint64_t local_qual;
	bool dialled; /* active side: dat_ep_dup_connect can use remote_qual */
	/* private data of the connection event */
	_Alignas(8) uint8_t private_data[DOFI_MAX_PRIVATE];

	/* Slot of ia->scratch for reads of the peer's context table and for the final sync. */
	uint32_t scratch;      /* index into the IA's scratch area */
	uint32_t aux_ctx;      /* context that is being read; 0: the final sync */
	uint32_t subscribe_to; /* the engine has to subscribe to this context; 0: none */
	struct dofi_ctx_use ctx_uses[DOFI_RCACHE_SIZE];
	struct dofi_own_wr *aux; /* the operation that fills the scratch */
};

/* Whether the EP is connected and nothing about it delays requests. ep->lock held. */
static inline bool dofi_ep_is_free(const struct dofi_ep *ep)
{
	static const struct dofi_ep is_free = {.path_up = true, .state = DAT_EP_STATE_CONNECTED};

	dofi_assert_held(&ep->lock);
	return ep->way == is_free.way;
}

/* engine.lock and ep->lock held. */
static inline void dofi_ep_enter_state(struct dofi_ep *ep, DAT_EP_STATE state)
{
	dofi_assert_held(&ep->lock);
	DOFI_PROBE3(state, ep, ep->state, state);
	ep->state = state;
}

/* Whether all messages that the peer's BYE counts have come. ep->lock held. */
static inline bool dofi_ep_last_message(const struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	return ep->ending_soon && ep->nreceived == ep->last_message;
}

/* --- ep.c: life cycle --- */
/* The EP is destroyed: adds its counters to the sums of the IA. */
void dofi_ep_keep_counters(struct dofi_ep *ep);
/* INVALID_STATE with the subtype of the state. */
DOFI_COLD DAT_RETURN dofi_ep_bad_state(DAT_EP_STATE state);
void dofi_ep_set_state(struct dofi_ep *ep, DAT_EP_STATE state);

/* Counts a request or receive that ended. ep->lock held. */
static inline void dofi_ep_count_completed(struct dofi_ep *ep, uint8_t status)
{
	dofi_assert_held(&ep->lock);
	DOFI_COUNT(ep, EP_COMPLETED, 1);
	if (DOFI_UNLIKELY(status != DAT_DTO_SUCCESS)) {
		if (status == DAT_DTO_ERR_FLUSHED)
			DOFI_COUNT(ep, EP_FLUSHED, 1);
		else
			DOFI_COUNT(ep, EP_ERRORS, 1);
	}
}

/* Counts a message of this length, with this control record. ep->lock held. */
static inline void dofi_ep_count_received(struct dofi_ep *ep, uint8_t kind, uint64_t length)
{
	dofi_assert_held(&ep->lock);
	if (kind == DOFI_CTRL_IMMEDIATE) {
		DOFI_COUNT(ep, EP_RECV_RDMA_IMM, 1);
		DOFI_COUNT(ep, EP_RECV_RDMA_IMM_DATA, length);
	} else {
		DOFI_COUNT(ep, EP_RECV, 1);
		DOFI_COUNT(ep, EP_RECV_DATA, length);
	}
}

/* Largest number of completions that one read of a queue asks for. */
#define DOFI_CQ_BATCH 16u

#endif
