/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registry: from the name of an IA to its provider, by dat.conf and without it. */
#include <sys/resource.h>

#include "registry_world.h"

/* The registration of a provider, what the program asks for, and the result. */
static const struct {
	DAT_UINT32 major, minor;
	DAT_BOOLEAN safe;
	DAT_UINT32 want_major, want_minor;
	DAT_BOOLEAN want_safe;
	DAT_RETURN ret;
} matches[] = {
	{MAJOR, 3, DAT_FALSE, MAJOR, 3, DAT_FALSE, DAT_SUCCESS}, /* REG-029 */
	{MAJOR, 3, DAT_FALSE, MAJOR, 1, DAT_FALSE, DAT_SUCCESS}, /* REG-028 */
	{MAJOR, 3, DAT_TRUE, MAJOR, 3, DAT_TRUE, DAT_SUCCESS},
	{MAJOR, 3, DAT_TRUE, MAJOR, 3, (DAT_BOOLEAN)7, DAT_SUCCESS},
	{MAJOR + 5, 3, DAT_FALSE, MAJOR, 3, DAT_FALSE, NOT_FOUND(DAT_MAJOR_NOT_FOUND)}, /* IA-003 */
	{MAJOR, 3, DAT_FALSE, MAJOR, 4, DAT_FALSE, NOT_FOUND(DAT_MINOR_NOT_FOUND)},     /* IA-004 */
	{MAJOR, 3, DAT_FALSE, MAJOR, 3, DAT_TRUE,
	 NOT_FOUND(DAT_THREAD_SAFETY_NOT_FOUND)}, /* IA-005 */
	{MAJOR, 3, DAT_TRUE, MAJOR, 2, DAT_FALSE, NOT_FOUND(DAT_THREAD_SAFETY_NOT_FOUND)},
};

START_TEST(test_selection_by_version_and_thread_safety)
{
	DAT_IA_HANDLE ia;

	must_add("own", matches[_i].major, matches[_i].minor, matches[_i].safe);
	ck_assert_uint_eq(openv("own", matches[_i].want_major, matches[_i].want_minor,
				matches[_i].want_safe, &ia),
			  matches[_i].ret);
}
END_TEST

/* The same by lines of dat.conf. No library is loaded without need. */
START_TEST(test_selection_among_lines)
{
	DAT_IA_HANDLE ia;

	t_conf("ib0 u%d.3 %s default " T_MODULE " fake.1.0 x y\n", (int)matches[_i].major,
	       matches[_i].safe ? "threadsafe" : "nonthreadsafe");
	ck_assert_uint_eq(openv("ib0", matches[_i].want_major, matches[_i].want_minor,
				matches[_i].want_safe, &ia),
			  matches[_i].ret);
	assert_loads(matches[_i].ret == DAT_SUCCESS, 0);
}
END_TEST

/* Sets the limit of descriptors. Returns the former one, which LeakSanitizer needs at exit. */
static rlim_t limit_descriptors(rlim_t soft)
{
	struct rlimit limit;
	rlim_t before;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	before = limit.rlim_cur;
	limit.rlim_cur = soft;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return before;
}

/* IA-017: the file is read when there are descriptors again, and nothing is opened without it. */
START_TEST(test_file_that_can_not_be_opened_yet)
{
	rlim_t before;

	t_conf(LINE("ib0", "x") LINE("ofi", "y"));
	before = limit_descriptors(0);
	assert_cannot_open("ib0", T_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	assert_cannot_open("ofi", T_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	assert_loads(0, 0);
	limit_descriptors(before);
	must_close(must_open("ib0"));
	must_close(must_open("ofi"));
}
END_TEST

/* A name that the program added needs no file. */
START_TEST(test_added_name_needs_no_file)
{
	DAT_IA_HANDLE ia;
	rlim_t before;

	must_add("own", MAJOR, MINOR, DAT_FALSE);
	before = limit_descriptors(0);
	ck_assert_uint_eq(openv("own", MAJOR, MINOR, DAT_FALSE, &ia), DAT_SUCCESS);
	limit_descriptors(before);
}
END_TEST

/* IA-002: names are compared as they are */
START_TEST(test_unknown_name_is_not_registered)
{
	int log = t_capture(STDERR_FILENO);

	must_add("own", MAJOR, MINOR, DAT_FALSE);
	assert_cannot_open("nobody", NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	assert_cannot_open("OWN", NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	assert_cannot_open("ow", NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	ck_assert_ptr_nonnull(strstr(t_captured(log), "IA nobody (nonthreadsafe, DAT "));
	ck_assert_ptr_nonnull(strstr(t_captured(log), getenv("DAT_OVERRIDE")));
}
END_TEST

/* IA-006, IA-007 */
START_TEST(test_open_checks_its_arguments)
{
	char unterminated[DAT_NAME_MAX_LENGTH];
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	char name[] = "own";
	DAT_IA_HANDLE ia;

	must_add("own", MAJOR, MINOR, DAT_FALSE);
	memset(unterminated, 'x', sizeof(unterminated));
	ck_assert_uint_eq(open_stock(NULL, &ia), BAD_ARG(1));
	ck_assert_uint_eq(open_stock("", &ia), BAD_ARG(1));
	ck_assert_uint_eq(open_stock(unterminated, &ia), BAD_ARG(1));
	ck_assert_uint_eq(dat_ia_open(name, 8, NULL, &ia), BAD_ARG(3));
	ck_assert_uint_eq(dat_ia_open(name, 8, &evd, NULL), T_BAD_IA);
}
END_TEST

/* REG-039: one message, and the process continues */
START_TEST(test_library_that_does_not_load_is_reported)
{
	int log = t_capture(STDERR_FILENO);
	const char *text;

	t_conf(UNLOADABLE_LINE("ib0", T_API) LINE("ib1", "x"));
	assert_cannot_open("ib0", NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	text = t_captured(log);
	ck_assert_ptr_nonnull(
		strstr(text, "IA ib0: cannot load its provider library: /no/such/library.so: "));
	ck_assert_ptr_eq(strchr(text, '\n'), strrchr(text, '\n'));
	must_close(must_open("ib1"));
}
END_TEST

/*
 * REG-030: a library that does not load, one that registers nothing, one that fails to open, and a
 * good one
 */
START_TEST(test_lines_of_a_name_are_tried_in_order)
{
	DAT_IA_HANDLE ia;

	t_capture(STDERR_FILENO);
	t_conf(UNLOADABLE_LINE("ib0", T_API) LINE("ib0", "no-register") LINE("ib0", "fail-open")
		       LINE("ib0", "good") LINE("ib0", "unused"));
	ia = must_open("ib0");
	ck_assert_str_eq(t_fake.init_params, "good");
	assert_loads(3, 2);
	ck_assert_int_eq(t_fake.opens, 2);
	must_close(ia);
	assert_loads(3, 3);
}
END_TEST

/* The provider's own error tells more than "not found". IA-019 */
START_TEST(test_error_of_the_first_provider_is_the_answer)
{
	DAT_EVD_HANDLE evd = &evd;
	char name[] = "ib0";
	DAT_IA_HANDLE ia = &ia;

	t_capture(STDERR_FILENO);
	t_conf(LINE("ib0", "fail-open") LINE("ib0", "no-register") LINE("ib0", "fail-open"));
	ck_assert_uint_eq(dat_ia_open(name, 8, &evd, &ia),
			  T_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE));
	assert_loads(3, 3);
	/* IA-017 */
	ck_assert_ptr_eq(evd, &evd);
	ck_assert_ptr_eq(ia, &ia);
}
END_TEST

static DAT_RETURN own_answer; /* of the next open */

static DAT_RETURN open_answers(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			       DAT_IA_HANDLE *ia)
{
	(void)name, (void)qlen, (void)evd, (void)ia;
	return own_answer;
}

/* An answer that DAT does not know is passed on, and logged. */
START_TEST(test_answer_that_is_not_known)
{
	static DAT_PROVIDER table = {.ia_open_func = open_answers};
	DAT_PROVIDER_INFO info = make_info("own", MAJOR, MINOR, DAT_FALSE);
	int log = t_capture(STDERR_FILENO);

	setenv("DAT_DBG_TYPE", "0xffff", 1);
	own_answer = T_ERR(0x7ffu << 16, DAT_NO_SUBTYPE);
	ck_assert_uint_eq(dat_registry_add_provider(&table, &info), DAT_SUCCESS);
	assert_cannot_open("own", own_answer);
	ck_assert_ptr_nonnull(
		strstr(t_captured(log), "IA own: its provider answers unknown return code"));
}
END_TEST

START_TEST(test_name_that_the_program_added_comes_before_the_lines)
{
	t_conf(LINE("own", "x"));
	must_add("own", MAJOR, MINOR, DAT_FALSE);
	must_close(must_open("own"));
	assert_loads(0, 0);
}
END_TEST

/* Also if it does not open. */
START_TEST(test_lines_are_not_tried_for_a_name_that_the_program_added)
{
	static DAT_PROVIDER table = {.ia_open_func = open_answers};
	DAT_PROVIDER_INFO info = make_info("own", MAJOR, MINOR, DAT_FALSE);

	t_conf(LINE("own", "x"));
	own_answer = T_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	ck_assert_uint_eq(dat_registry_add_provider(&table, &info), DAT_SUCCESS);
	assert_cannot_open("own", own_answer);
	assert_loads(0, 0);
	/* It is in use no more. */
	ck_assert_uint_eq(dat_registry_remove_provider(&table, &info), DAT_SUCCESS);
}
END_TEST

/* In either order of closing; a name that is still open is not loaded again. */
START_TEST(test_default_names_come_and_go)
{
	static const char *const names[] = {"ofi-a", "ofi-b", "ofi-c"};
	DAT_IA_HANDLE ia[3];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 3; i++)
			ia[i] = must_open(names[i]);
		assert_loads(5 * round + 3, 5 * round);
		for (int i = 0; i < 2; i++) {
			int first = (_i + i) % 3, last = (_i + 2) % 3;

			must_close(ia[first]);
			must_close(must_open(names[last]));
			assert_loads(5 * round + 3 + i, 5 * round + 1 + 2 * i);
			must_close(must_open(names[first]));
			assert_loads(5 * round + 4 + i, 5 * round + 2 + 2 * i);
		}
		must_close(ia[(_i + 2) % 3]);
		assert_loads(5 * round + 5, 5 * round + 5);
	}
	ck_assert(!module_is_loaded());
}
END_TEST

/* The provider of a default name is tried once. */
START_TEST(test_default_provider_that_does_not_open)
{
	t_capture(STDERR_FILENO);
	assert_cannot_open("ofi-fail-open", T_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE));
	assert_loads(1, 1);
	ck_assert_int_eq(t_fake.opens, 1);
	ck_assert(!module_is_loaded());
}
END_TEST

/* REG-038, REG-042: bad lines do not affect the other lines of a file */
START_TEST(test_bad_lines_and_other_versions_do_no_harm)
{
	t_capture(STDERR_FILENO);
	t_conf("ib0 too short\n" UNLOADABLE_LINE("ib0", T_OTHER_API) UNLOADABLE_LINE("ib0", "k2.0")
		       LINE("ib0", "x"));
	must_close(must_open("ib0"));
}
END_TEST

static const char *const default_names[] = {"ofi", "ofi-tcp", "ofi-verbs-mlx5_0", "ofi-tcp;ofi_rxm",
					    "ofi-x"};

START_TEST(test_default_name_is_served_with_either_thread_safety)
{
	const char *name = default_names[_i];
	DAT_IA_HANDLE safe, unsafe;

	t_conf("# nothing\n");
	ck_assert_uint_eq(openv(name, MAJOR, MINOR, DAT_TRUE, &safe), DAT_SUCCESS);
	ck_assert_int_eq(t_fake.init_info.is_thread_safe, DAT_TRUE);
	ck_assert_uint_eq(openv(name, MAJOR, MINOR, DAT_FALSE, &unsafe), DAT_SUCCESS);
	ck_assert_int_eq(t_fake.init_info.is_thread_safe, DAT_FALSE);
	ck_assert_str_eq(t_fake.init_info.ia_name, name);
	ck_assert_uint_eq(t_fake.init_info.dapl_version_major, MAJOR);
	ck_assert_uint_eq(t_fake.init_info.dapl_version_minor, MINOR);
	ck_assert_str_eq(t_fake.init_params, "");
	must_close(must_open(name));
	assert_loads(2, 0);
	must_close(safe);
	must_close(unsafe);
	assert_loads(2, 2);
}
END_TEST

START_TEST(test_what_only_resembles_a_default_name_is_unknown)
{
	static const char *const names[] = {"of", "ofi-", "ofix", "OFI", "ofi_tcp"};

	t_capture(STDERR_FILENO);
	t_conf("# nothing\n");
	for (int i = 0; i < 5; i++)
		assert_cannot_open(names[i], NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	assert_loads(0, 0);
}
END_TEST

START_TEST(test_default_name_has_one_version)
{
	DAT_IA_HANDLE ia;

	t_capture(STDERR_FILENO);
	t_conf("# nothing\n");
	ck_assert_uint_eq(openv("ofi", MAJOR, MINOR + 1, DAT_FALSE, &ia),
			  NOT_FOUND(DAT_MINOR_NOT_FOUND));
	ck_assert_uint_eq(openv("ofi", T_OTHER_MAJOR, 0, DAT_FALSE, &ia),
			  NOT_FOUND(DAT_MAJOR_NOT_FOUND));
	assert_loads(0, 0);
}
END_TEST

START_TEST(test_line_replaces_the_default_name)
{
	t_capture(STDERR_FILENO);
	t_conf(LINE("ofi", "from-line") UNLOADABLE_LINE("ofi-tcp", T_API)
		       UNLOADABLE_LINE("ofi-shm", T_OTHER_API));
	must_close(must_open("ofi"));
	ck_assert_str_eq(t_fake.init_params, "from-line");
	assert_cannot_open("ofi-tcp", NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	/* a line of the other version does not replace the default name */
	must_close(must_open("ofi-shm"));
	ck_assert_str_eq(t_fake.init_params, "");
}
END_TEST

/* The loader does not find our provider, but it is in the directory of the registry. */
/* Another program opens ofi-tcp by this registry, without LD_LIBRARY_PATH. Returns its status. */
static int open_by(const char *libdat, const char *apart)
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		unsetenv("LD_LIBRARY_PATH");
		execl(T_PLUGIN_OPEN, "plugin_open", libdat, "ofi-tcp", apart, (char *)NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

START_TEST(test_default_provider_is_found_beside_the_registry)
{
	char libdat[PATH_MAX];
	int status;

	t_conf("# nothing\n");
	snprintf(libdat, sizeof(libdat), "%s/" T_LIBDAT, getenv("T_DIR"));
	status = open_by(libdat, NULL);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* A name space of the loader that has no global scope */
START_TEST(test_registry_that_was_loaded_by_dlmopen)
{
	int log = t_capture(STDERR_FILENO), status;
	char libdat[PATH_MAX];

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	t_skip("the library of the sanitizer can't be loaded by dlmopen()");
#endif
	t_conf("# nothing\n");
	snprintf(libdat, sizeof(libdat), "%s/" T_LIBDAT, getenv("T_DIR"));
	status = open_by(libdat, "apart");
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 1);
	ck_assert_ptr_nonnull(strstr(t_captured(log),
				     "IA ofi-tcp: its provider can't be loaded, "
				     "because this library was loaded by dlmopen"));
}
END_TEST

/* Neither the loader finds our provider, nor is it beside the registry, nor installed. */
START_TEST(test_default_provider_that_is_nowhere)
{
	int log = t_capture(STDERR_FILENO), status;
	char libdat[PATH_MAX];
	const char *text;

	t_conf("# nothing\n");
	ck_assert_ptr_nonnull(realpath(own_libdat(), libdat));
	status = open_by(libdat, NULL);
	if (!status)
		t_skip("our provider is installed");
	ck_assert_int_eq(WEXITSTATUS(status), 1);
	text = strstr(t_captured(log), "IA ofi-tcp: cannot load its provider library: ");
	ck_assert_ptr_nonnull(text);
	/* what went wrong in each of the three places */
	for (int i = 0; i < 3; i++) {
		text = strstr(text + 1, i ? "/" T_PROVIDER_SONAME : T_PROVIDER_SONAME);
		ck_assert_ptr_nonnull(text);
	}
}
END_TEST

static void add_tests(Suite *suite)
{
	TCase *tc = add_case(suite, "search");
	int num_matches = sizeof(matches) / sizeof(matches[0]);

	tcase_add_loop_test(tc, test_selection_by_version_and_thread_safety, 0, num_matches);
	tcase_add_loop_test(tc, test_selection_among_lines, 0, num_matches);
	tcase_add_test(tc, test_file_that_can_not_be_opened_yet);
	tcase_add_test(tc, test_added_name_needs_no_file);
	tcase_add_test(tc, test_unknown_name_is_not_registered);
	tcase_add_test(tc, test_open_checks_its_arguments);
	tcase_add_test(tc, test_library_that_does_not_load_is_reported);
	tcase_add_test(tc, test_lines_of_a_name_are_tried_in_order);
	tcase_add_test(tc, test_error_of_the_first_provider_is_the_answer);
	tcase_add_test(tc, test_answer_that_is_not_known);
	tcase_add_test(tc, test_default_provider_that_is_nowhere);
	tcase_add_test(tc, test_registry_that_was_loaded_by_dlmopen);
	tcase_add_test(tc, test_name_that_the_program_added_comes_before_the_lines);
	tcase_add_test(tc, test_lines_are_not_tried_for_a_name_that_the_program_added);
	tcase_add_loop_test(tc, test_default_names_come_and_go, 0, 3);
	tcase_add_test(tc, test_default_provider_that_does_not_open);
	tcase_add_test(tc, test_bad_lines_and_other_versions_do_no_harm);
	tcase_add_loop_test(tc, test_default_name_is_served_with_either_thread_safety, 0, 5);
	tcase_add_test(tc, test_what_only_resembles_a_default_name_is_unknown);
	tcase_add_test(tc, test_default_name_has_one_version);
	tcase_add_test(tc, test_line_replaces_the_default_name);
	tcase_add_test(tc, test_default_provider_is_found_beside_the_registry);
}

int main(int argc, char **argv)
{
	(void)argc;
	return world_run(argv, "search", add_tests);
}
