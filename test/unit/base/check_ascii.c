/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Letters of names. */
#include "unit.h"

#include "../../../prov/ofi/base/ascii.h"

START_TEST(only_letters_have_a_case)
{
	static const char lower[] = "abcdefghijklmnopqrstuvwxyz";
	static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	for (int i = 0; i < 256; i++) {
		char c = (char)i;
		const char *l = c ? strchr(lower, c) : NULL, *u = c ? strchr(upper, c) : NULL;

		ck_assert_int_eq(dofi_ascii_lower(c), u ? lower[u - upper] : c);
		ck_assert_int_eq(dofi_ascii_upper(c), l ? upper[l - lower] : c);
	}
}
END_TEST

START_TEST(names_are_compared_without_regard_to_case)
{
	ck_assert(dofi_ascii_same("info", "INFO", SIZE_MAX));
	ck_assert(dofi_ascii_same("quiet_MS", "Quiet_ms", SIZE_MAX));
	ck_assert(dofi_ascii_same("", "", SIZE_MAX));
	ck_assert(!dofi_ascii_same("info", "infos", SIZE_MAX));
	ck_assert(!dofi_ascii_same("infos", "info", SIZE_MAX));
	ck_assert(!dofi_ascii_same("info", "into", SIZE_MAX));
	ck_assert(!dofi_ascii_same("@", "`", SIZE_MAX));
	ck_assert(!dofi_ascii_same("[", "{", SIZE_MAX));
}
END_TEST

START_TEST(at_most_so_many_characters_are_compared)
{
	ck_assert(dofi_ascii_same("tcp,shm", "TCP;ofi_rxm", 3));
	ck_assert(!dofi_ascii_same("tcp,shm", "TCP;ofi_rxm", 4));
	ck_assert(!dofi_ascii_same("tc", "TCP", 3));
	ck_assert(dofi_ascii_same("a", "b", 0));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ascii");
	TCase *tc = tcase_create("ascii");

	tcase_add_test(tc, only_letters_have_a_case);
	tcase_add_test(tc, names_are_compared_without_regard_to_case);
	tcase_add_test(tc, at_most_so_many_characters_are_compared);
	suite_add_tcase(s, tc);
	return t_run(s);
}
