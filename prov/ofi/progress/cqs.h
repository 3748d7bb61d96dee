/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues. One queue serves all EPs, unless the endpoints of a device may have more
 * operations under way than the queue has entries: libfabric reserves entries for the receives of
 * each endpoint, and accepts no send when none is left. So further queues are opened then, each
 * twice as long as the one before, and polling stays cheap with thousands of connections.
 *
 * A queue that polls a list of sockets serves only the first connections. Later ones share further
 * queues (cq_ready.h).
 */
#ifndef DOFI_CQS_H
#define DOFI_CQS_H

#include <stddef.h>
#include <stdint.h>

struct dofi_ia;
struct fid_cq;

int dofi_cqs_open(struct dofi_ia *ia);
void dofi_cqs_close(struct dofi_ia *ia);

/*
 * Reserves entries of a queue for an endpoint, and returns the index of the queue. dofi_cqs_give
 * returns the entries when the endpoint is closed.
 */
uint32_t dofi_cqs_take(struct dofi_ia *ia, size_t entries);
void dofi_cqs_give(struct dofi_ia *ia, uint32_t which, size_t entries);

#endif
