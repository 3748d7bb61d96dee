/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/failure.h"

#include "base/log.h"
#include "dto/issue.h"
#include "fabric/error.h"
#include "object/ep.h"
#include "object/ia.h"
#include "object/transport.h"
#include "object/upcalls.h"

#include <rdma/fi_errno.h>

void dofi_fail_path(struct dofi_ep *ep, int err)
{
	dofi_assert_held(&ep->lock);
	DOFI_LOG_I("%s: an operation failed, so its connection breaks: %s", ep->obj.ia->name,
		   fi_strerror(err));
	ep->faulty = true;
	dofi_ep_stall(ep);
}

/*
 * On a transport without events of endpoints, a returned operation is the only sign that the path
 * is gone.
 */
static void path_gone(struct dofi_ep *ep)
{
	if (ep->path_up && !ep->trans->has_eq)
		dofi_ep_refuse(ep);
	ep->path_up = false; /* otherwise the fabric would return the next operations, too */
}

bool dofi_fail_is_back(struct dofi_ep *ep, int err)
{
	dofi_assert_held(&ep->lock);
	if (!dofi_error_gives_back(err))
		return false;
	path_gone(ep);
	return true;
}

/*
 * Whether the connection has ended and the fabric still has some of its operations (dofi_conn_end):
 * their failures are not reported.
 */
static bool is_over(const struct dofi_ep *ep)
{
	return ep->obj.ia->up->is_over(ep);
}

bool dofi_fail(struct dofi_ep *ep, struct dofi_wr *wr, int err)
{
	dofi_assert_held(&ep->lock);
	if (dofi_fail_is_back(ep, err) || ep->faulty || is_over(ep)) {
		wr->state = DOFI_WR_BACK;
		return false;
	}
	if (wr->status == DAT_DTO_SUCCESS)
		wr->status = (uint8_t)dofi_error_status(err);
	wr->state = DOFI_WR_DONE;
	dofi_fail_behind(ep, wr);
	dofi_fail_path(ep, err);
	return true;
}

/* A message for an SRQ has no place in the ring of the EP, which is empty then. */
void dofi_fail_behind(struct dofi_ep *ep, const struct dofi_wr *wr)
{
	const struct dofi_ring *ring = dofi_op_is_receive(wr->op) ? &ep->recv : &ep->req;

	dofi_assert_held(&ep->lock);
	for (uint32_t i = ring->tail; i != ring->head; i--) {
		struct dofi_wr *last = dofi_ring_at(ring, i - 1);

		if (last == wr)
			return;
		if (last->status == DAT_DTO_SUCCESS)
			last->status = DAT_DTO_ERR_FLUSHED;
	}
}

void dofi_fail_receive(struct dofi_ep *ep, const struct dofi_wr *wr)
{
	dofi_assert_held(&ep->lock);
	if (wr->status == DAT_DTO_ERR_FLUSHED)
		return;
	dofi_fail_behind(ep, wr);
	dofi_fail_path(ep, FI_EACCES);
}
