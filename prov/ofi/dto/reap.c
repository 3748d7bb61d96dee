/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The hot path in: a completion marks its work request, and events leave from the heads of the
 * rings.
 */
#include "dto/reap.h"

#include "dto/credit.h"
#include "object/ep.h"
#include "fabric/error.h"
#include "progress/evd.h"
#include "progress/event.h"
#include "object/ia.h"
#include "dto/control_message.h"
#include "base/log.h"
#include "dto/control.h"
#include "dto/orphan.h"
#include "dto/srq.h"
#include "object/transport.h"
#include "dto/ud.h"
#include "dto/guard_byte.h"
#include "dto/segments.h"
#include "object/ctxtab.h"
#include "dto/rmr.h"
#include "object/srq_count.h"
#include "dto/issue.h"
#include "dto/ud_pool.h"

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

static bool notifies(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	bool recv = wr->op == DOFI_OP_RECV;

	/* Where messages carry nothing, each may have been meant to. */
	if (recv && ep->attr.recv_completion_flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG &&
	    ep->obj.ia->has_data)
		return wr->solicited || wr->status != DAT_DTO_SUCCESS;
	return !(wr->flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
}

/* Told in the event more than what was posted. */
static bool needs_ctrl(const struct dofi_wr *wr)
{
	return wr->op == DOFI_OP_RECV ? wr->note : dofi_op_needs_ctrl(wr->op);
}

DOFI_INLINE void fill_dto(struct dofi_ep *ep, const struct dofi_wr *wr, uint8_t op, uint8_t status,
			  struct dofi_event *event)
{
	event->number = DAT_DTO_COMPLETION_EVENT;
	event->op = op;
	event->status = status;
	event->ext = 0;
	event->handle = ep;
	event->dto.cookie = wr->cookie;
	event->dto.length = wr->length;
	event->dto.srq = NULL;
}

static void describe(struct dofi_ep *ep, struct dofi_wr *wr, struct dofi_event *event)
{
	fill_dto(ep, wr, wr->op, wr->status, event);
	if (DOFI_UNLIKELY(ep->ud)) {
		dofi_ud_mark(event);
	} else if (wr->op == DOFI_OP_BIND) {
		event->number = DAT_RMR_BIND_COMPLETION_EVENT;
		event->handle = dofi_wr_bind(wr)->rmr;
	} else if (needs_ctrl(wr)) {
		dofi_ctrl_mark(wr->op, (struct dofi_ctrl){.kind = wr->note, .value = wr->rctx},
			       event);
	}
}

/*
 * A completion finds no place: the connection can't go on. For datagrams it is one that got lost.
 */
DOFI_COLD static void lose(struct dofi_ep *ep)
{
	if (ep->ud)
		return;
	ep->faulty = true;
	dofi_ep_stall(ep);
}

DOFI_SLOW_PATH static void emit(struct dofi_ep *ep, struct dofi_evd *evd, struct dofi_wr *wr)
{
	struct dofi_event *event;

	dofi_ep_count_completed(ep, wr->status);
	if ((wr->flags & DAT_COMPLETION_SUPPRESS_FLAG) && wr->status == DAT_DTO_SUCCESS)
		return;
	event = dofi_evd_begin(evd);
	if (!event) {
		lose(ep);
		return;
	}
	describe(ep, wr, event);
	dofi_evd_count_event(evd, event->number, event->ext, event->handle);
	dofi_evd_end(evd, dofi_evd_is_watched(evd) && notifies(ep, wr));
}

/* Done as it was posted: there is nothing else to tell. */
DOFI_INLINE bool is_plain(const struct dofi_wr *wr, uint8_t op)
{
	return op <= DOFI_OP_RECV && dofi_wr_is_plain(wr, DOFI_WR_DONE) && !wr->note;
}

/* To the call that polls for it, past the ring that it found empty. */
DOFI_INLINE bool deliver(struct dofi_ep *ep, struct dofi_evd *evd, const struct dofi_wr *wr,
			 uint8_t op)
{
	struct dofi_taker *taker = &ep->obj.ia->engine.taker;

	dofi_assert_held(&ep->obj.ia->engine.lock);
	if (taker->evd != evd || atomic_load_explicit(&evd->count, memory_order_relaxed) ||
	    dofi_evd_is_watched(evd))
		return false;
	taker->event->event_number = DAT_DTO_COMPLETION_EVENT;
	taker->event->evd_handle = evd;
	dofi_event_fill_dto(&(struct dofi_dto){ep, wr->cookie, wr->length, op, DAT_DTO_SUCCESS},
			    taker->event);
	dofi_evd_count_event(evd, DAT_DTO_COMPLETION_EVENT, false, ep);
	taker->evd = NULL;
	return true;
}

/* As emit, of a plain one. polled: it was just read, with engine.lock held. */
DOFI_INLINE void emit_plain(struct dofi_ep *ep, struct dofi_evd *evd, struct dofi_wr *wr,
			    uint8_t op, bool polled)
{
	struct dofi_event *event;

	dofi_ep_count_completed(ep, DAT_DTO_SUCCESS);
	if (polled && deliver(ep, evd, wr, op))
		return;
	event = dofi_evd_begin(evd);
	if (DOFI_UNLIKELY(!event)) {
		lose(ep);
		return;
	}
	fill_dto(ep, wr, op, DAT_DTO_SUCCESS, event);
	dofi_evd_count_event(evd, DAT_DTO_COMPLETION_EVENT, false, ep);
	dofi_evd_end(evd, dofi_evd_is_watched(evd) && notifies(ep, wr));
}

DOFI_SLOW_PATH static void release(struct dofi_ep *ep, struct dofi_ring *ring, struct dofi_evd *evd)
{
	while (ring->head != ring->tail) {
		struct dofi_wr *wr = dofi_ring_at(ring, ring->head);

		if (wr->state != DOFI_WR_DONE)
			return;
		emit(ep, evd, wr);
		ring->head++;
	}
}

/* As release, after a plain one was completed: mostly it is the first and only one. */
DOFI_INLINE void release_polled(struct dofi_ep *ep, struct dofi_ring *ring, struct dofi_evd *evd,
				struct dofi_wr *wr, uint8_t op)
{
	if (DOFI_LIKELY(wr == dofi_ring_at(ring, ring->head) && wr->state == DOFI_WR_DONE &&
			!wr->note)) {
		emit_plain(ep, evd, wr, op, true);
		ring->head++;
		if (ring->head == ring->tail ||
		    dofi_ring_at(ring, ring->head)->state != DOFI_WR_DONE)
			return;
	}
	release(ep, ring, evd);
}

/* Behind others it leaves with them. */
void dofi_reap_request_ended(struct dofi_ep *ep, struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	if (ep->req.head + 1 != ep->req.issue)
		return;
	if (DOFI_LIKELY(is_plain(wr, wr->op)))
		emit_plain(ep, ep->req_evd, wr, wr->op, false);
	else
		emit(ep, ep->req_evd, wr);
	ep->req.head++;
	/* which waits for the last */
	if (DOFI_UNLIKELY(ep->state == DAT_EP_STATE_DISCONNECT_PENDING))
		dofi_ep_stall(ep);
}

void dofi_reap_release(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	release(ep, &ep->recv, ep->recv_evd);
	release(ep, &ep->req, ep->req_evd);
}

/* The fabric has nothing of it any more. */
static void unsplit(struct dofi_wr *wr)
{
	if (wr->split && !dofi_op_is_rdma(wr->op))
		dofi_bounce_give(wr, 0);
	wr->split = 0;
}

static void flush_ring(struct dofi_ring *ring, uint8_t first_status)
{
	bool broken = false;

	for (uint32_t i = ring->head; i != ring->tail; i++) {
		struct dofi_wr *wr = dofi_ring_at(ring, i);

		/*
		 * What finished behind the first failure fails, too: no success after a flush
		 * (EPS-081).
		 */
		if (wr->state == DOFI_WR_DONE && (!broken || wr->status != DAT_DTO_SUCCESS)) {
			broken |= wr->status != DAT_DTO_SUCCESS;
			continue;
		}
		if (wr->op == DOFI_OP_BIND && wr->state == DOFI_WR_QUEUED)
			dofi_bind_cancel(dofi_wr_bind(wr));
		unsplit(wr);
		wr->state = DOFI_WR_DONE;
		wr->status = broken ? DAT_DTO_ERR_FLUSHED : first_status;
		broken = true;
	}
	ring->issue = ring->tail;
}

void dofi_reap_flush(struct dofi_ep *ep, uint8_t first_status)
{
	dofi_assert_held(&ep->lock);
	flush_ring(&ep->recv, DAT_DTO_ERR_FLUSHED);
	flush_ring(&ep->req, first_status);
	ep->reads = ep->writes = 0;
	ep->parts.head = ep->parts.tail;
	ep->owing = false;
	dofi_ep_let_go(ep);
	dofi_srq_forget_held(ep);
	dofi_reap_release(ep);
}

/*
 * Where no event tells that the path is gone, an operation that came back is all that is ever
 * known.
 */
static void path_gone(struct dofi_ep *ep)
{
	if (ep->path_up && !ep->obj.ia->trans->has_eq)
		dofi_ep_refuse(ep);
	ep->path_up = false; /* or the next operation would be given back, and so on */
}

/*
 * What the fabric gives back because the path goes down; its event tells why, and the flush ends
 * what is left.
 */
static bool given_back(struct dofi_ep *ep, int err)
{
	if (!dofi_error_gives_back(err))
		return false;
	path_gone(ep);
	return true;
}

DOFI_COLD static void fail_path(struct dofi_ep *ep, int err)
{
	DOFI_LOG_I("%s: an operation failed and breaks its connection: %s", ep->obj.ia->name,
		   fi_strerror(err));
	ep->faulty = true;
	dofi_ep_stall(ep);
}

DOFI_SLOW_PATH static void peeked(struct dofi_ep *ep, int err)
{
	struct dofi_ctx *ctx = &ep->rcache[ep->aux_ctx % DOFI_RCACHE_SIZE];

	ep->peeking = false;
	if (err && !given_back(ep, err))
		fail_path(ep, err);
	if (err || !ep->aux_ctx || ep->peek_outdated)
		return;
	/*
	 * An entry that isn't there is remembered as one that allows nothing: what asked for it
	 * ends the connection.
	 */
	if (!dofi_ctx_decode(&ep->obj.ia->scratch.slots[ep->scratch], ep->aux_ctx, ctx))
		*ctx = (struct dofi_ctx){.context = ep->aux_ctx};
}

/*
 * The fabric is in the middle of what it still has (dofi_conn_end), and how that fails is nobody's
 * concern.
 */
static bool is_over(const struct dofi_ep *ep)
{
	return ep->obj.ia->up->is_over(ep);
}

/* One failure ends a connection: where the fabric goes on after it, what fails later is flushed. */
DOFI_COLD static void failed(struct dofi_ep *ep, struct dofi_wr *wr, int err)
{
	bool back;

	if (ep->ud) {
		dofi_ud_send_failed(ep, wr, err);
		return;
	}
	back = given_back(ep, err);
	/* for what comes after the end; see drain.h */
	ep->nreceived += !back && wr->op == DOFI_OP_RECV;
	if (back || ep->faulty || is_over(ep)) {
		wr->state = DOFI_WR_BACK;
		return;
	}
	if (wr->status == DAT_DTO_SUCCESS)
		wr->status = (uint8_t)dofi_error_status(err);
	wr->state = DOFI_WR_DONE;
	fail_path(ep, err);
}

/* The message that the latest note was about. Returns its kind. */
DOFI_SLOW_PATH static uint8_t apply_ctrl(struct dofi_ep *ep, struct dofi_wr *wr)
{
	struct dofi_ctrl note = dofi_ctrl_take(ep, &wr->status);

	wr->note = note.kind;
	wr->rctx = note.value;
	if (note.kind == DOFI_CTRL_IMMEDIATE)
		wr->length = note.length;
	return note.kind;
}

/* A receive's place in the ring is the number of its message. */
static uint32_t message_of(const struct dofi_ep *ep, const struct dofi_wr *wr)
{
	const struct dofi_ring *ring = &ep->recv;
	uint32_t slot = (uint32_t)((size_t)((const char *)wr - ring->base) / ring->stride);

	return ring->head + ((slot - ring->head) & ring->mask) - ep->recv_base;
}

DOFI_INLINE void received(struct dofi_ep *ep, struct dofi_wr *wr, uint32_t update)
{
	uint8_t note = 0;

	if (DOFI_UNLIKELY((update & DOFI_UPDATE_CTRL_MSG) &&
			  !dofi_ctrl_msg_use(ep, message_of(ep, wr)))) {
		wr->state = DOFI_WR_HELD;
		wr->rctx = update;
		return;
	}
	if (DOFI_UNLIKELY(ep->note.kind))
		note = apply_ctrl(ep, wr);
	dofi_ep_count_received(ep, note, wr->length);
	ep->nreceived++;
	wr->solicited = update & DOFI_UPDATE_SOLICITED;
	dofi_credit_take(ep, update);
	if (dofi_credit_urgent(ep) || dofi_ep_last_message(ep))
		dofi_ep_stall(ep);
	if (ep->state != DAT_EP_STATE_CONNECTED)
		ep->obj.ia->up->established(ep);
	if (wr->status != DAT_DTO_SUCCESS)
		fail_path(ep, FI_EACCES);
}

void dofi_reap_ctrl_arrived(struct dofi_ep *ep, uint32_t message)
{
	uint32_t index = ep->recv_base + message;
	struct dofi_wr *wr = dofi_ring_at(&ep->recv, index);

	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_assert_held(&ep->lock);
	if (index - ep->recv.head >= dofi_ring_count(&ep->recv) || wr->state != DOFI_WR_HELD)
		return;
	wr->state = DOFI_WR_DONE;
	received(ep, wr, wr->rctx);
	dofi_reap_release(ep);
}

static void finished_receive(struct dofi_ep *ep, struct dofi_wr *wr, int err, uint64_t length,
			     uint32_t update)
{
	if (DOFI_UNLIKELY(err)) {
		failed(ep, wr, err);
	} else {
		wr->state = DOFI_WR_DONE;
		wr->length = length;
		received(ep, wr, update);
	}
	release(ep, &ep->recv, ep->recv_evd);
}

static void finished_request(struct dofi_ep *ep, struct dofi_wr *wr, int err)
{
	ep->reads -= wr->op == DOFI_OP_READ;
	ep->writes -= wr->op == DOFI_OP_WRITE;
	if (DOFI_UNLIKELY(err))
		failed(ep, wr, err);
	else if (!dofi_op_needs_ctrl(wr->op) || dofi_ctrl_completed(wr))
		wr->state = DOFI_WR_DONE;
	release(ep, &ep->req, ep->req_evd);
}

/*
 * The byte of a receive without segments is nobody's; see the transports. Immediate data of the
 * hardware tell their write's length.
 */
static bool has_no_room(const struct dofi_wr *wr)
{
	return (wr->op == DOFI_OP_RECV && !wr->ep->obj.ia->has_immediates) ||
	       (wr->op == DOFI_OP_SRQ_RECV && !wr->srq->obj.ia->has_immediates);
}

/* More came than there is room for, and the fabric calls it a success. */
static bool is_too_long(const struct dofi_wr *wr, uint64_t length)
{
	if (!wr->niov)
		return length && has_no_room(wr);
	if (wr->op == DOFI_OP_RECV)
		return dofi_guard_is_hit(wr->ep->obj.ia, wr, length);
	return wr->op == DOFI_OP_SRQ_RECV && dofi_guard_is_hit(wr->srq->obj.ia, wr, length);
}

/*
 * The receives that are of no EP; spares, and those for credits as the endpoint closes, are only
 * given back.
 */
DOFI_SLOW_PATH static void other_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number,
				      uint32_t update)
{
	if (!err && is_too_long(wr, length))
		err = FI_ETRUNC;
	if (wr->op == DOFI_OP_SRQ_RECV)
		dofi_srq_done(wr, err, length, number, update);
	else if (wr->op == DOFI_OP_ORPHAN)
		dofi_orphans_done(wr);
	else if (wr->op == DOFI_OP_DRAIN)
		wr->ia->up->drain_done(wr);
	else if (wr->op == DOFI_OP_UD_RECV)
		dofi_ud_pool_done(wr->ia, wr, err, length, update);
}

/* Of the EP's rings, but failed or not plain; or of the EP and in none of its rings. */
DOFI_SLOW_PATH static void finished(struct dofi_ep *ep, struct dofi_wr *wr, int err,
				    uint64_t length, uint32_t update)
{
	if (!err && is_too_long(wr, length))
		err = FI_ETRUNC;
	if (wr->op == DOFI_OP_PART) {
		wr = dofi_parts_done(ep, wr, err);
		if (!wr)
			return; /* the request that it completes goes on */
	} else if (wr->op == DOFI_OP_PEEK) {
		peeked(ep, err);
		return;
	}
	if (wr->split)
		dofi_bounce_give(wr, err ? 0 : length);
	if (wr->op == DOFI_OP_RECV)
		finished_receive(ep, wr, err, length, update);
	else
		finished_request(ep, wr, err);
}

/* A completion is dealt with: what waited for it? Unlocks the EP. */
DOFI_INLINE void go_on(struct dofi_ep *ep)
{
	if (ep->req.issue != ep->req.tail || ep->recv.issue != ep->recv.tail)
		dofi_ep_issue(ep);
	if (ep->state == DAT_EP_STATE_DISCONNECT_PENDING)
		ep->obj.ia->up->drained(ep);
	dofi_unlock(&ep->lock);
}

DOFI_SLOW_PATH static void receive_done(struct dofi_wr *wr, uint64_t length, uint32_t update)
{
	struct dofi_ep *ep = wr->ep;

	DOFI_PROBE4(completion, ep, wr->op, 0, length);
	dofi_lock(&ep->lock);
	if (DOFI_LIKELY(dofi_wr_is_plain(wr, DOFI_WR_ISSUED))) {
		wr->state = DOFI_WR_DONE;
		wr->length = length;
		received(ep, wr, update);
		release_polled(ep, &ep->recv, ep->recv_evd, wr, DOFI_OP_RECV);
	} else {
		finished(ep, wr, 0, length, update);
	}
	go_on(ep);
}

DOFI_SLOW_PATH static void request_done(struct dofi_wr *wr, uint64_t length)
{
	struct dofi_ep *ep = wr->ep;

	DOFI_PROBE4(completion, ep, wr->op, 0, length);
	dofi_lock(&ep->lock);
	if (DOFI_LIKELY(dofi_wr_is_plain(wr, DOFI_WR_ISSUED))) {
		if (wr->op == DOFI_OP_READ)
			ep->reads--;
		else if (wr->op == DOFI_OP_WRITE)
			ep->writes--;
		wr->state = DOFI_WR_DONE;
		release_polled(ep, &ep->req, ep->req_evd, wr, wr->op);
	} else {
		finished(ep, wr, 0, length, 0);
	}
	go_on(ep);
}

DOFI_SLOW_PATH static void done_otherwise(struct dofi_wr *wr, int err, uint64_t length,
					  uint32_t number, uint32_t update)
{
	struct dofi_ep *ep = wr->ep;

	if (wr->op >= DOFI_OP_SRQ_RECV) {
		other_done(wr, err, length, number, update);
		return;
	}
	DOFI_PROBE4(completion, ep, wr->op, err, length);
	dofi_lock(&ep->lock);
	finished(ep, wr, err, length, update);
	go_on(ep);
}

void dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number, uint32_t update)
{
	if (DOFI_UNLIKELY(err || wr->op > DOFI_OP_RECV))
		done_otherwise(wr, err, length, number, update);
	else if (wr->op == DOFI_OP_RECV)
		receive_done(wr, length, update);
	else
		request_done(wr, length);
}

/* The queue gave no entry but ret: how many failures were taken. */
DOFI_COLD static int reap_error(struct dofi_ia *ia, struct fid_cq *cq, ssize_t ret)
{
	struct fi_cq_err_entry err = {0};

	if (ret != -FI_EAVAIL) {
		if (ret && ret != -FI_EINTR)
			DOFI_LOG_E("%s: the fabric's completion queue can't be read, operations "
				   "stay open: %s",
				   ia->name, fi_strerror((int)-ret));
		return 0;
	}
	if (fi_cq_readerr(cq, &err, 0) != 1)
		return 0;
	/* shm of libfabric 1.17 tells the negative number */
	err.err = err.err ? abs(err.err) : FI_EOTHER;
	ia->trans->failed(ia, &err);
	return 1;
}

DOFI_INLINE int reap_queue(struct dofi_ia *ia, struct fid_cq *cq, uint32_t want)
{
	struct fi_cq_tagged_entry entries[DOFI_CQ_BATCH]; /* room for those of any format */
	ssize_t n = fi_cq_read(cq, entries, want);

	if (DOFI_LIKELY(n <= 0))
		return n == -FI_EAGAIN ? 0 : reap_error(ia, cq, n);
	ia->completed(ia, entries, n);
	return (int)n;
}

DOFI_SLOW_PATH static int reap_others(struct dofi_ia *ia, uint32_t ncqs)
{
	int n = 0;

	for (uint32_t i = 1; i < ncqs; i++)
		n += reap_queue(ia, ia->cqs.list[i].fid, DOFI_CQ_BATCH);
	return n;
}

/*
 * A device is asked for one entry after the other, and whoever wants more than there are asks once
 * in vain. So a call that polls for an event asks a queue that was found empty for one; if that is
 * another's, or there was more than one before, for a batch.
 */
DOFI_INLINE int reap_first(struct dofi_ia *ia)
{
	const struct dofi_taker *taker = &ia->engine.taker;
	uint32_t want = taker->evd ? ia->cq_want : DOFI_CQ_BATCH;
	int n = reap_queue(ia, ia->cq, want), all = n;

	if (DOFI_UNLIKELY(n == 1 && want == 1 && taker->evd)) {
		want = DOFI_CQ_BATCH;
		n = reap_queue(ia, ia->cq, want);
		all += n;
	}
	ia->cq_want = n < (int)want ? ia->cq_few : DOFI_CQ_BATCH;
	return all;
}

int dofi_reap(struct dofi_ia *ia)
{
	uint32_t ncqs = atomic_load_explicit(&ia->cqs.n, memory_order_relaxed);
	int n;

	dofi_assert_held(&ia->engine.lock);
	n = reap_first(ia);
	return DOFI_LIKELY(ncqs == 1) ? n : n + reap_others(ia, ncqs);
}
