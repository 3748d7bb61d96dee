/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The provider in a process without a registry: a program that loads it by itself. This program
 * does not export its functions, so the provider finds no dat_registry_add_provider.
 */
#include "unit.h"

#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <string.h>
#include <unistd.h>

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *ia_params);
void dat_provider_fini(const DAT_PROVIDER_INFO *info);
void dapl_extensions(void);

static const DAT_PROVIDER_INFO info = {.ia_name = "ofi-tcp",
				       .dapl_version_major = DAT_VERSION_MAJOR,
				       .dapl_version_minor = DAT_VERSION_MINOR};

START_TEST(a_process_without_a_registry_is_told)
{
	int fd = t_capture(STDERR_FILENO);

	dat_provider_init(&info, "");
	ck_assert_ptr_nonnull(
		strstr(t_captured(fd), "ofi-tcp: nothing in this process is a DAT registry"));
	dat_provider_fini(&info);
	dat_provider_fini(NULL);
	dapl_extensions();
}
END_TEST

/* A name of untrusted length is not read behind its end. */
START_TEST(a_name_without_an_end_is_ignored)
{
	int fd = t_capture(STDERR_FILENO);
	DAT_PROVIDER_INFO endless = info;

	memset(endless.ia_name, 'x', sizeof(endless.ia_name));
	dat_provider_init(&endless, "");
	dat_provider_init(NULL, "");
	ck_assert_str_eq(t_captured(fd), "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("no_registry");
	TCase *tcase = tcase_create("no_registry");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, a_process_without_a_registry_is_told);
	tcase_add_test(tcase, a_name_without_an_end_is_ignored);
	return t_run(suite);
}
