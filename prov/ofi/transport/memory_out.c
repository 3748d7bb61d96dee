/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/memory_out.h"

#include "cm/conn.h"
#include "base/log.h"
#include "dto/control.h"
#include "dto/credit.h"
#include "dto/reap.h"
#include "object/ia.h"
#include "progress/wait.h"
#include "transport/memory_in.h"
#include "transport/memory_path.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>

/*
 * The last cell of a write has at least this many bytes, because the last word is stored as a
 * whole.
 */
#define LARGEST_WORD 8u
/* After a box was not served, its peer has to poll twice as often, up to this. */
#define MOST_POLLS   65536u

/* --- the ring --- */

/* Whether there is room for one more cell. A peer with an impossible index gets no more cells. */
static bool has_room(struct dofi_memory_path *path, size_t size)
{
	int ret = dofi_ring_has_room(&path->out, size);

	if (DOFI_UNLIKELY(ret < 0))
		path->fault = ret;
	return ret > 0;
}

/* The oldest request that is not complete, if the next round completes it; NULL otherwise. */
static struct dofi_memory_pending *first_done(const struct dofi_memory_path *path)
{
	struct dofi_memory_pending *first = &path->pending[path->pending_head % path->pending_size];

	if (path->pending_head == path->pending_tail || (first->waits && !first->answered))
		return NULL;
	return first;
}

/*
 * Registers whether rounds at short intervals are needed, because the peer does not wake this
 * process for this path.
 */
static void set_pace(struct dofi_memory_path *path)
{
	struct dofi_ia *ia = path->conn->ia;
	bool restless = path->job.cell.kind || path->fault || path->boxed || first_done(path);

	if (restless == path->restless)
		return;
	path->restless = restless;
	if (restless) {
		atomic_fetch_add(&ia->engine.restless, 1);
		dofi_wait_kick(ia);
	} else {
		atomic_fetch_sub(&ia->engine.restless, 1);
	}
}

/* --- requests that are complete later --- */

static bool has_pending_room(const struct dofi_memory_path *path)
{
	return path->pending_tail - path->pending_head < path->pending_size;
}

static struct dofi_memory_pending *add_pending(struct dofi_memory_path *path, struct dofi_wr *wr)
{
	struct dofi_memory_pending *pending =
		&path->pending[path->pending_tail++ % path->pending_size];

	*pending = (struct dofi_memory_pending){.wr = wr};
	return pending;
}

static struct dofi_memory_pending *add_waiting(struct dofi_memory_path *path, struct dofi_wr *wr)
{
	struct dofi_memory_pending *pending = add_pending(path, wr);

	pending->waits = true;
	path->waiting++;
	return pending;
}

/*
 * The whole job is in the ring. A plain Send is complete at once. A Send whose completion releases
 * something completes in the next round. A write completes when the peer has stored it, because
 * from then on its context may end.
 */
static void finish(struct dofi_memory_path *path, const struct dofi_memory_job *job, bool posts)
{
	struct dofi_wr *wr = job->wr;

	if (job->cell.kind == DOFI_CELL_WRITE)
		add_waiting(path, wr);
	else if (wr->op == DOFI_OP_SEND && !wr->split && posts)
		wr->state = DOFI_WR_DONE;
	else
		add_pending(path, wr);
}

/* --- what takes several cells --- */

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

	if (!has_room(path, size) || (!job->wr && size && !find_bytes(path, job, size, &bytes)))
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

static bool put_notice(struct dofi_memory_path *path, uint64_t data)
{
	struct dofi_cell cell = {.kind = DOFI_CELL_CTRL, .words = {0, data}};

	if (!has_room(path, 0))
		return false;
	dofi_ring_put(&path->out, &cell, NULL, 0);
	return true;
}

/* Puts as many cells of the job into the ring as it has room for. True when the job is complete. */
static bool advance(struct dofi_memory_path *path)
{
	struct dofi_memory_job *job = &path->job;

	while (!job->begun || job->done < job->length)
		if (!put_next(path, job))
			return false;
	return !job->notifies || put_notice(path, job->data);
}

/* Begins a job. 0, or -FI_EAGAIN, and nothing is in the ring. */
static ssize_t begin(struct dofi_ep *ep, const struct dofi_memory_job *job)
{
	struct dofi_memory_path *path = ep->memory;

	if (path->job.cell.kind || path->waiting >= DOFI_MEMORY_ANSWERS ||
	    !has_pending_room(path) || !has_room(path, size_of_next(job)))
		return -FI_EAGAIN;
	path->job = *job;
	if (DOFI_LIKELY(advance(path))) {
		path->job.cell.kind = 0;
		finish(path, job, true);
	}
	if (DOFI_UNLIKELY(path->job.cell.kind || job->wr->state != DOFI_WR_DONE))
		set_pace(path);
	dofi_memory_wake(path, ep->obj.ia);
	return 0;
}

/* Sends one cell that has no completion here. */
static ssize_t say(struct dofi_ep *ep, struct dofi_cell *cell, const void *bytes, size_t size)
{
	struct dofi_memory_path *path = ep->memory;
	const struct iovec iov = {(void *)(uintptr_t)bytes, size};

	if (path->job.cell.kind || !has_room(path, size))
		return -FI_EAGAIN;
	cell->size = (uint16_t)size;
	dofi_ring_put(&path->out, cell, &iov, 0);
	dofi_memory_wake(path, ep->obj.ia);
	return 0;
}

/* --- copies by the kernel, without the peer --- */

typedef int copier(const struct dofi_remote_process *process, const struct iovec *iov, size_t skip,
		   uint64_t address, size_t size);

/*
 * Copies between the peer's memory and the segments of wr. 0, or a negative errno: -ESRCH if the
 * peer has ended the connection or is dead, which the connection learns soon.
 */
static int copy(struct dofi_memory_path *path, const struct dofi_wr *wr, copier *copies)
{
	int ret = -ESRCH;

	if (dofi_memory_copy_begin(path)) {
		ret = copies(&path->process, wr->iov, 0, wr->remote.target, wr->length);
		dofi_memory_copy_end(path);
	}
	return ret;
}

static bool is_forbidden(int ret)
{
	return ret == -EPERM || ret == -ENOSYS;
}

/* A request that consists of this operation alone is complete when the post returns. */
static void finish_rdma(struct dofi_memory_path *path, struct dofi_wr *wr)
{
	if ((wr->op == DOFI_OP_WRITE || wr->op == DOFI_OP_READ) && !wr->split) {
		wr->state = DOFI_WR_DONE;
	} else {
		add_pending(path, wr);
		set_pace(path);
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
	path->boxed = add_waiting(path, wr);
	path->boxed->boxed = true;
	set_pace(path);
	return true;
}

static uint32_t polls_of(const struct dofi_memory_path *path)
{
	return atomic_load_explicit(&path->theirs->polls, memory_order_relaxed);
}

/* As a post, or 1: the ring has to carry it, because the kernel does not allow copies any more. */
static ssize_t post_copy(struct dofi_ep *ep, struct dofi_wr *wr, copier *copies)
{
	struct dofi_memory_path *path = ep->memory;
	bool small = wr->length <= DOFI_BOX_MOST;
	uint32_t polls;
	int ret;

	if (!has_pending_room(path) || path->boxed)
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
	if (is_forbidden(ret)) {
		DOFI_LOG_I("%s: data of a connection go by rings from now on: %s", ep->obj.ia->name,
			   strerror(-ret));
		path->copies = false;
		return 1;
	}
	if (ret != -ESRCH)
		path->fault = ret;
	set_pace(path);
	return -FI_ENOTCONN;
}

/* --- posts --- */

static uint32_t update_of(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	bool solicited =
		(wr->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG) && ep->peer.wants_solicited;
	uint32_t noted = dofi_op_needs_ctrl(wr->op) && ep->ctrl_msgs ? DOFI_UPDATE_CTRL_MSG : 0;

	return dofi_credit_update(ep, solicited) | noted;
}

/* The length in the cell. The message of a write with immediate data has no bytes of its own. */
static uint64_t length_of(const struct dofi_wr *wr)
{
	return wr->op == DOFI_OP_WRITE_IMM ? 0 : wr->length;
}

/* Records that the update has reported all receives. */
static void announced(struct dofi_ep *ep, uint32_t total)
{
	if (ep->credit_mode)
		ep->announced = total;
}

/* Whether the message is complete as soon as one cell is in the ring. */
static bool is_one_cell(const struct dofi_wr *wr)
{
	return wr->length <= DOFI_CELL_MAX && wr->op == DOFI_OP_SEND && !wr->split;
}

DOFI_SLOW_PATH static ssize_t send_one_cell(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct dofi_cell cell = {
		.kind = DOFI_CELL_SEND,
		.flags = DOFI_CELL_FIRST | DOFI_CELL_LAST,
		.size = (uint16_t)wr->length,
		.words = {wr->length, update_of(ep, wr)},
	};
	struct dofi_memory_path *path = ep->memory;

	if (path->job.cell.kind || !has_room(path, wr->length))
		return -FI_EAGAIN;
	dofi_ring_put(&path->out, &cell, wr->iov, 0);
	wr->state = DOFI_WR_DONE;
	dofi_memory_wake(path, ep->obj.ia);
	return 0;
}

static bool is_fetched(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	return length_of(wr) >= DOFI_MEMORY_FETCHED && wr->niov <= DOFI_MEMORY_RANGES &&
	       atomic_load_explicit(&ep->memory->theirs->fetches, memory_order_acquire);
}

/*
 * Sends the addresses of the segments of a long message. The message is complete when the receiver
 * has copied it.
 */
static ssize_t send_ranges(struct dofi_ep *ep, struct dofi_wr *wr)
{
	struct dofi_cell cell = {.kind = DOFI_CELL_PLACES,
				 .words = {wr->length, update_of(ep, wr)}};
	struct dofi_memory_range ranges[DOFI_MEMORY_RANGES];
	struct dofi_memory_path *path = ep->memory;

	for (uint16_t i = 0; i < wr->niov; i++)
		ranges[i] = (struct dofi_memory_range){(uintptr_t)wr->iov[i].iov_base,
						       wr->iov[i].iov_len};
	if (path->waiting >= DOFI_MEMORY_ANSWERS || !has_pending_room(path) ||
	    say(ep, &cell, ranges, wr->niov * sizeof(ranges[0])))
		return -FI_EAGAIN;
	add_waiting(path, wr);
	return 0;
}

static ssize_t send_cells(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct dofi_memory_job job = {
		.cell = {.kind = DOFI_CELL_SEND, .words = {length_of(wr), update_of(ep, wr)}},
		.wr = wr,
		.iov = wr->iov,
		.length = length_of(wr),
	};

	return begin(ep, &job);
}

/* A plain one whose bytes fit into a cell. */
DOFI_INLINE ssize_t send_line(struct dofi_ep *ep, struct dofi_wr *wr)
{
	const struct dofi_cell cell = {
		.kind = DOFI_CELL_SEND,
		.flags = DOFI_CELL_FIRST | DOFI_CELL_LAST,
		.size = (uint16_t)wr->length,
		.words = {wr->length, dofi_credit_update(ep, false)},
	};
	struct dofi_memory_path *path = ep->memory;

	if (DOFI_UNLIKELY(path->job.cell.kind || !has_room(path, 0)))
		return -FI_EAGAIN;
	dofi_ring_put_line(&path->out, cell, wr->iov[0].iov_base);
	wr->state = DOFI_WR_DONE;
	dofi_memory_wake(path, ep->obj.ia);
	return 0;
}

DOFI_SLOW_PATH static ssize_t send_other(struct dofi_ep *ep, struct dofi_wr *wr)
{
	if (is_one_cell(wr))
		return send_one_cell(ep, wr);
	return is_fetched(ep, wr) ? send_ranges(ep, wr) : send_cells(ep, wr);
}

ssize_t dofi_memory_send(struct dofi_ep *ep, struct dofi_wr *wr)
{
	uint32_t total = dofi_credit_total(ep);
	ssize_t ret;

	dofi_assert_held(&ep->lock);
	if (DOFI_LIKELY(wr->kind == dofi_wr_plain(DOFI_OP_SEND, DOFI_WR_ISSUED) &&
			wr->length <= DOFI_CELL_INLINE))
		ret = send_line(ep, wr);
	else
		ret = send_other(ep, wr);
	if (!ret)
		announced(ep, total);
	return ret;
}

ssize_t dofi_memory_send_empty(struct dofi_ep *ep, struct dofi_wr *wr)
{
	struct dofi_cell cell = {.kind = DOFI_CELL_SEND,
				 .flags = DOFI_CELL_FIRST | DOFI_CELL_LAST,
				 .words = {0, update_of(ep, wr)}};
	uint32_t total = dofi_credit_total(ep);
	ssize_t ret;

	dofi_assert_held(&ep->lock);
	ret = say(ep, &cell, NULL, 0);
	if (!ret)
		announced(ep, total);
	return ret;
}

/* Nothing to do: a message finds the receive in the EP's ring. */
ssize_t dofi_memory_recv(struct dofi_ep *ep, struct dofi_wr *wr)
{
	(void)wr;
	dofi_assert_held(&ep->lock);
	return 0;
}

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
	return begin(ep, &job);
}

ssize_t dofi_memory_write_data(struct dofi_ep *ep, struct dofi_wr *wr, uint64_t data)
{
	struct dofi_memory_path *path = ep->memory;
	struct dofi_memory_job job;
	ssize_t ret = 1;

	dofi_assert_held(&ep->lock);
	if (path->job.cell.kind || !has_room(path, 0))
		return -FI_EAGAIN;
	if (path->copies)
		ret = post_copy(ep, wr, dofi_remote_write);
	if (!ret) {
		put_notice(path, data);
		dofi_memory_wake(path, ep->obj.ia);
	}
	if (ret <= 0)
		return ret;
	job = write_job(wr);
	job.notifies = true;
	job.data = data;
	return begin(ep, &job);
}

/*
 * Asks the peer for data. Returns the record of the pending request, or NULL if there is no room.
 */
static struct dofi_memory_pending *ask(struct dofi_ep *ep, struct dofi_wr *wr,
				       struct dofi_cell *cell, uint64_t length)
{
	struct dofi_memory_path *path = ep->memory;
	struct dofi_memory_pending *pending;

	if (path->waiting >= DOFI_MEMORY_ANSWERS || !has_pending_room(path) ||
	    say(ep, cell, &length, sizeof(length)))
		return NULL;
	pending = add_waiting(path, wr);
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

ssize_t dofi_memory_ctrl(struct dofi_ep *ep, const void *record, size_t size, uint64_t raddr,
			 uint64_t rkey, uint64_t data)
{
	struct dofi_cell cell = {.kind = DOFI_CELL_CTRL, .words = {raddr, data}};

	(void)rkey;
	dofi_assert_held(&ep->lock);
	return say(ep, &cell, record, size);
}

ssize_t dofi_memory_ctrl_msg(struct dofi_ep *ep, const void *ctrl_msg, size_t size)
{
	struct dofi_cell cell = {.kind = DOFI_CELL_CTRL_MSG};

	dofi_assert_held(&ep->lock);
	return say(ep, &cell, ctrl_msg, size);
}

ssize_t dofi_memory_credit(struct dofi_ep *ep, uint32_t update)
{
	struct dofi_cell cell = {.kind = DOFI_CELL_CREDIT, .words = {update}};

	dofi_assert_held(&ep->lock);
	return say(ep, &cell, NULL, 0);
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

/* The next request that is complete, or NULL. */
static struct dofi_wr *next_complete(struct dofi_memory_path *path)
{
	const struct dofi_memory_pending *first = first_done(path);

	if (!first)
		return NULL;
	path->pending_head++;
	path->waiting -= first->waits;
	return first->wr;
}

static void look_at_box(struct dofi_memory_path *path)
{
	if (!path->boxed || !dofi_box_is_done(path, path->boxed->wr))
		return;
	path->boxed->answered = true;
	path->boxed = NULL;
}

/* Completes requests in their order, up to the first one that waits for the peer. */
static int complete(struct dofi_memory_path *path)
{
	struct dofi_ep *ep = path->conn->ep;
	struct dofi_wr *wr;
	int n = 0;

	dofi_assert_held(&ep->lock);
	while ((wr = next_complete(path))) {
		dofi_unlock(&ep->lock);
		dofi_reap_done(wr, 0, wr->length, 0, 0);
		n++;
		dofi_lock(&ep->lock);
	}
	set_pace(path);
	return n;
}

int dofi_memory_go_on(struct dofi_memory_path *path)
{
	struct dofi_ep *ep = path->conn->ep;
	int n;

	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_lock(&ep->lock);
	put_more(path);
	look_at_box(path);
	n = complete(path);
	dofi_unlock(&ep->lock);
	return n;
}

struct dofi_memory_pending *dofi_memory_asked(struct dofi_memory_path *path)
{
	struct dofi_ep *ep = path->conn->ep;
	struct dofi_memory_pending *asked = NULL;

	dofi_assert_held(&path->conn->ia->engine.lock);
	dofi_lock(&ep->lock);
	for (uint32_t i = path->pending_head; i != path->pending_tail && !asked; i++) {
		struct dofi_memory_pending *pending = &path->pending[i % path->pending_size];

		if (pending->waits && !pending->answered && !pending->boxed)
			asked = pending;
	}
	dofi_unlock(&ep->lock);
	return asked;
}

/* Requests behind the one that was answered may have waited for it alone. */
void dofi_memory_answered(struct dofi_memory_path *path)
{
	struct dofi_ep *ep = path->conn->ep;

	dofi_assert_held(&path->conn->ia->engine.lock);
	dofi_lock(&ep->lock);
	complete(path);
	dofi_unlock(&ep->lock);
}
