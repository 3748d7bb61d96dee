/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Removes the regions that killed processes left in /dev/shm: 16 MiB for each IA, named
 * PID:UID:NUMBER. libfabric removes one only when the same process number is used again.
 * shm_region.h tells which regions are in use.
 */
#ifndef DOFI_SHM_CLEANUP_H
#define DOFI_SHM_CLEANUP_H

#include <stdint.h>

struct dofi_ia;

/*
 * Checks that a region can be made in /dev/shm, because libfabric ends the process if it can't. 0
 * or a negative errno: -EFBIG if the limit of file sizes does not allow its 16 MiB.
 */
int dofi_shm_cleanup_probe(void);

/*
 * name: the fabric's address of our endpoint. Locks our region, so that others see that it is in
 * use, and removes the regions that dead processes of this user have left.
 */
void dofi_shm_cleanup_init(struct dofi_ia *ia, const uint8_t *name);
/* The endpoint is closed. Allowed without dofi_shm_cleanup_init. */
void dofi_shm_cleanup_fini(struct dofi_ia *ia);

/*
 * A channel was lost without GOODBYE: cleans up again later, when the peer's process has ended.
 * engine.lock held.
 */
void dofi_shm_cleanup_expect(struct dofi_ia *ia);

#endif
