/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Translation of the local segments of a post to those of the fabric. */
#ifndef DOFI_TRANSLATE_H
#define DOFI_TRANSLATE_H

#include "base/dat_api.h"
#include "object/ctxtab.h"
#include "object/ia.h"
#include "object/mem.h"
#include "object/wr.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

/* Whether the number of segments is allowed, and the array exists. */
static inline bool dofi_segments_ok(DAT_COUNT n, const DAT_LMR_TRIPLET *iov, DAT_COUNT max)
{
	return n >= 0 && n <= max && (n == 0 || iov);
}

/* The length of all segments; UINT64_MAX if the sum overflows. */
uint64_t dofi_segments_length(DAT_COUNT n, const DAT_LMR_TRIPLET *iov);

/*
 * Translates segments into wr->iov and desc, with the checks of a post; empty ones are left out.
 * DAT_SUCCESS or the post's error.
 */
DAT_RETURN dofi_segments_translate(struct dofi_ia *ia, struct dofi_pz *pz, DAT_COUNT n,
				   const DAT_LMR_TRIPLET *iov, unsigned int privilege,
				   struct dofi_wr *wr, void **desc);

/* Translates one segment. */
static inline DAT_RETURN dofi_segment_translate(const struct dofi_ia *ia, const struct dofi_pz *pz,
						const DAT_LMR_TRIPLET *segment,
						unsigned int privilege, struct iovec *iov,
						void **desc)
{
	const struct dofi_lmr *lmr = dofi_ctxtab_lmr(&ia->ctxtab, segment->lmr_context);
	uint64_t offset, left;

	if (!lmr)
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0);
	if (lmr->pz != pz)
		return DOFI_ERR(DAT_PROTECTION_VIOLATION, 0);
	if (!((unsigned int)lmr->privileges & privilege))
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, 0);
	offset = segment->virtual_address - lmr->base;
	if (__builtin_sub_overflow(lmr->length, offset, &left) || segment->segment_length > left)
		return DOFI_BAD_ARG(3);
	iov->iov_base = (void *)(uintptr_t)(lmr->start + offset);
	iov->iov_len = segment->segment_length;
	*desc = lmr->desc;
	return DAT_SUCCESS;
}

#endif
