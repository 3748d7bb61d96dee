/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory that libfabric's shm provider shares between processes, as far as the repair after a
 * process was killed needs it (shm_repair.h). Each endpoint has a region, a file of /dev/shm. Its
 * first byte is a number that most releases changed with the layout. Where two layouts have the
 * same number, the pools of buffers tell them apart. A region with another layout than those below
 * is never touched.
 *
 *   1.17              4      a ring of commands and one of answers
 *   1.18              4      a queue of commands and a ring of answers
 *   1.19              5      the same
 *   1.20              6      the same, the queue has another form
 *   1.21, 1.22        7      the same, the head is shorter
 *   2.0 to 2.4        8      the same
 *   2.5.0, 2.5.1      9, 10  a queue of commands and one of those that come back
 *   2.6               10     the same
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

/* Whether processes with these layouts can work together. */
bool dofi_shm_agree(const struct dofi_shm_map *a, const struct dofi_shm_map *b);
/*
 * Whether the region of that address has a layout that agrees with ours. libfabric does not check
 * that before it uses a region. True if our own layout is not known.
 */
bool dofi_shm_may_meet(const char *own_address, const char *address);

bool dofi_shm_trylock(const struct dofi_shm_map *region);
/*
 * The holder of the lock is dead: the caller holds it now. The lock does not name its holder, so
 * this only tells ThreadSanitizer.
 */
void dofi_shm_take_over(const struct dofi_shm_map *region);
void dofi_shm_unlock(const struct dofi_shm_map *region);

#endif
