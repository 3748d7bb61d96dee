/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory regions, their contexts, shared memory cookies, binds (LMR-*, RMR-*, DTO-163 to DTO-189).
 */
#include "../../lib/fake_ia.h"
#include "../../lib/unit.h"

#include "../../../prov/ofi/base/cookie.h"
#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/object/mem.h"
#include "../../../prov/ofi/dto/rmr.h"
#include "../../../prov/ofi/object/ctxtab.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/progress/engine.h"
#include "../../../prov/ofi/api/lmr.h"
#include "../../../prov/ofi/api/pz.h"
#include "../../../prov/ofi/api/rmr.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define REMOTE  (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
#define LOCAL   (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define READ    DAT_MEM_PRIV_LOCAL_READ_FLAG
#define REFUSED DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0)

static struct dofi_ia *ia;
static DAT_PZ_HANDLE pz;
static size_t page;
static char *mem; /* four pages */

static char *map_pages(int flags, int fd)
{
	char *pages = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, flags, fd, 0);

	ck_assert_ptr_ne(pages, MAP_FAILED);
	return pages;
}

static void setup(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	ia = t_ia_open();
	t_ok(dofi_pz_create(ia, &pz));
	mem = map_pages(MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void teardown(void)
{
	if (pz)
		t_ok(dofi_pz_free(pz));
	munmap(mem, 4 * page);
	t_ia_close(ia);
}

struct lmr {
	DAT_LMR_HANDLE handle;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN length;
	DAT_VADDR address;
};

static DAT_RETURN create(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			 unsigned int privileges, struct lmr *lmr)
{
	return dofi_lmr_create(ia, type, region, length, pz, (DAT_MEM_PRIV_FLAGS)privileges,
			       &lmr->handle, &lmr->context, &lmr->rmr_context, &lmr->length,
			       &lmr->address);
}

static DAT_RETURN create_va(void *va, DAT_VLEN length, unsigned int privileges, struct lmr *lmr)
{
	return create(DAT_MEM_TYPE_VIRTUAL, (DAT_REGION_DESCRIPTION){.for_va = va}, length,
		      privileges, lmr);
}

static struct lmr new_lmr(unsigned int privileges)
{
	struct lmr lmr;

	t_ok(create_va(mem + 100, 3 * page, privileges, &lmr));
	return lmr;
}

/* Reads the entry of the context as a peer does. False if the entry is not valid. */
static bool read_as_peer(uint32_t context, struct dofi_ctx *ctx)
{
	struct dofi_ctx_wire copy = ia->ctxtab.wire[DOFI_CTX_INDEX(context)];

	return dofi_ctx_decode(&copy, context, ctx);
}

/* --- dat_lmr_create --- */

/* LMR-001, LMR-002, LMR-021, LMR-022, LMR-042, LMR-044 */
START_TEST(test_lmr_of_virtual_memory)
{
	struct lmr lmr = new_lmr(REMOTE | LOCAL);
	struct dofi_ctx ctx;
	DAT_LMR_PARAM param;

	ck_assert_uint_eq(lmr.rmr_context, lmr.context);
	ck_assert_uint_ne(lmr.context, 0);
	ck_assert_uint_eq(lmr.address, (uintptr_t)mem + 100);
	ck_assert_uint_eq(lmr.length, 3 * page);
	ck_assert_ptr_eq(t_fake.mr.buf, mem + 100);
	ck_assert_uint_eq(t_fake.mr.access, FI_SEND | FI_RECV | FI_READ | FI_WRITE |
						    FI_REMOTE_READ | FI_REMOTE_WRITE);
	ck_assert_ptr_eq(dofi_ctxtab_lmr(&ia->ctxtab, lmr.context), lmr.handle);
	ck_assert(read_as_peer(lmr.rmr_context, &ctx));
	ck_assert_uint_eq(ctx.base, lmr.address);
	ck_assert_uint_eq(ctx.length, lmr.length);
	ck_assert_uint_eq(ctx.key, t_fake.mr.key);
	ck_assert_uint_eq(ctx.address, 0);
	ck_assert_uint_eq(ctx.privileges, REMOTE | DOFI_CTX_ANNOUNCED);
	ck_assert_uint_eq(ctx.pz, ((struct dofi_pz *)pz)->number);

	t_ok(dofi_lmr_query(lmr.handle, DAT_LMR_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, ia);
	ck_assert_int_eq(param.mem_type, DAT_MEM_TYPE_VIRTUAL);
	ck_assert_ptr_eq(param.region_desc.for_va, mem + 100);
	ck_assert_uint_eq(param.length, 3 * page);
	ck_assert_ptr_eq(param.pz_handle, pz);
	ck_assert_int_eq(param.mem_priv, REMOTE | LOCAL);
	ck_assert_uint_eq(param.lmr_context, lmr.context);
	ck_assert_uint_eq(param.rmr_context, lmr.rmr_context);
	ck_assert_uint_eq(param.registered_size, lmr.length);
	ck_assert_uint_eq(param.registered_address, lmr.address);
	t_ok(dofi_lmr_query(lmr.handle, (DAT_LMR_PARAM_MASK)0x800, &param));
	t_ret(dofi_lmr_query(lmr.handle, DAT_LMR_FIELD_ALL, NULL), DOFI_BAD_ARG(3));
	t_ret(dofi_lmr_query(pz, DAT_LMR_FIELD_ALL, &param), DOFI_BAD_HANDLE(LMR));
	t_ok(dofi_lmr_free(lmr.handle));
	t_ret(dofi_lmr_free(lmr.handle), DOFI_BAD_HANDLE(LMR));
}
END_TEST

/* PRG-11: outputs except the handle may be null, and every LMR has the right of local reads. */
START_TEST(test_lmr_null_outputs_and_implied_local_read)
{
	DAT_REGION_DESCRIPTION region = {.for_va = mem};
	DAT_LMR_HANDLE handle;
	DAT_LMR_PARAM param;

	t_ok(dofi_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 8, pz, DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
			     &handle, NULL, NULL, NULL, NULL));
	ck_assert_int_eq(((struct dofi_lmr *)handle)->privileges, LOCAL);
	t_ok(dofi_lmr_query(handle, DAT_LMR_FIELD_ALL, &param));
	ck_assert_int_eq(param.mem_priv, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	ck_assert_uint_eq(param.rmr_context, 0);
	t_ok(dofi_lmr_free(handle));
}
END_TEST

/* LMR-011 to LMR-020 */
START_TEST(test_lmr_arguments)
{
	DAT_REGION_DESCRIPTION region = {.for_va = mem};
	DAT_LMR_HANDLE handle;
	struct lmr lmr;

	t_ret(dofi_lmr_create(pz, DAT_MEM_TYPE_VIRTUAL, region, 8, pz, READ, &handle, NULL, NULL,
			      NULL, NULL),
	      DOFI_BAD_HANDLE(IA));
	t_ret(dofi_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 8, ia, READ, &handle, NULL, NULL,
			      NULL, NULL),
	      DOFI_BAD_HANDLE(PZ));
	t_ret(dofi_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 8, pz, READ, NULL, NULL, NULL, NULL,
			      NULL),
	      DOFI_BAD_ARG(7));
	t_ret(create((DAT_MEM_TYPE)77, region, 8, READ, &lmr), DOFI_BAD_ARG(2));
	t_ret(create_va(mem, 8, 0x44, &lmr), DOFI_BAD_ARG(6));
	t_ret(create_va(mem, 8, 0, &lmr), DOFI_BAD_ARG(6));
	t_ret(create_va(mem, 0, READ, &lmr), DOFI_ERR(DAT_LENGTH_ERROR, 0));
	t_ret(create_va(mem, (UINT64_C(1) << 40) + 1, READ, &lmr), DOFI_BAD_ARG(4));
	t_ret(create(DAT_MEM_TYPE_LMR, (DAT_REGION_DESCRIPTION){.for_lmr_handle = pz}, 0, READ,
		     &lmr),
	      DOFI_BAD_HANDLE(LMR));
	ck_assert_uint_eq(ia->counts[DAT_HANDLE_TYPE_LMR], 0);
}
END_TEST

/* LMR-016, LMR-018, LMR-032 */
START_TEST(test_lmr_region_must_be_there)
{
	struct lmr lmr;

	t_ret(create_va(NULL, 8, READ, &lmr), DOFI_BAD_ARG(3));
	t_ret(create_va((void *)(UINTPTR_MAX - 7), 8, READ, &lmr), DOFI_BAD_ARG(3));
	t_ret(create_va((void *)(UINTPTR_MAX - 7), 16, READ, &lmr), DOFI_BAD_ARG(3));
	memset(mem, 0x5a, 4 * page);
	ck_assert_int_eq(munmap(mem + 2 * page, page), 0);
	t_ret(create_va(mem, 4 * page, READ, &lmr), DOFI_BAD_ARG(3));
	t_ret(create_va(mem, 2 * page + 1, READ, &lmr), DOFI_BAD_ARG(3));
	t_ret(create_va(mem + 3 * page - 1, 2, READ, &lmr), DOFI_BAD_ARG(3));
	ck_assert_int_eq(mprotect(mem + page, page, PROT_READ), 0);
	t_ret(create_va(mem, 2 * page, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &lmr), REFUSED);
	t_ret(create_va(mem + 2 * page - 1, 1, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &lmr), REFUSED);
	t_ok(create_va(mem, 2 * page, READ | DAT_MEM_PRIV_REMOTE_READ_FLAG, &lmr));
	ck_assert_uint_eq(t_fake.mr.access, FI_SEND | FI_WRITE | FI_REMOTE_READ);
	t_ok(dofi_lmr_free(lmr.handle));
	t_ok(create_va(mem + 1, page - 1, LOCAL, &lmr));
	t_ok(dofi_lmr_free(lmr.handle));
	for (size_t i = 0; i < 2 * page; i++)
		ck_assert_int_eq(mem[i], 0x5a);
}
END_TEST

/* LMR-003, LMR-005, LMR-024, LMR-025 */
START_TEST(test_lmr_of_an_lmr)
{
	struct lmr first = new_lmr(LOCAL), second;
	DAT_LMR_PARAM param;

	t_ok(create(DAT_MEM_TYPE_LMR, (DAT_REGION_DESCRIPTION){.for_lmr_handle = first.handle},
		    12345, LOCAL | REMOTE, &second));
	ck_assert_uint_ne(second.context, first.context);
	t_ok(dofi_lmr_free(first.handle));
	ck_assert_uint_eq(second.address, first.address);
	ck_assert_uint_eq(second.length, first.length);
	ck_assert_ptr_eq(dofi_ctxtab_lmr(&ia->ctxtab, second.context), second.handle);
	t_ok(dofi_lmr_query(second.handle, DAT_LMR_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.region_desc.for_lmr_handle, first.handle);
	t_ok(dofi_lmr_free(second.handle));
}
END_TEST

/* LMR-028, at every step */
START_TEST(test_lmr_failures_leave_nothing_behind)
{
	int live = t_fake.mr.live;
	struct lmr lmr;

	dofi_log_set_level("off");
	t_fake.mr.fail = -ENOMEM;
	t_ret(create_va(mem, 8, READ, &lmr), DOFI_NO_REGION);
	t_fake.mr.fail = -ENOSPC;
	t_ret(create_va(mem, 8, READ, &lmr), DOFI_NO_REGION);
	t_fake.mr.fail = 0;
	ia->ctxtab.entries = 0;
	t_ret(create_va(mem, 8, READ, &lmr), DOFI_NO_REGION);
	ia->ctxtab.entries = DOFI_CTXTAB_ENTRIES;
	ck_assert_int_eq(t_fake.mr.live, live);
	t_ok(dofi_pz_free(pz));
	pz = NULL;
}
END_TEST

/* LMR-028 */
START_TEST(test_lmr_without_memory)
{
	struct lmr lmr;

	t_fake.fail_mmap = 1;
	t_ret(create_va(mem, 8, READ, &lmr), DOFI_NO_REGION);
	dofi_log_set_level("off");
	t_fake.mr.fail = -ENOMEM;
	/* The memory of a failed call is used again, so a program may try for ever. */
	for (int i = 0; i < 2000; i++) {
		t_fake.fail_mmap = i < 1000 ? 0 : 1;
		t_ret(create_va(mem, 8, READ, &lmr), DOFI_NO_REGION);
		ck_assert_int_eq(t_fake.fail_mmap, i < 1000 ? 0 : 1);
	}
	t_fake.fail_mmap = 0;
}
END_TEST

START_TEST(test_lmr_that_begins_at_0)
{
	DAT_REGION_DESCRIPTION region = {.for_va = mem};
	DAT_LMR_HANDLE handle;
	DAT_LMR_PARAM param;
	DAT_VADDR address;

	for (int zero = 0; zero < 2; zero++) {
		t_ok(dofi_lmr_create_based(ia, DAT_MEM_TYPE_VIRTUAL, region, 8, pz, READ, zero,
					   &handle, NULL, NULL, NULL, &address));
		ck_assert_uint_eq(address, zero ? 0 : (uintptr_t)mem);
		t_ok(dofi_lmr_query(handle, DAT_LMR_FIELD_ALL, &param));
		ck_assert_uint_eq(param.registered_address, address);
#if T_DAT_MAJOR == 2
		ck_assert_int_eq(param.va_type, zero ? DAT_VA_TYPE_ZB : DAT_VA_TYPE_VA);
#endif
		t_ok(dofi_lmr_free(handle));
	}
}
END_TEST

/* --- dat_lmr_free --- */

/* Where the fabric refuses the key from then on, only subscribers are told. */
START_TEST(test_lmr_free_is_announced)
{
	struct dofi_ctx ctx;
	struct lmr remote;

	ia->ends_keys = _i;
	remote = new_lmr(LOCAL | REMOTE);
	ck_assert(read_as_peer(remote.context, &ctx));
	ck_assert_int_eq(!(ctx.privileges & DOFI_CTX_ANNOUNCED), _i);
	t_ok(dofi_lmr_free(remote.handle));
	ck_assert_uint_eq(t_fake.invalidated, remote.rmr_context);
	ck_assert_int_eq(t_fake.announced, !_i);
	remote = new_lmr(LOCAL | REMOTE);
	ck_assert(dofi_ctxtab_subscribe(&ia->ctxtab, remote.context));
	t_ok(dofi_lmr_free(remote.handle));
	ck_assert(t_fake.announced);
}
END_TEST

/* LMR-023, LMR-033, LMR-035, LMR-037, LMR-038 */
START_TEST(test_lmr_free_ends_all_use)
{
	struct lmr local = new_lmr(LOCAL), remote = new_lmr(LOCAL | REMOTE);
	struct dofi_ctx ctx;

	t_ret(dofi_pz_free(pz), DOFI_BAD_STATE(PZ_IN_USE));
	ck_assert(!read_as_peer(local.context, &ctx));
	t_ok(dofi_lmr_free(local.handle));
	ck_assert_uint_eq(t_fake.invalidations, 0); /* no peer has the context */
	t_ok(dofi_lmr_free(remote.handle));
	ck_assert_uint_eq(t_fake.invalidations, 1);
	ck_assert_uint_eq(t_fake.invalidated, remote.rmr_context);
	ck_assert(!t_fake.mr.closed_before_told);
	ck_assert(!t_fake.valid_when_told);
	ck_assert(!read_as_peer(remote.context, &ctx));
	ck_assert_ptr_null(dofi_ctxtab_lmr(&ia->ctxtab, local.context));
	ck_assert_ptr_null(dofi_ctxtab_lmr(&ia->ctxtab, remote.context));
	t_ok(dofi_pz_free(pz));
	pz = NULL;
}
END_TEST

/* --- PZs --- */

/* After four thousand millions of them, too, no number stands for two. */
START_TEST(test_the_counter_of_pzs_begins_again)
{
	DAT_PZ_HANDLE others[4];

	ck_assert_uint_eq(((struct dofi_pz *)pz)->number, 0);
	ia->next_pz = UINT32_MAX - _i;
	for (int i = 0; i < 4; i++)
		t_ok(dofi_pz_create(ia, &others[i]));
	for (int i = 0; i < 4; i++) {
		ck_assert_uint_ne(((struct dofi_pz *)others[i])->number, 0);
		for (int j = 0; j < i; j++)
			ck_assert_uint_ne(((struct dofi_pz *)others[i])->number,
					  ((struct dofi_pz *)others[j])->number);
	}
	/* The next numbers are looked up as well. */
	ck_assert_uint_gt(ia->next_pz, UINT16_MAX);
	for (int i = 0; i < 4; i++)
		t_ok(dofi_pz_free(others[i]));
}
END_TEST

/* --- dat_lmr_sync_rdma_read, dat_lmr_sync_rdma_write --- */

/* LMR-049 to LMR-052 */
START_TEST(test_sync_checks_its_segments)
{
	struct lmr lmr = new_lmr(LOCAL);
	DAT_LMR_TRIPLET seg[2] = {
		{.lmr_context = lmr.context, .virtual_address = lmr.address, .segment_length = 10},
		{.lmr_context = lmr.context,
		 .virtual_address = lmr.address + lmr.length - 10,
		 .segment_length = 10},
	};

	t_ok(dofi_lmr_sync(ia, seg, 2));
	t_ret(dofi_lmr_sync(pz, seg, 2), DOFI_BAD_HANDLE(IA));
	t_ret(dofi_lmr_sync(ia, NULL, 2), DOFI_BAD_ARG(2));
	t_ret(dofi_lmr_sync(ia, seg, 0), DOFI_BAD_ARG(3));
	seg[0].virtual_address = lmr.address;
	seg[0].segment_length = (__typeof__(seg[0].segment_length))lmr.length;
	t_ok(dofi_lmr_sync(ia, seg, 1));
	seg[0].segment_length++;
	t_ret(dofi_lmr_sync(ia, seg, 1), DOFI_BAD_ARG(2));
	seg[0].segment_length = 10;
	t_ok(dofi_lmr_sync(ia, NULL, 0));
	seg[1].virtual_address++;
	t_ok(dofi_lmr_sync(ia, seg, 1)); /* the other segment is not looked at */
	t_ret(dofi_lmr_sync(ia, seg, 2), DOFI_BAD_ARG(2));
	seg[1].virtual_address = lmr.address - 1;
	t_ret(dofi_lmr_sync(ia, seg, 2), DOFI_BAD_ARG(2));
	seg[1].virtual_address = lmr.address;
	seg[1].lmr_context ^= 0x10000;
	t_ret(dofi_lmr_sync(ia, seg, 2), DOFI_BAD_ARG(2));
	seg[1].segment_length = 0;
	t_ok(dofi_lmr_sync(ia, seg, 2));
	t_ok(dofi_lmr_free(lmr.handle));
	t_ret(dofi_lmr_sync(ia, seg, 1), DOFI_BAD_ARG(2));
}
END_TEST

/* --- context table --- */

/*
 * LMR-041: contexts and entries are not used again soon, and the table does not grow in a loop.
 */
START_TEST(test_contexts_rest)
{
	enum { ROUNDS = 5000 };
	static uint32_t seen[ROUNDS];

	for (unsigned int i = 0; i < ROUNDS; i++) {
		unsigned int same = 0;

		ck_assert_int_eq(dofi_ctxtab_reserve(&ia->ctxtab, NULL, &seen[i]), 0);
		ck_assert_uint_ne(seen[i] >> 16, 0);
		ck_assert_uint_lt(DOFI_CTX_INDEX(seen[i]), 2048);
		for (unsigned int k = 0; k < i; k++)
			same += seen[k] == seen[i] ||
				(i - k <= 1000 &&
				 DOFI_CTX_INDEX(seen[k]) == DOFI_CTX_INDEX(seen[i]));
		ck_assert_uint_eq(same, 0);
		dofi_ctxtab_release(&ia->ctxtab, seen[i]);
	}
}
END_TEST

/* A context is not 0, which means that there is none. */
START_TEST(test_the_number_of_an_entry_s_uses_wraps)
{
	uint32_t before, after;

	ia->ctxtab.first_generation = UINT16_MAX - 1;
	ck_assert_int_eq(dofi_ctxtab_reserve(&ia->ctxtab, NULL, &before), 0);
	ia->ctxtab.first_generation = UINT16_MAX;
	ck_assert_int_eq(dofi_ctxtab_reserve(&ia->ctxtab, NULL, &after), 0);
	ck_assert_uint_eq(before >> 16, UINT16_MAX);
	ck_assert_uint_eq(after >> 16, 1);
	dofi_ctxtab_release(&ia->ctxtab, before);
	dofi_ctxtab_release(&ia->ctxtab, after);
}
END_TEST

START_TEST(test_table_can_be_used_up)
{
	static uint32_t contexts[DOFI_CTXTAB_ENTRIES];
	uint32_t one_more;

	unsigned int n = 0;

	while (n < DOFI_CTXTAB_ENTRIES && !dofi_ctxtab_reserve(&ia->ctxtab, NULL, &contexts[n]))
		n++;
	ck_assert_uint_eq(n, DOFI_CTXTAB_ENTRIES);
	ck_assert_int_eq(dofi_ctxtab_reserve(&ia->ctxtab, NULL, &one_more), -ENOSPC);
	for (unsigned int i = 0; i < DOFI_CTXTAB_ENTRIES; i++)
		dofi_ctxtab_release(&ia->ctxtab, contexts[i]);
	ck_assert_int_eq(dofi_ctxtab_reserve(&ia->ctxtab, NULL, &one_more), 0);
	dofi_ctxtab_release(&ia->ctxtab, one_more);
}
END_TEST

/* A peer must refuse an entry with any bit of another entry. */
START_TEST(test_torn_entry_is_refused)
{
	struct lmr lmr = new_lmr(LOCAL | REMOTE);
	struct dofi_ctx_wire good = ia->ctxtab.wire[DOFI_CTX_INDEX(lmr.context)], torn;
	struct dofi_ctx ctx;

	ck_assert(dofi_ctx_decode(&good, lmr.context, &ctx));
	ck_assert(!dofi_ctx_decode(&good, lmr.context ^ 0x10000, &ctx));
	for (size_t bit = 0; bit < 8 * sizeof(good); bit++) {
		torn = good;
		((unsigned char *)&torn)[bit / 8] ^= (unsigned char)(1u << bit % 8);
		ck_assert_msg(!dofi_ctx_decode(&torn, lmr.context, &ctx), "bit %zu", bit);
	}
	t_ok(dofi_lmr_free(lmr.handle));
}
END_TEST

START_TEST(test_address_is_virtual_where_the_fabric_wants_it)
{
	struct dofi_ctx ctx;
	struct lmr lmr;

	ia->info->domain_attr->mr_mode = FI_MR_VIRT_ADDR;
	lmr = new_lmr(LOCAL | REMOTE);
	ck_assert(read_as_peer(lmr.context, &ctx));
	ck_assert_uint_eq(ctx.address, lmr.address);
	ck_assert_ptr_null(((struct dofi_lmr *)lmr.handle)->desc);
	t_ok(dofi_lmr_free(lmr.handle));
}
END_TEST

/* --- RMRs --- */

static DAT_LMR_TRIPLET triplet_of(const struct lmr *lmr, uint64_t offset, uint32_t length)
{
	return (DAT_LMR_TRIPLET){.lmr_context = lmr->context,
				 .virtual_address = lmr->address + offset,
				 .segment_length = length};
}

static DAT_RETURN prepare(DAT_RMR_HANDLE rmr, DAT_LMR_TRIPLET triplet, unsigned int privileges,
			  struct dofi_bind *bind)
{
	return dofi_bind_prepare(rmr, pz, &triplet, (DAT_MEM_PRIV_FLAGS)privileges, bind);
}

/* RMR-001 to RMR-005, RMR-010, RMR-013, RMR-014, RMR-016, RMR-020, RMR-021 */
START_TEST(test_rmr_life)
{
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;

	t_ret(dofi_rmr_create(ia, &rmr), DOFI_BAD_HANDLE(PZ));
	t_ret(dofi_rmr_create(pz, NULL), DOFI_BAD_ARG(2));
	t_ok(dofi_rmr_create(pz, &rmr));
	t_ret(dofi_pz_free(pz), DOFI_BAD_STATE(PZ_IN_USE));
#ifndef NDEBUG /* a lock without a level is not checked */
	ck_assert_int_eq(((struct dofi_rmr *)rmr)->lock.level, DOFI_LEVEL_LEAF);
#endif
	t_ok(dofi_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, ia);
	ck_assert_ptr_eq(param.pz_handle, pz);
	t_ok(dofi_rmr_query(rmr, (DAT_RMR_PARAM_MASK)0x80, &param));
	t_ret(dofi_rmr_query(rmr, DAT_RMR_FIELD_ALL, NULL), DOFI_BAD_ARG(3));
	t_ok(dofi_rmr_free(rmr));
	ck_assert_uint_eq(t_fake.invalidations, 0);
	ck_assert_uint_eq(t_fake.waits, 1); /* peers may still have to answer about its last bind */
	t_ret(dofi_rmr_free(rmr), DOFI_BAD_HANDLE(RMR));
	t_ret(dofi_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), DOFI_BAD_HANDLE(RMR));
}
END_TEST

START_TEST(test_rmr_without_memory)
{
	DAT_RMR_HANDLE rmr = ia;

	t_fake.fail_mmap = 1;
	t_ret(dofi_rmr_create(pz, &rmr), DOFI_NO_REGION);
	ck_assert_ptr_eq(rmr, ia);
	t_ok(dofi_pz_free(pz)); /* the failed call does not use it */
	pz = NULL;
}
END_TEST

START_TEST(test_memory_of_rmrs_is_used_again)
{
	DAT_RMR_HANDLE rmr;

	for (int i = 0; i < 2000; i++) {
		t_fake.fail_mmap = i < 1000 ? 0 : 1;
		t_ok(dofi_rmr_create(pz, &rmr));
		t_ok(dofi_rmr_free(rmr));
	}
	t_fake.fail_mmap = 0;
}
END_TEST

#if T_DAT_MAJOR == 2
START_TEST(test_scope_and_type_of_an_rmr)
{
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;

	t_ok(_i ? dofi_rmr_create_for_ep(pz, &rmr) : dofi_rmr_create(pz, &rmr));
	t_ok(dofi_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	ck_assert_int_eq(param.rmr_scope, _i ? DAT_RMR_SCOPE_EP : DAT_RMR_SCOPE_PZ);
	ck_assert_int_eq(param.va_type, DAT_VA_TYPE_VA);
	((struct dofi_rmr *)rmr)->zero_based = true;
	t_ok(dofi_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	ck_assert_int_eq(param.va_type, DAT_VA_TYPE_ZB);
	t_ok(dofi_rmr_free(rmr));
}
END_TEST
#endif

/* DTO-164 to DTO-167, DTO-182, DTO-183, RMR-009, LMR-034 */
START_TEST(test_bind_rebind_unbind)
{
	struct lmr lmr = new_lmr(LOCAL | REMOTE);
	struct dofi_bind bind;
	struct dofi_ctx ctx;
	uint32_t first, second;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;

	t_ok(dofi_rmr_create(pz, &rmr));
	t_ok(prepare(rmr, triplet_of(&lmr, 1000, 500), DAT_MEM_PRIV_REMOTE_READ_FLAG, &bind));
	first = bind.context;
	ck_assert(!read_as_peer(first, &ctx)); /* the bind has not been carried out yet */
	t_ret(dofi_lmr_free(lmr.handle), DOFI_BAD_STATE(LMR_IN_USE));
	ck_assert_uint_eq(dofi_bind_apply(&bind), 0);
	ck_assert(read_as_peer(first, &ctx));
	ck_assert_uint_eq(ctx.base, lmr.address + 1000);
	ck_assert_uint_eq(ctx.address, 1000);
	ck_assert_uint_eq(ctx.length, 500);
	ck_assert_uint_eq(ctx.privileges, DAT_MEM_PRIV_REMOTE_READ_FLAG | DOFI_CTX_ANNOUNCED);
	ck_assert_uint_eq(ctx.key, t_fake.mr.key);
	ck_assert_ptr_null(dofi_ctxtab_lmr(&ia->ctxtab, first)); /* the context is for peers only */
	t_ok(dofi_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	ck_assert_uint_eq(param.rmr_context, first);
	ck_assert_uint_eq(param.lmr_triplet.virtual_address, lmr.address + 1000);
	ck_assert_uint_eq(param.lmr_triplet.segment_length, 500);
	ck_assert_uint_eq(param.lmr_triplet.lmr_context, lmr.context);
	ck_assert_int_eq(param.mem_priv, DAT_MEM_PRIV_REMOTE_READ_FLAG);

	t_ok(prepare(rmr, triplet_of(&lmr, 0, 1), REMOTE, &bind));
	second = bind.context;
	ck_assert_uint_ne(second, first);
	ck_assert(read_as_peer(first, &ctx));
	ck_assert_uint_eq(dofi_bind_apply(&bind), first);
	ck_assert(!read_as_peer(first, &ctx));
	ck_assert(read_as_peer(second, &ctx));

	t_ok(prepare(rmr, (DAT_LMR_TRIPLET){0}, REMOTE, &bind));
	ck_assert_uint_eq(dofi_bind_apply(&bind), second);
	ck_assert(!read_as_peer(second, &ctx));
	t_ok(dofi_lmr_free(lmr.handle));
	t_ok(dofi_rmr_free(rmr));
}
END_TEST

/* DTO-175 to DTO-178, DTO-184 */
START_TEST(test_bind_arguments)
{
	struct lmr lmr = new_lmr(DAT_MEM_PRIV_LOCAL_READ_FLAG);
	DAT_LMR_TRIPLET triplet = triplet_of(&lmr, 0, 8);
	const DAT_RETURN zones = DOFI_ERR(DAT_PROTECTION_VIOLATION, 0);
	DAT_RMR_HANDLE rmr, alien;
	struct dofi_bind bind;
	DAT_PZ_HANDLE other;

	t_ok(dofi_pz_create(ia, &other));
	t_ok(dofi_rmr_create(pz, &rmr));
	t_ok(dofi_rmr_create(other, &alien));
	t_ret(prepare(alien, triplet, 0, &bind), zones);
	t_ret(dofi_bind_prepare(rmr, other, &triplet, (DAT_MEM_PRIV_FLAGS)0, &bind), zones);
	t_ret(dofi_bind_prepare(alien, other, &triplet, (DAT_MEM_PRIV_FLAGS)0, &bind), zones);
	t_ret(prepare(rmr, triplet, 0x80, &bind), DOFI_BAD_ARG(3));
	t_ret(prepare(rmr, triplet, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &bind), REFUSED);
	triplet.virtual_address--;
	t_ret(prepare(rmr, triplet, 0, &bind), DOFI_BAD_ARG(2));
	triplet = triplet_of(&lmr, (uint64_t)lmr.length - 7, 8);
	t_ret(prepare(rmr, triplet, 0, &bind), DOFI_BAD_ARG(2));
	triplet.lmr_context ^= 0x10000;
	t_ret(prepare(rmr, triplet, 0, &bind), REFUSED);
	t_ok(dofi_rmr_free(rmr));
	t_ok(dofi_rmr_free(alien));
	t_ok(dofi_pz_free(other));
	t_ok(dofi_lmr_free(lmr.handle)); /* the refused binds do not use it */
}
END_TEST

/*
 * An LMR without remote rights is registered for remote access by the first bind that grants some.
 */
START_TEST(test_bind_of_local_memory_opens_it)
{
	struct lmr lmr = new_lmr(LOCAL);
	struct dofi_bind one, two;
	int live = t_fake.mr.live;
	DAT_RMR_HANDLE rmr;

	dofi_log_set_level("off");
	ck_assert_uint_eq(t_fake.mr.access & (FI_REMOTE_READ | FI_REMOTE_WRITE), 0);
	t_ok(dofi_rmr_create(pz, &rmr));
	t_fake.mr.fail = -ENOMEM;
	t_ret(prepare(rmr, triplet_of(&lmr, 0, 8), DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &one),
	      DOFI_NO_REGION);
	t_fake.mr.fail = 0;
	t_ok(prepare(rmr, triplet_of(&lmr, 0, 8), DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &one));
	t_ok(prepare(rmr, triplet_of(&lmr, 8, 8), DAT_MEM_PRIV_REMOTE_READ_FLAG, &two));
	ck_assert_int_eq(t_fake.mr.live, live + 1);
	ck_assert_uint_eq(t_fake.mr.access & (FI_REMOTE_READ | FI_REMOTE_WRITE),
			  FI_REMOTE_READ | FI_REMOTE_WRITE);
	ck_assert_uint_eq(one.mr.key, t_fake.mr.key);
	ck_assert_uint_eq(two.mr.key, t_fake.mr.key);
	dofi_bind_cancel(&one);
	dofi_bind_cancel(&two);
	t_ok(dofi_rmr_free(rmr));
	t_ok(dofi_lmr_free(lmr.handle));
	ck_assert_int_eq(t_fake.mr.live, live - 1);
}
END_TEST

START_TEST(test_flushed_bind_changes_nothing)
{
	struct lmr lmr = new_lmr(LOCAL | REMOTE);
	uint32_t used = ia->ctxtab.used;
	struct dofi_bind bind;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;

	t_ok(dofi_rmr_create(pz, &rmr));
	t_ok(prepare(rmr, triplet_of(&lmr, 0, 8), REMOTE, &bind));
	dofi_bind_cancel(&bind);
	ck_assert_uint_eq(ia->ctxtab.used, used);
	t_ok(dofi_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	ck_assert_uint_eq(param.rmr_context, 0);
	t_ok(dofi_lmr_free(lmr.handle));
	t_ok(dofi_rmr_free(rmr));
}
END_TEST

/* RMR-017, RMR-018 */
START_TEST(test_rmr_free_unbinds)
{
	struct lmr lmr = new_lmr(LOCAL | REMOTE);
	struct dofi_bind bind;
	struct dofi_ctx ctx;
	DAT_RMR_HANDLE rmr;

	t_ok(dofi_rmr_create(pz, &rmr));
	t_ok(prepare(rmr, triplet_of(&lmr, 0, 8), REMOTE, &bind));
	dofi_bind_apply(&bind);
	t_ok(dofi_rmr_free(rmr));
	ck_assert(!read_as_peer(bind.context, &ctx));
	ck_assert_uint_eq(t_fake.invalidations, 1);
	ck_assert(!t_fake.valid_when_told);
	ck_assert_uint_eq(t_fake.invalidated, bind.context);
	t_ok(dofi_lmr_free(lmr.handle));
}
END_TEST

/* Peers may still have to answer about an RMR with more rights than the LMR. */
START_TEST(test_lmr_free_waits_for_peers_of_its_rmrs)
{
	struct lmr local = new_lmr(LOCAL);
	struct dofi_bind bind;
	DAT_RMR_HANDLE rmr;

	t_ok(dofi_rmr_create(pz, &rmr));
	t_ok(prepare(rmr, triplet_of(&local, 0, 8), REMOTE, &bind));
	dofi_bind_cancel(&bind);
	t_ok(dofi_lmr_free(local.handle));
	ck_assert_uint_eq(t_fake.waits, 1);
	t_ok(dofi_rmr_free(rmr));
}
END_TEST

/* RMR-022: the RMR is freed before the bind is applied or flushed. */
START_TEST(test_rmr_freed_while_a_bind_is_outstanding)
{
	struct lmr lmr = new_lmr(LOCAL | REMOTE);
	struct dofi_bind one, two;
	struct dofi_ctx ctx;
	DAT_RMR_HANDLE rmr;

	t_ok(dofi_rmr_create(pz, &rmr));
	t_ok(prepare(rmr, triplet_of(&lmr, 0, 8), REMOTE, &one));
	t_ok(prepare(rmr, triplet_of(&lmr, 0, 8), REMOTE, &two));
	t_ok(dofi_rmr_free(rmr));
	ck_assert_uint_eq(dofi_bind_apply(&one), 0);
	ck_assert(!read_as_peer(one.context, &ctx));
	dofi_bind_cancel(&two);
	t_ok(dofi_lmr_free(lmr.handle));
}
END_TEST

/* --- shared memory --- */

static char cookie[DAT_LMR_COOKIE_SIZE];

static void name_cookie(const char *suffix)
{
	memset(cookie, 0, sizeof(cookie));
	snprintf(cookie, sizeof(cookie), "unit test %d", (int)getppid());
	cookie[sizeof(cookie) - 1] = suffix[0];
}

static DAT_RETURN create_shared(void *va, struct lmr *lmr)
{
	DAT_REGION_DESCRIPTION region = {.for_shared_memory = {va, &cookie}};

	return create(DAT_MEM_TYPE_SHARED_VIRTUAL, region, 2 * page, LOCAL | REMOTE, lmr);
}

static int new_object(void)
{
	int fd = t_memfile("shared");

	ck_assert_int_eq(ftruncate(fd, (off_t)(8 * page)), 0);
	return fd;
}

static bool cookie_file_exists(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/shm/dat-ofi-cookies-%u", (unsigned int)geteuid());
	return !access(path, F_OK);
}

/*
 * Another program may use cookies just now. When that program ends, no file is left. The file of a
 * program that was killed is left to the next user of a cookie, which is this one.
 */
static void expect_no_cookie_file(void)
{
	static const char another[DOFI_COOKIE_SIZE] = "used once";
	const uint64_t limit = dofi_now() + T_LIMIT_S * UINT64_C(1000000000);
	const char *shared = map_pages(MAP_SHARED, new_object());

	while (cookie_file_exists()) {
		int share = dofi_cookie_share(another, (uintptr_t)shared, page);

		ck_assert_msg(dofi_now() < limit, "the cookie file is still there");
		if (share >= 0)
			dofi_cookie_unshare(share);
		sched_yield();
	}
}

/* LMR-006, LMR-007, LMR-009, LMR-010 */
START_TEST(test_cookie_names_one_memory)
{
	const DAT_RETURN other = DOFI_ERR(DAT_INVALID_STATE, 0);
	int fd = new_object(), second = new_object();
	char *here = map_pages(MAP_SHARED, fd), *there = map_pages(MAP_SHARED, fd);
	char *elsewhere = map_pages(MAP_SHARED, second);
	struct lmr a, b, c;

	name_cookie("a");
	t_ok(create_shared(here, &a));
	t_ok(create_shared(there, &b));
	ck_assert_uint_ne(a.context, b.context);
	t_ret(create_shared(elsewhere, &c), other);
	t_ret(create_shared(here + page, &c), other);
	name_cookie("b"); /* the last byte counts */
	t_ok(create_shared(elsewhere, &c));
	t_ok(dofi_lmr_free(c.handle));
	name_cookie("a");
	t_ok(dofi_lmr_free(a.handle));
	t_ret(create_shared(elsewhere, &c), other);
	t_ok(dofi_lmr_free(b.handle));
	t_ok(create_shared(elsewhere, &c));
	t_ok(dofi_lmr_free(c.handle));
}
END_TEST

/* LMR-008 */
START_TEST(test_cookie_needs_shared_memory)
{
	const DAT_RETURN other = DOFI_ERR(DAT_INVALID_STATE, 0);
	int fd = new_object();
	char *shared = map_pages(MAP_SHARED, fd);
	struct lmr lmr;
	int id;

	name_cookie("c");
	t_ret(create_shared(mem, &lmr), other);
	t_ret(create(DAT_MEM_TYPE_SHARED_VIRTUAL,
		     (DAT_REGION_DESCRIPTION){.for_shared_memory = {shared, NULL}}, page, LOCAL,
		     &lmr),
	      DOFI_BAD_ARG(3));
	/*
	 * Two adjacent mappings are one region only if their offsets in the object are adjacent,
	 * too.
	 */
	ck_assert_ptr_ne(mmap(shared + page, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			      fd, 0),
			 MAP_FAILED);
	t_ret(create_shared(shared, &lmr), other);
	ck_assert_ptr_ne(mmap(shared + page, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			      fd, (off_t)page),
			 MAP_FAILED);
	ck_assert_int_eq(mprotect(shared + page, page, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	t_ok(create_shared(shared, &lmr));
	t_ok(dofi_lmr_free(lmr.handle));

	id = shmget(IPC_PRIVATE, 4 * page, 0600);
	ck_assert_int_ge(id, 0);
	shared = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	ck_assert_ptr_ne(shared, (void *)-1);
	t_ok(create_shared(shared, &lmr));
	t_ok(dofi_lmr_free(lmr.handle));
}
END_TEST

/* Forks a child that takes a share, reports it, and waits. Returns its pid. */
static pid_t fork_holder(const char *shared)
{
	int done[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(done), 0);
	pid = fork();
	if (!pid) {
		byte = dofi_cookie_share(cookie, (uintptr_t)shared, 2 * page) >= 0 ? 'y' : 'n';
		if (write(done[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_gt(pid, 0);
	close(done[1]);
	ck_assert_int_eq(read(done[0], &byte, 1), 1);
	ck_assert_int_eq(byte, 'y');
	close(done[0]);
	return pid;
}

/* A cookie is in use as long as a process holds a share, however that process ends. */
START_TEST(test_cookie_dies_with_its_process)
{
	int fd = new_object(), second = new_object();
	char *shared = map_pages(MAP_SHARED, fd), *elsewhere = map_pages(MAP_SHARED, second);
	struct lmr lmr;
	pid_t pid;

	name_cookie("d");
	pid = fork_holder(shared);
	t_ret(create_shared(elsewhere, &lmr), DOFI_ERR(DAT_INVALID_STATE, 0));
	t_ok(create_shared(shared, &lmr));
	t_ok(dofi_lmr_free(lmr.handle));
	ck_assert(cookie_file_exists());
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	t_ok(create_shared(elsewhere, &lmr));
	t_ok(dofi_lmr_free(lmr.handle));
	expect_no_cookie_file();
}
END_TEST

/* A forked child that has inherited the descriptor neither keeps the cookie nor blocks others. */
START_TEST(test_cookie_is_given_back_in_spite_of_a_child)
{
	int fd = new_object(), second = new_object();
	char *shared = map_pages(MAP_SHARED, fd), *elsewhere = map_pages(MAP_SHARED, second);
	struct lmr lmr, other;
	pid_t pid;

	name_cookie("h");
	t_ok(create_shared(shared, &other)); /* so that the file stays */
	name_cookie("e");
	t_ok(create_shared(shared, &lmr));
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	ck_assert_int_gt(pid, 0);
	t_ok(dofi_lmr_free(lmr.handle));
	t_ok(create_shared(elsewhere, &lmr));
	t_ok(dofi_lmr_free(lmr.handle));
	t_ok(dofi_lmr_free(other.handle));
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(test_shared_lmr_that_fails_gives_its_cookie_back)
{
	int fd = new_object();
	char *shared = map_pages(MAP_SHARED, fd);
	struct lmr lmr;

	dofi_log_set_level("off");
	name_cookie("f");
	t_fake.mr.fail = -ENOMEM;
	t_ret(create_shared(shared, &lmr), DOFI_NO_REGION);
	expect_no_cookie_file();
}
END_TEST

struct race {
	const char *memory[2];
	_Atomic int *holders; /* [2], shared by the processes */
};

/* Takes and returns shares. Returns 0 if the cookie never named both memories at the same time. */
static int race_main(const struct race *race, int mine)
{
	for (int round = 0; round < 500; round++) {
		int share = dofi_cookie_share(cookie, (uintptr_t)race->memory[mine], page);

		if (share == -EEXIST)
			continue;
		if (share < 0)
			return 1;
		race->holders[mine]++;
		if (race->holders[!mine])
			return 2;
		if (dofi_cookie_share(cookie, (uintptr_t)race->memory[!mine], page) != -EEXIST)
			return 3;
		race->holders[mine]--;
		dofi_cookie_unshare(share);
	}
	return 0;
}

/* LMR-006 to LMR-010, with processes that start and end at the same time */
START_TEST(test_cookies_under_contention)
{
	enum { PROCESSES = 4 };
	int fd = new_object(), second = new_object(), status;
	struct race race = {
		.memory = {map_pages(MAP_SHARED, fd), map_pages(MAP_SHARED, second)},
		.holders = (void *)map_pages(MAP_SHARED | MAP_ANONYMOUS, -1),
	};
	pid_t pids[PROCESSES];

	name_cookie("g");
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		ck_assert_int_ge(pids[i], 0);
		if (!pids[i])
			_exit(race_main(&race, i & 1));
	}
	for (int i = 0; i < PROCESSES; i++) {
		ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
		ck_assert_int_eq(status, 0);
	}
	expect_no_cookie_file();
}
END_TEST

static void add_lmr_tests(TCase *tc)
{
	tcase_add_test(tc, test_lmr_of_virtual_memory);
	tcase_add_test(tc, test_lmr_null_outputs_and_implied_local_read);
	tcase_add_test(tc, test_lmr_arguments);
	tcase_add_test(tc, test_lmr_region_must_be_there);
	tcase_add_test(tc, test_lmr_of_an_lmr);
	tcase_add_test(tc, test_lmr_failures_leave_nothing_behind);
	tcase_add_test(tc, test_lmr_without_memory);
	tcase_add_test(tc, test_lmr_that_begins_at_0);
	tcase_add_test(tc, test_lmr_free_ends_all_use);
	tcase_add_loop_test(tc, test_the_counter_of_pzs_begins_again, 0, 3);
	tcase_add_loop_test(tc, test_lmr_free_is_announced, 0, 2);
	tcase_add_test(tc, test_lmr_free_waits_for_peers_of_its_rmrs);
	tcase_add_test(tc, test_sync_checks_its_segments);
	tcase_add_test(tc, test_contexts_rest);
	tcase_add_test(tc, test_the_number_of_an_entry_s_uses_wraps);
	tcase_add_test(tc, test_table_can_be_used_up);
	tcase_add_test(tc, test_torn_entry_is_refused);
	tcase_add_test(tc, test_address_is_virtual_where_the_fabric_wants_it);
}

static void add_rmr_tests(TCase *tc)
{
	tcase_add_test(tc, test_rmr_life);
	tcase_add_test(tc, test_rmr_without_memory);
	tcase_add_test(tc, test_memory_of_rmrs_is_used_again);
#if T_DAT_MAJOR == 2
	tcase_add_loop_test(tc, test_scope_and_type_of_an_rmr, 0, 2);
#endif
	tcase_add_test(tc, test_bind_rebind_unbind);
	tcase_add_test(tc, test_bind_arguments);
	tcase_add_test(tc, test_bind_of_local_memory_opens_it);
	tcase_add_test(tc, test_flushed_bind_changes_nothing);
	tcase_add_test(tc, test_rmr_free_unbinds);
	tcase_add_test(tc, test_rmr_freed_while_a_bind_is_outstanding);
}

static void add_cookie_tests(TCase *tc)
{
	tcase_add_test(tc, test_cookie_names_one_memory);
	tcase_add_test(tc, test_cookie_needs_shared_memory);
	tcase_add_test(tc, test_cookie_dies_with_its_process);
	tcase_add_test(tc, test_cookie_is_given_back_in_spite_of_a_child);
	tcase_add_test(tc, test_shared_lmr_that_fails_gives_its_cookie_back);
	tcase_add_test(tc, test_cookies_under_contention);
}

int main(void)
{
	static void (*const add[])(TCase * tc) = {add_lmr_tests, add_rmr_tests, add_cookie_tests};
	static const char *const names[] = {"lmr", "rmr", "cookie"};
	Suite *suite = suite_create("mem");

	for (int i = 0; i < 3; i++) {
		TCase *tc = tcase_create(names[i]);

		tcase_add_checked_fixture(tc, setup, teardown);
		tcase_set_timeout(tc, 60);
		add[i](tc);
		suite_add_tcase(suite, tc);
	}
	return t_run(suite);
}
