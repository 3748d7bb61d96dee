/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages that come after the end of their connection: how many are taken, one at a time, and what
 * is given up.
 */
#include "unit.h"

#include "../../../prov/ofi/cm/drain.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

static struct dofi_ia ia;
static struct fi_info info;
static struct fi_domain_attr domain_attr;

/* --- the fabric --- */

static struct {
	int calls;
	ssize_t answer;
	size_t size;
	void *buf;
	uint64_t tag;
	void *desc;         /* that a receive must have */
	struct dofi_wr *wr; /* of the receive that is posted, or NULL */
} fabric;

static ssize_t take(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src,
		    uint64_t tag, uint64_t ignore, void *context)
{
	ck_assert_ptr_eq(ep, ia.shared_ep);
	ck_assert_ptr_eq(desc, fabric.desc);
	ck_assert_uint_eq(src, FI_ADDR_UNSPEC);
	ck_assert_uint_eq(ignore, 0);
	fabric.calls++;
	if (fabric.answer)
		return fabric.answer;
	ck_assert_ptr_null(fabric.wr);
	fabric.size = len;
	fabric.buf = buf;
	fabric.tag = tag;
	fabric.wr = context;
	return 0;
}

static struct fi_ops_tagged tagged = {.size = sizeof(tagged), .recv = take};
static struct fid_ep endpoint = {.tagged = &tagged};

static int registered, refusal;

static int forget(struct fid *fid)
{
	(void)fid;
	registered--;
	return 0;
}

static int know(struct fid *domain, const void *buf, size_t len, uint64_t access, uint64_t offset,
		uint64_t key, uint64_t flags, struct fid_mr **mr_p, void *context)
{
	static struct fi_ops ops = {.size = sizeof(ops), .close = forget};
	static struct fid_mr mr = {.fid.ops = &ops, .mem_desc = &fabric};

	(void)domain, (void)offset, (void)key, (void)flags, (void)context;
	ck_assert_ptr_nonnull(buf);
	ck_assert_uint_eq(len, 100);
	ck_assert(access & FI_RECV);
	if (refusal)
		return refusal;
	registered++;
	*mr_p = &mr;
	return 0;
}

static struct fi_ops_mr mr_ops = {.size = sizeof(mr_ops), .reg = know};
static struct fid_domain domain = {.mr = &mr_ops};

static void complete(void)
{
	struct dofi_wr *wr = fabric.wr;

	ck_assert_ptr_nonnull(wr);
	ck_assert_uint_eq(wr->op, DOFI_OP_DRAIN);
	fabric.wr = NULL;
	dofi_drain_done(wr);
}

/* --- */

static void setup(void)
{
	ia.info = &info;
	info.domain_attr = &domain_attr;
	ia.shared_ep = &endpoint;
	ia.domain = &domain;
	dofi_lock_init(&ia.mr_lock);
	dofi_list_init(&ia.drains);
	dofi_lock(&ia.engine.lock);
}

static void teardown(void)
{
	dofi_drain_free_all(&ia);
	ck_assert(dofi_list_empty(&ia.drains));
	ck_assert_uint_eq(ia.ndrains, 0);
}

START_TEST(takes_what_is_missing)
{
	dofi_drain_begin(&ia, 7, 0x77, 3, 100);
	ck_assert_int_eq(fabric.calls, 0); /* how many come is not known */
	dofi_drain_settle(&ia, 8, 9);      /* of another connection */
	ck_assert_int_eq(fabric.calls, 0);
	dofi_drain_settle(&ia, 7, 5);
	ck_assert_int_eq(fabric.calls, 1);
	ck_assert_uint_eq(fabric.size, 100);
	ck_assert_ptr_nonnull(fabric.buf);
	ck_assert_uint_eq(fabric.tag, 0x77);
	dofi_drain_settle(&ia, 7, 50); /* said once */
	complete();
	ck_assert_int_eq(fabric.calls, 2);
	complete();
	ck_assert_int_eq(fabric.calls, 2);
	ck_assert_uint_eq(ia.ndrains, 0);
}
END_TEST

START_TEST(nothing_is_missing)
{
	dofi_drain_begin(&ia, 7, 0x77, 3, 100);
	dofi_drain_settle(&ia, 7, 3);
	ck_assert_uint_eq(ia.ndrains, 0);
	ck_assert_int_eq(fabric.calls, 0);
}
END_TEST

START_TEST(a_lie)
{
	dofi_drain_begin(&ia, 7, 0x77, 3, 100);
	dofi_drain_settle(&ia, 7, 2); /* fewer than came */
	ck_assert_uint_eq(ia.ndrains, 0);
	ck_assert_int_eq(fabric.calls, 0);
}
END_TEST

START_TEST(counts_run_freely)
{
	dofi_drain_begin(&ia, 7, 0x77, UINT32_MAX, 100);
	dofi_drain_settle(&ia, 7, 0);
	complete();
	ck_assert_uint_eq(ia.ndrains, 0);
}
END_TEST

START_TEST(empty_messages_need_no_memory)
{
	dofi_drain_begin(&ia, 7, 0x77, 0, 0);
	dofi_drain_settle(&ia, 7, 1);
	ck_assert_uint_eq(fabric.size, 0);
	ck_assert_ptr_null(fabric.buf);
	complete();
}
END_TEST

START_TEST(again)
{
	dofi_drain_begin(&ia, 6, 0x66, 0, 100); /* its peer has not told */
	dofi_drain_begin(&ia, 7, 0x77, 0, 100);
	fabric.answer = -FI_EAGAIN;
	dofi_drain_settle(&ia, 7, 1);
	dofi_drain_retry(&ia);
	ck_assert_int_eq(fabric.calls, 2);
	ck_assert_uint_eq(ia.ndrains, 2);
	fabric.answer = 0;
	dofi_drain_retry(&ia);
	ck_assert_uint_eq(fabric.tag, 0x77);
	dofi_drain_retry(&ia); /* it is posted */
	ck_assert_int_eq(fabric.calls, 3);
	complete();
	ck_assert_uint_eq(ia.ndrains, 1);
}
END_TEST

START_TEST(refused)
{
	dofi_drain_begin(&ia, 7, 0x77, 0, 100);
	fabric.answer = -FI_EIO;
	dofi_drain_settle(&ia, 7, 2);
	ck_assert_uint_eq(ia.ndrains, 0);
}
END_TEST

/* Those whose peers have told are under way and stay. */
START_TEST(peers_that_never_say_goodbye)
{
	dofi_drain_begin(&ia, 1, 1, 0, 100);
	dofi_drain_settle(&ia, 1, 1);
	for (uint32_t id = 2; id <= 300; id++)
		dofi_drain_begin(&ia, id, id, 0, 100);
	ck_assert_uint_eq(ia.ndrains, 256);
	dofi_drain_settle(&ia, 2, 1); /* forgotten */
	ck_assert_int_eq(fabric.calls, 1);
	complete();
	dofi_drain_settle(&ia, 300, 1);
	ck_assert_int_eq(fabric.calls, 2);
}
END_TEST

START_TEST(where_the_device_must_know_memory)
{
	domain_attr.mr_mode = FI_MR_LOCAL;
	fabric.desc = &fabric;
	dofi_drain_begin(&ia, 7, 0x77, 0, 100);
	ck_assert_int_eq(registered, 0); /* there may be nothing to come */
	dofi_drain_settle(&ia, 7, 2);
	ck_assert_int_eq(registered, 1);
	complete();
	ck_assert_int_eq(registered, 1);
	complete();
	ck_assert_int_eq(registered, 0);
	ck_assert_uint_eq(ia.ndrains, 0);
}
END_TEST

START_TEST(the_device_takes_no_more_memory)
{
	domain_attr.mr_mode = FI_MR_LOCAL;
	refusal = -FI_ENOMEM;
	dofi_drain_begin(&ia, 7, 0x77, 0, 100);
	dofi_drain_settle(&ia, 7, 1);
	ck_assert_uint_eq(ia.ndrains, 0);
	ck_assert_int_eq(fabric.calls, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("drain");
	TCase *tc = tcase_create("drain");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, takes_what_is_missing);
	tcase_add_test(tc, nothing_is_missing);
	tcase_add_test(tc, a_lie);
	tcase_add_test(tc, counts_run_freely);
	tcase_add_test(tc, empty_messages_need_no_memory);
	tcase_add_test(tc, again);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, peers_that_never_say_goodbye);
	tcase_add_test(tc, where_the_device_must_know_memory);
	tcase_add_test(tc, the_device_takes_no_more_memory);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
