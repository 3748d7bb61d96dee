/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The variables of libfabric that the library sets for each provider. */
#include "t_hooks.h"
#include "unit.h"

#include "../../lib/t_machine.h"

#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/base/param.h"
#include "../../../prov/ofi/fabric/env.h"
#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/fabric/select.h"

#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <string.h>

#define VARIABLE "FI_OFI_RXM_SAR_LIMIT"
#define SHARED   "FI_OFI_RXM_USE_SRX"
#define LONG     "FI_EFA_INTER_MIN_READ_WRITE_SIZE"

/* --- the environment --- */

static bool full;

/* The device below rxm. */
static bool has_srqs;
static char device[] = "rxe0";
static struct fi_domain_attr domain_attr = {.name = device};
static struct fi_info info = {.domain_attr = &domain_attr};

int fi_getinfo(uint32_t api, const char *node, const char *service, uint64_t flags,
	       const struct fi_info *hints, struct fi_info **info_p)
{
	ck_assert_str_eq(hints->fabric_attr->prov_name, "verbs");
	ck_assert_str_eq(hints->domain_attr->name, "rxe0");
	ck_assert_int_eq(hints->ep_attr->type, FI_EP_MSG);
	ck_assert_uint_eq(hints->ep_attr->rx_ctx_cnt, FI_SHARED_CONTEXT);
	ck_assert_uint_eq(hints->mode, FI_CONTEXT | FI_RX_CQ_DATA);
	ck_assert_uint_eq(hints->rx_attr->size, 4096);
	ck_assert_int_eq(hints->domain_attr->mr_mode,
			 FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY);
	ck_assert_uint_eq(FI_MAJOR(api), FI_MAJOR(dofi_api_version()));
	ck_assert(!node && !service && !flags);
	*info_p = has_srqs ? fi_allocinfo() : NULL;
	return has_srqs ? 0 : -FI_ENODATA;
}

/* --- memory; the linker redirects these calls --- */

static int infos; /* that exist */
static int calls_before_failure = -1;

struct fi_info *__real_fi_dupinfo(const struct fi_info *from);
struct fi_info *__wrap_fi_dupinfo(const struct fi_info *from);
void __real_fi_freeinfo(struct fi_info *list);
void __wrap_fi_freeinfo(struct fi_info *list);
char *__real_strdup(const char *text);
T_STAND_IN char *__wrap_strdup(const char *text);

static bool fails(void)
{
	return calls_before_failure >= 0 && !calls_before_failure--;
}

struct fi_info *__wrap_fi_dupinfo(const struct fi_info *from)
{
	struct fi_info *copy = fails() ? NULL : __real_fi_dupinfo(from);

	infos += copy != NULL;
	return copy;
}

void __wrap_fi_freeinfo(struct fi_info *list)
{
	for (const struct fi_info *at = list; at; at = at->next)
		infos--;
	__real_fi_freeinfo(list);
}

/* Check also copies texts. */
char *__wrap_strdup(const char *text)
{
	return (!strcmp(text, "verbs") || !strcmp(text, "rxe0")) && fails() ? NULL
									    : __real_strdup(text);
}

int __real_setenv(const char *name, const char *value, int overwrite);
int __wrap_setenv(const char *name, const char *value, int overwrite);

int __wrap_setenv(const char *name, const char *value, int overwrite)
{
	if (!full)
		return __real_setenv(name, value, overwrite);
	errno = ENOMEM;
	return -1;
}

/* --- */

static void setup(void)
{
	unsetenv(VARIABLE);
	unsetenv("PSM3_RCVTHREAD");
	unsetenv(SHARED);
	unsetenv(LONG);
	unsetenv("FI_PROVIDER");
	unsetenv("DAT_OFI_LAST_BYTE");
	t_machine_put("class/net", NULL); /* a host without RDMA devices, and not this one */
}

/* The variable after an endpoint was opened; "" if it is not set. */
static const char *after(uint64_t quirks)
{
	const char *value;

	ck_assert_int_eq(dofi_fabric_env_choose("rxm", &info, quirks), 0);
	value = getenv(VARIABLE);
	return value ? value : "";
}

START_TEST(rxm_variable_disables_segmentation)
{
	ck_assert_str_eq(after(DOFI_QUIRK_SPLIT_MESSAGES), "1");
	ck_assert_ptr_null(getenv("PSM3_RCVTHREAD"));
}
END_TEST

START_TEST(other_providers_get_no_variables)
{
	ck_assert_str_eq(after(~(DOFI_QUIRK_SPLIT_MESSAGES | DOFI_QUIRK_RECEIVE_THREAD |
				 DOFI_QUIRK_OWN_RECEIVES)),
			 "");
	ck_assert_ptr_null(getenv("PSM3_RCVTHREAD"));
}
END_TEST

START_TEST(psm3_gets_no_thread)
{
	ck_assert_str_eq(after(DOFI_QUIRK_RECEIVE_THREAD), "");
	ck_assert_str_eq(getenv("PSM3_RCVTHREAD"), "0");
	setenv("PSM3_RCVTHREAD", "1", 1);
	ck_assert_str_eq(after(DOFI_QUIRK_RECEIVE_THREAD), "");
	ck_assert_str_eq(getenv("PSM3_RCVTHREAD"), "1");
}
END_TEST

/* The value of SHARED after an IA was opened. */
static const char *shared_after(uint64_t quirks, bool srqs)
{
	has_srqs = srqs;
	after(quirks);
	return getenv(SHARED) ? getenv(SHARED) : "";
}

START_TEST(rxm_over_verbs_shares_receives)
{
	ck_assert_str_eq(shared_after(0, true), "");
	ck_assert_str_eq(shared_after(DOFI_QUIRK_OWN_RECEIVES, false), "");
	ck_assert_str_eq(shared_after(DOFI_QUIRK_OWN_RECEIVES, true), "1");
	setenv(SHARED, "0", 1);
	ck_assert_str_eq(shared_after(DOFI_QUIRK_OWN_RECEIVES, true), "0");
}
END_TEST

/* A device that can't be asked, because there is no memory, shares nothing. */
START_TEST(rxm_over_verbs_without_memory)
{
	int fd = t_capture(STDERR_FILENO);

	for (int i = 0; i < 3; i++) {
		calls_before_failure = i;
		ck_assert_str_eq(shared_after(DOFI_QUIRK_OWN_RECEIVES, true), "");
		ck_assert_int_eq(infos, 0);
		ck_assert_int_eq(calls_before_failure, -1);
	}
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "IA rxm: rxe0 has no shared receive queue"));
	ck_assert_str_eq(shared_after(DOFI_QUIRK_OWN_RECEIVES, true), "1");
	ck_assert_int_eq(infos, 0);
}
END_TEST

/* All variables of the quirks, up to the first that can't be set. */
START_TEST(variables_of_several_quirks)
{
	int fd = t_capture(STDERR_FILENO);

	has_srqs = true;
	full = true;
	ck_assert_int_eq(dofi_fabric_env_choose("rxm", &info, ~(uint64_t)0), -ENOMEM);
	ck_assert_str_eq(t_captured(fd),
			 "dat-ofi: IA rxm: " VARIABLE "=1 can't be set: Cannot allocate memory\n");
	full = false;
	dofi_log_set_level("info");
	ck_assert_str_eq(after(~(uint64_t)0), "1");
	ck_assert_str_eq(getenv(SHARED), "1");
	ck_assert_str_eq(getenv("PSM3_RCVTHREAD"), "0");
	ck_assert_ptr_nonnull(strstr(t_captured(fd),
				     "IA rxm: " VARIABLE "=1 is set for this process, or a peer"));
}
END_TEST

START_TEST(variables_of_the_user_are_kept)
{
	setenv(VARIABLE, "65536", 1);
	ck_assert_str_eq(after(DOFI_QUIRK_SPLIT_MESSAGES), "65536");
}
END_TEST

static int prepare(const char *name, const char *words)
{
	static struct dofi_params params;

	ck_assert(!dofi_params_load(&params, name, words));
	return dofi_fabric_env_prepare(name, &params);
}

/* The value of LONG before libfabric is asked. */
static const char *before(const char *name, const char *words)
{
	ck_assert_int_eq(prepare(name, words), 0);
	return getenv(LONG) ? getenv(LONG) : "";
}

/* 64 KiB without a word of up to 8 bytes */
START_TEST(a_write_of_64_kib_is_a_long_one_over_efa)
{
	ck_assert_str_eq(before("ofi", ""), "");
	ck_assert_str_eq(before("ofi-tcp", ""), "");
	ck_assert_str_eq(before("ofi-efa", "last_byte=fabric"), "");
	if (_i)
		t_machine_put("class/infiniband/rdmap0s6", NULL);
	ck_assert_str_eq(before(_i ? "ofi" : "ofi-efa", ""), "65528");
	setenv(LONG, "9000", 1);
	ck_assert_str_eq(before("ofi-efa", ""), "9000");
}
END_TEST

START_TEST(failure_to_set_a_variable_is_reported)
{
	full = true;
	ck_assert_int_eq(prepare("ofi-efa", ""), -ENOMEM);
	ck_assert_int_eq(dofi_fabric_env_choose("rxm", &info, DOFI_QUIRK_SPLIT_MESSAGES), -ENOMEM);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fabric_env");
	TCase *tc = tcase_create("variables");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, rxm_variable_disables_segmentation);
	tcase_add_test(tc, other_providers_get_no_variables);
	tcase_add_test(tc, psm3_gets_no_thread);
	tcase_add_test(tc, rxm_over_verbs_shares_receives);
	tcase_add_test(tc, rxm_over_verbs_without_memory);
	tcase_add_test(tc, variables_of_several_quirks);
	tcase_add_test(tc, variables_of_the_user_are_kept);
	tcase_add_loop_test(tc, a_write_of_64_kib_is_a_long_one_over_efa, 0, 2);
	tcase_add_test(tc, failure_to_set_a_variable_is_reported);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
