/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * LMRs: which memory may be registered, with which rights, and that the steps of a failed one are
 * undone. Test of the calls: api/check_mem.c.
 */
#include "../../lib/bare_ia.h"

#include "../../../prov/ofi/dto/lmr.h"
#include "../../../prov/ofi/object/ctxtab.h"
#include "../../../prov/ofi/object/mem.h"
#include "../../../prov/ofi/object/mr.h"

#include <errno.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#define ENTRIES 4u
#define PAGES   4u
#define LONGEST (1u << 20)
#define ZONE    3u
#define KEY     77u
#define ADDRESS 0x5000u
#define COOKIE  12 /* a share */
#define SHARED  DAT_MEM_TYPE_SHARED_VIRTUAL

#define LRD     DAT_MEM_PRIV_LOCAL_READ_FLAG
#define LWR     DAT_MEM_PRIV_LOCAL_WRITE_FLAG
#define RRD     DAT_MEM_PRIV_REMOTE_READ_FLAG
#define RWR     DAT_MEM_PRIV_REMOTE_WRITE_FLAG

static struct dofi_ia *ia;
static struct dofi_pz pz = {.number = ZONE};
static struct dofi_ctx_local local[ENTRIES];
static struct dofi_ctx_wire wire[ENTRIES];
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.domain_attr = &domain_attr};
static size_t page;
static char *mem;

/* --- the linker redirects these calls --- */

static char descriptor;
static struct fid_mr regions[2] = {{.mem_desc = &descriptor}, {.mem_desc = &descriptor}};
static struct {
	int opened, closed, answer, close_answer;
	void *buf;
	size_t length;
	DAT_MEM_PRIV_FLAGS rights;
} fabric;
static struct {
	int taken, given, answer;
	uint64_t base, length;
} cookies;

int __wrap_dofi_mr_register(struct dofi_ia *of, void *buf, size_t length, DAT_MEM_PRIV_FLAGS rights,
			    struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p);
int __wrap_dofi_mr_close(struct dofi_ia *of, struct fid_mr *mr);
int __wrap_dofi_cookie_share(const char *cookie, uint64_t base, uint64_t length);
void __wrap_dofi_cookie_unshare(int share);

int __wrap_dofi_mr_register(struct dofi_ia *of, void *buf, size_t length, DAT_MEM_PRIV_FLAGS rights,
			    struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	ck_assert_ptr_eq(of, ia);
	if (fabric.answer)
		return fabric.answer;
	*mr_p = &regions[fabric.opened++ % 2];
	*key_p = KEY;
	*address_p = ADDRESS;
	fabric.buf = buf;
	fabric.length = length;
	fabric.rights = rights;
	return 0;
}

int __wrap_dofi_mr_close(struct dofi_ia *of, struct fid_mr *mr)
{
	ck_assert_ptr_eq(of, ia);
	ck_assert_ptr_nonnull(mr);
	dofi_assert_held(&ia->engine.lock);
	fabric.closed++;
	return fabric.close_answer;
}

int __wrap_dofi_cookie_share(const char *cookie, uint64_t base, uint64_t length)
{
	ck_assert_str_eq(cookie, "name");
	if (cookies.answer)
		return cookies.answer;
	cookies.taken++;
	cookies.base = base;
	cookies.length = length;
	return COOKIE;
}

void __wrap_dofi_cookie_unshare(int share)
{
	ck_assert_int_eq(share, COOKIE);
	cookies.given++;
}

static unsigned int freed; /* LMRs */

void __wrap_dofi_obj_free(struct dofi_obj *obj, DAT_HANDLE_TYPE type);
void __real_dofi_obj_free(struct dofi_obj *obj, DAT_HANDLE_TYPE type);

void __wrap_dofi_obj_free(struct dofi_obj *obj, DAT_HANDLE_TYPE type)
{
	freed += type == DAT_HANDLE_TYPE_LMR;
	__real_dofi_obj_free(obj, type);
}

/* --- */

static void setup(void)
{
	ia = t_bare_ia_open();
	ia->info = &info;
	ia->limits.max_lmr = LONGEST;
	dofi_lock_init_level(&ia->ctxtab.lock, DOFI_LEVEL_LEAF);
	ia->ctxtab.local = local;
	ia->ctxtab.wire = wire;
	ia->ctxtab.entries = ENTRIES;
	ia->ctxtab.fresh = 1;
	page = (size_t)sysconf(_SC_PAGESIZE);
	mem = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(mem, MAP_FAILED);
	memset(mem, 0x5a, PAGES * page);
}

static void teardown(void)
{
	ck_assert_int_eq(pz.obj.users, 0);
	ck_assert_int_eq(fabric.closed, fabric.opened);
	ck_assert_int_eq(cookies.given, cookies.taken);
	ck_assert_uint_eq(ia->ctxtab.used, 0);
	munmap(mem, PAGES * page);
	t_bare_ia_close(ia);
}

static struct dofi_lmr *new_lmr(void *at, uint64_t length, unsigned int privileges)
{
	struct dofi_lmr *lmr =
		dofi_obj_alloc(ia, ia->obj.provider, DAT_HANDLE_TYPE_LMR, sizeof(*lmr));

	ck_assert_ptr_nonnull(lmr);
	lmr->pz = &pz;
	lmr->mem_type = DAT_MEM_TYPE_VIRTUAL;
	lmr->region.for_va = at;
	lmr->asked_length = length;
	lmr->asked_privileges = (DAT_MEM_PRIV_FLAGS)privileges;
	return lmr;
}

static struct dofi_lmr *opens(struct dofi_lmr *lmr)
{
	ck_assert_uint_eq(dofi_lmr_open(lmr), DAT_SUCCESS);
	ck_assert_int_eq(pz.obj.users, 1);
	ck_assert(dofi_obj_is(lmr, DAT_HANDLE_TYPE_LMR));
	return lmr;
}

/* Fails, and leaves nothing. */
static void refuses(struct dofi_lmr *lmr, DAT_RETURN says)
{
	DAT_RETURN ret = dofi_lmr_open(lmr);

	ck_assert_msg(ret == says, "0x%x, not 0x%x", ret, says);
	ck_assert(!dofi_obj_is(lmr, DAT_HANDLE_TYPE_LMR));
	ck_assert_int_eq(fabric.closed, fabric.opened);
	ck_assert_int_eq(cookies.given, cookies.taken);
	ck_assert_uint_eq(ia->ctxtab.used, 0);
	ck_assert_int_eq(pz.obj.users, 0);
	dofi_obj_free(&lmr->obj, DAT_HANDLE_TYPE_LMR);
}

static void destroy(struct dofi_lmr *lmr)
{
	unsigned int before = freed;

	ck_assert(dofi_obj_retire(&lmr->obj, true));
	dofi_lmr_destroy(lmr);
	ck_assert_uint_eq(freed, before + 1);
}

static bool is_visible(uint32_t context, struct dofi_ctx *ctx)
{
	return dofi_ctx_decode(&wire[DOFI_CTX_INDEX(context)], context, ctx);
}

/* --- what peers and local posts get --- */

START_TEST(peers_get_an_entry_if_they_have_rights)
{
	struct dofi_lmr *lmr;
	struct dofi_ctx ctx;
	uint32_t context;

	lmr = new_lmr(mem + 8, 100, LWR | (_i & 1 ? RRD : 0));
	lmr->zero_based = _i & 2;
	opens(lmr);
	context = lmr->context;
	ck_assert_uint_ne(context, 0);
	ck_assert_ptr_eq(dofi_ctxtab_lmr(&ia->ctxtab, context), lmr);
	ck_assert_uint_eq(lmr->start, (uintptr_t)mem + 8);
	ck_assert_uint_eq(lmr->base, _i & 2 ? 0 : lmr->start);
	ck_assert_uint_eq(lmr->length, 100);
	ck_assert_int_eq(lmr->privileges, (int)(LRD | LWR | (_i & 1 ? RRD : 0)));
	ck_assert_ptr_eq(fabric.buf, mem + 8);
	ck_assert_uint_eq(fabric.length, 100);
	ck_assert_int_eq(fabric.rights, lmr->privileges);
	ck_assert_uint_eq(dofi_lmr_rmr_context(lmr), _i & 1 ? context : 0);
	ck_assert(is_visible(context, &ctx) == (_i & 1));
	if (_i & 1) {
		ck_assert_uint_eq(ctx.key, KEY);
		ck_assert_uint_eq(ctx.address, ADDRESS);
		ck_assert_uint_eq(ctx.base, lmr->base);
		ck_assert_uint_eq(ctx.length, 100);
		ck_assert_uint_eq(ctx.privileges, RRD | DOFI_CTX_ANNOUNCED);
		ck_assert_uint_eq(ctx.pz, ZONE);
	}
	destroy(lmr);
	ck_assert(!is_visible(context, &ctx));
	ck_assert_ptr_null(dofi_ctxtab_lmr(&ia->ctxtab, context));
}
END_TEST

START_TEST(the_descriptor_is_for_fabrics_that_need_it)
{
	struct dofi_lmr *lmr;

	domain_attr.mr_mode = _i ? FI_MR_LOCAL : FI_MR_VIRT_ADDR;
	lmr = opens(new_lmr(mem, 8, LRD));
	ck_assert_ptr_eq(lmr->desc, _i ? &descriptor : NULL);
	destroy(lmr);
}
END_TEST

/* The context ends first, and the registration later. */
START_TEST(a_context_ends_once)
{
	struct dofi_lmr *lmr = opens(new_lmr(mem, 8, RRD));
	uint32_t context = lmr->context;
	struct dofi_ctx ctx;

	dofi_lmr_release_context(lmr);
	ck_assert(!is_visible(context, &ctx));
	ck_assert_uint_eq(lmr->context, 0);
	ck_assert_uint_eq(ia->ctxtab.used, 0);
	ck_assert_int_eq(fabric.closed, 0);
	destroy(lmr);
	ck_assert_int_eq(fabric.closed, 1);
}
END_TEST

/* --- the region --- */

START_TEST(a_region_is_memory_that_is_mapped)
{
	refuses(new_lmr(mem, 0, LRD), DOFI_ERR(DAT_LENGTH_ERROR, 0));
	refuses(new_lmr(mem, LONGEST + 1, LRD), DOFI_BAD_ARG(4));
	refuses(new_lmr(NULL, 8, LRD), DOFI_BAD_ARG(3));
	refuses(new_lmr((void *)(UINTPTR_MAX - 3), 8, LRD), DOFI_BAD_ARG(3)); /* it wraps */
	ck_assert_int_eq(munmap(mem + 2 * page, page), 0);
	refuses(new_lmr(mem, 2 * page + 1, LRD), DOFI_BAD_ARG(3));
	refuses(new_lmr(mem + 3 * page - 1, 1, LRD), DOFI_BAD_ARG(3));
	refuses(new_lmr(mem, 4 * page, LRD), DOFI_BAD_ARG(3));
	destroy(opens(new_lmr(mem + 1, 2 * page - 1, LRD)));
	destroy(opens(new_lmr(mem + 3 * page, page, LRD)));
	ia->limits.max_lmr = page;
	destroy(opens(new_lmr(mem, page, LRD)));
}
END_TEST

START_TEST(a_region_for_writes_is_writable)
{
	const unsigned int writes[] = {LWR, RWR, DOFI_MEM_PRIV_REMOTE_ATOMIC};
	const DAT_RETURN refused = DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0);

	ck_assert_int_eq(mprotect(mem + page, page, PROT_READ), 0);
	refuses(new_lmr(mem, page + 1, writes[_i]), refused);
	refuses(new_lmr(mem + page, page + 1, writes[_i]), refused);
	refuses(new_lmr(mem + page + 5, 1, writes[_i]), refused);
	destroy(opens(new_lmr(mem, page, writes[_i])));
	destroy(opens(new_lmr(mem + 2 * page, page, writes[_i])));
	destroy(opens(new_lmr(mem, 3 * page, LRD | RRD)));
	for (size_t i = 0; i < PAGES * page; i++)
		ck_assert_int_eq(mem[i], 0x5a);
}
END_TEST

START_TEST(an_LMR_may_be_that_of_another)
{
	struct dofi_lmr *first = opens(new_lmr(mem + 8, 100, LRD)), *second;
	struct dofi_ia another = {0};

	second = new_lmr(NULL, 5, LRD | LWR);
	second->mem_type = DAT_MEM_TYPE_LMR;
	second->region.for_lmr_handle = first;
	ck_assert_uint_eq(dofi_lmr_open(second), DAT_SUCCESS);
	ck_assert_uint_eq(second->start, first->start);
	ck_assert_uint_eq(second->length, 100);
	destroy(second);
	for (int i = 0; i < 2; i++) {
		second = new_lmr(NULL, 5, LRD);
		second->mem_type = DAT_MEM_TYPE_LMR;
		second->region.for_lmr_handle = i ? (DAT_LMR_HANDLE)first : (DAT_LMR_HANDLE)&pz;
		first->obj.ia = i ? &another : ia;
		ck_assert_uint_eq(dofi_lmr_open(second), DOFI_BAD_HANDLE(LMR));
		first->obj.ia = ia;
		dofi_obj_free(&second->obj, DAT_HANDLE_TYPE_LMR);
	}
	destroy(first);
	second = new_lmr(mem, 5, LRD);
	second->mem_type = (DAT_MEM_TYPE)77;
	refuses(second, DOFI_BAD_ARG(2));
}
END_TEST

/* --- shared memory --- */

static struct dofi_lmr *new_shared(char (*id)[40])
{
	struct dofi_lmr *lmr = new_lmr(NULL, 100, LRD);

	lmr->mem_type = SHARED;
	lmr->region.for_shared_memory.virtual_address = mem + 8;
	lmr->region.for_shared_memory.shared_memory_id = id;
	return lmr;
}

START_TEST(shared_memory_has_a_cookie)
{
	static char id[40] = "name";

	refuses(new_shared(NULL), DOFI_BAD_ARG(3));
	destroy(opens(new_shared(&id)));
	ck_assert_int_eq(cookies.taken, 1);
	ck_assert_int_eq(cookies.given, 1);
	ck_assert_uint_eq(cookies.base, (uintptr_t)mem + 8);
	ck_assert_uint_eq(cookies.length, 100);
	cookies.answer = -EINVAL;
	refuses(new_shared(&id), DOFI_ERR(DAT_INVALID_STATE, 0));
	cookies.answer = -EEXIST;
	refuses(new_shared(&id), DOFI_ERR(DAT_INVALID_STATE, 0));
	cookies.answer = -ENOMEM;
	refuses(new_shared(&id), DOFI_NO_REGION);
	ck_assert_int_eq(fabric.opened, 1);
	cookies.answer = 0;
	destroy(opens(new_lmr(mem, 8, LRD))); /* others have none */
	ck_assert_int_eq(cookies.taken, 1);
}
END_TEST

/* _i: the fabric refuses, or there is no context */
START_TEST(a_failed_step_undoes_those_before)
{
	static char id[40] = "name";

	fabric.answer = _i ? 0 : -FI_ENOMEM;
	ia->ctxtab.entries = _i ? 1 : ENTRIES;
	refuses(new_shared(&id), DOFI_NO_REGION);
	ck_assert_int_eq(cookies.taken, 1);
	ck_assert_int_eq(fabric.opened, _i);
	fabric.answer = 0;
	ia->ctxtab.entries = ENTRIES;
	destroy(opens(new_shared(&id)));
}
END_TEST

/* --- the second registration --- */

START_TEST(both_registrations_end_with_the_LMR)
{
	struct dofi_lmr *lmr = opens(new_lmr(mem, 8, LWR | RRD));
	struct dofi_mr mr;

	ck_assert_int_eq(dofi_lmr_window(lmr, RRD | LWR, &mr), 0);
	ck_assert_ptr_eq(mr.fid, &regions[0]);
	ck_assert_int_eq(fabric.opened, 1);
	fabric.answer = -FI_ENOMEM;
	ck_assert_int_eq(dofi_lmr_window(lmr, RWR, &mr), -FI_ENOMEM);
	fabric.answer = 0;
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(dofi_lmr_window(lmr, RWR, &mr), 0);
		ck_assert_ptr_eq(mr.fid, &regions[1]);
		ck_assert_int_eq(fabric.opened, 2);
	}
	destroy(lmr);
	ck_assert_int_eq(fabric.closed, 2);
}
END_TEST

START_TEST(a_registration_that_stays_open_is_reported)
{
	struct dofi_lmr *lmr = opens(new_lmr(mem, 8, LRD));
	int fd = t_capture(STDERR_FILENO);

	fabric.close_answer = _i ? -FI_EBUSY : 0;
	destroy(lmr);
	ck_assert(!strstr(t_captured(fd), "can't be closed") == !_i);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lmr");
	TCase *tc = tcase_create("lmr");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, peers_get_an_entry_if_they_have_rights, 0, 4);
	tcase_add_loop_test(tc, the_descriptor_is_for_fabrics_that_need_it, 0, 2);
	tcase_add_test(tc, a_context_ends_once);
	tcase_add_test(tc, a_region_is_memory_that_is_mapped);
	tcase_add_loop_test(tc, a_region_for_writes_is_writable, 0, 3);
	tcase_add_test(tc, an_LMR_may_be_that_of_another);
	tcase_add_test(tc, shared_memory_has_a_cookie);
	tcase_add_loop_test(tc, a_failed_step_undoes_those_before, 0, 2);
	tcase_add_test(tc, both_registrations_end_with_the_LMR);
	tcase_add_loop_test(tc, a_registration_that_stays_open_is_reported, 0, 2);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
