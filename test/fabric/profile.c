/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The profiles of simulated hardware. No other file uses the name of a profile. */
#include "sham.h"

#include <string.h>

#define COMMON_CAPS                                                                              \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | \
	 FI_REMOTE_WRITE | FI_DIRECTED_RECV | FI_SOURCE | FI_MULTI_RECV | FI_LOCAL_COMM |        \
	 FI_REMOTE_COMM)

/* One card with both kinds of keys. */
#define CXI                                                                                 \
	.caps = COMMON_CAPS | FI_FENCE, .caps_on_request = FI_FENCE | FI_SOURCE,            \
	.addr_format = FI_ADDR_CXI, .protocol = FI_PROTO_CXI, .ep_max = 128, .mr_cnt = 100, \
	.msg_order = FI_ORDER_SAS | FI_ORDER_WAW | FI_ORDER_RMA_WAW | FI_ORDER_RMA_RAR,     \
	.order_on_request = true, .tag_mask = (UINT64_C(1) << 48) - 1, .cq_data_size = 8,   \
	.max_msg_size = (UINT64_C(1) << 32) - 1, .inject_size = 192, .iov_limit = 1,        \
	.tx_size = 16384, .rx_size = 15360, .tx_default = 1024, .rx_default = 1024,         \
	.rx_unchecked = true,                                                               \
	.wait_objs = 1 << FI_WAIT_NONE | 1 << FI_WAIT_FD | 1 << FI_WAIT_POLLFD,             \
	.wait_unspec = FI_WAIT_FD, .sread_error = -FI_EINVAL, .cancel_unknown = -FI_ENOENT, \
	.early = true, .tells_injected = true, .mutes = true,                               \
	.refusal = {FI_EIO, 18 /* C_RC_ENTRY_NOT_FOUND */}

const struct sham_profile sham_profiles[] = {
	{
		.name = "efa",
		.caps = COMMON_CAPS,
		.mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
		.mr_mode_optional = FI_MR_LOCAL,
		.addr_format = FI_ADDR_EFA,
		.protocol = FI_PROTO_EFA,
		.av_type = FI_AV_TABLE,
		.key_mask = 0x2a000000,
		.key_size = 4,
		.ep_max = 256,
		.msg_order = FI_ORDER_SAS,
		.tag_mask = UINT64_MAX,
		.cq_data_size = 4,
		.max_msg_size = UINT64_MAX,
		.inject_size = 4096,
		.iov_limit = 4,
		.tx_size = 4096,
		.rx_size = 8192,
		.wait_objs = 1 << FI_WAIT_NONE,
		.wait_unspec = FI_WAIT_UNSPEC,
		.sread_error = -FI_ENOSYS,
		.write_data = true,
		.cancel_unknown = 0,
		.early = true,
	},
	{
		.name = "cxi",
		.mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
		.key_mask = UINT64_C(0x9a3c5f1200000000),
		.key_size = 8,
		.key_cache = true,
		CXI,
	},
	{
		.name = "cxi-client-keys",
		.mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED,
		.key_size = 4,
		.mr_max = 1 << 16,
		CXI,
	},
	{
		.name = "opx",
		.caps = COMMON_CAPS,
		.caps_on_request = FI_SOURCE | FI_MULTI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM,
		.mode = FI_CONTEXT2 | FI_ASYNC_IOV,
		.mr_mode_unasked = FI_MR_HMEM,
		.addr_format = FI_ADDR_OPX,
		.protocol = FI_PROTO_OPX,
		.key_size = 8,
		.ep_max = 160,
		.msg_order = FI_ORDER_SAS,
		.order_unstated = true,
		.tag_mask = UINT64_MAX,
		.cq_data_size = 4,
		.max_msg_size = UINT64_MAX,
		.inject_size = 16,
		.iov_limit = 1,
		.tx_size = 4096,
		.rx_size = 8192,
		.sizes_unstated = true,
		.wait_objs = 1 << FI_WAIT_NONE,
		.wait_unspec = FI_WAIT_UNSPEC,
		.sread_error = -FI_ENOSYS,
		.threading = FI_THREAD_DOMAIN,
		.management = FI_RM_DISABLED,
		.write_data = true,
		.cancel_unknown = 0,
		.early = true,
	},
};

const unsigned int sham_nprofiles = sizeof(sham_profiles) / sizeof(sham_profiles[0]);

const struct sham_profile *sham_profile_find(const char *name)
{
	for (unsigned int i = 0; i < sham_nprofiles; i++)
		if (!strcmp(sham_profiles[i].name, name))
			return &sham_profiles[i];
	return NULL;
}
