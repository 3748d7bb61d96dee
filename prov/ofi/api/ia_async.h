/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The asynchronous EVD of an IA, which may belong to another IA. */
#ifndef DOFI_API_IA_ASYNC_H
#define DOFI_API_IA_ASYNC_H

#include "base/dat_api.h"

struct dofi_evd;
struct dofi_ia;

/* Checks what the caller of dat_ia_open wants; the EVD of another IA, or NULL. */
DAT_RETURN dofi_ia_async_check(DAT_COUNT qlen, const DAT_EVD_HANDLE *async_evd,
			       struct dofi_evd **evd_p);

/* Takes the EVD given, or makes one when there is none. */
DAT_RETURN dofi_ia_async_begin(struct dofi_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			       struct dofi_evd *evd);

/* No more events from this IA; an EVD of our own is destroyed with the others. */
void dofi_ia_async_end(struct dofi_ia *ia);

/* EVDs of this IA go: other IAs report nothing there from now on. */
void dofi_ia_async_detach_others(struct dofi_ia *ia);

#endif
