/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The data path of a connection between two processes of one host: a segment with a ring in each
 * direction. The accepting side makes it and passes its descriptor to the connecting side.
 *
 * ep->lock guards the members for the ring that this side writes, because posts use them.
 * engine.lock guards those for the ring that it reads, because rounds use them.
 *
 * Where the kernel allows it, a side copies from and to the memory of the other one: RDMA within
 * the post, and long messages when their receiver fetches them. The other side does not notice a
 * copy. So the copying side increments a count (`copying`) and then checks whether the other side
 * has ended the connection (`over`). The side that ends the connection sets `over` and then waits
 * until the count is 0 or the process is dead. Small RDMA goes by a box while the target polls; see
 * memory_box.h.
 */
#ifndef DOFI_MEMORY_PATH_H
#define DOFI_MEMORY_PATH_H

#include "base/list.h"
#include "memory/remote_copy.h"
#include "memory/ring.h"
#include "object/ep.h"
#include "progress/wakeup.h"
#include "transport/memory_box.h"

#include <stdatomic.h>

struct dofi_conn;

/* The kind of a cell, and the meaning of its two words. */
enum dofi_cell_kind {
	DOFI_CELL_SEND = 1, /* a message: its length; a credit update (credit.h) */
	DOFI_CELL_WRITE,    /* an RDMA write: address of these bytes; context */
	DOFI_CELL_READ,     /* an RDMA read: address; context; its bytes are the length */
	DOFI_CELL_ENTRY,    /* reads an entry of the context table: its offset */
	DOFI_CELL_DATA,     /* answers, in order: the data of a read; no bytes: a write is stored */
	DOFI_CELL_CTRL,     /* a control record: address of its bytes; completion data */
	DOFI_CELL_CTRL_MSG, /* a control message, where the fabric has these and not records */
	DOFI_CELL_CREDIT,   /* a credit update */
	/*
	 * a message that the receiver fetches: as SEND; its bytes are struct dofi_memory_range;
	 * answered as a write
	 */
	DOFI_CELL_PLACES,
};

#define DOFI_CELL_FIRST 1u /* flags: SEND: the message begins with this cell */
#define DOFI_CELL_LAST  2u /* SEND, WRITE, DATA: it ends with this cell */

/* A part of a message in the memory of its sender. */
struct dofi_memory_range {
	uint64_t address, size;
};

#define DOFI_MEMORY_RANGES  16u
/*
 * The receiver copies messages of at least this size from the sender. For shorter messages two
 * copies through the ring are faster, because both sides copy at the same time.
 */
#define DOFI_MEMORY_FETCHED 65536u

/* What a side of the connection publishes in the segment. */
struct dofi_memory_mark {
	_Alignas(64) _Atomic uint32_t asleep;
	_Atomic uint32_t over;    /* the other side may not copy from or to its memory any more */
	_Atomic uint32_t fetches; /* it can copy long messages from the other side's memory */
	struct dofi_badge badge;
	/* copies of this side that are under way */
	_Alignas(64) _Atomic uint32_t copying;
	/* calls of its program that polled for an event so far */
	_Alignas(64) _Atomic uint32_t polls;
};

struct dofi_memory_segment {
	struct dofi_memory_mark marks[2]; /* of the connecting side, of the accepting side */
	struct dofi_memory_ring rings[2]; /* that this side writes */
	struct dofi_memory_box boxes[2];  /* for the RDMA of this side */
};

/* Most reads and writes under way in one direction. The target keeps as many answers. */
#define DOFI_MEMORY_ANSWERS 128u

/*
 * A request or an answer that is being put into the ring, in several cells. There is one at a time.
 */
struct dofi_memory_job {
	struct dofi_cell cell; /* kind 0: there is no job */
	struct dofi_wr *wr;    /* NULL: the job is the answer to a read of the peer */
	const struct iovec *iov;
	uint64_t length, done;
	bool begun;    /* its first cell is in the ring */
	bool notifies; /* a control record with these completion data follows */
	uint64_t data;
};

/* A request that is not complete when its post returns. */
struct dofi_memory_pending {
	struct dofi_wr *wr;
	bool waits, /* for the answer of the peer; otherwise the next round completes it... */
		answered;
	bool boxed;              /* ...which is in the box and not in the ring */
	const struct iovec *iov; /* NULL: `place` */
	struct iovec place;
	uint64_t length, done;
};

/*
 * A due answer to a read or a write of the peer. For a write, which is stored already, length is 0.
 */
struct dofi_memory_answer {
	bool is_entry; /* of the context table */
	uint32_t context;
	uint64_t address, length;
};

struct dofi_memory_path {
	struct dofi_list link; /* ia->memory.paths; engine.lock, as the next two */
	bool active;           /* each poll reads it; memory_poll.h */
	uint32_t quiet;        /* reads in a row that have found nothing */
	struct dofi_conn *conn;
	struct dofi_memory_segment *segment;
	struct dofi_memory_mark *ours, *theirs;
	pid_t pid; /* of the peer */
	/* the same, for copies; number 0: copies are not possible */
	struct dofi_remote_process process;
	uint8_t peer[DOFI_WAKEUP_UUID];
	int fd; /* accepting side: of the segment, until it is passed to the peer; -1 */
	/* waits for room in the peer's local socket; engine.lock */
	struct dofi_stall passing;
	bool joined;       /* the connection uses it */
	_Atomic int fault; /* a negative errno: the peer has broken the protocol */
	bool told;         /* the fault was reported to the connection */
	bool left;         /* the connection is over: the rings are not used any more */

	/* Guarded by ep->lock. */
	bool copies;           /* RDMA goes to the memory of the process, not to the ring... */
	bool polled;           /* ...or, if it is small, to the box, because the peer polls */
	uint32_t enough_polls; /* during a copy, for that */
	struct dofi_memory_box *box;
	struct dofi_memory_pending *boxed; /* it is not done yet; NULL: the box is free */
	struct dofi_ring_writer out;
	struct dofi_memory_job job;
	_Atomic bool restless; /* rounds read it without the lock; counted in engine.restless */
	/* a ring: posts add at the tail, rounds take at the head */
	struct dofi_memory_pending *pending;
	uint32_t pending_size, pending_head, pending_tail, waiting;

	/* Guarded by engine.lock. */
	struct dofi_ring_reader in;
	struct dofi_memory_box *their_box;
	uint32_t polls; /* ours->polls */
	struct dofi_memory_answer answers[DOFI_MEMORY_ANSWERS];
	uint32_t answers_head, answers_tail;
	struct dofi_wr *receiving;  /* the receive of a message that has come in part... */
	uint64_t received, length;  /* ...this many bytes, and its length... */
	bool fetching;              /* ...by copies from the peer's memory */
	struct dofi_ctx_wire entry; /* of the context table, for the answer that is being sent */
	uint32_t messages;          /* number of messages that have taken a receive */
};

/* Makes a segment for the accepting side. 0 or a negative errno. */
int dofi_memory_path_make(struct dofi_conn *conn, struct dofi_memory_path **path_p);
/* The peer has the descriptor, or never gets it: closes it. */
void dofi_memory_path_passed(struct dofi_memory_path *path);
/* Maps the segment of the accepting side. 0 or a negative errno. */
int dofi_memory_path_map(struct dofi_conn *conn, const uint8_t *uuid, int fd,
			 struct dofi_memory_path **path_p);
/* Sets the process of the other side. Called before dofi_memory_path_join. */
void dofi_memory_path_meet(struct dofi_memory_path *path, pid_t pid);
/*
 * The connection uses the path from now on. 0 or -ENOMEM. engine.lock held, as for all that follow.
 */
int dofi_memory_path_join(struct dofi_memory_path *path);
/*
 * The connection is over: the peer may not copy any more. True while a copy of the peer that began
 * before is under way.
 */
bool dofi_memory_path_cancel(struct dofi_memory_path *path);
/*
 * A copy ended with -ESRCH, but the peer lives and has not ended the connection: the kernel finds
 * no memory by the number of a process whose first thread has ended. Only rings reach it.
 */
bool dofi_memory_peer_is_hidden(const struct dofi_memory_path *path);
void dofi_memory_path_free(struct dofi_memory_path *path);

/* Whether a round has something to put into the ring, or to complete. */
static inline bool dofi_memory_has_more(const struct dofi_memory_path *path)
{
	return atomic_load_explicit(&path->restless, memory_order_relaxed) ||
	       path->answers_head != path->answers_tail;
}

/* After something was put into the ring: wakes a peer that sleeps. */
static inline void dofi_memory_wake(const struct dofi_memory_path *path, struct dofi_ia *ia)
{
	/*
	 * The peer stores its mark, then reads the ring; here the ring is written, then the mark is
	 * loaded. At least one side sees the store of the other.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	if (DOFI_UNLIKELY(atomic_load_explicit(&path->theirs->asleep, memory_order_relaxed)) &&
	    atomic_exchange(&path->theirs->asleep, 0))
		dofi_wakeup_call(ia, path->peer);
}

/*
 * The receive of the message of that number; NULL: it is not issued yet, or the connection breaks,
 * and no receive may succeed any more. ep->lock held.
 */
static inline struct dofi_wr *dofi_memory_receive(const struct dofi_ep *ep, uint32_t message)
{
	uint32_t index = ep->recv_base + message;

	dofi_assert_held(&ep->lock);
	return !ep->faulty && (int32_t)(ep->recv.issue - index) > 0 ? dofi_ring_at(&ep->recv, index)
								    : NULL;
}

/*
 * Begins a copy. False: the other side has ended the connection. Otherwise dofi_memory_copy_end has
 * to follow.
 */
static inline bool dofi_memory_copy_begin(struct dofi_memory_path *path)
{
	atomic_fetch_add(&path->ours->copying, 1);
	if (DOFI_LIKELY(!atomic_load(&path->theirs->over)))
		return true;
	atomic_fetch_sub(&path->ours->copying, 1);
	return false;
}

static inline void dofi_memory_copy_end(struct dofi_memory_path *path)
{
	atomic_fetch_sub(&path->ours->copying, 1);
}

#endif
