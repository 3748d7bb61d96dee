/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams: EPs of the service type UD, which DAT 2.0's InfiniBand extensions have. Connectionless
 * fabrics carry them.
 *
 * Such an EP is never connected. dat_ep_connect and dat_cr_accept make a connection whose only
 * result is an address handle (ud_ah.c). An EP may have any number of them, also with the same
 * peer. A datagram is a tagged message of the shared endpoint, and its completion data name the
 * receiving EP.
 *
 * A datagram that finds no receive is dropped. A fabric would keep it, or let it block the messages
 * behind it. So the datagrams for all EPs of the IA come to a few buffers of the library
 * (ud_pool.c), which are posted again at once. Receives of UD EPs stay in their ring, and the
 * engine copies each datagram to the oldest one.
 */
#ifndef DOFI_UD_H
#define DOFI_UD_H

#include "object/ep.h"
#include "object/ud_ah.h"

struct dofi_peer;
struct dofi_wakeup_peer;
struct dofi_conn;
struct dofi_msg;

/* bytes of a receive in front of the data; the library does not write them */
#define DOFI_UD_HEADER    40u
#define DOFI_UD_LONGEST   4096u /* the longest datagram that any IA sends */
#define DOFI_UD_EPS       8192u /* of one IA */

/*
 * Parts of the completion data: the number of the EP, and whether the sender asks for a
 * notification.
 */
#define DOFI_UD_NUMBER    0x1fffffffu
#define DOFI_UD_SOLICITED 0x80000000u

/* The state of a UD EP. Guarded by engine.lock. */
struct dofi_ud {
	uint32_t number; /* peers name the EP by it */
	/* attempts to connect, and connections with an address handle; by conn->ud_link */
	struct dofi_list conns;
	struct dofi_list ahs;
	struct dofi_list rejections; /* of struct dofi_ud_ah: private data of queued events */
};

/* --- ud.c: an IA's EPs, and what they send and receive --- */

/* Whether this IA has datagrams. */
bool dofi_ud_possible(const struct dofi_ia *ia);

/* Makes a UD EP of the EP. No lock held. 0 or a negative error. */
int dofi_ud_open(struct dofi_ep *ep);
/*
 * The EP is freed: waits until its datagrams have left, for linger_ms at most, and ends its
 * attempts to connect without events. engine.lock held, not ep->lock.
 */
void dofi_ud_close(struct dofi_ep *ep);

/* Handles a datagram with these completion data. engine.lock held. */
void dofi_ud_arrived(struct dofi_ia *ia, uint32_t data, const void *datagram, size_t length);

/*
 * Gives the request at the issue index to the fabric, or loses it: then its state is DOFI_WR_DONE.
 * 0 or -FI_EAGAIN. ep->lock held.
 */
ssize_t dofi_ud_start(struct dofi_ep *ep, struct dofi_wr *wr);
/*
 * Ends the request of a datagram that the fabric could not send, with this positive error. ep->lock
 * held.
 */
void dofi_ud_send_failed(struct dofi_ep *ep, struct dofi_wr *wr, int err);

/* Detaches all requests from this address handle. engine.lock held, no ep->lock. */
void dofi_ud_forget(struct dofi_ia *ia, const struct dofi_ud_ah *ah);
/* Whether the fabric has datagrams under way. engine.lock held. */
bool dofi_ud_is_sending(struct dofi_ia *ia);

#endif
