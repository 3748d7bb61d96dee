/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attributes that are computed from those of the fabric. */
#include "unit.h"

#include "../../../prov/ofi/api/attr.c"

/* MTUs of InfiniBand are powers of two from 256 to 4096. The link has an MTU of its own. */
START_TEST(the_mtu_is_the_largest_that_the_link_carries)
{
	static const struct {
		size_t link;
		unsigned int mtu;
	} cases[] = {{0, 4096},    {9000, 4096}, {4097, 4096}, {4096, 4096}, {4095, 2048},
		     {2048, 2048}, {1500, 1024}, {1024, 1024}, {1023, 512},  {300, 256},
		     {256, 256},   {255, 256},   {1, 256}};
	struct fi_link_attr link = {.mtu = cases[_i].link};
	struct fid_nic nic = {.link_attr = &link};
	struct fi_info info = {.nic = &nic};

	ck_assert_uint_eq(ib_mtu(&info), cases[_i].mtu);
}
END_TEST

START_TEST(the_mtu_without_a_link_is_the_largest)
{
	struct fid_nic nic = {.link_attr = NULL};
	struct fi_info info = {.nic = NULL};

	ck_assert_uint_eq(ib_mtu(&info), 4096);
	info.nic = &nic;
	ck_assert_uint_eq(ib_mtu(&info), 4096);
}
END_TEST

/* --- an IA of a fabric that has a few attributes --- */

static struct fi_domain_attr domain = {.mr_cnt = 0};
static struct fi_ep_attr ep = {.max_msg_size = 1u << 20};
static struct fi_tx_attr tx = {.iov_limit = 12};
static struct fi_rx_attr rx = {.iov_limit = 9};
static struct fi_fabric_attr fabric = {.prov_name = NULL};

static struct dofi_ia *new_ia(struct fi_info *info)
{
	static const struct dofi_trans_ops trans = {.id = DOFI_TRANS_RDM, .name = "rdm"};
	struct dofi_ia *ia = calloc(1, sizeof(*ia));

	ck_assert_ptr_nonnull(ia);
	*info = (struct fi_info){.domain_attr = &domain,
				 .ep_attr = &ep,
				 .tx_attr = &tx,
				 .rx_attr = &rx,
				 .fabric_attr = &fabric};
	ia->trans = &trans;
	ia->info = info;
	return ia;
}

/* The guard of a receive is a segment of the fabric, which the consumer cannot have as well. */
START_TEST(the_guard_of_receives_takes_a_segment_of_the_fabric)
{
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);

	init_limits(ia);
	ck_assert_uint_eq(dofi_guard_segments(ia), 0);
	ck_assert_uint_eq(ia->limits.fabric_iov, 9);
	ia->quirks = DOFI_QUIRK_CUTS;
	init_limits(ia);
	ck_assert_uint_eq(dofi_guard_segments(ia), 1);
	ck_assert_uint_eq(ia->limits.fabric_iov, 8);
	ck_assert_uint_eq(ia->limits.plain, 0);
	free(ia);
}
END_TEST

START_TEST(the_user_limits_the_segments)
{
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);

	ia->params.max_segments = 6;
	init_limits(ia);
	ck_assert_uint_eq(ia->limits.fabric_iov, 6);
	ck_assert_uint_eq(ia->limits.max_iov, 6);
	ia->params.max_segments = 1; /* the library joins segments beyond it */
	init_limits(ia);
	ck_assert_uint_eq(ia->limits.fabric_iov, 1);
	ck_assert_uint_eq(ia->limits.max_iov, DOFI_LEAST_IOV);
	free(ia);
}
END_TEST

/* A write whose last byte is an operation of its own is plain if it has one byte. */
START_TEST(writes_that_are_split_are_not_plain)
{
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);

	init_limits(ia);
	ck_assert_uint_eq(ia->limits.plain_write, ia->limits.plain);
	ia->splits_writes = true;
	init_limits(ia);
	ck_assert_uint_eq(ia->limits.plain_write, 1);
	free(ia);
}
END_TEST

static const char *named_value(const struct dofi_named *named, const char *name)
{
	for (DAT_COUNT i = 0; i < (DAT_COUNT)named->count; i++)
		if (!strcmp(named->list[i].name, name))
			return named->list[i].value;
	return NULL;
}

START_TEST(what_the_fabric_does_not_name_has_no_attribute)
{
	struct dofi_named named = {.count = 0};

	name_attr(&named, "one", "1");
	name_attr(&named, "none", NULL);
	ck_assert_str_eq(named_value(&named, "one"), "1");
	ck_assert_ptr_null(named_value(&named, "none"));
	ck_assert_uint_eq(named.count, 1);
}
END_TEST

START_TEST(the_list_of_named_attributes_is_limited)
{
	struct dofi_named named = {.count = 0};
	const size_t room = sizeof(named.list) / sizeof(named.list[0]);

	for (size_t i = 0; i < room + 2; i++)
		name_attr(&named, "one", "1");
	ck_assert_uint_eq(named.count, room);
}
END_TEST

static const struct {
	const char *vendor, *device, *firmware; /* of the device */
	const char *vendor_name;                /* what a consumer sees */
	unsigned int major, minor, firmware_major, firmware_minor;
} devices[] = {
	{"0x15b3", "4.19", "20.31.1014", "0x15b3", 4, 19, 20, 31},
	{"0x15b3", "5", "unknown", "0x15b3", 5, 0, 0, 0},
	{NULL, NULL, NULL, "", 0, 0, 0, 0},
};

START_TEST(the_identity_is_that_of_the_device)
{
	struct fi_device_attr device = {.vendor_id = (char *)(uintptr_t)devices[_i].vendor,
					.device_version = (char *)(uintptr_t)devices[_i].device,
					.firmware = (char *)(uintptr_t)devices[_i].firmware};
	struct fid_nic nic = {.device_attr = &device};
	struct fi_info info;
	struct dofi_ia *ia = new_ia(&info);
	DAT_IA_ATTR attr;

	info.nic = &nic;
	memset(&attr, 0x5a, sizeof(attr));
	put_identity(ia, &attr);
	ck_assert_str_eq(attr.vendor_name, devices[_i].vendor_name);
	ck_assert_uint_eq(attr.hardware_version_major, devices[_i].major);
	ck_assert_uint_eq(attr.hardware_version_minor, devices[_i].minor);
	ck_assert_uint_eq(attr.firmware_version_major, devices[_i].firmware_major);
	ck_assert_uint_eq(attr.firmware_version_minor, devices[_i].firmware_minor);
	free(ia);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("attr");
	TCase *tcase = tcase_create("attr");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, the_mtu_is_the_largest_that_the_link_carries, 0, 13);
	tcase_add_test(tcase, the_mtu_without_a_link_is_the_largest);
	tcase_add_test(tcase, the_guard_of_receives_takes_a_segment_of_the_fabric);
	tcase_add_test(tcase, the_user_limits_the_segments);
	tcase_add_test(tcase, writes_that_are_split_are_not_plain);
	tcase_add_test(tcase, what_the_fabric_does_not_name_has_no_attribute);
	tcase_add_test(tcase, the_list_of_named_attributes_is_limited);
	tcase_add_loop_test(tcase, the_identity_is_that_of_the_device, 0,
			    (int)(sizeof(devices) / sizeof(devices[0])));
	return t_run(suite);
}
