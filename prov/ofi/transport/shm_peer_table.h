/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table of the peers of an endpoint: before 2.5 in the owner's memory, since then in its
 * region. An entry tells where this process has mapped the region of the peer.
 */
#ifndef DOFI_SHM_PEER_TABLE_H
#define DOFI_SHM_PEER_TABLE_H

#include <stdbool.h>

struct dofi_shm_map;

#define DOFI_SHM_MAX_PEERS 256u

/*
 * Finds the numbers that the owner of `dead` has in the endpoint of region `own`: is_it[] is true
 * for these. 1; 0: there are none, and is_it[] may be unset; a negative errno: this process can't
 * read its mappings now.
 */
int dofi_shm_find_peer(const struct dofi_shm_map *own, const struct dofi_shm_map *dead,
		       bool is_it[DOFI_SHM_MAX_PEERS]);

#endif
