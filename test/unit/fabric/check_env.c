/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which variables of libfabric are set for which provider, and by whom. */
#include "unit.h"

#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/fabric/env.h"

#include <errno.h>
#include <string.h>

#define VARIABLE "FI_OFI_RXM_SAR_LIMIT"

static struct dofi_ia ia;
static struct fi_ep_attr ep_attr;
static struct fi_info info = {.ep_attr = &ep_attr};

/* --- libfabric, and the memory of the environment --- */

static uint32_t version;
static bool full;

uint32_t fi_version(void)
{
	return version;
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
	tcase_add_test(tc, who_has_set_it_knows);
	tcase_add_test(tc, the_environment_is_full);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
