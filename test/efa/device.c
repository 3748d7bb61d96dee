/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The list of devices and their attributes. The values that the provider uses are those of a p4d
 * (0xefa1) and a p5 (0xefa2). Queues are shorter, so that endpoints are small.
 */
#include "softefa.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_NAME "rdmap0s27"

static struct ibv_device device;

struct soft_context {
	struct verbs_context verbs; /* ends with ibv_context */
};

static void fill_device(void)
{
	device.node_type = IBV_NODE_UNSPECIFIED;
	device.transport_type = IBV_TRANSPORT_UNSPECIFIED;
	snprintf(device.name, sizeof(device.name), "%s", DEVICE_NAME);
	snprintf(device.dev_name, sizeof(device.dev_name), "uverbs0");
	snprintf(device.dev_path, sizeof(device.dev_path), "%s/class/infiniband_verbs/uverbs0",
		 efa_set.sysfs);
	snprintf(device.ibdev_path, sizeof(device.ibdev_path), "%s/class/infiniband/%s",
		 efa_set.sysfs, DEVICE_NAME);
}

int efa_names_reads = 1;

/*
 * Until 2022 rdma-core reported the completion of an RDMA read as a send, and libfabric up to 1.17
 * expects that. The address of the caller tells which libfabric calls, because it may be loaded
 * into a local scope.
 */
static void know_caller(const void *address)
{
	uint32_t (*version)(void);
	void *handle;
	Dl_info info;

	if (!dladdr(address, &info) || !(handle = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD)))
		return;
	*(void **)&version = dlsym(handle, "fi_version");
	if (version)
		efa_names_reads = version() >= (1 << 16 | 18);
	dlclose(handle);
}

struct ibv_device **ibv_get_device_list(int *count)
{
	struct ibv_device **list = calloc(2, sizeof(*list));

	know_caller(__builtin_return_address(0));
	if (count)
		*count = 0;
	if (!list || efa_settings() || efa_attach())
		return list;
	fill_device();
	list[0] = &device;
	if (count)
		*count = 1;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		      size_t size)
{
	struct ibv_port_attr all = {
		.state = IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = IBV_MTU_4096,
		.gid_tbl_len = 1,
		.max_msg_sz = efa_set.mtu,
		.pkey_tbl_len = 1,
		.active_width = 2,  /* 4x */
		.active_speed = 32, /* EDR: 100 Gbit/s */
		.phys_state = 5,    /* link up */
		.link_layer = IBV_LINK_LAYER_UNSPECIFIED,
	};

	(void)context;
	if (port != 1)
		return EINVAL;
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return query_port(context, port, (struct ibv_port_attr *)attr,
			  offsetof(struct ibv_port_attr, link_layer));
}

struct ibv_context *ibv_open_device(struct ibv_device *dev)
{
	struct soft_context *soft = calloc(1, sizeof(*soft));
	struct ibv_context *context;

	if (!soft)
		return NULL;
	soft->verbs.sz = sizeof(soft->verbs);
	soft->verbs.query_port = query_port;
	soft->verbs.create_cq_ex = efa_create_cq_ex;
	soft->verbs.create_qp_ex = efa_create_qp_ex;
	context = &soft->verbs.context;
	context->device = dev;
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	context->ops.post_send = efa_post_send;
	context->ops.post_recv = efa_post_recv;
	context->ops.req_notify_cq = efa_req_notify;
	context->cmd_fd = context->async_fd = -1;
	context->num_comp_vectors = 2; /* libfabric 2.5 uses interrupts if there are two */
	return context;
}

int ibv_close_device(struct ibv_context *context)
{
	free(container_of(context, struct soft_context, verbs.context));
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	memset(attr, 0, sizeof(*attr));
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "0.0.0.0");
	attr->max_mr_size = UINT64_MAX >> 16;
	attr->page_size_cap = 0xfffff000;
	attr->vendor_id = 0x1d0f;
	attr->vendor_part_id = efa_set.part;
	attr->max_qp = (int)efa_set.max_qp;
	attr->max_qp_wr = (int)efa_set.max_sq_wr;
	attr->max_sge = SEG_SGES;
	attr->max_sge_rd = 1;
	attr->max_cq = (int)efa_set.max_cq;
	attr->max_cqe = 65536;
	attr->max_mr = (int)efa_set.max_mr;
	attr->max_pd = (int)efa_set.max_pd;
	attr->max_ah = (int)efa_set.max_ah;
	attr->phys_port_cnt = 1;
	return 0;
}

static uint32_t capabilities(void)
{
	uint32_t caps = EFA_CAP_RNR_RETRY | EFA_CAP_CQ_WITH_SGID;

	if (efa_set.part >= 0xefa1)
		caps |= EFA_CAP_RDMA_READ;
	if (efa_set.part >= 0xefa2)
		caps |= EFA_CAP_RDMA_WRITE;
	if (efa_set.part >= 0xefa2 && efa_set.unsolicited)
		caps |= EFA_CAP_UNSOLICITED_WRITE_RECV;
	return caps;
}

int efadv_query_device(struct ibv_context *context, struct efadv_device_attr *attr, uint32_t size)
{
	struct efadv_device_attr all = {
		.max_sq_wr = efa_set.max_sq_wr,
		.max_rq_wr = efa_set.max_rq_wr,
		.max_sq_sge = 2,
		.max_rq_sge = SEG_SGES,
		.inline_buf_size = (uint16_t)efa_set.inline_size,
		.device_caps = capabilities(),
		.max_rdma_size = efa_set.part >= 0xefa1 ? efa_set.max_rdma : 0,
	};

	(void)context;
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	(void)context;
	if (port != 1 || index)
		return EINVAL;
	efa_gid_of(efa_set.host, gid);
	return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	(void)context;
	if (port != 1 || index)
		return EINVAL;
	*pkey = 0xffff;
	return 0;
}

/* Nothing to do: newer kernels copy pinned pages at fork. */
int ibv_fork_init(void)
{
	return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}
