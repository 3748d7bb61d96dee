/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kinds of IP addresses. */
#include "unit.h"

#include "../../../prov/ofi/base/addr.h"

#include <stdbool.h>

static const struct {
	const char *text;
	bool any, loopback, link_local;
} cases[] = {
	{"0.0.0.0", true, false, false},     {"0.0.0.1", false, false, false},
	{"127.0.0.1", false, true, false},   {"10.0.0.1", false, false, false},
	{"::", true, false, false},          {"::1", false, true, false},
	{"::1:0:0", false, false, false},    {"0:0:1::", false, false, false},
	{"2001:db8::", false, false, false}, {"fe80::1", false, false, true},
};

START_TEST(kinds)
{
	struct sockaddr_storage addr;

	ck_assert(dofi_addr_parse(cases[_i].text, &addr));
	ck_assert_int_eq(dofi_addr_is_any(&addr), cases[_i].any);
	ck_assert_int_eq(dofi_addr_is_loopback(&addr), cases[_i].loopback);
	ck_assert_int_eq(dofi_addr_is_link_local(&addr), cases[_i].link_local);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("addr");
	TCase *tcase = tcase_create("addr");

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, kinds, 0, (int)(sizeof(cases) / sizeof(cases[0])));
	return t_run(suite);
}
