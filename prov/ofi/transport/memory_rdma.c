/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/memory_rdma.h"

#include "base/log.h"
#include "object/ia.h"
#include "transport/memory_out.h"
#include "transport/memory_pending.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>

/* After a box was not served, its peer has to poll twice as often, up to this. */
#define MOST_POLLS 65536u

/* --- copies by the kernel, without the peer --- */

typedef int copier(const struct dofi_remote_process *process, const struct iovec *iov, size_t skip,
		   uint64_t address, size_t size);

/*
 * Copies between the peer's memory and the segments of wr. 0, or a negative errno: -ESRCH if the
 * peer has ended the connection or is dead, which the connection learns soon.
 */
static int copy(struct dofi_memory_path *path, const struct dofi_wr *wr, copier *copies)
{
	uint64_t done = 0, size;
	int ret;

	do {
		size = wr->length - done;
		if (size > DOFI_REMOTE_PIECE)
			size = DOFI_REMOTE_PIECE;
		ret = -ESRCH;
		if (dofi_memory_copy_begin(path)) {
			ret = copies(&path->process, wr->iov, done, wr->remote.target + done, size);
			dofi_memory_copy_end(path);
		}
		done += size;
	} while (!ret && done < wr->length);
	return ret;
}

static bool needs_ring(const struct dofi_memory_path *path, int ret)
{
	return ret == -EPERM || ret == -ENOSYS ||
	       (ret == -ESRCH && dofi_memory_peer_is_hidden(path));
}

/* A request that consists of this operation alone is complete when the post returns. */
static void finish_rdma(struct dofi_memory_path *path, struct dofi_wr *wr)
{
	if ((wr->op == DOFI_OP_WRITE || wr->op == DOFI_OP_READ) && !wr->split) {
		wr->state = DOFI_WR_DONE;
	} else {
		dofi_memory_add_pending(path, wr);
		dofi_memory_set_pace(path);
	}
}

/* The target's box; see memory_box.h. False: the request has to go another way. */
static bool put_in_box(struct dofi_memory_path *path, struct dofi_wr *wr)
{
	enum dofi_box_state state = dofi_box_ask(path, wr);

	path->polled = state != DOFI_BOX_IDLE;
	if (path->polled)
		path->enough_polls = DOFI_BOX_POLLS;
	else if (path->enough_polls < MOST_POLLS)
		path->enough_polls *= 2;
	if (state == DOFI_BOX_DONE)
		finish_rdma(path, wr);
	if (state != DOFI_BOX_TAKEN)
		return state == DOFI_BOX_DONE;
	path->boxed = dofi_memory_add_waiting(path, wr);
	path->boxed->boxed = true;
	dofi_memory_set_pace(path);
	return true;
}

static uint32_t polls_of(const struct dofi_memory_path *path)
{
	return atomic_load_explicit(&path->theirs->polls, memory_order_relaxed);
}

/* As a post, or 1: the ring has to carry it, because the kernel does not copy any more. */
static ssize_t post_copy(struct dofi_ep *ep, struct dofi_wr *wr, copier *copies)
{
	struct dofi_memory_path *path = ep->memory;
	bool small = wr->length <= DOFI_BOX_MOST;
	uint32_t polls;
	int ret;

	if (!dofi_memory_has_pending_room(path) || path->boxed)
		return -FI_EAGAIN;
	if (small && path->polled && put_in_box(path, wr))
		return 0;
	polls = small ? polls_of(path) : 0; /* a cache line that the peer writes */
	ret = copy(path, wr, copies);
	if (DOFI_LIKELY(!ret)) {
		path->polled = small && polls_of(path) - polls >= path->enough_polls;
		finish_rdma(path, wr);
		return 0;
	}
	if (needs_ring(path, ret)) {
		DOFI_LOG_I("%s: data of a connection go by rings from now on: %s", ep->obj.ia->name,
			   strerror(-ret));
		path->copies = false;
		return 1;
	}
	if (ret != -ESRCH)
		path->fault = ret;
	dofi_memory_set_pace(path);
	return -FI_ENOTCONN;
}

/* --- posts --- */

static const struct dofi_wr *request_of(const struct dofi_wr *wr)
{
	return wr->op == DOFI_OP_PART ? dofi_ring_at(&wr->ep->req, wr->part.request) : wr;
}

uint32_t dofi_memory_context_of(const struct dofi_wr *wr)
{
	return request_of(wr)->rdma.context;
}

bool dofi_memory_reads(const struct dofi_wr *wr)
{
	return request_of(wr)->op == DOFI_OP_READ;
}

static struct dofi_memory_job write_job(struct dofi_wr *wr)
{
	return (struct dofi_memory_job){
		.cell = {.kind = DOFI_CELL_WRITE,
			 .words = {wr->remote.address, dofi_memory_context_of(wr)}},
		.wr = wr,
		.iov = wr->iov,
		.length = wr->length,
	};
}

ssize_t dofi_memory_write(struct dofi_ep *ep, struct dofi_wr *wr)
{
	struct dofi_memory_job job;
	ssize_t ret = 1;

	dofi_assert_held(&ep->lock);
	if (DOFI_LIKELY(ep->memory->copies))
		ret = post_copy(ep, wr, dofi_remote_write);
	if (DOFI_LIKELY(ret <= 0))
		return ret;
	job = write_job(wr);
	return dofi_memory_begin_job(ep, &job);
}

ssize_t dofi_memory_write_data(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data)
{
	struct dofi_memory_path *path = ep->memory;
	struct dofi_memory_job job;
	ssize_t ret = 1;

	dofi_assert_held(&ep->lock);
	if (path->job.cell.kind || !dofi_memory_has_room(path, 0))
		return -FI_EAGAIN;
	if (path->copies)
		ret = post_copy(ep, wr, dofi_remote_write);
	if (!ret) {
		dofi_memory_put_notice(path, data);
		dofi_memory_wake(path, ep->obj.ia);
	}
	if (ret <= 0)
		return ret;
	job = write_job(wr);
	job.notifies = true;
	job.data = data;
	return dofi_memory_begin_job(ep, &job);
}

/*
 * Asks the peer for data. Returns the record of the pending request, or NULL if there is no room.
 */
static struct dofi_memory_pending *ask(struct dofi_ep *ep, struct dofi_wr *wr,
				       struct dofi_cell *cell, uint64_t length)
{
	struct dofi_memory_path *path = ep->memory;
	struct dofi_memory_pending *pending;

	if (!dofi_memory_can_wait(path) || dofi_memory_put_cell(ep, cell, &length, sizeof(length)))
		return NULL;
	pending = dofi_memory_add_waiting(path, wr);
	pending->length = length;
	return pending;
}

ssize_t dofi_memory_read(struct dofi_ep *ep, struct dofi_wr *wr)
{
	struct dofi_cell cell = {.kind = DOFI_CELL_READ,
				 .words = {wr->remote.address, dofi_memory_context_of(wr)}};
	struct dofi_memory_pending *pending;
	ssize_t ret = 1;

	dofi_assert_held(&ep->lock);
	if (DOFI_LIKELY(ep->memory->copies))
		ret = post_copy(ep, wr, dofi_remote_read);
	if (DOFI_LIKELY(ret <= 0))
		return ret;
	pending = ask(ep, wr, &cell, wr->length);
	if (!pending)
		return -FI_EAGAIN;
	pending->iov = wr->iov;
	return 0;
}

ssize_t dofi_memory_peek(struct dofi_ep *ep, struct dofi_wr *wr, void *buf, size_t size, void *desc,
			 uint64_t raddr, uint64_t rkey)
{
	struct dofi_cell cell = {.kind = DOFI_CELL_ENTRY,
				 .words = {raddr - ep->peer.ctxtab_address}};
	struct dofi_memory_pending *pending;

	(void)desc;
	(void)rkey;
	dofi_assert_held(&ep->lock);
	pending = ask(ep, wr, &cell, size);
	if (!pending)
		return -FI_EAGAIN;
	pending->place = (struct iovec){buf, size};
	return 0;
}
