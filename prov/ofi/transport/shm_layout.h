/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory that libfabric's shm provider shares between processes, as far as the repair after a
 * process was killed needs it (shm_repair.h). Each endpoint has a region, a file of /dev/shm. The
 * layout of a region has a number, its first byte; a region with another number than those below is
 * never touched.
 *
 *   4   (1.17)   a ring of commands and one of answers
 *   8   (2.1)    a queue of commands and a ring of answers
 *   10  (2.6)    a queue of commands and one of those that come back
 *
 * shm_queue.h, shm_requests.h and shm_commands.h explain what each has.
 */
#ifndef DOFI_SHM_LAYOUT_H
#define DOFI_SHM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
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

#endif
