/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Facts about the device, the fabric and libfabric that an IA tells in named attributes. */
#ifndef DOFI_FACT_H
#define DOFI_FACT_H

struct dofi_ia;

/* Texts that stand nowhere else. */
struct dofi_facts {
	char pci[16], numa[12], link[20], speed[24], mr_mode[192];
	char threading[32], progress[32], running[16], built[16];
};

/* Names them all; ia->info and ia->order are known. What can't be found out gets no attribute. */
void dofi_facts_name(struct dofi_ia *ia);

#endif
