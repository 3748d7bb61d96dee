/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Frames of the control channel. The input is a frame of a peer. If it can be parsed, building it
 * again must give the same bytes. The input is also used as the fields of a message and as a
 * connection qualifier.
 */
#include "fuzz.h"

#include "auth/crypto.h"
#include "auth/session.h"
#include "cm/wire.h"

#include <netinet/in.h>
#include <string.h>

#define ADDR_AT   (DOFI_WIRE_LENGTH + 4 + 16 + 32 + 1)
#define ADDR_SIZE 17

static uint8_t frame[DOFI_WIRE_MAX_FRAME];

static void try_msg(const uint8_t *whole, size_t size)
{
	struct dofi_msg msg;

	if (!dofi_wire_get_msg(whole + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH, &msg))
		return;
	FUZZ_CHECK(dofi_wire_put_msg(frame, &msg) == size);
	FUZZ_CHECK(!memcmp(frame, whole, size));
}

static void try_hello(const uint8_t *whole, size_t size)
{
	struct dofi_hello hello;
	uint32_t version;

	if (!dofi_wire_get_hello(whole + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH, &hello))
		return;
	FUZZ_CHECK(dofi_wire_hello_version(whole + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH,
					   &version));
	FUZZ_CHECK(version == DOFI_WIRE_VERSION);
	FUZZ_CHECK(size - DOFI_WIRE_LENGTH <= DOFI_HELLO_SIZE);
	FUZZ_CHECK(dofi_wire_put_hello(frame, &hello) == size);
	FUZZ_CHECK(!memcmp(frame, whole, size));
}

static void try_proof(const uint8_t *whole, size_t size)
{
	uint8_t proof[DOFI_PROOF_SIZE];

	if (!dofi_wire_get_proof(whole + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH, proof))
		return;
	FUZZ_CHECK(dofi_wire_put_proof(frame, proof) == size);
	FUZZ_CHECK(!memcmp(frame, whole, size));
}

/* The field for an IPv4 address has room for an IPv6 address. */
static void try_details(const uint8_t *whole, size_t size)
{
	struct dofi_details details;
	size_t behind = ADDR_AT + ADDR_SIZE;

	if (!dofi_wire_get_details(whole + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH, &details))
		return;
	FUZZ_CHECK(strlen(details.provider) < sizeof(details.provider));
	FUZZ_CHECK(dofi_wire_put_details(frame, &details) == size);
	FUZZ_CHECK(!memcmp(frame, whole, ADDR_AT + 5));
	FUZZ_CHECK(!memcmp(frame + behind, whole + behind, size - behind));
	if (details.addr.ss_family == AF_INET6)
		FUZZ_CHECK(!memcmp(frame, whole, size));
}

/* The holder of the key opens the frame once. With a changed byte it does not open. */
static void try_seal(const uint8_t *whole, size_t size)
{
	static const struct dofi_handshake shake;
	static const struct dofi_key key;
	struct dofi_session ours, theirs;
	uint32_t at = whole[size - 1] % (uint32_t)size;
	size_t body;

	if (size + DOFI_SEAL_SIZE > sizeof(frame))
		return;
	FUZZ_CHECK(dofi_session_start(&ours, &key, DOFI_ROLE_DIALS, &shake));
	FUZZ_CHECK(dofi_session_start(&theirs, &key, DOFI_ROLE_ACCEPTS, &shake));
	memcpy(frame, whole, size);
	size = dofi_wire_seal(frame, size, &ours);
	FUZZ_CHECK(size);
	frame[at] ^= 1;
	FUZZ_CHECK(!dofi_wire_open(frame, size, &theirs, &body));
	frame[at] ^= 1;
	FUZZ_CHECK(dofi_wire_open(frame, size, &theirs, &body));
	FUZZ_CHECK(body == size - DOFI_SEAL_SIZE - DOFI_WIRE_LENGTH);
	FUZZ_CHECK(!dofi_wire_open(frame, size, &theirs, &body));
}

/* Without the key no frame opens. */
static void try_open(const uint8_t *whole, size_t size)
{
	struct dofi_session session = {.sealed = true};
	size_t body;

	FUZZ_CHECK(!dofi_wire_open(whole, size, &session, &body));
}

static void try_stream(const uint8_t *data, size_t size)
{
	size_t frame_size;

	while (dofi_wire_frame(data, size, &frame_size) && frame_size) {
		FUZZ_CHECK(frame_size > DOFI_WIRE_LENGTH && frame_size <= size);
		FUZZ_CHECK(frame_size <= DOFI_WIRE_MAX_FRAME);
		try_hello(data, frame_size);
		try_proof(data, frame_size);
		try_details(data, frame_size);
		try_msg(data, frame_size);
		try_seal(data, frame_size);
		try_open(data, frame_size);
		data += frame_size;
		size -= frame_size;
	}
}

static void try_fields(struct fuzz_input *in)
{
	struct dofi_msg msg = {0};
	const uint8_t *private_data;
	size_t size;

	msg.type = (uint8_t)(DOFI_MSG_REQUEST + fuzz_u8(in) % (DOFI_MSG_TYPES - 1));
	msg.reason = fuzz_u8(in) % (DOFI_REASON_ERROR + 1);
	msg.flags = (uint16_t)fuzz_value(in, 2);
	msg.dst = fuzz_u32(in);
	msg.src = fuzz_u32(in);
	msg.conn_qual = fuzz_value(in, 8);
	msg.port_qual = fuzz_value(in, 8);
	msg.number = fuzz_value(in, 8);
	for (size_t i = 0; i < sizeof(msg.token); i++)
		msg.token[i] = fuzz_u8(in);
	msg.read_in = fuzz_u32(in);
	msg.read_out = fuzz_u32(in);
	msg.context = fuzz_u32(in);
	msg.private_size = (uint32_t)fuzz_bytes(in, fuzz_u8(in), &private_data);
	msg.private_data = private_data;
	size = dofi_wire_put_msg(frame, &msg);
	FUZZ_CHECK(size <= sizeof(frame));
	try_stream(frame, size);
}

static void try_ports(uint64_t conn_qual)
{
	uint16_t ports[DOFI_PORT_TRIES];
	uint32_t n = 0;

	while (dofi_port_candidate(conn_qual, n, &ports[n])) {
		for (uint32_t i = 0; i < n; i++)
			FUZZ_CHECK(ports[i] != ports[n]);
		FUZZ_CHECK(ports[n]);
		if (++n == DOFI_PORT_TRIES)
			break;
	}
	FUZZ_CHECK(n == (conn_qual > UINT16_MAX ? DOFI_PORT_TRIES : !!conn_qual));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = fuzz_input(data, size);

	FUZZ_CHECK(!dofi_crypto_start());
	try_stream(data, size);
	try_fields(&in);
	in = fuzz_input(data, size);
	try_ports(fuzz_value(&in, 8));
	return 0;
}
