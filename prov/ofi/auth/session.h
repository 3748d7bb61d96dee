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

/* What each side says to prove that it has the key. */
struct dofi_proofs {
	uint8_t dials[DOFI_PROOF_SIZE], accepts[DOFI_PROOF_SIZE];
};

struct dofi_session {
	bool sealed; /* false: auth=none, frames carry no seal */
	enum dofi_role role;
	struct dofi_hmac_key key;
	uint64_t tx_number, rx_number; /* of the next frame */
};

/* Computes the proofs of both sides. False if the library fails. */
__attribute__((warn_unused_result)) bool dofi_session_proofs(struct dofi_proofs *proofs,
							     const struct dofi_key *key,
							     const struct dofi_handshake *shake);

static inline enum dofi_role dofi_role_of_peer(enum dofi_role ours)
{
	return ours == DOFI_ROLE_DIALS ? DOFI_ROLE_ACCEPTS : DOFI_ROLE_DIALS;
}

static inline const uint8_t *dofi_proof_of(const struct dofi_proofs *proofs, enum dofi_role role)
{
	return role == DOFI_ROLE_DIALS ? proofs->dials : proofs->accepts;
}

/* Starts sealing, after both sides have proved that they have the key. `role` is ours. */
__attribute__((warn_unused_result)) bool dofi_session_start(struct dofi_session *session,
							    const struct dofi_key *key,
							    enum dofi_role role,
							    const struct dofi_handshake *shake);

/* Computes the seal of the next outgoing frame. False if the library fails. */
__attribute__((warn_unused_result)) bool dofi_session_seal(struct dofi_session *session,
							   uint8_t seal[DOFI_SEAL_SIZE],
							   const void *frame, size_t size);

/* Returns whether the seal is that of the next incoming frame. */
__attribute__((warn_unused_result)) bool dofi_session_check(struct dofi_session *session,
							    const uint8_t seal[DOFI_SEAL_SIZE],
							    const void *frame, size_t size);

#endif
