/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rate limit of log messages that other processes can cause. */
#include "unit.h"

#include "../../../prov/ofi/base/log.h"

#include <time.h>

#define AT_ONCE 5u
#define SECONDS 10

static time_t now = 1000;
static struct dofi_log_limit limit;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time_p);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time_p)
{
	ck_assert_int_eq(clock, CLOCK_MONOTONIC);
	*time_p = (struct timespec){.tv_sec = now};
	return 0;
}

/* Asks n times at once. Returns how many messages may be written; *left_out_p is that of the first.
 */
static unsigned int written(unsigned int n, uint32_t *left_out_p)
{
	unsigned int sum = 0;
	uint32_t left_out;

	*left_out_p = 0;
	for (unsigned int i = 0; i < n; i++) {
		sum += dofi_log_permit(&limit, &left_out);
		if (!i)
			*left_out_p = left_out;
		else
			ck_assert_uint_eq(left_out, 0);
	}
	return sum;
}

START_TEST(messages_beyond_the_limit_are_left_out)
{
	uint32_t left_out;

	ck_assert_uint_eq(written(100, &left_out), AT_ONCE);
	now += SECONDS - 1;
	ck_assert_uint_eq(written(10, &left_out), 0);
}
END_TEST

START_TEST(limit_starts_anew_and_reports_the_others)
{
	uint32_t left_out;

	written(100, &left_out);
	now += SECONDS;
	ck_assert_uint_eq(written(AT_ONCE, &left_out), AT_ONCE);
	ck_assert_uint_eq(left_out, 100 - AT_ONCE);
	now += SECONDS;
	ck_assert_uint_eq(written(1, &left_out), 1);
	ck_assert_uint_eq(left_out, 0);
}
END_TEST

START_TEST(slow_messages_are_all_written)
{
	uint32_t left_out;

	for (int i = 0; i < 50; i++) {
		ck_assert_uint_eq(written(1, &left_out), 1);
		ck_assert_uint_eq(left_out, 0);
		now += SECONDS / 2;
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tcase = tcase_create("log");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, messages_beyond_the_limit_are_left_out);
	tcase_add_test(tcase, limit_starts_anew_and_reports_the_others);
	tcase_add_test(tcase, slow_messages_are_all_written);
	return t_run(suite);
}
