/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion data without its flag. Some providers hand the data of a message that came before its
 * receive over and leave FI_REMOTE_CQ_DATA out (DOFI_QUIRK_UNMARKED_DATA), so nobody would know
 * whose a message for an SRQ is. All of these carry data, and so the flag is set. A message for an
 * EP's own receive may carry none, and what the fabric has there may be older: but such a message
 * never comes before its receive, because of the grants (credit.h).
 *
 * The IA has a table of operations of its own then; other fabrics never come here.
 */
#ifndef DOFI_UNMARKED_H
#define DOFI_UNMARKED_H

struct dofi_ia;

int dofi_unmarked_open(struct dofi_ia *ia); /* before the transport opens; 0 or -ENOMEM */
void dofi_unmarked_close(struct dofi_ia *ia);

#endif
