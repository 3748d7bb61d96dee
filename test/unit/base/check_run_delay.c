/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whether this process has waited for a processor. The linker redirects the calls named here. */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/base/run_delay.c"

#include <stdarg.h>
#include <string.h>

#define S SECOND_NS

static uint64_t now_ns = 100 * S;
static const char *statistics; /* of the first thread; NULL: the kernel keeps none */

uint64_t __wrap_dofi_now(void);
int __real_open(const char *path, int flags, ...);
T_STAND_IN int __wrap_open(const char *path, int flags, ...);

uint64_t __wrap_dofi_now(void)
{
	return now_ns;
}

int __wrap_open(const char *path, int flags, ...)
{
	char first[64];
	int fds[2];
	ssize_t size;

	if (strncmp(path, TASKS, strlen(TASKS)))
		return __real_open(path, flags);
	/* ThreadSanitizer has a thread of its own. */
	snprintf(first, sizeof(first), TASKS "/%d/schedstat", (int)getpid());
	if (!statistics || strcmp(path, first))
		return -1;
	size = (ssize_t)strlen(statistics);
	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(write(fds[1], statistics, (size_t)size), size);
	close(fds[1]);
	return fds[0];
}

START_TEST(the_second_number_counts)
{
	struct dofi_run_delay latest = {0}, sample;

	statistics = "7000 5000 3\n";
	sample = dofi_run_delay_recent(&latest);
	ck_assert_uint_eq(sample.waited, 5000);
	ck_assert_uint_eq(sample.at, now_ns);
}
END_TEST

START_TEST(a_sample_is_used_for_a_second)
{
	struct dofi_run_delay latest = {0};

	statistics = "1 10 1\n";
	dofi_run_delay_recent(&latest);
	statistics = "1 20 1\n";
	now_ns += S;
	ck_assert_uint_eq(dofi_run_delay_recent(&latest).waited, 10);
	now_ns++;
	ck_assert_uint_eq(dofi_run_delay_recent(&latest).waited, 20);
}
END_TEST

START_TEST(a_quarter_of_the_time_is_much)
{
	const struct dofi_run_delay since = {.at = now_ns, .waited = 1000};

	now_ns += 4000;
	statistics = "0 1999 1\n";
	ck_assert(!dofi_run_delay_is_high(&since));
	statistics = "0 2000 1\n";
	ck_assert(dofi_run_delay_is_high(&since));
}
END_TEST

START_TEST(what_is_not_known_is_not_much)
{
	static const char *const texts[] = {NULL, "", "words\n", "12\n"};
	const struct dofi_run_delay since = {.at = now_ns};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		statistics = texts[i];
		ck_assert(!dofi_run_delay_is_high(&since));
	}
}
END_TEST

/* A thread that has ended takes its time along. */
START_TEST(a_smaller_sum_is_not_much)
{
	const struct dofi_run_delay since = {.at = now_ns, .waited = 1000};

	statistics = "0 999 1\n";
	ck_assert(!dofi_run_delay_is_high(&since));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("run_delay");
	TCase *tcase = tcase_create("run_delay");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, the_second_number_counts);
	tcase_add_test(tcase, a_sample_is_used_for_a_second);
	tcase_add_test(tcase, a_quarter_of_the_time_is_much);
	tcase_add_test(tcase, what_is_not_known_is_not_much);
	tcase_add_test(tcase, a_smaller_sum_is_not_much);
	return t_run(suite);
}
