/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The registry: names of IAs and providers. T_MODULE is the fake provider as a module. main() makes
 * a directory that has it under the name of our own provider, too, for names that need no dat.conf.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../../lib/fake_provider.h"
#include "../../lib/unit.h"

struct t_fake_record t_fake;

#define MINOR DAT_VERSION_MINOR
#define MAJOR DAT_VERSION_MAJOR
#define LINE(name, params) \
	name " " T_API " nonthreadsafe default " T_MODULE " fake.1.0 \"" params "\" \"\"\n"
#define UNLOADABLE_LINE(name, api) \
	name " " api " nonthreadsafe default /no/such/library.so fake.1.0 x y\n"
#define NOT_FOUND(subtype) T_ERR(DAT_PROVIDER_NOT_FOUND, subtype)
#define BAD_ARG(n)         T_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

static DAT_RETURN openv(const char *name, DAT_UINT32 major, DAT_UINT32 minor, DAT_BOOLEAN safe,
			DAT_IA_HANDLE *ia)
{
	DAT_NAME_PTR name_ptr = (DAT_NAME_PTR)(uintptr_t)name;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	return dat_ia_openv(name_ptr, 8, &evd, ia, major, minor, safe);
}

/* Opens an IA as a compiled program does. IA-020 */
static DAT_RETURN open_stock(const char *name, DAT_IA_HANDLE *ia)
{
	DAT_NAME_PTR name_ptr = (DAT_NAME_PTR)(uintptr_t)name;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	return dat_ia_open(name_ptr, 8, &evd, ia);
}

static DAT_IA_HANDLE must_open(const char *name)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	ck_assert_uint_eq(open_stock(name, &ia), DAT_SUCCESS);
	ck_assert_ptr_nonnull(ia);
	return ia;
}

static void must_close(DAT_IA_HANDLE ia)
{
	ck_assert_uint_eq(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

static void assert_cannot_open(const char *name, DAT_RETURN want)
{
	DAT_IA_HANDLE ia;

	ck_assert_uint_eq(open_stock(name, &ia), want);
}

static void assert_loads(int inits, int finis)
{
	ck_assert_int_eq(t_fake.inits, inits);
	ck_assert_int_eq(t_fake.finis, finis);
}

static bool module_is_loaded(void)
{
	void *handle = dlopen(T_MODULE, RTLD_NOW | RTLD_NOLOAD);

	if (handle)
		dlclose(handle);
	return handle;
}

#define MAX_LIST 32

static DAT_PROVIDER_INFO infos[MAX_LIST];
static DAT_PROVIDER_INFO *info_list[MAX_LIST];

static int list_all(void)
{
	DAT_COUNT count = -1;

	for (int i = 0; i < MAX_LIST; i++)
		info_list[i] = &infos[i];
	ck_assert_uint_eq(dat_registry_list_providers(MAX_LIST, &count, info_list), DAT_SUCCESS);
	return count;
}

static int times_listed(const char *name)
{
	int times = 0;

	for (int i = list_all(); i-- > 0;)
		times += !strcmp(infos[i].ia_name, name);
	return times;
}

/* ---- providers inside the program ---- */

static struct {
	const DAT_PROVIDER *table;
} own_object;

static DAT_RETURN own_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			   DAT_IA_HANDLE *ia)
{
	(void)name, (void)qlen, (void)evd;
	*ia = &own_object;
	return DAT_SUCCESS;
}

static DAT_RETURN own_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)ia, (void)flags;
	return DAT_SUCCESS;
}

static DAT_PROVIDER own_table = {.ia_open_func = own_open, .ia_close_func = own_close};
static DAT_PROVIDER other_table = {.ia_open_func = own_open, .ia_close_func = own_close};

static DAT_PROVIDER_INFO make_info(const char *name, DAT_UINT32 major, DAT_UINT32 minor,
				   DAT_BOOLEAN safe)
{
	DAT_PROVIDER_INFO info = {.dapl_version_major = major,
				  .dapl_version_minor = minor,
				  .is_thread_safe = safe};

	own_object.table = &own_table;
	strcpy(info.ia_name, name);
	return info;
}

static DAT_PROVIDER_INFO must_add(const char *name, DAT_UINT32 major, DAT_UINT32 minor,
				  DAT_BOOLEAN safe)
{
	DAT_PROVIDER_INFO info = make_info(name, major, minor, safe);

	ck_assert_uint_eq(dat_registry_add_provider(&own_table, &info), DAT_SUCCESS);
	return info;
}

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

/* ---- listing ---- */

/* REG-012, REG-013, REG-042, and the default name */
START_TEST(test_lines_are_listed_without_loading_them)
{
	t_conf("one u1.2 threadsafe default " T_MODULE " fake.1.0 x y\n"
	       "two u2.0 nonthreadsafe default /no/such/library fake.1.0 x y\n"
	       "not u2.0 threadsafe nondefault " T_MODULE " fake.1.0 x y\n");
	ck_assert_int_eq(list_all(), 3);
	ck_assert_str_eq(infos[0].ia_name, "one");
	ck_assert_uint_eq(infos[0].dapl_version_major, 1);
	ck_assert_uint_eq(infos[0].dapl_version_minor, 2);
	ck_assert_int_eq(infos[0].is_thread_safe, DAT_TRUE);
	ck_assert_str_eq(infos[1].ia_name, "two");
	ck_assert_uint_eq(infos[1].dapl_version_major, 2);
	ck_assert_int_eq(infos[1].is_thread_safe, DAT_FALSE);
	ck_assert_str_eq(infos[2].ia_name, "ofi");
	ck_assert_uint_eq(infos[2].dapl_version_major, MAJOR);
	ck_assert_uint_eq(infos[2].dapl_version_minor, MINOR);
	assert_loads(0, 0);
}
END_TEST

/* REG-019 */
START_TEST(test_nothing_is_listed_twice)
{
	DAT_IA_HANDLE ia;

	t_conf(LINE("a", "x") LINE("b", "x") LINE("a", "other"));
	ia = must_open("a");
	must_add("own", MAJOR, MINOR, DAT_FALSE);
	must_add("b", MAJOR, MINOR, DAT_FALSE);
	ck_assert_int_eq(list_all(), 4);
	ck_assert_str_eq(infos[0].ia_name, "a");
	ck_assert_str_eq(infos[1].ia_name, "b");
	ck_assert_str_eq(infos[2].ia_name, "own");
	ck_assert_str_eq(infos[3].ia_name, "ofi");
	must_close(ia);
}
END_TEST

START_TEST(test_line_of_the_default_name_takes_its_place_in_the_list)
{
	t_conf(LINE("ofi", "x") "ofi " T_OTHER_API " threadsafe default " T_MODULE
				" fake.1.0 x y\n");
	ck_assert_int_eq(list_all(), 2);
	ck_assert_uint_eq(infos[0].dapl_version_major, MAJOR);
	ck_assert_uint_eq(infos[1].dapl_version_major, T_OTHER_MAJOR);
}
END_TEST

/* REG-014: filled, and nothing behind it touched */
START_TEST(test_short_list_is_filled)
{
	DAT_PROVIDER_INFO guarded[3];
	DAT_PROVIDER_INFO *list[3] = {&guarded[0], &guarded[1], NULL};
	DAT_COUNT count = -1;

	t_conf(LINE("a", "x") LINE("b", "x"));
	memset(guarded, 0x55, sizeof(guarded));
	ck_assert_uint_eq(dat_registry_list_providers(2, &count, list), DAT_SUCCESS);
	ck_assert_int_eq(count, 2);
	ck_assert_str_eq(guarded[1].ia_name, "b");
	ck_assert_int_eq(guarded[2].ia_name[0], 0x55);
	/* REG-011: just enough */
	list[2] = &guarded[2];
	ck_assert_uint_eq(dat_registry_list_providers(3, &count, list), DAT_SUCCESS);
	ck_assert_int_eq(count, 3);
	ck_assert_str_eq(guarded[2].ia_name, "ofi");
}
END_TEST

/* REG-015, REG-016, REG-017 */
START_TEST(test_list_checks_its_arguments)
{
	DAT_PROVIDER_INFO one, *list[2] = {&one, NULL};
	DAT_COUNT count = -1;

	t_conf(LINE("a", "x") LINE("b", "x"));
	ck_assert_uint_eq(dat_registry_list_providers(0, &count, NULL), BAD_ARG(1));
	ck_assert_int_eq(count, 3);
	count = -1;
	ck_assert_uint_eq(dat_registry_list_providers(-4, &count, list), BAD_ARG(1));
	ck_assert_int_eq(count, 3);
	ck_assert_uint_eq(dat_registry_list_providers(2, NULL, list), BAD_ARG(2));
	ck_assert_uint_eq(dat_registry_list_providers(2, &count, NULL), BAD_ARG(3));
	memset(&one, 0x55, sizeof(one));
	ck_assert_uint_eq(dat_registry_list_providers(2, &count, list), BAD_ARG(3));
	ck_assert_int_eq(one.ia_name[0], 0x55);
}
END_TEST

/* REG-018: a file that cannot be read has no effect on other names */
START_TEST(test_list_without_a_file_has_the_other_names)
{
	t_conf("# nothing\n");
	must_add("own", MAJOR, MINOR, DAT_FALSE);
	ck_assert_int_eq(list_all(), 2);
	ck_assert_str_eq(infos[0].ia_name, "own");
}
END_TEST

/* ---- providers that dat.conf names ---- */

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
	t_conf(LINE("ib0", "fail-open") LINE("ib0", "no-register"));
	ck_assert_uint_eq(dat_ia_open(name, 8, &evd, &ia),
			  T_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE));
	assert_loads(2, 2);
	/* IA-017 */
	ck_assert_ptr_eq(evd, &evd);
	ck_assert_ptr_eq(ia, &ia);
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

/* REG-038, REG-042: bad lines do not affect the other lines of a file */
START_TEST(test_bad_lines_and_other_versions_do_no_harm)
{
	t_capture(STDERR_FILENO);
	t_conf("ib0 too short\n" UNLOADABLE_LINE("ib0", T_OTHER_API) UNLOADABLE_LINE("ib0", "k2.0")
		       LINE("ib0", "x"));
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
}
END_TEST

/* ---- names that need no dat.conf ---- */

static const char *const default_names[] = {"ofi", "ofi-tcp", "ofi-verbs-mlx5_0",
					    "ofi-tcp;ofi_rxm"};

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
START_TEST(test_default_provider_is_found_beside_the_registry)
{
	char libdat[PATH_MAX];
	int status;
	pid_t pid;

	t_conf("# nothing\n");
	snprintf(libdat, sizeof(libdat), "%s/" T_LIBDAT, getenv("T_DIR"));
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		unsetenv("LD_LIBRARY_PATH");
		execl(T_PLUGIN_OPEN, "plugin_open", libdat, "ofi-tcp", (char *)NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- handles ---- */

/* IA-015, IA-021, HND-021 */
START_TEST(test_ia_handles_are_numbers_that_providers_can_translate)
{
	DAT_IA_HANDLE first, second, provider_handle, number;
	DAT_EVD_HANDLE evd;

	t_conf(LINE("ib0", "x"));
	first = must_open("ib0");
	second = must_open("ib0");
	ck_assert_ptr_ne(first, second);
	ck_assert_uint_lt((uintptr_t)first, 65536);
	ck_assert_uint_eq(dat_ia_query(second, &evd, 0, NULL, 0, NULL), DAT_SUCCESS);
	ck_assert_ptr_eq(t_fake.ia_number, second);
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG(second), &provider_handle), DAT_SUCCESS);
	ck_assert_ptr_eq(provider_handle, t_fake.handle);
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG(provider_handle), &number), DAT_SUCCESS);
	ck_assert_ptr_eq(number, second);
	must_close(first);
	must_close(second);
}
END_TEST

START_TEST(test_what_is_no_ia_is_not_translated)
{
	DAT_IA_HANDLE ia, out = &ia;

	t_conf(LINE("ib0", "x"));
	ia = must_open("ib0");
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG(NULL), &out), T_BAD_IA);
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG((char *)ia + 1), &out), T_BAD_IA);
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG((void *)(uintptr_t)65535), &out), T_BAD_IA);
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG(&ia), &out), T_BAD_IA);
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG(ia), NULL), BAD_ARG(2));
	ck_assert_ptr_eq(out, &ia);
	must_close(ia);
	ck_assert_uint_eq(dats_get_ia_handle(T_IA_ARG(ia), &out), T_BAD_IA);
}
END_TEST

/* IA-026, HND-007, HND-020 */
START_TEST(test_closed_handle_is_invalid_and_not_reused_soon)
{
	DAT_IA_HANDLE stale, next;
	DAT_CONTEXT context;
	DAT_HANDLE_TYPE type;

	t_conf(LINE("ib0", "x"));
	stale = must_open("ib0");
	must_close(stale);
	for (int i = 0; i < 40; i++) {
		next = must_open("ib0");
		ck_assert_ptr_ne(next, stale);
		ck_assert_uint_eq(dat_ia_close(stale, DAT_CLOSE_ABRUPT_FLAG), T_BAD_IA);
		must_close(next);
	}
	ck_assert_uint_eq(dat_ia_query(stale, NULL, 0, NULL, 0, NULL), T_BAD_IA);
	ck_assert_uint_eq(dat_get_handle_type(stale, &type),
			  T_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	ck_assert_uint_eq(dat_get_consumer_context(stale, &context),
			  T_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	ck_assert_uint_eq(dat_ia_close(DAT_HANDLE_NULL, DAT_CLOSE_ABRUPT_FLAG), T_BAD_IA);
	ck_assert_uint_eq(dat_ia_close(&stale, DAT_CLOSE_ABRUPT_FLAG), T_BAD_IA);
}
END_TEST

/* IA-025, and the registry's part of IA-023: an IA that refuses to close remains usable */
START_TEST(test_ia_that_refuses_to_close_stays_usable)
{
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;

	t_conf(LINE("ib0", "x"));
	ia = must_open("ib0");
	ck_assert_uint_eq(dat_ia_close(ia, (DAT_CLOSE_FLAGS)77), BAD_ARG(2));
	ck_assert_uint_eq(dat_pz_create(ia, &pz), DAT_SUCCESS);
	ck_assert_uint_eq(dat_pz_free(pz), DAT_SUCCESS);
	ck_assert_uint_eq(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	assert_loads(1, 1);
}
END_TEST

/* HND-001 to HND-005 and HND-011 for the IA, which the reference library of 1.2 refuses */
START_TEST(test_context_and_type_work_on_ia_and_object)
{
	DAT_CONTEXT context = {.as_64 = 0x123456789abcdef0};
	DAT_CONTEXT back = {.as_64 = 1};
	DAT_HANDLE handles[2];
	DAT_HANDLE_TYPE type;

	t_conf(LINE("ib0", "x"));
	handles[0] = must_open("ib0");
	ck_assert_uint_eq(dat_pz_create(handles[0], &handles[1]), DAT_SUCCESS);
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(dat_get_consumer_context(handles[i], &back), DAT_SUCCESS);
		ck_assert_uint_eq(back.as_64, 0);
		ck_assert_uint_eq(dat_set_consumer_context(handles[i], context), DAT_SUCCESS);
		ck_assert_uint_eq(dat_get_consumer_context(handles[i], &back), DAT_SUCCESS);
		ck_assert_uint_eq(back.as_64, context.as_64);
		ck_assert_uint_eq(dat_get_handle_type(handles[i], &type), DAT_SUCCESS);
		ck_assert_int_eq(type, i ? DAT_HANDLE_TYPE_PZ : DAT_HANDLE_TYPE_IA);
	}
	ck_assert_uint_eq(dat_pz_free(handles[1]), DAT_SUCCESS);
	must_close(handles[0]);
}
END_TEST

/* The table of numbers grows in steps of 64, and freed numbers are used again when it is full. */
START_TEST(test_many_ias_at_once)
{
	static DAT_IA_HANDLE ias[300];

	t_conf(LINE("ib0", "x"));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 300; i++) {
			ias[i] = must_open("ib0");
			ck_assert_uint_lt((uintptr_t)ias[i], 320);
		}
		for (int i = 0; i < 300; i++) {
			ck_assert_uint_eq(dat_ia_query(ias[i], NULL, 0, NULL, 0, NULL),
					  DAT_SUCCESS);
			must_close(ias[i]);
		}
	}
	ck_assert_int_eq(t_fake.closes, 600);
	assert_loads(2, 2);
}
END_TEST

/* ---- several threads ---- */

#define NUM_THREADS 4
#define NUM_ROUNDS  200

static const char *const thread_names[] = {"ib0", "ib1", "ofi", "ofi-tcp"};
static pthread_barrier_t barrier;
static atomic_int thread_failures;

static void *open_and_close(void *arg)
{
	DAT_PROVIDER_INFO info, *list[1] = {&info};
	DAT_IA_HANDLE ia;
	DAT_COUNT count;

	pthread_barrier_wait(&barrier);
	for (int round = 0; round < NUM_ROUNDS; round++) {
		const char *name = thread_names[((uintptr_t)arg + (unsigned int)round / 16) % 4];
		bool ok = open_stock(name, &ia) == DAT_SUCCESS &&
			  dat_ia_query(ia, NULL, 0, NULL, 0, NULL) == DAT_SUCCESS &&
			  dat_registry_list_providers(1, &count, list) == DAT_SUCCESS &&
			  dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS;

		if (!ok)
			atomic_fetch_add(&thread_failures, 1);
	}
	return NULL;
}

static void run_threads(void *(*function)(void *))
{
	pthread_t threads[NUM_THREADS];

	pthread_barrier_init(&barrier, NULL, NUM_THREADS);
	for (uintptr_t i = 0; i < NUM_THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, function, (void *)i), 0);
	for (int i = 0; i < NUM_THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	ck_assert_int_eq(thread_failures, 0);
}

START_TEST(test_threads_open_and_close_the_same_names)
{
	t_conf(LINE("ib0", "threads") LINE("ib1", "threads") LINE("ofi", "threads")
		       LINE("ofi-tcp", "threads"));
	run_threads(open_and_close);
	ck_assert_int_eq(t_fake.opens, NUM_THREADS * NUM_ROUNDS);
	ck_assert_int_eq(t_fake.closes, NUM_THREADS * NUM_ROUNDS);
	ck_assert_int_eq(t_fake.inits, t_fake.finis);
	ck_assert(!module_is_loaded());
}
END_TEST

/* All threads close the same IA: one succeeds. */
static DAT_IA_HANDLE contested;
static atomic_int closed;

static void *close_contested(void *arg)
{
	DAT_RETURN ret;

	(void)arg;
	pthread_barrier_wait(&barrier);
	ret = dat_ia_close(contested, DAT_CLOSE_ABRUPT_FLAG);
	if (ret == DAT_SUCCESS)
		atomic_fetch_add(&closed, 1);
	else if (ret != T_BAD_IA)
		atomic_fetch_add(&thread_failures, 1);
	return NULL;
}

START_TEST(test_only_one_thread_closes_an_ia)
{
	t_conf(LINE("ib0", "x"));
	for (int round = 0; round < 50; round++) {
		contested = must_open("ib0");
		closed = 0;
		run_threads(close_contested);
		ck_assert_int_eq(closed, 1);
	}
	ck_assert_int_eq(t_fake.closes, 50);
}
END_TEST

#if T_DAT_MAJOR == 2
/* ---- extended operations and other features of 2.0 only ---- */

#define NOT_IMPLEMENTED T_ERR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE)

/* HND-023 */
START_TEST(test_extended_operations_wait_for_an_ia_that_has_some)
{
	DAT_IA_HANDLE plain, extended;

	t_conf(LINE("plain", "x") LINE("ext", "extension"));
	plain = must_open("plain");
	ck_assert_uint_eq(dat_extension_op(plain, 5, 1UL, 2UL), NOT_IMPLEMENTED);
	ck_assert_uint_eq(dat_extension_op(DAT_HANDLE_NULL, 5),
			  T_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	ck_assert_int_eq(t_fake.ext_ops, 0);
	extended = must_open("ext");
	ck_assert_uint_eq(dat_extension_op(plain, 5, 1UL, 2UL), DAT_SUCCESS);
	must_close(extended);
	must_close(plain);
}
END_TEST

START_TEST(test_extended_operation_gets_its_arguments)
{
	DAT_IA_HANDLE ia, provider_handle;
	DAT_PZ_HANDLE pz;

	t_conf(LINE("ext", "extension"));
	ia = must_open("ext");
	ck_assert_uint_eq(dat_extension_op(ia, 5, 11UL, 22UL), DAT_SUCCESS);
	dats_get_ia_handle(ia, &provider_handle);
	ck_assert_ptr_eq(t_fake.handle, provider_handle);
	ck_assert_int_eq(t_fake.ext_op, 5);
	ck_assert_uint_eq(t_fake.ext_args[0], 11);
	ck_assert_uint_eq(t_fake.ext_args[1], 22);
	ck_assert_uint_eq(dat_pz_create(ia, &pz), DAT_SUCCESS);
	ck_assert_uint_eq(dat_extension_op(pz, 6, 1UL, 2UL), DAT_SUCCESS);
	ck_assert_ptr_eq(t_fake.handle, pz);
	/* the provider's answer is passed on */
	ck_assert_uint_eq(dat_extension_op(pz, 1, 1UL, 2UL), NOT_IMPLEMENTED);
	/* HND-007 */
	ck_assert_uint_eq(dat_extension_op((void *)(uintptr_t)60, 5, 1UL, 2UL),
			  T_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	dat_pz_free(pz);
	must_close(ia);
}
END_TEST

#define OPEN_OP  (DAT_OPEN_EXTENSION_BASE + 3)
#define CLOSE_OP (DAT_CLOSE_EXTENSION_BASE + 3)

START_TEST(test_open_extension_loads_and_close_extension_releases)
{
	DAT_HANDLE handle = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	t_conf(LINE("ext", "x"));
	ck_assert_uint_eq(dat_extension_op(NULL, OPEN_OP, "ext", &handle), DAT_SUCCESS);
	ck_assert_str_eq(t_fake.open_name, "ext");
	ck_assert_int_eq(t_fake.ext_op, OPEN_OP);
	ck_assert_uint_ge((uintptr_t)handle, 65536);
	assert_loads(1, 0);
	/* the IA enables the other operations, while other IAs are opened and closed */
	ck_assert_uint_eq(dat_extension_op(handle, 5, 1UL, 2UL), DAT_SUCCESS);
	ia = must_open("ext");
	must_close(ia);
	assert_loads(1, 0);
	ck_assert_uint_eq(dat_extension_op(handle, CLOSE_OP), DAT_SUCCESS);
	assert_loads(1, 1);
	ck_assert(!module_is_loaded());
}
END_TEST

START_TEST(test_open_extension_that_fails_holds_nothing)
{
	static char too_long[DAT_NAME_MAX_LENGTH + 1];
	DAT_HANDLE handle = DAT_HANDLE_NULL;

	t_capture(STDERR_FILENO);
	memset(too_long, 'x', DAT_NAME_MAX_LENGTH);
	t_conf(LINE("ext", "fail-open"));
	ck_assert_uint_eq(dat_extension_op(NULL, OPEN_OP, "ext", &handle),
			  T_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE));
	assert_loads(1, 1);
	ck_assert_uint_eq(dat_extension_op(NULL, OPEN_OP, "nobody", &handle),
			  NOT_FOUND(DAT_NAME_NOT_REGISTERED));
	ck_assert_uint_eq(dat_extension_op(NULL, OPEN_OP, (char *)NULL, &handle), BAD_ARG(1));
	ck_assert_uint_eq(dat_extension_op(NULL, OPEN_OP, too_long, &handle), BAD_ARG(1));
	/* still off */
	ck_assert_uint_eq(dat_extension_op(&handle, 5, 1UL, 2UL), NOT_IMPLEMENTED);
}
END_TEST

START_TEST(test_open_extension_of_a_provider_without_any)
{
	DAT_HANDLE handle = DAT_HANDLE_NULL;

	must_add("own", MAJOR, MINOR, DAT_FALSE);
	ck_assert_uint_eq(dat_extension_op(NULL, OPEN_OP, "own", &handle),
			  T_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE));
}
END_TEST

START_TEST(test_close_extension_takes_only_what_open_extension_gave)
{
	DAT_HANDLE handle = DAT_HANDLE_NULL;
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;

	t_conf(LINE("ext", "extension"));
	ia = must_open("ext");
	ck_assert_uint_eq(dat_pz_create(ia, &pz), DAT_SUCCESS);
	/* the fake provider frees any object; the IA must still keep its library loaded */
	ck_assert_uint_eq(dat_extension_op(pz, CLOSE_OP), DAT_SUCCESS);
	assert_loads(1, 0);
	/* an IA number is not taken for a pointer */
	ck_assert_uint_eq(dat_extension_op(NULL, OPEN_OP, "ext", &handle), DAT_SUCCESS);
	must_close(ia);
	ck_assert_uint_eq(dat_extension_op(ia, CLOSE_OP),
			  T_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	assert_loads(1, 0);
	ck_assert_uint_eq(dat_extension_op(handle, CLOSE_OP), DAT_SUCCESS);
	assert_loads(1, 1);
}
END_TEST

/* REG-020 */
START_TEST(test_related_providers_are_not_supported)
{
	DAT_HA_RELATIONSHIP related;
	char name[] = "a";

	ck_assert_uint_eq(dat_registry_providers_related(name, name, &related),
			  T_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE));
	ck_assert_uint_eq(dat_registry_providers_related(NULL, name, &related), BAD_ARG(1));
	ck_assert_uint_eq(dat_registry_providers_related(name, NULL, &related), BAD_ARG(2));
	ck_assert_uint_eq(dat_registry_providers_related(name, name, NULL), BAD_ARG(3));
}
END_TEST
#endif

/* ---- suite ---- */

/* No case reads the dat.conf of this machine. */
static void empty_conf(void)
{
	t_conf("# nothing\n");
}

static TCase *add_case(Suite *suite, const char *name)
{
	TCase *tc = tcase_create(name);

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, empty_conf, NULL);
	return tc;
}

static void add_program_tests(Suite *suite)
{
	TCase *tc = add_case(suite, "added");
	int num_matches = sizeof(matches) / sizeof(matches[0]);

	tcase_add_test(tc, test_added_provider_is_found_until_it_is_removed);
	tcase_add_test(tc, test_second_provider_of_a_name_is_refused);
	tcase_add_test(tc, test_other_versions_and_safety_are_other_registrations);
	tcase_add_test(tc, test_registration_checks_its_arguments);
	tcase_add_test(tc, test_provider_of_an_open_ia_stays);
	tcase_add_loop_test(tc, test_selection_by_version_and_thread_safety, 0, num_matches);
	tcase_add_loop_test(tc, test_selection_among_lines, 0, num_matches);
	tcase_add_test(tc, test_unknown_name_is_not_registered);
	tcase_add_test(tc, test_open_checks_its_arguments);
}

static void add_list_tests(Suite *suite)
{
	TCase *tc = add_case(suite, "list");

	tcase_add_test(tc, test_lines_are_listed_without_loading_them);
	tcase_add_test(tc, test_nothing_is_listed_twice);
	tcase_add_test(tc, test_line_of_the_default_name_takes_its_place_in_the_list);
	tcase_add_test(tc, test_short_list_is_filled);
	tcase_add_test(tc, test_list_checks_its_arguments);
	tcase_add_test(tc, test_list_without_a_file_has_the_other_names);
}

static void add_library_tests(Suite *suite)
{
	TCase *tc = add_case(suite, "library");

	tcase_add_test(tc, test_library_is_loaded_from_first_open_to_last_close);
	tcase_add_test(tc, test_library_with_wrong_attributes_is_released);
	tcase_add_test(tc, test_two_names_of_a_library_are_independent);
	tcase_add_test(tc, test_library_that_registers_nothing_is_not_found);
	tcase_add_test(tc, test_name_that_is_left_registered_goes_with_its_library);
	tcase_add_test(tc, test_library_that_does_not_load_is_reported);
	tcase_add_test(tc, test_lines_of_a_name_are_tried_in_order);
	tcase_add_test(tc, test_error_of_the_first_provider_is_the_answer);
	tcase_add_test(tc, test_name_that_the_program_added_comes_before_the_lines);
	tcase_add_test(tc, test_further_name_of_a_loaded_library_keeps_it_loaded);
	tcase_add_test(tc, test_provider_may_open_ias_from_its_init);
	tcase_add_test(tc, test_provider_that_opens_itself_from_its_init_is_not_found_there);
	tcase_add_test(tc, test_bad_lines_and_other_versions_do_no_harm);
	tcase_add_test(tc, test_rounds_leave_nothing_open);
}

static void add_default_name_tests(Suite *suite)
{
	TCase *tc = add_case(suite, "default names");

	tcase_add_loop_test(tc, test_default_name_is_served_with_either_thread_safety, 0, 4);
	tcase_add_test(tc, test_what_only_resembles_a_default_name_is_unknown);
	tcase_add_test(tc, test_default_name_has_one_version);
	tcase_add_test(tc, test_line_replaces_the_default_name);
	tcase_add_test(tc, test_default_provider_is_found_beside_the_registry);
}

static void add_handle_tests(Suite *suite)
{
	TCase *tc = add_case(suite, "handles");

	tcase_add_test(tc, test_ia_handles_are_numbers_that_providers_can_translate);
	tcase_add_test(tc, test_what_is_no_ia_is_not_translated);
	tcase_add_test(tc, test_closed_handle_is_invalid_and_not_reused_soon);
	tcase_add_test(tc, test_ia_that_refuses_to_close_stays_usable);
	tcase_add_test(tc, test_context_and_type_work_on_ia_and_object);
	tcase_add_test(tc, test_many_ias_at_once);
	tcase_add_test(tc, test_threads_open_and_close_the_same_names);
	tcase_add_test(tc, test_only_one_thread_closes_an_ia);
}

#if T_DAT_MAJOR == 2
static void add_extension_tests(Suite *suite)
{
	TCase *tc = add_case(suite, "extensions");

	tcase_add_test(tc, test_extended_operations_wait_for_an_ia_that_has_some);
	tcase_add_test(tc, test_extended_operation_gets_its_arguments);
	tcase_add_test(tc, test_open_extension_loads_and_close_extension_releases);
	tcase_add_test(tc, test_open_extension_that_fails_holds_nothing);
	tcase_add_test(tc, test_open_extension_of_a_provider_without_any);
	tcase_add_test(tc, test_close_extension_takes_only_what_open_extension_gave);
	tcase_add_test(tc, test_related_providers_are_not_supported);
}
#endif

static void in_directory(char *path, const char *file)
{
	snprintf(path, PATH_MAX, "%s/%s", getenv("T_DIR"), file);
}

static bool link_in_directory(const char *target, const char *file)
{
	char path[PATH_MAX], absolute[PATH_MAX];

	in_directory(path, file);
	return target && realpath(target, absolute) && !symlink(absolute, path);
}

static void remove_directory(void)
{
	char path[PATH_MAX];

	in_directory(path, T_PROVIDER_SONAME);
	unlink(path);
	in_directory(path, T_LIBDAT);
	unlink(path);
	rmdir(getenv("T_DIR"));
}

/* The path of the registry that this program runs with. */
static const char *own_libdat(void)
{
	void *address = dlsym(RTLD_DEFAULT, "dat_ia_openv");
	static Dl_info info;

	return address && dladdr(address, &info) ? info.dli_fname : NULL;
}

/* The loader reads its search path once, so the program starts itself again. */
static int run_with_directory(char **argv)
{
	const char *search = getenv("LD_LIBRARY_PATH");
	char dir[] = "/tmp/check_registry.XXXXXX";
	char path[PATH_MAX], self[PATH_MAX];

	if (!realpath("/proc/self/exe", self) || !mkdtemp(dir)) {
		perror(dir);
		return EXIT_FAILURE;
	}
	setenv("T_DIR", dir, 1);
	if (link_in_directory(T_MODULE, T_PROVIDER_SONAME) &&
	    link_in_directory(own_libdat(), T_LIBDAT)) {
		snprintf(path, sizeof(path), "%s%s%s", dir, search ? ":" : "",
			 search ? search : "");
		setenv("LD_LIBRARY_PATH", path, 1);
		execv(self, argv);
	}
	perror("cannot start the tests");
	remove_directory();
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	Suite *suite = suite_create("registry");
	int ret;

	(void)argc;
	if (!getenv("T_DIR"))
		return run_with_directory(argv);
	add_program_tests(suite);
	add_list_tests(suite);
	add_library_tests(suite);
	add_default_name_tests(suite);
	add_handle_tests(suite);
#if T_DAT_MAJOR == 2
	add_extension_tests(suite);
#endif
	ret = t_run(suite);
	remove_directory();
	return ret;
}
