/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rate limit of log messages that other processes can cause. */
#include "unit.h"

#include "../../../prov/ofi/base/log.h"

#include <time.h>
#include <unistd.h>

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

/* Asks n times at once. Returns how many messages may be written. */
static unsigned int written(unsigned int n)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < n; i++)
		sum += dofi_log_permit(&limit, DOFI_LOG_WARN, "ia");
	return sum;
}

START_TEST(messages_beyond_the_limit_are_left_out)
{
	ck_assert_uint_eq(written(100), AT_ONCE);
	now += SECONDS - 1;
	ck_assert_uint_eq(written(10), 0);
}
END_TEST

START_TEST(limit_starts_anew_and_reports_the_others_once)
{
	int fd = t_capture(STDERR_FILENO);

	written(100);
	ck_assert_str_eq(t_captured(fd), "");
	now += SECONDS;
	ck_assert_uint_eq(written(AT_ONCE), AT_ONCE);
	now += SECONDS;
	ck_assert_uint_eq(written(1), 1);
	ck_assert_str_eq(t_captured(fd),
			 "dat-ofi: ia: 95 messages like the next one were left out\n");
}
END_TEST

START_TEST(slow_messages_are_all_written)
{
	int fd = t_capture(STDERR_FILENO);

	for (int i = 0; i < 50; i++) {
		ck_assert_uint_eq(written(1), 1);
		now += SECONDS / 2;
	}
	ck_assert_str_eq(t_captured(fd), "");
}
END_TEST

/* They must not keep messages from being written when the level is higher. */
START_TEST(messages_below_the_level_do_not_count)
{
	for (int i = 0; i < 100; i++)
		ck_assert(!dofi_log_permit(&limit, DOFI_LOG_DEBUG, "ia"));
	ck_assert_uint_eq(written(100), AT_ONCE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tcase = tcase_create("log");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, messages_beyond_the_limit_are_left_out);
	tcase_add_test(tcase, limit_starts_anew_and_reports_the_others_once);
	tcase_add_test(tcase, slow_messages_are_all_written);
	tcase_add_test(tcase, messages_below_the_level_do_not_count);
	return t_run(suite);
}
