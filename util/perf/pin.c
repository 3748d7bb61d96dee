/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "perf/session.h"

#include <ctype.h>
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

	/* strtol() accepts blanks and signs. */
	if (!isdigit((unsigned char)*text))
		return NULL;
	*first_p = *last_p = strtol(text, &end, 10);
	if (*end == '-') {
		if (!isdigit((unsigned char)end[1]))
			return NULL;
		*last_p = strtol(end + 1, &end, 10);
	}
	if (*last_p < *first_p || *last_p >= CPU_SETSIZE || (*end && *end != ','))
		return NULL;
	return end;
}

/* Finds element `which` of the list, or its only one. */
static int find(const char *list, int which, long *first_p, long *last_p)
{
	const char *rest = parse(list, first_p, last_p);

	if (rest && which && *rest)
		rest = parse(rest + 1, first_p, last_p);
	if (!rest || (which && *rest))
		return util_fail("--pin '%s': not a CPU, a range of them, or two with a comma; "
				 "CPUs are numbers below %d",
				 list, CPU_SETSIZE);
	return 0;
}

int perf_pin_check(const char *list)
{
	long first, last;

	/* To find the second element, find() parses the whole list. */
	return find(list, 1, &first, &last);
}

int perf_pin(const char *list, int which)
{
	long first, last;
	cpu_set_t set;

	if (find(list, which, &first, &last))
		return -1;
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
