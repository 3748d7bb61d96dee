/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writing to the ring of a path: single cells, jobs of several cells, and answers to reads of the
 * peer. Rounds of the engine continue a job that has no room. ep->lock held, except where noted.
 */
#ifndef DOFI_MEMORY_OUT_H
#define DOFI_MEMORY_OUT_H

#include "cm/conn.h"
#include "transport/memory_path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Whether there is room for one more cell. A peer with an impossible index gets no more cells.
 * Inline, because each Send asks.
 */
static inline bool dofi_memory_has_room(struct dofi_memory_path *path, size_t size)
{
	int ret;

	dofi_assert_held(&path->conn->ep->lock);
	ret = dofi_ring_has_room(&path->out, size);
	if (DOFI_UNLIKELY(ret < 0))
		path->fault = ret;
	return ret > 0;
}

/*
 * Puts one cell that has no completion here, and wakes the peer. 0, or -FI_EAGAIN: there is no room
 * or a job is not complete.
 */
ssize_t dofi_memory_put_cell(struct dofi_ep *ep, struct dofi_cell *cell, const void *bytes,
			     size_t size);
/* Puts a control record without bytes. False: there is no room. */
bool dofi_memory_put_notice(struct dofi_memory_path *path, uint64_t data);
/* Begins a job. 0, or -FI_EAGAIN, and nothing is in the ring. */
ssize_t dofi_memory_begin_job(struct dofi_ep *ep, const struct dofi_memory_job *job);

/*
 * A round that has something to do: puts what has room, completes what is complete. Returns the
 * number of completions. engine.lock held, and not ep->lock.
 */
int dofi_memory_go_on(struct dofi_memory_path *path);

#endif
