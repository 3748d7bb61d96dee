/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which completions notify, which streams can share an EVD, and the order of events. */
#include <stdatomic.h>

#include "conform.h"

#define NONE        ((unsigned int)DAT_COMPLETION_DEFAULT_FLAG)
#define THRESHOLD   ((unsigned int)DAT_COMPLETION_EVD_THRESHOLD_FLAG)
#define UNSIGNALLED ((unsigned int)DAT_COMPLETION_UNSIGNALLED_FLAG)
#define SOLICITED   ((unsigned int)DAT_COMPLETION_SOLICITED_WAIT_FLAG)
#define SUPPRESS    ((unsigned int)DAT_COMPLETION_SUPPRESS_FLAG)
#define FENCE       ((unsigned int)DAT_COMPLETION_BARRIER_FENCE_FLAG)

static struct t_pair pair;
static struct t_end *const us = &pair.end[0], *const peer = &pair.end[1];

/* Opens a pair whose EPs have these completion flags. */
static void open_pair(unsigned int recv, unsigned int request)
{
	struct t_end model;
	struct t_ia ia;
	DAT_EP_ATTR attr;

	t_ia_open(&ia);
	t_end_new(&model, &ia, NULL);
	attr = t_ep_attr(model.ep);
	t_ia_close(&ia);
	attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)recv;
	attr.request_completion_flags = (DAT_COMPLETION_FLAGS)request;
	t_pair_open(&pair, &attr);
}

static void close_pair(void)
{
	t_ia_close(&pair.ia[0]);
	t_ia_close(&pair.ia[1]);
}

/* --- notification --- */

/* The effect of a completion, from the tables of the specification. */
struct effect {
	bool event;  /* an event is queued */
	bool wakes;  /* a waiter of threshold 1 wakes */
	bool cno;    /* the CNO is triggered */
	bool higher; /* thresholds above 1 are allowed */
};

static bool is_idle(const struct t_end *end)
{
	DAT_BOOLEAN recv, request;
	DAT_EP_STATE state;

	t_ok(dat_ep_get_status(end->ep, &state, &recv, &request));
	return recv && request;
}

/* After a completion: checks whether it woke the thread. */
static void check_waiter(const struct effect *effect, struct t_waiter *waiter,
			 const struct t_end *end)
{
	DAT_EVENT event;

	if (effect->wakes) {
		t_ok(t_waiter_join(waiter));
		ck_assert_int_eq(waiter->event.event_number, DAT_DTO_COMPLETION_EVENT);
		return;
	}
	t_until(is_idle(end));
	for (uint64_t quiet = t_now_us() + T_QUIET_US; t_now_us() < quiet; t_pause())
		ck_assert_msg(!t_waiter_done(waiter), "the waiter was woken");
	t_ok(dat_evd_set_unwaitable(waiter->evd));
	t_bad_state(t_waiter_join(waiter));
	t_ok(dat_evd_clear_unwaitable(waiter->evd));
	if (effect->event) {
		t_ok(dat_evd_dequeue(waiter->evd, &event));
		ck_assert_int_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
	}
	t_no_event(waiter->evd);
}

static void check_cno(const struct effect *effect, DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	DAT_EVD_HANDLE hint = DAT_HANDLE_NULL;

	if (effect->cno) {
		t_ok(dat_cno_wait(cno, T_LIMIT_US, &hint));
		ck_assert_ptr_eq(hint, evd);
	} else {
		t_error(dat_cno_wait(cno, T_QUIET_US, &hint), DAT_QUEUE_EMPTY);
	}
	ck_assert_int_eq(t_drain(evd), effect->event);
}

static void check_threshold(const struct effect *effect, DAT_EVD_HANDLE evd)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	t_error(dat_evd_wait(evd, 0, 2, &event, &nmore),
		effect->higher ? DAT_TIMEOUT_EXPIRED : DAT_INVALID_STATE);
}

/* --- receives --- */

struct recv_row {
	unsigned int config, post, send;
	struct effect effect;
};

static const struct recv_row recv_rows[] = {
	{NONE, NONE, NONE, {true, true, true, true}},
	{THRESHOLD, NONE, NONE, {true, true, true, true}},
	{THRESHOLD, NONE, SOLICITED, {true, true, true, true}},
	{UNSIGNALLED, NONE, NONE, {true, true, true, false}},
	{UNSIGNALLED, NONE, SOLICITED, {true, true, true, false}},
	{UNSIGNALLED, UNSIGNALLED, NONE, {true, false, false, false}},
	{UNSIGNALLED, UNSIGNALLED, SOLICITED, {true, false, false, false}},
	{SOLICITED, NONE, NONE, {true, false, false, false}},
	{SOLICITED, NONE, SOLICITED, {true, true, true, false}},
};

#define RECV_ROWS (int)(sizeof(recv_rows) / sizeof(recv_rows[0]))

static void complete_recv(const struct recv_row *row)
{
	t_ok(t_send(us, 0, 64, 1, (DAT_COMPLETION_FLAGS)row->send));
}

/*
 * Messages of iWARP have no completion data: there are no SRQs, and any message may have been sent
 * with the solicited flag (dat_porting(7)).
 */
static struct effect recv_effect(const struct recv_row *row)
{
	struct effect effect = row->effect;

	if (row->config == SOLICITED && !pair.ia[1].provider.srq_supported)
		effect.wakes = effect.cno = true;
	return effect;
}

START_TEST(EVS_035_receive_completion)
{
	/*
	 * EVS-036 EVS-038 EVS-039 EVS-040 EVS-041 EVS-042 EVS-043 EVS-077 EVS-082
	 * DTO-063 DTO-085 DTO-086 DTO-087
	 */
	const struct recv_row *row = &recv_rows[_i];
	struct effect effect;
	struct t_waiter waiter;
	DAT_CNO_HANDLE cno;

	open_pair(row->config, NONE);
	effect = recv_effect(row);
	t_ok(t_recv(peer, 0, 64, 1, (DAT_COMPLETION_FLAGS)row->post));
	t_evd_waiter_start(&waiter, peer->recv_evd, 1);
	complete_recv(row);
	check_waiter(&effect, &waiter, peer);
	check_threshold(&effect, peer->recv_evd);
	cno = t_cno(&pair.ia[1]);
	t_ok(dat_evd_modify_cno(peer->recv_evd, cno));
	t_ok(t_recv(peer, 0, 64, 2, (DAT_COMPLETION_FLAGS)row->post));
	complete_recv(row);
	t_until(is_idle(peer));
	check_cno(&effect, cno, peer->recv_evd);
}
END_TEST

START_TEST(EVS_044_post_that_contradicts_the_configuration)
{
	/* EVS-037 DTO-084 */
	static const unsigned int config[] = {NONE, THRESHOLD, SOLICITED};

	open_pair(config[_i], NONE);
	t_bad_arg(t_recv(peer, 0, 64, 1, DAT_COMPLETION_UNSIGNALLED_FLAG));
	t_no_event(peer->recv_evd);
}
END_TEST

START_TEST(EVS_053_078_flushed_receive)
{
	static const struct recv_row rows[] = {
		{THRESHOLD, NONE, NONE, {true, true, true, true}},
		{UNSIGNALLED, NONE, NONE, {true, true, true, false}},
		{UNSIGNALLED, UNSIGNALLED, NONE, {true, false, false, false}},
		{SOLICITED, NONE, NONE, {true, true, true, false}},
	};
	const struct recv_row *row = &rows[_i];
	struct t_waiter waiter;
	DAT_CNO_HANDLE cno;

	open_pair(row->config, NONE);
	t_ok(t_recv(peer, 0, 64, 1, (DAT_COMPLETION_FLAGS)row->post));
	t_evd_waiter_start(&waiter, peer->recv_evd, 1);
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
	check_waiter(&row->effect, &waiter, peer);
	t_wait_conn(peer->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, peer->ep);
	cno = t_cno(&pair.ia[1]);
	t_ok(dat_evd_modify_cno(peer->recv_evd, cno));
	t_ok(t_recv(peer, 0, 64, 1, (DAT_COMPLETION_FLAGS)row->post));
	check_cno(&row->effect, cno, peer->recv_evd);
}
END_TEST

/* --- requests --- */

struct request_row {
	unsigned int config, post;
	bool fails;
	struct effect effect;
};

static const struct request_row request_rows[] = {
	{THRESHOLD, NONE, false, {true, true, true, true}},
	{NONE, NONE, false, {true, true, true, true}},
	{THRESHOLD, NONE, true, {true, true, true, true}},
	{THRESHOLD, SUPPRESS, false, {false, false, false, true}},
	{THRESHOLD, SUPPRESS, true, {true, true, true, true}},
	{THRESHOLD, FENCE, false, {true, true, true, true}},
	{THRESHOLD, FENCE, true, {true, true, true, true}},
	{UNSIGNALLED, NONE, false, {true, true, true, false}},
	{UNSIGNALLED, NONE, true, {true, true, true, false}},
	{UNSIGNALLED, SUPPRESS, false, {false, false, false, false}},
	{UNSIGNALLED, SUPPRESS, true, {true, true, true, false}},
	{UNSIGNALLED, UNSIGNALLED, false, {true, false, false, false}},
	{UNSIGNALLED, UNSIGNALLED, true, {true, false, false, false}},
	{UNSIGNALLED, SUPPRESS | UNSIGNALLED, false, {false, false, false, false}},
	{UNSIGNALLED, SUPPRESS | UNSIGNALLED, true, {true, false, false, false}},
	{UNSIGNALLED, FENCE, false, {true, true, true, false}},
	{UNSIGNALLED, FENCE, true, {true, true, true, false}},
	{UNSIGNALLED, FENCE | UNSIGNALLED, false, {true, false, false, false}},
};

#define REQUEST_ROWS (int)(sizeof(request_rows) / sizeof(request_rows[0]))

static DAT_RETURN post_request(int kind, unsigned int flags)
{
	DAT_RMR_TRIPLET remote = t_remote_seg(&peer->buf, 0, 64);

	switch (kind) {
	case 0:
		return t_send(us, 0, 64, 1, (DAT_COMPLETION_FLAGS)flags);
	case 1:
		return t_write(us, 0, 64, 1, remote, (DAT_COMPLETION_FLAGS)flags);
	default:
		return t_read(us, 0, 64, 1, remote, (DAT_COMPLETION_FLAGS)flags);
	}
}

static void prepare_request(const struct request_row *row)
{
	open_pair(NONE, row->config);
	if (!row->fails) {
		t_ok(t_recv(peer, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_recv(peer, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		return;
	}
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, us->ep);
}

START_TEST(EVS_054_request_completion)
{
	/*
	 * EVS-055 EVS-056 EVS-057 EVS-060 EVS-061 EVS-062 EVS-063 EVS-064 EVS-065 EVS-066 EVS-067
	 * EVS-068 EVS-069 EVS-070 EVS-071 EVS-075 EVS-076 EVS-085 DTO-048 DTO-049
	 */
	const struct request_row *row = &request_rows[_i % REQUEST_ROWS];
	int kind = _i / REQUEST_ROWS;
	struct t_waiter waiter;
	DAT_CNO_HANDLE cno;

	prepare_request(row);
	t_evd_waiter_start(&waiter, us->request_evd, 1);
	t_ok(post_request(kind, row->post));
	check_waiter(&row->effect, &waiter, us);
	check_threshold(&row->effect, us->request_evd);
	cno = t_cno(&pair.ia[0]);
	t_ok(dat_evd_modify_cno(us->request_evd, cno));
	t_ok(post_request(kind, row->post));
	t_until(is_idle(us));
	check_cno(&row->effect, cno, us->request_evd);
}
END_TEST

START_TEST(EVS_054_bind_completion)
{
	/* EVS-056 EVS-062 EVS-064 EVS-066 EVS-068 DTO-179 DTO-180 */
	const struct request_row *row = &request_rows[_i];
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_CNO_HANDLE cno;

	prepare_request(row);
	t_ok(dat_rmr_create(pair.ia[0].pz, &rmr));
	cno = t_cno(&pair.ia[0]);
	t_ok(dat_evd_modify_cno(us->request_evd, cno));
	t_ok(t_rmr_bind(rmr, &us->buf, t_seg(&us->buf, 0, 64), DAT_MEM_PRIV_REMOTE_READ_FLAG,
			us->ep, 1, (DAT_COMPLETION_FLAGS)row->post, &context));
	t_until(is_idle(us));
	check_cno(&row->effect, cno, us->request_evd);
}
END_TEST

START_TEST(EVS_058_059_request_that_contradicts_the_configuration)
{
	/* DTO-047 */
	static const unsigned int config[] = {NONE, THRESHOLD};

	open_pair(NONE, config[_i]);
	for (int kind = 0; kind < 3; kind++) {
		t_bad_arg(post_request(kind, UNSIGNALLED));
		t_bad_arg(post_request(kind, UNSIGNALLED | SUPPRESS));
	}
	t_no_event(us->request_evd);
}
END_TEST

START_TEST(EVS_073_077_solicited_flag_means_nothing_to_the_sender)
{
	static const unsigned int config[] = {THRESHOLD, UNSIGNALLED};
	const struct effect effect = {true, true, true, config[_i] == THRESHOLD};
	struct t_waiter waiter;

	open_pair(NONE, config[_i]);
	t_ok(t_recv(peer, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_evd_waiter_start(&waiter, us->request_evd, 1);
	t_ok(post_request(0, SOLICITED));
	check_waiter(&effect, &waiter, us);
	check_threshold(&effect, us->request_evd);
}
END_TEST

START_TEST(EVS_003_005_006_unsignalled_event_counts_but_does_not_wake)
{
	struct t_waiter waiter;

	open_pair(UNSIGNALLED, NONE);
	t_ok(t_recv(peer, 0, 64, 1, DAT_COMPLETION_UNSIGNALLED_FLAG));
	t_ok(t_recv(peer, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_evd_waiter_start(&waiter, peer->recv_evd, 1);
	t_ok(t_send(us, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(us->request_evd, us->ep, 1, DAT_DTO_SUCCESS, 64);
	t_stays_quiet(us->request_evd);
	ck_assert_msg(!t_waiter_done(&waiter), "the waiter was woken");
	t_ok(t_send(us, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_waiter_join(&waiter));
	ck_assert_uint_eq(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	ck_assert_int_eq(waiter.nmore, 1);
}
END_TEST

START_TEST(EVS_079_rdma_has_no_event_at_its_target)
{
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE hint;

	open_pair(NONE, NONE);
	cno = t_cno(&pair.ia[1]);
	t_ok(t_recv(peer, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(dat_evd_modify_cno(peer->recv_evd, cno));
	t_ok(dat_evd_modify_cno(peer->request_evd, cno));
	t_ok(dat_evd_modify_cno(peer->connect_evd, cno));
	for (int kind = 1; kind < 3; kind++) {
		t_ok(post_request(kind, NONE));
		t_wait_dto(us->request_evd, us->ep, 1, DAT_DTO_SUCCESS, 64);
	}
	t_error(dat_cno_wait(cno, T_QUIET_US, &hint), DAT_QUEUE_EMPTY);
	t_no_event(peer->recv_evd);
	t_no_event(peer->request_evd);
	t_no_event(peer->connect_evd);
}
END_TEST

/* --- overflow --- */

START_TEST(EVS_087_queue_of_the_right_length_never_overflows)
{
	/* One EVD for the requests and receives of both ends, with full queues. */
	DAT_EP_PARAM param = {.ep_attr = {.max_recv_dtos = 8, .max_request_dtos = 8}};
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	struct t_loop loop;
	struct t_ia ia;

	t_ia_open(&ia);
	t_loop_open(&loop, &ia, NULL);
	t_ok(dat_ep_disconnect(loop.end[0].ep, DAT_CLOSE_ABRUPT_FLAG));
	evd = t_evd(&ia, 4 * 8, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	param.recv_evd_handle = param.request_evd_handle = evd;
	for (int i = 0; i < 2; i++) {
		t_wait_conn(loop.end[i].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED,
			    loop.end[i].ep);
		t_ok(dat_ep_reset(loop.end[i].ep));
		t_ok(dat_ep_modify(loop.end[i].ep,
				   DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE |
					   DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
					   DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
				   &param));
	}
	t_establish(&loop.listener, &loop.end[0], &loop.end[1]);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 16; i++)
			t_ok(t_recv(&loop.end[i & 1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		for (int i = 0; i < 16; i++)
			t_ok(t_send(&loop.end[i & 1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_until(is_idle(&loop.end[0]) && is_idle(&loop.end[1]));
		for (int i = 0; i < 32; i++) {
			t_ok(dat_evd_dequeue(evd, &event));
			ck_assert_int_eq(event.event_data.dto_completion_event_data.status,
					 DAT_DTO_SUCCESS);
		}
	}
	t_no_event(ia.async_evd);
	t_ia_close(&ia);
}
END_TEST

START_TEST(EVS_088_suppressed_completions_use_no_entry_of_the_evd)
{
	DAT_EP_PARAM param;
	DAT_EVD_HANDLE evd;

	t_pair_prepare(&pair, NULL);
	evd = t_evd(&pair.ia[0], 1, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	param.request_evd_handle = evd;
	t_ok(dat_ep_modify(us->ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param));
	t_establish(&pair.listener, us, peer);
	for (uint64_t i = 0; i < 50; i++)
		t_ok(t_recv(peer, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < 49; i++)
		t_ok(t_send(us, 0, 64, i, DAT_COMPLETION_SUPPRESS_FLAG));
	t_ok(t_send(us, 0, 64, 49, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(evd, us->ep, 49, DAT_DTO_SUCCESS, 64);
	t_no_event(pair.ia[0].async_evd);
}
END_TEST

START_TEST(EVS_092_overflow_does_not_affect_other_evds)
{
	struct t_end other, other_peer;
	DAT_EP_PARAM param;

	t_pair_prepare(&pair, NULL);
	param.recv_evd_handle = t_evd(&pair.ia[0], 1, DAT_EVD_DTO_FLAG);
	t_ok(dat_ep_modify(us->ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	t_establish(&pair.listener, us, peer);
	t_end_new(&other, &pair.ia[0], NULL);
	t_end_new(&other_peer, &pair.ia[1], NULL);
	t_establish(&pair.listener, &other, &other_peer);
	for (uint64_t i = 0; i < 3; i++) {
		t_ok(t_recv(us, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(peer, 0, 64, i, DAT_COMPLETION_SUPPRESS_FLAG));
	}
	t_wait_for(pair.ia[0].async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	t_wait_conn(us->connect_evd, DAT_CONNECTION_EVENT_BROKEN, us->ep);
	for (uint64_t i = 0; i < 20; i++) {
		t_ok(t_recv(&other, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(&other_peer, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(other.recv_evd, other.ep, i, DAT_DTO_SUCCESS, 64);
	}
	t_no_event(other.connect_evd);
	t_no_event(pair.ia[0].async_evd);
}
END_TEST

/* By the second event a program learns that the EP is free. */
START_TEST(EVS_137_event_of_a_connection_is_kept_by_a_full_evd)
{
	DAT_EP_PARAM param;
	DAT_EVENT event;

	t_pair_prepare(&pair, NULL);
	param.connect_evd_handle = t_evd(&pair.ia[0], 1, DAT_EVD_CONNECTION_FLAG);
	t_ok(dat_ep_modify(us->ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	t_ok(t_connect(us->ep, &pair.listener));
	event = t_wait_for(pair.listener.evd, DAT_CONNECTION_REQUEST_EVENT);
	t_ok(t_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, peer->ep));
	t_wait_conn(peer->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, peer->ep);
	t_until(t_ep_state(us->ep) == DAT_EP_STATE_CONNECTED);
	t_ok(dat_ep_disconnect(peer->ep, DAT_CLOSE_ABRUPT_FLAG));
	t_until(t_ep_state(us->ep) == DAT_EP_STATE_DISCONNECTED);
	t_wait_conn(param.connect_evd_handle, DAT_CONNECTION_EVENT_ESTABLISHED, us->ep);
	t_wait_conn(param.connect_evd_handle, DAT_CONNECTION_EVENT_DISCONNECTED, us->ep);
	t_no_event(pair.ia[0].async_evd);
}
END_TEST

/* --- streams --- */

START_TEST(EVS_108_109_many_eps_on_one_evd)
{
	/* PRG-05; all events of four connections go to one EVD */
	DAT_EVD_HANDLE evd;
	struct t_listener listener;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	struct t_end ends[4], peers[4];

	t_pair_prepare(&pair, NULL);
	evd = t_evd(&pair.ia[0], 256, DAT_EVD_DEFAULT_FLAG);
	t_listen(&listener, &pair.ia[1], DAT_PSP_CONSUMER_FLAG);
	for (int i = 0; i < 4; i++) {
		t_end_new(&ends[i], &pair.ia[0], NULL);
		t_ok(dat_ep_free(ends[i].ep));
		t_ok(dat_ep_create(pair.ia[0].ia, pair.ia[0].pz, evd, evd, evd, NULL, &ends[i].ep));
		t_end_new(&peers[i], &pair.ia[1], NULL);
		t_ok(t_connect(ends[i].ep, &listener));
		t_ok(t_cr_accept(t_next_cr(&listener), peers[i].ep));
		t_wait_conn(evd, DAT_CONNECTION_EVENT_ESTABLISHED, ends[i].ep);
	}
	t_ok(dat_rmr_create(pair.ia[0].pz, &rmr));
	for (int i = 0; i < 4; i++) {
		t_ok(t_recv(&peers[i], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(&ends[i], 0, 64, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(evd, ends[i].ep, (uint64_t)i, DAT_DTO_SUCCESS, 64);
		t_ok(t_recv(&ends[i], 0, 64, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_send(&peers[i], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(evd, ends[i].ep, (uint64_t)i, DAT_DTO_SUCCESS, 64);
		t_ok(t_rmr_bind(rmr, &ends[i].buf, t_seg(&ends[i].buf, 0, 64),
				DAT_MEM_PRIV_REMOTE_READ_FLAG, ends[i].ep, 9,
				DAT_COMPLETION_DEFAULT_FLAG, &context));
		t_wait_bind(evd, rmr, 9, DAT_DTO_SUCCESS);
	}
	t_no_event(evd);
}
END_TEST

/* Streams other than DTO that a test can make events for. */
enum stream { STREAM_CR, STREAM_CONNECTION, STREAMS };

static DAT_RETURN attach(enum stream stream, const struct t_ia *ia, DAT_EVD_HANDLE evd)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;

	if (stream == STREAM_CR)
		return dat_psp_create_any(ia->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp);
	return dat_ep_create(ia->ia, ia->pz, t_evd(ia, 64, DAT_EVD_DTO_FLAG),
			     t_evd(ia, 64, DAT_EVD_DTO_FLAG), evd, NULL, &ep);
}

static DAT_RETURN attach_dto(unsigned int config, const struct t_ia *ia, DAT_EVD_HANDLE evd)
{
	struct t_end model;
	DAT_EP_HANDLE ep;
	DAT_EP_ATTR attr;

	t_end_new(&model, ia, NULL);
	attr = t_ep_attr(model.ep);
	attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)config;
	return dat_ep_create(ia->ia, ia->pz, evd, model.request_evd, model.connect_evd, &attr, &ep);
}

START_TEST(EVS_111_112_113_114_115_116_117_118_streams_on_one_evd)
{
	/*
	 * EVS-084 EVS-131; completions with all flags share an EVD with each other and other
	 * streams
	 */
	static const unsigned int configs[] = {THRESHOLD, UNSIGNALLED, SOLICITED};
	struct t_ia ia;
	DAT_EVD_HANDLE evd;

	t_ia_open(&ia);
	for (int i = 0; i < 3; i++) {
		evd = t_evd(&ia, 64, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG);
		for (int j = 0; j < 3; j++)
			t_ok(attach_dto(configs[(i + j) % 3], &ia, evd));
		for (int stream = 0; stream < STREAMS; stream++) {
			t_ok(attach((enum stream)stream, &ia, evd));
			t_ok(attach_dto(configs[i], &ia, evd));
		}
	}
	t_ia_close(&ia);
}
END_TEST

/* --- order --- */

START_TEST(EVS_130_requests_come_in_order)
{
	/* CR-044; the requests are accepted in reverse order */
	struct t_end ends[5], peers[5];
	DAT_CR_HANDLE crs[5];

	t_pair_prepare(&pair, NULL);
	for (uint32_t i = 0; i < 5; i++) {
		t_end_new(&ends[i], &pair.ia[0], NULL);
		t_end_new(&peers[i], &pair.ia[1], NULL);
		t_ok(t_connect_data(ends[i].ep, &pair.ia[1], pair.listener.qual, T_LIMIT_US, &i,
				    sizeof(i)));
	}
	for (uint32_t i = 0; i < 5; i++) {
		DAT_CR_PARAM param;

		crs[i] = t_next_cr(&pair.listener);
		t_ok(dat_cr_query(crs[i], DAT_CR_FIELD_ALL, &param));
		ck_assert_mem_eq(param.private_data, &i, sizeof(i));
	}
	for (int i = 4; i >= 0; i--) {
		t_ok(t_cr_accept(crs[i], peers[i].ep));
		t_wait_conn(ends[i].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, ends[i].ep);
	}
}
END_TEST

START_TEST(EVS_011_034_threshold_counts_all_streams)
{
	/* A software event, then one of a connection, then another software event. */
	DAT_EVD_HANDLE evd;
	DAT_EP_PARAM param;
	struct t_waiter waiter;
	int marks_here[2];

	t_pair_prepare(&pair, NULL);
	evd = t_evd(&pair.ia[0], 8, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CONNECTION_FLAG);
	param.connect_evd_handle = evd;
	t_ok(dat_ep_modify(pair.end[0].ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	t_evd_waiter_start(&waiter, evd, 2);
	t_ok(t_post_se(evd, &marks_here[0]));
	ck_assert(!t_waiter_done(&waiter));
	t_ok(t_connect(pair.end[0].ep, &pair.listener));
	t_ok(t_cr_accept(t_next_cr(&pair.listener), pair.end[1].ep));
	t_ok(t_waiter_join(&waiter));
	ck_assert_int_eq(waiter.event.event_number, DAT_SOFTWARE_EVENT);
	ck_assert_int_eq(waiter.nmore, 1);
	t_ok(t_post_se(evd, &marks_here[1]));
	t_wait_conn(evd, DAT_CONNECTION_EVENT_ESTABLISHED, pair.end[0].ep);
	t_wait_se(evd, &marks_here[1]);
	t_no_event(evd);
}
END_TEST

/* --- progress --- */

START_TEST(EVS_132_each_way_of_waiting_makes_progress_for_all)
{
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE hint;
	DAT_EVENT event;

	t_pair_prepare(&pair, NULL);
	cno = t_cno(&pair.ia[1]);
	t_ok(dat_evd_modify_cno(pair.listener.evd, cno));
	t_ok(dat_evd_modify_cno(peer->connect_evd, cno));
	t_ok(dat_evd_modify_cno(peer->recv_evd, cno));
	t_ok(t_recv(peer, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_connect(us->ep, &pair.listener));
	t_ok(dat_cno_wait(cno, T_LIMIT_US, &hint));
	ck_assert_ptr_eq(hint, pair.listener.evd);
	t_ok(dat_evd_dequeue(hint, &event));
	t_ok(t_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, peer->ep));
	t_ok(dat_cno_wait(cno, T_LIMIT_US, &hint));
	ck_assert_ptr_eq(hint, peer->connect_evd);
	t_until(dat_evd_dequeue(us->connect_evd, &event) == DAT_SUCCESS);
	t_ok(t_send(us, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_until(dat_evd_dequeue(us->request_evd, &event) == DAT_SUCCESS);
	t_ok(dat_cno_wait(cno, T_LIMIT_US, &hint));
	ck_assert_ptr_eq(hint, peer->recv_evd);
}
END_TEST

static _Atomic int agent_calls;

static void count_call(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	(void)instance;
	(void)evd;
	agent_calls++;
}

/* Sets an agent that is called when this EVD is notified. */
static void watch(const struct t_ia *ia, DAT_EVD_HANDLE evd)
{
	DAT_OS_WAIT_PROXY_AGENT agent = {NULL, count_call};
	DAT_CNO_HANDLE cno;

	t_ok(dat_cno_create(ia->ia, agent, &cno));
	t_ok(dat_evd_modify_cno(evd, cno));
}

START_TEST(EVS_133_135_progress_without_a_call)
{
	/* ERR-039 PRG-03; none of our threads is inside DAT while each of these happens */
	struct t_end other;

	open_pair(NONE, NONE);
	agent_calls = 0;
	watch(&pair.ia[1], peer->recv_evd);
	t_ok(t_recv(peer, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(us, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(us->request_evd, us->ep, 1, DAT_DTO_SUCCESS, 64);
	t_until(agent_calls == 1);
	watch(&pair.ia[1], peer->connect_evd);
	t_ok(dat_ep_disconnect(us->ep, DAT_CLOSE_ABRUPT_FLAG));
	t_until(agent_calls == 2);
	t_end_new(&other, &pair.ia[1], NULL);
	watch(&pair.ia[1], other.connect_evd);
	t_ok(t_connect_data(other.ep, &pair.ia[1], pair.listener.qual, 100000, NULL, 0));
	t_until(agent_calls == 3); /* timed out: the request was never answered */
	ck_assert_int_eq(t_wait(other.connect_evd).event_number, DAT_CONNECTION_EVENT_TIMED_OUT);
}
END_TEST

/* --- suite --- */

static TCase *events_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	suite_add_tcase(suite, tcase);
	return tcase;
}

static void add_notification(Suite *suite)
{
	TCase *tcase = events_case(suite, "events-notification");

	tcase_add_checked_fixture(tcase, NULL, close_pair);
	tcase_add_loop_test(tcase, EVS_035_receive_completion, 0, RECV_ROWS);
	tcase_add_loop_test(tcase, EVS_044_post_that_contradicts_the_configuration, 0, 3);
	tcase_add_loop_test(tcase, EVS_053_078_flushed_receive, 0, 4);
	tcase_add_loop_test(tcase, EVS_054_request_completion, 0, 3 * REQUEST_ROWS);
	tcase_add_loop_test(tcase, EVS_054_bind_completion, 0, REQUEST_ROWS);
	tcase_add_loop_test(tcase, EVS_058_059_request_that_contradicts_the_configuration, 0, 2);
	tcase_add_loop_test(tcase, EVS_073_077_solicited_flag_means_nothing_to_the_sender, 0, 2);
	tcase_add_test(tcase, EVS_003_005_006_unsignalled_event_counts_but_does_not_wake);
	tcase_add_test(tcase, EVS_079_rdma_has_no_event_at_its_target);
	tcase_add_test(tcase, EVS_088_suppressed_completions_use_no_entry_of_the_evd);
	tcase_add_test(tcase, EVS_092_overflow_does_not_affect_other_evds);
	tcase_add_test(tcase, EVS_137_event_of_a_connection_is_kept_by_a_full_evd);
	tcase_add_test(tcase, EVS_108_109_many_eps_on_one_evd);
	tcase_add_test(tcase, EVS_011_034_threshold_counts_all_streams);
	tcase_add_test(tcase, EVS_130_requests_come_in_order);
	tcase_add_test(tcase, EVS_132_each_way_of_waiting_makes_progress_for_all);
	tcase_add_test(tcase, EVS_133_135_progress_without_a_call);
}

static void add_streams(Suite *suite)
{
	TCase *tcase = events_case(suite, "events-streams");

	tcase_add_test(tcase, EVS_087_queue_of_the_right_length_never_overflows);
	tcase_add_test(tcase, EVS_111_112_113_114_115_116_117_118_streams_on_one_evd);
}

Suite *conform_events(void)
{
	Suite *suite = suite_create("events");

	add_notification(suite);
	add_streams(suite);
	return suite;
}
