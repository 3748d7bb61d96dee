/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whether libfabric caches registrations (mr_cache.h), as two of the same memory show. */
#ifndef DOFI_MR_CACHED_H
#define DOFI_MR_CACHED_H

struct dofi_ia;

/*
 * A step of dat_ia_open, when there is memory to register. A named attribute tells what was found,
 * and a warning. 0 or an error of the fabric.
 */
int dofi_mr_cached_look(struct dofi_ia *ia);

#endif
