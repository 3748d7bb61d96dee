/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connecting to peers that are not there, that do not answer, and to very many peers. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fault.h"

static struct t_ia ia;
static struct t_end end;

static void open_end(void)
{
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
}

static void close_end(void)
{
	t_ia_close(&ia);
}

static void expect(DAT_EVENT_NUMBER number)
{
	t_wait_conn(end.connect_evd, number, end.ep);
	ck_assert_int_eq(t_ep_state(end.ep), DAT_EP_STATE_DISCONNECTED);
	t_no_event(end.connect_evd);
}

/* --- other programs that listen on a port of the IA's address --- */

static int stranger_socket(DAT_CONN_QUAL *port_p)
{
	struct sockaddr_storage address = {0};
	socklen_t size = ia.attr.ia_address_ptr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
								      : sizeof(struct sockaddr_in6);
	int sock = socket(ia.attr.ia_address_ptr->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(sock, 0);
	memcpy(&address, ia.attr.ia_address_ptr, size);
	((struct sockaddr_in *)&address)->sin_port = 0; /* at the same offset in both families */
	ck_assert_int_eq(bind(sock, (struct sockaddr *)&address, size), 0);
	ck_assert_int_eq(listen(sock, 4), 0);
	ck_assert_int_eq(getsockname(sock, (struct sockaddr *)&address, &size), 0);
	*port_p = ntohs(((struct sockaddr_in *)&address)->sin_port);
	return sock;
}

static DAT_RETURN connect_within(DAT_CONN_QUAL qual, DAT_TIMEOUT timeout)
{
	return t_connect_data(end.ep, &ia, qual, timeout, NULL, 0);
}

START_TEST(stranger_never_answers)
{
	DAT_CONN_QUAL port;
	int sock = stranger_socket(&port);
	uint64_t began = t_now_us(), took;

	t_ok(connect_within(port, 400000));
	expect(DAT_CONNECTION_EVENT_TIMED_OUT);
	took = t_now_us() - began;
	ck_assert_uint_ge(took, 400000);
	ck_assert_uint_le(took, 2400000);
	close(sock);
}
END_TEST

/* The handshake has its own limit, even if the connect has none. */
START_TEST(stranger_never_answers_and_there_is_no_time_limit)
{
	DAT_CONN_QUAL port;
	int sock;

	close_end();
	setenv("DAT_OFI_HANDSHAKE_MS", "300", 1);
	open_end();
	sock = stranger_socket(&port);
	t_ok(connect_within(port, DAT_TIMEOUT_INFINITE));
	expect(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	close(sock);
}
END_TEST

struct stranger {
	int sock;
	const char *says;
};

static void hear_out(int sock)
{
	while (recv(sock, &(char){0}, 1, 0) > 0)
		;
	close(sock);
}

/* Sends its text to each socket that connects, and closes the socket. */
static void *stranger_main(void *arg)
{
	const struct stranger *stranger = arg;
	size_t size = strlen(stranger->says);
	int sock;

	while ((sock = accept(stranger->sock, NULL, NULL)) >= 0) {
		if (send(sock, stranger->says, size, MSG_NOSIGNAL) != (ssize_t)size)
			return arg;
		shutdown(sock, SHUT_WR);
		hear_out(sock);
	}
	return NULL;
}

START_TEST(stranger_answers_with_another_protocol)
{
	static const char *const phrases[] = {
		"",
		"SSH-2.0-OpenSSH_9.2p1\r\n",
		"HTTP/1.1 400 Bad Request\r\n\r\n",
		"\377\377\377\377\377\377\377\377",
	};
	struct stranger stranger = {.says = phrases[_i]};
	DAT_CONN_QUAL port;
	pthread_t thread;
	void *failed;

	stranger.sock = stranger_socket(&port);
	ck_assert_int_eq(pthread_create(&thread, NULL, stranger_main, &stranger), 0);
	t_ok(connect_within(port, T_LIMIT_US));
	expect(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	shutdown(stranger.sock, SHUT_RDWR);
	ck_assert_int_eq(pthread_join(thread, &failed), 0);
	ck_assert_ptr_null(failed);
	close(stranger.sock);
}
END_TEST

/* --- no listener, and listeners that reject --- */

START_TEST(nobody_listens)
{
	DAT_CONN_QUAL port;

	close(stranger_socket(&port)); /* now free */
	t_ok(connect_within(_i ? UINT64_C(0x5ca1ab1e00000000) : port, T_LIMIT_US));
	expect(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}
END_TEST

/* A channel to the process exists already, because the process has another service point. */
START_TEST(nobody_listens_beside_a_listener)
{
	struct t_listener listener;
	struct t_end other;

	t_end_new(&other, &ia, NULL);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_establish(&listener, &end, &other);
	t_ok(dat_psp_free(listener.psp));
	for (int i = 0; i < 2; i++) {
		struct t_end third;

		t_end_new(&third, &ia, NULL);
		t_ok(t_connect_data(third.ep, &ia, i ? UINT64_C(0x5ca1ab1e00000000) : listener.qual,
				    T_LIMIT_US, NULL, 0));
		t_wait_conn(third.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, third.ep);
		t_end_free(&third);
	}
	ck_assert_int_eq(t_ep_state(end.ep), DAT_EP_STATE_CONNECTED);
}
END_TEST

/* The consumer at the other end does not decide in time. Its late accept fails. */
START_TEST(consumer_never_answers)
{
	struct t_listener listener;
	struct t_end other;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	t_end_new(&other, &ia, NULL);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	cr = t_expired_cr(&end, &listener);
	t_ok(t_cr_accept(cr, other.ep));
	event = t_wait(other.connect_evd);
	ck_assert_msg(event.event_number == DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
		      "event %s came", t_event_name(event.event_number));
}
END_TEST

START_TEST(rejected_and_accepted_in_turn)
{
	struct t_listener listener;
	struct t_end other;

	t_end_new(&other, &ia, NULL);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	for (int round = 0; round < 10; round++) {
		t_ok(t_connect(end.ep, &listener));
		t_ok(t_cr_reject(t_next_cr(&listener)));
		expect(DAT_CONNECTION_EVENT_PEER_REJECTED);
		t_ok(dat_ep_reset(end.ep));
		t_establish(&listener, &end, &other);
		t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_ABRUPT_FLAG));
		expect(DAT_CONNECTION_EVENT_DISCONNECTED);
		t_wait_conn(other.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, other.ep);
		t_ok(dat_ep_reset(end.ep));
		t_ok(dat_ep_reset(other.ep));
	}
}
END_TEST

/* --- unreachable: a network namespace that has a loopback interface and no routes --- */

START_TEST(no_route_to_the_address)
{
	struct sockaddr_in nowhere = {.sin_family = AF_INET};
	uint64_t began;

	if (fault_fabric_is_verbs() || fault_fabric_is_psm3() || !t_own_network())
		t_skip("the IA can't be in a network namespace of its own");
	open_end();
	if (ia.attr.ia_address_ptr->sa_family != AF_INET)
		t_skip("the IA has no IPv4 address");
	inet_pton(AF_INET, "198.51.100.1", &nowhere.sin_addr);
	t_ok(t_recv(&end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	began = t_now_us();
	t_ok(dat_ep_connect(end.ep, (DAT_IA_ADDRESS_PTR)&nowhere, 4711, T_LIMIT_US, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	expect(DAT_CONNECTION_EVENT_UNREACHABLE);
	ck_assert_uint_lt(t_now_us() - began, T_LIMIT_US / 2);
	t_wait_dto(end.recv_evd, end.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
	close_end();
}
END_TEST

/* --- private data between two processes --- */

static const size_t private_sizes[] = {0, 1, 63, 64, 255, 256};

#define PRIVATE_SIZES 6

static void private_role(struct t_peer *self)
{
	unsigned char data[256];
	DAT_CONN_QUAL qual;
	DAT_EVENT event;

	open_end();
	qual = t_peer_hear(self);
	for (unsigned int i = 0; i < PRIVATE_SIZES; i++) {
		const DAT_CONNECTION_EVENT_DATA *got = &event.event_data.connect_event_data;

		t_fill(data, sizeof(data), i);
		t_ok(t_connect_data(end.ep, &ia, qual, T_LIMIT_US, data, private_sizes[i]));
		event = t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
		ck_assert_int_eq(got->private_data_size, (DAT_COUNT)private_sizes[i]);
		ck_assert(!private_sizes[i] ||
			  t_is_filled(got->private_data, private_sizes[i], i + 100));
		t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG));
		expect(DAT_CONNECTION_EVENT_DISCONNECTED);
		t_ok(dat_ep_reset(end.ep));
	}
	close_end();
}

START_TEST(private_data_of_all_sizes_both_ways)
{
	struct t_listener listener;
	unsigned char data[256];
	struct t_peer peer;

	t_peer_start(&peer, private_role);
	open_end();
	ck_assert_int_ge(ia.provider.max_private_data_size, 256);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(&peer, listener.qual);
	for (unsigned int i = 0; i < PRIVATE_SIZES; i++) {
		DAT_CR_HANDLE cr = t_next_cr(&listener);
		DAT_CR_PARAM param;

		t_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
		ck_assert_int_eq(param.private_data_size, (DAT_COUNT)private_sizes[i]);
		ck_assert(!private_sizes[i] ||
			  t_is_filled(param.private_data, private_sizes[i], i));
		t_fill(data, sizeof(data), i + 100);
		t_ok(dat_cr_accept(cr, end.ep, (DAT_COUNT)private_sizes[i], data));
		t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
		t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
		t_ok(dat_ep_reset(end.ep));
	}
	t_peer_join(&peer);
	close_end();
}
END_TEST

#if T_DAT_MAJOR == 1
#define REFUSAL_SIZE(i) 0 /* DAT 1.2 has no private data here */
#else
#define REFUSAL_SIZE(i) private_sizes[i]
#endif

static void refused_role(struct t_peer *self)
{
	DAT_CONN_QUAL qual;
	DAT_EVENT event;

	open_end();
	qual = t_peer_hear(self);
	for (unsigned int i = 0; i < PRIVATE_SIZES; i++) {
		const DAT_CONNECTION_EVENT_DATA *got = &event.event_data.connect_event_data;

		t_ok(t_connect_data(end.ep, &ia, qual, T_LIMIT_US, NULL, 0));
		event = t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED, end.ep);
		ck_assert_int_eq(got->private_data_size, (DAT_COUNT)REFUSAL_SIZE(i));
		ck_assert(!REFUSAL_SIZE(i) || t_is_filled(got->private_data, REFUSAL_SIZE(i), i));
		t_ok(dat_ep_reset(end.ep));
	}
	close_end();
}

START_TEST(private_data_of_a_refusal)
{
	struct t_listener listener;
	unsigned char data[256];
	struct t_peer peer;

	t_peer_start(&peer, refused_role);
	open_end();
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(&peer, listener.qual);
	for (unsigned int i = 0; i < PRIVATE_SIZES; i++) {
		t_fill(data, sizeof(data), i);
		t_ok(t_cr_reject_data(t_next_cr(&listener), data, private_sizes[i]));
	}
	t_peer_join(&peer);
	close_end();
}
END_TEST

/* --- a connection that ends at once --- */

#define SHORT_ROUNDS 200

static void short_role(struct t_peer *self)
{
	DAT_CONN_QUAL qual;

	open_end();
	qual = t_peer_hear(self);
	for (int i = 0; i < SHORT_ROUNDS; i++) {
		t_ok(t_connect_data(end.ep, &ia, qual, T_LIMIT_US, NULL, 0));
		t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
		t_ok(dat_ep_disconnect(end.ep,
				       i % 2 ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG));
		expect(DAT_CONNECTION_EVENT_DISCONNECTED);
		t_ok(dat_ep_reset(end.ep));
	}
	close_end();
}

START_TEST(peer_disconnects_right_after_the_handshake)
{
	struct t_listener listener;
	struct t_peer peer;

	t_peer_start(&peer, short_role);
	open_end();
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(&peer, listener.qual);
	for (int i = 0; i < SHORT_ROUNDS; i++) {
		t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
		t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
		expect(DAT_CONNECTION_EVENT_DISCONNECTED);
		t_ok(dat_ep_reset(end.ep));
	}
	t_peer_join(&peer);
	close_end();
}
END_TEST

/* --- both families of addresses --- */

static const struct {
	const char *address;
	sa_family_t family;
} slots[] = {{"127.0.0.1", AF_INET}, {"::1", AF_INET6}};

static bool has_address(const char *address)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	int sock, failed;

	if (inet_pton(AF_INET6, address, &in6.sin6_addr) != 1)
		return true; /* 127.0.0.1 always exists */
	sock = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	failed = sock < 0 || bind(sock, (struct sockaddr *)&in6, sizeof(in6));
	if (sock >= 0)
		close(sock);
	return !failed;
}

START_TEST(traffic_at_each_address)
{
	struct t_pair pair;

	if (fault_fabric_is_verbs() || !has_address(slots[_i].address))
		t_skip("the IA can't have this address of the loopback interface");
	setenv("DAT_OFI_ADDR", slots[_i].address, 1);
	t_pair_open(&pair, NULL);
	ck_assert_int_eq(pair.ia[0].attr.ia_address_ptr->sa_family, slots[_i].family);
	for (unsigned int i = 0; i < 100; i++) {
		struct t_end *from = &pair.end[i % 2], *to = &pair.end[!(i % 2)];

		t_fill(from->buf.mem, 3000, i);
		t_ok(t_recv(to, 0, 3000, i, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_write(from, 0, 3000, i, t_remote_seg(&to->buf, 3000, 3000),
			     DAT_COMPLETION_SUPPRESS_FLAG));
		t_ok(t_send(from, 0, 3000, i, DAT_COMPLETION_SUPPRESS_FLAG));
		t_wait_dto(to->recv_evd, to->ep, i, DAT_DTO_SUCCESS, 3000);
		ck_assert(t_is_filled(to->buf.mem, 3000, i));
		ck_assert(t_is_filled(to->buf.mem + 3000, 3000, i));
		t_ok(t_read(from, 6000, 3000, i, t_remote_seg(&to->buf, 3000, 3000),
			    DAT_COMPLETION_DEFAULT_FLAG));
		t_wait_dto(from->request_evd, from->ep, i, DAT_DTO_SUCCESS, 3000);
		ck_assert(t_is_filled(from->buf.mem + 6000, 3000, i));
	}
	t_pair_close(&pair);
}
END_TEST

/* --- very many connections --- */

#define MANY 300

/* EPs of one process that share EVDs and a buffer. */
struct crowd {
	DAT_EVD_HANDLE dto_evd, connect_evd;
	DAT_EP_HANDLE eps[MANY];
	struct t_buf buf;
};

static void crowd_new(struct crowd *crowd)
{
	t_ia_open(&ia);
	crowd->dto_evd = t_evd(&ia, 4 * MANY, DAT_EVD_DTO_FLAG);
	crowd->connect_evd = t_evd(&ia, 4 * MANY, DAT_EVD_CONNECTION_FLAG);
	t_buf_new(&crowd->buf, ia.ia, ia.pz, (size_t)MANY * 64, DAT_MEM_PRIV_ALL_FLAG);
	for (int i = 0; i < MANY; i++)
		t_ok(dat_ep_create(ia.ia, ia.pz, crowd->dto_evd, crowd->dto_evd, crowd->connect_evd,
				   NULL, &crowd->eps[i]));
}

static void crowd_events(const struct crowd *crowd, DAT_EVENT_NUMBER number)
{
	for (int i = 0; i < MANY; i++)
		t_wait_for(crowd->connect_evd, number);
	t_no_event(crowd->connect_evd);
}

/* Each EP sends one message and receives one. */
static void crowd_exchange(const struct crowd *crowd)
{
	DAT_DTO_COOKIE cookie = {.as_64 = 1};

	for (size_t i = 0; i < MANY; i++) {
		DAT_LMR_TRIPLET segment = t_seg(&crowd->buf, 64 * i, 64);

		t_ok(dat_ep_post_recv(crowd->eps[i], 1, &segment, cookie,
				      DAT_COMPLETION_DEFAULT_FLAG));
		segment.segment_length = 32;
		t_ok(dat_ep_post_send(crowd->eps[i], 1, &segment, cookie,
				      DAT_COMPLETION_DEFAULT_FLAG));
	}
	for (int i = 0; i < 2 * MANY; i++) {
		DAT_EVENT event = t_wait_for(crowd->dto_evd, DAT_DTO_COMPLETION_EVENT);

		ck_assert_int_eq(event.event_data.dto_completion_event_data.status,
				 DAT_DTO_SUCCESS);
	}
}

static void crowd_free(struct crowd *crowd)
{
	for (int i = 0; i < MANY; i++)
		t_ok(dat_ep_free(crowd->eps[i]));
	t_buf_free(&crowd->buf);
	t_ok(dat_evd_free(crowd->dto_evd));
	t_ok(dat_evd_free(crowd->connect_evd));
	t_ia_close_empty(&ia);
}

static struct crowd crowd;

static void crowd_role(struct t_peer *self)
{
	DAT_CONN_QUAL qual;

	crowd_new(&crowd);
	qual = t_peer_hear(self);
	for (int i = 0; i < MANY; i++)
		t_ok(t_connect_data(crowd.eps[i], &ia, qual, 6 * T_LIMIT_US, NULL, 0));
	crowd_events(&crowd, DAT_CONNECTION_EVENT_ESTABLISHED);
	crowd_exchange(&crowd);
	t_peer_tell(self, 1);
	crowd_events(&crowd, DAT_CONNECTION_EVENT_DISCONNECTED);
	crowd_free(&crowd);
}

START_TEST(three_hundred_connections_between_two_processes)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVD_HANDLE evd;
	struct t_peer peer;

	t_peer_start(&peer, crowd_role);
	crowd_new(&crowd);
	evd = t_evd(&ia, MANY, DAT_EVD_CR_FLAG);
	t_ok(dat_psp_create_any(ia.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	t_peer_tell(&peer, qual);
	for (int i = 0; i < MANY; i++) {
		DAT_EVENT event = t_wait_for(evd, DAT_CONNECTION_REQUEST_EVENT);

		t_ok(t_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, crowd.eps[i]));
	}
	crowd_events(&crowd, DAT_CONNECTION_EVENT_ESTABLISHED);
	crowd_exchange(&crowd);
	ck_assert_uint_eq(t_peer_hear(&peer), 1);
	for (int i = 0; i < MANY; i++)
		t_ok(dat_ep_disconnect(crowd.eps[i],
				       i % 2 ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG));
	crowd_events(&crowd, DAT_CONNECTION_EVENT_DISCONNECTED);
	t_peer_join(&peer);
	t_ok(dat_psp_free(psp));
	t_ok(dat_evd_free(evd));
	crowd_free(&crowd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("connect");
	TCase *one = tcase_create("one"), *two = tcase_create("two"), *many = tcase_create("many");

	tcase_add_checked_fixture(one, open_end, close_end);
	suite_add_tcase(suite, one);
	tcase_add_test(one, stranger_never_answers);
	tcase_add_test(one, stranger_never_answers_and_there_is_no_time_limit);
	tcase_add_loop_test(one, stranger_answers_with_another_protocol, 0, 4);
	tcase_add_loop_test(one, nobody_listens, 0, 2);
	tcase_add_test(one, nobody_listens_beside_a_listener);
	tcase_add_test(one, consumer_never_answers);
	tcase_add_test(one, rejected_and_accepted_in_turn);
	suite_add_tcase(suite, two);
	tcase_add_test(two, no_route_to_the_address);
	tcase_add_test(two, private_data_of_all_sizes_both_ways);
	tcase_add_test(two, private_data_of_a_refusal);
	tcase_add_test(two, peer_disconnects_right_after_the_handshake);
	tcase_add_loop_test(two, traffic_at_each_address, 0, 2);
	suite_add_tcase(suite, many);
	tcase_add_test(many, three_hundred_connections_between_two_processes);
	return t_run(suite);
}
