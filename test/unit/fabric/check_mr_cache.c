/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libfabric's cache of registrations: for which IAs it is turned off, whose word counts, and how
 * one that is on is noticed.
 */
#include "unit.h"

#include "../../lib/t_machine.h"

#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/mem.h"
#include "../../../prov/ofi/fabric/mr_cache.h"
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

/* --- the fabric: what it answers to a registration --- */

static struct fid_mr *answers[2] = {&mrs[0], &mrs[1]}; /* to the same memory */
static uint64_t keys[2] = {1, 2};
static int error, registered, closed;
static int commands; /* to the domain */

int dofi_mr_register(struct dofi_ia *of, void *buf, size_t length, DAT_MEM_PRIV_FLAGS privileges,
		     struct fid_mr **mr_p, uint64_t *key_p, uint64_t *address_p)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(buf, ia.scratch.slots);
	ck_assert_uint_gt(length, 0);
	ck_assert_int_eq(privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0);
	/* there may be no key else */
	ck_assert_int_ne(privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG, 0);
	if (error)
		return error;
	*mr_p = answers[registered % 2];
	*key_p = keys[registered % 2];
	*address_p = 0;
	registered++;
	return 0;
}

int dofi_mr_close(struct dofi_ia *of, struct fid_mr *mr)
{
	ck_assert_ptr_eq(of, &ia);
	ck_assert_ptr_eq(mr, answers[1 - closed % 2]);
	closed++;
	return 0;
}

/* As cxi's domain, which forgets its cache when it is told to. */
static int control(struct fid *fid, int command, void *arg)
{
	ck_assert_ptr_eq(fid, &ia.domain->fid);
	ck_assert_int_eq(command, -(0xccc << 16) + 7);
	ck_assert(!*(bool *)arg);
	commands++;
	return error;
}

static struct fi_ops domain_ops = {.size = sizeof(domain_ops), .control = control};
static struct fid_domain domain = {.fid = {.fclass = FI_CLASS_DOMAIN, .ops = &domain_ops}};

/* --- */

static void setup(void)
{
	unsetenv(VARIABLE);
	unsetenv("FI_PROVIDER");
	unsetenv("DAT_OFI_MR_CACHE");
	t_machine_put("class/net", NULL); /* a host without RDMA devices, and not this one */
	ia.info = &info;
	domain_attr.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	ia.domain = &domain;
	ia.scratch.slots = (struct dofi_ctx_wire *)(void *)mrs; /* never looked at */
	strcpy(ia.named.mr_cached, "FALSE");
}

/* A cache answers with the registration that it has, or with another one that has the same key. */
static void answer_from_cache(bool same_registration)
{
	if (same_registration)
		answers[1] = answers[0];
	keys[1] = keys[0];
}

static void put_device(void)
{
	t_machine_put("class/infiniband/mlx5_0", NULL);
}

static int choose(const char *name, const char *words)
{
	ck_assert(!dofi_params_load(&ia.params, name, words));
	return dofi_mr_cache_choose(name, &ia.params);
}

/* What the variable is after an IA was opened; "" when it is not there. */
static const char *after(const char *name, const char *words)
{
	const char *value;

	ck_assert_int_eq(choose(name, words), 0);
	value = getenv(VARIABLE);
	return value ? value : "";
}

START_TEST(who_asks_for_verbs_gets_no_cache)
{
	static const char *const asks[][2] = {
		{"ofi-verbs-mlx5_0", ""},
		{"any", "provider=verbs"},
		{"any", "provider=verbs;ofi_rxm"},
		{"any", "provider=VERBS mr_cache=no"},
	};

	ck_assert_str_eq(after(asks[_i][0], asks[_i][1]), "disabled");
	ck_assert_str_eq(after(asks[_i][0], asks[_i][1]), "disabled");
}
END_TEST

START_TEST(other_fabrics_are_left_alone)
{
	put_device();
	ck_assert_str_eq(after("ofi-tcp-lo", ""), "");
	ck_assert_str_eq(after("ofi-cxi-cxi0", ""), "");
	ck_assert_str_eq(after("ofi-efa", ""), "");
	ck_assert_str_eq(after("any", "provider=tcp;ofi_rxm"), "");
	setenv("FI_PROVIDER", "tcp,cxi", 1);
	ck_assert_str_eq(after("ofi", ""), "");
	setenv("FI_PROVIDER", "^verbs", 1);
	ck_assert_str_eq(after("ib0", "ib0 0"), "");
	/* The IA's own word is stronger. */
	setenv("FI_PROVIDER", "tcp", 1);
	ck_assert_str_eq(after("ofi-verbs", ""), "disabled");
}
END_TEST

START_TEST(who_asks_for_nothing_may_get_verbs_where_there_is_a_device)
{
	ck_assert_str_eq(after("ofi", ""), "");
	ck_assert_str_eq(after("any", "provider=ofi_rxm"), "");
	t_machine_put("class/infiniband", NULL);
	ck_assert_str_eq(after("ofi", ""), "");
	put_device();
	switch (_i) {
	case 0:
		ck_assert_str_eq(after("ofi", ""), "disabled");
		break;
	case 1:
		ck_assert_str_eq(after("ofa-v2-ib0", "ib0 0"), "disabled");
		break;
	case 2:
		ck_assert_str_eq(after("any", "provider=ofi_rxm"), "disabled");
		break;
	default:
		setenv("FI_PROVIDER", "tcp,verbs", 1);
		ck_assert_str_eq(after("ofi", ""), "disabled");
	}
}
END_TEST

START_TEST(the_users_word_is_kept)
{
	setenv(VARIABLE, "memhooks", 1);
	ck_assert_str_eq(after("ofi-verbs", ""), "memhooks");
	setenv(VARIABLE, "", 1);
	ck_assert_str_eq(after("ofi-verbs", ""), "");
	ck_assert_ptr_nonnull(getenv(VARIABLE));
	unsetenv(VARIABLE);
	ck_assert_str_eq(after("ofi-verbs", "mr_cache=yes"), "");
	setenv("DAT_OFI_MR_CACHE", "yes", 1);
	ck_assert_str_eq(after("ofi-verbs", ""), "");
	ck_assert_str_eq(after("ofi-verbs", "mr_cache=no"), "disabled");
}
END_TEST

START_TEST(another_word_is_refused)
{
	int fd = t_capture(STDERR_FILENO);

	ck_assert_int_lt(choose("ofi-tcp", "mr_cache=perhaps"), 0);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "mr_cache=perhaps is not known"));
}
END_TEST

/* --- whether it is off --- */

/* What is said when the IA looks. */
static const char *look(void)
{
	int fd = t_capture(STDERR_FILENO);

	ck_assert_int_eq(dofi_mr_cache_look(&ia), 0);
	ck_assert_int_eq(registered, closed);
	return t_captured(fd);
}

START_TEST(no_cache_no_words)
{
	after("ofi-verbs", "");
	ck_assert_str_eq(look(), "");
	ck_assert_int_eq(registered, 2);
	ck_assert_str_eq(ia.named.mr_cached, "FALSE");
}
END_TEST

START_TEST(a_cache_that_came_first_is_told_of)
{
	const char *said;

	after("ofi-verbs", "");
	answer_from_cache(true);
	said = look();
	ck_assert_ptr_nonnull(strstr(said, "keys outlive dat_lmr_free"));
	ck_assert_ptr_nonnull(strstr(said, "set FI_MR_CACHE_MONITOR=disabled there"));
	ck_assert_str_eq(ia.named.mr_cached, "TRUE");
}
END_TEST

static void be_cxi(const char *words)
{
	after("ofi-cxi", words);
	ia.quirks = DOFI_QUIRK_DOMAIN_KEYS;
	domain_attr.mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
}

/* Its keys are those of the memory, unless the domain is told otherwise. */
START_TEST(the_keys_of_cxi_are_not_cached)
{
	be_cxi("");
	ck_assert_int_eq(dofi_mr_cache_disable(&ia), 0);
	ck_assert_int_eq(commands, 1);
	ck_assert_str_eq(look(), "");
	ck_assert_str_eq(ia.named.mr_cached, "FALSE");
}
END_TEST

START_TEST(a_cxi_that_knows_no_other_keys_is_told_of)
{
	be_cxi("");
	error = -FI_EINVAL;
	ck_assert_int_eq(dofi_mr_cache_disable(&ia), 0);
	error = 0;
	answer_from_cache(false);
	setenv(VARIABLE, "memhooks", 1); /* which is not what decides here */
	ck_assert_ptr_nonnull(strstr(look(), "set FI_CXI_PROV_KEY_CACHE=0 there"));
	ck_assert_str_eq(ia.named.mr_cached, "TRUE");
}
END_TEST

START_TEST(only_keys_of_cxis_own_are_cached)
{
	be_cxi(_i ? "mr_cache=yes" : "");
	if (!_i)
		domain_attr.mr_mode &= ~FI_MR_PROV_KEY;
	ck_assert_int_eq(dofi_mr_cache_disable(&ia), 0);
	ia.quirks = ~DOFI_QUIRK_DOMAIN_KEYS;
	ck_assert_int_eq(dofi_mr_cache_disable(&ia), 0);
	ck_assert_int_eq(commands, 0);
}
END_TEST

START_TEST(a_cache_that_is_wanted_is_only_shown)
{
	answer_from_cache(true);
	if (_i)
		setenv(VARIABLE, "memhooks", 1);
	after("ofi-verbs", _i ? "" : "mr_cache=yes");
	ck_assert_str_eq(look(), "");
	ck_assert_str_eq(ia.named.mr_cached, "TRUE");
}
END_TEST

START_TEST(nobody_looks_where_nothing_is_cached)
{
	after("ofi-tcp", "");
	domain_attr.mr_mode = _i ? FI_MR_ENDPOINT : 0;
	answer_from_cache(true);
	ck_assert_str_eq(look(), "");
	ck_assert_int_eq(registered, 0);
	ck_assert_str_eq(ia.named.mr_cached, "FALSE");
}
END_TEST

START_TEST(a_refusal_ends_the_opening)
{
	after("ofi-verbs", "");
	error = -5;
	ck_assert_int_eq(dofi_mr_cache_look(&ia), -5);
	ck_assert_int_eq(closed, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mr_cache");
	TCase *tc = tcase_create("mr_cache");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, who_asks_for_verbs_gets_no_cache, 0, 4);
	tcase_add_test(tc, other_fabrics_are_left_alone);
	tcase_add_loop_test(tc, who_asks_for_nothing_may_get_verbs_where_there_is_a_device, 0, 4);
	tcase_add_test(tc, the_users_word_is_kept);
	tcase_add_test(tc, another_word_is_refused);
	tcase_add_test(tc, no_cache_no_words);
	tcase_add_test(tc, a_cache_that_came_first_is_told_of);
	tcase_add_loop_test(tc, a_cache_that_is_wanted_is_only_shown, 0, 2);
	tcase_add_loop_test(tc, nobody_looks_where_nothing_is_cached, 0, 2);
	tcase_add_test(tc, a_refusal_ends_the_opening);
	tcase_add_test(tc, the_keys_of_cxi_are_not_cached);
	tcase_add_test(tc, a_cxi_that_knows_no_other_keys_is_told_of);
	tcase_add_loop_test(tc, only_keys_of_cxis_own_are_cached, 0, 2);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
