/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls that only DAT 2.0 has, and calls with other arguments than in DAT 1.2, through the table of
 * the provider: which function does the work, and with which arguments. The InfiniBand extensions
 * are among them.
 */
#include "../../lib/ep_ia.h"

#include "../../../prov/ofi/api/counters.h"
#include "../../../prov/ofi/api/ep.h"
#include "../../../prov/ofi/api/ia.h"
#include "../../../prov/ofi/api/lmr.h"
#include "../../../prov/ofi/cm/ud_ah.h"
#include "../../../prov/ofi/dto/post.h"
#include "../../../prov/ofi/dto/post_special.h"
#include "../../../prov/ofi/dto/ud.h"
#include "../../../prov/ofi/object/mem.h"
#include "../../../prov/ofi/progress/cno.h"

#include <dat2/dat_ib_extensions.h>
#include <fcntl.h>

#define UNSUPPORTED DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0)
#define ANSWER      DOFI_ERR(DAT_QUEUE_FULL, 0) /* of the function that does the work */

static const DAT_PROVIDER *const table = &dofi_provider;
static struct t_ep_ia here;
static struct dofi_ep *ep;
static struct dofi_ud ud;
static DAT_LMR_TRIPLET local = {.segment_length = 8};
static DAT_RMR_TRIPLET remote;
static const DAT_DTO_COOKIE cookie = {.as_64 = 42};

/* --- the functions that do the work --- */

static const char *called; /* the latest one */
static DAT_RETURN result = ANSWER;
static bool zero_based;
static uint32_t context;
static const void *ah_seen;

#define MARK_EP(handle, name)                   \
	do {                                    \
		ck_assert_ptr_eq((handle), ep); \
		called = (name);                \
	} while (0)

DAT_RETURN __wrap_dofi_lmr_create_based(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
					DAT_REGION_DESCRIPTION region, DAT_VLEN length,
					DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
					bool from_zero, DAT_LMR_HANDLE *lmr,
					DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context,
					DAT_VLEN *registered_length, DAT_VADDR *registered_address);
DAT_RETURN __wrap_dofi_rmr_bind_based(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
				      DAT_MEM_PRIV_FLAGS privileges, bool from_zero,
				      DAT_EP_HANDLE of, DAT_RMR_COOKIE with,
				      DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context_p);
DAT_RETURN __wrap_dofi_ep_post_send(DAT_EP_HANDLE of, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE with, DAT_COMPLETION_FLAGS flags);
DAT_RETURN __wrap_dofi_ep_post_send_invalidate(DAT_EP_HANDLE of, DAT_COUNT n,
					       const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE with,
					       DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT ended);
DAT_RETURN __wrap_dofi_ep_post_write_immediate(DAT_EP_HANDLE of, DAT_COUNT n,
					       const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE with,
					       const DAT_RMR_TRIPLET *to, uint32_t immediate,
					       DAT_COMPLETION_FLAGS flags);
DAT_RETURN __wrap_dofi_ep_post_send_ud(DAT_EP_HANDLE of, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
				       const void *ah, DAT_DTO_COOKIE with,
				       DAT_COMPLETION_FLAGS flags);
DAT_RETURN __wrap_dofi_ep_post_atomic(DAT_EP_HANDLE of, enum dofi_op op, uint64_t operand,
				      uint64_t compare, const DAT_LMR_TRIPLET *to,
				      DAT_DTO_COOKIE with, const DAT_RMR_TRIPLET *at,
				      DAT_COMPLETION_FLAGS flags);
DAT_RETURN __wrap_dofi_ud_ah_free(DAT_EP_HANDLE of, const void *ah);
DAT_RETURN __wrap_dofi_ud_cm_free(DAT_EP_HANDLE of, const void *cm);
DAT_RETURN __wrap_dofi_count_query(DAT_HANDLE handle, int counter, DAT_UINT64 *values, int reset);
DAT_RETURN __wrap_dofi_count_print(DAT_HANDLE handle, int counter, int reset);
DAT_RETURN __wrap_dofi_ia_open(DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			       DAT_IA_HANDLE *ia_p);
DAT_RETURN __wrap_dofi_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async, DAT_IA_ATTR_MASK ia_mask,
				DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask,
				DAT_PROVIDER_ATTR *attr);
DAT_RETURN __wrap_dofi_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);

DAT_RETURN __wrap_dofi_lmr_create_based(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
					DAT_REGION_DESCRIPTION region, DAT_VLEN length,
					DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
					bool from_zero, DAT_LMR_HANDLE *lmr,
					DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context,
					DAT_VLEN *registered_length, DAT_VADDR *registered_address)
{
	(void)lmr, (void)lmr_context, (void)rmr_context, (void)registered_length;
	(void)registered_address;
	ck_assert_ptr_eq(ia, here.ia);
	ck_assert_int_eq(type, DAT_MEM_TYPE_VIRTUAL);
	ck_assert_ptr_eq(region.for_va, &local);
	ck_assert_uint_eq(length, 8);
	ck_assert_ptr_eq(pz, here.pz);
	ck_assert_int_eq(privileges, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	zero_based = from_zero;
	called = "lmr_create";
	return result;
}

DAT_RETURN __wrap_dofi_rmr_bind_based(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
				      DAT_MEM_PRIV_FLAGS privileges, bool from_zero,
				      DAT_EP_HANDLE of, DAT_RMR_COOKIE with,
				      DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context_p)
{
	(void)rmr, (void)triplet, (void)context_p;
	ck_assert_int_eq(privileges, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	ck_assert_uint_eq(with.as_64, 42);
	ck_assert_int_eq(flags, DAT_COMPLETION_SUPPRESS_FLAG);
	zero_based = from_zero;
	MARK_EP(of, "rmr_bind");
	return result;
}

DAT_RETURN __wrap_dofi_ep_post_send(DAT_EP_HANDLE of, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE with, DAT_COMPLETION_FLAGS flags)
{
	ck_assert_int_eq(n, 1);
	ck_assert_ptr_eq(iov, &local);
	ck_assert_uint_eq(with.as_64, 42);
	ck_assert_int_eq(flags, DAT_COMPLETION_SUPPRESS_FLAG);
	MARK_EP(of, "send");
	return ANSWER;
}

DAT_RETURN __wrap_dofi_ep_post_send_invalidate(DAT_EP_HANDLE of, DAT_COUNT n,
					       const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE with,
					       DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT ended)
{
	ck_assert_int_eq(n, 1);
	ck_assert_ptr_eq(iov, &local);
	ck_assert_uint_eq(with.as_64, 42);
	ck_assert_int_eq(flags, DAT_COMPLETION_SUPPRESS_FLAG);
	context = ended;
	MARK_EP(of, "send_invalidate");
	return ANSWER;
}

DAT_RETURN __wrap_dofi_ep_post_write_immediate(DAT_EP_HANDLE of, DAT_COUNT n,
					       const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE with,
					       const DAT_RMR_TRIPLET *to, uint32_t immediate,
					       DAT_COMPLETION_FLAGS flags)
{
	ck_assert_int_eq(n, 1);
	ck_assert_ptr_eq(iov, &local);
	ck_assert_uint_eq(with.as_64, 42);
	ck_assert_ptr_eq(to, &remote);
	ck_assert_uint_eq(immediate, 0x12345678);
	ck_assert_int_eq(flags, DAT_COMPLETION_SUPPRESS_FLAG);
	MARK_EP(of, "write_immediate");
	return ANSWER;
}

DAT_RETURN __wrap_dofi_ep_post_send_ud(DAT_EP_HANDLE of, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
				       const void *ah, DAT_DTO_COOKIE with,
				       DAT_COMPLETION_FLAGS flags)
{
	ck_assert_int_eq(n, 1);
	ck_assert_ptr_eq(iov, &local);
	ck_assert_uint_eq(with.as_64, 42);
	ck_assert_int_eq(flags, DAT_COMPLETION_SUPPRESS_FLAG);
	ah_seen = ah;
	MARK_EP(of, "send_ud");
	return ANSWER;
}

DAT_RETURN __wrap_dofi_ep_post_atomic(DAT_EP_HANDLE of, enum dofi_op op, uint64_t operand,
				      uint64_t compare, const DAT_LMR_TRIPLET *to,
				      DAT_DTO_COOKIE with, const DAT_RMR_TRIPLET *at,
				      DAT_COMPLETION_FLAGS flags)
{
	ck_assert_uint_eq(operand, 7);
	ck_assert_uint_eq(compare, op == DOFI_OP_CMP_SWAP ? 8 : 0);
	ck_assert_ptr_eq(to, &local);
	ck_assert_uint_eq(with.as_64, 42);
	ck_assert_ptr_eq(at, &remote);
	ck_assert_int_eq(flags, DAT_COMPLETION_SUPPRESS_FLAG);
	MARK_EP(of, op == DOFI_OP_CMP_SWAP ? "cmp_swap" : "fetch_add");
	return ANSWER;
}

DAT_RETURN __wrap_dofi_ud_ah_free(DAT_EP_HANDLE of, const void *ah)
{
	ah_seen = ah;
	MARK_EP(of, "ah_free");
	return ANSWER;
}

DAT_RETURN __wrap_dofi_ud_cm_free(DAT_EP_HANDLE of, const void *cm)
{
	ah_seen = cm;
	MARK_EP(of, "cm_free");
	return ANSWER;
}

DAT_RETURN __wrap_dofi_count_query(DAT_HANDLE handle, int counter, DAT_UINT64 *values, int reset)
{
	ck_assert_int_eq(counter, 3);
	ck_assert_ptr_eq(values, (DAT_UINT64 *)&context);
	ck_assert_int_eq(reset, 1);
	MARK_EP(handle, "count_query");
	return ANSWER;
}

DAT_RETURN __wrap_dofi_count_print(DAT_HANDLE handle, int counter, int reset)
{
	ck_assert_int_eq(counter, 3);
	ck_assert_int_eq(reset, 1);
	MARK_EP(handle, "count_print");
	return ANSWER;
}

static DAT_RETURN open_answer, query_answer;
static DAT_IA_ATTR_MASK ia_mask_seen;
static DAT_PROVIDER_ATTR_MASK mask_seen;
static const void *ia_attr_seen, *attr_seen;
static int closes;

DAT_RETURN __wrap_dofi_ia_open(DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			       DAT_IA_HANDLE *ia_p)
{
	ck_assert_str_eq(name, "a name");
	ck_assert_int_gt(qlen, 0);
	ck_assert_ptr_null(*async); /* the IA makes one */
	*ia_p = here.ia;
	called = "ia_open";
	return open_answer;
}

DAT_RETURN __wrap_dofi_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async, DAT_IA_ATTR_MASK ia_mask,
				DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask,
				DAT_PROVIDER_ATTR *attr)
{
	ck_assert_ptr_eq(ia, here.ia);
	ck_assert_ptr_null(async);
	ia_mask_seen = ia_mask;
	ia_attr_seen = ia_attr;
	mask_seen = mask;
	attr_seen = attr;
	called = "ia_query";
	return query_answer;
}

DAT_RETURN __wrap_dofi_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	ck_assert_ptr_eq(ia, here.ia);
	ck_assert_int_eq(flags, DAT_CLOSE_ABRUPT_FLAG);
	closes++;
	return ANSWER;
}

/* --- */

static void setup(void)
{
	DAT_EP_HANDLE handle;

	t_ep_ia_open(&here);
	ck_assert_uint_eq(dofi_ep_create(here.ia, here.pz, here.recv_evd, here.req_evd,
					 here.conn_evd, NULL, &handle),
			  DAT_SUCCESS);
	ep = handle;
}

static void teardown(void)
{
	ep->ud = NULL;
	ck_assert_uint_eq(dofi_ep_free(ep), DAT_SUCCESS);
	t_ep_ia_close(&here);
}

static void expect_called(const char *name)
{
	if (name)
		ck_assert_str_eq(called ? called : "nothing", name);
	else
		ck_assert_ptr_null(called);
	called = NULL;
}

/* --- memory --- */

static DAT_RETURN create_lmr(DAT_IA_HANDLE ia, DAT_VA_TYPE type)
{
	DAT_REGION_DESCRIPTION region = {.for_va = &local};

	return table->lmr_create_func(ia, DAT_MEM_TYPE_VIRTUAL, region, 8, here.pz,
				      DAT_MEM_PRIV_LOCAL_READ_FLAG, type, NULL, NULL, NULL, NULL,
				      NULL);
}

START_TEST(an_lmr_has_virtual_addresses_or_begins_at_0)
{
	ck_assert_uint_eq(create_lmr(here.ia, DAT_VA_TYPE_VA), ANSWER);
	ck_assert(!zero_based);
	ck_assert_uint_eq(create_lmr(here.ia, DAT_VA_TYPE_ZB), ANSWER);
	ck_assert(zero_based);
	expect_called("lmr_create");
	ck_assert_uint_eq(create_lmr(here.ia, (DAT_VA_TYPE)7), DOFI_BAD_ARG(7));
	ck_assert_uint_eq(create_lmr(ep, DAT_VA_TYPE_VA), DOFI_BAD_HANDLE(IA));
	expect_called(NULL);
}
END_TEST

/* The functions count the arguments of DAT 1.2. */
START_TEST(the_arguments_of_an_lmr_are_counted)
{
	result = DOFI_BAD_ARG(6); /* privileges */
	ck_assert_uint_eq(create_lmr(here.ia, DAT_VA_TYPE_VA), DOFI_BAD_ARG(6));
	result = DOFI_BAD_ARG(7); /* lmr_handle */
	ck_assert_uint_eq(create_lmr(here.ia, DAT_VA_TYPE_VA), DOFI_BAD_ARG(8));
	result = DOFI_BAD_STATE(EP_NOTREADY);
	ck_assert_uint_eq(create_lmr(here.ia, DAT_VA_TYPE_VA), result);
	result = DAT_SUCCESS;
	ck_assert_uint_eq(create_lmr(here.ia, DAT_VA_TYPE_VA), result);
	expect_called("lmr_create");
}
END_TEST

static struct dofi_obj *rmr;
static struct dofi_lmr *lmr;

static DAT_RETURN bind_with(DAT_RMR_HANDLE what, DAT_LMR_HANDLE of, const DAT_LMR_TRIPLET *triplet,
			    DAT_VA_TYPE type)
{
	const DAT_RMR_COOKIE with = {.as_64 = 42};

	return table->rmr_bind_func(what, of, triplet, DAT_MEM_PRIV_REMOTE_READ_FLAG, type, ep,
				    with, DAT_COMPLETION_SUPPRESS_FLAG, NULL);
}

/* The handle and the context of the triplet have to name the same LMR. */
START_TEST(a_bind_names_its_lmr_twice)
{
	DAT_LMR_TRIPLET triplet = {.lmr_context = 11, .segment_length = 8},
			another = {.lmr_context = 12, .segment_length = 8},
			unbind = {.lmr_context = 12};

	rmr = dofi_obj_alloc(here.ia, NULL, DAT_HANDLE_TYPE_RMR, 256);
	lmr = dofi_obj_alloc(here.ia, NULL, DAT_HANDLE_TYPE_LMR, sizeof(*lmr));
	ck_assert(rmr && lmr);
	lmr->context = 11;
	dofi_obj_publish(rmr, DAT_HANDLE_TYPE_RMR);
	dofi_obj_publish(&lmr->obj, DAT_HANDLE_TYPE_LMR);
	ck_assert_uint_eq(bind_with(rmr, lmr, &triplet, DAT_VA_TYPE_VA), ANSWER);
	ck_assert(!zero_based);
	ck_assert_uint_eq(bind_with(rmr, lmr, &triplet, DAT_VA_TYPE_ZB), ANSWER);
	ck_assert(zero_based);
	ck_assert_uint_eq(bind_with(rmr, NULL, &unbind, DAT_VA_TYPE_VA), ANSWER);
	ck_assert_uint_eq(bind_with(rmr, NULL, NULL, DAT_VA_TYPE_VA), ANSWER);
	result = DOFI_BAD_ARG(2); /* triplet */
	ck_assert_uint_eq(bind_with(rmr, NULL, NULL, DAT_VA_TYPE_VA), DOFI_BAD_ARG(3));
	result = DOFI_BAD_ARG(3); /* privileges */
	ck_assert_uint_eq(bind_with(rmr, NULL, NULL, DAT_VA_TYPE_VA), DOFI_BAD_ARG(4));
	result = DOFI_BAD_ARG(6); /* flags */
	ck_assert_uint_eq(bind_with(rmr, NULL, NULL, DAT_VA_TYPE_VA), DOFI_BAD_ARG(8));
	result = DOFI_BAD_ARG(7); /* context */
	ck_assert_uint_eq(bind_with(rmr, NULL, NULL, DAT_VA_TYPE_VA), DOFI_BAD_ARG(9));
	result = DAT_SUCCESS;
	ck_assert_uint_eq(bind_with(rmr, NULL, NULL, DAT_VA_TYPE_VA), DAT_SUCCESS);
	expect_called("rmr_bind");
	ck_assert_uint_eq(bind_with(rmr, lmr, &another, DAT_VA_TYPE_VA), DOFI_BAD_HANDLE(LMR));
	ck_assert_uint_eq(bind_with(rmr, NULL, &triplet, DAT_VA_TYPE_VA), DOFI_BAD_HANDLE(LMR));
	ck_assert_uint_eq(bind_with(rmr, ep, &triplet, DAT_VA_TYPE_VA), DOFI_BAD_HANDLE(LMR));
	ck_assert_uint_eq(bind_with(lmr, lmr, &triplet, DAT_VA_TYPE_VA), DOFI_BAD_HANDLE(RMR));
	ck_assert_uint_eq(bind_with(rmr, lmr, &triplet, (DAT_VA_TYPE)7), DOFI_BAD_ARG(5));
	expect_called(NULL);
	ck_assert(dofi_obj_retire(rmr, true) && dofi_obj_retire(&lmr->obj, true));
	dofi_obj_free(rmr, DAT_HANDLE_TYPE_RMR);
	dofi_obj_free(&lmr->obj, DAT_HANDLE_TYPE_LMR);
}
END_TEST

START_TEST(a_send_may_invalidate_a_context)
{
	ck_assert_uint_eq(table->ep_post_send_with_invalidate_func(ep, 1, &local, cookie,
								   DAT_COMPLETION_SUPPRESS_FLAG,
								   DAT_FALSE, 77),
			  ANSWER);
	expect_called("send");
	ck_assert_uint_eq(table->ep_post_send_with_invalidate_func(ep, 1, &local, cookie,
								   DAT_COMPLETION_SUPPRESS_FLAG,
								   DAT_TRUE, 77),
			  ANSWER);
	expect_called("send_invalidate");
	ck_assert_uint_eq(context, 77);
}
END_TEST

/* --- other calls --- */

START_TEST(a_cno_may_have_a_descriptor)
{
	DAT_CNO_HANDLE cno;
	DAT_FD fd = -1;

	ck_assert_uint_eq(table->cno_fd_create_func(ep, &fd, &cno), DOFI_BAD_HANDLE(IA));
	/* The handle is checked first. */
	ck_assert_uint_eq(table->cno_fd_create_func(ep, NULL, &cno), DOFI_BAD_HANDLE(IA));
	ck_assert_uint_eq(table->cno_fd_create_func(here.ia, NULL, &cno), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(table->cno_fd_create_func(here.ia, &fd, NULL), DOFI_BAD_ARG(3));
	ck_assert_int_eq(fd, -1);
	ck_assert_uint_eq(table->cno_fd_create_func(here.ia, &fd, &cno), DAT_SUCCESS);
	ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
	ck_assert_uint_eq(table->cno_free_func(cno), DAT_SUCCESS);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
}
END_TEST

START_TEST(no_other_provider_is_an_alternative)
{
	char name[] = "another";
	DAT_BOOLEAN answer = DAT_TRUE;

	ck_assert_uint_eq(table->ia_ha_related_func(ep, name, &answer), DOFI_BAD_HANDLE(IA));
	ck_assert_uint_eq(table->ia_ha_related_func(here.ia, NULL, &answer), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(table->ia_ha_related_func(here.ia, name, NULL), DOFI_BAD_ARG(3));
	ck_assert_int_eq(answer, DAT_TRUE);
	ck_assert_uint_eq(table->ia_ha_related_func(here.ia, name, &answer), DAT_SUCCESS);
	ck_assert_int_eq(answer, DAT_FALSE);
}
END_TEST

START_TEST(calls_that_are_not_offered_check_the_handle)
{
	DAT_CSP_HANDLE csp;

	ck_assert_uint_eq(table->csp_create_func(here.ia, NULL, NULL, here.conn_evd, &csp),
			  UNSUPPORTED);
	ck_assert_uint_eq(table->csp_create_func(ep, NULL, NULL, here.conn_evd, &csp),
			  DOFI_BAD_HANDLE(IA));
	ck_assert_uint_eq(table->csp_query_func(ep, 0, NULL), DOFI_BAD_HANDLE(CSP));
	ck_assert_uint_eq(table->csp_free_func(ep), DOFI_BAD_HANDLE(CSP));
	ck_assert_uint_eq(table->ep_common_connect_func(ep, NULL, 1, 0, NULL), UNSUPPORTED);
	ck_assert_uint_eq(table->ep_common_connect_func(here.ia, NULL, 1, 0, NULL),
			  DOFI_BAD_HANDLE(EP));
}
END_TEST

START_TEST(attributes_of_this_generation)
{
	DAT_PROVIDER_ATTR attr;
	DAT_IA_ATTR ia_attr;

	memset(&attr, 0x55, sizeof(attr));
	memset(&ia_attr, 0x55, sizeof(ia_attr));
	dofi_api_attrs(&ia_attr, &attr);
	ck_assert_int_eq(ia_attr.zb_supported, DAT_TRUE);
	ck_assert_int_eq(ia_attr.extension_supported, DAT_EXTENSION_IB);
	ck_assert_int_eq(ia_attr.extension_version, DAT_IB_EXTENSION_VERSION);
	ck_assert_int_eq(attr.rdma_read_lmr_rmr_context_exposure, DAT_FALSE);
	ck_assert_int_eq(attr.rmr_scope_supported, DAT_RMR_SCOPE_ANY);
	ck_assert_int_eq(attr.is_signal_safe, DAT_FALSE);
	ck_assert_int_eq(attr.ha_supported, DAT_FALSE);
	ck_assert_int_eq(attr.ha_loadbalancing, DAT_HA_LB_NONE);
	dofi_api_attrs(NULL, NULL);
}
END_TEST

/* --- extensions --- */

static DAT_RETURN extended(DAT_HANDLE handle, unsigned int op, ...)
{
	DAT_RETURN ret;
	va_list args;

	va_start(args, op);
	ret = table->handle_extendedop_func(handle, (DAT_EXTENDED_OP)op, args);
	va_end(args);
	return ret;
}

#define FLAGS DAT_COMPLETION_SUPPRESS_FLAG

START_TEST(extended_transfers)
{
	ck_assert_uint_eq(extended(ep, DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)7, &local, cookie,
				   &remote, FLAGS),
			  ANSWER);
	expect_called("fetch_add");
	ck_assert_uint_eq(extended(ep, DAT_IB_CMP_AND_SWAP_OP, (DAT_UINT64)8, (DAT_UINT64)7, &local,
				   cookie, &remote, FLAGS),
			  ANSWER);
	expect_called("cmp_swap");
	ck_assert_uint_eq(extended(ep, DAT_IB_RDMA_WRITE_IMMED_OP, 1, &local, cookie, &remote,
				   (DAT_UINT32)0x12345678, FLAGS),
			  ANSWER);
	expect_called("write_immediate");
}
END_TEST

/* Only an EP of datagrams. */
START_TEST(extended_datagrams)
{
	DAT_IB_ADDR_HANDLE ah = {.ah = (void *)&remote};
	DAT_CONTEXT cm = {.as_ptr = &local};

	for (int i = 0; i < 2; i++) {
		DAT_HANDLE handle = i ? (DAT_HANDLE)ep : here.ia;

		ck_assert_uint_eq(extended(handle, DAT_IB_UD_SEND_OP, 1, &local, &ah, cookie,
					   FLAGS),
				  DOFI_BAD_HANDLE(EP));
		ck_assert_uint_eq(extended(handle, DAT_IB_UD_AH_FREE_OP, &ah), DOFI_BAD_HANDLE(EP));
		ck_assert_uint_eq(extended(handle, DAT_IB_UD_CM_FREE_OP, cm), DOFI_BAD_HANDLE(EP));
	}
	expect_called(NULL);
	ep->ud = &ud;
	ck_assert_uint_eq(extended(ep, DAT_IB_UD_SEND_OP, 1, &local, &ah, cookie, FLAGS), ANSWER);
	expect_called("send_ud");
	ck_assert_ptr_eq(ah_seen, &remote);
	ck_assert_uint_eq(extended(ep, DAT_IB_UD_SEND_OP, 1, &local, NULL, cookie, FLAGS), ANSWER);
	ck_assert_ptr_null(ah_seen);
	ck_assert_uint_eq(extended(ep, DAT_IB_UD_AH_FREE_OP, &ah), ANSWER);
	expect_called("ah_free");
	ck_assert_ptr_eq(ah_seen, &remote);
	ck_assert_uint_eq(extended(ep, DAT_IB_UD_AH_FREE_OP, NULL), ANSWER);
	ck_assert_ptr_null(ah_seen);
	ck_assert_uint_eq(extended(ep, DAT_IB_UD_CM_FREE_OP, cm), ANSWER);
	expect_called("cm_free");
	ck_assert_ptr_eq(ah_seen, &local);
}
END_TEST

START_TEST(extended_counters)
{
	ck_assert_uint_eq(extended(ep, DAT_IB_QUERY_COUNTERS_OP, 3, &context, 1), ANSWER);
	expect_called("count_query");
	ck_assert_uint_eq(extended(ep, DAT_IB_PRINT_COUNTERS_OP, 3, 1), ANSWER);
	expect_called("count_print");
	for (unsigned int op = DAT_IB_START_COUNTERS_OP; op <= DAT_IB_STOP_COUNTERS_OP; op++) {
		ck_assert_uint_eq(extended(here.ia, op, DCNT_IA_CM), DAT_SUCCESS);
		ck_assert_uint_eq(extended(here.ia, op, DCNT_IA_CM + 1), UNSUPPORTED);
		ck_assert_uint_eq(extended(ep, op, DCNT_IA_CM), DOFI_BAD_HANDLE(IA));
	}
}
END_TEST

static char name[] = "a name";

START_TEST(an_open_query_opens_and_asks)
{
	DAT_PROVIDER_ATTR attr;
	DAT_IA_ATTR ia_attr;
	DAT_HANDLE handle = NULL;

	ck_assert_uint_eq(extended(name, DAT_IB_OPEN_QUERY_OP, &handle, (DAT_IA_ATTR_MASK)3,
				   &ia_attr, (DAT_PROVIDER_ATTR_MASK)5, &attr),
			  DAT_SUCCESS);
	expect_called("ia_query");
	ck_assert_ptr_eq(handle, here.ia);
	ck_assert_uint_eq(ia_mask_seen, 3);
	ck_assert_ptr_eq(ia_attr_seen, &ia_attr);
	ck_assert_uint_eq(mask_seen, 5);
	ck_assert_ptr_eq(attr_seen, &attr);
	/* One of them is enough, and the mask of the other means nothing. */
	ck_assert_uint_eq(extended(name, DAT_IB_OPEN_QUERY_OP, &handle, (DAT_IA_ATTR_MASK)3, NULL,
				   (DAT_PROVIDER_ATTR_MASK)5, &attr),
			  DAT_SUCCESS);
	ck_assert_uint_eq(ia_mask_seen, 0);
	ck_assert_uint_eq(mask_seen, 5);
	ck_assert_uint_eq(extended(name, DAT_IB_OPEN_QUERY_OP, &handle, (DAT_IA_ATTR_MASK)3,
				   &ia_attr, (DAT_PROVIDER_ATTR_MASK)5, NULL),
			  DAT_SUCCESS);
	ck_assert_uint_eq(ia_mask_seen, 3);
	ck_assert_uint_eq(mask_seen, 0);
	ck_assert_int_eq(closes, 0);
}
END_TEST

START_TEST(an_open_query_that_fails_leaves_no_ia)
{
	DAT_PROVIDER_ATTR attr;
	DAT_HANDLE handle = NULL;

	ck_assert_uint_eq(extended(name, DAT_IB_OPEN_QUERY_OP, NULL, (DAT_IA_ATTR_MASK)0, NULL,
				   (DAT_PROVIDER_ATTR_MASK)5, &attr),
			  DOFI_BAD_ARG(2));
	ck_assert_uint_eq(extended(name, DAT_IB_OPEN_QUERY_OP, &handle, (DAT_IA_ATTR_MASK)3, NULL,
				   (DAT_PROVIDER_ATTR_MASK)5, NULL),
			  DOFI_BAD_ARG(5));
	expect_called(NULL);
	open_answer = ANSWER;
	ck_assert_uint_eq(extended(name, DAT_IB_OPEN_QUERY_OP, &handle, (DAT_IA_ATTR_MASK)0, NULL,
				   (DAT_PROVIDER_ATTR_MASK)5, &attr),
			  ANSWER);
	expect_called("ia_open");
	ck_assert_int_eq(closes, 0);
	open_answer = DAT_SUCCESS;
	query_answer = ANSWER;
	ck_assert_uint_eq(extended(name, DAT_IB_OPEN_QUERY_OP, &handle, (DAT_IA_ATTR_MASK)0, NULL,
				   (DAT_PROVIDER_ATTR_MASK)5, &attr),
			  ANSWER);
	ck_assert_int_eq(closes, 1);
	ck_assert_ptr_null(handle);
}
END_TEST

START_TEST(a_close_query_closes)
{
	ck_assert_uint_eq(extended(ep, DAT_IB_CLOSE_QUERY_OP), DOFI_BAD_HANDLE(IA));
	ck_assert_int_eq(closes, 0);
	ck_assert_uint_eq(extended(here.ia, DAT_IB_CLOSE_QUERY_OP), ANSWER);
	ck_assert_int_eq(closes, 1);
}
END_TEST

/* Collective operations exist and are not supported; other numbers are no operations. */
START_TEST(other_extended_operations)
{
	static const unsigned int unknown[] = {DAT_IB_UD_AH_FREE_OP + 1, 0x0fff, 0x1001};

	for (unsigned int op = DAT_IB_COLLECTIVE_CREATE_MEMBER_OP;
	     op <= DAT_IB_COLLECTIVE_BARRIER_OP; op++) {
		ck_assert_uint_eq(extended(ep, op), UNSUPPORTED);
		ck_assert_uint_eq(extended(&local, op),
				  DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		ck_assert_uint_eq(extended(ep, unknown[i]), DOFI_ERR(DAT_NOT_IMPLEMENTED, 0));
		ck_assert_uint_eq(extended(NULL, unknown[i]),
				  DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	}
	expect_called(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("api20");
	TCase *tcase = tcase_create("api20");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, an_lmr_has_virtual_addresses_or_begins_at_0);
	tcase_add_test(tcase, the_arguments_of_an_lmr_are_counted);
	tcase_add_test(tcase, a_bind_names_its_lmr_twice);
	tcase_add_test(tcase, a_send_may_invalidate_a_context);
	tcase_add_test(tcase, a_cno_may_have_a_descriptor);
	tcase_add_test(tcase, no_other_provider_is_an_alternative);
	tcase_add_test(tcase, calls_that_are_not_offered_check_the_handle);
	tcase_add_test(tcase, attributes_of_this_generation);
	tcase_add_test(tcase, extended_transfers);
	tcase_add_test(tcase, extended_datagrams);
	tcase_add_test(tcase, extended_counters);
	tcase_add_test(tcase, an_open_query_opens_and_asks);
	tcase_add_test(tcase, an_open_query_that_fails_leaves_no_ia);
	tcase_add_test(tcase, a_close_query_closes);
	tcase_add_test(tcase, other_extended_operations);
	return t_run(suite);
}
