/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Topology by hwloc. HWLOC_XMLFILE may make it that of another machine. */
#include "fabric/topo_hwloc.h"

#include "fabric/topo.h"

#ifdef HAVE_HWLOC

#include <hwloc.h>
#include <hwloc/distances.h>

/* Distances if the firmware reports none: nodes of one package are nearer to each other. */
#define SAME_PACKAGE  12u
#define OTHER_PACKAGE 20u

static void take_cpus(struct dofi_cpus *cpus, hwloc_const_cpuset_t set)
{
	for (int cpu = hwloc_bitmap_first(set); cpu >= 0 && cpu < (int)DOFI_CPUS_MAX;
	     cpu = hwloc_bitmap_next(set, cpu))
		dofi_cpus_add(cpus, (unsigned int)cpu);
}

/*
 * OS devices are left out, because listing them loads libraries of their drivers (OpenCL, CUDA,
 * X11). The plugin on libpciaccess, which hwloc asks first for PCI devices, leaks a kilobyte each
 * time; hwloc's part for Linux lists them as well.
 */
static int load(hwloc_topology_t topology)
{
	if (hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_STRUCTURE) ||
	    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_BRIDGE,
					   HWLOC_TYPE_FILTER_KEEP_IMPORTANT) ||
	    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PCI_DEVICE,
					   HWLOC_TYPE_FILTER_KEEP_IMPORTANT) ||
	    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_OS_DEVICE,
					   HWLOC_TYPE_FILTER_KEEP_NONE) ||
	    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED))
		return -1;
	hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "pci");
	return hwloc_topology_load(topology);
}

static hwloc_obj_t package_of(hwloc_topology_t topology, hwloc_obj_t node)
{
	return hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, node);
}

static hwloc_obj_t node_object(hwloc_topology_t topology, const struct dofi_topo_node *node)
{
	return hwloc_get_numanode_obj_by_os_index(topology, node->number);
}

static void put_distances(struct dofi_topo *topo, struct hwloc_distances_s *told)
{
	for (unsigned int i = 0; i < topo->nnodes; i++) {
		hwloc_obj_t from = node_object(topo->hwloc, &topo->nodes[i]);

		for (unsigned int j = 0; j < topo->nnodes; j++) {
			hwloc_obj_t to = node_object(topo->hwloc, &topo->nodes[j]);
			hwloc_uint64_t there, back;

			if (i == j)
				topo->nodes[i].distance[j] = DOFI_DISTANCE_NEAR;
			else if (told &&
				 !hwloc_distances_obj_pair_values(told, from, to, &there, &back))
				topo->nodes[i].distance[j] = (unsigned int)there;
			else
				topo->nodes[i].distance[j] =
					package_of(topo->hwloc, from) == package_of(topo->hwloc, to)
						? SAME_PACKAGE
						: OTHER_PACKAGE;
		}
	}
}

static void read_distances(struct dofi_topo *topo)
{
	struct hwloc_distances_s *told = NULL;
	unsigned int n = 1;

	if (hwloc_distances_get_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE, &n, &told,
					HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0))
		told = NULL;
	put_distances(topo, told);
	if (told)
		hwloc_distances_release(topo->hwloc, told);
}

bool dofi_hwloc_load(struct dofi_topo *topo)
{
	hwloc_topology_t topology;
	hwloc_obj_t obj = NULL;

	if (hwloc_topology_init(&topology))
		return false;
	if (load(topology)) {
		hwloc_topology_destroy(topology);
		return false;
	}
	topo->source = "hwloc";
	topo->hwloc = topology;
	take_cpus(&topo->all, hwloc_topology_get_topology_cpuset(topology));
	while (topo->nnodes < DOFI_NODES_MAX &&
	       (obj = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, obj))) {
		struct dofi_topo_node *node = &topo->nodes[topo->nnodes];

		node->number = obj->os_index;
		take_cpus(&node->cpus, obj->cpuset);
		topo->nnodes += !dofi_cpus_empty(&node->cpus);
	}
	read_distances(topo);
	return true;
}

bool dofi_hwloc_device(const struct dofi_topo *topo, const struct fi_pci_attr *pci,
		       struct dofi_cpus *cpus_p)
{
	hwloc_obj_t obj = hwloc_get_pcidev_by_busid(topo->hwloc, pci->domain_id, pci->bus_id,
						    pci->device_id, pci->function_id);

	if (!obj)
		return false;
	*cpus_p = (struct dofi_cpus){0};
	take_cpus(cpus_p, hwloc_get_non_io_ancestor_obj(topo->hwloc, obj)->cpuset);
	return !dofi_cpus_empty(cpus_p);
}

void dofi_hwloc_unload(struct dofi_topo *topo)
{
	if (topo->hwloc)
		hwloc_topology_destroy(topo->hwloc);
}

#else

bool dofi_hwloc_load(struct dofi_topo *topo)
{
	(void)topo;
	return false;
}

bool dofi_hwloc_device(const struct dofi_topo *topo, const struct fi_pci_attr *pci,
		       struct dofi_cpus *cpus_p)
{
	(void)topo, (void)pci, (void)cpus_p;
	return false;
}

void dofi_hwloc_unload(struct dofi_topo *topo)
{
	(void)topo;
}

#endif
