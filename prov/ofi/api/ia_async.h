/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The asynchronous EVD of an IA, which may belong to another IA. */
#ifndef DOFI_API_IA_ASYNC_H
#define DOFI_API_IA_ASYNC_H

#include "base/dat_api.h"

struct dofi_evd;
struct dofi_ia;

/*
 * Checks the handle that the caller of dat_ia_open passes. Stores the EVD of another IA, or NULL.
 */
DAT_RETURN dofi_ia_async_check(DAT_COUNT qlen, const DAT_EVD_HANDLE *async_evd,
			       struct dofi_evd **evd_p);

/* Uses the given EVD, or creates one. */
DAT_RETURN dofi_ia_async_begin(struct dofi_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			       struct dofi_evd *evd);

/* This IA raises no more events. An EVD of our own is destroyed with the other EVDs. */
void dofi_ia_async_end(struct dofi_ia *ia);

/* The EVDs of this IA are about to be freed: other IAs stop reporting events there. */
void dofi_ia_async_detach_others(struct dofi_ia *ia);

#endif
