/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/netdev.h"

#include "fabric/topo.h"

#include <ctype.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- subnets --- */

bool dofi_subnet_parse(struct dofi_subnet *subnet, const char *text)
{
	char host[DOFI_ADDR_TEXT];
	size_t length = strcspn(text, "/");
	unsigned long size;
	unsigned int bits;
	char *end;

	if (length >= sizeof(host))
		return false;
	memcpy(host, text, length);
	host[length] = '\0';
	if (!dofi_addr_parse(host, &subnet->addr))
		return false;
	bits = subnet->addr.ss_family == AF_INET ? 32 : 128;
	subnet->size = bits;
	if (!text[length])
		return true;
	if (!isdigit((unsigned char)text[length + 1]))
		return false;
	size = strtoul(text + length + 1, &end, 10);
	subnet->size = (unsigned int)size;
	return !*end && size <= bits;
}

bool dofi_subnet_has(const struct dofi_subnet *subnet, const struct sockaddr_storage *addr)
{
	struct in6_addr a, b;

	if (subnet->addr.ss_family != addr->ss_family)
		return false;
	dofi_addr_bytes(&subnet->addr, &a);
	dofi_addr_bytes(addr, &b);
	for (unsigned int bit = 0; bit < subnet->size; bit++)
		if ((a.s6_addr[bit / 8] ^ b.s6_addr[bit / 8]) & (0x80 >> bit % 8))
			return false;
	return true;
}

/* --- names --- */

bool dofi_netdev_of(const char *label, char netdev[IF_NAMESIZE])
{
	size_t size = strcspn(label, ":");

	if (!size || size >= IF_NAMESIZE || memchr(label, '/', size))
		return false;
	memcpy(netdev, label, size);
	netdev[size] = '\0';
	return true;
}

/* --- what is below --- */

/* A tunnel uses hardware, but reaches only hosts that know the tunnel. */
static bool is_tunnel(const char *netdev)
{
	char path[128], line[128];
	bool tunnel = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/class/net/%s/uevent", dofi_sysfs, netdev);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!tunnel && fgets(line, sizeof(line), file))
		tunnel = !strcmp(line, "DEVTYPE=vxlan\n") || !strcmp(line, "DEVTYPE=geneve\n");
	fclose(file);
	return tunnel;
}

static bool exists(const char *netdev, const char *what)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/class/net/%s%s", dofi_sysfs, netdev, what);
	return !access(path, F_OK);
}

/* A bond, a VLAN or a bridge lies on a card, or on another bond, VLAN or bridge. */
static bool on_hardware(const char *netdev, unsigned int depth)
{
	char path[128];
	const struct dirent *entry;
	bool found = false;
	DIR *dir;

	if (exists(netdev, "/device"))
		return true;
	if (!depth || is_tunnel(netdev))
		return false;
	snprintf(path, sizeof(path), "%s/class/net/%s", dofi_sysfs, netdev);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir)))
		found = !strncmp(entry->d_name, "lower_", 6) &&
			on_hardware(entry->d_name + 6, depth - 1);
	closedir(dir);
	return found;
}

bool dofi_netdev_is_virtual(const char *label)
{
	char netdev[IF_NAMESIZE];

	return dofi_netdev_of(label, netdev) && exists(netdev, "") && !on_hardware(netdev, 4);
}

bool dofi_pci_parse(struct fi_pci_attr *pci, const char *text)
{
	unsigned int domain, bus, device, function;
	int end = 0;

	sscanf(text, "%4x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end);
	if (!end) {
		domain = 0;
		sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function, &end);
	}
	if (!end || text[end] || device > 31 || function > 7)
		return false;
	*pci = (struct fi_pci_attr){(uint16_t)domain, (uint8_t)bus, (uint8_t)device,
				    (uint8_t)function};
	return true;
}

bool dofi_pci_equal(const struct fi_pci_attr *a, const struct fi_pci_attr *b)
{
	return a->domain_id == b->domain_id && a->bus_id == b->bus_id &&
	       a->device_id == b->device_id && a->function_id == b->function_id;
}

/* The interface of a virtio card lies on a virtio device, whose parent is the PCI device. */
bool dofi_netdev_pci(const char *label, struct fi_pci_attr *pci_p)
{
	char path[160], *real, *name;
	char netdev[IF_NAMESIZE];
	bool found = false;

	if (!dofi_netdev_of(label, netdev))
		return false;
	snprintf(path, sizeof(path), "%s/class/net/%s/device", dofi_sysfs, netdev);
	real = realpath(path, NULL);
	if (!real)
		return false;
	while (!found && (name = strrchr(real, '/'))) {
		found = dofi_pci_parse(pci_p, name + 1);
		*name = '\0';
	}
	free(real);
	return found;
}

/* --- addresses --- */

bool dofi_netdev_has(const char *netdev, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage other;
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (struct ifaddrs *ifa = all; ifa && !found; ifa = ifa->ifa_next)
		found = ifa->ifa_addr && !strcmp(ifa->ifa_name, netdev) &&
			dofi_addr_set(&other, ifa->ifa_addr, 0) &&
			dofi_addr_same_host(addr, &other);
	freeifaddrs(all);
	return found;
}

bool dofi_netdev_is_ours(const struct sockaddr_storage *addr)
{
	struct sockaddr_storage other;
	struct ifaddrs *all;
	bool found = false;

	if (dofi_addr_is_loopback(addr))
		return true;
	if (getifaddrs(&all))
		return false;
	for (struct ifaddrs *ifa = all; ifa && !found; ifa = ifa->ifa_next)
		found = ifa->ifa_addr && dofi_addr_set(&other, ifa->ifa_addr, 0) &&
			dofi_addr_same_host(addr, &other);
	freeifaddrs(all);
	return found;
}

bool dofi_pci_in_subnet(const struct fi_pci_attr *pci, const struct dofi_subnet *subnet)
{
	struct sockaddr_storage addr;
	struct fi_pci_attr other;
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (struct ifaddrs *ifa = all; ifa && !found; ifa = ifa->ifa_next)
		found = ifa->ifa_addr && dofi_addr_set(&addr, ifa->ifa_addr, 0) &&
			dofi_subnet_has(subnet, &addr) && dofi_netdev_pci(ifa->ifa_name, &other) &&
			dofi_pci_equal(pci, &other);
	freeifaddrs(all);
	return found;
}

bool dofi_netdev_host_addr(const struct dofi_subnet *subnet, struct sockaddr_storage *addr_p)
{
	unsigned int least = UINT32_MAX;
	struct ifaddrs *all;

	if (getifaddrs(&all))
		return false;
	for (struct ifaddrs *ifa = all; ifa; ifa = ifa->ifa_next) {
		struct sockaddr_storage addr;
		unsigned int rank;

		if (!ifa->ifa_addr || !(ifa->ifa_flags & IFF_UP) ||
		    !dofi_addr_set(&addr, ifa->ifa_addr, 0) || dofi_addr_is_link_local(&addr) ||
		    (subnet && !dofi_subnet_has(subnet, &addr)))
			continue;
		rank = (dofi_addr_is_loopback(&addr) ? 4 : 0) +
		       (dofi_netdev_is_virtual(ifa->ifa_name) ? 2 : 0) +
		       (addr.ss_family == AF_INET6);
		if (rank < least) {
			least = rank;
			*addr_p = addr;
		}
	}
	freeifaddrs(all);
	return least != UINT32_MAX;
}
