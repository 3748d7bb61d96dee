/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an IA tells about its device and its link: by libfabric, or by the kernel. */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/api/attr.h"
#include "../../../prov/ofi/fabric/facts.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <stdio.h>
#include <string.h>

/* --- the kernel, which knows the device eth9 --- */

static const char *operstate, *speed; /* NULL: there is no such file */

T_STAND_IN FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__real_fopen(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode)
{
	const char *text;

	if (strncmp(path, "/sys/class/net/", 15))
		return __real_fopen(path, mode);
	if (!strcmp(path, "/sys/class/net/eth9/operstate"))
		text = operstate;
	else
		text = strcmp(path, "/sys/class/net/eth9/speed") ? NULL : speed;
	return text ? fmemopen((void *)(uintptr_t)text, strlen(text), "r") : NULL;
}

/* --- */

static struct fi_domain_attr domain_attr = {.name = (char[]){"eth9"}};
static struct fi_link_attr link_attr;
static struct fi_device_attr device_attr = {.name = (char[]){"mlx5_0"}};
static struct fid_nic nic = {.link_attr = &link_attr, .device_attr = &device_attr};
static struct fi_info info = {.domain_attr = &domain_attr};
static struct dofi_facts facts;

static const char *fact(const char *name)
{
	for (unsigned int i = 0; i < facts.count; i++)
		if (!strcmp(facts.list[i].name, name))
			return facts.list[i].value;
	return "";
}

static void find(void)
{
	dofi_facts_find(&facts, &info, DOFI_ORDERED, 0);
}

static const struct {
	const char *operstate, *speed;    /* of the kernel */
	const char *link, *bits_a_second; /* what the IA tells */
} links[] = {
	{"up\n", "25000\n", "up", "25000000000"},
	{"down\n", "-1\n", "down", ""},
	{"dormant\n", "0\n", "dormant", ""},
	{"unknown\n", "fast\n", "unknown", ""},
	{NULL, NULL, "unknown", ""},
	{"\n", "\n", "unknown", ""},
};

START_TEST(the_kernel_describes_the_link_of_a_netdev)
{
	operstate = links[_i].operstate;
	speed = links[_i].speed;
	find();
	ck_assert_str_eq(fact(DAT_OFI_ATTR_LINK), links[_i].link);
	ck_assert_str_eq(fact(DAT_OFI_ATTR_SPEED), links[_i].bits_a_second);
	ck_assert_str_eq(fact(DAT_OFI_ATTR_DEVICE), "");
}
END_TEST

/* Such a name must not lead out of the folder. */
START_TEST(a_domain_with_a_path_in_its_name_is_no_netdev)
{
	domain_attr.name = (char[]){"../net/eth9"};
	operstate = "up\n";
	speed = "25000\n";
	find();
	ck_assert_str_eq(fact(DAT_OFI_ATTR_LINK), "unknown");
	ck_assert_str_eq(fact(DAT_OFI_ATTR_SPEED), "");
}
END_TEST

START_TEST(libfabric_describes_the_link_of_a_device)
{
	operstate = "dormant\n";
	speed = "1000\n";
	info.nic = &nic;
	link_attr = (struct fi_link_attr){.state = FI_LINK_UP, .speed = 100000000000u};
	find();
	ck_assert_str_eq(fact(DAT_OFI_ATTR_LINK), "up");
	ck_assert_str_eq(fact(DAT_OFI_ATTR_SPEED), "100000000000");
	ck_assert_str_eq(fact(DAT_OFI_ATTR_DEVICE), "mlx5_0");
	link_attr.state = FI_LINK_DOWN;
	find();
	ck_assert_str_eq(fact(DAT_OFI_ATTR_LINK), "down");
}
END_TEST

/* What libfabric does not know, the kernel may know. */
START_TEST(a_device_whose_link_is_not_known)
{
	operstate = "up\n";
	speed = "1000\n";
	info.nic = &nic;
	link_attr = (struct fi_link_attr){.state = FI_LINK_UNKNOWN};
	find();
	ck_assert_str_eq(fact(DAT_OFI_ATTR_LINK), "up");
	ck_assert_str_eq(fact(DAT_OFI_ATTR_SPEED), "1000000000");
	nic.link_attr = NULL;
	nic.device_attr = NULL;
	find();
	ck_assert_str_eq(fact(DAT_OFI_ATTR_LINK), "up");
	ck_assert_str_eq(fact(DAT_OFI_ATTR_DEVICE), "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("facts");
	TCase *tcase = tcase_create("facts");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, the_kernel_describes_the_link_of_a_netdev, 0,
			    (int)(sizeof(links) / sizeof(links[0])));
	tcase_add_test(tcase, a_domain_with_a_path_in_its_name_is_no_netdev);
	tcase_add_test(tcase, libfabric_describes_the_link_of_a_device);
	tcase_add_test(tcase, a_device_whose_link_is_not_known);
	return t_run(suite);
}
