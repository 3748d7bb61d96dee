/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A cache of registrations with hooks in malloc and free, as in MPI libraries: free() deregisters
 * the memory. One lock guards the cache. The hooks take it for every allocation, also of libraries
 * and their threads. The lock is not held during dat_lmr_create() and dat_lmr_free():
 * dat_lmr_free() may wait for the thread that drives libfabric, and that thread allocates memory. A
 * lock held during both would be a deadlock.
 */
#ifndef HOOKS_H
#define HOOKS_H

#include "late_dat.h"

#include <stddef.h>

struct hooks_region {
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;
	DAT_RMR_CONTEXT remote;
};

void hooks_begin(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz);
/* Registers a block of malloc() unless it is in the cache. */
struct hooks_region hooks_find(void *block, size_t size);
/* How many registrations free() has ended. */
unsigned int hooks_ended(void);
/*
 * Frees memory that may be registered. With sanitizers, which replace free(), only this call
 * deregisters.
 */
void hooks_free(void *block);

#endif
