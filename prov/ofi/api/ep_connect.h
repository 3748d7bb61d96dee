/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls that connect and disconnect endpoints. */
#ifndef DOFI_API_EP_CONNECT_H
#define DOFI_API_EP_CONNECT_H

#include "base/dat_api.h"

DAT_RETURN dofi_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual,
			   DAT_TIMEOUT timeout, DAT_COUNT private_size,
			   const DAT_PVOID private_data, DAT_QOS qos, DAT_CONNECT_FLAGS flags);
DAT_RETURN dofi_ep_dup_connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE dup, DAT_TIMEOUT timeout,
			       DAT_COUNT private_size, const DAT_PVOID private_data, DAT_QOS qos);
DAT_RETURN dofi_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags);

#endif
