/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Describes other machines to the provider: a topology file for hwloc and a tree of sysfs, in a
 * directory that is removed when the process exits.
 */
#ifndef T_MACHINE_H
#define T_MACHINE_H

#define T_MACHINE_DEVICES 32

struct t_machine {
	unsigned int packages, nodes; /* nodes per package */
	/* per node; CPU numbers of second threads follow those of all first threads */
	unsigned int cores, threads;
	unsigned int far; /* distance of other packages that the firmware tells; 0: it tells none */
	struct t_machine_device {
		unsigned int bus, node;
	} devices[T_MACHINE_DEVICES]; /* at 0000:bus:00.0; bus 0 ends the list */
};

/* hwloc and the provider see this machine from now on. */
void t_machine_set(const struct t_machine *machine);

/* Creates a file with this content, or a directory if it is NULL, below the root of sysfs. */
void t_machine_put(const char *path, const char *content);
void t_machine_link(const char *path, const char *target);

#endif
