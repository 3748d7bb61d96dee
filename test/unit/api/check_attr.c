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

/* The guard of a receive is a segment of the fabric, which the consumer cannot have as well. */
START_TEST(the_guard_of_receives_takes_a_segment_of_the_fabric)
{
	static const struct dofi_trans_ops trans = {.id = DOFI_TRANS_RDM};
	struct fi_domain_attr domain = {.mr_cnt = 0};
	struct fi_ep_attr ep = {.max_msg_size = 1u << 20};
	struct fi_tx_attr tx = {.iov_limit = 12};
	struct fi_rx_attr rx = {.iov_limit = 9};
	struct fi_info info = {.domain_attr = &domain,
			       .ep_attr = &ep,
			       .tx_attr = &tx,
			       .rx_attr = &rx};
	struct dofi_ia *ia = calloc(1, sizeof(*ia));

	ck_assert_ptr_nonnull(ia);
	ia->trans = &trans;
	ia->info = &info;
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

int main(void)
{
	Suite *suite = suite_create("attr");
	TCase *tcase = tcase_create("attr");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, the_mtu_is_the_largest_that_the_link_carries, 0, 13);
	tcase_add_test(tcase, the_mtu_without_a_link_is_the_largest);
	tcase_add_test(tcase, the_guard_of_receives_takes_a_segment_of_the_fabric);
	return t_run(suite);
}
