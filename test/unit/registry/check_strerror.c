/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <string.h>

#include "../../lib/dat_version.h"
#include "../../lib/unit.h"

struct code {
	DAT_RETURN value;
	const char *name;
};

#define CODE(name)                        \
	{                                 \
		(DAT_RETURN)(name), #name \
	}

static const struct code types[] = {
	CODE(DAT_SUCCESS),
	CODE(DAT_ABORT),
	CODE(DAT_CONN_QUAL_IN_USE),
	CODE(DAT_INSUFFICIENT_RESOURCES),
	CODE(DAT_INTERNAL_ERROR),
	CODE(DAT_INVALID_HANDLE),
	CODE(DAT_INVALID_PARAMETER),
	CODE(DAT_INVALID_STATE),
	CODE(DAT_LENGTH_ERROR),
	CODE(DAT_MODEL_NOT_SUPPORTED),
	CODE(DAT_PROVIDER_NOT_FOUND),
	CODE(DAT_PRIVILEGES_VIOLATION),
	CODE(DAT_PROTECTION_VIOLATION),
	CODE(DAT_QUEUE_EMPTY),
	CODE(DAT_QUEUE_FULL),
	CODE(DAT_TIMEOUT_EXPIRED),
	CODE(DAT_PROVIDER_ALREADY_REGISTERED),
	CODE(DAT_PROVIDER_IN_USE),
	CODE(DAT_INVALID_ADDRESS),
	CODE(DAT_INTERRUPTED_CALL),
	CODE(DAT_CONN_QUAL_UNAVAILABLE),
	CODE(DAT_NOT_IMPLEMENTED),
#if T_DAT_MAJOR == 1
	{0x0fff0000, "DAT_NOT_IMPLEMENTED"},
#else
	CODE(DAT_RESERVED_LMR),
	CODE(DAT_PORT_IN_USE),
	CODE(DAT_COMM_NOT_SUPPORTED),
	CODE(DAT_EXTENSION_BASE),
#endif
};

#define NUM_TYPES ((int)(sizeof(types) / sizeof(types[0])))

/* The first and last code of each group. A later test finds missing rows. */
static const struct code subtypes[] = {
	CODE(DAT_SUB_INTERRUPTED),
	CODE(DAT_RESOURCE_MEMORY),
	CODE(DAT_RESOURCE_SRQ),
	CODE(DAT_INVALID_HANDLE_IA),
	CODE(DAT_INVALID_HANDLE_SRQ),
	CODE(DAT_INVALID_HANDLE1),
	CODE(DAT_INVALID_HANDLE10),
	CODE(DAT_INVALID_ARG1),
	CODE(DAT_INVALID_ARG10),
	CODE(DAT_INVALID_STATE_EP_UNCONNECTED),
	CODE(DAT_INVALID_STATE_SRQ_IN_USE),
	CODE(DAT_PRIVILEGES_READ),
	CODE(DAT_PROTECTION_RDMA_WRITE),
	CODE(DAT_INVALID_ADDRESS_MALFORMED),
	CODE(DAT_NAME_NOT_REGISTERED),
	CODE(DAT_THREAD_SAFETY_NOT_FOUND),
};

#define NUM_SUBTYPES ((int)(sizeof(subtypes) / sizeof(subtypes[0])))

/* "NAME: what it means" */
static void assert_names(const char *text, const char *name)
{
	size_t length = strlen(name);

	ck_assert_msg(!strncmp(text, name, length) && !strncmp(text + length, ": ", 2) &&
			      text[length + 2],
		      "\"%s\" does not explain %s", text, name);
}

/* ERR-001, ERR-002, ERR-003, ERR-004, ERR-005, ERR-006 */
START_TEST(test_type_is_named_and_explained)
{
	const char *major = NULL, *minor = NULL;

	ck_assert_uint_eq(dat_strerror(types[_i].value, &major, &minor), DAT_SUCCESS);
	assert_names(major, types[_i].name);
	ck_assert_str_eq(minor, "");
}
END_TEST

START_TEST(test_subtype_is_named_and_explained)
{
	const char *major = NULL, *minor = NULL;

	ck_assert_uint_eq(dat_strerror(DAT_INVALID_STATE | subtypes[_i].value, &major, &minor),
			  DAT_SUCCESS);
	assert_names(major, "DAT_INVALID_STATE");
	assert_names(minor, subtypes[_i].name);
}
END_TEST

/* ERR-001: every subtype up to the last one exists. ERR-007: none behind it. */
START_TEST(test_all_subtypes_up_to_the_last_exist)
{
	for (DAT_RETURN value = 0; value < 0x200; value++) {
		const char *major = NULL, *minor = NULL;
		DAT_RETURN ret = dat_strerror(value, &major, &minor);

		if (value <= DAT_THREAD_SAFETY_NOT_FOUND)
			ck_assert_uint_eq(ret, DAT_SUCCESS);
		else
			ck_assert_uint_eq(ret, T_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	}
}
END_TEST

/* ERR-010 */
START_TEST(test_class_bits_do_not_matter)
{
	static const DAT_RETURN classes[] = {0, DAT_CLASS_ERROR, DAT_CLASS_WARNING};
	const char *plain[2], *classed[2];

	ck_assert_uint_eq(dat_strerror(T_BAD_IA & ~DAT_CLASS_ERROR, &plain[0], &plain[1]),
			  DAT_SUCCESS);
	for (int i = 0; i < 3; i++) {
		DAT_RETURN value = classes[i] | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA;

		ck_assert_uint_eq(dat_strerror(value, &classed[0], &classed[1]), DAT_SUCCESS);
		/* ERR-009: the very same storage */
		ck_assert_ptr_eq(plain[0], classed[0]);
		ck_assert_ptr_eq(plain[1], classed[1]);
	}
}
END_TEST

/* ERR-007 */
START_TEST(test_unknown_type_is_an_error_and_still_text)
{
	static const DAT_RETURN unknown[] = {0x80180000, 0x9fff0000, 0x800500ff, 0x80990001};

	for (int i = 0; i < 4; i++) {
		const char *major = NULL, *minor = NULL;

		ck_assert_uint_eq(dat_strerror(unknown[i], &major, &minor),
				  T_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
		ck_assert_ptr_nonnull(major);
		ck_assert_ptr_nonnull(minor);
	}
}
END_TEST

/* ERR-008. Programs that want one string do not look at the result. */
START_TEST(test_null_pointers_are_refused_and_the_other_string_is_set)
{
	const char *text = NULL;

	ck_assert_uint_eq(dat_strerror(T_BAD_IA, NULL, &text),
			  T_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	ck_assert_ptr_nonnull(strstr(text, "DAT_INVALID_HANDLE_IA"));
	ck_assert_uint_eq(dat_strerror(T_BAD_IA, &text, NULL),
			  T_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	ck_assert_ptr_nonnull(strstr(text, "DAT_INVALID_HANDLE"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("strerror");
	TCase *tc = tcase_create("strerror");

	suite_add_tcase(suite, tc);
	tcase_add_loop_test(tc, test_type_is_named_and_explained, 0, NUM_TYPES);
	tcase_add_loop_test(tc, test_subtype_is_named_and_explained, 0, NUM_SUBTYPES);
	tcase_add_test(tc, test_all_subtypes_up_to_the_last_exist);
	tcase_add_test(tc, test_class_bits_do_not_matter);
	tcase_add_test(tc, test_unknown_type_is_an_error_and_still_text);
	tcase_add_test(tc, test_null_pointers_are_refused_and_the_other_string_is_set);
	return t_run(suite);
}
