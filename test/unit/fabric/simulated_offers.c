/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "simulated_offers.h"

#include "base/addr.h"
#include "fabric/requirements.h"
#include "fabric/select.h"
#include "fabric/topo.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <sys/socket.h>

const struct candidate tcp_eth0 = {"tcp", "eth0", "192.0.2.2", FI_EP_MSG, ANYWHERE, 0, SAW, 0};
const struct candidate tcp_eth0_ll = {"tcp", "eth0", "fe80::1", FI_EP_MSG, ANYWHERE, 0, SAW, 0};
const struct candidate tcp_eth0_v6 = {"tcp", "eth0", "2001:db8::2", FI_EP_MSG, ANYWHERE, 0, SAW, 0};
const struct candidate tcp_eth1 = {"tcp", "eth1", "198.51.100.7", FI_EP_MSG, ANYWHERE, 0, SAW, 0};
const struct candidate tcp_lo = {"tcp", "lo", "127.0.0.1", FI_EP_MSG, HOST_ONLY, 0, SAW, 0};
const struct candidate tcp_lo6 = {"tcp", "lo", "::1", FI_EP_MSG, HOST_ONLY, 0, SAW, 0};
const struct candidate rxm_eth0 = {"tcp;ofi_rxm", "eth0", "192.0.2.2", FI_EP_RDM,
				   ANYWHERE,      0,      SAW,         0};
const struct candidate udp_eth0 = {"udp", "eth0", "192.0.2.2", FI_EP_DGRAM, FI_MSG, 0, 0, 0};
const struct candidate mlx5 = {"verbs",  "mlx5_0", "192.0.2.3", FI_EP_MSG,
			       ANYWHERE, VERBS_MR, SAW,         FI_LINK_UP};
const struct candidate mlx5_lo = {"verbs",  "mlx5_0", "127.0.0.1", FI_EP_MSG,
				  ANYWHERE, VERBS_MR, SAW,         FI_LINK_UP};
const struct candidate mlx5_v6 = {"verbs",  "mlx5_1", "2001:db8::3", FI_EP_MSG,
				  ANYWHERE, VERBS_MR, SAW,           FI_LINK_UP};
const struct candidate mlx5_down = {"verbs",  "mlx5_2", "192.0.2.4", FI_EP_MSG,
				    ANYWHERE, VERBS_MR, SAW,         FI_LINK_DOWN};
const struct candidate efa = {"efa",    "rdmap0s6-rdm",          NULL,         FI_EP_RDM,
			      ANYWHERE, VERBS_MR & ~FI_MR_LOCAL, FI_ORDER_SAS, FI_LINK_UP};
const struct candidate cxi = {"cxi",        "cxi0",    NULL,
			      FI_EP_RDM,    ANYWHERE,  FI_MR_ENDPOINT | FI_MR_ALLOCATED,
			      FI_ORDER_SAS, FI_LINK_UP};
const struct candidate shm = {"shm", "shm", NULL, FI_EP_RDM, HOST_ONLY, 0, SAW, 0};
const struct candidate odd_rdm = {"odd_rdm", "odd1", NULL, FI_EP_RDM, ANYWHERE, FI_MR_RAW, 0, 0};
const struct candidate odd = {"odd",    "odd0",         "192.0.2.9", FI_EP_MSG,
			      ANYWHERE, FI_MR_ENDPOINT, 0,           0};
const struct t_machine two_cards = {
	.packages = 2,
	.nodes = 1,
	.cores = 4,
	.threads = 1,
	.devices = {{0x11, 0}, {0x22, 0}},
};
const struct candidate cxi0 = {"cxi",    "cxi0",         NULL,         FI_EP_RDM,
			       ANYWHERE, FI_MR_ENDPOINT, FI_ORDER_SAS, FI_LINK_UP};
const struct candidate cxi1 = {"cxi",    "cxi1",         NULL,         FI_EP_RDM,
			       ANYWHERE, FI_MR_ENDPOINT, FI_ORDER_SAS, FI_LINK_UP};

const struct candidate *machine[80];
const char *installed[4];
int machine_error;
const char *asked_node;
uint32_t asked_version;
void (*spoil)(struct fi_info *info);
bool resolves_node;
volatile bool making;

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
	making = true;
	*dup_p =
		make_nic(nic->link_attr->state, nic->bus_attr ? nic->bus_attr->attr.pci.bus_id : 0);
	making = false;
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

struct fi_info *make_info(const struct candidate *c, const char *addr)
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

/* The hints are those of a row, without what the row does not tell if they ask for more. */
static bool follow(const struct fi_info *hints, const struct dofi_requirements *row)
{
	bool more = hints->caps & FI_ATOMIC;

	return hints->ep_attr->type == row->ep_type && (hints->caps & ~FI_ATOMIC) == row->caps &&
	       hints->mode == row->mode && hints->domain_attr->mr_mode == row->mr_mode &&
	       (more || (hints->domain_attr->cq_data_size == row->cq_data_size &&
			 hints->domain_attr->resource_mgmt == row->queues &&
			 hints->tx_attr->msg_order == row->order &&
			 hints->rx_attr->msg_order == row->order));
}

static void ck_hints(const struct fi_info *hints)
{
	bool known = hints->ep_attr->type == FI_EP_UNSPEC && hints->mode == ~(uint64_t)0;

	for (size_t i = 0; i < DOFI_NREQUIREMENTS; i++)
		known |= follow(hints, &dofi_requirements[i]);
	ck_assert(known);
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
	ck_hints(hints);
	if (node)
		asked_node = node;
	if (machine_error)
		return machine_error;
	for (int i = 0; machine[i]; i++) {
		const struct candidate *c = machine[i];

		if (!offers(c, hints) ||
		    (node && !resolves_node && (!c->addr || strcmp(c->addr, node))))
			continue;
		making = true;
		*tail = make_info(c, node ? node : c->addr);
		making = false;
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

uint32_t running_version = FI_VERSION(1, 17);

uint32_t __wrap_fi_version(void);

uint32_t __wrap_fi_version(void)
{
	return running_version;
}

struct dofi_params params;
struct fi_info *chosen;
struct dofi_nic chosen_nic;
const char *transport;

int choose(const char *name, const char *ia_params)
{
	int ret;

	ck_assert(!dofi_params_load(&params, name, ia_params));
	chosen = NULL;
	ret = dofi_select(name, &params, &chosen, &chosen_nic);
	if (!ret) {
		ck_assert_ptr_nonnull(chosen);
		ck_assert_ptr_null(chosen->next);
		transport = chosen->ep_attr->type == FI_EP_MSG ? "msg" : "rdm";
	}
	return ret;
}

const char *chosen_addr(void)
{
	static char text[DOFI_ADDR_TEXT];
	struct sockaddr_storage addr;

	ck_assert_int_eq(dofi_select_addr("ia", &params, chosen, &addr), 0);
	return dofi_addr_text(&addr, text);
}

void ck_choice(const char *name, const char *ia_params, const char *domain, const char *addr)
{
	ck_assert_int_eq(choose(name, ia_params), 0);
	ck_assert_str_eq(chosen->domain_attr->name, domain);
	ck_assert_str_eq(chosen_addr(), addr);
	fi_freeinfo(chosen);
}

/* Returns the message if no candidate can be used. */
const char *none_for(const char *name, const char *ia_params)
{
	int fd = t_capture(STDERR_FILENO);

	ck_assert_int_lt(choose(name, ia_params), 0);
	return t_captured(fd);
}

void ck_has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in: %s", part, text);
}

static void hide_interfaces(void)
{
	dofi_sysfs = "/nonexistent";
}

int run_choices(Suite *suite, TCase *tc)
{
	unsetenv("FI_PROVIDER");
	tcase_add_checked_fixture(tc, hide_interfaces, NULL);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
