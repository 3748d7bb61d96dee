/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters for programs and reports. */
#ifndef DOFI_API_COUNTERS_H
#define DOFI_API_COUNTERS_H

#include "base/dat_api.h"

#include <stdbool.h>
#include <stdio.h>

struct dofi_ia;

/* counter: a number of the handle's type, or its ALL_COUNTERS; see dat_ib_query_counters. */
DAT_RETURN dofi_count_query(DAT_HANDLE handle, int counter, DAT_UINT64 *values, int reset);

DAT_RETURN dofi_count_print(DAT_HANDLE handle, int counter, int reset);

/*
 * Writes all counters that are not 0, and the state of the objects, as text. If `locked` is false,
 * engine.lock is not held, and data that it guards is left out.
 */
void dofi_count_report(struct dofi_ia *ia, FILE *out, bool locked);

#endif
