/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Machines that are not here: as a file of hwloc and as a tree of sysfs, in a directory that goes
 * with the process.
 */
#ifndef T_MACHINE_H
#define T_MACHINE_H

#define T_MACHINE_DEVICES 32

struct t_machine {
	unsigned int packages, nodes; /* nodes per package */
	/* per node; the second threads are numbered after all first ones */
	unsigned int cores, threads;
	struct t_machine_device {
		unsigned int bus, node;
	} devices[T_MACHINE_DEVICES]; /* at 0000:bus:00.0; the last has bus 0 */
};

/* From now on hwloc and the provider see this machine. */
void t_machine_set(const struct t_machine *machine);

/* A file of this content, or with NULL a directory, below the root of sysfs. */
void t_machine_put(const char *path, const char *content);
void t_machine_link(const char *path, const char *target);

#endif
