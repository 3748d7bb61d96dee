/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The hot path in: reads the completion queues, and ends requests. */
#include "dto/reap.h"

#include "base/log.h"
#include "dto/bounce.h"
#include "dto/control.h"
#include "dto/failure.h"
#include "dto/issue.h"
#include "dto/orphan.h"
#include "dto/parts.h"
#include "dto/receive.h"
#include "dto/release.h"
#include "dto/remote_context.h"
#include "dto/srq_receive.h"
#include "dto/ud.h"
#include "dto/ud_pool.h"
#include "object/ctxtab.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/transport.h"
#include "object/upcalls.h"
#include "progress/cq_ready.h"

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>

DOFI_SLOW_PATH static void peeked(struct dofi_ep *ep, int err)
{
	uint32_t context = ep->aux_ctx;

	ep->peeking = false;
	if (err && !dofi_fail_is_back(ep, err))
		dofi_fail_path(ep, err);
	if (err || !context || ep->peek_outdated || dofi_remote_context_read(ep))
		return;
	dofi_ep_go_on(ep);
	dofi_remote_context_served(ep, context);
}

DOFI_COLD static void request_failed(struct dofi_ep *ep, struct dofi_wr *wr, int err)
{
	if (wr->op == DOFI_OP_WRITE_IMM)
		wr->rdma.written = true; /* the fabric has it no longer */
	if (ep->ud)
		dofi_ud_send_failed(ep, wr, err);
	else
		dofi_fail(ep, wr, err);
}

static void finished_request(struct dofi_ep *ep, struct dofi_wr *wr, int err)
{
	ep->reads -= wr->op == DOFI_OP_READ;
	ep->writes -= wr->op == DOFI_OP_WRITE;
	if (DOFI_UNLIKELY(err))
		request_failed(ep, wr, err);
	else if (!dofi_op_needs_ctrl(wr->op) || dofi_ctrl_completed(wr))
		wr->state = DOFI_WR_DONE;
	dofi_release(ep, &ep->req, ep->req_evd);
}

/*
 * Receives that belong to no EP. Spares, and those for credit updates when the endpoint closes,
 * need no action.
 */
DOFI_SLOW_PATH static void other_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number,
				      uint32_t update)
{
	if (wr->op == DOFI_OP_SRQ_RECV)
		dofi_srq_done(wr, err, length, number, update);
	else if (wr->op == DOFI_OP_ORPHAN)
		dofi_orphans_done(wr);
	else if (wr->op == DOFI_OP_DRAIN)
		wr->ia->up->drain_done(wr);
	else if (wr->op == DOFI_OP_UD_RECV)
		dofi_ud_pool_done(wr->ia, wr, err, length, update);
}

/*
 * A request of the EP that failed or is not plain, or an operation of the EP outside of its rings.
 */
DOFI_SLOW_PATH static void finished(struct dofi_ep *ep, struct dofi_wr *wr, int err)
{
	if (wr->op == DOFI_OP_PART) {
		wr = dofi_parts_done(ep, wr, err);
		if (!wr)
			return; /* otherwise continues with the request that it completes */
	} else if (wr->op == DOFI_OP_PEEK) {
		peeked(ep, err);
		return;
	}
	if (wr->split)
		dofi_bounce_give(wr, 0);
	finished_request(ep, wr, err);
}

/* The argument is in the same register as in dofi_reap_done, so the call is a jump. */
DOFI_SLOW_PATH static void request_done(struct dofi_wr *wr)
{
	struct dofi_ep *ep = wr->ep;

	DOFI_PROBE4(completion, ep, wr->op, 0, wr->length);
	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_lock(&ep->lock);
	if (DOFI_LIKELY(dofi_wr_is_plain(wr, DOFI_WR_ISSUED))) {
		if (wr->op == DOFI_OP_READ)
			ep->reads--;
		else if (wr->op == DOFI_OP_WRITE)
			ep->writes--;
		wr->state = DOFI_WR_DONE;
		dofi_release_polled(ep, &ep->req, ep->req_evd, wr, wr->op);
	} else {
		finished(ep, wr, 0);
	}
	dofi_ep_go_on(ep);
	dofi_unlock(&ep->lock);
}

DOFI_SLOW_PATH static void done_otherwise(struct dofi_wr *wr, int err, uint64_t length,
					  uint32_t number, uint32_t update)
{
	struct dofi_ep *ep = wr->ep;

	if (!dofi_op_is_of_ep(wr->op)) {
		other_done(wr, err, length, number, update);
		return;
	}
	DOFI_PROBE4(completion, ep, wr->op, err, length);
	dofi_assert_held(&ep->obj.ia->engine.lock);
	dofi_lock(&ep->lock);
	if (wr->op == DOFI_OP_RECV)
		dofi_receive_done_slow(ep, wr, err, length, update);
	else
		finished(ep, wr, err);
	dofi_ep_go_on(ep);
	dofi_unlock(&ep->lock);
}

void dofi_reap_done(struct dofi_wr *wr, int err, uint64_t length, uint32_t number, uint32_t update)
{
	if (DOFI_LIKELY(!err) && wr->op == DOFI_OP_RECV)
		dofi_receive_done(wr, length, update);
	else if (DOFI_LIKELY(!err && (wr->op == DOFI_OP_SEND || wr->op == DOFI_OP_WRITE ||
				      wr->op == DOFI_OP_READ)))
		request_done(wr);
	else
		done_otherwise(wr, err, length, number, update);
}

/* A queue that was overrun fails in each read, so the failure is reported once. */
DOFI_COLD static void report_unreadable(struct dofi_ia *ia, ssize_t ret)
{
	if (ia->cqs.told_error != ret)
		DOFI_LOG_E("%s: the fabric's completion queue can't be read, operations stay open: "
			   "%s",
			   ia->name, fi_strerror((int)-ret));
	ia->cqs.told_error = (int)ret;
}

/* fi_cq_read returned ret instead of entries. Returns the number of failures that were handled. */
DOFI_COLD static int reap_error(struct dofi_ia *ia, struct fid_cq *cq, ssize_t ret)
{
	struct fi_cq_err_entry err = {0};

	if (ret != -FI_EAVAIL) {
		if (ret && ret != -FI_EINTR)
			report_unreadable(ia, ret);
		return 0;
	}
	if (fi_cq_readerr(cq, &err, 0) != 1)
		return 0;
	/* shm of libfabric 1.17 reports a negative number */
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

/*
 * libfabric asks a device for one entry after the other, and a read of more entries than there are
 * costs one query in vain. So a call that polls for an event reads one entry from a queue that was
 * empty before. If that entry is not for this call, or if there was more than one entry before, it
 * reads a batch.
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

/* A queue that returned a full batch may have more entries, which its descriptor need not show. */
static int reap_ready(struct dofi_ia *ia, uint32_t ncqs)
{
	int n, all = 0;

	dofi_cq_ready_look(&ia->cqs);
	for (uint32_t i = 1; i < ncqs; i++) {
		if (!ia->cqs.list[i].due)
			continue;
		n = reap_queue(ia, ia->cqs.list[i].fid, DOFI_CQ_BATCH);
		ia->cqs.list[i].due = n == DOFI_CQ_BATCH;
		all += n;
	}
	return all;
}

/* With many connections only few belong to the first queue, and its list is slow to poll. */
static int reap_shared(struct dofi_ia *ia, uint32_t ncqs)
{
	struct dofi_cqs *cqs = &ia->cqs;
	int n = 0;

	if (!ia->engine.taker.evd || dofi_cq_ready_first(cqs)) {
		n = reap_first(ia);
		if (n)
			dofi_cq_ready_first_has(cqs);
	}
	if (ncqs > 2)
		return n + reap_ready(ia, ncqs);
	atomic_store_explicit(&cqs->list[1].armed, false, memory_order_relaxed);
	return n + reap_queue(ia, cqs->list[1].fid, DOFI_CQ_BATCH);
}

DOFI_SLOW_PATH static int reap_many(struct dofi_ia *ia, uint32_t ncqs)
{
	int n;

	if (ia->cqs.shared)
		return reap_shared(ia, ncqs);
	n = reap_first(ia);
	for (uint32_t i = 1; i < ncqs; i++)
		n += reap_queue(ia, ia->cqs.list[i].fid, DOFI_CQ_BATCH);
	return n;
}

int dofi_reap(struct dofi_ia *ia)
{
	uint32_t ncqs = atomic_load_explicit(&ia->cqs.n, memory_order_relaxed);

	dofi_assert_held(&ia->engine.lock);
	return DOFI_LIKELY(ncqs == 1) ? reap_first(ia) : reap_many(ia, ncqs);
}
