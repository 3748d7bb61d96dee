/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/wish.h"

#include "base/addr.h"
#include "base/log.h"
#include "base/param.h"
#include "fabric/info.h"
#include "fabric/nic.h"

#include <errno.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The oldest interface that this code is written to. */
#define OLDEST_API FI_VERSION(1, 17)

/* A socket can listen at such addresses, too, but peers cannot connect to them. */
static bool is_of_no_host(const struct sockaddr_storage *addr)
{
	struct in6_addr ip;
	bool v4 = dofi_addr_bytes(addr, &ip) == sizeof(struct in_addr);

	if (dofi_addr_is_any(addr))
		return true;
	if (!v4)
		return IN6_IS_ADDR_MULTICAST(&ip);
	/* A host without a route does not say that this one is a broadcast address. */
	return IN_MULTICAST(ntohl(ip.s6_addr32[0])) || ip.s6_addr32[0] == INADDR_BROADCAST;
}

/*
 * Whether this host has the address. Asks the kernel: no netdev lists all of 127.0.0.0/8. It lets a
 * socket listen at a broadcast address, but not connect to it. 0 or an errno.
 */
static int check_local(const struct sockaddr_storage *addr)
{
	const struct sockaddr *name = (const struct sockaddr *)addr;
	socklen_t size = dofi_addr_len(addr);
	int fd, err;

	if (is_of_no_host(addr))
		return EADDRNOTAVAIL;
	fd = socket(addr->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	err = bind(fd, name, size) ? errno : 0;
	if (!err && connect(fd, name, size) && errno == EACCES)
		err = EADDRNOTAVAIL;
	close(fd);
	return err;
}

static bool on_device(const struct fi_info *info, const struct fi_pci_attr *pci)
{
	struct fi_pci_attr own;

	return dofi_nic_pci(info, &own) && dofi_pci_equal(&own, pci);
}

/* "ib0" selects the device below that netdev. */
static bool domain_matches(const struct dofi_wish *wish, const struct fi_info *info,
			   const struct sockaddr_storage *addr)
{
	const char *wanted = wish->params->domain;
	struct fi_pci_attr pci;

	if (!*wanted || !strcmp(wanted, dofi_info_domain(info)))
		return true;
	return addr ? dofi_netdev_has(wanted, addr)
		    : dofi_netdev_pci(wanted, &pci) && on_device(info, &pci);
}

static bool subnet_matches(const struct dofi_wish *wish, const struct fi_info *info,
			   const struct sockaddr_storage *addr)
{
	struct fi_pci_attr pci;

	if (!wish->has_subnet)
		return true;
	return addr ? dofi_subnet_has(&wish->subnet, addr)
		    : dofi_nic_pci(info, &pci) && dofi_pci_in_subnet(&pci, &wish->subnet);
}

static bool link_is_down(const struct fi_info *info)
{
	return info->nic && info->nic->link_attr && info->nic->link_attr->state == FI_LINK_DOWN;
}

const char *dofi_wish_objection(const struct dofi_wish *wish, const struct fi_info *info,
				const struct sockaddr_storage *addr)
{
	if (!domain_matches(wish, info, addr))
		return "another domain is asked for";
	if (wish->has_addr && addr && !dofi_addr_same_host(addr, &wish->addr))
		return "another address is asked for";
	if (!subnet_matches(wish, info, addr))
		return "another subnet is asked for";
	if (wish->has_pci && !on_device(info, &wish->pci))
		return "another PCI device is asked for";
	if (addr && dofi_addr_is_link_local(addr))
		return "its address is link-local, which DAT addresses can't tell apart";
	if (link_is_down(info))
		return "its link is down";
	return NULL;
}

void dofi_wish_print(const struct dofi_wish *wish, FILE *out)
{
	const struct dofi_params *p = wish->params;
	const char *env = secure_getenv("FI_PROVIDER");
	const struct {
		const char *key, *value;
	} wishes[] = {
		{"provider", p->provider},       {"domain", p->domain}, {"addr", p->addr},
		{"transport", p->transport},     {"subnet", p->subnet}, {"pci", p->pci},
		{"FI_PROVIDER", env ? env : ""},
	};
	const char *before = " (";

	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		if (!*wishes[i].value)
			continue;
		fprintf(out, "%s%s=%s", before, wishes[i].key, wishes[i].value);
		before = " ";
	}
	if (strcmp(before, " ("))
		fputc(')', out);
}

int dofi_wish_parse(struct dofi_wish *wish)
{
	const struct dofi_params *p = wish->params;
	uint32_t version = fi_version();
	int err;

	if (FI_VERSION_LT(version, OLDEST_API)) {
		DOFI_LOG_E("IA %s: libfabric %u.%u is too old; 1.17 or newer is needed: install "
			   "it, or let LD_LIBRARY_PATH find it first",
			   wish->ia_name, FI_MAJOR(version), FI_MINOR(version));
		return -FI_ENOSYS;
	}
	if (dofi_nic_check(wish->ia_name, p))
		return -FI_EINVAL;
	wish->has_subnet = *p->subnet;
	if (wish->has_subnet && !dofi_subnet_parse(&wish->subnet, p->subnet)) {
		DOFI_LOG_E("IA %s: subnet=%s is not a subnet such as 192.0.2.0/24", wish->ia_name,
			   p->subnet);
		return -FI_EINVAL;
	}
	wish->has_pci = *p->pci;
	if (wish->has_pci && !dofi_pci_parse(&wish->pci, p->pci)) {
		DOFI_LOG_E(
			"IA %s: pci=%s is not an address such as 0000:3b:00.0; lspci -D lists them",
			wish->ia_name, p->pci);
		return -FI_EINVAL;
	}
	if (!*p->addr)
		return 0;
	if (!dofi_addr_parse(p->addr, &wish->addr)) {
		DOFI_LOG_E("IA %s: addr=%s is not a numeric IPv4 or IPv6 address such as 192.0.2.1 "
			   "or fd00::1",
			   wish->ia_name, p->addr);
		return -FI_EINVAL;
	}
	wish->has_addr = true;
	err = check_local(&wish->addr);
	if (err)
		DOFI_LOG_E("IA %s: addr=%s can't be used: %s; it has to be an address of this host",
			   wish->ia_name, p->addr, strerror(err));
	return -err;
}
