/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages of libfabric's own log. */
#ifndef DOFI_LOG_FABRIC_H
#define DOFI_LOG_FABRIC_H

/* Sends libfabric's own log up to this level to our log. An empty word leaves it alone. */
void dofi_log_fabric(const char *word);

#endif
