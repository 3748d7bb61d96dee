/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the parameters of an IA ask of its device. */
#include "simulated_offers.h"

#include "base/addr.h"
#include "fabric/select.h"
#include "fabric/wish.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <sys/resource.h>

START_TEST(test_address_that_no_netdev_lists)
{
	MACHINE(&tcp_eth0, &tcp_lo);
	ck_has(none_for("ofi-tcp", "addr=127.9.9.9"), "another address is asked for");
	resolves_node = true;
	ck_assert_int_eq(choose("ofi-tcp", "addr=127.9.9.9"), 0);
	ck_assert_str_eq(asked_node, "127.9.9.9");
	ck_assert_str_eq(chosen_addr(), "127.9.9.9");
	fi_freeinfo(chosen);
}
END_TEST

static void forget_address(struct fi_info *info)
{
	free(info->src_addr);
	info->src_addr = NULL;
	info->src_addrlen = 0;
}

static void take_for_something_else(struct fi_info *info)
{
	forget_address(info);
	if (!asked_node)
		return;
	free(info->domain_attr->name);
	info->domain_attr->name = strdup("that");
	asked_node = NULL;
}

START_TEST(test_foreign_or_bad_address_is_explained)
{
	MACHINE(&tcp_eth0, &tcp_lo);
	ck_has(none_for("ofi", "addr=203.0.113.77"), "has to be an address of this host");
	/* The address of the example can be used: one of a link can't. */
	ck_has(none_for("ofi", "addr=localhost"),
	       "not a numeric IPv4 or IPv6 address such as 192.0.2.1 or fd00::1");
	ck_has(none_for("ofi", "local_rank=first"), "local_rank=first is not a number");
}
END_TEST

START_TEST(test_netdev_names_the_device_below_it)
{
	MACHINE(&tcp_eth0, &mlx5_lo);
	/* "lo" has 127.0.0.1 on every host that runs this. */
	ck_choice("ib0", "lo 0", "mlx5_0", "127.0.0.1");
}
END_TEST

START_TEST(test_transport_word)
{
	MACHINE(&tcp_eth0);
	ck_choice("ofi", "transport=msg", "eth0", "192.0.2.2");
	ck_has(none_for("ofi", "transport=rdm"), "rdm");
	ck_has(none_for("ofi", "transport=carrier-pigeon"), "there are msg and rdm");
	MACHINE(&rxm_eth0, &tcp_eth0);
	ck_choice("ofi", "transport=rdm", "eth0", "192.0.2.2");
	ck_assert_str_eq(transport, "rdm");
	ck_choice("ofi", "", "eth0", "192.0.2.2");
	ck_assert_str_eq(transport, "msg");
}
END_TEST

START_TEST(test_device_by_pci_address_or_netdev)
{
	t_machine_set(&two_cards);
	t_machine_put("devices/0000:22:00.0", NULL);
	t_machine_link("class/net/hsn1/device", "devices/0000:22:00.0");
	MACHINE(&tcp_eth0, &cxi0, &cxi1);
	ck_assert_int_eq(choose("ofi", "pci=22:00.0"), 0);
	ck_assert_str_eq(chosen->domain_attr->name, "cxi1");
	fi_freeinfo(chosen);
	ck_assert_int_eq(choose("ofi", "hsn1 0"), 0);
	ck_assert_str_eq(chosen->domain_attr->name, "cxi1");
	fi_freeinfo(chosen);
	ck_has(none_for("ofi", "pci=0000:33:00.0"), "another PCI device is asked for");
	ck_has(none_for("ofi", "pci=33"), "lspci -D");
}
END_TEST

START_TEST(test_device_by_subnet)
{
	MACHINE(&tcp_eth0, &tcp_eth1, &tcp_lo);
	ck_choice("ofi", "subnet=198.51.100.0/24", "eth1", "198.51.100.7");
	ck_choice("ofi", "subnet=127.0.0.0/8", "lo", "127.0.0.1");
	ck_has(none_for("ofi", "subnet=203.0.113.0/24"), "another subnet is asked for");
	ck_has(none_for("ofi", "subnet=here"), "192.0.2.0/24");
}
END_TEST

/* --- network interfaces; the linker redirects these calls --- */

static enum { OF_THE_HOST, OF_THE_CARD, UNKNOWN } netdevs;

int __real_getifaddrs(struct ifaddrs **list_p);
int __wrap_getifaddrs(struct ifaddrs **list_p);
void __real_freeifaddrs(struct ifaddrs *list);
void __wrap_freeifaddrs(struct ifaddrs *list);

/* Interface hsn1 of the card has an address, tun0 has none. */
int __wrap_getifaddrs(struct ifaddrs **list_p)
{
	static char names[2][8] = {"tun0", "hsn1"};
	static struct sockaddr_in addr = {.sin_family = AF_INET};
	static struct ifaddrs list[2];

	if (netdevs == OF_THE_HOST)
		return __real_getifaddrs(list_p);
	inet_pton(AF_INET, "198.51.100.7", &addr.sin_addr);
	list[0] = (struct ifaddrs){.ifa_next = &list[1], .ifa_name = names[0], .ifa_flags = IFF_UP};
	list[1] = (struct ifaddrs){.ifa_name = names[1],
				   .ifa_flags = IFF_UP,
				   .ifa_addr = (struct sockaddr *)&addr};
	*list_p = list;
	return netdevs == OF_THE_CARD ? 0 : -1;
}

void __wrap_freeifaddrs(struct ifaddrs *list)
{
	if (netdevs == OF_THE_HOST)
		__real_freeifaddrs(list);
}

/* A device without IP addresses is in the subnets of the interfaces on the same card. */
START_TEST(test_subnet_of_a_device_without_addresses)
{
	t_machine_set(&two_cards);
	t_machine_put("devices/0000:22:00.0", NULL);
	t_machine_link("class/net/hsn1/device", "devices/0000:22:00.0");
	MACHINE(&cxi0, &cxi1);
	netdevs = OF_THE_CARD;
	ck_assert_int_eq(choose("ofi", "subnet=198.51.100.0/24"), 0);
	ck_assert_str_eq(chosen->domain_attr->name, "cxi1");
	ck_assert_str_eq(chosen_addr(), "198.51.100.7");
	fi_freeinfo(chosen);
	ck_has(none_for("ofi", "subnet=203.0.113.0/24"), "another subnet is asked for");
	netdevs = UNKNOWN;
	ck_has(none_for("ofi", "subnet=198.51.100.0/24"), "another subnet is asked for");
}
END_TEST

/* Then the address is the one at which the IA listens, and does not choose the device. */
START_TEST(test_address_of_a_fabric_without_addresses)
{
	MACHINE(&shm);
	ck_choice("ofi-shm", "addr=127.0.0.9", "shm", "127.0.0.9");
	resolves_node = true; /* it takes the address for something else */
	spoil = take_for_something_else;
	ck_choice("ofi-shm", "addr=127.0.0.9", "shm", "127.0.0.9");
}
END_TEST

START_TEST(test_host_without_addresses)
{
	struct sockaddr_storage addr;

	MACHINE(&shm);
	netdevs = UNKNOWN;
	ck_assert_int_eq(choose("ofi-shm", ""), 0);
	ck_assert_int_eq(dofi_select_addr("ofi-shm", &params, chosen, &addr), -EADDRNOTAVAIL);
	netdevs = OF_THE_CARD;
	ck_assert_str_eq(chosen_addr(), "198.51.100.7");
	fi_freeinfo(chosen);
}
END_TEST

/* Such a fabric tells no address of its own. */
START_TEST(test_address_of_a_fabric_that_listens_everywhere)
{
	static const struct {
		const char *own, *words, *addr; /* NULL: none */
	} cases[] = {
		{"0.0.0.0", "", "198.51.100.7"},
		{"::", "", "198.51.100.7"},
		{"192.0.2.2", "", "192.0.2.2"},
		{"192.0.2.2", "addr=127.0.0.9", "127.0.0.9"},
		{"0.0.0.0", "subnet=198.51.100.0/24", "198.51.100.7"},
		{"0.0.0.0", "subnet=203.0.113.0/24", NULL},
		{"0.0.0.0", "subnet=nonsense", "198.51.100.7"},
	};
	int fd = t_capture(STDERR_FILENO);
	struct sockaddr_storage addr;
	char text[DOFI_ADDR_TEXT];

	netdevs = OF_THE_CARD;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fi_info *info = make_info(&tcp_eth0, cases[i].own);

		ck_assert(!dofi_params_load(&params, "ofi", cases[i].words));
		ck_assert_int_eq(dofi_select_addr("ofi", &params, info, &addr),
				 cases[i].addr ? 0 : -EADDRNOTAVAIL);
		if (cases[i].addr) /* without a port */
			ck_assert_str_eq(dofi_addr_text(&addr, text), cases[i].addr);
		fi_freeinfo(info);
	}
	ck_has(t_captured(fd), "IA ofi: this host has no IP address to listen at");
}
END_TEST

/* --- objections --- */

static void no_link(struct fi_info *info)
{
	free(info->nic->link_attr);
	info->nic->link_attr = NULL;
}

static struct dofi_wish wish = {.ia_name = "ofi", .params = &params};

static int parse(const char *words)
{
	ck_assert(!dofi_params_load(&params, "ofi", words));
	return dofi_wish_parse(&wish);
}

START_TEST(test_bad_words)
{
	static const char *const words[] = {"subnet=here", "pci=33", "addr=localhost",
					    "local_rank=x"};

	t_capture(STDERR_FILENO);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		ck_assert_msg(parse(words[i]) == -FI_EINVAL, "%s", words[i]);
	ck_assert_int_eq(parse("addr=203.0.113.77"), -EADDRNOTAVAIL);
}
END_TEST

static bool no_route;

int __real_connect(int fd, const struct sockaddr *addr, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t size);

int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t size)
{
	if (!no_route)
		return __real_connect(fd, addr, size);
	errno = ENETUNREACH;
	return -1;
}

/* A socket can listen there, but peers could not connect. */
START_TEST(test_addresses_that_name_no_host)
{
	static const char *const words[] = {"addr=0.0.0.0",         "addr=::",
					    "addr=224.0.0.1",       "addr=239.1.2.3",
					    "addr=127.255.255.255", "addr=255.255.255.255"};
	int fd = t_capture(STDERR_FILENO);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		ck_assert_msg(parse(words[i]) == -EADDRNOTAVAIL, "%s", words[i]);
	ck_assert_int_ne(parse("addr=ff02::1"), 0);
	ck_has(t_captured(fd), "has to be an address of this host");
	ck_assert_int_eq(parse("addr=127.255.255.254"), 0);
	no_route = true;
	ck_assert_int_eq(parse("addr=255.255.255.255"), -EADDRNOTAVAIL);
}
END_TEST

/* Then the address's socket is 0. It is closed again. */
START_TEST(test_address_of_a_program_without_standard_input)
{
	close(STDIN_FILENO);
	errno = EIO; /* an older error */
	ck_assert_int_eq(parse("addr=127.0.0.1"), 0);
	ck_assert_int_eq(open("/dev/null", O_RDONLY), STDIN_FILENO);
}
END_TEST

START_TEST(test_address_of_a_process_without_descriptors)
{
	int fd = t_capture(STDERR_FILENO);
	struct rlimit limit, none;
	int ret;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){0, limit.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ret = parse("addr=127.0.0.1");
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(ret, -EMFILE);
	ck_has(t_captured(fd), strerror(EMFILE));
}
END_TEST

static const struct {
	const char *words;
	const struct candidate *offer;
	const char *objection; /* NULL: none */
} objections[] = {
	{"", &tcp_eth0, NULL},
	{"", &mlx5, NULL},
	{"", &mlx5_down, "its link is down"},
	{"", &tcp_eth0_ll, "its address is link-local, which DAT addresses can't tell apart"},
	{"domain=eth0", &tcp_eth0, NULL},
	{"domain=eth1", &tcp_eth0, "another domain is asked for"},
	{"domain=cxi0", &cxi0, NULL},
	{"domain=hsn0", &cxi0, NULL},
	{"domain=hsn0", &cxi1, "another domain is asked for"},
	{"domain=hsn0", &efa, "another domain is asked for"},
	{"addr=127.0.0.1", &tcp_lo, NULL},
	{"addr=127.0.0.2", &tcp_lo, "another address is asked for"},
	{"addr=127.0.0.1", &cxi0, NULL},
	{"subnet=127.0.0.0/8", &tcp_lo, NULL},
	{"subnet=127.0.0.0/8", &tcp_eth0, "another subnet is asked for"},
	{"subnet=198.51.100.0/24", &cxi0, NULL},
	{"subnet=198.51.100.0/24", &cxi1, "another subnet is asked for"},
	{"subnet=198.51.100.0/24", &efa, "another subnet is asked for"},
	{"pci=11:00.0", &cxi0, NULL},
	{"pci=11:00.0", &cxi1, "another PCI device is asked for"},
	{"pci=11:00.0", &tcp_eth0, "another PCI device is asked for"},
};

/* Interface hsn0 has an address and lies on the card cxi0. */
START_TEST(test_each_objection)
{
	const struct candidate *offer = objections[_i].offer;
	struct fi_info *info = make_info(offer, offer->addr);
	struct sockaddr_storage addr;
	const char *objection;

	t_machine_put("devices/0000:11:00.0", NULL);
	t_machine_link("class/net/hsn1/device", "devices/0000:11:00.0");
	t_machine_link("class/net/hsn0/device", "devices/0000:11:00.0");
	netdevs = OF_THE_CARD;
	ck_assert_int_eq(parse(objections[_i].words), 0);
	if (offer->addr)
		ck_assert(dofi_addr_parse(offer->addr, &addr));
	objection = dofi_wish_objection(&wish, info, offer->addr ? &addr : NULL);
	ck_assert_str_eq(objection ? objection : "none",
			 objections[_i].objection ? objections[_i].objection : "none");
	fi_freeinfo(info);
}
END_TEST

/* A link that is not known may be up. */
START_TEST(test_device_that_tells_no_link)
{
	struct fi_info *info = make_info(&mlx5_down, NULL);

	ck_assert_int_eq(parse(""), 0);
	ck_assert_str_eq(dofi_wish_objection(&wish, info, NULL), "its link is down");
	no_link(info);
	ck_assert_ptr_null(dofi_wish_objection(&wish, info, NULL));
	fi_freeinfo(info);
}
END_TEST

/* Nothing of an earlier wish is left. */
START_TEST(test_wish_that_is_parsed_again)
{
	ck_assert_int_eq(parse("subnet=192.0.2.0/24 pci=11:00.0"), 0);
	ck_assert(wish.has_subnet && wish.has_pci && !wish.has_addr);
	ck_assert_int_eq(parse("addr=127.0.0.1"), 0);
	ck_assert(!wish.has_subnet && !wish.has_pci && wish.has_addr);
}
END_TEST

/* Messages say what the user has asked for, and nothing else. */
START_TEST(test_text_of_a_wish)
{
	static const struct {
		const char *words, *env, *text;
	} cases[] = {
		{"", NULL, ""},
		{"", "", ""},
		{"provider=tcp", NULL, " (provider=tcp)"},
		{"", "shm", " (FI_PROVIDER=shm)"},
		{"addr=127.0.0.1 subnet=127.0.0.0/8 pci=33:00.0 domain=lo transport=msg", "tcp",
		 " (domain=lo addr=127.0.0.1 transport=msg subnet=127.0.0.0/8 pci=33:00.0 "
		 "FI_PROVIDER=tcp)"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		ck_assert(!dofi_params_load(&params, "ofi", cases[i].words));
		if (cases[i].env)
			setenv("FI_PROVIDER", cases[i].env, 1);
		dofi_wish_print(&wish, out);
		fclose(out);
		ck_assert_str_eq(text, cases[i].text);
		free(text);
		unsetenv("FI_PROVIDER");
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("wish");
	TCase *tc = tcase_create("wish");

	tcase_add_test(tc, test_address_that_no_netdev_lists);
	tcase_add_test(tc, test_foreign_or_bad_address_is_explained);
	tcase_add_test(tc, test_netdev_names_the_device_below_it);
	tcase_add_test(tc, test_transport_word);
	tcase_add_test(tc, test_device_by_pci_address_or_netdev);
	tcase_add_test(tc, test_device_by_subnet);
	tcase_add_test(tc, test_subnet_of_a_device_without_addresses);
	tcase_add_test(tc, test_address_of_a_fabric_without_addresses);
	tcase_add_test(tc, test_host_without_addresses);
	tcase_add_test(tc, test_bad_words);
	tcase_add_test(tc, test_addresses_that_name_no_host);
	tcase_add_test(tc, test_address_of_a_program_without_standard_input);
	tcase_add_test(tc, test_address_of_a_process_without_descriptors);
	tcase_add_test(tc, test_text_of_a_wish);
	tcase_add_test(tc, test_address_of_a_fabric_that_listens_everywhere);
	tcase_add_loop_test(tc, test_each_objection, 0,
			    (int)(sizeof(objections) / sizeof(objections[0])));
	tcase_add_test(tc, test_device_that_tells_no_link);
	tcase_add_test(tc, test_wish_that_is_parsed_again);
	return run_choices(suite, tc);
}
