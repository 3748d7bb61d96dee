/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How far a sender of datagrams may be ahead of its peer. Fabrics keep messages that find no
 * receive, shm and efa without a limit: a sender that is faster than its peer would fill the peer's
 * memory. shm even stays in fi_cq_read as long as more come. So the sender has at most
 * DOFI_UD_WINDOW datagrams under way by each address handle. After every DOFI_UD_MARK_EVERY of them
 * a mark goes to the peer, behind them and with their count. The peer's library answers with the
 * same count when it has taken the mark.
 *
 * The answer is a control message to the connection that the address handle stands for. The peer
 * keeps that connection until both sides have freed their handles.
 */
#ifndef DOFI_UD_WINDOW_H
#define DOFI_UD_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dofi_ia;
struct dofi_ud_ah;

#define DOFI_UD_MARK_EVERY 64u
#define DOFI_UD_WINDOW     (2 * DOFI_UD_MARK_EVERY)

/* --- the sender; ep->lock of the EP that sends held --- */

/*
 * Whether one more datagram may be sent. If not, an answer is under way, or the mark is due again.
 */
bool dofi_ud_window_has_room(struct dofi_ud_ah *ah);
/* Counts a datagram that was sent. */
void dofi_ud_window_sent(struct dofi_ud_ah *ah);
/* The peer's answer to a mark. engine.lock held. */
void dofi_ud_mark_answered(struct dofi_ud_ah *ah, uint32_t update);

/* --- the receiver; engine.lock held --- */

/* A message without the number of an EP has come. False if it is no mark for a connection. */
bool dofi_ud_mark_arrived(struct dofi_ia *ia, const void *mark, size_t length);
/* Sends the answer to the mark with this update now, or when the fabric has room. */
void dofi_ud_answer(struct dofi_ud_ah *ah, uint32_t update);
void dofi_ud_answers_retry(struct dofi_ia *ia);
/* The peer of the handle needs no answer any more. */
void dofi_ud_answer_drop(struct dofi_ud_ah *ah);

#endif
