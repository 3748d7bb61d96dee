/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of the rooms below to the connection manager. The table is that of cm/upcalls.c;
 * dat_ia_open stores it in the IA. So these rooms need not know connections.
 */
#ifndef DOFI_UPCALLS_H
#define DOFI_UPCALLS_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_conn;
struct dofi_ep;
struct dofi_ia;
struct dofi_srq;
struct dofi_wr;

struct dofi_upcalls {
	/* --- engine.lock held --- */

	/*
	 * The EP of the connection with this number. NULL: it has ended, or it is one of datagrams.
	 */
	struct dofi_ep *(*ep_of)(struct dofi_ia *ia, uint32_t id);
	/* A mark (ud_window.h) for the connection that it names so. False: there is none. */
	bool (*ud_mark)(struct dofi_ia *ia, uint32_t id, uint32_t secret, uint32_t update);
	/*
	 * The EP that a message of the SRQ is for, by connection number, while its consumer may get
	 * the message (DTO-144, DTO-160); or NULL.
	 */
	struct dofi_ep *(*receiver)(const struct dofi_srq *srq, uint32_t id);
	/* All messages that the peer's BYE counts have come. */
	void (*last_message)(struct dofi_conn *conn);
	/* The data path ended. err 0: in an orderly way. */
	void (*path_down)(struct dofi_conn *conn, int err);
	/* A request failed, or its event was lost: the connection has to break. */
	void (*broken)(struct dofi_conn *conn);
	/* A receive for messages of an ended connection is complete. */
	void (*drain_done)(struct dofi_wr *wr);
	/*
	 * A message was longer than the buffer of the SRQ, and the fabric does not identify the
	 * sender.
	 */
	void (*truncated)(struct dofi_srq *srq, struct dofi_wr *wr);
	/* A message came, so the sender of a truncated message may be known now. */
	void (*settle_truncated)(struct dofi_srq *srq);
	/* Asks the peers to forget the context; cm.h. */
	uint64_t (*invalidate)(struct dofi_ia *ia, uint32_t context, bool announced);
	/* The time at which a linger that begins now is over, in ns. */
	uint64_t (*linger_until)(struct dofi_ia *ia);
	/* A UD EP is freed: ends its attempts and address handles. */
	void (*drop_datagrams)(struct dofi_ep *ep);

	/* --- ep->lock held, too --- */

	/* The connection has ended, and the fabric still has some of its operations. */
	bool (*is_over)(const struct dofi_ep *ep);
	/* The first message came, so the peer is connected: its completion follows ESTABLISHED. */
	void (*established)(struct dofi_ep *ep);
	/* A ring ran empty, or the final read ended, while the EP disconnects. */
	void (*drained)(struct dofi_ep *ep);
	/* The bind has reached the head of the ring. */
	void (*apply_bind)(struct dofi_ep *ep, struct dofi_wr *wr);
	/* The peers have to forget the context that a bind replaced. */
	void (*ask_for_bind)(struct dofi_ep *ep);
	/* Subscribes to the end of the context ep->subscribe_to. */
	void (*subscribe)(struct dofi_ep *ep);
};

#endif
