/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_getinfo: compares hints with each profile, and asks the core. */
#include "sham.h"

#include <stdlib.h>
#include <string.h>

/*
 * libfabric may be newer than our headers and have longer structures. The structures that we return
 * have room for that.
 */
#define ROOM        256

/* The value of FI_MR_BASIC, whose name newer headers deprecate. The cores still accept it. */
#define MR_BASIC    1

#define FABRIC_NAME "sham"
#define ANY_TAG     UINT64_C(0xaaaaaaaaaaaaaaaa) /* no fields, as fi_endpoint(3) writes it */
#define CORE_CAPS                                                                                \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | \
	 FI_REMOTE_WRITE | FI_DIRECTED_RECV | FI_SOURCE | FI_MULTI_RECV)
#define PRIMARY_CAPS                                                                             \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | \
	 FI_REMOTE_WRITE | FI_DIRECTED_RECV)

/* Addresses for cores that would otherwise choose one that other hosts can reach. */
static const struct {
	const char *core, *node;
} nodes[] = {
	{"tcp;ofi_rxm", "127.0.0.1"},
	{"net", "127.0.0.1"},
	{"tcp", "127.0.0.1"},
};

/* We ask the core through fi_getinfo, which may call us again. */
static _Thread_local bool asking;

/* --- the core --- */

const char *sham_core_name(void)
{
	const char *name = sham_param("core");

	return name ? name : "shm";
}

static const char *core_node(const char *core)
{
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		if (!strcmp(nodes[i].core, core))
			return nodes[i].node;
	return NULL;
}

int sham_core_info(const struct sham_profile *profile, uint64_t caps, struct fi_info **info_p)
{
	struct fi_info *hints = fi_allocinfo();
	const char *core = sham_core_name(), *node = core_node(core);
	int ret = -FI_ENOMEM;

	if (!hints)
		return ret;
	hints->caps = caps & CORE_CAPS;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = profile->mr_mode & FI_MR_VIRT_ADDR ? MR_BASIC : 0;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->fabric_attr->prov_name = strdup(core);
	if (hints->fabric_attr->prov_name) {
		asking = true;
		ret = fi_getinfo(FI_VERSION(1, 17), node, NULL, node ? FI_SOURCE : 0, hints,
				 info_p);
		asking = false;
	}
	fi_freeinfo(hints);
	return ret;
}

/* --- comparing hints with a profile --- */

static int known_mr_mode(int mr_mode)
{
	return mr_mode == MR_BASIC ? FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY : mr_mode;
}

static bool domain_fits(const struct sham_profile *p, const struct fi_domain_attr *hint)
{
	if (!hint)
		return true;
	return (!hint->name || !strcmp(hint->name, p->name)) &&
	       !(p->mr_mode & ~known_mr_mode(hint->mr_mode)) &&
	       hint->control_progress != FI_PROGRESS_AUTO &&
	       hint->data_progress != FI_PROGRESS_AUTO && hint->mr_key_size <= p->key_size &&
	       hint->cq_data_size <= p->cq_data_size;
}

static bool ep_fits(const struct sham_profile *p, const struct fi_ep_attr *hint)
{
	return !hint ||
	       ((hint->type == FI_EP_UNSPEC || hint->type == FI_EP_RDM) &&
		hint->max_msg_size <= p->max_msg_size && hint->mem_tag_format <= p->tag_mask);
}

/* Who promises no order does not look which one is asked for. */
static bool order_fits(const struct sham_profile *p, uint64_t order)
{
	return p->order_unstated || !(order & ~p->msg_order);
}

static bool tx_fits(const struct sham_profile *p, const struct fi_tx_attr *hint)
{
	return !hint || (!(hint->caps & ~p->caps) && order_fits(p, hint->msg_order) &&
			 hint->inject_size <= p->inject_size && hint->iov_limit <= p->iov_limit &&
			 hint->rma_iov_limit <= 1 && hint->size <= p->tx_size);
}

static bool rx_fits(const struct sham_profile *p, const struct fi_rx_attr *hint)
{
	return !hint || (!(hint->caps & ~p->caps) && order_fits(p, hint->msg_order) &&
			 hint->iov_limit <= p->iov_limit && hint->size <= p->rx_size);
}

static bool fabric_fits(const struct fi_fabric_attr *hint)
{
	return !hint || !hint->name || !strcmp(hint->name, FABRIC_NAME);
}

static bool fits(const struct sham_profile *p, const struct fi_info *hints)
{
	const char *only = sham_param("profile");

	if (only && strcmp(only, p->name))
		return false;
	if (!hints)
		return true;
	return !(hints->caps & ~p->caps) && !(p->mode & ~hints->mode) &&
	       (!hints->addr_format || hints->addr_format == p->addr_format) &&
	       fabric_fits(hints->fabric_attr) && domain_fits(p, hints->domain_attr) &&
	       ep_fits(p, hints->ep_attr) && tx_fits(p, hints->tx_attr) &&
	       rx_fits(p, hints->rx_attr);
}

/* --- creating our own info --- */

static struct fi_info *info_alloc(void)
{
	struct fi_info *info = calloc(1, sizeof(*info) + ROOM);

	if (!info)
		return NULL;
	info->tx_attr = calloc(1, sizeof(*info->tx_attr) + ROOM);
	info->rx_attr = calloc(1, sizeof(*info->rx_attr) + ROOM);
	info->ep_attr = calloc(1, sizeof(*info->ep_attr) + ROOM);
	info->domain_attr = calloc(1, sizeof(*info->domain_attr) + ROOM);
	info->fabric_attr = calloc(1, sizeof(*info->fabric_attr) + ROOM);
	if (info->tx_attr && info->rx_attr && info->ep_attr && info->domain_attr &&
	    info->fabric_attr)
		return info;
	fi_freeinfo(info);
	return NULL;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void fill_ep(struct fi_ep_attr *attr, const struct sham_profile *p,
		    const struct fi_ep_attr *core)
{
	attr->type = FI_EP_RDM;
	attr->protocol = p->protocol;
	attr->protocol_version = 1;
	attr->max_msg_size = smaller(p->max_msg_size, core->max_msg_size);
	attr->max_order_waw_size = p->msg_order & FI_ORDER_WAW ? SIZE_MAX : 0;
	attr->mem_tag_format = ANY_TAG & p->tag_mask;
	attr->tx_ctx_cnt = 1;
	attr->rx_ctx_cnt = 1;
}

static enum fi_threading threading_for(const struct sham_profile *p,
				       const struct fi_domain_attr *hint)
{
	if (!p->threading)
		return FI_THREAD_SAFE;
	return hint && hint->threading ? hint->threading : p->threading;
}

static enum fi_resource_mgmt management_for(const struct sham_profile *p,
					    const struct fi_domain_attr *hint)
{
	if (!p->management)
		return FI_RM_ENABLED;
	return hint && hint->resource_mgmt ? hint->resource_mgmt : p->management;
}

static void fill_domain(struct fi_domain_attr *attr, const struct sham_profile *p,
			const struct fi_domain_attr *hint)
{
	attr->threading = threading_for(p, hint);
	attr->control_progress = FI_PROGRESS_MANUAL;
	attr->data_progress = FI_PROGRESS_MANUAL;
	attr->resource_mgmt = management_for(p, hint);
	attr->av_type = hint && hint->av_type ? hint->av_type : p->av_type;
	attr->mr_mode =
		p->mr_mode | p->mr_mode_unasked | (hint ? hint->mr_mode & p->mr_mode_optional : 0);
	attr->mr_key_size = p->key_size;
	attr->cq_data_size = p->cq_data_size;
	attr->cq_cnt = 32;
	attr->ep_cnt = p->ep_max;
	attr->tx_ctx_cnt = p->ep_max;
	attr->rx_ctx_cnt = p->ep_max;
	attr->max_ep_tx_ctx = 1;
	attr->max_ep_rx_ctx = 1;
	attr->mr_iov_limit = 1;
	attr->mr_cnt = p->mr_cnt;
	attr->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
}

static uint64_t order_for(const struct sham_profile *p, const struct fi_info *hints)
{
	if (p->order_unstated)
		return 0;
	return p->order_on_request && hints ? hints->tx_attr->msg_order : p->msg_order;
}

/* The application gets what it asks for, even if it could have more. */
static size_t asked(size_t hint, size_t most)
{
	return hint ? smaller(hint, most) : most;
}

static size_t or_else(size_t hint, size_t otherwise)
{
	return hint ? hint : otherwise;
}

static size_t size_for(const struct sham_profile *p, size_t hint, size_t most)
{
	return p->sizes_unstated && !hint ? SIZE_MAX : asked(hint, most);
}

static void fill_tx_rx(struct fi_info *info, const struct sham_profile *p,
		       const struct fi_info *core, const struct fi_info *hints)
{
	static const struct fi_tx_attr any_tx;
	static const struct fi_rx_attr any_rx;
	const struct fi_tx_attr *tx = hints && hints->tx_attr ? hints->tx_attr : &any_tx;
	const struct fi_rx_attr *rx = hints && hints->rx_attr ? hints->rx_attr : &any_rx;

	info->tx_attr->caps =
		info->caps & ~(uint64_t)(FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE |
					 FI_DIRECTED_RECV | FI_SOURCE | FI_MULTI_RECV);
	info->tx_attr->op_flags = tx->op_flags;
	info->tx_attr->msg_order = order_for(p, hints);
	info->tx_attr->inject_size = asked(tx->inject_size, p->inject_size);
	info->tx_attr->size = size_for(p, or_else(tx->size, p->tx_default),
				       smaller(p->tx_size, core->tx_attr->size));
	info->tx_attr->iov_limit = p->iov_limit;
	info->tx_attr->rma_iov_limit = 1;
	info->rx_attr->caps = info->caps & ~(uint64_t)(FI_SEND | FI_READ | FI_WRITE | FI_FENCE);
	info->rx_attr->op_flags = rx->op_flags;
	info->rx_attr->msg_order = p->order_unstated ? 0 : p->msg_order;
	info->rx_attr->size = size_for(p, or_else(rx->size, p->rx_default),
				       smaller(p->rx_size, core->rx_attr->size));
	info->rx_attr->iov_limit = p->iov_limit;
}

static bool fill_names(struct fi_info *info, const struct sham_profile *p,
		       const struct fi_info *core)
{
	info->addr_format = p->addr_format;
	info->domain_attr->name = strdup(p->name);
	info->fabric_attr->name = strdup(FABRIC_NAME);
	info->fabric_attr->prov_version = FI_VERSION(1, 0);
	if (core->src_addr) {
		info->src_addr = malloc(core->src_addrlen);
		if (!info->src_addr)
			return false;
		memcpy(info->src_addr, core->src_addr, core->src_addrlen);
		info->src_addrlen = core->src_addrlen;
	}
	return info->domain_attr->name && info->fabric_attr->name;
}

/* As in libfabric's providers: requested primary capabilities, and all secondary ones. */
static uint64_t caps_for(const struct sham_profile *p, const struct fi_info *hints)
{
	uint64_t caps = hints ? hints->caps : 0;

	if (!(caps & PRIMARY_CAPS))
		return p->caps;
	if ((caps & (FI_MSG | FI_TAGGED)) && !(caps & (FI_SEND | FI_RECV)))
		caps |= FI_SEND | FI_RECV;
	if ((caps & FI_RMA) && !(caps & (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)))
		caps |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	return caps | (p->caps & ~(uint64_t)PRIMARY_CAPS & ~p->caps_on_request);
}

static int make_info(const struct sham_profile *p, const struct fi_info *hints,
		     struct fi_info **info_p)
{
	struct fi_info *core, *info;
	int ret = sham_core_info(p, caps_for(p, hints), &core);

	if (ret)
		return ret;
	info = info_alloc();
	if (info) {
		info->caps = caps_for(p, hints);
		info->mode = info->tx_attr->mode = info->rx_attr->mode = p->mode;
		fill_ep(info->ep_attr, p, core->ep_attr);
		fill_domain(info->domain_attr, p, hints ? hints->domain_attr : NULL);
		fill_tx_rx(info, p, core, hints);
		if (!fill_names(info, p, core)) {
			fi_freeinfo(info);
			info = NULL;
		}
	}
	fi_freeinfo(core);
	*info_p = info;
	return info ? 0 : -FI_ENOMEM;
}

int sham_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		 const struct fi_info *hints, struct fi_info **info)
{
	struct fi_info **tail = info;
	int ret = 0;

	(void)version;
	(void)flags;
	*info = NULL;
	/* Hardware without IP has no host names. */
	if (asking || node || service || (hints && hints->dest_addr))
		return -FI_ENODATA;
	for (unsigned int i = 0; i < sham_nprofiles && !ret; i++) {
		if (!fits(&sham_profiles[i], hints))
			continue;
		ret = make_info(&sham_profiles[i], hints, tail);
		if (!ret)
			tail = &(*tail)->next;
	}
	if (*info)
		return 0;
	return ret ? ret : -FI_ENODATA;
}
