/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Handles: validity, types, reuse, consumer contexts (HND-001 to HND-020). */
#include "../../lib/fake_ia.h"
#include "../../lib/unit.h"

#include "../../../prov/ofi/api/cno.h"
#include "../../../prov/ofi/progress/cno.h"
#include "../../../prov/ofi/object/mem.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/api/pz.h"

static struct dofi_ia *ia;

static void setup(void)
{
	ia = t_ia_open();
}

static void teardown(void)
{
	t_ia_close(ia);
}

static DAT_PZ_HANDLE new_pz(void)
{
	DAT_PZ_HANDLE pz;

	t_ok(dofi_pz_create(ia, &pz));
	return pz;
}

START_TEST(test_type_of_live_handles)
{
	DAT_PZ_HANDLE pz = new_pz();
	DAT_HANDLE_TYPE type;

	t_ok(dofi_get_handle_type(pz, &type));
	ck_assert_int_eq(type, DAT_HANDLE_TYPE_PZ);
	t_ok(dofi_get_handle_type(ia, &type));
	ck_assert_int_eq(type, DAT_HANDLE_TYPE_IA);
	t_ok(dofi_get_handle_type(ia->async_evd, &type));
	ck_assert_int_eq(type, DAT_HANDLE_TYPE_EVD);
	t_ret(dofi_get_handle_type(pz, NULL), DOFI_BAD_ARG(2));
	t_ok(dofi_pz_free(pz));
}
END_TEST

START_TEST(test_stale_wrong_and_null_handles_are_invalid)
{
	const DAT_RETURN invalid = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	DAT_PZ_HANDLE pz = new_pz();
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context;

	t_ret(dofi_cno_free(pz), DOFI_BAD_HANDLE(CNO));
	t_ok(dofi_pz_free(pz));
	t_ret(dofi_pz_free(pz), DOFI_BAD_HANDLE(PZ));
	t_ret(dofi_pz_free(DAT_HANDLE_NULL), DOFI_BAD_HANDLE(PZ));
	t_ret(dofi_get_handle_type(pz, &type), invalid);
	t_ret(dofi_get_handle_type(DAT_HANDLE_NULL, &type), invalid);
	t_ret(dofi_get_consumer_context(pz, &context), invalid);
	t_ret(dofi_set_consumer_context(DAT_HANDLE_NULL, (DAT_CONTEXT){0}), invalid);
	/* A registry still finds its functions by a stale handle. */
	ck_assert_ptr_eq(((struct dofi_obj *)pz)->provider, ia->obj.provider);
}
END_TEST

START_TEST(test_consumer_context_is_kept_per_handle_and_dies_with_it)
{
	DAT_PZ_HANDLE pz = new_pz(), other = new_pz(), again;
	DAT_CONTEXT context = {.as_64 = 0xfedcba9876543210u};
	DAT_CONTEXT got = {.as_64 = 1};

	t_ok(dofi_get_consumer_context(pz, &got));
	ck_assert_uint_eq(got.as_64, 0);
	t_ok(dofi_set_consumer_context(pz, context));
	t_ok(dofi_get_consumer_context(pz, &got));
	ck_assert_uint_eq(got.as_64, context.as_64);
	t_ok(dofi_get_consumer_context(other, &got));
	ck_assert_uint_eq(got.as_64, 0);
	t_ret(dofi_get_consumer_context(pz, NULL), DOFI_BAD_ARG(2));
	t_ok(dofi_pz_free(other));
	/* Repeats until the memory is used again. */
	do {
		t_ok(dofi_pz_free(pz));
		again = pz;
		pz = new_pz();
		t_ok(dofi_get_consumer_context(pz, &got));
		ck_assert_uint_eq(got.as_64, 0);
		t_ok(dofi_set_consumer_context(pz, context));
	} while (pz != other);
	ck_assert_ptr_ne(pz, again);
	t_ok(dofi_pz_free(pz));
}
END_TEST

/* HND-020: a handle value is not used again at once, but memory does not grow in a loop. */
START_TEST(test_memory_rests_before_it_is_used_again)
{
	enum { ROUNDS = 5000, REST = 256, MOST = 1024 };
	static DAT_PZ_HANDLE seen[ROUNDS];
	unsigned int distinct = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		bool is_new = true;

		seen[i] = new_pz();
		ck_assert_uint_eq((uintptr_t)seen[i] % 16, 0);
		for (unsigned int k = 0; k < i && is_new; k++) {
			is_new = seen[k] != seen[i];
			if (!is_new && i - k < MOST)
				ck_assert_uint_gt(i - k, REST);
		}
		distinct += is_new;
		t_ok(dofi_pz_free(seen[i]));
	}
	ck_assert_uint_le(distinct, MOST);
}
END_TEST

START_TEST(test_out_of_memory_leaves_nothing_behind)
{
	DAT_PZ_HANDLE pz[4096];
	DAT_RETURN ret = DAT_SUCCESS;
	unsigned int n = 0;

	t_fake.fail_mmap = 1;
	while (n < 4096 && ret == DAT_SUCCESS) {
		ret = dofi_pz_create(ia, &pz[n]);
		n += ret == DAT_SUCCESS;
	}
	t_ret(ret, DOFI_NO_MEMORY);
	ck_assert_uint_eq(ia->counts[DAT_HANDLE_TYPE_PZ], n);
	while (n)
		t_ok(dofi_pz_free(pz[--n]));
}
END_TEST

START_TEST(test_object_in_use_is_not_retired)
{
	DAT_PZ_HANDLE pz = new_pz();

	dofi_obj_use(pz);
	t_ret(dofi_pz_free(pz), DOFI_BAD_STATE(PZ_IN_USE));
	dofi_obj_unuse(pz);
	t_ok(dofi_pz_free(pz));
}
END_TEST

static _Atomic bool go;

static DAT_RETURN retire(void *arg)
{
	while (!go)
		;
	return dofi_obj_retire(arg, false) ? DAT_SUCCESS : DOFI_BAD_HANDLE(PZ);
}

START_TEST(test_one_of_two_threads_retires)
{
	for (int i = 0; i < 200; i++) {
		struct t_thread one, two;
		DAT_PZ_HANDLE pz = new_pz();

		go = false;
		t_start(&one, retire, pz);
		t_start(&two, retire, pz);
		go = true;
		ck_assert((t_join(&one) == DAT_SUCCESS) != (t_join(&two) == DAT_SUCCESS));
		dofi_pz_destroy(pz);
	}
}
END_TEST

START_TEST(test_pz_query)
{
	DAT_PZ_HANDLE pz = new_pz();
	DAT_PZ_PARAM param = {0};

	t_ok(dofi_pz_query(pz, DAT_PZ_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, ia);
	t_ok(dofi_pz_query(pz, 2, &param));
	t_ret(dofi_pz_query(pz, DAT_PZ_FIELD_ALL, NULL), DOFI_BAD_ARG(3));
	t_ok(dofi_pz_query(pz, 0, NULL));
	t_ret(dofi_pz_query(ia, DAT_PZ_FIELD_ALL, &param), DOFI_BAD_HANDLE(PZ));
	t_ret(dofi_pz_create(pz, &pz), DOFI_BAD_HANDLE(IA));
	t_ret(dofi_pz_create(ia, NULL), DOFI_BAD_ARG(2));
	t_ok(dofi_pz_free(pz));
}
END_TEST

/* PZ-017: peers tell zones apart by 16 bits, so live ones never share these. */
START_TEST(test_pz_numbers_of_live_zones_differ)
{
	DAT_PZ_HANDLE old = new_pz(), pz;
	uint16_t number = ((struct dofi_pz *)old)->number;

	for (unsigned int i = 0; i <= UINT16_MAX; i++) {
		pz = new_pz();
		ck_assert_uint_ne(((struct dofi_pz *)pz)->number, number);
		t_ok(dofi_pz_free(pz));
	}
	t_ok(dofi_pz_free(old));
}
END_TEST

/* No more than there are numbers. */
START_TEST(test_pzs_are_limited_by_their_numbers)
{
	const DAT_RETURN none =
		DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_PROTECTION_DOMAIN);
	DAT_PZ_HANDLE pz = NULL;

	ia->counts[DAT_HANDLE_TYPE_PZ] += UINT16_MAX;
	pz = new_pz();
	t_ok(dofi_pz_free(pz));
	ia->counts[DAT_HANDLE_TYPE_PZ]++;
	/* The memory of a failed call is used again, so a program may try for ever. */
	for (int i = 0; i < 2000; i++) {
		t_fake.fail_mmap = i < 1000 ? 0 : 1;
		pz = NULL;
		t_ret(dofi_pz_create(ia, &pz), none);
		ck_assert_ptr_null(pz);
	}
	t_fake.fail_mmap = 0;
	ia->counts[DAT_HANDLE_TYPE_PZ] -= UINT16_MAX + 1;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("object");
	TCase *tc = tcase_create("object");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_type_of_live_handles);
	tcase_add_test(tc, test_stale_wrong_and_null_handles_are_invalid);
	tcase_add_test(tc, test_consumer_context_is_kept_per_handle_and_dies_with_it);
	tcase_add_test(tc, test_memory_rests_before_it_is_used_again);
	tcase_add_test(tc, test_out_of_memory_leaves_nothing_behind);
	tcase_add_test(tc, test_object_in_use_is_not_retired);
	tcase_add_test(tc, test_one_of_two_threads_retires);
	tcase_add_test(tc, test_pz_query);
	tcase_add_test(tc, test_pz_numbers_of_live_zones_differ);
	tcase_add_test(tc, test_pzs_are_limited_by_their_numbers);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
