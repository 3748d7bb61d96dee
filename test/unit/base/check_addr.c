/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Internet addresses of both families. */
#include "unit.h"

#include "../../../prov/ofi/base/addr.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static struct sockaddr_storage addr(const char *text, uint16_t port)
{
	struct sockaddr_storage host, with_port;

	ck_assert_msg(dofi_addr_parse(text, &host), "%s", text);
	ck_assert(dofi_addr_set(&with_port, (struct sockaddr *)&host, port));
	return with_port;
}

static void expect_zeros_behind(const struct sockaddr_storage *it, size_t size)
{
	static const struct sockaddr_storage zeros;

	ck_assert_mem_eq((const char *)it + size, &zeros, sizeof(zeros) - size);
}

/* A consumer's memory may end with the address. */
START_TEST(an_address_is_copied_with_another_port)
{
	struct sockaddr_in *v4 = malloc(sizeof(*v4)), v4_copy;
	struct sockaddr_in6 *v6 = malloc(sizeof(*v6)), v6_copy;
	struct sockaddr_storage to;

	*v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(1)};
	inet_pton(AF_INET, "10.1.2.3", &v4->sin_addr);
	memset(&to, 0xff, sizeof(to));
	ck_assert(dofi_addr_set(&to, (struct sockaddr *)v4, 1040));
	v4->sin_port = htons(1040);
	memcpy(&v4_copy, &to, sizeof(v4_copy));
	ck_assert_mem_eq(&v4_copy, v4, sizeof(*v4));
	expect_zeros_behind(&to, sizeof(*v4));
	free(v4);

	*v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
				    .sin6_flowinfo = 5,
				    .sin6_port = htons(1),
				    .sin6_scope_id = 7};
	inet_pton(AF_INET6, "fe80::1:2", &v6->sin6_addr);
	memset(&to, 0xff, sizeof(to));
	ck_assert(dofi_addr_set(&to, (struct sockaddr *)v6, 1040));
	v6->sin6_port = htons(1040);
	v6->sin6_flowinfo = 0;
	memcpy(&v6_copy, &to, sizeof(v6_copy));
	ck_assert_mem_eq(&v6_copy, v6, sizeof(*v6));
	expect_zeros_behind(&to, sizeof(*v6));
	free(v6);
}
END_TEST

START_TEST(other_families_are_refused)
{
	static const struct sockaddr_un local = {.sun_family = AF_UNIX};
	struct sockaddr_storage to = {.ss_family = AF_UNSPEC};

	ck_assert(!dofi_addr_set(&to, (const struct sockaddr *)&local, 1));
	ck_assert(!dofi_addr_set(&to, &(struct sockaddr){.sa_family = AF_UNSPEC}, 1));
	ck_assert_int_eq(to.ss_family, AF_UNSPEC);
}
END_TEST

START_TEST(addresses_are_equal_with_their_ports)
{
	struct sockaddr_storage v4 = addr("10.0.0.1", 5), v6 = addr("fd00::1", 5), other;

	ck_assert(dofi_addr_equal(&v4, &(struct sockaddr_storage){0}) == false);
	other = addr("10.0.0.1", 5);
	ck_assert(dofi_addr_equal(&v4, &other));
	other = addr("10.0.0.1", 6);
	ck_assert(!dofi_addr_equal(&v4, &other));
	other = addr("10.0.0.2", 5);
	ck_assert(!dofi_addr_equal(&v4, &other));
	ck_assert(!dofi_addr_equal(&v4, &v6));
	other = addr("fd00::1", 5);
	ck_assert(dofi_addr_equal(&v6, &other));
	other = addr("fd00::2", 5);
	ck_assert(!dofi_addr_equal(&v6, &other));
	((struct sockaddr_in6 *)&other)->sin6_addr = ((struct sockaddr_in6 *)&v6)->sin6_addr;
	ck_assert(dofi_addr_equal(&v6, &other));
	((struct sockaddr_in6 *)&other)->sin6_scope_id = 1;
	ck_assert(!dofi_addr_equal(&v6, &other));
}
END_TEST

/* Ports are no part of a host, and neither are scopes. */
START_TEST(a_host_has_many_ports)
{
	struct sockaddr_storage v4 = addr("10.0.0.1", 5), v6 = addr("fd00::1", 5), other;

	other = addr("10.0.0.1", 6);
	ck_assert(dofi_addr_same_host(&v4, &other));
	other = addr("10.0.0.2", 5);
	ck_assert(!dofi_addr_same_host(&v4, &other));
	other = addr("fd00::1", 6);
	((struct sockaddr_in6 *)&other)->sin6_scope_id = 1;
	ck_assert(dofi_addr_same_host(&v6, &other));
	other = addr("fd00::1:1", 5);
	ck_assert(!dofi_addr_same_host(&v6, &other));
	/* The same bytes, followed by zeros */
	other = addr("a00:1::", 5);
	ck_assert(!dofi_addr_same_host(&v4, &other));
}
END_TEST

START_TEST(the_text_has_the_port_if_there_is_one)
{
	static const struct {
		const char *host;
		uint16_t port;
		const char *text;
	} cases[] = {{"10.0.0.1", 1040, "10.0.0.1:1040"},
		     {"10.0.0.1", 0, "10.0.0.1"},
		     {"fd00::1", 1040, "[fd00::1]:1040"},
		     {"fd00::1", 0, "fd00::1"}};
	struct sockaddr_storage it = addr(cases[_i].host, cases[_i].port);
	char text[DOFI_ADDR_TEXT];

	ck_assert_str_eq(dofi_addr_text(&it, text), cases[_i].text);
	ck_assert_uint_eq(dofi_addr_port(&it), cases[_i].port);
	ck_assert_uint_eq(dofi_addr_len(&it), strchr(cases[_i].host, ':')
						      ? sizeof(struct sockaddr_in6)
						      : sizeof(struct sockaddr_in));
	it.ss_family = AF_UNIX;
	ck_assert_ptr_nonnull(strstr(dofi_addr_text(&it, text), "an unknown address"));
}
END_TEST

START_TEST(only_numeric_addresses_are_parsed)
{
	struct sockaddr_storage it;
	struct in6_addr bytes, expected = {0};

	ck_assert(!dofi_addr_parse("localhost", &it));
	ck_assert(!dofi_addr_parse("", &it));
	ck_assert(!dofi_addr_parse("10.0.0.1:5", &it));
	ck_assert(!dofi_addr_parse("10.0.0", &it));
	memset(&it, 0xff, sizeof(it));
	ck_assert(dofi_addr_parse("10.0.0.1", &it));
	ck_assert_uint_eq(dofi_addr_port(&it), 0);
	inet_pton(AF_INET, "10.0.0.1", &expected);
	memset(&bytes, 0xff, sizeof(bytes));
	ck_assert_uint_eq(dofi_addr_bytes(&it, &bytes), 4);
	ck_assert_mem_eq(&bytes, &expected, sizeof(bytes));
	ck_assert(dofi_addr_parse("fd00::1", &it));
	inet_pton(AF_INET6, "fd00::1", &expected);
	ck_assert_uint_eq(dofi_addr_bytes(&it, &bytes), 16);
	ck_assert_mem_eq(&bytes, &expected, sizeof(bytes));
}
END_TEST

/* Addresses are compared and sent to peers as they are in memory. */
START_TEST(nothing_old_is_left_in_an_address)
{
	static const char *const texts[] = {"192.0.2.1", "2001:db8::1"};
	struct sockaddr_storage clean, dirty;

	memset(&clean, 0, sizeof(clean));
	memset(&dirty, 0xff, sizeof(dirty));
	ck_assert(dofi_addr_parse(texts[_i], &clean));
	ck_assert(dofi_addr_parse(texts[_i], &dirty));
	ck_assert_mem_eq(&clean, &dirty, sizeof(clean));
	ck_assert_int_eq(((const char *)&clean)[sizeof(clean) - 1], 0);
}
END_TEST

START_TEST(kinds_of_addresses)
{
	static const struct {
		const char *text;
		bool loopback, link_local, any;
	} cases[] = {{"127.0.0.1", true, false, false},  {"127.1.2.3", true, false, false},
		     {"126.0.0.1", false, false, false}, {"128.0.0.1", false, false, false},
		     {"0.0.0.0", false, false, true},    {"254.128.0.1", false, false, false},
		     {"::1", true, false, false},        {"::2", false, false, false},
		     {"::", false, false, true},         {"fe80::1", false, true, false},
		     {"fec0::1", false, false, false},   {"7f00::1", false, false, false},
		     {"0.0.0.1", false, false, false},   {"::1:0:0", false, false, false},
		     {"0:0:1::", false, false, false}};
	struct sockaddr_storage it = addr(cases[_i].text, 5);

	ck_assert(dofi_addr_is_loopback(&it) == cases[_i].loopback);
	ck_assert(dofi_addr_is_link_local(&it) == cases[_i].link_local);
	ck_assert(dofi_addr_is_any(&it) == cases[_i].any);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("addr");
	TCase *tcase = tcase_create("addr");

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, an_address_is_copied_with_another_port);
	tcase_add_test(tcase, other_families_are_refused);
	tcase_add_test(tcase, addresses_are_equal_with_their_ports);
	tcase_add_test(tcase, a_host_has_many_ports);
	tcase_add_loop_test(tcase, the_text_has_the_port_if_there_is_one, 0, 4);
	tcase_add_test(tcase, only_numeric_addresses_are_parsed);
	tcase_add_loop_test(tcase, nothing_old_is_left_in_an_address, 0, 2);
	tcase_add_loop_test(tcase, kinds_of_addresses, 0, 15);
	return t_run(suite);
}
