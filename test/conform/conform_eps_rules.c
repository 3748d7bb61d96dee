/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The EP state machine: rules that are not in the state table. */
#include <stdio.h>

#include "conform_eps.h"
#include "place.h"

static struct place place;

/* --- both ends of a connection --- */

static void expect_disconnected(const struct t_end *end)
{
	t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end->ep);
	ck_assert_int_eq(t_ep_state(end->ep), DAT_EP_STATE_DISCONNECTED);
}

static void expect_established(const struct t_end *end)
{
	t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end->ep);
	ck_assert_int_eq(t_ep_state(end->ep), DAT_EP_STATE_CONNECTED);
}

static void connect_both(void)
{
	t_establish(&place.at_peer, &place.me, &place.peer);
}

static void reset_both(void)
{
	t_ok(dat_ep_reset(place.me.ep));
	t_ok(dat_ep_reset(place.peer.ep));
}

static void part(void)
{
	t_ok(dat_ep_disconnect(place.me.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_disconnected(&place.me);
	expect_disconnected(&place.peer);
}

/*
 * Posts a receive at one end and sends it a message of that length, filled by seed, from the other.
 */
static void pass_message(const struct t_end *from, const struct t_end *to, uint64_t cookie,
			 unsigned int seed)
{
	t_fill(from->buf.mem, 100, seed);
	t_ok(t_send(from, 0, 100, cookie, DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_dto(to->recv_evd, to->ep, cookie, DAT_DTO_SUCCESS, 100);
}

START_TEST(EPS_060_061_065_one_event_each_in_order)
{
	place_make(&place, ACT);
	t_ok(t_cr_accept(place.cr, place.peer.ep));
	t_wait_conn(place.peer.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, place.peer.ep);
	t_ok(dat_ep_disconnect(place.peer.ep, DAT_CLOSE_ABRUPT_FLAG));
	/* Our own events are read only now. */
	t_wait_conn(place.me.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, place.me.ep);
	expect_disconnected(&place.me);
	expect_disconnected(&place.peer);
	t_stays_quiet(place.me.connect_evd);
	t_no_event(place.peer.connect_evd);
}
END_TEST

static void *disconnect_thread(void *arg)
{
	return dat_ep_disconnect(arg, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS ? arg : NULL;
}

START_TEST(EPS_058_066_both_ends_disconnect_at_once)
{
	/* EP-133 EPS-060 */
	pthread_t thread;
	void *done;

	place_make(&place, CON);
	for (int i = 0; i < 50; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, disconnect_thread, place.peer.ep),
				 0);
		t_ok(dat_ep_disconnect(place.me.ep, DAT_CLOSE_ABRUPT_FLAG));
		ck_assert_int_eq(pthread_join(thread, &done), 0);
		ck_assert_ptr_eq(done, place.peer.ep);
		expect_disconnected(&place.me);
		expect_disconnected(&place.peer);
		t_no_event(place.me.connect_evd);
		t_no_event(place.peer.connect_evd);
		reset_both();
		connect_both();
	}
}
END_TEST

/* --- private data --- */

static void connect_with(const void *data, size_t size)
{
	t_ok(t_connect_data(place.me.ep, &place.ia[1], place.at_peer.qual, T_LIMIT_US, data, size));
}

static const DAT_CONNECTION_EVENT_DATA *connection(const DAT_EVENT *event)
{
	return &event->event_data.connect_event_data;
}

static void expect_private(const DAT_EVENT *event, size_t size, unsigned int seed)
{
	ck_assert_int_eq(connection(event)->private_data_size, (DAT_COUNT)size);
	if (!size)
		return;
	ck_assert(t_is_filled(connection(event)->private_data, size, seed));
	ck_assert_uint_eq((uintptr_t)connection(event)->private_data % 8, 0);
}

static size_t private_size(int i)
{
	const size_t sizes[] = {0, 1, 28, 64, (size_t)place.ia[0].provider.max_private_data_size};

	return sizes[i];
}

#define PRIVATE_SIZES 5

START_TEST(EPS_064_109_110_112_113_115_private_data_of_connect_and_accept)
{
	/* EP-079 EP-090 EP-091 */
	unsigned char out[1024], back[1024];
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_EVENT event;
	size_t size;

	place_make(&place, UNC);
	size = private_size(_i);
	ck_assert_uint_le(size, sizeof(out));
	t_fill(out, sizeof(out), 1);
	t_fill(back, sizeof(back), 2);
	connect_with(out, size);
	memset(out, 0, sizeof(out));
	cr = t_next_cr(&place.at_peer);
	t_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_int_eq(param.private_data_size, (DAT_COUNT)size);
	ck_assert(!size || t_is_filled(param.private_data, size, 1));
	ck_assert_uint_eq((uintptr_t)param.private_data % 8, 0);
	t_ok(dat_cr_accept(cr, place.peer.ep, (DAT_COUNT)size, back));
	memset(back, 0, sizeof(back));
	event = t_wait_for(place.me.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_private(&event, size, 2);
	event = t_wait_for(place.peer.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_private(&event, 0, 0);
	part();
}
END_TEST

START_TEST(EPS_064_109_110_114_private_data_of_reject)
{
	unsigned char data[1024];
	DAT_EVENT event;
	size_t size;

	place_make(&place, ACT);
	size = private_size(_i);
	t_fill(data, sizeof(data), 3);
	t_ok(t_cr_reject_data(place.cr, data, size));
	event = t_wait_for(place.me.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
	expect_private(&event, T_DAT_MAJOR == 1 ? 0 : size, 3);
}
END_TEST

START_TEST(EPS_064_other_events_have_no_private_data)
{
	DAT_EVENT event;

	place_make(&place, CON);
	t_ok(dat_ep_disconnect(place.me.ep, DAT_CLOSE_ABRUPT_FLAG));
	event = t_wait_for(place.me.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_private(&event, 0, 0);
	t_ok(dat_ep_reset(place.me.ep));
	t_ok(t_connect_data(place.me.ep, &place.ia[1], 9, T_LIMIT_US, NULL, 0));
	event = t_wait_for(place.me.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	expect_private(&event, 0, 0);
}
END_TEST

START_TEST(EPS_111_private_data_of_a_request_lasts_until_the_decision)
{
	unsigned char data[64];
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	place_make(&place, UNC);
	t_fill(data, sizeof(data), 4);
	connect_with(data, sizeof(data));
	cr = t_next_cr(&place.at_peer);
	t_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	t_ok(dat_ep_disconnect(place.me.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_disconnected(&place.me);
	t_stays_quiet(place.peer.connect_evd);
	ck_assert(t_is_filled(param.private_data, sizeof(data), 4));
	t_ok(t_cr_reject(cr));
}
END_TEST

/* --- consumer EP and provider EP --- */

START_TEST(EPS_067_request_at_a_consumer_psp_has_no_ep)
{
	DAT_CR_PARAM param;

	place_make(&place, ACT);
	t_ok(dat_cr_query(place.cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_ptr_null(param.local_ep_handle);
	ck_assert_int_eq(t_ep_state(place.peer.ep), DAT_EP_STATE_UNCONNECTED);
}
END_TEST

START_TEST(EPS_069_070_provider_ep_is_configured_used_and_reused)
{
	/* EP-148 CR-022 */
	place_make(&place, TEN);
	for (uint64_t i = 0; i < 3; i++)
		t_ok(t_recv(&place.me, 0, 100, i, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_cr_accept(place.cr, DAT_HANDLE_NULL));
	expect_established(&place.me);
	expect_established(&place.peer);
	for (unsigned int i = 0; i < 3; i++) {
		pass_message(&place.peer, &place.me, i, i);
		ck_assert(t_is_filled(place.me.buf.mem, 100, i));
	}
	part();
	reset_both();
	connect_both();
	part();
	t_ok(dat_ep_free(place.me.ep));
}
END_TEST

START_TEST(EPS_071_receives_of_a_provider_ep_go_with_it)
{
	place_make(&place, TEN);
	t_ok(place_post_recv(&place));
	if (_i)
		t_ok(dat_cr_handoff(place.cr, place.at_me.qual));
	else
		t_ok(t_cr_reject(place.cr));
	t_stays_quiet(place.me.recv_evd);
	t_no_event(place.me.connect_evd);
	t_bad_handle(dat_ep_free(place.me.ep));
}
END_TEST

START_TEST(EPS_072_consumer_cannot_use_a_tentative_ep)
{
	place_make(&place, TEN);
	t_bad_state(dat_ep_free(place.me.ep));
	t_bad_state(dat_ep_disconnect(place.me.ep, DAT_CLOSE_ABRUPT_FLAG));
	t_bad_state(dat_ep_disconnect(place.me.ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_bad_state(t_connect(place.me.ep, &place.at_peer));
	t_bad_state(dat_ep_reset(place.me.ep));
	t_ok(t_cr_accept(place.cr, DAT_HANDLE_NULL));
	expect_established(&place.me);
}
END_TEST

START_TEST(EPS_073_one_ep_for_two_accepts)
{
	struct t_end other;
	DAT_CR_HANDLE cr;

	place_make(&place, ACT);
	t_end_new(&other, &place.ia[0], NULL);
	t_ok(t_connect(other.ep, &place.at_peer));
	cr = t_next_cr(&place.at_peer);
	t_ok(t_cr_accept(place.cr, place.peer.ep));
	t_bad_state(t_cr_accept(cr, place.peer.ep));
	expect_established(&place.me);
	expect_established(&place.peer);
	t_ok(t_cr_reject(cr));
}
END_TEST

/* --- RSP --- */

START_TEST(EPS_074_reserved_ep_is_bound)
{
	place_make(&place, RES);
	t_bad_state(t_connect(place.me.ep, &place.at_peer));
	t_bad_state(dat_ep_free(place.me.ep));
	t_bad_state(dat_ep_disconnect(place.me.ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_bad_state(dat_ep_reset(place.me.ep));
	t_ok(dat_rsp_free(place.rsp));
	t_ok(dat_ep_free(place.me.ep));
}
END_TEST

START_TEST(EPS_075_receives_of_a_reserved_ep_are_used)
{
	place_make(&place, RES);
	t_ok(t_recv(&place.me, 0, 100, 5, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_connect_data(place.peer.ep, &place.ia[0], place.rsp_qual, T_LIMIT_US, NULL, 0));
	t_ok(t_recv(&place.me, 100, 100, 6, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_cr_accept(t_wait_for(place.rsp_evd, DAT_CONNECTION_REQUEST_EVENT)
				 .event_data.cr_arrival_event_data.cr_handle,
			 DAT_HANDLE_NULL));
	expect_established(&place.peer);
	pass_message(&place.peer, &place.me, 5, 5);
	pass_message(&place.peer, &place.me, 6, 6);
	ck_assert(t_is_filled(place.me.buf.mem, 100, 5));
	ck_assert(t_is_filled(place.me.buf.mem + 100, 100, 6));
}
END_TEST

START_TEST(EPS_076_one_request_per_rsp)
{
	struct t_end other;

	place_make(&place, PAS);
	t_end_new(&other, &place.ia[1], NULL);
	t_ok(t_connect_data(other.ep, &place.ia[0], place.rsp_qual, T_LIMIT_US, NULL, 0));
	t_wait_conn(other.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, other.ep);
	t_no_event(place.rsp_evd);
	t_ok(t_cr_reject(place.cr));
	ck_assert_int_eq(t_ep_state(place.me.ep), DAT_EP_STATE_UNCONNECTED);
	t_ok(dat_ep_reset(other.ep));
	t_ok(t_connect_data(other.ep, &place.ia[0], place.rsp_qual, T_LIMIT_US, NULL, 0));
	t_wait_conn(other.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, other.ep);
	t_ok(dat_rsp_free(place.rsp));
	place_rsp(&place);
	ck_assert_int_eq(t_ep_state(place.me.ep), DAT_EP_STATE_RESERVED);
}
END_TEST

START_TEST(EPS_077_rsp_free_keeps_receives)
{
	place_make(&place, RES);
	t_ok(t_recv(&place.me, 0, 100, 5, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_rsp_free(place.rsp));
	ck_assert_int_eq(t_ep_state(place.me.ep), DAT_EP_STATE_UNCONNECTED);
	t_no_event(place.me.recv_evd);
	connect_both();
	pass_message(&place.peer, &place.me, 5, 9);
	ck_assert(t_is_filled(place.me.buf.mem, 100, 9));
}
END_TEST

/* --- graceful and abrupt --- */

#define MESSAGES 60u

static void post_messages(void)
{
	for (uint64_t i = 0; i < MESSAGES; i++) {
		t_ok(t_recv(&place.peer, i * 1000, 1000, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_recv(&place.me, i * 1000, 1000, i, DAT_COMPLETION_DEFAULT_FLAG));
	}
	t_fill(place.me.buf.mem, T_BUF_SIZE, 1);
	for (uint64_t i = 0; i < MESSAGES; i++)
		t_ok(t_send(&place.me, i * 1000, 1000, i, DAT_COMPLETION_DEFAULT_FLAG));
}

START_TEST(EPS_078_083_graceful_disconnect_delivers_everything)
{
	/* EP-119 EP-132 EP-138 */
	place_make(&place, CON);
	post_messages();
	t_ok(dat_ep_disconnect(place.me.ep, DAT_CLOSE_GRACEFUL_FLAG));
	for (uint64_t i = 0; i < MESSAGES; i++)
		t_wait_dto(place.me.request_evd, place.me.ep, i, DAT_DTO_SUCCESS, 1000);
	expect_disconnected(&place.me);
	expect_disconnected(&place.peer);
	for (uint64_t i = 0; i < MESSAGES; i++) {
		t_wait_dto(place.peer.recv_evd, place.peer.ep, i, DAT_DTO_SUCCESS, 1000);
		t_wait_dto(place.me.recv_evd, place.me.ep, i, DAT_DTO_ERR_FLUSHED, 0);
	}
	ck_assert(t_is_filled(place.peer.buf.mem, MESSAGES * 1000, 1));
}
END_TEST

START_TEST(EPS_079_080_abrupt_disconnect_ends_a_pending_one)
{
	/* EP-123 */
	place_make(&place, DPD);
	t_stays_quiet(place.me.connect_evd);
	t_ok(dat_ep_disconnect(place.me.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_disconnected(&place.me);
	t_wait_dto(place.me.request_evd, place.me.ep, PLACE_BIG, DAT_DTO_ERR_FLUSHED, 0);
	t_stays_quiet(place.me.connect_evd);
}
END_TEST

/*
 * Expects completions in posting order. None succeeds after a flushed one. Returns the number of
 * successes.
 */
static unsigned int expect_prefix(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep)
{
	unsigned int good = 0;

	for (uint64_t i = 0; i < MESSAGES; i++) {
		DAT_EVENT event = t_wait_for(evd, DAT_DTO_COMPLETION_EVENT);
		const DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event.event_data.dto_completion_event_data;

		ck_assert_ptr_eq(dto->ep_handle, ep);
		ck_assert_uint_eq(dto->user_cookie.as_64, i);
		if (dto->status == DAT_DTO_SUCCESS)
			ck_assert_uint_eq(good++, i);
		else
			ck_assert_int_eq(dto->status, DAT_DTO_ERR_FLUSHED);
	}
	t_no_event(evd);
	return good;
}

START_TEST(EPS_081_082_084_abrupt_disconnect_flushes_in_order)
{
	/* DTO-094 DTO-095 DTO-096 EP-134 EP-135 EPS-088 */
	place_make(&place, CON);
	for (int round = 0; round < 20; round++) {
		post_messages();
		t_ok(dat_ep_disconnect(round % 2 ? place.me.ep : place.peer.ep,
				       DAT_CLOSE_ABRUPT_FLAG));
		expect_disconnected(&place.me);
		expect_disconnected(&place.peer);
		expect_prefix(place.me.request_evd, place.me.ep);
		expect_prefix(place.peer.recv_evd, place.peer.ep);
		ck_assert_uint_eq(expect_prefix(place.me.recv_evd, place.me.ep), 0);
		reset_both();
		connect_both();
	}
}
END_TEST

START_TEST(EPS_085_both_ends_wait_to_disconnect)
{
	struct t_buf *big;
	DAT_LMR_TRIPLET segment;

	place_make(&place, CON);
	t_ok(place_post_big(&place));
	big = &place.big[1];
	t_buf_new(big, place.ia[1].ia, place.ia[1].pz, place.big[0].size, DAT_MEM_PRIV_ALL_FLAG);
	segment = t_seg(big, 0, big->size);
	t_ok(dat_ep_post_send(place.peer.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = PLACE_BIG},
			      DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_ep_disconnect(place.me.ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_ok(dat_ep_disconnect(place.peer.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_disconnected(&place.me);
	expect_disconnected(&place.peer);
	t_stays_quiet(place.me.connect_evd);
	t_no_event(place.peer.connect_evd);
}
END_TEST

START_TEST(EPS_086_memory_does_not_change_after_the_event)
{
	/* EP-143; the transfer of the message stops at any point */
	unsigned char *before;

	place_make(&place, CON);
	place_new_big(&place);
	t_fill(place.big[0].mem, place.big[0].size, 8);
	t_ok(place_post_big(&place));
	place_take_big(&place);
	if (_i)
		t_ok(dat_ep_disconnect(place.peer.ep, DAT_CLOSE_ABRUPT_FLAG));
	else
		t_ok(dat_ep_free(place.peer.ep));
	before = malloc(place.big[1].size);
	ck_assert_ptr_nonnull(before);
	if (_i)
		expect_disconnected(&place.peer);
	memcpy(before, place.big[1].mem, place.big[1].size);
	t_wait(place.me.connect_evd);
	t_stays_quiet(place.me.connect_evd);
	ck_assert_mem_eq(before, place.big[1].mem, place.big[1].size);
	free(before);
}
END_TEST

/* --- reset and reuse --- */

START_TEST(EPS_089_092_reset_and_connect_again_and_again)
{
	/* EP-149 EP-155 */
	place_make(&place, UNC);
	for (unsigned int round = 0; round < 20; round++) {
		t_ok(t_recv(&place.me, 0, 100, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_recv(&place.me, 100, 100, 2, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_recv(&place.me, 200, 100, 3, DAT_COMPLETION_DEFAULT_FLAG));
		if (round % 2)
			t_establish(&place.at_me, &place.peer, &place.me);
		else
			connect_both();
		pass_message(&place.peer, &place.me, 1, round);
		pass_message(&place.peer, &place.me, 2, round + 1);
		ck_assert(t_is_filled(place.me.buf.mem, 100, round));
		ck_assert(t_is_filled(place.me.buf.mem + 100, 100, round + 1));
		part();
		t_wait_dto(place.me.recv_evd, place.me.ep, 3, DAT_DTO_ERR_FLUSHED, 0);
		reset_both();
	}
}
END_TEST

START_TEST(EPS_090_posts_after_the_end_are_flushed_last)
{
	/* EP-153 DTO-040 DTO-072 DTO-073 */
	place_make(&place, CON);
	for (uint64_t i = 0; i < 10; i++)
		t_ok(t_recv(&place.me, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(place_post_big(&place));
	t_ok(dat_ep_disconnect(place.me.ep, DAT_CLOSE_ABRUPT_FLAG));
	t_until(t_ep_state(place.me.ep) == DAT_EP_STATE_DISCONNECTED);
	t_ok(t_recv(&place.me, 0, 64, 100, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(&place.me, 0, 64, 100, DAT_COMPLETION_SUPPRESS_FLAG));
	for (uint64_t i = 0; i < 10; i++)
		t_wait_dto(place.me.recv_evd, place.me.ep, i, DAT_DTO_ERR_FLUSHED, 0);
	t_wait_dto(place.me.recv_evd, place.me.ep, 100, DAT_DTO_ERR_FLUSHED, 0);
	t_wait_dto(place.me.request_evd, place.me.ep, PLACE_BIG, DAT_DTO_ERR_FLUSHED, 0);
	t_wait_dto(place.me.request_evd, place.me.ep, 100, DAT_DTO_ERR_FLUSHED, 0);
	t_ok(dat_ep_reset(place.me.ep));
	t_stays_quiet(place.me.recv_evd);
	t_no_event(place.me.request_evd);
}
END_TEST

START_TEST(EPS_091_reset_keeps_the_events_of_other_eps)
{
	DAT_EP_HANDLE other;

	place_make(&place, DIS);
	t_ok(dat_ep_create(place.ia[0].ia, place.ia[0].pz, place.me.recv_evd, place.me.request_evd,
			   place.me.connect_evd, NULL, &other));
	t_ok(t_connect_data(other, &place.ia[1], 9, T_LIMIT_US, NULL, 0));
	t_until(t_ep_state(other) == DAT_EP_STATE_DISCONNECTED);
	t_ok(dat_ep_reset(place.me.ep));
	t_wait_conn(place.me.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, other);
}
END_TEST

START_TEST(EPS_094_failed_ep_must_be_reset_before_the_next_try)
{
	place_make(&place, UNC);
	t_ok(t_connect_data(place.me.ep, &place.ia[1], 9, T_LIMIT_US, NULL, 0));
	t_wait_conn(place.me.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, place.me.ep);
	t_bad_state(t_connect(place.me.ep, &place.at_peer));
	t_ok(dat_ep_reset(place.me.ep));
	connect_both();
}
END_TEST

START_TEST(EPS_097_psp_goes_on_after_a_reject)
{
	place_make(&place, ACT);
	t_ok(t_cr_reject(place.cr));
	t_wait_conn(place.me.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED, place.me.ep);
	t_ok(dat_ep_reset(place.me.ep));
	connect_both();
}
END_TEST

/* --- dat_ep_dup_connect() --- */

static DAT_RETURN dup_connect(DAT_EP_HANDLE ep, DAT_TIMEOUT timeout, const void *data, size_t size)
{
	return dat_ep_dup_connect(ep, place.me.ep, timeout, (DAT_COUNT)size,
				  (DAT_PVOID)(uintptr_t)data, DAT_QOS_BEST_EFFORT);
}

START_TEST(EPS_098_099_100_dup_connect_is_a_connect)
{
	/* EP-105 EP-109 EP-111 EP-112 EPS-109 */
	DAT_EP_ATTR attr, after;
	struct t_end twin, twin_peer;
	unsigned char data[40];
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	place_make(&place, CON);
	attr = t_ep_attr(place.me.ep);
	attr.max_request_dtos = 7;
	attr.max_recv_dtos = 9;
	t_end_new(&twin, &place.ia[0], &attr);
	t_end_new(&twin_peer, &place.ia[1], NULL);
	t_fill(data, sizeof(data), 5);
	t_ok(dup_connect(twin.ep, T_LIMIT_US, data, sizeof(data)));
	ck_assert_int_eq(t_ep_state(twin.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	part(); /* the connection of the other EP may end */
	t_ok(dat_ep_free(place.me.ep));
	cr = t_next_cr(&place.at_peer);
	t_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_int_eq(param.private_data_size, sizeof(data));
	ck_assert(t_is_filled(param.private_data, sizeof(data), 5));
	t_ok(dat_cr_accept(cr, twin_peer.ep, (DAT_COUNT)sizeof(data), data));
	event = t_wait_conn(twin.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, twin.ep);
	expect_private(&event, sizeof(data), 5);
	after = t_ep_attr(twin.ep);
	ck_assert_int_ge(after.max_request_dtos, 7);
	ck_assert_int_lt(after.max_request_dtos, t_ep_attr(twin_peer.ep).max_request_dtos);
	t_ok(t_recv(&twin_peer, 0, 100, 1, DAT_COMPLETION_DEFAULT_FLAG));
	pass_message(&twin, &twin_peer, 1, 6);
}
END_TEST

START_TEST(EPS_100_101_dup_connect_fails_as_a_connect)
{
	/* EP-111 */
	struct t_end twin;

	place_make(&place, CON);
	t_end_new(&twin, &place.ia[0], NULL);
	t_ok(t_recv(&twin, 0, 100, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dup_connect(twin.ep, 1000000, NULL, 0));
	t_next_cr(&place.at_peer);
	t_wait_conn(twin.connect_evd, DAT_CONNECTION_EVENT_TIMED_OUT, twin.ep);
	t_wait_dto(twin.recv_evd, twin.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
	ck_assert_int_eq(t_ep_state(twin.ep), DAT_EP_STATE_DISCONNECTED);
	t_ok(dat_ep_reset(twin.ep));
	t_ok(dup_connect(twin.ep, T_LIMIT_US, NULL, 0));
	t_ok(t_cr_reject(t_next_cr(&place.at_peer)));
	t_wait_conn(twin.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED, twin.ep);
	t_ok(dat_ep_reset(twin.ep));
	t_ok(dat_psp_free(place.at_peer.psp));
	t_ok(dup_connect(twin.ep, T_LIMIT_US, NULL, 0));
	t_wait_conn(twin.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, twin.ep);
	t_bad_arg(dup_connect(twin.ep, 0, NULL, 0));
}
END_TEST

/* --- time-outs --- */

START_TEST(EPS_104_infinite_timeout_has_no_limit)
{
	/* EP-086 */
	place_make(&place, ACT); /* asks with DAT_TIMEOUT_INFINITE */
	t_stays_quiet(place.me.connect_evd);
	ck_assert_int_eq(t_ep_state(place.me.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
}
END_TEST

/* Expects the last event of the passive end, whose connector may have given up. */
static void expect_passive_end(bool established)
{
	DAT_EVENT event = t_wait(place.peer.connect_evd);

	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		if (established)
			return;
		event = t_wait(place.peer.connect_evd);
		ck_assert(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
			  event.event_number == DAT_CONNECTION_EVENT_BROKEN);
		return;
	}
	ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	ck_assert(!established);
}

/*
 * Accepts the request of this round if it has come. A late request of an earlier round is rejected.
 */
static bool answer(uint32_t round)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	if (dat_evd_dequeue(place.at_peer.evd, &event) != DAT_SUCCESS)
		return false;
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	t_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	if (memcmp(param.private_data, &round, sizeof(round))) {
		t_ok(t_cr_reject(cr));
		return false;
	}
	t_ok(t_cr_accept(cr, place.peer.ep));
	return true;
}

START_TEST(EPS_105_timer_and_answer_race)
{
	place_make(&place, UNC);
	for (uint32_t timeout = 50; timeout < 3000; timeout += 75) {
		bool accepted = false;
		DAT_EVENT event;

		t_ok(t_connect_data(place.me.ep, &place.ia[1], place.at_peer.qual, timeout,
				    &timeout, sizeof(timeout)));
		t_until((accepted |= answer(timeout),
			 dat_evd_dequeue(place.me.connect_evd, &event) == DAT_SUCCESS));
		if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
			expect_passive_end(true);
			part();
		} else {
			ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_TIMED_OUT);
			if (accepted)
				expect_passive_end(false);
		}
		t_no_event(place.me.connect_evd);
		reset_both();
	}
}
END_TEST

START_TEST(EPS_106_late_accept_does_not_connect)
{
	/* EP-084 CR-042 */
	DAT_CR_HANDLE cr;

	place_make(&place, UNC);
	cr = t_expired_cr(&place.me, &place.at_peer);
	t_ok(t_cr_accept(cr, place.peer.ep));
	expect_passive_end(false);
	ck_assert_int_eq(t_ep_state(place.peer.ep), DAT_EP_STATE_DISCONNECTED);
	t_stays_quiet(place.me.connect_evd);
}
END_TEST

START_TEST(EPS_108_handshake_that_never_finishes_is_given_up)
{
	setenv("DAT_OFI_HANDSHAKE_MS", "500", 1);
	place_make(&place, CMP);
	t_wait_conn(place.me.connect_evd, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
		    place.me.ep);
	ck_assert_int_eq(t_ep_state(place.me.ep), DAT_EP_STATE_DISCONNECTED);
}
END_TEST

/* --- dat_ep_free() --- */

START_TEST(EPS_116_117_events_may_outlive_their_ep)
{
	/* EP-142 EP-144 */
	DAT_EVENT event;

	place_make(&place, CON);
	t_ok(t_recv(&place.peer, 0, 100, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(&place.me, 0, 100, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_ep_disconnect(place.me.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_disconnected(&place.peer);
	t_ok(dat_ep_free(place.me.ep));
	t_ok(dat_ep_free(place.peer.ep));
	while (dat_evd_dequeue(place.me.request_evd, &event) == DAT_SUCCESS)
		ck_assert_int_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
	while (dat_evd_dequeue(place.me.connect_evd, &event) == DAT_SUCCESS)
		ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	t_wait_for(place.peer.recv_evd, DAT_DTO_COMPLETION_EVENT);
}
END_TEST

/* An abrupt end has an event, also if the EP is freed before the peer has all earlier data. */
START_TEST(EPS_015_event_of_an_abrupt_end_outlives_its_ep)
{
	place_make(&place, CON);
	t_ok(t_recv(&place.peer, 0, 100, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(&place.me, 0, 100, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_ep_disconnect(place.me.ep, DAT_CLOSE_ABRUPT_FLAG));
	t_ok(dat_ep_free(place.me.ep));
	t_wait_conn(place.me.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, place.me.ep);
	t_no_event(place.me.connect_evd);
	expect_disconnected(&place.peer);
	t_ok(dat_ep_free(place.peer.ep));
}
END_TEST

/* --- cases --- */

static void leave(void)
{
	place_leave(&place);
}

static TCase *rules_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, NULL, leave);
	suite_add_tcase(suite, tcase);
	return tcase;
}

static void add_connecting(Suite *suite)
{
	TCase *tcase = rules_case(suite, "eps-connecting");

	tcase_add_loop_test(tcase, EPS_064_109_110_112_113_115_private_data_of_connect_and_accept,
			    0, PRIVATE_SIZES);
	tcase_add_loop_test(tcase, EPS_064_109_110_114_private_data_of_reject, 0, PRIVATE_SIZES);
	tcase_add_test(tcase, EPS_064_other_events_have_no_private_data);
	tcase_add_test(tcase, EPS_111_private_data_of_a_request_lasts_until_the_decision);
	tcase_add_test(tcase, EPS_067_request_at_a_consumer_psp_has_no_ep);
	tcase_add_test(tcase, EPS_069_070_provider_ep_is_configured_used_and_reused);
	tcase_add_loop_test(tcase, EPS_071_receives_of_a_provider_ep_go_with_it, 0, 2);
	tcase_add_test(tcase, EPS_072_consumer_cannot_use_a_tentative_ep);
	tcase_add_test(tcase, EPS_073_one_ep_for_two_accepts);
	tcase_add_test(tcase, EPS_074_reserved_ep_is_bound);
	tcase_add_test(tcase, EPS_075_receives_of_a_reserved_ep_are_used);
	tcase_add_test(tcase, EPS_076_one_request_per_rsp);
	tcase_add_test(tcase, EPS_077_rsp_free_keeps_receives);
	tcase_add_test(tcase, EPS_098_099_100_dup_connect_is_a_connect);
	tcase_add_test(tcase, EPS_100_101_dup_connect_fails_as_a_connect);
	tcase_add_test(tcase, EPS_104_infinite_timeout_has_no_limit);
	tcase_add_test(tcase, EPS_105_timer_and_answer_race);
	tcase_add_test(tcase, EPS_106_late_accept_does_not_connect);
	tcase_add_test(tcase, EPS_108_handshake_that_never_finishes_is_given_up);
}

static void add_linger(Suite *suite)
{
	TCase *tcase = rules_case(suite, "eps-peer-end");

	tcase_add_test(tcase, EPS_060_061_065_one_event_each_in_order);
	tcase_add_test(tcase, EPS_058_066_both_ends_disconnect_at_once);
	tcase_add_test(tcase, EPS_078_083_graceful_disconnect_delivers_everything);
	tcase_add_test(tcase, EPS_079_080_abrupt_disconnect_ends_a_pending_one);
	tcase_add_test(tcase, EPS_081_082_084_abrupt_disconnect_flushes_in_order);
	tcase_add_test(tcase, EPS_085_both_ends_wait_to_disconnect);
	tcase_add_loop_test(tcase, EPS_086_memory_does_not_change_after_the_event, 0, 2);
	tcase_add_test(tcase, EPS_089_092_reset_and_connect_again_and_again);
	tcase_add_test(tcase, EPS_090_posts_after_the_end_are_flushed_last);
	tcase_add_test(tcase, EPS_091_reset_keeps_the_events_of_other_eps);
	tcase_add_test(tcase, EPS_094_failed_ep_must_be_reset_before_the_next_try);
	tcase_add_test(tcase, EPS_097_psp_goes_on_after_a_reject);
	tcase_add_test(tcase, EPS_116_117_events_may_outlive_their_ep);
	tcase_add_test(tcase, EPS_015_event_of_an_abrupt_end_outlives_its_ep);
}

void conform_eps_rules(Suite *suite)
{
	add_connecting(suite);
	add_linger(suite);
}
