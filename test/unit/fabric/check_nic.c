/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Choice among equal devices, on machines with 4 and 32 of them. Each case runs with hwloc, with
 * sysfs alone, and some without either.
 */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "fabric/netdev.h"
#include "fabric/nic.h"
#include "base/param.h"
#include "fabric/topo.h"

#include "../../lib/t_blocks.h"
#include "../../lib/t_machine.h"
#include "../../lib/unit.h"

/* One package of four nodes, each with a device, not in the order of the nodes. */
static const struct t_machine four = {
	.packages = 1,
	.nodes = 4,
	.cores = 16,
	.threads = 2,
	.devices = {{0x11, 3}, {0x22, 1}, {0x33, 0}, {0x44, 2}},
};
/* Two packages; sixteen devices at each, filled in below. */
static struct t_machine many = {.packages = 2, .nodes = 1, .cores = 48, .threads = 2};
/* Two packages of two nodes; the devices are at the first node of each. */
static const struct t_machine sparse = {
	.packages = 2,
	.nodes = 2,
	.cores = 8,
	.threads = 1,
	.devices = {{0x11, 0}, {0x22, 2}},
};

/* Each case runs with sysfs and, if it was built in, with hwloc. */
#ifdef HAVE_HWLOC
#define T_SOURCES 2
#else
#define T_SOURCES 1
#endif

/* --- the CPUs of the process --- */

static struct dofi_cpus bound, group;
static int affinity_error;
static bool with_hwloc;

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus);
T_STAND_IN int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cpus)
{
	ck_assert_int_eq(pid, 0);
	ck_assert_uint_eq(size, sizeof(bound));
	memcpy(cpus, &bound, size);
	errno = affinity_error;
	return affinity_error ? -1 : 0;
}

bool __real_dofi_hwloc_load(struct dofi_topo *topo);
bool __wrap_dofi_hwloc_load(struct dofi_topo *topo);
bool __wrap_dofi_hwloc_load(struct dofi_topo *topo)
{
	return with_hwloc && __real_dofi_hwloc_load(topo);
}

bool __real_dofi_cpus_of_group(struct dofi_cpus *cpus);
bool __wrap_dofi_cpus_of_group(struct dofi_cpus *cpus);
bool __wrap_dofi_cpus_of_group(struct dofi_cpus *cpus)
{
	*cpus = group;
	return !dofi_cpus_empty(&group);
}

static void bind_to(const char *cpus)
{
	ck_assert(dofi_cpus_parse(&bound, cpus));
}

/* --- devices --- */

struct device {
	struct fi_info info;
	struct fi_domain_attr domain;
	struct fid_nic nic;
	struct fi_bus_attr bus;
	char name[16];
};

static struct device devices[T_MACHINE_DEVICES];
static const struct fi_info *equals[T_MACHINE_DEVICES];
static unsigned int ndevices;

static void set_machine(const struct t_machine *machine, int hwloc)
{
	with_hwloc = hwloc;
	t_machine_set(machine);
	for (ndevices = 0; ndevices < T_MACHINE_DEVICES && machine->devices[ndevices].bus;
	     ndevices++) {
		struct device *d = &devices[ndevices];

		snprintf(d->name, sizeof(d->name), "nic%u", ndevices);
		d->domain.name = d->name;
		d->bus = (struct fi_bus_attr){.bus_type = FI_BUS_PCI,
					      .attr.pci = {0,
							   (uint8_t)machine->devices[ndevices].bus,
							   0, 0}};
		d->nic.bus_attr = &d->bus;
		d->info.domain_attr = &d->domain;
		d->info.nic = &d->nic;
		equals[ndevices] = &d->info;
	}
	unsetenv("PMI_LOCAL_RANK");
}

static void set_many(int hwloc)
{
	for (unsigned int i = 0; i < 32; i++)
		many.devices[i] = (struct t_machine_device){0x40 + i, i / 16};
	set_machine(&many, hwloc);
}

static struct dofi_params params;
static struct dofi_nic nic;

static void set_rank(const char *variable, unsigned int rank)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", rank);
	setenv(variable, text, 1);
}

static unsigned int choose(const char *words)
{
	ck_assert(!dofi_params_load(&params, "ofi", words));
	ck_assert(!dofi_nic_check("ofi", &params));
	return dofi_nic_choose(&params, equals, ndevices, &nic);
}

static void ck_why(const char *part)
{
	ck_assert_msg(strstr(nic.why, part) != NULL, "\"%s\" is not in: %s", part, nic.why);
}

/* --- bound and unbound --- */

START_TEST(test_bound_to_a_node_takes_its_device)
{
	static const struct {
		const char *cpus;
		unsigned int device;
	} cases[] = {{"0-15,64-79", 2}, {"20", 1}, {"32,96", 3}, {"60-63,112-127", 0}};

	set_machine(&four, _i);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bind_to(cases[i].cpus);
		set_rank("SLURM_LOCALID", (unsigned int)i + 1);
		ck_assert_uint_eq(choose(""), cases[i].device);
		ck_assert_int_eq(strncmp(nic.why, "the nearest of 4 devices to CPUs ", 33), 0);
		ck_assert_ptr_null(strstr(nic.why, "number"));
		ck_why(cases[i].cpus);
		ck_why(_i ? "hwloc" : "sysfs");
	}
	ck_assert_str_eq(nic.pci_text, "0000:11:00.0");
	ck_assert_str_eq(nic.node_text, "3");
}
END_TEST

START_TEST(test_unbound_spreads_by_local_rank)
{
	set_machine(&four, _i);
	bind_to("0-127");
	for (unsigned int rank = 0; rank < 9; rank++) {
		set_rank("PMI_LOCAL_RANK", rank);
		ck_assert_uint_eq(choose(""), rank % 4);
	}
	ck_why("equally near");
	ck_why("PMI_LOCAL_RANK=8");
	set_many(_i);
	bind_to("0-191");
	for (unsigned int rank = 0; rank < 40; rank++) {
		set_rank("PMI_LOCAL_RANK", rank);
		ck_assert_uint_eq(choose(""), rank % 32);
	}
}
END_TEST

START_TEST(test_bound_to_two_nodes_spreads_over_theirs)
{
	set_machine(&four, _i);
	bind_to("16-47");
	for (unsigned int rank = 0; rank < 4; rank++) {
		set_rank("OMPI_COMM_WORLD_LOCAL_RANK", rank);
		ck_assert_uint_eq(choose(""), rank % 2 ? 3 : 1);
	}
	ck_why("one of the nearest of 4 devices");
	ck_why("NUMA distance 10, others 12 and more");
	ck_why("number 1 of 2");
}
END_TEST

START_TEST(test_bound_to_a_package_spreads_over_its_sixteen)
{
	set_many(_i);
	bind_to("48-95,144-191");
	for (unsigned int rank = 0; rank < 20; rank++) {
		set_rank("MPI_LOCALRANKID", rank);
		ck_assert_uint_eq(choose(""), 16 + rank % 16);
	}
	ck_assert_str_eq(nic.node_text, "1");
}
END_TEST

/* Ranks are distributed to two packages in turn: those of one package are all even. */
START_TEST(test_parts_of_a_package_take_different_devices)
{
	set_many(_i);
	for (unsigned int rank = 0; rank < 32; rank++) {
		unsigned int first = rank % 2 * 48 + rank / 2 * 3, chosen;
		char cpus[32];

		snprintf(cpus, sizeof(cpus), "%u-%u,%u-%u", first, first + 2, first + 96,
			 first + 98);
		bind_to(cpus);
		set_rank("SLURM_LOCALID", rank);
		chosen = choose("");
		ck_assert_uint_eq(chosen, rank % 2 * 16 + rank / 2);
	}
	ck_why("by the part of the near CPUs");
	bind_to("17");
	ck_assert_uint_eq(choose(""), 1);
}
END_TEST

/* All processes of a job share some CPUs of a package. */
START_TEST(test_processes_that_share_the_group_spread_by_rank)
{
	set_many(_i);
	bind_to("0-3");
	group = bound;
	for (unsigned int rank = 0; rank < 4; rank++) {
		set_rank("SLURM_LOCALID", rank);
		ck_assert_uint_eq(choose(""), rank);
	}
}
END_TEST

START_TEST(test_parameter_wins_over_launcher_and_part)
{
	set_many(_i);
	bind_to("4-7");
	set_rank("SLURM_LOCALID", 5);
	ck_assert_uint_eq(choose("local_rank=17"), 1);
	ck_why("local_rank=17");
}
END_TEST

START_TEST(test_far_from_all_devices_takes_the_nearer)
{
	set_machine(&sparse, _i);
	bind_to("8-15");
	ck_assert_uint_eq(choose(""), 0);
	ck_why("NUMA distance 12, others 20");
	bind_to("24-31");
	ck_assert_uint_eq(choose(""), 1);
}
END_TEST

/* The firmware may tell greater distances than those that are assumed. */
START_TEST(test_distances_that_the_firmware_tells)
{
	struct t_machine far = sparse;

	far.far = 31;
	set_machine(&far, _i);
	bind_to("8-15");
	ck_assert_uint_eq(choose(""), 0);
	ck_why("NUMA distance 12, others 31");
}
END_TEST

START_TEST(test_a_process_whose_cpus_are_not_known)
{
	set_machine(&sparse, _i);
	bind_to("16-23");
	ck_assert_uint_eq(choose(""), 1);
	affinity_error = EINVAL; /* more CPUs than the set has room for */
	ck_assert_uint_eq(choose(""), 0);
	ck_why("places are not known");
	affinity_error = 0;
	bound = (struct dofi_cpus){0};
	ck_assert_uint_eq(choose(""), 0);
	ck_why("places are not known");
}
END_TEST

START_TEST(test_a_kernel_without_numa)
{
	set_machine(&sparse, 0);
	t_machine_put("devices/system/node/online", "");
	bind_to("16-23");
	ck_assert_uint_eq(choose(""), 1);
	ck_why("NUMA distance 10, others 255");
}
END_TEST

/* Node 1 is offline, node 2 has no CPUs. Node 3 does not tell its distances. */
START_TEST(test_nodes_with_gaps)
{
	set_machine(&sparse, 0);
	t_machine_put("devices/system/node/online", "0,2-3");
	t_machine_put("devices/system/node/node2/cpulist", "");
	t_machine_put("devices/system/node/node3/cpulist", "16-23");
	t_machine_put("devices/system/node/node0/distance", "10 17 40");
	t_machine_put("devices/system/node/node3/distance", "");
	bind_to("0-7");
	ck_assert_uint_eq(choose(""), 0);
	ck_why("NUMA distance 10, others 40");
	bind_to("16-23");
	ck_assert_uint_eq(choose(""), 1);
	ck_why("NUMA distance 10, others 20");
}
END_TEST

START_TEST(test_without_a_launcher_the_first_device_is_used)
{
	set_machine(&four, _i);
	bind_to("0-127");
	ck_assert_uint_eq(choose(""), 0);
	ck_why("no launcher tells");
	setenv("SLURM_LOCALID", "many", 1);
	ck_assert_uint_eq(choose(""), 0);
}
END_TEST

START_TEST(test_without_localities_processes_spread_by_rank)
{
	set_machine(&four, 0);
	dofi_sysfs = "/nonexistent";
	bind_to("0-15");
	set_rank("PMI_LOCAL_RANK", 6);
	ck_assert_uint_eq(choose(""), 2);
	ck_why("places are not known");
	ck_assert_str_eq(nic.node_text, "");
}
END_TEST

#ifdef HAVE_HWLOC
/* hwloc may read a file that describes another machine than sysfs does (HWLOC_XMLFILE). */
START_TEST(test_places_are_those_of_hwloc)
{
	set_machine(&four, 1);
	dofi_sysfs = "/nonexistent";
	bind_to("20");
	ck_assert_uint_eq(choose(""), 1);
	ck_why("NUMA distance 10");
}
END_TEST
#endif

START_TEST(test_unknown_device_is_farther_than_any)
{
	set_machine(&sparse, _i);
	devices[0].bus.attr.pci.bus_id = 0x99;
	bind_to("0-7");
	ck_assert_uint_eq(choose(""), 1);
}
END_TEST

START_TEST(test_single_device)
{
	set_machine(&sparse, 0);
	ndevices = 1;
	bind_to("0");
	ck_assert_uint_eq(choose("local_rank=3"), 0);
	ck_why("the only one");
	ck_assert_str_eq(nic.pci_text, "0000:11:00.0");
}
END_TEST

/* Nothing of an earlier choice is left. */
START_TEST(test_what_is_known_of_the_device)
{
	set_machine(&sparse, 0);
	bind_to("0");
	memset(&nic, 0xff, sizeof(nic));
	ck_assert_uint_eq(choose(""), 0);
	ck_assert_str_eq(nic.node_text, "0");
	ck_assert(!nic.bind_thread);
	ndevices = 1;
	devices[0].bus.attr.pci = (struct fi_pci_attr){1, 0x3b, 0x1f, 7};
	choose("");
	ck_assert_str_eq(nic.pci_text, "0001:3b:1f.7");
	ck_assert_str_eq(nic.node_text, "");
	/* A device of another bus, and one without any, may be below a netdev. */
	devices[0].bus.bus_type = FI_BUS_UNKNOWN;
	for (int i = 0; i < 2; i++) {
		choose("");
		ck_assert(!nic.has_pci);
		ck_assert_str_eq(nic.pci_text, "");
		devices[0].info.nic = NULL;
	}
	devices[0].domain.name = NULL;
	choose("");
	ck_assert(!nic.has_pci);
}
END_TEST

START_TEST(test_ranks_have_up_to_six_digits)
{
	t_capture(STDERR_FILENO);
	ck_assert(!dofi_params_load(&params, "ofi", "local_rank=999999"));
	ck_assert_int_eq(dofi_nic_check("ofi", &params), 0);
	ck_assert(!dofi_params_load(&params, "ofi", "local_rank=1000000"));
	ck_assert_int_eq(dofi_nic_check("ofi", &params), -EINVAL);
}
END_TEST

/* --- the nearest of several --- */

/* Devices by their nodes, of which node 0 is ours, 1 is at distance 12, 2 and 3 at 20. */
static const struct {
	unsigned int nodes[5], n, chosen; /* with local_rank=1 */
	const char *why;
} orders[] = {
	{{0, 1, 2}, 3, 0, "the nearest of 3 devices to CPUs 0-7 (NUMA distance 10, others 12 "},
	{{0, 2, 1}, 3, 0, "the nearest of 3 devices to CPUs 0-7 (NUMA distance 10, others 12 "},
	{{1, 0, 2}, 3, 1, "the nearest of 3 devices to CPUs 0-7 (NUMA distance 10, others 12 "},
	{{1, 2, 0}, 3, 2, "the nearest of 3 devices to CPUs 0-7 (NUMA distance 10, others 12 "},
	{{2, 0, 1}, 3, 1, "the nearest of 3 devices to CPUs 0-7 (NUMA distance 10, others 12 "},
	{{2, 1, 0}, 3, 2, "the nearest of 3 devices to CPUs 0-7 (NUMA distance 10, others 12 "},
	{{1, 2, 3}, 3, 0, "the nearest of 3 devices to CPUs 0-7 (NUMA distance 12, others 20 "},
	{{0, 2}, 2, 0, "the nearest of 2 devices to CPUs 0-7 (NUMA distance 10, others 20 "},
	{{2, 3}, 2, 1, "one of 2 devices, equally near to CPUs 0-7, number 1 of 2 for local_rank="},
	{{0, 1, 0, 2}, 4, 2, "one of the nearest of 4 devices to CPUs 0-7 (NUMA distance 10, "},
	{{2, 1, 1, 2, 1}, 5, 2, "one of the nearest of 5 devices to CPUs 0-7 (NUMA distance 12, "},
};

START_TEST(test_the_order_of_devices_does_not_matter)
{
	struct t_machine machine = sparse;

	for (unsigned int i = 0; i < orders[_i].n; i++)
		machine.devices[i] = (struct t_machine_device){0x11 + i, orders[_i].nodes[i]};
	set_machine(&machine, 0);
	bind_to("0-7");
	ck_assert_uint_eq(choose("local_rank=1"), orders[_i].chosen);
	ck_why(orders[_i].why);
}
END_TEST

/* --- launchers --- */

START_TEST(test_the_first_launcher_that_tells_a_rank)
{
	static const char *const variables[] = {
		"SLURM_LOCALID",
		"PMI_LOCAL_RANK",
		"PALS_LOCAL_RANKID",
		"OMPI_COMM_WORLD_LOCAL_RANK",
		"MPI_LOCALRANKID",
		"FLUX_TASK_LOCAL_ID",
		"JSM_NAMESPACE_LOCAL_RANK",
		"MV2_COMM_WORLD_LOCAL_RANK",
	};
	char wanted[80];

	set_machine(&four, 0);
	bind_to("0-127");
	for (unsigned int i = 8; i-- > 0;) {
		set_rank(variables[i], i + 1);
		ck_assert_uint_eq(choose(""), (i + 1) % 4);
		snprintf(wanted, sizeof(wanted), "number %u of 4 for %s=%u", (i + 1) % 4,
			 variables[i], i + 1);
		ck_why(wanted);
	}
	setenv(variables[0], "", 1);
	setenv(variables[1], "1x", 1);
	setenv(variables[2], "1000000", 1);
	ck_assert_uint_eq(choose(""), 0);
	ck_why("OMPI_COMM_WORLD_LOCAL_RANK=4");
}
END_TEST

/* --- memory --- */

START_TEST(test_a_choice_without_memory)
{
	unsigned int before;

	set_machine(&sparse, _i);
	bind_to("16-23");
	ck_assert(!dofi_params_load(&params, "ofi", ""));
	before = t_nblocks;
	ck_assert_uint_eq(dofi_nic_choose(&params, equals, ndevices, &nic), 1);
	ck_assert_uint_eq(t_nblocks, before);
	t_blocks_left = 0;
	ck_assert_uint_eq(dofi_nic_choose(&params, equals, ndevices, &nic), 0);
	ck_assert_str_eq(nic.pci_text, "0000:11:00.0");
	t_blocks_left = 1; /* the machine is not known then */
	before = t_nblocks;
	ck_assert_uint_eq(dofi_nic_choose(&params, equals, ndevices, &nic), 0);
	ck_assert_uint_eq(t_nblocks, before);
	ck_why("places are not known");
}
END_TEST

/* --- the thread --- */

static const char *thread_cpus(const char *words)
{
	static char text[64];

	choose(words);
	dofi_nic_place_thread(&params, &nic);
	return nic.bind_thread ? dofi_cpus_text(&nic.thread_cpus, text, sizeof(text)) : "anywhere";
}

START_TEST(test_thread_runs_near_the_device_within_the_process)
{
	set_machine(&sparse, 0);
	ndevices = 1;
	bind_to("0-31");
	ck_assert_str_eq(thread_cpus(""), "0-7");
	bind_to("6-9");
	ck_assert_str_eq(thread_cpus(""), "6-7");
	bind_to("0-3"); /* near as it is */
	ck_assert_str_eq(thread_cpus(""), "anywhere");
	bind_to("16-31"); /* far: the CPUs near it are not ours */
	ck_assert_str_eq(thread_cpus(""), "anywhere");
	bind_to("0-31");
	ck_assert_str_eq(thread_cpus("affinity=inherit"), "anywhere");
	ck_assert_str_eq(thread_cpus("affinity=3,20-21"), "3,20-21");
}
END_TEST

/* Then the thread runs where the program does. */
START_TEST(test_thread_of_a_device_whose_place_is_not_known)
{
	set_machine(&sparse, 0);
	ndevices = 1;
	bind_to("0-31");
	ck_assert_str_eq(thread_cpus(""), "0-7");
	affinity_error = EINVAL;
	ck_assert_str_eq(thread_cpus(""), "anywhere");
	affinity_error = 0;
	devices[0].bus.attr.pci.bus_id = 0x99;
	ck_assert_str_eq(thread_cpus(""), "anywhere");
	devices[0].bus.bus_type = FI_BUS_UNKNOWN;
	ck_assert_str_eq(thread_cpus(""), "anywhere");
}
END_TEST

START_TEST(test_invalid_parameters_are_refused)
{
	static const char *const words[] = {"affinity=far",   "affinity=3-1", "affinity=1,,2",
					    "affinity=99999", "affinity=",    "affinity=1-",
					    "local_rank=x",   "local_rank=-1"};
	int fd = t_capture(STDERR_FILENO);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		ck_assert(!dofi_params_load(&params, "ofi", words[i]));
		ck_assert_msg(dofi_nic_check("ofi", &params), "%s", words[i]);
		ck_assert_msg(strstr(t_captured(fd), words[i]) != NULL, "%s", words[i]);
	}
}
END_TEST

START_TEST(test_the_thread_goes_where_its_device_is)
{
	int fd = t_capture(STDERR_FILENO);
	struct dofi_nic its = {.bind_thread = false};
	cpu_set_t before, now;

	ck_assert_int_eq(__real_sched_getaffinity(0, sizeof(before), &before), 0);
	dofi_nic_enter_thread("ia", &its);
	ck_assert_int_eq(__real_sched_getaffinity(0, sizeof(now), &now), 0);
	ck_assert(CPU_EQUAL(&now, &before));
	ck_assert_str_eq(t_captured(fd), "");
	its.bind_thread = true;
	dofi_cpus_add(&its.thread_cpus, DOFI_CPUS_MAX - 1);
	dofi_nic_enter_thread("ia", &its); /* there is no such CPU */
	ck_assert_ptr_nonnull(strstr(t_captured(fd), "its thread can't run on CPUs 8191: "));
	for (unsigned int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &before)) {
			memset(&its.thread_cpus, 0, sizeof(its.thread_cpus));
			dofi_cpus_add(&its.thread_cpus, cpu);
		}
	dofi_nic_enter_thread("ia", &its);
	ck_assert_int_eq(__real_sched_getaffinity(0, sizeof(now), &now), 0);
	ck_assert_int_eq(CPU_COUNT(&now), 1);
}
END_TEST

/* The loopback is ours without an interface; an address of documentation is no host's. */
START_TEST(test_addresses_of_this_host)
{
	static const char *const ours[] = {"127.0.0.1", "127.1.2.3", "::1"};
	static const char *const foreign[] = {"192.0.2.77", "203.0.113.5", "2001:db8::77"};
	struct sockaddr_storage addr;

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		ck_assert(dofi_addr_parse(ours[i], &addr));
		ck_assert_msg(dofi_netdev_is_ours(&addr), "%s", ours[i]);
	}
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		ck_assert(dofi_addr_parse(foreign[i], &addr));
		ck_assert_msg(!dofi_netdev_is_ours(&addr), "%s", foreign[i]);
	}
}
END_TEST

/* The real machine: the test only expects that the choice is explained. */
START_TEST(test_this_machine)
{
	struct dofi_topo *topo;

	with_hwloc = _i;
	topo = dofi_topo_new();
	if (topo) {
		ck_assert(!dofi_cpus_empty(&topo->all));
		ck_assert_uint_eq(dofi_topo_distance(topo, &topo->all, &topo->all),
				  DOFI_DISTANCE_NEAR);
	}
	dofi_topo_free(topo);
}
END_TEST

int main(void)
{
	static const char *const variables[] = {"SLURM_LOCALID",     "PMI_LOCAL_RANK",
						"PALS_LOCAL_RANKID", "OMPI_COMM_WORLD_LOCAL_RANK",
						"MPI_LOCALRANKID",   "FLUX_TASK_LOCAL_ID"};
	Suite *suite = suite_create("nic");
	TCase *tc = tcase_create("nic");

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	tcase_add_loop_test(tc, test_bound_to_a_node_takes_its_device, 0, T_SOURCES);
	tcase_add_loop_test(tc, test_unbound_spreads_by_local_rank, 0, T_SOURCES);
	tcase_add_loop_test(tc, test_bound_to_two_nodes_spreads_over_theirs, 0, T_SOURCES);
	tcase_add_loop_test(tc, test_bound_to_a_package_spreads_over_its_sixteen, 0, T_SOURCES);
	tcase_add_loop_test(tc, test_parts_of_a_package_take_different_devices, 0, T_SOURCES);
	tcase_add_loop_test(tc, test_processes_that_share_the_group_spread_by_rank, 0, T_SOURCES);
	tcase_add_loop_test(tc, test_parameter_wins_over_launcher_and_part, 0, T_SOURCES);
	tcase_add_loop_test(tc, test_far_from_all_devices_takes_the_nearer, 0, T_SOURCES);
	tcase_add_loop_test(tc, test_distances_that_the_firmware_tells, 0, T_SOURCES);
	tcase_add_loop_test(tc, test_a_process_whose_cpus_are_not_known, 0, T_SOURCES);
	tcase_add_test(tc, test_a_kernel_without_numa);
	tcase_add_test(tc, test_nodes_with_gaps);
	tcase_add_loop_test(tc, test_without_a_launcher_the_first_device_is_used, 0, T_SOURCES);
	tcase_add_test(tc, test_without_localities_processes_spread_by_rank);
#ifdef HAVE_HWLOC
	tcase_add_test(tc, test_places_are_those_of_hwloc);
#endif
	tcase_add_loop_test(tc, test_unknown_device_is_farther_than_any, 0, T_SOURCES);
	tcase_add_test(tc, test_single_device);
	tcase_add_test(tc, test_what_is_known_of_the_device);
	tcase_add_test(tc, test_ranks_have_up_to_six_digits);
	tcase_add_test(tc, test_thread_runs_near_the_device_within_the_process);
	tcase_add_test(tc, test_thread_of_a_device_whose_place_is_not_known);
	tcase_add_loop_test(tc, test_the_order_of_devices_does_not_matter, 0,
			    (int)(sizeof(orders) / sizeof(orders[0])));
	tcase_add_test(tc, test_the_first_launcher_that_tells_a_rank);
	tcase_add_loop_test(tc, test_a_choice_without_memory, 0, T_SOURCES);
	tcase_add_test(tc, test_invalid_parameters_are_refused);
	tcase_add_test(tc, test_the_thread_goes_where_its_device_is);
	tcase_add_test(tc, test_addresses_of_this_host);
	tcase_add_loop_test(tc, test_this_machine, 0, T_SOURCES);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
