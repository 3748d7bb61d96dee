/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connecting side sends REQUEST with its PROOF, before it has the DETAILS of the peer. The test
 * is the peer: it answers, closes the channel, says details that do not fit, or does not answer.
 */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "inside.h"
#include "t_channel.h"

static struct t_ia ia;
static struct t_end end;
static struct dofi_key key;
static struct dofi_details details; /* of the peer: those of the IA, with another identity */

/* --- the peer --- */

static int listen_somewhere(uint16_t *port_p)
{
	struct sockaddr_in name;
	socklen_t size = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(&name, ia.attr.ia_address_ptr, sizeof(name));
	name.sin_port = 0;
	ck_assert(!bind(fd, (struct sockaddr *)&name, size) && !listen(fd, 4));
	ck_assert(!getsockname(fd, (struct sockaddr *)&name, &size));
	*port_p = ntohs(name.sin_port);
	return fd;
}

static struct t_channel answer(int listener, uint16_t port)
{
	struct timeval limit = {.tv_sec = (time_t)(T_LIMIT_US / 1000000u)};
	int fd = accept(listener, NULL, NULL);
	struct t_channel channel;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	t_channel_init(&channel, fd, DOFI_ROLE_ACCEPTS, &key, port);
	return channel;
}

/* The handshake up to the DETAILS of the IA. */
static struct t_channel prove(int listener, uint16_t port)
{
	struct t_channel channel = answer(listener, port);

	ck_assert(t_channel_prove(&channel));
	ck_assert(t_channel_hear_details(&channel, &details));
	memcpy(details.uuid, "id of the test's", sizeof(details.uuid));
	return channel;
}

static struct dofi_msg hear_request(struct t_channel *channel, uint16_t port)
{
	struct dofi_msg msg;

	ck_assert_msg(t_channel_hear_msg(channel, &msg), "no request");
	ck_assert_uint_eq(msg.type, DOFI_MSG_REQUEST);
	ck_assert_uint_eq(msg.conn_qual, port);
	return msg;
}

static void reject(struct t_channel *channel, const struct dofi_msg *request)
{
	const struct dofi_msg no = {.type = DOFI_MSG_REJECT,
				    .reason = DOFI_REASON_CONSUMER,
				    .dst = request->src};

	ck_assert(t_channel_say_msg(channel, &no));
}

static bool is_silent(const struct t_channel *channel)
{
	struct timeval limit = {.tv_usec = T_QUIET_US};
	char byte;

	setsockopt(channel->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return recv(channel->fd, &byte, 1, MSG_PEEK) < 0;
}

/* --- the IA --- */

static void setup(void)
{
	ck_assert_int_eq(dofi_key_load(&key, "peer", "auto", getenv("DAT_OFI_KEY_FILE")), 0);
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
}

static void connect_to(const struct t_end *from, uint16_t port, DAT_TIMEOUT timeout)
{
	t_ok(t_connect_data(from->ep, &ia, port, timeout, NULL, 0));
}

static void refused(const struct t_end *of)
{
	t_wait_conn(of->connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, of->ep);
}

static void rejected(const struct t_end *of)
{
	t_wait_conn(of->connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED, of->ep);
}

/* --- tests --- */

START_TEST(request_is_sent_with_the_proof)
{
	struct t_channel peer;
	struct dofi_msg request;
	uint16_t port;
	int listener = listen_somewhere(&port);

	connect_to(&end, port, T_LIMIT_US);
	peer = prove(listener, port);
	request = hear_request(&peer, port);
	ck_assert(t_channel_say_details(&peer, &details));
	ck_assert(is_silent(&peer)); /* REQUEST is not sent twice */
	reject(&peer, &request);
	rejected(&end);
	t_ia_close(&ia);
}
END_TEST

/* The proof of the peer is wrong: the IA closes the channel without REQUEST. */
START_TEST(no_request_without_proof_of_the_peer)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	struct t_channel peer;
	uint16_t port;
	int listener = listen_somewhere(&port);

	connect_to(&end, port, T_LIMIT_US);
	peer = answer(listener, port);
	peer.shake.port ^= 1;
	ck_assert(t_channel_hear_hello(&peer) && t_channel_say_hello(&peer) &&
		  t_channel_say_proof(&peer));
	ck_assert_uint_eq(t_channel_hear(&peer, frame), 0);
	refused(&end);
	t_ia_close(&ia);
}
END_TEST

#define DIALS 9

/* A busy peer may close the channel. The IA dials nine times in all. */
START_TEST(request_is_repeated_after_a_close)
{
	struct t_channel peer;
	struct dofi_msg request;
	uint16_t port;
	int listener = listen_somewhere(&port);

	connect_to(&end, port, T_LIMIT_US);
	for (int i = 1; i < DIALS; i++) {
		peer = prove(listener, port);
		hear_request(&peer, port);
		close(peer.fd);
	}
	peer = prove(listener, port);
	request = hear_request(&peer, port);
	if (_i) {
		close(peer.fd);
		refused(&end);
	} else {
		ck_assert(t_channel_say_details(&peer, &details));
		reject(&peer, &request);
		rejected(&end);
	}
	t_ia_close(&ia);
}
END_TEST

START_TEST(details_that_do_not_fit_are_refused)
{
	struct t_channel peer;
	uint16_t port;
	int listener = listen_somewhere(&port);

	connect_to(&end, port, T_LIMIT_US);
	peer = prove(listener, port);
	hear_request(&peer, port);
	snprintf(details.provider, sizeof(details.provider), "another");
	ck_assert(t_channel_say_details(&peer, &details));
	refused(&end);
	t_ia_close(&ia);
}
END_TEST

/* One connection times out before the DETAILS; another one still uses the channel. */
START_TEST(timeout_cancels_the_request)
{
	struct dofi_msg first, second, cancel;
	struct t_channel peer;
	struct t_end other;
	uint16_t port;
	int listener = listen_somewhere(&port);

	t_end_new(&other, &ia, NULL);
	connect_to(&end, port, T_LIMIT_US / 10);
	connect_to(&other, port, T_LIMIT_US);
	peer = prove(listener, port);
	first = hear_request(&peer, port);
	second = hear_request(&peer, port);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_TIMED_OUT, end.ep);
	ck_assert(t_channel_hear_msg(&peer, &cancel));
	ck_assert_uint_eq(cancel.type, DOFI_MSG_CANCEL);
	ck_assert_uint_eq(cancel.src, first.src);
	ck_assert(t_channel_say_details(&peer, &details));
	reject(&peer, &second);
	rejected(&other);
	t_ia_close(&ia);
}
END_TEST

/* Two ports lead to one peer, so REQUEST waits for the DETAILS, and the first channel is used. */
START_TEST(second_port_shares_the_channel)
{
	struct t_channel first, second;
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	struct dofi_msg request;
	struct t_end other;
	uint16_t port, other_port;
	int listener = listen_somewhere(&port), other_listener = listen_somewhere(&other_port);

	t_end_new(&other, &ia, NULL);
	connect_to(&end, port, T_LIMIT_US);
	first = prove(listener, port);
	request = hear_request(&first, port);
	ck_assert(t_channel_say_details(&first, &details));
	reject(&first, &request);
	rejected(&end);
	connect_to(&other, other_port, T_LIMIT_US);
	second = prove(other_listener, other_port);
	ck_assert(t_channel_say_details(&second, &details));
	request = hear_request(&first, other_port);
	t_channel_hear(&second, frame); /* GOODBYE, if anything */
	reject(&first, &request);
	rejected(&other);
	t_ia_close(&ia);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("early");
	TCase *tcase = tcase_create("early");

	fault_use_linked_provider();
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, request_is_sent_with_the_proof);
	tcase_add_test(tcase, no_request_without_proof_of_the_peer);
	tcase_add_loop_test(tcase, request_is_repeated_after_a_close, 0, 2);
	tcase_add_test(tcase, details_that_do_not_fit_are_refused);
	tcase_add_test(tcase, timeout_cancels_the_request);
	tcase_add_test(tcase, second_port_shares_the_channel);
	return t_run(suite);
}
