/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program with more rights than its user does not pass variables on to the libraries below. */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/base/secure.h"

#include <errno.h>
#include <sys/auxv.h>

/* --- the C library; the linker redirects these calls --- */

T_STAND_IN unsigned long __wrap_getauxval(unsigned long type);
T_STAND_IN int __wrap_unsetenv(const char *name);
int __real_unsetenv(const char *name);

static bool elevated;
static const char *stays; /* the variable that cannot be removed */

unsigned long __wrap_getauxval(unsigned long type)
{
	ck_assert_uint_eq(type, AT_SECURE);
	return elevated;
}

int __wrap_unsetenv(const char *name)
{
	if (stays && !strcmp(name, stays)) {
		errno = ENOMEM;
		return -1;
	}
	return __real_unsetenv(name);
}

/* --- */

static const char *const dangerous[] = {"FI_PROVIDER",  "HWLOC_XMLFILE",
					"PSM2_DEVICES", "PSM3_NIC",
					"HFI_UNIT",     "UCX_TLS",
					"IBV_FORK",     "RDMAV_HUGEPAGES_SAFE",
					"MLX4_DEVICE",  "MLX5_SINGLE_THREADED"};
static const char *const harmless[] = {"T_HOME", "XFI_PROVIDER", "F",
				       "FI",     "fi_provider",  "DAT_OFI_LOG"};

#define NUMBER(list) (sizeof(list) / sizeof((list)[0]))

static int fd;

static void setup(void)
{
	clearenv();
	for (size_t i = 0; i < NUMBER(dangerous); i++)
		setenv(dangerous[i], "1=2", 1);
	for (size_t i = 0; i < NUMBER(harmless); i++)
		setenv(harmless[i], i ? "FI_X" : "", 1);
	fd = t_capture(STDERR_FILENO);
}

static bool is_told(const char *name)
{
	const char *at = strstr(t_captured(fd), name);

	return at && !strncmp(at + strlen(name), " is not taken", strlen(" is not taken"));
}

START_TEST(variables_of_other_libraries_are_removed_and_named)
{
	elevated = true;
	dofi_secure_environment();
	for (size_t i = 0; i < NUMBER(dangerous); i++) {
		ck_assert_msg(!getenv(dangerous[i]), "%s", dangerous[i]);
		ck_assert_msg(is_told(dangerous[i]), "%s", dangerous[i]);
	}
	for (size_t i = 0; i < NUMBER(harmless); i++)
		ck_assert_str_eq(getenv(harmless[i]), i ? "FI_X" : "");
}
END_TEST

START_TEST(other_programs_keep_their_variables)
{
	dofi_secure_environment();
	for (size_t i = 0; i < NUMBER(dangerous); i++)
		ck_assert_str_eq(getenv(dangerous[i]), "1=2");
	ck_assert_str_eq(t_captured(fd), "");
}
END_TEST

/* The others after it are removed nevertheless. */
START_TEST(a_variable_that_stays_has_another_name)
{
	elevated = true;
	stays = dangerous[_i];
	dofi_secure_environment();
	for (size_t i = 0; i < NUMBER(dangerous); i++)
		ck_assert_msg(!getenv(dangerous[i]), "%s", dangerous[i]);
	ck_assert(!is_told(stays));
}
END_TEST

/* The names around the longest that is removed by its name. */
START_TEST(a_variable_with_a_long_name_is_not_read)
{
	char name[300] = "FI_";
	size_t length = 254 + (size_t)_i;

	memset(name + 3, 'X', length - 3);
	setenv(name, "1", 1);
	setenv("FI_LAST", "1", 1);
	elevated = true;
	dofi_secure_environment();
	ck_assert_ptr_null(getenv(name));
	ck_assert_ptr_null(getenv("FI_LAST"));
}
END_TEST

START_TEST(a_program_without_an_environment)
{
	clearenv();
	elevated = true;
	dofi_secure_environment();
	ck_assert_str_eq(t_captured(fd), "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("secure");
	TCase *tc = tcase_create("secure");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, variables_of_other_libraries_are_removed_and_named);
	tcase_add_test(tc, other_programs_keep_their_variables);
	tcase_add_loop_test(tc, a_variable_that_stays_has_another_name, 0, NUMBER(dangerous));
	tcase_add_loop_test(tc, a_variable_with_a_long_name_is_not_read, 0, 4);
	tcase_add_test(tc, a_program_without_an_environment);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
