/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The guard byte. Some providers cut a message that is longer than its receive, and report success
 * at both ends (DOFI_QUIRK_CUTS). There each receive gets one more segment, a byte of the library:
 * a message that reaches this byte is longer than the program's buffer. All receives of the IA
 * share the byte, and its value is never read. Receives with a guard take the path of receives with
 * several segments, so other fabrics pay nothing.
 */
#ifndef DOFI_GUARD_H
#define DOFI_GUARD_H

#include "object/ia_parts.h"

#include "object/ep.h"

struct fid_mr;

int dofi_guard_open(struct dofi_ia *ia); /* 0 or a negative error */
void dofi_guard_close(struct dofi_ia *ia);

/* The number of segments that the guard needs in each receive: 0 or 1. */
uint32_t dofi_guard_segments(const struct dofi_ia *ia);

/* Whether the receive has its guard. */
bool dofi_guard_is_set(const struct dofi_ia *ia, const struct dofi_wr *wr);

/*
 * Adds the guard, if the fabric needs it and the receive has segments. The ring has room for it,
 * and its lock is held.
 */
void dofi_guard_set(const struct dofi_ia *ia, const struct dofi_ring *ring, struct dofi_wr *wr);

/* Whether a message of this length has reached the guard. */
bool dofi_guard_is_hit(const struct dofi_ia *ia, const struct dofi_wr *wr, uint64_t length);

#endif
