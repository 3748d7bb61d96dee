/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/facts.h"

#include "fabric/info.h"
#include "fabric/netdev.h"
#include "fabric/quirks.h"
#include "fabric/traits.h"

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *order_word(enum dofi_order order)
{
	static const char *const words[] = {
		[DOFI_ORDERED] = "ORDERED", [DOFI_FENCE] = "FENCE", [DOFI_HOLD] = "HOLD"};

	return words[order];
}

/* Reads the first line of a file of sysfs; false if it is empty or missing. */
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
	if (found)
		text[strcspn(text, "\n")] = '\0';
	return found;
}

/* The kernel writes -1 for an unknown value, such as the speed of a virtual link. */
static bool read_number(const char *folder, const char *device, const char *name,
			unsigned long long *value_p)
{
	char text[24];

	return read_word(folder, device, name, text, sizeof(text)) && *text != '-' &&
	       sscanf(text, "%llu", value_p) == 1;
}

/* libfabric 1.17 does not describe the links of tcp; the kernel does. */
static void find_link(struct dofi_facts *facts, const struct fi_info *info)
{
	const struct fi_link_attr *link = info->nic ? info->nic->link_attr : NULL;
	char netdev[IF_NAMESIZE] = "", state[sizeof(facts->link)];
	unsigned long long megabits;

	/* A software fabric names its domain after the netdev, or after the address's label. */
	dofi_netdev_of(dofi_info_domain(info), netdev);
	if (link && link->state != FI_LINK_UNKNOWN)
		strcpy(facts->link, link->state == FI_LINK_UP ? "up" : "down");
	else if (read_word("class/net", netdev, "operstate", state, sizeof(state)))
		strcpy(facts->link, state);
	else
		strcpy(facts->link, "unknown");
	if (link && link->speed)
		snprintf(facts->speed, sizeof(facts->speed), "%zu", link->speed);
	else if (read_number("class/net", netdev, "speed", &megabits) && megabits)
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

static void add(struct dofi_facts *facts, const char *name, const char *value)
{
	if (value && *value)
		facts->list[facts->count++] = (DAT_NAMED_ATTR){.name = name, .value = value};
}

static void add_device(struct dofi_facts *facts, const struct fi_info *info)
{
	const struct fi_device_attr *device = info->nic ? info->nic->device_attr : NULL;

	find_link(facts, info);
	add(facts, DAT_OFI_ATTR_DEVICE, device ? device->name : NULL);
	add(facts, DAT_OFI_ATTR_LINK, facts->link);
	add(facts, DAT_OFI_ATTR_SPEED, facts->speed);
}

static void add_ways(struct dofi_facts *facts, const struct fi_info *info, enum dofi_order order,
		     uint64_t quirks)
{
	const struct fi_domain_attr *domain = info->domain_attr;

	strcpy(facts->mr_mode, "none");
	if (domain->mr_mode)
		fi_tostr_r(facts->mr_mode, sizeof(facts->mr_mode), &domain->mr_mode,
			   FI_TYPE_MR_MODE);
	fi_tostr_r(facts->threading, sizeof(facts->threading), &domain->threading,
		   FI_TYPE_THREADING);
	fi_tostr_r(facts->progress, sizeof(facts->progress), &domain->data_progress,
		   FI_TYPE_PROGRESS);
	add(facts, DAT_OFI_ATTR_MR_MODE, facts->mr_mode);
	add(facts, DAT_OFI_ATTR_ORDER, order_word(order));
	add(facts, DAT_OFI_ATTR_TRUNCATED_MESSAGE,
	    quirks & DOFI_QUIRK_ENDS_STREAM ? "PEER" : "CONNECTION");
	add(facts, DAT_OFI_ATTR_THREADING, facts->threading);
	add(facts, DAT_OFI_ATTR_PROGRESS, facts->progress);
}

static void add_libfabric(struct dofi_facts *facts)
{
	write_version(facts->running, sizeof(facts->running), fi_version());
	write_version(facts->built, sizeof(facts->built),
		      FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION));
	add(facts, DAT_OFI_ATTR_LF_RUNNING, facts->running);
	add(facts, DAT_OFI_ATTR_LF_BUILT, facts->built);
	add(facts, DAT_OFI_ATTR_LF_PATH, library_path());
}

void dofi_facts_find(struct dofi_facts *facts, const struct fi_info *info, enum dofi_order order,
		     uint64_t quirks)
{
	memset(facts, 0, sizeof(*facts));
	add_device(facts, info);
	add_ways(facts, info, order, quirks);
	add_libfabric(facts);
}
