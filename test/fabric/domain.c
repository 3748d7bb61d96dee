/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sham.h"

#include <stdlib.h>
#include <string.h>

struct sham_domain *sham_domain_of(struct fid_domain *domain)
{
	return SHAM_CONTAINER(domain, struct sham_domain, fid);
}

/* --- calls that the hardware lacks --- */

static int no_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep,
			  void *context)
{
	(void)domain, (void)info, (void)sep, (void)context;
	return -FI_ENOSYS;
}

static int no_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
			struct fid_cntr **cntr, void *context)
{
	(void)domain, (void)attr, (void)cntr, (void)context;
	return -FI_ENOSYS;
}

static int no_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr,
			struct fid_poll **pollset)
{
	(void)domain, (void)attr, (void)pollset;
	return -FI_ENOSYS;
}

static int no_stx_ctx(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
		      void *context)
{
	(void)domain, (void)attr, (void)stx, (void)context;
	return -FI_ENOSYS;
}

static int no_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
		      void *context)
{
	(void)domain, (void)attr, (void)rx_ep, (void)context;
	return -FI_ENOSYS;
}

/* --- the object --- */

static void domain_free(struct sham_domain *domain)
{
	struct dofi_list *node;

	while ((node = dofi_list_pop(&domain->orphans)))
		sham_op_free(SHAM_CONTAINER(node, struct sham_op, link));
	sham_set_clear(&domain->contexts);
	sham_set_clear(&domain->mrs);
	sham_set_clear(&domain->keys);
	pthread_mutex_destroy(&domain->lock);
	domain->fabric->refs--;
	free(domain);
}

static int domain_close(struct fid *fid)
{
	struct sham_domain *domain = SHAM_CONTAINER(fid, struct sham_domain, fid.fid);
	int ret;

	if (domain->refs)
		return -FI_EBUSY;
	ret = sham_mr_forget_regions(domain);
	if (!ret)
		ret = fi_close(&domain->core->fid);
	if (!ret)
		domain_free(domain);
	return ret;
}

static int domain_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
			   void *context)
{
	struct sham_domain *domain = SHAM_CONTAINER(fid, struct sham_domain, fid.fid);

	(void)context;
	if (flags || strcmp(name, SHAM_FAULTS))
		return -FI_EINVAL;
	*ops = &domain->faults;
	return 0;
}

/* Registrations that are already enabled keep their keys. */
static int domain_control(struct fid *fid, int command, void *arg)
{
	struct sham_domain *domain = SHAM_CONTAINER(fid, struct sham_domain, fid.fid);

	if (command != SHAM_SET_KEY_CACHE || !domain->profile->key_cache)
		return -FI_EINVAL;
	pthread_mutex_lock(&domain->lock);
	domain->key_cache = *(const bool *)arg;
	pthread_mutex_unlock(&domain->lock);
	return 0;
}

static struct fi_ops domain_fid_ops = {
	.size = sizeof(domain_fid_ops),
	.close = domain_close,
	.bind = sham_no_bind,
	.control = domain_control,
	.ops_open = domain_ops_open,
};

static struct fi_ops_domain domain_ops = {
	.size = sizeof(domain_ops),
	.av_open = sham_av_open,
	.cq_open = sham_cq_open,
	.endpoint = sham_ep_open,
	.scalable_ep = no_scalable_ep,
	.cntr_open = no_cntr_open,
	.poll_open = no_poll_open,
	.stx_ctx = no_stx_ctx,
	.srx_ctx = no_srx_ctx,
};

static int open_core(struct sham_domain *domain, uint64_t caps)
{
	struct fi_info *core;
	int ret = sham_core_info(domain->profile, caps, &core);

	if (ret)
		return ret;
	ret = fi_domain(domain->fabric->core, core, &domain->core, NULL);
	fi_freeinfo(core);
	return ret;
}

static bool acceptable(const struct sham_profile *profile, const struct fi_domain_attr *attr)
{
	int known;

	if (!profile)
		return false;
	known = profile->mr_mode | profile->mr_mode_optional | profile->mr_mode_unasked;
	return !(profile->mr_mode & ~attr->mr_mode) && !(attr->mr_mode & ~known);
}

int sham_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain_p,
		     void *context)
{
	const struct fi_domain_attr *attr = info->domain_attr;
	const struct sham_profile *profile = attr->name ? sham_profile_find(attr->name) : NULL;
	struct sham_domain *domain;
	int ret;

	if (!acceptable(profile, attr))
		return -FI_EINVAL;
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -FI_ENOMEM;
	domain->profile = profile;
	domain->fabric = sham_fabric_of(fabric);
	domain->mr_mode = attr->mr_mode;
	ret = open_core(domain, info->caps);
	if (ret) {
		free(domain);
		return ret;
	}
	pthread_mutex_init(&domain->lock, NULL);
	dofi_list_init(&domain->eps);
	dofi_list_init(&domain->orphans);
	dofi_list_init(&domain->regions);
	domain->key_cache = profile->key_cache;
	sham_faults_load(&domain->faults);
	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	domain->fid.fid.ops = &domain_fid_ops;
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &sham_mr_ops;
	domain->fabric->refs++;
	*domain_p = &domain->fid;
	return 0;
}
