/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "credit.h"

#include "conn.h"
#include "ia.h"
#include "mem.h"
#include "select.h"
#include "trans.h"

#include <rdma/fi_domain.h>

#define SINK_SIZE 4096u

/*
 * InfiniBand's hardware makes the sender try again and lets everything else pass. iWARP's ends the connection, as DAT
 * allows; it has nothing that could carry a grant.
 */
bool dofi_credit_needed(const struct fi_info *info)
{
	return !dofi_has_queues(info);
}

int dofi_credit_init(struct dofi_ia *ia)
{
	struct dofi_sink *sink = &ia->sink;

	return dofi_mr_map(ia, SINK_SIZE, 0, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &sink->page, &sink->mr, &sink->key, &sink->address);
}

void dofi_credit_fini(struct dofi_ia *ia)
{
	dofi_mr_leave(ia, ia->sink.mr, ia->sink.page, SINK_SIZE);
}

uint32_t dofi_credit_start(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	ep->granting = false;
	ep->nreceived = 0;
	ep->recv_base = ep->recv.head;
	ep->announced = ep->srq ? DOFI_CREDIT_SHARE : ep->recv.tail - ep->recv_base;
	return ep->announced;
}

void dofi_credit_open(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	ep->granting = ep->obj.ia->credits;
	if (dofi_credit_urgent(ep))
		dofi_ep_stall(ep);
}

void dofi_credit_granted(struct dofi_ep *ep, uint32_t news)
{
	dofi_credit_take(ep, news);
	dofi_ep_issue(ep);
}

void dofi_credit_arrived(struct dofi_ia *ia, uint32_t number, uint32_t news)
{
	struct dofi_ep *ep = dofi_conn_ep(ia, number);

	if (!ep)
		return;
	dofi_lock(&ep->lock);
	dofi_credit_granted(ep, news);
	dofi_unlock(&ep->lock);
}

void dofi_credit_announce(struct dofi_ep *ep)
{
	uint32_t total = dofi_credit_total(ep);

	dofi_assert_held(&ep->lock);
	if (!ep->path_up || !dofi_credit_urgent(ep))
		return;
	if (!ep->obj.ia->trans->grant(ep, dofi_credit_news(ep, false)))
		ep->announced = total;
	else
		dofi_ep_stall(ep);
}
