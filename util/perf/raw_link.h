/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Raw libfabric: connections. struct perf_ops has the contracts. */
#ifndef UTIL_PERF_RAW_LINK_H
#define UTIL_PERF_RAW_LINK_H

#include "perf/raw.h"

int perf_raw_connect(void *be, const struct perf_addr *peer);
int perf_raw_link(void *be, uint32_t count);
int perf_raw_unlink(void *be, uint32_t count);

/* Frees connection requests that were not used. */
void perf_raw_drop_early(struct raw *raw);

#endif
