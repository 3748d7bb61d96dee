/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the message says that tells why an IA cannot be opened. */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/api/ia_steps.c"

#include <sys/resource.h>

static struct dofi_ia ia;

static const char *advice_about(int err)
{
	static char text[DOFI_MR_LIMIT_SIZE];

	return advice(&ia, err, text);
}

/* --- the limit of locked memory; the linker redirects this call --- */

static rlim_t locked = RLIM_INFINITY;

T_STAND_IN int __wrap_getrlimit(int resource, struct rlimit *limit);

int __wrap_getrlimit(int resource, struct rlimit *limit)
{
	ck_assert_int_eq(resource, RLIMIT_MEMLOCK);
	limit->rlim_cur = limit->rlim_max = locked;
	return 0;
}

/* --- */

START_TEST(advice_is_about_what_the_user_can_change)
{
	ck_assert_ptr_nonnull(strstr(advice_about(EMFILE), "ulimit -n"));
	locked = 4096;
	ck_assert_ptr_nonnull(strstr(advice_about(ENOMEM), "4 KiB"));
	ck_assert_ptr_nonnull(strstr(advice_about(ENOMEM), "ulimit -l"));
	ck_assert_str_eq(advice_about(EACCES), "");
	ck_assert_str_eq(advice_about(EINVAL), "");
}
END_TEST

/* Some devices have shorter queues than libfabric asks for. */
START_TEST(a_device_with_short_queues_has_an_advice)
{
	ia.quirks = DOFI_QUIRK_LONG_QUEUE;
	ck_assert_ptr_nonnull(strstr(advice_about(EINVAL), "FI_UNIVERSE_SIZE"));
	ck_assert_ptr_null(strstr(advice_about(EMFILE), "FI_UNIVERSE_SIZE"));
	ck_assert_str_eq(advice_about(EACCES), "");
}
END_TEST

START_TEST(memory_without_a_limit_needs_no_advice)
{
	ck_assert_str_eq(advice_about(ENOMEM), "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ia_steps");
	TCase *tcase = tcase_create("ia_steps");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, advice_is_about_what_the_user_can_change);
	tcase_add_test(tcase, a_device_with_short_queues_has_an_advice);
	tcase_add_test(tcase, memory_without_a_limit_needs_no_advice);
	return t_run(suite);
}
