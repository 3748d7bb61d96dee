/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Facts about device, fabric and libfabric that an IA reports in named attributes. */
#ifndef DOFI_FACT_H
#define DOFI_FACT_H

#include "base/dat_api.h"
#include "fabric/traits.h"

struct fi_info;

struct dofi_facts {
	DAT_NAMED_ATTR list[11];
	unsigned int count;
	/* Texts of values that are stored nowhere else. */
	char link[20], speed[24], mr_mode[192], threading[32], progress[32], running[16], built[16];
};

/*
 * Fills `facts`, which must not move afterwards; info must live as long. Unknown facts are left
 * out.
 */
void dofi_facts_find(struct dofi_facts *facts, const struct fi_info *info, enum dofi_order order,
		     uint64_t quirks);

#endif
