/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/cr.h"

#include "cm/service_point.h"

#include "cm/accept.h"
#include "cm/conn.h"
#include "progress/evd.h"
#include "object/ia.h"
#include "cm/wire.h"
#include "object/ep.h"
#include "progress/engine.h"
#include "cm/cr.h"

#include <string.h>

/* --- making --- */

/* --- the consumer's decision --- */

static void consume(struct dofi_cr *cr)
{
	if (dofi_obj_retire(&cr->obj, false))
		dofi_cr_destroy(cr, false);
}

/*
 * Enters the engine with a CR that no other thread decides on: all decisions are made under
 * engine.lock. Returns NULL without entering if the handle is no CR or another thread was faster.
 */
static struct dofi_cr *enter_with_cr(DAT_CR_HANDLE handle)
{
	struct dofi_cr *cr = DOFI_OBJ(handle, CR);
	struct dofi_ia *ia;

	if (!cr)
		return NULL;
	ia = cr->obj.ia;
	dofi_engine_begin(ia);
	if (dofi_obj_is(cr, DAT_HANDLE_TYPE_CR))
		return cr;
	dofi_engine_end(ia);
	return NULL;
}

static DAT_RETURN private_ok(DAT_COUNT size, const void *data, DAT_RETURN bad_size,
			     DAT_RETURN bad_data)
{
	if (size < 0 || size > DOFI_MAX_PRIVATE)
		return bad_size;
	return size && !data ? bad_data : DAT_SUCCESS;
}

DAT_RETURN dofi_cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	struct dofi_cr *cr = DOFI_OBJ(handle, CR);

	if (!cr)
		return DOFI_BAD_HANDLE(CR);
	(void)mask;
	if (!param)
		return DOFI_BAD_ARG(3);
	param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->remote;
	param->remote_port_qual = cr->remote_qual;
	param->private_data_size = (DAT_COUNT)cr->private_size;
	param->private_data = cr->private_data;
	param->local_ep_handle = cr->ep;
	return DAT_SUCCESS;
}

static DAT_RETURN accept_ep(const struct dofi_cr *cr, DAT_EP_HANDLE handle, struct dofi_ep **ep_p)
{
	struct dofi_ep *ep = cr->ep;

	if (!ep) {
		ep = DOFI_OBJ(handle, EP);
		if (!ep || ep->obj.ia != cr->obj.ia || !ep->ud != !cr->conn->ud)
			return DOFI_BAD_HANDLE(EP);
		if (ep->state != DAT_EP_STATE_UNCONNECTED)
			return dofi_ep_bad_state(ep->state);
	} else if (handle) {
		return DOFI_BAD_HANDLE(EP);
	}
	if (!ep->pz || !ep->conn_evd)
		return DOFI_BAD_STATE(EP_NOTREADY);
	*ep_p = ep;
	return DAT_SUCCESS;
}

static DAT_RETURN accept_locked(struct dofi_cr *cr, DAT_EP_HANDLE handle, const void *private_data,
				uint32_t private_size)
{
	struct dofi_ep *ep = NULL;
	DAT_RETURN ret = accept_ep(cr, handle, &ep);

	if (ret != DAT_SUCCESS)
		return ret;
	dofi_conn_accept(cr->conn, ep, private_data, private_size);
	DOFI_COUNT_SHARED(cr->obj.ia, IA_SP_CR_ACCEPTED);
	/* The last step, because private_data may point into the CR (PRG-09). */
	consume(cr);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cr_accept(DAT_CR_HANDLE handle, DAT_EP_HANDLE ep, DAT_COUNT private_size,
			  const DAT_PVOID private_data)
{
	struct dofi_cr *cr = enter_with_cr(handle);
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!cr)
		return DOFI_BAD_HANDLE(CR);
	ia = cr->obj.ia;
	ret = private_ok(private_size, private_data, DOFI_BAD_ARG(3), DOFI_BAD_ARG(4));
	if (ret == DAT_SUCCESS)
		ret = accept_locked(cr, ep, private_data, (uint32_t)private_size);
	dofi_engine_end(ia);
	return ret;
}

DAT_RETURN dofi_cr_reject(DAT_CR_HANDLE handle, DAT_COUNT private_size,
			  const DAT_PVOID private_data)
{
	struct dofi_cr *cr = enter_with_cr(handle);
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!cr)
		return DOFI_BAD_HANDLE(CR);
	ia = cr->obj.ia;
	ret = private_ok(private_size, private_data, DOFI_BAD_ARG(2), DOFI_BAD_ARG(3));
	if (ret == DAT_SUCCESS) {
		DOFI_COUNT_SHARED(ia, IA_SP_CR_REJECTED);
		dofi_cr_refuse(cr, DOFI_REASON_CONSUMER, private_data, (uint32_t)private_size);
		consume(cr);
	}
	dofi_engine_end(ia);
	return ret;
}

/* The connection gets a new CR at the target; the old CR is freed. */
static DAT_RETURN handoff_locked(struct dofi_cr *cr, uint64_t conn_qual)
{
	struct dofi_sp *target = dofi_sp_find(cr->obj.ia, conn_qual);
	struct dofi_conn *conn = cr->conn;
	uint64_t before = conn->conn_qual;

	if (!target)
		return DOFI_BAD_ARG(2);
	conn->conn_qual = conn_qual;
	if (dofi_sp_offer(conn, (struct sockaddr *)&cr->remote) != DOFI_REASON_NONE) {
		conn->conn_qual = before;
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	}
	dofi_cr_return_ep(cr, DAT_EP_STATE_UNCONNECTED);
	consume(cr);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL qual)
{
	struct dofi_cr *cr = enter_with_cr(handle);
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!cr)
		return DOFI_BAD_HANDLE(CR);
	ia = cr->obj.ia;
	ret = handoff_locked(cr, qual);
	dofi_engine_end(ia);
	return ret;
}
