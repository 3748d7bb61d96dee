/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Choice of the fabric on simulated machines. */
#include "simulated_offers.h"

#include "base/addr.h"
#include "fabric/device_atomics.h"
#include "fabric/quirks.h"
#include "fabric/select.h"

#include "../../lib/t_heap.h"
#include "../../lib/t_hooks.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

START_TEST(test_ipv4_of_a_real_netdev_wins)
{
	MACHINE(&tcp_lo, &tcp_eth0_ll, &tcp_eth0_v6, &tcp_eth0, &tcp_eth1);
	ck_choice("ofi", "", "eth0", "192.0.2.2");
	ck_choice("ofi-tcp", "", "eth0", "192.0.2.2");
	ck_choice("ofi-tcp-eth1", "", "eth1", "198.51.100.7");
}
END_TEST

START_TEST(test_ipv6_when_there_is_no_ipv4)
{
	MACHINE(&tcp_eth0_ll, &tcp_lo, &tcp_eth0_v6);
	ck_choice("ofi", "", "eth0", "2001:db8::2");
}
END_TEST

START_TEST(test_link_local_is_never_used)
{
	MACHINE(&tcp_eth0_ll);
	ck_has(none_for("ofi", ""), "link-local");
}
END_TEST

START_TEST(test_loopback_when_named_or_alone)
{
	MACHINE(&tcp_eth0, &tcp_lo, &tcp_lo6);
	ck_choice("ofi-tcp-lo", "", "lo", "127.0.0.1");
	ck_choice("any", "domain=lo", "lo", "127.0.0.1");
	ck_choice("any", "lo 0", "lo", "127.0.0.1");
	ck_choice("ofi", "addr=127.0.0.1", "lo", "127.0.0.1");
	MACHINE(&tcp_eth0_ll, &tcp_lo6, &tcp_lo);
	ck_choice("ofi", "", "lo", "127.0.0.1");
}
END_TEST

START_TEST(test_hardware_is_preferred)
{
	MACHINE(&tcp_eth0, &mlx5_down, &mlx5_v6);
	ck_choice("ofi", "", "mlx5_1", "2001:db8::3");
	MACHINE(&tcp_eth0, &mlx5);
	ck_choice("ofi", "", "mlx5_0", "192.0.2.3");
	ck_choice("ofi-tcp", "", "eth0", "192.0.2.2");
	ck_choice("ofi-verbs-mlx5_0", "", "mlx5_0", "192.0.2.3");
}
END_TEST

START_TEST(test_rdm_only_takes_the_rdm_transport)
{
	static const struct candidate *const fabrics[] = {&efa, &cxi, &shm};

	MACHINE(fabrics[_i]);
	ck_assert_int_eq(choose("ofi", ""), 0);
	ck_assert_str_eq(chosen->domain_attr->name, fabrics[_i]->domain);
	ck_assert_str_eq(transport, "rdm");
	fi_freeinfo(chosen);
	ck_has(none_for("ofi", "transport=msg"), "it takes transport=rdm");
}
END_TEST

/* A fence is used if the fabric offers it, and is not required. */
START_TEST(test_fence_is_used_if_offered)
{
	struct candidate fenced = cxi;

	fenced.caps |= FI_FENCE;
	fenced.msg_order |= FI_ORDER_WAW;
	MACHINE(&fenced);
	ck_assert_int_eq(choose("ofi", ""), 0);
	ck_assert(chosen->caps & FI_FENCE);
	/* cxi promises only the order that is asked for. */
	ck_assert(chosen->tx_attr->msg_order & chosen->rx_attr->msg_order & FI_ORDER_WAW);
	fi_freeinfo(chosen);
}
END_TEST

START_TEST(test_equal_devices_are_spread)
{
	int fd = t_capture(STDERR_FILENO);

	t_machine_set(&two_cards);
	MACHINE(&tcp_eth0, &cxi0, &cxi1);
	for (int rank = 0; rank < 4; rank++) {
		ck_assert_int_eq(choose("ofi", rank % 2 ? "local_rank=3 log=info" : "local_rank=2"),
				 0);
		ck_assert_str_eq(chosen->domain_attr->name, rank % 2 ? "cxi1" : "cxi0");
		fi_freeinfo(chosen);
	}
	ck_has(t_captured(fd), "cxi1 at PCI 0000:22:00.0 is one of ");
	ck_has(t_captured(fd), "local_rank=3");
	ck_assert_str_eq(chosen_nic.pci_text, "0000:22:00.0");
	ck_assert_str_eq(chosen_nic.node_text, "0");
}
END_TEST

START_TEST(test_devices_of_other_providers_are_not_equal)
{
	struct candidate other = cxi1;

	other.provider = "odder";
	t_machine_set(&two_cards);
	MACHINE(&cxi0, &other);
	ck_assert_int_eq(choose("ofi", "local_rank=1"), 0);
	ck_assert_str_eq(chosen->domain_attr->name, "cxi0");
	fi_freeinfo(chosen);
}
END_TEST

static const struct candidate tcp_docker = {"tcp",    "docker0", "172.17.0.1", FI_EP_MSG,
					    ANYWHERE, 0,         SAW,          0};

START_TEST(test_interfaces_of_containers_come_last_unless_named)
{
	t_machine_put("class/net/docker0", NULL);
	t_machine_put("devices/card", NULL);
	t_machine_link("class/net/eth0/device", "devices/card");
	MACHINE(&tcp_docker, &tcp_lo, &tcp_eth0);
	ck_choice("ofi", "", "eth0", "192.0.2.2");
	ck_choice("ofi-tcp-docker0", "", "docker0", "172.17.0.1");
	ck_choice("ofi", "subnet=172.17.0.0/16", "docker0", "172.17.0.1");
	MACHINE(&tcp_docker, &tcp_lo);
	ck_choice("ofi", "", "docker0", "172.17.0.1");
}
END_TEST

START_TEST(test_failing_getinfo_and_old_libfabric)
{
	MACHINE(&tcp_eth0);
	machine_error = -FI_ENOMEM;
	ck_has(none_for("ofi", ""), fi_strerror(FI_ENOMEM));
	ck_assert_int_eq(choose("ofi", ""), -FI_ENOMEM);
	machine_error = 0;
	running_version = FI_VERSION(1, 9);
	ck_has(none_for("ofi", ""), "libfabric 1.9 is too old");
}
END_TEST

/*
 * The newest version of the interface that libfabric and our headers both have.
 */
START_TEST(test_version_of_the_interface)
{
	const uint32_t built = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
	static const uint32_t versions[] = {FI_VERSION(1, 17), FI_VERSION(1, 18), FI_VERSION(2, 1),
					    FI_VERSION(2, 6), FI_VERSION(3, 9)};

	MACHINE(&tcp_eth0);
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		running_version = versions[i];
		ck_choice("ofi", "", "eth0", "192.0.2.2");
		ck_assert_uint_le(asked_version, FI_VERSION(2, 6));
		ck_assert_uint_eq(asked_version, running_version < built ? running_version : built);
	}
}
END_TEST

/* libfabric before 2.2 has faults in them, and those of other fabrics are not used. */
START_TEST(test_atomic_operations_of_devices)
{
	static const struct {
		uint32_t version;
		const char *provider;
		bool has;
	} cases[] = {
		{FI_VERSION(1, 17), "verbs", false}, {FI_VERSION(2, 1), "verbs", false},
		{FI_VERSION(2, 2), "verbs", true},   {FI_VERSION(3, 0), "verbs", true},
		{FI_VERSION(2, 2), "tcp", false},
	};
	struct candidate card = mlx5, twin = mlx5, socket = tcp_eth0;
	char ia_params[64];

	card.caps |= FI_ATOMIC;
	twin.caps |= FI_ATOMIC;
	twin.domain = "mlx5_9";
	socket.caps |= FI_ATOMIC;
	MACHINE(&twin, &card, &socket);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		running_version = cases[i].version;
		snprintf(ia_params, sizeof(ia_params), "provider=%s%s", cases[i].provider,
			 strcmp(cases[i].provider, "tcp") ? " domain=mlx5_0" : "");
		ck_assert_int_eq(choose("ofi", ia_params), 0);
		ck_assert_str_eq(chosen->domain_attr->name,
				 strcmp(cases[i].provider, "tcp") ? "mlx5_0" : "eth0");
		ck_assert_int_eq((chosen->caps & FI_ATOMIC) != 0, cases[i].has);
		fi_freeinfo(chosen);
	}
	choose("ofi", "provider=verbs domain=mlx5_0");
	ck_assert(!dofi_device_does_atomics(chosen, DOFI_QUIRK_DEVICE_ATOMICS)); /* is not here */
	fi_freeinfo(chosen);
}
END_TEST

/* If the fabric does not offer them, the choice is made without them. */
START_TEST(test_device_without_atomic_operations)
{
	MACHINE(&mlx5);
	running_version = FI_VERSION(2, 6);
	ck_choice("ofi", "provider=verbs", "mlx5_0", "192.0.2.3");
}
END_TEST

START_TEST(test_address_with_a_fabric_without_addresses)
{
	struct sockaddr_storage addr;
	struct fi_info *info = make_info(&efa, NULL);
	char text[DOFI_ADDR_TEXT];

	ck_assert(!dofi_params_load(&params, "ofi", ""));
	ck_assert_int_eq(dofi_select_addr("ofi", &params, info, &addr), 0);
	ck_assert(addr.ss_family == AF_INET || addr.ss_family == AF_INET6);
	ck_assert(!dofi_params_load(&params, "ofi", "addr=127.0.0.3"));
	ck_assert_int_eq(dofi_select_addr("ofi", &params, info, &addr), 0);
	ck_assert_int_eq(addr.ss_family, AF_INET);
	ck_assert_str_eq(dofi_addr_text(&addr, text), "127.0.0.3");
	ck_assert_uint_eq(dofi_addr_port(&addr), 0);
	fi_freeinfo(info);
}
END_TEST

static struct fi_atomic_attr offered[2]; /* of sums and of exchanges; size 0: not offered */

static int query_atomic(struct fid_domain *domain, enum fi_datatype type, enum fi_op op,
			struct fi_atomic_attr *attr, uint64_t flags)
{
	(void)domain;
	ck_assert_int_eq(type, FI_UINT64);
	ck_assert_uint_eq(flags, op == FI_SUM ? FI_FETCH_ATOMIC : FI_COMPARE_ATOMIC);
	*attr = offered[op != FI_SUM];
	return attr->size ? 0 : -FI_EOPNOTSUPP;
}

/* Both operations of DAT are needed, on whole words. */
START_TEST(test_atomic_operations_of_a_domain)
{
	static struct fi_ops_domain ops = {.size = sizeof(ops), .query_atomic = query_atomic};
	struct fid_domain domain = {.ops = &ops};
	static const size_t sizes[][2] = {{8, 8}, {0, 8}, {8, 0}, {4, 8}, {8, 4}};

	for (int i = 0; i < 5; i++) {
		offered[0].size = sizes[i][0];
		offered[1].size = sizes[i][1];
		ck_assert_int_eq(dofi_domain_has_atomics(&domain), i == 0);
	}
}
END_TEST

/* The same device at the same address, also if the address was asked for. */
START_TEST(test_atomic_operations_of_one_of_two_addresses)
{
	struct candidate other = mlx5, own = mlx5_lo;

	other.caps |= FI_ATOMIC;
	own.caps |= FI_ATOMIC;
	MACHINE(&other, &own);
	running_version = FI_VERSION(2, 6);
	ck_assert_int_eq(choose("ofi", "domain=lo"), 0);
	ck_assert_str_eq(chosen_addr(), "127.0.0.1");
	ck_assert(chosen->caps & FI_ATOMIC);
	fi_freeinfo(chosen);
	ck_assert_int_eq(choose("ofi", "addr=127.0.0.1"), 0);
	ck_assert_str_eq(chosen_addr(), "127.0.0.1");
	ck_assert(chosen->caps & FI_ATOMIC);
	fi_freeinfo(chosen);
}
END_TEST

static const char *network; /* of all devices; NULL: they have none */

static void spoil_network(struct fi_info *info)
{
	free(info->fabric_attr->name);
	info->fabric_attr->name = network ? strdup(network) : NULL;
}

/* With IP addresses, devices that are not known to share a network may reach different peers. */
START_TEST(test_devices_of_two_networks_are_not_equal)
{
	struct candidate one = cxi0, two = cxi1;

	t_machine_set(&two_cards);
	one.addr = "192.0.2.3";
	two.addr = "192.0.2.4";
	MACHINE(&one, &two);
	ck_choice("ofi", "local_rank=1", "cxi0", "192.0.2.3");
	spoil = spoil_network;
	ck_choice("ofi", "local_rank=1", "cxi0", "192.0.2.3");
	network = "192.0.2.0/24";
	ck_choice("ofi", "local_rank=1", "cxi1", "192.0.2.4");
}
END_TEST

static void spoil_domain(struct fi_info *info)
{
	free(info->domain_attr->name);
	info->domain_attr->name = NULL;
}

START_TEST(test_a_device_without_a_name)
{
	int fd = t_capture(STDERR_FILENO);

	MACHINE(&tcp_eth0);
	spoil = spoil_domain;
	ck_assert_int_eq(choose("ofi-tcp", "log=info"), 0);
	ck_assert_str_eq(chosen_nic.pci_text, "");
	fi_freeinfo(chosen);
	ck_has(t_captured(fd), "domain unnamed");
	ck_assert_ptr_null(strstr(t_captured(fd), "does not use"));
}
END_TEST

static void spoil_type(struct fi_info *info)
{
	info->ep_attr->type = FI_EP_SOCK_STREAM;
}

START_TEST(test_endpoints_that_no_transport_knows)
{
	static const struct candidate stream = {"odd",    "odd0", NULL, FI_EP_SOCK_STREAM,
						ANYWHERE, 0,      SAW,  0};

	MACHINE(&stream);
	spoil = spoil_type;
	ck_has(none_for("ofi", ""),
	       "odd (odd0): offers endpoints of a kind that no transport knows");
}
END_TEST

static void hide_lack(struct fi_info *info)
{
	info->caps |= FI_RMA;
}

/* The provider refuses the hints as a whole. */
START_TEST(test_a_candidate_that_lacks_nothing_by_itself)
{
	struct candidate shy = tcp_eth0;

	shy.caps &= ~(uint64_t)FI_RMA;
	MACHINE(&shy);
	spoil = hide_lack;
	ck_has(none_for("ofi", ""), "it refuses them together, though none alone");
}
END_TEST

static void hide_rma(struct fi_info *info)
{
	info->caps &= ~(uint64_t)FI_RMA;
}

/* Whether the provider offers it to our hints, or only to others. */
START_TEST(test_a_candidate_that_lacks_something)
{
	struct candidate poor = tcp_eth0;

	if (_i)
		poor.caps &= ~(uint64_t)FI_RMA;
	MACHINE(&poor);
	spoil = _i ? NULL : hide_rma;
	ck_has(none_for("ofi", ""),
	       "tcp (eth0): does not offer what the msg transport needs: it lacks FI_RMA");
	MACHINE(&udp_eth0);
	ck_has(none_for("ofi", ""), "udp (eth0): offers datagrams only");
}
END_TEST

/* A loopback address and a fabric within the host reach no other host, whatever else they can. */
START_TEST(test_what_reaches_other_hosts_comes_first)
{
	struct candidate lo = tcp_lo, silent = tcp_eth0;

	lo.caps = ANYWHERE;
	MACHINE(&lo, &tcp_eth0);
	ck_choice("ofi", "", "eth0", "192.0.2.2");
	silent.caps &= ~(uint64_t)(FI_LOCAL_COMM | FI_REMOTE_COMM); /* does not tell */
	MACHINE(&tcp_lo, &silent);
	ck_choice("ofi", "", "eth0", "192.0.2.2");
	t_machine_put("class/net/docker0", NULL);
	MACHINE(&shm, &tcp_docker);
	ck_choice("ofi", "", "docker0", "172.17.0.1");
}
END_TEST

START_TEST(test_cards_with_addresses_come_first)
{
	MACHINE(&cxi0, &mlx5_v6);
	ck_choice("ofi", "", "mlx5_1", "2001:db8::3");
}
END_TEST

/* A card that is offered twice is one card. */
START_TEST(test_a_card_that_is_listed_twice)
{
	t_machine_set(&two_cards);
	MACHINE(&cxi0, &cxi0, &cxi1);
	ck_assert_int_eq(choose("ofi", "local_rank=1"), 0);
	ck_assert_str_eq(chosen->domain_attr->name, "cxi1");
	fi_freeinfo(chosen);
}
END_TEST

START_TEST(test_the_choice_is_told)
{
	int fd = t_capture(STDERR_FILENO);

	MACHINE(&udp_eth0, &tcp_lo6, &tcp_eth0);
	ck_assert_int_eq(choose("ofi", "log=info"), 0);
	fi_freeinfo(chosen);
	ck_has(t_captured(fd), "IA ofi uses provider tcp, domain eth0, 192.0.2.2, transport msg");
	ck_has(t_captured(fd), "IA ofi does not use ");
	ck_has(t_captured(fd), "udp (eth0): offers datagrams only");
	MACHINE(&shm);
	ck_assert_int_eq(choose("ofi", "log=info"), 0);
	fi_freeinfo(chosen);
	ck_has(t_captured(fd),
	       "IA ofi uses provider shm, domain shm, no IP address, transport rdm");
}
END_TEST

START_TEST(test_no_choice_tells_what_was_asked_for)
{
	MACHINE(&tcp_eth0);
	ck_has(none_for("ofi", "provider=tcp subnet=203.0.113.0/24"),
	       "no fabric can be used (provider=tcp subnet=203.0.113.0/24): tcp (eth0): another");
	ck_assert_int_eq(choose("ofi", "provider=tcp subnet=203.0.113.0/24"), -FI_ENODATA);
	ck_assert_int_eq(choose("ofi", "transport=pigeon"), -FI_EINVAL);
}
END_TEST

/* A device without a netdev, a netdev that no candidate has, and what is neither. */
START_TEST(test_a_host_name_is_no_domain)
{
	MACHINE(&cxi0);
	ck_has(none_for("OpenIB-cma", "localhost 0"),
	       "; neither a device nor a netdev of this host is called localhost; in place of");
	ck_has(none_for("ofi", "domain=node7"), "is called node7; in place of a host name write");
	ck_assert_ptr_null(strstr(none_for("ofi", "cxi0 0 transport=msg"), "is called"));
	ck_assert_ptr_null(strstr(none_for("ofi", "lo 0"), "is called"));
	/* There is nothing that a name could stand for. */
	ck_assert_ptr_null(strstr(none_for("ofi", "provider=verbs domain=ib7"), "is called"));
}
END_TEST

#if T_HOOKS
/* With atomic operations, with an address that the fabric takes for something else, without any. */
START_TEST(test_a_choice_leaves_no_memory)
{
	static const char *const words[] = {"", "addr=127.0.0.1 log=info", "domain=none"};
	struct candidate card = mlx5, local = mlx5_lo;
	size_t before = 0;

	t_capture(STDERR_FILENO);
	card.caps |= FI_ATOMIC;
	local.caps |= FI_ATOMIC;
	MACHINE(&card, &local, &cxi0, &cxi1, &udp_eth0);
	running_version = FI_VERSION(2, 6);
	resolves_node = true;
	for (int i = 0; i < 200; i++) {
		if (i == 20)
			before = t_heap();
		if (!choose("ofi", words[_i]))
			fi_freeinfo(chosen);
	}
	ck_assert_uint_le(t_heap(), before + 4000);
}
END_TEST
#endif

/* --- without memory; the linker redirects these calls --- */

static struct {
	const char *call;
	int left; /* calls before the one that fails; -1: none fails */
} failing = {"", -1};
static int infos; /* that exist */

struct fi_info *__real_fi_dupinfo(const struct fi_info *info);
struct fi_info *__wrap_fi_dupinfo(const struct fi_info *info);
void __real_fi_freeinfo(struct fi_info *info);
void __wrap_fi_freeinfo(struct fi_info *info);
char *__real_strdup(const char *text);
T_STAND_IN char *__wrap_strdup(const char *text);
void *__real_calloc(size_t n, size_t size);
T_STAND_IN void *__wrap_calloc(size_t n, size_t size);
FILE *__real_open_memstream(char **text_p, size_t *size_p);
T_STAND_IN FILE *__wrap_open_memstream(char **text_p, size_t *size_p);

static bool fails(const char *call)
{
	return !making && !strcmp(failing.call, call) && failing.left >= 0 && !failing.left--;
}

struct fi_info *__wrap_fi_dupinfo(const struct fi_info *info)
{
	struct fi_info *copy = fails("fi_dupinfo") ? NULL : __real_fi_dupinfo(info);

	infos += copy != NULL;
	return copy;
}

void __wrap_fi_freeinfo(struct fi_info *info)
{
	for (const struct fi_info *at = info; at; at = at->next)
		infos--;
	__real_fi_freeinfo(info);
}

char *__wrap_strdup(const char *text)
{
	/* Check also copies texts. */
	return text == params.provider && fails("strdup") ? NULL : __real_strdup(text);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails("calloc") ? NULL : __real_calloc(n, size);
}

FILE *__wrap_open_memstream(char **text_p, size_t *size_p)
{
	return fails("open_memstream") ? NULL : __real_open_memstream(text_p, size_p);
}

#define NO -FI_ENOMEM

/* What a choice returns if each call in turn fails, and then none. */
static const struct {
	const char *call, *words;
	int calls, ret[10];
} memories[] = {
	/* the hints of each row; the choice; the hints with atomic operations, that choice */
	{"fi_dupinfo", "provider=verbs", 8, {NO, NO, NO, NO, NO, 0, 0, 0}},
	{"fi_dupinfo", "domain=none", 6, {NO, NO, NO, NO, -FI_ENODATA, -FI_ENODATA}},
	{"fi_dupinfo", "provider=cxi", 6, {NO, NO, NO, NO, NO, 0}},
	/* the name of the provider in each hints */
	{"strdup", "provider=verbs", 6, {NO, NO, NO, NO, 0, 0}},
	{"strdup", "provider=none", 6, {NO, NO, NO, NO, -FI_ENODATA, -FI_ENODATA}},
	/* the search, and the choice of a device */
	{"calloc", "provider=cxi local_rank=1", 4, {NO, 0, 0, 0}},
	/* messages that are not written */
	{"open_memstream", "domain=none", 2, {-FI_ENODATA, -FI_ENODATA}},
	{"open_memstream", "provider=cxi domain=cxi1 log=info", 2, {0, 0}},
};

START_TEST(test_a_choice_without_memory)
{
	struct candidate card = mlx5;
	int ret;

	t_capture(STDERR_FILENO);
	t_machine_set(&two_cards);
	card.caps |= FI_ATOMIC;
	MACHINE(&card, &cxi0, &cxi1);
	running_version = FI_VERSION(2, 6);
	for (int i = 0; i < memories[_i].calls; i++) {
		failing.call = memories[_i].call;
		failing.left = i;
		ret = choose("ofi", memories[_i].words);
		ck_assert_msg(ret == memories[_i].ret[i], "call %d: %d", i, ret);
		/* The last run was the first without a failure. */
		ck_assert_int_eq(failing.left >= 0, i == memories[_i].calls - 1);
		failing.left = -1;
		if (!ret)
			fi_freeinfo(chosen);
		ck_assert_int_eq(infos, 0);
	}
}
END_TEST

/* A fabric that can't tell its variant with atomic operations is used without them. */
START_TEST(test_atomic_operations_that_need_memory)
{
	struct candidate card = mlx5;

	card.caps |= FI_ATOMIC;
	MACHINE(&card);
	running_version = FI_VERSION(2, 6);
	for (int i = 5; i < 8; i++) {
		failing.call = "fi_dupinfo";
		failing.left = i;
		ck_assert_int_eq(choose("ofi", "provider=verbs"), 0);
		ck_assert_int_eq((chosen->caps & FI_ATOMIC) != 0, i == 7);
		fi_freeinfo(chosen);
	}
}
END_TEST

/* The message about a provider names each mode of registrations that no transport knows. */
START_TEST(test_a_provider_that_insists_on_all_modes)
{
	struct candidate all = odd_rdm;

	all.mr_mode = FI_MR_LOCAL | FI_MR_RAW | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
		      FI_MR_MMU_NOTIFY | FI_MR_RMA_EVENT | FI_MR_ENDPOINT | FI_MR_HMEM;
	MACHINE(&all);
	ck_has(none_for("ofi", ""), "odd_rdm (odd1): does not offer what the rdm transport needs: "
				    "it insists on FI_MR_RAW");
}
END_TEST

static void spoil_link(struct fi_info *info)
{
	if (!strcmp(info->domain_attr->name, "cxi1"))
		info->nic->link_attr->state = FI_LINK_DOWN;
}

static void spoil_bus(struct fi_info *info)
{
	if (!strcmp(info->domain_attr->name, "cxi1")) {
		free(info->nic->bus_attr);
		info->nic->bus_attr = NULL;
	}
}

static void spoil_nic(struct fi_info *info)
{
	if (!strcmp(info->domain_attr->name, "cxi1")) {
		fi_close(&info->nic->fid);
		info->nic = NULL;
	}
}

/* Of two cards the second can't replace the first. */
START_TEST(test_a_card_that_is_not_equal)
{
	static void (*const spoils[])(struct fi_info * info) = {spoil_link, spoil_bus, spoil_nic};

	t_machine_set(&two_cards);
	MACHINE(&cxi0, &cxi1);
	spoil = spoils[_i];
	ck_assert_int_eq(choose("ofi", "local_rank=1"), 0);
	ck_assert_str_eq(chosen->domain_attr->name, "cxi0");
	fi_freeinfo(chosen);
}
END_TEST

static void number_card(struct fi_info *info)
{
	static unsigned int number;
	char name[16];

	snprintf(name, sizeof(name), "cxi%u", number++ % 70);
	free(info->domain_attr->name);
	info->domain_attr->name = strdup(name);
}

/* A host with more cards than the library compares. */
START_TEST(test_more_cards_than_are_compared)
{
	t_machine_set(&two_cards);
	memset(machine, 0, sizeof(machine));
	for (int i = 0; i < 70; i++)
		machine[i] = &cxi0;
	spoil = number_card;
	ck_assert_int_eq(choose("ofi", "local_rank=63"), 0);
	ck_assert_str_eq(chosen->domain_attr->name, "cxi63");
	fi_freeinfo(chosen);
	ck_assert_int_eq(choose("ofi", "local_rank=64"), 0);
	ck_assert_str_eq(chosen->domain_attr->name, "cxi0");
	fi_freeinfo(chosen);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("select");
	TCase *tc = tcase_create("select");

	tcase_add_test(tc, test_ipv4_of_a_real_netdev_wins);
	tcase_add_test(tc, test_ipv6_when_there_is_no_ipv4);
	tcase_add_test(tc, test_link_local_is_never_used);
	tcase_add_test(tc, test_loopback_when_named_or_alone);
	tcase_add_test(tc, test_hardware_is_preferred);
	tcase_add_loop_test(tc, test_rdm_only_takes_the_rdm_transport, 0, 3);
	tcase_add_test(tc, test_fence_is_used_if_offered);
	tcase_add_test(tc, test_equal_devices_are_spread);
	tcase_add_test(tc, test_devices_of_other_providers_are_not_equal);
	tcase_add_test(tc, test_interfaces_of_containers_come_last_unless_named);
	tcase_add_test(tc, test_failing_getinfo_and_old_libfabric);
	tcase_add_test(tc, test_version_of_the_interface);
	tcase_add_test(tc, test_atomic_operations_of_devices);
	tcase_add_test(tc, test_device_without_atomic_operations);
	tcase_add_test(tc, test_address_with_a_fabric_without_addresses);
	tcase_add_test(tc, test_atomic_operations_of_a_domain);
	tcase_add_test(tc, test_atomic_operations_of_one_of_two_addresses);
	tcase_add_test(tc, test_devices_of_two_networks_are_not_equal);
	tcase_add_test(tc, test_a_device_without_a_name);
	tcase_add_test(tc, test_endpoints_that_no_transport_knows);
	tcase_add_test(tc, test_a_candidate_that_lacks_nothing_by_itself);
	tcase_add_loop_test(tc, test_a_candidate_that_lacks_something, 0, 2);
	tcase_add_test(tc, test_what_reaches_other_hosts_comes_first);
	tcase_add_test(tc, test_cards_with_addresses_come_first);
	tcase_add_test(tc, test_a_card_that_is_listed_twice);
	tcase_add_test(tc, test_the_choice_is_told);
	tcase_add_test(tc, test_no_choice_tells_what_was_asked_for);
	tcase_add_test(tc, test_a_host_name_is_no_domain);
	tcase_add_loop_test(tc, test_a_choice_without_memory, 0,
			    (int)(sizeof(memories) / sizeof(memories[0])));
	tcase_add_test(tc, test_atomic_operations_that_need_memory);
	tcase_add_test(tc, test_a_provider_that_insists_on_all_modes);
	tcase_add_loop_test(tc, test_a_card_that_is_not_equal, 0, 3);
	tcase_add_test(tc, test_more_cards_than_are_compared);
#if T_HOOKS
	tcase_add_loop_test(tc, test_a_choice_leaves_no_memory, 0, 3);
#endif
	return run_choices(suite, tc);
}
