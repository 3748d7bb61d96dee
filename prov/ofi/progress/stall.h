/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Owners of work that the fabric has no room for: each round of the engine tries it again. */
#ifndef DOFI_STALL_H
#define DOFI_STALL_H

#include "object/ia_parts.h"

struct dofi_ia;

/*
 * Adds and removes an owner. The caller holds the owner's lock; for the second call also
 * engine.lock.
 */
void dofi_stall(struct dofi_ia *ia, struct dofi_stall *stall);
void dofi_stall_end(struct dofi_ia *ia, struct dofi_stall *stall);

/* Tries each once. engine.lock held. */
void dofi_stall_retry_all(struct dofi_ia *ia);

#endif
