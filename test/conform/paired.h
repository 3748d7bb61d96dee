/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Cases whose tests begin with two connected EPs on two IAs. */
#ifndef PAIRED_H
#define PAIRED_H

#include "conform.h"

extern struct t_pair paired;
extern struct t_end *const us, *const peer; /* its two ends */

TCase *paired_case(Suite *suite, const char *name);

/*
 * True if the library emulates the extensions by control records. verbs uses those of the device.
 */
bool paired_has_records(void);
/* Posts a receive, sends a message to it, and takes both completions. */
void paired_send(const struct t_end *from, const struct t_end *to, size_t length);
/* Waits for this event at both ends. */
void paired_ends(DAT_EVENT_NUMBER number);
/* Disconnects, resets and connects again. Queued completions are lost. */
void paired_again(void);

#endif
