/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a transport does; the contract of each member. There is one table per transport, chosen at
 * dat_ia_open.
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
struct dofi_ep;
struct dofi_ia;
struct dofi_srq;
struct dofi_ud_ah;
struct dofi_wr;
struct fi_cq_err_entry;

/* on the wire */
enum dofi_trans_id {
	DOFI_TRANS_MSG = 1,
	DOFI_TRANS_RDM = 2,
};

struct dofi_trans_ops {
	const char *name; /* "msg", "rdm": what transport= in ia_params says */
	enum dofi_trans_id id;
	enum fi_cq_format cq_format; /* DATA or TAGGED */
	bool has_eq;
	/*
	 * credit updates have the message's number: the fabric may complete those of an SRQ in any
	 * order
	 */
	bool numbers;
	bool cq_has_list; /* the queue's list of descriptors (FI_WAIT_POLLFD) can be relied on */

	/*
	 * After domain, EQ and CQ exist. Fills name[*size_p] with the address that peers connect
	 * to. 0 or negative error.
	 */
	int (*open)(struct dofi_ia *ia, void *name, size_t *size_p);
	void (*close)(struct dofi_ia *ia);

	/*
	 * Active side, the peer is asked: what may be made meanwhile, which disconnect ends, too.
	 * engine.lock held. NULL: nothing.
	 */
	void (*prepare)(struct dofi_conn *conn);
	/*
	 * Active side, after ACCEPT: begin to bring the path up. dofi_conn_path_up or _down
	 * follows. engine.lock held.
	 */
	int (*connect)(struct dofi_conn *conn);
	/* Passive side, after the accept: the peer will come with conn->token. engine.lock held. */
	int (*expect)(struct dofi_conn *conn);
	/*
	 * The connection ends: asks the fabric to give back what it has of the EP's work requests,
	 * and tells whether it still has something. Called until it has not, or for long enough;
	 * disconnect comes next. engine.lock held, not ep->lock. NULL: disconnect does that by
	 * itself.
	 */
	bool (*leave)(struct dofi_conn *conn);
	/*
	 * Takes the path down at once; safe in any state. On return the fabric uses no memory of
	 * the EP's work requests any more; completions that it still had have been delivered
	 * through dofi_reap_done. A second call has no effect. engine.lock held, not ep->lock.
	 */
	void (*disconnect)(struct dofi_conn *conn);

	/*
	 * Posts; ep->lock held, path up. 0: the operation is the fabric's and will complete with wr
	 * as its context, unless wr is DOFI_WR_DONE now; -FI_EAGAIN: not now; else a negative
	 * error, nothing posted.
	 */
	/* with control messages, of a WRITE_IMM: no bytes */
	ssize_t (*send)(struct dofi_ep *ep, struct dofi_wr *wr);
	ssize_t (*recv)(struct dofi_ep *ep, struct dofi_wr *wr);
	ssize_t (*read)(struct dofi_ep *ep, struct dofi_wr *wr);
	ssize_t (*write)(struct dofi_ep *ep, struct dofi_wr *wr);
	/* As write, with completion data for the peer. */
	ssize_t (*write_data)(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data);
	/*
	 * Where ia->has_immediates: a write that takes a receive of the peer and brings it the
	 * value.
	 */
	ssize_t (*write_immediate)(struct dofi_ep *ep, struct dofi_wr *wr, uint32_t value);
	/*
	 * Where ia->has_atomics: the device does what wr says, whose operands are in faddr and
	 * rkey, at raddr, and puts the old value into its segment.
	 */
	ssize_t (*atomic)(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t raddr, uint64_t rkey);
	/*
	 * A write that is sent at once and never completes here: the record may be gone on return.
	 */
	ssize_t (*write_ctrl)(struct dofi_ep *ep, const void *record, size_t size, uint64_t raddr,
			      uint64_t rkey, uint64_t data);
	/*
	 * A message for the peer's receives of its library, sent at once; NULL: there are none. See
	 * control_message.h.
	 */
	ssize_t (*ctrl_msg)(struct dofi_ep *ep, const void *ctrl_msg, size_t size);
	/* A message of no bytes on behalf of wr, which never completes here. */
	ssize_t (*send_empty)(struct dofi_ep *ep, struct dofi_wr *wr);
	/*
	 * Plain read of a peer's registered memory into local scratch; for context resolution and
	 * the final sync.
	 */
	ssize_t (*peek)(struct dofi_ep *ep, struct dofi_wr *wr, void *buf, size_t size, void *desc,
			uint64_t raddr, uint64_t rkey);

	/*
	 * A connection that is over here has ended at the peer, too, which has sent so many
	 * messages in it. engine.lock held; NULL: of no interest.
	 */
	void (*settle)(struct dofi_ia *ia, uint32_t id, uint32_t sent);

	/*
	 * The IA with this uuid closes: what is kept for its return may go. engine.lock held; NULL:
	 * nothing is.
	 */
	void (*peer_closed)(struct dofi_ia *ia, const uint8_t *uuid);

	/*
	 * A peer went without a goodbye; engine.lock held. NULL: nothing is left behind by the
	 * dead.
	 */
	void (*peer_died)(struct dofi_ia *ia);
	/* The wakeup of the peer IA of this name, or NULL. engine.lock held; with sleeps by the
	 * clock. */
	struct dofi_wakeup_peer *(*wakeup_of)(struct dofi_ia *ia, const uint8_t *uuid);

	/*
	 * Tells the peer the credit update that no message took along; see credit.h. ep->lock held.
	 * 0 or a negative error.
	 */
	ssize_t (*send_credit)(struct dofi_ep *ep, uint32_t update);

	/*
	 * Datagrams (ud.h); NULL: there are none. A post, and a receive for any of them, with
	 * engine.lock held. wr->given: it holds a place in the fabric's queue.
	 */
	ssize_t (*ud_send)(struct dofi_ep *ep, struct dofi_wr *wr, struct dofi_ud_ah *ah);
	ssize_t (*ud_recv)(struct dofi_ia *ia, struct dofi_wr *wr, void *buffer, size_t size,
			   void *desc);

	/*
	 * The queue behind an SRQ; closing it gives back what is posted without completions. 0 or a
	 * negative error.
	 */
	int (*srq_open)(struct dofi_srq *srq);
	void (*srq_close)(struct dofi_srq *srq);
	/* srq->lock held. As the posts above. */
	ssize_t (*srq_recv)(struct dofi_srq *srq, struct dofi_wr *wr);

	/*
	 * What the CQ gave together, in its format: each goes to dofi_reap_done. engine.lock held.
	 */
	void (*completed)(struct dofi_ia *ia, const void *entries, ssize_t n);
	void (*failed)(struct dofi_ia *ia, struct fi_cq_err_entry *err); /* err->err is positive */
	/* The transport's own events, apart from completions; engine.lock held. Events handled. */
	int (*poll_events)(struct dofi_ia *ia);
};

extern const struct dofi_trans_ops dofi_trans_msg, dofi_trans_rdm;

#endif
