/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which variables of libfabric are set for which provider, and by whom. */
#include "unit.h"

#include "../../prov/ofi/ia.h"
#include "../../prov/ofi/fabric_env.h"
#include "../../prov/ofi/select.h"

#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>

#define VARIABLE "FI_OFI_RXM_SAR_LIMIT"
#define SHARED	 "FI_OFI_RXM_USE_SRX"

static struct dofi_ia ia;
static struct fi_ep_attr ep_attr;
static struct fi_domain_attr domain_attr = {.name = (char[]){"rxe0"}};
static struct fi_fabric_attr fabric_attr;
static char tcp[] = "tcp;ofi_rxm";
static struct fi_info info = {.ep_attr = &ep_attr, .domain_attr = &domain_attr, .fabric_attr = &fabric_attr};

/* --- libfabric, and the memory of the environment --- */

static uint32_t version;
static bool full;

uint32_t fi_version(void)
{
	return version;
}

/* The device below rxm. */
static bool has_srqs;

int fi_getinfo(uint32_t api, const char *node, const char *service, uint64_t flags, const struct fi_info *hints, struct fi_info **info_p)
{
	ck_assert_str_eq(hints->fabric_attr->prov_name, "verbs");
	ck_assert_str_eq(hints->domain_attr->name, "rxe0");
	ck_assert_int_eq(hints->ep_attr->type, FI_EP_MSG);
	ck_assert_uint_eq(hints->ep_attr->rx_ctx_cnt, FI_SHARED_CONTEXT);
	ck_assert_uint_eq(FI_MAJOR(api), FI_MAJOR(dofi_api_version()));
	ck_assert(!node && !service && !flags);
	*info_p = has_srqs ? fi_allocinfo() : NULL;
	return has_srqs ? 0 : -FI_ENODATA;
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
	unsetenv(SHARED);
	fabric_attr.prov_name = tcp;
	ia.info = &info;
	strcpy(ia.name, "rxm");
	ep_attr.protocol = FI_PROTO_RXM;
	version = FI_VERSION(2, 6);
}

/* What the variable is after an endpoint was made; "" when it is not there. */
static const char *after(void)
{
	const char *value;

	ck_assert_int_eq(dofi_fabric_env_choose(&ia), 0);
	value = getenv(VARIABLE);
	return value ? value : "";
}

static const struct {
	uint32_t major, minor;
	const char *value;
} versions[] = {{1, 17, ""}, {1, 22, ""}, {2, 0, "1"}, {2, 1, "1"},
		{2, 6, "1"}, {2, 7, ""},  {3, 0, ""}};

START_TEST(by_its_version)
{
	version = FI_VERSION(versions[_i].major, versions[_i].minor);
	ck_assert_str_eq(after(), versions[_i].value);
}
END_TEST

START_TEST(another_provider)
{
	ep_attr.protocol = FI_PROTO_XNET;
	ck_assert_str_eq(after(), "");
}
END_TEST

START_TEST(psm3_gets_no_thread)
{
	ep_attr.protocol = FI_PROTO_PSMX3;
	unsetenv("PSM3_RCVTHREAD");
	ck_assert_str_eq(after(), "");
	ck_assert_str_eq(getenv("PSM3_RCVTHREAD"), "0");
	setenv("PSM3_RCVTHREAD", "1", 1);
	ck_assert_int_eq(dofi_fabric_env_choose(&ia), 0);
	ck_assert_str_eq(getenv("PSM3_RCVTHREAD"), "1");
}
END_TEST

/* What SHARED is after an endpoint was made. */
static const char *shared_after(const char *provider, bool srqs)
{
	char name[32];

	strcpy(name, provider);
	fabric_attr.prov_name = name;
	has_srqs = srqs;
	after();
	fabric_attr.prov_name = NULL;
	return getenv(SHARED) ? getenv(SHARED) : "";
}

START_TEST(rxm_over_verbs_shares_receives)
{
	version = FI_VERSION(versions[_i].major, versions[_i].minor);
	ck_assert_str_eq(shared_after("tcp;ofi_rxm", true), "");
	ck_assert_str_eq(shared_after("verbs;ofi_rxm", false), "");
	ck_assert_str_eq(shared_after("verbs;ofi_rxm", true), "1");
	setenv(SHARED, "0", 1);
	ck_assert_str_eq(shared_after("verbs;ofi_rxm", true), "0");
}
END_TEST

START_TEST(who_has_set_it_knows)
{
	setenv(VARIABLE, "65536", 1);
	ck_assert_str_eq(after(), "65536");
}
END_TEST

START_TEST(the_environment_is_full)
{
	full = true;
	ck_assert_int_eq(dofi_fabric_env_choose(&ia), -ENOMEM);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fabric_env");
	TCase *tc = tcase_create("variables");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, by_its_version, 0, sizeof(versions) / sizeof(versions[0]));
	tcase_add_test(tc, another_provider);
	tcase_add_test(tc, psm3_gets_no_thread);
	tcase_add_loop_test(tc, rxm_over_verbs_shares_receives, 0, sizeof(versions) / sizeof(versions[0]));
	tcase_add_test(tc, who_has_set_it_knows);
	tcase_add_test(tc, the_environment_is_full);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
