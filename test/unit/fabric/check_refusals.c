/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages about candidates that cannot be used. */
#include "simulated_offers.h"

#include "fabric/refusals.h"

#include <rdma/fi_domain.h>
#include <unistd.h>

static void ck_one_line(const char *text)
{
	ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
}

START_TEST(test_link_down_is_refused)
{
	MACHINE(&mlx5_down);
	ck_has(none_for("ofi", ""), "verbs (mlx5_2): its link is down");
}
END_TEST

START_TEST(test_every_refused_candidate_is_named)
{
	const char *text;

	MACHINE(&tcp_eth0, &tcp_eth1, &tcp_lo, &rxm_eth0, &udp_eth0, &odd, &odd_rdm);
	text = none_for("ofi-ib0", "domain=ib0 provider=");
	ck_one_line(text);
	ck_has(text, "domain=ib0");
	ck_has(text, "tcp (eth0, eth1, lo): another domain is asked for");
	ck_has(text, "udp (eth0): offers datagrams only");
	ck_has(text, "odd (odd0): does not offer what the msg transport needs: it insists on "
		     "FI_MR_ENDPOINT");
	ck_has(text, "odd_rdm (odd1): does not offer what the rdm transport needs: it insists on "
		     "FI_MR_RAW");
	ck_has(text, "tcp;ofi_rxm (eth0): another domain is asked for");
}
END_TEST

START_TEST(test_refusals_are_logged_at_level_info)
{
	int fd = t_capture(STDERR_FILENO);

	MACHINE(&tcp_eth0_ll, &tcp_eth0, &odd_rdm);
	ck_assert_int_eq(choose("ofi", "log=info"), 0);
	fi_freeinfo(chosen);
	ck_has(t_captured(fd), "uses provider tcp, domain eth0, 192.0.2.2, transport msg");
	ck_has(t_captured(fd), "link-local");
	ck_has(t_captured(fd), "odd_rdm (odd1): does not offer what the rdm transport needs");
}
END_TEST

START_TEST(test_success_logs_nothing)
{
	int fd = t_capture(STDERR_FILENO);

	MACHINE(&tcp_eth0_ll, &tcp_eth0, &odd_rdm);
	ck_assert_int_eq(choose("ofi", ""), 0);
	fi_freeinfo(chosen);
	ck_assert_str_eq(t_captured(fd), "");
}
END_TEST

static void spoil_names(struct fi_info *info)
{
	free(info->domain_attr->name);
	free(info->fabric_attr->prov_name);
	info->domain_attr->name = info->fabric_attr->prov_name = NULL;
	info->domain_attr->threading = FI_THREAD_DOMAIN;
}

START_TEST(test_a_candidate_without_names)
{
	spoil = spoil_names;
	MACHINE(&tcp_eth0);
	ck_has(none_for("ofi", ""),
	       "unnamed (unnamed): does not offer what the msg transport needs");
}
END_TEST

/* The list has a fixed length; what does not fit is left out. */
START_TEST(test_more_refusals_than_the_list_has_room_for)
{
	static struct dofi_refusals refusals;
	struct fi_info *info = make_info(&tcp_eth0, NULL);
	char reason[32], *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (int i = 0; i < DOFI_MAX_REFUSALS + 3; i++) {
		snprintf(reason, sizeof(reason), "reason %d", i);
		dofi_refusals_add(&refusals, info, reason);
	}
	ck_assert_uint_eq(refusals.n, DOFI_MAX_REFUSALS);
	dofi_refusals_print(&refusals, out);
	ck_assert(!fclose(out));
	ck_has(text, "tcp (eth0): reason 63");
	ck_assert_ptr_null(strstr(text, "reason 64"));
	free(text);
	fi_freeinfo(info);
}
END_TEST

static void refuse(struct dofi_refusals *refusals, const char *domain, const char *provider)
{
	struct candidate candidate = tcp_eth0;
	struct fi_info *info;

	candidate.domain = domain;
	candidate.provider = provider;
	info = make_info(&candidate, NULL);
	dofi_refusals_add(refusals, info, "why");
	fi_freeinfo(info);
}

/* Each domain once, whatever the names of the others contain. */
START_TEST(test_domains_of_a_refusal)
{
	static const char *const domains[] = {"eth01", "eth0", "xeth0", "eth0",
					      "eth01", "th0",  "eth"};
	static struct dofi_refusals refusals;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	dofi_refusals_print(&refusals, out);
	for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++)
		refuse(&refusals, domains[i], "tcp");
	refuse(&refusals, "eth0", "shm");
	ck_assert_uint_eq(refusals.n, 2);
	dofi_refusals_print(&refusals, out);
	ck_assert(!fclose(out));
	ck_assert_str_eq(text, "tcp (eth01, eth0, xeth0, th0, eth): why; shm (eth0): why");
	free(text);
}
END_TEST

START_TEST(test_more_domains_than_a_refusal_has_room_for)
{
	static struct dofi_refusals refusals;
	char domain[32];

	for (int i = 0; i < 60; i++) {
		snprintf(domain, sizeof(domain), "device%08d", i);
		refuse(&refusals, domain, "tcp");
	}
	ck_assert_uint_eq(strlen(refusals.list[0].domains), sizeof(refusals.list[0].domains) - 1);
	ck_assert_str_eq(refusals.list[1].provider, "");
	ck_assert_uint_eq(refusals.n, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("refusals");
	TCase *tc = tcase_create("refusals");

	tcase_add_test(tc, test_link_down_is_refused);
	tcase_add_test(tc, test_every_refused_candidate_is_named);
	tcase_add_test(tc, test_refusals_are_logged_at_level_info);
	tcase_add_test(tc, test_success_logs_nothing);
	tcase_add_test(tc, test_a_candidate_without_names);
	tcase_add_test(tc, test_more_refusals_than_the_list_has_room_for);
	tcase_add_test(tc, test_domains_of_a_refusal);
	tcase_add_test(tc, test_more_domains_than_a_refusal_has_room_for);
	return run_choices(suite, tc);
}
