/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The EP state machine: events of the peer and of the network, in every state. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "conform_eps.h"
#include "place.h"

static struct place place;

/* --- expected events --- */

static bool is_one_of(DAT_EVENT_NUMBER number, const DAT_EVENT_NUMBER *wanted)
{
	while (*wanted && *wanted != number)
		wanted++;
	return *wanted != 0;
}

/* Waits for one of these connection events. The EP has its new state by then (EPS-062). */
static void expect_one_of(const DAT_EVENT_NUMBER *wanted, enum place_state next)
{
	DAT_EVENT event = t_wait(place.me.connect_evd);

	ck_assert_msg(is_one_of(event.event_number, wanted), "event %s came",
		      t_event_name(event.event_number));
	ck_assert_ptr_eq(event.event_data.connect_event_data.ep_handle, place.me.ep);
	ck_assert_int_eq(t_ep_state(place.me.ep), place_dat_state(next));
}

static void expect_event(DAT_EVENT_NUMBER number, enum place_state next)
{
	const DAT_EVENT_NUMBER wanted[] = {number, 0};

	expect_one_of(wanted, next);
}

static void expect_receive_flushed(void)
{
	t_wait_dto(place.me.recv_evd, place.me.ep, PLACE_RECV, DAT_DTO_ERR_FLUSHED, 0);
}

/* If the peer is lost, the first request under way may report the reason (ERR-033). */
static void expect_request_failed(void)
{
	DAT_EVENT event = t_wait_for(place.me.request_evd, DAT_DTO_COMPLETION_EVENT);

	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, PLACE_BIG);
	ck_assert_int_ne(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

static void expect_both_flushed(void)
{
	expect_receive_flushed();
	t_wait_dto(place.me.request_evd, place.me.ep, PLACE_BIG, DAT_DTO_ERR_FLUSHED, 0);
}

static void expect_nothing_more(void)
{
	t_stays_quiet(place.me.connect_evd);
	t_no_event(place.me.recv_evd);
	t_no_event(place.me.request_evd);
}

/* Posts a receive and a request, to be flushed. In DPD the big message is the request. */
static void post_both(void)
{
	t_ok(place_post_recv(&place));
	if (place.state == CON)
		t_ok(place_post_big(&place));
}

static DAT_RETURN connect_within(DAT_CONN_QUAL qual, DAT_TIMEOUT timeout)
{
	return t_connect_data(place.me.ep, &place.ia[1], qual, timeout, NULL, 0);
}

/* --- requests --- */

START_TEST(EPS_040_request_for_an_rsp)
{
	DAT_EVENT event;
	const DAT_CR_ARRIVAL_EVENT_DATA *arrival = &event.event_data.cr_arrival_event_data;
	DAT_CR_PARAM param;

	place_make(&place, RES);
	t_ok(t_connect_data(place.peer.ep, &place.ia[0], place.rsp_qual, T_LIMIT_US, NULL, 0));
	event = t_wait_for(place.rsp_evd, DAT_CONNECTION_REQUEST_EVENT);
	ck_assert(arrival->sp_handle.rsp_handle == place.rsp ||
		  arrival->sp_handle.rsp_handle == DAT_HANDLE_NULL);
	ck_assert_uint_eq(arrival->conn_qual, place.rsp_qual);
	t_ok(dat_cr_query(arrival->cr_handle, DAT_CR_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.local_ep_handle, place.me.ep);
	ck_assert_int_eq(t_ep_state(place.me.ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	t_no_event(place.me.connect_evd);
}
END_TEST

START_TEST(EPS_041_068_request_for_a_provider_psp)
{
	/* EP-047 */
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;

	place_make(&place, UNC);
	t_listen(&place.provider, &place.ia[0], DAT_PSP_PROVIDER_FLAG);
	t_ok(t_connect(place.peer.ep, &place.provider));
	cr = t_next_cr(&place.provider);
	t_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_ptr_nonnull(param.local_ep_handle);
	ck_assert_ptr_ne(param.local_ep_handle, place.me.ep);
	ck_assert_int_eq(t_ep_state(param.local_ep_handle),
			 DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	ck_assert_int_eq(t_ep_state(place.me.ep), DAT_EP_STATE_UNCONNECTED);
}
END_TEST

/* --- answers to our request --- */

START_TEST(EPS_042_peer_accepts)
{
	/* EP-078 EPS-062 */
	place_make(&place, ACT);
	t_ok(t_cr_accept(place.cr, place.peer.ep));
	expect_event(DAT_CONNECTION_EVENT_ESTABLISHED, CON);
}
END_TEST

START_TEST(EPS_043_094_peer_consumer_rejects)
{
	/* EP-080 EP-101 */
	place_make(&place, ACT);
	t_ok(place_post_recv(&place));
	t_ok(t_cr_reject(place.cr));
	expect_event(DAT_CONNECTION_EVENT_PEER_REJECTED, DIS);
	expect_receive_flushed();
	expect_nothing_more();
}
END_TEST

START_TEST(EPS_044_094_nobody_listens)
{
	/* EP-081 EP-101 */
	static const DAT_CONN_QUAL unserved[] = {9, UINT64_C(0x7a00000000000001)};

	place_make(&place, UNC);
	t_ok(place_post_recv(&place));
	t_ok(connect_within(unserved[_i], T_LIMIT_US));
	expect_event(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, DIS);
	expect_receive_flushed();
	expect_nothing_more();
}
END_TEST

START_TEST(EPS_044_backlog_is_full)
{
	/* EP-081 EVS-089 EVS-134 */
	DAT_EVD_PARAM param;
	struct t_end other;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;

	place_make(&place, UNC);
	evd = t_evd(&place.ia[1], 1, DAT_EVD_CR_FLAG);
	t_ok(dat_psp_create_any(place.ia[1].ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	t_ok(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	for (DAT_COUNT i = 0; i < param.evd_qlen; i++) {
		t_end_new(&other, &place.ia[0], NULL);
		t_ok(t_connect_data(other.ep, &place.ia[1], qual, DAT_TIMEOUT_INFINITE, NULL, 0));
	}
	/* Requests of one IA arrive in order. */
	t_ok(connect_within(qual, T_LIMIT_US));
	expect_event(DAT_CONNECTION_EVENT_NON_PEER_REJECTED, DIS);
	t_no_event(place.ia[1].async_evd);
	for (DAT_COUNT i = 0; i < param.evd_qlen; i++)
		t_wait_for(evd, DAT_CONNECTION_REQUEST_EVENT);
}
END_TEST

#define CONNECT_TIMEOUT_US 300000u

START_TEST(EPS_045_102_103_connect_times_out)
{
	/* EP-083 EP-084 EP-101 EPS-094 EPS-107 */
	uint64_t began, took;

	place_make(&place, UNC);
	t_ok(place_post_recv(&place));
	began = t_now_us();
	t_ok(connect_within(place.at_peer.qual, CONNECT_TIMEOUT_US));
	expect_event(DAT_CONNECTION_EVENT_TIMED_OUT, DIS);
	took = t_now_us() - began;
	ck_assert_uint_ge(took, CONNECT_TIMEOUT_US);
	ck_assert_uint_le(took, CONNECT_TIMEOUT_US + T_LIMIT_US / 5);
	expect_receive_flushed();
	expect_nothing_more();
}
END_TEST

START_TEST(EPS_046_095_107_address_is_unreachable)
{
	/* EP-082 EP-088 EP-101; every kernel refuses a TCP connection to the broadcast address */
	struct sockaddr_in everybody = {.sin_family = AF_INET};
	DAT_RETURN ret;

	inet_pton(AF_INET, "255.255.255.255", &everybody.sin_addr);
	place_make(&place, UNC);
	t_ok(place_post_recv(&place));
	ret = dat_ep_connect(place.me.ep, (DAT_IA_ADDRESS_PTR)&everybody, 4711, T_LIMIT_US, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS) {
		t_error(ret, DAT_INVALID_ADDRESS);
		ck_assert_int_eq(t_ep_state(place.me.ep), DAT_EP_STATE_UNCONNECTED);
		return;
	}
	expect_event(DAT_CONNECTION_EVENT_UNREACHABLE, DIS);
	expect_receive_flushed();
	expect_nothing_more();
}
END_TEST

/* --- the accepting side --- */

START_TEST(EPS_047_handshake_finishes)
{
	place_make(&place, CMP);
	t_peer_thaw(&place.proc);
	expect_event(DAT_CONNECTION_EVENT_ESTABLISHED, CON);
}
END_TEST

START_TEST(EPS_048_051_096_connector_dies_in_the_handshake)
{
	place_make(&place, CMP);
	t_ok(place_post_recv(&place));
	place_kill_peer(&place);
	expect_event(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, DIS);
	expect_receive_flushed();
	expect_nothing_more();
}
END_TEST

START_TEST(EPS_049_051_connector_dies_before_the_decision)
{
	static const enum place_state states[] = {PAS, TEN};

	place_make_far(&place, states[_i]);
	t_ok(place_post_recv(&place));
	place_kill_peer(&place);
	expect_nothing_more();
	ck_assert_int_eq(t_ep_state(place.me.ep), place_dat_state(states[_i]));
	t_ok(t_cr_accept(place.cr, DAT_HANDLE_NULL));
	expect_event(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, DIS);
	expect_receive_flushed();
}
END_TEST

/* --- the end of a connection --- */

#define PEER_ENDS PEER_END_EXIT

START_TEST(EPS_050_peer_ends_the_connection)
{
	/* EP-132 EPS-060 EPS-084 */
	place_make_far(&place, _i < PEER_ENDS ? CON : DPD);
	post_both();
	place_end_peer(&place, (enum peer_end)(_i % PEER_ENDS + 1));
	expect_event(DAT_CONNECTION_EVENT_DISCONNECTED, DIS);
	expect_both_flushed();
	expect_nothing_more();
}
END_TEST

START_TEST(EPS_050_058_peer_ends_after_the_connection)
{
	place_make_far(&place, DIS);
	place_end_peer(&place, (enum peer_end)(_i + 1));
	expect_nothing_more();
	ck_assert_int_eq(t_ep_state(place.me.ep), DAT_EP_STATE_DISCONNECTED);
}
END_TEST

START_TEST(EPS_051_listener_dies)
{
	static const DAT_EVENT_NUMBER any[] = {
		DAT_CONNECTION_EVENT_UNREACHABLE,
		DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
		DAT_CONNECTION_EVENT_TIMED_OUT,
		0,
	};

	place_make_far(&place, ACT);
	t_ok(place_post_recv(&place));
	place_kill_peer(&place);
	expect_one_of(any, DIS);
	expect_receive_flushed();
	expect_nothing_more();
}
END_TEST

START_TEST(EPS_051_peer_dies)
{
	static const enum place_state states[] = {CON, DPD};
	static const DAT_EVENT_NUMBER any[] = {
		DAT_CONNECTION_EVENT_BROKEN,
		DAT_CONNECTION_EVENT_DISCONNECTED,
		0,
	};

	place_make_far(&place, states[_i]);
	post_both();
	place_kill_peer(&place);
	if (states[_i] == CON)
		expect_event(DAT_CONNECTION_EVENT_BROKEN, DIS);
	else
		expect_one_of(any, DIS);
	expect_receive_flushed();
	expect_request_failed();
	expect_nothing_more();
}
END_TEST

START_TEST(ERR_029_033_034_peer_is_lost_during_a_transfer)
{
	DAT_DTO_COOKIE cookie = {.as_64 = 2};
	DAT_LMR_TRIPLET segment;

	place_make_far(&place, CON);
	t_ok(place_post_big(&place));
	segment = t_seg(&place.me.buf, 0, 64);
	t_ok(dat_ep_post_send(place.me.ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	place_kill_peer(&place);
	t_wait_dto(place.me.request_evd, place.me.ep, PLACE_BIG, DAT_DTO_ERR_TRANSPORT, 0);
	t_wait_dto(place.me.request_evd, place.me.ep, 2, DAT_DTO_ERR_FLUSHED, 0);
	expect_event(DAT_CONNECTION_EVENT_BROKEN, DIS);
	expect_nothing_more();
}
END_TEST

#if T_DAT_MAJOR == 2
START_TEST(EVS_110_no_path_events_without_HA)
{
	DAT_EVENT event = {0};

	place_make_far(&place, CON);
	place_kill_peer(&place);
	expect_event(DAT_CONNECTION_EVENT_BROKEN, DIS);
	t_stays_quiet(place.me.connect_evd);
	while (dat_evd_dequeue(place.ia[0].async_evd, &event) == DAT_SUCCESS)
		ck_assert(place.ia[0].provider.ha_supported ||
			  (event.event_number != DAT_HA_DOWN_TO_1 &&
			   event.event_number != DAT_HA_UP_TO_MULTI_PATH));
}
END_TEST
#endif

START_TEST(EPS_051_peer_dies_after_the_connection)
{
	place_make_far(&place, DIS);
	place_kill_peer(&place);
	expect_nothing_more();
	ck_assert_int_eq(t_ep_state(place.me.ep), DAT_EP_STATE_DISCONNECTED);
}
END_TEST

/* --- faults --- */

static DAT_RETURN post_bad_write(const struct t_end *end, uint64_t cookie)
{
	return t_write(end, 0, 64, cookie, t_remote(0xdead0001, 0x1000, 64),
		       DAT_COMPLETION_DEFAULT_FLAG);
}

START_TEST(EPS_052_request_fails)
{
	/* DTO-058 DTO-059 */
	place_make(&place, CON);
	t_ok(place_post_recv(&place));
	t_ok(post_bad_write(&place.me, 1));
	t_ok(t_send(&place.me, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(place.me.request_evd, place.me.ep, 1, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	t_wait_dto(place.me.request_evd, place.me.ep, 2, DAT_DTO_ERR_FLUSHED, 0);
	expect_event(DAT_CONNECTION_EVENT_BROKEN, DIS);
	expect_receive_flushed();
	expect_nothing_more();
	t_wait_conn(place.peer.connect_evd, DAT_CONNECTION_EVENT_BROKEN, place.peer.ep);
}
END_TEST

START_TEST(EPS_052_request_fails_while_disconnecting)
{
	place_make(&place, CON);
	post_both();
	t_ok(post_bad_write(&place.me, 1));
	t_ok(dat_ep_disconnect(place.me.ep, DAT_CLOSE_GRACEFUL_FLAG));
	ck_assert_int_eq(t_ep_state(place.me.ep), DAT_EP_STATE_DISCONNECT_PENDING);
	place_take_big(&place);
	t_wait_dto(place.me.request_evd, place.me.ep, PLACE_BIG, DAT_DTO_SUCCESS,
		   place.big[0].size);
	t_wait_dto(place.me.request_evd, place.me.ep, 1, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	expect_event(DAT_CONNECTION_EVENT_BROKEN, DIS);
	expect_receive_flushed();
	expect_nothing_more();
}
END_TEST

START_TEST(EPS_053_receive_fails)
{
	/* DTO-064 DTO-079 DTO-080 */
	static const enum place_state states[] = {CON, DPD};

	place_make(&place, states[_i]);
	t_ok(t_recv(&place.me, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	post_both();
	t_ok(t_send(&place.peer, 0, 65, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(place.me.recv_evd, place.me.ep, 1, DAT_DTO_LENGTH_ERROR, 0);
	expect_event(DAT_CONNECTION_EVENT_BROKEN, DIS);
	expect_receive_flushed();
	expect_request_failed();
	expect_nothing_more();
	t_wait_conn(place.peer.connect_evd, DAT_CONNECTION_EVENT_BROKEN, place.peer.ep);
}
END_TEST

/* The messages behind it may be there already when its receive fails. */
START_TEST(EPS_053_no_receive_succeeds_behind_one_that_failed)
{
	/* DTO-080 */
	enum { MESSAGES = 8 };

	place_make(&place, CON);
	for (uint64_t i = 0; i < MESSAGES; i++)
		t_ok(t_recv(&place.me, 64 * i, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < MESSAGES; i++)
		t_ok(t_send(&place.peer, 0, i == 1 ? 65 : 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(place.me.recv_evd, place.me.ep, 0, DAT_DTO_SUCCESS, 64);
	t_wait_dto(place.me.recv_evd, place.me.ep, 1, DAT_DTO_LENGTH_ERROR, 0);
	for (uint64_t i = 2; i < MESSAGES; i++)
		t_wait_dto(place.me.recv_evd, place.me.ep, i, DAT_DTO_ERR_FLUSHED, 0);
	expect_event(DAT_CONNECTION_EVENT_BROKEN, DIS);
	expect_nothing_more();
}
END_TEST

START_TEST(EPS_054_rdma_of_the_peer_is_refused)
{
	/* DTO-125 */
	static const enum place_state states[] = {CON, DPD};

	place_make(&place, states[_i]);
	post_both();
	t_ok(post_bad_write(&place.peer, 1));
	t_wait_dto(place.peer.request_evd, place.peer.ep, 1, DAT_DTO_ERR_REMOTE_ACCESS, 0);
	expect_event(DAT_CONNECTION_EVENT_BROKEN, DIS);
	expect_receive_flushed();
	expect_request_failed();
	expect_nothing_more();
}
END_TEST

START_TEST(EPS_055_last_request_finishes)
{
	place_make(&place, CON);
	t_ok(place_post_big(&place));
	place_take_big(&place);
	t_wait_dto(place.me.request_evd, place.me.ep, PLACE_BIG, DAT_DTO_SUCCESS,
		   place.big[0].size);
	ck_assert_int_eq(t_ep_state(place.me.ep), DAT_EP_STATE_CONNECTED);
	t_no_event(place.me.connect_evd);
}
END_TEST

START_TEST(EPS_055_079_last_request_finishes_while_disconnecting)
{
	/* EP-119 EPS-078 EPS-083 */
	place_make(&place, DPD);
	t_ok(place_post_recv(&place));
	t_stays_quiet(place.me.connect_evd);
	ck_assert_int_eq(t_ep_state(place.me.ep), DAT_EP_STATE_DISCONNECT_PENDING);
	place_take_big(&place);
	t_wait_dto(place.me.request_evd, place.me.ep, PLACE_BIG, DAT_DTO_SUCCESS,
		   place.big[0].size);
	expect_event(DAT_CONNECTION_EVENT_DISCONNECTED, DIS);
	expect_receive_flushed();
	expect_nothing_more();
	t_wait_dto(place.peer.recv_evd, place.peer.ep, PLACE_BIG, DAT_DTO_SUCCESS,
		   place.big[0].size);
	t_wait_conn(place.peer.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, place.peer.ep);
}
END_TEST

START_TEST(EPS_056_hard_watermark_is_exceeded)
{
	place_make(&place, CON);
	t_ok(dat_ep_set_watermark(place.me.ep, DAT_WATERMARK_INFINITE, 1));
	post_both();
	t_no_event(place.me.connect_evd);
	t_ok(place_post_recv(&place));
	expect_event(DAT_CONNECTION_EVENT_BROKEN, DIS);
	expect_receive_flushed();
	expect_both_flushed();
	expect_nothing_more();
}
END_TEST

/* Replaces one of our EVDs by one of length 1 and connects. */
static DAT_EVD_HANDLE connect_with_short_evd(DAT_EP_PARAM_MASK which)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_PARAM param;

	place_make(&place, UNC);
	evd = t_evd(&place.ia[0], 1, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	param.recv_evd_handle = param.request_evd_handle = evd;
	t_ok(dat_ep_modify(place.me.ep, which, &param));
	t_establish(&place.at_peer, &place.me, &place.peer);
	return evd;
}

static void expect_overflow(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event = t_wait_for(place.ia[0].async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);

	ck_assert_ptr_eq(event.event_data.asynch_error_event_data.dat_handle, evd);
	expect_event(DAT_CONNECTION_EVENT_BROKEN, DIS);
	t_stays_quiet(place.ia[0].async_evd);
	t_no_event(place.me.connect_evd);
}

START_TEST(EPS_057_recv_evd_overflows)
{
	/* EVS-086 EVS-093 */
	DAT_EVD_HANDLE evd = connect_with_short_evd(DAT_EP_FIELD_RECV_EVD_HANDLE);

	for (uint64_t i = 0; i < 3; i++)
		t_ok(t_recv(&place.me, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	if (_i) {
		t_ok(place_post_big(&place));
		t_ok(dat_ep_disconnect(place.me.ep, DAT_CLOSE_GRACEFUL_FLAG));
	}
	for (uint64_t i = 0; i < 3; i++)
		t_ok(t_send(&place.peer, 0, 64, i, DAT_COMPLETION_SUPPRESS_FLAG));
	expect_overflow(evd);
}
END_TEST

START_TEST(EPS_057_request_evd_overflows)
{
	DAT_EVD_HANDLE evd = connect_with_short_evd(DAT_EP_FIELD_REQUEST_EVD_HANDLE);

	for (uint64_t i = 0; i < 3; i++)
		t_ok(t_recv(&place.peer, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < 3; i++)
		t_ok(t_send(&place.me, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	expect_overflow(evd);
}
END_TEST

/* --- case --- */

static void leave(void)
{
	place_leave(&place);
}

void conform_eps_events(Suite *suite)
{
	TCase *tcase = tcase_create("eps-events");

	tcase_add_checked_fixture(tcase, NULL, leave);
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, EPS_040_request_for_an_rsp);
	tcase_add_test(tcase, EPS_041_068_request_for_a_provider_psp);
	tcase_add_test(tcase, EPS_042_peer_accepts);
	tcase_add_test(tcase, EPS_043_094_peer_consumer_rejects);
	tcase_add_loop_test(tcase, EPS_044_094_nobody_listens, 0, 2);
	tcase_add_test(tcase, EPS_044_backlog_is_full);
	tcase_add_test(tcase, EPS_045_102_103_connect_times_out);
	tcase_add_test(tcase, EPS_046_095_107_address_is_unreachable);
	tcase_add_test(tcase, EPS_047_handshake_finishes);
	tcase_add_test(tcase, EPS_048_051_096_connector_dies_in_the_handshake);
	tcase_add_loop_test(tcase, EPS_049_051_connector_dies_before_the_decision, 0, 2);
	tcase_add_loop_test(tcase, EPS_050_peer_ends_the_connection, 0, 2 * PEER_ENDS);
	tcase_add_loop_test(tcase, EPS_050_058_peer_ends_after_the_connection, 2, PEER_ENDS);
	tcase_add_test(tcase, EPS_051_listener_dies);
	tcase_add_loop_test(tcase, EPS_051_peer_dies, 0, 2);
	tcase_add_test(tcase, ERR_029_033_034_peer_is_lost_during_a_transfer);
	tcase_add_test(tcase, EPS_051_peer_dies_after_the_connection);
#if T_DAT_MAJOR == 2
	tcase_add_test(tcase, EVS_110_no_path_events_without_HA);
#endif
	tcase_add_test(tcase, EPS_052_request_fails);
	tcase_add_test(tcase, EPS_052_request_fails_while_disconnecting);
	tcase_add_loop_test(tcase, EPS_053_receive_fails, 0, 2);
	tcase_add_test(tcase, EPS_053_no_receive_succeeds_behind_one_that_failed);
	tcase_add_loop_test(tcase, EPS_054_rdma_of_the_peer_is_refused, 0, 2);
	tcase_add_test(tcase, EPS_055_last_request_finishes);
	tcase_add_test(tcase, EPS_055_079_last_request_finishes_while_disconnecting);
	tcase_add_test(tcase, EPS_056_hard_watermark_is_exceeded);
	tcase_add_loop_test(tcase, EPS_057_recv_evd_overflows, 0, 2);
	tcase_add_test(tcase, EPS_057_request_evd_overflows);
}
