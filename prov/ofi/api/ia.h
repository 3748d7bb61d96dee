/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening and closing an IA. */
#ifndef DOFI_API_IA_H
#define DOFI_API_IA_H

#include "base/dat_api.h"

DAT_RETURN dofi_ia_open(const DAT_NAME_PTR name, DAT_COUNT async_qlen, DAT_EVD_HANDLE *async_evd,
			DAT_IA_HANDLE *ia);
DAT_RETURN dofi_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);
/*
 * The same for other registrations of an IA name: one that is thread safe, and those of further
 * lines of dat.conf. A registry can't tell us otherwise which one is opened.
 */
#define DOFI_IA_LINES 8
DAT_IA_OPEN_FUNC dofi_ia_open_of(DAT_BOOLEAN thread_safe, unsigned int nth);

#endif
