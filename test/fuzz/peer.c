/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "peer.h"

#include "auth/crypto.h"
#include "auth/session.h"
#include "cm/service_point.h"
#include "cm/wire.h"
#include "object/ia.h"
#include "object/transport.h"

#include <netinet/in.h>
#include <string.h>

#define KNOWN   4
#define TX_SIZE 8192u

/* A connection of the library that the peer has learned of; the newest is first. */
struct known {
	uint32_t id;
	uint64_t conn_qual;
	uint8_t token[DOFI_TOKEN_SIZE];
};

/* The frame that the peer expects next. */
enum hears { HEARS_HELLO, HEARS_PROOF, HEARS_DETAILS, HEARS_MESSAGES };

/* The frame of the handshake in which one byte is changed. */
enum stage { STAGE_NONE, STAGE_PROOF, STAGE_DETAILS, STAGE_SEALED_DETAILS, STAGES };

struct peer {
	enum dofi_role role;
	enum hears hears;
	bool said_hello;
	bool damaged; /* its handshake differs from that of the library */
	uint8_t how;  /* its HELLO; peer_hello */
	enum stage mutated;
	uint16_t mutated_at;
	uint8_t mutated_to;
	struct dofi_handshake shake;
	struct dofi_session session;
	struct known known[KNOWN];
	uint64_t number; /* of the last INVALIDATE or COUNT */
	uint32_t fill;
	uint8_t tx[TX_SIZE]; /* a frame that has not arrived completely */
};

static struct peer peers[KERNEL_SOCKETS];
static struct dofi_ia *ia;

static bool has_key(void)
{
	return ia->key.source != DOFI_KEY_NONE;
}

/* --- the handshake --- */

static void remember_hello(struct peer *peer, enum dofi_role role, const uint8_t *body, size_t size)
{
	struct dofi_handshake *shake = &peer->shake;

	if (size > DOFI_HELLO_SIZE)
		size = DOFI_HELLO_SIZE;
	memcpy(role == DOFI_ROLE_DIALS ? shake->dials : shake->accepts, body, size);
	*(role == DOFI_ROLE_DIALS ? &shake->dials_size : &shake->accepts_size) = (uint32_t)size;
}

static void mutate_at(struct peer *peer, enum stage stage, uint8_t *frame, size_t size)
{
	if (peer->mutated != stage)
		return;
	frame[peer->mutated_at % size] = peer->mutated_to;
	peer->damaged = true;
}

/* Both sides have sent HELLO. */
static void start_session(struct peer *peer)
{
	FUZZ_CHECK(dofi_session_start(&peer->session, &ia->key, peer->role, &peer->shake));
}

static void say_proof(int s)
{
	struct peer *peer = &peers[s];
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size;

	start_session(peer);
	size = dofi_wire_put_proof(frame, dofi_session_proof(&peer->session, peer->role));
	mutate_at(peer, STAGE_PROOF, frame, size);
	kernel_put(s, frame, size);
}

enum {
	OTHER_PROVIDER = 4,
	OTHER_TRANSPORT = 8,
	LONG_NAME = 16,
	IPV6 = 32,
	MUTATE_LATER = 64,
	MUTATE = 128,
};

static struct dofi_details details_of(const struct peer *peer)
{
	const struct sockaddr_in addr = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(0x7f000002)};
	struct dofi_details details = {
		.uuid = {(uint8_t)(peer->how & 3)},
		.provider = PEER_PROVIDER,
		.transport = (uint8_t)ia->trans->id,
		.fabric_name_size = peer->how & LONG_NAME ? DOFI_FABRIC_NAME_MAX : 8,
		.ctxtab_entries = 65536,
	};

	if (peer->how & OTHER_PROVIDER)
		strcpy(details.provider, "other");
	details.transport = (uint8_t)(details.transport + !!(peer->how & OTHER_TRANSPORT));
	memcpy(&details.addr, &addr, sizeof(addr));
	if (peer->how & IPV6)
		details.addr.ss_family = AF_INET6;
	return details;
}

static void say_details(int s)
{
	struct peer *peer = &peers[s];
	const struct dofi_details details = details_of(peer);
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = dofi_wire_put_details(frame, &details);

	mutate_at(peer, STAGE_DETAILS, frame, size);
	size = dofi_wire_seal(frame, size, &peer->session);
	mutate_at(peer, STAGE_SEALED_DETAILS, frame, size);
	kernel_put(s, frame, size);
}

/* The side that dials sends DETAILS first. */
static void begin_details(int s)
{
	peers[s].hears = HEARS_DETAILS;
	if (peers[s].role == DOFI_ROLE_DIALS)
		say_details(s);
}

static void hear_hello(int s, const uint8_t *body, size_t size)
{
	struct peer *peer = &peers[s];
	struct dofi_hello hello;

	FUZZ_CHECK(dofi_wire_get_hello(body, size, &hello));
	FUZZ_CHECK(hello.role == (uint8_t)dofi_role_of_peer(peer->role));
	remember_hello(peer, dofi_role_of_peer(peer->role), body, size);
	peer->hears = HEARS_PROOF;
	if (!has_key())
		begin_details(s);
}

static void hear_proof(int s, const uint8_t *body, size_t size)
{
	struct peer *peer = &peers[s];
	enum dofi_role theirs = dofi_role_of_peer(peer->role);
	uint8_t proof[DOFI_PROOF_SIZE];

	FUZZ_CHECK(dofi_wire_get_proof(body, size, proof));
	start_session(peer);
	FUZZ_CHECK(!memcmp(proof, dofi_session_proof(&peer->session, theirs), sizeof(proof)));
	if (peer->role == DOFI_ROLE_DIALS)
		say_proof(s);
	begin_details(s);
}

static void hear_details(int s, const uint8_t *body, size_t size)
{
	struct dofi_details details;

	FUZZ_CHECK(dofi_wire_get_details(body, size, &details));
	FUZZ_CHECK(!strcmp(details.provider, PEER_PROVIDER));
	if (peers[s].role == DOFI_ROLE_ACCEPTS)
		say_details(s);
	peers[s].hears = HEARS_MESSAGES;
}

/* --- frames of the library --- */

static void remember(struct peer *peer, const struct dofi_msg *msg)
{
	struct known *known = peer->known;

	if (!msg->src)
		return;
	if (known[0].id != msg->src)
		memmove(&known[1], &known[0], (KNOWN - 1) * sizeof(*known));
	known[0].id = msg->src;
	if (msg->type == DOFI_MSG_REQUEST)
		known[0].conn_qual = msg->conn_qual;
	if (msg->type == DOFI_MSG_ACCEPT)
		memcpy(known[0].token, msg->token, sizeof(msg->token));
}

static void hear_message(struct peer *peer, const uint8_t *body, size_t size)
{
	struct dofi_msg msg;

	FUZZ_CHECK(dofi_wire_get_msg(body, size, &msg));
	switch (msg.type) {
	case DOFI_MSG_INVALIDATE:
	case DOFI_MSG_COUNT:
		peer->number = msg.number;
		break;
	case DOFI_MSG_GOODBYE:
	case DOFI_MSG_DONE:
	case DOFI_MSG_SUBSCRIBE:
	case DOFI_MSG_SUBSCRIBED:
		break;
	default:
		remember(peer, &msg);
	}
}

/* Frames after the proofs have a seal. */
static void hear(int s, const uint8_t *frame, size_t size)
{
	struct peer *peer = &peers[s];
	const uint8_t *body = frame + DOFI_WIRE_LENGTH;
	size_t body_size = size - DOFI_WIRE_LENGTH;

	if (peer->hears >= HEARS_DETAILS)
		FUZZ_CHECK(dofi_wire_open(frame, size, &peer->session, &body_size));
	switch (peer->hears) {
	case HEARS_HELLO:
		hear_hello(s, body, body_size);
		break;
	case HEARS_PROOF:
		hear_proof(s, body, body_size);
		break;
	case HEARS_DETAILS:
		hear_details(s, body, body_size);
		break;
	case HEARS_MESSAGES:
		hear_message(peer, body, body_size);
		break;
	}
}

static void on_connected(int s, bool accepted)
{
	memset(&peers[s], 0, offsetof(struct peer, tx));
	peers[s].role = accepted ? DOFI_ROLE_DIALS : DOFI_ROLE_ACCEPTS;
	peers[s].shake.port = kernel_port(s);
}

static void on_sent(int s, const uint8_t *bytes, size_t size)
{
	struct peer *peer = &peers[s];
	uint32_t at = 0;
	size_t frame;

	FUZZ_CHECK(size <= TX_SIZE - peer->fill);
	memcpy(peer->tx + peer->fill, bytes, size);
	peer->fill += (uint32_t)size;
	for (;;) {
		FUZZ_CHECK(dofi_wire_frame(peer->tx + at, peer->fill - at, &frame));
		if (!frame)
			break;
		if (!peer->damaged)
			hear(s, peer->tx + at, frame);
		at += (uint32_t)frame;
	}
	peer->fill -= at;
	memmove(peer->tx, peer->tx + at, peer->fill);
}

static void on_closed(int s)
{
	(void)s;
}

const struct kernel_peers peer_events = {.connected = on_connected,
					 .sent = on_sent,
					 .closed = on_closed};

void peer_begin(struct dofi_ia *of)
{
	ia = of;
}

/* --- frames of the peers --- */

/* Changes up to three bytes. */
static void mutate(uint8_t *frame, size_t size, struct fuzz_input *in)
{
	uint32_t n = fuzz_u8(in) % 3 + 1;

	while (n--) {
		uint32_t at = (uint32_t)fuzz_value(in, 2);

		frame[at % size] = fuzz_u8(in);
	}
}

/* A byte, or after 0xff a value of `size` bytes. */
static uint64_t number(struct fuzz_input *in, size_t size)
{
	uint8_t n = fuzz_u8(in);

	return n == 0xff ? fuzz_value(in, size) : n;
}

/* The length of the frame may also be wrong. The proofs then do not match. */
static size_t make_hello(struct peer *peer, uint8_t *frame, int s, struct fuzz_input *in)
{
	struct dofi_hello hello = {.role = (uint8_t)peer->role, .nonce = {(uint8_t)s}};
	size_t size;

	memcpy(hello.key_id, ia->key.id, sizeof(hello.key_id));
	size = dofi_wire_put_hello(frame, &hello);
	if (peer->how & MUTATE) {
		uint8_t length[DOFI_WIRE_LENGTH];

		memcpy(length, frame, sizeof(length));
		mutate(frame, size, in);
		peer->damaged |= memcmp(frame, length, sizeof(length));
	}
	if (peer->how & MUTATE_LATER) {
		peer->mutated = fuzz_u8(in) % STAGES;
		peer->mutated_at = (uint16_t)fuzz_value(in, 2);
		peer->mutated_to = fuzz_u8(in);
	}
	return size;
}

void peer_hello(int s, struct fuzz_input *in)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	struct peer *peer = &peers[s];
	bool again = peer->said_hello;
	size_t size;

	peer->how = fuzz_u8(in);
	size = make_hello(peer, frame, s, in);
	kernel_put(s, frame, size);
	if (again || !kernel_is_open(s))
		return;
	peer->said_hello = true;
	remember_hello(peer, peer->role, frame + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH);
	if (peer->role == DOFI_ROLE_ACCEPTS && has_key())
		say_proof(s);
}

/* The qualifier of the service point with this number, if there is one. */
static uint64_t choose_qual(struct fuzz_input *in)
{
	uint8_t nth = fuzz_u8(in);

	if (nth == 0xff)
		return fuzz_value(in, 8);
	DOFI_LIST_FOR(node, &ia->cm.listeners)
	{
		if (!nth--)
			return DOFI_CONTAINER(node, struct dofi_sp, link)->conn_qual;
	}
	return 1;
}

enum { TO_NOBODY = KNOWN, TO_ANYBODY, PRIVATE = 0x40 };

/* The fields about an EP in a REQUEST or an ACCEPT. */
static void fill_ep(struct dofi_msg *msg, const struct known *known, struct fuzz_input *in)
{
	msg->read_in = msg->read_out = 4;
	msg->pz = 1;
	msg->srq = (msg->flags & DOFI_MSG_F_DATA) != 0;
	msg->port_qual = msg->src;
	msg->conn_qual = msg->type == DOFI_MSG_REQUEST ? choose_qual(in)
			 : known                       ? known->conn_qual
						       : 1;
}

enum { TWICE = 0x20, MUTATE_SEALED = 0x40 };

/* The frame is changed before it is sealed, or afterwards, or it is sent twice. */
static void put_sealed(int s, uint8_t *frame, size_t size, uint8_t how, struct fuzz_input *in)
{
	if (how & MUTATE)
		mutate(frame, size, in);
	size = dofi_wire_seal(frame, size, &peers[s].session);
	FUZZ_CHECK(size);
	if (how & MUTATE_SEALED)
		mutate(frame, size, in);
	kernel_put(s, frame, size);
	if (how & TWICE)
		kernel_put(s, frame, size);
}

void peer_message(int s, struct fuzz_input *in)
{
	static const uint8_t private_data[DOFI_WIRE_MAX_PRIVATE] = "private data";
	const struct peer *peer = &peers[s];
	uint8_t type = fuzz_u8(in), how = fuzz_u8(in), frame[DOFI_WIRE_MAX_FRAME];
	uint32_t to = how & 7;
	const struct known *known = to < KNOWN ? &peer->known[to] : NULL;
	struct dofi_msg msg = {
		.type = type & 15,
		.reason = how >> 3 & 7,
		.dst = known ? known->id : 0,
		.number = peer->number,
		.private_data = private_data,
	};

	msg.src = (uint32_t)number(in, 4);
	msg.flags = fuzz_u8(in);
	if (to == TO_ANYBODY)
		msg.dst = fuzz_u32(in);
	msg.data = (uint32_t)number(in, 4);
	msg.context = (uint32_t)number(in, 4);
	if (to > TO_ANYBODY)
		msg.number = fuzz_value(in, 8);
	if (known)
		memcpy(msg.token, known->token, sizeof(msg.token));
	if (msg.type == DOFI_MSG_REQUEST || msg.type == DOFI_MSG_ACCEPT)
		fill_ep(&msg, known, in);
	if (how & PRIVATE)
		msg.private_size = (uint32_t)fuzz_u8(in) + 1;
	put_sealed(s, frame, dofi_wire_put_msg(frame, &msg), type, in);
}

void peer_frame(int s, struct fuzz_input *in)
{
	const uint8_t *body;
	uint8_t frame[DOFI_WIRE_MAX_FRAME] = {0};
	size_t size = fuzz_bytes(in, fuzz_u8(in), &body);

	frame[DOFI_WIRE_LENGTH - 1] = (uint8_t)size;
	if (size)
		memcpy(frame + DOFI_WIRE_LENGTH, body, size);
	put_sealed(s, frame, DOFI_WIRE_LENGTH + size, 0, in);
}

void peer_bytes(int s, struct fuzz_input *in)
{
	const uint8_t *bytes;
	size_t size = fuzz_bytes(in, fuzz_u8(in), &bytes);

	kernel_put(s, bytes, size);
}
