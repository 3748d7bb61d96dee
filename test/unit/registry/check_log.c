/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registry's messages: which are written, and where to. Each case has a process of its own. */
#include "t_syslog.h"
#include "unit.h"

#include "../../../src/log.h"

#include <stdbool.h>

static int out, err;

static void setup(void)
{
	unsetenv("DAT_DBG_TYPE");
	unsetenv("DAT_DBG_DEST");
	out = t_capture(STDOUT_FILENO);
	err = t_capture(STDERR_FILENO);
}

static bool has(int fd, const char *text)
{
	return strstr(t_captured(fd), text);
}

/* 1: standard output; 2: the system's log; 4: standard error. */
START_TEST(messages_go_where_the_user_wants_them)
{
	char dest[8];

	snprintf(dest, sizeof(dest), "%d", _i);
	setenv("DAT_DBG_DEST", dest, 1);
	datr_log(DATR_LOG_ERROR, "%s number %d", "message", 5);
	ck_assert(has(out, ": message number 5\n") == !!(_i & 1));
	ck_assert(has(err, ": message number 5\n") == !!(_i & 4));
	ck_assert_uint_eq(t_nsyslogged, _i & 2 ? 1 : 0);
	if (t_nsyslogged)
		ck_assert_ptr_nonnull(strstr(t_syslogged[0].text, ": message number 5"));
}
END_TEST

START_TEST(errors_stand_out_in_the_log_of_the_system)
{
	setenv("DAT_DBG_DEST", "2", 1);
	setenv("DAT_DBG_TYPE", "0xff", 1);
	datr_log(DATR_LOG_ERROR, "a");
	datr_log(DATR_LOG_API, "b");
	ck_assert_uint_eq(t_nsyslogged, 2);
	ck_assert_int_eq(t_syslogged[0].priority, LOG_USER | LOG_ERR);
	ck_assert_int_eq(t_syslogged[1].priority, LOG_USER | LOG_DEBUG);
}
END_TEST

START_TEST(only_the_types_that_the_user_wants_are_written)
{
	static const struct {
		enum datr_log_type type;
		const char *text;
	} messages[] = {{DATR_LOG_ERROR, "error"},
			{DATR_LOG_STATIC, "static"},
			{DATR_LOG_DYNAMIC, "dynamic"},
			{DATR_LOG_API, "api"}};
	char type[8];

	snprintf(type, sizeof(type), "%#x", (unsigned int)messages[_i].type);
	setenv("DAT_DBG_TYPE", type, 1);
	for (int i = 0; i < 4; i++)
		datr_log(messages[i].type, "%s", messages[i].text);
	for (int i = 0; i < 4; i++)
		ck_assert(has(err, messages[i].text) == (i == _i));
}
END_TEST

/* Scripts parse the standard output of programs. An empty variable means the same as none. */
START_TEST(by_default_errors_go_to_standard_error)
{
	if (_i) {
		setenv("DAT_DBG_TYPE", "", 1);
		setenv("DAT_DBG_DEST", "", 1);
	}
	datr_log(DATR_LOG_ERROR, "an error");
	datr_log(DATR_LOG_API, "a call");
	ck_assert(has(err, "an error"));
	ck_assert(!has(err, "a call"));
	ck_assert_str_eq(t_captured(out), "");
	ck_assert_uint_eq(t_nsyslogged, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *tc = tcase_create("log");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, messages_go_where_the_user_wants_them, 0, 8);
	tcase_add_test(tc, errors_stand_out_in_the_log_of_the_system);
	tcase_add_loop_test(tc, only_the_types_that_the_user_wants_are_written, 0, 4);
	tcase_add_loop_test(tc, by_default_errors_go_to_standard_error, 0, 2);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
