/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages about a provider that offers nothing. */
#include "simulated_offers.h"

#include <stdlib.h>

START_TEST(test_no_candidate_at_all)
{
	MACHINE(&tcp_eth0);
	installed[0] = "tcp", installed[1] = "cxi", installed[2] = "ofi_rxm";
	ck_has(none_for("ofi-nosuch", ""), "libfabric 1.17 does not list nosuch: built without it, "
					   "or no device was found; it lists tcp, cxi\n");
	ck_has(none_for("ofi-cxi", ""),
	       "libfabric has cxi, which finds nothing to work on; it needs a Cassini device");
	installed[0] = NULL;
	ck_has(none_for("ofi-nosuch", ""), "it lists none at all");
	MACHINE(NULL);
	ck_has(none_for("ofi", ""), "finds nothing to work on; it lists none");
	ck_has(none_for("ofi-efa", ""), "it needs an adapter");
	ck_has(none_for("ofi-usnic", ""),
	       "it needs a Cisco VIC; its RDMA (FI_RMA) was never made, so it can't carry DAT");
	ck_has(none_for("ofi", "provider=efa-direct"),
	       "no tagged messages (FI_TAGGED), so it can't carry DAT");
}
END_TEST

START_TEST(test_provider_excluded_by_FI_PROVIDER)
{
	installed[0] = "shm";
	setenv("FI_PROVIDER", "shm,tcp", 1);
	ck_has(none_for("ofi-verbs", ""), "FI_PROVIDER=shm,tcp leaves verbs out");
	ck_has(none_for("ofi-shm", ""), "libfabric has shm");
	ck_has(none_for("ofi", "provider=tcp;ofi_rxm"), "does not list tcp;ofi_rxm");
	setenv("FI_PROVIDER", "^tcp,verbs", 1);
	ck_has(none_for("ofi-verbs", ""), "FI_PROVIDER=^tcp,verbs leaves verbs out");
	ck_has(none_for("ofi-shm", ""), "libfabric has shm");
	MACHINE(NULL);
	ck_has(none_for("ofi", ""), "it lists shm; unset FI_PROVIDER or let it name one of them");
	setenv("FI_PROVIDER", "", 1);
	ck_assert_ptr_null(strstr(none_for("ofi", ""), "unset FI_PROVIDER"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("absent");
	TCase *tc = tcase_create("absent");

	tcase_add_test(tc, test_no_candidate_at_all);
	tcase_add_test(tc, test_provider_excluded_by_FI_PROVIDER);
	return run_choices(suite, tc);
}
