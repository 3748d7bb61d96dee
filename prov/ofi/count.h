/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The counters of DAT 2.0's extensions, which are always on. */
#ifndef DOFI_COUNT_H
#define DOFI_COUNT_H

#include "dat_api.h"

/* counter: a number of the handle's type, or its ALL_COUNTERS; see dat_ib_query_counters. */
DAT_RETURN dofi_count_query(DAT_HANDLE handle, int counter, DAT_UINT64 *values, int reset);
DAT_RETURN dofi_count_print(DAT_HANDLE handle, int counter, int reset);

#endif
