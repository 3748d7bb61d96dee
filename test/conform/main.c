/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* All suites in one program: CK_RUN_SUITE and CK_RUN_CASE select, T_IA names the IA. */
#include "conform.h"

int main(void)
{
	static Suite *(*const others[])(void) = {
		conform_handles, conform_evd, conform_queue, conform_cno, conform_mem, conform_access,
		conform_sp, conform_cr, conform_registry, conform_errors, conform_ep, conform_eps,
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
