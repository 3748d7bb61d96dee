/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an LMR stands for: a region of memory, its registrations and its context. */
#ifndef DOFI_LMR_H
#define DOFI_LMR_H

#include "object/mem.h"

/*
 * From what was asked for to a live LMR, which is published; an error changes nothing.
 */
DAT_RETURN dofi_lmr_open(struct dofi_lmr *lmr);
/* The context names nothing from here on, neither here nor for a peer that asks anew. */
void dofi_lmr_release_context(struct dofi_lmr *lmr);
/* Its rmr_context; 0 without remote rights. */
DAT_RMR_CONTEXT dofi_lmr_rmr_context(const struct dofi_lmr *lmr);
/* The LMR's registration that gives these remote rights. 0 or a negative libfabric error. */
int dofi_lmr_window(struct dofi_lmr *lmr, DAT_MEM_PRIV_FLAGS privileges, struct dofi_mr *mr_p);
/* Why a region could not be registered. A lack of memory is a lack of regions, too (LMR-028). */
DAT_RETURN dofi_lmr_error(int err);

void dofi_lmr_destroy(struct dofi_lmr *lmr);

#endif
