/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Posts that DAT 2.0 or its extensions have beside Send, write and read, and binds: which argument
 * a wrong one names, and what the request in the ring says. The path is down, so requests stay in
 * the ring.
 */
#include "unit.h"

#include "../../../prov/ofi/dto/control.h"
#include "../../../prov/ofi/dto/post.h"
#include "../../../prov/ofi/dto/post_special.h"
#include "../../../prov/ofi/dto/rmr.h"
#include "../../../prov/ofi/object/ctxtab.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/mem.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/object/ud_ah.h"
#include "../../../prov/ofi/progress/evd.h"
#include "progress/work.h"

#include <string.h>

#define SLOTS     4u
#define SEGMENTS  2u
#define BASE      0x10000u
#define LENGTH    4096u
#define CONTEXT   0x50001u /* of the LMR, for both sides */
#define MESSAGE   200u     /* limits */
#define RDMA      300u
#define DATAGRAM  100u
#define CONN      6u
#define ZONE      3u

#define BARRIER   DAT_COMPLETION_BARRIER_FENCE_FLAG
#define SOLICITED DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define SUPPRESS  DAT_COMPLETION_SUPPRESS_FLAG
#define UNKNOWN   ((DAT_COMPLETION_FLAGS)0x4000)

static struct dofi_ia ia, another;
static struct dofi_ep ep;
static struct dofi_evd evd;
static struct dofi_event events[SLOTS];
static struct dofi_pz pz = {.number = ZONE}, foreign = {.number = ZONE + 1};
static struct dofi_lmr lmr;
static struct dofi_ctx_local local[4];
static struct dofi_ctx_wire wire[4];
static struct dofi_ctrl_slots ctrl_slots;
static struct dofi_ud_ah ah;
static struct dofi_rmr rmr;
static _Alignas(16) char slots[SLOTS][512];
static DAT_LMR_TRIPLET segments[SEGMENTS + 1];
static DAT_RMR_TRIPLET remote;
static const DAT_DTO_COOKIE cookie = {.as_64 = 4711};
static const struct dofi_trans_ops trans = {.has_eq = true};

static void expose(unsigned int rights, uint16_t zone)
{
	const struct dofi_ctx ctx = {.context = CONTEXT,
				     .base = BASE,
				     .length = LENGTH,
				     .privileges = (uint16_t)rights,
				     .pz = zone};

	wire[DOFI_CTX_INDEX(CONTEXT)] = dofi_ctx_encode(&ctx);
}

static void open_memory(void)
{
	ia.ctxtab.local = local;
	ia.ctxtab.wire = wire;
	ia.ctxtab.entries = 4;
	ia.ctxtab.fresh = 2;
	local[1] = (struct dofi_ctx_local){.lmr = &lmr, .context = CONTEXT};
	lmr.obj.ia = rmr.obj.ia = &ia;
	lmr.pz = rmr.pz = ep.pz = &pz;
	lmr.start = 0x770000;
	lmr.base = BASE;
	lmr.length = LENGTH;
	lmr.privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
			 DAT_MEM_PRIV_REMOTE_READ_FLAG;
	lmr.desc = &lmr;
	expose(DAT_MEM_PRIV_REMOTE_WRITE_FLAG, ZONE);
	for (size_t i = 0; i <= SEGMENTS; i++)
		segments[i] = (DAT_LMR_TRIPLET){.virtual_address = BASE + 32 * i,
						.segment_length = 8,
						.lmr_context = CONTEXT};
	remote = (DAT_RMR_TRIPLET){.virtual_address = 0x1010,
				   .segment_length = 16,
				   .rmr_context = 0x30007};
}

static void setup(void)
{
	struct dofi_lock *locks[] = {&ia.engine.lock, &ia.engine.stalled_lock,
				     &ia.ctxtab.lock, &ep.lock,
				     &evd.lock,       &rmr.lock,
				     &lmr.lock};

	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
		dofi_lock_init(locks[i]);
	dofi_list_init(&ia.engine.stalled);
	dofi_work_init(&ia.engine);
	open_memory();
	ia.trans = ep.trans = &trans;
	ia.limits.max_message = MESSAGE;
	ia.limits.max_rdma = RDMA;
	ia.limits.max_datagram = DATAGRAM;
	ia.ctrl_memory.slots = &ctrl_slots;
	ah.obj.ia = evd.obj.ia = ep.obj.ia = &ia;
	evd.ring = events;
	evd.qlen = SLOTS;
	atomic_store(&ep.obj.magic, DOFI_MAGIC | DAT_HANDLE_TYPE_EP);
	atomic_store(&rmr.obj.magic, DOFI_MAGIC | DAT_HANDLE_TYPE_RMR);
	atomic_store(&ah.obj.magic, DOFI_MAGIC | (uint32_t)DOFI_HANDLE_TYPE_AH);
	rmr.refs = 1;
	ep.state = DAT_EP_STATE_CONNECTED;
	ep.conn_id = CONN;
	ep.req_evd = ep.recv_evd = &evd;
	ep.req = (struct dofi_ring){.base = slots[0],
				    .stride = sizeof(slots[0]),
				    .mask = SLOTS - 1,
				    .limit = SLOTS,
				    .max_iov = SEGMENTS,
				    .fabric_iov = SEGMENTS,
				    .desc_at = offsetof(struct dofi_wr, iov[SEGMENTS])};
	ep.attr.max_request_iov = ep.attr.max_rdma_read_iov = ep.attr.max_rdma_write_iov = SEGMENTS;
	memset(slots, 0xa5, sizeof(slots)); /* of former requests */
}

/* --- the calls --- */

enum call { INVALIDATE, IMMEDIATE, ATOMIC, DATAGRAMS, BIND, TO_RMR, CALLS };

/* The arguments; a test changes one. */
static struct {
	DAT_EP_HANDLE ep;
	DAT_COUNT n;
	const DAT_LMR_TRIPLET *iov;
	const DAT_RMR_TRIPLET *remote, *sink;
	const void *ah;
	DAT_RMR_HANDLE rmr;
	DAT_COMPLETION_FLAGS flags;
	DAT_RMR_CONTEXT context;
	DAT_RMR_CONTEXT *context_p;
} with;

static DAT_RMR_CONTEXT bound;
static DAT_RMR_TRIPLET sink;

static void usual_arguments(enum call call)
{
	with.ep = &ep;
	with.n = 1;
	with.iov = segments;
	with.remote = &remote;
	sink = (DAT_RMR_TRIPLET){.virtual_address = BASE + 8,
				 .segment_length = 16,
				 .rmr_context = CONTEXT};
	with.sink = &sink;
	with.ah = &ah;
	with.rmr = &rmr;
	with.context = 99;
	with.context_p = &bound;
	ep.ud = call == DATAGRAMS ? (struct dofi_ud *)&ah : NULL; /* never dereferenced */
}

static DAT_RETURN post(enum call call)
{
	switch (call) {
	case INVALIDATE:
		return dofi_ep_post_send_invalidate(with.ep, with.n, with.iov, cookie, with.flags,
						    with.context);
	case IMMEDIATE:
		return dofi_ep_post_write_immediate(with.ep, with.n, with.iov, cookie, with.remote,
						    0xabcd, with.flags);
	case ATOMIC:
		return dofi_ep_post_atomic(with.ep, DOFI_OP_CMP_SWAP, 11, 22, with.iov, cookie,
					   with.remote, with.flags);
	case DATAGRAMS:
		return dofi_ep_post_send_ud(with.ep, with.n, with.iov, with.ah, cookie, with.flags);
	case BIND:
		return dofi_rmr_bind_based(with.rmr, with.iov, DAT_MEM_PRIV_REMOTE_READ_FLAG, true,
					   with.ep, (DAT_RMR_COOKIE){.as_64 = 4711}, with.flags,
					   with.context_p);
	default:
		return dofi_ep_post_read_to_rmr(with.ep, with.sink, cookie, with.remote,
						with.flags);
	}
}

/* No lock is kept, and the ring has so many requests. */
static void expect_waiting(uint32_t n)
{
	ck_assert_uint_eq(dofi_ring_count(&ep.req), n);
	ck_assert_uint_eq(ep.req.issue, ep.req.head);
	ck_assert(dofi_trylock(&ep.lock));
	dofi_unlock(&ep.lock);
}

static void refuses(enum call call, DAT_RETURN wanted)
{
	DAT_RETURN ret = post(call);

	ck_assert_msg(ret == wanted, "call %d: 0x%x, not 0x%x", call, ret, wanted);
	expect_waiting(0);
	usual_arguments(call);
}

/* Posts, and returns the request. */
static struct dofi_wr *accepts(enum call call)
{
	uint32_t n = dofi_ring_count(&ep.req);

	ck_assert_uint_eq(post(call), DAT_SUCCESS);
	expect_waiting(n + 1);
	return dofi_ring_at(&ep.req, ep.req.tail - 1);
}

/* --- wrong arguments --- */

START_TEST(a_post_needs_its_handles)
{
	const DAT_RETURN no_ep = DOFI_BAD_HANDLE(EP);

	usual_arguments((enum call)_i);
	with.ep = &rmr;
	refuses((enum call)_i, no_ep);
	with.ep = DAT_HANDLE_NULL;
	refuses((enum call)_i, no_ep);
}
END_TEST

START_TEST(a_post_needs_its_structures)
{
	usual_arguments(INVALIDATE);
	with.context = 0;
	refuses(INVALIDATE, DOFI_BAD_ARG(7));
	with.iov = NULL;
	refuses(INVALIDATE, DOFI_BAD_ARG(2));
	with.remote = NULL;
	refuses(IMMEDIATE, DOFI_BAD_ARG(5));
	with.iov = NULL;
	refuses(ATOMIC, DOFI_BAD_ARG(3));
	with.remote = NULL;
	refuses(ATOMIC, DOFI_BAD_ARG(5));
	with.sink = NULL;
	refuses(TO_RMR, DOFI_BAD_ARG(2));
	with.remote = NULL;
	refuses(TO_RMR, DOFI_BAD_ARG(4));
	with.rmr = &ep;
	refuses(BIND, DOFI_BAD_HANDLE(RMR));
	with.iov = NULL;
	refuses(BIND, DOFI_BAD_ARG(2));
	with.context_p = NULL;
	refuses(BIND, DOFI_BAD_ARG(7));
}
END_TEST

/* Which flags each call has, and the number of their argument. */
START_TEST(a_post_names_the_argument_of_its_flags)
{
	static const struct {
		DAT_RETURN wrong;
		bool message;
	} calls[] = {
		[INVALIDATE] = {DOFI_BAD_ARG(5), true}, [IMMEDIATE] = {DOFI_BAD_ARG(7), true},
		[ATOMIC] = {DOFI_BAD_ARG(6), true},     [DATAGRAMS] = {DOFI_BAD_ARG(6), true},
		[BIND] = {DOFI_BAD_ARG(6), false},      [TO_RMR] = {DOFI_BAD_ARG(6), false},
	};
	enum call call = (enum call)_i;

	usual_arguments(call);
	segments[0].segment_length = 8;
	with.flags = UNKNOWN;
	refuses(call, calls[call].wrong);
	with.flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	refuses(call, calls[call].wrong);
	with.flags = SOLICITED;
	if (!calls[call].message)
		refuses(call, calls[call].wrong);
	else
		ck_assert_uint_eq(accepts(call)->flags, SOLICITED);
	with.flags = SUPPRESS | BARRIER;
	ck_assert_uint_eq(accepts(call)->flags, SUPPRESS | BARRIER);
	ep.attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	with.flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	ck_assert_uint_eq(accepts(call)->flags, DAT_COMPLETION_UNSIGNALLED_FLAG);
}
END_TEST

START_TEST(a_post_needs_a_connection_and_room)
{
	enum call call = (enum call)_i;

	usual_arguments(call);
	ep.req.limit = 0;
	refuses(call, DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	ep.req.limit = SLOTS;
	ep.state = DAT_EP_STATE_UNCONNECTED;
	if (call == DATAGRAMS)
		accepts(call);
	else
		refuses(call, DOFI_BAD_STATE(EP_UNCONNECTED));
}
END_TEST

START_TEST(a_post_needs_what_the_fabric_or_control_slots_do)
{
	enum call call = (enum call)_i;

	usual_arguments(call);
	ia.ctrl_memory.slots = NULL;
	refuses(call, DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
	ep.ctrl_msgs = (struct dofi_ctrl_msgs *)&ah; /* never dereferenced */
	accepts(call);
	ep.ctrl_msgs = NULL;
	ia.has_immediates = call == IMMEDIATE;
	ia.has_atomics = call == ATOMIC;
	if (call != INVALIDATE)
		accepts(call);
}
END_TEST

/* The number of segments and their length. */
START_TEST(each_post_has_its_limits)
{
	usual_arguments(DATAGRAMS);
	with.n = SEGMENTS + 1;
	refuses(DATAGRAMS, DOFI_BAD_ARG(2));
	segments[0].segment_length = DATAGRAM + 1;
	refuses(DATAGRAMS, DOFI_BAD_ARG(3));
	segments[0].segment_length = DATAGRAM;
	ck_assert_uint_eq(accepts(DATAGRAMS)->length, DATAGRAM);
	ep.req.head = ep.req.issue = ep.req.tail;
	usual_arguments(INVALIDATE);
	with.n = SEGMENTS + 1;
	refuses(INVALIDATE, DOFI_BAD_ARG(2));
	segments[0].segment_length = MESSAGE + 1;
	refuses(INVALIDATE, DOFI_BAD_ARG(3));
	with.n = SEGMENTS + 1;
	refuses(IMMEDIATE, DOFI_BAD_ARG(2));
	remote.segment_length = RDMA + 1;
	segments[0].segment_length = RDMA + 1;
	refuses(IMMEDIATE, DOFI_BAD_ARG(3));
	segments[0].segment_length = 17;
	remote.segment_length = 16;
	refuses(IMMEDIATE, DOFI_ERR(DAT_LENGTH_ERROR, 0));
}
END_TEST

/* The attributes of the EP have a number for messages and one for writes. */
START_TEST(each_post_has_its_number_of_segments)
{
	for (int call = INVALIDATE; call <= DATAGRAMS; call++) {
		usual_arguments((enum call)call);
		ep.attr.max_rdma_read_iov = 0;
		ep.attr.max_request_iov = call == INVALIDATE || call == DATAGRAMS;
		ep.attr.max_rdma_write_iov = call == IMMEDIATE;
		accepts((enum call)call); /* an atomic operation always has one */
		ep.req.head = ep.req.issue = ep.req.tail;
		ep.attr.max_request_iov = !ep.attr.max_request_iov;
		ep.attr.max_rdma_write_iov = !ep.attr.max_rdma_write_iov;
		if (call != ATOMIC)
			refuses((enum call)call, DOFI_BAD_ARG(2));
	}
}
END_TEST

/* Each segment by itself is short. */
START_TEST(a_sum_of_lengths_that_overflows_is_too_long)
{
	usual_arguments(INVALIDATE);
	with.n = 2;
	segments[0].segment_length = (__typeof__(segments[0].segment_length))-1;
	segments[1].segment_length = (__typeof__(segments[1].segment_length))-1;
	refuses(INVALIDATE, DOFI_BAD_ARG(3));
}
END_TEST

/* --- the requests --- */

static void expect_segment(const struct dofi_wr *wr, uint16_t i, uint64_t at, size_t length)
{
	ck_assert_uint_lt(i, wr->niov);
	ck_assert_uint_eq((uintptr_t)wr->iov[i].iov_base, at);
	ck_assert_uint_eq(wr->iov[i].iov_len, length);
	ck_assert_ptr_eq(dofi_wr_desc(&ep.req, (struct dofi_wr *)(uintptr_t)wr)[i], &lmr);
}

static void expect_request(const struct dofi_wr *wr, enum dofi_op op, uint64_t length)
{
	ck_assert_uint_eq(wr->op, op);
	ck_assert_ptr_eq(wr->ep, &ep);
	ck_assert_uint_eq(wr->cookie, 4711);
	ck_assert_uint_eq(wr->length, length);
	ck_assert_uint_eq(wr->state, DOFI_WR_QUEUED);
	ck_assert_uint_eq(wr->status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(wr->nlast, 0);
	ck_assert_uint_eq(wr->split, 0);
}

static uint64_t counted(unsigned int counter)
{
	return atomic_load(&ep.counters[counter]);
}

START_TEST(a_send_that_invalidates)
{
	const struct dofi_wr *wr;

	usual_arguments(INVALIDATE);
	with.n = 2;
	segments[1].segment_length = 5;
	wr = accepts(INVALIDATE);
	expect_request(wr, DOFI_OP_SEND_INVALIDATE, 13);
	ck_assert_uint_eq(wr->niov, 2);
	expect_segment(wr, 0, 0x770000, 8);
	expect_segment(wr, 1, 0x770020, 5);
	ck_assert_uint_eq(wr->send.context, 99);
	ck_assert_uint_eq(wr->send.step, 0);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_POST_SEND), 1);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_POST_SEND + 1), 13);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_HELD), 1);
}
END_TEST

START_TEST(a_write_with_immediate_data)
{
	struct dofi_wr *wr;

	usual_arguments(IMMEDIATE);
	wr = accepts(IMMEDIATE);
	expect_request(wr, DOFI_OP_WRITE_IMM, 8);
	expect_segment(wr, 0, 0x770000, 8);
	ck_assert_uint_eq(*dofi_wr_immediate(&ep.req, wr), 0xabcd);
	ck_assert_uint_eq(wr->rdma.remote.address, 0x1010);
	ck_assert_uint_eq(wr->rdma.context, 0x30007);
	ck_assert_uint_eq(wr->rdma.step, 0);
	ck_assert_uint_eq(wr->rdma.given, 0);
	ck_assert(!wr->rdma.written);
	ck_assert(!wr->rdma.resolved);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_POST_WRITE_IMM), 1);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_POST_WRITE_IMM + 1), 8);
}
END_TEST

/* It uses no memory of the peer, whose segment is not looked at. */
START_TEST(immediate_data_alone)
{
	struct dofi_wr *wr;

	usual_arguments(IMMEDIATE);
	memset(slots, _i ? 0xa5 : 0, sizeof(slots));
	with.n = 0;
	with.remote = _i ? &remote : NULL;
	wr = accepts(IMMEDIATE);
	expect_request(wr, DOFI_OP_WRITE_IMM, 0);
	ck_assert_uint_eq(wr->niov, 0);
	ck_assert_uint_eq(*dofi_wr_immediate(&ep.req, wr), 0xabcd);
	ck_assert_uint_eq(wr->rdma.remote.address, 0);
	ck_assert_uint_eq(wr->rdma.remote.target, 0);
	ck_assert(wr->rdma.resolved);
}
END_TEST

START_TEST(an_atomic_operation)
{
	const struct dofi_wr *wr;

	usual_arguments(ATOMIC);
	remote.segment_length = 8;
	wr = accepts(ATOMIC);
	expect_request(wr, DOFI_OP_CMP_SWAP, 8);
	expect_segment(wr, 0, 0x770000, 8);
	ck_assert_uint_eq(wr->atomic.address, 0x1010);
	ck_assert_uint_eq(wr->atomic.context, 0x30007);
	ck_assert_uint_eq(wr->atomic.operand, 11);
	ck_assert_uint_eq(wr->atomic.compare, 22);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_POST_CMP_SWAP), 1);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_POST_FETCH_ADD), 0);
	ck_assert_uint_eq(dofi_ep_post_atomic(&ep, DOFI_OP_FETCH_ADD, 1, 0, segments, cookie,
					      &remote, (DAT_COMPLETION_FLAGS)0),
			  DAT_SUCCESS);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_POST_CMP_SWAP), 1);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_POST_FETCH_ADD), 1);
}
END_TEST

/* It changes one word and stores the old value of the word. */
START_TEST(an_atomic_operation_is_about_a_word)
{
	usual_arguments(ATOMIC);
	segments[0].segment_length = 7;
	refuses(ATOMIC, DOFI_BAD_ARG(3));
	segments[0].segment_length = 9;
	refuses(ATOMIC, DOFI_BAD_ARG(3));
	segments[0].segment_length = 8;
	remote.segment_length = 7;
	refuses(ATOMIC, DOFI_BAD_ARG(5));
	remote.segment_length = 8;
	lmr.privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	refuses(ATOMIC, DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0));
	accepts(IMMEDIATE); /* which only reads it */
}
END_TEST

START_TEST(a_datagram_goes_to_its_address_handle)
{
	const struct dofi_wr *wr;

	usual_arguments(DATAGRAMS);
	ep.ud = NULL;
	refuses(DATAGRAMS, DOFI_BAD_HANDLE(EP));
	with.ah = &ep;
	refuses(DATAGRAMS, DOFI_BAD_ARG(4));
	with.ah = NULL;
	refuses(DATAGRAMS, DOFI_BAD_ARG(4));
	ah.obj.ia = &another;
	refuses(DATAGRAMS, DOFI_BAD_ARG(4));
	ah.obj.ia = &ia;
	atomic_store(&ah.ah_freed, true);
	refuses(DATAGRAMS, DOFI_BAD_ARG(4));
	atomic_store(&ah.ah_freed, false);
	wr = accepts(DATAGRAMS);
	expect_request(wr, DOFI_OP_SEND_UD, 8);
	expect_segment(wr, 0, 0x770000, 8);
	ck_assert_ptr_eq(wr->send.ah, &ah);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_POST_SEND_UD), 1);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_POST_SEND_UD + 1), 8);
}
END_TEST

START_TEST(a_bind_reserves_its_context)
{
	struct dofi_bind *bind;
	struct dofi_wr *wr;

	usual_arguments(BIND);
	wr = accepts(BIND);
	bind = dofi_wr_bind(wr);
	ck_assert_uint_eq(wr->op, DOFI_OP_BIND);
	ck_assert_uint_eq(wr->cookie, 4711);
	ck_assert_uint_eq(wr->niov, 0);
	ck_assert_uint_eq(wr->length, 0);
	ck_assert_uint_ne(bound, 0);
	ck_assert_uint_eq(bind->context, bound);
	ck_assert_uint_eq(bind->conn, CONN);
	ck_assert(bind->zero_based);
	ck_assert_ptr_eq(bind->rmr, &rmr);
	ck_assert_ptr_eq(bind->lmr, &lmr);
	ck_assert_int_eq(bind->privileges, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	ck_assert_uint_eq(bind->triplet.virtual_address, BASE);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_POST_CMP_SWAP), 0);
	ck_assert_uint_eq(counted(DOFI_CNT_EP_POST_FETCH_ADD), 0);
	ck_assert_uint_eq(rmr.refs, 2);
	rmr.pz = &foreign;
	ck_assert_uint_eq(post(BIND), DOFI_ERR(DAT_PROTECTION_VIOLATION, 0));
	expect_waiting(1);
	ck_assert_uint_eq(rmr.refs, 2);
}
END_TEST

/* --- reads into memory that an RMR context names --- */

START_TEST(a_read_into_an_RMR)
{
	const struct dofi_wr *wr;

	usual_arguments(TO_RMR);
	wr = accepts(TO_RMR);
	expect_request(wr, DOFI_OP_READ, 16);
	expect_segment(wr, 0, 0x770008, 16);
	ck_assert_uint_eq(wr->rdma.remote.address, 0x1010);
	ck_assert_uint_eq(wr->rdma.context, 0x30007);
}
END_TEST

/* The memory is looked at only if the request could be posted. */
START_TEST(a_read_into_an_RMR_needs_a_connection_first)
{
	usual_arguments(TO_RMR);
	sink.rmr_context = 0;
	ep.state = DAT_EP_STATE_UNCONNECTED;
	refuses(TO_RMR, DOFI_BAD_STATE(EP_UNCONNECTED));
	sink.rmr_context = 0;
	ep.state = DAT_EP_STATE_CONNECTED;
	ep.req.limit = 0;
	refuses(TO_RMR, DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
}
END_TEST

static const struct {
	uint64_t offset;
	uint32_t length, context;
	unsigned int rights;
	uint16_t zone;
	DAT_RETURN says;
} sinks[] = {
	{0, LENGTH, CONTEXT, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, ZONE, DAT_SUCCESS},
	{LENGTH - 8, 8, CONTEXT, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, ZONE, DAT_SUCCESS},
	{0, 8, CONTEXT, DAT_MEM_PRIV_REMOTE_WRITE_FLAG | DOFI_CTX_EP_SCOPE, CONN, DAT_SUCCESS},
	{0, 8, 0, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, ZONE, DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0)},
	{0, 8, CONTEXT ^ 1u << 16, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, ZONE,
	 DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0)},
	{0, 8, CONTEXT, DAT_MEM_PRIV_REMOTE_READ_FLAG, ZONE, DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0)},
	{0, 8, CONTEXT, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, ZONE + 1,
	 DOFI_ERR(DAT_PROTECTION_VIOLATION, 0)},
	{0, 8, CONTEXT, DAT_MEM_PRIV_REMOTE_WRITE_FLAG | DOFI_CTX_EP_SCOPE, ZONE,
	 DOFI_ERR(DAT_PROTECTION_VIOLATION, 0)},
	{(uint64_t)-1, 8, CONTEXT, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, ZONE, DOFI_BAD_ARG(2)},
	{LENGTH - 7, 8, CONTEXT, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, ZONE, DOFI_BAD_ARG(2)},
	{0, LENGTH + 1, CONTEXT, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, ZONE, DOFI_BAD_ARG(2)},
};

START_TEST(an_RMR_has_to_allow_it)
{
	usual_arguments(TO_RMR);
	ia.limits.max_rdma = remote.segment_length = sinks[_i].length;
	sink.virtual_address = BASE + sinks[_i].offset;
	sink.segment_length = sinks[_i].length;
	sink.rmr_context = sinks[_i].context;
	expose(sinks[_i].rights, sinks[_i].zone);
	if (sinks[_i].says == DAT_SUCCESS)
		expect_segment(accepts(TO_RMR), 0, 0x770000 + sinks[_i].offset, sinks[_i].length);
	else
		refuses(TO_RMR, sinks[_i].says);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("post_special");
	TCase *tc = tcase_create("arguments");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, a_post_needs_its_handles, 0, CALLS);
	tcase_add_test(tc, a_post_needs_its_structures);
	tcase_add_loop_test(tc, a_post_names_the_argument_of_its_flags, 0, CALLS);
	tcase_add_loop_test(tc, a_post_needs_a_connection_and_room, 0, CALLS);
	tcase_add_loop_test(tc, a_post_needs_what_the_fabric_or_control_slots_do, INVALIDATE,
			    ATOMIC + 1);
	tcase_add_test(tc, each_post_has_its_limits);
	tcase_add_test(tc, each_post_has_its_number_of_segments);
	tcase_add_test(tc, a_sum_of_lengths_that_overflows_is_too_long);
	suite_add_tcase(suite, tc);

	tc = tcase_create("requests");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_send_that_invalidates);
	tcase_add_test(tc, a_write_with_immediate_data);
	tcase_add_loop_test(tc, immediate_data_alone, 0, 2);
	tcase_add_test(tc, an_atomic_operation);
	tcase_add_test(tc, an_atomic_operation_is_about_a_word);
	tcase_add_test(tc, a_datagram_goes_to_its_address_handle);
	tcase_add_test(tc, a_bind_reserves_its_context);
	tcase_add_test(tc, a_read_into_an_RMR);
	tcase_add_test(tc, a_read_into_an_RMR_needs_a_connection_first);
	tcase_add_loop_test(tc, an_RMR_has_to_allow_it, 0, sizeof(sinks) / sizeof(sinks[0]));
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
