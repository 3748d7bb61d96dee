/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reference: the same patterns directly on libfabric, with the choices of the DAT provider.
 * Message endpoints get a fid_ep each, as DAT endpoints do; reliable datagrams go over one fid_ep
 * whose tags tell the endpoints apart. One CQ, FI_THREAD_SAFE.
 */
#include "perf/raw.h"

#include "perf/raw_link.h"
#include "perf/raw_post.h"

#include <stdlib.h>
#include <string.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#define REQUESTED_KEY 0x7e57

int perf_raw_fail(const char *what, int ret)
{
	return util_fail("libfabric: %s: %s", what, fi_strerror(abs(ret)));
}

/* ---- finding the fabric ---- */

static struct fi_info *make_hints(const struct perf_env *env)
{
	const struct perf_cfg *cfg = env->cfg;
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = FI_RMA | (cfg->rdm ? FI_TAGGED : FI_MSG);
	hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
	hints->ep_attr->type = cfg->rdm ? FI_EP_RDM : FI_EP_MSG;
	hints->tx_attr->iov_limit = cfg->iov;
	hints->rx_attr->iov_limit = cfg->iov;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->fabric_attr->prov_name = strdup(cfg->provider);
	if (env->domain)
		hints->domain_attr->name = strdup(env->domain);
	if (cfg->srq && !cfg->rdm)
		hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	return hints;
}

/*
 * Whether the fabric is bound to the address that the peer can reach: only fabrics over sockets
 * are.
 */
static bool wants_source(const struct perf_env *env, const struct fi_info *info)
{
	return !env->domain &&
	       (info->addr_format == FI_SOCKADDR_IN || info->addr_format == FI_SOCKADDR_IN6 ||
		info->addr_format == FI_SOCKADDR);
}

static int query(const struct perf_env *env, struct fi_info *hints, const char *node,
		 struct fi_info **info_p)
{
	/* As the DAT provider asks; on shm this decides which process copies in RDMA. */
	int mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY, ret;

	hints->domain_attr->mr_mode = env->cfg->rdm ? mr_mode | FI_MR_ENDPOINT : mr_mode;
	ret = fi_getinfo(fi_version(), node, NULL, node ? FI_SOURCE : 0, hints, info_p);
	if (!ret)
		return 0;
	return util_fail(
		"libfabric offers no \"%s\" with %s, RMA and %u segments%s%s%s%s: %s; see fi_info",
		env->cfg->provider, env->cfg->rdm ? "FI_EP_RDM" : "FI_EP_MSG", env->cfg->iov,
		env->domain ? " on domain " : "", env->domain ? env->domain : "",
		node ? " at " : "", node ? node : "", fi_strerror(-ret));
}

/*
 * Some providers ignore the hint for a domain, so the list is searched. Prefers IPv4, as most DAT
 * addresses are.
 */
static const struct fi_info *pick(const struct perf_env *env, const struct fi_info *list)
{
	const struct fi_info *best = NULL;

	for (; list; list = list->next) {
		if (env->domain && strcmp(env->domain, list->domain_attr->name))
			continue;
		if (!best ||
		    (best->addr_format == FI_SOCKADDR_IN6 && list->addr_format == FI_SOCKADDR_IN))
			best = list;
	}
	return best;
}

static int find_fabric(struct raw *raw)
{
	const struct perf_env *env = raw->env;
	struct fi_info *hints = make_hints(env), *list = NULL;
	const struct fi_info *best;
	int ret;

	if (!hints)
		return util_fail("no memory");
	ret = query(env, hints, NULL, &list);
	if (!ret && wants_source(env, list)) {
		fi_freeinfo(list);
		list = NULL;
		ret = query(env, hints, env->source, &list);
	}
	fi_freeinfo(hints);
	if (ret)
		return -1;

	best = pick(env, list);
	raw->info = best ? fi_dupinfo(best) : NULL;
	fi_freeinfo(list);
	if (!best)
		return util_fail("libfabric provider \"%s\" has no domain \"%s\"; see fi_info",
				 env->cfg->provider, env->domain);
	return raw->info ? 0 : util_fail("no memory");
}

/* ---- objects ---- */

/*
 * Whether the queue gets a descriptor, which costs time for each message on some fabrics. The queue
 * of the DAT provider always has one on a connectionless fabric, so this one has, too.
 */
static bool wants_descriptor(const struct perf_cfg *cfg)
{
	if (cfg->wait || cfg->cq_wait == PERF_CQ_FD)
		return true;
	return cfg->cq_wait == PERF_CQ_AUTO && cfg->rdm;
}

static int open_cq(struct raw *raw)
{
	const struct perf_env *env = raw->env;
	struct fi_cq_attr attr = {
		.size = env->ntx + env->nrx + 64,
		.format = env->cfg->rdm ? FI_CQ_FORMAT_TAGGED : FI_CQ_FORMAT_DATA,
	};
	int ret;

	raw->cq_entry =
		env->cfg->rdm ? sizeof(struct fi_cq_tagged_entry) : sizeof(struct fi_cq_data_entry);
	if (wants_descriptor(env->cfg)) {
		attr.wait_obj = FI_WAIT_FD;
		if (!fi_cq_open(raw->domain, &attr, &raw->cq, NULL)) {
			if (fi_control(&raw->cq->fid, FI_GETWAIT, &raw->cq_fd))
				raw->cq_fd = -1;
			return 0;
		}
	}
	attr.wait_obj = env->cfg->wait ? FI_WAIT_UNSPEC : FI_WAIT_NONE;
	ret = fi_cq_open(raw->domain, &attr, &raw->cq, NULL);
	return ret ? perf_raw_fail("cannot open a completion queue", ret) : 0;
}

static int bind_eq(struct raw *raw, struct fid_ep *ep)
{
	int ret = raw->rdm ? fi_ep_bind(ep, &raw->av->fid, 0) : fi_ep_bind(ep, &raw->eq->fid, 0);

	return ret ? perf_raw_fail("cannot bind an endpoint to its event queue or address table",
				   ret)
		   : 0;
}

int perf_raw_open_ep(struct raw *raw, struct fi_info *info, struct fid_ep **ep_p)
{
	uint64_t flags = FI_TRANSMIT;
	struct fid_ep *ep;
	int ret = fi_endpoint(raw->domain, info, &ep, raw);

	if (ret)
		return perf_raw_fail("cannot open an endpoint", ret);
	*ep_p = ep;
	if (bind_eq(raw, ep))
		return -1;
	if (raw->env->cfg->signal_every > 1)
		flags |= FI_SELECTIVE_COMPLETION;
	ret = fi_ep_bind(ep, &raw->cq->fid, flags);
	if (!ret)
		ret = fi_ep_bind(ep, &raw->cq->fid, FI_RECV);
	if (!ret && raw->srx)
		ret = fi_ep_bind(ep, &raw->srx->fid, 0);
	if (ret)
		return perf_raw_fail("cannot bind an endpoint to its queues", ret);
	ret = fi_enable(ep);
	return ret ? perf_raw_fail("cannot enable an endpoint", ret) : 0;
}

void perf_raw_size_queues(const struct raw *raw, struct fi_info *info)
{
	const struct perf_env *env = raw->env;

	/*
	 * A shared endpoint keeps the queue lengths that the fabric proposes, as that of the DAT
	 * provider does: longer ones may be refused, shorter ones would stay in the cache and be
	 * faster.
	 */
	if (!raw->rdm) {
		info->tx_attr->size = env->tx_depth;
		info->rx_attr->size = env->rx_depth;
	}
	if (env->cfg->srq && !raw->rdm)
		info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	/*
	 * If a send may overtake a write, the check of the data needs delivery of the writes. On
	 * efa long messages without it also complete in any order.
	 */
	if (env->cfg->verify && !(info->tx_attr->msg_order & FI_ORDER_SAW))
		info->tx_attr->op_flags |= FI_DELIVERY_COMPLETE;
}

/*
 * If a send may overtake a write and the fabric has no fence, the DAT provider asks for the
 * delivery of each write.
 */
static bool wants_delivery(const struct fi_info *info)
{
	return !(info->tx_attr->msg_order & FI_ORDER_SAW) && !(info->caps & FI_FENCE);
}

static int open_srx(struct raw *raw)
{
	struct fi_rx_attr attr = *raw->info->rx_attr;
	int ret;

	attr.size = raw->env->nrx;
	ret = fi_srx_context(raw->domain, &attr, &raw->srx, NULL);
	return ret ? perf_raw_fail("cannot open a shared receive context", ret) : 0;
}

static int open_pep(struct raw *raw)
{
	int ret = fi_passive_ep(raw->fabric, raw->info, &raw->pep, NULL);

	if (ret)
		return perf_raw_fail("cannot open a passive endpoint", ret);
	ret = fi_pep_bind(raw->pep, &raw->eq->fid, 0);
	if (!ret)
		ret = fi_listen(raw->pep);
	return ret ? perf_raw_fail("cannot listen", ret) : 0;
}

static int open_for_msg(struct raw *raw)
{
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_UNSPEC};
	int ret = fi_eq_open(raw->fabric, &attr, &raw->eq, NULL);

	if (ret)
		return perf_raw_fail("cannot open an event queue", ret);
	if (raw->env->cfg->srq && open_srx(raw))
		return -1;
	return raw->env->passive ? open_pep(raw) : 0;
}

static int open_for_rdm(struct raw *raw)
{
	struct fi_av_attr attr = {.type = raw->info->domain_attr->av_type, .count = 1};
	int ret;

	if (attr.type == FI_AV_UNSPEC)
		attr.type = FI_AV_TABLE;
	ret = fi_av_open(raw->domain, &attr, &raw->av, NULL);
	if (ret)
		return perf_raw_fail("cannot open an address vector", ret);
	return perf_raw_open_ep(raw, raw->info, &raw->eps[0]);
}

static int register_buffer(struct raw *raw)
{
	const struct perf_env *env = raw->env;
	uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	int ret = fi_mr_reg(raw->domain, env->buf, env->buf_len, access, 0,
			    REQUESTED_KEY + env->thread, 0, &raw->mr, NULL);

	if (ret)
		return util_fail(
			"libfabric: cannot register %zu bytes: %s; the limit of locked memory "
			"(ulimit -l) is a frequent cause",
			env->buf_len, fi_strerror(-ret));
	if (raw->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		ret = fi_mr_bind(raw->mr, &raw->eps[0]->fid, 0);
		if (!ret)
			ret = fi_mr_enable(raw->mr);
		if (ret)
			return perf_raw_fail("cannot enable the memory registration", ret);
	}
	raw->desc = fi_mr_desc(raw->mr);
	return 0;
}

static void raw_close(void *be);

static int take_domain(struct raw *raw, const struct raw *first)
{
	int ret;

	if (first) {
		raw->borrowed = true;
		raw->fabric = first->fabric;
		raw->domain = first->domain;
		return 0;
	}
	ret = fi_fabric(raw->info->fabric_attr, &raw->fabric, NULL);
	if (ret)
		return perf_raw_fail("cannot open the fabric", ret);
	ret = fi_domain(raw->fabric, raw->info, &raw->domain, NULL);
	return ret ? perf_raw_fail("cannot open the domain", ret) : 0;
}

static int alloc_requests(struct raw *raw)
{
	const struct perf_env *env = raw->env;
	uint32_t bodies = env->cfg->last_word ? env->ntx : 0;

	raw->contexts = calloc(env->ntx + env->nrx + bodies, sizeof(*raw->contexts));
	raw->eps = calloc(env->cfg->eps, sizeof(struct fid_ep *));
	raw->early = calloc(env->cfg->eps, sizeof(struct fi_info *));
	if (bodies) {
		raw->writes = calloc(bodies, sizeof(*raw->writes));
		raw->bodies = calloc(bodies, sizeof(*raw->bodies));
	}
	return raw->contexts && raw->eps && raw->early && (!bodies || (raw->writes && raw->bodies))
		       ? 0
		       : -1;
}

static int open_all(struct raw *raw, const struct raw *first)
{
	if (alloc_requests(raw))
		return util_fail("no memory");
	if (find_fabric(raw))
		return -1;
	perf_raw_size_queues(raw, raw->info);
	raw->delivers = wants_delivery(raw->info);
	if (take_domain(raw, first))
		return -1;
	if (open_cq(raw) || (raw->rdm ? open_for_rdm(raw) : open_for_msg(raw)))
		return -1;
	return register_buffer(raw);
}

static int raw_open(const struct perf_env *env, void *first, void **be_p)
{
	struct raw *raw = calloc(1, sizeof(*raw));

	if (!raw)
		return util_fail("no memory");
	raw->env = env;
	raw->rdm = env->cfg->rdm;
	raw->nep = raw->rdm ? 1 : env->cfg->eps;
	raw->plain = env->cfg->iov == 1 && env->cfg->signal_every == 1;
	raw->cq_fd = -1;
	if (open_all(raw, first)) {
		raw_close(raw);
		return -1;
	}
	*be_p = raw;
	return 0;
}

static void close_fid(struct fid *fid)
{
	if (fid)
		fi_close(fid);
}

static void raw_close(void *be)
{
	struct raw *raw = be;

	/*
	 * Closes a registration before the endpoint that it is bound to, and all other objects
	 * after their users.
	 */
	if (raw->mr)
		close_fid(&raw->mr->fid);
	for (uint32_t i = 0; raw->eps && i < raw->nep; i++) {
		if (!raw->eps[i])
			continue;
		if (!raw->rdm)
			fi_shutdown(raw->eps[i], 0);
		close_fid(&raw->eps[i]->fid);
	}
	perf_raw_drop_early(raw);
	close_fid(raw->pep ? &raw->pep->fid : NULL);
	close_fid(raw->srx ? &raw->srx->fid : NULL);
	close_fid(raw->av ? &raw->av->fid : NULL);
	close_fid(raw->cq ? &raw->cq->fid : NULL);
	close_fid(raw->eq ? &raw->eq->fid : NULL);
	close_fid(raw->domain && !raw->borrowed ? &raw->domain->fid : NULL);
	close_fid(raw->fabric && !raw->borrowed ? &raw->fabric->fid : NULL);
	if (raw->info)
		fi_freeinfo(raw->info);
	free(raw->contexts);
	free(raw->writes);
	free(raw->bodies);
	free(raw->early);
	free(raw->eps);
	free(raw);
}

/* ---- connection ---- */

static int raw_address(void *be, struct perf_addr *addr)
{
	struct raw *raw = be;
	struct fid *named = NULL;
	size_t len = sizeof(addr->name);
	int ret;

	addr->key = fi_mr_key(raw->mr);
	if (raw->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
		addr->base = (uintptr_t)raw->env->buf;
	if (raw->rdm)
		named = &raw->eps[0]->fid;
	else if (raw->pep)
		named = &raw->pep->fid;
	if (!named)
		return 0;
	ret = fi_getname(named, addr->name, &len);
	if (ret)
		return perf_raw_fail("cannot find the own address", ret);
	addr->len = (uint32_t)len;
	return 0;
}

const struct perf_ops perf_raw_ops = {
	.name = "raw",
	.open = raw_open,
	.address = raw_address,
	.connect = perf_raw_connect,
	.post_recv = perf_raw_post_recv,
	.post =
		{
			[PERF_SEND] = perf_raw_send,
			[PERF_WRITE] = perf_raw_write,
			[PERF_READ] = perf_raw_read,
		},
	.poll = perf_raw_poll,
	.wait = perf_raw_wait,
	.link = perf_raw_link,
	.unlink = perf_raw_unlink,
	.close = raw_close,
};
