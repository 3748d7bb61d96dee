/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The traits of the tests. */
#include "perf/perf.h"

#define LATENCY   (1u << PERF_LATENCY)
#define BANDWIDTH (1u << PERF_BANDWIDTH)
#define RATE      (1u << PERF_RATE)

const char *const perf_test_names[] = {"send",      "write",        "read", "immediate", "datagram",
				       "fetch-add", "compare-swap", "bind", "connect",   "wakeup",
				       NULL};
const char *const perf_metric_names[] = {"latency", "bandwidth", "rate", NULL};
const char *const perf_stat_names[] = {"avg", "min", "p50", "p99", "p99.9", "max", NULL};

const struct perf_traits perf_traits[PERF_TESTS] = {
	[PERF_SEND] =
		{
			.shape = PERF_MESSAGES,
			.both = true,
			.checked = true,
			.windowed = true,
			.metrics = LATENCY | BANDWIDTH | RATE,
			.time = "half round trip",
			.unit = "msg/s",
		},
	[PERF_WRITE] =
		{
			.shape = PERF_SILENT,
			.both = true,
			.checked = true,
			.windowed = true,
			.metrics = LATENCY | BANDWIDTH | RATE,
			.time = "half round trip",
			.unit = "msg/s",
		},
	[PERF_READ] =
		{
			.shape = PERF_ANSWERED,
			.both = true,
			.checked = true,
			.windowed = true,
			.metrics = LATENCY | BANDWIDTH | RATE,
			.time = "full round trip",
			.unit = "msg/s",
		},
	[PERF_IMMEDIATE] =
		{
			.shape = PERF_MESSAGES,
			.dat_only = true,
			.both = true,
			.checked = true,
			.windowed = true,
			.metrics = LATENCY | BANDWIDTH | RATE,
			.time = "half round trip",
			.unit = "msg/s",
		},
	/* One at a time: a datagram without a receive would be lost. */
	[PERF_DATAGRAM] =
		{
			.shape = PERF_MESSAGES,
			.dat_only = true,
			.checked = true,
			.windowed = true,
			.metrics = LATENCY,
			.sizes = "8,256,1k",
			.time = "half round trip",
			.unit = "msg/s",
		},
	[PERF_FETCH_ADD] =
		{
			.shape = PERF_ANSWERED,
			.dat_only = true,
			.checked = true,
			.windowed = true,
			.fixed = sizeof(uint64_t),
			.metrics = LATENCY | RATE,
			.time = "full round trip",
			.unit = "op/s",
		},
	[PERF_CMP_SWAP] =
		{
			.shape = PERF_ANSWERED,
			.dat_only = true,
			.checked = true,
			.windowed = true,
			.fixed = sizeof(uint64_t),
			.metrics = LATENCY | RATE,
			.time = "full round trip",
			.unit = "op/s",
		},
	[PERF_BIND] =
		{
			.shape = PERF_ANSWERED,
			.dat_only = true,
			.windowed = true,
			.metrics = LATENCY | RATE,
			.sizes = "4k",
			.time = "until the completion",
			.unit = "bind/s",
		},
	[PERF_CONNECT] =
		{
			.shape = PERF_CYCLES,
			.fixed = 1,
			.metrics = LATENCY | RATE,
			.time = "until it is established",
			.unit = "conn/s",
		},
	[PERF_WAKEUP] =
		{
			.shape = PERF_WAKEUPS,
			.dat_only = true,
			.fixed = 1,
			.metrics = LATENCY,
			.time = "from thread to thread",
			.unit = "event/s",
		},
};
