/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The structures of libfabric's shm provider in shared memory, as far as the repair after a process
 * was killed needs them (shm_repair.h). Each endpoint has a region, a file of /dev/shm. Peers put
 * commands into the queue of its owner. The layout has a number, the first byte of the region; a
 * region with another number than those below is never touched.
 *
 *   4   (1.17)  One lock guards the ring of commands, its count and the pools of buffers. Reads and
 *               writes are copied with the lock held. Answers come in a ring of the initiator's, in
 *               posting order: one that never comes keeps all later ones back.
 *   8   (2.1)   The queue has no lock: a sender claims an entry, fills it and commits it; the owner
 *               stops at the first entry that is not committed. The lock guards the pools. Answers
 *               as before.
 *   10  (2.6)   Commands that need an answer are memory of the initiator's, which the target puts
 *               into a second queue, of the same kind, in the initiator's region.
 */
#ifndef DOFI_SHM_LAYOUT_H
#define DOFI_SHM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dofi_shm_layout;

/* A mapping of a region, beside that of libfabric. */
struct dofi_shm_map {
	char *base; /* NULL: none */
	size_t size;
	const struct dofi_shm_layout *layout;
	pid_t pid;   /* of the owner, as the region says */
	char *name;  /* of the file, without a folder */
	ino_t inode; /* of the file */
};

/*
 * address: the fabric's address of the endpoint. 0 or a negative errno; -EPROTO: an unknown layout.
 */
int dofi_shm_map_open(struct dofi_shm_map *region, const char *address);
void dofi_shm_map_close(struct dofi_shm_map *region);

bool dofi_shm_trylock(const struct dofi_shm_map *region);
/*
 * The holder of the lock is dead: the caller holds it now. The lock does not name its holder, so
 * this only tells ThreadSanitizer.
 */
void dofi_shm_take_over(const struct dofi_shm_map *region);
void dofi_shm_unlock(const struct dofi_shm_map *region);

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
 * Layouts 4 and 8: frees the buffers and entries of our region that dead processes had taken. The
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

/* Returns the number of such entries, and stores the first `max` of them. Layout 4 has none. */
size_t dofi_shm_claims(const struct dofi_shm_map *region, struct dofi_shm_claim *claims,
		       size_t max);
/* Whether the entry is as it was when dofi_shm_claims found it. */
bool dofi_shm_is_claimed(const struct dofi_shm_claim *claim);
/* Makes the owner skip the entry. */
void dofi_shm_discard(const struct dofi_shm_claim *claim);

/*
 * Layouts 4 and 8: ends the requests of the endpoint of region `own` that wait for the dead owner
 * of `dead`, with a failure; those that use buffers of the dead owner end as if they were done.
 * True: none is left.
 */
bool dofi_shm_settle(const struct dofi_shm_map *own, const struct dofi_shm_map *dead);

/* Layout 10: a command of ours that the dead process has not given back. */
struct dofi_shm_command {
	void *command;
	uint64_t context;
};

/*
 * Returns the number of such commands, and stores the first `max` of them. A command that a thread
 * of ours is just using may be among them. 0 with another layout.
 */
size_t dofi_shm_commands(const struct dofi_shm_map *own, const struct dofi_shm_map *dead,
			 struct dofi_shm_command *commands, size_t max);
/*
 * Returns these commands with a failure, if they are still as dofi_shm_commands found them. No
 * thread uses one any more.
 */
void dofi_shm_give_back(const struct dofi_shm_map *own, const struct dofi_shm_map *dead,
			const struct dofi_shm_command *commands, size_t n);

#endif
