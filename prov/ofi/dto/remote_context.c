/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/remote_context.h"

#include "object/ctxtab.h"
#include "object/ep.h"
#include "object/ia.h"
#include "dto/issue.h"

#include <string.h>

/*
 * Reads of an entry before an EP subscribes. A read takes about as long as a short message, and the
 * end of a subscribed context as four of them: two wake-ups and two messages.
 */
#define READS_BEFORE 4u

static struct dofi_ctx *entry_of(struct dofi_ep *ep, uint32_t context)
{
	return &ep->rcache[context % DOFI_RCACHE_SIZE];
}

static struct dofi_ctx_use *use_of(struct dofi_ep *ep, uint32_t context)
{
	return &ep->ctx_uses[context % DOFI_RCACHE_SIZE];
}

static struct dofi_ctx without_rights(uint32_t context)
{
	return (struct dofi_ctx){.context = context};
}

/* The control slots last as long as the connection. */
static bool stays(struct dofi_ep *ep, const struct dofi_ctx *entry)
{
	const struct dofi_ctx_use *use = use_of(ep, entry->context);

	return entry->privileges & (DOFI_CTX_ANNOUNCED | DOFI_CTX_CTRL_SLOTS) || ep->memory ||
	       (use->context == entry->context && use->subscribed);
}

/* An owner that does not answer is asked again after as many reads. */
static void count_read(struct dofi_ep *ep, uint32_t context)
{
	struct dofi_ctx_use *use = use_of(ep, context);

	if (use->context != context)
		*use = (struct dofi_ctx_use){.context = context};
	if (++use->reads % READS_BEFORE)
		return;
	ep->subscribe_to = context;
	dofi_ep_stall(ep);
}

bool dofi_remote_context_read(struct dofi_ep *ep)
{
	const struct dofi_ctx_wire *wire = &ep->obj.ia->scratch.slots[ep->scratch];
	struct dofi_ctx *entry = entry_of(ep, ep->aux_ctx);

	dofi_assert_held(&ep->lock);
	if (!dofi_ctx_decode(wire, ep->aux_ctx, entry)) {
		/*
		 * The peer's table has no such entry. One without rights stays: the request that
		 * needs it ends the connection.
		 */
		*entry = without_rights(ep->aux_ctx);
		return true;
	}
	if (stays(ep, entry))
		return true;
	count_read(ep, entry->context);
	return false;
}

/* Requests that wait for something else must not go on with the key when it has ended. */
static void unresolve(struct dofi_ep *ep, uint32_t context)
{
	for (uint32_t i = ep->req.issue; i != ep->req.tail; i++) {
		struct dofi_wr *wr = dofi_ring_at(&ep->req, i);

		if (dofi_wr_uses_context(wr, context))
			wr->rdma.resolved = false;
	}
}

void dofi_remote_context_forget(struct dofi_ep *ep, uint32_t context)
{
	struct dofi_ctx *entry = entry_of(ep, context);
	struct dofi_ctx_use *use = use_of(ep, context);

	dofi_assert_held(&ep->lock);
	if (entry->context == context)
		entry->context = 0;
	if (use->context == context)
		use->subscribed = false;
	if (ep->peeking && ep->aux_ctx == context)
		ep->peek_outdated = true;
	unresolve(ep, context);
}

void dofi_remote_context_revoke(struct dofi_ep *ep, uint32_t context)
{
	dofi_remote_context_forget(ep, context);
	*entry_of(ep, context) = without_rights(context);
}

void dofi_remote_context_served(struct dofi_ep *ep, uint32_t context)
{
	struct dofi_ctx *entry = entry_of(ep, context);

	dofi_assert_held(&ep->lock);
	/* A Send of ours may have ended it meanwhile, or another context may be in its place. */
	if (entry->context != context || !entry->privileges)
		return;
	entry->context = 0;
	unresolve(ep, context);
}

void dofi_remote_context_subscribed(struct dofi_ep *ep, uint32_t context)
{
	struct dofi_ctx_use *use = use_of(ep, context);

	dofi_assert_held(&ep->lock);
	if (use->context == context)
		use->subscribed = true;
}

void dofi_remote_context_reset(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	memset(ep->rcache, 0, DOFI_RCACHE_SIZE * sizeof(*ep->rcache));
	memset(ep->ctx_uses, 0, sizeof(ep->ctx_uses));
	ep->subscribe_to = 0;
}
