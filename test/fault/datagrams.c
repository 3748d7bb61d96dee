/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peers of datagrams are killed: while datagrams to them wait, while they send, after they have
 * freed their address handles, and while they connect. Posts to them complete with success, and the
 * survivor continues to exchange datagrams with a neighbour in the same process.
 */
#include <sys/socket.h>

#include "../lib/t_ud.h"
#include "shm.h"

#define NO_FLAGS   DAT_COMPLETION_DEFAULT_FLAG
#define SOON_US    (T_LIMIT_US / 2)
/* More than the window of a sender and the ring of an EP. */
#define MANY       400u
#define RECEIVES   16u
#define SIZE       256u
#define CHANNEL_US 5000000u /* after which an unused control channel closes */

static struct t_ia ia, near_ia;
static struct t_end end, near_end; /* the survivor's, and its neighbour's */
static struct t_listener listener;
static struct t_way to_neighbour, to_victim;
static struct t_peer victim;

/* --- the other processes --- */

static uint64_t hear_at_last(const struct t_peer *self)
{
	uint64_t word;

	/* The victims run one after the other. */
	ck_assert_int_eq(recv(self->sock, &word, sizeof(word), 0), (ssize_t)sizeof(word));
	return word;
}

static struct t_way connect_to(const struct t_end *own, DAT_CONN_QUAL qual)
{
	t_ok(t_connect_data(own->ep, own->on, qual, 2 * T_LIMIT_US, NULL, 0));
	return t_ud_next_way(own, DAT_IB_UD_REMOTE_AH, NULL, 0);
}

static struct t_way meet(const struct t_peer *self)
{
	DAT_CONN_QUAL qual = hear_at_last(self);

	t_ia_open(&ia);
	t_ud_end_new(&end, &ia);
	return connect_to(&end, qual);
}

/* Takes one datagram, says so, and waits to be killed. */
static void taker(struct t_peer *self)
{
	meet(self);
	t_ok(t_recv(&end, 0, T_UD_HEADER + SIZE, 1, NO_FLAGS));
	t_peer_tell(self, 0);
	t_ud_wait_received(&end, 1, SIZE);
	t_peer_tell(self, 0);
	t_peer_hear(self);
}

static void taker_without_handle(struct t_peer *self)
{
	struct t_way way = meet(self);

	t_ok(t_recv(&end, 0, T_UD_HEADER + SIZE, 1, NO_FLAGS));
	t_ud_way_free(&end, &way);
	t_peer_tell(self, 0);
	t_ud_wait_received(&end, 1, SIZE);
	t_peer_tell(self, 0);
	t_peer_hear(self);
}

/* Sends until it is killed. */
static void sender(struct t_peer *self)
{
	struct t_way way = meet(self);

	for (uint64_t i = 0;; i++) {
		t_ok(t_ud_send(&end, &way, SIZE, i, NO_FLAGS));
		t_ud_wait_sent(&end, i, SIZE);
	}
}

/* Connects until it is killed, and frees what it gets. */
static void connector(struct t_peer *self)
{
	DAT_CONN_QUAL qual = hear_at_last(self);

	t_ia_open(&ia);
	t_ud_end_new(&end, &ia);
	for (;;) {
		struct t_way way = connect_to(&end, qual);

		t_ud_way_free(&end, &way);
	}
}

/* Takes datagrams in turn until it is told to stop; its handle is free. */
static void mute(struct t_peer *self)
{
	struct t_way way = meet(self);
	uint64_t word;

	t_ud_way_free(&end, &way);
	for (uint64_t i = 0;; i++) {
		t_ok(t_recv(&end, 0, T_UD_HEADER + SIZE, i, NO_FLAGS));
		t_peer_tell(self, i);
		if (recv(self->sock, &word, sizeof(word), 0) != (ssize_t)sizeof(word) || !word)
			return;
		t_ud_wait_received(&end, i, SIZE);
	}
}

/* --- the survivor --- */

static void open_survivor(void)
{
	t_ia_open(&ia);
	if (!t_ud_offered(&ia))
		t_skip("the fabric has no datagrams");
	t_ia_open(&near_ia);
	t_ud_end_new(&end, &ia);
	t_ud_end_new(&near_end, &near_ia);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_ok(t_connect(near_end.ep, &listener));
	t_ok(dat_cr_accept(t_ud_next_cr(&listener), end.ep, 0, NULL));
	t_ud_next_way(&near_end, DAT_IB_UD_REMOTE_AH, NULL, 0);
	to_neighbour = t_ud_next_way(&end, DAT_IB_UD_PASSIVE_REMOTE_AH, NULL, 0);
}

static void start(void (*role)(struct t_peer *self))
{
	if (fault_dead_keep_locks())
		t_skip("this shm has a lock that dies with its holder");
	t_peer_start(&victim, role);
	open_survivor();
	t_peer_tell(&victim, listener.qual);
	t_ok(dat_cr_accept(t_ud_next_cr(&listener), end.ep, 0, NULL));
	to_victim = t_ud_next_way(&end, DAT_IB_UD_PASSIVE_REMOTE_AH, NULL, 0);
}

static void send_one(struct t_way *by, uint64_t cookie)
{
	t_ok(t_ud_send(&end, by, SIZE, cookie, NO_FLAGS));
	t_ud_wait_sent(&end, cookie, SIZE);
}

static void meet_neighbour(uint64_t cookie)
{
	t_ok(t_recv(&near_end, 0, T_UD_HEADER + SIZE, cookie, NO_FLAGS));
	send_one(&to_neighbour, cookie);
	t_ud_wait_received(&near_end, cookie, SIZE);
}

static void reject_requests(void)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(listener.evd, &event) == DAT_SUCCESS)
		t_ok(t_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
}

/* The request of a killed peer may arrive until nobody listens. */
static void close_survivor(void)
{
	t_no_event(end.connect_evd);
	meet_neighbour(MANY);
	t_end_free(&end);
	t_end_free(&near_end);
	t_ok(dat_psp_free(listener.psp));
	reject_requests();
	t_ok(dat_evd_free(listener.evd));
	t_ia_close_empty(&near_ia);
	t_ia_close_empty(&ia);
}

static void (*const takers[])(struct t_peer *self) = {taker, taker_without_handle};

/* Nothing that is sent to a dead peer waits for it. */
START_TEST(datagrams_to_a_killed_peer)
{
	uint64_t begin;

	start(takers[_i]);
	t_peer_hear(&victim);
	send_one(&to_victim, 0);
	t_peer_hear(&victim);
	t_peer_kill(&victim);
	begin = t_now_us();
	for (uint64_t i = 0; i < MANY; i++)
		send_one(&to_victim, i);
	ck_assert_uint_lt(t_now_us() - begin, SOON_US);
	t_ok(dat_ib_ud_ah_free(end.ep, &to_victim.ah));
	close_survivor();
}
END_TEST

/* The peer is stopped: its window is used up, and more datagrams wait behind it. */
START_TEST(datagrams_that_wait_for_a_peer_that_is_killed)
{
	DAT_RETURN ret = DAT_SUCCESS;
	uint64_t posted = 0, begin;

	start(takers[_i]);
	t_peer_hear(&victim);
	t_peer_freeze(&victim);
	for (; posted < MANY && ret == DAT_SUCCESS; posted += ret == DAT_SUCCESS)
		ret = t_ud_send(&end, &to_victim, SIZE, posted, NO_FLAGS);
	if (ret != DAT_SUCCESS)
		t_error(ret, DAT_INSUFFICIENT_RESOURCES);
	t_peer_kill(&victim);
	begin = t_now_us();
	for (uint64_t i = 0; i < posted; i++)
		t_ud_wait_sent(&end, i, SIZE);
	ck_assert_uint_lt(t_now_us() - begin, SOON_US);
	close_survivor();
}
END_TEST

static void take(unsigned int number)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;

	for (unsigned int i = 0; i < number; i++) {
		t_ud_wait(end.recv_evd, DAT_IB_DTO_EVENT, DAT_IB_UD_RECV, &ext);
		t_ok(t_recv(&end, 0, T_UD_HEADER + SIZE, 0, NO_FLAGS));
	}
}

/* Peers die one after the other while they send. The receives go on with the next one. */
START_TEST(killed_while_it_sends)
{
	unsigned int number = fault_peers(8, 200);
	static struct t_peer victims[200];

	if (fault_dead_keep_locks())
		t_skip("this shm has a lock that dies with its holder");
	for (unsigned int i = 0; i < number; i++)
		t_peer_start(&victims[i], sender);
	open_survivor();
	for (unsigned int i = 0; i < RECEIVES; i++)
		t_ok(t_recv(&end, 0, T_UD_HEADER + SIZE, 0, NO_FLAGS));
	for (unsigned int i = 0; i < number; i++) {
		t_peer_tell(&victims[i], listener.qual);
		t_ok(dat_cr_accept(t_ud_next_cr(&listener), end.ep, 0, NULL));
		to_victim = t_ud_next_way(&end, DAT_IB_UD_PASSIVE_REMOTE_AH, NULL, 0);
		take(20 + i * 37 % 400);
		t_peer_kill(&victims[i]);
		t_ud_way_free(&end, &to_victim);
		meet_neighbour(i);
	}
	t_drain(end.recv_evd);
	close_survivor();
}
END_TEST

/* An attempt ends with an address handle or with an error. */
static void take_attempt(void)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;
	struct t_way way;
	DAT_EVENT event;

	t_ok(dat_cr_accept(t_ud_next_cr(&listener), end.ep, 0, NULL));
	event = t_wait(end.connect_evd);
	memcpy(&ext, event.event_extension_data, sizeof(ext));
	if ((unsigned int)event.event_number == DAT_IB_UD_CONNECTION_ERROR_EVENT)
		return;
	ck_assert_uint_eq((unsigned int)event.event_number, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED);
	way = (struct t_way){ext.remote_ah, ext.context};
	t_ud_way_free(&end, &way);
}

START_TEST(killed_while_it_connects)
{
	unsigned int number = fault_amount(8, 100);
	static struct t_peer victims[100];

	if (fault_dead_keep_locks())
		t_skip("this shm has a lock that dies with its holder");
	for (unsigned int i = 0; i < number; i++)
		t_peer_start(&victims[i], connector);
	open_survivor();
	for (unsigned int i = 0; i < number; i++) {
		t_peer_tell(&victims[i], listener.qual);
		for (unsigned int n = 0; n < 2 + i * 7 % 20; n++)
			take_attempt();
		t_peer_kill(&victims[i]);
		meet_neighbour(i);
		reject_requests(); /* what it asked for before its death */
	}
	close_survivor();
}
END_TEST

/* The peer has freed its handle: ours works for longer than an unused channel lives. */
START_TEST(a_handle_outlives_that_of_the_peer)
{
	uint64_t until;

	start(mute);
	until = t_now_us() + CHANNEL_US + CHANNEL_US / 2;
	for (uint64_t i = 0; i < MANY || t_now_us() < until; i++) {
		ck_assert_uint_eq(t_peer_hear(&victim), i);
		if (i == MANY)
			t_until(t_now_us() >= until); /* nothing uses the channel meanwhile */
		t_peer_tell(&victim, 1);
		send_one(&to_victim, i);
	}
	t_peer_hear(&victim);
	t_peer_tell(&victim, 0);
	t_peer_join(&victim);
	close_survivor();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("datagrams");
	TCase *tcase = tcase_create("datagrams");

	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, fault_amount(60, 600));
	tcase_add_loop_test(tcase, datagrams_to_a_killed_peer, 0, 2);
	tcase_add_loop_test(tcase, datagrams_that_wait_for_a_peer_that_is_killed, 0, 2);
	tcase_add_test(tcase, killed_while_it_sends);
	tcase_add_test(tcase, killed_while_it_connects);
	tcase_add_test(tcase, a_handle_outlives_that_of_the_peer);
	return t_run(suite);
}
