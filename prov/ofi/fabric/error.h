/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The only mapping from libfabric's and the system's errors to DAT's. */
#ifndef DOFI_ERROR_H
#define DOFI_ERROR_H

#include "base/dat_api.h"

#include <stdbool.h>
#include <stdint.h>

struct fi_cq_err_entry;

/*
 * Negative errno or libfabric error of a call that creates something, as a DAT error; resource:
 * DAT_RESOURCE_*.
 */
DAT_RETURN dofi_error(int err, DAT_RETURN_SUBTYPE resource);

/* Positive libfabric error of a failed operation as a completion status; 0 is success. */
DAT_DTO_COMPLETION_STATUS dofi_error_status(int err);

/*
 * Positive libfabric error of a failure: err->err, or what the provider's own number says better.
 * CXI tells all refusals of a target as FI_EIO, and verbs all failures; sockets has that for the
 * end of a stream alone. receive: it is a receive that failed.
 */
int dofi_error_cause(uint64_t quirks, const struct fi_cq_err_entry *err, bool receive);

/* Positive error of an operation that the fabric gave back undone, for its path is no more. */
bool dofi_error_gives_back(int err);

/* Such an error, or another one that concerns all that is under way to that peer. */
bool dofi_error_is_of_peer(int err);

#endif
