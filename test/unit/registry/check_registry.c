/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registry: registrations of providers, and how long their libraries stay loaded. */
#include <dirent.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/t_heap.h"
#include "../../lib/t_hooks.h"

#include "registry_world.h"

static DAT_PROVIDER other_table = {.ia_open_func = own_open, .ia_close_func = own_close};

/* REG-001, REG-006, REG-007, IA-001 */
START_TEST(test_added_provider_is_found_until_it_is_removed)
{
	DAT_PROVIDER_INFO info = must_add("own", MAJOR, MINOR, DAT_FALSE);
	DAT_PROVIDER_INFO copy = info;

	memset(&info, 0xff, sizeof(info));
	must_close(must_open("own"));
	ck_assert_int_eq(times_listed("own"), 1);
	ck_assert_uint_eq(dat_registry_remove_provider(&own_table, &copy), DAT_SUCCESS);
	assert_cannot_open("own", NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	ck_assert_int_eq(times_listed("own"), 0);
}
END_TEST

/* REG-002 */
START_TEST(test_second_provider_of_a_name_is_refused)
{
	DAT_PROVIDER_INFO info = must_add("own", MAJOR, MINOR, DAT_FALSE);

	ck_assert_uint_eq(dat_registry_add_provider(&other_table, &info),
			  T_ERR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE));
	/* it cannot remove the first one either */
	ck_assert_uint_eq(dat_registry_remove_provider(&other_table, &info), BAD_ARG(2));
	must_close(must_open("own"));
}
END_TEST

/* REG-003 */
/* The IA of one line is open while another line is tried. REG-030 */
START_TEST(test_lines_of_a_name_are_registered_beside_each_other)
{
	DAT_IA_HANDLE first, second;

	t_conf(LINE("ib0", "x") LINE("ib0", "y"));
	first = must_open("ib0");
	t_fake.failures = 1;
	second = must_open("ib0");
	ck_assert_uint_eq(t_fake.register_ret, DAT_SUCCESS);
	ck_assert_str_eq(t_fake.init_params, "y");
	assert_loads(2, 0);
	/* The program itself can't have the name. */
	ck_assert_uint_eq(dat_registry_add_provider(&other_table, &t_fake.init_info),
			  T_ERR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE));
	must_close(second);
	assert_loads(2, 1);
	must_close(must_open("ib0"));
	must_close(first);
	assert_loads(2, 2);
}
END_TEST

START_TEST(test_other_versions_and_safety_are_other_registrations)
{
	must_add("own", MAJOR, MINOR, DAT_FALSE);
	must_add("own", T_OTHER_MAJOR, MINOR, DAT_FALSE);
	must_add("own", MAJOR, MINOR + 1, DAT_FALSE);
	must_add("own", MAJOR, MINOR, DAT_TRUE);
	must_add("Own", MAJOR, MINOR, DAT_FALSE);
	ck_assert_int_eq(times_listed("own"), 4);
}
END_TEST

/* REG-004, REG-010, REG-009 */
START_TEST(test_registration_checks_its_arguments)
{
	DAT_PROVIDER_INFO info = make_info("own", MAJOR, MINOR, DAT_FALSE);

	ck_assert_uint_eq(dat_registry_add_provider(NULL, &info), BAD_ARG(1));
	ck_assert_uint_eq(dat_registry_add_provider(&own_table, NULL), BAD_ARG(2));
	ck_assert_uint_eq(dat_registry_remove_provider(NULL, &info), BAD_ARG(1));
	ck_assert_uint_eq(dat_registry_remove_provider(&own_table, NULL), BAD_ARG(2));
	ck_assert_uint_eq(dat_registry_remove_provider(&own_table, &info), BAD_ARG(2));
	info.ia_name[0] = '\0';
	ck_assert_uint_eq(dat_registry_add_provider(&own_table, &info), BAD_ARG(2));
	memset(info.ia_name, 'x', sizeof(info.ia_name));
	ck_assert_uint_eq(dat_registry_add_provider(&own_table, &info), BAD_ARG(2));
	ck_assert_uint_eq(dat_registry_remove_provider(&own_table, &info), BAD_ARG(2));
}
END_TEST

/* REG-008 */
START_TEST(test_provider_of_an_open_ia_stays)
{
	DAT_PROVIDER_INFO info = must_add("own", MAJOR, MINOR, DAT_FALSE);
	DAT_IA_HANDLE ia = must_open("own");

	ck_assert_uint_eq(dat_registry_remove_provider(&own_table, &info),
			  T_ERR(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE));
	must_close(must_open("own"));
	must_close(ia);
	ck_assert_uint_eq(dat_registry_remove_provider(&own_table, &info), DAT_SUCCESS);
}
END_TEST

/* REG-021, REG-022, REG-023, REG-024, REG-031, REG-041, IA-018 */
START_TEST(test_library_is_loaded_from_first_open_to_last_close)
{
	DAT_IA_HANDLE first, second;

	t_conf(LINE("ib0", "a=b \\\"c\\\" \\\\ #d"));
	for (int round = 1; round <= 2; round++) {
		ck_assert(!module_is_loaded());
		first = must_open("ib0");
		second = must_open("ib0");
		assert_loads(round, round - 1);
		ck_assert_str_eq(t_fake.init_info.ia_name, "ib0");
		ck_assert_uint_eq(t_fake.init_info.dapl_version_major, MAJOR);
		ck_assert_str_eq(t_fake.init_params, "a=b \"c\" \\ #d");
		ck_assert_str_eq(t_fake.open_name, "ib0");
		ck_assert_int_eq(t_fake.open_qlen, 8);
		must_close(first);
		assert_loads(round, round - 1);
		must_close(second);
		assert_loads(round, round);
	}
	ck_assert(!module_is_loaded());
}
END_TEST

/* The reference registry finds its entry by these attributes on close. Ours does not need them. */
START_TEST(test_library_with_wrong_attributes_is_released)
{
	t_conf(LINE("ib0", "odd-attr"));
	must_close(must_open("ib0"));
	assert_loads(1, 1);
	ck_assert(!module_is_loaded());
}
END_TEST

/* REG-026 */
START_TEST(test_two_names_of_a_library_are_independent)
{
	DAT_IA_HANDLE first, second;

	t_conf(LINE("ib0", "p0") LINE("ib1", "p1"));
	first = must_open("ib0");
	second = must_open("ib1");
	assert_loads(2, 0);
	ck_assert_str_eq(t_fake.init_params, "p1");
	must_close(first);
	assert_loads(2, 1);
	must_close(must_open("ib1"));
	must_close(second);
	assert_loads(2, 2);
}
END_TEST

/* REG-025, REG-027 */
START_TEST(test_library_that_registers_nothing_is_not_found)
{
	int log = t_capture(STDERR_FILENO);

	t_conf(LINE("ib0", "no-register"));
	assert_cannot_open("ib0", NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	assert_loads(1, 1);
	ck_assert(!module_is_loaded());
	ck_assert_ptr_nonnull(
		strstr(t_captured(log), "IA ib0: provider library " T_MODULE " was loaded, but"));
}
END_TEST

/* The line of another library: the loader finds it, and it is no provider. */
START_TEST(test_library_without_the_entry_points_is_not_found)
{
	int log = t_capture(STDERR_FILENO);

	setenv("DAT_DBG_TYPE", "0xffff", 1);
	t_conf("ib0 " T_API " nonthreadsafe default libm.so.6 fake.1.0 x y\n");
	assert_cannot_open("ib0", NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	ck_assert_ptr_nonnull(
		strstr(t_captured(log), "IA ib0: its library has no dat_provider_init"));
	ck_assert_ptr_nonnull(strstr(t_captured(log), "was loaded, but it does not offer"));
}
END_TEST

START_TEST(test_default_provider_that_does_not_offer_a_name)
{
	int log = t_capture(STDERR_FILENO);

	assert_cannot_open("ofi-no-register", NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	assert_loads(1, 1);
	ck_assert_ptr_nonnull(
		strstr(t_captured(log), "provider library " T_PROVIDER_SONAME " was loaded, but"));
}
END_TEST

/* A provider may leave out any call. */
START_TEST(test_provider_that_can_not_open_or_close)
{
	static DAT_PROVIDER opens = {.ia_open_func = own_open};
	static DAT_PROVIDER closes = {.ia_close_func = own_close};
	DAT_PROVIDER_INFO info = make_info("own", MAJOR, MINOR, DAT_FALSE);
	DAT_RETURN not_supported = T_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	DAT_IA_HANDLE ia;

	ck_assert_uint_eq(dat_registry_add_provider(&closes, &info), DAT_SUCCESS);
	assert_cannot_open("own", not_supported);
	ck_assert_uint_eq(dat_registry_remove_provider(&closes, &info), DAT_SUCCESS);
	ck_assert_uint_eq(dat_registry_add_provider(&opens, &info), DAT_SUCCESS);
	own_object.table = &opens;
	ia = must_open("own");
	ck_assert_uint_eq(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), not_supported);
	/* the IA is still open */
	own_object.table = &own_table;
	must_close(ia);
}
END_TEST

/* If a library does not remove its name, no pointer into its unloaded memory may remain. */
START_TEST(test_name_that_is_left_registered_goes_with_its_library)
{
	t_conf(LINE("ib0", "no-remove"));
	must_close(must_open("ib0"));
	ck_assert(!module_is_loaded());
	must_close(must_open("ib0"));
	assert_loads(2, 2);
	ck_assert_uint_eq(t_fake.register_ret, DAT_SUCCESS);
}
END_TEST

#if T_HOOKS
/* Also of names that their libraries left registered. */
START_TEST(test_rounds_leave_no_memory)
{
	static const char *const names[] = {"ib0", "ofi"};
	size_t before = 0;

	t_conf(LINE("ib0", "no-remove"));
	for (int i = 0; i < 60; i++) {
		if (i == 10)
			before = t_heap();
		must_close(must_open(names[_i]));
	}
	ck_assert_uint_le(t_heap(), before + 4000);
}
END_TEST
#endif

/* When the last IA is closed, the library may remove its name, because nobody uses it. */
START_TEST(test_name_is_removed_by_its_library)
{
	int log = t_capture(STDERR_FILENO);
	DAT_IA_HANDLE first, second;

	setenv("DAT_DBG_TYPE", "0x08", 1);
	t_conf(LINE("ib0", "x"));
	first = must_open("ib0");
	second = must_open("ib0");
	must_close(first);
	must_close(second);
	ck_assert_ptr_nonnull(strstr(t_captured(log), "provider adds IA ib0: DAT_SUCCESS"));
	ck_assert_ptr_nonnull(strstr(t_captured(log), "provider removes IA ib0: DAT_SUCCESS"));
	ck_assert_ptr_null(strstr(t_captured(log), "was left registered"));
}
END_TEST

START_TEST(test_further_name_of_a_loaded_library_keeps_it_loaded)
{
	DAT_IA_HANDLE first, second;

	t_capture(STDERR_FILENO);
	t_conf(LINE("ib0", "other-name"));
	assert_cannot_open("fake-other", NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	first = must_open("ib0");
	second = must_open("fake-other");
	must_close(first);
	assert_loads(1, 0);
	must_close(second);
	assert_loads(1, 1);
}
END_TEST

START_TEST(test_provider_may_open_ias_from_its_init)
{
	t_conf(LINE("ib0", "nested-open") LINE("nested", "x"));
	must_close(must_open("ib0"));
	assert_loads(2, 2);
	ck_assert_int_eq(t_fake.opens, 2);
}
END_TEST

START_TEST(test_provider_that_opens_itself_from_its_init_is_not_found_there)
{
	t_capture(STDERR_FILENO);
	t_conf(LINE("nested", "nested-open"));
	must_close(must_open("nested"));
	assert_loads(1, 1);
}
END_TEST

/* --- fork --- */

static atomic_bool loads, may_go, goes_before_fork, has_closed;

static void *open_slow(void *arg)
{
	(void)arg;
	must_close(must_open("slow"));
	atomic_store(&has_closed, true);
	return NULL;
}

static void wait_in_init(const char *ia_name)
{
	if (strcmp(ia_name, "slow") != 0)
		return;
	atomic_store(&loads, true);
	while (!atomic_load(&may_go))
		sched_yield();
}

/* It runs before the registry's own, which was registered earlier. */
static void before_fork(void)
{
	if (atomic_load(&goes_before_fork))
		atomic_store(&may_go, true);
}

/* A child that waits for ever is ended by the signal. */
static void open_in_child(void)
{
	alarm(30);
	must_close(must_open("ib0"));
	_exit(0);
}

static void expect_good_end(pid_t pid)
{
	int status;

	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* Another thread loads a library. It goes on when the fork has begun, or keeps the lock. */
START_TEST(test_child_opens_ias_while_a_thread_of_its_parent_loads)
{
	pthread_t loader;
	pid_t pid;

	t_conf(LINE("ib0", "x") LINE("slow", "x"));
	t_fake.in_init = wait_in_init;
	ck_assert_int_eq(pthread_atfork(before_fork, NULL, NULL), 0);
	ck_assert_int_eq(pthread_create(&loader, NULL, open_slow, NULL), 0);
	pthread_detach(loader); /* nobody joins it in the child */
	while (!atomic_load(&loads))
		sched_yield();
	atomic_store(&goes_before_fork, _i == 0);
	pid = fork();
	if (!pid)
		open_in_child();
	expect_good_end(pid);
	atomic_store(&may_go, true);
	while (!atomic_load(&has_closed))
		sched_yield();
	must_close(must_open("ib0"));
}
END_TEST

static pid_t forked = -1;

static void fork_in_init(const char *ia_name)
{
	if (!strcmp(ia_name, "forks"))
		forked = fork();
}

START_TEST(test_library_that_forks_while_it_is_loaded)
{
	t_conf(LINE("ib0", "x") LINE("forks", "x"));
	t_fake.in_init = fork_in_init;
	must_close(must_open("forks"));
	if (!forked)
		open_in_child();
	expect_good_end(forked);
	must_close(must_open("ib0"));
}
END_TEST

/* PRG-17: 400 rounds of opening, failing and closing with 50 descriptors */
static int num_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

START_TEST(test_rounds_leave_nothing_open)
{
	struct rlimit limit;
	int before;

	t_capture(STDERR_FILENO);
	t_conf(LINE("ib0", "x") LINE("bad", "fail-open"));
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 50;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	must_close(must_open("ib0"));
	before = num_descriptors();
	for (int round = 0; round < 400; round++) {
		must_close(must_open("ib0"));
		assert_cannot_open("bad", T_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE));
		assert_cannot_open("nobody", NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	}
	ck_assert_int_eq(num_descriptors(), before);
	assert_loads(801, 801);
	/* Nor did they use numbers up: the first table has 64. */
	ck_assert_uint_lt((uintptr_t)must_open("ib0"), 64);
}
END_TEST

static void add_tests(Suite *suite)
{
	TCase *tc = add_case(suite, "registry");

	tcase_add_test(tc, test_added_provider_is_found_until_it_is_removed);
	tcase_add_test(tc, test_second_provider_of_a_name_is_refused);
	tcase_add_test(tc, test_lines_of_a_name_are_registered_beside_each_other);
	tcase_add_test(tc, test_other_versions_and_safety_are_other_registrations);
	tcase_add_test(tc, test_registration_checks_its_arguments);
	tcase_add_test(tc, test_provider_of_an_open_ia_stays);
	tcase_add_test(tc, test_library_is_loaded_from_first_open_to_last_close);
	tcase_add_test(tc, test_library_with_wrong_attributes_is_released);
	tcase_add_test(tc, test_two_names_of_a_library_are_independent);
	tcase_add_test(tc, test_library_that_registers_nothing_is_not_found);
	tcase_add_test(tc, test_library_without_the_entry_points_is_not_found);
	tcase_add_test(tc, test_default_provider_that_does_not_offer_a_name);
	tcase_add_test(tc, test_provider_that_can_not_open_or_close);
	tcase_add_test(tc, test_name_that_is_left_registered_goes_with_its_library);
#if T_HOOKS
	tcase_add_loop_test(tc, test_rounds_leave_no_memory, 0, 2);
#endif
	tcase_add_test(tc, test_name_is_removed_by_its_library);
	tcase_add_test(tc, test_further_name_of_a_loaded_library_keeps_it_loaded);
	tcase_add_test(tc, test_provider_may_open_ias_from_its_init);
	tcase_add_test(tc, test_provider_that_opens_itself_from_its_init_is_not_found_there);
	tcase_add_loop_test(tc, test_child_opens_ias_while_a_thread_of_its_parent_loads, 0, 2);
	tcase_add_test(tc, test_library_that_forks_while_it_is_loaded);
	tcase_add_test(tc, test_rounds_leave_nothing_open);
}

int main(int argc, char **argv)
{
	(void)argc;
	return world_run(argv, "registry", add_tests);
}
