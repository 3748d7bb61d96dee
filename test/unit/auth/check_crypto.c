/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* HMAC, HKDF and random bytes, by the test cases of RFC 4231 and RFC 5869. */
#include "../../../prov/ofi/auth/crypto.h"
#include "../../lib/t_heap.h"
#include "../../lib/t_hooks.h"
#include "../../lib/unit.h"

#include <errno.h>
#include <limits.h>
#ifndef HAVE_SODIUM
#include <openssl/evp.h>
#endif
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define MAX_BYTES 256

struct text {
	uint8_t bytes[MAX_BYTES];
	size_t size;
};

static struct text from_hex(const char *hex)
{
	struct text text = {.size = strlen(hex) / 2};
	unsigned int byte;

	ck_assert_uint_le(text.size, sizeof(text.bytes));
	for (size_t i = 0; i < text.size; i++) {
		ck_assert_int_eq(sscanf(hex + 2 * i, "%2x", &byte), 1);
		text.bytes[i] = (uint8_t)byte;
	}
	return text;
}

static struct text repeated(uint8_t byte, size_t n)
{
	struct text text = {.size = n};

	memset(text.bytes, byte, n);
	return text;
}

static struct text counting(uint8_t first, size_t n)
{
	struct text text = {.size = n};

	for (size_t i = 0; i < n; i++)
		text.bytes[i] = (uint8_t)(first + i);
	return text;
}

static struct text quoted(const char *string)
{
	struct text text = {.size = strlen(string)};

	memcpy(text.bytes, string, text.size);
	return text;
}

static struct dofi_bytes bytes_of(const struct text *text)
{
	return (struct dofi_bytes){text->bytes, text->size};
}

/* --- HMAC --- */

/* By the key and by the prepared key. */
static bool hmac(uint8_t mac[DOFI_HMAC_SIZE], const void *key, size_t key_size,
		 const struct dofi_bytes *parts, size_t n)
{
	bool ok = dofi_hmac(mac, key, key_size, parts, n);
	uint8_t again[DOFI_HMAC_SIZE];
	struct dofi_hmac_key prepared;

	dofi_hmac_prepare(&prepared, key, key_size);
	ck_assert_int_eq(dofi_hmac_by(again, &prepared, parts, n), ok);
	if (ok)
		ck_assert_mem_eq(again, mac, sizeof(again));
	return ok;
}

static struct {
	struct text key, data;
	const char *mac;
} hmac_cases[6];

static void make_hmac_cases(void)
{
	hmac_cases[0].key = repeated(0x0b, 20);
	hmac_cases[0].data = quoted("Hi There");
	hmac_cases[0].mac = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
	hmac_cases[1].key = quoted("Jefe");
	hmac_cases[1].data = quoted("what do ya want for nothing?");
	hmac_cases[1].mac = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
	hmac_cases[2].key = repeated(0xaa, 20);
	hmac_cases[2].data = repeated(0xdd, 50);
	hmac_cases[2].mac = "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe";
	hmac_cases[3].key = counting(1, 25);
	hmac_cases[3].data = repeated(0xcd, 50);
	hmac_cases[3].mac = "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b";
	hmac_cases[4].key = repeated(0xaa, 131);
	hmac_cases[4].data = quoted("Test Using Larger Than Block-Size Key - Hash Key First");
	hmac_cases[4].mac = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
	hmac_cases[5].key = repeated(0xaa, 131);
	hmac_cases[5].data = quoted("This is a test using a larger than block-size key and a larger"
				    " than block-size data. The key needs to be hashed before being"
				    " used by the HMAC algorithm.");
	hmac_cases[5].mac = "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2";
}

static void setup(void)
{
	ck_assert_int_eq(dofi_crypto_start(), 0);
	make_hmac_cases();
}

START_TEST(test_hmac_case)
{
	const struct text *key = &hmac_cases[_i].key, *data = &hmac_cases[_i].data;
	const struct dofi_bytes whole = bytes_of(data);
	struct text expected = from_hex(hmac_cases[_i].mac);
	uint8_t mac[DOFI_HMAC_SIZE];

	ck_assert(hmac(mac, key->bytes, key->size, &whole, 1));
	ck_assert_mem_eq(mac, expected.bytes, sizeof(mac));
}
END_TEST

START_TEST(test_hmac_of_parts_is_that_of_the_whole)
{
	const struct text *key = &hmac_cases[_i].key, *data = &hmac_cases[_i].data;
	struct text expected = from_hex(hmac_cases[_i].mac);
	uint8_t mac[DOFI_HMAC_SIZE];

	for (size_t cut = 0; cut <= data->size; cut++) {
		const struct dofi_bytes parts[] = {{data->bytes, cut},
						   {NULL, 0},
						   {data->bytes + cut, data->size - cut}};

		ck_assert(hmac(mac, key->bytes, key->size, parts, 3));
		ck_assert_mem_eq(mac, expected.bytes, sizeof(mac));
	}
}
END_TEST

START_TEST(test_hmac_refuses_data_beyond_its_limit)
{
	static const uint8_t data[DOFI_HMAC_MAX_DATA + 1];
	const struct dofi_bytes most = {data, DOFI_HMAC_MAX_DATA};
	const struct dofi_bytes more[] = {{data, DOFI_HMAC_MAX_DATA}, {data, 1}};
	uint8_t mac[DOFI_HMAC_SIZE];

	ck_assert(hmac(mac, "k", 1, &most, 1));
	ck_assert(!hmac(mac, "k", 1, more, 2));
}
END_TEST

/* A prepared key gives the same HMAC each time, whatever is computed in between. */
START_TEST(test_hmac_by_a_prepared_key_is_that_by_the_key)
{
	static const uint8_t data[DOFI_HMAC_MAX_DATA + 1];
	uint8_t key[DOFI_HMAC_SIZE], expected[DOFI_HMAC_SIZE], mac[DOFI_HMAC_SIZE];
	struct dofi_hmac_key prepared;

	memset(key, 0x5a, sizeof(key));
	dofi_hmac_prepare(&prepared, key, sizeof(key));
	for (size_t size = 0; size < 300; size++) {
		const struct dofi_bytes parts[] = {{data, size / 3}, {data, size - size / 3}};

		ck_assert(dofi_hmac(expected, key, sizeof(key), parts, 2));
		ck_assert(dofi_hmac(mac, "another key", 11, parts, 2));
		ck_assert_mem_ne(mac, expected, sizeof(mac));
		ck_assert(dofi_hmac_by(mac, &prepared, parts, 2));
		ck_assert_mem_eq(mac, expected, sizeof(mac));
	}
	ck_assert(!dofi_hmac_by(mac, &prepared, &(struct dofi_bytes){data, sizeof(data)}, 1));
	dofi_crypto_forget();
	ck_assert(dofi_hmac_by(mac, &prepared, &(struct dofi_bytes){data, 299}, 1));
	ck_assert_mem_eq(mac, expected, sizeof(mac));
}
END_TEST

START_TEST(test_hmac_with_an_empty_key_uses_no_earlier_one)
{
	const struct dofi_bytes nothing = {"", 0};
	struct text expected =
		from_hex("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
	uint8_t mac[DOFI_HMAC_SIZE];

	ck_assert(hmac(mac, "another key", 11, &nothing, 1));
	ck_assert(hmac(mac, NULL, 0, &nothing, 1));
	ck_assert_mem_eq(mac, expected.bytes, sizeof(mac));
}
END_TEST

/* The key of the call before is no part of the result, however similar it is. */
START_TEST(test_hmac_after_one_by_a_similar_key)
{
	static uint8_t all[80], other[80];
	static const struct {
		const uint8_t *key;
		size_t size;
	} keys[] = {{all, 8},  {other, 8}, {all, 7},  {all, 9},    {all, 63},
		    {all, 64}, {all, 65},  {all, 80}, {other, 64}, {other, 80}};
	const struct dofi_bytes data = {"data", 4};
	uint8_t expected[DOFI_HMAC_SIZE], mac[DOFI_HMAC_SIZE];

	memset(all, 'k', sizeof(all));
	memset(other, 'k', sizeof(other));
	other[6] = 'l';
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		dofi_crypto_forget();
		ck_assert(dofi_hmac(expected, keys[i].key, keys[i].size, &data, 1));
		for (size_t j = 0; j < sizeof(keys) / sizeof(keys[0]); j++) {
			ck_assert(dofi_hmac(mac, keys[j].key, keys[j].size, &data, 1));
			ck_assert(dofi_hmac(mac, keys[i].key, keys[i].size, &data, 1));
			ck_assert_mem_eq(mac, expected, sizeof(mac));
		}
	}
}
END_TEST

#if !defined(HAVE_SODIUM) && OPENSSL_VERSION_NUMBER >= 0x30000000L

static int settings;         /* of a key */
static bool is_old;          /* a release whose HMAC does not begin anew without a key */
static int served = INT_MAX; /* HMACs that begin before the library refuses one */
static bool no_hmac, no_digest;
static int lookups;             /* of the algorithm */
static void (*meanwhile)(void); /* what another thread does */

int __real_EVP_MAC_init(EVP_MAC_CTX *context, const unsigned char *key, size_t size,
			const OSSL_PARAM *params);
int __wrap_EVP_MAC_init(EVP_MAC_CTX *context, const unsigned char *key, size_t size,
			const OSSL_PARAM *params);
EVP_MAC *__real_EVP_MAC_fetch(OSSL_LIB_CTX *library, const char *name, const char *properties);
EVP_MAC *__wrap_EVP_MAC_fetch(OSSL_LIB_CTX *library, const char *name, const char *properties);
int __real_EVP_MAC_CTX_set_params(EVP_MAC_CTX *context, const OSSL_PARAM params[]);
int __wrap_EVP_MAC_CTX_set_params(EVP_MAC_CTX *context, const OSSL_PARAM params[]);

int __wrap_EVP_MAC_init(EVP_MAC_CTX *context, const unsigned char *key, size_t size,
			const OSSL_PARAM *params)
{
	void (*other)(void) = meanwhile;

	meanwhile = NULL;
	if (other)
		other();
	if (served-- <= 0)
		return 0;
	settings += key != NULL;
	return is_old && !key ? 1 : __real_EVP_MAC_init(context, key, size, params);
}

EVP_MAC *__wrap_EVP_MAC_fetch(OSSL_LIB_CTX *library, const char *name, const char *properties)
{
	lookups++;
	return no_hmac ? NULL : __real_EVP_MAC_fetch(library, name, properties);
}

int __wrap_EVP_MAC_CTX_set_params(EVP_MAC_CTX *context, const OSSL_PARAM params[])
{
	return no_digest ? 0 : __real_EVP_MAC_CTX_set_params(context, params);
}

START_TEST(test_an_old_release_gets_the_key_each_time)
{
	const struct dofi_bytes data = {"data", 4};
	uint8_t expected[DOFI_HMAC_SIZE], mac[DOFI_HMAC_SIZE];

	ck_assert(dofi_hmac(expected, "key", 3, &data, 1));
	is_old = true;
	ck_assert_int_eq(dofi_crypto_start(), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert(dofi_hmac(mac, "key", 3, &data, 1));
		ck_assert_mem_eq(mac, expected, sizeof(mac));
	}
}
END_TEST

/* To look the algorithm up takes longer than an HMAC. */
START_TEST(test_the_algorithm_is_kept_until_it_is_forgotten)
{
	const struct dofi_bytes data = {"data", 4};
	uint8_t mac[DOFI_HMAC_SIZE];

	dofi_crypto_forget();
	for (int i = 1; i < 4; i++) {
		lookups = 0;
		ck_assert(dofi_hmac(mac, "key", 3, &data, 1));
		ck_assert(dofi_hmac(mac, "another key", 11, &data, 1));
		ck_assert_int_eq(lookups, 1);
		dofi_crypto_forget();
	}
}
END_TEST

/* To set a key takes nearly as long as an HMAC. */
START_TEST(test_the_key_of_the_call_before_is_kept)
{
	static const uint8_t key[65] = "key";
	static const struct {
		size_t size;
		int settings;
	} cases[] = {{1, 1}, {32, 1}, {64, 1}, {65, 3}};
	const struct dofi_bytes data = {"data", 4};
	uint8_t mac[DOFI_HMAC_SIZE];

	ck_assert_int_eq(dofi_crypto_start(), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		settings = 0;
		for (int j = 0; j < 3; j++)
			ck_assert(dofi_hmac(mac, key, cases[i].size, &data, 1));
		ck_assert_int_eq(settings, cases[i].settings);
	}
}
END_TEST

/* A policy of the host may forbid the algorithm, or the digest, or the use of a key. */
START_TEST(test_a_library_that_refuses_is_noticed_at_the_start)
{
	const struct dofi_bytes none = {NULL, 0}, secret = {"s", 1};
	uint8_t out[DOFI_HMAC_SIZE];

	dofi_crypto_forget();
	no_hmac = _i == 0;
	no_digest = _i == 1;
	served = _i == 2 ? 0 : INT_MAX;
	ck_assert_int_eq(dofi_crypto_start(), -ENOSYS);
	ck_assert(!dofi_hkdf(out, sizeof(out), none, secret, none));
	no_hmac = no_digest = false;
	served = INT_MAX;
	ck_assert_int_eq(dofi_crypto_start(), 0);
	ck_assert(dofi_hkdf(out, sizeof(out), none, secret, none));
}
END_TEST

START_TEST(test_hkdf_fails_with_each_of_its_steps)
{
	const struct dofi_bytes none = {NULL, 0}, secret = {"s", 1};
	uint8_t out[3 * DOFI_HMAC_SIZE];

	for (int steps = 0; steps < 4; steps++) {
		served = steps;
		ck_assert(!dofi_hkdf(out, sizeof(out), none, secret, none));
	}
	served = 4;
	ck_assert(dofi_hkdf(out, sizeof(out), none, secret, none));
}
END_TEST

static uint8_t by_the_other[DOFI_HMAC_SIZE];

static void compute_another(void)
{
	const struct dofi_bytes data = {"other data", 10};

	ck_assert(dofi_hmac(by_the_other, "other key", 9, &data, 1));
	dofi_crypto_forget();
}

/* Two threads at once, or a forked child whose parent was in the middle of one. */
START_TEST(test_an_hmac_in_the_middle_of_another)
{
	const struct dofi_bytes data = {"data", 4}, other = {"other data", 10};
	uint8_t expected[DOFI_HMAC_SIZE], mac[DOFI_HMAC_SIZE];

	ck_assert(dofi_hmac(expected, "key", 3, &data, 1));
	meanwhile = compute_another;
	ck_assert(dofi_hmac(mac, "key", 3, &data, 1));
	ck_assert_ptr_null(meanwhile);
	ck_assert_mem_eq(mac, expected, sizeof(mac));
	ck_assert(dofi_hmac(mac, "other key", 9, &other, 1));
	ck_assert_mem_eq(by_the_other, mac, sizeof(mac));
}
END_TEST

#if T_HOOKS
/* After success, after a failure, and of two threads at once. */
START_TEST(test_what_is_forgotten_leaves_no_memory)
{
	const struct dofi_bytes data = {"data", 4};
	uint8_t mac[DOFI_HMAC_SIZE];
	size_t before = 0;

	no_digest = _i == 1;
	dofi_crypto_forget();
	for (int i = 0; i < 220; i++) {
		if (i == 20)
			before = t_heap();
		meanwhile = _i == 2 ? compute_another : NULL;
		ck_assert_int_eq(dofi_hmac(mac, "key", 3, &data, 1), _i != 1);
		dofi_crypto_forget();
	}
	ck_assert_uint_le(t_heap(), before + 4000);
}
END_TEST
#endif

#else

START_TEST(test_the_key_of_the_call_before_is_kept)
{
	t_skip("not with this library");
}
END_TEST

#if T_HOOKS
START_TEST(test_what_is_forgotten_leaves_no_memory)
{
	t_skip("not with this library");
}
END_TEST
#endif

START_TEST(test_an_old_release_gets_the_key_each_time)
{
	t_skip("not with this library");
}
END_TEST

START_TEST(test_a_library_that_refuses_is_noticed_at_the_start)
{
	t_skip("not with this library");
}
END_TEST

START_TEST(test_the_algorithm_is_kept_until_it_is_forgotten)
{
	t_skip("not with this library");
}
END_TEST

START_TEST(test_hkdf_fails_with_each_of_its_steps)
{
	t_skip("not with this library");
}
END_TEST

START_TEST(test_an_hmac_in_the_middle_of_another)
{
	t_skip("not with this library");
}
END_TEST

#endif

/* --- HKDF --- */

static void assert_hkdf(const struct text *secret, const struct text *salt, const struct text *info,
			const char *okm)
{
	struct text expected = from_hex(okm);
	uint8_t out[MAX_BYTES];

	ck_assert(dofi_hkdf(out, expected.size, bytes_of(salt), bytes_of(secret), bytes_of(info)));
	ck_assert_mem_eq(out, expected.bytes, expected.size);
}

START_TEST(test_hkdf_case_1)
{
	struct text secret = repeated(0x0b, 22), salt = counting(0, 13), info = counting(0xf0, 10);

	assert_hkdf(&secret, &salt, &info,
		    "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887"
		    "185865");
}
END_TEST

START_TEST(test_hkdf_case_2)
{
	struct text secret = counting(0, 80), salt = counting(0x60, 80), info = counting(0xb0, 80);

	assert_hkdf(&secret, &salt, &info,
		    "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac782"
		    "7271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3"
		    "434f1d87");
}
END_TEST

START_TEST(test_hkdf_case_3)
{
	struct text secret = repeated(0x0b, 22), none = {.size = 0};

	assert_hkdf(&secret, &none, &none,
		    "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b6"
		    "1a96c8");
}
END_TEST

START_TEST(test_hkdf_refuses_too_long_an_output)
{
	static const uint8_t long_info[DOFI_HKDF_MAX_INFO + 1];
	static uint8_t out[255 * DOFI_HMAC_SIZE + 1];
	const struct dofi_bytes none = {NULL, 0}, secret = {"s", 1};

	ck_assert(dofi_hkdf(out, sizeof(out) - 1, none, secret, none));
	ck_assert(!dofi_hkdf(out, sizeof(out), none, secret, none));
	ck_assert(!dofi_hkdf(out, 32, none, secret,
			     (struct dofi_bytes){long_info, sizeof(long_info)}));
}
END_TEST

/* --- random bytes; the linker redirects these calls --- */

static int interruptions, random_error;
static bool no_memory, no_wipe, draws_meanwhile;
static uint64_t drawn_meanwhile;

ssize_t __real_getrandom(void *bytes, size_t size, unsigned int flags);
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned int flags);
void *__real_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
int __real_madvise(void *addr, size_t length, int advice);
int __wrap_madvise(void *addr, size_t length, int advice);

/* An interrupted call first returns a part. */
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned int flags)
{
	if (interruptions) {
		if (interruptions-- % 2)
			return __real_getrandom(bytes, size / 2, flags);
		errno = EINTR;
		return -1;
	}
	if (draws_meanwhile) {
		draws_meanwhile = false;
		ck_assert_int_eq(dofi_random(&drawn_meanwhile, sizeof(drawn_meanwhile)), 0);
	}
	errno = random_error;
	return random_error ? -1 : __real_getrandom(bytes, size, flags);
}

void *__wrap_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	errno = ENOMEM;
	return no_memory ? MAP_FAILED : __real_mmap(addr, length, prot, flags, fd, offset);
}

/* Kernels before 4.14 do not know MADV_WIPEONFORK. */
int __wrap_madvise(void *addr, size_t length, int advice)
{
	errno = EINVAL;
	return no_wipe && advice == MADV_WIPEONFORK ? -1 : __real_madvise(addr, length, advice);
}

START_TEST(test_random_bytes_do_not_come_twice)
{
	enum { DRAWS = 2000 };
	static uint64_t draws[DRAWS];

	for (int i = 0; i < DRAWS; i++)
		ck_assert_int_eq(dofi_random(&draws[i], sizeof(draws[i])), 0);
	for (int i = 0; i < DRAWS; i++)
		for (int j = 0; j < i; j++)
			ck_assert_uint_ne(draws[i], draws[j]);
}
END_TEST

START_TEST(test_random_bytes_without_a_pool)
{
	uint64_t one = 0, other = 0;

	no_memory = _i == 0;
	no_wipe = _i == 1;
	ck_assert_int_eq(dofi_random(&one, sizeof(one)), 0);
	ck_assert_int_eq(dofi_random(&other, sizeof(other)), 0);
	no_memory = false;
	ck_assert_uint_ne(one, other);
}
END_TEST

START_TEST(test_random_bytes_of_a_call_that_signals_interrupt)
{
	uint64_t draws[512];

	interruptions = 4;
	ck_assert_int_eq(dofi_random(draws, sizeof(draws)), 0);
	ck_assert_int_eq(interruptions, 0);
	for (int i = 1; i < 512; i++)
		ck_assert_uint_ne(draws[i], draws[i - 1]);
}
END_TEST

/* A failure is reported, and the next call that can be served is. */
START_TEST(test_without_random_bytes_the_call_fails)
{
	uint64_t one = 0;

	random_error = ENOSYS;
	ck_assert_int_eq(dofi_random(&one, sizeof(one)), -ENOSYS);
	ck_assert_uint_eq(one, 0);
	random_error = 0;
	ck_assert_int_eq(dofi_random(&one, sizeof(one)), 0);
	ck_assert_uint_ne(one, 0);
}
END_TEST

/* The kernel serves a thread that finds the pool in use. */
START_TEST(test_random_bytes_while_another_thread_fills_the_pool)
{
	uint64_t ours = 0;

	draws_meanwhile = true;
	ck_assert_int_eq(dofi_random(&ours, sizeof(ours)), 0);
	ck_assert(!draws_meanwhile);
	ck_assert_uint_ne(drawn_meanwhile, 0);
	ck_assert_uint_ne(ours, drawn_meanwhile);
}
END_TEST

START_TEST(test_random_fills_more_than_the_pool)
{
	static uint8_t bytes[3 * 4096];
	size_t zeros = 0;

	ck_assert_int_eq(dofi_random(bytes, sizeof(bytes)), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		zeros += !bytes[i];
	ck_assert_uint_lt(zeros, sizeof(bytes) / 64);
}
END_TEST

/* Parent and child use a pool that the parent has filled. */
START_TEST(test_a_child_draws_other_bytes_than_its_parent)
{
	uint8_t ours[64], theirs[64];
	int sock[2], status;
	pid_t child;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sock), 0);
	ck_assert_int_eq(dofi_random(ours, sizeof(ours)), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		status = dofi_random(theirs, sizeof(theirs)) ||
			 write(sock[1], theirs, sizeof(theirs)) != sizeof(theirs);
		_exit(status);
	}
	ck_assert_int_eq(dofi_random(ours, sizeof(ours)), 0);
	ck_assert_int_eq(read(sock[0], theirs, sizeof(theirs)), sizeof(theirs));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_mem_ne(ours, theirs, sizeof(ours));
}
END_TEST

/* --- compare and wipe --- */

START_TEST(test_equal_compares_every_byte)
{
	uint8_t a[32], b[32];

	ck_assert_int_eq(dofi_random(a, sizeof(a)), 0);
	memcpy(b, a, sizeof(b));
	ck_assert(dofi_crypto_equal(a, b, sizeof(a)));
	for (size_t i = 0; i < sizeof(a); i++) {
		b[i] ^= 1;
		ck_assert(!dofi_crypto_equal(a, b, sizeof(a)));
		b[i] ^= 1;
	}
}
END_TEST

START_TEST(test_wipe_leaves_zeros)
{
	uint8_t bytes[32], zeros[32] = {0};

	ck_assert_int_eq(dofi_random(bytes, sizeof(bytes)), 0);
	dofi_wipe(bytes, sizeof(bytes));
	ck_assert_mem_eq(bytes, zeros, sizeof(bytes));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("crypto");
	TCase *tcase = tcase_create("crypto");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_loop_test(tcase, test_hmac_case, 0, 6);
	tcase_add_loop_test(tcase, test_hmac_of_parts_is_that_of_the_whole, 0, 6);
	tcase_add_test(tcase, test_hmac_refuses_data_beyond_its_limit);
	tcase_add_test(tcase, test_hmac_by_a_prepared_key_is_that_by_the_key);
	tcase_add_test(tcase, test_hmac_with_an_empty_key_uses_no_earlier_one);
	tcase_add_test(tcase, test_hmac_after_one_by_a_similar_key);
	tcase_add_test(tcase, test_an_old_release_gets_the_key_each_time);
	tcase_add_loop_test(tcase, test_a_library_that_refuses_is_noticed_at_the_start, 0, 3);
	tcase_add_test(tcase, test_the_algorithm_is_kept_until_it_is_forgotten);
	tcase_add_test(tcase, test_the_key_of_the_call_before_is_kept);
#if T_HOOKS
	tcase_add_loop_test(tcase, test_what_is_forgotten_leaves_no_memory, 0, 3);
#endif
	tcase_add_test(tcase, test_hkdf_fails_with_each_of_its_steps);
	tcase_add_test(tcase, test_an_hmac_in_the_middle_of_another);
	tcase_add_test(tcase, test_hkdf_case_1);
	tcase_add_test(tcase, test_hkdf_case_2);
	tcase_add_test(tcase, test_hkdf_case_3);
	tcase_add_test(tcase, test_hkdf_refuses_too_long_an_output);
	tcase_add_test(tcase, test_random_bytes_do_not_come_twice);
	tcase_add_loop_test(tcase, test_random_bytes_without_a_pool, 0, 2);
	tcase_add_test(tcase, test_random_bytes_of_a_call_that_signals_interrupt);
	tcase_add_test(tcase, test_without_random_bytes_the_call_fails);
	tcase_add_test(tcase, test_random_bytes_while_another_thread_fills_the_pool);
	tcase_add_test(tcase, test_random_fills_more_than_the_pool);
	tcase_add_test(tcase, test_a_child_draws_other_bytes_than_its_parent);
	tcase_add_test(tcase, test_equal_compares_every_byte);
	tcase_add_test(tcase, test_wipe_leaves_zeros);
	suite_add_tcase(suite, tcase);
	return t_run(suite);
}
