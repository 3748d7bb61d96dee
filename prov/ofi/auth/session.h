/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The authentication of one control channel: the proofs that both sides have the key, and the keys
 * that seal all later frames. It works on bytes; cm/wire.c defines the frames.
 */
#ifndef DOFI_SESSION_H
#define DOFI_SESSION_H

#include "auth/crypto.h"
#include "auth/key.h"

#include <stdbool.h>
#include <stdint.h>

#define DOFI_PROOF_SIZE 16u
#define DOFI_SEAL_SIZE  16u /* of each sealed frame */
#define DOFI_HELLO_SIZE 64u /* of the body of a HELLO, at most */

enum dofi_role {
	DOFI_ROLE_DIALS = 1,
	DOFI_ROLE_ACCEPTS = 2,
};

/* Data of the handshake that both sides have before the proofs. */
struct dofi_handshake {
	uint8_t dials[DOFI_HELLO_SIZE], accepts[DOFI_HELLO_SIZE]; /* bodies of both HELLOs */
	uint32_t dials_size, accepts_size;
	uint16_t port; /* the dialled port: a handshake cannot be forwarded to another port */
};

struct dofi_session {
	bool sealed; /* false: auth=none, frames carry no seal */
	enum dofi_role role;
	/* One half is said by each side, to prove that it has the key. It tells nothing about the
	   other half. */
	uint8_t proofs[2 * DOFI_PROOF_SIZE];
	struct dofi_hmac_key key;
	uint64_t tx_number, rx_number; /* of the next frame */
};

static inline enum dofi_role dofi_role_of_peer(enum dofi_role ours)
{
	return ours == DOFI_ROLE_DIALS ? DOFI_ROLE_ACCEPTS : DOFI_ROLE_DIALS;
}

/*
 * Computes the key of the session and the proofs of both sides when both HELLOs are there. `role`
 * is ours. False if the library fails.
 */
__attribute__((warn_unused_result)) bool dofi_session_start(struct dofi_session *session,
							    const struct dofi_key *key,
							    enum dofi_role role,
							    const struct dofi_handshake *shake);

/* That of the side with this role. */
static inline const uint8_t *dofi_session_proof(const struct dofi_session *session,
						enum dofi_role role)
{
	return session->proofs + (role == DOFI_ROLE_DIALS ? 0 : DOFI_PROOF_SIZE);
}

/* Computes the seal of the next outgoing frame. False if the library fails. */
__attribute__((warn_unused_result)) bool dofi_session_seal(struct dofi_session *session,
							   uint8_t seal[DOFI_SEAL_SIZE],
							   const void *frame, size_t size);

/* Returns whether the seal is that of the next incoming frame. */
__attribute__((warn_unused_result)) bool dofi_session_check(struct dofi_session *session,
							    const uint8_t seal[DOFI_SEAL_SIZE],
							    const void *frame, size_t size);

#endif
