/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Long messages over shared memory. The sender puts their addresses into the ring, and the receiver
 * copies them from the sender's memory.
 */
#ifndef DOFI_MEMORY_FETCH_H
#define DOFI_MEMORY_FETCH_H

struct dofi_cell;
struct dofi_memory_path;

/*
 * Handles a cell of kind DOFI_CELL_PLACES, and those behind it whose messages are copied together
 * with this one. Returns enum dofi_cell_result or a negative errno; engine.lock held.
 */
int dofi_memory_fetch(struct dofi_memory_path *path, const struct dofi_cell *cell);

#endif
