/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Addresses, subnets and devices of a host whose interfaces the test chooses. */
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"
#include "fabric/netdev.h"

#include "../../lib/t_heap.h"
#include "../../lib/t_hooks.h"
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

/* --- addresses of PCI and subnets --- */

START_TEST(pci_addresses)
{
	struct fi_pci_attr pci;

	ck_assert(dofi_pci_parse(&pci, "0001:3b:1f.7"));
	ck_assert(pci.domain_id == 1 && pci.bus_id == 0x3b && pci.device_id == 0x1f &&
		  pci.function_id == 7);
	ck_assert(dofi_pci_parse(&pci, "3B:00.1"));
	ck_assert(pci.domain_id == 0 && pci.bus_id == 0x3b && pci.function_id == 1);
	ck_assert(!dofi_pci_parse(&pci, "3b:00"));
	ck_assert(!dofi_pci_parse(&pci, "0000:3b:20.0"));
	ck_assert(!dofi_pci_parse(&pci, "0000:3b:1f.8"));
	ck_assert(!dofi_pci_parse(&pci, "x"));
	ck_assert(!dofi_pci_parse(&pci, "0000:3b:00.0x"));
	ck_assert(!dofi_pci_parse(&pci, ""));
}
END_TEST

static bool within(const char *subnet, const char *addr)
{
	struct sockaddr_storage storage;
	struct dofi_subnet s;

	ck_assert_msg(dofi_subnet_parse(&s, subnet), "%s", subnet);
	ck_assert(dofi_addr_parse(addr, &storage));
	return dofi_subnet_has(&s, &storage);
}

START_TEST(subnets)
{
	static const char *const wrong[] = {"",
					    "192.0.2.0/33",
					    "192.0.2.0/",
					    "192.0.2/24",
					    "192.0.2.0/2x",
					    "192.0.2.0/4294967304",
					    "2001:db8::/129",
					    "/8",
					    "an-address-that-is-longer-than-any-address-can-be/24"};
	struct dofi_subnet s;

	ck_assert(within("192.0.2.0/24", "192.0.2.255") && !within("192.0.2.0/24", "192.0.3.0"));
	ck_assert(within("192.0.2.128/25", "192.0.2.129") &&
		  !within("192.0.2.128/25", "192.0.2.127"));
	ck_assert(within("0.0.0.0/0", "198.51.100.1") && !within("0.0.0.0/0", "2001:db8::1"));
	ck_assert(within("192.0.2.7", "192.0.2.7") && !within("192.0.2.7", "192.0.2.6"));
	ck_assert(within("2001:db8:1::/48", "2001:db8:1:2::3") &&
		  !within("2001:db8:1::/48", "2001:db8:2::3"));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(!dofi_subnet_parse(&s, wrong[i]), "%s", wrong[i]);
}
END_TEST

/* As far as the subnet reaches, each bit counts, and none behind. */
START_TEST(each_bit_of_a_subnet)
{
	for (unsigned int size = 0; size <= 32; size++) {
		char subnet[64], addr[64];

		snprintf(subnet, sizeof(subnet), "170.85.170.85/%u", size);
		ck_assert_msg(within(subnet, "170.85.170.85"), "%s", subnet);
		for (unsigned int bit = 0; bit < 32; bit++) {
			unsigned int a = 0xaa55aa55u ^ (0x80000000u >> bit);

			snprintf(addr, sizeof(addr), "%u.%u.%u.%u", a >> 24, a >> 16 & 255,
				 a >> 8 & 255, a & 255);
			ck_assert_msg(within(subnet, addr) == (bit >= size), "%s in %s", addr,
				      subnet);
		}
	}
	ck_assert(within("2001:db8::7/128", "2001:db8::7"));
	ck_assert(!within("2001:db8::7/128", "2001:db8::6"));
}
END_TEST

/* --- what is below --- */

START_TEST(virtual_interfaces)
{
	static const char *const real[] = {"eth0", "ib0", "bond0", "eth0.5", "br0", "unknown"};
	static const char *const virt[] = {"docker0", "veth1", "vxlan1", "tun0"};
	struct fi_pci_attr pci;

	t_machine_put("devices/pci0000:00/0000:3b:00.0/net/eth0/address", "");
	t_machine_put("devices/pci0000:00/0000:00:05.0/virtio3/net", NULL);
	t_machine_link("class/net/eth0/device", "devices/pci0000:00/0000:3b:00.0");
	t_machine_link("class/net/ib0/device", "devices/pci0000:00/0000:00:05.0/virtio3");
	t_machine_put("class/net/bond0/lower_eth0", NULL);
	t_machine_put("class/net/eth0.5/lower_bond0", NULL);
	t_machine_put("class/net/br0/lower_eth0.5", NULL);
	t_machine_put("class/net/veth1", NULL);
	t_machine_put("class/net/docker0/lower_veth1", NULL);
	t_machine_put("class/net/docker0/lower_gone", NULL);
	t_machine_put("class/net/docker0/uevent", "DEVTYPE=bridge\nINTERFACE=docker0\n");
	t_machine_put("class/net/vxlan1/lower_eth0", NULL);
	t_machine_put("class/net/vxlan1/uevent", "DEVTYPE=vxlan\n");
	t_machine_put("class/net/tun0", NULL);
	for (size_t i = 0; i < sizeof(real) / sizeof(real[0]); i++)
		ck_assert_msg(!dofi_netdev_is_virtual(real[i]), "%s", real[i]);
	for (size_t i = 0; i < sizeof(virt) / sizeof(virt[0]); i++)
		ck_assert_msg(dofi_netdev_is_virtual(virt[i]), "%s", virt[i]);
	ck_assert(dofi_netdev_pci("eth0", &pci) && pci.bus_id == 0x3b);
	ck_assert(dofi_netdev_pci("ib0", &pci) && pci.device_id == 5);
	ck_assert(!dofi_netdev_pci("veth1", &pci));
	ck_assert(!dofi_netdev_pci("../net/eth0", &pci));
}
END_TEST

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Interfaces lie on others, up to four deep; the kernel allows no circle, but a file may tell it.
 */
START_TEST(interfaces_on_interfaces)
{
	int before = open_files();

	t_machine_put("class/net/eth0/device", NULL);
	t_machine_put("class/net/bond1/lower_eth0", NULL);
	t_machine_put("class/net/bond1/uevent", "DEVTYPE=bond\nINTERFACE=bond1\n");
	t_machine_put("class/net/two/lower_bond1", NULL);
	t_machine_put("class/net/three/lower_two", NULL);
	t_machine_put("class/net/four/lower_three", NULL);
	t_machine_put("class/net/five/lower_four", NULL);
	t_machine_put("class/net/ring0/lower_ring1", NULL);
	t_machine_put("class/net/ring1/lower_ring0", NULL);
	t_machine_put("class/net/geneve0/lower_eth0", NULL);
	t_machine_put("class/net/geneve0/uevent", "INTERFACE=geneve0\nDEVTYPE=geneve\n");
	ck_assert(!dofi_netdev_is_virtual("bond1"));
	ck_assert(!dofi_netdev_is_virtual("four"));
	ck_assert(dofi_netdev_is_virtual("five"));
	ck_assert(dofi_netdev_is_virtual("ring0"));
	ck_assert(dofi_netdev_is_virtual("geneve0"));
	ck_assert_int_eq(open_files(), before);
}
END_TEST

/* getifaddrs and libfabric report the labels of addresses: those of virtual servers are on lo. */
START_TEST(labels_of_addresses)
{
	char netdev[IF_NAMESIZE];
	struct fi_pci_attr pci;

	t_machine_put("devices/pci0000:00/0000:3b:00.0/net/eth0/address", "");
	t_machine_link("class/net/eth0/device", "devices/pci0000:00/0000:3b:00.0");
	t_machine_put("class/net/lo", NULL);
	ck_assert(dofi_netdev_is_virtual("lo:0"));
	ck_assert(!dofi_netdev_is_virtual("eth0:1"));
	ck_assert(dofi_netdev_pci("eth0:1", &pci) && pci.bus_id == 0x3b);
	ck_assert(dofi_netdev_of("eth0.5:a/b", netdev));
	ck_assert_str_eq(netdev, "eth0.5");
	ck_assert(!dofi_netdev_of(":1", netdev));
	ck_assert(!dofi_netdev_of("a/b:1", netdev));
}
END_TEST

/* A folder with a name that no interface can have is none. */
START_TEST(names_of_interfaces)
{
	static const struct {
		const char *name;
		bool can_be;
	} names[] = {{"fifteen-letters", true},
		     {"sixteen--letters", false},
		     {"", false},
		     {"../net/veth1", false}};
	struct fi_pci_attr pci;
	char path[64];

	t_machine_put("devices/pci0000:00/0000:3b:00.0/net", NULL);
	t_machine_put("class/net/veth1", NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "class/net/%s", names[i].name);
		t_machine_put(path, NULL);
		ck_assert_int_eq(dofi_netdev_is_virtual(names[i].name), names[i].can_be);
		snprintf(path, sizeof(path), "class/net/%s/device", names[i].name);
		t_machine_link(path, "devices/pci0000:00/0000:3b:00.0");
		ck_assert_int_eq(dofi_netdev_pci(names[i].name, &pci), names[i].can_be);
	}
}
END_TEST

/* --- which of two interfaces --- */

#define NEITHER NULL

static const struct {
	const char *better, *addr, *worse, *other; /* names and addresses; NULL: none can be used */
} choices[] = {
	{"card0", "192.0.2.7", "card1", "2001:db8::7"},
	{"card0", "192.0.2.7", "veth0", "172.17.0.1"},
	{"card0", "2001:db8::7", "veth0", "172.17.0.1"},
	{"veth0", "172.17.0.1", "veth1", "2001:db8::9"},
	{"veth0", "2001:db8::9", "lo", "127.0.0.1"},
	{"card0", "192.0.2.7", "lo:0", "198.51.100.1"},
	{"card0:1", "192.0.2.7", "lo", "198.51.100.1"},
	{"veth0", "2001:db8::9", "card0", "127.0.0.9"},
	{"card0", "::1", "lo", "127.0.0.1"},
	{"lo", "127.0.0.1", "lo", "::1"},
	{"lo", "127.0.0.1", "card0", "fe80::1"},
	{"lo", "127.0.0.1", "down0", "192.0.2.7"},
	{NEITHER, NULL, "down0", "192.0.2.7"},
	{NEITHER, NULL, "card0", "fe80::1"},
};

static void set_interface(int at, const char *name, const char *addr)
{
	static char names[2][16];

	strcpy(names[at - 1], name);
	interfaces[at].ifa_name = names[at - 1];
	interfaces[at].ifa_flags = strcmp(name, "down0") ? IFF_UP : 0;
	ck_assert(dofi_addr_parse(addr, at == 1 ? &v4 : &v6));
}

/* In either order. */
START_TEST(the_better_address_of_two)
{
	static const char *const netdevs[] = {"card0/device", "card1/device", "down0/device",
					      "veth0",        "veth1",        "lo"};
	const char *name = choices[_i].better ? choices[_i].better : "down0";
	const char *wanted = choices[_i].better ? choices[_i].addr : "192.0.2.9";
	struct sockaddr_storage addr;
	char text[DOFI_ADDR_TEXT];

	for (size_t i = 0; i < sizeof(netdevs) / sizeof(netdevs[0]); i++) {
		snprintf(text, sizeof(text), "class/net/%s", netdevs[i]);
		t_machine_put(text, NULL);
	}
	interfaces[0].ifa_flags = IFF_UP;
	for (int first = 1; first <= 2; first++) {
		set_interface(first, name, wanted);
		set_interface(3 - first, choices[_i].worse, choices[_i].other);
		ck_assert_int_eq(dofi_netdev_host_addr(NULL, &addr), choices[_i].better != NULL);
		if (choices[_i].better)
			ck_assert_str_eq(dofi_addr_text(&addr, text), wanted);
		ck_assert_int_eq(lists, 0);
	}
}
END_TEST

/* Of equal ones, the first that the system lists. */
START_TEST(the_first_of_equal_addresses)
{
	struct sockaddr_storage addr;
	char text[DOFI_ADDR_TEXT];

	set_interface(1, "a", "192.0.2.7");
	set_interface(2, "b", "192.0.2.8");
	ck_assert(dofi_netdev_host_addr(NULL, &addr));
	ck_assert_str_eq(dofi_addr_text(&addr, text), "192.0.2.7");
}
END_TEST

/* --- devices and their interfaces --- */

START_TEST(devices_are_equal_in_all_four_numbers)
{
	static const struct fi_pci_attr one = {1, 2, 3, 4}, others[] = {
								    {5, 2, 3, 4},
								    {1, 5, 3, 4},
								    {1, 2, 5, 4},
								    {1, 2, 3, 5},
							    };

	ck_assert(dofi_pci_equal(&one, &one));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert(!dofi_pci_equal(&one, &others[i]));
}
END_TEST

/* An interface on the device has an address in the subnet; one condition alone is not enough. */
START_TEST(a_device_is_in_the_subnets_of_its_interfaces)
{
	static const struct {
		const char *pci, *subnet;
		bool in;
	} cases[] = {
		{"3b:00.0", "192.0.2.0/24", true},     {"3b:00.0", "192.0.2.7", true},
		{"3b:00.0", "198.51.100.0/24", false}, {"3b:00.0", "2001:db8::/32", false},
		{"3b:00.1", "192.0.2.0/24", false},    {"3c:00.0", "192.0.2.0/24", false},
		{"3c:00.0", "2001:db8::/32", true},
	};
	struct dofi_subnet subnet;
	struct fi_pci_attr pci;

	t_machine_put("devices/0000:3b:00.0", NULL);
	t_machine_put("devices/0000:3c:00.0", NULL);
	t_machine_link("class/net/eth0/device", "devices/0000:3b:00.0");
	t_machine_link("class/net/eth1/device", "devices/0000:3c:00.0");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert(dofi_pci_parse(&pci, cases[i].pci));
		ck_assert(dofi_subnet_parse(&subnet, cases[i].subnet));
		ck_assert_msg(dofi_pci_in_subnet(&pci, &subnet) == cases[i].in, "%s in %s",
			      cases[i].pci, cases[i].subnet);
		ck_assert_int_eq(lists, 0);
	}
	failure = -1;
	ck_assert(!dofi_pci_in_subnet(&pci, &subnet));
}
END_TEST

#if T_HOOKS
START_TEST(a_look_at_a_device_leaves_nothing)
{
	struct fi_pci_attr pci;
	size_t before = 0;
	int files = open_files();

	t_machine_put("devices/0000:3b:00.0", NULL);
	t_machine_put("devices/virtual", NULL);
	t_machine_link("class/net/eth0/device", "devices/0000:3b:00.0");
	t_machine_link("class/net/eth1/device", "devices/virtual");
	for (int i = 0; i < 100; i++) {
		if (i == 10)
			before = t_heap();
		ck_assert(dofi_netdev_pci("eth0", &pci));
		ck_assert(!dofi_netdev_pci("eth1", &pci));
		ck_assert(!dofi_netdev_pci("eth2", &pci));
	}
	ck_assert_uint_le(t_heap(), before + 1000);
	ck_assert_int_eq(open_files(), files);
}
END_TEST
#endif

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
	tcase_add_loop_test(tc, the_better_address_of_two, 0,
			    (int)(sizeof(choices) / sizeof(choices[0])));
	tcase_add_test(tc, the_first_of_equal_addresses);
	tcase_add_test(tc, devices_are_equal_in_all_four_numbers);
#if T_HOOKS
	tcase_add_test(tc, a_look_at_a_device_leaves_nothing);
#endif
	tcase_add_test(tc, a_device_is_in_the_subnets_of_its_interfaces);
	tcase_add_test(tc, pci_addresses);
	tcase_add_test(tc, subnets);
	tcase_add_test(tc, each_bit_of_a_subnet);
	tcase_add_test(tc, virtual_interfaces);
	tcase_add_test(tc, interfaces_on_interfaces);
	tcase_add_test(tc, names_of_interfaces);
	tcase_add_test(tc, labels_of_addresses);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
