/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registered memory of the IA, a slot for each EP, for reads of the peers' context tables. */
#ifndef DOFI_SCRATCH_H
#define DOFI_SCRATCH_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_ia;

int dofi_scratch_open(struct dofi_ia *ia); /* 0 or a negative error */
void dofi_scratch_close(struct dofi_ia *ia);

/* A slot of the scratch memory; false when none is free. */
bool dofi_scratch_take(struct dofi_ia *ia, uint32_t *slot_p);
void dofi_scratch_give(struct dofi_ia *ia, uint32_t slot);

#endif
