/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a killed process may leave half done in the command queue of a region and in its pools of
 * buffers. Peers put commands into the queue of a region's owner.
 *
 *   1.17     One lock guards the ring of commands, its count and the pools. Reads and writes are
 *            copied with the lock held.
 *   others   The queue has no lock: a sender claims an entry, fills it and commits it; the owner
 *            stops at the first entry that is not committed. The lock guards the pools. In 2.5
 *            there is none, because each endpoint takes buffers of its own pools alone.
 */
#ifndef DOFI_SHM_QUEUE_H
#define DOFI_SHM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dofi_shm_map;

/* Changes with each command that was put in or taken out. */
uint64_t dofi_shm_progress(const struct dofi_shm_map *region);

/*
 * The owner is dead: makes its queue look full, and releases its lock, so that no process waits for
 * it.
 */
void dofi_shm_fill_dead(const struct dofi_shm_map *region);

/*
 * The lock is held, taken or inherited from a dead process: undoes what the dead process had half
 * done.
 */
void dofi_shm_repair_own(const struct dofi_shm_map *region);

/*
 * Before 2.5: frees the buffers and entries of our region that dead processes had taken. The
 * lock is held, and dofi_shm_is_idle is true of the regions of all living processes that use ours,
 * and of our own. False: try again.
 */
bool dofi_shm_refill(const struct dofi_shm_map *own);
/* The owner waits for no answer, so it uses nothing of another region. */
bool dofi_shm_is_idle(const struct dofi_shm_map *region);

/* An entry of a queue that was claimed and is not committed. */
struct dofi_shm_claim {
	void *entry;
	int64_t position;
};

/* Returns the number of such entries, and stores the first `max` of them. A ring has none. */
size_t dofi_shm_claims(const struct dofi_shm_map *region, struct dofi_shm_claim *claims,
		       size_t max);
/* Whether the entry is as it was when dofi_shm_claims found it. */
bool dofi_shm_is_claimed(const struct dofi_shm_claim *claim);
/* Makes the owner of the region skip the entry. */
void dofi_shm_discard(const struct dofi_shm_map *region, const struct dofi_shm_claim *claim);

#endif
