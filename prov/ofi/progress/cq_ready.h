/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many connections over sockets. The first completion queue polls a list of their descriptors,
 * which is quick for a few and slow for hundreds. Later connections share further queues, each of
 * which keeps an epoll set of its own; one more epoll set shows which of these queues have
 * something. So a poll reads the queues of busy connections alone, as fi_cq_read visits every
 * endpoint of its queue.
 *
 * The fabric makes a queue's descriptor readable for data, for completions that wait in the queue
 * and for a post that found no room. It does not for a message that was read before its receive was
 * posted; credits prevent that, and each queue is read in turn all the same.
 *
 * engine.lock guards it, except that the driver arms the queues and sleeps on the descriptor.
 */
#ifndef DOFI_CQ_READY_H
#define DOFI_CQ_READY_H

#include "object/ia_parts.h"

#include <stdbool.h>

struct fid_fabric;

/* 0 or -errno. */
int dofi_cq_ready_open(struct dofi_cqs *cqs);
void dofi_cq_ready_close(struct dofi_cqs *cqs);

/* From now on the set shows this queue. 0 or a negative error. */
int dofi_cq_ready_add(struct dofi_cqs *cqs, uint32_t which);

/*
 * Whether a poll reads the first queue, too: each time while it has completions, otherwise one time
 * in four.
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
 * Driver only: readies the queues for a sleep; false when one has something, which is due then. The
 * fabric visits each endpoint for that, so a queue that was not read since is left as it is: what
 * posts leave behind makes its descriptor readable.
 */
bool dofi_cq_ready_arm(struct dofi_cqs *cqs, struct fid_fabric *fabric);

#endif
