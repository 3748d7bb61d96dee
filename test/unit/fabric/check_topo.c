/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sets of CPUs, those of a control group, and the topology that sysfs tells. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "fabric/topo.h"

#include "../../lib/t_blocks.h"
#include "../../lib/t_machine.h"
#include "../../lib/unit.h"

/* Lists as the kernel writes them, and texts that are none. */
START_TEST(lists_of_cpus)
{
	static const char *const wrong[] = {"",   "x",    "1x",  "1-",    "1-x",  "3-1",
					    "1,", "1,,2", "1 2", "00001", "9999", "1-9999"};
	struct dofi_cpus cpus;
	char text[64];

	ck_assert(dofi_cpus_parse(&cpus, "0-3,8,10-11"));
	ck_assert_str_eq(dofi_cpus_text(&cpus, text, sizeof(text)), "0-3,8,10-11");
	/* The library counts no CPUs beyond. */
	snprintf(text, sizeof(text), "2,%u", DOFI_CPUS_MAX);
	ck_assert(!dofi_cpus_parse(&cpus, text));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(!dofi_cpus_parse(&cpus, wrong[i]), "%s", wrong[i]);
}
END_TEST

/* Of the whole set each CPU counts, and no memory behind it is used. */
START_TEST(sets_of_cpus)
{
	static const unsigned int cpus[] = {0, 1, 63, 64, 65, 500, DOFI_CPUS_MAX - 1};
	static const struct dofi_cpus none;
	struct {
		struct dofi_cpus set;
		unsigned long behind;
	} all, one, both;
	char text[32], wanted[32];

	memset(&all, 0xff, sizeof(all));
	ck_assert_str_eq(dofi_cpus_text(&all.set, text, sizeof(text)), "0-8191");
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		struct dofi_cpus rest = all.set;

		memset(&one, 0, sizeof(one));
		ck_assert(dofi_cpus_empty(&one.set));
		one.behind = 1;
		ck_assert(dofi_cpus_empty(&one.set));
		dofi_cpus_add(&one.set, cpus[i]);
		ck_assert(!dofi_cpus_empty(&one.set));
		memset(&both, 0, sizeof(both));
		dofi_cpus_and(&both.set, &one.set, &all.set);
		ck_assert_mem_eq(&both.set, &one.set, sizeof(one.set));
		ck_assert_uint_eq(both.behind, 0);
		rest.bits[cpus[i] / (8 * sizeof(long))] ^= 1ul << cpus[i] % (8 * sizeof(long));
		dofi_cpus_and(&both.set, &one.set, &rest);
		ck_assert(dofi_cpus_empty(&both.set));
		all.behind = 0;
		ck_assert(dofi_cpus_within(&one.set, &all.set));
		all.behind = ~0ul;
		ck_assert(!dofi_cpus_within(&one.set, &rest));
		ck_assert(!dofi_cpus_within(&all.set, &rest));
		ck_assert(dofi_cpus_within(&none, &one.set));
		snprintf(wanted, sizeof(wanted), "%u", cpus[i]);
		ck_assert_str_eq(dofi_cpus_text(&one.set, text, sizeof(text)), wanted);
		ck_assert(dofi_cpus_parse(&both.set, text));
		ck_assert_mem_eq(&both.set, &one.set, sizeof(one.set));
	}
}
END_TEST

START_TEST(a_list_of_cpus_that_is_cut_off)
{
	static const char whole[] = "0-3,8,10-11";
	struct dofi_cpus cpus;
	char text[32];

	ck_assert(dofi_cpus_parse(&cpus, whole));
	for (size_t size = 1; size <= sizeof(whole) + 1; size++) {
		memset(text, '#', sizeof(text));
		dofi_cpus_text(&cpus, text, size);
		ck_assert_uint_lt(strnlen(text, size), size);
		ck_assert_int_eq(strncmp(text, whole, strlen(text)), 0);
		ck_assert_int_eq(text[size], '#');
	}
	ck_assert_str_eq(dofi_cpus_text(&cpus, text, sizeof(whole)), whole);
}
END_TEST

START_TEST(binding_a_thread)
{
	struct dofi_cpus cpus;
	cpu_set_t now;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(now), &now), 0);
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &now)) {
			memset(&cpus, 0, sizeof(cpus));
			dofi_cpus_add(&cpus, cpu);
		}
	ck_assert_int_eq(dofi_cpus_bind(&cpus), 0);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(now), &now), 0);
	ck_assert_int_eq(CPU_COUNT(&now), 1);
	memset(&cpus, 0, sizeof(cpus));
	ck_assert_int_eq(dofi_cpus_bind(&cpus), EINVAL);
}
END_TEST

static int open_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 64; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* --- control groups; the linker redirects fopen --- */

static const char *cgroup; /* what the kernel tells of this process; NULL: nothing */

FILE *__real_fopen(const char *path, const char *mode);
T_STAND_IN FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
	char copy[64];

	if (strcmp(path, "/proc/self/cgroup") != 0)
		return __real_fopen(path, mode);
	if (!cgroup)
		return NULL;
	t_machine_put("cgroup", cgroup);
	snprintf(copy, sizeof(copy), "%s/cgroup", dofi_sysfs);
	return __real_fopen(copy, mode);
}

/* A group without CPUs of its own has those of the nearest group above it. */
START_TEST(cpus_of_the_control_group)
{
	static const struct {
		const char *cgroup, *cpus; /* NULL: not known */
	} cases[] = {
		{"0::/job/step\n", "4-5"}, {"0::/job/step/task\n", "4-5"},
		{"0::/job\n", "4-7"},      {"0::/other\n", "0-7"},
		{"0::/\n", "0-7"},         {"0::/bad\n", NULL},
		{"1:cpu:/job\n", NULL},    {NULL, NULL},
	};
	int files = open_files();
	struct dofi_cpus cpus;
	char list[64];

	t_machine_put("fs/cgroup/job/step/cpuset.cpus.effective", "4-5\n");
	t_machine_put("fs/cgroup/job/cpuset.cpus.effective", "4-7\n");
	t_machine_put("fs/cgroup/cpuset.cpus.effective", "0-7\n");
	t_machine_put("fs/cgroup/bad/cpuset.cpus.effective", "all\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cgroup = cases[i].cgroup;
		ck_assert_int_eq(dofi_cpus_of_group(&cpus), cases[i].cpus != NULL);
		if (cases[i].cpus)
			ck_assert_str_eq(dofi_cpus_text(&cpus, list, sizeof(list)), cases[i].cpus);
	}
	t_machine_put("fs/cgroup/cpuset.cpus.effective", "");
	cgroup = "0::/other\n";
	ck_assert(!dofi_cpus_of_group(&cpus));
	ck_assert_int_eq(open_files(), files);
}
END_TEST

START_TEST(the_cpus_of_this_thread)
{
	struct dofi_cpus mine;
	cpu_set_t set;

	memset(&mine, 0xff, sizeof(mine));
	ck_assert(dofi_cpus_mine(&mine));
	ck_assert_int_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		ck_assert_int_eq(dofi_cpus_have(&mine, cpu), CPU_ISSET(cpu, &set) != 0);
}
END_TEST

START_TEST(the_text_of_an_empty_set)
{
	static const struct dofi_cpus none;
	char text[4] = "xyz";

	ck_assert_str_eq(dofi_cpus_text(&none, text, sizeof(text)), "");
}
END_TEST

/* --- a machine; the linker redirects these calls --- */

static bool with_hwloc;
static int unloads;

bool __real_dofi_hwloc_load(struct dofi_topo *topo);
bool __wrap_dofi_hwloc_load(struct dofi_topo *topo);
void __real_dofi_hwloc_unload(struct dofi_topo *topo);
void __wrap_dofi_hwloc_unload(struct dofi_topo *topo);

bool __wrap_dofi_hwloc_load(struct dofi_topo *topo)
{
	return with_hwloc && __real_dofi_hwloc_load(topo);
}

void __wrap_dofi_hwloc_unload(struct dofi_topo *topo)
{
	unloads++;
	__real_dofi_hwloc_unload(topo);
}

/* Nodes 0, 4 and 5 have CPUs. */
static void put_nodes(void)
{
	t_machine_put("devices/system/cpu/online", "0-11\n");
	t_machine_put("devices/system/node/online", "0,2,4-5\n");
	t_machine_put("devices/system/node/node0/cpulist", "0-3\n");
	t_machine_put("devices/system/node/node2/cpulist", "\n");
	t_machine_put("devices/system/node/node4/cpulist", "4-7\n");
	t_machine_put("devices/system/node/node5/cpulist", "8-11\n");
	t_machine_put("devices/system/node/node0/distance", "10 11 12 13\n");
	t_machine_put("devices/system/node/node4/distance", "22 21 10 23\n");
	t_machine_put("devices/system/node/node5/distance", "32 31 33\n"); /* it is cut off */
}

START_TEST(nodes_and_their_distances)
{
	static const struct {
		unsigned int number;
		const char *cpus;
		unsigned int distance[3];
	} nodes[] = {{0, "0-3", {10, 12, 13}}, {4, "4-7", {22, 10, 23}}, {5, "8-11", {32, 33, 0}}};
	int files = open_files();
	struct dofi_topo *topo;
	unsigned int before;
	char text[64];

	put_nodes();
	before = t_nblocks;
	topo = dofi_topo_new();
	ck_assert_ptr_nonnull(topo);
	ck_assert_str_eq(topo->source, "sysfs");
	ck_assert_ptr_null(topo->hwloc);
	ck_assert_str_eq(dofi_cpus_text(&topo->all, text, sizeof(text)), "0-11");
	ck_assert_uint_eq(topo->nnodes, 3);
	for (unsigned int i = 0; i < 3; i++) {
		ck_assert_uint_eq(topo->nodes[i].number, nodes[i].number);
		ck_assert_str_eq(dofi_cpus_text(&topo->nodes[i].cpus, text, sizeof(text)),
				 nodes[i].cpus);
		for (unsigned int j = 0; j < 3; j++)
			ck_assert_uint_eq(topo->nodes[i].distance[j], nodes[i].distance[j]);
	}
	dofi_topo_free(topo);
	ck_assert_int_eq(unloads, 1);
	ck_assert_uint_eq(t_nblocks, before);
	ck_assert_int_eq(open_files(), files);
}
END_TEST

/* Without distances, all other nodes are equally far. */
START_TEST(nodes_that_tell_no_distances)
{
	struct dofi_topo *topo;

	put_nodes();
	t_machine_put("devices/system/node/node4/distance", "");
	topo = dofi_topo_new();
	ck_assert_ptr_nonnull(topo);
	ck_assert_uint_eq(topo->nodes[0].distance[2], 13);
	ck_assert_uint_eq(topo->nodes[1].distance[0], 2 * DOFI_DISTANCE_NEAR);
	ck_assert_uint_eq(topo->nodes[1].distance[1], DOFI_DISTANCE_NEAR);
	ck_assert_uint_eq(topo->nodes[1].distance[2], 2 * DOFI_DISTANCE_NEAR);
	ck_assert_uint_eq(topo->nodes[2].distance[0], 32);
	dofi_topo_free(topo);
}
END_TEST

START_TEST(a_machine_with_more_nodes_than_fit)
{
	struct dofi_topo *topo;
	char path[64], cpu[16];

	t_machine_put("devices/system/cpu/online", "0-99");
	t_machine_put("devices/system/node/online", "0-69");
	for (unsigned int i = 0; i < 70; i++) {
		snprintf(path, sizeof(path), "devices/system/node/node%u/cpulist", i);
		snprintf(cpu, sizeof(cpu), "%u", i);
		t_machine_put(path, cpu);
	}
	topo = dofi_topo_new();
	ck_assert_ptr_nonnull(topo);
	ck_assert_uint_eq(topo->nnodes, DOFI_NODES_MAX);
	ck_assert_uint_eq(topo->nodes[DOFI_NODES_MAX - 1].number, DOFI_NODES_MAX - 1);
	dofi_topo_free(topo);
}
END_TEST

/* What is not told, or not in the kernel's form. */
START_TEST(a_machine_that_tells_little)
{
	struct dofi_topo *topo;
	unsigned int before;

	dofi_topo_free(NULL);
	t_machine_put("devices/system/cpu/online", "");
	before = t_nblocks;
	ck_assert_ptr_null(dofi_topo_new());
	t_machine_put("devices/system/cpu/online", "all");
	ck_assert_ptr_null(dofi_topo_new());
	ck_assert_uint_eq(t_nblocks, before);
	t_machine_put("devices/system/cpu/online", "0-7");
	for (int i = 0; i < 2; i++) {
		topo = dofi_topo_new();
		ck_assert_ptr_nonnull(topo);
		ck_assert_uint_eq(topo->nnodes, 0);
		dofi_topo_free(topo);
		t_machine_put("devices/system/node/online", "some");
	}
	t_blocks_left = 0;
	ck_assert_ptr_null(dofi_topo_new());
}
END_TEST

/* --- distances of sets --- */

static const struct {
	const char *a, *b;
	unsigned int distance;
} distances[] = {
	{"0", "0-11", DOFI_DISTANCE_NEAR}, /* a common CPU */
	{"0-7", "7-8", DOFI_DISTANCE_NEAR},
	{"0", "1", 10}, /* of one node */
	{"0", "4", 12}, /* from the first to the second */
	{"4", "0", 22},
	{"0", "8", 13},
	{"0-7", "8", 13},
	{"4-8", "0", 22},
	{"8", "0-7", 32},
	{"0,20", "4", 12},
	{"0", "20", 255}, /* of no node */
	{"20", "0", 255},
	{"20", "21", 255},
};

START_TEST(the_distance_of_two_sets_is_the_least)
{
	struct dofi_topo *topo;
	struct dofi_cpus a, b;

	put_nodes();
	topo = dofi_topo_new();
	ck_assert_ptr_nonnull(topo);
	for (size_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
		ck_assert(dofi_cpus_parse(&a, distances[i].a));
		ck_assert(dofi_cpus_parse(&b, distances[i].b));
		ck_assert_msg(dofi_topo_distance(topo, &a, &b) == distances[i].distance,
			      "%s to %s: %u", distances[i].a, distances[i].b,
			      dofi_topo_distance(topo, &a, &b));
	}
	dofi_topo_free(topo);
}
END_TEST

/* --- devices --- */

START_TEST(what_sysfs_tells_of_a_device)
{
	static const struct fi_pci_attr pci = {0x1, 0x3b, 0x1f, 7}, other = {0, 0x3b, 0x1f, 7};
	static const char *const nodes[] = {"0\n", "3\n", "-1\n"};
	struct dofi_topo topo = {.nnodes = 0};
	struct dofi_cpus cpus;
	char text[64];

	close(STDIN_FILENO); /* descriptor 0 is one like others */
	t_machine_put("bus/pci/devices/0001:3b:1f.7/local_cpulist", "3-5\n");
	for (int i = 0; i < 3; i++) {
		t_machine_put("bus/pci/devices/0001:3b:1f.7/numa_node", nodes[i]);
		ck_assert_int_eq(dofi_sysfs_node(&pci), atoi(nodes[i]));
	}
	ck_assert_int_eq(dofi_sysfs_node(&other), -1);
	ck_assert(dofi_sysfs_device(&pci, &cpus));
	ck_assert_str_eq(dofi_cpus_text(&cpus, text, sizeof(text)), "3-5");
	ck_assert(dofi_topo_device(&topo, &pci, &cpus));
	ck_assert_str_eq(dofi_cpus_text(&cpus, text, sizeof(text)), "3-5");
	ck_assert(!dofi_topo_device(&topo, &other, &cpus));
	t_machine_put("bus/pci/devices/0001:3b:1f.7/local_cpulist", "\n");
	ck_assert(!dofi_sysfs_device(&pci, &cpus));
	t_machine_put("bus/pci/devices/0001:3b:1f.7/local_cpulist", "");
	ck_assert(!dofi_sysfs_device(&pci, &cpus));
}
END_TEST

#ifdef HAVE_HWLOC

/* --- hwloc; the linker redirects its calls --- */

#include <hwloc.h>
#include <hwloc/distances.h>

static int fails_at = -1; /* number of the call that fails */
static int ncalls, ntopologies, ndistances;
static unsigned int filters[HWLOC_OBJ_TYPE_MAX];
static unsigned long topology_flags;
static char left_out[16];

static bool hwloc_fails(void)
{
	return ncalls++ == fails_at;
}

int __real_hwloc_topology_init(hwloc_topology_t *topology);
T_STAND_IN int __wrap_hwloc_topology_init(hwloc_topology_t *topology);
int __real_hwloc_topology_load(hwloc_topology_t topology);
T_STAND_IN int __wrap_hwloc_topology_load(hwloc_topology_t topology);
void __real_hwloc_topology_destroy(hwloc_topology_t topology);
T_STAND_IN void __wrap_hwloc_topology_destroy(hwloc_topology_t topology);
int __real_hwloc_topology_set_all_types_filter(hwloc_topology_t topology,
					       enum hwloc_type_filter_e filter);
T_STAND_IN int __wrap_hwloc_topology_set_all_types_filter(hwloc_topology_t topology,
							  enum hwloc_type_filter_e filter);
int __real_hwloc_topology_set_type_filter(hwloc_topology_t topology, hwloc_obj_type_t type,
					  enum hwloc_type_filter_e filter);
T_STAND_IN int __wrap_hwloc_topology_set_type_filter(hwloc_topology_t topology,
						     hwloc_obj_type_t type,
						     enum hwloc_type_filter_e filter);
int __real_hwloc_topology_set_flags(hwloc_topology_t topology, unsigned long flags);
T_STAND_IN int __wrap_hwloc_topology_set_flags(hwloc_topology_t topology, unsigned long flags);
int __real_hwloc_topology_set_components(hwloc_topology_t topology, unsigned long flags,
					 const char *name);
T_STAND_IN int __wrap_hwloc_topology_set_components(hwloc_topology_t topology, unsigned long flags,
						    const char *name);
int __real_hwloc_distances_get_by_type(hwloc_topology_t topology, hwloc_obj_type_t type,
				       unsigned *n, struct hwloc_distances_s **distances_p,
				       unsigned long kind, unsigned long flags);
T_STAND_IN int __wrap_hwloc_distances_get_by_type(hwloc_topology_t topology, hwloc_obj_type_t type,
						  unsigned *n,
						  struct hwloc_distances_s **distances_p,
						  unsigned long kind, unsigned long flags);
void __real_hwloc_distances_release(hwloc_topology_t topology, struct hwloc_distances_s *told);
T_STAND_IN void __wrap_hwloc_distances_release(hwloc_topology_t topology,
					       struct hwloc_distances_s *told);

int __wrap_hwloc_topology_init(hwloc_topology_t *topology)
{
	if (hwloc_fails())
		return -1;
	ntopologies++;
	return __real_hwloc_topology_init(topology);
}

int __wrap_hwloc_topology_load(hwloc_topology_t topology)
{
	return hwloc_fails() ? -1 : __real_hwloc_topology_load(topology);
}

void __wrap_hwloc_topology_destroy(hwloc_topology_t topology)
{
	ntopologies--;
	__real_hwloc_topology_destroy(topology);
}

int __wrap_hwloc_topology_set_all_types_filter(hwloc_topology_t topology,
					       enum hwloc_type_filter_e filter)
{
	for (int i = 0; i < HWLOC_OBJ_TYPE_MAX; i++)
		filters[i] = filter;
	return hwloc_fails() ? -1 : __real_hwloc_topology_set_all_types_filter(topology, filter);
}

int __wrap_hwloc_topology_set_type_filter(hwloc_topology_t topology, hwloc_obj_type_t type,
					  enum hwloc_type_filter_e filter)
{
	filters[type] = filter;
	return hwloc_fails() ? -1 : __real_hwloc_topology_set_type_filter(topology, type, filter);
}

int __wrap_hwloc_topology_set_flags(hwloc_topology_t topology, unsigned long flags)
{
	topology_flags = flags;
	return hwloc_fails() ? -1 : __real_hwloc_topology_set_flags(topology, flags);
}

int __wrap_hwloc_topology_set_components(hwloc_topology_t topology, unsigned long flags,
					 const char *name)
{
	ck_assert_uint_eq(flags, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST);
	snprintf(left_out, sizeof(left_out), "%s", name);
	return __real_hwloc_topology_set_components(topology, flags, name);
}

int __wrap_hwloc_distances_get_by_type(hwloc_topology_t topology, hwloc_obj_type_t type,
				       unsigned *n, struct hwloc_distances_s **distances_p,
				       unsigned long kind, unsigned long flags)
{
	int ret;

	*distances_p = (struct hwloc_distances_s *)(void *)&ndistances; /* not to be released */
	if (hwloc_fails())
		return -1;
	*distances_p = NULL;
	ret = __real_hwloc_distances_get_by_type(topology, type, n, distances_p, kind, flags);
	ndistances += !ret && *distances_p;
	return ret;
}

void __wrap_hwloc_distances_release(hwloc_topology_t topology, struct hwloc_distances_s *told)
{
	ndistances--;
	__real_hwloc_distances_release(topology, told);
}

/* Two packages of two nodes; the firmware tells distances. */
static struct t_machine machine = {
	.packages = 2,
	.nodes = 2,
	.cores = 4,
	.threads = 1,
	.far = 31,
	.devices = {{0x11, 0}, {0x22, 3}},
};

static void use_hwloc(void)
{
	with_hwloc = true;
	t_machine_set(&machine);
}

static void ck_nodes(const struct dofi_topo *topo, unsigned int same, unsigned int other)
{
	char text[32], wanted[32];

	ck_assert_str_eq(dofi_cpus_text(&topo->all, text, sizeof(text)), "0-15");
	ck_assert_uint_eq(topo->nnodes, 4);
	for (unsigned int i = 0; i < 4; i++) {
		snprintf(wanted, sizeof(wanted), "%u-%u", 4 * i, 4 * i + 3);
		ck_assert_str_eq(dofi_cpus_text(&topo->nodes[i].cpus, text, sizeof(text)), wanted);
		ck_assert_uint_eq(topo->nodes[i].number, i);
		for (unsigned int j = 0; j < 4; j++)
			ck_assert_uint_eq(topo->nodes[i].distance[j], i == j           ? 10
								      : i / 2 == j / 2 ? same
										       : other);
	}
}

START_TEST(a_machine_by_hwloc)
{
	static const struct fi_pci_attr pci = {0, 0x22, 0, 0}, other = {0, 0x33, 0, 0};
	struct dofi_cpus cpus;
	struct dofi_topo *topo;
	char text[32];

	machine.far = _i ? 31 : 0;
	use_hwloc();
	topo = dofi_topo_new();
	ck_assert_ptr_nonnull(topo);
	ck_assert_str_eq(topo->source, "hwloc");
	ck_nodes(topo, 12, _i ? 31 : 20);
	memset(&cpus, 0xff, sizeof(cpus));
	ck_assert(dofi_topo_device(topo, &pci, &cpus));
	ck_assert_str_eq(dofi_cpus_text(&cpus, text, sizeof(text)), "12-15");
	ck_assert(!dofi_topo_device(topo, &other, &cpus));
	ck_assert_uint_eq(filters[HWLOC_OBJ_OS_DEVICE], HWLOC_TYPE_FILTER_KEEP_NONE);
	ck_assert_uint_eq(filters[HWLOC_OBJ_PCI_DEVICE], HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	ck_assert_uint_eq(filters[HWLOC_OBJ_BRIDGE], HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	ck_assert_uint_eq(filters[HWLOC_OBJ_CORE], HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
	ck_assert_uint_eq(topology_flags, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	ck_assert_str_eq(left_out, "pci");
	dofi_topo_free(topo);
	ck_assert_int_eq(ntopologies, 0);
	ck_assert_int_eq(ndistances, 0);
}
END_TEST

/* Then the machine is that of sysfs; only distances may be assumed. */
START_TEST(calls_of_hwloc_that_fail)
{
	struct dofi_topo *topo;

	use_hwloc();
	fails_at = _i;
	topo = dofi_topo_new();
	ck_assert_ptr_nonnull(topo);
	ck_assert_str_eq(topo->source, _i < 7 ? "sysfs" : "hwloc");
	ck_nodes(topo, 12, _i < 7 ? 31 : 20);
	dofi_topo_free(topo);
	ck_assert_int_eq(ntopologies, 0);
	ck_assert_int_eq(ndistances, 0);
}
END_TEST

static void add_hwloc_tests(TCase *tc)
{
	tcase_add_loop_test(tc, a_machine_by_hwloc, 0, 2);
	tcase_add_loop_test(tc, calls_of_hwloc_that_fail, 0, 8);
}

#else

static void add_hwloc_tests(TCase *tc)
{
	(void)tc;
}

#endif

int main(void)
{
	Suite *suite = suite_create("topo");
	TCase *tc = tcase_create("topo");

	tcase_add_test(tc, lists_of_cpus);
	tcase_add_test(tc, sets_of_cpus);
	tcase_add_test(tc, a_list_of_cpus_that_is_cut_off);
	tcase_add_test(tc, binding_a_thread);
	tcase_add_test(tc, cpus_of_the_control_group);
	tcase_add_test(tc, the_cpus_of_this_thread);
	tcase_add_test(tc, the_text_of_an_empty_set);
	tcase_add_test(tc, nodes_and_their_distances);
	tcase_add_test(tc, nodes_that_tell_no_distances);
	tcase_add_test(tc, a_machine_with_more_nodes_than_fit);
	tcase_add_test(tc, a_machine_that_tells_little);
	tcase_add_test(tc, the_distance_of_two_sets_is_the_least);
	tcase_add_test(tc, what_sysfs_tells_of_a_device);
	add_hwloc_tests(tc);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
