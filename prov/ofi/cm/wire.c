/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/wire.h"

#include "base/addr.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#define PROOF_MAGIC   0x70726f66u
#define DETAILS_MAGIC 0x64657461u

/* Reads and writes move a cursor; a read beyond the end yields zeros and leaves `ok` false. */
struct out {
	uint8_t *at;
};

struct in {
	const uint8_t *at, *end;
	bool ok;
};

static void put_bytes(struct out *o, const void *bytes, size_t n)
{
	memcpy(o->at, bytes, n);
	o->at += n;
}

/* Appends the n low bytes of value, highest first. */
static void put(struct out *o, uint64_t value, size_t n)
{
	while (n--)
		*o->at++ = (uint8_t)(value >> (8 * n));
}

static const uint8_t *get_bytes(struct in *i, size_t n)
{
	const uint8_t *at = i->at;

	if ((size_t)(i->end - at) < n) {
		i->ok = false;
		i->at = i->end;
		return NULL;
	}
	i->at += n;
	return at;
}

static void get_copy(struct in *i, void *to, size_t n)
{
	const uint8_t *from = get_bytes(i, n);

	if (from)
		memcpy(to, from, n);
}

static uint64_t get(struct in *i, size_t n)
{
	const uint8_t *from = get_bytes(i, n);
	uint64_t value = 0;

	for (size_t k = 0; from && k < n; k++)
		value = value << 8 | from[k];
	return value;
}

static struct out begin_frame(uint8_t *buf)
{
	return (struct out){buf + DOFI_WIRE_LENGTH};
}

static size_t end_frame(uint8_t *buf, const struct out *o)
{
	struct out length = {buf};
	size_t size = (size_t)(o->at - buf);

	assert(size <= DOFI_WIRE_MAX_FRAME);
	put(&length, size - DOFI_WIRE_LENGTH, DOFI_WIRE_LENGTH);
	return size;
}

bool dofi_wire_frame(const uint8_t *stream, size_t fill, size_t *size_p)
{
	struct in i = {stream, stream + fill, true};
	uint64_t length = get(&i, DOFI_WIRE_LENGTH);

	if (!i.ok) {
		*size_p = 0;
		return true;
	}
	if (!length || length > DOFI_WIRE_MAX_FRAME - DOFI_WIRE_LENGTH)
		return false;
	*size_p = fill < length + DOFI_WIRE_LENGTH ? 0 : (size_t)length + DOFI_WIRE_LENGTH;
	return true;
}

/* --- HELLO and PROOF --- */

size_t dofi_wire_put_hello(uint8_t *buf, const struct dofi_hello *hello)
{
	struct out o = begin_frame(buf);

	put(&o, DOFI_WIRE_MAGIC, 4);
	put(&o, DOFI_WIRE_VERSION, 4);
	put(&o, hello->role, 1);
	put_bytes(&o, hello->nonce, sizeof(hello->nonce));
	put_bytes(&o, hello->key_id, sizeof(hello->key_id));
	return end_frame(buf, &o);
}

bool dofi_wire_hello_version(const uint8_t *body, size_t size, uint32_t *version_p)
{
	struct in i = {body, body + size, true};

	if (get(&i, 4) != DOFI_WIRE_MAGIC)
		return false;
	*version_p = (uint32_t)get(&i, 4);
	return i.ok;
}

bool dofi_wire_get_hello(const uint8_t *body, size_t size, struct dofi_hello *hello_p)
{
	struct in i = {body, body + size, true};
	struct dofi_hello h;

	if (get(&i, 4) != DOFI_WIRE_MAGIC || get(&i, 4) != DOFI_WIRE_VERSION)
		return false;
	h.role = (uint8_t)get(&i, 1);
	get_copy(&i, h.nonce, sizeof(h.nonce));
	get_copy(&i, h.key_id, sizeof(h.key_id));
	if (!i.ok || i.at != i.end || (h.role != DOFI_ROLE_DIALS && h.role != DOFI_ROLE_ACCEPTS))
		return false;
	*hello_p = h;
	return true;
}

size_t dofi_wire_put_proof(uint8_t *buf, const uint8_t proof[DOFI_PROOF_SIZE])
{
	struct out o = begin_frame(buf);

	put(&o, PROOF_MAGIC, 4);
	put_bytes(&o, proof, DOFI_PROOF_SIZE);
	return end_frame(buf, &o);
}

bool dofi_wire_get_proof(const uint8_t *body, size_t size, uint8_t proof_p[DOFI_PROOF_SIZE])
{
	struct in i = {body, body + size, true};

	if (get(&i, 4) != PROOF_MAGIC)
		return false;
	get_copy(&i, proof_p, DOFI_PROOF_SIZE);
	return i.ok && i.at == i.end;
}

/* --- seals --- */

size_t dofi_wire_seal(uint8_t *frame, size_t size, struct dofi_session *session)
{
	struct out length = {frame};

	if (!session->sealed)
		return size;
	assert(size + DOFI_SEAL_SIZE <= DOFI_WIRE_MAX_FRAME);
	put(&length, size + DOFI_SEAL_SIZE - DOFI_WIRE_LENGTH, DOFI_WIRE_LENGTH);
	return dofi_session_seal(session, frame + size, frame, size) ? size + DOFI_SEAL_SIZE : 0;
}

bool dofi_wire_open(const uint8_t *frame, size_t size, struct dofi_session *session,
		    size_t *body_size_p)
{
	*body_size_p = size - DOFI_WIRE_LENGTH;
	if (!session->sealed)
		return true;
	if (size < DOFI_WIRE_LENGTH + DOFI_SEAL_SIZE)
		return false;
	size -= DOFI_SEAL_SIZE;
	*body_size_p = size - DOFI_WIRE_LENGTH;
	return dofi_session_check(session, frame + size, frame, size);
}

/* --- DETAILS --- */

static void put_addr(struct out *o, const struct sockaddr_storage *addr)
{
	uint8_t ip[16] = {0};

	if (addr->ss_family == AF_INET6)
		memcpy(ip, &((const struct sockaddr_in6 *)addr)->sin6_addr, 16);
	else
		memcpy(ip, &((const struct sockaddr_in *)addr)->sin_addr, 4);
	put(o, addr->ss_family == AF_INET6 ? 6 : 4, 1);
	put_bytes(o, ip, sizeof(ip));
}

static bool get_addr(struct in *i, struct sockaddr_storage *addr_p)
{
	uint8_t version = (uint8_t)get(i, 1), ip[16] = {0};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	struct sockaddr_in in = {.sin_family = AF_INET};

	get_copy(i, ip, sizeof(ip));
	if (version == 6) {
		memcpy(&in6.sin6_addr, ip, 16);
		return dofi_addr_set(addr_p, (const struct sockaddr *)&in6, 0);
	}
	memcpy(&in.sin_addr, ip, 4);
	return version == 4 && dofi_addr_set(addr_p, (const struct sockaddr *)&in, 0);
}

bool dofi_details_are_of_one(const struct dofi_details *a, const struct dofi_details *b)
{
	return !memcmp(a->uuid, b->uuid, sizeof(a->uuid)) &&
	       a->fabric_name_size == b->fabric_name_size &&
	       !memcmp(a->fabric_name, b->fabric_name, a->fabric_name_size);
}

size_t dofi_wire_put_details(uint8_t *buf, const struct dofi_details *details)
{
	struct out o = begin_frame(buf);

	assert(details->fabric_name_size <= DOFI_FABRIC_NAME_MAX);
	put(&o, DETAILS_MAGIC, 4);
	put_bytes(&o, details->uuid, sizeof(details->uuid));
	put_bytes(&o, details->provider, sizeof(details->provider));
	put(&o, details->transport, 1);
	put_addr(&o, &details->addr);
	put(&o, details->ctxtab_key, 8);
	put(&o, details->ctxtab_address, 8);
	put(&o, details->ctxtab_entries, 4);
	put(&o, details->sink_key, 8);
	put(&o, details->sink_address, 8);
	put(&o, details->fabric_name_size, 4);
	put_bytes(&o, details->fabric_name, details->fabric_name_size);
	return end_frame(buf, &o);
}

/* The name is shown to people: only printable characters, and terminated. */
static bool get_name(struct in *i, char *name, size_t size)
{
	size_t n = 0;

	get_copy(i, name, size);
	while (n < size && name[n] > ' ' && name[n] <= '~')
		n++;
	return n && n < size && !name[n];
}

bool dofi_wire_get_details(const uint8_t *body, size_t size, struct dofi_details *details_p)
{
	struct in i = {body, body + size, true};
	struct dofi_details d = {0};

	if (get(&i, 4) != DETAILS_MAGIC)
		return false;
	get_copy(&i, d.uuid, sizeof(d.uuid));
	if (!get_name(&i, d.provider, sizeof(d.provider)))
		return false;
	d.transport = (uint8_t)get(&i, 1);
	if (!get_addr(&i, &d.addr))
		return false;
	d.ctxtab_key = get(&i, 8);
	d.ctxtab_address = get(&i, 8);
	d.ctxtab_entries = (uint32_t)get(&i, 4);
	d.sink_key = get(&i, 8);
	d.sink_address = get(&i, 8);
	d.fabric_name_size = (uint32_t)get(&i, 4);
	if (d.fabric_name_size > DOFI_FABRIC_NAME_MAX)
		return false;
	get_copy(&i, d.fabric_name, d.fabric_name_size);
	if (!i.ok || i.at != i.end)
		return false;
	*details_p = d;
	return true;
}

/* --- all other messages --- */

size_t dofi_wire_put_msg(uint8_t *buf, const struct dofi_msg *msg)
{
	struct out o = begin_frame(buf);

	assert(msg->private_size <= DOFI_WIRE_MAX_PRIVATE);
	put(&o, msg->type, 1);
	put(&o, msg->reason, 1);
	put(&o, msg->flags, 2);
	put(&o, msg->dst, 4);
	put(&o, msg->src, 4);
	put(&o, msg->conn_qual, 8);
	put(&o, msg->port_qual, 8);
	put(&o, msg->number, 8);
	put_bytes(&o, msg->token, sizeof(msg->token));
	put(&o, msg->read_in, 4);
	put(&o, msg->read_out, 4);
	put(&o, msg->pz, 4);
	put(&o, msg->data, 4);
	put(&o, msg->srq, 4);
	put(&o, msg->context, 4);
	put(&o, msg->private_size, 4);
	if (msg->private_size)
		put_bytes(&o, msg->private_data, msg->private_size);
	return end_frame(buf, &o);
}

bool dofi_wire_get_msg(const uint8_t *body, size_t size, struct dofi_msg *msg_p)
{
	struct in i = {body, body + size, true};
	struct dofi_msg m = {0};

	m.type = (uint8_t)get(&i, 1);
	m.reason = (uint8_t)get(&i, 1);
	m.flags = (uint16_t)get(&i, 2);
	m.dst = (uint32_t)get(&i, 4);
	m.src = (uint32_t)get(&i, 4);
	m.conn_qual = get(&i, 8);
	m.port_qual = get(&i, 8);
	m.number = get(&i, 8);
	get_copy(&i, m.token, sizeof(m.token));
	m.read_in = (uint32_t)get(&i, 4);
	m.read_out = (uint32_t)get(&i, 4);
	m.pz = (uint32_t)get(&i, 4);
	m.data = (uint32_t)get(&i, 4);
	m.srq = (uint32_t)get(&i, 4);
	m.context = (uint32_t)get(&i, 4);
	m.private_size = (uint32_t)get(&i, 4);
	if (m.type < DOFI_MSG_REQUEST || m.type >= DOFI_MSG_TYPES || m.reason > DOFI_REASON_ERROR ||
	    m.private_size > DOFI_WIRE_MAX_PRIVATE)
		return false;
	m.private_data = m.private_size ? get_bytes(&i, m.private_size) : NULL;
	if (!i.ok || i.at != i.end)
		return false;
	*msg_p = m;
	return true;
}

/* --- ports --- */

/* The finaliser of SplitMix64. Both ends must agree on it: it is part of the protocol. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

bool dofi_port_candidate(uint64_t conn_qual, uint32_t n, uint16_t *port_p)
{
	uint64_t hash;

	if (dofi_port_is_own(conn_qual)) {
		*port_p = (uint16_t)conn_qual;
		return !n;
	}
	if (!conn_qual || n >= DOFI_PORT_TRIES)
		return false;
	hash = mix(conn_qual);
	/* The range is a power of two and the step odd, so no port comes twice. */
	*port_p = (uint16_t)(DOFI_PORT_BASE + (hash + n * (hash >> 32 | 1)) % DOFI_PORT_RANGE);
	return true;
}
