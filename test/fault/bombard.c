/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An attacker sends mutated recordings of real handshakes, and mutated messages under a valid seal,
 * over thousands of control channels. Meanwhile an honest client connects, sends and disconnects in
 * a loop. None of its rounds may fail or take longer than a second, and the victim's memory and
 * descriptors must not grow.
 */
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server.h"
#include "inside.h"
#include "memory.h"
#include "process.h"
#include "t_hooks.h"
#include "t_channel.h"

#define ROUND_US   (T_LIMIT_US / 10) /* a second; more with a sanitizer */
#define HELD       32u               /* sockets that the attacker keeps open */
#define MAX_GROWTH (1u << 20)

static struct shared {
	_Atomic bool stop;
	_Atomic uint32_t rounds;
	_Atomic uint64_t longest_us;
	DAT_CONN_QUAL qual;
} * shared;

static struct t_peer victim, client;
static struct t_ia ia;
static struct t_end end;

/* --- the victim --- */

static void serving(struct t_peer *self)
{
	struct server server;

	t_ia_open(&ia);
	t_peer_tell(self, server_listen(&server, &ia, 0));
	server_run(&server, self);
	ck_assert_uint_ge(server.messages, shared->rounds);
	t_ia_close(&ia);
}

/* --- the honest client --- */

static void client_round(void)
{
	uint64_t took, began;

	t_ia_open(&ia); /* a new IA has no channel, so each round makes one */
	t_end_new(&end, &ia, NULL);
	began = t_now_us();
	t_ok(t_connect_data(end.ep, &ia, shared->qual, T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_ok(t_send(&end, 0, SERVER_MESSAGE, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end.request_evd, end.ep, 2, DAT_DTO_SUCCESS, SERVER_MESSAGE);
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	took = t_now_us() - began;
	if (took > shared->longest_us)
		shared->longest_us = took;
	t_end_free(&end);
	t_ia_close(&ia);
	shared->rounds++;
}

static void client_main(struct t_peer *self)
{
	shared->qual = t_peer_hear(self);
	while (!shared->stop)
		client_round();
}

static void wait_for_rounds(uint32_t n)
{
	uint32_t begin = shared->rounds;

	t_until(shared->rounds - begin >= n);
}

/* --- the attacker --- */

static struct dofi_key key;
static struct sockaddr_in target;
static struct dofi_details details; /* those of the victim, with another identity */
static struct t_record recording;
static int held[HELD];

static uint64_t random_state = 0x626f6d6261726421u;

/* xorshift64: the same sequence in every run. */
static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 20) % limit;
}

static int dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval limit = {.tv_sec = 5};
	struct linger hard = {.l_onoff = 1};

	/* Without TIME_WAIT, because the test uses many ports. */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	ck_assert_msg(!connect(fd, (struct sockaddr *)&target, sizeof(target)), "%m");
	return fd;
}

static struct t_channel channel(struct t_record *record)
{
	struct t_channel new;

	t_channel_init(&new, dial(), DOFI_ROLE_DIALS, &key, ntohs(target.sin_port));
	new.record = record;
	return new;
}

/* Keeps the socket open, and closes an older one. */
static void close_later(int fd)
{
	int *place = &held[random_below(HELD)];

	if (*place)
		close(*place);
	*place = fd;
}

static const struct dofi_msg request = {.type = DOFI_MSG_REQUEST, .src = 1};

/* Records a handshake and a request. The details are those of the victim. */
static void record(void)
{
	struct t_channel own = channel(NULL);
	struct dofi_msg msg = request;

	snprintf(details.provider, sizeof(details.provider), "unknown");
	memcpy(&details.addr, &target, sizeof(target));
	ck_assert(t_channel_prove(&own) && t_channel_say_details(&own, &details) &&
		  t_channel_hear_details(&own, &details));
	close(own.fd);
	memcpy(details.uuid, "nobody's own IA.", sizeof(details.uuid));
	own = channel(&recording);
	msg.conn_qual = ntohs(target.sin_port);
	ck_assert(t_channel_prove(&own) && t_channel_say_details(&own, &details) &&
		  t_channel_say_msg(&own, &msg));
	close_later(own.fd);
}

/* Changes, overwrites, moves or removes bytes, or cuts the end off. Returns the new size. */
static size_t mutate(uint8_t *bytes, size_t size)
{
	size_t at = random_below((uint32_t)size), n = random_below((uint32_t)(size - at)) + 1;

	switch (random_below(6)) {
	case 0:
		bytes[at] = (uint8_t)random_below(256);
		break;
	case 1:
		bytes[at] ^= (uint8_t)(1u << random_below(8));
		break;
	case 2:
		memmove(bytes + at, bytes + at + n, size - at - n);
		return size > n ? size - n : size;
	case 3:
		memmove(bytes + random_below((uint32_t)(size - n + 1)), bytes + at, n);
		break;
	case 4:
		memset(bytes + at, (int)random_below(256), n);
		break;
	default:
		return at + 1;
	}
	return size;
}

static size_t mutate_often(uint8_t *bytes, size_t size)
{
	for (uint32_t i = random_below(4); i-- && size > 1;)
		size = mutate(bytes, size);
	return size;
}

/* An attacker without the key can only replay what it has recorded. */
static void send_recording(void)
{
	uint8_t bytes[sizeof(recording.bytes)];
	size_t size;
	int fd = dial();

	memcpy(bytes, recording.bytes, recording.size);
	size = mutate_often(bytes, recording.size);
	send(fd, bytes, size, MSG_NOSIGNAL);
	if (random_below(2))
		shutdown(fd, SHUT_WR);
	close_later(fd);
}

/* An attacker with the key: the mutated frame has a valid seal. */
static bool say_mutated(struct t_channel *to, uint8_t *frame, size_t size)
{
	size_t body = mutate_often(frame + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH);

	frame[2] = (uint8_t)(body >> 8);
	frame[3] = (uint8_t)body;
	size = dofi_wire_seal(frame, body + DOFI_WIRE_LENGTH, &to->session);
	return size && t_channel_say(to, frame, size);
}

static void send_sealed_messages(void)
{
	struct t_channel to = channel(NULL);
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	bool heard = t_channel_prove(&to);
	struct dofi_details theirs;

	if (heard && !random_below(3))
		heard = say_mutated(&to, frame, dofi_wire_put_details(frame, &details));
	else if (heard)
		heard = t_channel_say_details(&to, &details) &&
			t_channel_hear_details(&to, &theirs);
	for (uint32_t n = random_below(16); heard && n--;) {
		struct dofi_msg msg = request;

		msg.type = (uint8_t)(1 + random_below(DOFI_MSG_TYPES - 1));
		msg.src = 1 + random_below(4);
		msg.dst = random_below(512);
		msg.conn_qual = random_below(2) ? ntohs(target.sin_port) : random_below(1u << 16);
		heard = say_mutated(&to, frame, dofi_wire_put_msg(frame, &msg));
	}
	close_later(to.fd);
}

static void attack(unsigned int channels)
{
	while (channels--) {
		if (random_below(3))
			send_recording();
		else
			send_sealed_messages();
	}
}

static void close_all(void)
{
	for (unsigned int i = 0; i < HELD; i++) {
		if (held[i])
			close(held[i]);
		held[i] = 0;
	}
}

/* --- the test --- */

static unsigned int files_of(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	return (unsigned int)fault_entries(path);
}

static void find_victim(DAT_CONN_QUAL qual)
{
	t_ia_open(&ia);
	memcpy(&target, ia.attr.ia_address_ptr, sizeof(target));
	t_ia_close(&ia);
	ck_assert_int_eq(target.sin_family, AF_INET);
	target.sin_port = htons((uint16_t)qual);
	ck_assert_int_eq(dofi_key_load(&key, "attacker", "auto", getenv("DAT_OFI_KEY_FILE")), 0);
}

START_TEST(attack_does_not_delay_the_client)
{
	unsigned int n = fault_amount(2400, 40000), files;
	DAT_CONN_QUAL qual;
	size_t memory;

	shared = fault_share(sizeof(*shared));
	setenv("DAT_OFI_HANDSHAKE_MS", "1000", 1);
	t_peer_start(&victim, serving);
	t_peer_start(&client, client_main);
	qual = t_peer_hear(&victim);
	find_victim(qual);
	t_peer_tell(&client, qual);
	wait_for_rounds(3);
	files = files_of(victim.pid);
	record();
	attack(n / 4);
	close_all();
	memory = fault_memory_of(victim.pid);
	attack(n);
	wait_for_rounds(3);
	close_all();
	shared->stop = true;
	t_peer_join(&client);
	t_until(files_of(victim.pid) <= files);
	if (T_HOOKS) /* a sanitizer keeps freed memory */
		ck_assert_uint_le(fault_memory_of(victim.pid), memory + MAX_GROWTH);
	ck_assert_uint_le(shared->longest_us, ROUND_US);
	printf("# %u rounds of the client during %u hostile channels; the longest took %u us\n",
	       (unsigned int)shared->rounds, n + n / 4, (unsigned int)shared->longest_us);
	t_peer_tell(&victim, 1);
	t_peer_join(&victim);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bombard");
	TCase *tcase = tcase_create("bombard");

	fault_use_linked_provider();
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, attack_does_not_delay_the_client);
	return t_run(suite);
}
