/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/topo.h"

#include "fabric/topo_hwloc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS (sizeof(((struct dofi_cpus *)NULL)->bits) / sizeof(unsigned long))

/* --- sets of CPUs --- */

bool dofi_cpus_empty(const struct dofi_cpus *cpus)
{
	for (size_t i = 0; i < WORDS; i++)
		if (cpus->bits[i])
			return false;
	return true;
}

void dofi_cpus_and(struct dofi_cpus *out, const struct dofi_cpus *a, const struct dofi_cpus *b)
{
	for (size_t i = 0; i < WORDS; i++)
		out->bits[i] = a->bits[i] & b->bits[i];
}

static bool meet(const struct dofi_cpus *a, const struct dofi_cpus *b)
{
	struct dofi_cpus both;

	dofi_cpus_and(&both, a, b);
	return !dofi_cpus_empty(&both);
}

bool dofi_cpus_within(const struct dofi_cpus *part, const struct dofi_cpus *whole)
{
	for (size_t i = 0; i < WORDS; i++)
		if (part->bits[i] & ~whole->bits[i])
			return false;
	return true;
}

/* A number of at most four digits, so that it fits. */
static bool take_number(const char **at, unsigned int *number_p)
{
	const char *from = *at;

	for (*number_p = 0; isdigit((unsigned char)**at) && *at < from + 4; (*at)++)
		*number_p = *number_p * 10 + (unsigned int)(**at - '0');
	return *at > from && *number_p < DOFI_CPUS_MAX;
}

bool dofi_cpus_parse(struct dofi_cpus *cpus, const char *text)
{
	memset(cpus, 0, sizeof(*cpus));
	for (;; text++) {
		unsigned int first, last;

		if (!take_number(&text, &first))
			return false;
		last = first;
		if (*text == '-' && (text++, !take_number(&text, &last) || last < first))
			return false;
		for (unsigned int cpu = first; cpu <= last; cpu++)
			dofi_cpus_add(cpus, cpu);
		if (!*text)
			return true;
		if (*text != ',')
			return false;
	}
}

const char *dofi_cpus_text(const struct dofi_cpus *cpus, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (unsigned int cpu = 0; cpu < DOFI_CPUS_MAX && used < size; cpu++) {
		unsigned int last = cpu;

		if (!dofi_cpus_have(cpus, cpu))
			continue;
		while (last + 1 < DOFI_CPUS_MAX && dofi_cpus_have(cpus, last + 1))
			last++;
		used += (size_t)snprintf(text + used, size - used, last > cpu ? "%s%u-%u" : "%s%u",
					 used ? "," : "", cpu, last);
		cpu = last;
	}
	return text;
}

bool dofi_cpus_mine(struct dofi_cpus *cpus)
{
	memset(cpus, 0, sizeof(*cpus));
	return !sched_getaffinity(0, sizeof(*cpus), (cpu_set_t *)(void *)cpus) &&
	       !dofi_cpus_empty(cpus);
}

int dofi_cpus_bind(const struct dofi_cpus *cpus)
{
	return sched_setaffinity(0, sizeof(*cpus), (const cpu_set_t *)(const void *)cpus) ? errno
											  : 0;
}

/* --- sysfs --- */

const char *dofi_sysfs = "/sys";

/* Reads the first line of a file below dofi_sysfs; false if there is none. */
__attribute__((format(printf, 3, 4))) static bool read_line(char *text, size_t size,
							    const char *fmt, ...)
{
	char path[512];
	int fd, used = snprintf(path, sizeof(path), "%s/", dofi_sysfs);
	ssize_t n;
	va_list args;

	va_start(args, fmt);
	vsnprintf(path + used, sizeof(path) - (size_t)used, fmt, args);
	va_end(args);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return true;
}

#define PCI_DEVICE    "bus/pci/devices/%04x:%02x:%02x.%x"
#define PCI_ARGS(pci) (pci)->domain_id, (pci)->bus_id, (pci)->device_id, (pci)->function_id

bool dofi_sysfs_device(const struct fi_pci_attr *pci, struct dofi_cpus *cpus_p)
{
	char text[4096];

	return read_line(text, sizeof(text), PCI_DEVICE "/local_cpulist", PCI_ARGS(pci)) &&
	       dofi_cpus_parse(cpus_p, text);
}

int dofi_sysfs_node(const struct fi_pci_attr *pci)
{
	char text[32];

	return read_line(text, sizeof(text), PCI_DEVICE "/numa_node", PCI_ARGS(pci)) ? atoi(text)
										     : -1;
}

/* Control groups of version 2 only. A group without a CPU set of its own has that of its parent. */
bool dofi_cpus_of_group(struct dofi_cpus *cpus)
{
	char group[256] = "", text[4096], *end;
	FILE *file = fopen("/proc/self/cgroup", "re");
	bool told = false;

	if (!file)
		return false;
	told = fscanf(file, "0::%255s", group) == 1;
	fclose(file);
	if (!told)
		return false;
	do {
		if (read_line(text, sizeof(text), "fs/cgroup%s/cpuset.cpus.effective", group))
			return dofi_cpus_parse(cpus, text);
		end = strrchr(group, '/');
		if (end)
			*end = '\0';
	} while (end);
	return false;
}

/*
 * The kernel lists the distances of a node to all nodes that are online, also to those without
 * CPUs.
 */
static void read_distances(struct dofi_topo *topo, const struct dofi_cpus *online)
{
	char text[4096];

	for (unsigned int i = 0; i < topo->nnodes; i++) {
		char *at = text;
		unsigned int column = 0;

		for (unsigned int j = 0; j < topo->nnodes; j++)
			topo->nodes[i].distance[j] =
				i == j ? DOFI_DISTANCE_NEAR : 2 * DOFI_DISTANCE_NEAR;
		if (!read_line(text, sizeof(text), "devices/system/node/node%u/distance",
			       topo->nodes[i].number))
			continue;
		for (unsigned int number = 0; number < DOFI_CPUS_MAX && column < topo->nnodes;
		     number++) {
			unsigned long distance;

			if (!dofi_cpus_have(online, number))
				continue;
			distance = strtoul(at, &at, 10);
			if (topo->nodes[column].number == number)
				topo->nodes[i].distance[column++] = (unsigned int)distance;
		}
	}
}

static bool sysfs_load(struct dofi_topo *topo)
{
	struct dofi_cpus online; /* nodes, listed as CPUs are */
	char text[4096];

	topo->source = "sysfs";
	if (!read_line(text, sizeof(text), "devices/system/cpu/online") ||
	    !dofi_cpus_parse(&topo->all, text))
		return false;
	if (!read_line(text, sizeof(text), "devices/system/node/online") ||
	    !dofi_cpus_parse(&online, text))
		return true; /* a kernel without NUMA: everything is equally far */
	for (unsigned int number = 0; number < DOFI_CPUS_MAX && topo->nnodes < DOFI_NODES_MAX;
	     number++) {
		struct dofi_topo_node *node = &topo->nodes[topo->nnodes];

		if (!dofi_cpus_have(&online, number) ||
		    !read_line(text, sizeof(text), "devices/system/node/node%u/cpulist", number) ||
		    !dofi_cpus_parse(&node->cpus, text))
			continue;
		node->number = number;
		topo->nnodes++;
	}
	read_distances(topo, &online);
	return true;
}

/* --- the machine --- */

struct dofi_topo *dofi_topo_new(void)
{
	struct dofi_topo *topo = calloc(1, sizeof(*topo));

	if (!topo)
		return NULL;
	if (dofi_hwloc_load(topo) || sysfs_load(topo))
		return topo;
	free(topo);
	return NULL;
}

void dofi_topo_free(struct dofi_topo *topo)
{
	if (topo)
		dofi_hwloc_unload(topo);
	free(topo);
}

bool dofi_topo_device(const struct dofi_topo *topo, const struct fi_pci_attr *pci,
		      struct dofi_cpus *cpus_p)
{
	if (topo->hwloc)
		return dofi_hwloc_device(topo, pci, cpus_p);
	return dofi_sysfs_device(pci, cpus_p);
}

unsigned int dofi_topo_distance(const struct dofi_topo *topo, const struct dofi_cpus *a,
				const struct dofi_cpus *b)
{
	unsigned int least = 255; /* "unreachable" */

	if (meet(a, b))
		return DOFI_DISTANCE_NEAR;
	for (unsigned int i = 0; i < topo->nnodes; i++) {
		if (!meet(&topo->nodes[i].cpus, a))
			continue;
		for (unsigned int j = 0; j < topo->nnodes; j++)
			if (topo->nodes[i].distance[j] < least && meet(&topo->nodes[j].cpus, b))
				least = topo->nodes[i].distance[j];
	}
	return least;
}
