/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A cache of registrations with hooks in malloc and free, as MPI libraries have it: what the
 * program frees is deregistered inside free(). One lock guards the cache; the hooks take it for
 * whatever is allocated, by libraries and their threads as well. It is not held while a
 * registration begins or ends: libfabric allocates in the thread that drives it, which
 * dat_lmr_free() may wait for, so a lock of the program that is held across both would never be
 * had.
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
 * free() of what may be registered; with sanitizers, whose free() it is, the only one that looks.
 */
void hooks_free(void *block);

#endif
