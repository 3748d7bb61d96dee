/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The data path of raw libfabric, for the table perf_raw_ops. be is a struct raw. */
#ifndef UTIL_PERF_RAW_POST_H
#define UTIL_PERF_RAW_POST_H

#include "perf/perf.h"

int perf_raw_post_recv(void *be, const struct perf_wr *wr);
int perf_raw_send(void *be, const struct perf_wr *wr);
int perf_raw_write(void *be, const struct perf_wr *wr);
int perf_raw_read(void *be, const struct perf_wr *wr);
int perf_raw_poll(void *be, struct perf_comp *comps, int max);
int perf_raw_wait(void *be, struct perf_comp *comps, int max, int ms);

#endif
