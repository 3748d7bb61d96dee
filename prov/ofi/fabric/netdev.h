/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The network interfaces of this host: their addresses, and the devices below them. */
#ifndef DOFI_NETDEV_H
#define DOFI_NETDEV_H

#include "base/addr.h"

#include <net/if.h>
#include <rdma/fabric.h>

/* Addresses that begin with the same bits; size 0: every address. */
struct dofi_subnet {
	struct sockaddr_storage addr;
	unsigned int size;
};

/* "192.0.2.0/24"; an address without a size is a subnet of one. */
bool dofi_subnet_parse(struct dofi_subnet *subnet, const char *text);
bool dofi_subnet_has(const struct dofi_subnet *subnet, const struct sockaddr_storage *addr);

/*
 * Finds the interface of an address's label: "eth0:1", as getifaddrs and libfabric report it, is an
 * address of eth0. False if no interface can have the name.
 */
bool dofi_netdev_of(const char *label, char netdev[IF_NAMESIZE]);

/* Whether this is an address of this host, a loopback address included. */
bool dofi_netdev_is_ours(const struct sockaddr_storage *addr);

bool dofi_netdev_has(const char *netdev, const struct sockaddr_storage *addr);

/*
 * Finds an address by which other hosts reach this one, within the subnet unless that is NULL.
 * Prefers hardware to interfaces of containers, IPv4 to IPv6, and any of them to the loopback.
 */
bool dofi_netdev_host_addr(const struct dofi_subnet *subnet, struct sockaddr_storage *addr_p);

/*
 * The next two also take a label.
 * Whether the interface neither is hardware nor lies on some, as those of containers, virtual
 * machines and tunnels. False if this is not known.
 */
bool dofi_netdev_is_virtual(const char *label);

/* Finds the PCI device below the interface. */
bool dofi_netdev_pci(const char *label, struct fi_pci_attr *pci_p);
bool dofi_pci_parse(struct fi_pci_attr *pci, const char *text); /* "0000:3b:00.0" or "3b:00.0" */
bool dofi_pci_equal(const struct fi_pci_attr *a, const struct fi_pci_attr *b);
/* Whether one of the device's interfaces has an address in the subnet. */
bool dofi_pci_in_subnet(const struct fi_pci_attr *pci, const struct dofi_subnet *subnet);

#endif
