/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One end of a control channel on a socket, for tests that send valid and invalid messages. */
#ifndef T_CHANNEL_H
#define T_CHANNEL_H

#include "cm/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one end has said, for who says it again. */
struct t_record {
	size_t size;
	uint8_t bytes[4 * DOFI_WIRE_MAX_FRAME];
};

struct t_channel {
	int fd;
	struct t_record *record; /* or NULL */
	enum dofi_role role;
	const struct dofi_key *key;
	struct dofi_handshake shake;
	struct dofi_session session;
	struct dofi_hello peer_hello;
};

/* `port`: the TCP port that the active side dialled. */
void t_channel_init(struct t_channel *channel, int fd, enum dofi_role role,
		    const struct dofi_key *key, uint16_t port);

/* Sends bytes. False if the other side has closed the socket. */
bool t_channel_say(const struct t_channel *channel, const void *bytes, size_t size);
/* Receives a frame. Returns its size, or 0 if the other side closed the socket or timed out. */
size_t t_channel_hear(const struct t_channel *channel, uint8_t frame[DOFI_WIRE_MAX_FRAME]);

/* Steps of the handshake. False if the other side does not do its part. */
bool t_channel_say_hello(struct t_channel *channel);
bool t_channel_hear_hello(struct t_channel *channel);
bool t_channel_say_proof(struct t_channel *channel);
bool t_channel_hear_proof(struct t_channel *channel);
bool t_channel_say_details(struct t_channel *channel, const struct dofi_details *details);
bool t_channel_hear_details(struct t_channel *channel, struct dofi_details *details);
bool t_channel_say_msg(struct t_channel *channel, const struct dofi_msg *msg);
/* Its private data are not kept. */
bool t_channel_hear_msg(struct t_channel *channel, struct dofi_msg *msg);

/* Exchanges HELLO and PROOF as the side that dialled. */
bool t_channel_prove(struct t_channel *channel);

#endif
