/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams: EPs of the service type UD, which DAT 2.0's InfiniBand extensions have. Connectionless
 * fabrics carry them.
 *
 * Such an EP is never connected. What dat_ep_connect and dat_cr_accept make with it is a connection
 * whose only result is an address handle (ud_ah.c); there may be any number, at the same time and
 * with the same peer. A datagram is a tagged message of the shared endpoint, and its completion
 * data name the EP that it is for.
 *
 * A datagram that finds no receive is dropped. A fabric would keep it, or let it stop what is
 * behind it. So all datagrams for all EPs of the IA come to a few buffers of the library's
 * (ud_pool.c), which are posted again at once. Receives of UD EPs stay in their ring, and the
 * engine copies what came into the oldest one.
 */
#ifndef DOFI_UD_H
#define DOFI_UD_H

#include "object/ep.h"
#include "object/ud_ah.h"

struct dofi_peer;
struct dofi_wakeup_peer;
struct dofi_conn;
struct dofi_msg;

#define DOFI_UD_HEADER    40u   /* bytes of a receive in front of the data; left as they are */
#define DOFI_UD_LONGEST   4096u /* the longest datagram that any IA sends */
#define DOFI_UD_EPS       8192u /* of one IA */

/* Of the completion data: the number of the EP, and whether the sender asks for a notification. */
#define DOFI_UD_NUMBER    0x1fffffffu
#define DOFI_UD_SOLICITED 0x80000000u

/* What makes an EP one of datagrams. Guarded by engine.lock. */
struct dofi_ud {
	uint32_t number; /* by which peers name it */
	struct dofi_list
		conns; /* attempts, and those that an address handle stands for; conn->ud_link */
	struct dofi_list ahs;
};

/* --- ud.c: an IA's EPs, and what they send and receive --- */

/* This IA has datagrams, and how long they may be. */
bool dofi_ud_possible(const struct dofi_ia *ia);

/* The EP becomes one of datagrams; no lock held. 0 or a negative error. */
int dofi_ud_open(struct dofi_ep *ep);
/*
 * The EP goes: what it sent leaves first, within linger_ms. Its attempts to connect end without
 * events. engine.lock held, not ep->lock.
 */
void dofi_ud_close(struct dofi_ep *ep);

/* A datagram came, with these completion data. engine.lock held. */
void dofi_ud_arrived(struct dofi_ia *ia, uint32_t data, const void *datagram, size_t length);

/*
 * The request at the issue index goes to the fabric, or is lost: then it is DOFI_WR_DONE. 0 or
 * -FI_EAGAIN. ep->lock held.
 */
ssize_t dofi_ud_start(struct dofi_ep *ep, struct dofi_wr *wr);
/* A datagram did not get out, for this positive error: how its request ends. ep->lock held. */
void dofi_ud_send_failed(struct dofi_ep *ep, struct dofi_wr *wr, int err);

/*
 * Nothing that waits or is under way names this address handle any more. engine.lock held, no
 * ep->lock.
 */
void dofi_ud_forget(struct dofi_ia *ia, const struct dofi_ud_ah *ah);
/* The fabric has datagrams under way. engine.lock held. */
bool dofi_ud_is_sending(struct dofi_ia *ia);

/* --- ud_pool.c: where datagrams come to --- */

struct dofi_ud_pool; /* with the table of EPs: what an IA has of datagrams once it had an EP of them
		      */

/* --- ud_ah.c: connections and address handles; engine.lock held --- */

#endif
