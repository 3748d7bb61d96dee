/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/shm_peer_table.h"

#include "transport/shm_layout.h"
#include "transport/shm_region.h"
#include "transport/shm_structures.h"

#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A table in the owner's memory: where it begins, and where the region stands in an entry. */
#define MAP_FIRST   88u
#define MAP_REGION  272u

#define PEER_REGION 16u /* the same in an entry of a table in the region */

#define MAX_PLACES  8

/*
 * Finds the addresses at which this process has mapped the file of a region. Their number, or a
 * negative errno.
 */
static int places_of(const struct dofi_shm_map *region, uintptr_t *places)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	if (!maps)
		return -errno;
	while (n < MAX_PLACES && fgets(line, sizeof(line), maps)) {
		unsigned long start, inode;

		if (sscanf(line, "%lx-%*x %*s %*x %*x:%*x %lu", &start, &inode) == 2 &&
		    inode == region->inode && strstr(line, DOFI_SHM_DIR "/") &&
		    strstr(line, region->name))
			places[n++] = start;
	}
	fclose(maps);
	return n;
}

/* The region in the first entry of the table of peers; NULL: there is no table yet. */
static const char *first_peer(const struct dofi_shm_map *own)
{
	const struct dofi_shm_layout *l = own->layout;
	const char *map;

	if (l->peers)
		return (const char *)dofi_shm_place(own, l->peers) + PEER_REGION;
	memcpy(&map, dofi_shm_at(own, l->map), sizeof(map));
	return map ? map + MAP_FIRST + MAP_REGION : NULL;
}

int dofi_shm_find_peer(const struct dofi_shm_map *own, const struct dofi_shm_map *dead,
		       bool is_it[DOFI_SHM_MAX_PEERS])
{
	uintptr_t places[MAX_PLACES];
	int n = places_of(dead, places), any = 0;
	const char *peer;

	if (n < 0)
		return n;
	peer = first_peer(own);
	for (size_t i = 0; peer && i < DOFI_SHM_MAX_PEERS; i++, peer += own->layout->peer_size) {
		uintptr_t place;

		memcpy(&place, peer, sizeof(place));
		is_it[i] = false;
		for (int j = 0; j < n; j++)
			is_it[i] |= place == places[j];
		any |= is_it[i];
	}
	return any;
}
