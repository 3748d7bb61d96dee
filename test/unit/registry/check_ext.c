/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registry: extended operations, which only DAT 2.0 has. */
#include "registry_world.h"

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
	/* what was given is taken once */
	ck_assert_uint_eq(dat_extension_op(NULL, OPEN_OP, "ext", &handle), DAT_SUCCESS);
	ck_assert_uint_eq(dat_extension_op(handle, CLOSE_OP), DAT_SUCCESS);
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

START_TEST(test_close_extension_that_is_refused_releases_nothing)
{
	DAT_HANDLE handle = DAT_HANDLE_NULL;

	t_conf(LINE("ext", "extension"));
	ck_assert_uint_eq(dat_extension_op(NULL, OPEN_OP, "ext", &handle), DAT_SUCCESS);
	ck_assert_uint_eq(dat_extension_op(handle, DAT_CLOSE_EXTENSION_BASE + 1),
			  T_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE));
	make_info("own", MAJOR, MINOR, DAT_FALSE); /* its provider has no extensions */
	ck_assert_uint_eq(dat_extension_op(&own_object, CLOSE_OP),
			  T_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE));
	assert_loads(1, 0);
	ck_assert_uint_eq(dat_extension_op(handle, CLOSE_OP), DAT_SUCCESS);
	assert_loads(1, 1);
}
END_TEST

static void add_tests(Suite *suite)
{
	TCase *tc = add_case(suite, "ext");

	tcase_add_test(tc, test_extended_operations_wait_for_an_ia_that_has_some);
	tcase_add_test(tc, test_extended_operation_gets_its_arguments);
	tcase_add_test(tc, test_open_extension_loads_and_close_extension_releases);
	tcase_add_test(tc, test_open_extension_that_fails_holds_nothing);
	tcase_add_test(tc, test_open_extension_of_a_provider_without_any);
	tcase_add_test(tc, test_close_extension_takes_only_what_open_extension_gave);
	tcase_add_test(tc, test_close_extension_that_is_refused_releases_nothing);
}

int main(int argc, char **argv)
{
	(void)argc;
	return world_run(argv, "ext", add_tests);
}
