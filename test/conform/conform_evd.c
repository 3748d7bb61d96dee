/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* EVDs: creation and free, attributes, CNO, states, length. conform_queue.c tests the events. */
#include "conform.h"

#define ALL_FLAGS ((DAT_EVD_FLAGS)(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG))

static DAT_EVD_PARAM query(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	t_ok(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	return param;
}

static DAT_RETURN create(DAT_COUNT qlen, DAT_CNO_HANDLE cno, unsigned int flags)
{
	DAT_EVD_HANDLE evd;

	return dat_evd_create(t_tia.ia, qlen, cno, (DAT_EVD_FLAGS)flags, &evd);
}

static void cno_is_quiet(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd;

	t_error(t_poll_cno(cno, &evd), DAT_QUEUE_EMPTY);
}

static void cno_has_hint(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE expected)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	t_ok(dat_cno_wait(cno, T_LIMIT_US, &evd));
	ck_assert_ptr_eq(evd, expected);
}

/* --- create --- */

START_TEST(EVD_001_new_evd_is_enabled_waitable_and_empty)
{
	DAT_EVD_HANDLE evd = soft_evd(1);
	DAT_EVENT event;

	ck_assert_int_eq(query(evd).evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
	t_error(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
}
END_TEST

START_TEST(EVD_002_queue_is_at_least_as_long_as_asked)
{
	static const DAT_COUNT asked[] = {1, 2, 3, 10, 100, 1000, 51200};

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		DAT_EVD_HANDLE evd = soft_evd(asked[i]);
		DAT_COUNT qlen = query(evd).evd_qlen;

		ck_assert_int_ge(qlen, asked[i]);
		for (DAT_COUNT n = 0; n < qlen; n++)
			t_ok(t_post_se(evd, marks));
		t_error(t_post_se(evd, marks), DAT_QUEUE_FULL);
	}
}
END_TEST

START_TEST(EVD_003_013_create_refuses_bad_arguments)
{
	t_bad_arg_of(create(0, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG), 2);
	t_bad_arg_of(create(-1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG), 2);
	t_bad_arg_of(create(INT32_MIN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG), 2);
	t_bad_arg_of(dat_evd_create(t_tia.ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, NULL), 5);
}
END_TEST

START_TEST(IA_047_as_many_evds_as_the_attribute_says)
{
	DAT_COUNT n = 0, max = t_tia.attr.max_evds;
	DAT_EVD_HANDLE *evds = calloc((size_t)max, sizeof(*evds)), one_more;
	DAT_RETURN ret = DAT_SUCCESS;

	ck_assert_int_ge(max, t_tia.attr.max_eps);
	/* The IA has one for asynchronous errors. */
	for (n = 1; n < max && ret == DAT_SUCCESS; n++)
		ret = dat_evd_create(t_tia.ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evds[n]);
	t_ok(ret);
	t_out_of(dat_evd_create(t_tia.ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &one_more), TEVD);
	t_ok(dat_evd_free(evds[1]));
	t_ok(dat_evd_create(t_tia.ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evds[1]));
	for (n = 1; n < max; n++)
		t_ok(dat_evd_free(evds[n]));
	free(evds);
}
END_TEST

START_TEST(EVD_004_create_refuses_more_than_max_evd_qlen)
{
	/* IA-048 */
	ck_assert_int_lt(t_tia.attr.max_evd_qlen, INT32_MAX);
	t_error2(create(t_tia.attr.max_evd_qlen + 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG),
		 DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_PARAMETER);
}
END_TEST

START_TEST(EVD_005_evd_without_cno_can_be_waited_on)
{
	DAT_EVD_HANDLE evd = soft_evd(2);

	ck_assert_ptr_null(query(evd).cno_handle);
	t_ok(t_post_se(evd, marks));
	t_wait_se(evd, marks);
}
END_TEST

START_TEST(EVD_006_create_refuses_handles_other_than_a_cno)
{
	/* IA-016 */
	DAT_CNO_HANDLE freed = t_cno(&t_tia);
	struct t_ia other;

	t_ok(dat_cno_free(freed));
	t_ia_open(&other);
	t_bad_handle_of(create(1, freed, DAT_EVD_DTO_FLAG), CNO);
	t_bad_handle_of(create(1, t_tia.pz, DAT_EVD_DTO_FLAG), CNO);
	t_bad_handle_of(create(1, soft_evd(1), DAT_EVD_DTO_FLAG), CNO);
	t_error2(create(1, t_cno(&other), DAT_EVD_DTO_FLAG), DAT_INVALID_HANDLE,
		 DAT_INVALID_PARAMETER);
	t_ia_close(&other);
}
END_TEST

START_TEST(EVD_007_022_cno_is_in_use_until_freed_or_detached)
{
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE one = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_HANDLE two = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);

	t_bad_state(dat_cno_free(cno));
	t_ok(dat_evd_free(one));
	t_bad_state(dat_cno_free(cno));
	t_ok(dat_evd_modify_cno(two, DAT_HANDLE_NULL));
	t_ok(dat_cno_free(cno));
	t_ok(dat_evd_free(two));
}
END_TEST

START_TEST(EVD_008_create_refuses_bad_flags)
{
	static const unsigned int bad[] = {
		0, 0x2, 0x4, 0x8, T_DAT_MAJOR == 1 ? 0x200 : 0x800, 0x400, 0x40000000};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		t_bad_arg_of(create(1, DAT_HANDLE_NULL, bad[i]), 4);
		if (bad[i])
			t_bad_arg_of(create(1, DAT_HANDLE_NULL, bad[i] | DAT_EVD_DTO_FLAG), 4);
	}
}
END_TEST

static const unsigned int stream_flags[6] = {
	DAT_EVD_SOFTWARE_FLAG,   DAT_EVD_CR_FLAG,       DAT_EVD_DTO_FLAG,
	DAT_EVD_CONNECTION_FLAG, DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
};

START_TEST(EVD_009_010_flags_go_together_as_the_attribute_says)
{
	/* IA-055 EVS-107 */
	bool all = true;

	for (int i = 0; i < 6; i++) {
		ck_assert(t_tia.provider.evd_stream_merging_supported[i][i]);
		t_ok(create(1, DAT_HANDLE_NULL, stream_flags[i]));
		for (int j = 0; j < 6; j++) {
			bool may = t_tia.provider.evd_stream_merging_supported[i][j];
			unsigned int both = stream_flags[i] | stream_flags[j];

			ck_assert_int_eq(may,
					 t_tia.provider.evd_stream_merging_supported[j][i] != 0);
			all = all && may;
			if (may)
				t_ok(create(1, DAT_HANDLE_NULL, both));
			else
				t_error2(create(1, DAT_HANDLE_NULL, both), DAT_INVALID_PARAMETER,
					 DAT_MODEL_NOT_SUPPORTED);
		}
	}
	if (all)
		t_ok(create(1, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG));
}
END_TEST

START_TEST(EVD_010_default_flag_is_all_but_software)
{
	/* EVS-106 */
	ck_assert_int_eq(DAT_EVD_DEFAULT_FLAG, 0x1f0);
	t_ok(create(8, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG));
	t_ok(create(8, DAT_HANDLE_NULL, ALL_FLAGS));
}
END_TEST

START_TEST(EVD_014_113_failure_for_lack_of_memory_changes_nothing)
{
	DAT_EVD_HANDLE evd = soft_evd(4);
	DAT_COUNT qlen = query(evd).evd_qlen;
	DAT_RETURN created, resized;

	t_ok(t_post_se(evd, marks));
	if (!t_limit_memory(1 << 20))
		t_skip("a sanitizer needs address space without limit");
	created = create(t_tia.attr.max_evd_qlen, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	resized = dat_evd_resize(evd, t_tia.attr.max_evd_qlen);
	t_unlimit_memory();
	t_out_of(created, MEMORY);
	t_out_of(resized, MEMORY);
	ck_assert_int_eq(query(evd).evd_qlen, qlen);
	t_wait_se(evd, marks);
	t_ok(create(t_tia.attr.max_evd_qlen, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG));
}
END_TEST

/* --- free --- */

START_TEST(EVD_015_free_loses_the_events)
{
	/* EVD-023 */
	DAT_EVD_HANDLE evd = soft_evd(4);

	t_ok(t_post_se(evd, marks));
	t_ok(dat_evd_free(evd));
}
END_TEST

START_TEST(EVD_016_017_free_waits_for_endpoints)
{
	DAT_EVD_HANDLE evd[3], spare = t_evd(&t_tia, 4, DAT_EVD_DEFAULT_FLAG);
	DAT_EP_PARAM param = {.recv_evd_handle = spare};
	DAT_EP_HANDLE ep;

	for (int i = 0; i < 3; i++)
		evd[i] = t_evd(&t_tia, 4, DAT_EVD_DEFAULT_FLAG);
	t_ok(dat_ep_create(t_tia.ia, t_tia.pz, evd[0], evd[1], evd[2], NULL, &ep));
	for (int i = 0; i < 3; i++)
		t_bad_state_of(dat_evd_free(evd[i]), EVD_IN_USE);
	t_ok(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	t_bad_state_of(dat_evd_free(spare), EVD_IN_USE);
	t_ok(dat_evd_free(evd[0]));
	t_ok(dat_ep_free(ep));
	t_ok(dat_evd_free(evd[1]));
	t_ok(dat_evd_free(evd[2]));
	t_ok(dat_evd_free(spare));
}
END_TEST

START_TEST(EVD_016_017_free_waits_for_service_points)
{
	/* PSP-019 RSP-022 */
	struct t_listener listener;
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	struct t_end end;
	DAT_RSP_HANDLE rsp;

	t_listen(&listener, &t_tia, DAT_PSP_CONSUMER_FLAG);
	qual = listener.qual;
	t_bad_state_of(dat_evd_free(listener.evd), EVD_IN_USE);
	t_listener_free(&listener);
	evd = t_evd(&t_tia, 4, DAT_EVD_CR_FLAG);
	t_end_new(&end, &t_tia, NULL);
	t_ok(dat_rsp_create(t_tia.ia, qual, end.ep, evd, &rsp));
	t_bad_state_of(dat_evd_free(evd), EVD_IN_USE);
	t_ok(dat_rsp_free(rsp));
	t_ok(dat_evd_free(evd));
}
END_TEST

START_TEST(EVD_016_free_waits_for_the_ia)
{
	t_bad_state_of(dat_evd_free(t_tia.async_evd), EVD_IN_USE);
	t_no_event(t_tia.async_evd);
}
END_TEST

START_TEST(EVD_019_076_free_aborts_the_waiter)
{
	DAT_EVD_HANDLE evd = soft_evd(4);
	struct t_waiter waiter;

	t_evd_waiter_start(&waiter, evd, 1);
	t_ok(dat_evd_free(evd));
	t_error(t_waiter_join(&waiter), DAT_ABORT);
}
END_TEST

START_TEST(EVD_020_free_of_the_last_evd_wakes_the_waiter_of_the_cno)
{
	/* CNO-033 */
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE one = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_HANDLE two = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);
	struct t_waiter waiter;

	t_cno_waiter_start(&waiter, cno);
	waiter.evd = cno;
	t_ok(dat_evd_free(one));
	ck_assert(!t_waiter_done(&waiter));
	t_ok(dat_evd_free(two));
	t_ok(t_waiter_join(&waiter));
	ck_assert_ptr_null(waiter.evd);
}
END_TEST

START_TEST(EVD_021_freed_evd_is_no_hint)
{
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE one = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_HANDLE two = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_HANDLE hint = cno;

	t_ok(t_post_se(one, marks));
	t_ok(t_post_se(two, marks));
	t_ok(dat_evd_free(one));
	t_ok(dat_cno_wait(cno, T_LIMIT_US, &hint));
	ck_assert(hint == DAT_HANDLE_NULL || hint == two);
}
END_TEST

/* --- query --- */

START_TEST(EVD_024_query_returns_the_values_of_the_creation)
{
	/* EVD-030 IA-021 */
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_FLAGS flags = DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG;
	DAT_EVD_PARAM param = query(t_evd_of_cno(&t_tia, cno, flags));

	ck_assert_ptr_eq(param.ia_handle, t_tia.ia);
	ck_assert_ptr_eq(param.cno_handle, cno);
	ck_assert_int_eq(param.evd_flags, flags);
	ck_assert_int_ge(param.evd_qlen, 16);
	ck_assert_ptr_null(query(soft_evd(1)).cno_handle);
}
END_TEST

static const struct {
	DAT_COMPLETION_FLAGS recv_flags;
	DAT_EVD_STATE state;
} configs[] = {
	{DAT_COMPLETION_DEFAULT_FLAG, DAT_EVD_STATE_CONFIG_THRESHOLD},
	{DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_EVD_STATE_CONFIG_THRESHOLD},
	{DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_EVD_STATE_CONFIG_NOTIFY},
	{DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_EVD_STATE_CONFIG_SOLICITED},
};

START_TEST(EVD_025_state_tells_how_completions_notify)
{
	const unsigned int config_bits = DAT_EVD_STATE_CONFIG_THRESHOLD;
	DAT_EP_ATTR attr = t_default_attr(&t_tia);
	struct t_end end;
	DAT_EVD_STATE state;

	attr.recv_completion_flags = configs[_i].recv_flags;
	t_end_new(&end, &t_tia, &attr);
	state = query(end.recv_evd).evd_state;
	ck_assert_int_eq(state & config_bits, configs[_i].state);
	ck_assert_int_eq(state & ~config_bits, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
	ck_assert_int_eq(query(end.connect_evd).evd_state & config_bits, 0);
}
END_TEST

START_TEST(EVD_026_query_tells_changes_at_once)
{
	DAT_EVD_HANDLE evd = soft_evd(4);
	DAT_CNO_HANDLE cno = t_cno(&t_tia);

	t_ok(dat_evd_disable(evd));
	ck_assert_int_eq(query(evd).evd_state, DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_WAITABLE);
	t_ok(dat_evd_set_unwaitable(evd));
	ck_assert_int_eq(query(evd).evd_state, DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_UNWAITABLE);
	t_ok(dat_evd_enable(evd));
	ck_assert_int_eq(query(evd).evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_UNWAITABLE);
	t_ok(dat_evd_clear_unwaitable(evd));
	ck_assert_int_eq(query(evd).evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
	t_ok(dat_evd_modify_cno(evd, cno));
	ck_assert_ptr_eq(query(evd).cno_handle, cno);
	t_ok(dat_evd_resize(evd, 300));
	ck_assert_int_ge(query(evd).evd_qlen, 300);
}
END_TEST

START_TEST(EVD_027_028_query_refuses_bad_arguments)
{
	DAT_EVD_HANDLE evd = soft_evd(1);
	DAT_EVD_PARAM param;

	t_ok(dat_evd_query(evd, (DAT_EVD_PARAM_MASK)0x80000000u, &param));
	ck_assert_int_eq(param.evd_flags, DAT_EVD_SOFTWARE_FLAG);
	t_bad_arg_of(dat_evd_query(evd, DAT_EVD_FIELD_ALL, NULL), 3);
}
END_TEST

/* --- CNO, enable and disable --- */

START_TEST(EVD_031_032_modify_cno_moves_the_notification)
{
	/* EVS-028 */
	DAT_CNO_HANDLE old = t_cno(&t_tia), new = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = t_evd_of_cno(&t_tia, old, DAT_EVD_SOFTWARE_FLAG);

	t_ok(dat_evd_modify_cno(evd, new));
	t_ok(t_post_se(evd, marks));
	cno_has_hint(new, evd);
	cno_is_quiet(old);
	t_ok(dat_cno_free(old));
	t_ok(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	t_ok(t_post_se(evd, marks));
	cno_is_quiet(new);
	t_ok(dat_cno_free(new));
	ck_assert_int_eq(t_drain(evd), 2);
}
END_TEST

START_TEST(EVD_033_modify_cno_refuses_handles_other_than_a_cno)
{
	/* IA-016 */
	DAT_CNO_HANDLE cno = t_cno(&t_tia), freed = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);
	struct t_ia other;

	t_ok(dat_cno_free(freed));
	t_ia_open(&other);
	t_bad_handle_of(dat_evd_modify_cno(evd, freed), CNO);
	t_bad_handle_of(dat_evd_modify_cno(evd, evd), CNO);
	t_error2(dat_evd_modify_cno(evd, t_cno(&other)), DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
	t_ia_close(&other);
	ck_assert_ptr_eq(query(evd).cno_handle, cno);
	t_ok(t_post_se(evd, marks));
	cno_has_hint(cno, evd);
}
END_TEST

START_TEST(EVD_035_modify_to_the_same_cno_counts_once)
{
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);

	t_ok(dat_evd_modify_cno(evd, cno));
	t_ok(dat_evd_free(evd));
	t_ok(dat_cno_free(cno));
}
END_TEST

START_TEST(EVD_037_safe_sequence_silences_the_old_cno)
{
	/* EVS-027 */
	DAT_CNO_HANDLE old = t_cno(&t_tia), new = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = t_evd_of_cno(&t_tia, old, DAT_EVD_SOFTWARE_FLAG);

	t_ok(dat_evd_disable(evd));
	t_ok(t_post_se(evd, &marks[0]));
	t_ok(dat_evd_modify_cno(evd, new));
	t_ok(dat_evd_enable(evd));
	ck_assert_int_eq(t_drain(evd), 1);
	t_ok(t_post_se(evd, &marks[1]));
	cno_has_hint(new, evd);
	cno_is_quiet(old);
	t_wait_se(evd, &marks[1]);
}
END_TEST

START_TEST(EVD_038_039_queued_events_do_not_notify_the_new_cno)
{
	/* EVS-029 */
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = soft_evd(4);

	t_ok(t_post_se(evd, &marks[0]));
	t_ok(t_post_se(evd, &marks[1]));
	t_ok(dat_evd_set_unwaitable(evd));
	t_ok(dat_evd_modify_cno(evd, cno));
	cno_is_quiet(cno);
	ck_assert_int_eq(query(evd).evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_UNWAITABLE);
	t_ok(dat_evd_clear_unwaitable(evd));
	t_wait_se(evd, &marks[0]);
	t_wait_se(evd, &marks[1]);
	t_ok(dat_evd_disable(evd));
	t_ok(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	ck_assert_int_eq(query(evd).evd_state, DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_WAITABLE);
}
END_TEST

START_TEST(EVD_040_042_045_disabled_evd_does_not_notify)
{
	/* CNO-043 EVS-025 EVS-026 */
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);

	t_ok(dat_evd_disable(evd));
	t_ok(t_post_se(evd, &marks[0]));
	cno_is_quiet(cno);
	t_ok(dat_evd_enable(evd));
	cno_is_quiet(cno);
	t_ok(t_post_se(evd, &marks[1]));
	cno_has_hint(cno, evd);
	t_wait_se(evd, &marks[0]);
	t_wait_se(evd, &marks[1]);
}
END_TEST

START_TEST(EVD_041_043_046_enable_and_disable_twice_or_without_cno)
{
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_HANDLE without = soft_evd(1);

	t_ok(dat_evd_enable(evd));
	cno_is_quiet(cno);
	t_ok(dat_evd_disable(evd));
	t_ok(dat_evd_disable(evd));
	t_ok(t_post_se(evd, marks));
	cno_is_quiet(cno);
	t_ok(dat_evd_disable(without));
	t_ok(dat_evd_enable(without));
	t_ok(t_post_se(without, marks));
	t_wait_se(without, marks);
}
END_TEST

START_TEST(EVD_047_080_disabled_evd_can_be_waited_on)
{
	/* EVS-025 EVD-087 */
	DAT_EVD_HANDLE evd = soft_evd(4);
	struct t_waiter waiter;
	DAT_EVENT event;

	t_ok(dat_evd_disable(evd));
	t_ok(t_post_se(evd, &marks[0]));
	t_ok(dat_evd_dequeue(evd, &event));
	t_ok(t_post_se(evd, &marks[1]));
	t_wait_se(evd, &marks[1]);
	t_evd_waiter_start(&waiter, evd, 1);
	t_ok(t_post_se(evd, &marks[2]));
	t_ok(t_waiter_join(&waiter));
	ck_assert_ptr_eq(waiter.event.event_data.software_event_data.pointer, &marks[2]);
}
END_TEST

/* --- unwaitable --- */

START_TEST(EVD_050_052_053_069_unwaitable_evd)
{
	/* EVS-021 EVS-023 EVD-087 */
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = t_evd_of_cno(&t_tia, cno, DAT_EVD_SOFTWARE_FLAG);
	DAT_COUNT nmore;
	DAT_EVENT event;

	t_ok(dat_evd_set_unwaitable(evd));
	t_bad_state_of(dat_evd_wait(evd, 0, 1, &event, &nmore), EVD_UNWAITABLE);
	t_ok(t_post_se(evd, marks));
	t_bad_state_of(dat_evd_wait(evd, 0, 1, &event, &nmore), EVD_UNWAITABLE);
	t_bad_state_of(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore), EVD_UNWAITABLE);
	cno_has_hint(cno, evd);
	t_ok(dat_evd_dequeue(evd, &event));
	ck_assert_ptr_eq(event.event_data.software_event_data.pointer, marks);
	t_ok(dat_evd_disable(evd));
	t_bad_state_of(dat_evd_wait(evd, 0, 1, &event, &nmore), EVD_UNWAITABLE);
	t_ok(t_post_se(evd, marks));
	t_ok(dat_evd_dequeue(evd, &event));
	cno_is_quiet(cno);
}
END_TEST

START_TEST(EVD_051_set_unwaitable_wakes_the_waiter)
{
	/* EVS-022 */
	DAT_EVD_HANDLE evd = soft_evd(4);
	struct t_waiter waiter;

	t_evd_waiter_start(&waiter, evd, 2);
	t_ok(t_post_se(evd, marks));
	t_ok(dat_evd_set_unwaitable(evd));
	t_bad_state_of(t_waiter_join(&waiter), EVD_UNWAITABLE);
	ck_assert_int_eq(t_drain(evd), 1);
}
END_TEST

START_TEST(EVD_054_056_057_unwaitable_and_back)
{
	/* EVS-024 */
	DAT_EVD_HANDLE evd = soft_evd(4);

	t_ok(dat_evd_clear_unwaitable(evd));
	t_ok(dat_evd_set_unwaitable(evd));
	t_ok(dat_evd_set_unwaitable(evd));
	t_ok(t_post_se(evd, marks));
	t_ok(dat_evd_clear_unwaitable(evd));
	t_wait_se(evd, marks);
}
END_TEST

/* --- resize --- */

static void expect_marks(DAT_EVD_HANDLE evd, int from, int to)
{
	for (int i = from; i < to; i++)
		t_wait_se(evd, &marks[i]);
	t_no_event(evd);
}

START_TEST(EVD_107_110_resize_keeps_the_events)
{
	/* EVS-030 EVS-031 */
	DAT_EVD_HANDLE evd = soft_evd(8);

	post_marks(evd, 0, 6);
	t_wait_se(evd, &marks[0]);
	post_marks(evd, 6, 8);
	t_ok(dat_evd_resize(evd, 64));
	ck_assert_int_ge(query(evd).evd_qlen, 64);
	post_marks(evd, 8, 32);
	t_ok(dat_evd_resize(evd, query(evd).evd_qlen));
	t_ok(dat_evd_resize(evd, 31));
	ck_assert_int_ge(query(evd).evd_qlen, 31);
	expect_marks(evd, 1, 32);
}
END_TEST

START_TEST(EVD_108_109_resize_refuses_bad_lengths)
{
	/* EVS-031 IA-048 */
	DAT_EVD_HANDLE evd = soft_evd(8);
	DAT_COUNT qlen = query(evd).evd_qlen;

	post_marks(evd, 0, 5);
	t_bad_state(dat_evd_resize(evd, 4));
	t_bad_arg_of(dat_evd_resize(evd, 0), 2);
	t_bad_arg_of(dat_evd_resize(evd, -3), 2);
	t_error2(dat_evd_resize(evd, t_tia.attr.max_evd_qlen + 1), DAT_INVALID_PARAMETER,
		 DAT_INSUFFICIENT_RESOURCES);
	ck_assert_int_eq(query(evd).evd_qlen, qlen);
	expect_marks(evd, 0, 5);
}
END_TEST

static void *token(int i)
{
	return (void *)((uintptr_t)i + 1);
}

struct posting {
	DAT_EVD_HANDLE evd;
	int count;
	bool failed;
};

static void *post_many(void *arg)
{
	struct posting *posting = arg;

	for (int i = 0; i < posting->count && !posting->failed; i++) {
		DAT_RETURN ret;

		while (DAT_GET_TYPE(ret = t_post_se(posting->evd, token(i))) == DAT_QUEUE_FULL)
			t_pause();
		posting->failed = ret != DAT_SUCCESS;
	}
	return NULL;
}

START_TEST(EVD_111_events_that_come_during_a_resize)
{
	struct posting posting = {.evd = soft_evd(64), .count = 5000};
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, post_many, &posting), 0);
	for (int i = 0; i < posting.count; i++) {
		DAT_RETURN ret = dat_evd_resize(posting.evd, i & 1 ? 16 : 128);

		if (ret != DAT_SUCCESS)
			t_bad_state(ret); /* more than 16 are queued */
		t_wait_se(posting.evd, token(i));
	}
	t_join(thread);
	ck_assert(!posting.failed);
	t_no_event(posting.evd);
}
END_TEST

START_TEST(EVD_112_resize_does_not_end_a_wait)
{
	/* EVS-013 */
	DAT_EVD_HANDLE evd = soft_evd(4);
	struct t_waiter waiter;

	t_evd_waiter_start(&waiter, evd, 3);
	t_bad_state_of(dat_evd_resize(evd, 2), EVD_WAITER);
	t_bad_state_of(dat_evd_resize(evd, 64), EVD_WAITER);
	ck_assert(!t_waiter_done(&waiter));
	post_marks(evd, 0, 3);
	t_ok(t_waiter_join(&waiter));
}
END_TEST

START_TEST(EVD_116_resize_changes_nothing_else)
{
	DAT_CNO_HANDLE cno = t_cno(&t_tia);
	DAT_EVD_HANDLE evd = t_evd_of_cno(&t_tia, cno, ALL_FLAGS);
	DAT_EVD_PARAM before, after;
	DAT_EP_HANDLE ep;

	t_ok(dat_ep_create(t_tia.ia, t_tia.pz, evd, evd, evd, NULL, &ep));
	t_ok(dat_evd_disable(evd));
	t_ok(dat_evd_set_unwaitable(evd));
	before = query(evd);
	t_ok(dat_evd_resize(evd, 500));
	after = query(evd);
	ck_assert_int_eq(after.evd_state, before.evd_state);
	ck_assert_int_eq(after.evd_flags, before.evd_flags);
	ck_assert_ptr_eq(after.cno_handle, cno);
	t_bad_state(dat_evd_free(evd));
	t_bad_state(dat_cno_free(cno));
}
END_TEST

Suite *conform_evd(void)
{
	Suite *suite = suite_create("evd");
	TCase *tc = conform_case(suite, "evd_create");

	tcase_add_test(tc, EVD_001_new_evd_is_enabled_waitable_and_empty);
	tcase_add_test(tc, EVD_002_queue_is_at_least_as_long_as_asked);
	tcase_add_test(tc, EVD_003_013_create_refuses_bad_arguments);
	tcase_add_test(tc, IA_047_as_many_evds_as_the_attribute_says);
	tcase_add_test(tc, EVD_004_create_refuses_more_than_max_evd_qlen);
	tcase_add_test(tc, EVD_005_evd_without_cno_can_be_waited_on);
	tcase_add_test(tc, EVD_006_create_refuses_handles_other_than_a_cno);
	tcase_add_test(tc, EVD_007_022_cno_is_in_use_until_freed_or_detached);
	tcase_add_test(tc, EVD_008_create_refuses_bad_flags);
	tcase_add_test(tc, EVD_009_010_flags_go_together_as_the_attribute_says);
	tcase_add_test(tc, EVD_010_default_flag_is_all_but_software);
	tcase_add_test(tc, EVD_014_113_failure_for_lack_of_memory_changes_nothing);

	tc = conform_case(suite, "evd_free");
	tcase_add_test(tc, EVD_015_free_loses_the_events);
	tcase_add_test(tc, EVD_016_017_free_waits_for_endpoints);
	tcase_add_test(tc, EVD_016_017_free_waits_for_service_points);
	tcase_add_test(tc, EVD_016_free_waits_for_the_ia);
	tcase_add_test(tc, EVD_019_076_free_aborts_the_waiter);
	tcase_add_test(tc, EVD_020_free_of_the_last_evd_wakes_the_waiter_of_the_cno);
	tcase_add_test(tc, EVD_021_freed_evd_is_no_hint);

	tc = conform_case(suite, "evd_query");
	tcase_add_test(tc, EVD_024_query_returns_the_values_of_the_creation);
	tcase_add_loop_test(tc, EVD_025_state_tells_how_completions_notify, 0,
			    sizeof(configs) / sizeof(configs[0]));
	tcase_add_test(tc, EVD_026_query_tells_changes_at_once);
	tcase_add_test(tc, EVD_027_028_query_refuses_bad_arguments);

	tc = conform_case(suite, "evd_notify");
	tcase_add_test(tc, EVD_031_032_modify_cno_moves_the_notification);
	tcase_add_test(tc, EVD_033_modify_cno_refuses_handles_other_than_a_cno);
	tcase_add_test(tc, EVD_035_modify_to_the_same_cno_counts_once);
	tcase_add_test(tc, EVD_037_safe_sequence_silences_the_old_cno);
	tcase_add_test(tc, EVD_038_039_queued_events_do_not_notify_the_new_cno);
	tcase_add_test(tc, EVD_040_042_045_disabled_evd_does_not_notify);
	tcase_add_test(tc, EVD_041_043_046_enable_and_disable_twice_or_without_cno);
	tcase_add_test(tc, EVD_047_080_disabled_evd_can_be_waited_on);
	tcase_add_test(tc, EVD_050_052_053_069_unwaitable_evd);
	tcase_add_test(tc, EVD_051_set_unwaitable_wakes_the_waiter);
	tcase_add_test(tc, EVD_054_056_057_unwaitable_and_back);

	tc = conform_case(suite, "evd_resize");
	tcase_add_test(tc, EVD_107_110_resize_keeps_the_events);
	tcase_add_test(tc, EVD_108_109_resize_refuses_bad_lengths);
	tcase_add_test(tc, EVD_111_events_that_come_during_a_resize);
	tcase_add_test(tc, EVD_112_resize_does_not_end_a_wait);
	tcase_add_test(tc, EVD_116_resize_changes_nothing_else);
	return suite;
}
