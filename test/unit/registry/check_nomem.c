/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registry without memory. Linked with its objects, so that --wrap=calloc replaces calloc(). */
#include <string.h>

#include "../../lib/dat_version.h"
#include "../../lib/unit.h"

static int calls_until_failure; /* 0: never */
static void *watched;           /* the latest allocation, until it is freed */

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);

void *__wrap_calloc(size_t count, size_t size)
{
	if (calls_until_failure && !--calls_until_failure)
		return NULL;
	return watched = __real_calloc(count, size);
}

void __wrap_free(void *memory)
{
	if (memory == watched)
		watched = NULL;
	__real_free(memory);
}

static struct object {
	const DAT_PROVIDER *table;
} object;

static int opens, closes;

static DAT_RETURN count_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			     DAT_IA_HANDLE *ia)
{
	(void)name, (void)qlen, (void)evd;
	opens++;
	*ia = &object;
	return DAT_SUCCESS;
}

static DAT_RETURN count_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)ia, (void)flags;
	closes++;
	return DAT_SUCCESS;
}

static DAT_PROVIDER table = {.ia_open_func = count_open, .ia_close_func = count_close};
static DAT_PROVIDER_INFO info = {.ia_name = "mem",
				 .dapl_version_major = DAT_VERSION_MAJOR,
				 .dapl_version_minor = DAT_VERSION_MINOR};

static DAT_RETURN open_ia(const char *name, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_NAME_PTR name_ptr = (DAT_NAME_PTR)(uintptr_t)name;

	object.table = &table;
	return dat_ia_open(name_ptr, 8, &evd, ia);
}

#define NO_MEMORY T_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)

/* REG-005 */
START_TEST(test_add_provider_without_memory_leaves_nothing)
{
	t_conf("# nothing\n");
	calls_until_failure = 1;
	ck_assert_uint_eq(dat_registry_add_provider(&table, &info), NO_MEMORY);
	ck_assert_uint_eq(dat_registry_add_provider(&table, &info), DAT_SUCCESS);
}
END_TEST

/* REG-002, REG-007: registrations may come and go without end. */
START_TEST(test_registrations_that_are_gone_need_no_memory)
{
	static DAT_PROVIDER other = {.ia_open_func = count_open};
	void *first;

	t_conf("# nothing\n");
	ck_assert_uint_eq(dat_registry_add_provider(&table, &info), DAT_SUCCESS);
	first = watched;
	ck_assert_ptr_nonnull(first);
	ck_assert_uint_eq(dat_registry_add_provider(&other, &info),
			  T_ERR(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE));
	ck_assert_ptr_null(watched);
	watched = first;
	ck_assert_uint_eq(dat_registry_remove_provider(&table, &info), DAT_SUCCESS);
	ck_assert_ptr_null(watched);
}
END_TEST

/* IA-017: the first 63 handles need no memory, the table grows for the next */
START_TEST(test_handle_table_that_cannot_grow_opens_nothing)
{
	DAT_IA_HANDLE ia[65];

	t_conf("# nothing\n");
	ck_assert_uint_eq(dat_registry_add_provider(&table, &info), DAT_SUCCESS);
	for (int i = 0; i < 63; i++)
		ck_assert_uint_eq(open_ia("mem", &ia[i]), DAT_SUCCESS);
	calls_until_failure = 1;
	ck_assert_uint_eq(open_ia("mem", &ia[63]), NO_MEMORY);
	ck_assert_int_eq(opens, 63);
	ck_assert_uint_eq(open_ia("mem", &ia[63]), DAT_SUCCESS);
	for (int i = 0; i < 64; i++)
		ck_assert_uint_eq(dat_ia_close(ia[i], DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	ck_assert_int_eq(closes, 64);
}
END_TEST

START_TEST(test_line_without_memory_is_reported_and_left_out)
{
	DAT_PROVIDER_INFO infos[4], *list[4] = {&infos[0], &infos[1], &infos[2], &infos[3]};
	int log = t_capture(STDERR_FILENO);
	DAT_COUNT count;

	t_conf("a " T_API " threadsafe default lib id.2.0 x y\n"
	       "b " T_API " threadsafe default lib id.2.0 x y\n"
	       "c " T_API " threadsafe default lib id.2.0 x y\n");
	calls_until_failure = 2;
	ck_assert_uint_eq(dat_registry_list_providers(4, &count, list), DAT_SUCCESS);
	ck_assert_int_eq(count, 3);
	ck_assert_str_eq(infos[0].ia_name, "a");
	ck_assert_str_eq(infos[1].ia_name, "c");
	ck_assert_str_eq(infos[2].ia_name, "ofi");
	ck_assert_ptr_nonnull(strstr(t_captured(log), ":2: IA b can't be kept, out of memory"));
}
END_TEST

START_TEST(test_default_name_without_memory_is_not_opened)
{
	DAT_IA_HANDLE ia;

	t_conf("# nothing\n");
	calls_until_failure = 1;
	ck_assert_uint_eq(open_ia("ofi-none", &ia), NO_MEMORY);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nomem");
	TCase *tc = tcase_create("nomem");

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, test_add_provider_without_memory_leaves_nothing);
	tcase_add_test(tc, test_registrations_that_are_gone_need_no_memory);
	tcase_add_test(tc, test_handle_table_that_cannot_grow_opens_nothing);
	tcase_add_test(tc, test_line_without_memory_is_reported_and_left_out);
	tcase_add_test(tc, test_default_name_without_memory_is_not_opened);
	return t_run(suite);
}
