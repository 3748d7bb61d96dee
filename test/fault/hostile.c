/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Attacks on the port of an IA. A victim process listens on a PSP. An honest client connects and
 * exchanges messages all the time. Each test attacks the victim's port with plain sockets. After
 * each attack the client must make progress, and in the end the victim must have no leaks.
 */
#include "../lib/unit.h"
#include "t_channel.h"

#include <arpa/inet.h>
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_MS       (30000 * slowness()) /* limit for what has to happen */
#define CONNECT_US     20000000u
#define VICTIM_FILES   200 /* few, so that the victim also runs out of them */
#define HANDSHAKE_MS   (1500 * slowness())
#define MESSAGE_SIZE   256
#define MAX_VICTIM_EPS 24
#define IDLE_SOCKETS   10000
#define SKIP           77

/* verbs is tested in an emulated machine, which is slow. */
static int slowness(void)
{
	return getenv("T_VERBS") ? 10 : 1;
}

/* Memory that the processes share. */
static struct shared {
	struct sockaddr_in address; /* of the victim, port 0 */
	_Atomic uint16_t port;      /* 0: the victim does not listen yet */
	_Atomic bool no_ia;         /* this machine has no fabric for the test */
	_Atomic bool stop_client, client_gone, stop_victim;
	_Atomic bool
		lenient; /* the client may be refused: the victim's queue is full of requests */
	_Atomic uint32_t rounds; /* rounds that the client completed */
	_Atomic uint32_t eps;    /* EPs of the victim */
	_Atomic int files_before, files_after;
} * shared;

static DAT_NAME_PTR ia_name;
static char key_file[] = "/tmp/hostile.XXXXXX";

/* --- both DAT processes --- */

static void ok(const char *who, const char *call, DAT_RETURN ret)
{
	const char *type = "?", *subtype = "";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &type, &subtype);
	fprintf(stderr, "# %s: %s: %s %s\n", who, call, type, subtype);
	_exit(EXIT_FAILURE);
}

static void wrong(const char *who, const char *what, uint32_t number)
{
	fprintf(stderr, "# %s: %s, event or status 0x%x\n", who, what, number);
	_exit(EXIT_FAILURE);
}

#define OK(call) ok(me, #call, call)

/* An IA with the objects that each process needs. */
struct side {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, evd;
	DAT_PZ_HANDLE pz;
};

static void side_open(const char *me, struct side *s)
{
	s->async = DAT_HANDLE_NULL;
	OK(dat_ia_open(ia_name, 8, &s->async, &s->ia));
	OK(dat_pz_create(s->ia, &s->pz));
	OK(dat_evd_create(s->ia, 256, DAT_HANDLE_NULL,
			  DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG, &s->evd));
}

struct end {
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	unsigned char mem[2 * MESSAGE_SIZE]; /* received, sent */
};

static DAT_LMR_TRIPLET segment(const struct end *end, size_t offset)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (uintptr_t)end->mem + offset,
		.segment_length = MESSAGE_SIZE,
		.lmr_context = end->context,
	};
}

static struct end *end_new(const char *me, const struct side *s)
{
	struct end *end = calloc(1, sizeof(*end));
	DAT_REGION_DESCRIPTION region = {.for_va = end->mem};
	DAT_DTO_COOKIE cookie = {.as_ptr = end};
	DAT_LMR_TRIPLET iov;

	OK(dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(end->mem), s->pz,
			  DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &end->lmr, &end->context, NULL,
			  NULL, NULL));
	OK(dat_ep_create(s->ia, s->pz, s->evd, s->evd, s->evd, NULL, &end->ep));
	iov = segment(end, 0);
	OK(dat_ep_post_recv(end->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	return end;
}

static void end_free(const char *me, struct end *end)
{
	OK(dat_ep_free(end->ep));
	OK(dat_lmr_free(end->lmr));
	free(end);
}

static void end_send(const char *me, struct end *end)
{
	DAT_LMR_TRIPLET iov = segment(end, MESSAGE_SIZE);
	DAT_DTO_COOKIE cookie = {.as_ptr = end};

	OK(dat_ep_post_send(end->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* --- the victim: echoes the first message of every connection --- */

#define me "victim"

static struct end *ends[MAX_VICTIM_EPS];

static struct end **end_slot(DAT_EP_HANDLE ep)
{
	for (int i = 0; i < MAX_VICTIM_EPS; i++)
		if (ends[i] ? ends[i]->ep == ep : !ep)
			return &ends[i];
	return NULL;
}

static void victim_request(const struct side *s, DAT_CR_HANDLE cr)
{
	struct end **slot = end_slot(NULL);

	if (!slot) {
		OK(dat_cr_reject(cr, 0, NULL));
		return;
	}
	*slot = end_new(me, s);
	OK(dat_cr_accept(cr, (*slot)->ep, 0, NULL));
	atomic_fetch_add(&shared->eps, 1);
}

static void victim_over(DAT_EP_HANDLE ep)
{
	struct end **slot = end_slot(ep);

	end_free(me, *slot);
	*slot = NULL;
	atomic_fetch_sub(&shared->eps, 1);
}

static void victim_completion(const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	struct end **slot = end_slot(dto->ep_handle);

	if (!slot || dto->operation != DAT_DTO_RECEIVE || dto->status != DAT_DTO_SUCCESS)
		return; /* the completion of an echo, or a late event of an old connection */
	memcpy((*slot)->mem + MESSAGE_SIZE, (*slot)->mem, MESSAGE_SIZE);
	end_send(me, *slot);
}

static void victim_event(const struct side *s, const DAT_EVENT *event)
{
	switch ((unsigned int)event->event_number) {
	case DAT_CONNECTION_REQUEST_EVENT:
		victim_request(s, event->event_data.cr_arrival_event_data.cr_handle);
		break;
	case DAT_IB_UD_CONNECTION_REQUEST_EVENT: /* fabrics with datagrams have these, too */
		OK(dat_cr_reject(event->event_data.cr_arrival_event_data.cr_handle, 0, NULL));
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		break;
	case DAT_DTO_COMPLETION_EVENT:
		victim_completion(&event->event_data.dto_completion_event_data);
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		victim_over(event->event_data.connect_event_data.ep_handle);
		break;
	default:
		wrong(me, "an event that should not come", event->event_number);
	}
}

/* Serves until it is told to stop, and then until the attackers' connections have ended. */
static void victim_serve(const struct side *s)
{
	DAT_EVENT event;
	DAT_RETURN ret;
	DAT_COUNT nmore;
	int quiet_ms = 0;

	while (quiet_ms < LIMIT_MS) {
		ret = dat_evd_wait(s->evd, 20000, 1, &event, &nmore);
		if (ret == DAT_SUCCESS)
			victim_event(s, &event);
		else if (DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED)
			ok(me, "dat_evd_wait", ret);
		shared->files_after = open_files();
		if (!shared->stop_victim)
			continue;
		if (!shared->eps && shared->files_after <= shared->files_before)
			return;
		quiet_ms += 20;
	}
}

/* The victim's address: that of the loopback interface or that of the device. */
static bool set_address(const struct side *s)
{
	DAT_IA_ATTR attr;

	OK(dat_ia_query(s->ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, 0, NULL));
	memcpy(&shared->address, attr.ia_address_ptr, sizeof(shared->address));
	return shared->address.sin_family == AF_INET;
}

static void victim_main(void)
{
	struct rlimit files = {VICTIM_FILES, VICTIM_FILES};
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	struct side s;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	setrlimit(RLIMIT_NOFILE, &files);
	if (dat_ia_open(ia_name, 8, &async, &s.ia) != DAT_SUCCESS) {
		shared->no_ia = true;
		_exit(SKIP);
	}
	if (!set_address(&s)) {
		shared->no_ia = true;
		_exit(SKIP);
	}
	OK(dat_ia_close(s.ia, DAT_CLOSE_ABRUPT_FLAG));
	side_open(me, &s);
	OK(dat_psp_create_any(s.ia, &qual, s.evd, DAT_PSP_CONSUMER_FLAG, &psp));
	shared->files_before = open_files();
	shared->port = (uint16_t)qual;
	victim_serve(&s);
	OK(dat_psp_free(psp));
	OK(dat_ia_close(s.ia, DAT_CLOSE_ABRUPT_FLAG));
	exit(EXIT_SUCCESS); /* which writes the counts of test/tools/coverage.py */
}

#undef me

/* --- the honest client --- */

#define me "client"

/* Returns the next event of the connection, or the awaited completion. */
static DAT_EVENT client_next(const struct side *s)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	OK(dat_evd_wait(s->evd, CONNECT_US, 1, &event, &nmore));
	return event;
}

static bool client_connect(const struct side *s, struct end *end)
{
	DAT_EVENT event;

	OK(dat_ep_connect(end->ep, (DAT_IA_ADDRESS_PTR)&shared->address, shared->port, CONNECT_US,
			  0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	event = client_next(s);
	while (event.event_number == DAT_DTO_COMPLETION_EVENT)
		event = client_next(s); /* the receive of a failed attempt */
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		return true;
	if (!shared->lenient || (event.event_number != DAT_CONNECTION_EVENT_NON_PEER_REJECTED &&
				 event.event_number != DAT_CONNECTION_EVENT_PEER_REJECTED))
		wrong(me, "can't connect", event.event_number);
	return false;
}

static void client_exchange(const struct side *s, struct end *end, uint32_t round)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	memset(end->mem + MESSAGE_SIZE, (int)(round % 255 + 1), MESSAGE_SIZE);
	end_send(me, end);
	for (int n = 0; n < 2; n++) {
		event = client_next(s);
		dto = &event.event_data.dto_completion_event_data;
		if (event.event_number != DAT_DTO_COMPLETION_EVENT)
			wrong(me, "the connection did not last", event.event_number);
		if (dto->status != DAT_DTO_SUCCESS || dto->transfered_length != MESSAGE_SIZE)
			wrong(me, "a transfer failed", dto->status);
	}
	if (memcmp(end->mem, end->mem + MESSAGE_SIZE, MESSAGE_SIZE))
		wrong(me, "the echo differs", end->mem[0]);
}

/* Each round opens a new IA, so it dials a new channel during the attack. */
static void client_round(uint32_t round)
{
	struct end *end;
	struct side s;

	side_open(me, &s);
	end = end_new(me, &s);
	if (client_connect(&s, end)) {
		client_exchange(&s, end, round);
		OK(dat_ep_disconnect(end->ep, DAT_CLOSE_ABRUPT_FLAG));
		atomic_fetch_add(&shared->rounds, 1);
	}
	end_free(me, end);
	OK(dat_ia_close(s.ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void client_main(void)
{
	for (uint32_t round = 0; !shared->stop_client; round++)
		client_round(round);
	shared->client_gone = true;
	exit(EXIT_SUCCESS);
}

#undef me

/* --- the attacker's tools --- */

static uint64_t random_state = 0x686f7374696c6521u;

/* xorshift64: the same sequence in every run. */
static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void pause_ms(int ms)
{
	poll(NULL, 0, ms);
}

#define until(condition)                                                          \
	do {                                                                      \
		for (int ms_ = 0; !(condition); ms_++) {                          \
			ck_assert_msg(ms_ < LIMIT_MS, "never came: " #condition); \
			pause_ms(1);                                              \
		}                                                                 \
	} while (0)

/* Waits until the honest client has completed this number of further rounds. */
static void assert_progress(uint32_t rounds)
{
	uint32_t start = shared->rounds;

	until(shared->rounds - start >= rounds);
}

/* Returns a socket connected to the victim, or -1 if the victim's queue is full. */
static int try_dial(void)
{
	struct sockaddr_in to = shared->address;
	struct linger hard = {.l_onoff = 1};
	struct timeval limit = {.tv_sec = 5 * slowness()};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	to.sin_port = htons(shared->port);
	/* Without TIME_WAIT, because the tests use many ports. */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	close(fd);
	return -1;
}

static int dial(void)
{
	int fd = try_dial();

	for (int ms = 0; fd < 0; ms += 10, fd = try_dial()) {
		ck_assert_msg(ms < LIMIT_MS, "the victim does not listen: %s", strerror(errno));
		pause_ms(10);
	}
	return fd;
}

/* Sends bytes. False if the victim has closed the socket. */
static bool say(int fd, const void *bytes, size_t size)
{
	return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static void assert_hangs_up(int fd)
{
	char bytes[4096];
	ssize_t n;

	do
		n = recv(fd, bytes, sizeof(bytes), 0);
	while (n > 0);
	ck_assert_msg(!n || errno == ECONNRESET, "the victim keeps the connection");
	close(fd);
}

/* The victim's key, and another key. */
static struct dofi_key key, other_key;

/* The victim's DETAILS, with another identity. */
static struct dofi_details details;

static struct t_channel channel(int fd, const struct dofi_key *of)
{
	struct t_channel new;

	t_channel_init(&new, fd, DOFI_ROLE_DIALS, of, shared->port);
	return new;
}

static size_t hello_frame(uint8_t *frame, const struct dofi_key *of)
{
	struct dofi_hello hello = {.role = DOFI_ROLE_DIALS, .nonce = "as good as any"};

	memcpy(hello.key_id, of->id, sizeof(hello.key_id));
	return dofi_wire_put_hello(frame, &hello);
}

/* Reads the victim's DETAILS from its answer to ours, which are right in the checked fields. */
static void learn_details(void)
{
	struct t_channel victim = channel(dial(), &key);

	ck_assert_int_eq(dofi_key_load(&key, "attacker", "key", key_file), 0);
	other_key = key;
	ck_assert_int_eq(dofi_random(other_key.bytes, sizeof(other_key.bytes)), 0);
	memcpy(&details.addr, &shared->address, sizeof(shared->address));
	snprintf(details.provider, sizeof(details.provider), "unknown");
	ck_assert_msg(t_channel_prove(&victim), "the victim does not know its friends");
	ck_assert(t_channel_say_details(&victim, &details));
	ck_assert(t_channel_hear_details(&victim, &details));
	memcpy(details.uuid, "not an IA at all", sizeof(details.uuid));
	close(victim.fd);
}

/* Opens a channel with the right key, for attacks by a peer that has the key. */
static struct t_channel greet(void)
{
	struct dofi_details theirs;

	for (int ms = 0; ms < LIMIT_MS; ms += 10) {
		struct t_channel victim = channel(dial(), &key);

		if (t_channel_prove(&victim) && t_channel_say_details(&victim, &details) &&
		    t_channel_hear_details(&victim, &theirs))
			return victim;
		close(victim.fd); /* refused: the victim has no free descriptor */
		pause_ms(10);
	}
	ck_abort_msg("the victim does not answer a greeting");
	return channel(-1, &key);
}

/* --- attacks --- */

START_TEST(test_client_makes_progress)
{
	assert_progress(5);
}
END_TEST

START_TEST(test_random_bytes)
{
	uint8_t bytes[8192];

	for (int n = 0; n < 300; n++) {
		size_t size = next_random() % sizeof(bytes) + 1;
		int fd = dial();

		for (size_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)next_random();
		if (n % 2)
			bytes[0] = bytes[1] = 0; /* so that the length of a frame may be valid */
		say(fd, bytes, size);
		if (n % 3)
			shutdown(fd, SHUT_WR);
		close(fd);
	}
	assert_progress(3);
}
END_TEST

START_TEST(test_garbage_closes_the_channel)
{
	int fd = dial();

	ck_assert(say(fd, "GET / HTTP/1.1\r\n\r\n", 18));
	assert_hangs_up(fd);
	assert_progress(1);
}
END_TEST

/* The answer tells the other release our protocol version. */
START_TEST(test_wrong_version_is_answered_and_closes_the_channel)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = hello_frame(frame, &key);
	struct t_channel victim;
	uint32_t version;
	int fd = dial();

	victim = channel(fd, &key);
	frame[DOFI_WIRE_LENGTH + 4] = 0x7f;
	ck_assert(say(fd, frame, size));
	size = t_channel_hear(&victim, frame);
	ck_assert_msg(size && dofi_wire_hello_version(frame + DOFI_WIRE_LENGTH,
						      size - DOFI_WIRE_LENGTH, &version),
		      "no answer");
	ck_assert_uint_eq(version, DOFI_WIRE_VERSION);
	assert_hangs_up(fd);
	assert_progress(1);
}
END_TEST

START_TEST(test_wrong_provider_and_transport_close_the_channel)
{
	struct dofi_details wrong_details[2] = {details, details};

	wrong_details[0].provider[0] ^= 1;
	wrong_details[1].transport ^= 0x80;
	for (int i = 0; i < 2; i++) {
		struct t_channel victim = channel(dial(), &key);

		ck_assert(t_channel_prove(&victim));
		ck_assert(t_channel_say_details(&victim, &wrong_details[i]));
		assert_hangs_up(victim.fd);
	}
	assert_progress(1);
}
END_TEST

START_TEST(test_message_that_ends_in_the_middle)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = hello_frame(frame, &key);

	for (size_t cut = 1; cut < size; cut++) {
		int fd = dial();

		say(fd, frame, cut);
		if (cut % 2)
			shutdown(fd, SHUT_WR);
		close(fd);
	}
	for (size_t cut = 1; cut < 60; cut += 3) {
		struct dofi_msg msg = {.type = DOFI_MSG_REQUEST, .conn_qual = shared->port};
		struct t_channel victim = greet();

		dofi_wire_seal(frame, dofi_wire_put_msg(frame, &msg), &victim.session);
		say(victim.fd, frame, cut);
		close(victim.fd);
	}
	assert_progress(3);
}
END_TEST

START_TEST(test_wrong_lengths_close_the_channel)
{
	static const uint8_t lengths[][4] = {{0, 0, 0, 0},
					     {0, 0, 0x0f, 0xfd},
					     {0xff, 0xff, 0xff, 0xff},
					     {0, 0, 0, 1}};
	uint8_t frame[64] = {0};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		int fd = greet().fd;

		memcpy(frame, lengths[i], 4);
		say(fd, frame, sizeof(frame));
		assert_hangs_up(fd);
	}
	assert_progress(1);
}
END_TEST

static struct dofi_msg random_msg(void)
{
	static const uint8_t private_data[DOFI_WIRE_MAX_PRIVATE];
	uint64_t bits = next_random();

	return (struct dofi_msg){
		/* A GOODBYE would close the channel too early. */
		.type = (uint8_t)(1 + bits % (DOFI_MSG_GOODBYE - 1)),
		.reason = (uint8_t)(bits >> 8) % (DOFI_REASON_ERROR + 1),
		.flags = (uint16_t)(bits >> 16),
		.dst = bits & 1 ? (uint32_t)next_random() : (uint32_t)(bits >> 24) % 512,
		.src = (uint32_t)(bits >> 32) % 64,
		.conn_qual = bits & 2 ? shared->port : next_random(),
		.number = next_random(),
		.read_in = (uint32_t)next_random(),
		.context = (uint32_t)next_random(),
		.private_size = (uint32_t)(bits >> 40) % (DOFI_WIRE_MAX_PRIVATE + 1),
		.private_data = private_data,
	};
}

/* Numbers of other channels' connections, unknown numbers, unexpected answers. */
START_TEST(test_messages_about_unknown_connections)
{
	shared->lenient = true; /* some of the messages are requests */
	for (int n = 0; n < 20; n++) {
		struct t_channel victim = greet();

		for (int i = 0; i < 500; i++) {
			struct dofi_msg msg = random_msg();

			if (!t_channel_say_msg(&victim, &msg))
				break;
			recv(victim.fd, (uint8_t[4096]){0}, 4096, MSG_DONTWAIT);
		}
		close(victim.fd);
	}
	assert_progress(3);
}
END_TEST

START_TEST(test_flood_of_requests)
{
	struct t_channel victim = greet();

	shared->lenient = true;
	for (uint32_t n = 1; n <= 20000; n++) {
		/* Every other one is a duplicate. */
		struct dofi_msg msg = {.type = DOFI_MSG_REQUEST,
				       .src = n / 2,
				       .conn_qual = shared->port};

		if (!t_channel_say_msg(&victim, &msg))
			break;
		recv(victim.fd, (uint8_t[4096]){0}, 4096, MSG_DONTWAIT);
	}
	assert_progress(3);
	close(victim.fd);
}
END_TEST

START_TEST(test_peer_that_never_reads_is_given_up)
{
	struct dofi_msg msg = {.type = DOFI_MSG_INVALIDATE, .context = 0x10001};
	uint64_t sent = 0;
	struct t_channel victim = greet();

	while (t_channel_say_msg(&victim, &msg))
		ck_assert_msg(++sent < 4000000, "the victim piles up answers without end");
	ck_assert_msg(errno != EAGAIN, "the victim stopped reading instead of hanging up");
	close(victim.fd);
	assert_progress(1);
}
END_TEST

/* --- without the key --- */

/* Reads all bytes that the victim sends until it closes the socket. */
static size_t overhear(int fd, uint8_t *bytes, size_t size)
{
	size_t fill = 0;
	ssize_t n;

	while (fill < size && (n = recv(fd, bytes + fill, size - fill, 0)) > 0)
		fill += (size_t)n;
	close(fd);
	return fill;
}

/* The bytes have no key or address of the context table, nor another field of DETAILS. */
static void assert_tells_nothing(const uint8_t *bytes, size_t size)
{
	const uint64_t secrets[] = {details.ctxtab_address, htobe64(details.ctxtab_address),
				    details.sink_address, htobe64(details.sink_address)};

	ck_assert_uint_le(size, 2 * (DOFI_HELLO_SIZE + DOFI_WIRE_LENGTH));
	for (size_t i = 0; i < sizeof(secrets) / sizeof(*secrets); i++)
		if (secrets[i])
			ck_assert_ptr_null(memmem(bytes, size, &secrets[i], sizeof(secrets[i])));
	ck_assert_ptr_null(memmem(bytes, size, details.provider, strlen(details.provider)));
	if (details.fabric_name_size)
		ck_assert_ptr_null(
			memmem(bytes, size, details.fabric_name, details.fabric_name_size));
}

/* A peer with another key, with none, or with only the name of the right key. */
START_TEST(test_a_stranger_learns_nothing)
{
	struct dofi_key none = {.source = DOFI_KEY_NONE}, renamed = other_key;
	const struct dofi_key *const keys[] = {&none, &renamed, &other_key};
	uint8_t frame[DOFI_WIRE_MAX_FRAME], heard[DOFI_WIRE_MAX_FRAME];
	struct t_channel victim = channel(dial(), keys[_i]);

	renamed.id[0] ^= 1;
	ck_assert(t_channel_say_hello(&victim));
	if (_i == 2) {
		ck_assert(t_channel_hear_hello(&victim));
		ck_assert(!t_channel_hear_proof(
			&victim)); /* the victim's proof needs the right key */
		ck_assert(t_channel_say_proof(&victim));
	}
	t_channel_say(&victim, frame, dofi_wire_put_details(frame, &details));
	assert_tells_nothing(heard, overhear(victim.fd, heard, sizeof(heard)));
	assert_progress(1);
}
END_TEST

/* Sends messages at each step before the proof. */
START_TEST(test_messages_before_the_proof_close_the_channel)
{
	const struct dofi_msg request = {.type = DOFI_MSG_REQUEST, .conn_qual = shared->port};
	struct t_channel victim = channel(dial(), &key);
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = _i % 2 ? dofi_wire_put_details(frame, &details)
			     : dofi_wire_put_msg(frame, &request);

	if (_i >= 2) {
		ck_assert(t_channel_say_hello(&victim));
		ck_assert(t_channel_hear_hello(&victim));
	}
	ck_assert(t_channel_say(&victim, frame, size));
	assert_hangs_up(victim.fd);
	assert_progress(1);
}
END_TEST

/* The victim's own proof, and a proof of an earlier handshake. */
START_TEST(test_reflected_or_replayed_proof_is_refused)
{
	struct t_channel victim = channel(dial(), &key), friend = greet();
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size;

	ck_assert(t_channel_say_hello(&victim));
	ck_assert(t_channel_hear_hello(&victim));
	size = t_channel_hear(&victim, frame);
	if (_i)
		size = dofi_wire_put_proof(frame,
					   dofi_session_proof(&friend.session, DOFI_ROLE_DIALS));
	ck_assert(t_channel_say(&victim, frame, size));
	assert_hangs_up(victim.fd);
	close(friend.fd);
	assert_progress(1);
}
END_TEST

/* A proof contains the port, so an attacker cannot forward the handshake of another port. */
START_TEST(test_proof_for_another_port_is_refused)
{
	struct t_channel victim = channel(dial(), &key);

	victim.shake.port ^= 1;
	ck_assert(t_channel_say_hello(&victim));
	ck_assert(t_channel_hear_hello(&victim));
	ck_assert(!t_channel_hear_proof(&victim));
	ck_assert(t_channel_say_proof(&victim));
	assert_hangs_up(victim.fd);
	assert_progress(1);
}
END_TEST

/* An attacker between the two changes, repeats or swaps frames. */
START_TEST(test_changed_frames_close_the_channel)
{
	const struct dofi_msg msg = {.type = DOFI_MSG_DONE, .number = 1};
	uint8_t first[DOFI_WIRE_MAX_FRAME], second[DOFI_WIRE_MAX_FRAME];
	struct t_channel victim = greet();
	size_t size = dofi_wire_seal(first, dofi_wire_put_msg(first, &msg), &victim.session);

	dofi_wire_seal(second, dofi_wire_put_msg(second, &msg), &victim.session);
	switch (_i) {
	case 0: /* changed */
		first[DOFI_WIRE_LENGTH + 20] ^= 1;
		t_channel_say(&victim, first, size);
		break;
	case 1: /* its seal changed */
		first[size - 1] ^= 1;
		t_channel_say(&victim, first, size);
		break;
	case 2: /* repeated */
		t_channel_say(&victim, first, size);
		t_channel_say(&victim, first, size);
		break;
	case 3: /* swapped */
		t_channel_say(&victim, second, size);
		break;
	default: /* without a seal */
		t_channel_say(&victim, first, dofi_wire_put_msg(first, &msg));
	}
	assert_hangs_up(victim.fd);
	assert_progress(1);
}
END_TEST

/* Dials from another loopback address, if the victim is on the loopback interface. */
static int dial_from(const char *host)
{
	struct sockaddr_in from = {.sin_family = AF_INET}, to = shared->address;
	struct linger hard = {.l_onoff = 1};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, host, &from.sin_addr);
	to.sin_port = htons(shared->port);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	if (!bind(fd, (struct sockaddr *)&from, sizeof(from)) &&
	    !connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	close(fd);
	return dial();
}

static bool is_open(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

/* A peer with the key opens many channels. It gets its share, and the honest client still works. */
START_TEST(test_idle_channels_of_a_peer_with_the_key)
{
	enum { MANY = 2 * VICTIM_FILES };
	struct dofi_details theirs;
	int fds[MANY], open = 0;

	shared->lenient = ntohl(shared->address.sin_addr.s_addr) >> 24 != 127;
	for (int i = 0; i < MANY; i++) {
		struct t_channel victim = channel(dial_from("127.0.0.2"), &key);

		(void)(t_channel_prove(&victim) && t_channel_say_details(&victim, &details) &&
		       t_channel_hear_details(&victim, &theirs));
		fds[i] = victim.fd;
	}
	assert_progress(2);
	for (int i = 0; i < MANY; i++) {
		open += is_open(fds[i]);
		close(fds[i]);
	}
	ck_assert_int_gt(open, VICTIM_FILES / 4);
	ck_assert_int_le(open, VICTIM_FILES / 2);
	assert_progress(2);
	shared->lenient = false;
}
END_TEST

/*
 * More sockets than the victim has descriptors, as many at a time as this process may open. On a
 * busy machine the crowd may push the client's socket out before its greeting has come; then the
 * client is refused, and tries again.
 */
START_TEST(test_idle_sockets)
{
	struct rlimit files;
	size_t bunch, held = 0, total = 0;
	int *fds;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	bunch = files.rlim_cur > IDLE_SOCKETS + 64 ? IDLE_SOCKETS : (size_t)files.rlim_cur - 64;
	fds = calloc(bunch, sizeof(*fds));
	shared->lenient = true;
	while (total < IDLE_SOCKETS) {
		for (held = 0; held < bunch && total < IDLE_SOCKETS; held++, total++)
			fds[held] = dial();
		assert_progress(2);
		while (held)
			close(fds[--held]);
	}
	free(fds);
	assert_progress(3);
	shared->lenient = false;
	assert_progress(2);
}
END_TEST

START_TEST(test_silent_socket_is_closed_in_time)
{
	assert_hangs_up(dial());
}
END_TEST

/* The last test: the victim has no more descriptors and EPs than before the attacks. */
START_TEST(test_victim_has_no_leaks)
{
	/* The client has one EP. It may be refused until those of the attackers are gone. */
	until(shared->eps <= 1);
	shared->lenient = false;
	assert_progress(3);
	shared->stop_client = true;
	until(shared->client_gone);
	shared->stop_victim = true;
	until(!shared->eps && shared->files_after <= shared->files_before);
}
END_TEST

static Suite *attacks(void)
{
	Suite *suite = suite_create("hostile");
	TCase *tc = tcase_create("attacks");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, learn_details, NULL);
	tcase_add_test(tc, test_client_makes_progress);
	tcase_add_test(tc, test_random_bytes);
	tcase_add_test(tc, test_garbage_closes_the_channel);
	tcase_add_test(tc, test_wrong_version_is_answered_and_closes_the_channel);
	tcase_add_test(tc, test_wrong_provider_and_transport_close_the_channel);
	tcase_add_test(tc, test_message_that_ends_in_the_middle);
	tcase_add_test(tc, test_wrong_lengths_close_the_channel);
	tcase_add_loop_test(tc, test_a_stranger_learns_nothing, 0, 3);
	tcase_add_loop_test(tc, test_messages_before_the_proof_close_the_channel, 0, 4);
	tcase_add_loop_test(tc, test_reflected_or_replayed_proof_is_refused, 0, 2);
	tcase_add_test(tc, test_proof_for_another_port_is_refused);
	tcase_add_loop_test(tc, test_changed_frames_close_the_channel, 0, 5);
	tcase_add_test(tc, test_idle_channels_of_a_peer_with_the_key);
	tcase_add_test(tc, test_idle_sockets);
	tcase_add_test(tc, test_silent_socket_is_closed_in_time);
	tcase_add_test(tc, test_peer_that_never_reads_is_given_up);
	tcase_add_test(tc, test_messages_about_unknown_connections);
	tcase_add_test(tc, test_flood_of_requests);
	tcase_add_test(tc, test_victim_has_no_leaks);
	suite_add_tcase(suite, tc);
	return suite;
}

/* --- processes --- */

static pid_t start(void (*run)(void))
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		run();
	_exit(EXIT_FAILURE);
}

/* Returns 0 if the process exited without an error. */
static int finish(const char *who, pid_t pid)
{
	int status = 0;

	for (int ms = 0; !waitpid(pid, &status, WNOHANG); ms++) {
		if (ms == LIMIT_MS)
			kill(pid, SIGKILL);
		pause_ms(1);
	}
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	fprintf(stderr, "# the %s ended with status 0x%x\n", who, status);
	return 1;
}

static bool wait_for_victim(void)
{
	for (int ms = 0; ms < LIMIT_MS && !shared->port && !shared->no_ia; ms++)
		pause_ms(1);
	return shared->port;
}

static bool make_key(void)
{
	static const char secret[] = "the victim and its friends know it";
	int fd = mkstemp(key_file);

	if (fd < 0 || write(fd, secret, sizeof(secret)) != sizeof(secret))
		return false;
	close(fd);
	return !setenv("DAT_OFI_AUTH", "key", 1) && !setenv("DAT_OFI_KEY_FILE", key_file, 1);
}

int main(void)
{
	const char *name = getenv("T_IA");
	char limit[16];
	SRunner *runner;
	pid_t victim, client;
	int failed;

	ia_name = (DAT_NAME_PTR)(name ? name : "ofi-tcp-lo");
	snprintf(limit, sizeof(limit), "%d", HANDSHAKE_MS);
	setenv("DAT_OFI_HANDSHAKE_MS", limit, 1);
	if (!make_key()) {
		fprintf(stderr, "# no file for a key\n");
		return EXIT_FAILURE;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	victim = start(victim_main);
	if (!wait_for_victim()) {
		finish("victim", victim);
		unlink(key_file);
		puts("1..0 # SKIP no IA to attack");
		return shared->no_ia ? SKIP : EXIT_FAILURE;
	}
	client = start(client_main);
	runner = srunner_create(attacks());
	failed = t_run_all(runner);
	shared->stop_client = true;
	failed += finish("client", client);
	shared->stop_victim = true;
	failed += finish("victim", victim);
	unlink(key_file);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
