/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The requests of a path that are not complete when their posts return: those that wait for an
 * answer of the peer or for its box, and those that the next round completes. They complete in the
 * order of their posts. ep->lock held, except where noted.
 */
#ifndef DOFI_MEMORY_PENDING_H
#define DOFI_MEMORY_PENDING_H

#include "cm/conn.h"
#include "transport/memory_path.h"

#include <stdbool.h>

/* Makes the ring with room for this many requests. No lock is needed. 0 or -ENOMEM. */
int dofi_memory_pending_make(struct dofi_memory_path *path, uint32_t most);

/* Whether there is room for one more request. */
static inline bool dofi_memory_has_pending_room(const struct dofi_memory_path *path)
{
	dofi_assert_held(&path->conn->ep->lock);
	return path->pending_tail - path->pending_head < path->pending_size;
}

/* Whether one more request may wait for an answer: the peer keeps a limited number. */
static inline bool dofi_memory_can_wait(const struct dofi_memory_path *path)
{
	return path->waiting < DOFI_MEMORY_ANSWERS && dofi_memory_has_pending_room(path);
}

/* Adds a request that the next round completes. The caller has made sure that there is room. */
struct dofi_memory_pending *dofi_memory_add_pending(struct dofi_memory_path *path,
						    struct dofi_wr *wr);
/* The same for one that waits for the peer. */
struct dofi_memory_pending *dofi_memory_add_waiting(struct dofi_memory_path *path,
						    struct dofi_wr *wr);
/*
 * Registers whether rounds at short intervals are needed, because the peer does not wake this
 * process for this path.
 */
void dofi_memory_set_pace(struct dofi_memory_path *path);

/*
 * Part of a round: completes requests up to the first one that waits for the peer, each without
 * ep->lock. Returns their number.
 */
int dofi_memory_complete(struct dofi_memory_path *path);

/*
 * The read or write that the next answer of the peer is for; NULL: no request is waiting for an
 * answer. dofi_memory_answered ends the request when its answer is complete. engine.lock held, and
 * not ep->lock.
 */
struct dofi_memory_pending *dofi_memory_asked(struct dofi_memory_path *path);
void dofi_memory_answered(struct dofi_memory_path *path);

#endif
