/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "perf/session.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* CPUs of this process; ncpus 0: not set. */
static long first_cpu, ncpus;

/* Parses "3" or "0-3". Returns the rest of the text, or NULL. */
static const char *parse(const char *text, long *first_p, long *last_p)
{
	char *end;

	*first_p = *last_p = strtol(text, &end, 10);
	if (end == text)
		return NULL;
	if (*end == '-') {
		text = end + 1;
		*last_p = strtol(text, &end, 10);
		if (end == text)
			return NULL;
	}
	if (*first_p < 0 || *last_p < *first_p || *last_p >= CPU_SETSIZE || (*end && *end != ','))
		return NULL;
	return end;
}

int perf_pin(const char *list, int which)
{
	long first, last;
	const char *rest = parse(list, &first, &last);
	cpu_set_t set;

	if (rest && which && *rest)
		rest = parse(rest + 1, &first, &last);
	if (!rest || (which && *rest))
		return util_fail("--pin %s: not a CPU, a range of them, or two with a comma", list);
	CPU_ZERO(&set);
	for (long cpu = first; cpu <= last; cpu++)
		CPU_SET((int)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return util_fail("cannot run on CPU %ld to %ld: %s", first, last, strerror(errno));
	first_cpu = first;
	ncpus = last - first + 1;
	return 0;
}

/* If a CPU of the range does not exist, the thread is not bound. */
void perf_pin_thread(uint32_t thread)
{
	cpu_set_t set;

	if (ncpus < 2)
		return;
	CPU_ZERO(&set);
	CPU_SET((int)(first_cpu + thread % ncpus), &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}
