/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The addresses of a host whose interfaces the test chooses. */
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"
#include "fabric/netdev.h"

#include "../../lib/t_machine.h"
#include "../../lib/unit.h"

static struct sockaddr_storage v4, v6;
static struct ifaddrs interfaces[] = {
	{.ifa_name = "tun0"}, /* without an address */
	{.ifa_name = "eth0", .ifa_addr = (struct sockaddr *)&v4},
	{.ifa_name = "eth1", .ifa_addr = (struct sockaddr *)&v6},
};
static int lists, failure;

int __wrap_getifaddrs(struct ifaddrs **all_p);
void __wrap_freeifaddrs(struct ifaddrs *all);

int __wrap_getifaddrs(struct ifaddrs **all_p)
{
	if (failure)
		return failure;
	lists++;
	*all_p = interfaces;
	return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *all)
{
	ck_assert_ptr_eq(all, interfaces);
	lists--;
}

static void setup(void)
{
	interfaces[0].ifa_next = &interfaces[1];
	interfaces[1].ifa_next = &interfaces[2];
	ck_assert(dofi_addr_parse("192.0.2.7", &v4));
	ck_assert(dofi_addr_parse("2001:db8::7", &v6));
}

static struct sockaddr_storage addr_of(const char *text)
{
	struct sockaddr_storage addr;

	ck_assert(dofi_addr_parse(text, &addr));
	return addr;
}

static const struct {
	const char *addr;
	bool ours;
	const char *netdev; /* that has it, or NULL */
} addresses[] = {
	{"192.0.2.7", true, "eth0"},  {"2001:db8::7", true, "eth1"}, {"192.0.2.8", false, NULL},
	{"2001:db8::8", false, NULL}, {"127.0.0.1", true, NULL},     {"127.1.2.3", true, NULL},
	{"::1", true, NULL},
};

START_TEST(addresses_of_interfaces_are_ours)
{
	const struct sockaddr_storage addr = addr_of(addresses[_i].addr);

	ck_assert_int_eq(dofi_netdev_is_ours(&addr), addresses[_i].ours);
	for (size_t i = 0; i < 3; i++) {
		const char *name = interfaces[i].ifa_name, *netdev = addresses[_i].netdev;

		ck_assert_int_eq(dofi_netdev_has(name, &addr), netdev && !strcmp(name, netdev));
	}
	ck_assert_int_eq(lists, 0);
}
END_TEST

/* If the system does not tell the interfaces, only the loopback addresses are known. */
START_TEST(without_a_list_only_the_loopback_is_ours)
{
	const struct sockaddr_storage own = addr_of("192.0.2.7"), loop = addr_of("127.0.0.1");

	failure = -1;
	ck_assert(!dofi_netdev_is_ours(&own));
	ck_assert(!dofi_netdev_has("eth0", &own));
	ck_assert(dofi_netdev_is_ours(&loop));
}
END_TEST

/* Cards come before interfaces of containers, IPv4 before IPv6, other than loopback first. */
START_TEST(the_address_of_the_host)
{
	struct sockaddr_storage addr, loop = addr_of("127.0.0.1");
	char text[DOFI_ADDR_TEXT];
	struct dofi_subnet subnet;

	for (int i = 0; i < 3; i++)
		interfaces[i].ifa_flags = IFF_UP;
	t_machine_put("class/net/eth0", NULL);
	t_machine_put("class/net/eth1/device", NULL);
	ck_assert(dofi_netdev_host_addr(NULL, &addr));
	ck_assert_str_eq(dofi_addr_text(&addr, text), "2001:db8::7");
	interfaces[2].ifa_flags = 0;
	ck_assert(dofi_netdev_host_addr(NULL, &addr));
	ck_assert_str_eq(dofi_addr_text(&addr, text), "192.0.2.7");
	ck_assert(dofi_subnet_parse(&subnet, "198.51.100.0/24"));
	ck_assert(!dofi_netdev_host_addr(&subnet, &addr));
	v6 = loop;
	interfaces[2].ifa_flags = IFF_UP;
	ck_assert(dofi_netdev_host_addr(NULL, &addr));
	ck_assert_str_eq(dofi_addr_text(&addr, text), "192.0.2.7");
	failure = -1;
	ck_assert(!dofi_netdev_host_addr(NULL, &addr));
}
END_TEST

START_TEST(a_subnet_that_is_too_long_to_be_one)
{
	static char text[256];
	struct dofi_subnet subnet;

	for (size_t size = 1; size < sizeof(text); size++) {
		memset(text, '1', size);
		ck_assert(!dofi_subnet_parse(&subnet, text));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("netdev");
	TCase *tc = tcase_create("addresses");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, addresses_of_interfaces_are_ours, 0,
			    sizeof(addresses) / sizeof(addresses[0]));
	tcase_add_test(tc, without_a_list_only_the_loopback_is_ours);
	tcase_add_test(tc, the_address_of_the_host);
	tcase_add_test(tc, a_subnet_that_is_too_long_to_be_one);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
