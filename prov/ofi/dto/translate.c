/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/translate.h"

uint64_t dofi_segments_length(DAT_COUNT n, const DAT_LMR_TRIPLET *iov)
{
	uint64_t total = 0;

	for (DAT_COUNT i = 0; i < n; i++) {
		if (total + iov[i].segment_length < total)
			return UINT64_MAX;
		total += iov[i].segment_length;
	}
	return total;
}

/* Leaves empty segments out without a check (DTO-012, DTO-017). */
DAT_RETURN dofi_segments_translate(struct dofi_ia *ia, struct dofi_pz *pz, DAT_COUNT n,
				   const DAT_LMR_TRIPLET *iov, unsigned int privilege,
				   struct dofi_wr *wr, void **desc)
{
	uint16_t out = 0;

	for (DAT_COUNT i = 0; i < n; i++) {
		DAT_RETURN ret;

		if (!iov[i].segment_length)
			continue;
		ret = dofi_segment_translate(ia, pz, &iov[i], privilege, &wr->iov[out], &desc[out]);
		if (ret != DAT_SUCCESS)
			return ret;
		out++;
	}
	wr->niov = out;
	return DAT_SUCCESS;
}
