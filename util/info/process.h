/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef UTIL_PROCESS_H
#define UTIL_PROCESS_H

#include <stdint.h>

/*
 * Prints the counters of a running process that has DAT_OFI_STATS=socket. 0, or -1 with
 * util_error() set.
 */
int util_process_report(uint32_t pid);

#endif
