/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Operations that the fabric reports as failed, and what that means for their connection. */
#ifndef DOFI_FAILURE_H
#define DOFI_FAILURE_H

#include "base/hint.h"

#include <stdbool.h>

struct dofi_ep;
struct dofi_wr;

/* All of these: ep->lock held; err is a positive libfabric error. */

/* An operation failed: the engine breaks the connection. */
DOFI_COLD void dofi_fail_path(struct dofi_ep *ep, int err);

/*
 * Handles an operation that the fabric cancels because the path goes down: the event of the path
 * tells the reason, and the flush completes the remaining operations. False if the error means
 * something else.
 */
bool dofi_fail_is_back(struct dofi_ep *ep, int err);

/*
 * The request or receive failed. Returns true for the first failure, which breaks the connection.
 * If the fabric continues after it, a later failure becomes DOFI_WR_BACK, and the flush ends the
 * work request.
 */
DOFI_COLD bool dofi_fail(struct dofi_ep *ep, struct dofi_wr *wr, int err);

/*
 * A request or receive has ended with an error: those behind it end as FLUSHED, whatever the fabric
 * reports.
 */
DOFI_COLD void dofi_fail_behind(struct dofi_ep *ep, const struct dofi_wr *wr);

/*
 * A receive has got its message, but ends with an error that the library has found: breaks the
 * connection, unless an earlier receive did.
 */
DOFI_COLD void dofi_fail_receive(struct dofi_ep *ep, const struct dofi_wr *wr);

#endif
