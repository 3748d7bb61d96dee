/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operations that outlive their connection: which ones, where they stay until their completions
 * come, and an end of a connection without memory, which changes nothing.
 */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/dto/orphan.h"
#include "../../../prov/ofi/dto/ring.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"

#include <errno.h>

#define SLOTS     4u
#define SCRATCHES 2u

static struct dofi_ia ia;
static _Alignas(16) struct dofi_ep ep;
static uint32_t free_stack[SCRATCHES];
static int fail_at; /* the allocation that fails, counted from 1; 0: none */

/* --- the allocator --- */

void *__real_calloc(size_t n, size_t size);
T_STAND_IN void *__wrap_calloc(size_t n, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
T_STAND_IN void *__wrap_aligned_alloc(size_t alignment, size_t size);

static bool fails(void)
{
	return fail_at && !--fail_at;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(alignment, size);
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
	dofi_orphans_done(part);
	dofi_orphans_done(recv);
	ck_assert(!dofi_list_empty(&ia.orphans));
	dofi_orphans_done(send);
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

int main(void)
{
	Suite *suite = suite_create("orphan");
	TCase *tc = tcase_create("orphan");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, each_operation_of_the_fabric_is_one);
	tcase_add_test(tc, nothing_outstanding_needs_no_memory);
	tcase_add_loop_test(tc, without_memory_nothing_changes, 1, 6);
	tcase_add_test(tc, without_scratch_nothing_changes);
	tcase_add_test(tc, slots_of_a_ring);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
