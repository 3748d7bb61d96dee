/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomic operations. Some devices have them. Elsewhere one is a control record, which the engine of
 * the target carries out, and so is the answer to it. What a peer may have posted behind it and
 * could overtake it (reads, writes) waits for the answer.
 */
#ifndef DOFI_ATOMIC_H
#define DOFI_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dofi_ep;
struct dofi_wr;

/* All of these: ep->lock held. */

/* May an operation start behind the atomic ones that have no answer yet? */
bool dofi_atomic_may_start(const struct dofi_ep *ep, const struct dofi_wr *wr);

/* As dofi_ctrl_start. */
ssize_t dofi_atomic_start(struct dofi_ep *ep, struct dofi_wr *wr);

/* Answers that the fabric had no room for. False: it has still none. */
bool dofi_atomic_send_answers(struct dofi_ep *ep);

/* A request or an answer is in the EP's control slots; engine.lock held, too. */
void dofi_atomic_arrived(struct dofi_ep *ep, uint32_t value);

#endif
