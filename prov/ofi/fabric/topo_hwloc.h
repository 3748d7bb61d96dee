/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What hwloc knows of this machine; without hwloc these functions know nothing. */
#ifndef DOFI_TOPO_HWLOC_H
#define DOFI_TOPO_HWLOC_H

#include <stdbool.h>

struct dofi_cpus;
struct dofi_topo;
struct fi_pci_attr;

bool dofi_hwloc_load(struct dofi_topo *topo);
bool dofi_hwloc_device(const struct dofi_topo *topo, const struct fi_pci_attr *pci,
		       struct dofi_cpus *cpus_p);
void dofi_hwloc_unload(struct dofi_topo *topo);

#endif
