/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an IA tells about its device and its link: by libfabric, or by the kernel. */
#include "t_heap.h"
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/api/attr.h"
#include "../../../prov/ofi/fabric/facts.h"
#include "../../../prov/ofi/fabric/quirks.h"

#include <dlfcn.h>
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

static char interface[] = "eth9", device[] = "mlx5_0";
static struct fi_domain_attr domain_attr = {.name = interface};
static struct fi_link_attr link_attr;
static struct fi_device_attr device_attr = {.name = device};
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

/* An address has the label eth9:1; a fabric may have no name. */
START_TEST(a_domain_named_after_an_address)
{
	operstate = "up\n";
	speed = "1000\n";
	domain_attr.name = (char[]){"eth9:1"};
	find();
	ck_assert_str_eq(fact(DAT_OFI_ATTR_LINK), "up");
	ck_assert_str_eq(fact(DAT_OFI_ATTR_SPEED), "1000000000");
	domain_attr.name = NULL;
	find();
	ck_assert_str_eq(fact(DAT_OFI_ATTR_LINK), "unknown");
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

/* --- the ways of the fabric --- */

static const struct {
	enum dofi_order order;
	uint64_t quirks;
	const char *word, *truncated;
} ways[] = {
	{DOFI_ORDERED, 0, "ORDERED", "CONNECTION"},
	{DOFI_FENCE, DOFI_QUIRK_ENDS_STREAM, "FENCE", "PEER"},
	{DOFI_HOLD, ~DOFI_QUIRK_ENDS_STREAM, "HOLD", "CONNECTION"},
};

START_TEST(how_messages_travel)
{
	dofi_facts_find(&facts, &info, ways[_i].order, ways[_i].quirks);
	ck_assert_str_eq(fact(DAT_OFI_ATTR_ORDER), ways[_i].word);
	ck_assert_str_eq(fact(DAT_OFI_ATTR_TRUNCATED_MESSAGE), ways[_i].truncated);
}
END_TEST

START_TEST(modes_of_the_domain)
{
	find();
	ck_assert_str_eq(fact(DAT_OFI_ATTR_MR_MODE), "none");
	domain_attr.mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED;
	domain_attr.threading = FI_THREAD_SAFE;
	domain_attr.data_progress = FI_PROGRESS_MANUAL;
	domain_attr.control_progress = FI_PROGRESS_AUTO;
	find();
	ck_assert_str_eq(fact(DAT_OFI_ATTR_MR_MODE), "FI_MR_LOCAL, FI_MR_ALLOCATED");
	ck_assert_str_eq(fact(DAT_OFI_ATTR_THREADING), "FI_THREAD_SAFE");
	ck_assert_str_eq(fact(DAT_OFI_ATTR_PROGRESS), "FI_PROGRESS_MANUAL");
}
END_TEST

/* --- libfabric; the linker redirects these calls --- */

static const char *library = "/lib/libfabric.so.1"; /* NULL: not known */

T_STAND_IN int __wrap_dladdr(const void *address, Dl_info *where);
uint32_t __wrap_fi_version(void);

int __wrap_dladdr(const void *address, Dl_info *where)
{
	ck_assert_ptr_nonnull(address);
	where->dli_fname = library;
	return library != NULL;
}

uint32_t __wrap_fi_version(void)
{
	return FI_VERSION(3, 14);
}

/* What is not known is left out. */
START_TEST(the_library_and_its_versions)
{
	char built[16];

	snprintf(built, sizeof(built), "%u.%u", FI_MAJOR_VERSION, FI_MINOR_VERSION);
	memset(&facts, 0xff, sizeof(facts));
	find();
	ck_assert_str_eq(fact(DAT_OFI_ATTR_LF_RUNNING), "3.14");
	ck_assert_str_eq(fact(DAT_OFI_ATTR_LF_BUILT), built);
	ck_assert_str_eq(fact(DAT_OFI_ATTR_LF_PATH), "/lib/libfabric.so.1");
	ck_assert_uint_eq(facts.count, 9); /* without device and speed */
	library = NULL;
	find();
	ck_assert_str_eq(fact(DAT_OFI_ATTR_LF_PATH), "");
	ck_assert_uint_eq(facts.count, 8);
}
END_TEST

/* A file of sysfs may be longer than what is told of it. */
START_TEST(a_long_state_is_cut_off)
{
	operstate = "a-state-that-is-longer-than-any\n";
	speed = "123456789012345678901234567890\n";
	find();
	ck_assert_str_eq(fact(DAT_OFI_ATTR_LINK), "a-state-that-is-lon");
}
END_TEST

#if T_HOOKS
START_TEST(finding_facts_leaves_no_memory)
{
	size_t before = 0;

	operstate = "up\n";
	speed = "1000\n";
	for (int i = 0; i < 100; i++) {
		if (i == 10)
			before = t_heap();
		find();
	}
	ck_assert_uint_le(t_heap(), before + 1000);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("facts");
	TCase *tcase = tcase_create("facts");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, the_kernel_describes_the_link_of_a_netdev, 0,
			    (int)(sizeof(links) / sizeof(links[0])));
	tcase_add_test(tcase, a_domain_with_a_path_in_its_name_is_no_netdev);
	tcase_add_test(tcase, a_domain_named_after_an_address);
	tcase_add_test(tcase, libfabric_describes_the_link_of_a_device);
	tcase_add_test(tcase, a_device_whose_link_is_not_known);
	tcase_add_loop_test(tcase, how_messages_travel, 0, (int)(sizeof(ways) / sizeof(ways[0])));
	tcase_add_test(tcase, modes_of_the_domain);
	tcase_add_test(tcase, the_library_and_its_versions);
	tcase_add_test(tcase, a_long_state_is_cut_off);
#if T_HOOKS
	tcase_add_test(tcase, finding_facts_leaves_no_memory);
#endif
	return t_run(suite);
}
