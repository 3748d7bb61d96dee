/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dto/credit.h"

#include "object/ia.h"
#include "object/mem.h"
#include "object/mr.h"
#include "fabric/quirks.h"
#include "object/transport.h"
#include "object/ep.h"
#include "dto/issue.h"

#include <endian.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_rma.h>
#include <stdatomic.h>
#include <string.h>

#define SINK_SIZE 4096u

/*
 * InfiniBand needs no credits: its hardware repeats a message without a receive, and does not block
 * other traffic.
 */
enum dofi_credit_mode dofi_credit_choose(const struct dofi_ia *ia)
{
	bool asked = ia->trans->id == DOFI_TRANS_MSG && !strcmp(ia->params.credits, "write");

	if (asked || ia->quirks & DOFI_QUIRK_NO_RETRY)
		return DOFI_CREDITS_WRITTEN;
	return ia->quirks & DOFI_QUIRK_QUEUE_PAIRS ? DOFI_CREDITS_NONE : DOFI_CREDITS_CARRIED;
}

int dofi_credit_init(struct dofi_ia *ia)
{
	struct dofi_sink *sink = &ia->sink;
	void *memory;
	int ret;

	sink->size = ia->credits == DOFI_CREDITS_WRITTEN ? ia->limits.max_eps * sizeof(*sink->words)
							 : SINK_SIZE;
	ret = dofi_mr_map(ia, sink->size, 0,
			  DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &memory,
			  &sink->mr, &sink->key, &sink->address);
	if (ret)
		return ret;
	sink->words = memory;
	sink->desc = ia->info->domain_attr->mr_mode & FI_MR_LOCAL ? fi_mr_desc(sink->mr) : NULL;
	return 0;
}

void dofi_credit_fini(struct dofi_ia *ia)
{
	dofi_mr_abandon(ia, ia->sink.mr, ia->sink.words, ia->sink.size);
}

uint32_t dofi_credit_start(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;

	dofi_assert_held(&ep->lock);
	ep->credit_mode = DOFI_CREDITS_NONE;
	/* The endpoint of the former connection is closed, so no peer writes there now. */
	if (ia->credits == DOFI_CREDITS_WRITTEN)
		atomic_store_explicit(&ia->sink.words[ep->scratch].in, 0, memory_order_relaxed);
	ep->nreceived = 0;
	ep->recv_base = ep->recv.head;
	ep->announced = ep->srq ? DOFI_CREDIT_SHARE : ep->recv.tail - ep->recv_base;
	return ep->announced;
}

void dofi_credit_open(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	ep->credit_mode = ep->streams ? DOFI_CREDITS_CARRIED : ep->obj.ia->credits;
	if (dofi_credit_is_written(ep) && !ep->peer.has_credit_word)
		ep->credit_mode = DOFI_CREDITS_NONE;
	if (dofi_credit_urgent(ep))
		dofi_ep_stall(ep);
}

ssize_t dofi_credit_write(struct dofi_ep *ep)
{
	struct dofi_sink *sink = &ep->obj.ia->sink;
	uint32_t *word = &sink->words[ep->scratch].out;

	dofi_assert_held(&ep->lock);
	*word = htobe32(dofi_credit_total(ep));
	return fi_write(ep->fep, word, sizeof(*word), sink->desc, ep->dest, ep->peer.sink_address,
			ep->peer.sink_key, NULL);
}

bool dofi_credit_look(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	uint32_t more;

	dofi_assert_held(&ep->lock);
	if (ia->credits != DOFI_CREDITS_WRITTEN || ep->streams)
		return false;
	more = be32toh(atomic_load_explicit(&ia->sink.words[ep->scratch].in,
					    memory_order_relaxed)) -
	       ep->credit_total;
	if ((int32_t)more > 0) {
		ep->credit_total += more;
		return true;
	}
	dofi_ep_stall(ep);
	return false;
}

void dofi_credit_apply(struct dofi_ep *ep, uint32_t update)
{
	dofi_assert_held(&ep->lock);
	dofi_credit_take(ep, update);
	dofi_ep_issue(ep);
}

void dofi_credit_arrived(struct dofi_ia *ia, uint32_t number, uint32_t update)
{
	struct dofi_ep *ep = ia->up->ep_of(ia, number);

	dofi_assert_held(&ia->engine.lock);
	if (!ep)
		return;
	dofi_lock(&ep->lock);
	dofi_credit_apply(ep, update);
	dofi_unlock(&ep->lock);
}

void dofi_credit_announce(struct dofi_ep *ep)
{
	uint32_t total = dofi_credit_total(ep);

	dofi_assert_held(&ep->lock);
	if (!ep->path_up || !dofi_credit_urgent(ep))
		return;
	if (!ep->trans->send_credit(ep, dofi_credit_update(ep, false)))
		ep->announced = total;
	else
		dofi_ep_stall(ep);
}
