/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the transports need from a fabric. */
#ifndef DOFI_REQUIREMENTS_H
#define DOFI_REQUIREMENTS_H

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One row. Earlier rows are preferred. */
struct dofi_requirements {
	const char *transport; /* the value of transport= in ia_params */
	enum fi_ep_type ep_type;
	uint64_t caps;
	int mr_mode;
	uint64_t mode;
	size_t cq_data_size; /* bytes of completion data that it needs */
	/* FI_RM_ENABLED: the fabric has to keep its queues from overflowing */
	enum fi_resource_mgmt queues;
	/* message order to ask for: some providers promise none unless the hints ask for it */
	uint64_t order;
};

enum { DOFI_NREQUIREMENTS = 4 };

extern const struct dofi_requirements dofi_requirements[DOFI_NREQUIREMENTS];

/* The row that asks least of this type of endpoint, or NULL. */
const struct dofi_requirements *dofi_requirements_of_type(enum fi_ep_type type);

/* True when this info does not satisfy the row; text says which attribute. */
bool dofi_requirements_lack(const struct dofi_requirements *row, const struct fi_info *info,
			    char *text, size_t size);

#endif
