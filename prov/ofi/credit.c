/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "credit.h"

#include "conn.h"
#include "ia.h"
#include "mem.h"
#include "trans.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * InfiniBand's hardware makes the sender try again and lets everything else pass. iWARP's ends the connection, as DAT
 * allows; it has nothing that could carry a grant.
 */
bool dofi_credit_needed(const struct fi_info *info)
{
	return info->ep_attr->protocol != FI_PROTO_RDMA_CM_IB_RC && info->ep_attr->protocol != FI_PROTO_IWARP;
}

int dofi_credit_init(struct dofi_ia *ia)
{
	struct dofi_sink *sink = &ia->sink;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int ret;

	sink->page = aligned_alloc(size, size);
	if (!sink->page)
		return -FI_ENOMEM;
	ret = dofi_mr_register(ia, sink->page, size, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, &sink->mr, &sink->key, &sink->address);
	if (ret)
		free(sink->page);
	return ret;
}

void dofi_credit_fini(struct dofi_ia *ia)
{
	fi_close(&ia->sink.mr->fid);
	free(ia->sink.page);
}

uint32_t dofi_credit_start(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	ep->granting = false;
	ep->nreceived = 0;
	ep->recv_base = ep->recv.head;
	ep->announced = dofi_credit_total(ep);
	return ep->announced;
}

void dofi_credit_open(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->lock);
	ep->granting = ep->obj.ia->credits;
	if (dofi_credit_urgent(ep))
		dofi_ep_stall(ep);
}

void dofi_credit_take(struct dofi_ep *ep, uint32_t news)
{
	int32_t more = (int32_t)((news & ~(DOFI_NEWS_GRANT | DOFI_NEWS_SOLICITED)) - (ep->granted << DOFI_NEWS_SHIFT));

	dofi_assert_held(&ep->lock);
	/* Grants may overtake each other; the newest counts. */
	if ((news & DOFI_NEWS_GRANT) && more > 0)
		ep->granted += (uint32_t)more >> DOFI_NEWS_SHIFT;
}

void dofi_credit_arrived(struct dofi_ia *ia, uint32_t number, uint32_t news)
{
	struct dofi_conn *conn = number ? dofi_conn_by_id(ia, number) : NULL;
	struct dofi_ep *ep = conn ? conn->ep : NULL;

	if (!ep || conn->phase == DOFI_CONN_OVER)
		return;
	dofi_lock(&ep->lock);
	dofi_credit_take(ep, news);
	dofi_ep_issue(ep);
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
