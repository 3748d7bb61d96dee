/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rate limit of log messages that other processes can cause, and where messages go. */
#include "t_syslog.h"
#include "unit.h"

#include "../../../prov/ofi/base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 5u
#define SECONDS 10

static time_t now = 1000;
static struct dofi_log_limit limit;

T_STAND_IN int __wrap_clock_gettime(clockid_t clock, struct timespec *time_p);

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

/* --- destinations --- */

#define LINE "dat-ofi: line\n"

static const struct {
	const char *dest; /* DAPL_DBG_DEST */
	bool out, err, syslog;
} destinations[] = {
	{"", false, true, false},    {"1", true, false, false}, {"2", false, false, true},
	{"3", true, false, true},    {"4", false, true, false}, {"0x7", true, true, true},
	{"8", false, true, false}, /* none of the known bits */
	{"all", false, true, false},
};

START_TEST(lines_go_where_ofed_sent_them)
{
	int out = t_capture(STDOUT_FILENO), err = t_capture(STDERR_FILENO);

	setenv("DAPL_DBG_DEST", destinations[_i].dest, 1);
	dofi_log_set_level("warn");
	dofi_log_line(DOFI_LOG_WARN, "%s", "line");
	ck_assert_str_eq(t_captured(out), destinations[_i].out ? LINE : "");
	ck_assert_str_eq(t_captured(err), destinations[_i].err ? LINE : "");
	ck_assert_uint_eq(t_nsyslogged, destinations[_i].syslog);
	if (t_nsyslogged) {
		ck_assert_int_eq(t_syslogged[0].priority, LOG_USER | LOG_WARNING);
		ck_assert_str_eq(t_syslogged[0].text, "dat-ofi: line");
	}
}
END_TEST

START_TEST(syslog_gets_each_line_of_a_text)
{
	static const char text[] = "one\ntwo\nan unfinished line";

	setenv("DAPL_DBG_DEST", "2", 1);
	dofi_log_set_level("off");
	dofi_log_text(text, strlen(text));
	ck_assert_uint_eq(t_nsyslogged, 2);
	ck_assert_int_eq(t_syslogged[0].priority, LOG_USER | LOG_NOTICE);
	ck_assert_str_eq(t_syslogged[0].text, "one");
	ck_assert_int_eq(t_syslogged[1].priority, LOG_USER | LOG_NOTICE);
	ck_assert_str_eq(t_syslogged[1].text, "two");
}
END_TEST

START_TEST(lines_beyond_the_level_are_not_written)
{
	int fd = t_capture(STDERR_FILENO);

	dofi_log_set_level("error");
	dofi_log_line(DOFI_LOG_WARN, "line");
	ck_assert_str_eq(t_captured(fd), "");
}
END_TEST

/* --- levels --- */

/* The level that holds without log=. */
static const struct {
	const char *type; /* DAPL_DBG_TYPE; NULL: not set */
	enum dofi_log_level level;
} ofed_levels[] = {{NULL, DOFI_LOG_WARN},       {"", DOFI_LOG_WARN},
		   {"errors", DOFI_LOG_WARN},   {"1x", DOFI_LOG_WARN},
		   {"0", DOFI_LOG_OFF},         {"0x1", DOFI_LOG_ERROR},
		   {"0x80", DOFI_LOG_ERROR},    {"0x2", DOFI_LOG_WARN},
		   {"0x10000", DOFI_LOG_WARN},  {"0x3", DOFI_LOG_WARN},
		   {"0x8", DOFI_LOG_INFO},      {"0x400", DOFI_LOG_INFO},
		   {"0x8000", DOFI_LOG_INFO},   {"0x20000", DOFI_LOG_INFO},
		   {"0x10003", DOFI_LOG_WARN},  {"131083", DOFI_LOG_INFO},
		   {"0x4", DOFI_LOG_DEBUG},     {"0x40000", DOFI_LOG_DEBUG},
		   {"0x2840c", DOFI_LOG_DEBUG}, {"0xffffffff", DOFI_LOG_DEBUG}};

START_TEST(the_level_of_ofed_holds_if_ours_is_not_set)
{
	if (ofed_levels[_i].type)
		setenv("DAPL_DBG_TYPE", ofed_levels[_i].type, 1);
	else
		unsetenv("DAPL_DBG_TYPE");
	dofi_log_set_level("");
	ck_assert_int_eq(dofi_log_level, ofed_levels[_i].level);
	dofi_log_set_level("info");
	ck_assert_int_eq(dofi_log_level, DOFI_LOG_INFO);
	dofi_log_set_level("off");
	ck_assert_int_eq(dofi_log_level, DOFI_LOG_OFF);
}
END_TEST

START_TEST(an_unknown_level_is_reported_and_changes_nothing)
{
	int fd = t_capture(STDERR_FILENO);

	dofi_log_set_level("error");
	dofi_log_set_level("warn");
	dofi_log_set_level("loud");
	ck_assert_int_eq(dofi_log_level, DOFI_LOG_WARN);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "log=loud: no such level; known are off,"));
}
END_TEST

/* --- lines --- */

#define LINE_SIZE 4096 /* the longest, with prefix and line feed */

/* A text of so many bytes in a line. */
static const char *line_of(size_t size)
{
	static char text[2 * LINE_SIZE];
	int fd = t_capture(STDERR_FILENO);

	ck_assert_uint_lt(size, sizeof(text));
	memset(text, 'x', size);
	text[size] = '\0';
	dofi_log_line(DOFI_LOG_WARN, "%s", text);
	return t_captured(fd);
}

START_TEST(a_long_line_ends_in_dots)
{
	const size_t most = LINE_SIZE - strlen("dat-ofi: ") - 2;
	const char *line = line_of(most);

	ck_assert_uint_eq(strlen(line), LINE_SIZE - 1);
	ck_assert_str_eq(line + strlen(line) - 4, "xxx\n");
	line = line_of(most + 1 + (size_t)_i * LINE_SIZE / 2);
	ck_assert_uint_eq(strlen(line), LINE_SIZE - 1);
	ck_assert_str_eq(line + strlen(line) - 5, "x...\n");
}
END_TEST

/* A text of a peer could change the colours of a terminal, or feign a line of its own. */
START_TEST(control_characters_are_replaced)
{
	int fd = t_capture(STDERR_FILENO);

	dofi_log_line(DOFI_LOG_WARN, "%s", "");
	ck_assert_str_eq(t_captured(fd), "dat-ofi: \n");
	fd = t_capture(STDERR_FILENO);
	dofi_log_line(DOFI_LOG_WARN, "%s", "a\n\x1b[1m\x1f \x7f~\xc3\xa4");
	ck_assert_str_eq(t_captured(fd), "dat-ofi: a??[1m? ?~\xc3\xa4\n");
}
END_TEST

/* A consumer may look at errno after a call that has logged. */
START_TEST(a_line_leaves_errno_as_it_was)
{
	close(STDERR_FILENO);
	errno = ERANGE;
	dofi_log_line(DOFI_LOG_WARN, "line");
	ck_assert_int_eq(errno, ERANGE);
}
END_TEST

/* --- the stream; the linker redirects this call --- */

#define NOTHING -1 /* no error, and nothing is written */

static int write_errors[3]; /* of the first calls */
static int nwrites;

ssize_t __real_write(int fd, const void *text, size_t size);
T_STAND_IN ssize_t __wrap_write(int fd, const void *text, size_t size);

ssize_t __wrap_write(int fd, const void *text, size_t size)
{
	if (nwrites++ < 3 && write_errors[nwrites - 1]) {
		errno = write_errors[nwrites - 1] == NOTHING ? EINTR : write_errors[nwrites - 1];
		return write_errors[nwrites - 1] == NOTHING ? 0 : -1;
	}
	return __real_write(fd, text, size);
}

/* A handler of the program may interrupt the write: the line is written later, once. */
START_TEST(a_signal_loses_no_line)
{
	int fd = t_capture(STDERR_FILENO);

	write_errors[0] = write_errors[1] = EINTR;
	dofi_log_line(DOFI_LOG_WARN, "line");
	ck_assert_str_eq(t_captured(fd), LINE);
	ck_assert_int_eq(nwrites, 3);
}
END_TEST

/* A pipe that nobody reads must not stop the program. */
START_TEST(a_line_that_can_not_be_written_is_lost)
{
	int fd = t_capture(STDERR_FILENO);

	write_errors[0] = _i ? NOTHING : EAGAIN;
	dofi_log_line(DOFI_LOG_WARN, "line");
	ck_assert_str_eq(t_captured(fd), "");
	ck_assert_int_eq(nwrites, 1);
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
	tcase_add_loop_test(tcase, lines_go_where_ofed_sent_them, 0,
			    (int)(sizeof(destinations) / sizeof(destinations[0])));
	tcase_add_test(tcase, syslog_gets_each_line_of_a_text);
	tcase_add_test(tcase, lines_beyond_the_level_are_not_written);
	tcase_add_loop_test(tcase, the_level_of_ofed_holds_if_ours_is_not_set, 0,
			    (int)(sizeof(ofed_levels) / sizeof(ofed_levels[0])));
	tcase_add_test(tcase, an_unknown_level_is_reported_and_changes_nothing);
	tcase_add_loop_test(tcase, a_long_line_ends_in_dots, 0, 2);
	tcase_add_test(tcase, control_characters_are_replaced);
	tcase_add_test(tcase, a_line_leaves_errno_as_it_was);
	tcase_add_test(tcase, a_signal_loses_no_line);
	tcase_add_loop_test(tcase, a_line_that_can_not_be_written_is_lost, 0, 2);
	return t_run(suite);
}
