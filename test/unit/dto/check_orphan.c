/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations that outlive their connection: which ones, where they stay until their completions
 * come, and an end of a connection without memory, which changes nothing.
 */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/dto/bounce.h"
#include "../../../prov/ofi/dto/control.h"
#include "../../../prov/ofi/dto/orphan.h"
#include "../../../prov/ofi/dto/reap.h"
#include "../../../prov/ofi/dto/ring.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"

#include <errno.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#define SLOTS     4u
#define SCRATCHES 2u

static struct dofi_ia ia;
static struct dofi_ep ep;
static uint32_t free_stack[SCRATCHES];
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.domain_attr = &domain_attr};
static int fail_at; /* the allocation that fails, counted from 1; 0: none */

/* --- the allocator --- */

void *__real_calloc(size_t n, size_t size);
T_STAND_IN void *__wrap_calloc(size_t n, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
T_STAND_IN void *__wrap_aligned_alloc(size_t alignment, size_t size);

T_STAND_IN void __wrap_free(void *memory);
void __real_free(void *memory);

static void *blocks[64]; /* of the library's, until they are freed */

static bool fails(void)
{
	return fail_at && !--fail_at;
}

static void **place_of(const void *block)
{
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		if (blocks[i] == block)
			return &blocks[i];
	return NULL;
}

static void *note(void *block)
{
	void **place = place_of(NULL);

	if (block && place)
		*place = block;
	return block;
}

static unsigned int live(void)
{
	unsigned int n = 0;

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		n += blocks[i] != NULL;
	return n;
}

void __wrap_free(void *memory)
{
	void **place = memory ? place_of(memory) : NULL;

	if (place)
		*place = NULL;
	__real_free(memory);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : note(__real_calloc(n, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : note(__real_aligned_alloc(alignment, size));
}

/* --- */

static void post(struct dofi_ring *ring, enum dofi_op op, enum dofi_wr_state state)
{
	struct dofi_wr *wr = dofi_ring_at(ring, ring->tail++);

	wr->op = op;
	wr->state = state;
	wr->cookie = ring->tail;
	wr->ep = &ep;
	ring->issue += state != DOFI_WR_QUEUED;
}

/* The fabric has a Send, a part of a write and a receive; a Send and a receive are done. */
static void setup(void)
{
	struct dofi_ring *rings[] = {&ep.req, &ep.recv, &ep.parts};

	dofi_lock_init(&ia.engine.lock);
	dofi_lock_init(&ia.obj_lock);
	dofi_lock_init(&ep.lock);
	dofi_list_init(&ia.orphans);
	ia.info = &info;
	ck_assert_int_eq(dofi_bounces_init(&ia), 0);
	ia.scratch.free_stack = free_stack;
	free_stack[ia.scratch.nfree++] = 7;
	ep.obj.ia = &ia;
	ep.scratch = 3;
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_eq(dofi_ring_init(&ia, rings[i], SLOTS, 1), 0);
	ep.aux = calloc(1, sizeof(*ep.aux));
	post(&ep.req, DOFI_OP_SEND, DOFI_WR_DONE);
	post(&ep.req, DOFI_OP_SEND, DOFI_WR_ISSUED);
	post(&ep.req, DOFI_OP_SEND, DOFI_WR_QUEUED);
	post(&ep.recv, DOFI_OP_RECV, DOFI_WR_DONE);
	post(&ep.recv, DOFI_OP_RECV, DOFI_WR_ISSUED);
	post(&ep.parts, DOFI_OP_PART, DOFI_WR_ISSUED);
	dofi_lock(&ia.engine.lock);
	dofi_lock(&ep.lock);
}

static void teardown(void)
{
	dofi_unlock(&ep.lock);
	dofi_unlock(&ia.engine.lock);
	dofi_ring_fini(&ep.req);
	dofi_ring_fini(&ep.recv);
	dofi_ring_fini(&ep.parts);
	free(ep.aux);
	dofi_bounces_fini(&ia);
	ck_assert_uint_eq(live(), 0);
}

START_TEST(each_operation_of_the_fabric_is_one)
{
	struct dofi_wr *send = dofi_ring_at(&ep.req, 1), *recv = dofi_ring_at(&ep.recv, 1),
		       *part = dofi_ring_at(&ep.parts, 0), *done = dofi_ring_at(&ep.req, 0);

	ck_assert_uint_eq(dofi_orphans_outstanding(&ep), 3);
	ck_assert_int_eq(dofi_orphans_adopt_ep(&ep), 0);
	/* What the fabric has stays where it is, and the EP goes on with a copy. */
	ck_assert_int_eq(send->op, DOFI_OP_ORPHAN);
	ck_assert_int_eq(recv->op, DOFI_OP_ORPHAN);
	ck_assert_int_eq(part->op, DOFI_OP_ORPHAN);
	ck_assert_int_eq(done->op, DOFI_OP_SEND);
	ck_assert_int_eq(dofi_ring_at(&ep.req, 1)->op, DOFI_OP_SEND);
	ck_assert_uint_eq(dofi_ring_at(&ep.req, 2)->cookie, 3);
	/* A late read may still fill the former scratch. */
	ck_assert_uint_eq(ep.scratch, 7);
	ck_assert_uint_eq(ia.scratch.nfree, 0);
	dofi_reap_done(part, FI_ECANCELED, 0, 0, 0);
	dofi_reap_done(recv, 0, 8, 0, 0);
	ck_assert(!dofi_list_empty(&ia.orphans));
	dofi_reap_done(send, 0, 0, 0, 0);
	ck_assert(dofi_list_empty(&ia.orphans));
	ck_assert_uint_eq(ia.scratch.nfree, 1);
	ck_assert_uint_eq(free_stack[0], 3);
}
END_TEST

START_TEST(nothing_outstanding_needs_no_memory)
{
	dofi_ring_at(&ep.req, 1)->state = DOFI_WR_DONE;
	dofi_ring_at(&ep.recv, 1)->state = DOFI_WR_DONE;
	dofi_ring_at(&ep.parts, 0)->state = DOFI_WR_DONE;
	fail_at = 1;
	ck_assert_int_eq(dofi_orphans_adopt_ep(&ep), 0);
	ck_assert(dofi_list_empty(&ia.orphans));
	fail_at = 0;
}
END_TEST

/* A read of the peer's table fills the scratch, and its operation is outside of the rings. */
START_TEST(a_read_of_the_table_is_one)
{
	struct dofi_own_wr *aux = ep.aux;

	dofi_ring_at(&ep.req, 1)->state = DOFI_WR_DONE;
	dofi_ring_at(&ep.recv, 1)->state = DOFI_WR_DONE;
	dofi_ring_at(&ep.parts, 0)->state = DOFI_WR_DONE;
	ep.peeking = true;
	ck_assert_uint_eq(dofi_orphans_outstanding(&ep), 1);
	ck_assert_int_eq(dofi_orphans_adopt_ep(&ep), 0);
	ck_assert_ptr_ne(ep.aux, aux);
	ck_assert_int_eq(aux->wr.op, DOFI_OP_ORPHAN);
	ck_assert_uint_eq(ep.scratch, 7);
	dofi_orphans_done(&aux->wr);
	ck_assert(dofi_list_empty(&ia.orphans));
	ck_assert_uint_eq(free_stack[0], 3);
}
END_TEST

/* The buffer remains with the orphan, and the flush of the EP does not give it back again. */
START_TEST(bounce_buffers_stay_with_the_fabric)
{
	struct dofi_wr *send = dofi_ring_at(&ep.req, 1), *recv = dofi_ring_at(&ep.recv, 1);
	unsigned int found = 0;
	void *buffers[2];

	ck_assert_int_eq(dofi_bounce_take(&ia, &ep.req, send), 0);
	ck_assert_int_eq(dofi_bounce_take(&ia, &ep.recv, recv), 0);
	buffers[0] = send->iov[0].iov_base;
	buffers[1] = recv->iov[0].iov_base;
	ck_assert_int_eq(dofi_orphans_adopt_ep(&ep), 0);
	ck_assert_uint_eq(dofi_ring_at(&ep.req, 1)->split, 0);
	ck_assert_uint_eq(dofi_ring_at(&ep.recv, 1)->split, 0);
	ck_assert_uint_eq(send->split, 1);
	dofi_orphans_done(send);
	dofi_orphans_done(recv);
	for (int i = 0; i < 16; i++) { /* as many as share a registration */
		ck_assert_int_eq(dofi_bounce_take(&ia, &ep.req, dofi_ring_at(&ep.req, 2)), 0);
		found += dofi_ring_at(&ep.req, 2)->iov[0].iov_base == buffers[0] ||
			 dofi_ring_at(&ep.req, 2)->iov[0].iov_base == buffers[1];
		*dofi_ring_at(&ep.req, 2) = (struct dofi_wr){.op = DOFI_OP_SEND};
	}
	ck_assert_uint_eq(found, 2);
	dofi_orphans_free_all(&ia);
	ck_assert(dofi_list_empty(&ia.orphans));
}
END_TEST

/* Where the peer of the next connection writes is where the EP reads. */
START_TEST(control_slots_go_with_the_scratch)
{
	static struct dofi_ctrl_slots memory[8];
	static struct dofi_ctx_local local[4];
	static struct dofi_ctx_wire wire[4];
	struct dofi_ctx ctx;

	dofi_lock_init(&ia.ctxtab.lock);
	ia.ctxtab.wire = wire;
	ia.ctxtab.local = local;
	ia.ctxtab.entries = 4;
	ia.ctrl_memory.slots = memory;
	ia.ctrl_memory.address = (uintptr_t)memory;
	ck_assert_int_eq(dofi_ctrl_slots_attach(&ep), 0);
	ia.ctxtab.fresh = _i ? 4 : 1;
	ck_assert_int_eq(dofi_orphans_adopt_ep(&ep), _i ? -ENOMEM : 0);
	ck_assert_uint_eq(ep.scratch, _i ? 3 : 7);
	ck_assert(dofi_ctx_decode(&wire[DOFI_CTX_INDEX(ep.ctrl_context)], ep.ctrl_context, &ctx));
	ck_assert_uint_eq(ctx.address, (uintptr_t)&memory[ep.scratch]);
	ck_assert_ptr_eq(dofi_ctrl_slots_of(&ep), &memory[ep.scratch]);
	dofi_orphans_free_all(&ia);
}
END_TEST

/* An EP whose requests are never in parts has no ring of parts. */
START_TEST(an_EP_without_parts)
{
	struct dofi_wr *send = dofi_ring_at(&ep.req, 1), *recv = dofi_ring_at(&ep.recv, 1);

	dofi_ring_fini(&ep.parts);
	ep.parts = (struct dofi_ring){0};
	ck_assert_uint_eq(dofi_orphans_outstanding(&ep), 2);
	ck_assert_int_eq(dofi_orphans_adopt_ep(&ep), 0);
	ck_assert_ptr_null(ep.parts.base);
	dofi_orphans_done(send);
	dofi_orphans_done(recv);
	ck_assert(dofi_list_empty(&ia.orphans));
}
END_TEST

static void expect_refused(void)
{
	const struct dofi_ep before = ep;

	ck_assert_int_eq(dofi_orphans_adopt_ep(&ep), -ENOMEM);
	fail_at = 0;
	ck_assert_ptr_eq(ep.req.base, before.req.base);
	ck_assert_ptr_eq(ep.recv.base, before.recv.base);
	ck_assert_ptr_eq(ep.parts.base, before.parts.base);
	ck_assert_ptr_eq(ep.aux, before.aux);
	ck_assert_uint_eq(ep.scratch, 3);
	ck_assert_int_eq(dofi_ring_at(&ep.req, 1)->op, DOFI_OP_SEND);
	ck_assert_int_eq(dofi_ring_at(&ep.recv, 1)->op, DOFI_OP_RECV);
	ck_assert(dofi_list_empty(&ia.orphans));
	ck_assert_uint_eq(dofi_orphans_outstanding(&ep), 3);
}

/* _i: which of the five allocations fails */
START_TEST(without_memory_nothing_changes)
{
	fail_at = _i;
	expect_refused();
	ck_assert_uint_eq(ia.scratch.nfree, 1);
	ck_assert_uint_eq(free_stack[0], 7);
	/* With memory it works afterwards. */
	ck_assert_int_eq(dofi_orphans_adopt_ep(&ep), 0);
	dofi_orphans_free_all(&ia);
}
END_TEST

START_TEST(without_scratch_nothing_changes)
{
	ia.scratch.nfree = 0;
	expect_refused();
}
END_TEST

/* Slots of an SRQ: their memory goes along. */
START_TEST(slots_of_a_ring)
{
	struct dofi_wr *recv = dofi_ring_at(&ep.recv, 1);

	fail_at = 1;
	ck_assert_int_eq(dofi_orphans_adopt(&ia, &ep.recv), -ENOMEM);
	fail_at = 0;
	ck_assert_int_eq(recv->op, DOFI_OP_RECV);
	ck_assert_int_eq(dofi_orphans_adopt(&ia, &ep.recv), 0);
	ep.recv.base = NULL;
	ck_assert_int_eq(recv->op, DOFI_OP_ORPHAN);
	dofi_orphans_done(recv);
	ck_assert(dofi_list_empty(&ia.orphans));
	ck_assert_uint_eq(ia.scratch.nfree, 1);
}
END_TEST

/* If the fabric has none of them, the memory is free at once. */
START_TEST(slots_of_a_ring_that_the_fabric_does_not_have)
{
	dofi_ring_at(&ep.recv, 1)->state = DOFI_WR_DONE;
	ck_assert_int_eq(dofi_orphans_adopt(&ia, &ep.recv), 0);
	ep.recv.base = NULL;
	ck_assert(dofi_list_empty(&ia.orphans));
	ck_assert_uint_eq(ia.scratch.nfree, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("orphan");
	TCase *tc = tcase_create("orphan");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, each_operation_of_the_fabric_is_one);
	tcase_add_test(tc, a_read_of_the_table_is_one);
	tcase_add_test(tc, bounce_buffers_stay_with_the_fabric);
	tcase_add_loop_test(tc, control_slots_go_with_the_scratch, 0, 2);
	tcase_add_test(tc, an_EP_without_parts);
	tcase_add_test(tc, nothing_outstanding_needs_no_memory);
	tcase_add_loop_test(tc, without_memory_nothing_changes, 1, 6);
	tcase_add_test(tc, without_scratch_nothing_changes);
	tcase_add_test(tc, slots_of_a_ring);
	tcase_add_test(tc, slots_of_a_ring_that_the_fabric_does_not_have);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
