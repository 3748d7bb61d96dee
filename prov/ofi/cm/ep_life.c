/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/ep_life.h"

#include "cm/conn_end.h"
#include "dto/ep_attr.h"
#include "dto/ring.h"
#include "object/ia.h"
#include "cm/conn.h"
#include "cm/wire.h"
#include "dto/control.h"
#include "dto/guard_byte.h"
#include "dto/rmr.h"
#include "dto/parts.h"
#include "dto/ud.h"
#include "object/ep.h"
#include "object/scratch.h"
#include "object/srq_count.h"
#include "progress/stall.h"
#include "progress/cq_watch.h"
#include "progress/evd_streams.h"
#include "progress/evd.h"
#include "dto/issue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void dofi_ep_attach_evds(struct dofi_ep *ep)
{
	dofi_evd_attach_dto(ep->recv_evd, dofi_ep_config(ep->attr.recv_completion_flags));
	dofi_evd_attach_dto(ep->req_evd, dofi_ep_config(ep->attr.request_completion_flags));
	dofi_evd_attach_other(ep->conn_evd);
}

void dofi_ep_detach_evds(struct dofi_ep *ep)
{
	dofi_evd_detach_dto(ep->recv_evd, dofi_ep_config(ep->attr.recv_completion_flags));
	dofi_evd_detach_dto(ep->req_evd, dofi_ep_config(ep->attr.request_completion_flags));
	dofi_evd_detach_other(ep->conn_evd);
}

void dofi_ep_detach_evd_of(struct dofi_ep *ep, const struct dofi_ia *ia)
{
	dofi_assert_held(&ep->obj.ia->engine.lock);
	if (!ep->conn_evd || ep->conn_evd->obj.ia != ia)
		return;
	dofi_lock(&ep->lock);
	dofi_evd_detach_other(ep->conn_evd);
	ep->conn_evd = NULL;
	dofi_unlock(&ep->lock);
}

static uint32_t widest(DAT_COUNT a, DAT_COUNT b, DAT_COUNT c)
{
	DAT_COUNT m = a > b ? a : b;

	return (uint32_t)(m > c ? m : c);
}

static void dofi_ep_rings_fini(struct dofi_ep_rings *rings)
{
	dofi_ring_fini(&rings->req);
	dofi_ring_fini(&rings->recv);
	dofi_ring_fini(&rings->parts);
}

int dofi_ep_rings_init(const struct dofi_ia *ia, const DAT_EP_ATTR *attr, bool has_srq,
		       struct dofi_ep_rings *rings)
{
	uint32_t niov =
		widest(attr->max_request_iov, attr->max_rdma_read_iov, attr->max_rdma_write_iov);

	*rings = (struct dofi_ep_rings){0};
	/*
	 * One more segment than the program may use: a write may be divided for its flag, and a
	 * receive may have a guard.
	 */
	if (!dofi_ring_init(ia, &rings->req, (uint32_t)attr->max_request_dtos,
			    niov + ia->splits_writes) &&
	    !dofi_ring_init(ia, &rings->recv, has_srq ? 0 : (uint32_t)attr->max_recv_dtos,
			    (uint32_t)attr->max_recv_iov + dofi_guard_segments(ia)) &&
	    !dofi_parts_init(ia, &rings->parts, &rings->req))
		return 0;
	dofi_ep_rings_fini(rings);
	return -ENOMEM;
}

/* A completion needs an EVD, so a ring without one takes no posts (DTO-042, DTO-092). */
void dofi_ep_rings_set(struct dofi_ep *ep, const struct dofi_ep_rings *rings)
{
	ep->req = rings->req;
	ep->recv = rings->recv;
	ep->parts = rings->parts;
	if (!ep->req_evd)
		ep->req.limit = 0;
	if (!ep->recv_evd)
		ep->recv.limit = 0;
}

uint32_t dofi_ep_asked_mark(const struct dofi_ep *ep)
{
	return ep->srq && ep->attr.srq_soft_hw > 0 ? (uint32_t)ep->attr.srq_soft_hw : UINT32_MAX;
}

/* An IA has as many EPs as max_ep_per_srq allows, so the SRQ is what has no room (EP-043). */
static DAT_RETURN no_more_eps(const struct dofi_srq *srq)
{
	return srq ? DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ)
		   : DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
}

/* Initialises what all EPs have. */
static void set_up(struct dofi_ep *ep)
{
	dofi_lock_init_level(&ep->lock, DOFI_LEVEL_EP);
	ep->trans = ep->obj.ia->trans;
	ep->stall.retry = dofi_ep_retry;
	dofi_list_init(&ep->bind_link);
	ep->hard_mark = UINT32_MAX;
}

DAT_RETURN dofi_ep_new(struct dofi_ia *ia, struct dofi_pz *pz, struct dofi_evd *recv,
		       struct dofi_evd *req, struct dofi_evd *conn, struct dofi_srq *srq,
		       const DAT_EP_ATTR *attr, DAT_EP_STATE state, struct dofi_ep **ep_p)
{
	DAT_EP_ATTR effective;
	DAT_RETURN ret =
		dofi_ep_attr_resolve(ia, attr,
				     recv || state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
				     req || state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, srq,
				     &effective);
	struct dofi_ep_rings rings;
	struct dofi_ep *ep;

	if (ret != DAT_SUCCESS)
		return ret;
	ep = dofi_obj_alloc(ia, ia->obj.provider, DAT_HANDLE_TYPE_EP, sizeof(*ep));
	if (!ep)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	set_up(ep);
	ep->state = state;
	ep->pz = pz;
	ep->recv_evd = recv;
	ep->req_evd = req;
	ep->conn_evd = conn;
	ep->srq = srq;
	ep->attr = effective;
	ep->soft_mark = dofi_ep_asked_mark(ep);
	ret = no_more_eps(srq);
	if (!dofi_scratch_take(ia, &ep->scratch))
		goto err_free;
	ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	ep->rcache = calloc(DOFI_RCACHE_SIZE, sizeof(*ep->rcache));
	ep->aux = calloc(1, sizeof(*ep->aux));
	if (!ep->rcache || !ep->aux || dofi_ctrl_slots_attach(ep))
		goto err_rcache;
	if (dofi_ep_rings_init(ia, &effective, srq, &rings))
		goto err_atomic;
	dofi_ep_rings_set(ep, &rings);
	if (dofi_is_datagram(&effective) && dofi_ud_open(ep))
		goto err_rings;
	dofi_ep_attach_evds(ep);
	dofi_obj_use(ep->pz);
	dofi_obj_use(ep->srq);
	dofi_obj_publish(&ep->obj, DAT_HANDLE_TYPE_EP);
	*ep_p = ep;
	return DAT_SUCCESS;

err_rings:
	dofi_ep_rings_fini(&rings);
err_atomic:
	dofi_ctrl_slots_detach(ep);
err_rcache:
	free(ep->aux);
	free(ep->rcache);
	dofi_scratch_give(ia, ep->scratch);
err_free:
	dofi_lock_fini(&ep->lock);
	dofi_obj_free(&ep->obj, DAT_HANDLE_TYPE_EP);
	return ret;
}

/* The EP has no connection, so only an old stall can still refer to it. */
static void unstall(struct dofi_ep *ep)
{
	dofi_lock(&ep->lock);
	dofi_stall_end(ep->obj.ia, &ep->stall);
	dofi_unlock(&ep->lock);
}

/*
 * Without a connection the fabric has no work request of the rings. Posted ones are dropped without
 * a completion (EP-143).
 */
static void drop_posted(struct dofi_ep *ep)
{
	for (uint32_t i = ep->req.issue; i != ep->req.tail; i++)
		if (dofi_ring_at(&ep->req, i)->op == DOFI_OP_BIND)
			dofi_bind_cancel(dofi_wr_bind(dofi_ring_at(&ep->req, i)));
	dofi_ep_rings_fini(&(struct dofi_ep_rings){ep->req, ep->recv, ep->parts});
	ep->req.base = ep->recv.base = ep->parts.base = NULL;
}

void dofi_ep_destroy(struct dofi_ep *ep)
{
	dofi_assert_held(&ep->obj.ia->engine.lock);
	if (ep->conn)
		dofi_conn_end_now(ep->conn, 0, DOFI_REASON_DISCONNECT);
	if (ep->ud)
		dofi_ud_close(ep);
	unstall(ep);
	dofi_ep_detach_evds(ep);
	dofi_obj_unuse(ep->pz);
	dofi_obj_unuse(ep->srq);
	dofi_lock(&ep->lock);
	drop_posted(ep);
	if (ep->marked)
		dofi_wait_unwatch(ep->obj.ia);
	ep->req.limit = ep->recv.limit = 0;
	dofi_unlock(&ep->lock);
	dofi_ep_keep_counters(ep);
	free(ep->rcache);
	free(ep->aux);
	dofi_ctrl_slots_detach(ep);
	dofi_scratch_give(ep->obj.ia, ep->scratch);
	dofi_lock_fini(&ep->lock);
	dofi_obj_free(&ep->obj, DAT_HANDLE_TYPE_EP);
}
