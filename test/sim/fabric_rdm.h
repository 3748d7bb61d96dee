/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fabric of connectionless endpoints (FI_EP_RDM) for the rdm transport: one endpoint of each
 * process, tagged messages, and reads. What one process sends to another keeps its order, as one
 * stream. A stream may break: then what is under way is lost, operations without a completion fail,
 * and what comes behind has a new one. Completions may come in any order.
 */
#ifndef T_SIM_FABRIC_RDM_H
#define T_SIM_FABRIC_RDM_H

#include "fabric.h"

#include <stdbool.h>
#include <stdint.h>

struct side;

void fabric_rdm_begin(const struct fabric_profile *profile, int processes);
void fabric_rdm_open(struct dofi_ia *ia, struct side *side);
void fabric_rdm_cut(int process, bool both);
void fabric_rdm_kill(int process);
/* Receives that the endpoint has. */
uint32_t fabric_rdm_receives(int process);
/* Messages with this tag that have not found a receive yet, from one process to another. */
uint32_t fabric_rdm_under_way(int from, int to, uint64_t tag);

#endif
