/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Proofs and seals: a side accepts what the other side has made, and nothing else. */
#include "../../../prov/ofi/auth/session.h"
#include "../../lib/unit.h"

#include <string.h>

/* --- the library; the linker redirects these calls --- */

static bool refuses, refuses_prepared;

bool __real_dofi_hmac(uint8_t mac[DOFI_HMAC_SIZE], const void *key, size_t key_size,
		      const struct dofi_bytes *parts, size_t n);
bool __wrap_dofi_hmac(uint8_t mac[DOFI_HMAC_SIZE], const void *key, size_t key_size,
		      const struct dofi_bytes *parts, size_t n);
bool __real_dofi_hmac_by(uint8_t mac[DOFI_HMAC_SIZE], const struct dofi_hmac_key *prepared,
			 const struct dofi_bytes *parts, size_t n);
bool __wrap_dofi_hmac_by(uint8_t mac[DOFI_HMAC_SIZE], const struct dofi_hmac_key *prepared,
			 const struct dofi_bytes *parts, size_t n);

bool __wrap_dofi_hmac(uint8_t mac[DOFI_HMAC_SIZE], const void *key, size_t key_size,
		      const struct dofi_bytes *parts, size_t n)
{
	return !refuses && __real_dofi_hmac(mac, key, key_size, parts, n);
}

bool __wrap_dofi_hmac_by(uint8_t mac[DOFI_HMAC_SIZE], const struct dofi_hmac_key *prepared,
			 const struct dofi_bytes *parts, size_t n)
{
	return !refuses_prepared && __real_dofi_hmac_by(mac, prepared, parts, n);
}

/* --- */

static struct dofi_key key, other_key;
static struct dofi_handshake shake;
static struct dofi_session dialler, acceptor;

static void setup(void)
{
	memset(&key, 0, sizeof(key));
	memset(key.bytes, 1, sizeof(key.bytes));
	other_key = key;
	other_key.bytes[31] ^= 1;
	memset(&shake, 0, sizeof(shake));
	shake.dials_size = shake.accepts_size = 37;
	memset(shake.dials, 0xd1, shake.dials_size);
	memset(shake.accepts, 0xac, shake.accepts_size);
	shake.port = 4711;
	memset(&dialler, 0xff, sizeof(dialler));
	memset(&acceptor, 0xff, sizeof(acceptor));
	ck_assert(dofi_session_start(&dialler, &key, DOFI_ROLE_DIALS, &shake));
	ck_assert(dofi_session_start(&acceptor, &key, DOFI_ROLE_ACCEPTS, &shake));
}

/* --- proofs --- */

static bool same_proof(const struct dofi_key *k, enum dofi_role role,
		       const struct dofi_handshake *s)
{
	struct dofi_session other;

	ck_assert(dofi_session_start(&other, k, DOFI_ROLE_ACCEPTS, s));
	return !memcmp(dofi_session_proof(&dialler, DOFI_ROLE_DIALS),
		       dofi_session_proof(&other, role), DOFI_PROOF_SIZE);
}

START_TEST(test_a_proof_depends_on_key_role_and_both_hellos)
{
	struct dofi_handshake changed;

	ck_assert(same_proof(&key, DOFI_ROLE_DIALS, &shake));
	ck_assert(!same_proof(&other_key, DOFI_ROLE_DIALS, &shake));
	/* reflected to its sender */
	ck_assert(!same_proof(&key, DOFI_ROLE_ACCEPTS, &shake));
	for (uint32_t i = 0; i < shake.dials_size; i++) {
		changed = shake;
		changed.dials[i] ^= 0x80;
		ck_assert(!same_proof(&key, DOFI_ROLE_DIALS, &changed));
		changed = shake;
		changed.accepts[i] ^= 0x80;
		ck_assert(!same_proof(&key, DOFI_ROLE_DIALS, &changed));
	}
	changed = shake;
	changed.port++;
	ck_assert(!same_proof(&key, DOFI_ROLE_DIALS, &changed));
	/* the border between the two HELLOs counts */
	changed = shake;
	changed.dials_size++;
	changed.accepts_size--;
	changed.dials[37] = 0xac;
	ck_assert(!same_proof(&key, DOFI_ROLE_DIALS, &changed));
}
END_TEST

START_TEST(test_a_proof_is_not_the_key_of_the_session)
{
	struct dofi_hmac_key other;

	memset(&other, 0, sizeof(other));
	dofi_hmac_prepare(&other, dialler.proofs, sizeof(dialler.proofs));
	ck_assert_mem_ne(&other, &dialler.key, sizeof(other));
	dofi_hmac_prepare(&other, key.bytes, sizeof(key.bytes));
	ck_assert_mem_ne(&other, &dialler.key, sizeof(other));
	ck_assert_mem_eq(&acceptor.key, &dialler.key, sizeof(other));
}
END_TEST

START_TEST(test_no_two_sessions_have_the_same_key)
{
	struct dofi_session other;

	shake.accepts[5]++;
	ck_assert(dofi_session_start(&other, &key, DOFI_ROLE_DIALS, &shake));
	ck_assert_mem_ne(&other.key, &dialler.key, sizeof(other.key));
}
END_TEST

/* --- seals --- */

static const char frame[] = "a frame of the control channel";

static void seal(uint8_t mac[DOFI_SEAL_SIZE])
{
	ck_assert(dofi_session_seal(&dialler, mac, frame, sizeof(frame)));
}

static bool opens(const uint8_t mac[DOFI_SEAL_SIZE])
{
	return dofi_session_check(&acceptor, mac, frame, sizeof(frame));
}

START_TEST(test_frames_in_order_are_accepted)
{
	uint8_t mac[DOFI_SEAL_SIZE];

	for (int i = 0; i < 300; i++) {
		seal(mac);
		ck_assert(opens(mac));
	}
}
END_TEST

START_TEST(test_a_repeated_frame_is_refused)
{
	uint8_t mac[DOFI_SEAL_SIZE];

	seal(mac);
	ck_assert(opens(mac));
	ck_assert(!opens(mac));
}
END_TEST

START_TEST(test_swapped_frames_are_refused)
{
	uint8_t first[DOFI_SEAL_SIZE], second[DOFI_SEAL_SIZE];

	seal(first);
	seal(second);
	ck_assert(!opens(second)); /* the first one is missing */
	ck_assert(opens(first));
	ck_assert(opens(second));
}
END_TEST

START_TEST(test_a_reflected_frame_is_refused)
{
	uint8_t mac[DOFI_SEAL_SIZE];

	seal(mac);
	ck_assert(!dofi_session_check(&dialler, mac, frame, sizeof(frame)));
}
END_TEST

START_TEST(test_every_bit_of_frame_and_seal_counts)
{
	uint8_t mac[DOFI_SEAL_SIZE];
	char copy[sizeof(frame)];

	seal(mac);
	for (size_t bit = 0; bit < 8 * sizeof(mac); bit++) {
		mac[bit / 8] ^= (uint8_t)(1 << bit % 8);
		ck_assert(!opens(mac));
		mac[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < 8 * sizeof(frame); bit++) {
		memcpy(copy, frame, sizeof(copy));
		copy[bit / 8] ^= (char)(1 << bit % 8);
		ck_assert(!dofi_session_check(&acceptor, mac, copy, sizeof(copy)));
	}
	ck_assert(!dofi_session_check(&acceptor, mac, frame, sizeof(frame) - 1));
	ck_assert(opens(mac));
}
END_TEST

/* Peers of other releases and other byte orders compute the same. */
START_TEST(test_proofs_and_seals_are_those_of_the_protocol)
{
	static const uint8_t proofs[2 * DOFI_PROOF_SIZE] = {0xa9, 0x81, 0x65, 0x58, 0x88, 0xe8,
							    0x3f, 0x7f, 0xd7, 0x38, 0x50, 0x32,
							    0x08, 0x74, 0x6e, 0x10, 0x66, 0x5e,
							    0x18, 0x24, 0xbd, 0x0f, 0x08, 0x0b,
							    0x25, 0x16, 0xac, 0xb3, 0x4c, 0x7a,
							    0xe6, 0xf3};
	static const uint8_t first[DOFI_SEAL_SIZE] = {0x21, 0xb6, 0xd7, 0x25, 0x23, 0xd9,
						      0xfe, 0x13, 0x1b, 0xac, 0x60, 0x22,
						      0xf7, 0x0e, 0xc2, 0xf0};
	static const uint8_t later[DOFI_SEAL_SIZE] = {0x3e, 0x37, 0x0a, 0x0d, 0x1e, 0x61,
						      0x62, 0x86, 0x59, 0x2c, 0xfb, 0x6b,
						      0xa1, 0x4c, 0x59, 0xc1};
	uint8_t mac[DOFI_SEAL_SIZE];

	ck_assert_mem_eq(dialler.proofs, proofs, sizeof(proofs));
	ck_assert_mem_eq(acceptor.proofs, proofs, sizeof(proofs));
	seal(mac);
	ck_assert_mem_eq(mac, first, sizeof(mac));
	dialler.tx_number = 0x0102030405060708;
	seal(mac);
	ck_assert_mem_eq(mac, later, sizeof(mac));
}
END_TEST

START_TEST(test_a_session_with_a_key_seals_its_frames)
{
	ck_assert(dialler.sealed && acceptor.sealed);
	ck_assert_int_eq(dialler.role, DOFI_ROLE_DIALS);
	ck_assert_int_eq(acceptor.role, DOFI_ROLE_ACCEPTS);
}
END_TEST

/* Without a seal no frame is sent or accepted, and none is counted. */
START_TEST(test_a_library_that_refuses_seals_nothing)
{
	uint8_t mac[DOFI_SEAL_SIZE];

	seal(mac);
	refuses_prepared = true;
	ck_assert(!dofi_session_seal(&dialler, mac, frame, sizeof(frame)));
	ck_assert(!opens(mac));
	refuses_prepared = false;
	ck_assert(opens(mac));
	seal(mac);
	ck_assert(opens(mac));
}
END_TEST

START_TEST(test_a_library_that_refuses_starts_no_session)
{
	struct dofi_session other;

	refuses = _i;
	refuses_prepared = !_i;
	ck_assert(!dofi_session_start(&other, &key, DOFI_ROLE_DIALS, &shake));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("session");
	TCase *tcase = tcase_create("session");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, test_a_proof_depends_on_key_role_and_both_hellos);
	tcase_add_test(tcase, test_a_proof_is_not_the_key_of_the_session);
	tcase_add_test(tcase, test_no_two_sessions_have_the_same_key);
	tcase_add_test(tcase, test_frames_in_order_are_accepted);
	tcase_add_test(tcase, test_a_repeated_frame_is_refused);
	tcase_add_test(tcase, test_swapped_frames_are_refused);
	tcase_add_test(tcase, test_a_reflected_frame_is_refused);
	tcase_add_test(tcase, test_every_bit_of_frame_and_seal_counts);
	tcase_add_test(tcase, test_proofs_and_seals_are_those_of_the_protocol);
	tcase_add_test(tcase, test_a_session_with_a_key_seals_its_frames);
	tcase_add_test(tcase, test_a_library_that_refuses_seals_nothing);
	tcase_add_loop_test(tcase, test_a_library_that_refuses_starts_no_session, 0, 2);
	suite_add_tcase(suite, tcase);
	return t_run(suite);
}
