/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Finds out whether libfabric caches registrations (mr_cache.h), by registering the same memory
 * twice.
 */
#ifndef DOFI_MR_CACHED_H
#define DOFI_MR_CACHED_H

struct dofi_ia;

/*
 * A step of dat_ia_open, once memory can be registered. Sets a named attribute and may log a
 * warning. 0 or an error of the fabric.
 */
int dofi_mr_cached_look(struct dofi_ia *ia);

#endif
