/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fault switches, pseudo-random numbers, and abort of programs that use libfabric wrongly. */
#include "sham.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct number {
	const char *name;
	const char *help;
	int value; /* default if the environment has no value */
	size_t offset;
};

#define FAULT(field, value, help)                                        \
	{                                                                \
#field, help, value, offsetof(struct sham_faults, field) \
	}

static const struct number numbers[] = {
	FAULT(eagain, 0, "posts in a hundred that begin a storm of -FI_EAGAIN (default: 0)"),
	FAULT(truncate, 0, "received messages in a hundred told as too long (default: 0)"),
	FAULT(refuse, 0, "RDMAs in a hundred that the target refuses (default: 0)"),
	FAULT(drop, -1,
	      "sends and RDMAs that end before this side falls silent (default: -1, never)"),
	FAULT(mr_limit, -1, "registrations that may live at a time (default: -1, the profile's)"),
	FAULT(late_us, 400, "longest wait before RDMA begins, in microseconds (default: 400)"),
	FAULT(pieces, 4,
	      "most pieces of a write, stored in any order; 0 keeps it whole (default: 4)"),
	FAULT(shuffle, 4, "longest wait of a completion, in polls; 0 keeps order (default: 4)"),
};

#define NNUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static _Atomic unsigned int seed = 1;

void sham_params_define(void)
{
	int value;

	fi_param_define(&sham_provider, "profile", FI_PARAM_STRING,
			"the hardware to play; others are not offered then (default: all)");
	fi_param_define(&sham_provider, "core", FI_PARAM_STRING,
			"provider to work on: shm or tcp;ofi_rxm (default: shm)");
	fi_param_define(&sham_provider, "seed", FI_PARAM_INT, "seed of the dice (default: 1)");
	for (size_t i = 0; i < NNUMBERS; i++)
		fi_param_define(&sham_provider, numbers[i].name, FI_PARAM_INT, "%s",
				numbers[i].help);
	if (!fi_param_get(&sham_provider, "seed", &value))
		seed = (unsigned int)value;
}

const char *sham_param(const char *name)
{
	char *value = NULL;

	return fi_param_get(&sham_provider, name, &value) ? NULL : value;
}

void sham_faults_load(struct sham_faults *faults)
{
	for (size_t i = 0; i < NNUMBERS; i++) {
		int *value = (int *)(void *)((char *)faults + numbers[i].offset);

		if (fi_param_get(&sham_provider, numbers[i].name, value))
			*value = numbers[i].value;
	}
}

int sham_dice(int limit)
{
	unsigned int state = atomic_load(&seed), next;

	if (limit < 1)
		return 0;
	do
		next = state * 1103515245U + 12345U;
	while (!atomic_compare_exchange_weak(&seed, &state, next));
	return (int)((next >> 16) % (unsigned int)limit);
}

bool sham_chance(int percent)
{
	return percent > 0 && sham_dice(100) < percent;
}

void sham_die(const struct sham_profile *profile, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "sham (%s): wrong use of libfabric: ", profile->name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}
