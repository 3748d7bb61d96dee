/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address vectors. They record inserted addresses, so that a post to another address is noticed. */
#include "sham.h"

#include <stdlib.h>

static struct sham_av *av_of(struct fid_av *av)
{
	return SHAM_CONTAINER(av, struct sham_av, fid);
}

static int av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *fi_addr,
		     uint64_t flags, void *context)
{
	struct sham_av *av = av_of(fid);
	int ret;

	if (!fi_addr)
		sham_die(av->domain->profile, "fi_av_insert without a place for the addresses");
	pthread_mutex_lock(&av->domain->lock);
	ret = fi_av_insert(av->core, addr, count, fi_addr, flags, context);
	for (size_t i = 0; ret > 0 && i < count; i++)
		if (fi_addr[i] != FI_ADDR_NOTAVAIL)
			sham_set_add(&av->addrs, fi_addr[i]);
	pthread_mutex_unlock(&av->domain->lock);
	return ret;
}

static int no_insertsvc(struct fid_av *av, const char *node, const char *service,
			fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	(void)av, (void)node, (void)service, (void)fi_addr, (void)flags, (void)context;
	return -FI_ENOSYS;
}

static int no_insertsym(struct fid_av *av, const char *node, size_t nodecnt, const char *service,
			size_t svccnt, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	(void)av, (void)node, (void)nodecnt, (void)service, (void)svccnt, (void)fi_addr;
	(void)flags, (void)context;
	return -FI_ENOSYS;
}

/* Discards operations that wait for this address, so that its next user does not get them. */
static void forsake(const struct sham_av *av, fi_addr_t addr)
{
	DOFI_LIST_FOR(node, &av->domain->eps)
	{
		struct sham_ep *ep = SHAM_CONTAINER(node, struct sham_ep, link);

		if (ep->av == av)
			sham_late_forsake(ep, addr);
	}
}

static int av_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	struct sham_av *av = av_of(fid);
	int ret;

	pthread_mutex_lock(&av->domain->lock);
	for (size_t i = 0; i < count; i++)
		if (!sham_set_del(&av->addrs, fi_addr[i]))
			sham_die(av->domain->profile,
				 "fi_av_remove of address %#lx, which is not in the vector",
				 (unsigned long)fi_addr[i]);
	for (size_t i = 0; i < count; i++)
		forsake(av, fi_addr[i]);
	ret = fi_av_remove(av->core, fi_addr, count, flags);
	pthread_mutex_unlock(&av->domain->lock);
	return ret;
}

static int av_lookup(struct fid_av *av, fi_addr_t fi_addr, void *addr, size_t *addrlen)
{
	return fi_av_lookup(av_of(av)->core, fi_addr, addr, addrlen);
}

static const char *av_straddr(struct fid_av *av, const void *addr, char *buf, size_t *len)
{
	return fi_av_straddr(av_of(av)->core, addr, buf, len);
}

static int av_close(struct fid *fid)
{
	struct sham_av *av = SHAM_CONTAINER(fid, struct sham_av, fid.fid);
	int ret;

	if (av->refs)
		return -FI_EBUSY;
	ret = fi_close(&av->core->fid);
	if (ret)
		return ret;
	sham_set_clear(&av->addrs);
	pthread_mutex_lock(&av->domain->lock);
	av->domain->refs--;
	pthread_mutex_unlock(&av->domain->lock);
	free(av);
	return 0;
}

static struct fi_ops av_fid_ops = {
	.size = sizeof(av_fid_ops),
	.close = av_close,
	.bind = sham_no_bind,
	.control = sham_no_control,
	.ops_open = sham_no_ops_open,
};

static struct fi_ops_av av_ops = {
	.size = sizeof(av_ops),
	.insert = av_insert,
	.insertsvc = no_insertsvc,
	.insertsym = no_insertsym,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
};

int sham_av_open(struct fid_domain *fid, struct fi_av_attr *attr, struct fid_av **av_p,
		 void *context)
{
	struct sham_domain *domain = sham_domain_of(fid);
	struct fi_av_attr core = {.type = FI_AV_TABLE, .count = attr->count};
	struct sham_av *av;
	int ret;

	/* Shared vectors and asynchronous insertion: neither card has them. */
	if (attr->name || attr->flags || attr->rx_ctx_bits)
		return -FI_ENOSYS;
	av = calloc(1, sizeof(*av));
	if (!av)
		return -FI_ENOMEM;
	ret = fi_av_open(domain->core, &core, &av->core, NULL);
	if (ret) {
		free(av);
		return ret;
	}
	av->domain = domain;
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &av_fid_ops;
	av->fid.ops = &av_ops;
	pthread_mutex_lock(&domain->lock);
	domain->refs++;
	pthread_mutex_unlock(&domain->lock);
	*av_p = &av->fid;
	return 0;
}
