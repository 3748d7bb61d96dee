/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every call that only jumps through the provider table: the right member is called with the
 * arguments in order, and the right error is returned if there is no member to call.
 *
 * One kind of stub replaces all members. It reads its arguments as 64-bit words. This is right on
 * machines that pass integers, pointers and structs of two of them in registers and stack slots of
 * that size (x86_64, aarch64).
 */
#include <stddef.h>
#include <string.h>

#include "../../lib/dat_version.h"
#include "../../lib/unit.h"

#define NUM_WORDS 13
#define NUM_SLOTS \
	((int)((sizeof(DAT_PROVIDER) - offsetof(DAT_PROVIDER, ia_open_func)) / sizeof(void *)))
#define SLOT(member)                                                                     \
	((int)((offsetof(DAT_PROVIDER, member) - offsetof(DAT_PROVIDER, ia_open_func)) / \
	       sizeof(void *)))
#define STUB_RET(slot) ((DAT_RETURN)(0x5e0000 + (slot)))

/* The value of argument n, by its kind. */
#define WORD(n)        ((uintptr_t)(0x5a0000 + (n)))
#define P(n)           ((void *)WORD(n))
#define N(n)           ((int)WORD(n))
#define U(n)           ((DAT_CONTEXT){.as_64 = WORD(n)})
#define AGENT(n)       ((DAT_OS_WAIT_PROXY_AGENT){P(n), (DAT_AGENT_FUNC)WORD((n) + 1)})
#define REGION(n)      shared_region(P(n), P((n) + 1))

static struct {
	int calls;
	int slot;
	uintptr_t words[NUM_WORDS];
} seen;

#define WORDS_OF_13                                                                                \
	uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f, uintptr_t g, \
		uintptr_t h, uintptr_t i, uintptr_t j, uintptr_t k, uintptr_t l, uintptr_t m

typedef DAT_RETURN (*stub_fn)(WORDS_OF_13);

#define STUB(slot_number)                                                                   \
	static DAT_RETURN stub_##slot_number(WORDS_OF_13)                                   \
	{                                                                                   \
		const uintptr_t words[NUM_WORDS] = {a, b, c, d, e, f, g, h, i, j, k, l, m}; \
                                                                                            \
		seen.calls++;                                                               \
		seen.slot = 0##slot_number;                                                 \
		memcpy(seen.words, words, sizeof(words));                                   \
		return STUB_RET(0##slot_number);                                            \
	}

/* Members are counted in octal, so that pasting a digit makes a row of eight. */
#define ROW_OF_8(X, row) \
	X(row##0) X(row##1) X(row##2) X(row##3) X(row##4) X(row##5) X(row##6) X(row##7)
#define ALL_ROWS(X)     \
	ROW_OF_8(X, 00) \
	ROW_OF_8(X, 01) \
	ROW_OF_8(X, 02) \
	ROW_OF_8(X, 03) \
	ROW_OF_8(X, 04) \
	ROW_OF_8(X, 05) ROW_OF_8(X, 06) ROW_OF_8(X, 07) ROW_OF_8(X, 10) ROW_OF_8(X, 11)
ALL_ROWS(STUB)

#define STUB_NAME(slot_number) stub_##slot_number,
static const stub_fn stubs[] = {ALL_ROWS(STUB_NAME)};

_Static_assert(sizeof(stubs) / sizeof(stubs[0]) >= sizeof(DAT_PROVIDER) / sizeof(void *) - 2,
	       "a stub per slot");

/* The registry reads only the first word of an object. */
static struct object {
	const DAT_PROVIDER *table;
} full_ia, empty_ia, full_object, empty_object;

static DAT_PROVIDER full_table, empty_table;

static enum { EXPECT_CALL, EXPECT_BAD_HANDLE, EXPECT_NOT_SUPPORTED } expectation;
static void *ia_number;

static DAT_RETURN open_full(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			    DAT_IA_HANDLE *ia)
{
	(void)name, (void)qlen, (void)evd;
	*ia = &full_ia;
	return DAT_SUCCESS;
}

static DAT_RETURN open_empty(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			     DAT_IA_HANDLE *ia)
{
	(void)name, (void)qlen, (void)evd;
	*ia = &empty_ia;
	return DAT_SUCCESS;
}

static DAT_IA_HANDLE add_and_open(DAT_PROVIDER *table, const char *name)
{
	DAT_PROVIDER_INFO info = {.dapl_version_major = DAT_VERSION_MAJOR,
				  .dapl_version_minor = DAT_VERSION_MINOR,
				  .is_thread_safe = DAT_FALSE};
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	strcpy(info.ia_name, name);
	ck_assert_uint_eq(dat_registry_add_provider(table, &info), DAT_SUCCESS);
	ck_assert_uint_eq(dat_ia_open(info.ia_name, 8, &evd, &ia), DAT_SUCCESS);
	return ia;
}

static DAT_IA_HANDLE number_of_full, number_of_empty;

static void set_up(void)
{
	t_conf("# nothing\n");
	memcpy(&full_table.ia_open_func, stubs, NUM_SLOTS * sizeof(stubs[0]));
	full_table.ia_open_func = open_full;
	empty_table.ia_open_func = open_empty;
	full_ia.table = full_object.table = &full_table;
	empty_ia.table = empty_object.table = &empty_table;
	number_of_full = add_and_open(&full_table, "full");
	number_of_empty = add_and_open(&empty_table, "empty");
	ia_number = number_of_full;
	/* Opening an IA of DAT 2.0 queries it. */
	memset(&seen, 0, sizeof(seen));
}

static DAT_REGION_DESCRIPTION shared_region(void *first, void *second)
{
	DAT_REGION_DESCRIPTION region;
	void *words[] = {first, second};

	_Static_assert(sizeof(region) == sizeof(words), "two words");
	memcpy(&region, words, sizeof(region));
	return region;
}

static void assert_words(const char *call, void *handle, int num_words)
{
	/* The provider gets its own handle, not the number. */
	if (handle == ia_number)
		handle = &full_ia;
	ck_assert_msg(seen.words[0] == (uintptr_t)handle, "%s: handle %p", call,
		      (void *)seen.words[0]);
	for (int n = 2; n <= num_words; n++) {
		/* The upper half of a 32-bit argument is left undefined. */
		ck_assert_msg((uint32_t)seen.words[n - 1] == (uint32_t)WORD(n),
			      "%s: word %d is 0x%zx", call, n, seen.words[n - 1]);
	}
}

static void verify(const char *call, void *handle, int slot, DAT_RETURN bad_handle, int num_words,
		   DAT_RETURN ret)
{
	DAT_RETURN want = expectation == EXPECT_CALL ? STUB_RET(slot)
			  : expectation == EXPECT_BAD_HANDLE
				  ? T_ERR(DAT_INVALID_HANDLE, bad_handle)
				  : T_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);

	ck_assert_msg(ret == want, "%s answers 0x%x instead of 0x%x", call, (unsigned int)ret,
		      (unsigned int)want);
	ck_assert_msg(seen.calls == (expectation == EXPECT_CALL), "%s: %d calls of the provider",
		      call, seen.calls);
	if (expectation == EXPECT_CALL) {
		ck_assert_int_eq(seen.slot, slot);
		assert_words(call, handle, num_words);
	}
	memset(&seen, 0, sizeof(seen));
}

/* The words of a call count from 1, the handle being the first. */
#define CALL(handle, member, bad_handle, num_words, call) \
	verify(#call, handle, SLOT(member), bad_handle, num_words, call)

static void call_ia(void *ia, void *any)
{
	CALL(ia, ia_query_func, DAT_INVALID_HANDLE_IA, 6,
	     dat_ia_query(ia, P(2), N(3), P(4), N(5), P(6)));
	CALL(any, set_consumer_context_func, DAT_INVALID_HANDLE1, 2,
	     dat_set_consumer_context(any, U(2)));
	CALL(any, get_consumer_context_func, DAT_INVALID_HANDLE1, 2,
	     dat_get_consumer_context(any, P(2)));
	CALL(any, get_handle_type_func, DAT_INVALID_HANDLE1, 2, dat_get_handle_type(any, P(2)));
}

static void call_cno(void *ia, void *obj)
{
	CALL(ia, cno_create_func, DAT_INVALID_HANDLE_IA, 4, dat_cno_create(ia, AGENT(2), P(4)));
	CALL(obj, cno_modify_agent_func, DAT_INVALID_HANDLE_CNO, 3,
	     dat_cno_modify_agent(obj, AGENT(2)));
	CALL(obj, cno_query_func, DAT_INVALID_HANDLE_CNO, 3, dat_cno_query(obj, N(2), P(3)));
	CALL(obj, cno_free_func, DAT_INVALID_HANDLE_CNO, 1, dat_cno_free(obj));
	CALL(obj, cno_wait_func, DAT_INVALID_HANDLE_CNO, 3, dat_cno_wait(obj, N(2), P(3)));
#if T_DAT_MAJOR == 2
	CALL(ia, cno_fd_create_func, DAT_INVALID_HANDLE_IA, 3, dat_cno_fd_create(ia, P(2), P(3)));
	CALL(obj, cno_trigger_func, DAT_INVALID_HANDLE_CNO, 2, dat_cno_trigger(obj, P(2)));
#endif
}

static void call_cr(void *obj)
{
	CALL(obj, cr_query_func, DAT_INVALID_HANDLE_CR, 3, dat_cr_query(obj, N(2), P(3)));
	CALL(obj, cr_accept_func, DAT_INVALID_HANDLE_CR, 4, dat_cr_accept(obj, P(2), N(3), P(4)));
#if T_DAT_MAJOR == 1
	CALL(obj, cr_reject_func, DAT_INVALID_HANDLE_CR, 1, dat_cr_reject(obj));
#else
	CALL(obj, cr_reject_func, DAT_INVALID_HANDLE_CR, 3, dat_cr_reject(obj, N(2), P(3)));
#endif
	CALL(obj, cr_handoff_func, DAT_INVALID_HANDLE_CR, 2, dat_cr_handoff(obj, N(2)));
}

static void call_evd(void *ia, void *obj)
{
	CALL(obj, evd_resize_func, DAT_INVALID_HANDLE_EVD_REQUEST, 2, dat_evd_resize(obj, N(2)));
	CALL(obj, evd_post_se_func, DAT_INVALID_HANDLE_EVD_REQUEST, 2, dat_evd_post_se(obj, P(2)));
	CALL(obj, evd_dequeue_func, DAT_INVALID_HANDLE_EVD_REQUEST, 2, dat_evd_dequeue(obj, P(2)));
	CALL(obj, evd_query_func, DAT_INVALID_HANDLE_EVD_REQUEST, 3,
	     dat_evd_query(obj, N(2), P(3)));
	CALL(obj, evd_free_func, DAT_INVALID_HANDLE_EVD_REQUEST, 1, dat_evd_free(obj));
	CALL(ia, evd_create_func, DAT_INVALID_HANDLE_IA, 5,
	     dat_evd_create(ia, N(2), P(3), N(4), P(5)));
	CALL(obj, evd_modify_cno_func, DAT_INVALID_HANDLE_EVD_REQUEST, 2,
	     dat_evd_modify_cno(obj, P(2)));
	CALL(obj, evd_enable_func, DAT_INVALID_HANDLE_EVD_REQUEST, 1, dat_evd_enable(obj));
	CALL(obj, evd_wait_func, DAT_INVALID_HANDLE_EVD_REQUEST, 5,
	     dat_evd_wait(obj, N(2), N(3), P(4), P(5)));
	CALL(obj, evd_disable_func, DAT_INVALID_HANDLE_EVD_REQUEST, 1, dat_evd_disable(obj));
	CALL(obj, evd_set_unwaitable_func, DAT_INVALID_HANDLE_EVD_REQUEST, 1,
	     dat_evd_set_unwaitable(obj));
	CALL(obj, evd_clear_unwaitable_func, DAT_INVALID_HANDLE_EVD_REQUEST, 1,
	     dat_evd_clear_unwaitable(obj));
}

static void call_ep(void *ia, void *obj)
{
	CALL(ia, ep_create_func, DAT_INVALID_HANDLE_IA, 7,
	     dat_ep_create(ia, P(2), P(3), P(4), P(5), P(6), P(7)));
	CALL(obj, ep_query_func, DAT_INVALID_HANDLE_EP, 3, dat_ep_query(obj, N(2), P(3)));
	CALL(obj, ep_modify_func, DAT_INVALID_HANDLE_EP, 3, dat_ep_modify(obj, N(2), P(3)));
	CALL(obj, ep_connect_func, DAT_INVALID_HANDLE_EP, 8,
	     dat_ep_connect(obj, P(2), N(3), N(4), N(5), P(6), N(7), N(8)));
	CALL(obj, ep_dup_connect_func, DAT_INVALID_HANDLE_EP, 6,
	     dat_ep_dup_connect(obj, P(2), N(3), N(4), P(5), N(6)));
#if T_DAT_MAJOR == 2
	CALL(obj, ep_common_connect_func, DAT_INVALID_HANDLE_EP, 5,
	     dat_ep_common_connect(obj, P(2), N(3), N(4), P(5)));
#endif
	CALL(obj, ep_disconnect_func, DAT_INVALID_HANDLE_EP, 2, dat_ep_disconnect(obj, N(2)));
	CALL(obj, ep_post_send_func, DAT_INVALID_HANDLE_EP, 5,
	     dat_ep_post_send(obj, N(2), P(3), U(4), N(5)));
#if T_DAT_MAJOR == 2
	CALL(obj, ep_post_send_with_invalidate_func, DAT_INVALID_HANDLE_EP, 7,
	     dat_ep_post_send_with_invalidate(obj, N(2), P(3), U(4), N(5), N(6), N(7)));
#endif
	CALL(obj, ep_post_recv_func, DAT_INVALID_HANDLE_EP, 5,
	     dat_ep_post_recv(obj, N(2), P(3), U(4), N(5)));
	CALL(obj, ep_post_rdma_read_func, DAT_INVALID_HANDLE_EP, 6,
	     dat_ep_post_rdma_read(obj, N(2), P(3), U(4), P(5), N(6)));
#if T_DAT_MAJOR == 2
	CALL(obj, ep_post_rdma_read_to_rmr_func, DAT_INVALID_HANDLE_EP, 5,
	     dat_ep_post_rdma_read_to_rmr(obj, P(2), U(3), P(4), N(5)));
#endif
	CALL(obj, ep_post_rdma_write_func, DAT_INVALID_HANDLE_EP, 6,
	     dat_ep_post_rdma_write(obj, N(2), P(3), U(4), P(5), N(6)));
	CALL(obj, ep_get_status_func, DAT_INVALID_HANDLE_EP, 4,
	     dat_ep_get_status(obj, P(2), P(3), P(4)));
	CALL(obj, ep_free_func, DAT_INVALID_HANDLE_EP, 1, dat_ep_free(obj));
	CALL(obj, ep_reset_func, DAT_INVALID_HANDLE_EP, 1, dat_ep_reset(obj));
	CALL(ia, ep_create_with_srq_func, DAT_INVALID_HANDLE_IA, 8,
	     dat_ep_create_with_srq(ia, P(2), P(3), P(4), P(5), P(6), P(7), P(8)));
	CALL(obj, ep_recv_query_func, DAT_INVALID_HANDLE_EP, 3, dat_ep_recv_query(obj, P(2), P(3)));
	CALL(obj, ep_set_watermark_func, DAT_INVALID_HANDLE_EP, 3,
	     dat_ep_set_watermark(obj, N(2), N(3)));
}

static void call_memory(void *ia, void *obj)
{
	CALL(obj, lmr_free_func, DAT_INVALID_HANDLE_LMR, 1, dat_lmr_free(obj));
	CALL(ia, lmr_sync_rdma_read_func, DAT_INVALID_HANDLE_IA, 3,
	     dat_lmr_sync_rdma_read(ia, P(2), N(3)));
	CALL(ia, lmr_sync_rdma_write_func, DAT_INVALID_HANDLE_IA, 3,
	     dat_lmr_sync_rdma_write(ia, P(2), N(3)));
#if T_DAT_MAJOR == 1
	CALL(ia, lmr_create_func, DAT_INVALID_HANDLE_IA, 12,
	     dat_lmr_create(ia, N(2), REGION(3), N(5), P(6), N(7), P(8), P(9), P(10), P(11),
			    P(12)));
#else
	CALL(ia, lmr_create_func, DAT_INVALID_HANDLE_IA, 13,
	     dat_lmr_create(ia, N(2), REGION(3), N(5), P(6), N(7), N(8), P(9), P(10), P(11), P(12),
			    P(13)));
#endif
	CALL(obj, lmr_query_func, DAT_INVALID_HANDLE_LMR, 3, dat_lmr_query(obj, N(2), P(3)));
	CALL(obj, rmr_create_func, DAT_INVALID_HANDLE_PZ, 2, dat_rmr_create(obj, P(2)));
#if T_DAT_MAJOR == 2
	CALL(obj, rmr_create_for_ep_func, DAT_INVALID_HANDLE_PZ, 2,
	     dat_rmr_create_for_ep(obj, P(2)));
#endif
	CALL(obj, rmr_query_func, DAT_INVALID_HANDLE_RMR, 3, dat_rmr_query(obj, N(2), P(3)));
#if T_DAT_MAJOR == 1
	CALL(obj, rmr_bind_func, DAT_INVALID_HANDLE_RMR, 7,
	     dat_rmr_bind(obj, P(2), N(3), P(4), U(5), N(6), P(7)));
#else
	CALL(obj, rmr_bind_func, DAT_INVALID_HANDLE_RMR, 9,
	     dat_rmr_bind(obj, P(2), P(3), N(4), N(5), P(6), U(7), N(8), P(9)));
#endif
	CALL(obj, rmr_free_func, DAT_INVALID_HANDLE_RMR, 1, dat_rmr_free(obj));
	CALL(ia, pz_create_func, DAT_INVALID_HANDLE_IA, 2, dat_pz_create(ia, P(2)));
	CALL(obj, pz_query_func, DAT_INVALID_HANDLE_PZ, 3, dat_pz_query(obj, N(2), P(3)));
	CALL(obj, pz_free_func, DAT_INVALID_HANDLE_PZ, 1, dat_pz_free(obj));
}

static void call_sp(void *ia, void *obj)
{
	CALL(ia, psp_create_func, DAT_INVALID_HANDLE_IA, 5,
	     dat_psp_create(ia, N(2), P(3), N(4), P(5)));
	CALL(ia, psp_create_any_func, DAT_INVALID_HANDLE_IA, 5,
	     dat_psp_create_any(ia, P(2), P(3), N(4), P(5)));
	CALL(obj, psp_query_func, DAT_INVALID_HANDLE_PSP, 3, dat_psp_query(obj, N(2), P(3)));
	CALL(obj, psp_free_func, DAT_INVALID_HANDLE_PSP, 1, dat_psp_free(obj));
	CALL(ia, rsp_create_func, DAT_INVALID_HANDLE_IA, 5,
	     dat_rsp_create(ia, N(2), P(3), P(4), P(5)));
	CALL(obj, rsp_query_func, DAT_INVALID_HANDLE_RSP, 3, dat_rsp_query(obj, N(2), P(3)));
	CALL(obj, rsp_free_func, DAT_INVALID_HANDLE_RSP, 1, dat_rsp_free(obj));
#if T_DAT_MAJOR == 2
	CALL(ia, csp_create_func, DAT_INVALID_HANDLE_IA, 5,
	     dat_csp_create(ia, P(2), P(3), P(4), P(5)));
	CALL(obj, csp_query_func, DAT_INVALID_HANDLE_CSP, 3, dat_csp_query(obj, N(2), P(3)));
	CALL(obj, csp_free_func, DAT_INVALID_HANDLE_CSP, 1, dat_csp_free(obj));
#endif
}

static void call_srq(void *ia, void *obj)
{
	CALL(ia, srq_create_func, DAT_INVALID_HANDLE_IA, 4, dat_srq_create(ia, P(2), P(3), P(4)));
	CALL(obj, srq_free_func, DAT_INVALID_HANDLE_SRQ, 1, dat_srq_free(obj));
	CALL(obj, srq_post_recv_func, DAT_INVALID_HANDLE_SRQ, 4,
	     dat_srq_post_recv(obj, N(2), P(3), U(4)));
	CALL(obj, srq_query_func, DAT_INVALID_HANDLE_SRQ, 3, dat_srq_query(obj, N(2), P(3)));
	CALL(obj, srq_resize_func, DAT_INVALID_HANDLE_SRQ, 2, dat_srq_resize(obj, N(2)));
	CALL(obj, srq_set_lw_func, DAT_INVALID_HANDLE_SRQ, 2, dat_srq_set_lw(obj, N(2)));
}

static void call_all(void *ia, void *any, void *obj)
{
	call_ia(ia, any);
	call_cno(ia, obj);
	call_cr(obj);
	call_evd(ia, obj);
	call_ep(ia, obj);
	call_memory(ia, obj);
	call_sp(ia, obj);
	call_srq(ia, obj);
}

START_TEST(test_good_handle_reaches_the_slot_with_all_arguments)
{
	expectation = EXPECT_CALL;
	call_all(number_of_full, number_of_full, &full_object);
}
END_TEST

START_TEST(test_pointer_of_any_object_passes_unchanged)
{
	expectation = EXPECT_CALL;
	call_all(number_of_full, &full_object, &full_object);
}
END_TEST

/* HND-017, ERR-020 */
START_TEST(test_null_handle_is_invalid_by_its_type)
{
	expectation = EXPECT_BAD_HANDLE;
	call_all(DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL);
}
END_TEST

/* HND-016: the number of an IA instead of another object, and a number of no IA */
START_TEST(test_handle_of_no_such_object_is_invalid)
{
	expectation = EXPECT_BAD_HANDLE;
	call_all(P(0), (void *)(uintptr_t)60, number_of_full);
	call_all((void *)(uintptr_t)60, (void *)(uintptr_t)65535, (void *)(uintptr_t)65535);
	call_all(&full_ia, (void *)(uintptr_t)64, (void *)(uintptr_t)1);
}
END_TEST

/* ERR-019 */
START_TEST(test_empty_slot_is_not_supported)
{
	expectation = EXPECT_NOT_SUPPORTED;
	call_all(number_of_empty, number_of_empty, &empty_object);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dispatch");
	TCase *tc = tcase_create("dispatch");

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, test_good_handle_reaches_the_slot_with_all_arguments);
	tcase_add_test(tc, test_pointer_of_any_object_passes_unchanged);
	tcase_add_test(tc, test_null_handle_is_invalid_by_its_type);
	tcase_add_test(tc, test_handle_of_no_such_object_is_invalid);
	tcase_add_test(tc, test_empty_slot_is_not_supported);
	return t_run(suite);
}
