/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which variables of libfabric are set for which provider, and by whom. */
#include "unit.h"

#include "../../../prov/ofi/fabric/env.h"
#include "../../../prov/ofi/fabric/quirks.h"

#include <errno.h>
#include <string.h>

#define VARIABLE "FI_OFI_RXM_SAR_LIMIT"

/* --- the memory of the environment --- */

static bool full;

int __real_setenv(const char *name, const char *value, int overwrite);
int __wrap_setenv(const char *name, const char *value, int overwrite);

int __wrap_setenv(const char *name, const char *value, int overwrite)
{
	if (!full)
		return __real_setenv(name, value, overwrite);
	errno = ENOMEM;
	return -1;
}

/* --- */

static void setup(void)
{
	unsetenv(VARIABLE);
	unsetenv("PSM3_RCVTHREAD");
}

/* What the variable is after an endpoint was made; "" when it is not there. */
static const char *after(uint64_t quirks)
{
	const char *value;

	ck_assert_int_eq(dofi_fabric_env_choose("rxm", quirks), 0);
	value = getenv(VARIABLE);
	return value ? value : "";
}

START_TEST(rxm_sends_no_parts)
{
	ck_assert_str_eq(after(DOFI_QUIRK_SPLIT_MESSAGES), "1");
	ck_assert_ptr_null(getenv("PSM3_RCVTHREAD"));
}
END_TEST

START_TEST(another_provider)
{
	ck_assert_str_eq(after(~(DOFI_QUIRK_SPLIT_MESSAGES | DOFI_QUIRK_RECEIVE_THREAD)), "");
	ck_assert_ptr_null(getenv("PSM3_RCVTHREAD"));
}
END_TEST

START_TEST(psm3_gets_no_thread)
{
	ck_assert_str_eq(after(DOFI_QUIRK_RECEIVE_THREAD), "");
	ck_assert_str_eq(getenv("PSM3_RCVTHREAD"), "0");
	setenv("PSM3_RCVTHREAD", "1", 1);
	ck_assert_str_eq(after(DOFI_QUIRK_RECEIVE_THREAD), "");
	ck_assert_str_eq(getenv("PSM3_RCVTHREAD"), "1");
}
END_TEST

START_TEST(who_has_set_it_knows)
{
	setenv(VARIABLE, "65536", 1);
	ck_assert_str_eq(after(DOFI_QUIRK_SPLIT_MESSAGES), "65536");
}
END_TEST

START_TEST(the_environment_is_full)
{
	full = true;
	ck_assert_int_eq(dofi_fabric_env_choose("rxm", DOFI_QUIRK_SPLIT_MESSAGES), -ENOMEM);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fabric_env");
	TCase *tc = tcase_create("variables");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, rxm_sends_no_parts);
	tcase_add_test(tc, another_provider);
	tcase_add_test(tc, psm3_gets_no_thread);
	tcase_add_test(tc, who_has_set_it_knows);
	tcase_add_test(tc, the_environment_is_full);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
