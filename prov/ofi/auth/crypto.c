/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "auth/crypto.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#ifdef HAVE_SODIUM
#include <sodium.h>
#else
#include <openssl/crypto.h>
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
#include <openssl/core_names.h>
#include <openssl/params.h>
#endif
#include <openssl/evp.h>
#include <openssl/hmac.h>
#endif

/* --- the library --- */

#ifdef HAVE_SODIUM

static bool start_library(void)
{
	return sodium_init() >= 0;
}

/* The state is wiped. */
static bool finish(uint8_t mac[DOFI_HMAC_SIZE], crypto_auth_hmacsha256_state *state,
		   const struct dofi_bytes *parts, size_t n)
{
	size_t left = DOFI_HMAC_MAX_DATA;
	bool fits = true;

	_Static_assert(crypto_auth_hmacsha256_BYTES == DOFI_HMAC_SIZE, "size of a MAC");
	for (size_t i = 0; i < n && fits; i++) {
		fits = parts[i].size <= left;
		left -= parts[i].size;
		if (fits && parts[i].size)
			crypto_auth_hmacsha256_update(state, parts[i].data, parts[i].size);
	}
	crypto_auth_hmacsha256_final(state, mac);
	dofi_wipe(state, sizeof(*state));
	return fits;
}

bool dofi_hmac(uint8_t mac[DOFI_HMAC_SIZE], const void *key, size_t key_size,
	       const struct dofi_bytes *parts, size_t n)
{
	crypto_auth_hmacsha256_state state;

	/* No argument may be NULL, however long it is. */
	crypto_auth_hmacsha256_init(&state, key_size ? key : mac, key_size);
	return finish(mac, &state, parts, n);
}

void dofi_hmac_prepare(struct dofi_hmac_key *prepared, const void *key, size_t size)
{
	crypto_auth_hmacsha256_state state;

	_Static_assert(sizeof(state) <= sizeof(prepared->words), "room for the state");
	crypto_auth_hmacsha256_init(&state, size ? key : prepared, size);
	memcpy(prepared->words, &state, sizeof(state));
	dofi_wipe(&state, sizeof(state));
}

bool dofi_hmac_by(uint8_t mac[DOFI_HMAC_SIZE], const struct dofi_hmac_key *prepared,
		  const struct dofi_bytes *parts, size_t n)
{
	crypto_auth_hmacsha256_state state;

	memcpy(&state, prepared->words, sizeof(state));
	return finish(mac, &state, parts, n);
}

void dofi_crypto_forget(void)
{
}

bool dofi_crypto_equal(const void *a, const void *b, size_t size)
{
	return !sodium_memcmp(a, b, size);
}

#else

/* DAT may be called while the process exits, so libcrypto must not clean up at exit. */
static bool start_libcrypto(void)
{
	return OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

#if OPENSSL_VERSION_NUMBER >= 0x30000000L

#define KEPT_KEY 64u

/*
 * A context and the key that it has. To look the algorithm up takes longer than an HMAC, and to set
 * the key nearly as long, so one is kept from call to call. Most calls in a row use the key of one
 * session.
 */
struct keyed {
	EVP_MAC_CTX *context;
	size_t size; /* of the key; 0: not known */
	uint8_t key[KEPT_KEY];
};

static struct keyed kept; /* of the thread that has `taken` */
static atomic_flag taken = ATOMIC_FLAG_INIT;

/*
 * Whether each HMAC sets its key. Without one the HMAC of OpenSSL 3.0.0 to 3.0.2 does not begin
 * anew, and reports success. It may be that of a FIPS module, so the library's version does not
 * tell.
 */
static _Atomic bool rekeys;

static EVP_MAC_CTX *make_context(void)
{
	static char digest[] = "SHA256";
	const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest,
								      0),
				     OSSL_PARAM_construct_end()};
	EVP_MAC *algorithm = EVP_MAC_fetch(NULL, "HMAC", NULL);
	EVP_MAC_CTX *context = algorithm ? EVP_MAC_CTX_new(algorithm) : NULL;

	EVP_MAC_free(algorithm);
	if (context && !EVP_MAC_CTX_set_params(context, params)) {
		EVP_MAC_CTX_free(context);
		return NULL;
	}
	return context;
}

static void forget(struct keyed *keyed)
{
	EVP_MAC_CTX_free(keyed->context);
	dofi_wipe(keyed, sizeof(*keyed));
}

/* Begins an HMAC. An empty key still needs an address: NULL means the key of the call before. */
static bool begin(struct keyed *keyed, const void *key, size_t size)
{
	if (!rekeys && size && size == keyed->size && !CRYPTO_memcmp(key, keyed->key, size))
		return EVP_MAC_init(keyed->context, NULL, 0, NULL);
	keyed->size = 0;
	if (!EVP_MAC_init(keyed->context, size ? key : "", size, NULL))
		return false;
	if (size && size <= KEPT_KEY) {
		memcpy(keyed->key, key, size);
		keyed->size = size;
	}
	return true;
}

/* Adds the data, and ends the HMAC. */
static bool finish(struct keyed *keyed, uint8_t mac[DOFI_HMAC_SIZE], const struct dofi_bytes *parts,
		   size_t n)
{
	size_t left = DOFI_HMAC_MAX_DATA, size;

	for (size_t i = 0; i < n; i++) {
		if (parts[i].size > left)
			return false;
		left -= parts[i].size;
		if (parts[i].size && !EVP_MAC_update(keyed->context, parts[i].data, parts[i].size))
			return false;
	}
	return EVP_MAC_final(keyed->context, mac, &size, DOFI_HMAC_SIZE) && size == DOFI_HMAC_SIZE;
}

/* Whether a second HMAC by the kept key is right. */
static bool begins_anew(void)
{
	const struct dofi_bytes data = {"data", 4};
	uint8_t first[DOFI_HMAC_SIZE], second[DOFI_HMAC_SIZE];
	struct keyed own = {.context = make_context()};
	bool same = own.context && begin(&own, "key", 3) && finish(&own, first, &data, 1) &&
		    begin(&own, "key", 3) && finish(&own, second, &data, 1) &&
		    !memcmp(first, second, sizeof(first));

	forget(&own);
	return same;
}

static bool start_library(void)
{
	bool started = start_libcrypto();

	if (started && !begins_anew())
		rekeys = true;
	return started;
}

/* Never waits for `taken`: its holder may not exist in a forked child. */
bool dofi_hmac(uint8_t mac[DOFI_HMAC_SIZE], const void *key, size_t key_size,
	       const struct dofi_bytes *parts, size_t n)
{
	bool alone = !atomic_flag_test_and_set_explicit(&taken, memory_order_acquire), ok;
	struct keyed own = {.context = NULL}, *keyed = alone ? &kept : &own;

	if (!keyed->context)
		keyed->context = make_context();
	ok = keyed->context && begin(keyed, key, key_size) && finish(keyed, mac, parts, n);
	if (alone)
		atomic_flag_clear_explicit(&taken, memory_order_release);
	else
		forget(keyed);
	return ok;
}

void dofi_crypto_forget(void)
{
	if (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
		return;
	forget(&kept);
	atomic_flag_clear_explicit(&taken, memory_order_release);
}

#else

static bool start_library(void)
{
	return start_libcrypto();
}

bool dofi_hmac(uint8_t mac[DOFI_HMAC_SIZE], const void *key, size_t key_size,
	       const struct dofi_bytes *parts, size_t n)
{
	uint8_t data[DOFI_HMAC_MAX_DATA];
	size_t fill = 0;
	bool ok;

	for (size_t i = 0; i < n; i++) {
		if (parts[i].size > sizeof(data) - fill)
			return false;
		if (parts[i].size)
			memcpy(data + fill, parts[i].data, parts[i].size);
		fill += parts[i].size;
	}
	/* Here, too, an empty key needs an address. */
	ok = HMAC(EVP_sha256(), key_size ? key : "", (int)key_size, data, fill, mac, NULL);
	dofi_wipe(data, fill);
	return ok;
}

void dofi_crypto_forget(void)
{
}

#endif

void dofi_hmac_prepare(struct dofi_hmac_key *prepared, const void *key, size_t size)
{
	assert(size <= DOFI_HMAC_MAX_KEY);
	prepared->words[0] = size;
	if (size)
		memcpy(&prepared->words[1], key, size);
}

bool dofi_hmac_by(uint8_t mac[DOFI_HMAC_SIZE], const struct dofi_hmac_key *prepared,
		  const struct dofi_bytes *parts, size_t n)
{
	return dofi_hmac(mac, &prepared->words[1], prepared->words[0], parts, n);
}

bool dofi_crypto_equal(const void *a, const void *b, size_t size)
{
	return !CRYPTO_memcmp(a, b, size);
}

#endif

/* RFC 4231, test case 2. */
int dofi_crypto_start(void)
{
	static const uint8_t expected[DOFI_HMAC_SIZE] = {0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75,
							 0x4e, 0x6a, 0x04, 0x24, 0x26, 0x08, 0x95,
							 0x75, 0xc7, 0x5a, 0x00, 0x3f, 0x08, 0x9d,
							 0x27, 0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9,
							 0x64, 0xec, 0x38, 0x43};
	const struct dofi_bytes data = {"what do ya want for nothing?", 28};
	uint8_t mac[DOFI_HMAC_SIZE];

	if (!start_library() || !dofi_hmac(mac, "Jefe", 4, &data, 1) ||
	    !dofi_crypto_equal(mac, expected, sizeof(mac)))
		return -ENOSYS;
	return 0;
}

void dofi_wipe(void *bytes, size_t size)
{
	explicit_bzero(bytes, size);
}

/* --- keys from keys --- */

bool dofi_hkdf(void *out, size_t size, struct dofi_bytes salt, struct dofi_bytes secret,
	       struct dofi_bytes info)
{
	uint8_t prk[DOFI_HMAC_SIZE], block[DOFI_HMAC_SIZE], counter = 0;
	bool ok = info.size <= DOFI_HKDF_MAX_INFO && size <= (size_t)255 * DOFI_HMAC_SIZE &&
		  dofi_hmac(prk, salt.data, salt.size, &secret, 1);
	uint8_t *at = out;

	while (ok && size) {
		size_t n = size < sizeof(block) ? size : sizeof(block);
		const struct dofi_bytes parts[] = {{block, counter ? sizeof(block) : 0},
						   info,
						   {&counter, 1}};

		counter++;
		ok = dofi_hmac(block, prk, sizeof(prk), parts, 3);
		if (ok)
			memcpy(at, block, n);
		at += n;
		size -= n;
	}
	dofi_wipe(prk, sizeof(prk));
	dofi_wipe(block, sizeof(block));
	return ok;
}

/* --- random bytes --- */

/*
 * Bytes of the kernel for many calls. The kernel clears the page in a forked child, so that `left`
 * is 0 there.
 */
struct pool {
	uint32_t left;
	uint8_t bytes[4096 - sizeof(uint32_t)];
};

static int ask_kernel(uint8_t *bytes, size_t size)
{
	ssize_t n;

	while (size) {
		n = getrandom(bytes, size, 0);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			bytes += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

/* NULL where the kernel cannot clear memory in a child. */
static struct pool *make_pool(void)
{
	struct pool *pool = mmap(NULL, sizeof(*pool), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pool == MAP_FAILED)
		return NULL;
	if (!madvise(pool, sizeof(*pool), MADV_WIPEONFORK))
		return pool;
	munmap(pool, sizeof(*pool));
	return NULL;
}

/* The caller holds pool_taken. Returned bytes are erased from the pool. */
static bool take_from_pool(void *bytes, size_t size)
{
	static struct pool *pool;
	uint8_t *at;

	if (!pool)
		pool = make_pool();
	if (!pool || size > sizeof(pool->bytes))
		return false;
	if (pool->left < size) {
		pool->left = 0;
		if (ask_kernel(pool->bytes, sizeof(pool->bytes)))
			return false;
		pool->left = sizeof(pool->bytes);
	}
	at = pool->bytes + sizeof(pool->bytes) - pool->left;
	pool->left -= (uint32_t)size;
	memcpy(bytes, at, size);
	dofi_wipe(at, size);
	return true;
}

/* Never waits for the pool: its holder may not exist in a forked child. */
int dofi_random(void *bytes, size_t size)
{
	static atomic_flag pool_taken = ATOMIC_FLAG_INIT;
	bool done;

	if (atomic_flag_test_and_set_explicit(&pool_taken, memory_order_acquire))
		return ask_kernel(bytes, size);
	done = take_from_pool(bytes, size);
	atomic_flag_clear_explicit(&pool_taken, memory_order_release);
	return done ? 0 : ask_kernel(bytes, size);
}
