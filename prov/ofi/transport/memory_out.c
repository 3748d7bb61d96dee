/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/memory_out.h"

#include "cm/conn.h"
#include "object/ia.h"
#include "transport/memory_in.h"
#include "transport/memory_pending.h"

#include <errno.h>
#include <rdma/fi_errno.h>

/*
 * The last cell of a write has at least this many bytes, because the last word is stored as a
 * whole.
 */
#define LARGEST_WORD 8u

/* --- single cells --- */

ssize_t dofi_memory_put_cell(struct dofi_ep *ep, struct dofi_cell *cell, const void *bytes,
			     size_t size)
{
	struct dofi_memory_path *path = ep->memory;
	const struct iovec iov = {(void *)(uintptr_t)bytes, size};

	dofi_assert_held(&ep->lock);
	if (path->job.cell.kind || !dofi_memory_has_room(path, size))
		return -FI_EAGAIN;
	cell->size = (uint16_t)size;
	dofi_ring_put(&path->out, cell, &iov, 0);
	dofi_memory_wake(path, ep->obj.ia);
	return 0;
}

bool dofi_memory_put_notice(struct dofi_memory_path *path, uint64_t data)
{
	struct dofi_cell cell = {.kind = DOFI_CELL_CTRL, .words = {0, data}};

	dofi_assert_held(&path->conn->ep->lock);
	if (!dofi_memory_has_room(path, 0))
		return false;
	dofi_ring_put(&path->out, &cell, NULL, 0);
	return true;
}

/* --- jobs --- */

/*
 * The whole job is in the ring. A plain Send is complete at once. A Send whose completion releases
 * something completes in the next round. A write completes when the peer has stored it, because
 * from then on its context may end.
 */
static void finish(struct dofi_memory_path *path, const struct dofi_memory_job *job, bool posts)
{
	struct dofi_wr *wr = job->wr;

	if (job->cell.kind == DOFI_CELL_WRITE)
		dofi_memory_add_waiting(path, wr);
	else if (wr->op == DOFI_OP_SEND && !wr->split && posts)
		wr->state = DOFI_WR_DONE;
	else
		dofi_memory_add_pending(path, wr);
}

static size_t size_of_next(const struct dofi_memory_job *job)
{
	uint64_t left = job->length - job->done;

	if (left <= DOFI_CELL_MAX)
		return (size_t)left;
	return left < DOFI_CELL_MAX + LARGEST_WORD ? DOFI_CELL_MAX - LARGEST_WORD : DOFI_CELL_MAX;
}

/*
 * Finds the bytes of a cell. Those of an answer are looked up for each cell, because their memory
 * may be freed meanwhile.
 */
static bool find_bytes(struct dofi_memory_path *path, const struct dofi_memory_job *job,
		       size_t size, struct iovec *iov_p)
{
	const struct dofi_memory_answer *answer =
		&path->answers[path->answers_head % DOFI_MEMORY_ANSWERS];

	iov_p->iov_len = size;
	iov_p->iov_base = dofi_memory_source(path, answer, job->done, size);
	if (!iov_p->iov_base)
		path->fault = -EACCES;
	return iov_p->iov_base;
}

static bool put_next(struct dofi_memory_path *path, struct dofi_memory_job *job)
{
	size_t size = size_of_next(job);
	struct dofi_cell cell = job->cell;
	struct iovec bytes;

	if (!dofi_memory_has_room(path, size) ||
	    (!job->wr && size && !find_bytes(path, job, size, &bytes)))
		return false;
	cell.size = (uint16_t)size;
	cell.flags = (job->done ? 0 : DOFI_CELL_FIRST) |
		     (job->done + size == job->length ? DOFI_CELL_LAST : 0);
	if (cell.kind == DOFI_CELL_WRITE)
		cell.words[0] += job->done;
	dofi_ring_put(&path->out, &cell, job->wr ? job->iov : &bytes, job->wr ? job->done : 0);
	job->done += size;
	job->begun = true;
	return true;
}

/* Puts as many cells of the job into the ring as it has room for. True when the job is complete. */
static bool advance(struct dofi_memory_path *path)
{
	struct dofi_memory_job *job = &path->job;

	while (!job->begun || job->done < job->length)
		if (!put_next(path, job))
			return false;
	return !job->notifies || dofi_memory_put_notice(path, job->data);
}

ssize_t dofi_memory_begin_job(struct dofi_ep *ep, const struct dofi_memory_job *job)
{
	struct dofi_memory_path *path = ep->memory;

	dofi_assert_held(&ep->lock);
	if (path->job.cell.kind || !dofi_memory_can_wait(path) ||
	    !dofi_memory_has_room(path, size_of_next(job)))
		return -FI_EAGAIN;
	path->job = *job;
	if (DOFI_LIKELY(advance(path))) {
		path->job.cell.kind = 0;
		finish(path, job, true);
	}
	if (DOFI_UNLIKELY(path->job.cell.kind || job->wr->state != DOFI_WR_DONE))
		dofi_memory_set_pace(path);
	dofi_memory_wake(path, ep->obj.ia);
	return 0;
}

/* --- rounds --- */

/* Begins the next answer. False if there is none. */
static bool begin_answer(struct dofi_memory_path *path)
{
	const struct dofi_memory_answer *answer =
		&path->answers[path->answers_head % DOFI_MEMORY_ANSWERS];

	if (path->answers_head == path->answers_tail)
		return false;
	path->job = (struct dofi_memory_job){.cell = {.kind = DOFI_CELL_DATA},
					     .length = answer->length};
	return true;
}

static void put_more(struct dofi_memory_path *path)
{
	while (!path->fault && (path->job.cell.kind || begin_answer(path))) {
		if (!advance(path))
			break;
		if (path->job.wr)
			finish(path, &path->job, false);
		else
			path->answers_head++;
		path->job.cell.kind = 0;
	}
	dofi_memory_wake(path, path->conn->ia);
}

int dofi_memory_go_on(struct dofi_memory_path *path)
{
	struct dofi_ep *ep = path->conn->ep;
	int n;

	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_lock(&ep->lock);
	put_more(path);
	n = dofi_memory_complete(path);
	dofi_unlock(&ep->lock);
	return n;
}
