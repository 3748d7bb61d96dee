/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Topology of this machine: its CPUs, PCI devices and NUMA nodes. The source is hwloc if it was
 * built in and works, else sysfs.
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

/* cpu: below DOFI_CPUS_MAX */
static inline void dofi_cpus_add(struct dofi_cpus *cpus, unsigned int cpu)
{
	cpus->bits[cpu / (8 * sizeof(long))] |= 1ul << cpu % (8 * sizeof(long));
}

static inline bool dofi_cpus_have(const struct dofi_cpus *cpus, unsigned int cpu)
{
	return cpus->bits[cpu / (8 * sizeof(long))] >> cpu % (8 * sizeof(long)) & 1;
}

bool dofi_cpus_empty(const struct dofi_cpus *cpus);
/* The intersection; out may be one of them. */
void dofi_cpus_and(struct dofi_cpus *out, const struct dofi_cpus *a, const struct dofi_cpus *b);
bool dofi_cpus_within(const struct dofi_cpus *part, const struct dofi_cpus *whole);
/* Parses "0-3,8"; false if the text has another form or names no CPU. */
bool dofi_cpus_parse(struct dofi_cpus *cpus, const char *text);
const char *dofi_cpus_text(const struct dofi_cpus *cpus, char *text, size_t size);
/* The CPUs that the calling thread may use. */
bool dofi_cpus_mine(struct dofi_cpus *cpus);
/* The CPUs that its control group may use; false if this is not known. */
bool dofi_cpus_of_group(struct dofi_cpus *cpus);
/* Binds the calling thread to these CPUs; 0 or an errno. */
int dofi_cpus_bind(const struct dofi_cpus *cpus);

/* --- the machine --- */

#define DOFI_NODES_MAX     64u
#define DOFI_DISTANCE_NEAR 10u /* in tables of the firmware: the same NUMA node */

struct dofi_topo_node {
	unsigned int number;
	struct dofi_cpus cpus;
	/* to the other nodes, by their index in dofi_topo.nodes */
	unsigned int distance[DOFI_NODES_MAX];
};

struct dofi_topo {
	const char *source; /* "hwloc" or "sysfs" */
	void *hwloc;        /* its topology, or NULL */
	struct dofi_cpus all;
	unsigned int nnodes; /* only nodes with CPUs */
	struct dofi_topo_node nodes[DOFI_NODES_MAX];
};

/* NULL when nothing is known. */
struct dofi_topo *dofi_topo_new(void);
void dofi_topo_free(struct dofi_topo *topo);

/* The CPUs near to a device; false if this is not known. */
bool dofi_topo_device(const struct dofi_topo *topo, const struct fi_pci_attr *pci,
		      struct dofi_cpus *cpus_p);
/*
 * Distance between two sets of CPUs: DOFI_DISTANCE_NEAR if they share a CPU, else the least
 * distance between their NUMA nodes.
 */
unsigned int dofi_topo_distance(const struct dofi_topo *topo, const struct dofi_cpus *a,
				const struct dofi_cpus *b);

/* --- sysfs; also without a topology --- */

extern const char *dofi_sysfs; /* its root */

bool dofi_sysfs_device(const struct fi_pci_attr *pci, struct dofi_cpus *cpus_p);
int dofi_sysfs_node(const struct fi_pci_attr *pci); /* -1: unknown */

#endif
