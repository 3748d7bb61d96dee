/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How long the threads of this process have waited for a processor, by the scheduler's statistics.
 * Where that is long, the host is overloaded, and peers on it answer late.
 */
#ifndef DOFI_RUN_DELAY_H
#define DOFI_RUN_DELAY_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_run_delay {
	uint64_t at;     /* when it was measured, ns */
	uint64_t waited; /* of all threads up to then, ns; 0: the kernel keeps no statistics */
};

/*
 * The latest sample, at most a second old. A new one takes some us for each thread, so it is taken
 * only when the one in *latest is older.
 */
struct dofi_run_delay dofi_run_delay_recent(struct dofi_run_delay *latest);

/* Whether the threads have waited for at least a quarter of the time since the sample. */
bool dofi_run_delay_is_high(const struct dofi_run_delay *since);

#endif
