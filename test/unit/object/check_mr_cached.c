/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Detection of an active cache of registrations, and the messages about it. */
#include "unit.h"

#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/mr.h"
#include "../../../prov/ofi/object/mr_cached.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/ctxtab.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "FI_MR_CACHE_MONITOR"

static struct dofi_ia ia;
static struct fid_mr mrs[2];
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.domain_attr = &domain_attr};

/* --- the fabric: results of registrations --- */

static struct fid_mr *answers[2] = {&mrs[0], &mrs[1]}; /* for the same memory */
static uint64_t keys[2] = {1, 2};
static int error, registered, closed;
static int error_of_second, error_of_close;

int dofi_mr_register(struct dofi_ia *of, void *buf, size_t length, DAT_MEM_PRIV_FLAGS privileges,
		     struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(buf, ia.scratch.slots);
	ck_assert_uint_gt(length, 0);
	ck_assert_int_eq(privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0);
	/* without it there may be no key */
	ck_assert_int_ne(privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG, 0);
	if (error || (registered && error_of_second))
		return error ? error : error_of_second;
	*mr_p = answers[registered % 2];
	*key_p = keys[registered % 2];
	*address_p = 0;
	registered++;
	return 0;
}

int dofi_mr_close(struct dofi_ia *of, struct fid_mr *mr)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(mr, answers[registered - 1 - closed]);
	closed++;
	return error_of_close;
}

/* --- */

static void setup(void)
{
	unsetenv(VARIABLE);
	unsetenv("DAT_OFI_MR_CACHE");
	ia.info = &info;
	domain_attr.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	ia.scratch.slots = (struct dofi_ctx_wire *)(void *)mrs; /* never dereferenced */
	strcpy(ia.named.mr_cached, "FALSE");
	ia.ends_keys = true;
}

/* A cache returns its registration, or another one with the same key. */
static void answer_from_cache(bool same_registration)
{
	if (same_registration)
		answers[1] = answers[0];
	keys[1] = keys[0];
}

/* The IA with these parameters. */
static void be(const char *name, const char *words)
{
	ck_assert(!dofi_params_load(&ia.params, name, words));
}

/* Returns the message of the check. */
static const char *look(void)
{
	int fd = t_capture(STDERR_FILENO);

	ck_assert_int_eq(dofi_mr_cached_look(&ia), 0);
	ck_assert_int_eq(registered, closed);
	return t_captured(fd);
}

START_TEST(nothing_is_logged_without_a_cache)
{
	be("ofi-verbs", "");
	ck_assert_str_eq(look(), "");
	ck_assert_int_eq(registered, 2);
	ck_assert_str_eq(ia.named.mr_cached, "FALSE");
	ck_assert(ia.ends_keys);
}
END_TEST

START_TEST(a_cache_that_was_enabled_before_is_logged)
{
	const char *said;

	be("ofi-verbs", "");
	answer_from_cache(true);
	said = look();
	ck_assert_ptr_nonnull(strstr(said, "keys outlive dat_lmr_free"));
	ck_assert_ptr_nonnull(strstr(said, "set FI_MR_CACHE_MONITOR=disabled there"));
	ck_assert_str_eq(ia.named.mr_cached, "TRUE");
	ck_assert(!ia.ends_keys);
}
END_TEST

START_TEST(a_cxi_without_client_keys_is_logged)
{
	be("ofi-cxi", "");
	ia.quirks = DOFI_QUIRK_DOMAIN_KEYS;
	domain_attr.mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	answer_from_cache(false);
	setenv(VARIABLE, "memhooks", 1); /* which is not what decides here */
	ck_assert_ptr_nonnull(strstr(look(), "set FI_CXI_PROV_KEY_CACHE=0 there"));
	ck_assert_str_eq(ia.named.mr_cached, "TRUE");
}
END_TEST

START_TEST(a_cache_that_the_user_wants_is_logged_as_information)
{
	answer_from_cache(true);
	if (_i)
		setenv(VARIABLE, "memhooks", 1);
	be("ofi-verbs", _i ? "" : "mr_cache=yes");
	ck_assert_str_eq(look(), "");
	ck_assert_str_eq(ia.named.mr_cached, "TRUE");
}
END_TEST

START_TEST(no_probe_if_the_fabric_has_no_cache)
{
	be("ofi-tcp", "");
	domain_attr.mr_mode = _i ? FI_MR_ENDPOINT : 0;
	answer_from_cache(true);
	ck_assert_str_eq(look(), "");
	ck_assert_int_eq(registered, 0);
	ck_assert_str_eq(ia.named.mr_cached, "FALSE");
	ck_assert(ia.ends_keys);
}
END_TEST

/* The first registration, the second one, or their closing is refused. */
START_TEST(a_refused_call_fails_the_open)
{
	int *const errors[] = {&error, &error_of_second, &error_of_close};

	be("ofi-verbs", "");
	*errors[_i] = -5;
	ck_assert_int_eq(dofi_mr_cached_look(&ia), -5);
	ck_assert_int_eq(closed, _i);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mr_cached");
	TCase *tc = tcase_create("mr_cached");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, nothing_is_logged_without_a_cache);
	tcase_add_test(tc, a_cache_that_was_enabled_before_is_logged);
	tcase_add_loop_test(tc, a_cache_that_the_user_wants_is_logged_as_information, 0, 2);
	tcase_add_loop_test(tc, no_probe_if_the_fabric_has_no_cache, 0, 2);
	tcase_add_loop_test(tc, a_refused_call_fails_the_open, 0, 3);
	tcase_add_test(tc, a_cxi_without_client_keys_is_logged);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
