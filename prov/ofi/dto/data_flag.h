/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion data without their flag. For a message that came before its receive, some providers
 * deliver the data and leave FI_REMOTE_CQ_DATA out (DOFI_QUIRK_UNMARKED_DATA), so the connection of
 * a message for an SRQ, or the EP of a datagram, would not be known. All of these messages carry
 * data, so this file sets the flag. A message for an EP's own receive may carry no data, and the
 * field may hold older data then; but because of the credits (credit.h) such a message never comes
 * before its receive.
 */
#ifndef DOFI_DATA_FLAG_H
#define DOFI_DATA_FLAG_H

#include <sys/types.h>

struct dofi_ia;

/*
 * The function ia->completed for such a provider: sets the flags and calls the transport's
 * function.
 */
void dofi_data_flag_completed(struct dofi_ia *ia, const void *entries, ssize_t n);

#endif
