/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What work requests tell the connection manager, and ask it. The table is the manager's
 * (cm/upcalls.c); dat_ia_open puts it into the IA. So the rooms below need to know nothing of
 * connections.
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

	/* The EP of the connection of this number; NULL: it is over, or of datagrams. */
	struct dofi_ep *(*ep_of)(struct dofi_ia *ia, uint32_t id);
	/*
	 * The EP that a message of the SRQ is for, by the number of its connection, as long as its
	 * consumer may be told of it (DTO-144, DTO-160); or NULL.
	 */
	struct dofi_ep *(*receiver)(const struct dofi_srq *srq, uint32_t id);
	/* All that the peer sent before its goodbye has come. */
	void (*last_message)(struct dofi_conn *conn);
	/* The data path ended; err 0: orderly. */
	void (*path_down)(struct dofi_conn *conn, int err);
	/* A request failed, or its event found no room: the connection can't go on. */
	void (*broken)(struct dofi_conn *conn);
	/* A receive for what came after the end of its connection is complete. */
	void (*drain_done)(struct dofi_wr *wr);
	/* A message was longer than the buffer of the SRQ, and the fabric names no sender. */
	void (*truncated)(struct dofi_srq *srq, struct dofi_wr *wr);
	/* A message came, so the sender of a truncated one may be known. */
	void (*settle_truncated)(struct dofi_srq *srq);
	/* Every peer is told to forget the context. */
	uint64_t (*invalidate)(struct dofi_ia *ia, uint32_t context);
	/* When a linger that begins now is over, in ns. */
	uint64_t (*linger_until)(struct dofi_ia *ia);
	/* The EP of datagrams goes, and what it has connected. */
	void (*drop_datagrams)(struct dofi_ep *ep);

	/* --- ep->lock held, too --- */

	/* The connection is over; the fabric has still something of it. */
	bool (*is_over)(const struct dofi_ep *ep);
	/* The first message came, so the peer is up: its completion follows ESTABLISHED. */
	void (*established)(struct dofi_ep *ep);
	/* A ring ran empty, or the final read ended, while the EP disconnects. */
	void (*drained)(struct dofi_ep *ep);
	/* The bind is at the head of the ring. */
	void (*apply_bind)(struct dofi_ep *ep, struct dofi_wr *wr);
	/* The peers have to forget what a bind replaced. */
	void (*ask_for_bind)(struct dofi_ep *ep);
};

#endif
