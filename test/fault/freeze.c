/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The other process is stopped by SIGSTOP. No call here waits for it without a limit. */
#include "fault.h"

#define RECEIVES     10u
#define REQUESTS     10u
#define HANDSHAKE_MS "1500" /* how long the provider waits for a step of a peer */
#define HANDSHAKE_US 1500000u
#define AT_ONCE_US   (T_LIMIT_US / 5)

static struct t_peer peer;
static struct t_ia ia;
static struct t_end end;
static struct t_listener listener;

/* Sets the limits before the peer starts, so that both processes have the same limits. */
static void setup(void)
{
	setenv("DAT_OFI_HANDSHAKE_MS", HANDSHAKE_MS, 1);
	setenv("DAT_OFI_LOG", "off", 1);
}

static void open_end(void)
{
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
}

/* --- the peer until it is stopped --- */

static void listen_role(struct t_peer *self)
{
	open_end();
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	t_peer_hear(self);
}

/* Accepts, and after the thaw reports how the connection ended. */
static void accept_role(struct t_peer *self)
{
	DAT_COUNT more;
	DAT_EVENT event;

	open_end();
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_peer_tell(self, 1);
	t_ok(dat_evd_wait(end.connect_evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	t_peer_tell(self, event.event_number);
	t_ia_close(&ia);
}

static void connect_role(struct t_peer *self)
{
	DAT_COUNT more;
	DAT_EVENT event;

	open_end();
	t_ok(t_connect_data(end.ep, &ia, t_peer_hear(self), DAT_TIMEOUT_INFINITE, NULL, 0));
	t_ok(dat_evd_wait(end.connect_evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	t_peer_tell(self, event.event_number);
	t_ia_close(&ia);
}

static void connect_to_peer(void)
{
	t_peer_start(&peer, accept_role);
	open_end();
	t_ok(t_connect_data(end.ep, &ia, t_peer_hear(&peer), T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_peer_hear(&peer);
	t_peer_freeze(&peer);
}

static void post_all(void)
{
	for (uint64_t i = 0; i < RECEIVES; i++)
		t_ok(t_recv(&end, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < REQUESTS; i++)
		t_ok(t_send(&end, 0, T_BUF_SIZE, i, DAT_COMPLETION_DEFAULT_FLAG));
}

/* --- connecting --- */

START_TEST(frozen_listener)
{
	DAT_CONN_QUAL qual;
	uint64_t began;

	t_peer_start(&peer, listen_role);
	open_end();
	qual = t_peer_hear(&peer);
	t_peer_freeze(&peer);
	t_ok(t_recv(&end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	began = t_now_us();
	t_ok(t_connect_data(end.ep, &ia, qual, 200000, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_TIMED_OUT, end.ep);
	ck_assert_uint_ge(t_now_us() - began, 200000);
	ck_assert_uint_lt(t_now_us() - began, AT_ONCE_US);
	t_wait_dto(end.recv_evd, end.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
	t_peer_kill(&peer);
	t_ia_close(&ia);
}
END_TEST

/* A connector is frozen before its request is accepted, and thaws too late. */
START_TEST(frozen_connector)
{
	DAT_CR_HANDLE cr;

	t_peer_start(&peer, connect_role);
	open_end();
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(&peer, listener.qual);
	cr = t_next_cr(&listener);
	t_peer_freeze(&peer);
	t_ok(t_recv(&end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_cr_accept(cr, end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, end.ep);
	t_wait_dto(end.recv_evd, end.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
	t_peer_thaw(&peer);
	ck_assert_uint_eq(t_peer_hear(&peer), DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	t_peer_join(&peer);
	t_ia_close(&ia);
}
END_TEST

/* As a process of an overloaded host: it is late by more than one step may take. */
START_TEST(connector_that_thaws_in_time)
{
	uint64_t began;
	DAT_CR_HANDLE cr;

	t_peer_start(&peer, connect_role);
	open_end();
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(&peer, listener.qual);
	cr = t_next_cr(&listener);
	t_peer_freeze(&peer);
	t_ok(t_cr_accept(cr, end.ep));
	began = t_now_us();
	t_until(t_now_us() - began > 2 * HANDSHAKE_US);
	t_no_event(end.connect_evd);
	t_peer_thaw(&peer);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	ck_assert_uint_eq(t_peer_hear(&peer), DAT_CONNECTION_EVENT_ESTABLISHED);
	t_peer_join(&peer);
	t_ia_close(&ia);
}
END_TEST

/* --- disconnecting --- */

static void expect_flushed(DAT_EVD_HANDLE evd, uint64_t number)
{
	uint64_t began = t_now_us();

	for (uint64_t i = 0; i < number; i++) {
		DAT_EVENT event = t_wait_for(evd, DAT_DTO_COMPLETION_EVENT);
		const DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event.event_data.dto_completion_event_data;

		/* The fabric may have accepted some messages before. */
		ck_assert_uint_eq(dto->user_cookie.as_64, i);
		ck_assert_msg(dto->status == DAT_DTO_ERR_FLUSHED || evd == end.request_evd,
			      "a receive ends with %s", t_status_name(dto->status));
	}
	ck_assert_uint_lt(t_now_us() - began, AT_ONCE_US);
	t_no_event(evd);
}

static void expect_shm_cleanup(void)
{
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	expect_flushed(end.recv_evd, RECEIVES);
	expect_flushed(end.request_evd, REQUESTS);
	ck_assert_int_eq(t_ep_state(end.ep), DAT_EP_STATE_DISCONNECTED);
}

/* Expects this event of the peer after the thaw. */
static void expect_peer_sees(DAT_EVENT_NUMBER number)
{
	t_peer_thaw(&peer);
	ck_assert_uint_eq(t_peer_hear(&peer), number);
	t_peer_join(&peer);
}

START_TEST(disconnect_abruptly)
{
	uint64_t began;

	connect_to_peer();
	post_all();
	began = t_now_us();
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_shm_cleanup();
	ck_assert_uint_lt(t_now_us() - began, AT_ONCE_US);
	expect_peer_sees(DAT_CONNECTION_EVENT_DISCONNECTED);
	t_ia_close(&ia);
}
END_TEST

/* A graceful disconnect waits for the messages that were sent. An abrupt one ends the wait. */
START_TEST(disconnect_gracefully_then_abruptly)
{
	connect_to_peer();
	post_all();
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_stays_quiet(end.connect_evd);
	ck_assert_int_eq(t_ep_state(end.ep), DAT_EP_STATE_DISCONNECT_PENDING);
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_shm_cleanup();
	expect_peer_sees(DAT_CONNECTION_EVENT_DISCONNECTED);
	t_ia_close(&ia);
}
END_TEST

/* Where freeing memory asks the peer to forget its context, it waits for a second at most. */
START_TEST(free_all_objects)
{
	uint64_t began;

	connect_to_peer();
	t_ok(t_recv(&end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	began = t_now_us();
	t_ok(dat_lmr_free(end.buf.lmr));
	t_ok(dat_ep_free(end.ep));
	ck_assert_uint_lt(t_now_us() - began, 2 * AT_ONCE_US);
	expect_peer_sees(DAT_CONNECTION_EVENT_DISCONNECTED);
	t_ia_close(&ia);
}
END_TEST

START_TEST(close_the_ia)
{
	uint64_t began;

	connect_to_peer();
	post_all();
	began = t_now_us();
	t_ia_close(&ia);
	ck_assert_uint_lt(t_now_us() - began, AT_ONCE_US);
	expect_peer_sees(DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

/* A peer that thaws in time gets everything that was posted meanwhile. */
START_TEST(traffic_continues_after_the_thaw)
{
	connect_to_peer();
	t_ok(t_recv(&end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	for (unsigned int i = 0; i < fault_amount(1, 600);
	     i++) /* a minute: a slow peer is not a dead one */
		t_stays_quiet(end.connect_evd);
	ck_assert_int_eq(t_ep_state(end.ep), DAT_EP_STATE_CONNECTED);
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_peer_sees(DAT_CONNECTION_EVENT_DISCONNECTED);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	t_wait_dto(end.recv_evd, end.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
	t_ia_close(&ia);
}
END_TEST

/* --- memory --- */

static struct t_buf big;

/* As accept_role, with memory to read from. */
static void memory_role(struct t_peer *self)
{
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_buf_new(&big, ia.ia, ia.pz, t_much(&ia), DAT_MEM_PRIV_ALL_FLAG);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_peer_tell(self, big.rmr_context);
	t_peer_tell(self, (uintptr_t)big.mem);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	t_peer_tell(self, 1);
	t_peer_hear(self);
	t_ia_close(&ia);
}

static void read_of_peer(void)
{
	DAT_RMR_CONTEXT context = (DAT_RMR_CONTEXT)t_peer_hear(&peer);
	uintptr_t address = (uintptr_t)t_peer_hear(&peer);
	DAT_RMR_TRIPLET remote = t_remote(context, address, big.size);
	DAT_LMR_TRIPLET segment = t_seg(&big, 0, big.size);

	/* The first read also reads the peer's context table. */
	t_ok(t_read(&end, 0, 64, 1, t_remote(context, address, 64), DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end.request_evd, end.ep, 1, DAT_DTO_SUCCESS, 64);
	t_peer_freeze(&peer);
	t_ok(dat_ep_post_rdma_read(end.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 2}, &remote,
				   DAT_COMPLETION_DEFAULT_FLAG));
}

/* With a linger that is long enough, the peer's operations do not change memory after the end. */
START_TEST(memory_does_not_change_after_the_end)
{
	setenv("DAT_OFI_LINGER_MS", "600000", 1);
	t_peer_start(&peer, memory_role);
	open_end();
	t_buf_new(&big, ia.ia, ia.pz, t_much(&ia), DAT_MEM_PRIV_ALL_FLAG);
	t_ok(t_connect_data(end.ep, &ia, t_peer_hear(&peer), T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	read_of_peer();
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG));
	/* the longest wait of the other cases */
	for (uint64_t began = t_now_us(); t_now_us() - began < AT_ONCE_US;)
		t_pause();
	t_peer_thaw(&peer);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	t_fill(big.mem, big.size, 1);
	t_peer_hear(&peer);
	for (uint64_t began = t_now_us(); t_now_us() - began < T_QUIET_US; t_pause())
		;
	ck_assert(t_is_filled(big.mem, big.size, 1));
	t_peer_tell(&peer, 1);
	t_ia_close(&ia);
	t_peer_join(&peer);
}
END_TEST

/* --- binds --- */

static DAT_RMR_HANDLE rmr;

static DAT_RETURN bind_part(const struct t_end *of, size_t offset, uint64_t cookie)
{
	DAT_RMR_CONTEXT context;

	return t_rmr_bind(rmr, &of->buf, t_seg(&of->buf, offset, 64), DAT_MEM_PRIV_REMOTE_READ_FLAG,
			  of->ep, cookie, DAT_COMPLETION_DEFAULT_FLAG, &context);
}

static void bind_first(void)
{
	t_ok(dat_rmr_create(ia.pz, &rmr));
	t_ok(bind_part(&end, 0, 1));
	t_wait_bind(end.request_evd, rmr, 1, DAT_DTO_SUCCESS);
}

/*
 * A bind replaces a context that the peer may use, so it waits for the peer's answer. If the peer
 * does not answer, its connections break and the bind completes.
 */
START_TEST(bind_gives_up_a_frozen_peer)
{
	connect_to_peer();
	bind_first();
	t_ok(t_recv(&end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(bind_part(&end, 64, 2));
	t_ok(t_send(&end, 0, 64, 3, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_bind(end.request_evd, rmr, 2, DAT_DTO_SUCCESS);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_BROKEN, end.ep);
	t_wait_dto(end.recv_evd, end.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
	expect_peer_sees(DAT_CONNECTION_EVENT_BROKEN);
	t_ia_close(&ia);
}
END_TEST

/* A bind on another connection waits for the same peer. That connection continues. */
START_TEST(bind_on_another_connection_gives_up_the_frozen_peer)
{
	struct t_loop loop;

	connect_to_peer();
	t_loop_open(&loop, &ia, NULL);
	bind_first();
	t_ok(bind_part(&loop.end[0], 0, 2));
	t_wait_bind(loop.end[0].request_evd, rmr, 2, DAT_DTO_SUCCESS);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_BROKEN, end.ep);
	t_ok(t_recv(&loop.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(&loop.end[0], 0, 64, 3, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, 1, DAT_DTO_SUCCESS, 64);
	expect_peer_sees(DAT_CONNECTION_EVENT_BROKEN);
	t_ia_close(&ia);
}
END_TEST

/* The peer answers in time, and nothing breaks. */
START_TEST(bind_waits_for_the_thaw)
{
	setenv("DAT_OFI_HANDSHAKE_MS", "10000", 1);
	connect_to_peer();
	bind_first();
	t_ok(bind_part(&end, 64, 2));
	t_stays_quiet(end.request_evd);
	t_peer_thaw(&peer);
	t_wait_bind(end.request_evd, rmr, 2, DAT_DTO_SUCCESS);
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	ck_assert_uint_eq(t_peer_hear(&peer), DAT_CONNECTION_EVENT_DISCONNECTED);
	t_peer_join(&peer);
	t_ia_close(&ia);
}
END_TEST

/* The end of the connection ends the wait, too. */
START_TEST(bind_waits_when_its_connection_ends)
{
	setenv("DAT_OFI_HANDSHAKE_MS", "10000", 1);
	connect_to_peer();
	bind_first();
	t_ok(bind_part(&end, 64, 2));
	t_stays_quiet(end.request_evd);
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	t_wait_for(end.request_evd, DAT_RMR_BIND_COMPLETION_EVENT);
	t_no_event(end.request_evd);
	t_ok(dat_ep_reset(end.ep));
	t_ok(dat_ep_free(end.ep));
	t_peer_kill(&peer);
	t_ia_close(&ia);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("freeze");
	TCase *tcase = tcase_create("freeze");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, frozen_listener);
	tcase_add_test(tcase, frozen_connector);
	tcase_add_test(tcase, connector_that_thaws_in_time);
	tcase_add_test(tcase, disconnect_abruptly);
	tcase_add_test(tcase, disconnect_gracefully_then_abruptly);
	tcase_add_test(tcase, free_all_objects);
	tcase_add_test(tcase, close_the_ia);
	tcase_add_test(tcase, traffic_continues_after_the_thaw);
	tcase_add_test(tcase, memory_does_not_change_after_the_end);
	tcase_add_test(tcase, bind_gives_up_a_frozen_peer);
	tcase_add_test(tcase, bind_on_another_connection_gives_up_the_frozen_peer);
	tcase_add_test(tcase, bind_waits_for_the_thaw);
	tcase_add_test(tcase, bind_waits_when_its_connection_ends);
	return t_run(suite);
}
