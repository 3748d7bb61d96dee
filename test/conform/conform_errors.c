/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Return codes, dat_strerror(), the status of completions, and asynchronous errors. */
#include <stdatomic.h>

#include "zoo.h"

/* --- dat_strerror --- */

struct words {
	const char *type, *subtype;
};

static struct words words_of(DAT_RETURN ret)
{
	struct words words = {0};

	t_ok(dat_strerror(ret, &words.type, &words.subtype));
	ck_assert_ptr_nonnull(words.type);
	ck_assert_ptr_nonnull(words.subtype);
	ck_assert_uint_gt(strlen(words.type), 0);
	return words;
}

static bool same(struct words a, struct words b)
{
	return !strcmp(a.type, b.type) && !strcmp(a.subtype, b.subtype);
}

static const DAT_RETURN_TYPE types[] = {
	DAT_SUCCESS,
	DAT_ABORT,
	DAT_CONN_QUAL_IN_USE,
	DAT_INSUFFICIENT_RESOURCES,
	DAT_INTERNAL_ERROR,
	DAT_INVALID_HANDLE,
	DAT_INVALID_PARAMETER,
	DAT_INVALID_STATE,
	DAT_LENGTH_ERROR,
	DAT_MODEL_NOT_SUPPORTED,
	DAT_PROVIDER_NOT_FOUND,
	DAT_PRIVILEGES_VIOLATION,
	DAT_PROTECTION_VIOLATION,
	DAT_QUEUE_EMPTY,
	DAT_QUEUE_FULL,
	DAT_TIMEOUT_EXPIRED,
	DAT_PROVIDER_ALREADY_REGISTERED,
	DAT_PROVIDER_IN_USE,
	DAT_INVALID_ADDRESS,
	DAT_INTERRUPTED_CALL,
	DAT_CONN_QUAL_UNAVAILABLE,
#if T_DAT_MAJOR == 2
	DAT_RESERVED_LMR,
	DAT_PORT_IN_USE,
	DAT_COMM_NOT_SUPPORTED,
#endif
};

#define NTYPES (sizeof(types) / sizeof(types[0]))

START_TEST(ERR_001_002_003_004_005_006_010_strerror_names_every_type)
{
	for (size_t i = 0; i < NTYPES; i++) {
		struct words words = words_of((DAT_RETURN)types[i]);

		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(words.type, words_of((DAT_RETURN)types[j]).type);
		if (types[i] != DAT_SUCCESS)
			ck_assert(same(words, words_of(T_ERR(types[i], 0))));
	}
	words_of((DAT_RETURN)DAT_NOT_IMPLEMENTED);
#if T_DAT_MAJOR == 1
	words_of((DAT_RETURN)0x0fff0000);
#endif
}
END_TEST

START_TEST(ERR_001_009_strerror_names_every_subtype)
{
	const DAT_RETURN last = DAT_THREAD_SAFETY_NOT_FOUND;
	struct words first = words_of(T_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA)), again;

	for (DAT_RETURN i = 1; i <= last; i++)
		ck_assert_uint_gt(strlen(words_of(T_ERR(DAT_INVALID_STATE, i)).subtype), 0);
	again = words_of(T_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
	ck_assert_ptr_eq(first.type, again.type);
	ck_assert_ptr_eq(first.subtype, again.subtype);
}
END_TEST

START_TEST(ERR_007_008_strerror_refuses_invalid_codes)
{
	static const DAT_UINT32 unknown[] = {
		0x00420000, 0x00200000, 0x80420000, 0x00050fff, 0x0005ffff, 0x80050100,
	};
	const char *type, *subtype;

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		t_bad_arg(dat_strerror((DAT_RETURN)unknown[i], &type, &subtype));
	t_bad_arg(dat_strerror(DAT_SUCCESS, NULL, &subtype));
	t_bad_arg(dat_strerror(DAT_SUCCESS, &type, NULL));
}
END_TEST

static atomic_int differences;

static void *look_up(void *arg)
{
	const struct words *expected = arg;

	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < NTYPES; i++) {
			struct words words;

			differences += dat_strerror((DAT_RETURN)types[i], &words.type,
						    &words.subtype) != DAT_SUCCESS ||
				       !same(words, expected[i]);
		}
	}
	return NULL;
}

START_TEST(ERR_011_strerror_in_several_threads)
{
	struct words expected[NTYPES];
	pthread_t threads[4];

	for (size_t i = 0; i < NTYPES; i++)
		expected[i] = words_of((DAT_RETURN)types[i]);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, look_up, expected), 0);
	for (int i = 0; i < 4; i++)
		t_join(threads[i]);
	ck_assert_int_eq(differences, 0);
}
END_TEST

/* --- numbers --- */

START_TEST(ERR_012_013_014_015_016_017_numbers_of_the_types)
{
	/* In the order of the numbers. Types that 1.2 lacks come last. */
	for (size_t i = 0; i < NTYPES; i++) {
		DAT_RETURN ret = T_ERR(types[i], DAT_RESOURCE_MEMORY);

		ck_assert_uint_eq(types[i], i << 16);
		ck_assert_uint_eq(DAT_GET_TYPE(ret), types[i]);
		ck_assert_uint_eq(DAT_GET_SUBTYPE(ret), DAT_RESOURCE_MEMORY);
		ck_assert(!DAT_IS_WARNING(ret));
	}
	ck_assert_uint_eq(DAT_CLASS_ERROR, 0x80000000u);
#if T_DAT_MAJOR == 2
	ck_assert_uint_eq(DAT_EXTENSION_BASE, 0x10000000);
#endif
}
END_TEST

START_TEST(ERR_021_035_036_numbers_of_completions_and_events)
{
	ck_assert_int_eq(DAT_DTO_SUCCESS, 0);
	ck_assert_int_eq(DAT_DTO_ERR_FLUSHED, 1);
	ck_assert_int_eq(DAT_DTO_FAILURE, DAT_DTO_ERR_FLUSHED);
	ck_assert_int_eq(DAT_RMR_BIND_FAILURE, DAT_DTO_ERR_FLUSHED);
	ck_assert_int_eq(DAT_DTO_LENGTH_ERROR, DAT_DTO_ERR_LOCAL_LENGTH);
	ck_assert_int_eq(DAT_DTO_ERR_LOCAL_LENGTH, 2);
	ck_assert_int_eq(DAT_DTO_ERR_REMOTE_ACCESS, 6);
	ck_assert_int_eq(DAT_DTO_ERR_TRANSPORT, 8);
	ck_assert_int_eq(DAT_RMR_OPERATION_FAILED, 11);
	ck_assert_int_eq(DAT_ASYNC_ERROR_EVD_OVERFLOW, 0x8001);
	ck_assert_int_eq(DAT_ASYNC_ERROR_IA_CATASTROPHIC, 0x8002);
	ck_assert_int_eq(DAT_ASYNC_ERROR_EP_BROKEN, 0x8003);
	ck_assert_int_eq(DAT_ASYNC_ERROR_TIMED_OUT, 0x8004);
	ck_assert_int_eq(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, 0x8005);
}
END_TEST

/* --- calls that are not offered --- */

START_TEST(ERR_019_calls_that_are_not_offered)
{
	struct zoo zoo;

	zoo_open(&zoo);
	for (size_t i = 0; i < zoo_ncalls; i++) {
		static const char *const optional[] = {
			"srq_create",
			"csp_create",
			"rmr_create_for_ep",
			"ep_common_connect",
			"ep_post_send_with_invalidate",
			"ep_post_rdma_read_to_rmr",
			"ep_recv_query",
			"cno_fd_create",
		};
		const struct zoo_call *call = &zoo_calls[i];
		DAT_RETURN ret;

		for (size_t j = 0; j < sizeof(optional) / sizeof(optional[0]); j++) {
			if (strcmp(call->name, optional[j]))
				continue;
			ret = call->call(&zoo, zoo.of[call->type]);
			ck_assert_msg(ret == DAT_SUCCESS ||
					      DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED ||
					      DAT_GET_TYPE(ret) == DAT_INVALID_STATE,
				      "%s answers %s", call->name, t_words(ret));
		}
	}
	zoo_close(&zoo);
}
END_TEST

/* --- completions --- */

static struct t_loop loop;

static void open_loop(void)
{
	t_ia_open(&t_tia);
	t_loop_open(&loop, &t_tia, NULL);
}

static void close_ia(void)
{
	t_ia_close(&t_tia);
}

static void breaks(int i)
{
	t_wait_conn(loop.end[i].connect_evd, DAT_CONNECTION_EVENT_BROKEN, loop.end[i].ep);
}

START_TEST(ERR_021_022_success_and_flush)
{
	t_ok(t_recv(&loop.end[1], 0, 100, 1, 0));
	t_ok(t_recv(&loop.end[1], 0, 100, 2, 0));
	t_fill(loop.end[0].buf.mem, 60, 3);
	t_ok(t_send(&loop.end[0], 0, 60, 3, 0));
	t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, 1, DAT_DTO_SUCCESS, 60);
	ck_assert(t_is_filled(loop.end[1].buf.mem, 60, 3));
	t_ok(dat_ep_disconnect(loop.end[1].ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, 2, DAT_DTO_ERR_FLUSHED, 0);
	t_wait_conn(loop.end[1].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, loop.end[1].ep);
	t_ok(t_recv(&loop.end[1], 0, 100, 4, 0));
	t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, 4, DAT_DTO_ERR_FLUSHED, 0);
}
END_TEST

/* Counts the completions of one side until all that are expected have come. */
struct outcome {
	int success, flushed, other;
	DAT_DTO_COMPLETION_STATUS culprit;
};

static struct outcome collect(DAT_EVD_HANDLE evd, int expected)
{
	struct outcome outcome = {0};

	for (int i = 0; i < expected; i++) {
		DAT_EVENT event = t_wait_for(evd, DAT_DTO_COMPLETION_EVENT);
		DAT_DTO_COMPLETION_STATUS status =
			event.event_data.dto_completion_event_data.status;

		if (status == DAT_DTO_SUCCESS)
			outcome.success++;
		else if (status == DAT_DTO_ERR_FLUSHED)
			outcome.flushed++;
		else
			outcome.other++, outcome.culprit = status;
	}
	return outcome;
}

START_TEST(ERR_023_033_034_039_message_longer_than_the_receive)
{
	struct outcome outcome;

	for (uint64_t i = 0; i < 3; i++)
		t_ok(t_recv(&loop.end[1], 0, 16, i, 0));
	for (uint64_t i = 0; i < 2; i++)
		t_ok(t_send(&loop.end[0], 0, 17, i, 0));
	outcome = collect(loop.end[1].recv_evd, 3);
	ck_assert_int_eq(outcome.other, 1);
	ck_assert_int_eq(outcome.culprit, DAT_DTO_ERR_LOCAL_LENGTH);
	ck_assert_int_eq(outcome.flushed, 2);
	breaks(1);
	outcome = collect(loop.end[0].request_evd, 2);
	ck_assert_int_le(outcome.other, 1);
	t_wait(loop.end[0].connect_evd);
	for (int i = 0; i < 2; i++)
		t_no_event(loop.end[i].connect_evd);
	t_no_event(t_tia.async_evd);
}
END_TEST

START_TEST(ERR_027_033_034_039_access_that_the_peer_refuses)
{
	struct t_end *end = &loop.end[0];
	DAT_RMR_TRIPLET good = t_remote_seg(&loop.end[1].buf, 0, 8);
	DAT_RMR_TRIPLET bad = t_remote_seg(&loop.end[1].buf, T_BUF_SIZE - 4, 8);
	struct outcome outcome;

	for (uint64_t i = 0; i < 2; i++)
		t_ok(t_recv(end, 0, 8, i, 0));
	t_ok(t_write(end, 0, 8, 1, good, 0));
	t_ok(t_write(end, 0, 8, 2, bad, 0));
	for (uint64_t i = 3; i < 6; i++)
		t_ok(t_write(end, 0, 8, i, good, 0));
	t_wait_dto(end->request_evd, end->ep, 1, DAT_DTO_SUCCESS, 8);
	t_wait_dto(end->request_evd, end->ep, 2, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	outcome = collect(end->request_evd, 3);
	ck_assert_int_eq(outcome.other, 0);
	ck_assert_int_eq(outcome.flushed, 3);
	outcome = collect(end->recv_evd, 2);
	ck_assert_int_eq(outcome.flushed, 2);
	for (int i = 0; i < 2; i++)
		breaks(i);
	for (int i = 0; i < 2; i++)
		t_no_event(loop.end[i].connect_evd);
	t_no_event(t_tia.async_evd);
}
END_TEST

/* --- asynchronous errors --- */

START_TEST(ERR_041_no_async_evd)
{
	/* An overflow, whose error event would go to the asynchronous EVD. */
	DAT_EP_PARAM param;
	struct t_ia ia = {.async_evd = DAT_EVD_ASYNC_EXISTS};
	struct t_loop silent;
	struct t_end *end = &silent.end[0];

	t_ok(dat_ia_open(t_ia_name(), 8, &ia.async_evd, &ia.ia));
	t_ok(dat_ia_query(ia.ia, NULL, DAT_IA_FIELD_ALL, &ia.attr, 0, NULL));
	t_ok(dat_pz_create(ia.ia, &ia.pz));
	t_listen(&silent.listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&silent.end[0], &ia, NULL);
	t_end_new(&silent.end[1], &ia, NULL);
	param.request_evd_handle = t_evd(&ia, 1, DAT_EVD_DTO_FLAG);
	t_ok(dat_ep_modify(end->ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param));
	t_ok(dat_evd_free(end->request_evd));
	end->request_evd = param.request_evd_handle;
	t_establish(&silent.listener, &silent.end[0], &silent.end[1]);
	for (uint64_t i = 0; i < 20; i++)
		t_ok(t_write(end, 0, 8, i, t_remote_seg(&silent.end[1].buf, 0, 8), 0));
	t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_BROKEN, end->ep);
	t_loop_close(&silent);
	t_ia_close_empty(&ia);
}
END_TEST

Suite *conform_errors(void)
{
	Suite *suite = suite_create("errors");
	TCase *tc = tcase_create("codes");

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, ERR_001_002_003_004_005_006_010_strerror_names_every_type);
	tcase_add_test(tc, ERR_001_009_strerror_names_every_subtype);
	tcase_add_test(tc, ERR_007_008_strerror_refuses_invalid_codes);
	tcase_add_test(tc, ERR_011_strerror_in_several_threads);
	tcase_add_test(tc, ERR_012_013_014_015_016_017_numbers_of_the_types);
	tcase_add_test(tc, ERR_021_035_036_numbers_of_completions_and_events);
	tcase_add_test(tc, ERR_019_calls_that_are_not_offered);

	tc = tcase_create("completions");
	tcase_add_checked_fixture(tc, open_loop, close_ia);
	suite_add_tcase(suite, tc);
	tcase_add_test(tc, ERR_021_022_success_and_flush);
	tcase_add_test(tc, ERR_023_033_034_039_message_longer_than_the_receive);
	tcase_add_test(tc, ERR_027_033_034_039_access_that_the_peer_refuses);
	tcase_add_test(tc, ERR_041_no_async_evd);
	return suite;
}
