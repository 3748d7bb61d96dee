/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Interface of a transport: the contract of each member. There is one table per transport.
 * dat_ia_open chooses that of the IA. A connection within this host may have another one.
 */
#ifndef DOFI_TRANS_H
#define DOFI_TRANS_H

#include "base/dat_api.h"

#include <rdma/fi_eq.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dofi_conn;
struct dofi_chan;
struct dofi_ep;
struct dofi_ia;
struct dofi_srq;
struct dofi_ud_ah;
struct dofi_wr;
struct fi_cq_err_entry;

/* sent over the wire */
enum dofi_trans_id {
	DOFI_TRANS_MSG = 1,
	DOFI_TRANS_RDM = 2,
};

#define DOFI_LATER 1 /* not an error: the call has not finished */

struct dofi_trans_ops {
	const char *name; /* "msg" or "rdm": the value of transport= in ia_params */
	enum dofi_trans_id id;
	enum fi_cq_format cq_format; /* DATA or TAGGED */
	bool has_eq;
	/*
	 * completion data carry the number of their message, because the fabric may complete
	 * messages of an SRQ in any order
	 */
	bool numbers;
	bool cq_has_list; /* the queue's list of descriptors (FI_WAIT_POLLFD) is reliable */

	/*
	 * Called when domain, EQ and CQ exist. Stores the address that peers connect to in
	 * name[*size_p]. 0 or a negative error.
	 */
	int (*open)(struct dofi_ia *ia, void *name, size_t *size_p);
	void (*close)(struct dofi_ia *ia);

	/*
	 * Active side, REQUEST was sent: may create objects while the peer decides. disconnect
	 * destroys them, too. engine.lock held. NULL: nothing to do.
	 */
	void (*prepare)(struct dofi_conn *conn);
	/*
	 * Active side, after ACCEPT: begins to bring the path up. dofi_conn_path_up or
	 * dofi_conn_path_down follows. engine.lock held.
	 */
	int (*connect)(struct dofi_conn *conn);
	/*
	 * Passive side, after the accept: the peer will show that it knows conn->token. engine.lock
	 * held. DOFI_LATER: ACCEPT has to wait; dofi_conn_expected or dofi_conn_path_down follows.
	 */
	int (*expect)(struct dofi_conn *conn);
	/*
	 * The connection ends: asks the fabric to return the EP's work requests, and returns
	 * whether it still has some. Called until it has none or the time is over; then disconnect
	 * is called. engine.lock held, not ep->lock. NULL: disconnect does all of this.
	 */
	bool (*cancel)(struct dofi_conn *conn);
	/*
	 * Takes the path down at once; safe in any state. When it has returned, the fabric uses no
	 * memory of the EP's work requests any more, and dofi_reap_done has got the remaining
	 * completions. A second call has no effect. engine.lock held, not ep->lock.
	 */
	void (*disconnect)(struct dofi_conn *conn);

	/*
	 * Posts. ep->lock held, path up. 0: the fabric has the operation and will complete it with
	 * wr as its context, unless wr is DOFI_WR_DONE now. -FI_EAGAIN: the fabric has no room.
	 * Another negative error: nothing is posted.
	 */
	/* with control messages, for a WRITE_IMM: length only, without data */
	ssize_t (*send)(struct dofi_ep *ep, struct dofi_wr *wr);
	ssize_t (*recv)(struct dofi_ep *ep, struct dofi_wr *wr);
	ssize_t (*read)(struct dofi_ep *ep, struct dofi_wr *wr);
	ssize_t (*write)(struct dofi_ep *ep, struct dofi_wr *wr);
	/* As write, with completion data for the peer. */
	ssize_t (*write_data)(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data);
	/*
	 * If ia->has_immediates: a write that takes a receive of the peer and delivers the value to
	 * it.
	 */
	ssize_t (*write_immediate)(struct dofi_ep *ep, struct dofi_wr *wr, uint32_t value);
	/*
	 * If ia->has_atomics: the device executes wr at raddr, with the operands in wr->atomic, and
	 * stores the old value into the segment of wr.
	 */
	ssize_t (*atomic)(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t raddr, uint64_t rkey);
	/*
	 * A write that is sent at once and never completes here. The record may be reused on
	 * return.
	 */
	ssize_t (*write_ctrl)(struct dofi_ep *ep, const void *record, size_t size, uint64_t raddr,
			      uint64_t rkey, uint64_t data);
	/*
	 * A message to the peer's receives for the library, sent at once. NULL: there are none. See
	 * control_message.h.
	 */
	ssize_t (*ctrl_msg)(struct dofi_ep *ep, const void *ctrl_msg, size_t size);
	/* An empty message on behalf of wr, which never completes here. */
	ssize_t (*send_empty)(struct dofi_ep *ep, struct dofi_wr *wr);
	/*
	 * A plain read of the peer's registered memory into local scratch, to resolve a context and
	 * for the final sync.
	 */
	ssize_t (*peek)(struct dofi_ep *ep, struct dofi_wr *wr, void *buf, size_t size, void *desc,
			uint64_t raddr, uint64_t rkey);

	/*
	 * A connection that has ended here has ended at the peer, too; the peer had sent this many
	 * messages in it. The two connection numbers identify it, and only its peer knows both.
	 * engine.lock held. NULL: not needed.
	 */
	void (*settle)(struct dofi_ia *ia, uint32_t id, uint32_t peer_id, uint32_t sent);

	/*
	 * The IA at the other end of the channel closes: state about it may be freed. engine.lock
	 * held. NULL: there is none.
	 */
	void (*peer_closed)(struct dofi_ia *ia, const struct dofi_chan *chan);

	/*
	 * A channel was lost without GOODBYE. engine.lock held. NULL: dead processes leave nothing
	 * behind.
	 */
	void (*peer_died)(struct dofi_ia *ia);
	/*
	 * The wakeup of the peer IA with this name, or NULL. engine.lock held. Used where threads
	 * sleep at intervals.
	 */
	struct dofi_wakeup_peer *(*wakeup_of)(struct dofi_ia *ia, const uint8_t *uuid);

	/*
	 * Sends a separate credit update to the peer; see credit.h. ep->lock held. 0 or a negative
	 * error.
	 */
	ssize_t (*send_credit)(struct dofi_ep *ep, uint32_t update);

	/*
	 * Datagrams (ud.h); NULL: there are none. A post, with ep->lock held; and a receive for the
	 * datagrams of all EPs, with engine.lock held. wr->ud_recv.has_slot: the receive holds a
	 * slot in the fabric's queue. A mark or its answer (ud_window.h) has no
	 * completion.
	 */
	ssize_t (*ud_send)(struct dofi_ep *ep, struct dofi_wr *wr, struct dofi_ud_ah *ah);
	ssize_t (*ud_mark)(struct dofi_ud_ah *ah, uint32_t update, bool answer);
	ssize_t (*ud_recv)(struct dofi_ia *ia, struct dofi_wr *wr, void *buffer, size_t size,
			   void *desc);

	/*
	 * The fabric's queue of an SRQ. Closing it returns the posted receives without completions.
	 * 0 or a negative error.
	 */
	int (*srq_open)(struct dofi_srq *srq);
	void (*srq_close)(struct dofi_srq *srq);
	/* srq->lock held. Results as for the posts above. */
	ssize_t (*srq_recv)(struct dofi_srq *srq, struct dofi_wr *wr);

	/*
	 * Handles entries of the CQ, in its format: calls dofi_reap_done for each. engine.lock
	 * held.
	 */
	void (*completed)(struct dofi_ia *ia, const void *entries, ssize_t n);
	void (*failed)(struct dofi_ia *ia, struct fi_cq_err_entry *err); /* err->err is positive */
	/*
	 * Handles the transport's own events, apart from completions. engine.lock held. Returns the
	 * number of events.
	 */
	int (*poll_events)(struct dofi_ia *ia);
};

/* The transports of an IA. Connections within a host may have another one (transport/memory.h). */
extern const struct dofi_trans_ops dofi_trans_msg, dofi_trans_rdm;

#endif
