/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "t_channel.h"

#include <string.h>
#include <sys/socket.h>

void t_channel_init(struct t_channel *channel, int fd, enum dofi_role role,
		    const struct dofi_key *key, uint16_t port)
{
	*channel = (struct t_channel){.fd = fd, .role = role, .key = key, .shake.port = port};
}

bool t_channel_say(const struct t_channel *channel, const void *bytes, size_t size)
{
	struct t_record *record = channel->record;

	if (record && size <= sizeof(record->bytes) - record->size) {
		memcpy(record->bytes + record->size, bytes, size);
		record->size += size;
	}
	return send(channel->fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static bool read_all(int fd, uint8_t *bytes, size_t size)
{
	return recv(fd, bytes, size, MSG_WAITALL) == (ssize_t)size;
}

size_t t_channel_hear(const struct t_channel *channel, uint8_t frame[DOFI_WIRE_MAX_FRAME])
{
	size_t size;

	if (!read_all(channel->fd, frame, DOFI_WIRE_LENGTH))
		return 0;
	size = ((size_t)frame[2] << 8 | frame[3]) + DOFI_WIRE_LENGTH;
	if (frame[0] || frame[1] || size > DOFI_WIRE_MAX_FRAME ||
	    !read_all(channel->fd, frame + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH))
		return 0;
	return size;
}

static void remember(struct t_channel *channel, enum dofi_role role, const uint8_t *frame,
		     size_t size)
{
	bool dials = role == DOFI_ROLE_DIALS;

	memcpy(dials ? channel->shake.dials : channel->shake.accepts, frame + DOFI_WIRE_LENGTH,
	       size - DOFI_WIRE_LENGTH);
	*(dials ? &channel->shake.dials_size : &channel->shake.accepts_size) =
		(uint32_t)(size - DOFI_WIRE_LENGTH);
}

bool t_channel_say_hello(struct t_channel *channel)
{
	struct dofi_hello hello = {.role = (uint8_t)channel->role};
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size;

	if (dofi_random(hello.nonce, sizeof(hello.nonce)))
		return false;
	memcpy(hello.key_id, channel->key->id, sizeof(hello.key_id));
	size = dofi_wire_put_hello(frame, &hello);
	remember(channel, channel->role, frame, size);
	return t_channel_say(channel, frame, size);
}

bool t_channel_hear_hello(struct t_channel *channel)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = t_channel_hear(channel, frame);

	if (!size || !dofi_wire_get_hello(frame + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH,
					  &channel->peer_hello))
		return false;
	remember(channel, dofi_role_of_peer(channel->role), frame, size);
	return true;
}

/* Both sides have sent HELLO. */
static bool start(struct t_channel *channel)
{
	return dofi_session_start(&channel->session, channel->key, channel->role, &channel->shake);
}

bool t_channel_say_proof(struct t_channel *channel)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size;

	if (!start(channel))
		return false;
	size = dofi_wire_put_proof(frame, dofi_session_proof(&channel->session, channel->role));
	return t_channel_say(channel, frame, size);
}

bool t_channel_hear_proof(struct t_channel *channel)
{
	enum dofi_role theirs = dofi_role_of_peer(channel->role);
	uint8_t proof[DOFI_PROOF_SIZE], frame[DOFI_WIRE_MAX_FRAME];
	size_t size = t_channel_hear(channel, frame);

	return size &&
	       dofi_wire_get_proof(frame + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH, proof) &&
	       start(channel) &&
	       !memcmp(proof, dofi_session_proof(&channel->session, theirs), sizeof(proof));
}

bool t_channel_prove(struct t_channel *channel)
{
	if (channel->role == DOFI_ROLE_ACCEPTS)
		return t_channel_hear_hello(channel) && t_channel_say_hello(channel) &&
		       t_channel_say_proof(channel) && t_channel_hear_proof(channel);
	return t_channel_say_hello(channel) && t_channel_hear_hello(channel) &&
	       t_channel_hear_proof(channel) && t_channel_say_proof(channel);
}

bool t_channel_say_details(struct t_channel *channel, const struct dofi_details *details)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = dofi_wire_put_details(frame, details);

	size = dofi_wire_seal(frame, size, &channel->session);
	return size && t_channel_say(channel, frame, size);
}

bool t_channel_hear_details(struct t_channel *channel, struct dofi_details *details)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = t_channel_hear(channel, frame), body;

	return size && dofi_wire_open(frame, size, &channel->session, &body) &&
	       dofi_wire_get_details(frame + DOFI_WIRE_LENGTH, body, details);
}

bool t_channel_say_msg(struct t_channel *channel, const struct dofi_msg *msg)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = dofi_wire_seal(frame, dofi_wire_put_msg(frame, msg), &channel->session);

	return size && t_channel_say(channel, frame, size);
}

bool t_channel_hear_msg(struct t_channel *channel, struct dofi_msg *msg)
{
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size = t_channel_hear(channel, frame), body;

	if (!size || !dofi_wire_open(frame, size, &channel->session, &body) ||
	    !dofi_wire_get_msg(frame + DOFI_WIRE_LENGTH, body, msg))
		return false;
	msg->private_data = NULL;
	return true;
}
