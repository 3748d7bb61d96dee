/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening and closing an IA. */
#ifndef DOFI_API_IA_H
#define DOFI_API_IA_H

#include "base/dat_api.h"

DAT_RETURN dofi_ia_open(const DAT_NAME_PTR name, DAT_COUNT async_qlen, DAT_EVD_HANDLE *async_evd,
			DAT_IA_HANDLE *ia);
DAT_RETURN dofi_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);
/*
 * The same for an IA name that was registered as thread safe; a registry can't tell us otherwise
 * which one is opened.
 */
DAT_RETURN dofi_ia_open_threadsafe(const DAT_NAME_PTR name, DAT_COUNT async_qlen,
				   DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia);

#endif
