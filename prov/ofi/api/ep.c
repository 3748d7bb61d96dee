/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoint: creation, query, modification, end of life. Connecting is in ep_connect.c, posting in
 * post.c.
 */
#include "api/ep.h"

#include "object/ep.h"

#include "cm/conn.h"
#include "dto/ep_attr.h"
#include "progress/evd.h"
#include "object/ia.h"
#include "object/transport.h"
#include "cm/wire.h"
#include "progress/cq_watch.h"
#include "progress/engine.h"
#include "dto/ring.h"
#include "dto/watermark.h"
#include "object/srq_count.h"
#include "cm/ep_life.h"

#include <errno.h>
#include <string.h>

/* --- dat_ep_create, dat_ep_create_with_srq --- */

/* A live EVD of this IA for completions, or none. */
static bool dto_evd_ok(const struct dofi_ia *ia, DAT_EVD_HANDLE handle)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);

	return !handle || (evd && evd->obj.ia == ia && (evd->flags & DAT_EVD_DTO_FLAG));
}

/* Connection events may go to an EVD of any IA of the process (EP-020). */
static bool conn_evd_ok(DAT_EVD_HANDLE handle)
{
	struct dofi_evd *evd = DOFI_OBJ(handle, EVD);

	return !handle || (evd && (evd->flags & DAT_EVD_CONNECTION_FLAG));
}

static DAT_RETURN evds_ok(const struct dofi_ia *ia, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE req,
			  DAT_EVD_HANDLE conn)
{
	if (!dto_evd_ok(ia, recv))
		return DOFI_BAD_HANDLE(EVD_RECV);
	if (!dto_evd_ok(ia, req))
		return DOFI_BAD_HANDLE(EVD_REQUEST);
	if (!conn_evd_ok(conn))
		return DOFI_BAD_HANDLE(EVD_CONN);
	return DAT_SUCCESS;
}

static bool pz_ok(const struct dofi_ia *ia, DAT_PZ_HANDLE handle)
{
	struct dofi_pz *pz = DOFI_OBJ(handle, PZ);

	return !handle || (pz && pz->obj.ia == ia);
}

static DAT_RETURN create(struct dofi_ia *ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			 DAT_EVD_HANDLE req, DAT_EVD_HANDLE conn, struct dofi_srq *srq,
			 const DAT_EP_ATTR *attr, DAT_RETURN bad_attr, DAT_EP_HANDLE *handle_p)
{
	struct dofi_ep *ep;
	DAT_RETURN ret;

	if (!pz_ok(ia, pz))
		return DOFI_BAD_HANDLE(PZ);
	ret = evds_ok(ia, recv, req, conn);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = dofi_ep_new(ia, pz, recv, req, conn, srq, attr, DAT_EP_STATE_UNCONNECTED, &ep);
	if (DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER)
		return bad_attr;
	if (ret == DAT_SUCCESS)
		*handle_p = (DAT_EP_HANDLE)ep;
	return ret;
}

DAT_RETURN dofi_ep_create(DAT_IA_HANDLE handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			  DAT_EVD_HANDLE req, DAT_EVD_HANDLE conn, const DAT_EP_ATTR *attr,
			  DAT_EP_HANDLE *ep)
{
	struct dofi_ia *ia = DOFI_IA(handle);

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (!ep)
		return DOFI_BAD_ARG(7);
	return create(ia, pz, recv, req, conn, NULL, attr, DOFI_BAD_ARG(6), ep);
}

DAT_RETURN dofi_ep_create_with_srq(DAT_IA_HANDLE handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				   DAT_EVD_HANDLE req, DAT_EVD_HANDLE conn,
				   DAT_SRQ_HANDLE srq_handle, const DAT_EP_ATTR *attr,
				   DAT_EP_HANDLE *ep)
{
	struct dofi_srq *srq = DOFI_OBJ(srq_handle, SRQ);
	struct dofi_ia *ia = DOFI_IA(handle);

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (!ia->limits.max_srqs)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	if (!srq || srq->obj.ia != ia)
		return DOFI_BAD_HANDLE(SRQ);
	if (!attr)
		return DOFI_BAD_ARG(7);
	if (!ep)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	return create(ia, pz, recv, req, conn, srq, attr, DOFI_BAD_ARG(7), ep);
}

/* --- dat_ep_query --- */

/*
 * Returns the EP after reading completions; NULL if the handle is no EP, or an agent that ran
 * meanwhile has freed it.
 */
static struct dofi_ep *up_to_date(DAT_EP_HANDLE handle)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);

	if (!ep)
		return NULL;
	dofi_engine_poll(ep->obj.ia);
	return DOFI_OBJ(handle, EP);
}

DAT_RETURN dofi_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	struct dofi_ep *ep = up_to_date(handle);

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	(void)mask;
	if (!param)
		return DOFI_BAD_ARG(3);
	memset(param, 0, sizeof(*param));
	param->ia_handle = dofi_obj_ia_handle(&ep->obj);
	dofi_lock(&ep->lock);
	param->ep_state = ep->state;
	param->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->obj.ia->addr;
	param->local_port_qual = ep->local_qual;
	param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->remote_addr;
	param->remote_port_qual = ep->remote_qual;
	param->pz_handle = (DAT_PZ_HANDLE)ep->pz;
	param->recv_evd_handle = (DAT_EVD_HANDLE)ep->recv_evd;
	param->request_evd_handle = (DAT_EVD_HANDLE)ep->req_evd;
	param->connect_evd_handle = (DAT_EVD_HANDLE)ep->conn_evd;
	param->srq_handle = (DAT_SRQ_HANDLE)ep->srq;
	param->ep_attr = ep->attr;
	dofi_unlock(&ep->lock);
	return DAT_SUCCESS;
}

/* --- dat_ep_modify --- */

#define FIELDS_FIXED                                                                              \
	(DAT_EP_FIELD_ALL & ~(DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |             \
			      DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE | \
			      DAT_EP_FIELD_EP_ATTR_ALL))
#define FIELDS_SPECIFIC                                                                           \
	(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR | DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR | \
	 DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)

static DAT_RETURN modify_state_ok(const struct dofi_ep *ep, DAT_EP_PARAM_MASK mask)
{
	bool unconnected = ep->state == DAT_EP_STATE_UNCONNECTED;
	bool tentative = ep->state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
	bool pending = ep->state == DAT_EP_STATE_RESERVED ||
		       ep->state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING;

	if (!unconnected && !tentative && !pending)
		return dofi_ep_bad_state(ep->state);
	if ((mask & FIELDS_SPECIFIC) && !unconnected)
		return dofi_ep_bad_state(ep->state);
	if ((mask & DAT_EP_FIELD_PZ_HANDLE) && pending)
		return dofi_ep_bad_state(ep->state);
	/* the fabric may still have datagrams of the EP */
	if (ep->ud && dofi_ring_count(&ep->req))
		return DOFI_BAD_STATE(EP_COMPLPENDING);
	if ((mask & DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS) && dofi_ring_count(&ep->recv))
		return dofi_ep_bad_state(ep->state);
	return DAT_SUCCESS;
}

#define MERGE(bit, field)                              \
	do {                                           \
		if (mask & DAT_EP_FIELD_EP_ATTR_##bit) \
			to->field = from->field;       \
	} while (0)

static void merge_attr(DAT_EP_PARAM_MASK mask, const DAT_EP_ATTR *from, DAT_EP_ATTR *to)
{
	MERGE(SERVICE_TYPE, service_type);
	MERGE(MAX_MESSAGE_SIZE, max_message_size);
	MERGE(MAX_RDMA_SIZE, max_rdma_size);
	MERGE(QOS, qos);
	MERGE(RECV_COMPLETION_FLAGS, recv_completion_flags);
	MERGE(REQUEST_COMPLETION_FLAGS, request_completion_flags);
	MERGE(MAX_RECV_DTOS, max_recv_dtos);
	MERGE(MAX_REQUEST_DTOS, max_request_dtos);
	MERGE(MAX_RECV_IOV, max_recv_iov);
	MERGE(MAX_REQUEST_IOV, max_request_iov);
	MERGE(MAX_RDMA_READ_IN, max_rdma_read_in);
	MERGE(MAX_RDMA_READ_OUT, max_rdma_read_out);
	MERGE(SRQ_SOFT_HW, srq_soft_hw);
	MERGE(MAX_RDMA_READ_IOV, max_rdma_read_iov);
	MERGE(MAX_RDMA_WRITE_IOV, max_rdma_write_iov);
}

/* Everything that the modified EP would have, worked out before anything is changed (EP-067). */
struct ep_config {
	struct dofi_pz *pz;
	struct dofi_evd *recv_evd, *req_evd, *conn_evd;
	DAT_EP_ATTR attr;
	struct dofi_ep_rings rings;
};

/* Whether the receives that are posted still have room, and an EVD for their completions. */
static bool has_receives_room(const struct dofi_ep *ep, const struct ep_config *c)
{
	uint32_t room = c->recv_evd ? (uint32_t)c->attr.max_recv_dtos : 0;

	return ep->srq || dofi_ring_count(&ep->recv) <= room;
}

static DAT_RETURN plan_config(struct dofi_ep *ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param,
			      struct ep_config *c)
{
	struct dofi_ia *ia = ep->obj.ia;
	DAT_EP_ATTR asked = ep->attr;
	DAT_RETURN ret;

	*c = (struct ep_config){.pz = ep->pz,
				.recv_evd = ep->recv_evd,
				.req_evd = ep->req_evd,
				.conn_evd = ep->conn_evd};
	if (mask & DAT_EP_FIELD_PZ_HANDLE)
		c->pz = (struct dofi_pz *)param->pz_handle;
	if (mask & DAT_EP_FIELD_RECV_EVD_HANDLE)
		c->recv_evd = (struct dofi_evd *)param->recv_evd_handle;
	if (mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE)
		c->req_evd = (struct dofi_evd *)param->request_evd_handle;
	if (mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE)
		c->conn_evd = (struct dofi_evd *)param->connect_evd_handle;
	if (!pz_ok(ia, (DAT_PZ_HANDLE)c->pz))
		return DOFI_BAD_HANDLE(PZ);
	ret = evds_ok(ia, (DAT_EVD_HANDLE)c->recv_evd, (DAT_EVD_HANDLE)c->req_evd,
		      (DAT_EVD_HANDLE)c->conn_evd);
	if (ret != DAT_SUCCESS)
		return ret;
	merge_attr(mask, &param->ep_attr, &asked);
	if (asked.service_type != ep->attr.service_type)
		return DOFI_BAD_ARG(3);
	ret = dofi_ep_attr_resolve(ia, &asked,
				   c->recv_evd || asked.max_recv_dtos == ep->attr.max_recv_dtos,
				   c->req_evd ||
					   asked.max_request_dtos == ep->attr.max_request_dtos,
				   ep->srq, &c->attr);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!has_receives_room(ep, c))
		return dofi_ep_bad_state(ep->state);
	if (!ep->srq && c->attr.max_recv_iov < ep->attr.max_recv_iov && dofi_ring_count(&ep->recv))
		c->attr.max_recv_iov = ep->attr.max_recv_iov; /* posted receives may use them all */
	return DAT_SUCCESS;
}

/* Receives of another PZ stay posted and fail when a message comes (EP-059). */
static void forbid_foreign_receives(struct dofi_ep *ep)
{
	for (uint32_t i = ep->recv.issue; i != ep->recv.tail; i++) {
		struct dofi_wr *wr = dofi_ring_at(&ep->recv, i);
		bool foreign = wr->niov && wr->recv.pz != ep->pz;

		wr->status = foreign ? DAT_DTO_ERR_LOCAL_PROTECTION : DAT_DTO_SUCCESS;
	}
}

/* An EVD that stays is in use all the time: another thread may try to free it meanwhile. */
static void change_streams(struct dofi_ep *ep, const struct ep_config *c)
{
	struct dofi_evd *const before[] = {ep->recv_evd, ep->req_evd, ep->conn_evd};

	dofi_assert_held(&ep->lock);
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		dofi_obj_use(before[i]);
	dofi_ep_detach_evds(ep);
	ep->recv_evd = c->recv_evd;
	ep->req_evd = c->req_evd;
	ep->conn_evd = c->conn_evd;
	ep->attr = c->attr;
	dofi_ep_attach_evds(ep);
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		dofi_obj_unuse(before[i]);
}

static void apply_config(struct dofi_ep *ep, struct ep_config *c)
{
	DAT_COUNT old_mark = ep->attr.srq_soft_hw;

	dofi_assert_held(&ep->lock);
	change_streams(ep, c);
	if (ep->attr.srq_soft_hw != old_mark)
		ep->soft_mark = dofi_ep_asked_mark(ep);
	dofi_obj_use(c->pz);
	dofi_obj_unuse(ep->pz);
	ep->pz = c->pz;
	dofi_ring_move(&c->rings.req, &ep->req);
	dofi_ring_move(&c->rings.recv, &ep->recv);
	dofi_ring_fini(&ep->parts); /* no part is under way without a connection */
	dofi_ep_rings_set(ep, &c->rings);
	forbid_foreign_receives(ep);
}

DAT_RETURN dofi_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	struct ep_config config;
	DAT_RETURN ret;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	if ((mask & ~(DAT_EP_PARAM_MASK)DAT_EP_FIELD_ALL) || (mask & FIELDS_FIXED))
		return DOFI_BAD_ARG(2);
	if (!param)
		return DOFI_BAD_ARG(3);
	if (!mask)
		return DAT_SUCCESS;
	dofi_engine_begin(ep->obj.ia);
	dofi_lock(&ep->lock);
	ret = modify_state_ok(ep, mask);
	if (ret == DAT_SUCCESS)
		ret = plan_config(ep, mask, param, &config);
	if (ret == DAT_SUCCESS &&
	    dofi_ep_rings_init(ep->obj.ia, &config.attr, ep->srq, &config.rings))
		ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	else if (ret == DAT_SUCCESS)
		apply_config(ep, &config);
	dofi_unlock(&ep->lock);
	dofi_engine_end(ep->obj.ia);
	return DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER ? DOFI_BAD_ARG(3) : ret;
}

/* --- small calls --- */

DAT_RETURN dofi_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			      DAT_BOOLEAN *req_idle)
{
	struct dofi_ep *ep = up_to_date(handle);

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	dofi_lock(&ep->lock);
	if (state)
		*state = ep->state;
	if (recv_idle)
		*recv_idle = dofi_ring_count(&ep->recv) ? DAT_FALSE : DAT_TRUE;
	if (req_idle)
		*req_idle = dofi_ring_count(&ep->req) ? DAT_FALSE : DAT_TRUE;
	dofi_unlock(&ep->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *allocated, DAT_COUNT *span)
{
	struct dofi_ep *ep = up_to_date(handle);
	DAT_COUNT n;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	dofi_lock(&ep->lock);
	n = (DAT_COUNT)dofi_ring_count(&ep->recv);
	dofi_unlock(&ep->lock);
	if (allocated)
		*allocated = n;
	if (span)
		*span = n; /* messages of one connection complete in order (EP-187) */
	return DAT_SUCCESS;
}

/* --- watermarks --- */

static bool mark_ok(const struct dofi_ep *ep, DAT_COUNT mark)
{
	return mark == DAT_WATERMARK_INFINITE || (mark >= 0 && mark <= ep->attr.max_recv_dtos);
}

DAT_RETURN dofi_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	DAT_RETURN ret = DAT_SUCCESS;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	dofi_engine_begin(ep->obj.ia);
	dofi_engine_drain_cq(ep->obj.ia);
	dofi_lock(&ep->lock);
	if (!mark_ok(ep, soft)) {
		ret = DOFI_BAD_ARG(2);
	} else if (!mark_ok(ep, hard)) {
		ret = DOFI_BAD_ARG(3);
	} else {
		if (!ep->marked)
			dofi_wait_watch(ep->obj.ia);
		ep->marked = true;
		ep->attr.srq_soft_hw = soft;
		ep->soft_mark = (uint32_t)soft;
		ep->hard_mark = (uint32_t)hard;
		dofi_ep_check_marks(ep, dofi_ring_count(&ep->recv));
	}
	dofi_unlock(&ep->lock);
	dofi_engine_end(ep->obj.ia);
	return ret;
}

DAT_RETURN dofi_ep_reset(DAT_EP_HANDLE handle)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	DAT_RETURN ret = DAT_SUCCESS;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	dofi_engine_begin(ep->obj.ia);
	dofi_lock(&ep->lock);
	if (ep->state == DAT_EP_STATE_DISCONNECTED) {
		dofi_ep_enter_state(ep, DAT_EP_STATE_UNCONNECTED);
		ep->remote_qual = ep->local_qual = 0;
		ep->dialled = false;
	} else if (ep->state != DAT_EP_STATE_UNCONNECTED) {
		ret = dofi_ep_bad_state(ep->state);
	}
	dofi_unlock(&ep->lock);
	dofi_engine_end(ep->obj.ia);
	return ret;
}

DAT_RETURN dofi_ep_free(DAT_EP_HANDLE handle)
{
	struct dofi_ep *ep = DOFI_OBJ(handle, EP);
	DAT_RETURN ret = DAT_SUCCESS;
	struct dofi_ia *ia;

	if (!ep)
		return DOFI_BAD_HANDLE(EP);
	ia = ep->obj.ia;
	dofi_engine_begin(ia);
	if (!dofi_obj_is(ep, DAT_HANDLE_TYPE_EP))
		ret = DOFI_BAD_HANDLE(EP); /* another thread was faster */
	else if (ep->state == DAT_EP_STATE_RESERVED ||
		 ep->state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING ||
		 ep->state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
		ret = dofi_ep_bad_state(ep->state);
	else if (dofi_obj_retire(&ep->obj, false))
		dofi_ep_destroy(ep);
	dofi_engine_end(ia);
	return ret;
}
