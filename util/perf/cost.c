/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Costs of the endpoints of a session other than the time of messages. */
#include "perf/perf.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/*
 * The time that the connections rest for the measurement, and before it, because threads go to
 * sleep slowly.
 */
#define SETTLE_NS INT64_C(1000000000)
#define IDLE_NS   INT64_C(3000000000)

/* Memory of this process in bytes; 0 if /proc does not report it. */
uint64_t perf_cost_memory(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long long resident = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*u %llu", &resident) != 1)
		resident = 0;
	fclose(file);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int64_t cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void rest(int64_t ns)
{
	int64_t until = perf_now_ns() + ns;
	struct timespec left;

	for (; ns > 0; ns = until - perf_now_ns()) {
		left = (struct timespec){ns / 1000000000, ns % 1000000000};
		nanosleep(&left, NULL);
	}
}

double perf_cost_idle(void)
{
	int64_t from, cpu;

	rest(SETTLE_NS);
	from = perf_now_ns();
	cpu = cpu_ns();
	rest(IDLE_NS);
	return 100.0 * (double)(cpu_ns() - cpu) / (double)(perf_now_ns() - from);
}

/* Each endpoint may take a descriptor. */
void perf_cost_allow_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
