/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The other process dies. All posted requests complete soon. */
#include <string.h>
#include <sys/socket.h>

#include "shm.h"
#include "victim.h"
#if T_DAT_MAJOR == 2
#include <dat2/dat_ib_extensions.h>
#endif

#define SOON_US     2000000u
#define RECEIVES    20u
#define REQUESTS    10u
#define CONNECTIONS 20

static struct t_peer victim;
static struct t_ia ia;

static void connect_to(const struct t_end *end, const struct t_ia *own, DAT_CONN_QUAL qual)
{
	t_ok(t_connect_data(end->ep, own, qual, T_LIMIT_US, NULL, 0));
	t_wait_conn(end->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end->ep);
}

/* The victim: connects, sends the address of a buffer, and waits to be killed. */
static void active_victim(struct t_peer *self)
{
	static struct t_end ends[CONNECTIONS];
	DAT_CONN_QUAL qual;
	uint64_t number;
	struct t_ia own;

	t_ia_open(&own);
	qual = t_peer_hear(self);
	number = t_peer_hear(self);
	for (uint64_t i = 0; i < number; i++) {
		t_end_new(&ends[i], &own, NULL);
		connect_to(&ends[i], &own, qual);
	}
	t_peer_tell(self, ends[0].buf.rmr_context);
	t_peer_tell(self, (uintptr_t)ends[0].buf.mem);
	t_peer_hear(self);
}

static void passive_victim(struct t_peer *self)
{
	struct t_listener listener;
	struct t_end end;
	struct t_ia own;

	t_ia_open(&own);
	t_end_new(&end, &own, NULL);
	t_listen(&listener, &own, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_peer_hear(self);
}

static void accept_victims(struct t_end *ends, unsigned int number)
{
	struct t_listener listener;

	t_peer_start(&victim, active_victim);
	t_ia_open(&ia);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(&victim, listener.qual);
	t_peer_tell(&victim, number);
	for (unsigned int i = 0; i < number; i++) {
		t_end_new(&ends[i], &ia, NULL);
		t_ok(t_cr_accept(t_next_cr(&listener), ends[i].ep));
		t_wait_conn(ends[i].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, ends[i].ep);
	}
}

/* Posts receives that no message fills and sends that no receive takes. */
static void post_all(const struct t_end *end)
{
	struct t_buf big;
	DAT_LMR_TRIPLET segment;

	t_buf_new(&big, ia.ia, ia.pz, t_much(&ia), DAT_MEM_PRIV_ALL_FLAG);
	segment = t_seg(&big, 0, big.size);
	for (uint64_t i = 0; i < RECEIVES; i++)
		t_ok(t_recv(end, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < REQUESTS; i++)
		t_ok(dat_ep_post_send(end->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
				      DAT_COMPLETION_DEFAULT_FLAG));
}

static DAT_EVENT wait_until(DAT_EVD_HANDLE evd, uint64_t deadline)
{
	uint64_t now = t_now_us();
	DAT_COUNT nmore;
	DAT_EVENT event;

	ck_assert_msg(now < deadline, "not all has come 2 s after the death");
	t_ok(dat_evd_wait(evd, (DAT_TIMEOUT)(deadline - now), 1, &event, &nmore));
	return event;
}

/* The first requests may have succeeded before the peer died. */
static void expect_end_of(DAT_EVD_HANDLE evd, uint64_t number, bool may_succeed, uint64_t deadline)
{
	bool failed = false;

	for (uint64_t i = 0; i < number; i++) {
		DAT_EVENT event = wait_until(evd, deadline);
		const DAT_DTO_COMPLETION_EVENT_DATA *dto =
			&event.event_data.dto_completion_event_data;

		ck_assert_int_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
		ck_assert_uint_eq(dto->user_cookie.as_64, i);
		if (dto->status == DAT_DTO_SUCCESS && may_succeed && !failed)
			continue;
		ck_assert_int_ne(dto->status, DAT_DTO_SUCCESS);
		if (failed)
			ck_assert_int_eq(dto->status, DAT_DTO_ERR_FLUSHED);
		failed = true;
	}
	t_no_event(evd);
}

static void expect_completions(DAT_EVD_HANDLE evd, uint64_t number, uint64_t deadline)
{
	expect_end_of(evd, number, false, deadline);
}

/* Expects the events of a connection whose peer has died. */
static void expect_over(const struct t_end *end, uint64_t deadline)
{
	DAT_EVENT event = wait_until(end->connect_evd, deadline);

	ck_assert_msg(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
			      event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
		      "event %s came", t_event_name(event.event_number));
	ck_assert_ptr_eq(event.event_data.connect_event_data.ep_handle, end->ep);
	expect_completions(end->recv_evd, RECEIVES, deadline);
	expect_completions(end->request_evd, REQUESTS, deadline);
	t_no_event(end->connect_evd);
	ck_assert_int_eq(t_ep_state(end->ep), DAT_EP_STATE_DISCONNECTED);
}

static uint64_t kill_victim(void)
{
	t_peer_kill(&victim);
	return t_now_us() + SOON_US;
}

START_TEST(killed_connector)
{
	struct t_end end;

	accept_victims(&end, 1);
	post_all(&end);
	expect_over(&end, kill_victim());
	t_end_free(&end);
	t_ia_close(&ia);
}
END_TEST

START_TEST(killed_acceptor)
{
	struct t_end end;

	t_peer_start(&victim, passive_victim);
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	connect_to(&end, &ia, t_peer_hear(&victim));
	post_all(&end);
	expect_over(&end, kill_victim());
	t_end_free(&end);
	t_ia_close(&ia);
}
END_TEST

START_TEST(killed_while_stopped)
{
	struct t_end end;

	accept_victims(&end, 1);
	post_all(&end);
	t_peer_freeze(&victim);
	t_stays_quiet(end.connect_evd); /* a slow peer is not a dead one */
	expect_over(&end, kill_victim());
	t_ia_close(&ia);
}
END_TEST

START_TEST(killed_in_the_middle_of_rdma)
{
	uint64_t deadline, posted;
	DAT_RMR_CONTEXT context;
	DAT_RMR_TRIPLET remote;
	struct t_end end;
	DAT_EVENT event;

	accept_victims(&end, 1);
	context = (DAT_RMR_CONTEXT)t_peer_hear(&victim);
	remote = t_remote(context, (uintptr_t)t_peer_hear(&victim), T_BUF_SIZE);
	t_ok(t_read(&end, 0, T_BUF_SIZE, 1000, remote, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end.request_evd, end.ep, 1000, DAT_DTO_SUCCESS, T_BUF_SIZE);
	t_peer_freeze(&victim);
	for (posted = 0; posted < 100; posted += 2) {
		t_ok(t_read(&end, 0, T_BUF_SIZE, posted, remote, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_write(&end, 0, T_BUF_SIZE, posted + 1, remote, DAT_COMPLETION_DEFAULT_FLAG));
	}
	deadline = kill_victim();
	event = wait_until(end.connect_evd, deadline);
	ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_BROKEN);
	/* shm reads and writes the memory of a stopped process by itself. */
	expect_end_of(end.request_evd, posted, true, deadline);
	t_ia_close(&ia);
}
END_TEST

#if T_DAT_MAJOR == 2

#define LONG_WRITE ((size_t)4 << 20)
#define WRITES     3u

/* As the active victim, with receives and a longer buffer. */
static void written_victim(struct t_peer *self)
{
	DAT_CONN_QUAL qual = t_peer_hear(self);
	struct t_buf room;
	struct t_end end;
	struct t_ia own;

	t_ia_open(&own);
	t_end_new(&end, &own, NULL);
	t_buf_new(&room, own.ia, own.pz, LONG_WRITE, DAT_MEM_PRIV_ALL_FLAG);
	for (unsigned int i = 0; i <= WRITES; i++)
		t_ok(t_recv(&end, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	connect_to(&end, &own, qual);
	t_peer_tell(self, room.rmr_context);
	t_peer_tell(self, (uintptr_t)room.mem);
	t_peer_hear(self);
}

static DAT_RETURN write_immediate(const struct t_end *end, const struct t_buf *from, size_t length,
				  uint64_t cookie, DAT_RMR_TRIPLET to)
{
	DAT_LMR_TRIPLET segment = t_seg(from, 0, length);

	to.segment_length = length;
	return dat_ib_post_rdma_write_immed(end->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = cookie},
					    &to, 1, DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_DTO_COMPLETION_STATUS written(DAT_EVENT event, uint64_t cookie)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	ck_assert_int_eq((int)event.event_number, DAT_IB_DTO_EVENT);
	ck_assert_uint_eq(dto->user_cookie.as_64, cookie);
	return dto->status;
}

/* The fabric may still have the control records and the messages behind the data. */
START_TEST(killed_in_the_middle_of_immediate_data)
{
	struct t_listener listener;
	DAT_RMR_CONTEXT context;
	DAT_RMR_TRIPLET to;
	struct t_buf from;
	struct t_end end;
	uint64_t deadline;

	t_peer_start(&victim, written_victim);
	t_ia_open(&ia);
	if (strcmp(t_named(&ia.provider, DAT_IB_ATTR_IMMED_DATA), "TRUE"))
		t_skip("the fabric has no immediate data");
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(&victim, listener.qual);
	t_end_new(&end, &ia, NULL);
	t_buf_new(&from, ia.ia, ia.pz, LONG_WRITE, DAT_MEM_PRIV_ALL_FLAG);
	t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	context = (DAT_RMR_CONTEXT)t_peer_hear(&victim);
	to = t_remote(context, (uintptr_t)t_peer_hear(&victim), LONG_WRITE);
	/* afterwards the context and the way of the records are known */
	t_ok(write_immediate(&end, &from, 64, 0, to));
	ck_assert_int_eq(written(t_wait(end.request_evd), 0), DAT_DTO_SUCCESS);
	t_peer_freeze(&victim);
	for (uint64_t i = 0; i < WRITES; i++)
		t_ok(write_immediate(&end, &from, LONG_WRITE, i, to));
	t_stays_quiet(end.connect_evd);
	deadline = kill_victim();
	ck_assert_int_eq(wait_until(end.connect_evd, deadline).event_number,
			 DAT_CONNECTION_EVENT_BROKEN);
	for (uint64_t i = 0; i < WRITES; i++)
		written(wait_until(end.request_evd, deadline), i);
	t_no_event(end.request_evd);
	t_ia_close(&ia);
}
END_TEST

#endif

START_TEST(killed_with_many_connections)
{
	static struct t_end ends[CONNECTIONS];
	uint64_t deadline;

	accept_victims(ends, CONNECTIONS);
	for (int i = 0; i < CONNECTIONS; i++)
		post_all(&ends[i]);
	deadline = kill_victim();
	for (int i = 0; i < CONNECTIONS; i++)
		expect_over(&ends[i], deadline);
	t_ia_close(&ia);
}
END_TEST

START_TEST(killed_while_a_thread_waits)
{
	struct t_waiter waiter;
	struct t_end end;
	uint64_t deadline;

	accept_victims(&end, 1);
	t_ok(t_recv(&end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_evd_waiter_start(&waiter, end.recv_evd, 1);
	deadline = kill_victim();
	t_ok(t_waiter_join(&waiter));
	ck_assert_uint_lt(t_now_us(), deadline);
	ck_assert_int_eq(waiter.event.event_data.dto_completion_event_data.status,
			 DAT_DTO_ERR_FLUSHED);
	t_ia_close(&ia);
}
END_TEST

START_TEST(killed_peer_leaves_the_ia_usable)
{
	struct t_loop loop;
	struct t_end end;

	accept_victims(&end, 1);
	post_all(&end);
	expect_over(&end, kill_victim());
	t_ok(dat_ep_reset(end.ep));
	t_loop_open(&loop, &ia, NULL);
	t_ok(t_recv(&loop.end[1], 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_send(&loop.end[0], 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(loop.end[1].recv_evd, loop.end[1].ep, 1, DAT_DTO_SUCCESS, 64);
	t_ia_close(&ia);
}
END_TEST

/* --- during traffic --- */

#define DEPTH 8u

/* Some fabrics send a large message in parts, and the peer dies between two parts. */
static const DAT_VLEN sizes[] = {64, T_BUF_SIZE};
static DAT_VLEN size;

static void take_one(const struct t_end *end, DAT_EVD_HANDLE evd)
{
	t_wait_for(evd, DAT_DTO_COMPLETION_EVENT);
	if (evd == end->recv_evd)
		t_ok(t_recv(end, 0, size, 0, DAT_COMPLETION_DEFAULT_FLAG));
}

/* Sends as fast as possible until it is killed. */
static void busy_victim(struct t_peer *self)
{
	struct t_end end;
	struct t_ia own;
	DAT_CONN_QUAL qual = fault_hear_at_last(self);

	t_ia_open(&own);
	t_end_new(&end, &own, NULL);
	connect_to(&end, &own, qual);
	for (uint64_t i = 0;; i++) {
		if (i >= DEPTH)
			take_one(&end, end.request_evd);
		t_ok(t_send(&end, 0, size, i, DAT_COMPLETION_DEFAULT_FLAG));
	}
}

static void survive_one(const struct t_listener *listener, unsigned int messages)
{
	struct t_end end;
	DAT_EVENT event;

	t_end_new(&end, &ia, NULL);
	for (unsigned int i = 0; i < DEPTH; i++)
		t_ok(t_recv(&end, 0, size, 0, DAT_COMPLETION_DEFAULT_FLAG));
	t_ok(t_cr_accept(t_next_cr(listener), end.ep));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	for (unsigned int i = 0; i < messages; i++)
		take_one(&end, end.recv_evd);
	kill_victim();
	event = t_wait_for(end.connect_evd, DAT_CONNECTION_EVENT_BROKEN);
	ck_assert_ptr_eq(event.event_data.connect_event_data.ep_handle, end.ep);
	t_drain(end.recv_evd);
	t_end_free(&end);
}

/* Peers die one after the other during traffic. The survivor continues with the next. */
START_TEST(killed_while_busy)
{
	unsigned int number = fault_peers(8, 300);
	static struct t_peer victims[300];
	struct t_listener listener;

	if (fault_dead_keep_locks())
		t_skip("this shm has a lock that dies with its holder");
	size = sizes[_i];
	for (unsigned int i = 0; i < number; i++)
		t_peer_start(&victims[i], busy_victim);
	t_ia_open(&ia);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	for (unsigned int i = 0; i < number; i++) {
		victim = victims[i];
		t_peer_tell(&victim, listener.qual);
		survive_one(&listener, 50 + i * 37 % 400);
	}
	t_ia_close(&ia);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kill");
	TCase *tcase = tcase_create("kill");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, killed_connector);
	tcase_add_test(tcase, killed_acceptor);
	tcase_add_test(tcase, killed_while_stopped);
	tcase_add_test(tcase, killed_in_the_middle_of_rdma);
#if T_DAT_MAJOR == 2
	tcase_add_test(tcase, killed_in_the_middle_of_immediate_data);
#endif
	tcase_add_test(tcase, killed_with_many_connections);
	tcase_add_test(tcase, killed_while_a_thread_waits);
	tcase_add_test(tcase, killed_peer_leaves_the_ia_usable);
	tcase_add_loop_test(tcase, killed_while_busy, 0, sizeof(sizes) / sizeof(sizes[0]));
	return t_run(suite);
}
