/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fact.h"

#include "ia.h"

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <stdio.h>
#include <string.h>

static const char *order_word(enum dofi_order order)
{
	static const char *const words[] = {
		[DOFI_ORDERED] = "ORDERED", [DOFI_FENCE] = "FENCE", [DOFI_HOLD] = "HOLD"};

	return words[order];
}

/* A word of a file of the kernel; false when it has none. */
static bool read_word(const char *folder, const char *device, const char *name, char *text,
		      size_t size)
{
	char path[400];
	FILE *file;
	bool found;

	snprintf(path, sizeof(path), "/sys/%s/%s/%s", folder, device, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	found = fgets(text, (int)size, file) && *text != '\n';
	fclose(file);
	text[found ? strcspn(text, "\n") : 0] = '\0';
	return found;
}

/* The kernel writes -1 where nobody knows, as for the speed of a link that is virtual. */
static bool read_number(const char *folder, const char *device, const char *name,
			unsigned long long *value_p)
{
	char text[24];

	return read_word(folder, device, name, text, sizeof(text)) && *text != '-' &&
	       sscanf(text, "%llu", value_p) == 1;
}

static void find_pci(struct dofi_facts *facts, const struct fi_info *info)
{
	const struct fi_bus_attr *bus = info->nic ? info->nic->bus_attr : NULL;

	if (bus && bus->bus_type == FI_BUS_PCI)
		snprintf(facts->pci, sizeof(facts->pci), "%04x:%02x:%02x.%x",
			 bus->attr.pci.domain_id, bus->attr.pci.bus_id, bus->attr.pci.device_id,
			 bus->attr.pci.function_id & 0x7);
}

/* A software fabric names its domain after the netdev. */
static const char *netdev_of(const struct fi_info *info)
{
	return strchr(info->domain_attr->name, '/') ? "" : info->domain_attr->name;
}

static void find_node(struct dofi_facts *facts, const struct fi_info *info)
{
	unsigned long long node;

	if ((*facts->pci && read_number("bus/pci/devices", facts->pci, "numa_node", &node)) ||
	    read_number("class/net", netdev_of(info), "device/numa_node", &node))
		snprintf(facts->numa, sizeof(facts->numa), "%llu", node);
}

/* libfabric 1.17 tells nothing of the links of tcp, the kernel does. */
static void find_link(struct dofi_facts *facts, const struct fi_info *info)
{
	const struct fi_link_attr *link = info->nic ? info->nic->link_attr : NULL;
	unsigned long long megabits;
	char state[sizeof(facts->link)];

	if (link && link->state != FI_LINK_UNKNOWN)
		strcpy(facts->link, link->state == FI_LINK_UP ? "up" : "down");
	else if (read_word("class/net", netdev_of(info), "operstate", state, sizeof(state)))
		strcpy(facts->link, state);
	else
		strcpy(facts->link, "unknown");
	if (link && link->speed)
		snprintf(facts->speed, sizeof(facts->speed), "%zu", link->speed);
	else if (read_number("class/net", netdev_of(info), "speed", &megabits) && megabits)
		snprintf(facts->speed, sizeof(facts->speed), "%llu", megabits * 1000000);
}

static void write_version(char *text, size_t size, uint32_t version)
{
	snprintf(text, size, "%u.%u", FI_MAJOR(version), FI_MINOR(version));
}

static const char *library_path(void)
{
	Dl_info where;

	return dladdr((void *)(uintptr_t)fi_getinfo, &where) ? where.dli_fname : NULL;
}

static const char *known(const char *text)
{
	return text && *text ? text : NULL;
}

static void name_device(struct dofi_named *named, const struct fi_info *info)
{
	const struct fid_nic *nic = info->nic;
	struct dofi_facts *facts = &named->facts;

	find_pci(facts, info);
	find_node(facts, info);
	find_link(facts, info);
	dofi_attr_name(named, DAT_OFI_ATTR_DEVICE,
		       nic && nic->device_attr ? known(nic->device_attr->name) : NULL);
	dofi_attr_name(named, DAT_OFI_ATTR_PCI, known(facts->pci));
	dofi_attr_name(named, DAT_OFI_ATTR_NUMA, known(facts->numa));
	dofi_attr_name(named, DAT_OFI_ATTR_LINK, facts->link);
	dofi_attr_name(named, DAT_OFI_ATTR_SPEED, known(facts->speed));
}

static void name_ways(struct dofi_named *named, const struct dofi_ia *ia)
{
	const struct fi_domain_attr *domain = ia->info->domain_attr;
	struct dofi_facts *facts = &named->facts;

	if (domain->mr_mode)
		fi_tostr_r(facts->mr_mode, sizeof(facts->mr_mode), &domain->mr_mode,
			   FI_TYPE_MR_MODE);
	fi_tostr_r(facts->threading, sizeof(facts->threading), &domain->threading,
		   FI_TYPE_THREADING);
	fi_tostr_r(facts->progress, sizeof(facts->progress), &domain->data_progress,
		   FI_TYPE_PROGRESS);
	dofi_attr_name(named, DAT_OFI_ATTR_MR_MODE, *facts->mr_mode ? facts->mr_mode : "none");
	dofi_attr_name(named, DAT_OFI_ATTR_ORDER, order_word(ia->order));
	dofi_attr_name(named, DAT_OFI_ATTR_THREADING, known(facts->threading));
	dofi_attr_name(named, DAT_OFI_ATTR_PROGRESS, known(facts->progress));
}

static void name_libfabric(struct dofi_named *named)
{
	struct dofi_facts *facts = &named->facts;

	write_version(facts->running, sizeof(facts->running), fi_version());
	write_version(facts->built, sizeof(facts->built),
		      FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION));
	dofi_attr_name(named, DAT_OFI_ATTR_LF_RUNNING, facts->running);
	dofi_attr_name(named, DAT_OFI_ATTR_LF_BUILT, facts->built);
	dofi_attr_name(named, DAT_OFI_ATTR_LF_PATH, library_path());
}

void dofi_facts_name(struct dofi_ia *ia)
{
	memset(&ia->named.facts, 0, sizeof(ia->named.facts));
	name_device(&ia->named, ia->info);
	name_ways(&ia->named, ia);
	name_libfabric(&ia->named);
}
