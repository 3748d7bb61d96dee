/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the shm fabric of a process that was killed leaves in /dev/shm: 16 MiB for each IA, named
 * PID:UID:NUMBER. Libfabric removes one only when the same process number comes again. Which of
 * them are in use, shm_region.h tells.
 */
#ifndef DOFI_SHM_CLEANUP_H
#define DOFI_SHM_CLEANUP_H

#include "object/ia_parts.h"

#include "progress/engine.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * 0, or why nothing can be made where shm makes its regions: a negative errno. Libfabric 2.x
 * crashes when it can't.
 */
int dofi_shm_cleanup_probe(void);

/*
 * `name` is the fabric's address of ours. Locks our region, so that others see that it is in use,
 * and removes what dead processes of this user have left so far.
 */
void dofi_shm_cleanup_init(struct dofi_ia *ia, const uint8_t *name);
/* The endpoint is closed. Also without the former. */
void dofi_shm_cleanup_fini(struct dofi_ia *ia);

/* A peer went without a goodbye: looks once more when it has had time to die. engine.lock held. */
void dofi_shm_cleanup_expect(struct dofi_ia *ia);

#endif
