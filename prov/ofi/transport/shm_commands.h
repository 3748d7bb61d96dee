/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * 2.5 and later: commands that need an answer are memory of the initiator's. To give one back, the
 * target puts it into a second queue in the initiator's region. That queue is of the same kind as
 * the first (shm_queue.h).
 */
#ifndef DOFI_SHM_COMMANDS_H
#define DOFI_SHM_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dofi_shm_map;

/* A command of ours that the dead process has not given back. */
struct dofi_shm_command {
	void *command;
	uint64_t context;
};

/*
 * Returns the number of such commands, and stores the first `max` of them. A command that a thread
 * of ours is just using may be among them. 0 with another layout; a negative errno: try again.
 */
ssize_t dofi_shm_commands(const struct dofi_shm_map *own, const struct dofi_shm_map *dead,
			  struct dofi_shm_command *commands, size_t max);
/*
 * Returns these commands with a failure, if they are still as dofi_shm_commands found them. No
 * thread uses one any more. False: nothing is returned, try again.
 */
bool dofi_shm_give_back(const struct dofi_shm_map *own, const struct dofi_shm_map *dead,
			const struct dofi_shm_command *commands, size_t n);

#endif
