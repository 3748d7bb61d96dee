/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The event queue of the shared endpoint. Providers put an error there that belongs to no
 * operation: a packet that can't be processed, memory that runs out, a peer that dies before its
 * first answer. Without a queue the efa provider calls abort().
 *
 * Calls hold engine.lock, except those that open and close the IA, which has no other user then.
 */
#ifndef DOFI_ASYNC_ERRORS_H
#define DOFI_ASYNC_ERRORS_H

#include <rdma/fi_eq.h>
#include <stdatomic.h>
#include <stdint.h>

struct dofi_ia;

struct dofi_async_errors {
	struct fid_eq *eq;           /* NULL: the fabric takes none */
	int told_err, told_prov_err; /* the error logged last; a repeated error is only counted */
	uint64_t nerrors;
	/*
	 * For providers that abort if they cannot write an event (DOFI_QUIRK_FATAL_EVENT): the
	 * queue's table of operations, with our own write.
	 */
	struct fi_ops_eq ops;
	const struct fi_ops_eq *own_ops;
	/* the latest error for which there was no memory: err, prov_errno; or 0 */
	_Atomic uint64_t unwritten;
};

/*
 * Binds a queue to ia->shared_ep, which is not enabled yet. 0, also when the fabric has no event
 * queues for such endpoints, or a negative error.
 */
int dofi_async_errors_open(struct dofi_ia *ia, struct dofi_async_errors *events);

/*
 * Called when the endpoint is enabled. If the fabric allocates its receive buffers when the
 * completion queue is first read, reads the queue. Returns 0, or the negative error of the first
 * event.
 */
int dofi_async_errors_begin(struct dofi_ia *ia, struct dofi_async_errors *events);

/* Called after the endpoint is closed. */
void dofi_async_errors_close(struct dofi_ia *ia, struct dofi_async_errors *events);

/* Reads the events and returns their number. */
int dofi_async_errors_poll(struct dofi_ia *ia, struct dofi_async_errors *events);

#endif
