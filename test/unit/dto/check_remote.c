/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The peer's memory: how the entry of a context is read, which access it allows, what becomes of a
 * request that it does not allow, and where the peer's control slots are.
 */
#include "unit.h"

#include "../../../prov/ofi/dto/control.h"
#include "../../../prov/ofi/dto/control_message.h"
#include "../../../prov/ofi/dto/issue.h"
#include "../../../prov/ofi/dto/reap.h"
#include "../../../prov/ofi/dto/remote_context.h"
#include "../../../prov/ofi/object/ctxtab.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/object/upcalls.h"
#include "../../../prov/ofi/progress/evd.h"

#include <rdma/fi_errno.h>
#include <string.h>

#define REQUESTS 8u
#define INDEX    5u
#define CONTEXT  (3u << 16 | INDEX)
#define RIVAL    (3u << 16 | (INDEX + DOFI_RCACHE_SIZE)) /* the same place of the cache */
#define ENTRIES  100u
#define TABLE    0x7000u /* where the peer has its table */
#define BASE     0x100u
#define LENGTH   64u
#define ADDRESS  0x1000u
#define KEY      77u
#define ZONE     3u
#define THEIRS   9u
#define SCRATCH  1u

static struct dofi_ia ia;
static struct dofi_ep ep;
static struct dofi_evd evd;
static struct dofi_event events[REQUESTS];
static struct dofi_wr requests[REQUESTS];
static struct dofi_ctx cache[DOFI_RCACHE_SIZE];
static struct dofi_ctx_wire scratch[SCRATCH + 1];
static struct dofi_own_wr aux;
static struct dofi_ctrl_msgs ctrl_msgs;
static char desc;

/* --- the fabric --- */

static struct {
	unsigned int peeks, reads, writes, messages;
	ssize_t answer; /* to a read of the table */
	uint64_t raddr;
	bool is_over, full;
	uint32_t subscribed;
} seen;

static ssize_t take_peek(struct dofi_ep *of, struct dofi_wr *wr, void *buf, size_t size, void *with,
			 uint64_t raddr, uint64_t rkey)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert_ptr_eq(wr, &aux.wr);
	ck_assert_ptr_eq(wr->ep, &ep);
	ck_assert_int_eq(wr->op, DOFI_OP_PEEK);
	ck_assert_ptr_eq(buf, &scratch[SCRATCH]);
	ck_assert_uint_eq(size, sizeof(scratch[0]));
	ck_assert_ptr_eq(with, &desc);
	ck_assert_uint_eq(rkey, 55);
	seen.peeks += !seen.answer;
	seen.raddr = raddr;
	return seen.answer;
}

static ssize_t take_read(struct dofi_ep *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert(wr->rdma.resolved);
	seen.reads += !seen.full;
	return seen.full ? -FI_EAGAIN : 0;
}

static ssize_t take_write(struct dofi_ep *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert(wr->rdma.resolved);
	seen.writes++;
	return 0;
}

static ssize_t take_record(struct dofi_ep *of, const void *record, size_t size)
{
	(void)record, (void)size;
	ck_assert_ptr_eq(of, &ep);
	return 0;
}

static ssize_t take_message(struct dofi_ep *of, struct dofi_wr *wr)
{
	ck_assert_ptr_eq(of, &ep);
	ck_assert_int_eq(wr->op, DOFI_OP_WRITE_IMM);
	seen.messages++;
	return 0;
}

static const struct dofi_trans_ops with_eq = {.peek = take_peek,
					      .read = take_read,
					      .write = take_write,
					      .ctrl_msg = take_record,
					      .send = take_message,
					      .has_eq = true},
				   without_eq = {.peek = take_peek};

static bool is_over(const struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	return seen.is_over;
}

static void subscribe(struct dofi_ep *of)
{
	ck_assert_ptr_eq(of, &ep);
	seen.subscribed = ep.subscribe_to;
	ep.subscribe_to = 0;
}

static const struct dofi_upcalls upcalls = {.is_over = is_over, .subscribe = subscribe};

/* --- */

static struct dofi_ctx *entry(void)
{
	return &cache[CONTEXT % DOFI_RCACHE_SIZE];
}

static const struct dofi_ctx good = {.context = CONTEXT,
				     .key = KEY,
				     .address = ADDRESS,
				     .base = BASE,
				     .length = LENGTH,
				     .privileges = DAT_MEM_PRIV_REMOTE_READ_FLAG |
						   DAT_MEM_PRIV_REMOTE_WRITE_FLAG |
						   DOFI_CTX_ANNOUNCED,
				     .pz = ZONE};

static void setup(void)
{
	struct dofi_lock *locks[] = {&ia.engine.lock, &ia.engine.stalled_lock, &ep.lock, &evd.lock};

	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++)
		dofi_lock_init(locks[i]);
	dofi_list_init(&ia.engine.stalled);
	ia.trans = ep.trans = &with_eq;
	ia.up = &upcalls;
	ia.scratch.slots = scratch;
	ia.scratch.desc = &desc;
	evd.obj.ia = ep.obj.ia = &ia;
	evd.ring = events;
	evd.qlen = REQUESTS;
	ep.req_evd = ep.recv_evd = &evd;
	ep.state = DAT_EP_STATE_CONNECTED;
	ep.path_up = true;
	ep.read_limit = REQUESTS;
	ep.rcache = cache;
	ep.aux = &aux;
	ep.scratch = SCRATCH;
	ep.peer = (struct dofi_peer_ep){.number = THEIRS,
					.pz = ZONE,
					.ctxtab_entries = ENTRIES,
					.ctxtab_address = TABLE,
					.ctxtab_key = 55};
	ep.req = (struct dofi_ring){.base = (char *)requests,
				    .stride = sizeof(requests[0]),
				    .mask = REQUESTS - 1,
				    .fabric_iov = 1};
	dofi_lock(&ia.engine.lock);
	dofi_lock(&ep.lock);
}

static void teardown(void)
{
	dofi_unlock(&ep.lock);
	dofi_unlock(&ia.engine.lock);
}

static struct dofi_wr *post(enum dofi_op op, uint32_t context, uint64_t address)
{
	struct dofi_wr *wr = dofi_ring_at(&ep.req, ep.req.tail);

	*wr = (struct dofi_wr){.ep = &ep,
			       .op = (uint8_t)op,
			       .length = 8,
			       .niov = 1,
			       .cookie = ep.req.tail,
			       .rdma = {.remote.address = address, .context = context}};
	ep.req.tail++;
	dofi_ep_issue_requests(&ep);
	return wr;
}

/* The operation of the fabric ends. */
static void end(struct dofi_wr *wr, int err)
{
	dofi_unlock(&ep.lock);
	dofi_reap_done(wr, err, 0, 0, 0);
	dofi_lock(&ep.lock);
}

/* The read of the table ends; this entry was there. */
static void end_peek(const struct dofi_ctx *ctx)
{
	scratch[SCRATCH] = dofi_ctx_encode(ctx);
	end(&aux.wr, 0);
}

static void expect_event(uint32_t at, uint64_t cookie, uint8_t status)
{
	ck_assert_uint_gt(dofi_evd_queued(&evd), at);
	ck_assert_uint_eq(dofi_evd_slot(&evd, at)->dto.cookie, cookie);
	ck_assert_uint_eq(dofi_evd_slot(&evd, at)->status, status);
}

/* --- the entry --- */

START_TEST(an_entry_is_read_once)
{
	struct dofi_wr *first = post(DOFI_OP_READ, CONTEXT, BASE + 8),
		       *second = post(DOFI_OP_WRITE, CONTEXT, BASE + 16);

	ck_assert_uint_eq(seen.peeks, 1);
	ck_assert_uint_eq(seen.raddr, TABLE + INDEX * sizeof(struct dofi_ctx_wire));
	ck_assert_uint_eq(ep.req.issue, 0);
	end_peek(&good);
	ck_assert(!ep.peeking);
	ck_assert_uint_eq(seen.reads, 1);
	ck_assert_uint_eq(seen.writes, 1);
	ck_assert_uint_eq(first->rdma.remote.target, ADDRESS + 8);
	ck_assert_uint_eq(second->rdma.remote.target, ADDRESS + 16);
	ck_assert_uint_eq(second->rdma.remote.key, KEY);
	post(DOFI_OP_READ, CONTEXT, BASE);
	ck_assert_uint_eq(seen.reads, 2);
	ck_assert_uint_eq(seen.peeks, 1);
	ck_assert(!ep.faulty && !ep.refused);
}
END_TEST

/* Each place of the cache serves many contexts. */
START_TEST(another_context_takes_the_place_in_the_cache)
{
	struct dofi_ctx rival = good;

	*entry() = good;
	rival.context = RIVAL;
	post(DOFI_OP_READ, RIVAL, BASE);
	ck_assert_uint_eq(seen.peeks, 1);
	end_peek(&rival);
	ck_assert_uint_eq(entry()->context, RIVAL);
	ck_assert_uint_eq(seen.reads, 1);
}
END_TEST

/* The peer has not confirmed yet that it has ended that context: its table may be out of date. */
START_TEST(an_ended_context_keeps_its_place)
{
	*entry() = (struct dofi_ctx){.context = CONTEXT};
	post(DOFI_OP_READ, RIVAL, BASE);
	ck_assert_uint_eq(seen.peeks, 0);
	ck_assert_uint_eq(ep.req.issue, 0);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	*entry() = (struct dofi_ctx){0};
	dofi_ep_issue_requests(&ep);
	ck_assert_uint_eq(seen.peeks, 1);
}
END_TEST

/* A Send has ended the context while its entry was read. */
START_TEST(an_outdated_entry_is_not_used)
{
	post(DOFI_OP_READ, CONTEXT, BASE);
	ep.peek_outdated = true;
	end_peek(&good);
	ck_assert_uint_eq(entry()->context, 0);
	ck_assert_uint_eq(seen.reads, 0);
	ck_assert_uint_eq(seen.peeks, 2);
	ck_assert(!ep.peek_outdated);
	end_peek(&good);
	ck_assert_uint_eq(seen.reads, 1);
}
END_TEST

/* --- an entry whose end the peer does not announce --- */

static struct dofi_ctx unannounced(void)
{
	struct dofi_ctx ctx = good;

	ctx.privileges &= (uint16_t)~DOFI_CTX_ANNOUNCED;
	return ctx;
}

/* Posts a read, whose context is looked up, and ends it. */
static void read_once(void)
{
	struct dofi_ctx ctx = unannounced();
	unsigned int peeks = seen.peeks, reads = seen.reads;
	struct dofi_wr *wr = post(DOFI_OP_READ, CONTEXT, BASE);

	ck_assert_uint_eq(seen.peeks, peeks + 1);
	end_peek(&ctx);
	ck_assert_uint_eq(seen.reads, reads + 1);
	end(wr, 0);
}

START_TEST(an_unannounced_entry_serves_those_that_wait)
{
	struct dofi_ctx ctx = unannounced();
	struct dofi_wr *waits;

	ep.read_limit = 2;
	post(DOFI_OP_READ, CONTEXT, BASE);
	post(DOFI_OP_READ, CONTEXT, BASE + 8);
	waits = post(DOFI_OP_READ, CONTEXT, BASE + 16);
	end_peek(&ctx);
	ck_assert_uint_eq(seen.reads, 2);
	ck_assert_uint_eq(entry()->context, 0);
	ck_assert(!waits->rdma.resolved);
	end(dofi_ring_at(&ep.req, 0), 0);
	ck_assert_uint_eq(seen.peeks, 2); /* the third looks for it again */
	end_peek(&ctx);
	ck_assert_uint_eq(seen.reads, 3);
}
END_TEST

/* A request may have its key and wait for the fabric. */
START_TEST(a_request_that_the_fabric_did_not_take_looks_again)
{
	struct dofi_ctx ctx = unannounced(), none = {.context = CONTEXT + (1u << 16)};
	struct dofi_wr *wr = post(DOFI_OP_READ, CONTEXT, BASE);

	seen.full = true;
	end_peek(&ctx);
	ck_assert_uint_eq(seen.reads, 0);
	ck_assert(!wr->rdma.resolved);
	seen.full = false;
	dofi_ep_issue_requests(&ep);
	ck_assert_uint_eq(seen.peeks, 2);
	end_peek(&none); /* it has ended meanwhile */
	expect_event(0, 0, DAT_DTO_ERR_REMOTE_ACCESS);
	ck_assert_uint_eq(seen.reads, 0);
}
END_TEST

START_TEST(after_some_reads_the_ep_subscribes)
{
	for (int i = 0; i < 3; i++)
		read_once();
	ck_assert_uint_eq(ep.subscribe_to, 0);
	read_once();
	ck_assert_uint_eq(ep.subscribe_to, CONTEXT);
	ck_assert(ep.stall.waits);
	dofi_unlock(&ep.lock);
	dofi_ep_retry(&ep.stall);
	dofi_lock(&ep.lock);
	ck_assert_uint_eq(seen.subscribed, CONTEXT);
}
END_TEST

START_TEST(the_owner_that_does_not_answer_is_asked_again)
{
	for (int i = 0; i < 4; i++)
		read_once();
	ep.subscribe_to = 0;
	for (int i = 0; i < 4; i++)
		read_once();
	ck_assert_uint_eq(ep.subscribe_to, CONTEXT);
}
END_TEST

START_TEST(a_subscribed_entry_stays)
{
	struct dofi_ctx ctx = unannounced();

	read_once();
	dofi_remote_context_subscribed(&ep, RIVAL); /* the answer to an earlier subscription */
	read_once();
	dofi_remote_context_subscribed(&ep, CONTEXT);
	ck_assert_uint_eq(entry()->context, 0); /* it may have ended before */
	post(DOFI_OP_READ, CONTEXT, BASE);
	end_peek(&ctx);
	ck_assert_uint_eq(entry()->context, CONTEXT);
	post(DOFI_OP_READ, CONTEXT, BASE);
	ck_assert_uint_eq(seen.peeks, 3);
	ck_assert_uint_eq(seen.reads, 4);
	/* It ends. */
	dofi_remote_context_forget(&ep, CONTEXT);
	ck_assert_uint_eq(entry()->context, 0);
	read_once();
	ck_assert_uint_eq(entry()->context, 0);
}
END_TEST

/* Over shared memory the owner tells of each end. */
START_TEST(an_entry_over_shared_memory_stays)
{
	struct dofi_ctx ctx = unannounced();

	ep.memory = (struct dofi_memory_path *)(void *)&ep;
	post(DOFI_OP_READ, CONTEXT, BASE);
	end_peek(&ctx);
	ck_assert_uint_eq(entry()->context, CONTEXT);
	ck_assert_uint_eq(ep.ctx_uses[CONTEXT % DOFI_RCACHE_SIZE].reads, 0);
}
END_TEST

START_TEST(a_new_connection_knows_no_contexts)
{
	for (int i = 0; i < 4; i++)
		read_once();
	*entry() = good;
	dofi_remote_context_subscribed(&ep, CONTEXT);
	dofi_remote_context_reset(&ep);
	ck_assert_uint_eq(ep.subscribe_to, 0);
	ck_assert_uint_eq(entry()->context, 0);
	read_once();
	ck_assert_uint_eq(entry()->context, 0);
}
END_TEST

/* --- the table as a whole --- */

/* The final sync of a disconnect reads the table for the round trip. */
START_TEST(a_sync_changes_no_entry)
{
	const struct dofi_ctx first = {.context = DOFI_RCACHE_SIZE, .privileges = 1};

	cache[0] = first;
	ck_assert(dofi_ep_sync(&ep));
	ck_assert(ep.peeking);
	ck_assert_uint_eq(seen.raddr, TABLE);
	ck_assert(!dofi_ep_sync(&ep)); /* one at a time */
	ck_assert_uint_eq(seen.peeks, 1);
	end(&aux.wr, 0);
	ck_assert(!ep.peeking);
	ck_assert_uint_eq(cache[0].context, first.context);
	ck_assert_uint_eq(cache[0].privileges, first.privileges);
}
END_TEST

START_TEST(a_full_fabric_is_asked_again)
{
	seen.answer = -FI_EAGAIN;
	post(DOFI_OP_READ, CONTEXT, BASE);
	ck_assert(!ep.peeking && !ep.refused && ep.stall.waits);
	ck_assert_uint_eq(ep.counters[DOFI_CNT_EP_AGAIN], 1);
	seen.answer = 0;
	dofi_ep_issue_requests(&ep);
	ck_assert(ep.peeking);
	ck_assert_uint_eq(seen.peeks, 1);
}
END_TEST

/* An error breaks the connection. An operation that comes back shows that the path is gone. */
START_TEST(a_read_of_the_table_fails)
{
	static const struct {
		int err;
		bool has_eq, faulty, refused, path_up;
	} cases[] = {{FI_EIO, true, true, false, true},
		     {FI_ECANCELED, true, false, false, false},
		     {FI_ECANCELED, false, false, true, false}};

	post(DOFI_OP_READ, CONTEXT, BASE);
	ia.trans = ep.trans = cases[_i].has_eq ? &with_eq : &without_eq;
	scratch[SCRATCH] = dofi_ctx_encode(&good);
	end(&aux.wr, cases[_i].err);
	ck_assert(!ep.peeking);
	ck_assert(ep.faulty == cases[_i].faulty);
	ck_assert(ep.refused == cases[_i].refused);
	ck_assert(ep.path_up == cases[_i].path_up);
	ck_assert_uint_eq(entry()->context, 0);
	ck_assert_uint_eq(seen.reads, 0);
}
END_TEST

/* --- the access --- */

#define RD DAT_MEM_PRIV_REMOTE_READ_FLAG
#define WR DAT_MEM_PRIV_REMOTE_WRITE_FLAG

static const struct {
	enum dofi_op op;
	unsigned int rights;
	uint16_t pz;
	uint64_t address, length;
	bool good;
} accesses[] = {
	{DOFI_OP_READ, RD, ZONE, BASE, 8, true},
	{DOFI_OP_READ, WR, ZONE, BASE, 8, false},
	{DOFI_OP_WRITE, WR, ZONE, BASE, 8, true},
	{DOFI_OP_WRITE, RD, ZONE, BASE, 8, false},
	{DOFI_OP_WRITE_IMM, WR, ZONE, BASE, 8, true},
	{DOFI_OP_WRITE_IMM, RD, ZONE, BASE, 8, false},
	{DOFI_OP_READ, DOFI_MEM_PRIV_REMOTE_ATOMIC, ZONE, BASE, 8, false},
	{DOFI_OP_READ, RD, ZONE + 1, BASE, 8, false},
	{DOFI_OP_READ, RD | DOFI_CTX_EP_SCOPE, THEIRS, BASE, 8, true},
	{DOFI_OP_READ, RD | DOFI_CTX_EP_SCOPE, ZONE, BASE, 8, false},
	{DOFI_OP_READ, RD, ZONE, BASE, LENGTH, true},
	{DOFI_OP_READ, RD, ZONE, BASE, LENGTH + 1, false},
	{DOFI_OP_READ, RD, ZONE, BASE + LENGTH - 8, 8, true},
	{DOFI_OP_READ, RD, ZONE, BASE + LENGTH - 7, 8, false},
	{DOFI_OP_READ, RD, ZONE, BASE - 1, 8, false},
	{DOFI_OP_READ, RD, ZONE, 0, 8, false},
	{DOFI_OP_READ, RD, ZONE, UINT64_MAX, 8, false},
	{DOFI_OP_READ, RD, ZONE, BASE, UINT64_MAX, false},
};

START_TEST(access_needs_the_right_the_zone_and_the_bounds)
{
	struct dofi_wr wr = {.ep = &ep,
			     .op = (uint8_t)accesses[_i].op,
			     .length = accesses[_i].length,
			     .rdma = {.remote.address = accesses[_i].address, .context = CONTEXT}};

	*entry() = good;
	entry()->privileges = (uint16_t)accesses[_i].rights;
	entry()->pz = accesses[_i].pz;
	ck_assert_int_eq(dofi_issue_resolve(&ep, &wr), accesses[_i].good ? DOFI_GO : DOFI_REFUSED);
	ck_assert(wr.rdma.resolved == accesses[_i].good);
	if (accesses[_i].good)
		ck_assert_uint_eq(wr.rdma.remote.target, ADDRESS + accesses[_i].address - BASE);
	ck_assert_uint_eq(seen.peeks, 0);
}
END_TEST

/* The last entry of the peer's table, and the first number that it does not have. */
START_TEST(a_context_is_an_entry_of_the_table)
{
	static const struct {
		uint32_t context;
		enum dofi_verdict verdict;
	} cases[] = {{0, DOFI_REFUSED},
		     {1u << 16 | (ENTRIES - 1), DOFI_WAIT},
		     {1u << 16 | ENTRIES, DOFI_REFUSED}};
	struct dofi_wr wr = {.ep = &ep,
			     .op = DOFI_OP_READ,
			     .length = 8,
			     .rdma = {.remote.address = BASE, .context = cases[_i].context}};

	ck_assert_int_eq(dofi_issue_resolve(&ep, &wr), cases[_i].verdict);
	ck_assert_uint_eq(seen.peeks, cases[_i].verdict == DOFI_WAIT);
}
END_TEST

/* What was posted before it still succeeds, and what was posted behind it never starts. */
START_TEST(a_refused_request_fails_in_its_turn)
{
	struct dofi_wr *first;

	*entry() = good;
	first = post(DOFI_OP_READ, CONTEXT, BASE);
	post(DOFI_OP_READ, CONTEXT, BASE + LENGTH);
	post(DOFI_OP_READ, CONTEXT, BASE);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 0);
	ck_assert(!ep.faulty && !ep.stall.waits);
	end(first, 0);
	ck_assert_uint_eq(dofi_evd_queued(&evd), 2);
	expect_event(0, 0, DAT_DTO_SUCCESS);
	expect_event(1, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	ck_assert(ep.faulty && ep.stall.waits);
	ck_assert_uint_eq(ep.req.head, 2);
	ck_assert_uint_eq(ep.req.issue, 2);
	ck_assert_uint_eq(seen.reads, 1);
}
END_TEST

/* The peer's table has another use of the entry, or none. */
START_TEST(a_context_that_is_not_in_the_table)
{
	struct dofi_ctx other = good;

	other.context += _i << 16;
	post(DOFI_OP_READ, CONTEXT, BASE);
	if (_i)
		end_peek(&other);
	else
		end(&aux.wr, 0);
	expect_event(0, 0, DAT_DTO_ERR_REMOTE_ACCESS);
	ck_assert(ep.faulty && ep.stall.waits);
	ck_assert_uint_eq(seen.peeks, 1);
	ck_assert_uint_eq(entry()->context, CONTEXT);
	ck_assert_uint_eq(entry()->privileges, 0);
}
END_TEST

/*
 * The context ends while the message of a write with immediate data waits for the write. The
 * message needs no context. The engine has marked the request, because its answer to the peer waits
 * for the write (cm/invalidation.c).
 */
START_TEST(a_write_that_the_fabric_has_needs_no_context)
{
	struct dofi_wr *wr;

	*entry() = good;
	ia.order = DOFI_HOLD;
	ep.ctrl_msgs = &ctrl_msgs;
	ep.peer.ctrl_msgs = true;
	wr = post(DOFI_OP_WRITE_IMM, CONTEXT, BASE);
	ck_assert_uint_eq(seen.writes, 1);
	ck_assert_uint_eq(ep.req.issue, 0);
	wr->rdma.resolved = false;
	dofi_remote_context_forget(&ep, CONTEXT);
	dofi_ep_issue_requests(&ep);
	ck_assert_uint_eq(seen.peeks, 0);
	end(wr, 0);
	ck_assert_uint_eq(seen.peeks, 0);
	ck_assert_uint_eq(seen.messages, 1);
	ck_assert_uint_eq(ep.req.issue, 1);
	end(wr, 0);
	expect_event(0, 0, DAT_DTO_SUCCESS);
	ck_assert(!ep.faulty);
}
END_TEST

/* --- the peer's control slots --- */

static enum dofi_verdict asks_for_slots(enum dofi_op op)
{
	struct dofi_wr wr = {.ep = &ep, .op = (uint8_t)op};

	return dofi_issue_special(&ep, &wr);
}

START_TEST(the_place_of_the_control_slots_is_read_once)
{
	struct dofi_ctx slots = {.context = CONTEXT,
				 .key = 66,
				 .address = 0x6000,
				 .length = sizeof(struct dofi_ctrl_slots),
				 .privileges = DOFI_CTX_CTRL_SLOTS};

	ep.peer.ctrl_context = CONTEXT;
	ck_assert_int_eq(asks_for_slots(DOFI_OP_WRITE_IMM), DOFI_WAIT);
	ck_assert_uint_eq(seen.peeks, 1);
	ck_assert_uint_eq(seen.raddr, TABLE + INDEX * sizeof(struct dofi_ctx_wire));
	end_peek(&slots);
	ck_assert_int_eq(asks_for_slots(DOFI_OP_WRITE_IMM), DOFI_GO);
	ck_assert(ep.peer.ctrl_known);
	ck_assert_uint_eq(ep.peer.ctrl_key, 66);
	ck_assert_uint_eq(ep.peer.ctrl_address, 0x6000);
	*entry() = (struct dofi_ctx){0};
	ck_assert_int_eq(asks_for_slots(DOFI_OP_FETCH_ADD), DOFI_GO);
	ck_assert_uint_eq(seen.peeks, 1);
}
END_TEST

START_TEST(a_peer_without_control_slots_refuses)
{
	static const uint32_t contexts[] = {0, 1u << 16 | ENTRIES, CONTEXT};

	*entry() = good; /* memory of the program */
	ep.peer.ctrl_context = contexts[_i];
	ck_assert_int_eq(asks_for_slots(DOFI_OP_WRITE_IMM), DOFI_REFUSED);
	ck_assert_int_eq(asks_for_slots(DOFI_OP_FETCH_ADD), DOFI_REFUSED);
	ck_assert_uint_eq(seen.peeks, 0);
	/* In shared memory the record has its place in the ring, but for an atomic operation. */
	ep.streams = true;
	ck_assert_int_eq(asks_for_slots(DOFI_OP_WRITE_IMM), DOFI_GO);
	ck_assert_int_eq(asks_for_slots(DOFI_OP_FETCH_ADD), DOFI_REFUSED);
}
END_TEST

/* Over shared memory the message would end the context while earlier reads still need it. */
START_TEST(an_invalidation_over_shared_memory_waits_for_reads)
{
	ep.streams = true;
	ep.reads = 1;
	ck_assert_int_eq(asks_for_slots(DOFI_OP_SEND_INVALIDATE), DOFI_WAIT);
	ck_assert_int_eq(asks_for_slots(DOFI_OP_WRITE_IMM), DOFI_GO);
	ep.reads = 0;
	ck_assert_int_eq(asks_for_slots(DOFI_OP_SEND_INVALIDATE), DOFI_GO);
}
END_TEST

START_TEST(control_messages_need_a_peer_that_takes_them)
{
	ep.ctrl_msgs = &ctrl_msgs;
	ck_assert_int_eq(asks_for_slots(DOFI_OP_SEND_INVALIDATE), DOFI_REFUSED);
	ep.peer.ctrl_msgs = true;
	ck_assert_int_eq(asks_for_slots(DOFI_OP_SEND_INVALIDATE), DOFI_GO);
	ep.reads = 1;
	ck_assert_int_eq(asks_for_slots(DOFI_OP_SEND_INVALIDATE), DOFI_WAIT);
	ck_assert_uint_eq(seen.peeks, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("remote");
	TCase *tc = tcase_create("remote");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, an_entry_is_read_once);
	tcase_add_test(tc, another_context_takes_the_place_in_the_cache);
	tcase_add_test(tc, an_ended_context_keeps_its_place);
	tcase_add_test(tc, an_outdated_entry_is_not_used);
	tcase_add_test(tc, an_unannounced_entry_serves_those_that_wait);
	tcase_add_test(tc, a_request_that_the_fabric_did_not_take_looks_again);
	tcase_add_test(tc, after_some_reads_the_ep_subscribes);
	tcase_add_test(tc, the_owner_that_does_not_answer_is_asked_again);
	tcase_add_test(tc, a_subscribed_entry_stays);
	tcase_add_test(tc, an_entry_over_shared_memory_stays);
	tcase_add_test(tc, a_new_connection_knows_no_contexts);
	tcase_add_test(tc, a_sync_changes_no_entry);
	tcase_add_test(tc, a_full_fabric_is_asked_again);
	tcase_add_loop_test(tc, a_read_of_the_table_fails, 0, 3);
	tcase_add_loop_test(tc, access_needs_the_right_the_zone_and_the_bounds, 0,
			    sizeof(accesses) / sizeof(accesses[0]));
	tcase_add_loop_test(tc, a_context_is_an_entry_of_the_table, 0, 3);
	tcase_add_test(tc, a_refused_request_fails_in_its_turn);
	tcase_add_loop_test(tc, a_context_that_is_not_in_the_table, 0, 2);
	tcase_add_test(tc, a_write_that_the_fabric_has_needs_no_context);
	tcase_add_test(tc, the_place_of_the_control_slots_is_read_once);
	tcase_add_loop_test(tc, a_peer_without_control_slots_refuses, 0, 3);
	tcase_add_test(tc, an_invalidation_over_shared_memory_waits_for_reads);
	tcase_add_test(tc, control_messages_need_a_peer_that_takes_them);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
