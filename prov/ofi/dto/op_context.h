/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Operation contexts. Most fabrics keep the context of an operation as an opaque pointer, and the
 * work request itself serves. Fabrics with the mode bit FI_CONTEXT or FI_CONTEXT2 use the memory
 * behind the context as their own, from the post until the completion is read. There a struct
 * fi_context2 lies in front of each work request, in the same allocation, so it lives exactly as
 * long. ia->context_gap is the distance between the two: 0, or DOFI_CONTEXT_GAP.
 */
#ifndef DOFI_CONTEXT_H
#define DOFI_CONTEXT_H

#include "fabric/select.h"
#include "object/ep.h"
#include "object/ia.h"

#include <rdma/fabric.h>
#include <stddef.h>

_Static_assert(offsetof(struct dofi_own_wr, wr) == DOFI_CONTEXT_GAP &&
		       sizeof(struct fi_context2) <= DOFI_CONTEXT_GAP,
	       "there is room for a context in front of a work request");

static inline uint32_t dofi_context_gap(const struct fi_info *info)
{
	uint64_t mode = info->mode | info->tx_attr->mode | info->rx_attr->mode;

	return mode & DOFI_CONTEXT_MODES ? DOFI_CONTEXT_GAP : 0;
}

/* The context that the fabric gets for the operation. */
static inline void *dofi_context_of(const struct dofi_ia *ia, struct dofi_wr *wr)
{
	return (char *)wr - ia->context_gap;
}

/* The work request of a context, which is not NULL. */
static inline struct dofi_wr *dofi_context_wr(const struct dofi_ia *ia, void *context)
{
	return (struct dofi_wr *)(void *)((char *)context + ia->context_gap);
}

#endif
