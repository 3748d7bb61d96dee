/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAT_VENDOR_SPECIFIC_H
#define DAT_VENDOR_SPECIFIC_H

#include <dat/dat_platform_specific.h>

/*
 * Names in DAT_PROVIDER_ATTR.provider_specific_attr by which an IA of the libfabric provider
 * tells what it runs over. An IA of another provider does not have them.
 */
#define DAT_OFI_ATTR_PROVIDER	"DAT_OFI_PROVIDER"	/* libfabric provider: "tcp" */
#define DAT_OFI_ATTR_TRANSPORT	"DAT_OFI_TRANSPORT"	/* "msg" or "rdm" */
#define DAT_OFI_ATTR_DOMAIN	"DAT_OFI_DOMAIN"	/* libfabric domain: "lo" */
#define DAT_OFI_ATTR_FABRIC	"DAT_OFI_FABRIC"	/* libfabric fabric: "127.0.0.0/8" */
#define DAT_OFI_ATTR_PCI	"DAT_OFI_PCI"		/* where the device is: "0000:3b:00.0", or "" */
#define DAT_OFI_ATTR_NUMA_NODE	"DAT_OFI_NUMA_NODE"	/* its number, or "" when the system tells none */
#define DAT_OFI_ATTR_CHOICE	"DAT_OFI_CHOICE"	/* why this device of several, in words */
#define DAT_OFI_ATTR_VERSION	"DAT_OFI_VERSION"	/* of this provider: "0.1.0" */

#endif /* DAT_VENDOR_SPECIFIC_H */
