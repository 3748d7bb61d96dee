/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A man in the middle without the key. It forwards the frames of a control channel and changes,
 * repeats or drops one of them; it replays recorded frames; or it listens on the first port of a
 * connection qualifier. No connection may be established, and no private data may be sent to it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server.h"
#include "inside.h"
#include "t_channel.h"

#include "object/ctxtab.h"
#include "object/ia.h"
#include "object/mem.h"

#define MIDDLE_HOST  0x7f000002u /* 127.0.0.2, because the port must be that of the server */
#define SERVER_HOST  0x7f000001u
#define HANDSHAKE_MS (T_LIMIT_US / 20000) /* longer where sanitizers make steps slow */
#define ATTEMPT_US   (T_LIMIT_US / 10)

static const char words[] = "what only a friend may read";

enum { FROM_CLIENT, FROM_SERVER };

/* --- the proxy --- */

enum trick { FORWARD, CHANGE, CHANGE_SEAL, REPEAT, DROP, TRICKS };

struct frame {
	size_t size;
	uint8_t bytes[DOFI_WIRE_MAX_FRAME];
};

#define RECORDED 4u /* HELLO, PROOF, DETAILS, then REQUEST or ACCEPT */

static struct middle {
	int listener;
	pthread_t thread;
	struct sockaddr_in server;
	_Atomic bool stop;
	/* the frame that the trick is applied to: its sender and its number */
	_Atomic enum trick trick;
	unsigned int side, number;
	/* frames of the present channel */
	_Atomic unsigned int count[2];
	struct frame record[2][RECORDED];
} middle;

static struct sockaddr_in address(uint32_t host, uint16_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons(port),
				    .sin_addr.s_addr = htonl(host)};
}

static bool send_all(int fd, const void *bytes, size_t size)
{
	return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Sends the frame with the trick applied. */
static bool send_tricked(int fd, struct frame *frame)
{
	uint8_t twice[2 * DOFI_WIRE_MAX_FRAME];

	switch ((enum trick)middle.trick) {
	case CHANGE:
		frame->bytes[DOFI_WIRE_LENGTH + 9] ^= 1;
		break;
	case CHANGE_SEAL:
		frame->bytes[frame->size - 1] ^= 1;
		break;
	case REPEAT:
		memcpy(twice, frame->bytes, frame->size);
		memcpy(twice + frame->size, frame->bytes, frame->size);
		return send_all(fd, twice, 2 * frame->size);
	case DROP:
		return true;
	default:
		break;
	}
	return send_all(fd, frame->bytes, frame->size);
}

/* Forwards one frame of that side. False if either side has closed its socket. */
static bool forward(const int fds[2], unsigned int side)
{
	const struct t_channel from = {.fd = fds[side]};
	unsigned int number = middle.count[side]++;
	struct frame frame;

	frame.size = t_channel_hear(&from, frame.bytes);
	if (!frame.size)
		return false;
	if (number < RECORDED)
		middle.record[side][number] = frame;
	if (side == middle.side && number == middle.number)
		return send_tricked(fds[!side], &frame);
	return send_all(fds[!side], frame.bytes, frame.size);
}

static void serve_channel(const int fds[2])
{
	struct pollfd ready[2] = {{.fd = fds[0], .events = POLLIN},
				  {.fd = fds[1], .events = POLLIN}};

	middle.count[FROM_CLIENT] = middle.count[FROM_SERVER] = 0;
	while (!middle.stop) {
		poll(ready, 2, 20);
		for (unsigned int side = 0; side < 2; side++)
			if (ready[side].revents && !forward(fds, side))
				return;
	}
}

static void *serve(void *arg)
{
	struct pollfd ready = {.fd = middle.listener, .events = POLLIN};
	int fds[2];

	while (!middle.stop) {
		if (poll(&ready, 1, 20) != 1)
			continue;
		fds[FROM_CLIENT] = accept(middle.listener, NULL, NULL);
		fds[FROM_SERVER] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (!connect(fds[FROM_SERVER], (struct sockaddr *)&middle.server,
			     sizeof(middle.server)))
			serve_channel(fds);
		close(fds[0]);
		close(fds[1]);
	}
	return arg;
}

/* -1: another program of this host uses the port. */
static int listen_on(uint32_t host, uint16_t port)
{
	struct sockaddr_in name = address(host, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(fd, (struct sockaddr *)&name, sizeof(name)) && !listen(fd, 16))
		return fd;
	ck_assert_msg(errno == EADDRINUSE, "port %u: %s", port, strerror(errno));
	close(fd);
	return -1;
}

static bool middle_start(uint16_t port)
{
	middle.server = address(SERVER_HOST, port);
	middle.listener = listen_on(MIDDLE_HOST, port);
	if (middle.listener < 0)
		return false;
	ck_assert_int_eq(pthread_create(&middle.thread, NULL, serve, NULL), 0);
	return true;
}

static void middle_stop(void)
{
	middle.stop = true;
	t_join(middle.thread);
	close(middle.listener);
}

/* --- the server --- */

enum { STOP, REPORT, FREE_LMR };

static struct t_peer server_process;
static struct t_ia ia;
static struct t_end end;

static void report(const struct t_peer *self, const struct server *server)
{
	t_peer_tell(self, server->requests);
	t_peer_tell(self, server->established);
	t_peer_tell(self, server->broken);
	t_peer_tell(self, (size_t)server->private_size >= sizeof(words) &&
				  !memcmp(server->private_data, words, sizeof(words)));
}

/* The qualifier to listen on; 0: any. */
static DAT_CONN_QUAL asked_qual;

static void serving(struct t_peer *self)
{
	struct server server;
	struct t_buf spare;
	uint64_t word;

	t_ia_open(&ia);
	t_buf_new(&spare, ia.ia, ia.pz, SERVER_MESSAGE, DAT_MEM_PRIV_ALL_FLAG);
	/* as a client that has used it often */
	dofi_ctxtab_subscribe(&((struct dofi_pz *)ia.pz)->obj.ia->ctxtab, spare.rmr_context);
	t_peer_tell(self, server_listen(&server, &ia, asked_qual));
	while ((word = server_run(&server, self)) != STOP) {
		if (word == REPORT)
			report(self, &server);
		else
			t_ok(dat_lmr_free(spare.lmr));
	}
	t_ia_close(&ia);
}

struct account {
	uint64_t requests, established, broken, knows_words;
};

static struct account ask_server(void)
{
	struct account account;

	t_peer_tell(&server_process, REPORT);
	account.requests = t_peer_hear(&server_process);
	account.established = t_peer_hear(&server_process);
	account.broken = t_peer_hear(&server_process);
	account.knows_words = t_peer_hear(&server_process);
	return account;
}

static DAT_CONN_QUAL start_server(DAT_CONN_QUAL qual)
{
	char limit[16];

	asked_qual = qual;
	snprintf(limit, sizeof(limit), "%u", HANDSHAKE_MS);
	setenv("DAT_OFI_HANDSHAKE_MS", limit, 1);
	t_peer_start(&server_process, serving);
	return t_peer_hear(&server_process);
}

static void stop_server(void)
{
	t_peer_tell(&server_process, STOP);
	t_peer_join(&server_process);
}

/* The server and the proxy, at one port that is free at both addresses. */
static DAT_CONN_QUAL start_both(void)
{
	DAT_CONN_QUAL qual = start_server(0);

	while (!middle_start((uint16_t)qual)) {
		stop_server();
		qual = start_server(0);
	}
	return qual;
}

/* --- the client --- */

/* Connects to this host. Returns the event that ends the attempt. */
static DAT_EVENT_NUMBER try_from(uint32_t host, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout)
{
	struct sockaddr_in to = address(host, 0);

	t_ok(dat_ep_connect(end.ep, (DAT_IA_ADDRESS_PTR)&to, qual, timeout, sizeof(words),
			    (DAT_PVOID)(uintptr_t)words, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG));
	return t_wait(end.connect_evd).event_number;
}

/* A new IA has no channel yet. */
static void client_open(void)
{
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
}

static void assert_connects(uint32_t host, DAT_CONN_QUAL qual)
{
	ck_assert_int_eq(try_from(host, qual, T_LIMIT_US), DAT_CONNECTION_EVENT_ESTABLISHED);
	t_ok(t_send(&end, 0, SERVER_MESSAGE, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end.request_evd, end.ep, 2, DAT_DTO_SUCCESS, SERVER_MESSAGE);
}

/* --- one frame is changed, repeated or dropped --- */

/* Without a trick the connection is established, so the proxy itself does not break it. */
START_TEST(forwarded_frames_connect)
{
	DAT_CONN_QUAL qual = start_both();

	client_open();
	assert_connects(MIDDLE_HOST, qual);
	ck_assert_uint_ge(middle.count[FROM_CLIENT], 4);
	ck_assert_uint_ge(middle.count[FROM_SERVER], 4);
	ck_assert(ask_server().knows_words);
	t_ia_close(&ia);
	stop_server();
	middle_stop();
}
END_TEST

/* Applies each trick to each of the first four frames of each side. */
START_TEST(tampered_handshake_fails)
{
	DAT_CONN_QUAL qual;

	middle.side = (unsigned int)_i / RECORDED;
	middle.number = (unsigned int)_i % RECORDED;
	qual = start_both();
	for (middle.trick = CHANGE; middle.trick < TRICKS; middle.trick++) {
		DAT_EVENT_NUMBER number;

		client_open();
		number = try_from(MIDDLE_HOST, qual, ATTEMPT_US);
		ck_assert_msg(number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
				      number == DAT_CONNECTION_EVENT_TIMED_OUT ||
				      number == DAT_CONNECTION_EVENT_UNREACHABLE,
			      "trick %d: %s", (int)middle.trick, t_event_name(number));
		t_ia_close(&ia);
		ck_assert_uint_eq(ask_server().established, 0);
	}
	middle_stop();
	if (middle.side == FROM_CLIENT && middle.number < 3)
		ck_assert_uint_eq(ask_server().requests, 0);
	client_open();
	assert_connects(SERVER_HOST, qual);
	t_ia_close(&ia);
	stop_server();
}
END_TEST

/* The frame is the INVALIDATE of an LMR that the server frees. */
START_TEST(tampered_frame_breaks_the_connection)
{
	DAT_CONN_QUAL qual;

	middle.side = FROM_SERVER;
	middle.number = RECORDED;
	middle.trick = _i ? CHANGE_SEAL : CHANGE;
	qual = start_both();
	client_open();
	assert_connects(MIDDLE_HOST, qual);
	t_peer_tell(&server_process, FREE_LMR);
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_BROKEN, end.ep);
	t_until(ask_server().broken == 1);
	t_ia_close(&ia);
	stop_server();
	middle_stop();
}
END_TEST

/* --- replay --- */

static int dial_server(uint16_t port)
{
	struct sockaddr_in to = address(SERVER_HOST, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert(!connect(fd, (struct sockaddr *)&to, sizeof(to)));
	return fd;
}

/* Receives until the other side closes the socket, which it must. Returns the number of bytes. */
static size_t overhear(int fd, void *bytes, size_t size)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	size_t fill = 0;
	ssize_t n;

	do {
		ck_assert_msg(poll(&ready, 1, (int)(T_LIMIT_US / 1000)) == 1, "nobody hangs up");
		n = recv(fd, (char *)bytes + fill, size - fill, 0);
		fill += n > 0 ? (size_t)n : 0;
	} while (n > 0 && fill < size);
	return fill;
}

/* Records a handshake with the server, which it starts. Returns the server's qualifier. */
static DAT_CONN_QUAL record(void)
{
	DAT_CONN_QUAL qual = start_both();

	client_open();
	assert_connects(MIDDLE_HOST, qual);
	t_ia_close(&ia);
	middle_stop();
	return qual;
}

START_TEST(replayed_client_is_refused)
{
	DAT_CONN_QUAL qual = record();
	uint8_t heard[4 * DOFI_WIRE_MAX_FRAME];
	int fd;

	t_until(ask_server().established == 1);
	fd = dial_server((uint16_t)qual);
	for (unsigned int i = 0; i < RECORDED; i++)
		send_all(fd, middle.record[FROM_CLIENT][i].bytes,
			 middle.record[FROM_CLIENT][i].size);
	/* At most HELLO and PROOF, no DETAILS. */
	ck_assert_uint_le(overhear(fd, heard, sizeof(heard)),
			  middle.record[FROM_SERVER][0].size + middle.record[FROM_SERVER][1].size);
	close(fd);
	ck_assert_uint_eq(ask_server().requests, 1);
	client_open();
	assert_connects(SERVER_HOST, qual);
	t_ia_close(&ia);
	stop_server();
}
END_TEST

/* --- a squatter: a foreign process that listens on the port --- */

struct squatter {
	int listener;
	pthread_t thread;
	_Atomic bool stop;
	struct frame says[RECORDED];
	size_t heard;
	uint8_t bytes[16384];
};

static void squat_once(struct squatter *squatter)
{
	int fd = accept(squatter->listener, NULL, NULL);
	ssize_t n;

	for (unsigned int i = 0; i < RECORDED; i++)
		if (squatter->says[i].size)
			send_all(fd, squatter->says[i].bytes, squatter->says[i].size);
	while ((n = recv(fd, squatter->bytes + squatter->heard,
			 sizeof(squatter->bytes) - squatter->heard, 0)) > 0)
		squatter->heard += (size_t)n;
	close(fd);
}

static void *squat(void *arg)
{
	struct squatter *squatter = arg;
	struct pollfd ready = {.fd = squatter->listener, .events = POLLIN};

	while (!squatter->stop)
		if (poll(&ready, 1, 20) == 1)
			squat_once(squatter);
	return NULL;
}

static void squatter_start(struct squatter *squatter)
{
	ck_assert_int_eq(pthread_create(&squatter->thread, NULL, squat, squatter), 0);
}

/* It was dialled, and has received nothing but HELLOs. */
static void squatter_stop(struct squatter *squatter)
{
	squatter->stop = true;
	t_join(squatter->thread);
	close(squatter->listener);
	ck_assert_uint_gt(squatter->heard, 0);
	ck_assert_uint_le(squatter->heard, 3 * (DOFI_HELLO_SIZE + DOFI_WIRE_LENGTH));
	ck_assert_ptr_null(memmem(squatter->bytes, squatter->heard, words, sizeof(words)));
}

START_TEST(replayed_server_is_refused)
{
	static struct squatter squatter;
	DAT_CONN_QUAL qual = record();

	stop_server();
	memcpy(squatter.says, middle.record[FROM_SERVER], sizeof(squatter.says));
	squatter.listener = listen_on(MIDDLE_HOST, (uint16_t)qual);
	ck_assert_int_ge(squatter.listener, 0);
	squatter_start(&squatter);
	client_open();
	ck_assert_int_eq(try_from(MIDDLE_HOST, qual, T_LIMIT_US),
			 DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	t_ia_close(&ia);
	squatter_stop(&squatter);
}
END_TEST

/* Every process that was dialled once knows the name of the key, so the squatter says it, too. */
static void pretend(struct squatter *squatter)
{
	struct dofi_hello hello = {.role = DOFI_ROLE_ACCEPTS, .nonce = "as good as any"};
	uint8_t proof[DOFI_PROOF_SIZE] = "not a proof";
	struct dofi_key key;

	ck_assert_int_eq(dofi_key_load(&key, "squatter", "auto", getenv("DAT_OFI_KEY_FILE")), 0);
	memcpy(hello.key_id, key.id, sizeof(hello.key_id));
	squatter->says[0].size = dofi_wire_put_hello(squatter->says[0].bytes, &hello);
	squatter->says[1].size = dofi_wire_put_proof(squatter->says[1].bytes, proof);
}

/*
 * The squatter says nothing, or says the name of the key and a false proof. The server listens on
 * the next port, and the client finds it there.
 */
START_TEST(squatter_gets_no_private_data)
{
	DAT_CONN_QUAL qual = 0x5175617474657200u + (unsigned int)getpid() % 251;
	static struct squatter squatter;
	uint16_t port;

	do
		ck_assert(dofi_port_candidate(++qual, 0, &port));
	while ((squatter.listener = listen_on(SERVER_HOST, port)) < 0);
	start_server(qual);
	if (_i)
		pretend(&squatter);
	squatter_start(&squatter);
	client_open();
	assert_connects(SERVER_HOST, qual);
	ck_assert(ask_server().knows_words);
	t_ia_close(&ia);
	squatter_stop(&squatter);
	stop_server();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("middle");
	TCase *tcase = tcase_create("middle");

	fault_use_linked_provider();
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, forwarded_frames_connect);
	tcase_add_loop_test(tcase, tampered_handshake_fails, 0, 2 * RECORDED);
	tcase_add_loop_test(tcase, tampered_frame_breaks_the_connection, 0, 2);
	tcase_add_test(tcase, replayed_client_is_refused);
	tcase_add_test(tcase, replayed_server_is_refused);
	tcase_add_loop_test(tcase, squatter_gets_no_private_data, 0, 2);
	return t_run(suite);
}
