/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomic operations. Some devices execute them. On other fabrics a control record asks the engine
 * of the target, and another control record brings the answer. Requests behind an atomic operation
 * that could overtake it (reads, writes) wait for the answer.
 */
#ifndef DOFI_ATOMIC_H
#define DOFI_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dofi_ep;
struct dofi_wr;

/* All of these: ep->lock held. */

/* Whether an operation may start while atomic operations before it have no answer. */
bool dofi_atomic_may_start(const struct dofi_ep *ep, const struct dofi_wr *wr);

/* As dofi_ctrl_start. */
ssize_t dofi_atomic_start(struct dofi_ep *ep, struct dofi_wr *wr);

/* Sends the answers that are due. False: the fabric has no room. */
bool dofi_atomic_send_answers(struct dofi_ep *ep);

/* Handles a request or an answer in the EP's control slots. engine.lock held, too. */
void dofi_atomic_arrived(struct dofi_ep *ep, uint32_t value);

#endif
