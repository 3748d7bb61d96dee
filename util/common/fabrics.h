/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fabrics of libfabric that can carry DAT. */
#ifndef UTIL_FABRICS_H
#define UTIL_FABRICS_H

#include <stddef.h>

struct util_fabric {
	char provider[64], domain[64];
};

/* Lists them, best first, by a child process. 0, or -1 with util_error() set. */
int util_fabrics_list(struct util_fabric *list, size_t size, size_t *count_p);

#endif
