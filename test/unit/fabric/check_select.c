/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Choice of the fabric, on simulated machines: the linker replaces fi_getinfo() of libfabric by
 * ours.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "fabric/device_atomics.h"
#include "base/log.h"
#include "fabric/nic.h"
#include "fabric/quirks.h"
#include "base/param.h"
#include "fabric/select.h"
#include "fabric/topo.h"

#include "../../lib/t_machine.h"
#include "../../lib/unit.h"

/* --- simulated machines --- */

#define VERBS_MR  (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)
#define HOST_ONLY (FI_MSG | FI_TAGGED | FI_RMA | FI_LOCAL_COMM)
#define ANYWHERE  (HOST_ONLY | FI_REMOTE_COMM)
#define SAW       (FI_ORDER_SAS | FI_ORDER_SAW)

struct candidate {
	const char *provider, *domain, *addr; /* NULL: no IP address */
	enum fi_ep_type type;
	uint64_t caps;
	int mr_mode;
	uint64_t msg_order;
	enum fi_link_state link; /* FI_LINK_UNKNOWN: no NIC */
};

static const struct candidate tcp_eth0 = {"tcp",    "eth0", "192.0.2.2", FI_EP_MSG,
					  ANYWHERE, 0,      SAW,         0};
static const struct candidate tcp_eth0_ll = {"tcp",    "eth0", "fe80::1", FI_EP_MSG,
					     ANYWHERE, 0,      SAW,       0};
static const struct candidate tcp_eth0_v6 = {"tcp",    "eth0", "2001:db8::2", FI_EP_MSG,
					     ANYWHERE, 0,      SAW,           0};
static const struct candidate tcp_eth1 = {"tcp", "eth1", "198.51.100.7", FI_EP_MSG, ANYWHERE, 0,
					  SAW,   0};
static const struct candidate tcp_lo = {"tcp", "lo", "127.0.0.1", FI_EP_MSG, HOST_ONLY, 0, SAW, 0};
static const struct candidate tcp_lo6 = {"tcp", "lo", "::1", FI_EP_MSG, HOST_ONLY, 0, SAW, 0};
static const struct candidate rxm_eth0 = {"tcp;ofi_rxm", "eth0", "192.0.2.2", FI_EP_RDM,
					  ANYWHERE,      0,      SAW,         0};
static const struct candidate udp_eth0 = {"udp", "eth0", "192.0.2.2", FI_EP_DGRAM, FI_MSG, 0, 0, 0};
static const struct candidate mlx5 = {"verbs",  "mlx5_0", "192.0.2.3", FI_EP_MSG,
				      ANYWHERE, VERBS_MR, SAW,         FI_LINK_UP};
static const struct candidate mlx5_lo = {"verbs",  "mlx5_0", "127.0.0.1", FI_EP_MSG,
					 ANYWHERE, VERBS_MR, SAW,         FI_LINK_UP};
static const struct candidate mlx5_v6 = {"verbs",  "mlx5_1", "2001:db8::3", FI_EP_MSG,
					 ANYWHERE, VERBS_MR, SAW,           FI_LINK_UP};
static const struct candidate mlx5_down = {"verbs",  "mlx5_2", "192.0.2.4", FI_EP_MSG,
					   ANYWHERE, VERBS_MR, SAW,         FI_LINK_DOWN};
static const struct candidate efa = {"efa",    "rdmap0s6-rdm",          NULL,         FI_EP_RDM,
				     ANYWHERE, VERBS_MR & ~FI_MR_LOCAL, FI_ORDER_SAS, FI_LINK_UP};
static const struct candidate cxi = {"cxi",        "cxi0",    NULL,
				     FI_EP_RDM,    ANYWHERE,  FI_MR_ENDPOINT | FI_MR_ALLOCATED,
				     FI_ORDER_SAS, FI_LINK_UP};
static const struct candidate shm = {"shm", "shm", NULL, FI_EP_RDM, HOST_ONLY, 0, SAW, 0};
static const struct candidate odd_rdm = {"odd_rdm", "odd1",    NULL, FI_EP_RDM,
					 ANYWHERE,  FI_MR_RAW, 0,    0};
static const struct candidate odd = {"odd",    "odd0",         "192.0.2.9", FI_EP_MSG,
				     ANYWHERE, FI_MR_ENDPOINT, 0,           0};

static const struct candidate *machine[16];
static const char *installed[4]; /* providers that libfabric has, with or without a device */
static int machine_error;        /* error that fi_getinfo returns instead */
static const char *asked_node;   /* of the latest query that had one */
static uint32_t asked_version;
static void (*spoil)(struct fi_info *info); /* changes an offered info */
static bool resolves_node;                  /* the fake knows every address of 127.0.0.0/8 */

#define MACHINE(...)                                            \
	do {                                                    \
		const struct candidate *list[] = {__VA_ARGS__}; \
		memset(machine, 0, sizeof(machine));            \
		memcpy(machine, list, sizeof(list));            \
	} while (0)

static void put_addr(struct fi_info *info, const char *text)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(4711)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	bool v4 = inet_pton(AF_INET, text, &in.sin_addr) == 1;

	if (!v4)
		ck_assert_int_eq(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
	info->addr_format = v4 ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6;
	info->src_addrlen = v4 ? sizeof(in) : sizeof(in6);
	info->src_addr = malloc(info->src_addrlen);
	memcpy(info->src_addr, v4 ? (void *)&in : (void *)&in6, info->src_addrlen);
}

static int free_nic(struct fid *fid)
{
	struct fid_nic *nic = (struct fid_nic *)(void *)fid;

	free(nic->bus_attr);
	free(nic->link_attr);
	free(nic);
	return 0;
}

static struct fid_nic *make_nic(enum fi_link_state link, uint8_t bus);

static int control_nic(struct fid *fid, int command, void *arg)
{
	struct fid_nic *nic = (struct fid_nic *)(void *)fid, **dup_p = arg;

	ck_assert_int_eq(command, FI_DUP);
	*dup_p =
		make_nic(nic->link_attr->state, nic->bus_attr ? nic->bus_attr->attr.pci.bus_id : 0);
	return 0;
}

static struct fid_nic *make_nic(enum fi_link_state link, uint8_t bus)
{
	static struct fi_ops ops = {.size = sizeof(ops), .close = free_nic, .control = control_nic};
	struct fid_nic *nic = calloc(1, sizeof(*nic));

	nic->fid = (struct fid){.fclass = FI_CLASS_NIC, .ops = &ops};
	nic->link_attr = calloc(1, sizeof(*nic->link_attr));
	nic->link_attr->state = link;
	if (!bus)
		return nic;
	nic->bus_attr = calloc(1, sizeof(*nic->bus_attr));
	*nic->bus_attr = (struct fi_bus_attr){.bus_type = FI_BUS_PCI, .attr.pci = {0, bus, 0, 0}};
	return nic;
}

/* Only the cards of cxi have a PCI address: cxi0 on bus 0x11, cxi1 on 0x22. */
static uint8_t bus_of(const struct candidate *c)
{
	return strncmp(c->domain, "cxi", 3) ? 0 : (uint8_t)(0x11 * (c->domain[3] - '0' + 1));
}

static struct fi_info *make_info(const struct candidate *c, const char *addr)
{
	struct fi_info *info = fi_allocinfo();

	info->caps = c->caps;
	info->ep_attr->type = c->type;
	info->ep_attr->protocol =
		strcmp(c->provider, "verbs") ? FI_PROTO_UNSPEC : FI_PROTO_RDMA_CM_IB_RC;
	info->domain_attr->mr_mode = c->mr_mode;
	info->domain_attr->threading = FI_THREAD_SAFE;
	info->domain_attr->cq_data_size = 8;
	info->domain_attr->name = strdup(c->domain);
	info->fabric_attr->prov_name = strdup(c->provider);
	info->fabric_attr->name = strdup(bus_of(c) ? c->domain : "fabric");
	info->tx_attr->msg_order = info->rx_attr->msg_order = c->msg_order;
	if (addr)
		put_addr(info, addr);
	if (c->link != FI_LINK_UNKNOWN)
		info->nic = make_nic(c->link, bus_of(c));
	return info;
}

static bool core_is(const char *provider, const char *asked)
{
	size_t size = strcspn(provider, ";");

	return !strcmp(provider, asked) || (!strncmp(provider, asked, size) && !asked[size]);
}

static bool offers(const struct candidate *c, const struct fi_info *hints)
{
	const char *provider = hints->fabric_attr->prov_name;

	return (!provider || core_is(c->provider, provider)) &&
	       (hints->ep_attr->type == FI_EP_UNSPEC || hints->ep_attr->type == c->type) &&
	       (hints->caps & ~c->caps) == 0 && (hints->tx_attr->msg_order & ~c->msg_order) == 0 &&
	       (c->mr_mode & ~hints->domain_attr->mr_mode) == 0;
}

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		      const struct fi_info *hints, struct fi_info **info_p);

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		      const struct fi_info *hints, struct fi_info **info_p)
{
	struct fi_info *list = NULL, **tail = &list;

	ck_assert_ptr_null(service);
	if (flags == FI_PROV_ATTR_ONLY) {
		ck_assert_uint_eq(version, FI_VERSION(1, 17));
		for (int i = 0; installed[i]; i++, tail = &(*tail)->next) {
			*tail = fi_allocinfo();
			(*tail)->fabric_attr->prov_name = strdup(installed[i]);
		}
		*info_p = list;
		return list ? 0 : -FI_ENODATA;
	}
	asked_version = version;
	ck_assert_uint_eq(flags, node ? FI_SOURCE | FI_NUMERICHOST : 0);
	ck_assert_int_eq(hints->domain_attr->threading, FI_THREAD_SAFE);
	if (node)
		asked_node = node;
	if (machine_error)
		return machine_error;
	for (int i = 0; machine[i]; i++) {
		const struct candidate *c = machine[i];

		if (!offers(c, hints) ||
		    (node && !resolves_node && (!c->addr || strcmp(c->addr, node))))
			continue;
		*tail = make_info(c, node ? node : c->addr);
		if (spoil)
			spoil(*tail);
		(*tail)->caps &= hints->caps | ~(FI_ATOMIC | FI_FENCE); /* it was not asked for */
		if (!strcmp(c->provider, "cxi"))
			(*tail)->tx_attr->msg_order = hints->tx_attr->msg_order;
		tail = &(*tail)->next;
	}
	if (!list)
		return -FI_ENODATA;
	*info_p = list;
	return 0;
}

static uint32_t running_version = FI_VERSION(1, 17);

uint32_t __wrap_fi_version(void);

uint32_t __wrap_fi_version(void)
{
	return running_version;
}

/* --- helpers --- */

static struct dofi_params params;
static struct fi_info *chosen;
static struct dofi_nic nic;
static const char *transport;

static int choose(const char *name, const char *ia_params)
{
	int ret;

	ck_assert(!dofi_params_load(&params, name, ia_params));
	chosen = NULL;
	ret = dofi_select(name, &params, &chosen, &nic);
	if (!ret) {
		ck_assert_ptr_nonnull(chosen);
		ck_assert_ptr_null(chosen->next);
		transport = chosen->ep_attr->type == FI_EP_MSG ? "msg" : "rdm";
	}
	return ret;
}

static const char *chosen_addr(void)
{
	static char text[DOFI_ADDR_TEXT];
	struct sockaddr_storage addr;

	ck_assert_int_eq(dofi_select_addr("ia", &params, chosen, &addr), 0);
	return dofi_addr_text(&addr, text);
}

static void ck_choice(const char *name, const char *ia_params, const char *domain, const char *addr)
{
	ck_assert_int_eq(choose(name, ia_params), 0);
	ck_assert_str_eq(chosen->domain_attr->name, domain);
	ck_assert_str_eq(chosen_addr(), addr);
	fi_freeinfo(chosen);
}

/* Returns the message if no candidate can be used. */
static const char *none_for(const char *name, const char *ia_params)
{
	int fd = t_capture(STDERR_FILENO);

	ck_assert_int_lt(choose(name, ia_params), 0);
	return t_captured(fd);
}

static void ck_has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in: %s", part, text);
}

static void ck_one_line(const char *text)
{
	ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
}

/* --- tests --- */

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

START_TEST(test_address_that_no_netdev_lists)
{
	MACHINE(&tcp_eth0, &tcp_lo);
	resolves_node = true;
	ck_assert_int_eq(choose("ofi-tcp", "addr=127.9.9.9"), 0);
	ck_assert_str_eq(asked_node, "127.9.9.9");
	ck_assert_str_eq(chosen_addr(), "127.9.9.9");
	fi_freeinfo(chosen);
}
END_TEST

START_TEST(test_foreign_or_bad_address_is_explained)
{
	MACHINE(&tcp_eth0, &tcp_lo);
	ck_has(none_for("ofi", "addr=203.0.113.77"), "has to be an address of this host");
	ck_has(none_for("ofi", "addr=localhost"), "not a numeric");
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

START_TEST(test_netdev_names_the_device_below_it)
{
	MACHINE(&tcp_eth0, &mlx5_lo);
	/* "lo" has 127.0.0.1 on every host that runs this. */
	ck_choice("ib0", "lo 0", "mlx5_0", "127.0.0.1");
}
END_TEST

START_TEST(test_link_down_is_refused)
{
	MACHINE(&mlx5_down);
	ck_has(none_for("ofi", ""), "verbs (mlx5_2): its link is down");
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
}
END_TEST

START_TEST(test_what_a_candidate_lacks_is_named)
{
	static const struct candidate no_rma = {
		"tcp", "eth0", "192.0.2.2", FI_EP_MSG, FI_MSG | FI_REMOTE_COMM, 0, SAW, 0};

	MACHINE(&no_rma);
	ck_has(none_for("ofi", ""),
	       "tcp (eth0): does not offer what the msg transport needs: it lacks FI_RMA");
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

/* --- one of several devices --- */

static const struct t_machine two_cards = {
	.packages = 2,
	.nodes = 1,
	.cores = 4,
	.threads = 1,
	.devices = {{0x11, 0}, {0x22, 0}},
};
static const struct candidate cxi0 = {"cxi",    "cxi0",         NULL,         FI_EP_RDM,
				      ANYWHERE, FI_MR_ENDPOINT, FI_ORDER_SAS, FI_LINK_UP};
static const struct candidate cxi1 = {"cxi",    "cxi1",         NULL,         FI_EP_RDM,
				      ANYWHERE, FI_MR_ENDPOINT, FI_ORDER_SAS, FI_LINK_UP};
static const struct candidate tcp_docker = {"tcp",    "docker0", "172.17.0.1", FI_EP_MSG,
					    ANYWHERE, 0,         SAW,          0};

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
	ck_assert_str_eq(nic.pci_text, "0000:22:00.0");
	ck_assert_str_eq(nic.node_text, "0");
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

/* --- offers that cannot be used --- */

static void spoil_threads(struct fi_info *info)
{
	info->domain_attr->threading = FI_THREAD_DOMAIN;
}

static void spoil_no_threads(struct fi_info *info)
{
	info->domain_attr->threading = FI_THREAD_UNSPEC;
}

static void spoil_control(struct fi_info *info)
{
	/* FI_PROGRESS_CONTROL_UNIFIED */
	*(int *)(void *)&info->domain_attr->control_progress = FI_PROGRESS_MANUAL + 1;
}

static void spoil_mode(struct fi_info *info)
{
	info->mode = FI_MSG_PREFIX;
}

static void spoil_rx_mode(struct fi_info *info)
{
	info->rx_attr->mode = FI_MSG_PREFIX;
}

static void spoil_mr_mode(struct fi_info *info)
{
	info->domain_attr->mr_mode |= FI_MR_RAW;
}

static void spoil_hmem(struct fi_info *info)
{
	info->domain_attr->mr_mode |= FI_MR_HMEM;
}

static void spoil_queues(struct fi_info *info)
{
	info->domain_attr->resource_mgmt = FI_RM_DISABLED;
}

static void spoil_order(struct fi_info *info)
{
	info->rx_attr->msg_order = 0;
}

static void spoil_data(struct fi_info *info)
{
	info->domain_attr->cq_data_size = 2;
}

static void spoil_caps(struct fi_info *info)
{
	info->caps &= ~FI_RMA;
}

static const struct {
	void (*spoil)(struct fi_info *info);
	const char *reason;
	bool msg_lives; /* whether the msg transport can be used with it */
} spoilers[] = {
	{spoil_threads, "not safe for threads (FI_THREAD_DOMAIN)", false},
	{spoil_no_threads, "not safe for threads", false},
	{spoil_control, "FI_PROGRESS_CONTROL_UNIFIED", false},
	{spoil_mode, "insists on FI_MSG_PREFIX", false},
	{spoil_rx_mode, "insists on FI_MSG_PREFIX", false},
	{spoil_mr_mode, "insists on FI_MR_RAW", false},
	{spoil_hmem, "insists on FI_MR_HMEM", false},
	{spoil_queues, "FI_RM_DISABLED", true},
	{spoil_order, "no FI_ORDER_SAS", false},
	{spoil_data, "2 bytes of completion data", true},
	{spoil_caps, "lacks FI_RMA", false},
};

START_TEST(test_unusable_attributes_are_refused)
{
	spoil = spoilers[_i].spoil;
	MACHINE(&rxm_eth0);
	ck_has(none_for("ofi", ""), spoilers[_i].reason);
	MACHINE(&tcp_eth0);
	if (spoilers[_i].msg_lives)
		ck_choice("ofi", "", "eth0", "192.0.2.2");
	else
		ck_has(none_for("ofi", ""), spoilers[_i].reason);
}
END_TEST

static void spoil_contexts(struct fi_info *info)
{
	info->mode = FI_CONTEXT;
	info->tx_attr->mode = FI_CONTEXT2;
	info->rx_attr->mode = FI_ASYNC_IOV;
}

/* The rdm transport has memory for them. */
START_TEST(test_operation_contexts)
{
	spoil = spoil_contexts;
	MACHINE(&rxm_eth0);
	ck_choice("ofi", "", "eth0", "192.0.2.2");
	MACHINE(&tcp_eth0);
	ck_has(none_for("ofi", ""), "the msg transport needs: it insists on ");
}
END_TEST

static void spoil_as_opx(struct fi_info *info)
{
	spoil_order(info);
	info->ep_attr->protocol = FI_PROTO_OPX;
}

START_TEST(test_order_that_is_not_stated)
{
	spoil = spoil_as_opx;
	MACHINE(&rxm_eth0);
	ck_choice("ofi", "", "eth0", "192.0.2.2");
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

/* Hides the network interfaces of this host, which must not affect the result. */
static void forget_this_host(void)
{
	dofi_sysfs = "/nonexistent";
}

int main(void)
{
	Suite *suite = suite_create("select");
	TCase *tc = tcase_create("select");

	unsetenv("FI_PROVIDER");
	tcase_add_checked_fixture(tc, forget_this_host, NULL);
	tcase_add_test(tc, test_ipv4_of_a_real_netdev_wins);
	tcase_add_test(tc, test_ipv6_when_there_is_no_ipv4);
	tcase_add_test(tc, test_link_local_is_never_used);
	tcase_add_test(tc, test_loopback_when_named_or_alone);
	tcase_add_test(tc, test_address_that_no_netdev_lists);
	tcase_add_test(tc, test_foreign_or_bad_address_is_explained);
	tcase_add_test(tc, test_hardware_is_preferred);
	tcase_add_test(tc, test_netdev_names_the_device_below_it);
	tcase_add_test(tc, test_link_down_is_refused);
	tcase_add_loop_test(tc, test_rdm_only_takes_the_rdm_transport, 0, 3);
	tcase_add_test(tc, test_fence_is_used_if_offered);
	tcase_add_test(tc, test_every_refused_candidate_is_named);
	tcase_add_test(tc, test_no_candidate_at_all);
	tcase_add_test(tc, test_provider_excluded_by_FI_PROVIDER);
	tcase_add_test(tc, test_what_a_candidate_lacks_is_named);
	tcase_add_test(tc, test_transport_word);
	tcase_add_test(tc, test_refusals_are_logged_at_level_info);
	tcase_add_test(tc, test_success_logs_nothing);
	tcase_add_test(tc, test_equal_devices_are_spread);
	tcase_add_test(tc, test_devices_of_other_providers_are_not_equal);
	tcase_add_test(tc, test_device_by_pci_address_or_netdev);
	tcase_add_test(tc, test_device_by_subnet);
	tcase_add_test(tc, test_interfaces_of_containers_come_last_unless_named);
	tcase_add_test(tc, test_failing_getinfo_and_old_libfabric);
	tcase_add_test(tc, test_version_of_the_interface);
	tcase_add_loop_test(tc, test_unusable_attributes_are_refused, 0,
			    sizeof(spoilers) / sizeof(spoilers[0]));
	tcase_add_test(tc, test_operation_contexts);
	tcase_add_test(tc, test_order_that_is_not_stated);
	tcase_add_test(tc, test_atomic_operations_of_devices);
	tcase_add_test(tc, test_device_without_atomic_operations);
	tcase_add_test(tc, test_address_with_a_fabric_without_addresses);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
