/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What authentication needs of cryptography. libsodium or libcrypto computes; configure chooses
 * one of the two.
 */
#ifndef DOFI_CRYPTO_H
#define DOFI_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOFI_HMAC_SIZE     32u
#define DOFI_HMAC_MAX_DATA 8192u /* of all parts together */
#define DOFI_HKDF_MAX_INFO 256u

struct dofi_bytes {
	const void *data;
	size_t size;
};

/*
 * Starts the library and has it compute a known HMAC. 0, or -ENOSYS when the library cannot, for
 * example because a policy of the site forbids it. Any number of times, from any thread.
 */
int dofi_crypto_start(void);

/*
 * HMAC-SHA256 (RFC 2104) of the n parts, one behind the other. False when the library fails or the
 * parts are longer than DOFI_HMAC_MAX_DATA; mac then holds nothing of use.
 */
__attribute__((warn_unused_result)) bool dofi_hmac(uint8_t mac[DOFI_HMAC_SIZE], const void *key,
						   size_t key_size, const struct dofi_bytes *parts,
						   size_t n);

/*
 * HKDF-SHA256 (RFC 5869): size bytes, at most 255 * DOFI_HMAC_SIZE, of the secret, for the purpose
 * that info names. No salt: salt.size is 0. False as dofi_hmac.
 */
__attribute__((warn_unused_result)) bool dofi_hkdf(void *out, size_t size, struct dofi_bytes salt,
						   struct dofi_bytes secret,
						   struct dofi_bytes info);

/*
 * Random bytes of the kernel's generator. Few calls of many make a system call. A forked child
 * never gets what its parent gets. 0 or -errno.
 */
__attribute__((warn_unused_result)) int dofi_random(void *bytes, size_t size);

/* In a time that does not depend on the bytes. */
bool dofi_crypto_equal(const void *a, const void *b, size_t size);

/* Clears memory, also where the compiler sees that nobody reads it any more. */
void dofi_wipe(void *bytes, size_t size);

#endif
