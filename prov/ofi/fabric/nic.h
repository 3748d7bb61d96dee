/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Choice among several equal devices, and placement of the IA's thread. */
#ifndef DOFI_NIC_H
#define DOFI_NIC_H

#include "fabric/topo.h"

#define DOFI_MAX_EQUALS 64

struct dofi_params;

/* The result of the choice; part of an IA. */
struct dofi_nic {
	bool has_pci;
	struct fi_pci_attr pci;
	char pci_text[16];  /* "0000:3b:00.0", or "" */
	char node_text[12]; /* number of the NUMA node, or "" */
	char why[256];      /* the reason, in words */
	bool bind_thread;
	struct dofi_cpus thread_cpus;
};

/*
 * The PCI device of a candidate: as libfabric reports it, or that of the network interface that the
 * domain is named after.
 */
bool dofi_nic_pci(const struct fi_info *info, struct fi_pci_attr *pci_p);

/*
 * Chooses one of n devices (at most DOFI_MAX_EQUALS) that differ only in their place: among those
 * nearest to the CPUs of the calling thread, one by the place of this process among the processes
 * of the host. Fills nic. Returns the index.
 */
unsigned int dofi_nic_choose(const struct dofi_params *params, const struct fi_info *const *equals,
			     unsigned int n, struct dofi_nic *nic);

/* Checks the parameters local_rank and affinity. 0, or -EINVAL after a message. */
int dofi_nic_check(const char *ia_name, const struct dofi_params *params);
void dofi_nic_place_thread(const struct dofi_params *params, struct dofi_nic *nic);

/* Called by the IA's thread. */
void dofi_nic_enter_thread(const char *ia_name, const struct dofi_nic *nic);

#endif
