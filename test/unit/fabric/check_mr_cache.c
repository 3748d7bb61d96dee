/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libfabric's cache of registrations: for which IAs the library turns it off, and the parameters
 * and variables that decide.
 */
#include "unit.h"

#include "../../lib/t_machine.h"

#include "../../../prov/ofi/base/param.h"
#include "../../../prov/ofi/fabric/mr_cache.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/ctxtab.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "FI_MR_CACHE_MONITOR"

static struct dofi_params params;
static struct fi_domain_attr domain_attr;
static struct fi_info info = {.domain_attr = &domain_attr};

static int error, commands; /* to the domain */

static struct fid_domain domain;

/* Acts as cxi's domain, which turns its cache off on command. */
static int control(struct fid *fid, int command, void *arg)
{
	ck_assert_ptr_eq(fid, &domain.fid);
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
	domain_attr.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
}

static void put_device(void)
{
	t_machine_put("class/infiniband/mlx5_0", NULL);
}

static int choose(const char *name, const char *words)
{
	ck_assert(!dofi_params_load(&params, name, words));
	return dofi_mr_cache_choose(name, &params);
}

/* The variable after an IA was opened; "" if it is not set. */
static const char *after(const char *name, const char *words)
{
	const char *value;

	ck_assert_int_eq(choose(name, words), 0);
	value = getenv(VARIABLE);
	return value ? value : "";
}

START_TEST(ias_over_verbs_turn_the_cache_off)
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

START_TEST(other_fabrics_keep_the_cache)
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
	/* The parameter of the IA overrides the variable. */
	setenv("FI_PROVIDER", "tcp", 1);
	ck_assert_str_eq(after("ofi-verbs", ""), "disabled");
}
END_TEST

START_TEST(default_ia_turns_the_cache_off_if_there_is_a_verbs_device)
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

START_TEST(the_variable_of_the_user_is_kept)
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

START_TEST(unknown_values_are_refused)
{
	int fd = t_capture(STDERR_FILENO);

	ck_assert_int_lt(choose("ofi-tcp", "mr_cache=perhaps"), 0);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "mr_cache=perhaps is not known"));
}
END_TEST

/* --- the keys of a domain --- */

static void be_cxi(const char *words)
{
	after("ofi-cxi", words);
	domain_attr.mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
}

static void disable(uint64_t quirks)
{
	dofi_mr_cache_disable(&params, &info, quirks, &domain);
}

/* A key belongs to the memory unless the domain's cache is turned off. */
START_TEST(the_keys_of_cxi_are_not_cached)
{
	be_cxi("");
	error = _i ? -FI_EINVAL : 0; /* the domain does not know the command */
	disable(DOFI_QUIRK_DOMAIN_KEYS);
	ck_assert_int_eq(commands, 1);
}
END_TEST

START_TEST(only_provider_keys_of_cxi_are_cached)
{
	be_cxi(_i ? "mr_cache=yes" : "");
	if (!_i)
		domain_attr.mr_mode &= ~FI_MR_PROV_KEY;
	disable(DOFI_QUIRK_DOMAIN_KEYS);
	be_cxi("");
	disable(~DOFI_QUIRK_DOMAIN_KEYS);
	ck_assert_int_eq(commands, 0);
}
END_TEST

/* --- conditions that turn it off --- */

static const char *remedy(const char *words, uint64_t quirks)
{
	const char *text;

	ck_assert(!dofi_params_load(&params, "ofi-verbs", words));
	text = dofi_mr_cache_remedy(&params, quirks);
	return text ? text : "none";
}

START_TEST(variables_and_quirks_that_turn_the_cache_off)
{
	ck_assert_str_eq(remedy("", 0), VARIABLE "=disabled");
	ck_assert_str_eq(remedy("mr_cache=yes", 0), "none");
	ck_assert_str_eq(remedy("", DOFI_QUIRK_DOMAIN_KEYS), "FI_CXI_PROV_KEY_CACHE=0");
	setenv(VARIABLE, "memhooks", 1);
	ck_assert_str_eq(remedy("", 0), "none");
	ck_assert_str_eq(remedy("", DOFI_QUIRK_DOMAIN_KEYS), "FI_CXI_PROV_KEY_CACHE=0");
	setenv(VARIABLE, "disabled", 1);
	ck_assert_str_eq(remedy("", 0), VARIABLE "=disabled");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mr_cache");
	TCase *tc = tcase_create("mr_cache");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, ias_over_verbs_turn_the_cache_off, 0, 4);
	tcase_add_test(tc, other_fabrics_keep_the_cache);
	tcase_add_loop_test(tc, default_ia_turns_the_cache_off_if_there_is_a_verbs_device, 0, 4);
	tcase_add_test(tc, the_variable_of_the_user_is_kept);
	tcase_add_test(tc, unknown_values_are_refused);
	tcase_add_loop_test(tc, the_keys_of_cxi_are_not_cached, 0, 2);
	tcase_add_test(tc, variables_and_quirks_that_turn_the_cache_off);
	tcase_add_loop_test(tc, only_provider_keys_of_cxi_are_cached, 0, 2);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
