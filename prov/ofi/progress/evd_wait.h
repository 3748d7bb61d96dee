/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Taking events from an EVD: polling and waiting. */
#ifndef DOFI_EVD_WAIT_H
#define DOFI_EVD_WAIT_H

#include "base/dat_api.h"

DAT_RETURN dofi_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			 DAT_EVENT *event, DAT_COUNT *nmore);
DAT_RETURN dofi_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event);

#endif
