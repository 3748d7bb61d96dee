/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The event queue of the shared endpoint. Providers put an error there that belongs to no operation: a packet that can't be
 * processed, memory that runs out, a peer that dies before its first answer. Without a queue the efa provider calls abort().
 *
 * All with engine.lock held.
 */
#ifndef DOFI_RDM_EVENTS_H
#define DOFI_RDM_EVENTS_H

#include <stdint.h>

struct dofi_ia;
struct fid_eq;

struct dofi_rdm_events {
	struct fid_eq *eq; /* NULL: the fabric takes none */
	int told_err, told_prov_err; /* the last one in the log; one that repeats is counted only */
	uint64_t nerrors;
};

/*
 * Binds a queue to ia->shared_ep, which is not enabled yet. 0, also when the fabric has no event queues for such endpoints,
 * or a negative error.
 */
int dofi_rdm_events_open(struct dofi_ia *ia, struct dofi_rdm_events *events);

/* After the endpoint is closed. */
void dofi_rdm_events_close(struct dofi_ia *ia, struct dofi_rdm_events *events);

/* Reads what has come. Number of events. */
int dofi_rdm_events_poll(struct dofi_ia *ia, struct dofi_rdm_events *events);

#endif
