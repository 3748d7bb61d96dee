/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion data without its flag. Some providers hand the data of a message that came before its
 * receive over and leave FI_REMOTE_CQ_DATA out (DOFI_QUIRK_UNMARKED_DATA), so that nothing names
 * the connection of a message for an SRQ, or the EP of a datagram. All of these carry data, so the
 * flag is set. A message for an EP's own receive may carry none, and what the fabric has there may
 * be older; but such a message never comes before its receive, because of the credits (credit.h).
 */
#ifndef DOFI_DATA_FLAG_H
#define DOFI_DATA_FLAG_H

#include <sys/types.h>

struct dofi_ia;

/* ia->completed of such a provider: sets the flags, and goes on with the transport's function. */
void dofi_data_flag_completed(struct dofi_ia *ia, const void *entries, ssize_t n);

#endif
