/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared receive queues: one side sends over several connections, the other side receives from one
 * queue.
 */
#include "conform.h"

#include <string.h>

#define ENDS  3
#define DEPTH 16
#define ROOM  ((size_t)1024) /* of a buffer; buffer i lies at i * ROOM */

/* end[0] of an index sends, end[1] has the SRQ. */
static struct t_ia ia[2];
static struct t_listener listener;
static struct t_end sender[ENDS], taker[ENDS];
static DAT_SRQ_HANDLE srq;
static struct t_buf pool;

static DAT_SRQ_HANDLE new_srq(DAT_COUNT depth, DAT_COUNT iov, DAT_COUNT mark)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = depth, .max_recv_iov = iov, .low_watermark = mark};
	DAT_SRQ_HANDLE handle;

	t_ok(dat_srq_create(ia[1].ia, ia[1].pz, &attr, &handle));
	return handle;
}

static DAT_EP_HANDLE new_srq_ep(struct t_end *end, DAT_PZ_HANDLE pz, const DAT_EP_ATTR *wanted)
{
	DAT_EP_ATTR attr = t_default_attr(&ia[1]);
	DAT_EP_HANDLE ep;

	attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	if (wanted)
		attr = *wanted;
	t_ok(dat_ep_create_with_srq(ia[1].ia, pz, end->recv_evd, end->request_evd, end->connect_evd,
				    srq, &attr, &ep));
	return ep;
}

/* As t_end_new(), but with receives from the SRQ. */
static void taker_new(struct t_end *end)
{
	t_end_new(end, &ia[1], NULL);
	t_ok(dat_ep_free(end->ep));
	end->ep = new_srq_ep(end, ia[1].pz, NULL);
}

static void open_all(void)
{
	t_ia_open(&ia[0]);
	t_ia_open(&ia[1]);
	t_listen(&listener, &ia[1], DAT_PSP_CONSUMER_FLAG);
	srq = new_srq(DEPTH, 2, DAT_SRQ_LW_DEFAULT);
	t_buf_new(&pool, ia[1].ia, ia[1].pz, DEPTH * 2 * ROOM, DAT_MEM_PRIV_ALL_FLAG);
	for (int i = 0; i < ENDS; i++) {
		t_end_new(&sender[i], &ia[0], NULL);
		taker_new(&taker[i]);
		t_establish(&listener, &sender[i], &taker[i]);
	}
}

static void close_all(void)
{
	t_ia_close(&ia[0]);
	t_ia_close(&ia[1]);
}

static DAT_RETURN post_at(DAT_SRQ_HANDLE to, size_t buffer, size_t size)
{
	DAT_LMR_TRIPLET segment = t_seg(&pool, buffer * ROOM, size);

	return dat_srq_post_recv(to, 1, &segment, (DAT_DTO_COOKIE){.as_64 = buffer});
}

static void post(size_t buffer)
{
	t_ok(post_at(srq, buffer, ROOM));
}

static DAT_SRQ_PARAM ask(DAT_SRQ_HANDLE handle)
{
	DAT_SRQ_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	t_ok(dat_srq_query(handle, DAT_SRQ_FIELD_ALL, &param));
	return param;
}

static void expect_counts(DAT_COUNT size, DAT_COUNT available, DAT_COUNT outstanding)
{
	DAT_SRQ_PARAM param = ask(srq);

	ck_assert_int_eq(param.max_recv_dtos, size);
	ck_assert_int_eq(param.available_dto_count, available);
	ck_assert_int_eq(param.outstanding_dto_count, outstanding);
}

static void send_from(int end, size_t length, uint64_t cookie)
{
	t_ok(t_send(&sender[end], 0, length, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(sender[end].request_evd, sender[end].ep, cookie, DAT_DTO_SUCCESS, length);
}

/* Waits for the next completion of the EP and returns the number of its buffer. */
static size_t taken_by(const struct t_end *end, size_t length)
{
	DAT_EVENT event = t_wait_for(end->recv_evd, DAT_DTO_COMPLETION_EVENT);
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	ck_assert_ptr_eq(dto->ep_handle, end->ep);
	ck_assert_int_eq(dto->status, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(dto->transfered_length, length);
	ck_assert_uint_lt(dto->user_cookie.as_64, DEPTH * 2);
	return (size_t)dto->user_cookie.as_64;
}

static size_t taken(int end, size_t length)
{
	return taken_by(&taker[end], length);
}

static void expect_async(DAT_HANDLE handle, DAT_COUNT reason)
{
	DAT_EVENT event = t_wait(ia[1].async_evd);

	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, handle);
	ck_assert_int_eq(event.event_data.asynch_error_event_data.reason, reason);
}

/* --- life --- */

START_TEST(SRQ_001_002_003_004_028_034_037_new_srq_is_empty_and_has_its_size)
{
	DAT_SRQ_HANDLE handle = new_srq(10, 2, DAT_SRQ_LW_DEFAULT);
	DAT_SRQ_PARAM param = ask(handle);
	DAT_LMR_TRIPLET iov[64];

	ck_assert_ptr_eq(param.ia_handle, ia[1].ia);
	ck_assert_ptr_eq(param.pz_handle, ia[1].pz);
	ck_assert_int_eq(param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	ck_assert_int_ge(param.max_recv_dtos, 10);
	ck_assert_int_ge(param.max_recv_iov, 2);
	ck_assert_int_le(param.max_recv_iov, 64);
	ck_assert_int_eq(param.low_watermark, DAT_SRQ_LW_DEFAULT);
	ck_assert_int_eq(param.available_dto_count, 0);
	ck_assert_int_eq(param.outstanding_dto_count, 0);
	for (DAT_COUNT n = 0; n < param.max_recv_iov; n++)
		iov[n] = t_seg(&pool, (size_t)n * 8, 8);
	for (DAT_COUNT i = 0; i < param.max_recv_dtos; i++)
		t_ok(dat_srq_post_recv(handle, param.max_recv_iov, iov, (DAT_DTO_COOKIE){0}));
	t_out_of(dat_srq_post_recv(handle, param.max_recv_iov, iov, (DAT_DTO_COOKIE){0}), SRQ);
	t_no_event(ia[1].async_evd);
	t_ok(dat_srq_free(handle));
}
END_TEST

START_TEST(SRQ_007_008_009_010_011_014_bad_arguments)
{
	DAT_SRQ_ATTR good = {.max_recv_dtos = 4, .max_recv_iov = 1}, bad;
	DAT_SRQ_HANDLE handle;
	DAT_PZ_HANDLE pz;

	t_bad_handle_of(dat_srq_create(ia[1].pz, ia[1].pz, &good, &handle), IA);
	t_bad_handle_of(dat_srq_create(DAT_HANDLE_NULL, ia[1].pz, &good, &handle), IA);
	t_bad_handle_of(dat_srq_create(ia[1].ia, ia[1].async_evd, &good, &handle), PZ);
	t_bad_handle_of(dat_srq_create(ia[1].ia, DAT_HANDLE_NULL, &good, &handle), PZ);
	t_ok(dat_pz_create(ia[1].ia, &pz));
	t_ok(dat_pz_free(pz));
	t_bad_handle_of(dat_srq_create(ia[1].ia, pz, &good, &handle), PZ);
	t_bad_arg(dat_srq_create(ia[1].ia, ia[1].pz, NULL, &handle));
	t_bad_arg(dat_srq_create(ia[1].ia, ia[1].pz, &good, NULL));
	bad = good, bad.max_recv_dtos = 0;
	t_bad_arg(dat_srq_create(ia[1].ia, ia[1].pz, &bad, &handle));
	bad = good, bad.max_recv_iov = 0;
	t_bad_arg(dat_srq_create(ia[1].ia, ia[1].pz, &bad, &handle));
	bad = good, bad.low_watermark = 5;
	t_bad_arg(dat_srq_create(ia[1].ia, ia[1].pz, &bad, &handle));
	bad = good, bad.low_watermark = -1;
	t_bad_arg(dat_srq_create(ia[1].ia, ia[1].pz, &bad, &handle));
	bad = good, bad.max_recv_dtos = ia[1].attr.max_recv_per_srq + 1;
	t_error2(dat_srq_create(ia[1].ia, ia[1].pz, &bad, &handle), DAT_INVALID_PARAMETER,
		 DAT_INSUFFICIENT_RESOURCES);
	bad = good, bad.max_recv_iov = ia[1].attr.max_iov_segments_per_dto + 1;
	t_error2(dat_srq_create(ia[1].ia, ia[1].pz, &bad, &handle), DAT_INVALID_PARAMETER,
		 DAT_INSUFFICIENT_RESOURCES);
}
END_TEST

START_TEST(SRQ_017_023_025_026_srq_is_freed_with_its_buffers_after_its_EPs)
{
	DAT_PZ_HANDLE pz;
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_SRQ_HANDLE handle;

	/* PZ-007 */
	t_ok(dat_pz_create(ia[1].ia, &pz));
	t_ok(dat_srq_create(ia[1].ia, pz, &attr, &handle));
	t_bad_state(dat_pz_free(pz));
	t_ok(dat_srq_free(handle));
	t_ok(dat_pz_free(pz));
	t_error_sub(dat_srq_free(handle), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	for (size_t i = 0; i < 4; i++)
		post(i);
	for (int i = 0; i < ENDS; i++) {
		t_error_sub(dat_srq_free(srq), DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
		t_ok(dat_ep_free(taker[i].ep));
		t_no_event(taker[i].recv_evd);
	}
	t_ok(dat_srq_free(srq));
	t_buf_free(&pool);
}
END_TEST

static void exchange(const struct t_end *from, const struct t_end *to)
{
	for (uint64_t i = 0; i < DEPTH; i++)
		t_ok(t_recv(to, 0, 8, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < DEPTH; i++) {
		t_ok(t_send(from, 0, 8, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(from->request_evd, from->ep, i, DAT_DTO_SUCCESS, 8);
		t_wait_dto(to->recv_evd, to->ep, i, DAT_DTO_SUCCESS, 8);
	}
}

/* tcp returns the buffers with the tags of messages that have come before. */
START_TEST(SRQ_023_buffers_come_back_and_connections_stay)
{
	struct t_end from, to;
	DAT_SRQ_HANDLE other;

	t_end_new(&from, &ia[0], NULL);
	t_end_new(&to, &ia[1], NULL);
	t_establish(&listener, &from, &to);
	exchange(&from, &to);
	other = new_srq(DEPTH, 1, DAT_SRQ_LW_DEFAULT);
	for (size_t i = 0; i < DEPTH; i++)
		t_ok(post_at(other, i, ROOM));
	t_ok(dat_srq_free(other));
	exchange(&from, &to);
	t_no_event(to.connect_evd);
}
END_TEST

START_TEST(SRQ_013_016_as_many_srqs_as_the_attributes_say)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 1, .max_recv_iov = 1};
	DAT_COUNT max = ia[1].attr.max_srqs, n = 1; /* there is one */
	DAT_SRQ_HANDLE *handles = calloc((size_t)max, sizeof(DAT_SRQ_HANDLE));

	for (; n < max; n++)
		t_ok(dat_srq_create(ia[1].ia, ia[1].pz, &attr, &handles[n]));
	t_error_sub(dat_srq_create(ia[1].ia, ia[1].pz, &attr, &handles[0]),
		    DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	while (--n)
		t_ok(dat_srq_free(handles[n]));
	free(handles);
}
END_TEST

START_TEST(SRQ_029_030_031_033_counts)
{
	post(0), post(1), post(2);
	expect_counts(DEPTH, 3, 3);
	send_from(0, 64, 7);
	t_until(ask(srq).available_dto_count == 2);
	expect_counts(DEPTH, 2, 3);
	taken(0, 64);
	expect_counts(DEPTH, 2, 2);
}
END_TEST

START_TEST(SRQ_035_036_query_arguments)
{
	DAT_SRQ_PARAM param;

	t_ok(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)0x4000, &param));
	ck_assert_int_eq(param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	t_error_sub(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG3);
	t_ok(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)0, NULL));
	t_error_sub(dat_srq_query(ia[1].pz, DAT_SRQ_FIELD_ALL, &param), DAT_INVALID_HANDLE,
		    DAT_INVALID_HANDLE_SRQ);
}
END_TEST

/* --- size --- */

START_TEST(SRQ_038_039_040_041_042_045_resize)
{
	for (size_t i = 0; i < DEPTH; i++)
		post(i);
	t_bad_state_of(dat_srq_resize(srq, DEPTH - 1), SRQ_IN_USE);
	t_ok(dat_srq_resize(srq, DEPTH * 2));
	ck_assert_int_ge(ask(srq).max_recv_dtos, DEPTH * 2);
	for (size_t i = DEPTH; i < DEPTH * 2; i++)
		post(i);
	t_error(post_at(srq, 0, ROOM), DAT_INSUFFICIENT_RESOURCES);
	for (size_t i = 0; i < DEPTH * 2; i++) {
		send_from((int)(i % ENDS), 32, i);
		taken((int)(i % ENDS), 32);
	}
	t_ok(dat_srq_set_lw(srq, 8));
	expect_async(srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	t_bad_state_of(dat_srq_resize(srq, 7), SRQ_IN_USE);
	t_ok(dat_srq_resize(srq, 8));
	t_bad_arg(dat_srq_resize(srq, 0));
	t_bad_arg(dat_srq_resize(srq, -1));
	t_bad_arg(dat_srq_resize(srq, ia[1].attr.max_recv_per_srq + 1));
	t_error_sub(dat_srq_resize(taker[0].ep, 8), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	expect_counts(ask(srq).max_recv_dtos, 0, 0);
}
END_TEST

START_TEST(SRQ_003_042_shrunk_srq_accepts_as_many_buffers_as_it_reports)
{
	t_ok(dat_srq_resize(srq, 4));
	ck_assert_int_eq(ask(srq).max_recv_dtos, 4);
	for (size_t i = 0; i < 4; i++)
		post(i);
	t_out_of(post_at(srq, 4, ROOM), SRQ);
	expect_counts(4, 4, 4);
	/* One event makes room for one buffer, when the consumer takes it (DTO-155). */
	send_from(0, 8, 0);
	t_until(ask(srq).available_dto_count == 3);
	t_out_of(post_at(srq, 4, ROOM), SRQ);
	taken(0, 8);
	post(4);
	t_out_of(post_at(srq, 5, ROOM), SRQ);
}
END_TEST

START_TEST(SRQ_044_resize_without_memory_changes_nothing)
{
	DAT_SRQ_PARAM before, after;

	post(0);
	before = ask(srq);
	if (!t_limit_memory(1 << 18))
		t_skip("a sanitizer needs address space without limit");
	t_out_of(dat_srq_resize(srq, ia[1].attr.max_recv_per_srq), SRQ);
	t_unlimit_memory();
	after = ask(srq);
	ck_assert_mem_eq(&before, &after, sizeof(before));
	send_from(0, 8, 0);
	ck_assert_uint_eq(taken(0, 8), 0);
}
END_TEST

START_TEST(SRQ_043_resize_during_traffic_loses_nothing)
{
	size_t seen[DEPTH * 2] = {0};
	size_t sum = 0;

	for (size_t i = 0; i < 8; i++)
		post(i);
	for (unsigned int round = 0; round < 200; round++) {
		int end = (int)(round % ENDS);
		size_t buffer;

		t_ok(t_send(&sender[end], 0, 16, round, DAT_COMPLETION_SUPPRESS_FLAG));
		t_ok(dat_srq_resize(srq, round % 2 ? DEPTH * 2 : DEPTH));
		buffer = taken(end, 16);
		seen[buffer]++;
		post(buffer);
	}
	for (size_t i = 0; i < DEPTH * 2; i++)
		sum += seen[i];
	ck_assert_uint_eq(sum, 200);
	t_until(ask(srq).available_dto_count == 8);
	expect_counts(ask(srq).max_recv_dtos, 8, 8);
}
END_TEST

/* --- low watermark --- */

START_TEST(SRQ_005_watermark_of_the_attributes_announces_the_empty_queue)
{
	DAT_SRQ_HANDLE handle = new_srq(4, 1, 2);

	expect_async(handle, DAT_SRQ_LOW_WATERMARK_EVENT);
	ck_assert_int_eq(ask(handle).low_watermark, 2);
	t_ok(dat_srq_free(handle));
}
END_TEST

START_TEST(SRQ_046_047_049_055_056_057_one_event_each_time_the_watermark_is_set)
{
	for (size_t i = 0; i < 4; i++)
		post(i);
	t_ok(dat_srq_set_lw(srq, 3));
	t_no_event(ia[1].async_evd);
	send_from(0, 8, 0);
	taken(0, 8);
	t_no_event(ia[1].async_evd); /* 3 left: not below */
	send_from(1, 8, 0);
	taken(1, 8);
	expect_async(srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	post(4), post(5), post(6);
	for (int i = 0; i < 4; i++) {
		send_from(2, 8, 0);
		taken(2, 8);
	}
	t_stays_quiet(ia[1].async_evd); /* the watermark was not set again */
	ck_assert_int_eq(t_ep_state(taker[2].ep), DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(SRQ_048_050_051_053_054_set_lw)
{
	t_ok(dat_srq_set_lw(srq, 1));
	expect_async(srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	post(0), post(1);
	t_ok(dat_srq_set_lw(srq, 2));
	ck_assert_int_eq(ask(srq).low_watermark, 2);
	t_ok(dat_srq_set_lw(srq, DAT_SRQ_LW_DEFAULT));
	ck_assert_int_eq(ask(srq).low_watermark, DAT_SRQ_LW_DEFAULT);
	send_from(0, 8, 0);
	taken(0, 8);
	t_stays_quiet(ia[1].async_evd);
	t_bad_arg(dat_srq_set_lw(srq, -1));
	t_bad_arg(dat_srq_set_lw(srq, DEPTH + 1));
	t_error_sub(dat_srq_set_lw(ia[1].pz, 1), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
}
END_TEST

START_TEST(SRQ_052_attributes_tell_which_features_exist)
{
	/* IA-051 */
	ck_assert(ia[1].provider.srq_supported);
	ck_assert(ia[1].provider.srq_watermarks_supported);
	ck_assert(ia[1].provider.srq_ep_pz_difference_supported);
	ck_assert(ia[1].provider.srq_info_supported);
	ck_assert_int_eq(ia[1].provider.ep_recv_info_supported, 3); /* so no test covers EP-180 */
	ck_assert_int_gt(ia[1].attr.max_srqs, 0);
	ck_assert_int_ge(ia[1].attr.max_ep_per_srq, ENDS);
	ck_assert_int_ge(ia[1].attr.max_recv_per_srq, DEPTH);
}
END_TEST

/* --- receives --- */

START_TEST(DTO_133_136_157_completions_name_the_EP_that_took_the_buffer)
{
	/* SRQ-019: each EP has a receive EVD of its own */
	size_t buffer;

	for (size_t i = 0; i < ENDS; i++)
		post(i);
	for (int i = ENDS - 1; i >= 0; i--) {
		t_fill(sender[i].buf.mem, 100 + (size_t)i, (unsigned int)i);
		send_from(i, 100 + (size_t)i, 0);
		buffer = taken(i, 100 + (size_t)i);
		ck_assert(t_is_filled(pool.mem + buffer * ROOM, 100 + (size_t)i, (unsigned int)i));
	}
}
END_TEST

START_TEST(DTO_134_155_161_each_buffer_is_used_exactly_once)
{
	unsigned int in_use[DEPTH] = {0};

	for (size_t i = 0; i < DEPTH; i++)
		post(i);
	t_error(post_at(srq, 0, ROOM), DAT_INSUFFICIENT_RESOURCES);
	for (int round = 0; round < 60; round++) {
		for (int i = 0; i < ENDS; i++) {
			memcpy(sender[i].buf.mem, &(uint32_t){(uint32_t)(round * ENDS + i)}, 4);
			send_from(i, 4, 0);
		}
		for (int i = 0; i < ENDS; i++) {
			size_t buffer = taken(i, 4);
			uint32_t what;

			ck_assert_uint_lt(buffer, DEPTH);
			ck_assert_uint_eq(in_use[buffer]++, 0);
			memcpy(&what, pool.mem + buffer * ROOM, 4);
			ck_assert_uint_eq(what, (uint32_t)(round * ENDS + i)); /* DTO-140 */
			in_use[buffer] = 0;
			post(buffer);
		}
	}
}
END_TEST

START_TEST(DTO_147_a_message_waits_for_a_buffer)
{
	/* SRQ-021 */
	t_ok(t_send(&sender[0], 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_stays_quiet(taker[0].recv_evd);
	post(3);
	ck_assert_uint_eq(taken(0, 8), 3);
	t_wait_dto(sender[0].request_evd, sender[0].ep, 1, DAT_DTO_SUCCESS, 8);
}
END_TEST

START_TEST(DTO_149_150_segments_and_messages_of_size_0)
{
	DAT_LMR_TRIPLET iov[2] = {t_seg(&pool, 0, 10), t_seg(&pool, ROOM, 20)};

	t_ok(dat_srq_post_recv(srq, 2, iov, (DAT_DTO_COOKIE){.as_64 = 1}));
	t_fill(sender[0].buf.mem, 25, 5);
	send_from(0, 25, 0);
	ck_assert_uint_eq(taken(0, 25), 1);
	ck_assert_mem_eq(pool.mem, sender[0].buf.mem, 10);
	ck_assert_mem_eq(pool.mem + ROOM, sender[0].buf.mem + 10, 15);
	t_ok(dat_srq_post_recv(srq, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 2}));
	t_ok(dat_ep_post_send(sender[1].ep, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 9},
			      DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(sender[1].request_evd, sender[1].ep, 9, DAT_DTO_SUCCESS, 0);
	ck_assert_uint_eq(taken(1, 0), 2);
	post(4);
	t_ok(dat_ep_post_send(sender[1].ep, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 9},
			      DAT_COMPLETION_DEFAULT_FLAG));
	ck_assert_uint_eq(taken(1, 0), 4);
}
END_TEST

#define PIECE 10

/* The message ends in the middle of the last segment. */
START_TEST(DTO_149_as_many_segments_as_the_ia_reports)
{
	const DAT_COUNT most = ia[1].attr.max_iov_segments_per_dto, n = most < 64 ? most : 64;
	const size_t gap = ROOM / 2, length = (size_t)n * PIECE - PIECE / 2;
	DAT_LMR_TRIPLET iov[64];
	struct t_end from, to;

	srq = new_srq(DEPTH, n, DAT_SRQ_LW_DEFAULT);
	t_end_new(&from, &ia[0], NULL);
	taker_new(&to);
	t_establish(&listener, &from, &to);
	for (DAT_COUNT i = 0; i < n; i++)
		iov[i] = t_seg(&pool, (size_t)i * gap, PIECE);
	memset(pool.mem, 0, DEPTH * 2 * ROOM);
	t_fill(from.buf.mem, (size_t)n * PIECE, 5);
	t_ok(dat_srq_post_recv(srq, n, iov, (DAT_DTO_COOKIE){.as_64 = 1}));
	t_ok(t_send(&from, 0, length, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ck_assert_uint_eq(taken_by(&to, length), 1);
	for (DAT_COUNT i = 0; i < n; i++)
		ck_assert_mem_eq(pool.mem + i * gap, from.buf.mem + i * PIECE,
				 i < n - 1 ? PIECE : PIECE / 2);
	ck_assert_uint_eq((uint8_t)pool.mem[(n - 1) * gap + PIECE / 2], 0);
}
END_TEST

/* DTO-006: all segments are valid, so only their number is wrong. */
static void too_many_segments(void)
{
	DAT_COUNT max = ask(srq).max_recv_iov;
	DAT_LMR_TRIPLET *iov = calloc((size_t)max + 1, sizeof(*iov));

	ck_assert_ptr_nonnull(iov);
	for (DAT_COUNT n = 0; n <= max; n++)
		iov[n] = t_seg(&pool, (size_t)n, 1);
	t_bad_arg(dat_srq_post_recv(srq, max + 1, iov, (DAT_DTO_COOKIE){0}));
	t_bad_arg(dat_srq_post_recv(srq, -1, iov, (DAT_DTO_COOKIE){0}));
	expect_counts(DEPTH, 0, 0);
	free(iov);
}

START_TEST(DTO_151_152_153_154_post_arguments)
{
	/* DTO-006 */
	struct t_buf read_only;
	DAT_LMR_TRIPLET segment;
	DAT_PZ_HANDLE pz;
	struct t_buf other;

	t_buf_new(&read_only, ia[1].ia, ia[1].pz, 64, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	segment = t_seg(&read_only, 0, 64);
	t_error(dat_srq_post_recv(srq, 1, &segment, (DAT_DTO_COOKIE){0}), DAT_PRIVILEGES_VIOLATION);
	t_ok(dat_pz_create(ia[1].ia, &pz));
	t_buf_new(&other, ia[1].ia, pz, 64, DAT_MEM_PRIV_ALL_FLAG);
	segment = t_seg(&other, 0, 64);
	t_error(dat_srq_post_recv(srq, 1, &segment, (DAT_DTO_COOKIE){0}), DAT_PROTECTION_VIOLATION);
	segment = t_seg(&pool, DEPTH * 2 * ROOM - 8, 16);
	t_bad_arg(dat_srq_post_recv(srq, 1, &segment, (DAT_DTO_COOKIE){0}));
	too_many_segments();
	t_bad_arg(dat_srq_post_recv(srq, 1, NULL, (DAT_DTO_COOKIE){0}));
	t_error_sub(dat_srq_post_recv(ia[1].pz, 0, NULL, (DAT_DTO_COOKIE){0}), DAT_INVALID_HANDLE,
		    DAT_INVALID_HANDLE_SRQ);
	t_buf_free(&other);
	t_buf_free(&read_only);
	t_ok(dat_pz_free(pz));
	expect_counts(DEPTH, 0, 0);
}
END_TEST

START_TEST(SRQ_006_018_EPs_of_another_PZ_use_the_queue)
{
	DAT_PZ_HANDLE pz;
	struct t_end from, to;

	t_ok(dat_pz_create(ia[1].ia, &pz));
	t_end_new(&from, &ia[0], NULL);
	t_end_new(&to, &ia[1], NULL);
	t_ok(dat_ep_free(to.ep));
	to.ep = new_srq_ep(&to, pz, NULL);
	t_establish(&listener, &from, &to);
	post(0);
	t_ok(t_send(&from, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(to.recv_evd, to.ep, 0, DAT_DTO_SUCCESS, 8);
}
END_TEST

/* --- the end of a connection --- */

static void over(int end, DAT_EVENT_NUMBER number)
{
	t_wait_conn(taker[end].connect_evd, number, taker[end].ep);
	t_wait_conn(sender[end].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, sender[end].ep);
}

START_TEST(DTO_145_146_buffers_survive_the_connection)
{
	post(0), post(1);
	t_ok(dat_ep_disconnect(taker[0].ep, DAT_CLOSE_ABRUPT_FLAG));
	over(0, DAT_CONNECTION_EVENT_DISCONNECTED);
	t_stays_quiet(taker[0].recv_evd);
	expect_counts(DEPTH, 2, 2);
	send_from(1, 8, 0);
	taken(1, 8);
	t_ok(dat_ep_reset(taker[0].ep));
	t_ok(dat_ep_reset(sender[0].ep));
	t_establish(&listener, &sender[0], &taker[0]);
	send_from(0, 8, 0);
	taken(0, 8);
	expect_counts(DEPTH, 0, 0);
}
END_TEST

START_TEST(DTO_144_completions_of_taken_buffers_come_before_the_end)
{
	const size_t big = T_BUF_SIZE;
	struct t_buf large;
	DAT_LMR_TRIPLET segment;
	DAT_EVENT event;

	/* Completed receives keep their status, though their events are dequeued after the end. */
	post(0), post(1);
	send_from(0, 8, 0);
	send_from(0, 16, 0);
	t_until(ask(srq).available_dto_count == 0);
	/*
	 * The end interrupts a large message at any point: its buffer completes once, or stays in
	 * the queue.
	 */
	t_buf_new(&large, ia[1].ia, ia[1].pz, big, DAT_MEM_PRIV_ALL_FLAG);
	segment = t_seg(&large, 0, big);
	t_ok(dat_srq_post_recv(srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 5}));
	t_ok(t_send(&sender[0], 0, big, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_ep_disconnect(sender[0].ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_conn(taker[0].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, taker[0].ep);
	ck_assert_uint_eq(taken(0, 8), 0);
	ck_assert_uint_eq(taken(0, 16), 1);
	if (ask(srq).available_dto_count == 0) {
		event = t_wait_for(taker[0].recv_evd, DAT_DTO_COMPLETION_EVENT);
		ck_assert(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS ||
			  event.event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED);
		ck_assert_ptr_eq(event.event_data.dto_completion_event_data.ep_handle, taker[0].ep);
		ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 5);
		expect_counts(DEPTH, 0, 0);
	}
	t_no_event(taker[0].recv_evd);
}
END_TEST

/* net of libfabric 1.17 ends the stream to the peer, and test/fabric above it does not tell. */
static bool core_ends_streams(void)
{
	const char *core = getenv("FI_SHAM_CORE");

	return core && !strcmp(core, "net");
}

/*
 * On some fabrics such a message breaks all connections with the peer. An attribute tells that. The
 * connections with other peers continue.
 */
START_TEST(DTO_148_a_message_that_does_not_fit_breaks_its_connection_alone)
{
	bool shared = !strcmp(t_named(&ia[1].provider, DAT_OFI_ATTR_TRUNCATED_MESSAGE), "PEER");
	struct t_end other_sender, other_taker;
	struct t_ia other;

	t_ia_open(&other);
	t_end_new(&other_sender, &other, NULL);
	taker_new(&other_taker);
	t_establish(&listener, &other_sender, &other_taker);
	t_ok(post_at(srq, 0, 16));
	t_ok(t_send(&sender[1], 0, 17, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(taker[1].recv_evd, taker[1].ep, 0, DAT_DTO_LENGTH_ERROR, 0);
	t_wait_conn(taker[1].connect_evd, DAT_CONNECTION_EVENT_BROKEN, taker[1].ep);
	expect_counts(DEPTH, 0, 0);
	post(1);
	if (shared) {
		t_wait_conn(taker[0].connect_evd, DAT_CONNECTION_EVENT_BROKEN, taker[0].ep);
	} else if (!core_ends_streams()) {
		send_from(0, 8, 0);
		taken(0, 8);
		post(1);
	}
	t_ok(t_send(&other_sender, 0, 8, 0, DAT_COMPLETION_DEFAULT_FLAG));
	taken_by(&other_taker, 8);
	t_ia_close(&other);
}
END_TEST

START_TEST(DTO_160_counts_are_right_after_an_EP_is_freed)
{
	post(0), post(1);
	send_from(0, 8, 0);
	t_until(ask(srq).available_dto_count == 1);
	t_ok(dat_ep_free(taker[0].ep));
	taken(0, 8);
	t_until(ask(srq).outstanding_dto_count == 1);
	send_from(1, 8, 0);
	taken(1, 8);
	expect_counts(DEPTH, 0, 0);
}
END_TEST

START_TEST(EP_163_167_175_recv_query_counts_what_the_EP_holds)
{
	DAT_COUNT count = 7, span = 7;
	DAT_BOOLEAN idle = DAT_FALSE;

	post(0), post(1);
	t_ok(dat_ep_recv_query(taker[0].ep, &count, &span));
	ck_assert_int_eq(count, 0);
	ck_assert_int_eq(span, 0);
	t_ok(dat_ep_get_status(taker[0].ep, NULL, &idle, NULL));
	ck_assert(idle);
	send_from(0, 8, 0);
	taken(0, 8);
	t_ok(dat_ep_recv_query(taker[0].ep, &count, &span));
	ck_assert_int_eq(count, 0);
	ck_assert_int_eq(span, 0);
}
END_TEST

START_TEST(EPS_031_032_posts_in_every_state)
{
	/* DTO-090 */
	DAT_LMR_TRIPLET segment = t_seg(&pool, 0, 8);

	for (int i = 0; i < 3; i++) {
		t_error_sub(dat_ep_post_recv(taker[0].ep, 1, &segment, (DAT_DTO_COOKIE){0},
					     DAT_COMPLETION_DEFAULT_FLAG),
			    DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
		post((size_t)i);
		if (i == 0) {
			t_ok(dat_ep_disconnect(taker[0].ep, DAT_CLOSE_ABRUPT_FLAG));
			over(0, DAT_CONNECTION_EVENT_DISCONNECTED);
		} else if (i == 1) {
			t_ok(dat_ep_reset(taker[0].ep));
		}
	}
	expect_counts(DEPTH, 3, 3);
	t_no_event(taker[0].recv_evd);
}
END_TEST

/* --- which connection takes a buffer, and when --- */

static void connect_taker(bool taker_dials)
{
	struct t_end *dials = taker_dials ? &taker[0] : &sender[0];
	struct t_end *accepts = taker_dials ? &sender[0] : &taker[0];
	struct t_listener own;
	DAT_CR_HANDLE cr;

	t_listen(&own, accepts->on, DAT_PSP_CONSUMER_FLAG);
	t_ok(t_connect(dials->ep, &own));
	cr = t_next_cr(&own);
	expect_counts(DEPTH, 2, 2);
	t_ok(t_cr_accept(cr, accepts->ep));
	t_listener_free(&own);
}

static void end_and_reset(struct t_end *leaver)
{
	t_ok(dat_ep_disconnect(leaver->ep, DAT_CLOSE_ABRUPT_FLAG));
	over(0, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_counts(DEPTH, 2, 2);
	t_ok(dat_ep_reset(sender[0].ep));
	t_ok(dat_ep_reset(taker[0].ep));
}

START_TEST(DTO_143_buffers_are_used_only_while_connected)
{
	/*
	 * TRN-031: the message may overtake the credit update of the connection. This happens most
	 * often on new connections.
	 */
	DAT_EVENT event;

	post(0), post(1);
	end_and_reset(&sender[0]);
	for (int round = 0; round < 4; round++) {
		connect_taker(round % 2);
		t_wait_conn(sender[0].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, sender[0].ep);
		t_ok(t_send(&sender[0], 0, 8, 1, DAT_COMPLETION_SUPPRESS_FLAG));
		post(taken(0, 8));
		ck_assert_int_eq(t_ep_state(taker[0].ep), DAT_EP_STATE_CONNECTED);
		t_ok(dat_evd_dequeue(taker[0].connect_evd, &event));
		ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
		end_and_reset(round % 3 ? &taker[0] : &sender[0]);
		t_no_event(taker[0].recv_evd);
	}
	t_stays_quiet(taker[0].recv_evd);
}
END_TEST

START_TEST(DTO_143_while_a_disconnect_is_pending)
{
	post(0), post(1);
	t_ok(t_send(&taker[0], 0, 64, 7,
		    DAT_COMPLETION_DEFAULT_FLAG)); /* the peer has posted no receive yet */
	t_ok(dat_ep_disconnect(taker[0].ep, DAT_CLOSE_GRACEFUL_FLAG));
	send_from(0, 8, 1);
	taken(0, 8);
	ck_assert_int_eq(t_ep_state(taker[0].ep), DAT_EP_STATE_DISCONNECT_PENDING);
	t_ok(t_recv(&sender[0], 0, 64, 9, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(sender[0].recv_evd, sender[0].ep, 9, DAT_DTO_SUCCESS, 64);
	t_wait_dto(taker[0].request_evd, taker[0].ep, 7, DAT_DTO_SUCCESS, 64);
	over(0, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_counts(DEPTH, 1, 1);
}
END_TEST

static DAT_COUNT held(const struct t_end *end)
{
	DAT_COUNT count = -7, span = -7;

	t_ok(dat_ep_recv_query(end->ep, &count, &span));
	ck_assert_int_ge(count, 0);
	ck_assert_int_ge(span, count); /* EP-168, EP-173 */
	ck_assert(count || !span);     /* EP-175 */
	return count;
}

START_TEST(EP_168_172_messages_without_a_buffer_keep_the_later_ones_waiting)
{
	/* EP-169; EP-171: the messages may or may not have their buffers by then */
	for (unsigned int i = 0; i < 4; i++) {
		sender[0].buf.mem[i] = (unsigned char)(i + 1);
		t_ok(t_send(&sender[0], i, 1, i, DAT_COMPLETION_SUPPRESS_FLAG));
	}
	for (unsigned int i = 0; i < 4; i++) {
		t_stays_quiet(taker[0].recv_evd);
		ck_assert_int_eq(held(&taker[0]), 0);
		post(i);
		ck_assert_int_le(held(&taker[0]), 1);
		ck_assert_uint_eq(taken(0, 1), i);
		ck_assert_uint_eq(pool.mem[i * ROOM], i + 1);
	}
	t_stays_quiet(taker[0].recv_evd);
}
END_TEST

/* Buffers for messages of T_BUF_SIZE. */
static void post_large(struct t_buf *large, DAT_COUNT n)
{
	t_buf_new(large, ia[1].ia, ia[1].pz, (size_t)n * T_BUF_SIZE, DAT_MEM_PRIV_ALL_FLAG);
	for (DAT_COUNT i = 0; i < n; i++) {
		DAT_LMR_TRIPLET segment = t_seg(large, (size_t)i * T_BUF_SIZE, T_BUF_SIZE);

		t_ok(dat_srq_post_recv(srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = (uint64_t)i}));
	}
}

START_TEST(EP_172_small_messages_do_not_overtake_large_ones)
{
	struct t_buf large;

	post_large(&large, 8);
	for (uint64_t i = 0; i < 8; i++)
		t_ok(t_send(&sender[0], 0, i % 2 ? 8 : T_BUF_SIZE, i,
			    DAT_COMPLETION_SUPPRESS_FLAG));
	for (int i = 0; i < 8; i++) {
		ck_assert_int_le(held(&taker[0]), 8 - i);
		taken(0, i % 2 ? 8 : T_BUF_SIZE);
	}
	ck_assert_int_eq(held(&taker[0]), 0);
}
END_TEST

START_TEST(EP_177_buffers_that_the_EP_holds_complete_on_it)
{
	struct t_buf large;
	DAT_COUNT count, completed;

	post_large(&large, 4);
	for (uint64_t i = 0; i < 4; i++)
		t_ok(t_send(&sender[0], 0, T_BUF_SIZE, i, DAT_COMPLETION_DEFAULT_FLAG));
	count = held(&taker[0]);
	t_ok(dat_ep_disconnect(taker[0].ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_conn(taker[0].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, taker[0].ep);
	completed = t_drain(taker[0].recv_evd);
	ck_assert_int_ge(completed, count);
	expect_counts(DEPTH, 4 - completed, 4 - completed);
	ck_assert_int_eq(held(&taker[0]), 0);
}
END_TEST

#define POSTERS  4
#define PER_POST 100

struct poster {
	pthread_t thread;
	uint64_t first; /* of the cookies */
};

static void *post_many(void *arg)
{
	const struct poster *poster = arg;
	uint64_t limit = t_now_us() + 3 * T_LIMIT_US;

	for (uint64_t i = 0; i < PER_POST; i++) {
		DAT_LMR_TRIPLET segment = t_seg(&pool, (poster->first + i) % DEPTH * ROOM, ROOM);
		DAT_RETURN ret;

		/* The queue is full until messages have taken buffers. */
		do {
			ret = dat_srq_post_recv(srq, 1, &segment,
						(DAT_DTO_COOKIE){.as_64 = poster->first + i});
			if (ret != DAT_SUCCESS)
				t_pause();
		} while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES && t_now_us() < limit);
		if (ret != DAT_SUCCESS)
			return "a post failed";
	}
	return NULL;
}

START_TEST(DTO_156_several_threads_post_at_once)
{
	bool seen[POSTERS * PER_POST] = {false};
	struct poster posters[POSTERS];
	void *fault;

	for (unsigned int i = 0; i < POSTERS; i++) {
		posters[i].first = i * PER_POST;
		ck_assert_int_eq(pthread_create(&posters[i].thread, NULL, post_many, &posters[i]),
				 0);
	}
	for (int i = 0; i < POSTERS * PER_POST; i++) {
		const struct t_end *to = &taker[i % ENDS];
		DAT_EVENT event;
		uint64_t cookie;

		t_ok(t_send(&sender[i % ENDS], 0, 8, 1, DAT_COMPLETION_SUPPRESS_FLAG));
		event = t_wait_for(to->recv_evd, DAT_DTO_COMPLETION_EVENT);
		ck_assert_int_eq(event.event_data.dto_completion_event_data.status,
				 DAT_DTO_SUCCESS);
		cookie = event.event_data.dto_completion_event_data.user_cookie.as_64;
		ck_assert_uint_lt(cookie, POSTERS * PER_POST);
		ck_assert(!seen[cookie]);
		seen[cookie] = true;
	}
	for (int i = 0; i < POSTERS; i++) {
		ck_assert_int_eq(pthread_join(posters[i].thread, &fault), 0);
		ck_assert_msg(!fault, "%s", (const char *)fault);
	}
	expect_counts(DEPTH, 0, 0);
}
END_TEST

START_TEST(DTO_159_a_buffer_that_changes_before_its_completion)
{
	/* The content of the message is undefined. Connection and next message are not affected. */
	DAT_LMR_TRIPLET segment = t_seg(&pool, 0, ROOM);

	t_ok(dat_srq_post_recv(srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0}));
	memset(&segment, 0xff, sizeof(segment));
	memset(pool.mem, 0x77, ROOM);
	send_from(0, 64, 1);
	memset(pool.mem, 0x66, ROOM);
	ck_assert_uint_eq(taken(0, 64), 0);
	t_fill(sender[0].buf.mem, 64, 3);
	post(1);
	send_from(0, 64, 2);
	ck_assert_uint_eq(taken(0, 64), 1);
	ck_assert(t_is_filled(pool.mem + ROOM, 64, 3));
	expect_counts(DEPTH, 0, 0);
}
END_TEST

/* --- notification --- */

static DAT_RETURN wait_briefly(DAT_EVD_HANDLE evd, DAT_COUNT threshold)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	return dat_evd_wait(evd, T_QUIET_US, threshold, &event, &nmore);
}

START_TEST(DTO_138_solicited_sends_wake_a_waiter)
{
	DAT_EP_ATTR attr = t_default_attr(&ia[1]);
	struct t_end from, to;
	struct t_waiter waiter;

	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	t_end_new(&from, &ia[0], NULL);
	t_end_new(&to, &ia[1], NULL);
	t_ok(dat_ep_free(to.ep));
	to.ep = new_srq_ep(&to, ia[1].pz, &attr);
	t_establish(&listener, &from, &to);
	post(0), post(1);
	t_evd_waiter_start(&waiter, to.recv_evd, 1);
	t_ok(t_send(&from, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_until(ask(srq).available_dto_count == 1);
	t_until(t_sleeps(
		waiter.tid)); /* it sleeps again if it was the thread that read the message */
	t_ok(t_send(&from, 0, 8, 2, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	t_ok(t_waiter_join(&waiter));
	ck_assert_ptr_eq(waiter.event.event_data.dto_completion_event_data.ep_handle, to.ep);
}
END_TEST

START_TEST(DTO_139_EPs_with_the_threshold_flag_share_an_EVD)
{
	DAT_EP_ATTR attr = t_default_attr(&ia[1]);
	struct t_end from, to;

	attr.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	t_end_new(&from, &ia[0], NULL);
	t_end_new(&to, &ia[1], NULL);
	t_ok(dat_ep_free(to.ep));
	to.ep = new_srq_ep(&to, ia[1].pz, &attr);
	t_establish(&listener, &from, &to);
	post(0), post(1);
	t_ok(t_send(&from, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_until(ask(srq).available_dto_count == 1);
	t_error(wait_briefly(to.recv_evd, 2), DAT_TIMEOUT_EXPIRED);
	t_ok(t_send(&from, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_until(ask(srq).available_dto_count == 0);
	t_ok(wait_briefly(to.recv_evd, 2));
}
END_TEST

static void add_life(TCase *tcase)
{
	tcase_add_test(tcase, SRQ_001_002_003_004_028_034_037_new_srq_is_empty_and_has_its_size);
	tcase_add_test(tcase, SRQ_007_008_009_010_011_014_bad_arguments);
	tcase_add_test(tcase, SRQ_017_023_025_026_srq_is_freed_with_its_buffers_after_its_EPs);
	tcase_add_test(tcase, SRQ_023_buffers_come_back_and_connections_stay);
	tcase_add_test(tcase, SRQ_013_016_as_many_srqs_as_the_attributes_say);
	tcase_add_test(tcase, SRQ_029_030_031_033_counts);
	tcase_add_test(tcase, SRQ_035_036_query_arguments);
	tcase_add_test(tcase, SRQ_038_039_040_041_042_045_resize);
	tcase_add_test(tcase, SRQ_003_042_shrunk_srq_accepts_as_many_buffers_as_it_reports);
	tcase_add_test(tcase, SRQ_044_resize_without_memory_changes_nothing);
	tcase_add_test(tcase, SRQ_043_resize_during_traffic_loses_nothing);
	tcase_add_test(tcase, SRQ_005_watermark_of_the_attributes_announces_the_empty_queue);
	tcase_add_test(tcase, SRQ_046_047_049_055_056_057_one_event_each_time_the_watermark_is_set);
	tcase_add_test(tcase, SRQ_048_050_051_053_054_set_lw);
	tcase_add_test(tcase, SRQ_052_attributes_tell_which_features_exist);
	tcase_add_test(tcase, SRQ_006_018_EPs_of_another_PZ_use_the_queue);
}

static void add_receives(TCase *tcase)
{
	tcase_add_test(tcase, DTO_133_136_157_completions_name_the_EP_that_took_the_buffer);
	tcase_add_test(tcase, DTO_134_155_161_each_buffer_is_used_exactly_once);
	tcase_add_test(tcase, DTO_147_a_message_waits_for_a_buffer);
	tcase_add_test(tcase, DTO_149_150_segments_and_messages_of_size_0);
	tcase_add_test(tcase, DTO_149_as_many_segments_as_the_ia_reports);
	tcase_add_test(tcase, DTO_151_152_153_154_post_arguments);
	tcase_add_test(tcase, DTO_145_146_buffers_survive_the_connection);
	tcase_add_test(tcase, DTO_144_completions_of_taken_buffers_come_before_the_end);
	tcase_add_test(tcase, DTO_148_a_message_that_does_not_fit_breaks_its_connection_alone);
	tcase_add_test(tcase, DTO_160_counts_are_right_after_an_EP_is_freed);
	tcase_add_test(tcase, EP_163_167_175_recv_query_counts_what_the_EP_holds);
	tcase_add_test(tcase, EPS_031_032_posts_in_every_state);
	tcase_add_test(tcase, DTO_138_solicited_sends_wake_a_waiter);
	tcase_add_test(tcase, DTO_139_EPs_with_the_threshold_flag_share_an_EVD);
}

static void add_taking(TCase *tcase)
{
	tcase_add_loop_test(tcase, DTO_143_buffers_are_used_only_while_connected, 0, 20);
	tcase_add_test(tcase, DTO_143_while_a_disconnect_is_pending);
	tcase_add_test(tcase, EP_168_172_messages_without_a_buffer_keep_the_later_ones_waiting);
	tcase_add_test(tcase, EP_172_small_messages_do_not_overtake_large_ones);
	tcase_add_test(tcase, EP_177_buffers_that_the_EP_holds_complete_on_it);
	tcase_add_test(tcase, DTO_156_several_threads_post_at_once);
	tcase_add_test(tcase, DTO_159_a_buffer_that_changes_before_its_completion);
}

Suite *conform_srq(void)
{
	Suite *suite = suite_create("srq");
	TCase *life = tcase_create("srq"), *receives = tcase_create("srq_receives");
	TCase *taking = tcase_create("srq_taking");

	tcase_add_checked_fixture(life, open_all, close_all);
	tcase_add_checked_fixture(receives, open_all, close_all);
	tcase_add_checked_fixture(taking, open_all, close_all);
	add_life(life);
	add_receives(receives);
	add_taking(taking);
	suite_add_tcase(suite, life);
	suite_add_tcase(suite, receives);
	suite_add_tcase(suite, taking);
	return suite;
}
