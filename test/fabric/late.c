/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The time at which each operation is issued. An RDMA operation waits for a random time before the
 * core gets it. Later operations overtake it, unless the profile promises an order between the two
 * or one of them has a fence.
 */
#include "sham.h"

#include <time.h>

#define GONE_NS UINT64_C(3000000000) /* a busy peer has answered by then */

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

static bool has_flying(const struct sham_ep *ep, fi_addr_t addr)
{
	DOFI_LIST_FOR(node, &ep->flying)
	{
		const struct sham_op *op = SHAM_CONTAINER(node, struct sham_op, link);

		if (op->kind != SHAM_RECV && op->addr == addr)
			return true;
	}
	return false;
}

/*
 * Returns whether the peer of an operation that the core refuses is gone. libfabric's tcp and net
 * dial such a peer again and again, and answer FI_EAGAIN; a card ends the operation. While others
 * to the peer are under way, the core's queue may be full. A peer that was found gone stays so
 * until the core takes an operation for it.
 */
static bool is_gone(struct sham_op *op, uint64_t now)
{
	struct sham_ep *ep = op->ep;

	if (now == UINT64_MAX || has_flying(ep, op->addr))
		op->alone_ns = 0;
	else if (sham_set_has(&ep->gone, op->addr))
		return true;
	else if (!op->alone_ns)
		op->alone_ns = now;
	else if (now - op->alone_ns > GONE_NS)
		return sham_set_add(&ep->gone, op->addr);
	return false;
}

/* Tries an operation that may go. */
static void try(struct sham_op *op, uint64_t now)
{
	struct fi_cq_err_entry entry = {.err = FI_EHOSTUNREACH, .prov_errno = -FI_EHOSTUNREACH};
	struct sham_ep *ep = op->ep;
	fi_addr_t addr = op->addr;

	if (sham_op_issue(op) != -FI_EAGAIN)
		sham_set_del(&ep->gone, addr);
	else if (is_gone(op, now))
		sham_op_end(op, &entry, FI_ADDR_NOTAVAIL);
}

static void push(struct sham_ep *ep, uint64_t now)
{
	if (sham_is_silent(&ep->domain->faults))
		return;
	DOFI_LIST_FOR_SAFE(node, &ep->waiting)
	{
		struct sham_op *op = SHAM_CONTAINER(node, struct sham_op, link);

		if (op->due_ns <= now && may_go(op))
			try(op, now);
	}
}

void sham_late_push(struct sham_ep *ep)
{
	push(ep, dofi_list_empty(&ep->waiting) ? 0 : now_ns());
}

void sham_late_forsake(struct sham_ep *ep, fi_addr_t addr)
{
	sham_set_del(&ep->gone, addr);
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
