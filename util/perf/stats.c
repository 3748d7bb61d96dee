/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "perf/perf.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

void perf_stats_find(uint32_t *samples, uint64_t count, double scale, struct perf_result *result)
{
	double unit = scale / 1e3, sum = 0;

	qsort(samples, count, sizeof(*samples), compare);
	for (uint64_t i = 0; i < count; i++)
		sum += samples[i];
	result->stat[PERF_STAT_AVG] = sum / (double)count * unit;
	result->stat[PERF_STAT_MIN] = samples[0] * unit;
	result->stat[PERF_STAT_P50] = samples[count / 2] * unit;
	result->stat[PERF_STAT_P99] = samples[count - 1 - count / 100] * unit;
	result->stat[PERF_STAT_P999] = samples[count - 1 - count / 1000] * unit;
	result->stat[PERF_STAT_MAX] = samples[count - 1] * unit;
}
