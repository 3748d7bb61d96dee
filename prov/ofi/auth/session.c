/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "auth/session.h"

#include <string.h>

#define LABEL_SIZE 16u

/* Each use of the key has a label, so a result for one use is not valid for another. */
static bool keyed(uint8_t mac[DOFI_HMAC_SIZE], const struct dofi_key *key, const char *label,
		  enum dofi_role role, const struct dofi_handshake *shake)
{
	char name[LABEL_SIZE] = {0};
	const uint8_t numbers[] = {(uint8_t)role, (uint8_t)(shake->port >> 8), (uint8_t)shake->port,
				   (uint8_t)shake->dials_size, (uint8_t)shake->accepts_size};
	const struct dofi_bytes parts[] = {
		{name, sizeof(name)},
		{numbers, sizeof(numbers)},
		{shake->dials, shake->dials_size},
		{shake->accepts, shake->accepts_size},
	};

	strncpy(name, label, sizeof(name) - 1);
	return dofi_hmac(mac, key->bytes, sizeof(key->bytes), parts, 4);
}

bool dofi_session_proof(uint8_t proof[DOFI_HMAC_SIZE], const struct dofi_key *key,
			enum dofi_role role, const struct dofi_handshake *shake)
{
	return keyed(proof, key, "dat-ofi proof", role, shake);
}

/* One key for each direction, named by the role of its sender. */
static bool direction(uint8_t out[DOFI_HMAC_SIZE], const uint8_t secret[DOFI_HMAC_SIZE],
		      enum dofi_role sender)
{
	const struct dofi_bytes none = {NULL, 0};
	const uint8_t info[] = {'f', 'r', 'a', 'm', 'e', 's', (uint8_t)sender};

	return dofi_hkdf(out, DOFI_HMAC_SIZE, none, (struct dofi_bytes){secret, DOFI_HMAC_SIZE},
			 (struct dofi_bytes){info, sizeof(info)});
}

bool dofi_session_start(struct dofi_session *session, const struct dofi_key *key,
			enum dofi_role role, const struct dofi_handshake *shake)
{
	enum dofi_role other = role == DOFI_ROLE_DIALS ? DOFI_ROLE_ACCEPTS : DOFI_ROLE_DIALS;
	uint8_t secret[DOFI_HMAC_SIZE];
	bool ok;

	memset(session, 0, sizeof(*session));
	session->sealed = true;
	ok = keyed(secret, key, "dat-ofi session", DOFI_ROLE_DIALS, shake) &&
	     direction(session->tx_key, secret, role) && direction(session->rx_key, secret, other);
	dofi_wipe(secret, sizeof(secret));
	return ok;
}

/* The frame's number is not sent: the seal of a repeated, missing or moved frame does not match. */
static bool seal_of(uint8_t mac[DOFI_HMAC_SIZE], const uint8_t key[DOFI_HMAC_SIZE], uint64_t number,
		    const void *frame, size_t size)
{
	uint8_t bytes[8];
	const struct dofi_bytes parts[] = {{bytes, sizeof(bytes)}, {frame, size}};

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(number >> (56 - 8 * i));
	return dofi_hmac(mac, key, DOFI_HMAC_SIZE, parts, 2);
}

bool dofi_session_seal(struct dofi_session *session, uint8_t seal[DOFI_SEAL_SIZE],
		       const void *frame, size_t size)
{
	uint8_t mac[DOFI_HMAC_SIZE];

	if (!seal_of(mac, session->tx_key, session->tx_number, frame, size))
		return false;
	session->tx_number++;
	memcpy(seal, mac, DOFI_SEAL_SIZE);
	return true;
}

bool dofi_session_check(struct dofi_session *session, const uint8_t seal[DOFI_SEAL_SIZE],
			const void *frame, size_t size)
{
	uint8_t mac[DOFI_HMAC_SIZE];

	if (!seal_of(mac, session->rx_key, session->rx_number, frame, size) ||
	    !dofi_crypto_equal(mac, seal, DOFI_SEAL_SIZE))
		return false;
	session->rx_number++;
	return true;
}
