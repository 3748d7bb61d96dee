/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where CPUs and PCI devices are in this machine: from hwloc where it was built in and knows, else
 * from sysfs, else not at all.
 */
#ifndef DOFI_TOPO_H
#define DOFI_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <rdma/fabric.h>

#define DOFI_CPUS_MAX 8192u /* of Linux */

struct dofi_cpus {
	unsigned long bits[DOFI_CPUS_MAX / (8 * sizeof(unsigned long))];
};

static inline void dofi_cpus_add(struct dofi_cpus *cpus, unsigned int cpu)
{
	if (cpu < DOFI_CPUS_MAX)
		cpus->bits[cpu / (8 * sizeof(long))] |= 1ul << cpu % (8 * sizeof(long));
}

static inline bool dofi_cpus_have(const struct dofi_cpus *cpus, unsigned int cpu)
{
	return cpus->bits[cpu / (8 * sizeof(long))] >> cpu % (8 * sizeof(long)) & 1;
}

bool dofi_cpus_empty(const struct dofi_cpus *cpus);
/* What both have; out may be one of them. */
void dofi_cpus_and(struct dofi_cpus *out, const struct dofi_cpus *a, const struct dofi_cpus *b);
bool dofi_cpus_within(const struct dofi_cpus *part, const struct dofi_cpus *whole);
/* "0-3,8"; false when it is anything else or names none. */
bool dofi_cpus_parse(struct dofi_cpus *cpus, const char *text);
const char *dofi_cpus_text(const struct dofi_cpus *cpus, char *text, size_t size);
/* Those that the calling thread may run on. */
bool dofi_cpus_mine(struct dofi_cpus *cpus);
/* Those that its control group may; false when that is not told. */
bool dofi_cpus_of_group(struct dofi_cpus *cpus);
/* The calling thread runs there from now on; 0 or an errno. */
int dofi_cpus_bind(const struct dofi_cpus *cpus);

/* --- the machine --- */

#define DOFI_NODES_MAX     64u
#define DOFI_DISTANCE_NEAR 10u /* firmware's word for "the same NUMA node" */

struct dofi_topo_node {
	unsigned int number;
	struct dofi_cpus cpus;
	unsigned int distance[DOFI_NODES_MAX]; /* to the nodes, by their place in the array */
};

struct dofi_topo {
	const char *source; /* "hwloc" or "sysfs" */
	void *hwloc;        /* its topology, or NULL */
	struct dofi_cpus all;
	unsigned int nnodes; /* those with CPUs */
	struct dofi_topo_node nodes[DOFI_NODES_MAX];
};

/* NULL when nothing is known. */
struct dofi_topo *dofi_topo_new(void);
void dofi_topo_free(struct dofi_topo *topo);

/* The CPUs that a device is near to; false when nothing is known. */
bool dofi_topo_device(const struct dofi_topo *topo, const struct fi_pci_attr *pci,
		      struct dofi_cpus *cpus_p);
/*
 * Between two sets of CPUs: NEAR when they share one, else the least between NUMA nodes of theirs.
 */
unsigned int dofi_topo_distance(const struct dofi_topo *topo, const struct dofi_cpus *a,
				const struct dofi_cpus *b);

/* --- sysfs; also without a topology --- */

extern const char *dofi_sysfs; /* its root */

bool dofi_sysfs_device(const struct fi_pci_attr *pci, struct dofi_cpus *cpus_p);
int dofi_sysfs_node(const struct fi_pci_attr *pci); /* -1: unknown */

#endif
