/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fabrics of libfabric that can carry DAT. */
#ifndef UTIL_FABRICS_H
#define UTIL_FABRICS_H

#include <stddef.h>

struct util_fabric {
	char provider[64], domain[64];
};

struct util_fabrics {
	struct util_fabric *list;
	size_t count;
};

/*
 * Lists them, best first, by a child process. 0, with a count of 0 if there are none, or -1 with
 * util_error() set. The caller calls util_fabrics_free() in any case.
 */
int util_fabrics_list(struct util_fabrics *fabrics);
void util_fabrics_free(struct util_fabrics *fabrics);

#endif
