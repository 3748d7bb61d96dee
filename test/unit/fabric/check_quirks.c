/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which provider of which libfabric has which quirk. */
#include "unit.h"

#include "../../../prov/ofi/base/log.h"
#include "../../../prov/ofi/fabric/quirks.h"

#include <rdma/fabric.h>
#include <string.h>

#define ALWAYS                                                                     \
	(DOFI_QUIRK_PEER_NUMBERS | DOFI_QUIRK_INNER_SHM | DOFI_QUIRK_CLOSED_KEYS | \
	 DOFI_QUIRK_FATAL_EVENT)

static struct fi_fabric_attr fabric_attr;
static const struct fi_info info = {.fabric_attr = &fabric_attr};

static uint32_t quirks_of(const char *provider, uint32_t version)
{
	fabric_attr.prov_name = (char *)(uintptr_t)provider;
	return dofi_quirks_of(&info, version);
}

static const struct {
	uint32_t version, quirks;
} efa[] = {
	{FI_VERSION(1, 17), ALWAYS | DOFI_QUIRK_FEW_RIGHTS},
	{FI_VERSION(1, 18), ALWAYS | DOFI_QUIRK_FEW_RIGHTS},
	{FI_VERSION(1, 19), ALWAYS | DOFI_QUIRK_FEW_RIGHTS | DOFI_QUIRK_WIDE_RIGHTS},
	{FI_VERSION(2, 1), ALWAYS | DOFI_QUIRK_FEW_RIGHTS | DOFI_QUIRK_WIDE_RIGHTS},
	{FI_VERSION(2, 4), ALWAYS | DOFI_QUIRK_FEW_RIGHTS | DOFI_QUIRK_WIDE_RIGHTS},
	{FI_VERSION(2, 5), ALWAYS},
	{FI_VERSION(2, 6), ALWAYS},
};

START_TEST(efa_by_release)
{
	ck_assert_uint_eq(quirks_of("efa", efa[_i].version), efa[_i].quirks);
}
END_TEST

START_TEST(tcp_is_another_provider_since_1_18)
{
	const uint32_t since = DOFI_QUIRK_IDLE_EQ | DOFI_QUIRK_DATA_ON_EQ | DOFI_QUIRK_SHORT_LIST;

	ck_assert_uint_eq(quirks_of("net", FI_VERSION(1, 17)),
			  DOFI_QUIRK_IDLE_EQ | DOFI_QUIRK_MUTE_QUEUE);
	ck_assert_uint_eq(quirks_of("tcp", FI_VERSION(1, 17)), 0);
	ck_assert_uint_eq(quirks_of("tcp", FI_VERSION(1, 18)), since);
	ck_assert_uint_eq(quirks_of("tcp", FI_VERSION(2, 6)), since);
}
END_TEST

START_TEST(queues_that_wake_nobody)
{
	ck_assert_uint_eq(quirks_of("psm3", FI_VERSION(2, 6)),
			  DOFI_QUIRK_MUTE_QUEUE | DOFI_QUIRK_LOSES_FDS);
	ck_assert_uint_eq(quirks_of("udp;ofi_rxd", FI_VERSION(1, 17)),
			  DOFI_QUIRK_MUTE_QUEUE | DOFI_QUIRK_CUTS | DOFI_QUIRK_CLOSED_KEYS);
	ck_assert_uint_eq(quirks_of("udp", FI_VERSION(1, 17)), 0);
	ck_assert_uint_eq(quirks_of("sockets", FI_VERSION(2, 6)),
			  DOFI_QUIRK_UNMARKED_DATA | DOFI_QUIRK_FOREIGN_FD);
}
END_TEST

/* A name counts as a whole, and what is not known is taken at its word. */
START_TEST(others_have_none)
{
	static const char *const names[] = {"shm", "tcp;ofi_rxm", "efa;ofi_rxm",
					    "ef",  "efadirect",   "unknown"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_uint_eq(quirks_of(names[i], FI_VERSION(2, 1)), 0);
	ck_assert_uint_eq(quirks_of(NULL, FI_VERSION(2, 1)), 0);
}
END_TEST

START_TEST(the_log_tells_those_that_apply)
{
	int fd = t_capture(STDERR_FILENO);
	const char *text;

	dofi_log_level = DOFI_LOG_INFO;
	fabric_attr.prov_name = (char[]){"efa"};
	dofi_quirks_log("ofa0", &info, FI_VERSION(2, 6));
	text = t_captured(fd);
	ck_assert_ptr_nonnull(strstr(text, "IA ofa0: efa of libfabric 2.6 numbers the messages"));
	ck_assert_ptr_null(strstr(text, "lets peers write")); /* not any more */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("quirks");
	TCase *tc = tcase_create("quirks");

	tcase_add_loop_test(tc, efa_by_release, 0, sizeof(efa) / sizeof(efa[0]));
	tcase_add_test(tc, tcp_is_another_provider_since_1_18);
	tcase_add_test(tc, queues_that_wake_nobody);
	tcase_add_test(tc, others_have_none);
	tcase_add_test(tc, the_log_tells_those_that_apply);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
