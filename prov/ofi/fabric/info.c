/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/info.h"

#include "base/addr.h"

#include <rdma/fabric.h>

bool dofi_info_addr(const struct fi_info *info, struct sockaddr_storage *addr_p)
{
	if (!info->src_addr)
		return false;
	if (info->addr_format != FI_SOCKADDR && info->addr_format != FI_SOCKADDR_IN &&
	    info->addr_format != FI_SOCKADDR_IN6)
		return false;
	return dofi_addr_set(addr_p, info->src_addr, 0);
}

const char *dofi_info_domain(const struct fi_info *info)
{
	return info->domain_attr && info->domain_attr->name ? info->domain_attr->name : "unnamed";
}

const char *dofi_info_provider(const struct fi_info *info)
{
	return info->fabric_attr->prov_name ? info->fabric_attr->prov_name : "unnamed";
}
