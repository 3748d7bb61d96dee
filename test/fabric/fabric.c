/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The provider's entry, the fabric object, and the results of calls that an object lacks. */
#include "sham.h"

#include <stdlib.h>

int sham_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	(void)fid, (void)bfid, (void)flags;
	return -FI_ENOSYS;
}

int sham_no_control(struct fid *fid, int command, void *arg)
{
	(void)fid, (void)command, (void)arg;
	return -FI_ENOSYS;
}

int sham_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	(void)fid, (void)name, (void)flags, (void)ops, (void)context;
	return -FI_ENOSYS;
}

struct sham_fabric *sham_fabric_of(struct fid_fabric *fabric)
{
	return SHAM_CONTAINER(fabric, struct sham_fabric, fid);
}

static int fabric_close(struct fid *fid)
{
	struct sham_fabric *fabric = SHAM_CONTAINER(fid, struct sham_fabric, fid.fid);
	int ret;

	if (fabric->refs)
		return -FI_EBUSY;
	ret = fi_close(&fabric->core->fid);
	if (!ret)
		free(fabric);
	return ret;
}

static int no_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
			 void *context)
{
	(void)fabric, (void)info, (void)pep, (void)context;
	return -FI_ENOSYS;
}

/* The application gets the event queue of the core, because the test provider writes no events. */
static int eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		   void *context)
{
	return fi_eq_open(sham_fabric_of(fabric)->core, attr, eq, context);
}

static int no_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr,
			struct fid_wait **wait)
{
	(void)fabric, (void)attr, (void)wait;
	return -FI_ENOSYS;
}

static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	struct fid_fabric *core = sham_fabric_of(fabric)->core;
	int ret = 0;

	for (int i = 0; i < count && !ret; i++) {
		if (fids[i]->fclass == FI_CLASS_CQ)
			ret = sham_cq_may_sleep(SHAM_CONTAINER(fids[i], struct sham_cq, fid.fid));
		else
			ret = fi_trywait(core, &fids[i], 1);
	}
	return ret;
}

static struct fi_ops fabric_fid_ops = {
	.size = sizeof(fabric_fid_ops),
	.close = fabric_close,
	.bind = sham_no_bind,
	.control = sham_no_control,
	.ops_open = sham_no_ops_open,
};

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(fabric_ops),
	.domain = sham_domain_open,
	.passive_ep = no_passive_ep,
	.eq_open = eq_open,
	.wait_open = no_wait_open,
	.trywait = trywait,
};

int sham_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric_p, void *context)
{
	struct sham_fabric *fabric = calloc(1, sizeof(*fabric));
	struct fi_info *core;
	int ret;

	(void)attr;
	if (!fabric)
		return -FI_ENOMEM;
	/* All profiles use one fabric of the core, so any profile finds it. */
	ret = sham_core_info(&sham_profiles[0], 0, &core);
	if (!ret) {
		ret = fi_fabric(core->fabric_attr, &fabric->core, NULL);
		fi_freeinfo(core);
	}
	if (ret) {
		free(fabric);
		return ret;
	}
	fabric->fid.fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.fid.context = context;
	fabric->fid.fid.ops = &fabric_fid_ops;
	fabric->fid.ops = &fabric_ops;
	*fabric_p = &fabric->fid;
	return 0;
}

struct fi_provider sham_provider = {
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.name = "sham",
	.getinfo = sham_getinfo,
	.fabric = sham_fabric_open,
};

__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void);

struct fi_provider *fi_prov_ini(void)
{
	sham_params_define();
	return &sham_provider;
}
