/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* EPs that take their receives from an SRQ. */
#include "conform.h"

static DAT_SRQ_HANDLE srq;
static struct t_listener listener;
static struct t_end from, to; /* to: its EP is one of the SRQ */

static DAT_SRQ_HANDLE new_srq(DAT_PZ_HANDLE pz)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 64, .max_recv_iov = 2};
	DAT_SRQ_HANDLE handle;

	t_ok(dat_srq_create(t_tia.ia, pz, &attr, &handle));
	return handle;
}

static DAT_RETURN create(DAT_PZ_HANDLE pz, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	return dat_ep_create_with_srq(t_tia.ia, pz, to.recv_evd, to.request_evd, to.connect_evd,
				      srq, attr, ep);
}

static DAT_EP_ATTR with_flags(unsigned int recv_flags)
{
	DAT_EP_ATTR attr = t_default_attr(&t_tia);

	attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)recv_flags;
	return attr;
}

static void open_all(void)
{
	t_ia_open(&t_tia);
	if (!t_tia.provider.srq_supported)
		t_skip("the fabric has no SRQs");
	srq = new_srq(t_tia.pz);
	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	t_end_new(&from, &t_tia, NULL);
	t_end_new(&to, &t_tia, NULL);
	t_ok(dat_ep_free(to.ep));
}

static void close_all(void)
{
	t_ia_close(&t_tia);
}

static void connect_with(unsigned int recv_flags)
{
	DAT_EP_ATTR attr = with_flags(recv_flags);

	t_ok(create(t_tia.pz, &attr, &to.ep));
	t_establish(&listener, &from, &to);
}

static void post(uint64_t cookie, size_t offset)
{
	DAT_LMR_TRIPLET segment = t_seg(&to.buf, offset, 64);

	t_ok(dat_srq_post_recv(srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = cookie}));
}

static void message(uint64_t cookie)
{
	post(cookie, 0);
	t_ok(t_send(&from, 0, 64, cookie, DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_dto(to.recv_evd, to.ep, cookie, DAT_DTO_SUCCESS, 64);
}

/* --- creation --- */

START_TEST(EP_026_034_035_042_endpoint_of_an_srq)
{
	/* SRQ-024 SRQ-025 SRQ-032 */
	DAT_EP_ATTR asked = with_flags(DAT_COMPLETION_DEFAULT_FLAG), got;
	DAT_SRQ_PARAM counts;
	DAT_EP_PARAM param;

	asked.max_message_size = asked.max_rdma_size = 100000;
	asked.max_rdma_read_in = 3;
	asked.max_rdma_read_out = 2;
	t_ok(create(t_tia.pz, &asked, &to.ep));
	ck_assert_int_eq(t_ep_state(to.ep), DAT_EP_STATE_UNCONNECTED);
	t_ok(dat_ep_query(to.ep, DAT_EP_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.srq_handle, srq);
	got = param.ep_attr;
	ck_assert_uint_eq(got.max_message_size, 100000);
	ck_assert_uint_eq(got.max_rdma_size, 100000);
	ck_assert_int_eq(got.max_rdma_read_in, 3);
	ck_assert_int_eq(got.max_rdma_read_out, 2);
	ck_assert_int_ge(got.max_request_dtos, asked.max_request_dtos);
	ck_assert_int_ge(got.max_request_iov, asked.max_request_iov);
	t_bad_state_of(dat_srq_free(srq), SRQ_IN_USE);
	t_establish(&listener, &from, &to);
	message(1);
	t_ok(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &counts));
	if (t_tia.provider.srq_info_supported)
		ck_assert_int_eq(counts.outstanding_dto_count, 0);
	t_ok(dat_ep_free(to.ep));
	t_ok(dat_srq_free(srq));
}
END_TEST

START_TEST(EP_027_028_029_036_bad_arguments)
{
	DAT_EP_ATTR good = with_flags(DAT_COMPLETION_DEFAULT_FLAG), bad = good;
	DAT_SRQ_HANDLE freed = new_srq(t_tia.pz);
	DAT_EP_HANDLE ep;

#define CREATE(ia, pz, recv, request, conn, queue, attr) \
	dat_ep_create_with_srq(ia, pz, recv, request, conn, queue, attr, &ep)
	t_ok(dat_srq_free(freed));
	t_bad_arg_of(create(t_tia.pz, NULL, &ep), 7);
	t_bad_handle_of(CREATE(t_tia.ia, t_tia.pz, to.recv_evd, to.request_evd, to.connect_evd,
			       freed, &good),
			SRQ);
	t_bad_handle_of(CREATE(t_tia.ia, t_tia.pz, to.recv_evd, to.request_evd, to.connect_evd,
			       t_tia.pz, &good),
			SRQ);
	t_bad_handle(CREATE(t_tia.pz, t_tia.pz, to.recv_evd, to.request_evd, to.connect_evd, srq,
			    &good));
	t_bad_handle(
		CREATE(t_tia.ia, srq, to.recv_evd, to.request_evd, to.connect_evd, srq, &good));
	t_bad_handle(CREATE(t_tia.ia, t_tia.pz, to.connect_evd, to.request_evd, to.connect_evd, srq,
			    &good));
	t_bad_handle(CREATE(t_tia.ia, t_tia.pz, to.recv_evd, to.connect_evd, to.connect_evd, srq,
			    &good));
	t_bad_handle(
		CREATE(t_tia.ia, t_tia.pz, to.recv_evd, to.request_evd, to.recv_evd, srq, &good));
#undef CREATE
	bad.max_request_dtos = t_tia.attr.max_dto_per_ep + 1;
	t_bad_arg_of(create(t_tia.pz, &bad, &ep), 7);
	bad = good;
	bad.max_rdma_read_out = t_tia.attr.max_rdma_read_per_ep_out + 1;
	t_bad_arg_of(create(t_tia.pz, &bad, &ep), 7);
	t_ok(dat_srq_free(srq)); /* the failed calls do not use it any more */
}
END_TEST

START_TEST(EP_030_031_zone_of_the_endpoint_and_of_the_srq)
{
	DAT_EP_ATTR attr = with_flags(DAT_COMPLETION_DEFAULT_FLAG);
	DAT_PZ_HANDLE other;
	DAT_RETURN ret;

	t_ok(dat_pz_create(t_tia.ia, &other));
	ret = create(other, &attr, &to.ep);
	if (!t_tia.provider.srq_ep_pz_difference_supported) {
		t_bad_arg(ret);
		return;
	}
	t_ok(ret);
	t_establish(&listener, &from, &to);
	message(1); /* the buffer belongs to the PZ of the SRQ */
	t_error(t_send(&to, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_PROTECTION_VIOLATION);
}
END_TEST

START_TEST(EP_032_033_receive_attributes_are_accepted_and_not_enforced)
{
	DAT_EP_ATTR attr = with_flags(DAT_COMPLETION_DEFAULT_FLAG);
	DAT_COUNT got;

	attr.max_recv_iov = 0;
	attr.max_recv_dtos = 5;
	t_ok(create(t_tia.pz, &attr, &to.ep));
	got = t_ep_attr(to.ep).max_recv_dtos;
	ck_assert_int_eq(got, 5);
	t_establish(&listener, &from, &to);
	for (uint64_t i = 0; i < 8; i++) /* more than it may hold, one after the other */
		message(i);
	ck_assert_int_eq(t_ep_state(to.ep), DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(EP_154_reset_keeps_the_queue_and_the_attributes)
{
	DAT_EP_ATTR attr = with_flags(DAT_COMPLETION_DEFAULT_FLAG), after;
	DAT_EP_PARAM param;

	attr.max_recv_dtos = 5;
	t_ok(create(t_tia.pz, &attr, &to.ep));
	attr = t_ep_attr(to.ep);
	t_establish(&listener, &from, &to);
	message(1);
	t_ok(dat_ep_disconnect(from.ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_conn(from.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, from.ep);
	t_wait_conn(to.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, to.ep);
	t_ok(dat_ep_reset(from.ep));
	t_ok(dat_ep_reset(to.ep));
	t_ok(dat_ep_query(to.ep, DAT_EP_FIELD_ALL, &param));
	after = t_ep_attr(to.ep);
	ck_assert_mem_eq(&attr, &after, sizeof(attr));
	ck_assert_ptr_eq(param.srq_handle, srq);
	ck_assert_ptr_eq(param.pz_handle, t_tia.pz);
	ck_assert_ptr_eq(param.recv_evd_handle, to.recv_evd);
	ck_assert_ptr_eq(param.request_evd_handle, to.request_evd);
	ck_assert_ptr_eq(param.connect_evd_handle, to.connect_evd);
	t_establish(&listener, &from, &to);
	message(2); /* from the same SRQ */
}
END_TEST

START_TEST(EP_040_recv_completion_flags)
{
	static const unsigned int good[] = {0x00, 0x02, 0x04, 0x10},
				  bad[] = {0x01, 0x08, 0x06, 0x20};

	for (int i = 0; i < 4; i++) {
		DAT_EP_ATTR attr = with_flags(good[i]);
		DAT_EP_HANDLE ep;

		t_ok(create(t_tia.pz, &attr, &ep));
		t_ok(dat_ep_free(ep));
		attr = with_flags(bad[i]);
		t_bad_arg(create(t_tia.pz, &attr, &ep));
	}
}
END_TEST

START_TEST(EP_041_no_connect_evd)
{
	DAT_EP_ATTR attr = with_flags(DAT_COMPLETION_DEFAULT_FLAG);
	DAT_EP_HANDLE ep;

	t_ok(dat_ep_create_with_srq(t_tia.ia, t_tia.pz, to.recv_evd, to.request_evd,
				    DAT_HANDLE_NULL, srq, &attr, &ep));
	t_error2(t_connect(ep, &listener), DAT_INVALID_HANDLE, DAT_INVALID_STATE);
	t_ok(dat_ep_free(ep));
}
END_TEST

START_TEST(EP_043_number_of_endpoints_is_limited)
{
	DAT_EP_ATTR attr = with_flags(DAT_COMPLETION_DEFAULT_FLAG);
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_COUNT count = 0;
	DAT_EP_HANDLE ep;

	attr.max_request_dtos = attr.max_recv_dtos = 1;
	t_ok(dat_ep_free(from.ep));
	while (count <= t_tia.attr.max_ep_per_srq && ret == DAT_SUCCESS) {
		ret = create(t_tia.pz, &attr, &ep);
		count += ret == DAT_SUCCESS;
	}
	t_out_of(ret, SRQ);
	ck_assert_int_eq(count, t_tia.attr.max_ep_per_srq);
}
END_TEST

START_TEST(SRQ_027_handle_is_not_reused_at_once)
{
	DAT_SRQ_HANDLE old = new_srq(t_tia.pz);

	for (int i = 0; i < 8; i++) {
		DAT_SRQ_HANDLE next;

		t_ok(dat_srq_free(old));
		next = new_srq(t_tia.pz);
		ck_assert_ptr_ne(next, old);
		old = next;
	}
}
END_TEST

/* --- use --- */

START_TEST(EP_039_ep_keeps_its_srq_after_a_reset)
{
	/* EP-146 DTO-145 */
	connect_with(DAT_COMPLETION_DEFAULT_FLAG);
	for (uint64_t i = 0; i < 3; i++) {
		DAT_EP_PARAM param;

		message(i);
		t_ok(dat_ep_disconnect(to.ep, DAT_CLOSE_ABRUPT_FLAG));
		t_wait_conn(to.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, to.ep);
		t_wait_conn(from.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, from.ep);
		t_ok(dat_ep_reset(to.ep));
		t_ok(dat_ep_reset(from.ep));
		t_ok(dat_ep_query(to.ep, DAT_EP_FIELD_ALL, &param));
		ck_assert_ptr_eq(param.srq_handle, srq);
		t_bad_state(dat_srq_free(srq));
		t_establish(&listener, &from, &to);
	}
	message(9);
}
END_TEST

START_TEST(EP_044_endpoints_share_an_evd)
{
	DAT_EP_ATTR attr = with_flags(DAT_COMPLETION_DEFAULT_FLAG);
	struct t_end second = to, sender;

	connect_with(DAT_COMPLETION_DEFAULT_FLAG);
	t_end_new(&sender, &t_tia, NULL);
	t_ok(create(t_tia.pz, &attr, &second.ep));
	t_establish(&listener, &sender, &second);
	message(1);
	post(2, 64);
	t_ok(t_send(&sender, 0, 64, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_dto(to.recv_evd, second.ep, 2, DAT_DTO_SUCCESS, 64);
}
END_TEST

START_TEST(DTO_140_messages_keep_their_order)
{
	/* SRQ-022 EVS-122 DTO-142; messages may take the buffers in any order */
	enum { N = 40 };

	connect_with(DAT_COMPLETION_DEFAULT_FLAG);
	for (uint64_t i = 0; i < N; i++)
		post(i, 64 * i);
	for (unsigned int i = 0; i < N; i++) {
		from.buf.mem[64 * i] = (unsigned char)i;
		t_ok(t_send(&from, 64 * i, 64, i, DAT_COMPLETION_SUPPRESS_FLAG));
	}
	for (unsigned int i = 0; i < N; i++) {
		DAT_EVENT event = t_wait_for(to.recv_evd, DAT_DTO_COMPLETION_EVENT);
		uint64_t cookie = event.event_data.dto_completion_event_data.user_cookie.as_64;

		ck_assert_uint_lt(cookie, N);
		ck_assert_uint_eq(to.buf.mem[64 * cookie], i);
	}
}
END_TEST

START_TEST(EVS_045_046_047_080_081_completions_notify)
{
	/* DTO-135 DTO-137; for each configuration: whether a threshold of 2 is allowed */
	static const struct {
		unsigned int flags;
		bool counts;
	} configs[] = {{0x00, true}, {0x04, false}, {0x10, true}};
	struct t_waiter waiter;
	DAT_COUNT nmore;
	DAT_EVENT event;
	DAT_RETURN ret;

	connect_with(configs[_i].flags);
	post(1, 0);
	t_evd_waiter_start(&waiter, to.recv_evd, 1);
	t_ok(t_send(&from, 0, 64, 1, DAT_COMPLETION_SUPPRESS_FLAG));
	t_ok(t_waiter_join(&waiter));
	ck_assert_ptr_eq(waiter.event.event_data.dto_completion_event_data.ep_handle, to.ep);
	ret = dat_evd_wait(to.recv_evd, 0, 2, &event, &nmore);
	t_error(ret, configs[_i].counts ? DAT_TIMEOUT_EXPIRED : DAT_INVALID_STATE);
}
END_TEST

START_TEST(EVS_048_049_solicited_messages_notify)
{
	struct t_waiter waiter;

	connect_with(DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	post(1, 0);
	post(2, 64);
	t_evd_waiter_start(&waiter, to.recv_evd, 1);
	t_ok(t_send(&from, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(from.request_evd, from.ep, 1, DAT_DTO_SUCCESS, 64);
	for (uint64_t quiet = t_now_us() + T_QUIET_US; t_now_us() < quiet; t_pause())
		ck_assert_msg(!t_waiter_done(&waiter), "the waiter was woken");
	t_ok(t_send(&from, 0, 64, 2, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	t_ok(t_waiter_join(&waiter));
	ck_assert_int_eq(waiter.nmore, 1);
}
END_TEST

/* --- the last receive --- */

static void expect_last_receive(DAT_EP_HANDLE ep)
{
	DAT_EVENT event = t_wait_for(t_tia.async_evd, DAT_ASYNC_ERROR_EP_BROKEN);

	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, ep);
}

static void both_end(void)
{
	t_wait_conn(to.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, to.ep);
	t_wait_conn(from.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, from.ep);
}

/* Which side ends the connection, and how. The EP with its own receives has no such event. */
START_TEST(PRG_18_event_after_the_last_receive_of_an_endpoint)
{
	const DAT_CLOSE_FLAGS how = _i & 1 ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG;

	connect_with(DAT_COMPLETION_DEFAULT_FLAG);
	for (uint64_t i = 0; i < 2; i++) {
		message(i);
		t_no_event(t_tia.async_evd);
		t_ok(dat_ep_disconnect(_i & 2 ? to.ep : from.ep, how));
		both_end();
		expect_last_receive(to.ep);
		t_stays_quiet(t_tia.async_evd);
		t_ok(dat_ep_disconnect(to.ep, DAT_CLOSE_ABRUPT_FLAG));
		t_ok(dat_ep_reset(to.ep));
		t_ok(dat_ep_reset(from.ep));
		t_establish(&listener, &from, &to);
	}
	t_ok(dat_ep_free(to.ep)); /* a freed EP has no event */
	t_wait_conn(from.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, from.ep);
	t_stays_quiet(t_tia.async_evd);
}
END_TEST

START_TEST(PRG_18_no_event_of_an_endpoint_that_never_was_connected)
{
	DAT_EP_ATTR attr = with_flags(DAT_COMPLETION_DEFAULT_FLAG);

	t_ok(create(t_tia.pz, &attr, &to.ep));
	post(1, 0);
	t_ok(t_connect(to.ep, &listener));
	t_ok(t_cr_reject(t_next_cr(&listener)));
	t_wait_conn(to.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED, to.ep);
	t_stays_quiet(t_tia.async_evd);
}
END_TEST

static void open_switched_off(void)
{
	setenv("DAT_OFI_SRQ_EP_BROKEN", "no", 1);
	open_all();
}

START_TEST(PRG_18_the_event_can_be_switched_off)
{
	connect_with(DAT_COMPLETION_DEFAULT_FLAG);
	message(1);
	t_ok(dat_ep_disconnect(to.ep, DAT_CLOSE_ABRUPT_FLAG));
	both_end();
	t_stays_quiet(t_tia.async_evd);
}
END_TEST

static void add_switched_off(Suite *suite)
{
	TCase *tcase = tcase_create("srq-ep-quiet");

	tcase_add_checked_fixture(tcase, open_switched_off, close_all);
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, PRG_18_the_event_can_be_switched_off);
}

Suite *conform_srq_ep(void)
{
	Suite *suite = suite_create("srq-ep");
	TCase *tcase = tcase_create("srq-ep");

	tcase_add_checked_fixture(tcase, open_all, close_all);
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, EP_026_034_035_042_endpoint_of_an_srq);
	tcase_add_test(tcase, EP_027_028_029_036_bad_arguments);
	tcase_add_test(tcase, EP_030_031_zone_of_the_endpoint_and_of_the_srq);
	tcase_add_test(tcase, EP_032_033_receive_attributes_are_accepted_and_not_enforced);
	tcase_add_test(tcase, EP_154_reset_keeps_the_queue_and_the_attributes);
	tcase_add_test(tcase, EP_039_ep_keeps_its_srq_after_a_reset);
	tcase_add_test(tcase, EP_040_recv_completion_flags);
	tcase_add_test(tcase, EP_041_no_connect_evd);
	tcase_add_test(tcase, EP_043_number_of_endpoints_is_limited);
	tcase_add_test(tcase, EP_044_endpoints_share_an_evd);
	tcase_add_test(tcase, SRQ_027_handle_is_not_reused_at_once);
	tcase_add_test(tcase, DTO_140_messages_keep_their_order);
	tcase_add_loop_test(tcase, EVS_045_046_047_080_081_completions_notify, 0, 3);
	tcase_add_test(tcase, EVS_048_049_solicited_messages_notify);
	tcase_add_loop_test(tcase, PRG_18_event_after_the_last_receive_of_an_endpoint, 0, 4);
	tcase_add_test(tcase, PRG_18_no_event_of_an_endpoint_that_never_was_connected);
	add_switched_off(suite);
	return suite;
}
