/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues for many connections over sockets. The first queue polls a list of sockets,
 * which is quick for a few and slow for hundreds. Later connections share further queues, each of
 * which keeps an epoll set of its own. Another epoll set, of these queues, shows which of them are
 * ready. fi_cq_read visits every endpoint of its queue, so a poll reads only the queues of busy
 * connections.
 *
 * The fabric makes a queue's descriptor readable for data, for completions in the queue and for a
 * post that found no room; but not for a message that was read before its receive was posted.
 * Credits prevent such messages, and each queue is read in turn in any case.
 *
 * engine.lock guards all of this, except that the driver arms the queues and sleeps on the
 * descriptor.
 */
#ifndef DOFI_CQ_READY_H
#define DOFI_CQ_READY_H

#include "object/ia_parts.h"

#include <stdbool.h>

struct fid_fabric;

/* 0 or -errno. */
int dofi_cq_ready_open(struct dofi_cqs *cqs);
void dofi_cq_ready_close(struct dofi_cqs *cqs);

/* Adds this queue to the set. 0 or a negative error. */
int dofi_cq_ready_add(struct dofi_cqs *cqs, uint32_t which);

/*
 * Whether this poll reads the first queue, too: every poll does while the queue has completions,
 * otherwise one in four.
 */
static inline bool dofi_cq_ready_first(struct dofi_cqs *cqs)
{
	if (cqs->first_polls) {
		cqs->first_polls--;
		return true;
	}
	return ++cqs->polls % 4 == 0;
}

static inline void dofi_cq_ready_first_has(struct dofi_cqs *cqs)
{
	cqs->first_polls = 64;
}

/* Marks the queues that are to be read now as `due`. */
void dofi_cq_ready_look(struct dofi_cqs *cqs);

/*
 * Driver only: arms the queues for a sleep. False if one has completions; that queue is due then.
 * Arming visits each endpoint, so a queue that was not read since it was armed is passed over: its
 * descriptor becomes readable for what posts have left.
 */
bool dofi_cq_ready_arm(struct dofi_cqs *cqs, struct fid_fabric *fabric);

#endif
