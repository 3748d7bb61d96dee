/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parser of dat.conf. Compiled together with it, with DAT_CONF_DIR "etc", a relative path. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "../../lib/t_heap.h"
#include "../../lib/t_hooks.h"
#include "../../lib/unit.h"

#include "../../../src/conf.h"

static struct datr_conf conf;

/* The n-th entry, counted from 0. */
static const struct datr_entry *entry_at(int n)
{
	const struct datr_entry *entry = conf.entries;

	while (entry && n--)
		entry = entry->next;
	return entry;
}

static int num_entries(void)
{
	int n = 0;

	while (entry_at(n))
		n++;
	return n;
}

static void assert_one_entry_named(const char *name)
{
	ck_assert_int_eq(num_entries(), 1);
	ck_assert_str_eq(entry_at(0)->info.ia_name, name);
}

/* REG-033 */
START_TEST(test_eight_fields_make_an_entry)
{
	const struct datr_entry *entry;

	t_conf("ib0 u1.2 threadsafe default libx.so.1 id.1.7 params platform\n");
	datr_conf_load(&conf);
	entry = entry_at(0);
	assert_one_entry_named("ib0");
	ck_assert_uint_eq(entry->info.dapl_version_major, 1);
	ck_assert_uint_eq(entry->info.dapl_version_minor, 2);
	ck_assert_int_eq(entry->info.is_thread_safe, DAT_TRUE);
	ck_assert_str_eq(entry->library, "libx.so.1");
	ck_assert_str_eq(entry->ia_params, "params");
	ck_assert_uint_eq(entry->line, 1);
}
END_TEST

/* REG-033, REG-040: text before and after is the same for all, only the line counts */
static const struct good_line {
	const char *line;
	const char *name;
	const char *params;
} good_lines[] = {
	{"a u2.0 nonthreadsafe default lib id.2.0 \"ib0 0\" \"\"\n", "a", "ib0 0"},
	{"a u2.0 nonthreadsafe default lib id.2.0 \"\" \"\"\n", "a", ""},
	/* REG-035 */
	{"a u2.0 nonthreadsafe default lib id.2.0 \"say \\\"x\\\\y\\\"\" \"\"\n", "a",
	 "say \"x\\y\""},
	{"a u2.0 nonthreadsafe default lib id.2.0 \"\\a#b\" \"\"\n", "a", "a#b"},
	{"\"a b\"u2.0 nonthreadsafe default lib id.2.0 x\\y \"\"\n", "a b", "x\\y"},
	{"a\"b u2.0 nonthreadsafe default lib id.2.0 x\"y \"\"\n", "a\"b", "x\"y"},
	/* REG-034 */
	{"a u2.0 nonthreadsafe default lib id.2.0 x y # comment \"\n", "a", "x"},
	{"a u2.0 nonthreadsafe default lib id.2.0 x \"y\"# comment\n", "a", "x"},
	{"a#b u2.0 nonthreadsafe default lib id.2.0 x#y z\n", "a#b", "x#y"},
	{"# a u2.0 ...\n\n  \t\n   # and more\na u2.0 nonthreadsafe default lib id.2.0 x y\n", "a",
	 "x"},
	/* REG-040 */
	{"a u2.0 nonthreadsafe default lib id.2.0 x y", "a", "x"},
	{"a u2.0 nonthreadsafe default lib id.2.0 x y\r\n", "a", "x"},
	{"a u2.0 nonthreadsafe default lib id.2.0 \"x\" \"y\"\r\n", "a", "x"},
	{"\r\n\r\na u2.0 nonthreadsafe default lib id.2.0 x y\r\n", "a", "x"},
	{"\ta\tu2.0\t\tnonthreadsafe default lib  id.2.0 x \t y \t\n", "a", "x"},
	/* only the beginning of these words counts */
	{"a u2.0 nonthreadsafe, default: lib id.2.0 x y\n", "a", "x"},
	{"a u2.0 nonthreadsafe default lib mv.dapl.2.0 x y\n", "a", "x"},
	{"a u4294967295.0 nonthreadsafe default lib id.2.0 x y\n", "a", "x"},
};

#define NUM_GOOD_LINES ((int)(sizeof(good_lines) / sizeof(good_lines[0])))

START_TEST(test_good_line_is_taken_without_a_word)
{
	int log = t_capture(STDERR_FILENO);

	t_conf("%s", good_lines[_i].line);
	datr_conf_load(&conf);
	assert_one_entry_named(good_lines[_i].name);
	ck_assert_str_eq(entry_at(0)->library, "lib");
	ck_assert_str_eq(entry_at(0)->ia_params, good_lines[_i].params);
	ck_assert_int_eq(entry_at(0)->info.is_thread_safe, DAT_FALSE);
	ck_assert_str_eq(t_captured(log), "");
}
END_TEST

/* REG-038: the line is left out, and one message tells the file, the line and what was expected */
static const struct bad_line {
	const char *line;
	const char *message;
} bad_lines[] = {
	{"bad", "1 of 8 fields, the next would be API version"},
	{"bad u2.0 threadsafe default lib id.2.0 params",
	 "7 of 8 fields, the next would be platform parameters"},
	{"bad u2.0 threadsafe default lib id.2.0 params # x", "7 of 8 fields"},
	{"bad u2.0 threadsafe default lib id.2.0 ib0 0 \"\"",
	 "more than 8 fields, \"\" is too much"},
	{"bad u2.0 threadsafe default lib id.2.0 x y \"open", "more than 8 fields"},
	{"\"\" u2.0 threadsafe default lib id.2.0 x y",
	 "field 1, IA name, is \"\", expected 1 to 255 characters"},
	{"bad 2.0 threadsafe default lib id.2.0 x y",
	 "field 2, API version, is \"2.0\", expected u or k"},
	{"bad u2 threadsafe default lib id.2.0 x y", "field 2, API version, is \"u2\""},
	{"bad u2. threadsafe default lib id.2.0 x y", "field 2, API version, is \"u2.\""},
	{"bad u2.x threadsafe default lib id.2.0 x y", "field 2, API version, is \"u2.x\""},
	{"bad u2.0.1 threadsafe default lib id.2.0 x y", "field 2, API version, is \"u2.0.1\""},
	{"bad u-2.0 threadsafe default lib id.2.0 x y", "field 2, API version, is \"u-2.0\""},
	{"bad u4294967296.0 threadsafe default lib id.2.0 x y", "field 2, API version"},
	{"bad u99999999999999999999.0 threadsafe default lib id.2.0 x y", "field 2, API version"},
	{"bad u2.0 safe default lib id.2.0 x y",
	 "field 3, thread safety, is \"safe\", expected threadsafe or"},
	{"bad u2.0 threadsafe yes lib id.2.0 x y",
	 "field 4, default, is \"yes\", expected default or"},
	{"bad u2.0 threadsafe default \"\" id.2.0 x y", "field 5, library, is \"\""},
	{"bad u2.0 threadsafe default lib id x y",
	 "field 6, provider version, is \"id\", expected an id and"},
	{"bad u2.0 threadsafe default lib 2.0 x y", "field 6, provider version, is \"2.0\""},
	{"bad u2.0 threadsafe default lib .2.0 x y", "field 6, provider version, is \".2.0\""},
	{"bad u2.0 threadsafe default lib id.2.x x y", "field 6, provider version, is \"id.2.x\""},
	{"bad u2.0 threadsafe default lib id.2.0 \"x y",
	 "field 7, IA parameters, has no closing quote"},
	{"bad u2.0 threadsafe default lib id.2.0 x \"y\\\"",
	 "field 8, platform parameters, has no closing quote"},
	{"bad u2.0 threadsafe default lib id.2.0 x \"y\\",
	 "field 8, platform parameters, has no closing quote"},
};

#define NUM_BAD_LINES ((int)(sizeof(bad_lines) / sizeof(bad_lines[0])))

START_TEST(test_bad_line_is_reported_once_and_left_out)
{
	int log = t_capture(STDERR_FILENO);
	const char *text;

	t_conf("# first\n%s\nok " DATR_API_WORD " threadsafe default lib id.2.0 x y\n",
	       bad_lines[_i].line);
	datr_conf_load(&conf);
	assert_one_entry_named("ok");
	text = t_captured(log);
	ck_assert_ptr_nonnull(strstr(text, getenv("DAT_OVERRIDE")));
	ck_assert_msg(strstr(text, ":2: "), "no line number in: %s", text);
	ck_assert_msg(strstr(text, bad_lines[_i].message), "expected \"%s\" in: %s",
		      bad_lines[_i].message, text);
	ck_assert_ptr_eq(strchr(text, '\n'), strrchr(text, '\n'));
}
END_TEST

START_TEST(test_zero_byte_spoils_its_line_only)
{
	static const char bytes[] = "a u2.0 threadsafe\0default lib id.2.0 x y\n"
				    "ok u2.0 threadsafe default lib id.2.0 x y\n";
	int log = t_capture(STDERR_FILENO);

	t_conf_bytes(bytes, sizeof(bytes) - 1);
	datr_conf_load(&conf);
	assert_one_entry_named("ok");
	ck_assert_ptr_nonnull(strstr(t_captured(log), ":1: the line holds a zero byte"));
}
END_TEST

/* REG-040, and names of exactly the longest length */
START_TEST(test_long_lines_and_names)
{
	static char params[10001], name[DAT_NAME_MAX_LENGTH + 1];
	int log = t_capture(STDERR_FILENO);

	memset(params, 'p', sizeof(params) - 1);
	memset(name, 'n', DAT_NAME_MAX_LENGTH);
	t_conf("%s u2.0 threadsafe default lib id.2.0 x y\n"
	       "%s u2.0 threadsafe default lib id.2.0 \"%s\" y\n",
	       name, name + 1, params);
	datr_conf_load(&conf);
	assert_one_entry_named(name + 1);
	ck_assert_str_eq(entry_at(0)->ia_params, params);
	ck_assert_ptr_nonnull(strstr(t_captured(log), ":1: field 1, IA name"));
}
END_TEST

/* REG-036, REG-037, REG-042, REG-030 */
START_TEST(test_only_user_default_lines_count_in_file_order)
{
	static const char *const libraries[] = {"lib1", "lib2", "lib5"};
	int log = t_capture(STDERR_FILENO);

	t_conf("a u2.0 threadsafe default lib1 id.2.0 x y\n"
	       "a u1.2 threadsafe default lib2 id.1.2 x y\n"
	       "k k2.0 threadsafe default lib3 id.2.0 x y\n"
	       "n u2.0 threadsafe nondefault lib4 id.2.0 x y\n"
	       "a u2.0 threadsafe default lib5 id.2.0 x y\n");
	datr_conf_load(&conf);
	ck_assert_int_eq(num_entries(), 3);
	for (int i = 0; i < 3; i++)
		ck_assert_str_eq(entry_at(i)->library, libraries[i]);
	ck_assert_str_eq(t_captured(log), "");
}
END_TEST

/* The tests of the search order own a directory, with "etc/dat.conf" in it if they want one. */
static char dir[] = "/tmp/check_conf.XXXXXX";

/* Runs in the parent, around all cases, so a failed case leaves no file. */
static void dir_create(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_int_eq(mkdir("etc", 0700), 0);
}

static void dir_remove(void)
{
	unlink("etc/dat.conf");
	rmdir("etc");
	rmdir(dir);
}

static void dir_reset(void)
{
	unlink("etc/dat.conf");
	unsetenv("DAT_OVERRIDE");
}

static void write_system_conf(void)
{
	static const char line[] = "sys u2.0 threadsafe default lib id.2.0 x y\n";
	int fd = open("etc/dat.conf", O_WRONLY | O_CREAT | O_EXCL, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, line, sizeof(line) - 1), (ssize_t)sizeof(line) - 1);
	close(fd);
}

/* REG-032 */
START_TEST(test_override_comes_before_the_system_file)
{
	write_system_conf();
	t_conf("mine u2.0 threadsafe default lib id.2.0 x y\n");
	datr_conf_load(&conf);
	assert_one_entry_named("mine");
	ck_assert_str_eq(conf.path, getenv("DAT_OVERRIDE"));
}
END_TEST

START_TEST(test_without_override_the_system_file_is_read)
{
	write_system_conf();
	datr_conf_load(&conf);
	assert_one_entry_named("sys");
	ck_assert_str_eq(conf.path, "etc/dat.conf");
}
END_TEST

START_TEST(test_empty_override_counts_as_none)
{
	int log = t_capture(STDERR_FILENO);

	write_system_conf();
	setenv("DAT_OVERRIDE", "", 1);
	datr_conf_load(&conf);
	assert_one_entry_named("sys");
	ck_assert_str_eq(t_captured(log), "");
}
END_TEST

START_TEST(test_unreadable_override_is_reported_and_passed_over)
{
	int log = t_capture(STDERR_FILENO);

	write_system_conf();
	setenv("DAT_OVERRIDE", "etc/nothing-here", 1);
	datr_conf_load(&conf);
	assert_one_entry_named("sys");
	ck_assert_ptr_nonnull(
		strstr(t_captured(log), "cannot open etc/nothing-here (named by DAT_OVERRIDE): "));
	ck_assert_ptr_nonnull(strstr(t_captured(log), strerror(ENOENT)));
}
END_TEST

/* /etc cannot be replaced, so the linker redirects fopen. */
static const char *etc_file;  /* stands for /etc/dat.conf */
static const char *rdma_file; /* stands for /etc/rdma/dat.conf; NULL: there is none */
static int etc_error;

FILE *__real_fopen(const char *path, const char *mode);
T_STAND_IN FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (!strcmp(path, "/etc/rdma/dat.conf")) {
		errno = ENOENT;
		return rdma_file ? __real_fopen(rdma_file, mode) : NULL;
	}
	if (strcmp(path, "/etc/dat.conf") != 0)
		return __real_fopen(path, mode);
	errno = etc_error;
	return etc_error ? NULL : __real_fopen(etc_file, mode);
}

START_TEST(test_then_comes_etc_dat_conf)
{
	write_system_conf();
	rdma_file = "etc/nothing";
	ck_assert_int_eq(rename("etc/dat.conf", "etc/last"), 0);
	etc_file = "etc/last";
	datr_conf_load(&conf);
	ck_assert_int_eq(unlink("etc/last"), 0);
	assert_one_entry_named("sys");
	ck_assert_str_eq(conf.path, "/etc/dat.conf");
}
END_TEST

/* The file of OFED's packages on EL and Fedora */
START_TEST(test_last_comes_etc_rdma_dat_conf)
{
	write_system_conf();
	ck_assert_int_eq(rename("etc/dat.conf", "etc/rdma"), 0);
	rdma_file = "etc/rdma";
	etc_error = ENOENT;
	datr_conf_load(&conf);
	ck_assert_int_eq(unlink("etc/rdma"), 0);
	assert_one_entry_named("sys");
	ck_assert_str_eq(conf.path, "/etc/rdma/dat.conf");
}
END_TEST

/* REG-018: a missing file is no error. */
START_TEST(test_without_any_file_there_are_no_entries)
{
	int log = t_capture(STDERR_FILENO);

	etc_error = ENOENT;
	datr_conf_load(&conf);
	ck_assert_int_eq(num_entries(), 0);
	ck_assert_str_eq(conf.path, "");
	ck_assert_str_eq(t_captured(log), "");
}
END_TEST

START_TEST(test_unreadable_system_file_is_reported)
{
	int log = t_capture(STDERR_FILENO);

	etc_error = EACCES;
	datr_conf_load(&conf);
	ck_assert_int_eq(num_entries(), 0);
	ck_assert_ptr_nonnull(strstr(t_captured(log), "cannot open /etc/dat.conf: "));
}
END_TEST

START_TEST(test_directory_in_place_of_the_file_is_reported)
{
	int log = t_capture(STDERR_FILENO);

	setenv("DAT_OVERRIDE", "etc", 1);
	datr_conf_load(&conf);
	ck_assert_int_eq(num_entries(), 0);
	ck_assert_ptr_nonnull(strstr(t_captured(log), "cannot read etc beyond line 0: "));
	ck_assert_ptr_nonnull(strstr(t_captured(log), strerror(EISDIR)));
}
END_TEST

#if T_HOOKS
/* Each tool and each program reads the file once, but it is closed all the same. */
START_TEST(test_reading_leaves_no_memory_and_no_descriptor)
{
	size_t before = 0;
	int fd;

	t_capture(STDERR_FILENO);
	t_conf("# a comment\nbad\n");
	fd = dup(STDERR_FILENO);
	close(fd);
	for (int i = 0; i < 50; i++) {
		if (i == 5)
			before = t_heap();
		datr_conf_load(&conf);
	}
	ck_assert_uint_le(t_heap(), before + 1000);
	ck_assert_int_eq(dup(STDERR_FILENO), fd); /* still the lowest that is free */
}
END_TEST
#endif

/* The effects of DAT_DBG_TYPE and DAT_DBG_DEST. */
static const struct {
	const char *type;
	const char *dest;
	bool on_stdout;
	bool on_stderr;
} log_settings[] = {
	{NULL, NULL, false, true},   {"0x1", NULL, false, true},   {"0", NULL, false, false},
	{"0x4", NULL, false, false}, {"0xff", "0x1", true, false}, {"1", "1", true, false},
	{NULL, "0", false, false},   {NULL, "0x5", true, true},    {"0xff", "0x2", false, false},
};

#define NUM_LOG_SETTINGS ((int)(sizeof(log_settings) / sizeof(log_settings[0])))

START_TEST(test_log_goes_where_it_was_asked_to)
{
	int out = t_capture(STDOUT_FILENO), err = t_capture(STDERR_FILENO);

	unsetenv("DAT_DBG_TYPE");
	unsetenv("DAT_DBG_DEST");
	if (log_settings[_i].type)
		setenv("DAT_DBG_TYPE", log_settings[_i].type, 1);
	if (log_settings[_i].dest)
		setenv("DAT_DBG_DEST", log_settings[_i].dest, 1);
	t_conf("bad\na u2.0 threadsafe default lib id.2.0 p y\n");
	datr_conf_load(&conf);
	ck_assert_int_eq(strstr(t_captured(out), "1 of 8 fields") != NULL,
			 log_settings[_i].on_stdout);
	ck_assert_int_eq(strstr(t_captured(err), "1 of 8 fields") != NULL,
			 log_settings[_i].on_stderr);
}
END_TEST

START_TEST(test_debug_log_tells_the_entries)
{
	int log = t_capture(STDERR_FILENO);

	setenv("DAT_DBG_TYPE", "0x4", 1);
	t_conf("a u2.0 threadsafe default lib id.2.0 p y\nb k2.0 threadsafe default lib id.2.0 p "
	       "y\n");
	datr_conf_load(&conf);
	ck_assert_ptr_nonnull(
		strstr(t_captured(log), ":1: IA a, version 2.0, library lib, parameters \"p\"\n"));
	ck_assert_ptr_nonnull(strstr(t_captured(log), ":2: IA b is marked for the kernel"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("conf");
	TCase *lines = tcase_create("lines");
	TCase *search = tcase_create("search");
	TCase *log = tcase_create("log");

	suite_add_tcase(suite, lines);
	tcase_add_test(lines, test_eight_fields_make_an_entry);
	tcase_add_loop_test(lines, test_good_line_is_taken_without_a_word, 0, NUM_GOOD_LINES);
	tcase_add_loop_test(lines, test_bad_line_is_reported_once_and_left_out, 0, NUM_BAD_LINES);
	tcase_add_test(lines, test_zero_byte_spoils_its_line_only);
	tcase_add_test(lines, test_long_lines_and_names);
	tcase_add_test(lines, test_only_user_default_lines_count_in_file_order);

	suite_add_tcase(suite, search);
	tcase_add_unchecked_fixture(search, dir_create, dir_remove);
	tcase_add_checked_fixture(search, dir_reset, NULL);
	tcase_add_test(search, test_override_comes_before_the_system_file);
	tcase_add_test(search, test_without_override_the_system_file_is_read);
	tcase_add_test(search, test_empty_override_counts_as_none);
	tcase_add_test(search, test_unreadable_override_is_reported_and_passed_over);
	tcase_add_test(search, test_then_comes_etc_dat_conf);
	tcase_add_test(search, test_last_comes_etc_rdma_dat_conf);
	tcase_add_test(search, test_without_any_file_there_are_no_entries);
	tcase_add_test(search, test_unreadable_system_file_is_reported);
	tcase_add_test(search, test_directory_in_place_of_the_file_is_reported);
#if T_HOOKS
	tcase_add_test(search, test_reading_leaves_no_memory_and_no_descriptor);
#endif

	suite_add_tcase(suite, log);
	tcase_add_loop_test(log, test_log_goes_where_it_was_asked_to, 0, NUM_LOG_SETTINGS);
	tcase_add_test(log, test_debug_log_tells_the_entries);
	return t_run(suite);
}
