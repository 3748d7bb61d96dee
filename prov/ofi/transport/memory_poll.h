/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which paths a round of the engine reads. Most ranks of a host talk with a few others, so a call
 * that polls reads the paths that were active lately, and one in eight of the others. A round of
 * a thread that may sleep next reads all. engine.lock held, except where noted.
 */
#ifndef DOFI_MEMORY_POLL_H
#define DOFI_MEMORY_POLL_H

#include <stdbool.h>

struct dofi_ia;
struct dofi_memory_path;

/* Rounds read the path from now on, or not any more. */
void dofi_memory_poll_begin(struct dofi_memory_path *path);
void dofi_memory_poll_end(struct dofi_memory_path *path);

/*
 * engine.doze of the IA: shows peers whether the driver sleeps. False: no connection needs it.
 * Called without locks.
 */
bool dofi_memory_doze(struct dofi_ia *ia, bool asleep);

#endif
