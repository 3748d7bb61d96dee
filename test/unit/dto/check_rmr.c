/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RMRs: what a bind reserves, when peers see it, who may end it, and which memory a context names.
 */
#include "unit.h"

#include "../../../prov/ofi/dto/lmr.h"
#include "../../../prov/ofi/dto/rmr.h"
#include "../../../prov/ofi/object/ctxtab.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/mem.h"
#include "../../../prov/ofi/object/mr.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#define ENTRIES 8u
#define LENGTH  4096u
#define CONN    6u
#define ZONE    3u
#define CONTEXT 0x50001u /* of the first LMR */
#define SECOND  0x50002u

#define RD      DAT_MEM_PRIV_REMOTE_READ_FLAG
#define WR      DAT_MEM_PRIV_REMOTE_WRITE_FLAG
#define NONE    ((DAT_MEM_PRIV_FLAGS)0)

static struct dofi_ia ia;
static struct dofi_pz pz = {.number = ZONE}, foreign = {.number = ZONE + 1};
static struct dofi_lmr lmrs[2];
static struct dofi_rmr rmr;
static struct dofi_ctx_local local[ENTRIES];
static struct dofi_ctx_wire wire[ENTRIES];
static char memory[2][LENGTH];

/* --- registrations --- */

static struct {
	int calls, answer;
	DAT_MEM_PRIV_FLAGS rights;
} registration;
static struct fid_mr window;

int __wrap_dofi_mr_register(struct dofi_ia *of, void *buf, size_t length, DAT_MEM_PRIV_FLAGS rights,
			    struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);

int __wrap_dofi_mr_register(struct dofi_ia *of, void *buf, size_t length, DAT_MEM_PRIV_FLAGS rights,
			    struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(buf, memory[0]);
	ck_assert_uint_eq(length, LENGTH);
	registration.calls++;
	registration.rights = rights;
	if (registration.answer)
		return registration.answer;
	*mr_p = &window;
	*key_p = 99;
	*address_p = 0x9000;
	return 0;
}

static unsigned int freed;

void __wrap_dofi_obj_free(struct dofi_obj *obj, DAT_HANDLE_TYPE type);

void __wrap_dofi_obj_free(struct dofi_obj *obj, DAT_HANDLE_TYPE type)
{
	ck_assert_ptr_eq(obj, &rmr.obj);
	ck_assert_int_eq(type, DAT_HANDLE_TYPE_RMR);
	freed++;
}

/* --- */

static void setup(void)
{
	static const uint32_t contexts[] = {CONTEXT, SECOND};

	dofi_lock_init(&ia.ctxtab.lock);
	dofi_lock_init(&rmr.lock);
	ia.ctxtab.local = local;
	ia.ctxtab.wire = wire;
	ia.ctxtab.entries = ENTRIES;
	ia.ctxtab.fresh = 3;
	for (int i = 0; i < 2; i++) {
		lmrs[i].obj.ia = &ia;
		lmrs[i].pz = &pz;
		lmrs[i].start = lmrs[i].base = (uintptr_t)memory[i];
		lmrs[i].length = LENGTH;
		lmrs[i].context = contexts[i];
		lmrs[i].privileges =
			DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG | RD | WR;
		lmrs[i].mr = (struct dofi_mr){.key = 70u + (unsigned int)i, .address = 0x7000};
		local[i + 1] = (struct dofi_ctx_local){.lmr = &lmrs[i], .context = contexts[i]};
		dofi_lock_init(&lmrs[i].lock);
	}
	rmr.obj.ia = &ia;
	rmr.pz = &pz;
	rmr.refs = 2; /* the test's own keeps it */
}

static DAT_LMR_TRIPLET part_of(int i, uint64_t offset, uint32_t length)
{
	return (DAT_LMR_TRIPLET){.lmr_context = lmrs[i].context,
				 .virtual_address = lmrs[i].base + offset,
				 .segment_length = length};
}

static struct dofi_bind prepare(DAT_LMR_TRIPLET triplet, DAT_MEM_PRIV_FLAGS privileges)
{
	struct dofi_bind bind;

	ck_assert_uint_eq(dofi_bind_prepare(&rmr, &pz, &triplet, privileges, &bind), DAT_SUCCESS);
	bind.conn = CONN;
	return bind;
}

/* Binds, and returns the context. */
static uint32_t bind_part(int i, uint64_t offset, uint32_t length)
{
	struct dofi_bind bind = prepare(part_of(i, offset, length), RD);

	dofi_bind_apply(&bind);
	return bind.context;
}

static bool is_visible(uint32_t context, struct dofi_ctx *ctx)
{
	return dofi_ctx_decode(&wire[DOFI_CTX_INDEX(context)], context, ctx);
}

static void expect_users(int first, int second, uint32_t refs, uint32_t contexts)
{
	ck_assert_int_eq(lmrs[0].obj.users, first);
	ck_assert_int_eq(lmrs[1].obj.users, second);
	ck_assert_uint_eq(rmr.refs, refs);
	ck_assert_uint_eq(ia.ctxtab.used, contexts);
	ck_assert(dofi_trylock(&rmr.lock));
	dofi_unlock(&rmr.lock);
	ck_assert(dofi_trylock(&ia.ctxtab.lock));
	dofi_unlock(&ia.ctxtab.lock);
}

/* --- binds --- */

START_TEST(peers_see_a_bind_when_it_is_applied)
{
	struct dofi_bind bind = prepare(part_of(0, 64, 100), RD);
	struct dofi_ctx ctx;

	ck_assert_uint_ne(bind.context, 0);
	ck_assert(!is_visible(bind.context, &ctx));
	expect_users(1, 0, 3, 1);
	ck_assert_uint_eq(rmr.context, 0);
	ck_assert_uint_eq(dofi_bind_apply(&bind), 0);
	expect_users(1, 0, 2, 1);
	ck_assert(is_visible(bind.context, &ctx));
	ck_assert_uint_eq(ctx.key, 70);
	ck_assert_uint_eq(ctx.address, 0x7000 + 64);
	ck_assert_uint_eq(ctx.base, (uintptr_t)memory[0] + 64);
	ck_assert_uint_eq(ctx.length, 100);
	ck_assert_uint_eq(ctx.privileges, RD | DOFI_CTX_ANNOUNCED);
	ck_assert_uint_eq(ctx.pz, ZONE);
	ck_assert_uint_eq(rmr.context, bind.context);
	ck_assert_uint_eq(rmr.conn, CONN);
	ck_assert_ptr_eq(rmr.lmr, &lmrs[0]);
	ck_assert_uint_eq(rmr.triplet.segment_length, 100);
	ck_assert_int_eq(rmr.privileges, RD);
	ck_assert_int_eq(registration.calls, 0);
}
END_TEST

START_TEST(a_bind_may_begin_at_0_or_be_for_one_connection)
{
	struct dofi_bind bind = prepare(part_of(0, 64, 100), RD | WR);
	struct dofi_ctx ctx;

	bind.zero_based = true;
	rmr.of_ep = true;
	dofi_bind_apply(&bind);
	ck_assert(rmr.zero_based);
	ck_assert(is_visible(bind.context, &ctx));
	ck_assert_uint_eq(ctx.base, 0);
	ck_assert_uint_eq(ctx.address, 0x7000 + 64);
	ck_assert_uint_eq(ctx.privileges, RD | WR | DOFI_CTX_ANNOUNCED | DOFI_CTX_EP_SCOPE);
	ck_assert_uint_eq(ctx.pz, CONN);
}
END_TEST

/* The former context ends, and the former LMR is not in use any more. */
START_TEST(a_bind_replaces_the_former_one)
{
	uint32_t first = bind_part(0, 0, 8);
	struct dofi_bind bind = prepare(part_of(1, 0, 8), WR);
	struct dofi_ctx ctx;

	expect_users(1, 1, 3, 2);
	ck_assert_uint_eq(dofi_bind_apply(&bind), first);
	ck_assert(!is_visible(first, &ctx));
	ck_assert(is_visible(bind.context, &ctx));
	ck_assert_uint_eq(ctx.key, 71);
	expect_users(0, 1, 2, 1);
	first = bind.context;
	bind = prepare((DAT_LMR_TRIPLET){0}, NONE); /* of no bytes */
	ck_assert_uint_eq(bind.context, 0);
	expect_users(0, 1, 3, 1);
	ck_assert_uint_eq(dofi_bind_apply(&bind), first);
	ck_assert(!is_visible(first, &ctx));
	ck_assert_uint_eq(rmr.context, 0);
	ck_assert_ptr_null(rmr.lmr);
	expect_users(0, 0, 2, 0);
}
END_TEST

START_TEST(a_bind_that_is_flushed_changes_nothing)
{
	uint32_t first = bind_part(0, 0, 8);
	struct dofi_bind bind = prepare(part_of(1, 0, 8), RD);
	struct dofi_ctx ctx;

	dofi_bind_cancel(&bind);
	ck_assert(is_visible(first, &ctx));
	ck_assert_uint_eq(rmr.context, first);
	expect_users(1, 0, 2, 1);
}
END_TEST

START_TEST(a_bind_of_a_freed_RMR_changes_nothing)
{
	uint32_t first = bind_part(0, 0, 8);
	struct dofi_bind bind = prepare(part_of(1, 0, 8), RD);
	struct dofi_ctx ctx;

	ck_assert_uint_eq(dofi_rmr_unbind(&rmr), first);
	ck_assert(!is_visible(first, &ctx));
	expect_users(0, 1, 3, 1);
	ck_assert_uint_eq(dofi_bind_apply(&bind), 0);
	ck_assert(!is_visible(bind.context, &ctx));
	ck_assert_uint_eq(rmr.context, 0);
	ck_assert_ptr_null(rmr.lmr);
	expect_users(0, 0, 2, 0);
	ck_assert_uint_eq(dofi_rmr_unbind(&rmr), 0);
	expect_users(0, 0, 2, 0);
}
END_TEST

/* An outstanding bind refers to it. */
START_TEST(an_RMR_is_freed_with_its_last_reference)
{
	struct dofi_bind bind[2];

	rmr.refs = 1;
	pz.obj.users = 1;
	for (int i = 0; i < 2; i++)
		bind[i] = prepare(part_of(i, 0, 8), RD);
	dofi_rmr_destroy(&rmr);
	ck_assert_int_eq(pz.obj.users, 0);
	ck_assert_uint_eq(freed, 0);
	dofi_bind_apply(&bind[0]);
	ck_assert_uint_eq(freed, 0);
	dofi_bind_cancel(&bind[1]);
	ck_assert_uint_eq(freed, 1);
	expect_users(0, 0, 0, 0);
}
END_TEST

/* --- binds that are not allowed --- */

static const struct {
	uint64_t offset;
	uint32_t length;
	unsigned int privileges, of_lmr;
	DAT_RETURN says;
} binds[] = {
	{0, LENGTH, RD, RD, DAT_SUCCESS},
	{LENGTH - 8, 8, RD, RD, DAT_SUCCESS},
	{LENGTH, 1, RD, RD, DOFI_BAD_ARG(2)},
	{LENGTH - 7, 8, RD, RD, DOFI_BAD_ARG(2)},
	{0, LENGTH + 1, RD, RD, DOFI_BAD_ARG(2)},
	{UINT64_MAX, 8, RD, RD, DOFI_BAD_ARG(2)},
	{0, 8, 0x4000, RD, DOFI_BAD_ARG(3)},
	{0, 8, WR, RD | DAT_MEM_PRIV_LOCAL_READ_FLAG, DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0)},
	{0, 8, DOFI_MEM_PRIV_REMOTE_ATOMIC, RD | DAT_MEM_PRIV_LOCAL_READ_FLAG,
	 DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0)},
	{0, 8, RD, DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_SUCCESS},
	{0, 8, WR, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_SUCCESS},
};

static void expect_refused(DAT_LMR_TRIPLET triplet, unsigned int privileges, DAT_RETURN says)
{
	struct dofi_bind bind = {.context = 77};

	ck_assert_uint_eq(dofi_bind_prepare(&rmr, &pz, &triplet, (DAT_MEM_PRIV_FLAGS)privileges,
					    &bind),
			  says);
	ck_assert_uint_eq(bind.context, 77);
	expect_users(0, 0, 2, 0);
}

START_TEST(a_bind_needs_bounds_and_rights)
{
	DAT_LMR_TRIPLET triplet = part_of(0, binds[_i].offset, binds[_i].length);

	lmrs[0].privileges = (DAT_MEM_PRIV_FLAGS)binds[_i].of_lmr;
	if (binds[_i].says == DAT_SUCCESS)
		prepare(triplet, (DAT_MEM_PRIV_FLAGS)binds[_i].privileges);
	else
		expect_refused(triplet, binds[_i].privileges, binds[_i].says);
}
END_TEST

START_TEST(a_bind_needs_one_zone)
{
	DAT_LMR_TRIPLET triplet = part_of(0, 0, 8);
	struct dofi_bind bind;

	lmrs[0].pz = &foreign;
	expect_refused(triplet, RD, DOFI_ERR(DAT_PROTECTION_VIOLATION, 0));
	lmrs[0].pz = &pz;
	ck_assert_uint_eq(dofi_bind_prepare(&rmr, &foreign, &triplet, RD, &bind),
			  DOFI_ERR(DAT_PROTECTION_VIOLATION, 0));
	expect_users(0, 0, 2, 0);
	triplet.lmr_context ^= 0x10000;
	expect_refused(triplet, RD, DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0));
}
END_TEST

/* --- rights that the LMR has not given --- */

START_TEST(the_first_bind_with_more_rights_registers_the_memory_again)
{
	struct dofi_bind bind;

	lmrs[0].privileges = (DAT_MEM_PRIV_FLAGS)(RD | DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	bind = prepare(part_of(0, 0, 8), RD);
	ck_assert_int_eq(registration.calls, 0);
	ck_assert_uint_eq(bind.mr.key, 70);
	for (int i = 0; i < 2; i++) {
		bind = prepare(part_of(0, 0, 8), WR);
		ck_assert_int_eq(registration.calls, 1);
		ck_assert_int_eq(registration.rights,
				 DAT_MEM_PRIV_READ_FLAG | DAT_MEM_PRIV_WRITE_FLAG);
		ck_assert_uint_eq(bind.mr.key, 99);
		ck_assert_uint_eq(bind.mr.address, 0x9000);
	}
	ck_assert(dofi_trylock(&lmrs[0].lock));
	dofi_unlock(&lmrs[0].lock);
}
END_TEST

START_TEST(memory_that_is_only_read_is_registered_for_that)
{
	lmrs[0].privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	prepare(part_of(0, 0, 8), RD);
	ck_assert_int_eq(registration.calls, 1);
	ck_assert_int_eq(registration.rights, DAT_MEM_PRIV_READ_FLAG);
}
END_TEST

START_TEST(a_bind_without_resources_reserves_nothing)
{
	lmrs[0].privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG;
	registration.answer = -FI_ENOMEM;
	expect_refused(part_of(0, 0, 8), RD, DOFI_NO_REGION);
	registration.answer = 0;
	ia.ctxtab.entries = ia.ctxtab.fresh; /* no context is free */
	expect_refused(part_of(0, 0, 8), RD, DOFI_NO_REGION);
	ia.ctxtab.entries = ENTRIES;
	prepare(part_of(0, 0, 8), RD);
	ck_assert_int_eq(registration.calls, 2);
}
END_TEST

/* --- the end, by a Send of the peer --- */

START_TEST(a_peer_ends_a_context_that_it_may_use)
{
	uint32_t context = bind_part(0, 0, 8);
	struct dofi_ctx ctx;

	ck_assert(!dofi_rmr_invalidate(&ia, context ^ 0x10000, &pz, CONN));
	ck_assert(!dofi_rmr_invalidate(&ia, context, &foreign, CONN));
	ck_assert(!dofi_rmr_invalidate(&ia, CONTEXT, &pz, CONN)); /* of an LMR */
	expect_users(1, 0, 2, 1);
	ck_assert(is_visible(context, &ctx));
	ck_assert(dofi_rmr_invalidate(&ia, context, &pz, CONN + 1));
	ck_assert(!is_visible(context, &ctx));
	ck_assert_uint_eq(rmr.context, 0);
	ck_assert_ptr_null(rmr.lmr);
	expect_users(0, 0, 2, 0);
	ck_assert(!dofi_rmr_invalidate(&ia, context, &pz, CONN));
	expect_users(0, 0, 2, 0);
}
END_TEST

START_TEST(an_RMR_for_one_connection_is_ended_by_that_one)
{
	uint32_t context;

	rmr.of_ep = true;
	context = bind_part(0, 0, 8);
	ck_assert(!dofi_rmr_invalidate(&ia, context, &pz, CONN + 1));
	ck_assert_uint_eq(rmr.context, context);
	ck_assert(dofi_rmr_invalidate(&ia, context, &pz, CONN));
	expect_users(0, 0, 2, 0);
}
END_TEST

/* --- the memory of a context --- */

static void *memory_of(uint32_t context, uint64_t base, uint64_t address)
{
	const struct dofi_ctx ctx = {.context = context, .base = base};

	return dofi_ctx_memory(&ia, &ctx, address);
}

START_TEST(a_context_names_memory)
{
	uint64_t first = (uintptr_t)memory[0];
	struct dofi_bind bind;
	uint32_t context;

	ck_assert_ptr_eq(memory_of(CONTEXT, first, first + 5), &memory[0][5]);
	lmrs[0].base = 0;
	ck_assert_ptr_eq(memory_of(CONTEXT, 0, 5), &memory[0][5]);
	lmrs[0].base = first;
	context = bind_part(0, 64, 100);
	ck_assert_ptr_eq(memory_of(context, first + 64, first + 70), &memory[0][70]);
	bind = prepare(part_of(1, 32, 100), RD);
	bind.zero_based = true;
	dofi_bind_apply(&bind);
	ck_assert_ptr_null(memory_of(context, first + 64, first + 70)); /* it has ended */
	ck_assert_ptr_eq(memory_of(bind.context, 0, 6), &memory[1][38]);
	expect_users(0, 1, 2, 1);
	local[2].context = 0; /* the LMR has ended */
	ck_assert_ptr_null(memory_of(bind.context, 0, 6));
	ck_assert_ptr_null(memory_of(0x70007, 0, 6));
}
END_TEST

/* --- the sink of an RDMA read that names an RMR --- */

static DAT_RETURN sink(uint32_t context, uint64_t address, uint32_t length, uint32_t conn,
		       DAT_LMR_TRIPLET *segment)
{
	const DAT_RMR_TRIPLET triplet = {.virtual_address = address,
					 .segment_length = length,
					 .rmr_context = context};

	return dofi_rmr_sink(&ia, &pz, conn, &triplet, segment);
}

static void expect_sink(uint32_t context, uint64_t address, uint32_t length, DAT_RETURN says)
{
	DAT_LMR_TRIPLET segment = {0};

	ck_assert_uint_eq(sink(context, address, length, CONN, &segment), says);
	expect_users(1, 0, 2, 1);
	if (says != DAT_SUCCESS)
		return;
	ck_assert_uint_eq(segment.lmr_context, CONTEXT);
	ck_assert_uint_eq(segment.virtual_address, address);
	ck_assert_uint_eq(segment.segment_length, length);
}

START_TEST(a_sink_is_the_memory_behind_an_RMR)
{
	struct dofi_bind bind = prepare(part_of(0, 64, 100), WR);
	uint64_t first = (uintptr_t)memory[0] + 64;

	dofi_bind_apply(&bind);
	expect_sink(bind.context, first, 100, DAT_SUCCESS);
	expect_sink(bind.context, first + 100, 0, DAT_SUCCESS);
	expect_sink(bind.context, first + 92, 8, DAT_SUCCESS);
	expect_sink(bind.context, first + 93, 8, DOFI_BAD_ARG(2));
	expect_sink(bind.context, first + 101, 0, DOFI_BAD_ARG(2));
	expect_sink(bind.context, first, 101, DOFI_BAD_ARG(2));
	expect_sink(bind.context, first - 1, 8, DOFI_BAD_ARG(2));
	expect_sink(0, first, 8, DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0));
	expect_sink(bind.context ^ 0x10000, first, 8, DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0));
}
END_TEST

START_TEST(a_sink_may_begin_at_0)
{
	struct dofi_bind bind = prepare(part_of(0, 64, 100), WR);
	DAT_LMR_TRIPLET segment;

	bind.zero_based = true;
	dofi_bind_apply(&bind);
	ck_assert_uint_eq(sink(bind.context, 10, 20, CONN, &segment), DAT_SUCCESS);
	ck_assert_uint_eq(segment.lmr_context, CONTEXT);
	ck_assert_uint_eq(segment.virtual_address, (uintptr_t)memory[0] + 74);
	ck_assert_uint_eq(segment.segment_length, 20);
}
END_TEST

/* The read stores data, and peers' contexts have all rights that it needs. */
START_TEST(a_sink_needs_the_right_to_write)
{
	uint32_t context = bind_part(0, 0, 8);

	expect_sink(context, (uintptr_t)memory[0], 8, DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0));
}
END_TEST

START_TEST(a_sink_is_of_the_zone_or_the_connection)
{
	struct dofi_bind bind = prepare(part_of(0, 0, 8), WR);
	DAT_LMR_TRIPLET segment;

	rmr.of_ep = _i;
	dofi_bind_apply(&bind);
	ck_assert_uint_eq(sink(bind.context, (uintptr_t)memory[0], 8, CONN, &segment), DAT_SUCCESS);
	ck_assert_uint_eq(sink(bind.context, (uintptr_t)memory[0], 8, CONN + 1, &segment),
			  _i ? DOFI_ERR(DAT_PROTECTION_VIOLATION, 0) : DAT_SUCCESS);
	pz.number++;
	ck_assert_uint_eq(sink(bind.context, (uintptr_t)memory[0], 8, CONN, &segment),
			  _i ? DAT_SUCCESS : DOFI_ERR(DAT_PROTECTION_VIOLATION, 0));
}
END_TEST

/* Entries of the table that name no memory of the consumer, such as that of control slots. */
START_TEST(a_sink_is_memory_of_the_consumer)
{
	struct dofi_bind bind = prepare(part_of(0, 0, 8), WR);
	uint64_t address = (uintptr_t)memory[0];

	dofi_bind_apply(&bind);
	if (_i)
		rmr.context ^= 0x10000; /* the RMR was bound again since the entry was read */
	else
		dofi_ctxtab_set_rmr(&ia.ctxtab, bind.context, NULL);
	expect_sink(bind.context, address, 8, DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rmr");
	TCase *tc = tcase_create("rmr");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, peers_see_a_bind_when_it_is_applied);
	tcase_add_test(tc, a_bind_may_begin_at_0_or_be_for_one_connection);
	tcase_add_test(tc, a_bind_replaces_the_former_one);
	tcase_add_test(tc, a_bind_that_is_flushed_changes_nothing);
	tcase_add_test(tc, a_bind_of_a_freed_RMR_changes_nothing);
	tcase_add_test(tc, an_RMR_is_freed_with_its_last_reference);
	tcase_add_loop_test(tc, a_bind_needs_bounds_and_rights, 0,
			    sizeof(binds) / sizeof(binds[0]));
	tcase_add_test(tc, a_bind_needs_one_zone);
	tcase_add_test(tc, the_first_bind_with_more_rights_registers_the_memory_again);
	tcase_add_test(tc, memory_that_is_only_read_is_registered_for_that);
	tcase_add_test(tc, a_bind_without_resources_reserves_nothing);
	tcase_add_test(tc, a_peer_ends_a_context_that_it_may_use);
	tcase_add_test(tc, an_RMR_for_one_connection_is_ended_by_that_one);
	tcase_add_test(tc, a_context_names_memory);
	tcase_add_test(tc, a_sink_is_the_memory_behind_an_RMR);
	tcase_add_test(tc, a_sink_may_begin_at_0);
	tcase_add_test(tc, a_sink_needs_the_right_to_write);
	tcase_add_loop_test(tc, a_sink_is_of_the_zone_or_the_connection, 0, 2);
	tcase_add_loop_test(tc, a_sink_is_memory_of_the_consumer, 0, 2);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
