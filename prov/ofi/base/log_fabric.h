/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* libfabric's own log messages. */
#ifndef DOFI_LOG_FABRIC_H
#define DOFI_LOG_FABRIC_H

/*
 * libfabric's own log up to this level (a word as above, empty: leave it alone) goes the same way.
 */
void dofi_log_fabric(const char *word);

#endif
