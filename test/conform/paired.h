/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Cases whose tests begin with two connected EPs of two IAs. */
#ifndef PAIRED_H
#define PAIRED_H

#include "conform.h"

extern struct t_pair paired;
extern struct t_end *const us, *const peer; /* the ends of it */

TCase *paired_case(Suite *suite, const char *name);

/* A message goes from one end to a receive posted at the other; both completions are taken. */
void paired_send(const struct t_end *from, const struct t_end *to, size_t length);
/* The connection is over, with this event at both ends. */
void paired_ends(DAT_EVENT_NUMBER number);
/* Disconnected and connected afresh; completions not taken are lost. */
void paired_again(void);

#endif
