/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The network interfaces of this host: their addresses, and what is below them. */
#ifndef DOFI_NETDEV_H
#define DOFI_NETDEV_H

#include "base/addr.h"

#include <rdma/fabric.h>

/* Addresses that begin with the same bits; size 0: every address. */
struct dofi_subnet {
	struct sockaddr_storage addr;
	unsigned int size;
};

/* "192.0.2.0/24"; an address without a size is a subnet of one. */
bool dofi_subnet_parse(struct dofi_subnet *subnet, const char *text);
bool dofi_subnet_has(const struct dofi_subnet *subnet, const struct sockaddr_storage *addr);

/* An address of this host, the loopback's included. */
bool dofi_netdev_is_ours(const struct sockaddr_storage *addr);

bool dofi_netdev_has(const char *netdev, const struct sockaddr_storage *addr);

/*
 * An address by which other hosts reach this one: IPv4 rather than IPv6, of hardware rather than of
 * containers, the loopback if nothing else. Within a subnet, or NULL.
 */
bool dofi_netdev_host_addr(const struct dofi_subnet *subnet, struct sockaddr_storage *addr_p);

/*
 * Neither hardware nor built upon some, as of containers, virtual machines and tunnels; false when
 * nothing is known.
 */
bool dofi_netdev_is_virtual(const char *netdev);

/* The PCI device below the interface. */
bool dofi_netdev_pci(const char *netdev, struct fi_pci_attr *pci_p);
bool dofi_pci_parse(struct fi_pci_attr *pci, const char *text); /* "0000:3b:00.0" or "3b:00.0" */
bool dofi_pci_equal(const struct fi_pci_attr *a, const struct fi_pci_attr *b);
/* Whether one of the device's interfaces has an address in the subnet. */
bool dofi_pci_in_subnet(const struct fi_pci_attr *pci, const struct dofi_subnet *subnet);

#endif
