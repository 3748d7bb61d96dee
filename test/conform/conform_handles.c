/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* All handles: types, consumer contexts, and invalid handles. */
#include <stdatomic.h>

#include "zoo.h"

static struct zoo zoo;

static void open_zoo(void)
{
	zoo_open(&zoo);
}

static void close_zoo(void)
{
	zoo_close(&zoo);
}

/* --- types --- */

START_TEST(HND_011_014_types)
{
	DAT_HANDLE_TYPE type;

	ck_assert_int_eq(DAT_HANDLE_TYPE_CR, 0);
	ck_assert_int_eq(DAT_HANDLE_TYPE_SRQ, 10);
	for (int i = 0; i < ZOO_TYPES; i++) {
		if (!zoo.of[i])
			continue;
		type = (DAT_HANDLE_TYPE)99;
		t_ok(dat_get_handle_type(zoo.of[i], &type));
		ck_assert_int_eq(type, i);
		t_bad_arg_of(dat_get_handle_type(zoo.of[i], NULL), 2);
	}
}
END_TEST

START_TEST(HND_007_013_017_020_bad_handle_has_neither_type_nor_context)
{
	DAT_CONTEXT context = {.as_64 = 1};
	DAT_HANDLE_TYPE type;
	struct zoo gone;

	t_bad_handle(dat_get_handle_type(DAT_HANDLE_NULL, &type));
	t_bad_handle(dat_set_consumer_context(DAT_HANDLE_NULL, context));
	t_bad_handle(dat_get_consumer_context(DAT_HANDLE_NULL, &context));
	zoo_open(&gone);
	zoo_free(&gone);
	for (int i = 0; i < ZOO_TYPES; i++) {
		if (!gone.of[i])
			continue;
		t_bad_handle(dat_get_handle_type(gone.of[i], &type));
		t_bad_handle(dat_set_consumer_context(gone.of[i], context));
		t_bad_handle(dat_get_consumer_context(gone.of[i], &context));
	}
}
END_TEST

/* --- contexts --- */

static void has_context(DAT_HANDLE handle, uint64_t value)
{
	DAT_CONTEXT context = {.as_64 = ~value};

	t_ok(dat_get_consumer_context(handle, &context));
	ck_assert_uint_eq(context.as_64, value);
}

START_TEST(HND_001_002_003_004_005_008_context_of_every_object)
{
	DAT_CONTEXT context;

	for (int i = 0; i < ZOO_TYPES; i++) {
		if (!zoo.of[i])
			continue;
		has_context(zoo.of[i], 0);
		context.as_64 = UINT64_C(0x8877665544332210) + (uint64_t)i;
		t_ok(dat_set_consumer_context(zoo.of[i], context));
	}
	for (int i = 0; i < ZOO_TYPES; i++) {
		if (!zoo.of[i])
			continue;
		has_context(zoo.of[i], UINT64_C(0x8877665544332210) + (uint64_t)i);
		context.as_64 = UINT64_MAX;
		t_ok(dat_set_consumer_context(zoo.of[i], context));
		has_context(zoo.of[i], UINT64_MAX);
		t_bad_arg(dat_get_consumer_context(zoo.of[i], NULL));
		context.as_64 = 0;
		t_ok(dat_set_consumer_context(zoo.of[i], context));
		has_context(zoo.of[i], 0);
	}
}
END_TEST

START_TEST(HND_006_context_is_not_inherited)
{
	DAT_CONTEXT context = {.as_ptr = (void *)(uintptr_t)0x10}; /* no memory */
	DAT_CR_HANDLE cr = zoo.of[DAT_HANDLE_TYPE_CR];
	struct t_end dup;

	t_ok(dat_set_consumer_context(cr, context));
	t_ok(dat_set_consumer_context(zoo.wild.ep, context));
	t_ok(dat_set_consumer_context(zoo.listener.psp, context));
	t_ok(t_cr_accept(cr, zoo.end.ep));
	t_wait_conn(zoo.end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, zoo.end.ep);
	t_wait_conn(zoo.wild.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, zoo.wild.ep);
	has_context(zoo.end.ep, 0);
	t_end_new(&dup, &zoo.ia, NULL);
	t_ok(dat_ep_dup_connect(dup.ep, zoo.wild.ep, T_LIMIT_US, 0, NULL, DAT_QOS_BEST_EFFORT));
	has_context(dup.ep, 0);
	has_context(t_next_cr(&zoo.listener), 0);
	has_context(zoo.wild.ep, 0x10);
}
END_TEST

START_TEST(HND_009_020_new_object_starts_without_context)
{
	DAT_CONTEXT context = {.as_64 = 5};
	DAT_PZ_HANDLE first = DAT_HANDLE_NULL;

	for (int i = 0; i < 2000; i++) {
		DAT_PZ_HANDLE pz;

		t_ok(dat_pz_create(zoo.ia.ia, &pz));
		has_context(pz, 0);
		if (i < 16) /* the value of a freed handle is not used again for a while */
			ck_assert_ptr_ne(pz, first);
		if (!first)
			first = pz;
		t_ok(dat_set_consumer_context(pz, context));
		t_ok(dat_pz_free(pz));
	}
}
END_TEST

/* --- bad handles --- */

/* For an EVD the subtype tells the use of the EVD, because EVDs have no subtype of their own. */
static bool subtype_of(DAT_HANDLE_TYPE type, DAT_RETURN_SUBTYPE *subtype_p)
{
	static const DAT_RETURN_SUBTYPE subtypes[ZOO_TYPES] = {
		[DAT_HANDLE_TYPE_CR] = DAT_INVALID_HANDLE_CR,
		[DAT_HANDLE_TYPE_EP] = DAT_INVALID_HANDLE_EP,
		[DAT_HANDLE_TYPE_IA] = DAT_INVALID_HANDLE_IA,
		[DAT_HANDLE_TYPE_LMR] = DAT_INVALID_HANDLE_LMR,
		[DAT_HANDLE_TYPE_PSP] = DAT_INVALID_HANDLE_PSP,
		[DAT_HANDLE_TYPE_PZ] = DAT_INVALID_HANDLE_PZ,
		[DAT_HANDLE_TYPE_RMR] = DAT_INVALID_HANDLE_RMR,
		[DAT_HANDLE_TYPE_RSP] = DAT_INVALID_HANDLE_RSP,
		[DAT_HANDLE_TYPE_CNO] = DAT_INVALID_HANDLE_CNO,
		[DAT_HANDLE_TYPE_SRQ] = DAT_INVALID_HANDLE_SRQ,
	};

	*subtype_p = subtypes[type];
	return type != DAT_HANDLE_TYPE_EVD;
}

static void refuses(const struct zoo_call *call, DAT_HANDLE handle, const char *what)
{
	DAT_RETURN ret = call->call(&zoo, handle);
	DAT_RETURN_SUBTYPE subtype;

	if (DAT_GET_TYPE(ret) != DAT_INVALID_HANDLE || !((DAT_UINT32)ret & DAT_CLASS_ERROR))
		ck_abort_msg("%s with %s answers %s", call->name, what, t_words(ret));
	if (subtype_of(call->type, &subtype) && DAT_GET_SUBTYPE(ret) != subtype)
		ck_abort_msg("%s with %s answers %s instead of DAT_INVALID_HANDLE_%s", call->name,
			     what, t_words(ret), zoo_names[call->type]);
}

/* Passes null, a freed handle, and a handle of every other type to every call for this type. */
static void all_refuse_others(DAT_HANDLE_TYPE type)
{
	struct zoo gone;
	int calls = 0;

	if (!zoo.of[type])
		return;
	zoo_open(&gone);
	zoo_free(&gone);
	for (size_t i = 0; i < zoo_ncalls; i++) {
		const struct zoo_call *call = &zoo_calls[i];

		if (call->type != type)
			continue;
		calls++;
		if (!call->may_be_null)
			refuses(call, DAT_HANDLE_NULL, "a null handle");
		refuses(call, gone.of[type], "a freed handle");
		for (int other = 0; other < ZOO_TYPES; other++) {
			if (other != (int)type && zoo.of[other])
				refuses(call, zoo.of[other], zoo_names[other]);
		}
	}
	ck_assert_int_gt(calls, 0);
}

START_TEST(HND_016_017_020_other_handles_are_refused)
{
	/* ERR-020 */
	all_refuse_others((DAT_HANDLE_TYPE)_i);
}
END_TEST

START_TEST(IA_026_045_other_handles_are_refused)
{
	/* EVD-012 CNO-005 PZ-002 LMR-019 LMR-051 LMR-057 PSP-009 CNO-009 CSP-001 */
	all_refuse_others(DAT_HANDLE_TYPE_IA);
}
END_TEST

START_TEST(EVD_018_029_034_044_049_055_058_073_090_101_114_other_handles_are_refused)
{
	/* PSP-007 RSP-005 */
	all_refuse_others(DAT_HANDLE_TYPE_EVD);
}
END_TEST

START_TEST(CNO_013_022_026_039_049_other_handles_are_refused)
{
	/* EVD-006 EVD-033 */
	all_refuse_others(DAT_HANDLE_TYPE_CNO);
}
END_TEST

START_TEST(PZ_009_010_014_other_handles_are_refused)
{
	/* LMR-019 RMR-002 RMR-008 */
	all_refuse_others(DAT_HANDLE_TYPE_PZ);
}
END_TEST

START_TEST(LMR_004_036_046_other_handles_are_refused)
{
	all_refuse_others(DAT_HANDLE_TYPE_LMR);
}
END_TEST

START_TEST(RMR_014_021_other_handles_are_refused)
{
	all_refuse_others(DAT_HANDLE_TYPE_RMR);
}
END_TEST

START_TEST(PSP_029_035_other_handles_are_refused)
{
	all_refuse_others(DAT_HANDLE_TYPE_PSP);
}
END_TEST

START_TEST(RSP_017_021_other_handles_are_refused)
{
	all_refuse_others(DAT_HANDLE_TYPE_RSP);
}
END_TEST

START_TEST(CR_006_015_033_041_other_handles_are_refused)
{
	all_refuse_others(DAT_HANDLE_TYPE_CR);
}
END_TEST

START_TEST(CR_011_other_endpoints_are_refused)
{
	/* RSP-003 */
	all_refuse_others(DAT_HANDLE_TYPE_EP);
}
END_TEST

/* --- IAs that are closed, and other IAs --- */

START_TEST(IA_022_033_close_invalidates_all_handles)
{
	struct zoo gone;

	zoo_open(&gone);
	zoo_close(&gone);
	for (size_t i = 0; i < zoo_ncalls; i++) {
		if (gone.of[zoo_calls[i].type])
			refuses(&zoo_calls[i], gone.of[zoo_calls[i].type],
				"a handle of a closed IA");
	}
	t_bad_handle(dat_evd_free(gone.ia.async_evd));
}
END_TEST

/* Calls that take two objects, for tests with one of another IA. */
static bool takes_two(const struct zoo_call *call)
{
	static const char *const names[] = {
		"ep_create_recv", "ep_create_request",  "ep_create_connect", "ep_create_pz",
		"psp_create_evd", "psp_create_any_evd", "rsp_create_evd",    "rsp_create_ep",
		"evd_create_cno", "evd_modify_cno_cno", "lmr_create_pz",     "lmr_create_lmr",
		"srq_create_pz",  "cr_accept_ep",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(call->name, names[i]))
			return true;
	}
	return false;
}

START_TEST(IA_016_objects_of_another_ia)
{
	/* CR-013 */
	struct zoo other;

	zoo_open(&other);
	for (size_t i = 0; i < zoo_ncalls; i++) {
		const struct zoo_call *call = &zoo_calls[i];
		DAT_RETURN ret;

		if (!takes_two(call))
			continue;
		ret = call->call(&zoo, other.of[call->type]);
		if (DAT_GET_TYPE(ret) != DAT_INVALID_HANDLE &&
		    DAT_GET_TYPE(ret) != DAT_INVALID_PARAMETER)
			ck_abort_msg("%s with an object of another IA answers %s", call->name,
				     t_words(ret));
	}
	zoo_free(&other);
}
END_TEST

START_TEST(IA_021_every_query_tells_the_same_ia)
{
	DAT_EVD_PARAM evd;
	DAT_CNO_PARAM cno;
	DAT_PZ_PARAM pz;
	DAT_LMR_PARAM lmr;
	DAT_RMR_PARAM rmr;
	DAT_EP_PARAM ep;
	DAT_PSP_PARAM psp;
	DAT_RSP_PARAM rsp;

	t_ok(dat_evd_query(zoo.of[DAT_HANDLE_TYPE_EVD], DAT_EVD_FIELD_ALL, &evd));
	t_ok(dat_cno_query(zoo.of[DAT_HANDLE_TYPE_CNO], DAT_CNO_FIELD_ALL, &cno));
	t_ok(dat_pz_query(zoo.of[DAT_HANDLE_TYPE_PZ], DAT_PZ_FIELD_ALL, &pz));
	t_ok(dat_lmr_query(zoo.of[DAT_HANDLE_TYPE_LMR], DAT_LMR_FIELD_ALL, &lmr));
	t_ok(dat_rmr_query(zoo.of[DAT_HANDLE_TYPE_RMR], DAT_RMR_FIELD_IA_HANDLE, &rmr));
	t_ok(dat_ep_query(zoo.of[DAT_HANDLE_TYPE_EP], DAT_EP_FIELD_ALL, &ep));
	t_ok(dat_psp_query(zoo.of[DAT_HANDLE_TYPE_PSP], DAT_PSP_FIELD_ALL, &psp));
	t_ok(dat_rsp_query(zoo.of[DAT_HANDLE_TYPE_RSP], DAT_RSP_FIELD_ALL, &rsp));
	ck_assert_ptr_eq(evd.ia_handle, zoo.ia.ia);
	ck_assert_ptr_eq(cno.ia_handle, zoo.ia.ia);
	ck_assert_ptr_eq(pz.ia_handle, zoo.ia.ia);
	ck_assert_ptr_eq(lmr.ia_handle, zoo.ia.ia);
	ck_assert_ptr_eq(rmr.ia_handle, zoo.ia.ia);
	ck_assert_ptr_eq(ep.ia_handle, zoo.ia.ia);
	ck_assert_ptr_eq(psp.ia_handle, zoo.ia.ia);
	ck_assert_ptr_eq(rsp.ia_handle, zoo.ia.ia);
}
END_TEST

/* --- threads --- */

enum { THREADS = 4, ROUNDS = 150 };

static atomic_int failures;

static void *create_and_free(void *arg)
{
	static unsigned char memory[THREADS][4096];
	unsigned char *mine = memory[(uintptr_t)arg];

	for (int i = 0; i < ROUNDS; i++) {
		DAT_HANDLE pz, cno, evd, lmr, rmr, ep;
		DAT_RETURN ret;

		ret = dat_pz_create(zoo.ia.ia, &pz);
		ret |= dat_cno_create(zoo.ia.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno);
		ret |= dat_evd_create(zoo.ia.ia, 8, cno, DAT_EVD_DEFAULT_FLAG, &evd);
		ret |= t_lmr_of(zoo.ia.ia, mine, 4096, pz, DAT_MEM_PRIV_ALL_FLAG, &lmr);
		ret |= dat_rmr_create(pz, &rmr);
		ret |= dat_ep_create(zoo.ia.ia, pz, evd, evd, evd, NULL, &ep);
		if (ret == DAT_SUCCESS) {
			ret = dat_ep_free(ep);
			ret |= dat_rmr_free(rmr);
			ret |= dat_lmr_free(lmr);
			ret |= dat_evd_free(evd);
			ret |= dat_cno_free(cno);
			ret |= dat_pz_free(pz);
		}
		failures += ret != DAT_SUCCESS;
	}
	return NULL;
}

START_TEST(HND_018_019_threads_share_an_ia)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, create_and_free, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		t_join(threads[i]);
	ck_assert_int_eq(failures, 0);
	zoo_free(&zoo); /* no other object is left */
	zoo_open(&zoo);
}
END_TEST

Suite *conform_handles(void)
{
	Suite *suite = suite_create("handles");
	TCase *tc = tcase_create("handles");

	tcase_add_checked_fixture(tc, open_zoo, close_zoo);
	suite_add_tcase(suite, tc);
	tcase_add_test(tc, HND_011_014_types);
	tcase_add_test(tc, HND_007_013_017_020_bad_handle_has_neither_type_nor_context);
	tcase_add_test(tc, HND_001_002_003_004_005_008_context_of_every_object);
	tcase_add_test(tc, HND_006_context_is_not_inherited);
	tcase_add_test(tc, HND_009_020_new_object_starts_without_context);
	tcase_add_loop_test(tc, HND_016_017_020_other_handles_are_refused, 0, ZOO_TYPES);
	tcase_add_test(tc, IA_026_045_other_handles_are_refused);
	tcase_add_test(tc,
		       EVD_018_029_034_044_049_055_058_073_090_101_114_other_handles_are_refused);
	tcase_add_test(tc, CNO_013_022_026_039_049_other_handles_are_refused);
	tcase_add_test(tc, PZ_009_010_014_other_handles_are_refused);
	tcase_add_test(tc, LMR_004_036_046_other_handles_are_refused);
	tcase_add_test(tc, RMR_014_021_other_handles_are_refused);
	tcase_add_test(tc, PSP_029_035_other_handles_are_refused);
	tcase_add_test(tc, RSP_017_021_other_handles_are_refused);
	tcase_add_test(tc, CR_006_015_033_041_other_handles_are_refused);
	tcase_add_test(tc, CR_011_other_endpoints_are_refused);
	tcase_add_test(tc, IA_022_033_close_invalidates_all_handles);
	tcase_add_test(tc, IA_016_objects_of_another_ia);
	tcase_add_test(tc, IA_021_every_query_tells_the_same_ia);
	tcase_add_test(tc, HND_018_019_threads_share_an_ia);
	return suite;
}
