/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages about a provider that offers nothing. */
#include "simulated_offers.h"

#include "fabric/absent.h"

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
	ck_has(none_for("ofi-verbs", ""),
	       "FI_PROVIDER=shm,tcp leaves verbs out; unset it or add the name");
	ck_has(none_for("ofi-shm", ""), "libfabric has shm");
	ck_has(none_for("ofi", "provider=tcp;ofi_rxm"), "does not list tcp;ofi_rxm");
	setenv("FI_PROVIDER", "^tcp,verbs", 1);
	ck_has(none_for("ofi-verbs", ""),
	       "FI_PROVIDER=^tcp,verbs leaves verbs out; unset it or remove the name");
	ck_has(none_for("ofi-shm", ""), "libfabric has shm");
	MACHINE(NULL);
	ck_has(none_for("ofi", ""), "it lists shm; unset FI_PROVIDER or let it name one of them");
	setenv("FI_PROVIDER", "", 1);
	ck_assert_ptr_null(strstr(none_for("ofi", ""), "unset FI_PROVIDER"));
}
END_TEST

/* FI_PROVIDER lists what libfabric uses or, after ^, what it does not. Case does not count. */
START_TEST(test_lists_that_leave_a_provider_out)
{
	static const struct {
		const char *list, *provider;
		bool out;
	} cases[] = {
		{"tcp", "tcp", false},
		{"TCP", "tcp", false},
		{"tcp", "shm", true},
		{"shm,tcp", "tcp", false},
		{"tcp,shm", "tcp", false},
		{"shm,tcp", "verbs", true},
		{"tcp,", "tcp", false},
		{"shm,,tcp", "tcp", false},
		{"tc", "tcp", true},
		{"tcpx", "tcp", true},
		{"shm,tcp", "tcp;ofi_rxm", false},
		{"tcp;ofi_rxm,shm", "tcp;ofi_rxm", false},
		{"tcp;ofi_rxm,shm", "shm", false},
		{"^tcp", "tcp", true},
		{"^tcp", "shm", false},
		{"^shm,tcp", "tcp", true},
		{"^shm,tcp", "shm", true},
		{"^", "tcp", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(dofi_is_left_out(cases[i].list, cases[i].provider) == cases[i].out,
			      "%s: %s", cases[i].list, cases[i].provider);
}
END_TEST

/* Layers above a provider do not count. */
START_TEST(test_providers_that_are_the_same)
{
	ck_assert(dofi_same_core("tcp", "tcp"));
	ck_assert(dofi_same_core("tcp", "tcp;ofi_rxm"));
	ck_assert(dofi_same_core("tcp;ofi_rxm", "tcp"));
	ck_assert(dofi_same_core("tcp;ofi_rxm", "tcp;ofi_rxd"));
	ck_assert(!dofi_same_core("tcp", "tcpx"));
	ck_assert(!dofi_same_core("tcpx", "tcp"));
	ck_assert(!dofi_same_core("tcp", "shm"));
	ck_assert(!dofi_same_core("ofi_rxm", "tcp;ofi_rxm"));
}
END_TEST

/* What each of them needs is told whether it is listed or not. */
START_TEST(test_needs_of_providers)
{
	static const char *const names[] = {"cxi", "efa", "verbs", "psm3",  "opx", "tcp",
					    "shm", "lnx", "sm2",   "usnic", "mlx", "lpp"};
	char name[32], wanted[64];

	MACHINE(NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "ofi-%s", names[i]);
		installed[0] = NULL;
		snprintf(wanted, sizeof(wanted), "does not list %s: built", names[i]);
		ck_has(none_for(name, ""), wanted);
		ck_has(none_for(name, ""), "; it needs ");
		installed[0] = names[i];
		snprintf(wanted, sizeof(wanted), "libfabric has %s, which finds", names[i]);
		ck_has(none_for(name, ""), wanted);
		ck_has(none_for(name, ""), "; it needs ");
	}
	installed[0] = "odd";
	ck_assert_ptr_null(strstr(none_for("ofi-odd", ""), "it needs"));
	ck_has(none_for("ofi-odd", ""), "; FI_LOG_LEVEL=info lets it say more");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("absent");
	TCase *tc = tcase_create("absent");

	tcase_add_test(tc, test_no_candidate_at_all);
	tcase_add_test(tc, test_provider_excluded_by_FI_PROVIDER);
	tcase_add_test(tc, test_lists_that_leave_a_provider_out);
	tcase_add_test(tc, test_providers_that_are_the_same);
	tcase_add_test(tc, test_needs_of_providers);
	return run_choices(suite, tc);
}
