/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Posts: the fast path of plain requests, and that all other and wrong requests take the slow path.
 */
#include "unit.h"

#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/progress/evd.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/mem.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/fabric/select.h"
#include "../../../prov/ofi/object/ctxtab.h"
#include "../../../prov/ofi/fabric/traits.h"
#include "../../../prov/ofi/dto/issue.h"
#include "../../../prov/ofi/dto/post.h"
#include "../../../prov/ofi/dto/post_special.h"
#include "progress/work.h"

#include <rdma/fi_errno.h>
#include <string.h>

#define SLOTS    4u
#define SEGMENTS 2u
#define PLAIN    100u
#define LONGEST  200u
#define BASE     0x10000u
#define CONTEXT  0x50001u

static const enum dofi_op ops[] = {DOFI_OP_SEND, DOFI_OP_WRITE, DOFI_OP_READ, DOFI_OP_RECV};
#define N_OPS      ((int)(sizeof(ops) / sizeof(ops[0])))
#define N_REQUESTS (N_OPS - 1)

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_evd evd;
static struct dofi_event events[8];
static struct dofi_pz pz, foreign;
static struct dofi_lmr lmr;
static struct dofi_ctx_local local[2];
static struct dofi_ctx contexts[DOFI_RCACHE_SIZE];
static _Alignas(16) char slots[2][SLOTS][256];
static DAT_LMR_TRIPLET segments[SEGMENTS + 1];
static DAT_RMR_TRIPLET remote;

/* The operation that the fabric got, and its result. */
static struct {
	unsigned int calls;
	struct dofi_wr *wr;
	struct iovec iov[SEGMENTS];
	void *desc;
	uint16_t niov;
	ssize_t answer;
	bool at_once;
} fabric;

/* Nothing is left of the request that had the slot before. */
static void expect_fresh(const struct dofi_wr *wr)
{
	ck_assert_ptr_eq(wr->ep, &ep);
	ck_assert_int_eq(wr->status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(wr->split, 0);
	ck_assert_uint_eq(wr->nlast, 0);
	ck_assert_uint_eq(wr->length, dofi_wr_length(wr, wr->niov));
	if (wr->op == DOFI_OP_RECV) {
		ck_assert_uint_eq(wr->recv.ctrl, 0);
		ck_assert_ptr_eq(wr->recv.pz, &pz);
	} else if (wr->op != DOFI_OP_SEND) {
		ck_assert(wr->rdma.resolved && !wr->rdma.written);
		ck_assert_uint_eq(wr->rdma.step, 0);
		ck_assert_uint_eq(wr->rdma.given, 0);
	}
}

static ssize_t take(struct dofi_ep *from, struct dofi_wr *wr)
{
	const struct dofi_ring *ring = wr->op == DOFI_OP_RECV ? &ep.recv : &ep.req;

	ck_assert_ptr_eq(from, &ep);
	ck_assert_int_eq(wr->state, DOFI_WR_ISSUED);
	expect_fresh(wr);
	fabric.calls++;
	fabric.wr = wr;
	fabric.niov = wr->niov;
	memcpy(fabric.iov, wr->iov, wr->niov * sizeof(struct iovec));
	fabric.desc = *dofi_wr_desc(ring, wr);
	if (!fabric.answer && fabric.at_once)
		wr->state = DOFI_WR_DONE;
	return fabric.answer;
}

static ssize_t take_send(struct dofi_ep *from, struct dofi_wr *wr)
{
	ck_assert_int_eq(wr->op, DOFI_OP_SEND);
	return take(from, wr);
}

static ssize_t take_receive(struct dofi_ep *from, struct dofi_wr *wr)
{
	ck_assert_int_eq(wr->op, DOFI_OP_RECV);
	return take(from, wr);
}

static ssize_t take_read(struct dofi_ep *from, struct dofi_wr *wr)
{
	ck_assert_int_eq(wr->op, DOFI_OP_READ);
	return take(from, wr);
}

static ssize_t take_write(struct dofi_ep *from, struct dofi_wr *wr)
{
	ck_assert_int_eq(wr->op, DOFI_OP_WRITE);
	return take(from, wr);
}

/* --- completions in the fabric's queue --- */

static unsigned int looks, last_look, looks_until_room;

int __wrap_dofi_engine_catch_up(struct dofi_ia *of);

int __wrap_dofi_engine_catch_up(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert(dofi_trylock(&ep.lock));
	dofi_unlock(&ep.lock);
	if (++looks == looks_until_room) {
		ep.req.head++;
		ep.recv.head++;
	}
	return looks != last_look;
}

/* --- agents --- */

static unsigned int agents;

void __wrap_dofi_cno_run_due(struct dofi_ia *of);

void __wrap_dofi_cno_run_due(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert(dofi_trylock(&ep.lock));
	dofi_unlock(&ep.lock);
	agents++;
}

static const struct dofi_trans_ops trans = {.send = take_send,
					    .recv = take_receive,
					    .read = take_read,
					    .write = take_write,
					    .has_eq = true};

static struct dofi_ring ring_of(int i)
{
	return (struct dofi_ring){.base = slots[i][0],
				  .stride = sizeof(slots[i][0]),
				  .mask = SLOTS - 1,
				  .limit = SLOTS,
				  .max_iov = SEGMENTS,
				  .fabric_iov = SEGMENTS,
				  .desc_at = offsetof(struct dofi_wr, iov[SEGMENTS]),
				  .head = 9,
				  .issue = 9,
				  .tail = 9};
}

static void setup(void)
{
	struct dofi_lock *locks[] = {&ia.engine.lock, &ia.engine.stalled_lock, &ep.lock, &evd.lock};

	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
		dofi_lock_init(locks[i]);
	dofi_list_init(&ia.engine.stalled);
	dofi_work_init(&ia.engine);
	ia.trans = ep.trans = &trans;
	memset(slots, 0xa5, sizeof(slots)); /* of former requests */
	ia.limits.plain = ia.limits.plain_write = PLAIN;
	ia.limits.max_message = ia.limits.max_rdma = LONGEST;
	ia.ctxtab.local = local;
	local[1] = (struct dofi_ctx_local){.lmr = &lmr, .context = CONTEXT};
	lmr.pz = ep.pz = &pz;
	lmr.start = 0x770000;
	lmr.base = BASE;
	lmr.length = 4096;
	lmr.privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	lmr.desc = &lmr;
	evd.obj.ia = ep.obj.ia = &ia;
	evd.ring = events;
	evd.qlen = 8;
	atomic_store(&ep.obj.magic, DOFI_MAGIC | DAT_HANDLE_TYPE_EP);
	ep.state = DAT_EP_STATE_CONNECTED;
	ep.path_up = true;
	ep.read_limit = 1;
	ep.soft_mark = ep.hard_mark = UINT32_MAX;
	ep.req_evd = ep.recv_evd = &evd;
	ep.req = ring_of(0);
	ep.recv = ring_of(1);
	ep.rcache = contexts;
	ep.peer.ctxtab_entries = 8;
	contexts[3] = (struct dofi_ctx){.key = 77,
					.address = 0x4000,
					.base = 0x1000,
					.length = 4096,
					.context = 3,
					.privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG |
						      DAT_MEM_PRIV_REMOTE_WRITE_FLAG};
	ep.attr.max_request_iov = ep.attr.max_recv_iov = ep.attr.max_rdma_read_iov =
		ep.attr.max_rdma_write_iov = SEGMENTS;
	for (size_t i = 0; i <= SEGMENTS; i++)
		segments[i] = (DAT_LMR_TRIPLET){.virtual_address = BASE + 32 * i,
						.segment_length = 8,
						.lmr_context = CONTEXT};
	remote =
		(DAT_RMR_TRIPLET){.virtual_address = 0x1010, .segment_length = 8, .rmr_context = 3};
	last_look = 1;
}

static DAT_RETURN post(enum dofi_op op, DAT_COUNT n, DAT_COMPLETION_FLAGS flags)
{
	const DAT_DTO_COOKIE cookie = {.as_64 = 4711};

	switch (op) {
	case DOFI_OP_SEND:
		return dofi_ep_post_send(&ep, n, segments, cookie, flags);
	case DOFI_OP_WRITE:
		return dofi_ep_post_rdma_write(&ep, n, segments, cookie, &remote, flags);
	case DOFI_OP_READ:
		return dofi_ep_post_rdma_read(&ep, n, segments, cookie, &remote, flags);
	default:
		return dofi_ep_post_recv(&ep, n, segments, cookie, flags);
	}
}

static const struct dofi_ring *ring_for(enum dofi_op op)
{
	return op == DOFI_OP_RECV ? &ep.recv : &ep.req;
}

static uint64_t counted(unsigned int counter)
{
	return atomic_load(&ep.counters[counter]);
}

static void expect(enum dofi_op op, uint32_t given, uint32_t waiting)
{
	const struct dofi_ring *ring = ring_for(op);

	ck_assert_uint_eq(ring->issue - ring->head, given);
	ck_assert_uint_eq(ring->tail - ring->issue, waiting);
	ck_assert(dofi_trylock(&ep.lock));
	dofi_unlock(&ep.lock);
}

START_TEST(plain_request_starts_at_once)
{
	static const unsigned int counters[] = {[DOFI_OP_SEND] = DOFI_CNT_EP_POST_SEND,
						[DOFI_OP_WRITE] = DOFI_CNT_EP_POST_WRITE,
						[DOFI_OP_READ] = DOFI_CNT_EP_POST_READ,
						[DOFI_OP_RECV] = DOFI_CNT_EP_POST_RECV};
	enum dofi_op op = ops[_i];

	segments[0].virtual_address += 16;
	ck_assert_int_eq(post(op, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(op, 1, 0);
	ck_assert_uint_eq(fabric.calls, 1);
	ck_assert_ptr_eq(fabric.wr, dofi_ring_at(ring_for(op), ring_for(op)->head));
	ck_assert_ptr_eq(fabric.wr->ep, &ep);
	ck_assert_uint_eq(fabric.wr->cookie, 4711);
	ck_assert_uint_eq(fabric.niov, 1);
	ck_assert_uint_eq((uintptr_t)fabric.iov[0].iov_base, 0x770010);
	ck_assert_uint_eq(fabric.iov[0].iov_len, 8);
	ck_assert_ptr_eq(fabric.desc, &lmr);
	ck_assert_uint_eq(counted(counters[op]), 1);
	ck_assert_uint_eq(counted(counters[op] + 1), 8);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_HELD), 0);
	ck_assert_uint_eq(ep.nsent, op == DOFI_OP_SEND);
	ck_assert_uint_eq(ep.writes, op == DOFI_OP_WRITE);
	ck_assert_uint_eq(ep.reads, op == DOFI_OP_READ);
	if (op == DOFI_OP_WRITE || op == DOFI_OP_READ) {
		ck_assert_uint_eq(fabric.wr->remote.target, 0x4010);
		ck_assert_uint_eq(fabric.wr->remote.key, 77);
	}
}
END_TEST

/* The fabric has copied the data: there is no completion, and the event is queued. */
START_TEST(injected_request_completes_at_once)
{
	fabric.at_once = true;
	ck_assert_int_eq(post(ops[_i], 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(ops[_i], 0, 0);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 1);
	ck_assert_uint_eq(events[0].number, DAT_DTO_COMPLETION_EVENT);
	ck_assert_uint_eq(events[0].op, ops[_i]);
	ck_assert_uint_eq(events[0].status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(events[0].dto.cookie, 4711);
	ck_assert_uint_eq(events[0].dto.length, 8);
	ck_assert_ptr_eq(events[0].handle, &ep);
	ck_assert_uint_eq(ep.writes, 0);
}
END_TEST

START_TEST(requests_wait_for_room_in_order)
{
	enum dofi_op op = ops[_i];
	struct dofi_wr *first;

	fabric.answer = -FI_EAGAIN;
	ck_assert_int_eq(post(op, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(op, 0, 1);
	first = fabric.wr;
	ck_assert_int_eq(first->state, DOFI_WR_QUEUED);
	ck_assert(ep.stall.waits);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_AGAIN), 1);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_HELD), op != DOFI_OP_RECV);
	fabric.answer = 0;
	ck_assert_int_eq(post(op, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(op, 0, 2); /* the engine tries again later */
	ck_assert_uint_eq(fabric.calls, 1);
	ep.read_limit = 2;
	dofi_lock(&ep.lock);
	dofi_ep_issue(&ep);
	dofi_unlock(&ep.lock);
	expect(op, 2, 0);
	ck_assert_uint_eq(fabric.calls, 3);
	ck_assert_int_eq(first->state, DOFI_WR_ISSUED);
}
END_TEST

START_TEST(a_refusal_is_reported_as_a_completion)
{
	fabric.answer = -FI_EIO;
	ck_assert_int_eq(post(ops[_i], 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(ops[_i], 0, 1);
	ck_assert(ep.refused);
	ck_assert(ep.stall.waits);
	ck_assert_uint_eq(ep.nsent + ep.writes + ep.reads, 0);
}
END_TEST

/* Each function makes one argument wrong. The table has the return code for it. */
static void no_context(void)
{
	segments[0].lmr_context ^= 0x10000u;
}
static void foreign_zone(void)
{
	lmr.pz = &foreign;
}
static void no_privilege(void)
{
	lmr.privileges = DAT_MEM_PRIV_NONE_FLAG;
}
static void before_it(void)
{
	segments[0].virtual_address = BASE - 1;
}
static void beyond_it(void)
{
	segments[0].virtual_address = BASE + 4089;
}
static void full(void)
{
	ep.req.limit = ep.recv.limit = 0;
}
static void no_segments_allowed(void)
{
	memset(&ep.attr, 0, sizeof(ep.attr));
}
static void too_long(void)
{
	segments[0].segment_length = LONGEST + 1;
	remote.segment_length = LONGEST + 1;
}

static const struct {
	void (*wrong)(void);
	DAT_RETURN says;
} defects[] = {
	{no_context, DAT_PRIVILEGES_VIOLATION},       {foreign_zone, DAT_PROTECTION_VIOLATION},
	{no_privilege, DAT_PRIVILEGES_VIOLATION},     {before_it, DAT_INVALID_PARAMETER},
	{beyond_it, DAT_INVALID_PARAMETER},           {full, DAT_INSUFFICIENT_RESOURCES},
	{no_segments_allowed, DAT_INVALID_PARAMETER}, {too_long, DAT_INVALID_PARAMETER},
};
#define N_DEFECTS ((int)(sizeof(defects) / sizeof(defects[0])))

/* Messages and RDMA have limits of their own. */
START_TEST(each_kind_has_its_limit)
{
	too_long();
	ia.limits.max_message = LONGEST + 1;
	ck_assert_int_eq(DAT_GET_TYPE(post(DOFI_OP_SEND, 1, DAT_COMPLETION_DEFAULT_FLAG)),
			 DAT_SUCCESS);
	ck_assert_int_eq(DAT_GET_TYPE(post(DOFI_OP_WRITE, 1, DAT_COMPLETION_DEFAULT_FLAG)),
			 DAT_INVALID_PARAMETER);
	ck_assert_int_eq(post(DOFI_OP_RECV, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ia.limits.max_message = LONGEST;
	ck_assert_int_eq(post(DOFI_OP_RECV, 1, DAT_COMPLETION_DEFAULT_FLAG), DOFI_BAD_ARG(3));
	ia.limits.max_rdma = LONGEST + 1;
	ck_assert_int_eq(DAT_GET_TYPE(post(DOFI_OP_SEND, 1, DAT_COMPLETION_DEFAULT_FLAG)),
			 DAT_INVALID_PARAMETER);
	ck_assert_int_eq(DAT_GET_TYPE(post(DOFI_OP_WRITE, 1, DAT_COMPLETION_DEFAULT_FLAG)),
			 DAT_SUCCESS);
}
END_TEST

START_TEST(a_wrong_post_changes_nothing)
{
	enum dofi_op op = ops[_i / N_DEFECTS];
	_Atomic uint64_t before[DOFI_CNT_EP_END];

	memcpy(before, ep.counters, sizeof(before));
	defects[_i % N_DEFECTS].wrong();
	ck_assert_int_eq(DAT_GET_TYPE(post(op, 1, DAT_COMPLETION_DEFAULT_FLAG)),
			 defects[_i % N_DEFECTS].says);
	expect(op, 0, 0);
	ck_assert_uint_eq(fabric.calls, 0);
	ck_assert_mem_eq(before, ep.counters, sizeof(before));
}
END_TEST

START_TEST(unknown_flags_are_refused)
{
	enum dofi_op op = ops[_i];

	ck_assert_int_eq(DAT_GET_TYPE(post(op, SEGMENTS + 1, DAT_COMPLETION_DEFAULT_FLAG)),
			 DAT_INVALID_PARAMETER);
	ck_assert_int_eq(DAT_GET_TYPE(post(op, -1, DAT_COMPLETION_DEFAULT_FLAG)),
			 DAT_INVALID_PARAMETER);
	ck_assert_int_eq(DAT_GET_TYPE(post(op, 1, (DAT_COMPLETION_FLAGS)0x8000)),
			 DAT_INVALID_PARAMETER);
	expect(op, 0, 0);
	ck_assert_uint_eq(fabric.calls, 0);
}
END_TEST

START_TEST(requests_need_a_connection)
{
	ep.state = DAT_EP_STATE_UNCONNECTED;
	ep.path_up = false;
	ck_assert_int_eq(DAT_GET_TYPE(post(ops[_i], 1, DAT_COMPLETION_DEFAULT_FLAG)),
			 DAT_INVALID_STATE);
	expect(ops[_i], 0, 0);
}
END_TEST

START_TEST(receives_wait_for_a_connection)
{
	ep.state = DAT_EP_STATE_UNCONNECTED;
	ep.path_up = false;
	ck_assert_int_eq(post(DOFI_OP_RECV, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(DOFI_OP_RECV, 0, 1);
	ck_assert_uint_eq(fabric.calls, 0);
}
END_TEST

START_TEST(posts_after_the_end_are_flushed)
{
	ep.state = DAT_EP_STATE_DISCONNECTED;
	ep.path_up = false;
	ck_assert_int_eq(post(ops[_i], 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(ops[_i], 0, 0);
	ck_assert_uint_eq(events[0].status, DAT_DTO_ERR_FLUSHED);
	ck_assert_uint_eq(fabric.calls, 0);
}
END_TEST

/* Each function sets one condition of the EP that a request waits for. */
static void broken(void)
{
	ep.faulty = true;
}
static void bound(void)
{
	ep.binding = true;
}
static void by_atomic(void)
{
	ep.atomics_used = 1;
}
static void no_path(void)
{
	ep.path_up = false;
}
static void (*const hurdles[])(void) = {broken, bound, no_path};
#define N_HURDLES ((int)(sizeof(hurdles) / sizeof(hurdles[0])))

START_TEST(requests_wait_for_the_ep)
{
	enum dofi_op op = ops[_i / N_HURDLES];

	hurdles[_i % N_HURDLES]();
	ck_assert_int_eq(post(op, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(op, 0, 1);
	ck_assert_uint_eq(fabric.calls, 0);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_HELD), 1);
}
END_TEST

START_TEST(a_read_waits_for_the_answer_of_an_atomic)
{
	ep.req.head = ep.atomic_wr[0] = 8; /* the atomic operation is under way */
	dofi_ring_at(&ep.req, 8)->op = DOFI_OP_FETCH_ADD;
	dofi_ring_at(&ep.req, 8)->state = DOFI_WR_ISSUED;
	by_atomic();
	ck_assert_int_eq(post(DOFI_OP_READ, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(fabric.calls, 0);
	ck_assert_uint_eq(ep.req.tail - ep.req.issue, 1);
}
END_TEST

START_TEST(a_send_waits_for_credit)
{
	ep.peer.credits = true;
	ck_assert_int_eq(post(DOFI_OP_SEND, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(DOFI_OP_SEND, 0, 1);
	ep.credit_total = 2;
	ck_assert_int_eq(post(DOFI_OP_SEND, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(DOFI_OP_SEND, 2, 0);
}
END_TEST

START_TEST(a_read_waits_for_the_limit_of_reads)
{
	ck_assert_int_eq(post(DOFI_OP_READ, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_int_eq(post(DOFI_OP_READ, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(DOFI_OP_READ, 1, 1);
}
END_TEST

START_TEST(a_message_waits_for_a_write_that_it_could_overtake)
{
	ia.order = DOFI_HOLD;
	ep.writes = 1;
	ck_assert_int_eq(post(DOFI_OP_SEND, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(DOFI_OP_SEND, 0, 1);
}
END_TEST

START_TEST(requests_that_are_not_plain_take_the_slow_path)
{
	enum dofi_op op = ops[_i];

	segments[1].segment_length = 0;
	remote.segment_length = 8;
	/* an empty segment is ignored */
	ck_assert_int_eq(post(op, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(fabric.niov, 1);
	segments[0].segment_length = remote.segment_length = PLAIN + 1;
	ep.reads = 0;
	ck_assert_int_eq(post(op, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(fabric.iov[0].iov_len, PLAIN + 1);
	segments[1].segment_length = 8;
	remote.segment_length += 8;
	ep.reads = 0;
	ck_assert_int_eq(post(op, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(fabric.niov, 2);
	expect(op, 3, 0);
}
END_TEST

/* The remote segment may be longer than a write, and shorter than the buffer of a read. */
START_TEST(the_remote_segment_need_not_fit)
{
	remote.segment_length = 12;
	ck_assert_int_eq(post(DOFI_OP_WRITE, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(fabric.iov[0].iov_len, 8);
	remote.segment_length = 4;
	ck_assert_int_eq(post(DOFI_OP_READ, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(fabric.iov[0].iov_len, 4);
	ck_assert_int_eq(DAT_GET_TYPE(post(DOFI_OP_WRITE, 1, DAT_COMPLETION_DEFAULT_FLAG)),
			 DAT_LENGTH_ERROR);
	remote.segment_length = 12;
	ck_assert_int_eq(DAT_GET_TYPE(post(DOFI_OP_READ, 1, DAT_COMPLETION_DEFAULT_FLAG)),
			 DAT_LENGTH_ERROR);
	expect(DOFI_OP_WRITE, 2, 0);
}
END_TEST

START_TEST(the_slow_path_keeps_the_flags)
{
	ck_assert_int_eq(post(ops[_i], 1, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(fabric.wr->flags, DAT_COMPLETION_SUPPRESS_FLAG);
	expect(ops[_i], 1, 0);
}
END_TEST

/* --- what takes the fast path --- */

/* The slow path, which checks all limits, refuses a post that the fast path takes. */
static void let_the_slow_path_refuse(void)
{
	ia.limits.max_message = ia.limits.max_rdma = 4;
}

static bool takes_the_fast_path(enum dofi_op op, DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN ret = post(op, 1, flags);

	if (ret != DAT_SUCCESS)
		ck_assert_int_eq(ret, DOFI_BAD_ARG(3));
	return ret == DAT_SUCCESS;
}

START_TEST(the_fast_path_has_a_limit_for_writes_and_one_for_others)
{
	enum dofi_op op = ops[_i];
	uint64_t *limit = op == DOFI_OP_WRITE ? &ia.limits.plain_write : &ia.limits.plain;

	let_the_slow_path_refuse();
	ep.attr.max_request_iov = ep.attr.max_recv_iov = ep.attr.max_rdma_read_iov =
		ep.attr.max_rdma_write_iov = 1;
	*limit = 7;
	ck_assert(!takes_the_fast_path(op, DAT_COMPLETION_DEFAULT_FLAG));
	*limit = 8;
	ck_assert(takes_the_fast_path(op, DAT_COMPLETION_DEFAULT_FLAG));
	expect(op, 1, 0);
	ia.limits.max_message = ia.limits.max_rdma = 0;
	segments[0].segment_length = remote.segment_length = *limit = 1;
	ep.reads = 0;
	ck_assert(takes_the_fast_path(op, DAT_COMPLETION_DEFAULT_FLAG));
	expect(op, 2, 0);
}
END_TEST

static void longer(void)
{
	remote.segment_length = 9;
}
static void behind_another(void)
{
	ep.req.tail++;
	ep.recv.tail++;
}
static void refused(void)
{
	ep.binding = true;
}
static void broken_path(void)
{
	ep.faulty = true;
}
static void closed(void)
{
	ep.path_up = false;
}

static const struct {
	void (*why)(void);
	bool only_rdma;
} slow[] = {
	{longer, true},       {behind_another, false}, {refused, false},
	{broken_path, false}, {closed, false},
};
#define N_SLOW ((int)(sizeof(slow) / sizeof(slow[0])))

START_TEST(all_else_is_checked_by_the_slow_path)
{
	enum dofi_op op = ops[_i / N_SLOW];
	bool rdma = op == DOFI_OP_WRITE || op == DOFI_OP_READ;

	let_the_slow_path_refuse();
	slow[_i % N_SLOW].why();
	if (op == DOFI_OP_READ && slow[_i % N_SLOW].why == longer)
		remote.segment_length = 7;
	ck_assert(takes_the_fast_path(op, DAT_COMPLETION_DEFAULT_FLAG) ==
		  (slow[_i % N_SLOW].only_rdma && !rdma));
}
END_TEST

START_TEST(requests_with_flags_take_the_slow_path)
{
	let_the_slow_path_refuse();
	ck_assert(!takes_the_fast_path(ops[_i], DAT_COMPLETION_SUPPRESS_FLAG));
}
END_TEST

/* --- segments --- */

/* One segment takes the fast path, two take the slow one. */
static DAT_RETURN post_with(enum dofi_op op, int n, unsigned int privileges)
{
	lmr.privileges = (DAT_MEM_PRIV_FLAGS)privileges;
	ep.reads = 0;
	remote.segment_length = 8 * (DAT_VLEN)n;
	return post(op, n, DAT_COMPLETION_DEFAULT_FLAG);
}

START_TEST(memory_that_is_read_or_written_needs_the_right_for_it)
{
	const unsigned int in = DAT_MEM_PRIV_LOCAL_WRITE_FLAG, out = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	enum dofi_op op = ops[_i / 2];
	bool inward = op == DOFI_OP_READ || op == DOFI_OP_RECV;
	int n = 1 + _i % 2;

	ck_assert_int_eq(post_with(op, n, inward ? out : in),
			 DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0));
	ck_assert_int_eq(post_with(op, n,
				   DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG),
			 DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0));
	expect(op, 0, 0);
	ck_assert_int_eq(post_with(op, n, inward ? in : out), DAT_SUCCESS);
	expect(op, 1, 0);
}
END_TEST

/* The last segment that fits, one that is longer, and one in front of the memory. */
START_TEST(segments_lie_in_their_memory)
{
	static const struct {
		uint64_t offset;
		uint32_t length;
		bool fits;
	} cases[] = {{0, 8, true},      {4088, 8, true},   {4089, 8, false}, {4095, 1, true},
		     {4096, 1, false},  {4097, 1, false},  {0, 64, true},    {4032, 64, true},
		     {4033, 64, false}, {-1ull, 8, false}, {-8ull, 8, false}};
	enum dofi_op op = ops[_i % N_OPS];
	int i = _i / N_OPS;

	segments[0].virtual_address = BASE + cases[i].offset;
	segments[0].segment_length = remote.segment_length = cases[i].length;
	ck_assert_int_eq(post(op, 1, DAT_COMPLETION_DEFAULT_FLAG),
			 cases[i].fits ? DAT_SUCCESS : DOFI_BAD_ARG(3));
	expect(op, cases[i].fits, 0);
	if (cases[i].fits)
		ck_assert_uint_eq((uintptr_t)fabric.iov[0].iov_base, 0x770000 + cases[i].offset);
}
END_TEST

/* DTO-012: what moves no bytes is left out, whatever it names. */
START_TEST(empty_segments_are_not_looked_at)
{
	enum dofi_op op = ops[_i / 2];
	int empty = _i % 2;

	segments[empty] = (DAT_LMR_TRIPLET){.virtual_address = 1, .lmr_context = 99};
	ck_assert_int_eq(post(op, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(op, 1, 0);
	ck_assert_uint_eq(fabric.niov, 1);
	ck_assert_uint_eq((uintptr_t)fabric.iov[0].iov_base, empty ? 0x770000 : 0x770020);
	ck_assert_ptr_eq(fabric.desc, &lmr);
}
END_TEST

/* Each of them is checked. */
START_TEST(one_wrong_segment_is_enough)
{
	enum dofi_op op = ops[_i / 2];

	remote.segment_length = 16;
	segments[_i % 2].lmr_context = 99;
	ck_assert_int_eq(post(op, 2, DAT_COMPLETION_DEFAULT_FLAG),
			 DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0));
	segments[_i % 2].lmr_context = CONTEXT;
	lmr.pz = &foreign;
	ck_assert_int_eq(post(op, 2, DAT_COMPLETION_DEFAULT_FLAG),
			 DOFI_ERR(DAT_PROTECTION_VIOLATION, 0));
	expect(op, 0, 0);
	ck_assert_uint_eq(fabric.calls, 0);
}
END_TEST

/* --- flags --- */

START_TEST(each_operation_has_its_flags)
{
	static const DAT_COMPLETION_FLAGS flags[] = {DAT_COMPLETION_SUPPRESS_FLAG,
						     DAT_COMPLETION_BARRIER_FENCE_FLAG,
						     DAT_COMPLETION_SOLICITED_WAIT_FLAG};
	static const struct {
		enum dofi_op op;
		bool takes[3];
	} cases[] = {{DOFI_OP_SEND, {true, true, true}},
		     {DOFI_OP_WRITE, {true, true, false}},
		     {DOFI_OP_READ, {true, true, false}},
		     {DOFI_OP_RECV, {false, false, false}}};
	enum dofi_op op = cases[_i / 3].op;
	bool takes = cases[_i / 3].takes[_i % 3];

	ck_assert_int_eq(post(op, 1, flags[_i % 3]), takes                ? DAT_SUCCESS
						     : op == DOFI_OP_RECV ? DOFI_BAD_ARG(5)
									  : DOFI_BAD_ARG(6));
	ck_assert_uint_eq(fabric.calls, takes);
	if (takes)
		ck_assert_uint_eq(fabric.wr->flags, flags[_i % 3]);
}
END_TEST

/* --- requests that wait, and those that fail --- */

/* Of two posts, the first one found no room. The engine has nothing to do for the EP. */
START_TEST(a_post_takes_along_what_waits)
{
	enum dofi_op op = ops[_i];

	ep.read_limit = 2;
	fabric.answer = -FI_EAGAIN;
	ck_assert_int_eq(post(op, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(op, 0, 1);
	fabric.answer = 0;
	ep.stall.waits = false;
	ck_assert_int_eq(post(op, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(op, 2, 0);
	ck_assert_uint_eq(fabric.calls, 3);
	ck_assert_ptr_eq(fabric.wr, dofi_ring_at(ring_for(op), ring_for(op)->head + 1));
	ck_assert_uint_eq(counted(DOFI_CNT_EP_HELD), op != DOFI_OP_RECV);
	ck_assert_uint_eq(atomic_load(&ia.wait.watchers), 0);
}
END_TEST

/* _i: WRITE and READ, by the fast path and with a flag */
START_TEST(a_request_that_fails_at_once_does_not_wait)
{
	enum dofi_op op = _i & 1 ? DOFI_OP_WRITE : DOFI_OP_READ;

	remote.rmr_context = 0;
	ck_assert_int_eq(post(op, 1,
			      _i & 2 ? DAT_COMPLETION_SUPPRESS_FLAG : DAT_COMPLETION_DEFAULT_FLAG),
			 DAT_SUCCESS);
	expect(op, 0, 0);
	ck_assert_uint_eq(fabric.calls, 0);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 1);
	ck_assert_uint_eq(events[0].status, DAT_DTO_ERR_REMOTE_ACCESS);
	ck_assert(ep.faulty && ep.stall.waits);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_HELD), 0);
	ck_assert_uint_eq(atomic_load(&ia.wait.watchers), 0);
}
END_TEST

/* _i + 1: segments, for both paths. The peer has no receive, so it has to learn of this one. */
START_TEST(a_receive_brings_a_credit_update)
{
	ep.credit_mode = DOFI_CREDITS_CARRIED;
	ep.recv_base = ep.recv.head;
	ck_assert_int_eq(post(DOFI_OP_RECV, _i + 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(DOFI_OP_RECV, 1, 0);
	ck_assert(ep.stall.waits);
	ep.stall.waits = false;
	ep.announced = 4; /* the peer has enough */
	ck_assert_int_eq(post(DOFI_OP_RECV, _i + 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert(!ep.stall.waits);
}
END_TEST

/* It counts when the fabric has it. */
START_TEST(a_receive_that_waits_brings_no_credit_update)
{
	ep.credit_mode = DOFI_CREDITS_WRITTEN; /* such updates are sent at once */
	ep.recv_base = ep.recv.head;
	fabric.answer = -FI_EIO;
	ck_assert_int_eq(post(DOFI_OP_RECV, _i + 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(DOFI_OP_RECV, 0, 1);
	ck_assert_uint_eq(ep.announced, 0);
}
END_TEST

START_TEST(segments_have_to_be_there)
{
	const DAT_DTO_COOKIE cookie = {.as_64 = 1};
	const DAT_COMPLETION_FLAGS none = DAT_COMPLETION_DEFAULT_FLAG;

	ck_assert_int_eq(dofi_ep_post_send(&ep, 1, NULL, cookie, none), DOFI_BAD_ARG(2));
	ck_assert_int_eq(dofi_ep_post_recv(&ep, 1, NULL, cookie, none), DOFI_BAD_ARG(2));
	ck_assert_int_eq(dofi_ep_post_rdma_read(&ep, 1, NULL, cookie, &remote, none),
			 DOFI_BAD_ARG(2));
	ck_assert_int_eq(dofi_ep_post_rdma_write(&ep, 1, NULL, cookie, &remote, none),
			 DOFI_BAD_ARG(2));
	ck_assert_uint_eq(fabric.calls, 0);
	ck_assert_int_eq(dofi_ep_post_send(&ep, 0, NULL, cookie, none), DAT_SUCCESS);
	ck_assert_int_eq(dofi_ep_post_recv(&ep, 0, NULL, cookie, none), DAT_SUCCESS);
	ck_assert_uint_eq(fabric.calls, 2);
	ck_assert_uint_eq(fabric.niov, 0);
}
END_TEST

static TCase *paths(void)
{
	TCase *tc = tcase_create("paths");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, the_fast_path_has_a_limit_for_writes_and_one_for_others, 0, N_OPS);
	tcase_add_loop_test(tc, all_else_is_checked_by_the_slow_path, 0, N_OPS * N_SLOW);
	tcase_add_loop_test(tc, requests_with_flags_take_the_slow_path, 0, N_REQUESTS);
	tcase_add_loop_test(tc, memory_that_is_read_or_written_needs_the_right_for_it, 0,
			    2 * N_OPS);
	tcase_add_loop_test(tc, segments_lie_in_their_memory, 0, 11 * N_OPS);
	tcase_add_loop_test(tc, empty_segments_are_not_looked_at, 0, 2 * N_OPS);
	tcase_add_loop_test(tc, one_wrong_segment_is_enough, 0, 2 * N_OPS);
	tcase_add_loop_test(tc, each_operation_has_its_flags, 0, 3 * N_OPS);
	tcase_add_loop_test(tc, a_post_takes_along_what_waits, 0, N_OPS);
	tcase_add_loop_test(tc, a_request_that_fails_at_once_does_not_wait, 0, 4);
	tcase_add_loop_test(tc, a_receive_brings_a_credit_update, 0, 2);
	tcase_add_loop_test(tc, a_receive_that_waits_brings_no_credit_update, 0, 2);
	tcase_add_test(tc, segments_have_to_be_there);
	return tc;
}

/* --- a full ring --- */

static void fill_rings(void)
{
	ep.req.issue = ep.req.tail += SLOTS;
	ep.recv.issue = ep.recv.tail += SLOTS;
}

START_TEST(a_full_ring_reads_completions_itself)
{
	fill_rings();
	last_look = 0;
	looks_until_room = 3;
	ck_assert_int_eq(post(ops[_i], 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(looks, 3);
	ck_assert_uint_eq(fabric.calls, 1);
	expect(ops[_i], SLOTS, 0);
}
END_TEST

START_TEST(a_full_ring_without_completions_refuses_the_post)
{
	fill_rings();
	last_look = 2;
	ck_assert_int_eq(post(ops[_i], 1, DAT_COMPLETION_DEFAULT_FLAG),
			 DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	ck_assert_uint_eq(looks, 2);
	expect(ops[_i], SLOTS, 0);
}
END_TEST

/* The queue always has completions of another EP. */
START_TEST(a_full_ring_reads_a_limited_number_of_completions)
{
	fill_rings();
	last_look = 0;
	ck_assert_int_eq(DAT_GET_TYPE(post(ops[_i], 1, DAT_COMPLETION_DEFAULT_FLAG)),
			 DAT_INSUFFICIENT_RESOURCES);
	ck_assert_uint_gt(looks, 1);
	ck_assert_uint_lt(looks, 100000);
	expect(ops[_i], SLOTS, 0);
}
END_TEST

START_TEST(only_a_full_ring_reads_completions)
{
	ck_assert_int_eq(post(ops[_i], 1, DAT_COMPLETION_SUPPRESS_FLAG * (ops[_i] != DOFI_OP_RECV)),
			 DAT_SUCCESS);
	ck_assert_uint_eq(looks, 0);
}
END_TEST

static TCase *full_ring(void)
{
	TCase *tc = tcase_create("full ring");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, a_full_ring_reads_completions_itself, 0, N_OPS);
	tcase_add_loop_test(tc, a_full_ring_without_completions_refuses_the_post, 0, N_OPS);
	tcase_add_loop_test(tc, a_full_ring_reads_a_limited_number_of_completions, 0, N_OPS);
	tcase_add_loop_test(tc, only_a_full_ring_reads_completions, 0, N_OPS);
	return tc;
}

static TCase *fast_path(void)
{
	TCase *tc = tcase_create("fast_path");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, plain_request_starts_at_once, 0, N_OPS);
	tcase_add_loop_test(tc, injected_request_completes_at_once, 0, N_REQUESTS - 1);
	tcase_add_loop_test(tc, requests_wait_for_room_in_order, 0, N_OPS);
	tcase_add_loop_test(tc, a_refusal_is_reported_as_a_completion, 0, N_OPS);
	tcase_add_loop_test(tc, requests_wait_for_the_ep, 0, N_REQUESTS * N_HURDLES);
	tcase_add_test(tc, a_read_waits_for_the_answer_of_an_atomic);
	tcase_add_test(tc, a_send_waits_for_credit);
	tcase_add_test(tc, a_read_waits_for_the_limit_of_reads);
	tcase_add_test(tc, a_message_waits_for_a_write_that_it_could_overtake);
	return tc;
}

/* Slots for shared memory alone do not make the IA offer more than its fabric does. */
START_TEST(a_connection_by_memory_offers_what_the_fabric_offers)
{
	const DAT_DTO_COOKIE cookie = {.as_64 = 1};
	static struct dofi_ctrl_slots memory;

	ep.state = DAT_EP_STATE_UNCONNECTED; /* the next thing that is checked */
	ep.path_up = false;
	ep.streams = true;
	ia.ctrl_memory.slots = &memory;
	ia.ctrl_memory.local = _i;
	ia.has_immediates = true;
	ck_assert_int_eq(DAT_GET_TYPE(dofi_ep_post_send_invalidate(&ep, 1, segments, cookie,
								   DAT_COMPLETION_DEFAULT_FLAG, 1)),
			 _i ? DAT_MODEL_NOT_SUPPORTED : DAT_INVALID_STATE);
	ck_assert_int_eq(DAT_GET_TYPE(dofi_ep_post_write_immediate(&ep, 1, segments, cookie,
								   &remote, 1,
								   DAT_COMPLETION_DEFAULT_FLAG)),
			 DAT_INVALID_STATE);
	ia.has_immediates = false;
	ck_assert_int_eq(DAT_GET_TYPE(dofi_ep_post_write_immediate(&ep, 1, segments, cookie,
								   &remote, 1,
								   DAT_COMPLETION_DEFAULT_FLAG)),
			 _i ? DAT_MODEL_NOT_SUPPORTED : DAT_INVALID_STATE);
	expect(DOFI_OP_SEND, 0, 0);
}
END_TEST

/* Of events that the post has raised itself; its last action, since they may free the EP. */
START_TEST(a_post_ends_with_agents_that_are_due)
{
	enum dofi_op op = ops[_i];

	ck_assert_int_eq(post(op, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(agents, 0);
	atomic_store(&ia.nagents, 1);
	ck_assert_int_eq(post(op, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(agents, 1);
	remote.segment_length = 16;
	ck_assert_int_eq(post(op, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(agents, 2);
	ck_assert_int_ne(post(op, -1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(agents, 3);
}
END_TEST

/* Whatever it has left to the engine: a credit update, for example. */
START_TEST(a_post_does_not_wait_for_the_engine)
{
	enum dofi_op op = ops[_i];

	remote.segment_length = 16;
	ep.stall.waits = true;
	ck_assert_int_eq(post(op, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(op, 1, 0);
	ck_assert_uint_eq(fabric.niov, 2);
}
END_TEST

/* EP-189: the soft mark raises one event, and the hard one breaks the connection. */
START_TEST(high_watermarks_count_the_receives)
{
	const DAT_COUNT n = _i + 1; /* segments: by the fast path, or not */

	atomic_store(&ia.async_evd, &evd);
	ep.soft_mark = 1;
	ep.hard_mark = 2;
	ck_assert_int_eq(post(DOFI_OP_RECV, n, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	ck_assert_int_eq(post(DOFI_OP_RECV, n, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 1);
	ck_assert_ptr_eq(events[0].handle, &ep);
	ck_assert_uint_eq(events[0].reason, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	ck_assert(!ep.faulty && !ep.stall.waits);
	ck_assert_int_eq(post(DOFI_OP_RECV, n, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 1);
	ck_assert(ep.faulty && ep.stall.waits);
	expect(DOFI_OP_RECV, 3, 0);
}
END_TEST

/* As many as the soft mark are not above it, however many the hard one allows. */
START_TEST(the_soft_watermark_is_not_reached_by_the_hard_one)
{
	atomic_store(&ia.async_evd, &evd);
	ep.soft_mark = 1;
	ep.hard_mark = 0;
	ck_assert_int_eq(post(DOFI_OP_RECV, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert(ep.faulty);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	ck_assert_uint_eq(ep.soft_mark, 1);
}
END_TEST

/* Without a soft mark; and there is nothing to break before the connection. */
START_TEST(the_hard_watermark_breaks_a_connection)
{
	ep.hard_mark = 0;
	ep.state = _i ? DAT_EP_STATE_CONNECTED : DAT_EP_STATE_UNCONNECTED;
	ck_assert_int_eq(post(DOFI_OP_RECV, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert(ep.faulty == (_i == 1));
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
}
END_TEST

START_TEST(receives_after_the_end_are_not_counted)
{
	atomic_store(&ia.async_evd, &evd);
	ep.soft_mark = 0;
	ep.path_up = false;
	ep.state = DAT_EP_STATE_DISCONNECTED;
	ck_assert_int_eq(post(DOFI_OP_RECV, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 1);
	ck_assert_uint_eq(events[0].number, DAT_DTO_COMPLETION_EVENT);
	ck_assert_uint_eq(ep.soft_mark, 0);
}
END_TEST

START_TEST(receives_of_an_EP_with_an_SRQ_are_refused)
{
	ep.srq = (struct dofi_srq *)&lmr; /* never dereferenced */
	for (DAT_COUNT n = 1; n <= 2; n++)
		ck_assert_int_eq(post(DOFI_OP_RECV, n, DAT_COMPLETION_DEFAULT_FLAG),
				 DOFI_BAD_STATE(SRQ_IN_USE));
	expect(DOFI_OP_RECV, 0, 0);
}
END_TEST

/* The EP says so when it is created. */
START_TEST(unsignalled_completions_need_the_attribute)
{
	const DAT_COMPLETION_FLAGS flag = DAT_COMPLETION_UNSIGNALLED_FLAG;
	enum dofi_op op = ops[_i];

	ck_assert_int_eq(DAT_GET_TYPE(post(op, 1, flag)), DAT_INVALID_PARAMETER);
	ep.attr.recv_completion_flags = ep.attr.request_completion_flags = flag;
	ck_assert_int_eq(post(op, 1, flag), DAT_SUCCESS);
	ck_assert_uint_eq(fabric.wr->flags, flag);
}
END_TEST

static DAT_RETURN post_on(DAT_EP_HANDLE handle, enum dofi_op op, const DAT_RMR_TRIPLET *to)
{
	const DAT_DTO_COOKIE cookie = {.as_64 = 4711};
	const DAT_COMPLETION_FLAGS none = DAT_COMPLETION_DEFAULT_FLAG;

	switch (op) {
	case DOFI_OP_SEND:
		return dofi_ep_post_send(handle, 1, segments, cookie, none);
	case DOFI_OP_WRITE:
		return dofi_ep_post_rdma_write(handle, 1, segments, cookie, to, none);
	case DOFI_OP_READ:
		return dofi_ep_post_rdma_read(handle, 1, segments, cookie, to, none);
	default:
		return dofi_ep_post_recv(handle, 1, segments, cookie, none);
	}
}

START_TEST(a_post_needs_an_EP_and_the_remote_segment)
{
	enum dofi_op op = ops[_i];

	ck_assert_int_eq(post_on(&lmr, op, &remote), DOFI_BAD_HANDLE(EP));
	ck_assert_int_eq(post_on(NULL, op, &remote), DOFI_BAD_HANDLE(EP));
	ck_assert_int_eq(post_on(&ep, op, NULL),
			 op == DOFI_OP_WRITE || op == DOFI_OP_READ ? DOFI_BAD_ARG(5) : DAT_SUCCESS);
}
END_TEST

/* Each call has its arguments in another order. */
START_TEST(a_wrong_post_names_the_argument)
{
	enum dofi_op op = ops[_i];
	bool rdma = op == DOFI_OP_WRITE || op == DOFI_OP_READ;

	ck_assert_int_eq(post(op, SEGMENTS + 1, DAT_COMPLETION_DEFAULT_FLAG), DOFI_BAD_ARG(2));
	ck_assert_int_eq(post(op, 1, (DAT_COMPLETION_FLAGS)0x4000),
			 rdma ? DOFI_BAD_ARG(6) : DOFI_BAD_ARG(5));
	beyond_it();
	ck_assert_int_eq(post(op, 1, DAT_COMPLETION_DEFAULT_FLAG), DOFI_BAD_ARG(3));
}
END_TEST

/* The attributes of the EP have a number for each kind of operation. */
START_TEST(each_operation_has_its_number_of_segments)
{
	DAT_COUNT *const numbers[] = {&ep.attr.max_request_iov, &ep.attr.max_rdma_write_iov,
				      &ep.attr.max_rdma_read_iov, &ep.attr.max_recv_iov};
	enum dofi_op op = ops[_i];

	for (int i = 0; i < N_OPS; i++)
		*numbers[i] = i == _i ? 1 : SEGMENTS;
	remote.segment_length = 16;
	ck_assert_int_eq(post(op, 2, DAT_COMPLETION_DEFAULT_FLAG), DOFI_BAD_ARG(2));
	for (int i = 0; i < N_OPS; i++)
		*numbers[i] = i == _i ? SEGMENTS : 0;
	ck_assert_int_eq(post(op, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(op, 1, 0);
}
END_TEST

/* DTO-098: from the first segment on; those behind the last byte are left out. */
START_TEST(a_read_fills_its_segments_in_their_order)
{
	static const struct {
		uint32_t length, niov;
		size_t lengths[SEGMENTS];
	} cases[] = {{16, 2, {8, 8}}, {9, 2, {8, 1}}, {8, 1, {8}}, {3, 1, {3}}};

	remote.segment_length = cases[_i].length;
	ck_assert_int_eq(post(DOFI_OP_READ, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(fabric.niov, cases[_i].niov);
	for (uint32_t i = 0; i < cases[_i].niov; i++)
		ck_assert_uint_eq(fabric.iov[i].iov_len, cases[_i].lengths[i]);
	ck_assert_uint_eq(fabric.wr->length, cases[_i].length);
}
END_TEST

/* DTO-100: it moves no bytes, so nothing is looked up and the fabric has nothing to do. */
START_TEST(rdma_of_no_bytes_is_complete_at_once)
{
	remote.segment_length = 0;
	remote.rmr_context = 0;
	segments[0].segment_length = 0;
	ck_assert_int_eq(post(ops[_i], 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
	expect(ops[_i], 0, 0);
	ck_assert_uint_eq(fabric.calls, 0);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 1);
	ck_assert_uint_eq(events[0].status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(events[0].dto.length, 0);
	ck_assert_uint_eq(ep.reads + ep.writes, 0);
}
END_TEST

static TCase *others(void)
{
	TCase *tc = tcase_create("others");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, each_kind_has_its_limit);
	tcase_add_loop_test(tc, a_post_ends_with_agents_that_are_due, 0, N_OPS);
	tcase_add_loop_test(tc, a_post_does_not_wait_for_the_engine, 0, N_OPS);
	tcase_add_loop_test(tc, high_watermarks_count_the_receives, 0, 2);
	tcase_add_test(tc, the_soft_watermark_is_not_reached_by_the_hard_one);
	tcase_add_loop_test(tc, the_hard_watermark_breaks_a_connection, 0, 2);
	tcase_add_test(tc, receives_after_the_end_are_not_counted);
	tcase_add_test(tc, receives_of_an_EP_with_an_SRQ_are_refused);
	tcase_add_loop_test(tc, unsignalled_completions_need_the_attribute, 0, N_OPS);
	tcase_add_loop_test(tc, a_post_needs_an_EP_and_the_remote_segment, 0, N_OPS);
	tcase_add_loop_test(tc, a_wrong_post_names_the_argument, 0, N_OPS);
	tcase_add_loop_test(tc, each_operation_has_its_number_of_segments, 0, N_OPS);
	tcase_add_loop_test(tc, a_read_fills_its_segments_in_their_order, 0, 4);
	tcase_add_loop_test(tc, rdma_of_no_bytes_is_complete_at_once, 1, 3);
	tcase_add_loop_test(tc, a_wrong_post_changes_nothing, 0, N_OPS * N_DEFECTS);
	tcase_add_loop_test(tc, unknown_flags_are_refused, 0, N_OPS);
	tcase_add_loop_test(tc, requests_need_a_connection, 0, N_REQUESTS);
	tcase_add_test(tc, receives_wait_for_a_connection);
	tcase_add_loop_test(tc, a_connection_by_memory_offers_what_the_fabric_offers, 0, 2);
	tcase_add_loop_test(tc, posts_after_the_end_are_flushed, 0, N_OPS);
	tcase_add_loop_test(tc, requests_that_are_not_plain_take_the_slow_path, 0, N_OPS);
	tcase_add_test(tc, the_remote_segment_need_not_fit);
	tcase_add_loop_test(tc, the_slow_path_keeps_the_flags, 0, N_REQUESTS);
	return tc;
}

/* --- binds --- */

START_TEST(a_bind_has_no_data)
{
	static const struct dofi_wr used = {.niov = SEGMENTS, .length = LONGEST};
	const DAT_RMR_COOKIE cookie = {.as_64 = 4711};
	struct dofi_rmr rmr = {.obj.ia = &ia, .pz = &pz};
	struct dofi_wr *wr = dofi_ring_at(&ep.req, ep.req.tail);
	DAT_RMR_CONTEXT context;

	atomic_store(&rmr.obj.magic, DOFI_MAGIC | DAT_HANDLE_TYPE_RMR);
	*wr = used;
	segments[0].segment_length = 0; /* which ends the window */
	ep.path_up = false;
	ck_assert_uint_eq(dofi_rmr_bind(&rmr, segments, 0, &ep, cookie, DAT_COMPLETION_DEFAULT_FLAG,
					&context),
			  DAT_SUCCESS);
	expect(DOFI_OP_SEND, 0, 1);
	ck_assert_uint_eq(wr->op, DOFI_OP_BIND);
	ck_assert_uint_eq(wr->length, 0);
	ck_assert_uint_eq(wr->niov, 0);
	ck_assert(!dofi_wr_bind(wr)->zero_based);
}
END_TEST

START_TEST(a_bind_reads_completions_if_the_ring_is_full)
{
	const DAT_RMR_COOKIE cookie = {.as_64 = 4711};
	struct dofi_rmr rmr = {.obj.ia = &ia, .pz = &pz};
	DAT_RMR_CONTEXT context;

	atomic_store(&rmr.obj.magic, DOFI_MAGIC | DAT_HANDLE_TYPE_RMR);
	segments[0].segment_length = 0;
	ep.path_up = false;
	fill_rings();
	last_look = 0;
	looks_until_room = 2;
	ck_assert_uint_eq(dofi_rmr_bind(&rmr, segments, 0, &ep, cookie, DAT_COMPLETION_DEFAULT_FLAG,
					&context),
			  DAT_SUCCESS);
	ck_assert_uint_eq(looks, 2);
	expect(DOFI_OP_SEND, SLOTS - 1, 1);
}
END_TEST

START_TEST(a_wrong_bind_names_the_argument)
{
	const DAT_COMPLETION_FLAGS unknown = (DAT_COMPLETION_FLAGS)0x4000;
	const DAT_RMR_COOKIE cookie = {.as_64 = 4711};
	struct dofi_rmr rmr = {.obj.ia = &ia, .pz = &pz};
	DAT_RMR_CONTEXT context;

	atomic_store(&rmr.obj.magic, DOFI_MAGIC | DAT_HANDLE_TYPE_RMR);
	ck_assert_uint_eq(dofi_rmr_bind(&rmr, NULL, 0, &ep, cookie, 0, &context),
			  DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	ck_assert_uint_eq(dofi_rmr_bind(&rmr, segments, 0, &ep, cookie, unknown, &context),
			  DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6));
	ck_assert_uint_eq(dofi_rmr_bind(&rmr, segments, 0, &ep, cookie, 0, NULL),
			  DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7));
	expect(DOFI_OP_SEND, 0, 0);
}
END_TEST

static TCase *binds(void)
{
	TCase *tc = tcase_create("binds");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_bind_has_no_data);
	tcase_add_test(tc, a_bind_reads_completions_if_the_ring_is_full);
	tcase_add_test(tc, a_wrong_bind_names_the_argument);
	return tc;
}

int main(void)
{
	Suite *suite = suite_create("post");

	suite_add_tcase(suite, fast_path());
	suite_add_tcase(suite, others());
	suite_add_tcase(suite, paths());
	suite_add_tcase(suite, full_ring());
	suite_add_tcase(suite, binds());
	return t_run(suite);
}
