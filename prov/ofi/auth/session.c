/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "auth/session.h"

#include <endian.h>
#include <string.h>

#define LABEL_SIZE 16u

bool dofi_session_start(struct dofi_session *session, const struct dofi_key *key,
			enum dofi_role role, const struct dofi_handshake *shake)
{
	static const char of_session[LABEL_SIZE] = "dat-ofi session",
			  of_proofs[LABEL_SIZE] = "dat-ofi proofs";
	const uint8_t numbers[] = {(uint8_t)(shake->port >> 8), (uint8_t)shake->port,
				   (uint8_t)shake->dials_size, (uint8_t)shake->accepts_size};
	const struct dofi_bytes parts[] = {{of_session, LABEL_SIZE},
					   {numbers, sizeof(numbers)},
					   {shake->dials, shake->dials_size},
					   {shake->accepts, shake->accepts_size}};
	uint8_t secret[DOFI_HMAC_SIZE];
	bool ok;

	memset(session, 0, sizeof(*session));
	session->sealed = true;
	session->role = role;
	ok = dofi_hmac(secret, key->bytes, sizeof(key->bytes), parts, 4);
	dofi_hmac_prepare(&session->key, secret, sizeof(secret));
	dofi_wipe(secret, sizeof(secret));
	/* No frame is sealed like this: a seal begins with a role. */
	return ok && dofi_hmac_by(session->proofs, &session->key,
				  &(struct dofi_bytes){of_proofs, LABEL_SIZE}, 1);
}

/*
 * The frame's number is not sent: the seal of a repeated, missing or moved frame does not match. A
 * frame that is sent back to its sender does not match, because the sender's role is sealed, too.
 */
static bool seal_of(uint8_t mac[DOFI_HMAC_SIZE], const struct dofi_session *session,
		    enum dofi_role sender, uint64_t number, const void *frame, size_t size)
{
	const uint8_t role = (uint8_t)sender;
	const uint64_t order = htobe64(number);
	const struct dofi_bytes parts[] = {{&role, sizeof(role)},
					   {&order, sizeof(order)},
					   {frame, size}};

	return dofi_hmac_by(mac, &session->key, parts, 3);
}

bool dofi_session_seal(struct dofi_session *session, uint8_t seal[DOFI_SEAL_SIZE],
		       const void *frame, size_t size)
{
	uint8_t mac[DOFI_HMAC_SIZE];

	if (!seal_of(mac, session, session->role, session->tx_number, frame, size))
		return false;
	session->tx_number++;
	memcpy(seal, mac, DOFI_SEAL_SIZE);
	return true;
}

bool dofi_session_check(struct dofi_session *session, const uint8_t seal[DOFI_SEAL_SIZE],
			const void *frame, size_t size)
{
	enum dofi_role sender = dofi_role_of_peer(session->role);
	uint8_t mac[DOFI_HMAC_SIZE];

	if (!seal_of(mac, session, sender, session->rx_number, frame, size) ||
	    !dofi_crypto_equal(mac, seal, DOFI_SEAL_SIZE))
		return false;
	session->rx_number++;
	return true;
}
