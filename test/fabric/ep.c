/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sham.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DRAIN_S 2 /* longest wait of fi_close for RDMA operations */

struct sham_ep *sham_ep_of(struct fid_ep *ep)
{
	return SHAM_CONTAINER(ep, struct sham_ep, fid);
}

/* --- posted operations --- */

/* Only receives can be cancelled. For other operations the result depends on the card. */
static ssize_t ep_cancel(fid_t fid, void *context)
{
	struct sham_ep *ep = SHAM_CONTAINER(fid, struct sham_ep, fid.fid);
	ssize_t ret = ep->domain->profile->cancel_unknown;

	pthread_mutex_lock(&ep->domain->lock);
	DOFI_LIST_FOR(node, &ep->flying)
	{
		struct sham_op *op = SHAM_CONTAINER(node, struct sham_op, link);

		if (op->kind == SHAM_RECV && op->context == context && !op->cancelled) {
			ret = fi_cancel(&ep->core->fid, op);
			op->cancelled = !ret;
			break;
		}
	}
	pthread_mutex_unlock(&ep->domain->lock);
	return ret;
}

static bool is_owed(const struct sham_op *op)
{
	return op->reported;
}

static bool has_any(const struct dofi_list *list, bool (*wanted)(const struct sham_op *))
{
	DOFI_LIST_FOR(node, list)
	if (wanted(SHAM_CONTAINER(node, struct sham_op, link)))
		return true;
	return false;
}

/*
 * A write that has completed reaches the peer, even if the endpoint is closed now. RDMA operations
 * that have begun also finish, because shm of libfabric 1.17 crashes otherwise. The peer may need
 * this domain's lock to make progress.
 */
static void drain(struct sham_ep *ep)
{
	time_t end = time(NULL) + DRAIN_S;

	while (!sham_is_silent(&ep->domain->faults) &&
	       (has_any(&ep->waiting, is_owed) || has_any(&ep->flying, sham_op_is_rma)) &&
	       time(NULL) <= end) {
		sham_late_flush(ep);
		sham_cq_progress(ep->tx_cq);
		pthread_mutex_unlock(&ep->domain->lock);
		sched_yield();
		pthread_mutex_lock(&ep->domain->lock);
	}
}

static void orphan_all(struct dofi_list *list)
{
	while (!dofi_list_empty(list))
		sham_op_orphan(SHAM_CONTAINER(list->next, struct sham_op, link));
}

/* --- the object --- */

static void leave_all(struct sham_ep *ep)
{
	struct sham_domain *domain = ep->domain;

	orphan_all(&ep->waiting);
	orphan_all(&ep->flying);
	dofi_list_del(&ep->link);
	sham_set_clear(&ep->gone);
	if (ep->tx_cq)
		ep->tx_cq->refs--;
	if (ep->rx_cq)
		ep->rx_cq->refs--;
	if (ep->av)
		ep->av->refs--;
	domain->neps--;
	domain->refs--;
}

static int ep_close(struct fid *fid)
{
	struct sham_ep *ep = SHAM_CONTAINER(fid, struct sham_ep, fid.fid);
	struct sham_domain *domain = ep->domain;
	int ret = -FI_EBUSY;

	pthread_mutex_lock(&domain->lock);
	if (!ep->refs) {
		drain(ep);
		ret = fi_close(&ep->core->fid);
	}
	if (!ret)
		leave_all(ep);
	pthread_mutex_unlock(&domain->lock);
	if (!ret)
		free(ep);
	return ret;
}

static void bind_cq(struct sham_cq **slot, struct sham_cq *cq)
{
	*slot = cq;
	cq->refs++;
}

static int ep_bind_cq(struct sham_ep *ep, struct sham_cq *cq, uint64_t flags)
{
	bool tx = flags & FI_TRANSMIT, rx = flags & FI_RECV;
	int ret;

	if (cq->domain != ep->domain || (tx && ep->tx_cq) || (rx && ep->rx_cq))
		return -FI_EINVAL;
	ret = fi_ep_bind(ep->core, &cq->core->fid, flags & ~FI_SELECTIVE_COMPLETION);
	if (ret)
		return ret;
	if (tx) {
		bind_cq(&ep->tx_cq, cq);
		ep->tx_selective = flags & FI_SELECTIVE_COMPLETION;
	}
	if (rx) {
		bind_cq(&ep->rx_cq, cq);
		ep->rx_selective = flags & FI_SELECTIVE_COMPLETION;
	}
	return 0;
}

static int ep_bind_av(struct sham_ep *ep, struct sham_av *av, uint64_t flags)
{
	int ret;

	if (av->domain != ep->domain || ep->av)
		return -FI_EINVAL;
	ret = fi_ep_bind(ep->core, &av->core->fid, flags);
	if (ret)
		return ret;
	ep->av = av;
	av->refs++;
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct sham_ep *ep = SHAM_CONTAINER(fid, struct sham_ep, fid.fid);
	int ret;

	pthread_mutex_lock(&ep->domain->lock);
	if (ep->enabled)
		ret = -FI_EOPBADSTATE;
	else if (bfid->fclass == FI_CLASS_CQ)
		ret = ep_bind_cq(ep, SHAM_CONTAINER(bfid, struct sham_cq, fid.fid), flags);
	else if (bfid->fclass == FI_CLASS_AV)
		ret = ep_bind_av(ep, SHAM_CONTAINER(bfid, struct sham_av, fid.fid), flags);
	else if (bfid->fclass == FI_CLASS_EQ)
		ret = fi_ep_bind(ep->core, bfid, flags);
	else
		ret = -FI_EINVAL;
	pthread_mutex_unlock(&ep->domain->lock);
	return ret;
}

/* shm of libfabric 2.x crashes if it cannot create its region. */
static int probe_core(void)
{
	int fd;

	if (strcmp(sham_core_name(), "shm"))
		return 0;
	fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int ep_enable(struct sham_ep *ep)
{
	int ret;

	if (ep->enabled)
		return -FI_EOPBADSTATE;
	if (!ep->av)
		return -FI_ENOAV;
	if (!ep->tx_cq || !ep->rx_cq)
		return -FI_ENOCQ;
	ret = probe_core();
	if (!ret)
		ret = fi_enable(ep->core);
	ep->enabled = !ret;
	return ret;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct sham_ep *ep = SHAM_CONTAINER(fid, struct sham_ep, fid.fid);
	int ret = -FI_ENOSYS;

	(void)arg;
	if (command != FI_ENABLE)
		return ret;
	pthread_mutex_lock(&ep->domain->lock);
	ret = ep_enable(ep);
	pthread_mutex_unlock(&ep->domain->lock);
	return ret;
}

static int ep_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen)
{
	struct sham_ep *ep = SHAM_CONTAINER(fid, struct sham_ep, fid.fid);

	return fi_getopt(&ep->core->fid, level, optname, optval, optlen);
}

static int ep_setopt(fid_t fid, int level, int optname, const void *optval, size_t optlen)
{
	struct sham_ep *ep = SHAM_CONTAINER(fid, struct sham_ep, fid.fid);

	return fi_setopt(&ep->core->fid, level, optname, optval, optlen);
}

/* The endpoint gets its address when it is enabled. */
static int ep_getname(fid_t fid, void *addr, size_t *addrlen)
{
	struct sham_ep *ep = SHAM_CONTAINER(fid, struct sham_ep, fid.fid);

	return ep->enabled ? fi_getname(&ep->core->fid, addr, addrlen) : -FI_EOPBADSTATE;
}

/* --- calls that connectionless endpoints lack --- */

static int no_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **tx_ep,
		     void *context)
{
	(void)sep, (void)index, (void)attr, (void)tx_ep, (void)context;
	return -FI_ENOSYS;
}

static int no_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
		     void *context)
{
	(void)sep, (void)index, (void)attr, (void)rx_ep, (void)context;
	return -FI_ENOSYS;
}

static ssize_t no_size_left(struct fid_ep *ep)
{
	(void)ep;
	return -FI_ENOSYS;
}

static int no_setname(fid_t fid, void *addr, size_t addrlen)
{
	(void)fid, (void)addr, (void)addrlen;
	return -FI_ENOSYS;
}

static int no_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen)
{
	(void)ep, (void)addr, (void)addrlen;
	return -FI_ENOSYS;
}

static int no_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen)
{
	(void)ep, (void)addr, (void)param, (void)paramlen;
	return -FI_ENOSYS;
}

static int no_listen(struct fid_pep *pep)
{
	(void)pep;
	return -FI_ENOSYS;
}

static int no_accept(struct fid_ep *ep, const void *param, size_t paramlen)
{
	(void)ep, (void)param, (void)paramlen;
	return -FI_ENOSYS;
}

static int no_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t paramlen)
{
	(void)pep, (void)handle, (void)param, (void)paramlen;
	return -FI_ENOSYS;
}

static int no_shutdown(struct fid_ep *ep, uint64_t flags)
{
	(void)ep, (void)flags;
	return -FI_ENOSYS;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(ep_fid_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
	.ops_open = sham_no_ops_open,
};

static struct fi_ops_ep ep_ops = {
	.size = sizeof(ep_ops),
	.cancel = ep_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.tx_ctx = no_tx_ctx,
	.rx_ctx = no_rx_ctx,
	.rx_size_left = no_size_left,
	.tx_size_left = no_size_left,
};

static struct fi_ops_cm cm_ops = {
	.size = sizeof(cm_ops),
	.setname = no_setname,
	.getname = ep_getname,
	.getpeer = no_getpeer,
	.connect = no_connect,
	.listen = no_listen,
	.accept = no_accept,
	.reject = no_reject,
	.shutdown = no_shutdown,
};

static int open_core(struct sham_ep *ep, uint64_t caps)
{
	struct fi_info *core;
	int ret = sham_core_info(ep->domain->profile, caps, &core);

	if (ret)
		return ret;
	ret = fi_endpoint(ep->domain->core, core, &ep->core, NULL);
	fi_freeinfo(core);
	return ret;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void fill(struct sham_ep *ep, const struct fi_info *info, void *context)
{
	dofi_list_init(&ep->waiting);
	dofi_list_init(&ep->flying);
	ep->caps = info->caps;
	ep->msg_order = ep->domain->profile->order_unstated ? ep->domain->profile->msg_order
							    : info->tx_attr->msg_order;
	ep->tx_flags = info->tx_attr->op_flags;
	ep->rx_flags = info->rx_attr->op_flags;
	ep->tx_size = smaller(info->tx_attr->size, ep->domain->profile->tx_size);
	ep->rx_size = smaller(info->rx_attr->size, ep->domain->profile->rx_size);
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fid_ops;
	ep->fid.ops = &ep_ops;
	ep->fid.cm = &cm_ops;
	ep->fid.msg = &sham_msg_ops;
	ep->fid.tagged = &sham_tagged_ops;
	ep->fid.rma = &sham_rma_ops;
}

int sham_ep_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **ep_p, void *context)
{
	struct sham_domain *domain = sham_domain_of(fid);
	struct sham_ep *ep;
	int ret;

	if (info->ep_attr->type != FI_EP_RDM || (info->caps & ~domain->profile->caps))
		return -FI_EINVAL;
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -FI_ENOMEM;
	ep->domain = domain;
	fill(ep, info, context);
	pthread_mutex_lock(&domain->lock);
	ret = domain->neps < domain->profile->ep_max ? open_core(ep, info->caps) : -FI_ENOSPC;
	if (!ret) {
		dofi_list_add_tail(&domain->eps, &ep->link);
		domain->neps++;
		domain->refs++;
	}
	pthread_mutex_unlock(&domain->lock);
	if (ret)
		free(ep);
	else
		*ep_p = &ep->fid;
	return ret;
}
