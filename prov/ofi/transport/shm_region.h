/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Regions of the shm fabric: files in /dev/shm (shm_name.h tells their names). Every user can make
 * files of any name there, and processes that share the directory may be in different PID
 * namespaces.
 *
 * Each IA holds a lock (flock) on its own region while it is open, and marks the region by the
 * sticky bit, which the kernel ignores on files. The lock ends with its process, whatever the
 * number of the process is. So a region with the bit and without the lock is not used any more. A
 * region without the bit does not belong to an IA, or its IA is about to lock it: it is left alone.
 */
#ifndef DOFI_SHM_REGION_H
#define DOFI_SHM_REGION_H

#include <stdbool.h>
#include <stdint.h>

#define DOFI_SHM_DIR "/dev/shm"

/* Whether the address is one of the shm fabric. */
bool dofi_shm_region_is_of(const uint8_t *address);

/*
 * Locks our own region, which the address of our endpoint names. Returns the descriptor, or a
 * negative errno.
 */
int dofi_shm_region_hold(const uint8_t *address);
/* Releases the lock, after the endpoint is closed. No effect if fd < 0. */
void dofi_shm_region_release(int fd);

/*
 * Whether the fabric may map the region of this address: a file of this user or of root, which no
 * other user can write to. 0, or a negative errno.
 */
int dofi_shm_region_check(const uint8_t *address);

/* Removes the file of this name in `dir` if it is a region that is not used any more. */
bool dofi_shm_region_sweep(int dir, const char *name);

#endif
