/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An LMR: a region of memory, its registrations and its context. */
#ifndef DOFI_LMR_H
#define DOFI_LMR_H

#include "object/mem.h"

/*
 * Registers the memory that the fields of the arguments describe, and publishes the LMR. An error
 * changes nothing.
 */
DAT_RETURN dofi_lmr_open(struct dofi_lmr *lmr);
/*
 * Ends the context, for local posts and for peers that resolve it from now on. Returns whether all
 * peers have to be told, because they may have kept it.
 */
bool dofi_lmr_release_context(struct dofi_lmr *lmr);
/* Its rmr_context; 0 without remote rights. */
DAT_RMR_CONTEXT dofi_lmr_rmr_context(const struct dofi_lmr *lmr);
/*
 * Finds or makes the registration with these remote rights, for a bind. 0 or a negative libfabric
 * error.
 */
int dofi_lmr_window(struct dofi_lmr *lmr, DAT_MEM_PRIV_FLAGS privileges, struct dofi_mr *mr_p);
/*
 * The error of a failed registration. A lack of memory is reported as a lack of regions (LMR-028).
 */
DAT_RETURN dofi_lmr_error(int err);

void dofi_lmr_destroy(struct dofi_lmr *lmr);

#endif
