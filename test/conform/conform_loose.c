/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules that allow several results (MAY, UNDEFINED). Each operation ends with one of them, and
 * nothing else fails. Other suites also name such rules where a test includes them.
 */
#include <stdio.h>
#include <unistd.h>

#include "paired.h"

#define RACES 100

static struct t_ia *const our_ia = &paired.ia[0];

static void expect_all_well(void)
{
	paired_send(us, peer, 64);
	paired_send(peer, us, 64);
	t_no_event(us->connect_evd);
	t_no_event(peer->connect_evd);
}

/* --- IAs --- */

START_TEST(IA_019_line_of_the_configuration_that_names_no_device)
{
	/* REG-032 */
	char path[] = "/tmp/dat-ofi-ia19.XXXXXX", name[] = "nodevice";
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	int fd = mkstemp(path);
	DAT_RETURN_TYPE type;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	ck_assert_int_ge(fd, 0);
	dprintf(fd,
		"%s " T_API " nonthreadsafe default " T_PROVIDER_SONAME
		" dapl.1.0 \"provider=tcp domain=nosuchdevice0\" \"\"\n",
		name);
	close(fd);
	setenv("DAT_OVERRIDE", path, 1);
	ret = dat_ia_open(name, 8, &async, &ia);
	unlink(path);
	type = DAT_GET_TYPE(ret);
	ck_assert_msg(type == DAT_PROVIDER_NOT_FOUND || type == DAT_INTERNAL_ERROR ||
			      type == DAT_INVALID_HANDLE,
		      "the open answers %s", t_words(ret));
	ck_assert_ptr_null(async);
}
END_TEST

START_TEST(IA_035_close_of_one_ia_leaves_the_others)
{
	struct t_loop loop;
	struct t_ia third;

	t_ia_open(&third);
	t_loop_open(&loop, &third, NULL);
	t_ok(t_send(&loop.end[0], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	paired_send(us, peer, 64);
	t_ia_close(&third);
	expect_all_well();
}
END_TEST

START_TEST(IA_036_events_are_lost_at_the_close)
{
	struct t_loop loop;
	struct t_ia third;

	for (int round = 0; round < 2; round++) {
		t_ia_open(&third);
		t_loop_open(&loop, &third, NULL);
		t_no_event(loop.end[0].request_evd);
		t_no_event(loop.end[1].recv_evd);
		t_ok(t_recv(&loop.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(&loop.end[0], 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(loop.end[0].request_evd, loop.end[0].ep, 2, DAT_DTO_SUCCESS, 64);
		t_ia_close(&third);
	}
	expect_all_well();
}
END_TEST

static void *set_contexts(void *handle)
{
	for (uint64_t i = 0; i < 10000; i++)
		dat_set_consumer_context(handle, (DAT_CONTEXT){.as_64 = i & 1 ? ~UINT64_C(0) : 0});
	return NULL;
}

START_TEST(HND_010_context_is_set_while_it_is_got)
{
	DAT_CONTEXT context = {.as_64 = 0};
	pthread_t thread;

	t_ok(dat_set_consumer_context(us->ep, context));
	ck_assert_int_eq(pthread_create(&thread, NULL, set_contexts, us->ep), 0);
	for (int i = 0; i < 10000; i++) {
		t_ok(dat_get_consumer_context(us->ep, &context));
		ck_assert(context.as_64 == 0 || context.as_64 == ~UINT64_C(0));
	}
	t_join(thread);
}
END_TEST

/* --- EVDs and CNOs --- */

START_TEST(EVD_011_async_stream_by_creation)
{
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret = dat_evd_create(our_ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_ASYNC_FLAG, &evd);

	if (ret == DAT_SUCCESS)
		t_ok(dat_evd_free(evd));
	else
		t_bad_arg(ret);
}
END_TEST

static void *post_one(void *evd)
{
	return t_post_se(evd, evd) == DAT_SUCCESS ? NULL : evd;
}

/* Makes a call while another thread posts an event. */
static void race_with_a_post(DAT_EVD_HANDLE evd, DAT_RETURN (*call)(DAT_EVD_HANDLE, DAT_CNO_HANDLE),
			     DAT_CNO_HANDLE cno)
{
	pthread_t thread;
	void *failed;

	ck_assert_int_eq(pthread_create(&thread, NULL, post_one, evd), 0);
	t_ok(call(evd, cno));
	ck_assert_int_eq(pthread_join(thread, &failed), 0);
	ck_assert_ptr_null(failed);
	t_wait_se(evd, evd);
}

START_TEST(EVD_036_event_during_modify_cno_notifies_one)
{
	DAT_CNO_HANDLE cno[2] = {t_cno(our_ia), t_cno(our_ia)};
	DAT_EVD_HANDLE evd = t_evd_of_cno(our_ia, cno[0], DAT_EVD_SOFTWARE_FLAG), hint;

	for (int i = 0; i < RACES; i++) {
		int triggered = 0;

		race_with_a_post(evd, dat_evd_modify_cno, cno[(i + 1) & 1]);
		for (int k = 0; k < 2; k++)
			triggered += t_poll_cno(cno[k], &hint) == DAT_SUCCESS;
		ck_assert_int_ge(triggered, 1);
	}
}
END_TEST

static DAT_RETURN disable(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno)
{
	(void)cno;
	return dat_evd_disable(evd);
}

START_TEST(EVD_048_event_during_disable_may_notify)
{
	DAT_CNO_HANDLE cno = t_cno(our_ia);
	DAT_EVD_HANDLE evd = t_evd_of_cno(our_ia, cno, DAT_EVD_SOFTWARE_FLAG), hint;

	for (int i = 0; i < RACES; i++) {
		race_with_a_post(evd, disable, cno);
		t_poll_cno(cno, &hint);
		t_ok(t_post_se(evd, evd)); /* the EVD is disabled now */
		t_error(t_poll_cno(cno, &hint), DAT_QUEUE_EMPTY);
		t_wait_se(evd, evd);
		t_ok(dat_evd_enable(evd));
	}
}
END_TEST

static _Atomic unsigned int agent_calls[2];

static void count_call(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	(void)evd;
	agent_calls[instance == &agent_calls[1]]++;
}

static DAT_RETURN set_second_agent(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno)
{
	(void)evd;
	return dat_cno_modify_agent(cno, (DAT_OS_WAIT_PROXY_AGENT){&agent_calls[1], count_call});
}

START_TEST(CNO_014_trigger_during_modify_agent_calls_one)
{
	DAT_CNO_HANDLE cno = t_cno(our_ia);
	DAT_EVD_HANDLE evd = t_evd_of_cno(our_ia, cno, DAT_EVD_SOFTWARE_FLAG), hint;

	for (unsigned int i = 0; i < RACES; i++) {
		agent_calls[0] = agent_calls[1] = 0;
		t_ok(dat_cno_modify_agent(cno,
					  (DAT_OS_WAIT_PROXY_AGENT){&agent_calls[0], count_call}));
		race_with_a_post(evd, set_second_agent, cno);
		/* An agent that is set after the trigger waits for the next one. */
		t_until(agent_calls[0] + agent_calls[1] >= 1);
		ck_assert_uint_eq(agent_calls[0] + agent_calls[1], 1);
		t_ok(t_poll_cno(cno, &hint));
	}
}
END_TEST

START_TEST(EVD_115_shorter_queue_is_at_least_as_long_as_asked)
{
	DAT_EVD_HANDLE evd = t_evd(our_ia, 64, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_PARAM param;

	t_ok(t_post_se(evd, evd));
	t_ok(dat_evd_resize(evd, 4));
	t_ok(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	ck_assert_int_ge(param.evd_qlen, 4);
	t_wait_se(evd, evd);
}
END_TEST

/* --- memory --- */

/* Expects one completion of the request, with any status. A failure ends the connection. */
static bool completes(uint64_t cookie)
{
	DAT_EVENT event = t_wait_for(us->request_evd, DAT_DTO_COMPLETION_EVENT);

	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, cookie);
	return event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

static void expect_end_if(bool failed)
{
	if (failed)
		t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_BROKEN, us->ep);
	t_no_event(us->request_evd);
	t_no_event(us->connect_evd);
}

static void post_writes(uint64_t n, DAT_RMR_TRIPLET to)
{
	for (uint64_t i = 0; i < n; i++)
		t_ok(t_write(us, 0, (size_t)to.segment_length, i, to, DAT_COMPLETION_DEFAULT_FLAG));
}

static void expect_writes(uint64_t n)
{
	bool failed = false;

	for (uint64_t i = 0; i < n; i++) {
		bool well = completes(i);

		ck_assert_msg(!well || !failed, "a write succeeds behind one that failed");
		failed |= !well;
	}
	expect_end_if(failed);
}

START_TEST(LMR_039_region_is_freed_under_writes)
{
	struct t_buf buf;

	t_buf_new(&buf, paired.ia[1].ia, paired.ia[1].pz, T_BUF_SIZE, DAT_MEM_PRIV_ALL_FLAG);
	t_fill(us->buf.mem, 32, 39);
	post_writes(50, t_remote_seg(&buf, 0, T_BUF_SIZE));
	t_ok(dat_lmr_free(buf.lmr));
	memset(buf.mem, 0, T_BUF_SIZE);
	expect_writes(50);
	for (size_t i = 0; i < T_BUF_SIZE; i++)
		ck_assert_uint_eq(buf.mem[i], 0);
}
END_TEST

static DAT_RMR_HANDLE new_rmr(void)
{
	DAT_RMR_HANDLE rmr;

	t_ok(dat_rmr_create(paired.ia[1].pz, &rmr));
	return rmr;
}

/* The peer binds its memory. */
static DAT_RMR_CONTEXT start_bind(DAT_RMR_HANDLE rmr, size_t length, uint64_t cookie)
{
	DAT_RMR_CONTEXT context = 0;

	t_ok(t_rmr_bind(rmr, &peer->buf, t_seg(&peer->buf, 0, length),
			DAT_MEM_PRIV_REMOTE_WRITE_FLAG, peer->ep, cookie,
			DAT_COMPLETION_DEFAULT_FLAG, &context));
	return context;
}

static DAT_RMR_TRIPLET window(DAT_RMR_CONTEXT context, size_t length)
{
	return t_remote(context, (uintptr_t)peer->buf.mem, length);
}

START_TEST(RMR_019_window_is_freed_under_writes)
{
	DAT_RMR_HANDLE rmr = new_rmr();
	DAT_RMR_CONTEXT context = start_bind(rmr, T_BUF_SIZE, 1);

	t_wait_bind(peer->request_evd, rmr, 1, DAT_DTO_SUCCESS);
	post_writes(50, window(context, T_BUF_SIZE));
	t_ok(dat_rmr_free(rmr));
	expect_writes(50);
}
END_TEST

START_TEST(RMR_015_query_while_a_bind_is_outstanding)
{
	/* RMR-011 */
	DAT_RMR_HANDLE rmr = new_rmr();
	DAT_RMR_CONTEXT old = start_bind(rmr, 100, 1), new;
	DAT_RMR_PARAM param;

	t_wait_bind(peer->request_evd, rmr, 1, DAT_DTO_SUCCESS);
	new = start_bind(rmr, 200, 2);
	t_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	ck_assert((param.rmr_context == old && param.lmr_triplet.segment_length == 100) ||
		  (param.rmr_context == new &&param.lmr_triplet.segment_length == 200));
	t_wait_bind(peer->request_evd, rmr, 2, DAT_DTO_SUCCESS);
	start_bind(rmr, 0, 3); /* DTO-168: an unbind may return any context */
	t_wait_bind(peer->request_evd, rmr, 3, DAT_DTO_SUCCESS);
	t_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	t_ok(dat_rmr_free(rmr));
	expect_all_well();
}
END_TEST

START_TEST(RMR_022_free_while_a_bind_is_outstanding)
{
	for (uint64_t i = 0; i < RACES; i++) {
		DAT_RMR_HANDLE rmr = new_rmr();
		DAT_EVENT event;

		start_bind(rmr, 100, i);
		t_ok(dat_rmr_free(rmr));
		event = t_wait_for(peer->request_evd, DAT_RMR_BIND_COMPLETION_EVENT);
		ck_assert_uint_eq(event.event_data.rmr_completion_event_data.user_cookie.as_64, i);
		t_no_event(peer->request_evd);
	}
	expect_all_well();
}
END_TEST

START_TEST(DTO_168_169_context_used_before_its_bind_completes)
{
	DAT_RMR_HANDLE rmr = new_rmr();
	bool well;

	post_writes(1, window(start_bind(rmr, 100, 1), 100));
	well = completes(0);
	expect_end_if(!well);
	if (well)
		t_wait_bind(peer->request_evd, rmr, 1, DAT_DTO_SUCCESS);
}
END_TEST

/* --- endpoints --- */

static void connect_again(const DAT_EP_PARAM *param, DAT_EP_PARAM_MASK ours,
			  DAT_EP_PARAM_MASK theirs)
{
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
	paired_ends(DAT_CONNECTION_EVENT_DISCONNECTED);
	t_ok(dat_ep_reset(us->ep));
	t_ok(dat_ep_reset(peer->ep));
	if (ours)
		t_ok(dat_ep_modify(us->ep, ours, param));
	if (theirs)
		t_ok(dat_ep_modify(peer->ep, theirs, param));
	t_ok(t_connect(us->ep, &paired.listener));
	t_ok(t_cr_accept(t_next_cr(&paired.listener), peer->ep));
}

START_TEST(EP_024_099_read_limits_that_do_not_fit)
{
	/* CR-024 DTO-106 TRN-051: the reads fail, break the connection, or are slower */
	DAT_EP_PARAM param = {.ep_attr = {.max_rdma_read_in = 1, .max_rdma_read_out = 8}};
	DAT_EVENT event;
	bool failed = false;

	connect_again(&param, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT,
		      DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN);
	event = t_wait(us->connect_evd);
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
		ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		return;
	}
	for (uint64_t i = 0; i < 8; i++)
		t_ok(t_read(us, 0, 1000, i, t_remote_seg(&peer->buf, 0, 1000),
			    DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < 8; i++)
		failed |= !completes(i);
	expect_end_if(failed);
	ck_assert_int_ge(t_ep_attr(us->ep).max_rdma_read_out, 1);
}
END_TEST

START_TEST(EP_048_055_query_in_states_without_a_peer)
{
	DAT_EP_PARAM param;
	struct t_end end;

	t_end_new(&end, our_ia, NULL);
	t_ok(dat_ep_query(end.ep, DAT_EP_FIELD_ALL, &param));
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
	/* A state may have changed when the query returns. Only the last one lasts. */
	t_until(t_ep_state(us->ep) == DAT_EP_STATE_DISCONNECTED);
	t_ok(dat_ep_query(us->ep, DAT_EP_FIELD_ALL, &param));
	ck_assert_int_eq(param.ep_state, DAT_EP_STATE_DISCONNECTED);
	t_ok(dat_ep_reset(us->ep));
	t_ok(dat_ep_query(us->ep, DAT_EP_FIELD_ALL, &param));
	ck_assert_int_eq(param.ep_state, DAT_EP_STATE_UNCONNECTED);
}
END_TEST

START_TEST(EPS_063_state_changes_before_its_event_is_taken)
{
	/* EP-152; the reset may lose the event, but does not change it */
	DAT_EVENT event;

	t_ok(t_recv(us, 0, 64, 7, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_ep_disconnect(peer->ep, DAT_CLOSE_ABRUPT_FLAG));
	t_until(t_ep_state(us->ep) == DAT_EP_STATE_DISCONNECTED);
	t_ok(dat_ep_reset(us->ep));
	if (dat_evd_dequeue(us->recv_evd, &event) == DAT_SUCCESS) {
		ck_assert_int_eq(event.event_data.dto_completion_event_data.status,
				 DAT_DTO_ERR_FLUSHED);
		ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 7);
	}
	t_drain(us->connect_evd);
	t_wait_conn(peer->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, peer->ep);
	t_ok(dat_ep_reset(peer->ep));
	t_establish(&paired.listener, us, peer);
	expect_all_well();
	t_no_event(us->recv_evd);
}
END_TEST

START_TEST(EVS_127_message_is_seen_before_established)
{
	DAT_EP_STATE state;
	DAT_RETURN ret;

	connect_again(NULL, 0, 0);
	t_ok(t_recv(peer, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, us->ep);
	t_ok(t_send(us, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(peer->recv_evd, peer->ep, 1, DAT_DTO_SUCCESS, 64);
	state = t_ep_state(peer->ep);
	ret = t_send(peer, 0, 64, 3, DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS) {
		t_bad_state(ret);
		ck_assert_int_ne(state, DAT_EP_STATE_CONNECTED);
	}
	t_wait_conn(peer->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, peer->ep);
}
END_TEST

/* --- transfers --- */

START_TEST(DTO_014_overlapping_segments)
{
	/* The message fills both segments, overlapping bytes twice, and no other byte. */
	DAT_LMR_TRIPLET iov[2] = {t_seg(&peer->buf, 100, 50), t_seg(&peer->buf, 120, 50)};

	t_fill(us->buf.mem, 100, 14);
	t_ok(dat_ep_post_recv(peer->ep, 2, iov, (DAT_DTO_COOKIE){.as_64 = 1},
			      DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(us, 0, 100, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	t_wait_dto(peer->recv_evd, peer->ep, 1, DAT_DTO_SUCCESS, 100);
	ck_assert_mem_eq(peer->buf.mem + 100, us->buf.mem, 20);
	for (size_t i = 0; i < 100; i++)
		ck_assert_uint_eq(peer->buf.mem[i] | peer->buf.mem[170 + i], 0);
	expect_all_well();
}
END_TEST

START_TEST(DTO_026_memory_is_changed_under_a_send)
{
	/* Each received byte is the old or the new one. */
	DAT_LMR_TRIPLET segment = t_seg(&us->buf, 0, T_BUF_SIZE);

	memset(us->buf.mem, 1, T_BUF_SIZE);
	t_ok(dat_ep_post_send(us->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 1},
			      DAT_COMPLETION_DEFAULT_FLAG));
	segment = (DAT_LMR_TRIPLET){0};
	memset(us->buf.mem, 2, T_BUF_SIZE);
	t_ok(t_recv(peer, 0, T_BUF_SIZE, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(us->request_evd, us->ep, 1, DAT_DTO_SUCCESS, T_BUF_SIZE);
	t_wait_dto(peer->recv_evd, peer->ep, 2, DAT_DTO_SUCCESS, T_BUF_SIZE);
	for (size_t i = 0; i < T_BUF_SIZE; i++)
		ck_assert(peer->buf.mem[i] == 1 || peer->buf.mem[i] == 2);
	expect_all_well();
}
END_TEST

START_TEST(DTO_057_132_transfers_without_a_fence)
{
	/* A read and writes of the same memory without a fence: each byte has one of the values. */
	DAT_RMR_TRIPLET target = t_remote_seg(&peer->buf, 0, 100);

	memset(us->buf.mem, 1, 100);
	memset(us->buf.mem + 100, 2, 100);
	t_ok(t_read(us, 1000, 100, 1, target, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_write(us, 0, 100, 2, target, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_write(us, 100, 100, 3, target, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 1; i <= 3; i++)
		t_wait_dto(us->request_evd, us->ep, i, DAT_DTO_SUCCESS, 100);
	paired_send(us, peer, 64);
	for (size_t i = 0; i < 100; i++) {
		ck_assert_uint_le(us->buf.mem[1000 + i], 2);
		ck_assert(peer->buf.mem[i] == 1 || peer->buf.mem[i] == 2);
	}
	expect_all_well();
}
END_TEST

/* --- suite --- */

/* Cases that begin before the registry has read dat.conf. */
static void add_from_scratch(Suite *suite)
{
	TCase *tcase = tcase_create("loose-scratch");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, IA_019_line_of_the_configuration_that_names_no_device);
}

static void add_local(Suite *suite)
{
	TCase *tcase = paired_case(suite, "loose-local");

	tcase_add_test(tcase, IA_035_close_of_one_ia_leaves_the_others);
	tcase_add_test(tcase, IA_036_events_are_lost_at_the_close);
	tcase_add_test(tcase, HND_010_context_is_set_while_it_is_got);
	tcase_add_test(tcase, EVD_011_async_stream_by_creation);
	tcase_add_test(tcase, EVD_036_event_during_modify_cno_notifies_one);
	tcase_add_test(tcase, EVD_048_event_during_disable_may_notify);
	tcase_add_test(tcase, EVD_115_shorter_queue_is_at_least_as_long_as_asked);
	tcase_add_test(tcase, CNO_014_trigger_during_modify_agent_calls_one);
}

static void add_transfers(Suite *suite)
{
	TCase *tcase = paired_case(suite, "loose-transfers");

	tcase_add_test(tcase, LMR_039_region_is_freed_under_writes);
	tcase_add_test(tcase, RMR_015_query_while_a_bind_is_outstanding);
	tcase_add_test(tcase, RMR_019_window_is_freed_under_writes);
	tcase_add_test(tcase, RMR_022_free_while_a_bind_is_outstanding);
	tcase_add_test(tcase, EP_024_099_read_limits_that_do_not_fit);
	tcase_add_test(tcase, EP_048_055_query_in_states_without_a_peer);
	tcase_add_test(tcase, EPS_063_state_changes_before_its_event_is_taken);
	tcase_add_test(tcase, EVS_127_message_is_seen_before_established);
	tcase_add_test(tcase, DTO_014_overlapping_segments);
	tcase_add_test(tcase, DTO_026_memory_is_changed_under_a_send);
	tcase_add_test(tcase, DTO_057_132_transfers_without_a_fence);
	tcase_add_test(tcase, DTO_168_169_context_used_before_its_bind_completes);
}

Suite *conform_loose(void)
{
	Suite *suite = suite_create("loose");

	add_from_scratch(suite);
	add_local(suite);
	add_transfers(suite);
	return suite;
}
