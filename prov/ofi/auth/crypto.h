/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cryptography that authentication needs, by libcrypto or libsodium; configure chooses one.
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
 * Starts the library and lets it compute a known HMAC. Returns 0, or -ENOSYS if the library fails,
 * for example because a policy of the site forbids it. May be called any number of times, by any
 * thread.
 */
int dofi_crypto_start(void);

/*
 * A key of many HMACs. libsodium: the state after the key, which saves half of the work for a short
 * message. libcrypto: size and bytes of the key; crypto.c keeps the state of the last key used. To
 * be wiped.
 */
struct dofi_hmac_key {
	uint64_t words[26];
};

#define DOFI_HMAC_MAX_KEY 200u

void dofi_hmac_prepare(struct dofi_hmac_key *prepared, const void *key, size_t size);

/*
 * HMAC-SHA256 (RFC 2104) of the n parts in order. False if the library fails or the parts are
 * longer than DOFI_HMAC_MAX_DATA; the contents of `mac` are undefined then. Allocates no memory,
 * except libcrypto when two threads call at the same time.
 */
__attribute__((warn_unused_result)) bool dofi_hmac(uint8_t mac[DOFI_HMAC_SIZE], const void *key,
						   size_t key_size, const struct dofi_bytes *parts,
						   size_t n);
__attribute__((warn_unused_result)) bool dofi_hmac_by(uint8_t mac[DOFI_HMAC_SIZE],
						      const struct dofi_hmac_key *prepared,
						      const struct dofi_bytes *parts, size_t n);

/*
 * HKDF-SHA256 (RFC 5869): derives `size` bytes, at most 255 * DOFI_HMAC_SIZE, from the secret for
 * the purpose that `info` names. Without salt, salt.size is 0. False as dofi_hmac.
 */
__attribute__((warn_unused_result)) bool dofi_hkdf(void *out, size_t size, struct dofi_bytes salt,
						   struct dofi_bytes secret,
						   struct dofi_bytes info);

/*
 * Random bytes of the kernel's generator. Most calls make no system call. A forked child gets other
 * bytes than its parent. Returns 0 or -errno.
 */
__attribute__((warn_unused_result)) int dofi_random(void *bytes, size_t size);

/* Compares in a time that does not depend on the bytes. */
bool dofi_crypto_equal(const void *a, const void *b, size_t size);

/* Frees what is kept from call to call, which may contain the key of the last one. */
void dofi_crypto_forget(void);

/* Clears memory. The compiler does not remove the stores, even if the memory is not read again. */
void dofi_wipe(void *bytes, size_t size);

#endif
