/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues. One serves all EPs, until those of a device could have more under way than it
 * has entries: libfabric sets entries aside for the receives of each endpoint, and when none is
 * left it takes no send any more. So there are more of them then, each twice as long as the one
 * before, and polling stays cheap with thousands of connections.
 *
 * Where a queue polls a list of sockets, it serves the first connections alone. Later ones share
 * further queues (cq_ready.h).
 */
#ifndef DOFI_CQS_H
#define DOFI_CQS_H

#include "object/ia_parts.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dofi_ia;
struct fid_cq;

int dofi_cqs_open(struct dofi_ia *ia);
void dofi_cqs_close(struct dofi_ia *ia);

/*
 * Sets entries of one queue aside for an endpoint; which one. They are given back when the endpoint
 * is closed.
 */
uint32_t dofi_cqs_take(struct dofi_ia *ia, size_t entries);
void dofi_cqs_give(struct dofi_ia *ia, uint32_t which, size_t entries);

#endif
