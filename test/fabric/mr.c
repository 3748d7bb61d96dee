/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registrations. A key of the provider is that of the core, combined with a mask that makes it as
 * long as a key of the hardware. If a program keeps fewer bits of it, the peer's post fails.
 */
#include "sham.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define REMOTE     (FI_REMOTE_READ | FI_REMOTE_WRITE)
#define ALL_ACCESS (FI_SEND | FI_RECV | FI_READ | FI_WRITE | REMOTE)
/* Marks the core's key of a registration that has no key for the application. */
#define NO_CLIENTS (UINT64_C(1) << 40)

static const uint64_t access_for[] = {
	[SHAM_READ] = FI_READ,
	[SHAM_WRITE] = FI_WRITE,
	[SHAM_SEND] = FI_SEND,
	[SHAM_RECV] = FI_RECV,
};

/* --- keys --- */

static bool has_own_keys(const struct sham_domain *domain)
{
	return domain->mr_mode & FI_MR_PROV_KEY;
}

static bool is_client_key(const struct sham_profile *profile, uint64_t key)
{
	return profile->key_size >= sizeof(key) || !(key >> (8 * profile->key_size));
}

bool sham_mr_uncover(const struct sham_profile *profile, uint64_t key, uint64_t *core_p)
{
	*core_p = key ^ profile->key_mask;
	if (!profile->key_mask)
		return is_client_key(profile, key);
	return !(*core_p >> __builtin_ctzll(profile->key_mask));
}

/* --- segments --- */

static void check_segment(const struct sham_op *op, size_t i)
{
	struct sham_domain *domain = op->ep->domain;
	const struct sham_mr *mr = op->desc[i];
	const char *base, *buf = op->iov[i].iov_base;

	if (!mr && !(domain->mr_mode & FI_MR_LOCAL))
		return;
	if (!sham_set_has(&domain->mrs, (uintptr_t)mr))
		sham_die(domain->profile,
			 "segment %zu has descriptor %p, which no live registration has", i,
			 (const void *)mr);
	base = mr->iov.iov_base;
	if (buf < base || buf + op->iov[i].iov_len > base + mr->iov.iov_len)
		sham_die(domain->profile,
			 "segment %zu, %zu bytes at %p, is outside its registration, %zu bytes at "
			 "%p",
			 i, op->iov[i].iov_len, (const void *)buf, mr->iov.iov_len,
			 (const void *)base);
	if (!(mr->access & access_for[op->kind]))
		sham_die(domain->profile,
			 "segment %zu needs access %#lx, but its registration has %#lx", i,
			 (unsigned long)access_for[op->kind], (unsigned long)mr->access);
}

void sham_mr_check_segments(const struct sham_op *op)
{
	for (size_t i = 0; i < op->niov; i++)
		if (op->iov[i].iov_len)
			check_segment(op, i);
}

/* If registrations belong to endpoints, only those for remote access have a key. */
static bool has_key(const struct sham_mr *mr)
{
	return !(mr->domain->mr_mode & FI_MR_ENDPOINT) || (mr->access & REMOTE);
}

static int register_in_core(struct sham_domain *domain, const struct iovec *iov, uint64_t access,
			    uint64_t key, struct fid_mr **core_p)
{
	struct fi_mr_attr attr = {.mr_iov = iov,
				  .iov_count = 1,
				  .access = access,
				  .requested_key = key};

	return fi_mr_regattr(domain->core, &attr, 0, core_p);
}

/* --- keys of memory, not of registrations --- */

/*
 * A peer that knows such a key may read and write the memory, whatever the rights of the
 * registration were, until the domain is closed.
 */
struct region {
	struct dofi_list link; /* in domain->regions */
	struct fid_mr *core;
	struct iovec iov;
};

static struct region *find_region(const struct sham_domain *domain, const struct iovec *iov)
{
	DOFI_LIST_FOR(node, &domain->regions)
	{
		struct region *region = SHAM_CONTAINER(node, struct region, link);

		if (region->iov.iov_base == iov->iov_base && region->iov.iov_len >= iov->iov_len)
			return region;
	}
	return NULL;
}

static struct region *add_region(struct sham_domain *domain, const struct iovec *iov)
{
	struct region *region = calloc(1, sizeof(*region));

	if (!region)
		return NULL;
	region->iov = *iov;
	if (register_in_core(domain, iov, ALL_ACCESS, ++domain->next_key, &region->core)) {
		free(region);
		return NULL;
	}
	dofi_list_add_tail(&domain->regions, &region->link);
	return region;
}

static int enable_cached(struct sham_mr *mr)
{
	struct sham_domain *domain = mr->domain;
	struct region *region = find_region(domain, &mr->iov);

	if (!region)
		region = add_region(domain, &mr->iov);
	if (!region)
		return -FI_ENOMEM;
	mr->enabled = true;
	mr->fid.key = fi_mr_key(region->core) ^ domain->profile->key_mask;
	return 0;
}

int sham_mr_forget_regions(struct sham_domain *domain)
{
	int ret = 0;

	DOFI_LIST_FOR_SAFE(node, &domain->regions)
	{
		struct region *region = SHAM_CONTAINER(node, struct region, link);

		ret = fi_close(&region->core->fid);
		if (ret)
			break;
		dofi_list_del(&region->link);
		free(region);
	}
	return ret;
}

/* --- the object --- */

static int mr_enable(struct sham_mr *mr)
{
	struct sham_domain *domain = mr->domain;
	uint64_t key = mr->client_key;
	int ret;

	if (mr->enabled)
		return 0;
	if (domain->key_cache && (mr->access & REMOTE))
		return enable_cached(mr);
	if (has_own_keys(domain))
		key = ++domain->next_key;
	else if (!has_key(mr))
		key = NO_CLIENTS | ++domain->next_key;
	ret = register_in_core(domain, &mr->iov, mr->access, key, &mr->core);
	if (ret)
		return ret;
	mr->enabled = true;
	if (has_key(mr))
		mr->fid.key = fi_mr_key(mr->core) ^ domain->profile->key_mask;
	return 0;
}

static int mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct sham_mr *mr = SHAM_CONTAINER(fid, struct sham_mr, fid.fid);
	struct sham_ep *ep;
	int ret = -FI_EINVAL;

	if (flags || bfid->fclass != FI_CLASS_EP || !(mr->domain->mr_mode & FI_MR_ENDPOINT))
		return ret;
	ep = SHAM_CONTAINER(bfid, struct sham_ep, fid.fid);
	pthread_mutex_lock(&mr->domain->lock);
	if (!mr->ep && !mr->enabled && ep->domain == mr->domain && ep->enabled) {
		mr->ep = ep;
		ep->refs++;
		ret = 0;
	}
	pthread_mutex_unlock(&mr->domain->lock);
	return ret;
}

static int mr_control(struct fid *fid, int command, void *arg)
{
	struct sham_mr *mr = SHAM_CONTAINER(fid, struct sham_mr, fid.fid);
	int ret = -FI_EINVAL;

	(void)arg;
	if (command != FI_ENABLE)
		return -FI_ENOSYS;
	pthread_mutex_lock(&mr->domain->lock);
	if (mr->ep)
		ret = mr_enable(mr);
	pthread_mutex_unlock(&mr->domain->lock);
	return ret;
}

/* Removes the registration from those of the domain. Lock held. */
static void mr_retire(struct sham_mr *mr)
{
	struct sham_domain *domain = mr->domain;

	sham_set_del(&domain->mrs, (uintptr_t)mr);
	if (!has_own_keys(domain) && has_key(mr))
		sham_set_del(&domain->keys, mr->client_key);
	domain->nmrs--;
	domain->nremote -= has_key(mr);
	domain->refs--;
	if (mr->ep)
		mr->ep->refs--;
}

static int mr_close(struct fid *fid)
{
	struct sham_mr *mr = SHAM_CONTAINER(fid, struct sham_mr, fid.fid);
	struct sham_domain *domain = mr->domain;
	int ret = 0;

	pthread_mutex_lock(&domain->lock);
	if (mr->core)
		ret = fi_close(&mr->core->fid);
	if (!ret)
		mr_retire(mr);
	pthread_mutex_unlock(&domain->lock);
	if (!ret)
		free(mr);
	return ret;
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(mr_fid_ops),
	.close = mr_close,
	.bind = mr_bind,
	.control = mr_control,
	.ops_open = sham_no_ops_open,
};

/* --- registration --- */

/* FI_MR_ALLOCATED: all pages must exist. msync checks nothing else here. */
static bool is_allocated(const struct iovec *iov)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), base = (uintptr_t)iov->iov_base;
	uintptr_t begin = base & ~(page - 1);

	return !iov->iov_len || !msync((void *)begin, base - begin + iov->iov_len, MS_ASYNC);
}

/* Adds the registration to those of the domain. Lock held. */
static int mr_admit(struct sham_mr *mr)
{
	struct sham_domain *domain = mr->domain;
	const struct sham_profile *profile = domain->profile;
	int limit = domain->faults.mr_limit;

	if (limit >= 0 && domain->nmrs >= (unsigned int)limit)
		return -FI_ENOMEM;
	if (profile->mr_max && has_key(mr) && domain->nremote >= profile->mr_max)
		return -FI_ENOSPC;
	if (!has_own_keys(domain) && has_key(mr)) {
		if (!is_client_key(profile, mr->client_key))
			return -FI_EKEYREJECTED;
		if (sham_set_has(&domain->keys, mr->client_key))
			return -FI_ENOKEY;
		if (!sham_set_add(&domain->keys, mr->client_key))
			return -FI_ENOMEM;
	}
	if (!sham_set_add(&domain->mrs, (uintptr_t)mr)) {
		if (!has_own_keys(domain) && has_key(mr))
			sham_set_del(&domain->keys, mr->client_key);
		return -FI_ENOMEM;
	}
	domain->nmrs++;
	domain->nremote += has_key(mr);
	domain->refs++;
	return 0;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **mr_p)
{
	struct sham_domain *domain = SHAM_CONTAINER(fid, struct sham_domain, fid.fid);
	struct sham_mr *mr;
	int ret;

	if (flags || attr->iov_count != 1 || attr->iface != FI_HMEM_SYSTEM)
		return -FI_EINVAL;
	if (!is_allocated(attr->mr_iov))
		return -FI_EFAULT;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	mr->domain = domain;
	mr->iov = *attr->mr_iov;
	mr->access = attr->access;
	mr->client_key = attr->requested_key;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = attr->context;
	mr->fid.fid.ops = &mr_fid_ops;
	mr->fid.mem_desc = mr;
	mr->fid.key = has_own_keys(domain) || !has_key(mr) ? FI_KEY_NOTAVAIL : mr->client_key;
	pthread_mutex_lock(&domain->lock);
	ret = mr_admit(mr);
	if (!ret && !(domain->mr_mode & FI_MR_ENDPOINT)) {
		ret = mr_enable(mr);
		if (ret)
			mr_retire(mr);
	}
	pthread_mutex_unlock(&domain->lock);
	if (ret)
		free(mr);
	else
		*mr_p = &mr->fid;
	return ret;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		   uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
		   void *context)
{
	struct fi_mr_attr attr = {
		.mr_iov = iov,
		.iov_count = count,
		.access = access,
		.offset = offset,
		.requested_key = requested_key,
		.context = context,
	};

	return mr_regattr(fid, &attr, flags, mr);
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		  uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};

	return mr_regv(fid, &iov, 1, access, offset, requested_key, flags, mr, context);
}

struct fi_ops_mr sham_mr_ops = {
	.size = sizeof(sham_mr_ops),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};
