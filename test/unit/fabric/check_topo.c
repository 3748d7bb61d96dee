/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sets of CPUs, and those of a control group. */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "fabric/topo.h"

#include "../../lib/t_hooks.h"
#include "../../lib/t_machine.h"
#include "../../lib/unit.h"

/* Lists as the kernel writes them, and texts that are none. */
START_TEST(lists_of_cpus)
{
	static const char *const wrong[] = {"",   "x",    "1x",  "1-",    "1-x",  "3-1",
					    "1,", "1,,2", "1 2", "00001", "9999", "1-9999"};
	struct dofi_cpus cpus;
	char text[64];

	ck_assert(dofi_cpus_parse(&cpus, "0-3,8,10-11"));
	ck_assert_str_eq(dofi_cpus_text(&cpus, text, sizeof(text)), "0-3,8,10-11");
	/* The library counts no CPUs beyond. */
	snprintf(text, sizeof(text), "2,%u", DOFI_CPUS_MAX);
	ck_assert(!dofi_cpus_parse(&cpus, text));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(!dofi_cpus_parse(&cpus, wrong[i]), "%s", wrong[i]);
}
END_TEST

/* Of the whole set each CPU counts, and no memory behind it is used. */
START_TEST(sets_of_cpus)
{
	static const unsigned int cpus[] = {0, 1, 63, 64, 65, 500, DOFI_CPUS_MAX - 1};
	static const struct dofi_cpus none;
	struct {
		struct dofi_cpus set;
		unsigned long behind;
	} all, one, both;
	char text[32], wanted[32];

	memset(&all, 0xff, sizeof(all));
	ck_assert_str_eq(dofi_cpus_text(&all.set, text, sizeof(text)), "0-8191");
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		struct dofi_cpus rest = all.set;

		memset(&one, 0, sizeof(one));
		ck_assert(dofi_cpus_empty(&one.set));
		one.behind = 1;
		ck_assert(dofi_cpus_empty(&one.set));
		dofi_cpus_add(&one.set, cpus[i]);
		ck_assert(!dofi_cpus_empty(&one.set));
		memset(&both, 0, sizeof(both));
		dofi_cpus_and(&both.set, &one.set, &all.set);
		ck_assert_mem_eq(&both.set, &one.set, sizeof(one.set));
		ck_assert_uint_eq(both.behind, 0);
		rest.bits[cpus[i] / (8 * sizeof(long))] ^= 1ul << cpus[i] % (8 * sizeof(long));
		dofi_cpus_and(&both.set, &one.set, &rest);
		ck_assert(dofi_cpus_empty(&both.set));
		all.behind = 0;
		ck_assert(dofi_cpus_within(&one.set, &all.set));
		all.behind = ~0ul;
		ck_assert(!dofi_cpus_within(&one.set, &rest));
		ck_assert(!dofi_cpus_within(&all.set, &rest));
		ck_assert(dofi_cpus_within(&none, &one.set));
		snprintf(wanted, sizeof(wanted), "%u", cpus[i]);
		ck_assert_str_eq(dofi_cpus_text(&one.set, text, sizeof(text)), wanted);
		ck_assert(dofi_cpus_parse(&both.set, text));
		ck_assert_mem_eq(&both.set, &one.set, sizeof(one.set));
	}
}
END_TEST

START_TEST(a_list_of_cpus_that_is_cut_off)
{
	static const char whole[] = "0-3,8,10-11";
	struct dofi_cpus cpus;
	char text[32];

	ck_assert(dofi_cpus_parse(&cpus, whole));
	for (size_t size = 1; size <= sizeof(whole) + 1; size++) {
		memset(text, '#', sizeof(text));
		dofi_cpus_text(&cpus, text, size);
		ck_assert_uint_lt(strnlen(text, size), size);
		ck_assert_int_eq(strncmp(text, whole, strlen(text)), 0);
		ck_assert_int_eq(text[size], '#');
	}
	ck_assert_str_eq(dofi_cpus_text(&cpus, text, sizeof(whole)), whole);
}
END_TEST

START_TEST(binding_a_thread)
{
	struct dofi_cpus cpus;
	cpu_set_t now;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(now), &now), 0);
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &now)) {
			memset(&cpus, 0, sizeof(cpus));
			dofi_cpus_add(&cpus, cpu);
		}
	ck_assert_int_eq(dofi_cpus_bind(&cpus), 0);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(now), &now), 0);
	ck_assert_int_eq(CPU_COUNT(&now), 1);
	memset(&cpus, 0, sizeof(cpus));
	ck_assert_int_eq(dofi_cpus_bind(&cpus), EINVAL);
}
END_TEST

/* --- control groups; the linker redirects fopen --- */

static const char *cgroup; /* what the kernel tells of this process; NULL: nothing */

FILE *__real_fopen(const char *path, const char *mode);
T_STAND_IN FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (strcmp(path, "/proc/self/cgroup") != 0)
		return __real_fopen(path, mode);
	return cgroup ? fmemopen((void *)(uintptr_t)cgroup, strlen(cgroup), mode) : NULL;
}

/* A group without CPUs of its own has those of the nearest group above it. */
START_TEST(cpus_of_the_control_group)
{
	static const struct {
		const char *cgroup, *cpus; /* NULL: not known */
	} cases[] = {
		{"0::/job/step\n", "4-5"}, {"0::/job/step/task\n", "4-5"},
		{"0::/job\n", "4-7"},      {"0::/other\n", "0-7"},
		{"0::/\n", "0-7"},         {"0::/bad\n", NULL},
		{"1:cpu:/job\n", NULL},    {NULL, NULL},
	};
	struct dofi_cpus cpus;
	char list[64];

	t_machine_put("fs/cgroup/job/step/cpuset.cpus.effective", "4-5\n");
	t_machine_put("fs/cgroup/job/cpuset.cpus.effective", "4-7\n");
	t_machine_put("fs/cgroup/cpuset.cpus.effective", "0-7\n");
	t_machine_put("fs/cgroup/bad/cpuset.cpus.effective", "all\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cgroup = cases[i].cgroup;
		ck_assert_int_eq(dofi_cpus_of_group(&cpus), cases[i].cpus != NULL);
		if (cases[i].cpus)
			ck_assert_str_eq(dofi_cpus_text(&cpus, list, sizeof(list)), cases[i].cpus);
	}
	t_machine_put("fs/cgroup/cpuset.cpus.effective", "");
	cgroup = "0::/other\n";
	ck_assert(!dofi_cpus_of_group(&cpus));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("topo");
	TCase *tc = tcase_create("topo");

	tcase_add_test(tc, lists_of_cpus);
	tcase_add_test(tc, sets_of_cpus);
	tcase_add_test(tc, a_list_of_cpus_that_is_cut_off);
	tcase_add_test(tc, binding_a_thread);
	tcase_add_test(tc, cpus_of_the_control_group);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
