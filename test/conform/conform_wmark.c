/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* High watermarks of endpoints. */
#include "paired.h"

static void post_receives(int n)
{
	while (n--)
		t_ok(t_recv(us, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
}

static void expect_soft(void)
{
	DAT_EVENT event = t_wait(paired.ia[0].async_evd);

	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, us->ep);
	ck_assert_int_eq(event.event_data.asynch_error_event_data.reason,
			 DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	ck_assert_int_ne(event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
}

START_TEST(EP_188_189_190_199_soft_mark_has_one_event)
{
	t_ok(dat_ep_set_watermark(us->ep, 2, DAT_WATERMARK_INFINITE));
	post_receives(2);
	t_no_event(paired.ia[0].async_evd);
	post_receives(1);
	expect_soft();
	post_receives(1);
	t_no_event(paired.ia[0].async_evd);
	t_ok(dat_ep_set_watermark(us->ep, 4, DAT_WATERMARK_INFINITE));
	post_receives(1);
	expect_soft();
	paired_send(us, peer, 16);
}
END_TEST

/* _i segments: receives with one segment take the fast path of the library. */
START_TEST(EP_188_192_receives_of_any_shape_count)
{
	DAT_LMR_TRIPLET segments[2] = {t_seg(&us->buf, 0, 8), t_seg(&us->buf, 8, 8)};

	t_ok(dat_ep_set_watermark(us->ep, 2, 3));
	for (int n = 1; n <= 4; n++) {
		t_ok(dat_ep_post_recv(us->ep, _i, segments, (DAT_DTO_COOKIE){.as_64 = 1},
				      DAT_COMPLETION_DEFAULT_FLAG));
		if (n == 3)
			expect_soft();
		t_no_event(paired.ia[0].async_evd);
		if (n == 3)
			t_stays_quiet(us->connect_evd);
	}
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_BROKEN, us->ep);
}
END_TEST

START_TEST(EP_191_a_mark_below_the_count_has_an_event_at_once)
{
	post_receives(3);
	t_ok(dat_ep_set_watermark(us->ep, 1, DAT_WATERMARK_INFINITE));
	expect_soft();
}
END_TEST

START_TEST(EP_192_hard_mark_breaks_the_connection)
{
	t_ok(dat_ep_set_watermark(us->ep, DAT_WATERMARK_INFINITE, 2));
	post_receives(2);
	t_stays_quiet(us->connect_evd);
	post_receives(1);
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_BROKEN, us->ep);
	t_no_event(paired.ia[0].async_evd);
}
END_TEST

START_TEST(EP_192_196_hard_mark_is_kept_for_the_next_connection)
{
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
	paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
	t_ok(dat_ep_set_watermark(us->ep, DAT_WATERMARK_INFINITE, 1));
	t_ok(dat_ep_reset(us->ep));
	t_ok(dat_ep_reset(peer->ep));
	/* EP-154 */
	post_receives(2);
	ck_assert_int_eq(t_ep_state(us->ep), DAT_EP_STATE_UNCONNECTED);
	t_establish(&paired.listener, us, peer);
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_BROKEN, us->ep);
}
END_TEST

START_TEST(EP_154_soft_mark_is_kept_for_the_next_connection)
{
	t_ok(dat_ep_set_watermark(us->ep, 2, DAT_WATERMARK_INFINITE));
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
	paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
	t_ok(dat_ep_reset(us->ep));
	t_ok(dat_ep_reset(peer->ep));
	t_establish(&paired.listener, us, peer);
	post_receives(2);
	t_no_event(paired.ia[0].async_evd);
	post_receives(1);
	expect_soft();
}
END_TEST

START_TEST(EP_193_marks_are_independent)
{
	t_ok(dat_ep_set_watermark(us->ep, 3, 1));
	post_receives(2);
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_BROKEN, us->ep);
	t_no_event(paired.ia[0].async_evd);
}
END_TEST

START_TEST(EP_195_197_arguments)
{
	DAT_COUNT max = t_ep_attr(us->ep).max_recv_dtos;

	t_ok(dat_ep_set_watermark(us->ep, max, max));
	t_ok(dat_ep_set_watermark(us->ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE));
	t_bad_arg(dat_ep_set_watermark(us->ep, max + 1, 1));
	t_bad_arg(dat_ep_set_watermark(us->ep, 1, max + 1));
	t_bad_arg(dat_ep_set_watermark(us->ep, -2, 1));
	t_bad_arg(dat_ep_set_watermark(us->ep, 1, -2));
	t_error_sub(dat_ep_set_watermark(us->request_evd, 1, 1), DAT_INVALID_HANDLE,
		    DAT_INVALID_HANDLE_EP);
	t_no_event(paired.ia[0].async_evd);
}
END_TEST

START_TEST(EP_198_a_missing_buffer_does_not_affect_the_marks)
{
	t_ok(dat_ep_set_watermark(us->ep, 1, 1));
	t_ok(t_send(peer, 0, 16, 9, DAT_COMPLETION_DEFAULT_FLAG));
	t_stays_quiet(us->connect_evd);
	post_receives(1);
	t_wait_dto(us->recv_evd, us->ep, 1, DAT_DTO_SUCCESS, 16);
	t_no_event(paired.ia[0].async_evd);
}
END_TEST

/* An EP of an SRQ holds the buffers that its messages have taken: one at a time. */

static DAT_EP_HANDLE srq_ep(struct t_end *end, DAT_SRQ_HANDLE *srq, DAT_COUNT soft)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 8, .max_recv_iov = 1};
	DAT_EP_ATTR ep_attr = t_default_attr(end->on);
	DAT_LMR_TRIPLET segment;
	DAT_EP_HANDLE ep;

	t_end_new(end, end->on, NULL);
	t_ok(dat_ep_free(end->ep));
	t_ok(dat_srq_create(end->on->ia, end->on->pz, &attr, srq));
	segment = t_seg(&end->buf, 0, 64);
	for (int i = 0; i < 4; i++)
		t_ok(dat_srq_post_recv(*srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1}));
	ep_attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	ep_attr.srq_soft_hw = soft;
	t_ok(dat_ep_create_with_srq(end->on->ia, end->on->pz, end->recv_evd, end->request_evd,
				    end->connect_evd, *srq, &ep_attr, &ep));
	return ep;
}

static void receive_one(struct t_end *from, struct t_end *to)
{
	t_ok(t_send(from, 0, 16, 3, DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_dto(to->recv_evd, to->ep, 1, DAT_DTO_SUCCESS, 16);
}

START_TEST(EP_188_192_marks_of_an_EP_with_SRQ)
{
	struct t_end from, to = {.on = &paired.ia[1]};
	DAT_SRQ_HANDLE srq;
	DAT_EVENT event;

	to.ep = srq_ep(&to, &srq, 1);
	ck_assert_int_eq(t_ep_attr(to.ep).srq_soft_hw, 1);
	t_end_new(&from, &paired.ia[0], NULL);
	t_establish(&paired.listener, &from, &to);
	receive_one(&from, &to);
	t_no_event(paired.ia[1].async_evd);
	t_ok(dat_ep_set_watermark(to.ep, 0, DAT_WATERMARK_INFINITE));
	ck_assert_int_eq(t_ep_attr(to.ep).srq_soft_hw, 0);
	receive_one(&from, &to);
	event = t_wait(paired.ia[1].async_evd);
	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, to.ep);
	t_ok(dat_ep_set_watermark(to.ep, DAT_WATERMARK_INFINITE, 0));
	receive_one(&from, &to);
	t_wait_conn(to.connect_evd, DAT_CONNECTION_EVENT_BROKEN, to.ep);
}
END_TEST

START_TEST(EP_188_an_EP_with_SRQ_has_no_mark_by_default)
{
	struct t_end from, to = {.on = &paired.ia[1]};
	DAT_SRQ_HANDLE srq;

	to.ep = srq_ep(&to, &srq, 0);
	t_end_new(&from, &paired.ia[0], NULL);
	t_establish(&paired.listener, &from, &to);
	for (int i = 0; i < 4; i++)
		receive_one(&from, &to);
	t_no_event(paired.ia[1].async_evd);
}
END_TEST

START_TEST(EP_188_the_mark_of_an_EP_with_SRQ_is_modified)
{
	DAT_EP_PARAM param = {.ep_attr = {.srq_soft_hw = 1}};
	struct t_end from, to = {.on = &paired.ia[1]};
	DAT_SRQ_HANDLE srq;
	DAT_EVENT event;

	to.ep = srq_ep(&to, &srq, 0);
	t_ok(dat_ep_modify(to.ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &param));
	ck_assert_int_eq(t_ep_attr(to.ep).srq_soft_hw, 1);
	t_end_new(&from, &paired.ia[0], NULL);
	t_establish(&paired.listener, &from, &to);
	receive_one(&from, &to);
	t_no_event(paired.ia[1].async_evd);
	t_ok(dat_ep_set_watermark(to.ep, 0, DAT_WATERMARK_INFINITE));
	receive_one(&from, &to);
	event = t_wait(paired.ia[1].async_evd);
	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, to.ep);
}
END_TEST

Suite *conform_wmark(void)
{
	Suite *suite = suite_create("wmark");
	TCase *tcase = paired_case(suite, "wmark");

	tcase_add_test(tcase, EP_188_189_190_199_soft_mark_has_one_event);
	tcase_add_loop_test(tcase, EP_188_192_receives_of_any_shape_count, 0, 3);
	tcase_add_test(tcase, EP_191_a_mark_below_the_count_has_an_event_at_once);
	tcase_add_test(tcase, EP_192_hard_mark_breaks_the_connection);
	tcase_add_test(tcase, EP_192_196_hard_mark_is_kept_for_the_next_connection);
	tcase_add_test(tcase, EP_154_soft_mark_is_kept_for_the_next_connection);
	tcase_add_test(tcase, EP_193_marks_are_independent);
	tcase_add_test(tcase, EP_195_197_arguments);
	tcase_add_test(tcase, EP_198_a_missing_buffer_does_not_affect_the_marks);
	tcase_add_test(tcase, EP_188_192_marks_of_an_EP_with_SRQ);
	tcase_add_test(tcase, EP_188_an_EP_with_SRQ_has_no_mark_by_default);
	tcase_add_test(tcase, EP_188_the_mark_of_an_EP_with_SRQ_is_modified);
	return suite;
}
