/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stands in for HMAC-SHA256, which would take half of the time of a run. A changed byte changes the
 * result. check_crypto and fuzz_wire use the real one.
 */
#include "fuzz.h"

#include "auth/crypto.h"

#include <string.h>

void __wrap_dofi_hmac_prepare(struct dofi_hmac_key *prepared, const void *key, size_t size);
bool __wrap_dofi_hmac(uint8_t mac[DOFI_HMAC_SIZE], const void *key, size_t key_size,
		      const struct dofi_bytes *parts, size_t n);
bool __wrap_dofi_hmac_by(uint8_t mac[DOFI_HMAC_SIZE], const struct dofi_hmac_key *prepared,
			 const struct dofi_bytes *parts, size_t n);

/* Each step is one to one in `hash`, so bytes that differ in one place give another result. */
static uint64_t add(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t word;

	for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	while (size--)
		hash = (hash ^ *bytes++) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

void __wrap_dofi_hmac_prepare(struct dofi_hmac_key *prepared, const void *key, size_t size)
{
	FUZZ_CHECK(size == DOFI_HMAC_SIZE);
	memcpy(prepared->words, key, DOFI_HMAC_SIZE);
}

bool __wrap_dofi_hmac(uint8_t mac[DOFI_HMAC_SIZE], const void *key, size_t key_size,
		      const struct dofi_bytes *parts, size_t n)
{
	uint64_t hash = add(UINT64_C(0xcbf29ce484222325), key, key_size);

	for (size_t i = 0; i < n; i++)
		hash = add(hash, parts[i].data, parts[i].size);
	for (size_t i = 0; i < DOFI_HMAC_SIZE; i++) {
		hash = hash * UINT64_C(6364136223846793005) + 1442695040888963407u;
		mac[i] = (uint8_t)(hash >> 56);
	}
	return true;
}

bool __wrap_dofi_hmac_by(uint8_t mac[DOFI_HMAC_SIZE], const struct dofi_hmac_key *prepared,
			 const struct dofi_bytes *parts, size_t n)
{
	return __wrap_dofi_hmac(mac, prepared->words, DOFI_HMAC_SIZE, parts, n);
}
