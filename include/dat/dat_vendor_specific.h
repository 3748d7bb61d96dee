/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAT_VENDOR_SPECIFIC_H
#define DAT_VENDOR_SPECIFIC_H

#include <dat/dat_platform_specific.h>

/*
 * Names in DAT_PROVIDER_ATTR.provider_specific_attr by which an IA of the libfabric provider
 * describes the fabric that it uses. An IA of another provider does not have these names.
 */
#define DAT_OFI_ATTR_PROVIDER	"DAT_OFI_PROVIDER"	/* libfabric provider: "tcp" */
#define DAT_OFI_ATTR_TRANSPORT	"DAT_OFI_TRANSPORT"	/* "msg" or "rdm" */
#define DAT_OFI_ATTR_DOMAIN	"DAT_OFI_DOMAIN"	/* libfabric domain: "lo" */
#define DAT_OFI_ATTR_FABRIC	"DAT_OFI_FABRIC"	/* libfabric fabric: "127.0.0.0/8" */
#define DAT_OFI_ATTR_KEY	"DAT_OFI_KEY"		/* "user's key 1a2b3c4d of PATH" */
#define DAT_OFI_ATTR_PCI	"DAT_OFI_PCI"		/* its place: "0000:3b:00.0", or "" */
#define DAT_OFI_ATTR_NUMA_NODE	"DAT_OFI_NUMA_NODE"	/* its number; "" when unknown */
#define DAT_OFI_ATTR_CHOICE	"DAT_OFI_CHOICE"	/* why this device, in words */
#define DAT_OFI_ATTR_VERSION	"DAT_OFI_VERSION"	/* of this provider: "0.1.0" */

/* The device, as libfabric and the kernel describe it. */
#define DAT_OFI_ATTR_DEVICE	"DAT_OFI_DEVICE"	/* "mlx5_0"; a netdev has its own name */
#define DAT_OFI_ATTR_LINK	"DAT_OFI_LINK"		/* "up", "down", "unknown", ... */
#define DAT_OFI_ATTR_SPEED	"DAT_OFI_LINK_SPEED"	/* bits a second: "100000000000" */

/* How the provider works on this fabric. */
#define DAT_OFI_ATTR_MR_MODE	"DAT_OFI_MR_MODE"	/* "FI_MR_LOCAL, ..." or "none" */
#define DAT_OFI_ATTR_MR_CACHE	"DAT_OFI_MR_CACHE"	/* "TRUE": keys outlive LMRs */
#define DAT_OFI_ATTR_ORDER	"DAT_OFI_ORDER"		/* "ORDERED", "FENCE" or "HOLD" */
/* A message longer than its receive breaks the "CONNECTION", or all connections with the "PEER". */
#define DAT_OFI_ATTR_TRUNCATED_MESSAGE	"DAT_OFI_TRUNCATED_MESSAGE"
#define DAT_OFI_ATTR_THREADING	"DAT_OFI_THREADING"	/* "FI_THREAD_SAFE" */
#define DAT_OFI_ATTR_PROGRESS	"DAT_OFI_PROGRESS"	/* of data: "FI_PROGRESS_AUTO" */

/* The libfabric that the provider uses. */
#define DAT_OFI_ATTR_LF_RUNNING	"DAT_OFI_LIBFABRIC"		/* "2.6" */
#define DAT_OFI_ATTR_LF_BUILT	"DAT_OFI_LIBFABRIC_COMPILED"	/* "1.17" */
#define DAT_OFI_ATTR_LF_PATH	"DAT_OFI_LIBFABRIC_PATH"	/* "/usr/lib/libfabric.so.1" */

#endif /* DAT_VENDOR_SPECIFIC_H */
