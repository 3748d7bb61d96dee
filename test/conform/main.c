/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* All suites in one program: CK_RUN_SUITE and CK_RUN_CASE select, T_IA names the IA. */
#include "conform.h"

#include <dlfcn.h>
#include <rdma/fabric.h>

/*
 * libfabric loads its providers once per process, which is slow. So this runs before the tests
 * fork. It does not run with verbs devices (T_VERBS): libfabric opens them, and objects that a
 * child creates on a device of its parent outlive the child.
 */
static void load_fabrics(void)
{
	void *lib = getenv("T_VERBS") ? NULL : dlopen("libfabric.so.1", RTLD_NOW);
	struct fi_info *info = NULL;
	__typeof__(fi_getinfo) *getinfo =
		lib ? (__typeof__(getinfo))dlsym(lib, "fi_getinfo") : NULL;

	/* The list is never freed, because the program uses it until its end. */
	if (getinfo)
		getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &info);
}

/* The program may be one of several that share the suites: PART counts from 0. */
#ifndef PARTS
#define PART  0
#define PARTS 1
#endif

int main(void)
{
	static Suite *(*const suites[])(void) = {
		conform_ia,      conform_handles, conform_evd,   conform_queue,   conform_cno,
		conform_mem,     conform_access,  conform_sp,    conform_cr,      conform_registry,
		conform_errors,  conform_ep,      conform_eps,   conform_dto,     conform_events,
		conform_prg,     conform_late,    conform_gone,  conform_process, conform_loose,
		conform_srq,     conform_ext,     conform_wmark, conform_srq_ep,  conform_ud,
		conform_records,
	};
	SRunner *runner = srunner_create(NULL);

	for (size_t i = PART; i < sizeof(suites) / sizeof(suites[0]); i += PARTS)
		srunner_add_suite(runner, suites[i]());
	load_fabrics();
	return t_run_all(runner);
}
