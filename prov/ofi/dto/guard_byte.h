/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The guard byte. Some providers cut a message that is longer than its receive, and complete both
 * as good ones (DOFI_QUIRK_CUTS). There each receive gets one segment more, a byte of the
 * library's: a message that reaches it is longer than the program's buffer. The byte is the IA's,
 * all receives share it, and nobody reads it. Receives with a guard take the way of those with
 * several segments, so other fabrics pay nothing.
 */
#ifndef DOFI_GUARD_H
#define DOFI_GUARD_H

#include "object/ia_parts.h"

#include "object/ep.h"

struct fid_mr;

int dofi_guard_open(struct dofi_ia *ia); /* 0 or a negative error */
void dofi_guard_close(struct dofi_ia *ia);

/* Segments of each receive that are the guard's. */
uint32_t dofi_guard_segments(const struct dofi_ia *ia);

/* The receive has its guard. */
bool dofi_guard_is_set(const struct dofi_ia *ia, const struct dofi_wr *wr);

/*
 * It gets one, unless the fabric needs none or it has no segments. The ring, whose lock is held,
 * has room for it.
 */
void dofi_guard_set(const struct dofi_ia *ia, const struct dofi_ring *ring, struct dofi_wr *wr);

/* So many bytes came for the receive, among them the guard. */
bool dofi_guard_is_hit(const struct dofi_ia *ia, const struct dofi_wr *wr, uint64_t length);

#endif
