/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "t_fabric.h"

#include <netinet/in.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* --- the calls that fail --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	int good, bad, err, failed;
} plans[T_FI_CALLS]; /* guarded by lock */
static void (*deeds[T_FI_CALLS])(void);
static unsigned int stutter; /* guarded by lock */
static uint32_t seed = 1;    /* guarded by lock */

void t_fabric_fail(enum t_fabric_call call, int good, int bad, int err)
{
	pthread_mutex_lock(&lock);
	plans[call].good = good;
	plans[call].bad = bad;
	plans[call].err = err;
	plans[call].failed = 0;
	pthread_mutex_unlock(&lock);
}

int t_fabric_failed(enum t_fabric_call call)
{
	int n;

	pthread_mutex_lock(&lock);
	n = plans[call].failed;
	pthread_mutex_unlock(&lock);
	return n;
}

void t_fabric_stutter(unsigned int often)
{
	pthread_mutex_lock(&lock);
	stutter = often;
	pthread_mutex_unlock(&lock);
}

void t_fabric_before(enum t_fabric_call call, void (*deed)(void))
{
	deeds[call] = deed;
}

void t_fabric_heal(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < T_FI_CALLS; i++)
		plans[i].bad = 0;
	stutter = 0;
	pthread_mutex_unlock(&lock);
}

static bool stutters(enum t_fabric_call call)
{
	if (call < T_FI_SEND || !stutter)
		return false;
	/* Soft-RoCE of Linux 6.1 may stop sending after a fenced Send that finds no receive. */
	if (call == T_FI_RECV && getenv("T_VERBS"))
		return false;
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 16) % 10 < stutter;
}

/* The error that replaces the call; 0: the call is made. */
static int verdict(enum t_fabric_call call)
{
	int err = 0;

	if (deeds[call])
		deeds[call]();
	pthread_mutex_lock(&lock);
	if (plans[call].bad && plans[call].good) {
		plans[call].good--;
	} else if (plans[call].bad) {
		plans[call].bad -= plans[call].bad > 0;
		plans[call].failed++;
		err = -plans[call].err;
	}
	if (!err && stutters(call))
		err = -FI_EAGAIN;
	pthread_mutex_unlock(&lock);
	return err;
}

/* --- tables of operations: ours, followed by a pointer to that of the fabric --- */

#define MAX_TABLES 8 /* a provider has one or a few for each kind of object */

#define TABLES(kind)                                                                      \
	static struct kind##_pair {                                                       \
		struct fi_##kind ours, *real;                                             \
	} kind##_pairs[MAX_TABLES];                                                       \
                                                                                          \
	static struct fi_##kind *real_##kind(struct fi_##kind *ours)                      \
	{                                                                                 \
		return ((struct kind##_pair *)(void *)ours)->real;                        \
	}                                                                                 \
                                                                                          \
	/* Returns our table for `real`. A new table is a copy, which `change` adapts. */ \
	static struct fi_##kind *over_##kind(struct fi_##kind *real,                      \
					     void (*change)(struct fi_##kind * ours))     \
	{                                                                                 \
		struct kind##_pair *pair = kind##_pairs;                                  \
                                                                                          \
		pthread_mutex_lock(&lock);                                                \
		while (pair->real && pair->real != real)                                  \
			if (++pair == kind##_pairs + MAX_TABLES)                          \
				abort();                                                  \
		if (!pair->real) {                                                        \
			pair->ours = *real;                                               \
			pair->real = real;                                                \
			change(&pair->ours);                                              \
		}                                                                         \
		pthread_mutex_unlock(&lock);                                              \
		return &pair->ours;                                                       \
	}

TABLES(ops)
TABLES(ops_fabric)
TABLES(ops_domain)
TABLES(ops_mr)
TABLES(ops_cm)
TABLES(ops_msg)
TABLES(ops_rma)
TABLES(ops_cq)

/* Makes the real call, or returns the planned error. */
#define PASS(call, made)                           \
	do {                                       \
		int refusal = verdict(call);       \
		return refusal ? refusal : (made); \
	} while (0)

/* --- data --- */

static ssize_t our_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
			void *context)
{
	PASS(T_FI_RECV, real_ops_msg(ep->msg)->recv(ep, buf, len, desc, from, context));
}

static ssize_t our_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t from, void *context)
{
	PASS(T_FI_RECV, real_ops_msg(ep->msg)->recvv(ep, iov, desc, count, from, context));
}

static ssize_t our_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
			void *context)
{
	PASS(T_FI_SEND, real_ops_msg(ep->msg)->send(ep, buf, len, desc, to, context));
}

static ssize_t our_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t to, void *context)
{
	PASS(T_FI_SEND, real_ops_msg(ep->msg)->sendv(ep, iov, desc, count, to, context));
}

static ssize_t our_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	PASS(T_FI_SEND, real_ops_msg(ep->msg)->sendmsg(ep, msg, flags));
}

static ssize_t our_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
			uint64_t addr, uint64_t key, void *context)
{
	PASS(T_FI_READ, real_ops_rma(ep->rma)->read(ep, buf, len, desc, from, addr, key, context));
}

static ssize_t our_readv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t from, uint64_t addr, uint64_t key, void *context)
{
	PASS(T_FI_READ,
	     real_ops_rma(ep->rma)->readv(ep, iov, desc, count, from, addr, key, context));
}

static ssize_t our_write(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t to,
			 uint64_t addr, uint64_t key, void *context)
{
	PASS(T_FI_WRITE, real_ops_rma(ep->rma)->write(ep, buf, len, desc, to, addr, key, context));
}

static ssize_t our_writev(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t to, uint64_t addr, uint64_t key, void *context)
{
	PASS(T_FI_WRITE,
	     real_ops_rma(ep->rma)->writev(ep, iov, desc, count, to, addr, key, context));
}

static ssize_t our_cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	/* fi_trywait() of libfabric reads 0 entries; it always gets the real answer. */
	if (!count)
		return real_ops_cq(cq->ops)->read(cq, buf, count);
	PASS(T_FI_CQ_READ, real_ops_cq(cq->ops)->read(cq, buf, count));
}

static ssize_t our_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
	PASS(T_FI_SEND, real_ops_msg(ep->msg)->inject(ep, buf, len, to));
}

static ssize_t our_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			      fi_addr_t to)
{
	PASS(T_FI_SEND, real_ops_msg(ep->msg)->injectdata(ep, buf, len, data, to));
}

static void change_msg(struct fi_ops_msg *ours)
{
	ours->recv = our_recv;
	ours->recvv = our_recvv;
	ours->send = our_send;
	ours->sendv = our_sendv;
	ours->sendmsg = our_sendmsg;
	ours->inject = our_inject;
	ours->injectdata = our_injectdata;
}

static ssize_t our_inject_write(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to,
				uint64_t addr, uint64_t key)
{
	PASS(T_FI_WRITE, real_ops_rma(ep->rma)->inject(ep, buf, len, to, addr, key));
}

static ssize_t our_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	PASS(T_FI_WRITE, real_ops_rma(ep->rma)->writemsg(ep, msg, flags));
}

static void change_rma(struct fi_ops_rma *ours)
{
	ours->read = our_read;
	ours->readv = our_readv;
	ours->write = our_write;
	ours->writev = our_writev;
	ours->writemsg = our_writemsg;
	ours->inject = our_inject_write;
}

static void change_cq(struct fi_ops_cq *ours)
{
	ours->read = our_cq_read;
}

/* --- endpoints --- */

static int our_connect(struct fid_ep *ep, const void *addr, const void *param, size_t size)
{
	PASS(T_FI_CONNECT, real_ops_cm(ep->cm)->connect(ep, addr, param, size));
}

static int our_accept(struct fid_ep *ep, const void *param, size_t size)
{
	PASS(T_FI_ACCEPT, real_ops_cm(ep->cm)->accept(ep, param, size));
}

static int our_ep_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
	PASS(T_FI_EP_BIND, real_ops(fid->ops)->bind(fid, to, flags));
}

static int our_ep_control(struct fid *fid, int command, void *arg)
{
	int refusal = command == FI_ENABLE ? verdict(T_FI_ENABLE) : 0;

	return refusal ? refusal : real_ops(fid->ops)->control(fid, command, arg);
}

/*
 * verbs allocates such a table for each endpoint, changes it when the endpoint is enabled, and
 * frees it. So each endpoint also has its own table of ours.
 */
static struct fi_ops_msg *own_ops_msg(struct fi_ops_msg *real)
{
	struct ops_msg_pair *pair = malloc(sizeof(*pair));

	if (!pair)
		abort();
	pair->ours = *real;
	pair->real = real;
	change_msg(&pair->ours);
	return &pair->ours;
}

static int our_ep_close(struct fid *fid)
{
	struct fid_ep *ep = (struct fid_ep *)(void *)fid;
	struct ops_msg_pair *pair = (struct ops_msg_pair *)(void *)ep->msg;
	int ret;

	ep->msg = pair->real;
	ret = real_ops(fid->ops)->close(fid);
	if (ret)
		ep->msg = &pair->ours;
	else
		free(pair);
	return ret;
}

static void change_ep_cm(struct fi_ops_cm *ours)
{
	ours->connect = our_connect;
	ours->accept = our_accept;
}

static void change_ep(struct fi_ops *ours)
{
	ours->bind = our_ep_bind;
	ours->control = our_ep_control;
	ours->close = our_ep_close;
}

static _Atomic uint16_t source_port;

uint16_t t_fabric_source_port(void)
{
	return source_port;
}

static void record_source(const struct fi_info *info)
{
	const struct sockaddr_in *from = info->src_addr;

	if (!info->handle && from && from->sin_family == AF_INET)
		source_port = ntohs(from->sin_port);
}

static int our_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
			void *context)
{
	int ret = verdict(T_FI_ENDPOINT);

	record_source(info);
	if (!ret)
		ret = real_ops_domain(domain->ops)->endpoint(domain, info, ep, context);
	if (ret)
		return ret;
	(*ep)->msg = own_ops_msg((*ep)->msg);
	(*ep)->rma = over_ops_rma((*ep)->rma, change_rma);
	(*ep)->cm = over_ops_cm((*ep)->cm, change_ep_cm);
	(*ep)->fid.ops = over_ops((*ep)->fid.ops, change_ep);
	return 0;
}

static int our_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **srx,
		       void *context)
{
	int ret = verdict(T_FI_SRX_CONTEXT);

	if (!ret)
		ret = real_ops_domain(domain->ops)->srx_ctx(domain, attr, srx, context);
	if (!ret)
		(*srx)->msg = over_ops_msg((*srx)->msg, change_msg);
	return ret;
}

static int our_listen(struct fid_pep *pep)
{
	PASS(T_FI_LISTEN, real_ops_cm(pep->cm)->listen(pep));
}

/* The provider calls fi_getname() on passive endpoints only. */
static int our_getname(fid_t fid, void *addr, size_t *size)
{
	struct fid_pep *pep = (struct fid_pep *)(void *)fid;

	PASS(T_FI_GETNAME, real_ops_cm(pep->cm)->getname(fid, addr, size));
}

static int our_pep_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
	PASS(T_FI_PEP_BIND, real_ops(fid->ops)->bind(fid, to, flags));
}

static void change_pep_cm(struct fi_ops_cm *ours)
{
	ours->listen = our_listen;
	ours->getname = our_getname;
}

static void change_pep(struct fi_ops *ours)
{
	ours->bind = our_pep_bind;
}

static int our_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
			  void *context)
{
	int ret = verdict(T_FI_PASSIVE_EP);

	if (!ret)
		ret = real_ops_fabric(fabric->ops)->passive_ep(fabric, info, pep, context);
	if (ret)
		return ret;
	(*pep)->cm = over_ops_cm((*pep)->cm, change_pep_cm);
	(*pep)->fid.ops = over_ops((*pep)->fid.ops, change_pep);
	return 0;
}

/* --- domain and fabric --- */

static int our_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		       void *context)
{
	int ret = verdict(T_FI_CQ_OPEN);

	if (!ret)
		ret = real_ops_domain(domain->ops)->cq_open(domain, attr, cq, context);
	if (!ret)
		(*cq)->ops = over_ops_cq((*cq)->ops, change_cq);
	return ret;
}

static int our_mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access,
		      uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr,
		      void *context)
{
	struct fid_domain *domain = (struct fid_domain *)(void *)fid;

	PASS(T_FI_MR_REG,
	     real_ops_mr(domain->mr)->reg(fid, buf, len, access, offset, key, flags, mr, context));
}

static void change_domain(struct fi_ops_domain *ours)
{
	ours->cq_open = our_cq_open;
	ours->endpoint = our_endpoint;
	ours->srx_ctx = our_srx_ctx;
}

static void change_mr(struct fi_ops_mr *ours)
{
	ours->reg = our_mr_reg;
}

static int our_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		      void *context)
{
	int ret = verdict(T_FI_DOMAIN);

	if (!ret)
		ret = real_ops_fabric(fabric->ops)->domain(fabric, info, domain, context);
	if (ret)
		return ret;
	(*domain)->ops = over_ops_domain((*domain)->ops, change_domain);
	(*domain)->mr = over_ops_mr((*domain)->mr, change_mr);
	return 0;
}

static int our_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		       void *context)
{
	PASS(T_FI_EQ_OPEN, real_ops_fabric(fabric->ops)->eq_open(fabric, attr, eq, context));
}

static void change_fabric(struct fi_ops_fabric *ours)
{
	ours->domain = our_domain;
	ours->passive_ep = our_passive_ep;
	ours->eq_open = our_eq_open;
}

int __real_fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
int __wrap_fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

int __wrap_fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	int ret = verdict(T_FI_FABRIC);

	if (!ret)
		ret = __real_fi_fabric(attr, fabric, context);
	if (!ret)
		(*fabric)->ops = over_ops_fabric((*fabric)->ops, change_fabric);
	return ret;
}

int __real_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		      const struct fi_info *hints, struct fi_info **info);
int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		      const struct fi_info *hints, struct fi_info **info);

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		      const struct fi_info *hints, struct fi_info **info)
{
	PASS(T_FI_GETINFO, __real_fi_getinfo(version, node, service, flags, hints, info));
}
