/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The way of an event: to the call that polls for it, or to the ring of the EVD. And how the
 * completion queue is read.
 */
#include "unit.h"

#include "../../../prov/ofi/progress/cno.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/progress/evd.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/object/upcalls.h"
#include "../../../prov/ofi/dto/control.h"
#include "../../../prov/ofi/dto/reap.h"
#include "../../../prov/ofi/progress/cq_ready.h"

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <unistd.h>

#define EVENTS 4u

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_evd evd, other;
static struct dofi_event ring[EVENTS];
static struct dofi_wr receives[EVENTS];
static DAT_EVENT event;

static void setup(void)
{
	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ep.lock);
	dofi_lock_init(&evd.lock);
	evd.obj.ia = ep.obj.ia = &ia;
	evd.ring = ring;
	evd.qlen = EVENTS;
	ia.trans = ep.trans = &dofi_trans_rdm;
	ep.state = DAT_EP_STATE_CONNECTED;
	ep.recv_evd = ep.req_evd = &evd;
	ep.recv = (struct dofi_ring){.base = (char *)receives,
				     .stride = sizeof(receives[0]),
				     .mask = EVENTS - 1};
	for (uint32_t i = 0; i < EVENTS; i++)
		receives[i] = (struct dofi_wr){.ep = &ep,
					       .op = DOFI_OP_RECV,
					       .state = DOFI_WR_ISSUED,
					       .niov = 1,
					       .cookie = 100 + i};
	ep.recv.issue = ep.recv.tail = EVENTS;
	dofi_lock(&ia.engine.lock);
	ia.engine.taker = (struct dofi_taker){&evd, &event};
}

static void teardown(void)
{
	dofi_unlock(&ia.engine.lock);
}

static void complete(uint32_t i)
{
	dofi_reap_done(&receives[i], 0, 10 + i, 0, 0);
}

static void expect_in_ring(uint32_t first, uint32_t n)
{
	ck_assert_uint_eq(dofi_evd_queued(&evd), n);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(dofi_evd_slot(&evd, evd.head + i)->dto.cookie, 100 + first + i);
}

START_TEST(first_event_to_the_poller_the_next_to_the_ring)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	complete(0);
	ck_assert_ptr_null(ia.engine.taker.evd);
	ck_assert_int_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
	ck_assert_ptr_eq(event.evd_handle, &evd);
	ck_assert_ptr_eq(dto->ep_handle, &ep);
	ck_assert_uint_eq(dto->user_cookie.as_64, 100);
	ck_assert_uint_eq(dto->transfered_length, 10);
	ck_assert_int_eq(dto->status, DAT_DTO_SUCCESS);
	expect_in_ring(0, 0);
	complete(1);
	complete(2);
	expect_in_ring(1, 2);
	ck_assert_uint_eq(atomic_load(&evd.counters[DOFI_CNT_EVD_DTO_CALLBACK]), 3);
}
END_TEST

START_TEST(events_come_in_the_order_of_the_posts)
{
	complete(1);
	ck_assert_ptr_eq(ia.engine.taker.evd, &evd);
	expect_in_ring(0, 0);
	complete(0);
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 100);
	expect_in_ring(1, 1);
}
END_TEST

START_TEST(events_come_behind_those_in_the_ring)
{
	ck_assert_int_eq(dofi_evd_push(&evd,
				       &(struct dofi_event){.number = DAT_DTO_COMPLETION_EVENT,
							    .dto.cookie = 100},
				       true),
			 0);
	complete(0);
	ck_assert_ptr_eq(ia.engine.taker.evd, &evd);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 2);
}
END_TEST

START_TEST(events_of_another_evd_go_to_its_ring)
{
	ia.engine.taker.evd = &other;
	complete(0);
	ck_assert_ptr_eq(ia.engine.taker.evd, &other);
	expect_in_ring(0, 1);
}
END_TEST

/* If a thread waits or a CNO is attached, the event must be in the ring. */
START_TEST(a_waiting_thread_or_cno_gets_the_event)
{
	evd.waiter = true;
	evd.threshold = EVENTS + 1;
	complete(0);
	expect_in_ring(0, 1);
	evd.waiter = false;
	evd.head = evd.tail;
	dofi_evd_publish_count(&evd);
	evd.cno = (struct dofi_cno *)&other; /* never dereferenced: */
	evd.disabled = true;
	complete(1);
	ck_assert_ptr_eq(ia.engine.taker.evd, &evd);
	expect_in_ring(1, 1);
}
END_TEST

/* --- requests, and operations that are none of an EP --- */

static union {
	struct dofi_wr wr;
	char room[128];
} requests[EVENTS];
static unsigned int drains, sends, drained;

static ssize_t take_send(struct dofi_ep *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert_int_eq(wr->op, DOFI_OP_SEND);
	sends++;
	return 0;
}

static void drain_done(struct dofi_wr *wr)
{
	ck_assert_ptr_eq(wr->ia, &ia);
	drains++;
}

static void count_drained(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	drained++;
}

static bool is_not_over(const struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	return false;
}

static const struct dofi_trans_ops fabric = {.send = take_send, .has_eq = true};
static const struct dofi_upcalls upcalls = {.drain_done = drain_done,
					    .drained = count_drained,
					    .is_over = is_not_over};

static void setup_requests(void)
{
	setup();
	dofi_lock_init(&ia.engine.stalled_lock);
	dofi_list_init(&ia.engine.stalled);
	ia.trans = ep.trans = &fabric;
	ia.up = &upcalls;
	ia.engine.taker.evd = NULL;
	ep.path_up = true;
	ep.req = (struct dofi_ring){.base = (char *)requests,
				    .stride = sizeof(requests[0]),
				    .mask = EVENTS - 1,
				    .fabric_iov = 1};
}

static struct dofi_wr *issued(enum dofi_op op, uint8_t flags)
{
	struct dofi_wr *wr = &requests[ep.req.tail].wr;

	*wr = (struct dofi_wr){.ep = &ep,
			       .op = (uint8_t)op,
			       .state = DOFI_WR_ISSUED,
			       .flags = flags,
			       .niov = 1,
			       .length = 8,
			       .cookie = 100 + ep.req.tail};
	ep.req.issue = ++ep.req.tail;
	return wr;
}

static const enum dofi_op plain_ops[] = {DOFI_OP_SEND, DOFI_OP_WRITE, DOFI_OP_READ};

/* What is under way, for the limit of reads, fences and the order of writes and messages. */
START_TEST(a_completion_ends_its_count)
{
	enum dofi_op op = plain_ops[_i / 3];
	struct dofi_wr *wr = issued(op, _i % 3 == 1 ? DAT_COMPLETION_BARRIER_FENCE_FLAG : 0);
	int err = _i % 3 == 2 ? FI_EIO : 0;

	ep.reads = ep.writes = 2;
	dofi_reap_done(wr, err, 0, 0, 0);
	ck_assert_uint_eq(ep.reads, op == DOFI_OP_READ ? 1 : 2);
	ck_assert_uint_eq(ep.writes, op == DOFI_OP_WRITE ? 1 : 2);
	expect_in_ring(0, 1);
	ck_assert_uint_eq(ring[0].op, op);
	ck_assert((ring[0].status != DAT_DTO_SUCCESS) == (err != 0));
	ck_assert(ep.faulty == (err != 0));
	ck_assert_uint_eq(ep.req.head, 1);
}
END_TEST

/* The call that polls for the event gets it without the ring of the EVD. */
START_TEST(the_event_of_a_plain_request_goes_to_the_poller)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;
	enum dofi_op op = plain_ops[_i / 2];
	bool plain = _i % 2 == 0;
	struct dofi_wr *wr = issued(op, plain ? 0 : DAT_COMPLETION_BARRIER_FENCE_FLAG);

	ia.engine.taker = (struct dofi_taker){&evd, &event};
	dofi_reap_done(wr, 0, 0, 0, 0);
	ck_assert_uint_eq(ep.req.head, 1);
	expect_in_ring(0, plain ? 0 : 1);
	ck_assert_ptr_eq(ia.engine.taker.evd, plain ? NULL : &evd);
	if (!plain)
		return;
	ck_assert_int_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
	ck_assert_ptr_eq(event.evd_handle, &evd);
	ck_assert_ptr_eq(dto->ep_handle, &ep);
	ck_assert_uint_eq(dto->user_cookie.as_64, 100);
	ck_assert_uint_eq(dto->transfered_length, 8);
	ck_assert_int_eq(dto->status, DAT_DTO_SUCCESS);
	ck_assert_int_eq(dto->operation, op);
	ck_assert_uint_eq(ep.counters[DOFI_CNT_EP_COMPLETED], 1);
	ck_assert_uint_eq(evd.counters[DOFI_CNT_EVD_DTO_CALLBACK], 1);
}
END_TEST

/* _i: which of them has flags, and so is not plain */
START_TEST(requests_end_in_the_order_of_their_posts)
{
	for (int i = 0; i < 3; i++)
		issued(DOFI_OP_SEND, i == _i ? DAT_COMPLETION_BARRIER_FENCE_FLAG : 0);
	dofi_reap_done(&requests[1].wr, 0, 0, 0, 0);
	dofi_reap_done(&requests[2].wr, 0, 0, 0, 0);
	expect_in_ring(0, 0);
	dofi_reap_done(&requests[0].wr, 0, 0, 0, 0);
	expect_in_ring(0, 3);
}
END_TEST

START_TEST(a_completion_lets_waiting_requests_start)
{
	struct dofi_wr *wr = issued(_i ? DOFI_OP_WRITE_IMM : DOFI_OP_WRITE, 0);

	ep.writes = 1;
	ia.order = DOFI_HOLD;
	wr->rdma.step = 10;
	requests[1].wr = (struct dofi_wr){.ep = &ep, .op = DOFI_OP_SEND, .niov = 1};
	ep.req.tail = 2;
	if (_i)
		ep.writes = 0;
	dofi_reap_done(wr, 0, 0, 0, 0);
	ck_assert_uint_eq(sends, 1);
	ck_assert_uint_eq(drained, 0);
	ep.state = DAT_EP_STATE_DISCONNECT_PENDING;
	dofi_reap_done(&requests[1].wr, 0, 0, 0, 0);
	ck_assert_uint_eq(drained, 1);
}
END_TEST

/* The end of the connection waits for what is still to come, and keeps its memory. */
START_TEST(a_write_that_came_back_is_not_outstanding)
{
	struct dofi_wr *wr = issued(DOFI_OP_WRITE_IMM, 0);

	wr->rdma.step = 3;
	ck_assert(dofi_ctrl_outstanding(wr));
	dofi_reap_done(wr, _i ? FI_ECANCELED : FI_EACCES, 0, 0, 0);
	ck_assert_int_eq(wr->state, _i ? DOFI_WR_BACK : DOFI_WR_DONE);
	ck_assert(!dofi_ctrl_outstanding(wr));
}
END_TEST

/* A datagram that is lost counts as sent, and the EP goes on. */
START_TEST(a_lost_datagram_breaks_nothing)
{
	struct dofi_wr *wr = issued(DOFI_OP_SEND_UD, 0);

	ep.ud = (struct dofi_ud *)&other; /* never dereferenced */
	dofi_reap_done(wr, _i ? FI_EIO : FI_EHOSTUNREACH, 0, 0, 0);
	expect_in_ring(0, 1);
	ck_assert((ring[0].status == DAT_DTO_SUCCESS) == !_i);
	ck_assert_uint_eq(ep.counters[DOFI_CNT_EP_UD_LOST], !_i);
	ck_assert(!ep.faulty);
}
END_TEST

START_TEST(operations_of_no_EP_have_no_event)
{
	struct dofi_wr drain = {.ia = &ia, .op = DOFI_OP_DRAIN},
		       spare = {.ia = &ia, .op = DOFI_OP_SPARE},
		       ctrl = {.ia = &ia, .op = DOFI_OP_CTRL_RECV};

	dofi_reap_done(&drain, _i ? FI_ECANCELED : 0, 5, 0, 0);
	ck_assert_uint_eq(drains, 1);
	dofi_reap_done(&spare, _i ? FI_ECANCELED : 0, 5, 0, 0);
	dofi_reap_done(&ctrl, _i ? FI_ECANCELED : 0, 5, 0, 0);
	ck_assert_uint_eq(drains, 1);
	expect_in_ring(0, 0);
}
END_TEST

/* --- the number of entries per read --- */

static struct {
	size_t wanted; /* entries asked for by the latest read */
	ssize_t answer;
	ssize_t then; /* the result of reads after the first one */
	ssize_t completed;
	bool polls;
	bool of_another; /* the first event is of another EVD */
	unsigned int looks;
} queue;

static ssize_t look(struct fid_cq *cq, void *entries, size_t count)
{
	(void)cq;
	memset(entries, 0, count * sizeof(struct fi_cq_data_entry));
	queue.wanted = count;
	return queue.looks++ ? queue.then : queue.answer;
}

static struct {
	int err; /* of the failed operation */
	bool is_there;
	int failed; /* what the transport was told */
	unsigned int n;
} failure;

static void count_failed(struct dofi_ia *of, struct fi_cq_err_entry *entry)
{
	ck_assert_ptr_eq(of, &ia);
	failure.failed = entry->err;
	failure.n++;
}

static ssize_t read_failure(struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
	(void)cq;
	ck_assert_uint_eq(flags, 0);
	ck_assert(!entry->op_context && !entry->err_data && !entry->err_data_size);
	if (!failure.is_there)
		return -FI_EAGAIN;
	entry->err = failure.err;
	return 1;
}

static ssize_t no_failure(struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
	(void)cq;
	(void)entry;
	(void)flags;
	return -FI_EAGAIN;
}

static void count_completed(struct dofi_ia *of, const void *entries, ssize_t n)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_nonnull(entries);
	ck_assert_int_gt(n, 0);
	queue.completed += n;
	if (!queue.of_another || queue.looks > 1)
		ia.engine.taker.evd = NULL;
}

static struct fi_ops_cq look_ops = {.size = sizeof(look_ops), .read = look, .readerr = no_failure};
static struct fid_cq cq = {.ops = &look_ops};

static void open_queue(uint32_t few)
{
	ia.cq = &cq;
	ia.completed = count_completed;
	ia.cq_want = ia.cq_few = few;
	atomic_store(&ia.cqs.n, 1);
	queue.polls = true;
	queue.then = -FI_EAGAIN;
}

/* Sets the result of the queue, and expects the result of dofi_reap and the number asked for. */
static void expect_look(ssize_t answer, int n, size_t wanted)
{
	ssize_t before = queue.completed;

	if (queue.polls)
		ia.engine.taker.evd = &evd;
	queue.answer = answer;
	queue.looks = 0;
	ck_assert_int_eq(dofi_reap(&ia), n);
	ck_assert_uint_eq(queue.wanted, wanted);
	ck_assert_int_eq(queue.completed - before, n);
}

START_TEST(entries_are_read_one_by_one_while_there_is_one)
{
	open_queue(1);
	expect_look(-FI_EAGAIN, 0, 1);
	expect_look(-FI_EAGAIN, 0, 1);
	expect_look(1, 1, 1);
	expect_look(-FI_EAGAIN, 0, DOFI_CQ_BATCH);
	expect_look(-FI_EAVAIL, 0, 1);
	expect_look(1, 1, 1);
}
END_TEST

START_TEST(entries_are_read_in_batches_if_there_are_more)
{
	open_queue(1);
	expect_look(1, 1, 1);
	expect_look(DOFI_CQ_BATCH, DOFI_CQ_BATCH, DOFI_CQ_BATCH);
	expect_look(DOFI_CQ_BATCH, DOFI_CQ_BATCH, DOFI_CQ_BATCH);
	expect_look(3, 3, DOFI_CQ_BATCH);
	expect_look(-FI_EAGAIN, 0, 1);
}
END_TEST

/* For example, a query of an EP must see all completions. */
START_TEST(callers_without_an_evd_read_in_batches)
{
	open_queue(1);
	queue.polls = false;
	ia.engine.taker.evd = NULL;
	expect_look(-FI_EAGAIN, 0, DOFI_CQ_BATCH);
	expect_look(1, 1, DOFI_CQ_BATCH);
	queue.polls = true;
	expect_look(1, 1, 1);
}
END_TEST

/* The next entry may belong to the polling call. */
START_TEST(reading_continues_behind_an_event_of_another_evd)
{
	open_queue(1);
	queue.of_another = true;
	queue.then = 2;
	expect_look(1, 3, DOFI_CQ_BATCH);
	ck_assert_uint_eq(queue.looks, 2);
	queue.then = DOFI_CQ_BATCH;
	expect_look(1, 1 + DOFI_CQ_BATCH, DOFI_CQ_BATCH);
	expect_look(DOFI_CQ_BATCH, DOFI_CQ_BATCH, DOFI_CQ_BATCH);
	ck_assert_uint_eq(queue.looks, 1);
	expect_look(-FI_EAGAIN, 0, DOFI_CQ_BATCH);
	ck_assert_uint_eq(queue.looks, 1);
}
END_TEST

START_TEST(other_fabrics_are_always_read_in_batches)
{
	open_queue(DOFI_CQ_BATCH);
	expect_look(-FI_EAGAIN, 0, DOFI_CQ_BATCH);
	expect_look(1, 1, DOFI_CQ_BATCH);
	expect_look(DOFI_CQ_BATCH, DOFI_CQ_BATCH, DOFI_CQ_BATCH);
	expect_look(0, 0, DOFI_CQ_BATCH);
}
END_TEST

/* --- failures --- */

static const struct {
	int err, told;
} failures[] = {
	{FI_EIO, FI_EIO},
	{-FI_EIO, FI_EIO}, /* shm of libfabric 1.17 */
	{0, FI_EOTHER},
};

static void open_failing_queue(void)
{
	static const struct dofi_trans_ops trans = {.failed = count_failed};

	open_queue(DOFI_CQ_BATCH);
	look_ops.readerr = read_failure;
	ia.trans = &trans;
}

/* Lets the queue answer each read by ret. Returns the number of failures that were handled. */
static int reap_failing(ssize_t ret)
{
	queue.answer = queue.then = ret;
	return dofi_reap(&ia);
}

START_TEST(a_failure_has_a_positive_number)
{
	open_failing_queue();
	failure.is_there = true;
	failure.err = failures[_i].err;
	ck_assert_int_eq(reap_failing(-FI_EAVAIL), 1);
	ck_assert_uint_eq(failure.n, 1);
	ck_assert_int_eq(failure.failed, failures[_i].told);
}
END_TEST

/* Another thread may have read it. */
START_TEST(a_failure_that_is_gone)
{
	open_failing_queue();
	ck_assert_int_eq(reap_failing(-FI_EAVAIL), 0);
	ck_assert_uint_eq(failure.n, 0);
}
END_TEST

START_TEST(a_queue_that_cannot_be_read_is_reported)
{
	int fd = t_capture(STDERR_FILENO);
	size_t length;

	open_failing_queue();
	ck_assert_int_eq(reap_failing(-FI_EINTR), 0);
	ck_assert_int_eq(reap_failing(0), 0);
	ck_assert_str_eq(t_captured(fd), "");
	ck_assert_int_eq(reap_failing(-FI_EIO), 0);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "completion queue can't be read"));
	length = strlen(t_captured(fd));
	ck_assert_int_eq(reap_failing(-FI_EIO), 0); /* it keeps failing */
	ck_assert_uint_eq(strlen(t_captured(fd)), length);
	ck_assert_int_eq(reap_failing(-FI_EOVERRUN), 0);
	ck_assert_uint_gt(strlen(t_captured(fd)), length);
	ck_assert_uint_eq(failure.n, 0);
}
END_TEST

/* --- several queues --- */

static unsigned int reads[3]; /* of each queue */
static ssize_t has[3];        /* what a queue gives to each read */
static struct fid_cq several[3];

static ssize_t read_one(struct fid_cq *of, void *entries, size_t count)
{
	size_t i = (size_t)(of - several);

	memset(entries, 0, count * sizeof(struct fi_cq_data_entry));
	reads[i]++;
	return has[i] ? has[i] : -FI_EAGAIN;
}

static struct fi_ops_cq each_ops = {.size = sizeof(each_ops),
				    .read = read_one,
				    .readerr = no_failure};

static void open_several(uint32_t n, bool shared)
{
	open_queue(DOFI_CQ_BATCH);
	for (uint32_t i = 0; i < n; i++) {
		several[i].ops = &each_ops;
		ia.cqs.list[i].fid = &several[i];
	}
	ia.cq = &several[0];
	if (shared)
		ck_assert_int_eq(dofi_cq_ready_open(&ia.cqs), 0);
	atomic_store(&ia.cqs.n, n);
}

/* Reaps so often, as a poll for an EVD or as another round. */
static int reap_times(unsigned int times, bool polls)
{
	int n = 0;

	memset(reads, 0, sizeof(reads));
	for (; times; times--) {
		ia.engine.taker.evd = polls ? &evd : NULL;
		n += dofi_reap(&ia);
	}
	ia.engine.taker.evd = NULL;
	return n;
}

START_TEST(all_queues_of_a_device_are_read)
{
	open_several(3, false);
	ck_assert_int_eq(reap_times(4, true), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(reads[i], 4);
	has[2] = 3;
	ck_assert_int_eq(reap_times(1, true), 3);
}
END_TEST

START_TEST(polls_read_the_list_less_often_than_the_shared_queue)
{
	open_several(2, true);
	ck_assert_int_eq(reap_times(8, true), 0);
	ck_assert_uint_eq(reads[0], 2);
	ck_assert_uint_eq(reads[1], 8);
	/* A queue that was read has to be armed before the next sleep. */
	atomic_store(&ia.cqs.list[1].armed, true);
	ck_assert_int_eq(reap_times(1, true), 0);
	ck_assert(!atomic_load(&ia.cqs.list[1].armed));
	/* Other callers need what is complete by now. */
	ck_assert_int_eq(reap_times(8, false), 0);
	ck_assert_uint_eq(reads[0], 8);
	ck_assert_uint_eq(reads[1], 8);
	has[0] = 1;
	has[1] = 2;
	ck_assert_int_eq(reap_times(1, false), 3);
	has[0] = has[1] = 0;
	ck_assert_int_eq(reap_times(8, true), 0);
	ck_assert_uint_eq(reads[0], 8);
}
END_TEST

START_TEST(of_more_shared_queues_those_that_are_due_are_read)
{
	open_several(3, true);
	ck_assert_int_eq(reap_times(4, false), 0);
	ck_assert_uint_eq(reads[1] + reads[2], 0);
	has[2] = DOFI_CQ_BATCH;
	ia.cqs.list[2].due = true;
	/* A full batch may have left something behind. */
	ck_assert_int_eq(reap_times(4, false), 4 * DOFI_CQ_BATCH);
	ck_assert_uint_eq(reads[2], 4);
	has[2] = 1;
	ck_assert_int_eq(reap_times(4, false), 1);
	ck_assert_uint_eq(reads[2], 1);
	ck_assert_uint_eq(reads[1], 0);
	ia.cqs.list[1].due = true;
	has[1] = 2;
	ck_assert_int_eq(reap_times(4, false), 2);
	ck_assert_uint_eq(reads[1], 1);
	ck_assert_uint_eq(reads[2], 0);
}
END_TEST

/* The driver found completions when it wanted to sleep. */
START_TEST(a_shared_queue_that_keeps_the_driver_awake_is_read)
{
	open_several(3, true);
	atomic_store(&ia.cqs.awake, 2);
	has[2] = 1;
	ck_assert_int_eq(reap_times(1, false), 1);
	ck_assert_uint_eq(reads[1], 0);
	ck_assert_uint_eq(reads[2], 1);
	ck_assert_int_eq(reap_times(1, false), 0);
	ck_assert_uint_eq(reads[2], 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reap");
	TCase *tc = tcase_create("taker"), *looks = tcase_create("looks");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, first_event_to_the_poller_the_next_to_the_ring);
	tcase_add_test(tc, events_come_in_the_order_of_the_posts);
	tcase_add_test(tc, events_come_behind_those_in_the_ring);
	tcase_add_test(tc, events_of_another_evd_go_to_its_ring);
	tcase_add_test(tc, a_waiting_thread_or_cno_gets_the_event);
	suite_add_tcase(suite, tc);
	tc = tcase_create("requests");
	tcase_add_checked_fixture(tc, setup_requests, teardown);
	tcase_add_loop_test(tc, a_completion_ends_its_count, 0, 9);
	tcase_add_loop_test(tc, the_event_of_a_plain_request_goes_to_the_poller, 0, 6);
	tcase_add_loop_test(tc, requests_end_in_the_order_of_their_posts, 0, 4);
	tcase_add_loop_test(tc, a_completion_lets_waiting_requests_start, 0, 2);
	tcase_add_loop_test(tc, a_write_that_came_back_is_not_outstanding, 0, 2);
	tcase_add_loop_test(tc, a_lost_datagram_breaks_nothing, 0, 2);
	tcase_add_loop_test(tc, operations_of_no_EP_have_no_event, 0, 2);
	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(looks, setup, teardown);
	tcase_add_test(looks, entries_are_read_one_by_one_while_there_is_one);
	tcase_add_test(looks, entries_are_read_in_batches_if_there_are_more);
	tcase_add_test(looks, callers_without_an_evd_read_in_batches);
	tcase_add_test(looks, reading_continues_behind_an_event_of_another_evd);
	tcase_add_test(looks, other_fabrics_are_always_read_in_batches);
	tcase_add_loop_test(looks, a_failure_has_a_positive_number, 0, 3);
	tcase_add_test(looks, a_failure_that_is_gone);
	tcase_add_test(looks, a_queue_that_cannot_be_read_is_reported);
	tcase_add_test(looks, all_queues_of_a_device_are_read);
	tcase_add_test(looks, polls_read_the_list_less_often_than_the_shared_queue);
	tcase_add_test(looks, of_more_shared_queues_those_that_are_due_are_read);
	tcase_add_test(looks, a_shared_queue_that_keeps_the_driver_awake_is_read);
	suite_add_tcase(suite, looks);
	return t_run(suite);
}
