/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* All suites in one program: CK_RUN_SUITE and CK_RUN_CASE select, T_IA names the IA. */
#include "conform.h"

struct t_ia t_tia;

static void open_ia(void)
{
	t_ia_open(&t_tia);
}

static void close_ia(void)
{
	t_ia_close(&t_tia);
}

TCase *conform_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, open_ia, close_ia);
	suite_add_tcase(suite, tcase);
	return tcase;
}

int main(void)
{
	static Suite *(*const others[])(void) = {
		conform_handles, conform_evd, conform_cno, conform_mem,
		conform_sp, conform_registry_errors, conform_ep, conform_eps,
		conform_dto, conform_events, conform_prg,
	};
	SRunner *runner = srunner_create(conform_ia());
	int failed;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		srunner_add_suite(runner, others[i]());
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
