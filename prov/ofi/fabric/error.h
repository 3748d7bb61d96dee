/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The only mapping from libfabric's and the system's errors to DAT's. */
#ifndef DOFI_ERROR_H
#define DOFI_ERROR_H

#include "base/dat_api.h"

#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fi_cq_err_entry;

/*
 * Negative errno or libfabric error of a call that creates something, as a DAT error; resource:
 * DAT_RESOURCE_*.
 */
DAT_RETURN dofi_error(int err, DAT_RETURN_SUBTYPE resource);

/* Positive libfabric error of a failed operation as a completion status; 0 is success. */
DAT_DTO_COMPLETION_STATUS dofi_error_status(int err);

/*
 * Positive libfabric error of a failed operation: err->err, or a more exact one by the provider's
 * own number. cxi reports all refusals of a target as FI_EIO, verbs and efa all failures, and
 * sockets the end of a stream. receive: the operation is a receive.
 */
int dofi_error_cause(uint64_t quirks, const struct fi_cq_err_entry *err, bool receive);

/*
 * Whether this positive error means that the fabric gave the operation back because its path is
 * gone.
 */
bool dofi_error_gives_back(int err);

/*
 * Whether it concerns all operations under way to that peer: one of those, or a peer out of reach.
 */
bool dofi_error_is_of_peer(int err);

/*
 * The result of posting a receive. shm of libfabric 1.17 reports a lack of memory when its 1024
 * receives are posted.
 */
static inline ssize_t dofi_error_no_room(ssize_t ret)
{
	return ret == -FI_ENOMEM ? -FI_EAGAIN : ret;
}

#endif
