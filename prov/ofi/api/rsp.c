/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/rsp.h"

#include "cm/service_point.h"

#include "progress/evd.h"
#include "object/ia.h"
#include "object/ep.h"
#include "progress/engine.h"

static DAT_RETURN rsp_create_locked(struct dofi_ia *ia, uint64_t conn_qual, struct dofi_ep *ep,
				    struct dofi_evd *evd, struct dofi_sp **sp_p)
{
	struct dofi_sp *sp;
	DAT_RETURN ret;

	if (!dofi_obj_is(ep, DAT_HANDLE_TYPE_EP))
		return DOFI_BAD_HANDLE(EP);
	if (ep->ud)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	if (ep->state != DAT_EP_STATE_UNCONNECTED)
		return dofi_ep_bad_state(ep->state);
	ret = dofi_sp_new(ia, evd, conn_qual, true, &sp);
	if (ret != DAT_SUCCESS)
		return ret;
	sp->ep = ep;
	sp->ep_handle = ep;
	dofi_ep_set_state(ep, DAT_EP_STATE_RESERVED);
	dofi_obj_publish(&sp->obj, DAT_HANDLE_TYPE_RSP);
	*sp_p = sp;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep_handle,
			   DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp)
{
	struct dofi_ia *ia = DOFI_IA(ia_handle);
	struct dofi_ep *ep = DOFI_OBJ(ep_handle, EP);
	struct dofi_evd *evd;
	struct dofi_sp *sp = NULL;
	DAT_RETURN ret;

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (!rsp)
		return DOFI_BAD_ARG(5);
	if (!qual)
		return DOFI_BAD_ARG(2);
	if (!ep || ep->obj.ia != ia)
		return DOFI_BAD_HANDLE(EP);
	evd = dofi_sp_evd(ia, evd_handle);
	if (!evd)
		return DOFI_BAD_HANDLE(EVD_CR);
	dofi_engine_begin(ia);
	ret = rsp_create_locked(ia, qual, ep, evd, &sp);
	if (ret == DAT_SUCCESS)
		*rsp = sp;
	dofi_engine_end(ia);
	return ret;
}

DAT_RETURN dofi_rsp_query(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
	const struct dofi_sp *sp = DOFI_OBJ(rsp, RSP);

	if (!sp)
		return DOFI_BAD_HANDLE(RSP);
	(void)mask;
	if (!param)
		return DOFI_BAD_ARG(3);
	param->ia_handle = dofi_obj_ia_handle(&sp->obj);
	param->conn_qual = sp->conn_qual;
	param->evd_handle = sp->evd;
	param->ep_handle = sp->ep_handle;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_rsp_free(DAT_RSP_HANDLE rsp)
{
	struct dofi_sp *sp = DOFI_OBJ(rsp, RSP);

	return sp && dofi_sp_free(sp) ? DAT_SUCCESS : DOFI_BAD_HANDLE(RSP);
}
