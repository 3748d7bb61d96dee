/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which of several equal devices is used, and where the IA's thread runs. */
#ifndef DOFI_NIC_H
#define DOFI_NIC_H

#include "fabric/topo.h"

#define DOFI_MAX_EQUALS 64

struct dofi_params;

/* What became of the choice; part of an IA. */
struct dofi_nic {
	bool has_pci;
	struct fi_pci_attr pci;
	char pci_text[16];  /* "0000:3b:00.0", or "" */
	char node_text[12]; /* number of the NUMA node, or "" */
	char why[256];      /* in words */
	bool bind_thread;
	struct dofi_cpus thread_cpus;
};

/*
 * The PCI device of a candidate, by itself or by the network interface that its domain is named
 * after.
 */
bool dofi_nic_pci(const struct fi_info *info, struct fi_pci_attr *pci_p);

/*
 * The one to use of n that are equal but for their place: of those nearest to the calling thread's
 * CPUs, one by its place among the processes of the host. Fills nic for it. At most
 * DOFI_MAX_EQUALS.
 */
unsigned int dofi_nic_choose(const struct dofi_params *params, const struct fi_info *const *equals,
			     unsigned int n, struct dofi_nic *nic);

/*
 * Checks local_rank, and affinity, and decides by it where the thread runs. 0 or -EINVAL after a
 * message.
 */
int dofi_nic_check(const char *ia_name, const struct dofi_params *params);
void dofi_nic_place_thread(const struct dofi_params *params, struct dofi_nic *nic);

/* Called by the IA's thread. */
void dofi_nic_enter_thread(const char *ia_name, const struct dofi_nic *nic);

#endif
