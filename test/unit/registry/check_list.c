/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registry: the list of the names of IAs. */
#include "registry_world.h"

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

START_TEST(test_list_of_one)
{
	DAT_PROVIDER_INFO one, *list[1] = {&one};
	DAT_COUNT count = -1;

	t_conf(LINE("a", "x") LINE("b", "x"));
	ck_assert_uint_eq(dat_registry_list_providers(1, &count, list), DAT_SUCCESS);
	ck_assert_int_eq(count, 1);
	ck_assert_str_eq(one.ia_name, "a");
}
END_TEST

#if T_DAT_MAJOR == 1
/* A line of an older minor version stands for the default name. */
START_TEST(test_older_line_of_the_default_name)
{
	DAT_IA_HANDLE ia;

	t_capture(STDERR_FILENO);
	t_conf("ofi u1.1 nonthreadsafe default " T_MODULE " fake.1.0 x y\n");
	ck_assert_int_eq(list_all(), 1);
	ck_assert_uint_eq(openv("ofi", MAJOR, MINOR, DAT_FALSE, &ia),
			  NOT_FOUND(DAT_MINOR_NOT_FOUND));
	assert_loads(0, 0);
}
END_TEST
#endif

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
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(dat_registry_list_providers(2, &count, list), BAD_ARG(3));
		ck_assert_int_eq(one.ia_name[0], 0x55);
		list[1] = &one;
		list[0] = NULL;
	}
	ck_free_for_others();
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

#if T_DAT_MAJOR == 2
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

static void add_tests(Suite *suite)
{
	TCase *tc = add_case(suite, "list");

	tcase_add_test(tc, test_lines_are_listed_without_loading_them);
	tcase_add_test(tc, test_nothing_is_listed_twice);
	tcase_add_test(tc, test_line_of_the_default_name_takes_its_place_in_the_list);
	tcase_add_test(tc, test_short_list_is_filled);
	tcase_add_test(tc, test_list_checks_its_arguments);
	tcase_add_test(tc, test_list_of_one);
#if T_DAT_MAJOR == 1
	tcase_add_test(tc, test_older_line_of_the_default_name);
#endif
	tcase_add_test(tc, test_list_without_a_file_has_the_other_names);
#if T_DAT_MAJOR == 2
	tcase_add_test(tc, test_related_providers_are_not_supported);
#endif
}

int main(int argc, char **argv)
{
	(void)argc;
	return world_run(argv, "list", add_tests);
}
