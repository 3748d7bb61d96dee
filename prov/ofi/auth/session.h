/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One control channel's authentication: the proofs that both sides have the key, and the keys that
 * seal all frames after them. It works on bytes; cm/wire.c says what the frames are.
 */
#ifndef DOFI_SESSION_H
#define DOFI_SESSION_H

#include "auth/crypto.h"
#include "auth/key.h"

#include <stdbool.h>
#include <stdint.h>

#define DOFI_SEAL_SIZE  16u /* of each sealed frame */
#define DOFI_HELLO_SIZE 64u /* of the body of a HELLO, at most */

enum dofi_role {
	DOFI_ROLE_DIALS = 1,
	DOFI_ROLE_ACCEPTS = 2,
};

/* What both sides know before either has proved anything. */
struct dofi_handshake {
	uint8_t dials[DOFI_HELLO_SIZE], accepts[DOFI_HELLO_SIZE]; /* bodies of both HELLOs */
	uint32_t dials_size, accepts_size;
	uint16_t port; /* that was dialled: nobody passes a handshake on to another one */
};

struct dofi_session {
	bool sealed; /* false: auth=none, frames carry no seal */
	uint8_t tx_key[DOFI_HMAC_SIZE], rx_key[DOFI_HMAC_SIZE];
	uint64_t tx_number, rx_number; /* of the next frame */
};

/* The proof that the side of this role has the key. False when the library fails. */
__attribute__((warn_unused_result)) bool dofi_session_proof(uint8_t proof[DOFI_HMAC_SIZE],
							    const struct dofi_key *key,
							    enum dofi_role role,
							    const struct dofi_handshake *shake);

/* Begins to seal: both sides have proved that they have the key. role is ours. */
__attribute__((warn_unused_result)) bool dofi_session_start(struct dofi_session *session,
							    const struct dofi_key *key,
							    enum dofi_role role,
							    const struct dofi_handshake *shake);

/* The seal of the next frame that goes out. False when the library fails. */
__attribute__((warn_unused_result)) bool dofi_session_seal(struct dofi_session *session,
							   uint8_t seal[DOFI_SEAL_SIZE],
							   const void *frame, size_t size);

/* Whether the seal is that of the next frame that comes in. */
__attribute__((warn_unused_result)) bool dofi_session_check(struct dofi_session *session,
							    const uint8_t seal[DOFI_SEAL_SIZE],
							    const void *frame, size_t size);

#endif
