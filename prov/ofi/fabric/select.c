/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/select.h"

#include "fabric/absent.h"
#include "base/addr.h"
#include "fabric/device_atomics.h"
#include "base/log.h"
#include "fabric/netdev.h"
#include "fabric/nic.h"
#include "base/param.h"
#include "fabric/quirks.h"

#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The interfaces that this code is written to, and what every one of them needs. */
#define OLDEST_API FI_VERSION(1, 17)
#define NEWEST_API FI_VERSION(2, 6)

/* What a transport needs from a fabric. Earlier rows are looked at first. */
struct row {
	const char *transport; /* what transport= in ia_params says */
	enum fi_ep_type ep_type;
	uint64_t caps;
	int mr_mode;
	uint64_t mode;
	size_t cq_data_size; /* bytes of completion data that it can't do without */
	/* FI_RM_ENABLED: the fabric has to keep its queues from overflowing */
	enum fi_resource_mgmt queues;
	/* some promise none to those who do not ask; others tell all that they have */
	uint64_t order;
};

#define MR_MODE     (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

/*
 * Mode bits that the rdm transport lives with. Contexts have memory (op_context.h), and the
 * segments of an operation stay as they are in its work request until it completes.
 */
#define ASKED_MODES (DOFI_CONTEXT_MODES | FI_ASYNC_IOV)

/*
 * A fence must be asked for, as the order of writes beside it, and where there is none nothing is
 * offered to those who ask.
 */
static const struct row rows[] = {
	{"msg", FI_EP_MSG, FI_MSG | FI_RMA, MR_MODE, FI_RX_CQ_DATA, 0, FI_RM_UNSPEC, 0},
	{"rdm", FI_EP_RDM, FI_TAGGED | FI_RMA | FI_FENCE, MR_MODE | FI_MR_ENDPOINT, ASKED_MODES, 4,
	 FI_RM_ENABLED, FI_ORDER_SAS | FI_ORDER_WAW},
	{"rdm", FI_EP_RDM, FI_TAGGED | FI_RMA, MR_MODE | FI_MR_ENDPOINT, ASKED_MODES, 4,
	 FI_RM_ENABLED, FI_ORDER_SAS},
	{"rdm", FI_EP_RDM, FI_TAGGED | FI_RMA, MR_MODE | FI_MR_ENDPOINT, ASKED_MODES, 4,
	 FI_RM_ENABLED, 0},
};

#define NROWS (sizeof(rows) / sizeof(rows[0]))

/* Candidates of one provider refused for one reason. */
struct refusal {
	char provider[32];
	char reason[160];
	char domains[256];
};

#define MAX_REFUSALS 64

struct search {
	const char *ia_name;
	const struct dofi_params *params;
	bool has_addr;
	struct sockaddr_storage addr; /* what params->addr says */
	bool has_subnet, has_pci;
	struct dofi_subnet subnet;
	struct fi_pci_attr pci;
	struct fi_info *lists[NROWS];
	const struct fi_info *best;
	const struct row *best_row;
	unsigned int best_rank;
	struct dofi_nic *nic;
	struct refusal refusals[MAX_REFUSALS];
	unsigned int nrefusals;
};

/* --- addresses --- */

/* The address of an info when it is an IP address. */
static bool info_addr(const struct fi_info *info, struct sockaddr_storage *addr_p)
{
	if (!info->src_addr)
		return false;
	if (info->addr_format != FI_SOCKADDR && info->addr_format != FI_SOCKADDR_IN &&
	    info->addr_format != FI_SOCKADDR_IN6)
		return false;
	return dofi_addr_set(addr_p, info->src_addr, 0);
}

/* Only the kernel knows: all of 127.0.0.0/8 is ours, though no netdev lists it. 0 or an errno. */
static int check_local(const struct sockaddr_storage *addr)
{
	int fd = socket(addr->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return errno;
	err = bind(fd, (const struct sockaddr *)addr, dofi_addr_len(addr)) ? errno : 0;
	close(fd);
	return err;
}

/* --- refusals --- */

static const char *domain_of(const struct fi_info *info)
{
	return info->domain_attr && info->domain_attr->name ? info->domain_attr->name : "unnamed";
}

static const char *provider_of(const struct fi_info *info)
{
	return info->fabric_attr->prov_name ? info->fabric_attr->prov_name : "unnamed";
}

/* Whether a comma separated list has the word. */
static bool list_has(const char *list, const char *word)
{
	size_t size = strlen(word);

	for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
		if ((at == list || at[-1] == ' ') && (!at[size] || at[size] == ','))
			return true;
	return false;
}

static void refuse(struct search *s, const struct fi_info *info, const char *reason)
{
	struct refusal *r = s->refusals;
	size_t used;

	while (r < s->refusals + s->nrefusals &&
	       (strcmp(r->provider, provider_of(info)) || strcmp(r->reason, reason)))
		r++;
	if (r == s->refusals + MAX_REFUSALS)
		return;
	if (r == s->refusals + s->nrefusals) {
		s->nrefusals++;
		snprintf(r->provider, sizeof(r->provider), "%s", provider_of(info));
		snprintf(r->reason, sizeof(r->reason), "%s", reason);
	}
	used = strlen(r->domains);
	if (!list_has(r->domains, domain_of(info)))
		snprintf(r->domains + used, sizeof(r->domains) - used, "%s%s", used ? ", " : "",
			 domain_of(info));
}

/* --- what a fabric insists on --- */

/* The modes of all levels: each has to be satisfied, wherever it stands. */
static uint64_t modes_of(const struct fi_info *info)
{
	return info->mode | info->domain_attr->mode | (info->tx_attr ? info->tx_attr->mode : 0) |
	       (info->rx_attr ? info->rx_attr->mode : 0);
}

/*
 * Since libfabric 1.21 a program can promise to make control calls one at a time. This one does
 * not.
 */
static bool wants_control_in_turn(const struct fi_domain_attr *attr)
{
	return (int)attr->control_progress > FI_PROGRESS_MANUAL ||
	       (int)attr->data_progress > FI_PROGRESS_MANUAL;
}

static bool keeps_order(const struct fi_info *info)
{
	if (dofi_quirks_of(info) & DOFI_QUIRK_UNSTATED_ORDER)
		return true;
	return info->tx_attr && info->rx_attr &&
	       info->tx_attr->msg_order & info->rx_attr->msg_order & FI_ORDER_SAS;
}

/* Rights and duties that are numbers: what is missing, or demanded beyond the row, in words. */
static bool lacks_bits(const struct row *row, const struct fi_info *info, char *text, size_t size)
{
	uint64_t caps = row->caps & ~info->caps, mode = modes_of(info) & ~row->mode;
	int mr_mode = info->domain_attr->mr_mode & ~row->mr_mode;
	char words[64];

	if (caps)
		snprintf(text, size, "it lacks %s",
			 fi_tostr_r(words, sizeof(words), &caps, FI_TYPE_CAPS));
	else if (mr_mode)
		snprintf(text, size, "it insists on %s",
			 fi_tostr_r(words, sizeof(words), &mr_mode, FI_TYPE_MR_MODE));
	else if (mode)
		snprintf(text, size, "it insists on %s",
			 fi_tostr_r(words, sizeof(words), &mode, FI_TYPE_MODE));
	return caps || mr_mode || mode;
}

static bool lacks_model(const struct row *row, const struct fi_info *info, char *text, size_t size)
{
	const struct fi_domain_attr *attr = info->domain_attr;
	char words[64];

	if (attr->cq_data_size < row->cq_data_size)
		snprintf(text, size, "it has %zu bytes of completion data, needed are %zu",
			 attr->cq_data_size, row->cq_data_size);
	else if (attr->threading != FI_THREAD_SAFE)
		snprintf(text, size, "it is not safe for threads (%s)",
			 fi_tostr_r(words, sizeof(words), &attr->threading, FI_TYPE_THREADING));
	else if (wants_control_in_turn(attr))
		snprintf(
			text, size,
			"its control calls are not safe for threads (FI_PROGRESS_CONTROL_UNIFIED)");
	else if (row->queues == FI_RM_ENABLED && attr->resource_mgmt == FI_RM_DISABLED)
		snprintf(text, size, "it lets its queues overflow (FI_RM_DISABLED)");
	else if (!keeps_order(info))
		snprintf(text, size, "its messages overtake each other (no FI_ORDER_SAS)");
	else
		return false;
	return true;
}

/* Which attribute of this info the row can't live with. */
static bool put_lack(const struct row *row, const struct fi_info *info, char *text, size_t size)
{
	return lacks_bits(row, info, text, size) || lacks_model(row, info, text, size);
}

/* Of a row that exists. False when there is nothing to object to. */
static bool refuse_lack(struct search *s, const struct row *row, const struct fi_info *info)
{
	char reason[160], lack[96];

	if (!put_lack(row, info, lack, sizeof(lack)))
		return false;
	snprintf(reason, sizeof(reason), "does not offer what the %s transport needs: %s",
		 row->transport, lack);
	refuse(s, info, reason);
	return true;
}

/* --- judging --- */

static bool on_device(const struct fi_info *info, const struct fi_pci_attr *pci)
{
	struct fi_pci_attr own;

	return dofi_nic_pci(info, &own) && dofi_pci_equal(&own, pci);
}

/* "ib0" names a device by the netdev that lies on it. */
static bool domain_matches(const struct search *s, const struct fi_info *info,
			   const struct sockaddr_storage *addr)
{
	const char *wanted = s->params->domain;
	struct fi_pci_attr pci;

	if (!*wanted || !strcmp(wanted, domain_of(info)))
		return true;
	return addr ? dofi_netdev_has(wanted, addr)
		    : dofi_netdev_pci(wanted, &pci) && on_device(info, &pci);
}

static bool subnet_matches(const struct search *s, const struct fi_info *info,
			   const struct sockaddr_storage *addr)
{
	struct fi_pci_attr pci;

	if (!s->has_subnet)
		return true;
	return addr ? dofi_subnet_has(&s->subnet, addr)
		    : dofi_nic_pci(info, &pci) && dofi_pci_in_subnet(&pci, &s->subnet);
}

static bool link_is_down(const struct fi_info *info)
{
	return info->nic && info->nic->link_attr && info->nic->link_attr->state == FI_LINK_DOWN;
}

/* Why this candidate can't be used, or NULL. addr: its IP address, or NULL. */
static const char *objection(const struct search *s, const struct fi_info *info,
			     const struct sockaddr_storage *addr)
{
	if (!domain_matches(s, info, addr))
		return "another domain is asked for";
	if (s->has_addr && addr && !dofi_addr_same_host(addr, &s->addr))
		return "another address is asked for";
	if (!subnet_matches(s, info, addr))
		return "another subnet is asked for";
	if (s->has_pci && !on_device(info, &s->pci))
		return "another PCI device is asked for";
	if (addr && dofi_addr_is_link_local(addr))
		return "its address is link-local, which DAT addresses can't tell apart";
	if (link_is_down(info))
		return "its link is down";
	return NULL;
}

/* tcp says so of the loopback, shm of itself. */
static bool is_host_only(const struct fi_info *info, const struct sockaddr_storage *addr)
{
	return (addr && dofi_addr_is_loopback(addr)) ||
	       (info->caps & FI_LOCAL_COMM && !(info->caps & FI_REMOTE_COMM));
}

/* Lower is better; libfabric's own order decides among equals. */
static unsigned int rank_of(const struct fi_info *info, const struct sockaddr_storage *addr)
{
	unsigned int rank = 0;

	if (is_host_only(info, addr))
		rank += 1000;
	if (!info->nic)
		rank += 100;
	if (dofi_netdev_is_virtual(domain_of(info)))
		rank += 200;
	if (!addr)
		rank += 20;
	else if (addr->ss_family == AF_INET6)
		rank += 10;
	return rank;
}

static void judge(struct search *s, const struct row *row, const struct fi_info *info)
{
	struct sockaddr_storage storage, *addr = info_addr(info, &storage) ? &storage : NULL;
	const char *reason = objection(s, info, addr);
	unsigned int rank;

	if (reason) {
		refuse(s, info, reason);
		return;
	}
	if (refuse_lack(s, row, info))
		return;
	rank = rank_of(info, addr);
	if (s->best && s->best_rank <= rank)
		return;
	s->best = info;
	s->best_row = row;
	s->best_rank = rank;
}

/* --- queries --- */

static struct fi_info *hints_for(const struct search *s, enum fi_ep_type type, uint64_t caps,
				 uint64_t mode, int mr_mode)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = caps;
	hints->mode = mode;
	hints->ep_attr->type = type;
	hints->domain_attr->mr_mode = mr_mode;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	if (*s->params->provider) {
		hints->fabric_attr->prov_name = strdup(s->params->provider);
		if (!hints->fabric_attr->prov_name) {
			fi_freeinfo(hints);
			return NULL;
		}
	}
	return hints;
}

/* The newest interface that libfabric, its headers at build time and this code know. */
uint32_t dofi_api_version(void)
{
	const uint32_t built = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
		       running = fi_version();
	uint32_t version = FI_VERSION_LT(running, built) ? running : built;

	return FI_VERSION_LT(version, NEWEST_API) ? version : NEWEST_API;
}

static int query(const struct fi_info *hints, const char *node, struct fi_info **list_p)
{
	int ret = fi_getinfo(dofi_api_version(), node, NULL, node ? FI_SOURCE | FI_NUMERICHOST : 0,
			     hints, list_p);

	if (ret)
		*list_p = NULL;
	return ret == -FI_ENODATA ? 0 : ret;
}

static int query_row(struct search *s, const struct row *row)
{
	struct fi_info *hints, **list_p = &s->lists[row - rows];
	struct sockaddr_storage addr;
	int ret = 0;

	hints = hints_for(s, row->ep_type, row->caps, row->mode, row->mr_mode);
	if (!hints)
		return -FI_ENOMEM;
	hints->domain_attr->cq_data_size = row->cq_data_size;
	hints->domain_attr->resource_mgmt = row->queues;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = row->order;
	/*
	 * An address that no netdev lists is found only by its name; fabrics without IP don't
	 * take one, or take it for something else.
	 */
	if (s->has_addr)
		ret = query(hints, s->params->addr, list_p);
	if (*list_p && !info_addr(*list_p, &addr)) {
		fi_freeinfo(*list_p);
		*list_p = NULL;
	}
	if (!*list_p)
		ret = query(hints, NULL, list_p);
	fi_freeinfo(hints);
	for (const struct fi_info *info = *list_p; info; info = info->next)
		judge(s, row, info);
	return ret;
}

static bool is_known(const struct search *s, const struct fi_info *info)
{
	for (size_t i = 0; i < NROWS; i++)
		for (const struct fi_info *known = s->lists[i]; known; known = known->next)
			if (dofi_same_core(provider_of(known), provider_of(info)))
				return true;
	return false;
}

/* The row that asks least of this kind. */
static const struct row *row_for(enum fi_ep_type type)
{
	for (size_t i = NROWS; i-- > 0;)
		if (rows[i].ep_type == type)
			return &rows[i];
	return NULL;
}

static void refuse_other(struct search *s, const struct fi_info *info)
{
	const struct row *row = row_for(info->ep_attr->type);
	char reason[160];

	if (info->ep_attr->type == FI_EP_DGRAM) {
		refuse(s, info, "offers datagrams only");
		return;
	}
	if (!row) {
		refuse(s, info, "offers endpoints of a kind that no transport knows");
		return;
	}
	if (*s->params->transport && strcmp(s->params->transport, row->transport)) {
		snprintf(reason, sizeof(reason), "it takes transport=%s", row->transport);
		refuse(s, info, reason);
		return;
	}
	if (refuse_lack(s, row, info))
		return;
	snprintf(reason, sizeof(reason),
		 "does not offer what the %s transport needs: it refuses them together, though "
		 "none alone",
		 row->transport);
	refuse(s, info, reason);
}

/* Names what libfabric has besides: providers that gave no candidate at all. */
static void explain_others(struct search *s)
{
	const int any_mr_mode = FI_MR_LOCAL | FI_MR_RAW | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				FI_MR_PROV_KEY | FI_MR_MMU_NOTIFY | FI_MR_RMA_EVENT |
				FI_MR_ENDPOINT | FI_MR_HMEM;
	struct fi_info *hints = hints_for(s, FI_EP_UNSPEC, 0, ~(uint64_t)0, any_mr_mode), *list;

	if (!hints)
		return;
	query(hints, NULL, &list);
	fi_freeinfo(hints);
	for (const struct fi_info *info = list; info; info = info->next)
		if (!is_known(s, info))
			refuse_other(s, info);
	fi_freeinfo(list);
}

/* --- devices that are equal but for their place --- */

static bool listed(const struct fi_info *const *list, unsigned int n, const struct fi_info *info)
{
	while (n--)
		if (!strcmp(domain_of(list[n]), domain_of(info)))
			return true;
	return false;
}

static bool same_fabric(const struct fi_info *a, const struct fi_info *b)
{
	return a->fabric_attr->name && b->fabric_attr->name &&
	       !strcmp(a->fabric_attr->name, b->fabric_attr->name);
}

/*
 * Devices on one fabric reach the same peers, by all we know; those on different subnets may not.
 * Where there is no IP all devices are on one network, also when each calls its fabric otherwise
 * (efa of libfabric 1.17).
 */
static bool equals_best(const struct search *s, const struct fi_info *info)
{
	struct sockaddr_storage storage, *addr = info_addr(info, &storage) ? &storage : NULL;

	return info->nic && info->nic->bus_attr &&
	       !strcmp(provider_of(info), provider_of(s->best)) &&
	       (!addr || same_fabric(info, s->best)) && !objection(s, info, addr) &&
	       rank_of(info, addr) == s->best_rank;
}

static void choose_device(struct search *s)
{
	const struct fi_info *equals[DOFI_MAX_EQUALS] = {s->best};
	unsigned int n = 1;

	for (const struct fi_info *info = s->best->next; info && n < DOFI_MAX_EQUALS;
	     info = info->next)
		if (!listed(equals, n, info) && equals_best(s, info))
			equals[n++] = info;
	s->best = equals[dofi_nic_choose(s->params, equals, n, s->nic)];
}

/* --- atomic operations --- */

static bool same_address(const struct fi_info *a, const struct fi_info *b)
{
	return a->src_addrlen == b->src_addrlen &&
	       (!a->src_addrlen || !memcmp(a->src_addr, b->src_addr, a->src_addrlen));
}

static const struct fi_info *find_same(const struct fi_info *list, const struct fi_info *as)
{
	for (; list; list = list->next)
		if (!strcmp(domain_of(list), domain_of(as)) && same_address(list, as))
			return list;
	return NULL;
}

/* What was chosen, with atomic operations where they are worth something; else as it is. */
static void add_atomics(struct search *s, struct fi_info **info_p)
{
	const struct row *row = s->best_row;
	struct fi_info *hints, *list = NULL, *with;

	if (!dofi_atomics_wanted(dofi_quirks_of(*info_p)))
		return;
	hints = hints_for(s, row->ep_type, row->caps | FI_ATOMIC, row->mode, row->mr_mode);
	if (!hints)
		return;
	query(hints, s->has_addr ? s->params->addr : NULL, &list);
	fi_freeinfo(hints);
	with = find_same(list, *info_p) ? fi_dupinfo(find_same(list, *info_p)) : NULL;
	fi_freeinfo(list);
	if (!with)
		return;
	fi_freeinfo(*info_p);
	*info_p = with;
}

/* --- report --- */

static void put_refusals(const struct search *s, FILE *out)
{
	for (unsigned int i = 0; i < s->nrefusals; i++) {
		const struct refusal *r = &s->refusals[i];

		fprintf(out, "%s%s (%s): %s", i ? "; " : "", r->provider, r->domains, r->reason);
	}
}

/* What narrows the choice, in brackets. */
static void put_wish(const struct search *s, FILE *out)
{
	const struct dofi_params *p = s->params;
	const char *env = getenv("FI_PROVIDER");
	const struct {
		const char *key, *value;
	} wishes[] = {
		{"provider", p->provider},       {"domain", p->domain}, {"addr", p->addr},
		{"transport", p->transport},     {"subnet", p->subnet}, {"pci", p->pci},
		{"FI_PROVIDER", env ? env : ""},
	};
	const char *before = " (";

	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		if (!*wishes[i].value)
			continue;
		fprintf(out, "%s%s=%s", before, wishes[i].key, wishes[i].value);
		before = " ";
	}
	if (strcmp(before, " ("))
		fputc(')', out);
}

static void report_none(const struct search *s)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	put_wish(s, out);
	fputs(": ", out);
	put_refusals(s, out);
	if (!s->nrefusals)
		dofi_absent_explain(s->params->provider, out);
	if (!fclose(out))
		DOFI_LOG_E("IA %s: no fabric can be used%s", s->ia_name, text);
	free(text);
}

static void report_choice(const struct search *s)
{
	struct sockaddr_storage addr;
	char text[DOFI_ADDR_TEXT] = "no IP address";
	char *refused = NULL;
	size_t size;
	FILE *out;

	if (dofi_log_level < DOFI_LOG_INFO)
		return;
	if (info_addr(s->best, &addr))
		dofi_addr_text(&addr, text);
	DOFI_LOG_I("IA %s uses provider %s, domain %s, %s, transport %s", s->ia_name,
		   provider_of(s->best), domain_of(s->best), text, s->best_row->transport);
	DOFI_LOG_I("IA %s: %s%s%s is %s", s->ia_name, domain_of(s->best),
		   *s->nic->pci_text ? " at PCI " : "", s->nic->pci_text, s->nic->why);
	out = s->nrefusals ? open_memstream(&refused, &size) : NULL;
	if (!out)
		return;
	put_refusals(s, out);
	if (!fclose(out))
		DOFI_LOG_I("IA %s does not use %s", s->ia_name, refused);
	free(refused);
}

/* --- entry points --- */

static int check_wish(struct search *s)
{
	const struct dofi_params *p = s->params;
	uint32_t version = fi_version();
	int err;

	if (FI_VERSION_LT(version, OLDEST_API)) {
		DOFI_LOG_E("IA %s: libfabric %u.%u is too old; 1.17 or newer is needed: install "
			   "it, or let LD_LIBRARY_PATH find it first",
			   s->ia_name, FI_MAJOR(version), FI_MINOR(version));
		return -FI_ENOSYS;
	}
	if (dofi_nic_check(s->ia_name, p))
		return -FI_EINVAL;
	s->has_subnet = *p->subnet;
	if (s->has_subnet && !dofi_subnet_parse(&s->subnet, p->subnet)) {
		DOFI_LOG_E("IA %s: subnet=%s is not a subnet such as 192.0.2.0/24", s->ia_name,
			   p->subnet);
		return -FI_EINVAL;
	}
	s->has_pci = *p->pci;
	if (s->has_pci && !dofi_pci_parse(&s->pci, p->pci)) {
		DOFI_LOG_E(
			"IA %s: pci=%s is not an address such as 0000:3b:00.0; lspci -D lists them",
			s->ia_name, p->pci);
		return -FI_EINVAL;
	}
	if (!*p->addr)
		return 0;
	if (!dofi_addr_parse(p->addr, &s->addr)) {
		DOFI_LOG_E("IA %s: addr=%s is not a numeric IPv4 or IPv6 address such as 192.0.2.1 "
			   "or fe80::1",
			   s->ia_name, p->addr);
		return -FI_EINVAL;
	}
	s->has_addr = true;
	err = check_local(&s->addr);
	if (err)
		DOFI_LOG_E("IA %s: addr=%s can't be used: %s; it has to be an address of this host",
			   s->ia_name, p->addr, strerror(err));
	return -err;
}

static int search_rows(struct search *s)
{
	bool any = false;

	for (size_t i = 0; i < NROWS; i++) {
		int ret;

		if (*s->params->transport && strcmp(s->params->transport, rows[i].transport))
			continue;
		any = true;
		ret = query_row(s, &rows[i]);
		if (ret) {
			DOFI_LOG_E("IA %s: libfabric can't tell its fabrics: %s; fi_info and "
				   "FI_LOG_LEVEL=warn show more",
				   s->ia_name, fi_strerror(-ret));
			return ret;
		}
	}
	if (!any) {
		DOFI_LOG_E("IA %s: transport=%s is not known; there are msg and rdm", s->ia_name,
			   s->params->transport);
		return -FI_EINVAL;
	}
	return 0;
}

static int search_best(struct search *s, struct fi_info **info_p)
{
	int ret = check_wish(s);

	if (!ret)
		ret = search_rows(s);
	if (ret)
		return ret;
	if (!s->best || dofi_log_level >= DOFI_LOG_INFO)
		explain_others(s);
	if (!s->best) {
		report_none(s);
		return -FI_ENODATA;
	}
	choose_device(s);
	*info_p = fi_dupinfo(s->best);
	if (!*info_p)
		return -FI_ENOMEM;
	add_atomics(s, info_p);
	report_choice(s);
	return 0;
}

int dofi_select(const char *ia_name, const struct dofi_params *params, struct fi_info **info_p,
		struct dofi_nic *nic_p)
{
	struct search *s = calloc(1, sizeof(*s));
	int ret;

	if (!s)
		return -FI_ENOMEM;
	s->ia_name = ia_name;
	s->params = params;
	s->nic = nic_p;
	ret = search_best(s, info_p);
	for (size_t i = 0; i < NROWS; i++)
		fi_freeinfo(s->lists[i]);
	free(s);
	return ret;
}

int dofi_select_addr(const char *ia_name, const struct dofi_params *params,
		     const struct fi_info *info, struct sockaddr_storage *addr_p)
{
	struct dofi_subnet subnet;

	if (*params->addr && dofi_addr_parse(params->addr, addr_p))
		return 0;
	if (info_addr(info, addr_p) && !dofi_addr_is_any(addr_p))
		return 0;
	if (dofi_netdev_host_addr(dofi_subnet_parse(&subnet, params->subnet) ? &subnet : NULL,
				  addr_p))
		return 0;
	DOFI_LOG_E("IA %s: this host has no IP address to listen at; give one to an interface (ip "
		   "address add), or name it by addr=",
		   ia_name);
	return -EADDRNOTAVAIL;
}
