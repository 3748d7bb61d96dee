/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The time at which each operation is issued. An RDMA operation waits for a random time before the
 * core gets it. Later operations overtake it, unless the profile promises an order between the two
 * or one of them has a fence.
 */
#include "sham.h"

#include <time.h>

/* The attributes that promise that the later operation does not overtake the earlier one. */
static const uint64_t order[3][3] = {
	/* later        earlier */
	[SHAM_READ] = {[SHAM_READ] = FI_ORDER_RAR | FI_ORDER_RMA_RAR,
		       [SHAM_WRITE] = FI_ORDER_RAW | FI_ORDER_RMA_RAW,
		       [SHAM_SEND] = FI_ORDER_RAS},
	[SHAM_WRITE] = {[SHAM_READ] = FI_ORDER_WAR | FI_ORDER_RMA_WAR,
			[SHAM_WRITE] = FI_ORDER_WAW | FI_ORDER_RMA_WAW,
			[SHAM_SEND] = FI_ORDER_WAS},
	[SHAM_SEND] = {[SHAM_READ] = FI_ORDER_SAR,
		       [SHAM_WRITE] = FI_ORDER_SAW,
		       [SHAM_SEND] = FI_ORDER_SAS},
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t sham_late_due(const struct sham_op *op)
{
	if (!sham_op_is_rma(op))
		return 0;
	return now_ns() + (uint64_t)sham_dice(op->ep->domain->faults.late_us) * 1000;
}

/* Returns whether op must stay behind an earlier operation that the core does not have yet. */
static bool stays_behind(const struct sham_op *op, const struct sham_op *earlier)
{
	if (op->addr != earlier->addr || (op->whole && op->whole == earlier->whole))
		return false;
	return ((op->flags | earlier->flags) & FI_FENCE) ||
	       (op->ep->msg_order & order[op->kind][earlier->kind]);
}

static bool may_go(const struct sham_op *op)
{
	struct sham_ep *ep = op->ep;

	DOFI_LIST_FOR(node, &ep->waiting)
	{
		const struct sham_op *earlier = SHAM_CONTAINER(node, struct sham_op, link);

		if (earlier == op)
			break;
		if (stays_behind(op, earlier))
			return false;
	}
	if (!(op->flags & FI_FENCE))
		return true;
	DOFI_LIST_FOR(node, &ep->flying)
	{
		const struct sham_op *earlier = SHAM_CONTAINER(node, struct sham_op, link);

		if (earlier->kind != SHAM_RECV && earlier->addr == op->addr &&
		    (!op->whole || op->whole != earlier->whole))
			return false;
	}
	return true;
}

static void push(struct sham_ep *ep, uint64_t now)
{
	if (sham_is_silent(&ep->domain->faults))
		return;
	DOFI_LIST_FOR_SAFE(node, &ep->waiting)
	{
		struct sham_op *op = SHAM_CONTAINER(node, struct sham_op, link);

		if (op->due_ns <= now && may_go(op))
			sham_op_issue(op);
	}
}

void sham_late_push(struct sham_ep *ep)
{
	push(ep, dofi_list_empty(&ep->waiting) ? 0 : now_ns());
}

void sham_late_forsake(struct sham_ep *ep, fi_addr_t addr)
{
	DOFI_LIST_FOR_SAFE(node, &ep->waiting)
	{
		struct sham_op *op = SHAM_CONTAINER(node, struct sham_op, link);
		struct fi_cq_err_entry entry = {.err = FI_ECANCELED, .prov_errno = -FI_ECANCELED};

		if (op->addr == addr)
			sham_op_end(op, &entry, FI_ADDR_NOTAVAIL);
	}
}

void sham_late_flush(struct sham_ep *ep)
{
	push(ep, UINT64_MAX);
}
