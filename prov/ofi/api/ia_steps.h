/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The objects of the fabric and the parts of an IA, in the order in which they are opened. */
#ifndef DOFI_API_IA_STEPS_H
#define DOFI_API_IA_STEPS_H

struct dofi_ia;

/* Opens all. 0, or a negative error after a message; then nothing is open. */
int dofi_ia_steps_begin(struct dofi_ia *ia);

/* Closes all, in the reverse order. */
void dofi_ia_steps_end(struct dofi_ia *ia);

#endif
