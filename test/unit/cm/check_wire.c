/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Frames of control channels: they are parsed as they were built, and invalid ones are refused. */
#include "../../../prov/ofi/base/addr.h"
#include "../../../prov/ofi/cm/wire.h"
#include "../../lib/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#define FUZZ_ROUNDS 200000

static uint64_t random_state;

/* xorshift64: the same sequence in every run. */
static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void setup(void)
{
	random_state = 0x6461742d6f666921u;
}

static void set_addr(struct sockaddr_storage *addr, const char *text)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	struct sockaddr_in in = {.sin_family = AF_INET};
	const struct sockaddr *any = (const struct sockaddr *)&in;

	if (inet_pton(AF_INET, text, &in.sin_addr) != 1) {
		ck_assert_int_eq(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
		any = (const struct sockaddr *)&in6;
	}
	ck_assert(dofi_addr_set(addr, any, 0));
}

static struct dofi_details sample_details(const char *addr)
{
	struct dofi_details hello = {
		.uuid = "0123456789abcde",
		.provider = "tcp;ofi_rxm",
		.transport = 2,
		.fabric_name_size = 28,
		.ctxtab_key = 0x1122334455667788u,
		.sink_key = 0x9192939495969798u,
		.sink_address = 0xa1a2a3a4a5a6a7a8u,
		.ctxtab_address = 0x99aabbccddeeff00u,
		.ctxtab_entries = 65536,
	};

	set_addr(&hello.addr, addr);
	memset(hello.fabric_name, 0xa5, hello.fabric_name_size);
	return hello;
}

static const uint8_t private_data[DOFI_WIRE_MAX_PRIVATE] = {0, 1, 2, 0xff, [255] = 7};

static struct dofi_msg sample_msg(uint32_t private_size)
{
	return (struct dofi_msg){
		.type = DOFI_MSG_REQUEST,
		.reason = DOFI_REASON_ERROR,
		.flags = 0x8001,
		.dst = 0x80000001,
		.src = 0x7fffffff,
		.conn_qual = 0xfedcba9876543210u,
		.port_qual = 0x0123456789abcdefu,
		.number = 0xaaaaaaaa55555555u,
		.token = {0x12, 0x34, [DOFI_TOKEN_SIZE - 1] = 0x56},
		.read_in = 128,
		.read_out = 4,
		.pz = 65535,
		.data = 9,
		.srq = 32767,
		.context = 0xdeadbeef,
		.private_size = private_size,
		.private_data = private_size ? private_data : NULL,
	};
}

static void assert_same_msg(const struct dofi_msg *a, const struct dofi_msg *b)
{
	ck_assert_uint_eq(a->type, b->type);
	ck_assert_uint_eq(a->reason, b->reason);
	ck_assert_uint_eq(a->flags, b->flags);
	ck_assert_uint_eq(a->dst, b->dst);
	ck_assert_uint_eq(a->src, b->src);
	ck_assert_uint_eq(a->conn_qual, b->conn_qual);
	ck_assert_uint_eq(a->port_qual, b->port_qual);
	ck_assert_uint_eq(a->number, b->number);
	ck_assert_mem_eq(a->token, b->token, sizeof(a->token));
	ck_assert_uint_eq(a->read_in, b->read_in);
	ck_assert_uint_eq(a->read_out, b->read_out);
	ck_assert_uint_eq(a->pz, b->pz);
	ck_assert_uint_eq(a->data, b->data);
	ck_assert_uint_eq(a->srq, b->srq);
	ck_assert_uint_eq(a->context, b->context);
	ck_assert_uint_eq(a->private_size, b->private_size);
	if (a->private_size)
		ck_assert_mem_eq(a->private_data, b->private_data, a->private_size);
}

START_TEST(test_details_is_parsed_as_it_was_built)
{
	static const char *const addrs[] = {"127.0.0.1", "fd00::12"};
	struct dofi_details in = sample_details(addrs[_i]), out;
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = dofi_wire_put_details(frame, &in);

	ck_assert(dofi_wire_get_details(frame + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH, &out));
	ck_assert_mem_eq(in.uuid, out.uuid, sizeof(in.uuid));
	ck_assert_str_eq(in.provider, out.provider);
	ck_assert_uint_eq(in.transport, out.transport);
	ck_assert(dofi_addr_equal(&in.addr, &out.addr));
	ck_assert_uint_eq(in.fabric_name_size, out.fabric_name_size);
	ck_assert_mem_eq(in.fabric_name, out.fabric_name, in.fabric_name_size);
	ck_assert_uint_eq(in.ctxtab_key, out.ctxtab_key);
	ck_assert_uint_eq(in.sink_key, out.sink_key);
	ck_assert_uint_eq(in.sink_address, out.sink_address);
	ck_assert_uint_eq(in.ctxtab_address, out.ctxtab_address);
	ck_assert_uint_eq(in.ctxtab_entries, out.ctxtab_entries);
}
END_TEST

START_TEST(test_message_is_parsed_as_it_was_built)
{
	static const uint32_t sizes[] = {0, 1, 64, DOFI_WIRE_MAX_PRIVATE};
	struct dofi_msg in = sample_msg(sizes[_i]), out;
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = dofi_wire_put_msg(frame, &in), seen;

	ck_assert(dofi_wire_frame(frame, size, &seen));
	ck_assert_uint_eq(seen, size);
	ck_assert(dofi_wire_get_msg(frame + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH, &out));
	assert_same_msg(&in, &out);
}
END_TEST

/* The layout is a contract with other releases: it does not depend on this machine's byte order. */
START_TEST(test_layout_is_fixed)
{
	static const uint8_t start[] = {0, 0, 0, 84,   1,    5,    0x80, 1,    0x80,
					0, 0, 1, 0x7f, 0xff, 0xff, 0xff, 0xfe, 0xdc};
	struct dofi_msg msg = sample_msg(0);
	uint8_t frame[DOFI_WIRE_MAX_FRAME];

	ck_assert_uint_eq(dofi_wire_put_msg(frame, &msg), 88);
	ck_assert_mem_eq(frame, start, sizeof(start));
}
END_TEST

START_TEST(test_truncated_frames_are_refused)
{
	struct dofi_details hello = sample_details("10.1.2.3"), hello_out;
	struct dofi_msg msg = sample_msg(33), msg_out;
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = dofi_wire_put_details(frame, &hello) - DOFI_WIRE_LENGTH, seen;

	for (size_t n = 0; n < size; n++) {
		ck_assert(!dofi_wire_get_details(frame + DOFI_WIRE_LENGTH, n, &hello_out));
		ck_assert(dofi_wire_frame(frame, n + DOFI_WIRE_LENGTH, &seen));
		ck_assert_uint_eq(seen, 0);
	}
	size = dofi_wire_put_msg(frame, &msg) - DOFI_WIRE_LENGTH;
	for (size_t n = 0; n < size; n++)
		ck_assert(!dofi_wire_get_msg(frame + DOFI_WIRE_LENGTH, n, &msg_out));
}
END_TEST

START_TEST(test_trailing_bytes_are_refused)
{
	struct dofi_details hello = sample_details("10.1.2.3"), hello_out;
	struct dofi_msg msg = sample_msg(33), msg_out;
	uint8_t frame[DOFI_WIRE_MAX_FRAME] = {0};
	size_t size = dofi_wire_put_details(frame, &hello) - DOFI_WIRE_LENGTH;

	ck_assert(!dofi_wire_get_details(frame + DOFI_WIRE_LENGTH, size + 1, &hello_out));
	size = dofi_wire_put_msg(frame, &msg) - DOFI_WIRE_LENGTH;
	ck_assert(!dofi_wire_get_msg(frame + DOFI_WIRE_LENGTH, size + 1, &msg_out));
}
END_TEST

START_TEST(test_frame_lengths)
{
	const uint8_t none[] = {0, 0, 0, 0}, most[] = {0, 0, 0x0f, 0xfc},
		      above[] = {0, 0, 0x0f, 0xfd};
	const uint8_t http[] = "GET / HTTP/1.1\r\n";
	size_t size;

	ck_assert(!dofi_wire_frame(none, sizeof(none), &size));
	ck_assert(!dofi_wire_frame(above, sizeof(above), &size));
	ck_assert(!dofi_wire_frame(http, sizeof(http), &size));
	ck_assert(dofi_wire_frame(most, sizeof(most), &size));
	ck_assert_uint_eq(size, 0);
	for (size_t n = 0; n < DOFI_WIRE_LENGTH; n++) {
		ck_assert(dofi_wire_frame(above, n, &size));
		ck_assert_uint_eq(size, 0);
	}
}
END_TEST

/* A HELLO with one byte changed at an offset of its body. */
static bool taken_with(size_t offset, uint8_t value)
{
	struct dofi_details hello = sample_details("10.1.2.3"), out;
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = dofi_wire_put_details(frame, &hello) - DOFI_WIRE_LENGTH;

	frame[DOFI_WIRE_LENGTH + offset] = value;
	return dofi_wire_get_details(frame + DOFI_WIRE_LENGTH, size, &out);
}

static struct dofi_hello sample_hello(void)
{
	struct dofi_hello hello = {.role = DOFI_ROLE_ACCEPTS};

	memset(hello.nonce, 0x77, sizeof(hello.nonce));
	memset(hello.key_id, 0x5a, sizeof(hello.key_id));
	return hello;
}

START_TEST(test_hello_is_parsed_as_it_was_built)
{
	struct dofi_hello in = sample_hello(), out;
	uint8_t frame[DOFI_WIRE_MAX_FRAME], *body = frame + DOFI_WIRE_LENGTH;
	size_t size = dofi_wire_put_hello(frame, &in) - DOFI_WIRE_LENGTH;

	ck_assert_uint_le(size, DOFI_HELLO_SIZE);
	ck_assert(dofi_wire_get_hello(body, size, &out));
	ck_assert_uint_eq(in.role, out.role);
	ck_assert_mem_eq(in.nonce, out.nonce, sizeof(in.nonce));
	ck_assert_mem_eq(in.key_id, out.key_id, sizeof(in.key_id));
	for (size_t n = 0; n < size; n++)
		ck_assert(!dofi_wire_get_hello(body, n, &out));
	ck_assert(!dofi_wire_get_hello(body, size + 1, &out));
}
END_TEST

START_TEST(test_hello_of_another_kind)
{
	struct dofi_hello hello = sample_hello();
	uint8_t frame[DOFI_WIRE_MAX_FRAME], *body = frame + DOFI_WIRE_LENGTH;
	size_t size = dofi_wire_put_hello(frame, &hello) - DOFI_WIRE_LENGTH;
	uint32_t version;

	body[8] = 0;
	ck_assert(!dofi_wire_get_hello(body, size, &hello));
	body[8] = 3;
	ck_assert(!dofi_wire_get_hello(body, size, &hello));
	body[8] = DOFI_ROLE_DIALS;
	ck_assert(dofi_wire_get_hello(body, size, &hello));
	body[7]++;
	ck_assert(!dofi_wire_get_hello(body, size, &hello));
	ck_assert(dofi_wire_hello_version(body, size, &version));
	ck_assert_uint_eq(version, DOFI_WIRE_VERSION + 1);
	body[0]++;
	ck_assert(!dofi_wire_hello_version(body, size, &version));
}
END_TEST

START_TEST(test_proof_is_parsed_as_it_was_built)
{
	uint8_t in[DOFI_PROOF_SIZE], out[DOFI_PROOF_SIZE];
	uint8_t frame[DOFI_WIRE_MAX_FRAME], *body = frame + DOFI_WIRE_LENGTH;
	size_t size;

	memset(in, 0xc3, sizeof(in));
	size = dofi_wire_put_proof(frame, in) - DOFI_WIRE_LENGTH;
	ck_assert(dofi_wire_get_proof(body, size, out));
	ck_assert_mem_eq(in, out, sizeof(in));
	for (size_t n = 0; n < size; n++)
		ck_assert(!dofi_wire_get_proof(body, n, out));
	ck_assert(!dofi_wire_get_proof(body, size + 1, out));
	body[0]++;
	ck_assert(!dofi_wire_get_proof(body, size, out));
}
END_TEST

/* --- seals --- */

static struct dofi_session sealing, opening;

static void start_sessions(void)
{
	static const struct dofi_key key = {.source = DOFI_KEY_FILE, .bytes = {1, 2, 3}};
	static const struct dofi_handshake shake = {.dials_size = 33, .accepts_size = 33};

	ck_assert(dofi_session_start(&sealing, &key, DOFI_ROLE_DIALS, &shake));
	ck_assert(dofi_session_start(&opening, &key, DOFI_ROLE_ACCEPTS, &shake));
}

START_TEST(test_a_sealed_message_is_parsed_as_it_was_built)
{
	struct dofi_msg in = sample_msg(DOFI_WIRE_MAX_PRIVATE), out;
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size, body, seen;

	start_sessions();
	for (int i = 0; i < 3; i++) {
		size = dofi_wire_put_msg(frame, &in);
		ck_assert_uint_eq(dofi_wire_seal(frame, size, &sealing), size + DOFI_SEAL_SIZE);
		ck_assert(dofi_wire_frame(frame, size + DOFI_SEAL_SIZE, &seen));
		ck_assert_uint_eq(seen, size + DOFI_SEAL_SIZE);
		ck_assert(dofi_wire_open(frame, seen, &opening, &body));
		ck_assert_uint_eq(body, size - DOFI_WIRE_LENGTH);
		ck_assert(dofi_wire_get_msg(frame + DOFI_WIRE_LENGTH, body, &out));
		assert_same_msg(&in, &out);
	}
}
END_TEST

START_TEST(test_changed_sealed_frames_are_refused)
{
	struct dofi_msg msg = sample_msg(3);
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size, body;

	start_sessions();
	size = dofi_wire_seal(frame, dofi_wire_put_msg(frame, &msg), &sealing);
	for (size_t n = 1; n < size; n++)
		ck_assert(!dofi_wire_open(frame, n, &opening, &body));
	for (size_t bit = 0; bit < 8 * size; bit++) {
		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
		ck_assert(!dofi_wire_open(frame, size, &opening, &body));
		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	ck_assert(dofi_wire_open(frame, size, &opening, &body));
	ck_assert(!dofi_wire_open(frame, size, &opening, &body));
}
END_TEST

/* A frame is at least as long as its seal; the seal of nothing is one, too. */
START_TEST(test_the_shortest_sealed_frame)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME] = {0};
	size_t size, body = 7;

	start_sessions();
	size = dofi_wire_seal(frame, DOFI_WIRE_LENGTH, &sealing);
	ck_assert_uint_eq(size, DOFI_WIRE_LENGTH + DOFI_SEAL_SIZE);
	ck_assert(!dofi_wire_open(frame, size - 1, &opening, &body));
	ck_assert(dofi_wire_open(frame, size, &opening, &body));
	ck_assert_uint_eq(body, 0);
}
END_TEST

START_TEST(test_without_a_key_frames_have_no_seal)
{
	static struct dofi_session open;
	struct dofi_msg msg = sample_msg(3);
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = dofi_wire_put_msg(frame, &msg), body;

	ck_assert_uint_eq(dofi_wire_seal(frame, size, &open), size);
	ck_assert(dofi_wire_open(frame, size, &open, &body));
	ck_assert_uint_eq(body, size - DOFI_WIRE_LENGTH);
}
END_TEST

START_TEST(test_details_with_wrong_fields)
{
	enum { PROVIDER = 20, ADDRESS = 53, NAME_SIZE = 106 };

	ck_assert(taken_with(PROVIDER, 'u'));
	ck_assert(!taken_with(PROVIDER, '\n'));
	ck_assert(!taken_with(PROVIDER, 0));
	ck_assert(!taken_with(ADDRESS, 5));
	ck_assert(!taken_with(NAME_SIZE, 1));
	ck_assert(!taken_with(NAME_SIZE + 3, 27));
}
END_TEST

/* It is shown to people. */
START_TEST(test_details_provider_is_printable)
{
	enum { PROVIDER = 20 };
	static const struct {
		uint8_t byte;
		bool taken;
	} bytes[] = {{' ', false},  {'!', true},   {'~', true}, {0x7f, false},
		     {0x80, false}, {0xff, false}, {1, false}};

	ck_assert(taken_with(PROVIDER, bytes[_i].byte) == bytes[_i].taken);
	ck_assert(taken_with(PROVIDER + 3, bytes[_i].byte) == bytes[_i].taken);
}
END_TEST

/* The longest provider and the longest address of the fabric. */
START_TEST(test_details_of_the_greatest_size)
{
	struct dofi_details in = sample_details("10.1.2.3"), out;
	uint8_t frame[DOFI_WIRE_MAX_FRAME] = {0}, *body = frame + DOFI_WIRE_LENGTH, *count;
	size_t size;

	memset(in.provider, 'x', sizeof(in.provider) - 1);
	in.fabric_name_size = DOFI_FABRIC_NAME_MAX;
	memset(in.fabric_name, 0x3c, sizeof(in.fabric_name));
	size = dofi_wire_put_details(frame, &in) - DOFI_WIRE_LENGTH;
	ck_assert(dofi_wire_get_details(body, size, &out));
	ck_assert_str_eq(out.provider, in.provider);
	ck_assert_uint_eq(out.fabric_name_size, DOFI_FABRIC_NAME_MAX);
	ck_assert_mem_eq(out.fabric_name, in.fabric_name, sizeof(in.fabric_name));
	/* One byte more, and as many bytes behind it. */
	count = body + size - DOFI_FABRIC_NAME_MAX - 4;
	ck_assert_uint_eq(count[2] << 8 | count[3], DOFI_FABRIC_NAME_MAX);
	count[3]++;
	count[2] += !count[3];
	ck_assert(!dofi_wire_get_details(body, size + 1, &out));
}
END_TEST

/* A peer is a process with an address on the fabric, whatever it says of itself otherwise. */
START_TEST(test_details_of_one_peer)
{
	struct dofi_details one = sample_details("10.1.2.3"), other = sample_details("10.1.2.4");

	other.transport++;
	other.fabric_name[other.fabric_name_size] = 1; /* behind the address */
	ck_assert(dofi_details_are_of_one(&one, &other));
	other.fabric_name[other.fabric_name_size - 1]++;
	ck_assert(!dofi_details_are_of_one(&one, &other));
	other = one;
	other.fabric_name_size--;
	ck_assert(!dofi_details_are_of_one(&one, &other));
	other = one;
	other.uuid[sizeof(other.uuid) - 1]++;
	ck_assert(!dofi_details_are_of_one(&one, &other));
}
END_TEST

START_TEST(test_details_provider_without_a_zero_byte)
{
	struct dofi_details hello = sample_details("10.1.2.3"), out;
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size;

	memset(hello.provider, 'x', sizeof(hello.provider));
	size = dofi_wire_put_details(frame, &hello) - DOFI_WIRE_LENGTH;
	ck_assert(!dofi_wire_get_details(frame + DOFI_WIRE_LENGTH, size, &out));
}
END_TEST

START_TEST(test_message_with_wrong_fields)
{
	struct dofi_msg msg = sample_msg(8), out;
	uint8_t frame[DOFI_WIRE_MAX_FRAME], *body = frame + DOFI_WIRE_LENGTH;
	size_t size = dofi_wire_put_msg(frame, &msg) - DOFI_WIRE_LENGTH;

	body[0] = 0;
	ck_assert(!dofi_wire_get_msg(body, size, &out));
	body[0] = DOFI_MSG_TYPES;
	ck_assert(!dofi_wire_get_msg(body, size, &out));
	body[0] = DOFI_MSG_GOODBYE;
	body[1] = DOFI_REASON_ERROR + 1;
	ck_assert(!dofi_wire_get_msg(body, size, &out));
	body[1] = DOFI_REASON_NONE;
	ck_assert(dofi_wire_get_msg(body, size, &out));
	memset(body + 80, 0xff, 4);
	ck_assert(!dofi_wire_get_msg(body, size, &out));
}
END_TEST

/* Private data beyond the limit, in a frame that is long enough. */
START_TEST(test_message_with_too_much_private_data)
{
	struct dofi_msg msg = sample_msg(0), out;
	uint8_t frame[DOFI_WIRE_MAX_FRAME] = {0}, *body = frame + DOFI_WIRE_LENGTH;
	size_t size = dofi_wire_put_msg(frame, &msg) - DOFI_WIRE_LENGTH;

	body[82] = 1;
	ck_assert(dofi_wire_get_msg(body, size + 256, &out));
	body[83] = 1;
	ck_assert(!dofi_wire_get_msg(body, size + 257, &out));
}
END_TEST

/* A body that the parser accepts is built again to the same bytes. */
static void feed(const uint8_t *body, size_t size)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	struct dofi_details hello;
	struct dofi_msg msg;

	if (dofi_wire_get_msg(body, size, &msg)) {
		ck_assert_uint_eq(dofi_wire_put_msg(frame, &msg), size + DOFI_WIRE_LENGTH);
		ck_assert_mem_eq(frame + DOFI_WIRE_LENGTH, body, size);
	}
	if (dofi_wire_get_details(body, size, &hello))
		ck_assert_uint_eq(dofi_wire_put_details(frame, &hello), size + DOFI_WIRE_LENGTH);
}

START_TEST(test_random_bytes)
{
	size_t frame_size;

	for (int round = 0; round < FUZZ_ROUNDS; round++) {
		size_t size = next_random() % 400;
		uint8_t *body = malloc(
			size ? size
			     : 1); /* of exactly that size, so sanitizers notice reads beyond it */

		for (size_t i = 0; i < size; i++)
			body[i] = (uint8_t)next_random();
		feed(body, size);
		dofi_wire_frame(body, size, &frame_size);
		free(body);
	}
}
END_TEST

START_TEST(test_damaged_frames)
{
	struct dofi_details hello = sample_details("10.1.2.3");
	uint8_t frame[DOFI_WIRE_MAX_FRAME];

	for (int round = 0; round < FUZZ_ROUNDS; round++) {
		struct dofi_msg msg = sample_msg((uint32_t)(next_random() % 257));
		size_t size = round & 1 ? dofi_wire_put_msg(frame, &msg)
					: dofi_wire_put_details(frame, &hello);
		size_t body_size = size - DOFI_WIRE_LENGTH;
		uint8_t *body = malloc(body_size);

		memcpy(body, frame + DOFI_WIRE_LENGTH, body_size);
		for (uint64_t n = next_random() % 4; n; n--)
			body[next_random() % body_size] = (uint8_t)next_random();
		feed(body, body_size - next_random() % 2);
		free(body);
	}
}
END_TEST

START_TEST(test_qualifiers_of_16_bits_are_ports)
{
	uint16_t port;

	ck_assert(dofi_port_candidate(1024, 0, &port) && port == 1024);
	ck_assert(!dofi_port_candidate(1024, 1, &port));
	ck_assert(dofi_port_candidate(65535, 0, &port) && port == 65535);
	ck_assert(!dofi_port_candidate(65535, 1, &port));
	ck_assert(!dofi_port_candidate(0, 0, &port));
	ck_assert(!dofi_port_candidate(0, 1, &port));
	ck_assert(dofi_port_candidate(65536, 1, &port));
	ck_assert(!dofi_port_candidate(65536, DOFI_PORT_TRIES, &port));
}
END_TEST

/* Long qualifiers, and those that would take a privilege as ports. */
START_TEST(test_other_qualifiers_have_distinct_ports)
{
	uint16_t port[DOFI_PORT_TRIES], more;

	for (uint64_t round = 1; round < 2024; round++) {
		uint64_t qual = round < 1024 ? round : next_random() | 65536;

		for (uint32_t n = 0; n < DOFI_PORT_TRIES; n++) {
			ck_assert(dofi_port_candidate(qual, n, &port[n]));
			ck_assert_uint_ge(port[n], DOFI_PORT_BASE);
			ck_assert_uint_lt(port[n], DOFI_PORT_BASE + DOFI_PORT_RANGE);
			for (uint32_t k = 0; k < n; k++)
				ck_assert_uint_ne(port[k], port[n]);
		}
		ck_assert(!dofi_port_candidate(qual, DOFI_PORT_TRIES, &more));
	}
}
END_TEST

/* All releases must use the same sequence of ports. */
START_TEST(test_port_sequence_is_fixed)
{
	static const uint16_t ports[] = {21393, 25366, 29339};
	uint16_t port;

	for (uint32_t n = 0; n < 3; n++) {
		ck_assert(dofi_port_candidate(0x800000123u, n, &port));
		ck_assert_uint_eq(port, ports[n]);
	}
}
END_TEST

START_TEST(test_addresses_as_text)
{
	struct sockaddr_storage v4, v6;
	char text[DOFI_ADDR_TEXT];

	set_addr(&v4, "10.1.2.3");
	set_addr(&v6, "fd00::1");
	ck_assert_str_eq(dofi_addr_text(&v4, text), "10.1.2.3");
	ck_assert(dofi_addr_set(&v4, (struct sockaddr *)&v4, 1040));
	ck_assert(dofi_addr_set(&v6, (struct sockaddr *)&v6, 1040));
	ck_assert_str_eq(dofi_addr_text(&v4, text), "10.1.2.3:1040");
	ck_assert_str_eq(dofi_addr_text(&v6, text), "[fd00::1]:1040");
	ck_assert_uint_eq(dofi_addr_port(&v6), 1040);
	ck_assert(!dofi_addr_equal(&v4, &v6));
}
END_TEST

/* PRG-02: the buffer is exactly as long as an address of its family. */
START_TEST(test_no_address_is_read_beyond_its_family)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(7)};
	struct sockaddr_in *exact = malloc(sizeof(*exact));
	struct sockaddr_storage out;

	memcpy(exact, &in, sizeof(in));
	ck_assert(dofi_addr_set(&out, (struct sockaddr *)exact, 9));
	ck_assert_uint_eq(dofi_addr_port(&out), 9);
	exact->sin_family = AF_UNIX;
	ck_assert(!dofi_addr_set(&out, (struct sockaddr *)exact, 9));
	free(exact);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wire");
	TCase *tc = tcase_create("frames");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, test_details_is_parsed_as_it_was_built, 0, 2);
	tcase_add_loop_test(tc, test_message_is_parsed_as_it_was_built, 0, 4);
	tcase_add_test(tc, test_layout_is_fixed);
	tcase_add_test(tc, test_truncated_frames_are_refused);
	tcase_add_test(tc, test_trailing_bytes_are_refused);
	tcase_add_test(tc, test_frame_lengths);
	tcase_add_test(tc, test_hello_of_another_kind);
	tcase_add_test(tc, test_hello_is_parsed_as_it_was_built);
	tcase_add_test(tc, test_proof_is_parsed_as_it_was_built);
	tcase_add_test(tc, test_a_sealed_message_is_parsed_as_it_was_built);
	tcase_add_test(tc, test_changed_sealed_frames_are_refused);
	tcase_add_test(tc, test_without_a_key_frames_have_no_seal);
	tcase_add_test(tc, test_details_with_wrong_fields);
	tcase_add_loop_test(tc, test_details_provider_is_printable, 0, 7);
	tcase_add_test(tc, test_details_of_the_greatest_size);
	tcase_add_test(tc, test_details_of_one_peer);
	tcase_add_test(tc, test_the_shortest_sealed_frame);
	tcase_add_test(tc, test_details_provider_without_a_zero_byte);
	tcase_add_test(tc, test_message_with_wrong_fields);
	tcase_add_test(tc, test_message_with_too_much_private_data);
	tcase_add_test(tc, test_random_bytes);
	tcase_add_test(tc, test_damaged_frames);
	tcase_add_test(tc, test_qualifiers_of_16_bits_are_ports);
	tcase_add_test(tc, test_other_qualifiers_have_distinct_ports);
	tcase_add_test(tc, test_port_sequence_is_fixed);
	tcase_add_test(tc, test_addresses_as_text);
	tcase_add_test(tc, test_no_address_is_read_beyond_its_family);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
